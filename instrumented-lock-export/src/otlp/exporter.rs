//! [`Exporter`]: sends again and again, on a thread of its own.

use super::message::request;
use super::settings::{Protocol, Settings};
use super::transport::{Refusal, Taken, Transport};
use crate::prometheus::Series;
use instrumented_lock::registry;
use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// After the first of some failures; twice that after each further one.
const PAUSE: Duration = Duration::from_secs(1);

/// What has become of messages so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Messages that the collector has taken.
    pub taken: u64,
    /// Attempts that failed. What they had is in the next message that is taken.
    pub failed: u64,
    /// Data points that the collector has rejected out of messages that it has taken.
    pub rejected: u64,
    /// What went wrong last; `None` once a message has been taken as a whole.
    pub problem: Option<String>,
}

/// Sends the figures of this process to a collector until it is dropped, which sends them once more: that
/// takes at most twice the [timeout](Settings::timeout). Nothing is sent for what happens after that.
#[derive(Debug)]
pub struct Exporter {
    status: Arc<Mutex<Status>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Sends as the [environment](Settings) says.
///
/// When messages begin to fail, that is one line on standard error; [`Exporter::status`] has it too.
///
/// # Errors
///
/// Where a variable is not understood, needs a feature that is not compiled in, or no thread can be had.
pub fn start() -> io::Result<Exporter> {
    let settings = Settings::from_environment();
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    Exporter::start(settings.map_err(invalid)?)
}

impl Exporter {
    /// Sends as the settings say. The first message is sent after one [interval](Settings::interval).
    ///
    /// # Errors
    ///
    /// Where the settings need a feature that is not compiled in, or no thread can be had.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let status = Arc::default();
        if !settings.is_enabled {
            return Ok(Exporter {
                status,
                stop: None,
                thread: None,
            });
        }
        let mut sending = Sending {
            transport: transport(&settings)?,
            // The same in every message, or a collector would take each for a restart.
            began: SystemTime::now() - registry::snapshot().elapsed(),
            series: None,
            status: Arc::clone(&status),
            settings,
        };
        let (stop, stopped) = channel();
        let builder = thread::Builder::new().name("lock-otlp".to_owned());
        let thread = builder.spawn(move || sending.run(&stopped))?;
        Ok(Exporter {
            status,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// What has become of messages so far.
    pub fn status(&self) -> Status {
        // A panic in between has left it whole.
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.clone()
    }

    /// Sends once more and ends, as dropping does.
    pub fn shut_down(mut self) -> Status {
        self.end();
        self.status()
    }

    /// Lets it send as long as the process runs. What happens after the last message is not sent.
    pub fn detach(mut self) {
        // Never sent, and never dropped.
        std::mem::forget(self.stop.take());
        self.thread = None;
    }

    fn end(&mut self) {
        // Dropping the sender is the signal.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.end();
    }
}

/// That of the settings.
fn transport(settings: &Settings) -> io::Result<Box<dyn Transport>> {
    if settings.endpoint.starts_with("https://") && !cfg!(feature = "otlp-tls") {
        return Err(missing(&settings.endpoint, "otlp-tls"));
    }
    match settings.protocol {
        #[cfg(feature = "otlp-http")]
        Protocol::Http => Ok(Box::new(super::http::Http::new(settings))),
        #[cfg(not(feature = "otlp-http"))]
        Protocol::Http => Err(missing("http/protobuf", "otlp-http")),
        #[cfg(feature = "otlp-grpc")]
        Protocol::Grpc => Ok(Box::new(super::grpc::Grpc::new(settings)?)),
        #[cfg(not(feature = "otlp-grpc"))]
        Protocol::Grpc => Err(missing("grpc", "otlp-grpc")),
    }
}

fn missing(what: &str, feature: &str) -> io::Error {
    let message = format!("{what} needs the feature `{feature}` of instrumented-lock-export");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

struct Sending {
    settings: Settings,
    transport: Box<dyn Transport>,
    began: SystemTime,
    /// Which lines are told apart; `None` before the first message.
    series: Option<Series>,
    status: Arc<Mutex<Status>>,
}

impl Sending {
    fn run(&mut self, stopped: &Receiver<()>) {
        let (mut rest, mut failures) = (self.settings.interval, 0);
        loop {
            let is_over = !matches!(stopped.recv_timeout(rest), Err(RecvTimeoutError::Timeout));
            let sent = self.send();
            if is_over {
                return;
            }
            rest = match sent {
                Ok(()) => {
                    failures = 0;
                    self.settings.interval
                }
                Err(refusal) => {
                    failures += 1;
                    pause(failures, &refusal, self.settings.interval)
                }
            };
        }
    }

    /// All figures as they are now.
    fn send(&mut self) -> Result<(), Refusal> {
        let snapshot = registry::snapshot();
        let now = SystemTime::now();
        let most = self.settings.series;
        let series = self
            .series
            .get_or_insert_with(|| Series::of(&snapshot, most));
        series.add(&snapshot);
        let message = request(&snapshot, series, &self.settings.resource, self.began, now);
        let sent = self.transport.send(&message);
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let (problem, answer) = match sent {
            Ok(Taken { rejected, why }) => {
                status.taken += 1;
                status.rejected += rejected;
                let is_whole = rejected == 0 && why.is_empty();
                let problem =
                    (!is_whole).then(|| format!("{rejected} data points rejected: {why}"));
                (problem, Ok(()))
            }
            Err(refusal) => {
                status.failed += 1;
                (Some(refusal.why.clone()), Err(refusal))
            }
        };
        let is_news = status.problem.is_none();
        status.problem = problem;
        if let (true, Some(problem)) = (is_news, &status.problem) {
            let problem = problem.replace(['\n', '\r'], " ");
            // Where that cannot be written the status says it.
            let _ = writeln!(io::stderr(), "instrumented-lock: OTLP: {problem}");
        }
        answer
    }
}

/// How long it is waited after so many failures in a row.
fn pause(failures: u32, refusal: &Refusal, interval: Duration) -> Duration {
    if !refusal.is_passing {
        return interval;
    }
    let longer = PAUSE
        .saturating_mul(1 << (failures - 1).min(16))
        .min(interval.max(PAUSE));
    // Processes that have lost one collector do not come back all at once: by up to a quarter later.
    let jitter = longer / 4 * (std::process::id() % 64) / 64;
    (longer + jitter).max(refusal.after.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_interval_and_heed_the_collector() {
        let refusal = |is_passing, after| Refusal {
            is_passing,
            after,
            why: String::new(),
        };
        let (passing, minute) = (refusal(true, None), Duration::from_secs(60));
        let pauses: Vec<_> = (1..20).map(|n| pause(n, &passing, minute)).collect();
        assert!(pauses.is_sorted());
        assert!(pauses[0] >= PAUSE && pauses[0] <= 2 * PAUSE, "{pauses:?}");
        assert!(
            pauses[18] >= minute && pauses[18] <= 2 * minute,
            "{pauses:?}"
        );
        let asked = refusal(true, Some(Duration::from_secs(300)));
        assert_eq!(pause(1, &asked, minute), Duration::from_secs(300));
        assert_eq!(pause(1, &refusal(false, None), minute), minute);
    }
}
