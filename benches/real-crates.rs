//! `real-crates DRIVER SECONDS`: drives a crate that nobody here wrote, and whose locks are
//! `parking_lot`'s, as fast as it goes: eight threads, for tokio eight tasks on two workers. Prints
//! operations a second.
//!
//! Not part of the workspace; the script `benches/real-crates` builds it.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let driver = arguments.next().unwrap_or_default();
    let seconds = arguments.next().and_then(|text| text.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(1.0));
    let rate = match driver.as_str() {
        "prometheus" => prometheus(time),
        "string_cache" => string_cache(time),
        "quick_cache" => quick_cache(time),
        "r2d2" => r2d2(time),
        "tokio" => tokio(time),
        "moka" => moka(time),
        other => panic!("no driver `{other}`"),
    };
    println!("{rate:.0}");
}

/// Operations a second of all threads. Each is told whether it is the first, and a random number.
fn hammer(time: Duration, operation: impl Fn(bool, u64) + Sync) -> f64 {
    let (stop, done) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let operation = &operation;
    let start = Instant::now();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut operations = 0;
                let mut random = (thread as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..64 {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        operation(thread == 0, random);
                    }
                    operations += 64;
                }
                done.fetch_add(operations, Ordering::Relaxed);
            });
        }
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

/// Counters with labels, and now and then all of them gathered.
fn prometheus(time: Duration) -> f64 {
    let registry = prometheus::Registry::new();
    let options = prometheus::Opts::new("requests", "by method and path");
    let counters = prometheus::IntCounterVec::new(options, &["method", "path"]).unwrap();
    registry.register(Box::new(counters.clone())).unwrap();
    let paths: Vec<_> = (0..100).map(|n| format!("p{n}")).collect();
    hammer(time, |is_first, random| {
        let path = &paths[(random % 100) as usize];
        counters.with_label_values(&["get", path]).inc();
        if is_first && random % 4096 == 0 {
            registry.gather();
        }
    })
}

/// Strings interned and let go.
fn string_cache(time: Duration) -> f64 {
    let names: Vec<_> = (0..2000)
        .map(|n| format!("name-that-is-long-{n}"))
        .collect();
    hammer(time, |_, random| {
        let name = names[(random % 2000) as usize].as_str();
        black_box(string_cache::DefaultAtom::from(name));
    })
}

/// A cache that is half as large as what is asked for.
fn quick_cache(time: Duration) -> f64 {
    let cache = quick_cache::sync::Cache::<u64, u64>::new(10_000);
    hammer(time, |_, random| {
        let key = random % 20_000;
        if cache.get(&key).is_none() {
            cache.insert(key, key);
        }
    })
}

/// The same.
fn moka(time: Duration) -> f64 {
    let cache: moka::sync::Cache<u64, u64> = moka::sync::Cache::builder()
        .max_capacity(10_000)
        .time_to_live(Duration::from_secs(60))
        .build();
    hammer(time, |_, random| {
        let key = random % 20_000;
        cache.get_with(key, || key);
    })
}

/// A pool of four connections, which are nothing.
fn r2d2(time: Duration) -> f64 {
    #[derive(Debug)]
    struct Connection;
    #[derive(Debug)]
    struct Never;
    #[derive(Debug)]
    struct Manager;

    impl fmt::Display for Never {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("never")
        }
    }

    impl std::error::Error for Never {}

    impl r2d2::ManageConnection for Manager {
        type Connection = Connection;
        type Error = Never;

        fn connect(&self) -> Result<Connection, Never> {
            Ok(Connection)
        }

        fn is_valid(&self, _: &mut Connection) -> Result<(), Never> {
            Ok(())
        }

        fn has_broken(&self, _: &mut Connection) -> bool {
            false
        }
    }

    let pool = r2d2::Pool::builder().max_size(4).build(Manager).unwrap();
    hammer(time, |_, _| {
        black_box(&*pool.get().unwrap());
    })
}

/// Pairs of tasks that talk through channels and share a mutex.
fn tokio(time: Duration) -> f64 {
    use tokio::sync::{Mutex, broadcast, mpsc};

    const MESSAGES: u64 = 50;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let talk = |done: Arc<AtomicU64>| async move {
        let sum = Arc::new(Mutex::new(0));
        while start.elapsed() < time {
            let (to_one, mut one) = mpsc::channel(16);
            let (to_all, mut all) = broadcast::channel(64);
            let theirs = sum.clone();
            let sender = tokio::spawn(async move {
                for n in 0..MESSAGES {
                    to_one.send(n).await.unwrap();
                    let _ = to_all.send(n);
                    *theirs.lock().await += 1;
                }
            });
            while let Some(n) = one.recv().await {
                *sum.lock().await += n;
            }
            while all.recv().await.is_ok() {}
            sender.await.unwrap();
            done.fetch_add(MESSAGES, Ordering::Relaxed);
        }
    };
    runtime.block_on(async {
        let tasks: Vec<_> = (0..THREADS)
            .map(|_| tokio::spawn(talk(done.clone())))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}
