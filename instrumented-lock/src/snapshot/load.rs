//! [`Load`]: how busy the program was.

use std::time::Duration;

/// How busy the program was: from [`Snapshot::load`](super::Snapshot::load).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Load {
    pub(crate) threads_ns: u64,
    pub(crate) processor_ns: u64,
    pub(crate) processors: u64,
}

impl Load {
    /// For how long threads have used locks, all together: each from its first hold to the end of its last one. By
    /// the elapsed time it is how many threads there were, on average. Where a thread has not used a lock for long
    /// and then does, an interval has the time between.
    pub fn threads_time(&self) -> Duration {
        Duration::from_nanos(self.threads_ns)
    }

    /// The processor time of the process, of all its threads. Zero where the system does not say: other than Unix.
    pub fn processor_time(&self) -> Duration {
        Duration::from_nanos(self.processor_ns)
    }

    /// How many processors the process may use
    /// ([`available_parallelism`](std::thread::available_parallelism)), when the first snapshot was taken; 0 where that
    /// is not known.
    pub fn processors(&self) -> u64 {
        self.processors
    }

    pub(super) fn since(self, earlier: Self) -> Self {
        Load {
            threads_ns: self.threads_ns.saturating_sub(earlier.threads_ns),
            processor_ns: self.processor_ns.saturating_sub(earlier.processor_ns),
            processors: self.processors,
        }
    }

    pub(super) fn merge(self, other: Self) -> Self {
        Load {
            threads_ns: self.threads_ns.saturating_add(other.threads_ns),
            processor_ns: self.processor_ns.saturating_add(other.processor_ns),
            processors: self.processors.max(other.processors),
        }
    }
}
