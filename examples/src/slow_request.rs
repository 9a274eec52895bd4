//! Three kinds of request share one lock, which all of them take in the same helper. The report by lines says only
//! that this helper waits for itself. Which kind of request is slow, and which one makes it so, is what operations
//! tell.

use instrumented_lock::{
    Mutex, OperationLock, OperationSnapshot, Snapshot, budget, instrumented, operation, registry,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What is stored.
#[instrumented]
#[derive(Default)]
struct Store {
    keys: Mutex<BTreeMap<u64, u64>>,
}

impl Store {
    /// The only line that takes the lock.
    fn with<R>(&self, f: impl FnOnce(&mut BTreeMap<u64, u64>) -> R) -> R {
        f(&mut self.keys.lock())
    }

    fn get(&self, key: u64) -> Option<u64> {
        let _operation = operation("GET /keys");
        self.with(|keys| keys.get(&key).copied())
    }

    fn put(&self, key: u64) {
        let _operation = operation("PUT /keys");
        self.with(|keys| *keys.entry(key).or_default() += 1);
    }

    fn report(&self) -> u64 {
        let _operation = operation("GET /report");
        self.with(|keys| keys.iter().map(|(key, value)| key ^ value).sum())
    }
}

/// Serves requests for so long, and reports.
pub fn run(time: Duration) -> Snapshot {
    let store = Store::default();
    store.with(|keys| keys.extend((0..20_000).map(|key| (key, 0))));
    let before = registry::snapshot();
    let end = Instant::now() + time;
    let slowest = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (store, slowest) = (&store, &slowest);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                while Instant::now() < end {
                    let key = random.u64(..20_000);
                    let times = budget::times(|| match random.u32(..100) {
                        0 => _ = store.report(),
                        1..30 => store.put(key),
                        _ => _ = store.get(key),
                    });
                    // A handler's own log line, for the slowest request so far.
                    let waited = u64::try_from(times.waited().as_micros()).unwrap_or(u64::MAX);
                    if slowest.fetch_max(waited, Ordering::Relaxed) < waited && waited > 1000 {
                        println!("a slow request: {times}");
                    }
                }
            });
        }
    });
    registry::snapshot().since(&before)
}

/// Asserts that the report names the one slow kind of request, and returns it.
///
/// # Panics
///
/// Where it does not.
pub fn assert_found(snapshot: &Snapshot) -> &str {
    if cfg!(not(feature = "stats")) {
        return "";
    }
    let operations = snapshot.operations();
    assert_eq!(operations.len(), 3, "{snapshot}");
    let culprit = operations.iter().max_by_key(|it| it.blame());
    let culprit = culprit.expect("there are three");
    assert_eq!(culprit.name(), "GET /report", "{snapshot}");
    let all: Duration = operations.iter().map(OperationSnapshot::blame).sum();
    assert!(2 * culprit.blame() > all, "{snapshot}");
    // It is rare, and what waits for it is what is frequent.
    let opened: u64 = operations.iter().map(OperationSnapshot::opened).sum();
    assert!(culprit.opened() * 20 < opened, "{snapshot}");
    // Every acquisition is some request's.
    let lock = snapshot.lock("Store::keys").expect("it is used");
    let had = operations.iter().filter_map(|it| it.lock("Store::keys"));
    let acquisitions: u64 = had.map(OperationLock::acquisitions).sum();
    assert_eq!(
        (acquisitions, opened),
        (lock.write().acquisitions(), opened)
    );
    assert_eq!(lock.call_sites().len(), 1);
    culprit.name()
}
