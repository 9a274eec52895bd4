//! A program with busy locks and an endpoint.
//!
//! ```sh
//! cargo run --release -p instrumented-lock-export --features serve --example serve -- 127.0.0.1:6070 60
//! ```
//!
//! works for 60 seconds, prints what it has recorded, and serves until standard input ends.

use instrumented_lock::{
    LockSnapshot, Mutex, OperationSnapshot, RwLock, Snapshot, instrumented, operation, registry,
};
use instrumented_lock_export::serve::serve;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

#[instrumented]
#[derive(Default)]
struct Store {
    index: RwLock<HashMap<u64, u64>>,
    journal: Mutex<Vec<u64>>,
}

impl Store {
    fn put(&self, key: u64) {
        let _operation = operation("put");
        let mut index = self.index.write();
        index.insert(key % 512, key);
        // Something slow, so that others wait.
        if key.is_multiple_of(100) {
            thread::sleep(Duration::from_micros(200));
        }
        drop(index);
        let mut journal = self.journal.lock();
        journal.push(key);
        if journal.len() > 1000 {
            journal.clear();
        }
    }

    fn get(&self, key: u64) -> Option<u64> {
        let _operation = operation("get");
        self.index.read().get(&(key % 512)).copied()
    }
}

fn work(store: &Store, until: Instant, seed: u64) {
    let mut key = seed;
    while Instant::now() < until {
        for _ in 0..10 {
            key = key
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(seed);
            if (key >> 40).is_multiple_of(4) {
                store.put(key >> 20);
            } else {
                std::hint::black_box(store.get(key >> 20));
            }
        }
        // Not all of the machine.
        thread::sleep(Duration::from_millis(1));
    }
}

/// What the figures are in all.
fn totals(snapshot: &Snapshot) -> String {
    let modes = || snapshot.locks().iter().flat_map(LockSnapshot::modes);
    let acquisitions: u64 = modes().map(|(_, mode)| mode.acquisitions()).sum();
    let contended: u64 = modes().map(|(_, mode)| mode.contended()).sum();
    let holds: u64 = modes().map(|(_, mode)| mode.hold().count()).sum();
    let waited: Duration = modes().map(|(_, mode)| mode.blocked().sum()).sum();
    let waited = waited.as_secs_f64();
    let opened: u64 = snapshot
        .operations()
        .iter()
        .map(OperationSnapshot::opened)
        .sum();
    format!(
        "acquisitions {acquisitions} contended {contended} holds {holds} opened {opened} waited {waited}"
    )
}

/// Quantiles as the snapshot has them, a line each: lock, mode, which distribution, quantile, seconds.
fn quantiles(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    for lock in snapshot.locks() {
        for (mode, figures) in lock.modes() {
            for (of, distribution) in [("wait", figures.wait()), ("hold", figures.hold())] {
                for q in [0.5, 0.9, 0.99] {
                    if let Some(time) = distribution.quantile(q) {
                        let seconds = time.as_secs_f64();
                        let _ = writeln!(out, "quantile {} {mode} {of} {q} {seconds}", lock.name());
                    }
                }
            }
        }
    }
    out
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:6070".to_owned());
    let seconds = arguments
        .next()
        .map_or(Ok(60.0), |seconds| seconds.parse())?;
    let server = serve(address)?;
    println!("http://{}", server.address());
    let store = Store::default();
    store.journal.set_label("the only one");
    let until = Instant::now() + Duration::try_from_secs_f64(seconds)?;
    thread::scope(|scope| {
        for seed in 1..=4 {
            let store = &store;
            scope.spawn(move || work(store, until, 2 * seed + 1));
        }
    });
    let snapshot = registry::snapshot();
    println!("{}", totals(&snapshot));
    print!("{}", quantiles(&snapshot));
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
