//! Handler threads, each with its stream of requests and its tally.

use super::client::Requests;
use super::failure::Failure;
use super::request::KeyPath;
use super::store::Namespace;
use super::tally::Tally;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Often enough for a progress bar.
const TICK: Duration = Duration::from_millis(50);

/// Operations between two notes of progress: so rare that they share no cache line to speak of.
const NOTE: u64 = 256;

/// How to serve.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Handler threads.
    pub threads: usize,
    /// When they are done.
    pub until: Until,
    /// Of the random requests.
    pub seed: u64,
}

/// When handlers are done.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After this time.
    Elapsed(Duration),
    /// After so many operations, each of them.
    Operations(u64),
}

/// What was done.
#[derive(Debug)]
pub struct Served {
    /// The operations of all handlers.
    pub tally: Tally,
    /// From the start of the first to the end of the last.
    pub elapsed: Duration,
}

/// What the handlers share besides the service.
struct Shared<'a> {
    namespace: &'a Namespace,
    keys: &'a [KeyPath],
    plan: &'a Plan,
    stop: AtomicBool,
    /// Operations, to the last [`NOTE`] of each handler.
    done: AtomicU64,
}

/// Answers requests about `keys`, which the namespace was loaded with, in as many threads as the
/// plan says. `progress` is called with the operations done so far and the time, about twenty times
/// a second.
///
/// # Errors
///
/// Where a thread cannot be started. Those that could are ended first.
pub fn serve(
    namespace: &Namespace,
    keys: &[KeyPath],
    plan: &Plan,
    mut progress: impl FnMut(u64, Duration),
) -> Result<Served, Failure> {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let shared = Shared {
        namespace,
        keys,
        plan,
        stop,
        done,
    };
    let limit = match plan.until {
        Until::Elapsed(limit) => limit,
        Until::Operations(_) => Duration::MAX,
    };
    let (send, receive) = channel();
    let start = Instant::now();
    let tally = thread::scope(|scope| {
        for number in 0..plan.threads {
            let (shared, send) = (&shared, send.clone());
            let name = format!("handler-{number}");
            let handler = move || handle_requests(shared, number as u64, &send);
            if let Err(reason) = thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, handler)
            {
                shared.stop.store(true, Ordering::Relaxed);
                return Err(Failure::Thread(reason));
            }
        }
        drop(send);
        let mut tally = Tally::default();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            // Short enough to see the end of the time, and never a busy loop.
            match receive.recv_timeout(left.clamp(Duration::from_millis(1), TICK)) {
                Ok(theirs) => tally.merge(&theirs),
                Err(RecvTimeoutError::Timeout) => {
                    progress(shared.done.load(Ordering::Relaxed), start.elapsed());
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(tally),
            }
        }
    })?;
    Ok(Served {
        tally,
        elapsed: start.elapsed(),
    })
}

/// One handler thread, from its start to its end.
fn handle_requests(shared: &Shared<'_>, number: u64, send: &Sender<Tally>) {
    let most = match shared.plan.until {
        Until::Elapsed(_) => u64::MAX,
        Until::Operations(most) => most,
    };
    let mut requests = Requests::new(shared.keys, shared.plan.seed.wrapping_add(number));
    let mut tally = Tally::default();
    let mut wire = Vec::new();
    for n in 1..=most {
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        let Some((client, request)) = requests.next() else {
            break;
        };
        let response = shared.namespace.handle(client, &request);
        tally.add(request.operation(), response.outcome());
        wire.clear();
        response.encode(&mut wire);
        black_box(&wire);
        if n.is_multiple_of(NOTE) {
            shared.done.fetch_add(NOTE, Ordering::Relaxed);
        }
    }
    // Nobody listens any more where another thread could not be started.
    let _ = send.send(tally);
}
