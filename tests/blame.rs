//! Who is blamed for the waiting of others: on real threads, with generous tolerance, since the
//! scheduler is part of the subject; exactly where the parts have to add up.

use instrumented_lock::raw::Instrumented;
use instrumented_lock::{
    Blame, CallSite, LockClass, LockSnapshot, Mode, Mutex, MutexGuard, RwLock, instrumented,
    lock_api, registry,
};
use instrumented_lock_tests::figures;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn blame(lock: &LockSnapshot) -> Duration {
    lock.call_sites().iter().map(CallSite::blame).sum()
}

fn assert_near(value: Duration, expected: Duration, what: &str) {
    let within = expected / 4 + 8 * MS;
    assert!(
        value.abs_diff(expected) < within,
        "{what}: {value:?}, expected {expected:?}"
    );
}

/// Waits until `n` threads wait for the lock named `lock`.
fn until_waiting(lock: &str, n: usize) {
    let waiting = || {
        let snapshot = registry::snapshot();
        let is_it = |f: &&instrumented_lock::InFlight| {
            f.lock().ends_with(lock) && f.state() == instrumented_lock::InFlightState::Waiting
        };
        snapshot.in_flight().iter().filter(is_it).count()
    };
    while waiting() < n {
        thread::sleep(MS);
    }
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// golang/go#73760: five threads queue at once and hold 10, 50, 20, 30 and 40 ms. In that order
/// their blame is 40, 150, 40, 30 and 0 ms; on a busy machine the queue may get another one, so each
/// notes its place and how long it really held.
#[test]
fn every_waiter_counts_for_the_time_that_it_overlapped() {
    #[instrumented]
    static QUEUE: Mutex<Vec<(u32, Duration)>> = Mutex::new(Vec::new());

    fn hold(line: u32, mut guard: MutexGuard<'_, Vec<(u32, Duration)>>, ms: u32) {
        let start = Instant::now();
        thread::sleep(ms * MS);
        guard.push((line, start.elapsed()));
        // To the next in the queue, whoever else would be quick enough to come in between.
        MutexGuard::unlock_fair(guard);
    }

    let runs: [fn(); 5] = [
        || hold(line!(), QUEUE.lock(), 10),
        || hold(line!(), QUEUE.lock(), 50),
        || hold(line!(), QUEUE.lock(), 20),
        || hold(line!(), QUEUE.lock(), 30),
        || hold(line!(), QUEUE.lock(), 40),
    ];
    let gate = QUEUE.lock();
    thread::scope(|scope| {
        for (i, run) in runs.into_iter().enumerate() {
            scope.spawn(run);
            until_waiting("QUEUE", i + 1);
            thread::sleep(2 * MS);
        }
        MutexGuard::unlock_fair(gate);
    });
    let lock = figures("QUEUE");
    let holds = QUEUE.lock().clone();
    let expected = |place: usize| holds[place].1 * u32::try_from(4 - place).unwrap();
    for (place, (line, _)) in holds.iter().enumerate() {
        let site = lock
            .call_sites()
            .iter()
            .find(|site| site.location().line() == *line);
        assert_near(
            site.unwrap().blame(),
            expected(place),
            &format!("line {line}"),
        );
    }
    assert_adds_up(&lock);
    let pairs: Duration = lock.blame().iter().map(Blame::total).sum();
    assert_near(pairs, blame(&lock), "the pairs make up the blame");
    // The waits of one line for one other are a pair; what they add up to is the holder's.
    let of = |line: u32| {
        let pairs = lock
            .blame()
            .iter()
            .filter(move |pair| pair.holder().line() == line);
        pairs.map(Blame::total).sum::<Duration>()
    };
    let (first, last) = (holds[0].0, holds[4].0);
    assert_near(of(first), expected(0), "the pairs of the first");
    assert_eq!(
        of(last),
        Duration::ZERO,
        "nobody was left to wait for the last"
    );
}

/// Of an exclusive lock, blame and hand-over are what was blocked, to the rounding.
fn assert_adds_up(lock: &LockSnapshot) {
    let (blame, hand_over) = (blame(lock), lock.hand_over());
    let blocked = lock.write().blocked().sum();
    let rounding = Duration::from_nanos(4 * (lock.write().acquisitions() + 4));
    let difference = (blame + hand_over).abs_diff(blocked);
    // A waiter that has just come is seen some nanoseconds late by the holder.
    assert!(
        difference <= rounding + blocked / 1000,
        "blame {blame:?} and hand-over {hand_over:?} are not {blocked:?}"
    );
}

#[test]
fn blame_and_hand_over_add_up_under_stress() {
    #[instrumented]
    static SUM: Mutex<u64> = Mutex::new(0);
    let lines: [fn() -> MutexGuard<'static, u64>; 2] = [|| SUM.lock(), || SUM.lock()];
    let (lines, start) = (&lines, &Barrier::new(6));
    thread::scope(|scope| {
        for t in 0..6u64 {
            scope.spawn(move || {
                start.wait();
                for i in 0..3000u64 {
                    let mut guard = lines[usize::from((i / 3).is_multiple_of(2))]();
                    *guard += 1;
                    if (i + t).is_multiple_of(10) {
                        thread::sleep(Duration::from_micros(50));
                    }
                    drop(guard);
                    if i.is_multiple_of(7) {
                        drop(SUM.try_lock());
                    }
                }
            });
        }
    });
    let lock = figures("SUM");
    let pairs: Duration = lock.blame().iter().map(Blame::total).sum();
    let difference = pairs.abs_diff(blame(&lock));
    assert!(
        difference <= blame(&lock) / 1000 + Duration::from_nanos(lock.write().acquisitions()),
        "the pairs make up {pairs:?} of {:?}",
        blame(&lock)
    );
    assert!(
        lock.write().contended() > 100,
        "{}",
        lock.write().contended()
    );
    assert!(lock.write().blocked().sum() > 100 * MS);
    assert_adds_up(&lock);
}

#[test]
fn a_reader_is_blamed_for_the_writer_and_the_readers_behind_it() {
    #[instrumented]
    static READERS: RwLock<u32> = RwLock::new(0);
    let (let_go, held) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let slow = move || {
        let line = line!() + 1;
        let guard = READERS.read();
        tell.send(line).unwrap();
        held.recv().unwrap();
        drop(guard);
    };
    let others: [(u32, fn()); 2] = [
        (line!(), || drop(READERS.write())),
        (line!(), || drop(READERS.read())),
    ];
    let [writer, reader] = others.map(|(line, _)| line);
    let mut slow_line = 0;
    thread::scope(|scope| {
        scope.spawn(slow);
        slow_line = told.recv().unwrap();
        for (i, (_, other)) in others.into_iter().enumerate() {
            scope.spawn(other);
            until_waiting("READERS", i + 1);
        }
        thread::sleep(60 * MS);
        let_go.send(()).unwrap();
    });
    let lock = figures("READERS");
    let site = |line: u32| {
        lock.call_sites()
            .iter()
            .find(|site| site.location().line() == line)
            .unwrap()
    };
    assert!(
        site(slow_line).blame() >= 120 * MS,
        "two waited 60 ms: {:?}",
        site(slow_line).blame()
    );
    assert!(
        site(writer).blame() < 20 * MS,
        "the writer held for nothing"
    );
    assert!(
        site(reader).blame() < 20 * MS,
        "the reader behind kept nobody"
    );
    assert_eq!(site(writer).mode(), Mode::Write);
    let pair = |waiter: u32| {
        lock.blame()
            .iter()
            .find(|pair| pair.waiter().line() == waiter && pair.holder().line() == slow_line)
            .unwrap()
    };
    assert!(pair(writer).total() >= 60 * MS && pair(reader).total() >= 60 * MS);
    assert_eq!((pair(writer).waits(), pair(reader).waits()), (1, 1));
}

/// A long episode: there is always a writer waiting, and readers come and go in between.
#[test]
fn a_reader_that_has_waited_is_blamed_for_its_own_hold_only() {
    #[instrumented]
    static BUSY: RwLock<u32> = RwLock::new(0);
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while start.elapsed() < 200 * MS {
                    let _guard = BUSY.read();
                    spin(Duration::from_micros(100));
                }
            });
            scope.spawn(|| {
                while start.elapsed() < 200 * MS {
                    let _guard = BUSY.write();
                    spin(Duration::from_micros(100));
                }
            });
        }
    });
    let lock = figures("BUSY");
    for site in lock.call_sites() {
        // Five others at most can wait while a hold lasts.
        let most = 5 * site.hold_total();
        assert!(site.blame() <= most + most / 100, "{site:?}");
        assert!(site.blame() > Duration::ZERO, "{site:?}");
    }
}

#[test]
fn nobody_is_blamed_where_nobody_waits() {
    #[instrumented]
    static QUIET: Mutex<u32> = Mutex::new(0);
    for _ in 0..100 {
        let _guard = QUIET.lock();
        spin(Duration::from_micros(10));
    }
    let lock = figures("QUIET");
    assert_eq!(
        (blame(&lock), lock.hand_over()),
        (Duration::ZERO, Duration::ZERO)
    );
    assert_eq!(lock.blame(), []);
}

#[test]
fn a_wait_that_gives_up_is_blamed_on_the_holder() {
    #[instrumented]
    static GIVEN_UP: Mutex<u32> = Mutex::new(0);
    let holder = GIVEN_UP.lock();
    thread::scope(|scope| {
        let gives_up = scope.spawn(|| GIVEN_UP.try_lock_for(30 * MS).is_none());
        scope.spawn(|| drop(GIVEN_UP.lock()));
        thread::sleep(80 * MS);
        assert!(gives_up.join().unwrap());
        drop(holder);
    });
    let lock = figures("GIVEN_UP");
    assert!(
        blame(&lock) >= 100 * MS,
        "30 of one, 80 of the other: {:?}",
        blame(&lock)
    );
    assert_eq!(lock.write().timeouts(), 1);
}

/// A mutex whose waiters look only now and then whether it is free.
struct Polled(AtomicBool);

// SAFETY: whoever has set the flag has the lock, until it clears it.
unsafe impl lock_api::RawMutex for Polled {
    const INIT: Self = Polled(AtomicBool::new(false));
    type Guard = lock_api::GuardSend;

    fn lock(&self) -> Self::Guard {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            thread::sleep(100 * MS);
        }
    }

    fn try_lock(&self) -> Option<Self::Guard> {
        let was_locked = self.0.swap(true, Ordering::Acquire);
        (!was_locked).then(lock_api::GuardSend::new)
    }

    unsafe fn unlock(&self, _: Self::Guard) {
        self.0.store(false, Ordering::Release);
    }

    fn is_locked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// While one waits, another has the lock twice for 10 ms, and nobody in the 50 ms between and for
/// some 30 ms after.
#[test]
fn a_lock_that_is_free_and_taken_past_a_waiter_is_handed_over_meanwhile() {
    const LINE: u32 = line!() + 3;
    // Named by the line that makes the raw lock.
    static FREE: lock_api::Mutex<Instrumented<Polled>, u32> =
        lock_api::Mutex::from_raw(Instrumented::new(lock_api::RawMutex::INIT), 0);

    let first = FREE.lock();
    let classes = registry::classes();
    let is_it = |class: &&&LockClass| class.declared_at().line() == LINE;
    let name = classes.iter().find(is_it).unwrap().name();
    let mut held = Duration::ZERO;
    thread::scope(|scope| {
        scope.spawn(|| *FREE.lock() += 1);
        until_waiting(name, 1);
        let start = Instant::now();
        thread::sleep(10 * MS);
        held += start.elapsed();
        drop(first);
        thread::sleep(50 * MS);
        let second = FREE.lock();
        let start = Instant::now();
        thread::sleep(10 * MS);
        held += start.elapsed();
        drop(second);
    });
    let lock = figures(name);
    assert_adds_up(&lock);
    assert_near(blame(&lock), held, "two holds");
    let free = lock.write().blocked().sum().saturating_sub(held);
    assert!(free >= 50 * MS);
    assert_near(lock.hand_over(), free, "free");
}
