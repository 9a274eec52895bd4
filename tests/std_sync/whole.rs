//! What else is imported from there.

use super::locks::atomic::{AtomicUsize, Ordering};
use super::locks::mpsc::{self, TryRecvError};
use super::locks::{
    Arc, Barrier, BarrierWaitResult, LazyLock, LockResult, Mutex, Once, OnceLock, OnceState,
    PoisonError, RwLock, TryLockError, TryLockResult, WaitTimeoutResult, Weak,
};
use std::error::Error;
use std::thread;

#[test]
fn everything_of_std_is_there_and_is_stds() {
    static LAZY: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(3));
    static ONCE: OnceLock<RwLock<u32>> = OnceLock::new();
    static INIT: Once = Once::new();
    *LAZY.lock().unwrap() += 1;
    assert_eq!(*LAZY.lock().unwrap(), 4);
    *ONCE.get_or_init(|| RwLock::new(0)).write().unwrap() += 1;
    assert_eq!(*ONCE.get().unwrap().read().unwrap(), 1);
    INIT.call_once_force(|state: &OnceState| assert!(!state.is_poisoned()));
    assert!(INIT.is_completed());

    let count = Arc::new(AtomicUsize::new(0));
    let weak: Weak<AtomicUsize> = Arc::downgrade(&count);
    let barrier = Barrier::new(2);
    let leader = |result: BarrierWaitResult| usize::from(result.is_leader());
    thread::scope(|scope| {
        scope.spawn(|| count.fetch_add(leader(barrier.wait()), Ordering::SeqCst));
        count.fetch_add(leader(barrier.wait()), Ordering::SeqCst);
    });
    assert_eq!(weak.upgrade().unwrap().load(Ordering::SeqCst), 1);

    let (tell, told) = mpsc::channel();
    tell.send(1).unwrap();
    assert_eq!(
        (told.recv(), told.try_recv()),
        (Ok(1), Err(TryRecvError::Empty))
    );
}

#[test]
fn results_are_stds_own_and_fit_where_its_are_expected() {
    fn of_std<T>(result: LockResult<T>) -> std::sync::LockResult<T> {
        result
    }
    fn tried<T>(result: TryLockResult<T>) -> std::sync::TryLockResult<T> {
        result
    }
    fn timed_out(result: WaitTimeoutResult) -> std::sync::WaitTimeoutResult {
        result
    }
    fn with_question_mark(mutex: &'static Mutex<u32>) -> Result<u32, Box<dyn Error>> {
        let first = *mutex.lock()?;
        Ok(first + *mutex.try_lock()?)
    }
    static M: Mutex<u32> = Mutex::new(2);
    assert_eq!(*of_std(M.lock()).unwrap(), 2);
    assert_eq!(*tried(M.try_lock()).unwrap(), 2);
    assert_eq!(with_question_mark(&M).unwrap(), 4);
    let condvar = super::locks::Condvar::new();
    let woken = condvar.wait_timeout(M.lock().unwrap(), std::time::Duration::ZERO);
    assert!(timed_out(woken.unwrap().1).timed_out());

    let error: TryLockError<u32> = PoisonError::new(1).into();
    assert_eq!(
        format!("{error:?} {error}"),
        r#""Poisoned(..)" poisoned lock: another task failed inside"#
    );
    assert_eq!(
        TryLockError::<()>::WouldBlock.to_string(),
        "try_lock failed because the operation would block"
    );
}
