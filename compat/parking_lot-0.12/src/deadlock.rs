//! `parking_lot`'s detector of deadlocks. Mutexes are 0.13's here and reader-writer locks 0.12's, so both
//! versions are asked. A circle that goes through locks of both is none for either;
//! [`instrumented_lock::deadlock`] finds those too.

use backtrace::Backtrace;
use std::thread::ThreadId;

/// A thread that waits for a lock.
#[derive(Debug)]
pub struct DeadlockedThread {
    thread_id: ThreadId,
    backtrace: Backtrace,
}

impl DeadlockedThread {
    /// The thread.
    pub fn thread_id(&self) -> ThreadId {
        self.thread_id
    }

    /// Where it waits.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
    }
}

/// The circles of threads that wait for each other, which have not been told of yet.
pub fn check_deadlock() -> Vec<Vec<DeadlockedThread>> {
    macro_rules! found {
        ($circles:expr) => {
            $circles.into_iter().map(|circle| {
                let threads = circle.into_iter().map(|thread| DeadlockedThread {
                    thread_id: thread.thread_id(),
                    backtrace: thread.backtrace().clone(),
                });
                threads.collect()
            })
        };
    }

    let of_mutexes = found!(instrumented_lock::drop_in::deadlock::check_deadlock());
    let of_rwlocks = found!(parking_lot_core::deadlock::check_deadlock());
    of_mutexes.chain(of_rwlocks).collect()
}
