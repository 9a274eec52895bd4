//! What is recorded of the locks of tasks.

use crate::{LONG, now, poll_once};
use instrumented_lock::timeline::EventKind::{GaveUp, Hold, Wait};
use instrumented_lock::tokio::{Mutex, MutexGuard, RwLock, Semaphore, annotated};
use instrumented_lock::{
    InFlight, InFlightState, LockKind, LockSnapshot, Mode, budget, instrumented, registry, timeline,
};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

const MS: Duration = Duration::from_millis(1);

fn figures(name: &str) -> LockSnapshot {
    instrumented_lock_tests::figures(name)
}

fn in_flight(name: &str) -> Vec<InFlight> {
    let snapshot = registry::snapshot();
    let all = snapshot.in_flight().iter();
    all.filter(|one| one.lock() == name).cloned().collect()
}

/// Runs `f` on a runtime with one thread, and on one with two.
fn on_both<F: Future<Output = ()>>(f: impl Fn(&'static str) -> F) {
    let one = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    one.block_on(async { timeout(LONG, f("one thread")).await.unwrap() });
    let two = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    two.block_on(async { timeout(LONG, f("two threads")).await.unwrap() });
}

#[instrumented(prefix = "tokio")]
struct Service {
    sessions: annotated::Mutex<Vec<u32>>,
    routes: annotated::RwLock<u32>,
    #[lock(name = "tokio permits")]
    permits: annotated::Semaphore,
}

#[instrumented(prefix = "tokio")]
struct Renewing {
    sessions: annotated::Mutex<Vec<u32>>,
    limit: annotated::Semaphore,
}

// Compiles: these guards may live across an `.await`.
#[instrumented]
impl Renewing {
    async fn renew(&self) -> usize {
        let mut sessions = self.sessions.lock().await;
        tokio::task::yield_now().await;
        sessions.push(1);
        let _permit = self.limit.acquire().await;
        tokio::task::yield_now().await;
        sessions.len()
    }
}

#[tokio::test]
async fn guards_of_annotated_code_live_across_awaits() {
    let service = Renewing {
        sessions: annotated::Mutex::new(vec![]),
        limit: annotated::Semaphore::new(1),
    };
    assert_eq!(service.renew().await, 1);
    let kind = |name: &str| figures(name).kind();
    assert_eq!(kind("tokio::Renewing::sessions"), LockKind::AsyncMutex);
    assert_eq!(kind("tokio::Renewing::limit"), LockKind::Semaphore);
}

#[test]
fn annotated_locks_have_declared_classes() {
    let service = Service {
        sessions: annotated::Mutex::new(vec![]),
        routes: annotated::RwLock::new(0),
        permits: annotated::Semaphore::new(2),
    };
    now(service.sessions.lock()).push(1);
    *now(service.routes.write()) += 1;
    assert_eq!(*now(service.routes.read()), 1);
    let (one, two) = (
        now(service.permits.acquire()),
        now(service.permits.acquire_many(1)),
    );
    drop((one, two));
    let sessions = figures("tokio::Service::sessions");
    assert_eq!(
        (sessions.kind(), sessions.instances()),
        (LockKind::AsyncMutex, 1)
    );
    assert_eq!(sessions.write().acquisitions(), 1);
    let routes = figures("tokio::Service::routes");
    assert_eq!(routes.kind(), LockKind::AsyncRwLock);
    assert_eq!(
        (routes.read().acquisitions(), routes.write().acquisitions()),
        (1, 1)
    );
    let permits = figures("tokio permits");
    assert_eq!(permits.kind(), LockKind::Semaphore);
    assert_eq!(
        (permits.read().acquisitions(), permits.read().hold().count()),
        (2, 2)
    );
    // To look is not to use.
    assert_eq!(format!("{:?}", service.sessions), "Mutex { data: [1] }");
    assert_eq!(
        figures("tokio::Service::sessions").write().acquisitions(),
        1
    );
    drop(service);
    assert_eq!(figures("tokio::Service::sessions").instances(), 0);
}

#[test]
fn a_wait_begins_at_the_first_poll_and_ends_at_the_acquisition() {
    let m = Mutex::named("tokio waited for", 0);
    let held = now(m.lock());
    let mut waits = pin!(m.lock());
    thread::sleep(30 * MS);
    assert!(
        in_flight("tokio waited for")
            .iter()
            .all(|one| one.state() == InFlightState::Holding)
    );
    let before = Instant::now();
    assert!(poll_once(waits.as_mut()).is_pending());
    let waiting = in_flight("tokio waited for");
    let waiting: Vec<_> = waiting
        .iter()
        .filter(|one| one.state() == InFlightState::Waiting)
        .collect();
    assert_eq!(waiting.len(), 1);
    thread::sleep(10 * MS);
    drop(held);
    let Poll::Ready(guard) = poll_once(waits.as_mut()) else {
        panic!("it was let go")
    };
    let at_most = before.elapsed();
    let lock = figures("tokio waited for");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().contended()),
        (2, 1)
    );
    assert_eq!(lock.write().holding().count(), 1);
    assert_eq!(lock.write().waiting().count(), 0);
    let blocked = lock.write().blocked().sum();
    assert!(blocked >= 10 * MS && blocked <= at_most, "{blocked:?}");
    drop(guard);
    let lock = figures("tokio waited for");
    assert_eq!(lock.write().hold().count(), 2);
    assert_eq!(lock.unmatched(), 0);
}

#[test]
fn a_future_that_is_dropped_while_it_waits_is_a_wait_that_gave_up() {
    let m = Mutex::named("tokio given up", 0);
    let held = now(m.lock());
    {
        let mut waits = pin!(m.lock());
        assert!(poll_once(waits.as_mut()).is_pending());
        assert!(poll_once(waits.as_mut()).is_pending());
        thread::sleep(5 * MS);
    }
    drop(m.lock());
    let lock = figures("tokio given up");
    assert_eq!(
        (lock.write().timeouts(), lock.write().try_failures()),
        (1, 0)
    );
    assert_eq!(
        (lock.write().acquisitions(), lock.write().waiting().count()),
        (1, 0)
    );
    assert!(lock.write().waited() >= 5 * MS);
    assert!(m.try_lock().is_err());
    assert_eq!(figures("tokio given up").write().try_failures(), 1);
    drop(held);
    assert!(m.try_lock().is_ok());
}

#[test]
fn holds_go_across_awaits_and_threads_and_are_blamed_by_their_lines() {
    on_both(|runtime| async move {
        let name = format!("tokio blamed, {runtime}");
        let m = Arc::new(Mutex::named(&name, 0));
        let (tell, told_to_let_go) = tokio::sync::oneshot::channel::<()>();
        let (other, line) = (Arc::clone(&m), line!() + 2);
        let holder = tokio::spawn(async move {
            let mut held = other.lock().await;
            told_to_let_go.await.unwrap();
            *held += 1;
        });
        while in_flight(&name).is_empty() {
            tokio::task::yield_now().await;
        }
        let waiter = tokio::spawn({
            let m = Arc::clone(&m);
            async move { *m.lock().await += 1 }
        });
        while in_flight(&name).len() < 2 {
            tokio::task::yield_now().await;
        }
        sleep(30 * MS).await;
        tell.send(()).unwrap();
        holder.await.unwrap();
        waiter.await.unwrap();
        let lock = figures(&name);
        assert_eq!(lock.write().contended(), 1);
        assert!(lock.write().hold().max().unwrap() >= 30 * MS);
        let blame = &lock.blame()[0];
        assert_eq!(blame.holder().line(), line, "{:?}", lock.blame());
        assert!(blame.total() <= lock.write().blocked().sum());
        assert!(blame.total() * 2 > lock.write().blocked().sum());
    });
}

#[test]
fn who_waits_and_who_holds_is_told_by_task() {
    on_both(|runtime| async move {
        let name = format!("tokio in flight, {runtime}");
        let m = Arc::new(Mutex::named(&name, 0));
        let task = |m: Arc<Mutex<i32>>| {
            tokio::spawn(async move {
                let _held = m.lock().await;
                sleep(LONG).await;
            })
        };
        let holder = task(Arc::clone(&m));
        while in_flight(&name).is_empty() {
            tokio::task::yield_now().await;
        }
        let waiters: Vec<_> = (0..100).map(|_| task(Arc::clone(&m))).collect();
        let named = |state| -> Vec<String> {
            let all = in_flight(&name)
                .into_iter()
                .filter(|one| one.state() == state);
            let mut names: Vec<_> = all
                .filter_map(|one| one.thread().map(str::to_owned))
                .collect();
            names.sort();
            names
        };
        while named(InFlightState::Waiting).len() < waiters.len() {
            tokio::task::yield_now().await;
        }
        let mut expected: Vec<_> = waiters
            .iter()
            .map(|task| format!("task {}", task.id()))
            .collect();
        expected.sort();
        assert_eq!(named(InFlightState::Waiting), expected);
        assert_eq!(
            named(InFlightState::Holding),
            [format!("task {}", holder.id())]
        );
        // The first who waits has it then, and is told by task too.
        holder.abort();
        let next = loop {
            if let [next] = &named(InFlightState::Holding)[..]
                && *next != format!("task {}", holder.id())
            {
                break next.clone();
            }
            tokio::task::yield_now().await;
        };
        assert!(expected.contains(&next), "{next}");
        waiters.iter().for_each(tokio::task::JoinHandle::abort);
        for task in waiters {
            assert!(task.await.unwrap_err().is_cancelled());
        }
        let lock = figures(&name);
        assert_eq!(
            lock.write().waiting().count() + lock.write().holding().count(),
            0
        );
        // Who is given it while they all are ended may have it for a moment.
        assert_eq!(lock.write().timeouts() + lock.write().contended(), 100);
        assert!(lock.write().contended() >= 1);
    });
}

/// The only one that is in flight, by name.
fn told(name: &str) -> Option<String> {
    let all = in_flight(name);
    let [one] = &all[..] else { panic!("{all:?}") };
    one.thread().map(str::to_owned)
}

#[test]
fn no_task_is_told_as_one_that_had_its_place_before() {
    let m = Arc::new(Mutex::named("tokio places", 0));
    let runtime = || tokio::runtime::Builder::new_current_thread().build();
    // More threads than wait for another owner of their logs, each of which says of all its places that a task had it.
    for _ in 0..50 {
        let m = Arc::clone(&m);
        let all_places = async move {
            for _ in 0..64 {
                *m.lock().await += 1;
            }
        };
        let run = || {
            runtime()
                .unwrap()
                .block_on(async { tokio::spawn(all_places).await })
        };
        thread::scope(|scope| scope.spawn(run).join().unwrap().unwrap());
    }
    runtime().unwrap().block_on(async {
        for _ in 0..50 {
            let held = Arc::clone(&m).lock_owned().await;
            let other = Arc::clone(&m);
            let waiter = tokio::spawn(async move {
                let mut held = other.lock().await;
                let me = format!("task {}", tokio::task::id());
                assert_eq!(told("tokio places"), Some(me));
                *held += 1;
            });
            tokio::task::yield_now().await;
            drop(held);
            waiter.await.unwrap();
        }
    });
    // Nor is a thread.
    let held = m.try_lock().unwrap();
    let me = thread::current().name().map(str::to_owned);
    assert_eq!(told("tokio places"), me);
    drop(held);
}

#[test]
fn a_hold_is_told_by_its_task_from_its_first_moment() {
    let m = Arc::new(Mutex::named("tokio first moments", 0));
    let (done, is_over) = (&AtomicU64::new(0), &AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(move || {
            let start = Instant::now();
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            runtime.unwrap().block_on(async {
                while start.elapsed() < 500 * MS {
                    let m = Arc::clone(&m);
                    let task = tokio::spawn(async move {
                        *m.lock().await += 1;
                        tokio::task::id().to_string().parse().unwrap()
                    });
                    done.store(task.await.unwrap(), Ordering::Release);
                }
            });
            is_over.store(true, Ordering::Release);
        });
        while !is_over.load(Ordering::Acquire) {
            let before = done.load(Ordering::Acquire);
            for one in in_flight("tokio first moments") {
                let told = one.thread().and_then(|name| name.strip_prefix("task "));
                let told: u64 = told.unwrap().parse().unwrap();
                assert!(told > before, "{told} was over before {before}");
            }
        }
    });
}

#[test]
fn who_goes_on_reading_is_told_by_task() {
    on_both(|runtime| async move {
        let name = format!("tokio read on, {runtime}");
        let lock = Arc::new(RwLock::named(&name, 0));
        // So that the next place of the thread's log was another task's.
        for _ in 0..3 * 64 {
            let lock = Arc::clone(&lock);
            tokio::spawn(async move { *lock.write().await += 1 })
                .await
                .unwrap();
        }
        tokio::spawn(async move {
            let me = Some(format!("task {}", tokio::task::id()));
            let write = lock.write().await;
            assert_eq!(told(&name), me);
            let read = write.downgrade();
            assert_eq!(told(&name), me);
            drop(read);
        })
        .await
        .unwrap();
    });
}

#[test]
fn a_timeline_has_a_track_for_each_task() {
    on_both(|runtime| async move {
        let name = format!("tokio timeline, {runtime}");
        let lock = Arc::new(RwLock::named(&name, 0));
        let recording = timeline::start().unwrap();
        let (has, has_it) = tokio::sync::oneshot::channel::<()>();
        let (tell, told_to_let_go) = tokio::sync::oneshot::channel::<()>();
        let holder = tokio::spawn({
            let lock = Arc::clone(&lock);
            async move {
                // From one place of the log to another.
                *lock.write().await += 1;
                let write = lock.write().await;
                has.send(()).unwrap();
                told_to_let_go.await.unwrap();
                drop(write.downgrade());
            }
        });
        has_it.await.unwrap();
        let waiter = tokio::spawn({
            let lock = Arc::clone(&lock);
            async move { *lock.write().await += 1 }
        });
        let gives_up = tokio::spawn(async move {
            let _held = lock.write().await;
        });
        while in_flight(&name).len() < 3 {
            tokio::task::yield_now().await;
        }
        gives_up.abort();
        let (holder_id, waiter_id, id) = (holder.id(), waiter.id(), gives_up.id());
        assert!(gives_up.await.unwrap_err().is_cancelled());
        tell.send(()).unwrap();
        holder.await.unwrap();
        waiter.await.unwrap();
        let timeline = recording.stop();
        let of = |task: tokio::task::Id| -> Vec<_> {
            let task = format!("task {task}");
            let events = timeline.events().filter(|event| event.lock() == name);
            let events: Vec<_> = events.filter(|event| event.thread() == task).collect();
            assert!(
                events
                    .iter()
                    .all(|event| event.track() == events[0].track())
            );
            events
                .iter()
                .map(|event| (event.kind(), event.mode().unwrap()))
                .collect()
        };
        let (read, write) = (Mode::Read, Mode::Write);
        assert_eq!(of(holder_id), [(Hold, write), (Hold, write), (Hold, read)]);
        assert_eq!(of(waiter_id), [(Wait, write), (Hold, write)]);
        assert_eq!(of(id), [(GaveUp, write)]);
        let all = timeline.events().filter(|event| event.lock() == name);
        assert_eq!(all.clone().count(), 6);
        let wait = all.clone().find(|event| event.kind() == Wait).unwrap();
        let released_by = wait.released_by().unwrap();
        assert_eq!(released_by.thread(), format!("task {holder_id}"));
        assert!(wait.blamed_on().is_some());
    });
}

#[test]
fn outside_of_tasks_the_thread_is_told() {
    let m = Mutex::named("tokio of a thread", 0);
    thread::scope(|scope| {
        let held = m.blocking_lock();
        let waiter = thread::Builder::new().name("waits for a task".to_owned());
        waiter
            .spawn_scoped(scope, || *m.blocking_lock() += 1)
            .unwrap();
        let start = Instant::now();
        loop {
            let all = in_flight("tokio of a thread");
            if all
                .iter()
                .any(|one| one.thread() == Some("waits for a task"))
            {
                break;
            }
            assert!(start.elapsed() < LONG, "{all:?}");
            thread::sleep(MS);
        }
        drop(held);
    });
    assert_eq!(figures("tokio of a thread").write().contended(), 1);
}

#[test]
fn a_thousand_tasks_are_counted_exactly() {
    on_both(|runtime| async move {
        let name = format!("tokio thousand, {runtime}");
        let lock = Arc::new(RwLock::named(&name, 0_u64));
        let tasks: Vec<_> = (0..1_000_u64)
            .map(|i| {
                let lock = Arc::clone(&lock);
                tokio::spawn(async move {
                    if i.is_multiple_of(4) {
                        let mut write = lock.write().await;
                        tokio::task::yield_now().await;
                        *write += 1;
                    } else {
                        let _read = lock.read().await;
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let all = figures(&name);
        for (mode, expected) in [(all.read(), 750), (all.write(), 250)] {
            assert_eq!(mode.acquisitions(), expected);
            assert_eq!(mode.hold().count(), expected);
            assert_eq!(mode.wait().count(), expected);
            assert_eq!(mode.blocked().count(), mode.contended());
            assert_eq!(
                mode.timeouts() + mode.holding().count() + mode.waiting().count(),
                0
            );
        }
        assert!(all.write().contended() > 0);
        let lines: u64 = all
            .call_sites()
            .iter()
            .map(instrumented_lock::CallSite::acquisitions)
            .sum();
        assert_eq!((lines, *lock.read().await), (1_000, 250));
    });
}

#[test]
fn a_downgrade_ends_one_hold_and_begins_another() {
    let lock = RwLock::named("tokio downgraded", 0);
    let read = now(lock.write()).downgrade();
    let all = figures("tokio downgraded");
    assert_eq!(
        (all.write().hold().count(), all.read().holding().count()),
        (1, 1)
    );
    drop(read);
    let all = figures("tokio downgraded");
    assert_eq!(
        (all.write().acquisitions(), all.read().acquisitions()),
        (1, 1)
    );
    assert_eq!(all.read().hold().count(), 1);
}

#[test]
fn mapped_and_split_guards_are_one_hold() {
    let m = Mutex::named("tokio mapped", (1, 2));
    drop(MutexGuard::map(now(m.lock()), |pair| &mut pair.1));
    assert_eq!(figures("tokio mapped").write().hold().count(), 1);
    let sem = Semaphore::named("tokio split", 5);
    let mut permits = now(sem.acquire_many(3)).unwrap();
    let one = permits.split(1).unwrap();
    drop(permits);
    assert_eq!(figures("tokio split").read().hold().count(), 1);
    drop(one);
    let all = figures("tokio split");
    assert_eq!(
        (
            all.read().acquisitions(),
            all.read().hold().count(),
            all.unmatched()
        ),
        (1, 1, 0)
    );
    assert_eq!(sem.available_permits(), 5);
}

#[test]
fn a_semaphore_that_is_closed_ends_waits() {
    let sem = Semaphore::named("tokio closed", 0);
    let mut waits = pin!(sem.acquire());
    assert!(poll_once(waits.as_mut()).is_pending());
    sem.close();
    assert!(matches!(poll_once(waits.as_mut()), Poll::Ready(Err(_))));
    let all = figures("tokio closed");
    assert_eq!(
        (
            all.read().acquisitions(),
            all.read().timeouts(),
            all.read().waiting().count()
        ),
        (0, 1, 0)
    );
}

#[test]
fn lines_are_the_users_also_through_owned_and_blocking_forms() {
    let m = Arc::new(Mutex::named("tokio lines", 0));
    let first = line!() + 1;
    drop(now(m.lock()));
    drop(now(Arc::clone(&m).lock_owned()));
    drop(m.blocking_lock());
    drop(m.try_lock());
    let lock = figures("tokio lines");
    let mut lines: Vec<_> = lock
        .call_sites()
        .iter()
        .map(|site| site.location().line())
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [first, first + 1, first + 2, first + 3]);
}

#[test]
fn budgets_count_acquisitions_of_tasks() {
    let m = Mutex::named("tokio in a budget", 0);
    let used = budget::measure(|| {
        drop(now(m.lock()));
        drop(m.try_lock());
    });
    assert_eq!(used.acquisitions("tokio in a budget"), 2);
}

#[test]
fn nothing_is_recorded_while_recording_is_off_and_nothing_is_lost() {
    let m = Mutex::named("tokio off", 0);
    let class = registry::classes()
        .into_iter()
        .find(|class| class.name() == "tokio off")
        .unwrap();
    class.set_enabled(false);
    let held = now(m.lock());
    let mut waits = pin!(m.lock());
    assert!(poll_once(waits.as_mut()).is_pending());
    class.set_enabled(true);
    drop(held);
    assert!(poll_once(waits.as_mut()).is_ready());
    drop(now(m.lock()));
    let lock = figures("tokio off");
    assert_eq!(lock.write().acquisitions(), 1);
    assert_eq!(lock.mode(Mode::Write).timeouts(), 0);
}

#[test]
fn a_forgotten_guard_stays_in_flight() {
    let m = Box::leak(Box::new(Mutex::named("tokio forgotten", 0)));
    std::mem::forget(now(m.lock()));
    assert_eq!(figures("tokio forgotten").write().holding().count(), 1);
}

/// A task is no thread: what it holds is not held by whoever happens to run it.
#[test]
fn the_order_in_which_tasks_take_locks_is_not_that_of_threads() {
    instrumented_lock::order::follow(instrumented_lock::order::Reaction::Collect);
    let locks = [
        Mutex::named("tokio order a", 0),
        Mutex::named("tokio order b", 0),
    ];
    for (one, other) in [(0, 1), (1, 0)] {
        let held = now(locks[one].lock());
        drop(now(locks[other].lock()));
        // Nor is a lock of threads taken under one of tasks.
        drop(registry::snapshot());
        drop(held);
    }
    let order = registry::snapshot().order().clone();
    let is_here = |edge: &instrumented_lock::order::OrderEdge| {
        [edge.held(), edge.wanted()]
            .iter()
            .any(|end| end.lock().starts_with("tokio order"))
    };
    assert!(!order.edges().iter().any(is_here));
}

#[inline(never)]
async fn asks_for_it(lock: &Mutex<u32>) {
    *lock.lock().await += 1;
}

#[test]
fn tasks_have_stacks_of_who_polled_them() {
    use instrumented_lock::{StackRole, Stacks};

    registry::set_stacks(Stacks::ALL);
    on_both(|on| async move {
        let name: &'static str = Box::leak(format!("stacks of tasks on {on}").into_boxed_str());
        let lock = Mutex::named(name, 0);
        let guard = lock.lock().await;
        {
            let mut waits = pin!(asks_for_it(&lock));
            assert!(poll_once(waits.as_mut()).is_pending());
            sleep(5 * MS).await;
            drop(guard);
            waits.await;
        }
        let lock = figures(name);
        let of = |role| {
            let stacks = lock
                .stacks()
                .iter()
                .filter(move |stack| stack.role() == role);
            stacks.cloned().collect::<Vec<_>>()
        };
        let (waiters, holders) = (of(StackRole::Waiter), of(StackRole::Holder));
        assert_eq!(
            (waiters.len(), holders.len()),
            (1, 1),
            "{:#?}",
            lock.stacks()
        );
        assert_eq!(waiters[0].count(), lock.write().contended());
        let has = |name: &str| {
            let mut frames = waiters[0].frames().iter();
            frames.any(|frame| {
                frame.function().contains(name)
                    || frame
                        .file()
                        .is_some_and(|file| file.ends_with("recorded.rs"))
            })
        };
        assert!(has("asks_for_it"), "{waiters:#?}");
        assert!(holders[0].total() >= 4 * MS, "{holders:#?}");
    });
    registry::set_stacks(Stacks::OFF);
}
