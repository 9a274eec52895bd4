//! From where on a figure counts, and why there.

use std::time::Duration;

/// Acquisitions or holds below which nothing is said: means of fewer are an anecdote.
pub(super) const SOME: u64 = 100;

/// What needs a 99th percentile (ten samples beyond it) or claims that something never happens.
pub(super) const MANY: u64 = 1000;

/// Never in so many is more than a path that a short run did not take.
pub(super) const VERY_MANY: u64 = 100_000;

/// Waits below which their sum is luck.
pub(super) const WAITS: u64 = 10;

/// Time that is worth a person's: shorter sums are a few scheduler ticks of a whole run.
pub(super) const TIME: Duration = Duration::from_millis(1);

/// Share of the elapsed time below which even a perfect cure is not seen in any benchmark.
pub(super) const OF_TIME: f64 = 0.01;

/// Held for so large a share, queues already grow steeply: by 1 / (1 − share), here 3.3 times the
/// service time for random arrivals.
pub(super) const BUSY: f64 = 0.7;

/// What held intervals may overlap the edges of the time they are counted in; beyond it several
/// locks have held at once, and their sum is no share.
pub(super) const AT_MOST_WHOLE: f64 = 1.02;

/// Beyond it a single hold (a start, a reload) stands behind the sum, and the mean says nothing.
pub(super) const ONE_HOLD: f64 = 0.1;

/// "Most" of the blame: without this line, less than half of the waiting would be left.
pub(super) const OF_BLAME: f64 = 0.6;

/// So much of the blame leaves no second suspect.
pub(super) const NEARLY_ALL_BLAME: f64 = 0.8;

/// Where less than half of the waiting is this line's blame, hand-over is the larger part.
pub(super) const OF_BLOCKED: f64 = 0.5;

/// A hold too short to move anything out of: some cache misses.
pub(super) const WORTH_SHORTENING: Duration = Duration::from_micros(1);

/// Waits of so many holds are a queue of about as many; few programs mean to have 20 threads wait.
pub(super) const QUEUE: f64 = 20.0;

/// Where fewer of the acquisitions wait, the queue is an event and not the rule.
pub(super) const OFTEN: f64 = 0.1;

/// Half of the time waited for nobody: it is spent on waking threads.
pub(super) const OF_HAND_OVER: f64 = 0.5;

/// Fewer locks of a class are no shards.
pub(super) const LOCKS: u64 = 4;

/// "Most" of the waiting of a class: without this lock, less than half would be left.
pub(super) const OF_WAITING: f64 = 0.6;

/// So much of the waiting leaves no second suspect.
pub(super) const NEARLY_ALL_WAITING: f64 = 0.8;

/// By an equal share: chance does not make one lock so much more popular.
pub(super) const MUCH_MORE: f64 = 4.0;

/// By an equal share: waits come in bursts, so that locks which are chosen alike differ by this much.
pub(super) const EVEN: f64 = 3.0;

/// Time-outs below it happen to a machine that hiccups.
pub(super) const TIMEOUTS: f64 = 0.01;

/// So many are the rule.
pub(super) const MANY_TIMEOUTS: f64 = 0.1;

/// Half of all attempts are in vain.
pub(super) const IN_VAIN: f64 = 0.5;

/// Failures an acquisition that look like a loop: who tries now and then does not see ten in a row.
pub(super) const SPINNING: f64 = 10.0;

/// Growth that frequency scaling and cold caches do not explain.
pub(super) const GROWN: f64 = 2.0;

/// Growth beyond what another mix of inputs explains.
pub(super) const GROWN_MUCH: f64 = 4.0;

/// p99 by p50: latencies of one kind of work stay below it, be they ever so skewed.
pub(super) const UNEVEN: f64 = 50.0;

/// Shorter ones may be interrupts.
pub(super) const LONG_TAIL: Duration = Duration::from_micros(100);

/// How far the counts of lines of one operation may be apart: calls in flight, early returns.
pub(super) const EQUAL: f64 = 0.02;

/// Bounces by acquisitions. Two threads at random, one acquisition an operation, bounce at half of
/// them; with two acquisitions in a row, at a quarter.
pub(super) const IN_A_ROW: f64 = 0.25;

/// What an uncontended acquisition and release cost at least.
pub(super) const COST_OF_LOCK: Duration = Duration::from_nanos(20);

/// Two lines equally often may be a producer and a consumer; three hardly.
pub(super) const LINES: usize = 3;

/// A reader-writer lock costs its readers more than a mutex does; only holds this long repay it.
pub(super) const WORTH_SHARING: Duration = Duration::from_micros(10);

/// A read as short as the lock's own cost on another core's cache line: readers take turns on that
/// line whatever the lock allows.
pub(super) const SHORT_READ: Duration = Duration::from_nanos(200);

/// Reads by acquisitions: with fewer, the writes decide what the lock costs.
pub(super) const READS: f64 = 0.5;

/// Half of the acquisitions by another thread than the last: the cache line of the lock travels.
pub(super) const BOUNCING: f64 = 0.5;

/// What a cache line costs that another core has written.
pub(super) const COST_OF_BOUNCE: Duration = Duration::from_nanos(100);

/// Share of the elapsed time that shows in any benchmark.
pub(super) const MUCH_TIME: f64 = 0.1;

/// Writes by acquisitions: with fewer reads there is hardly ever a second one to share with.
pub(super) const WRITES: f64 = 0.9;

/// Writes by upgradable acquisitions: if all of them were upgrades, still hardly any.
pub(super) const UPGRADED: f64 = 0.01;
