//! Locks of a global allocator: their first use is before `main`, and what the library allocates comes back
//! to them. Every acquisition is recorded or counted as unmatched, and nothing waits for itself.

use instrumented_lock::raw::Instrumented;
use instrumented_lock::{
    LockSnapshot, Mutex, budget, drop_in, instrumented, lock_api, registry, timeline,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// One declared, one that is known by the line that creates it. Neither parks, since `parking_lot` allocates
/// for a thread that parks for the first time.
#[instrumented]
static ALLOCATING: Mutex<u64> = Mutex::new(0);
const FREEING_IS_CREATED: u32 = line!() + 2;
static FREEING: lock_api::Mutex<Instrumented<Spinning>, u64> =
    lock_api::Mutex::from_raw(Instrumented::new(lock_api::RawMutex::INIT), 0);

static ALLOCATED: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

/// A raw mutex that neither parks nor allocates.
struct Spinning(AtomicBool);

// SAFETY: who has set the flag has the lock. Acquire pairs with the release in `unlock`.
unsafe impl lock_api::RawMutex for Spinning {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "the trait's way to say `new`"
    )]
    const INIT: Self = Spinning(AtomicBool::new(false));

    type Guard = ();

    fn lock(&self) {
        while self.try_lock().is_none() {
            thread::yield_now();
        }
    }

    fn try_lock(&self) -> Option<()> {
        (!self.0.swap(true, Ordering::Acquire)).then_some(())
    }

    unsafe fn unlock(&self, (): ()) {
        self.0.store(false, Ordering::Release);
    }

    fn is_locked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Locking;

// SAFETY: the system's, with two locks around it that have nothing to do with what it does.
unsafe impl GlobalAlloc for Locking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ALLOCATED.fetch_add(1, Ordering::Relaxed) == 0 {
            // Whatever hangs does so for two minutes.
            // SAFETY: nothing handles the signal: it ends the process.
            unsafe { libc::alarm(120) };
        }
        let mut held = loop {
            if let Some(held) = ALLOCATING.try_lock() {
                break held;
            }
            spin_loop();
        };
        *held += 1;
        // SAFETY: the caller's promise is the callee's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        FREED.fetch_add(1, Ordering::Relaxed);
        *FREEING.lock() += 1;
        // SAFETY: the caller's promise is the callee's.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Locking = Locking;

/// The figures of the lock that is declared in this file, and whose name starts so.
fn figures(name: &str) -> LockSnapshot {
    let snapshot = registry::snapshot();
    let is_it = |lock: &&LockSnapshot| lock.name().contains(name);
    let mut found = snapshot.locks().iter().filter(is_it);
    let lock = found.next().expect("an allocator is used").clone();
    assert!(found.next().is_none(), "one lock is named so");
    lock
}

fn locks() -> [LockSnapshot; 2] {
    let place = format!("{}:{FREEING_IS_CREATED}:", file!());
    [figures("ALLOCATING"), figures(&place)]
}

/// Each use is an acquisition or unmatched.
fn nothing_is_lost() {
    for (i, calls) in [&ALLOCATED, &FREED].into_iter().enumerate() {
        let before = calls.load(Ordering::SeqCst);
        let lock = &locks()[i];
        let after = calls.load(Ordering::SeqCst);
        let write = lock.write();
        let seen = write.acquisitions() + lock.unmatched();
        // Other tests go on meanwhile, and whoever is in the middle of one is in neither.
        let few = 16;
        assert!(
            (before.saturating_sub(few)..=after).contains(&seen),
            "{before} to {after} uses, {seen} seen: {} and {} unmatched",
            write.acquisitions(),
            lock.unmatched()
        );
        assert!(
            lock.unmatched() * 2 < write.acquisitions(),
            "{} of {before} unmatched",
            lock.unmatched()
        );
        assert!(write.releases() <= write.acquisitions());
    }
}

fn allocate_much() {
    for n in 1..2_000 {
        let numbers: Vec<u64> = black_box((0..n % 50).collect());
        drop(black_box(numbers));
    }
}

#[test]
fn the_first_use_is_before_main_and_recorded() {
    allocate_much();
    for lock in locks() {
        assert!(lock.write().acquisitions() > 1_000);
        assert_eq!(lock.instances(), 1);
        assert!(
            lock.call_sites()
                .iter()
                .all(|site| site.location().file() == file!())
        );
    }
    nothing_is_lost();
}

#[test]
fn many_threads_that_come_and_go_lose_nothing() {
    let own = drop_in::RwLock::new(0);
    for _ in 0..20 {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    allocate_much();
                    *own.write() += 1;
                    black_box(*own.read());
                });
            }
            for _ in 0..5 {
                nothing_is_lost();
            }
        });
    }
    nothing_is_lost();
}

#[test]
fn locks_of_many_classes_are_used_first_and_waited_for() {
    let locks: Vec<_> = (0..200).map(|_| drop_in::Mutex::new(vec![0])).collect();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for lock in &locks {
                    for n in 0..20 {
                        lock.lock().push(n);
                    }
                }
            });
        }
    });
    let all: usize = locks.iter().map(|lock| lock.lock().len()).sum();
    assert_eq!(all, 200 * (1 + 4 * 20));
    nothing_is_lost();
}

#[test]
fn measurements_count_what_an_allocator_locks() {
    let used = budget::measure(|| {
        for _ in 0..100 {
            drop(black_box(Box::new(1)));
        }
        thread::scope(|scope| {
            let handle = budget::handle();
            scope.spawn(move || handle.run(allocate_much));
        });
    });
    assert!(used.acquisitions("ALLOCATING") > 2_000, "{used}");
}

#[test]
fn timelines_begin_and_end_while_an_allocator_is_used() {
    let mut events = 0;
    thread::scope(|scope| {
        let worker = scope.spawn(|| (0..20).for_each(|_| allocate_much()));
        while !worker.is_finished() {
            let recording = timeline::start().unwrap();
            allocate_much();
            let timeline = recording.stop();
            let of_allocator = |event: &timeline::Event<'_>| event.lock().ends_with("ALLOCATING");
            events += timeline.events().filter(of_allocator).count();
            let over = timeline.events().filter(timeline::Event::is_over).count() as u64;
            let all = timeline.holds() + timeline.waits();
            assert_eq!(over + timeline.left_out() + timeline.dropped(), all);
        }
    });
    assert!(events > 2_000, "{events}");
    nothing_is_lost();
}

#[test]
fn destructors_of_thread_locals_may_allocate() {
    struct Last(RefCell<Vec<String>>);

    impl Drop for Last {
        fn drop(&mut self) {
            for n in 0..500 {
                self.0.get_mut().push(n.to_string());
            }
        }
    }

    thread_local! {
        static LAST: Last = const { Last(RefCell::new(Vec::new())) };
    }

    for _ in 0..50 {
        let threads = [(); 4].map(|()| {
            thread::spawn(|| {
                LAST.with(|last| last.0.borrow_mut().push("first".to_owned()));
                allocate_much();
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    }
    nothing_is_lost();
}

#[test]
fn switches_may_be_moved_while_an_allocator_is_used() {
    thread::scope(|scope| {
        let worker = scope.spawn(allocate_much);
        while !worker.is_finished() {
            let classes = registry::classes();
            for class in classes
                .iter()
                .filter(|class| class.name().ends_with("locks"))
            {
                class.set_call_sites(Some(false));
            }
            registry::set_call_sites(true);
            black_box(registry::snapshot().to_string());
        }
    });
    nothing_is_lost();
}
