//! What exports cost: a scrape and the page of a program with 1,000 classes, and ten scrapes a second of a program
//! whose threads do nothing but lock and work. Linux only: processor time is read from `/proc`.
//!
//! ```sh
//! cargo run --release -p instrumented-lock-export --features serve --example export_cost -- target/page.html
//! ```
//!
//! writes the page to that file, prints the figures, and serves until standard input ends.

use instrumented_lock::{Mutex, registry};
use instrumented_lock_export::html;
use instrumented_lock_export::serve::{Server, serve};
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PROTOBUF: &str = "application/vnd.google.protobuf;\
    proto=io.prometheus.client.MetricFamily;encoding=delimited";
const CLASSES: usize = 1000;

/// How long the program is left alone, and scraped, in turn; and how often.
const TURN: Duration = Duration::from_secs(1);
const TURNS: usize = 20;
const SCRAPES: u32 = 10;

/// Rounds of a thread, apart from those of others.
#[derive(Default)]
#[repr(align(128))]
struct Rounds(AtomicU64);

/// Some work that is not optimized away.
fn work(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// Locks of so many classes, each of which has been used: holds of all lengths up to a tenth of a millisecond, and waits.
fn classes(n: usize) -> Vec<Mutex<u64>> {
    let name = |i| format!("storage::module_{}::Store{}::index", i % 40, i);
    let locks: Vec<_> = (0..n).map(|i| Mutex::named(&name(i), 0)).collect();
    let pass = || {
        for lock in &locks {
            for rounds in (0..10).map(|power| 1 << (2 * power)) {
                *lock.lock() += 1;
                let mut held = lock.lock();
                work(rounds);
                *held += 1;
            }
        }
    };
    // All begin with the same lock, so each is waited for.
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(pass);
        }
    });
    locks
}

/// The body of an answer.
fn get(server: &Server, path: &str, accept: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server.address())?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = answer.split_off(end.map_or(0, |end| end + 4));
    if answer.starts_with(b"HTTP/1.1 200 ") {
        Ok(body)
    } else {
        Err(io::Error::other(
            String::from_utf8_lossy(&answer).into_owned(),
        ))
    }
}

fn median<T: Copy + PartialOrd>(mut all: Vec<T>) -> T {
    all.sort_by(|a, b| a.partial_cmp(b).expect("no figure is missing"));
    all[all.len() / 2]
}

fn scrapes(server: &Server) -> io::Result<()> {
    for (name, path, accept) in [
        ("text", "/metrics", "text/plain"),
        ("OpenMetrics", "/metrics", "application/openmetrics-text"),
        ("native histograms", "/metrics", PROTOBUF),
        ("page", "/locks", "*/*"),
    ] {
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..21 {
            let start = Instant::now();
            bytes = get(server, path, accept)?.len();
            times.push(start.elapsed());
        }
        println!(
            "{CLASSES} classes, {name}: {bytes} bytes in {:.1?}",
            median(times)
        );
    }
    Ok(())
}

/// Processor time of all threads but the one that asks and those that wait for it, in nanoseconds.
fn processor_time() -> io::Result<u64> {
    let own = fs::read_link("/proc/thread-self")?;
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?;
        if Some(&*task.file_name()) == own.file_name() {
            continue;
        }
        // A thread that has ended meanwhile.
        let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else {
            continue;
        };
        let ns = text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
        sum += ns.ok_or_else(|| io::Error::other("schedstat is not as expected"))?;
    }
    Ok(sum)
}

/// What ten scrapes a second cost a program that is busy on all processors.
fn under_load(server: &Server, locks: &[Mutex<u64>]) -> io::Result<()> {
    let processors = thread::available_parallelism()?.get();
    let done = AtomicBool::new(false);
    let rounds: Vec<_> = (0..processors).map(|_| Rounds::default()).collect();
    let busy = |own: &Rounds, first: usize| {
        for lock in locks.iter().cycle().skip(first) {
            let mut held = lock.lock();
            work(1000);
            *held += 1;
            drop(held);
            work(1000);
            own.0.fetch_add(1, Ordering::Relaxed);
            if done.load(Ordering::Relaxed) {
                break;
            }
        }
    };
    thread::scope(|scope| {
        for (i, own) in rounds.iter().enumerate() {
            let busy = &busy;
            scope.spawn(move || busy(own, i * locks.len() / 2));
        }
        // Processor time for a round, and how many rounds there were.
        let turn = |scrapes: u32| -> io::Result<(f64, f64)> {
            let so_far = || {
                rounds
                    .iter()
                    .map(|own| own.0.load(Ordering::Relaxed))
                    .sum::<u64>()
            };
            let (before, spent) = (so_far(), processor_time()?);
            let start = Instant::now();
            for scrape in 0..scrapes.max(1) {
                if scrapes > 0 {
                    get(server, "/metrics", "text/plain")?;
                }
                let next = TURN * (scrape + 1) / scrapes.max(1);
                thread::sleep(next.saturating_sub(start.elapsed()));
            }
            let n = (so_far() - before) as f64;
            let rate = n / start.elapsed().as_secs_f64();
            Ok(((processor_time()? - spent) as f64 / n, rate))
        };
        let all = (0..TURNS).map(|_| {
            let (alone, rate_alone) = turn(0)?;
            let (scraped, rate_scraped) = turn(SCRAPES)?;
            Ok((scraped / alone - 1.0, rate_scraped / rate_alone - 1.0))
        });
        let all = all.collect::<io::Result<Vec<_>>>();
        done.store(true, Ordering::Relaxed);
        let (time, rate): (Vec<_>, Vec<_>) = all?.into_iter().unzip();
        println!(
            "{} classes in use, {SCRAPES} scrapes a second: {:+.2} % processor time a round, {:+.2} % rounds a second",
            locks.len(),
            100.0 * median(time),
            100.0 * median(rate)
        );
        Ok(())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = serve("127.0.0.1:0")?;
    println!("http://{}", server.address());
    // A program of usual size first: classes stay once they are there.
    let few = classes(16);
    under_load(&server, &few)?;
    let many = classes(CLASSES);
    scrapes(&server)?;
    under_load(&server, &many)?;
    if let Some(file) = std::env::args().nth(1) {
        let snapshot = registry::snapshot();
        let start = Instant::now();
        let page = html::page(&snapshot);
        println!(
            "page: {} bytes in {:.1?}, {file}",
            page.len(),
            start.elapsed()
        );
        fs::write(file, page)?;
    }
    println!("done");
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
