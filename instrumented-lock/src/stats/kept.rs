//! Room for a bounded number of events. As long as there is a free place an event takes the next one. After that
//! there is a [bar](Room::bar), a length: what lasted longer passes, of what was shorter a part is
//! [chosen](Choice), in proportion to its length. Whenever as many more have passed as half of the places, the bar is
//! twice as high. What passes draws a place, and the event that is worth more stays there. So what is kept is
//! spread evenly over the time, and of every length there is as much as in all.
//!
//! All memory is there before the first event: nothing is allocated, and nobody waits.

use super::log::Bits;
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// One thing that has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The words of its record.
    pub(crate) what: usize,
    pub(crate) site: usize,
    pub(crate) start: u64,
    /// 0 for what goes on.
    pub(crate) end: u64,
    /// The number of the thread; 0 for one that has ended before.
    pub(crate) thread: u32,
    /// The number of the task, if it is one's: of interest for locks of tasks only. The low half.
    pub(crate) task: u32,
    /// Of a wait, the word of the holder that it is blamed on most; 0 for none.
    pub(crate) holder: usize,
    /// Of a wait, a bit for each holder that it is blamed on; of a hold, its own. See `events`.
    pub(crate) holders: u32,
}

/// Places for events.
pub(super) struct Room {
    places: Box<[Place]>,
    /// In nanoseconds; 0 as long as there are free places. Relaxed, as both below: they are counts.
    bar: AtomicU64,
    /// How many events there were; several, so that threads do not meet.
    seen: [CachePadded<AtomicU64>; SEEN],
    /// How many of them passed the bar. Away from what all read.
    tried: CachePadded<AtomicU64>,
}

/// Threads fold on different processors.
const SEEN: usize = 16;

/// The first bar, in nanoseconds: of the shortest holds, which last some 20, it leaves a third, and so spares two
/// more levels for nothing.
const LOWEST_BAR: u64 = 64;

/// Room for one event: a line of the processor's cache.
#[repr(C, align(64))]
struct Place {
    /// [`FREE`], [`BUSY`] or [`FULL`].
    state: AtomicU32,
    thread: AtomicU32,
    task: AtomicU32,
    holders: AtomicU32,
    what: AtomicUsize,
    site: AtomicUsize,
    start: AtomicU64,
    end: AtomicU64,
    holder: AtomicUsize,
    weight: AtomicU64,
}

const FREE: u32 = 0;
const BUSY: u32 = 1;
const FULL: u32 = 2;

/// Chooses among events, of all that are shorter than the bar as many as together last as long as it, one. So each
/// is chosen with a chance in proportion to its length, at the price of an addition.
pub(super) struct Choice {
    pub(super) bar: u64,
    /// What those that were not chosen have come to since.
    passed_over: u64,
}

impl Choice {
    /// Begins somewhere, which `random` says.
    pub(super) fn new(room: &Room, random: u64) -> Self {
        let bar = room.bar.load(Ordering::Relaxed);
        Choice {
            bar,
            passed_over: part_of(bar, random),
        }
    }

    /// Whether an event of so many nanoseconds passes.
    #[inline(always)]
    pub(super) fn passes(&mut self, ns: u64) -> bool {
        // One more, so that what lasted nothing has a chance.
        let weight = ns.saturating_add(1);
        if weight >= self.bar {
            return true;
        }
        self.passed_over += weight;
        let passes = self.passed_over >= self.bar;
        if passes {
            self.passed_over -= self.bar;
        }
        passes
    }
}

/// The bits of a number mixed up; the upper ones best. Multiplied by the odd number next to 2^64 / φ, once its own
/// upper bits have been brought down.
pub(super) fn scrambled(n: u64) -> u64 {
    (n ^ n >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// `random` as a number between 0 and 1, times `whole`, rounded down.
fn part_of(whole: u64, random: u64) -> u64 {
    ((u128::from(whole) * u128::from(random)) >> 64) as u64
}

/// What an event is worth: its weight, divided by a random number between 0 and 1 that its start says. Compared
/// by crosswise multiplication, and at a bar by that too.
#[derive(Clone, Copy)]
struct Worth {
    weight: u64,
    divisor: u32,
}

impl Worth {
    fn new(weight: u64, start: u64) -> Self {
        // Once more, since which of the short ones are chosen hangs on the first.
        let random = scrambled(scrambled(start)) >> 32;
        Worth {
            weight,
            divisor: u32::try_from(random).unwrap_or(0),
        }
    }

    fn is_less_than(self, other: Worth) -> bool {
        let times = |weight: u64, divisor: u32| u128::from(weight) * (u128::from(divisor) + 1);
        times(self.weight, other.divisor) < times(other.weight, self.divisor)
    }

    fn reaches(self, bar: u64) -> bool {
        // The divisor stands for a number of 2^32ths.
        let bar = u128::from(bar) * (u128::from(self.divisor) + 1);
        u128::from(self.weight) << 32 >= bar
    }
}

impl Room {
    /// All of its memory is written to, so that nobody has to wait for it later.
    pub(super) fn new(places: usize) -> Self {
        Room {
            places: (0..places).map(|_| Place::new()).collect(),
            bar: AtomicU64::new(0),
            seen: std::array::from_fn(|_| CachePadded::new(AtomicU64::new(0))),
            tried: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// So many have been seen, and of them these passed, a bit for each. `event` says what one is, and how long it
    /// lasted. By one who found this `bar`; who counts at the same time had better have another `home`.
    pub(super) fn take(
        &self,
        (home, bar): (usize, u64),
        seen: u64,
        passed: u64,
        event: impl Fn(u32) -> (u64, Taken),
    ) {
        if seen > 0 {
            self.seen[home % SEEN].fetch_add(seen, Ordering::Relaxed);
        }
        let tries = u64::from(passed.count_ones());
        if tries == 0 {
            return;
        }
        let first = self.tried.fetch_add(tries, Ordering::Relaxed);
        // Half as many as there are places, so that few tries are for nothing: a third of the places and more are then
        // kept in the end.
        let level = |tried: u64| 2 * tried / self.places.len() as u64;
        if level(first + tries) > level(first).max(1) {
            let bar = self.bar.load(Ordering::Relaxed);
            let next = bar.saturating_mul(2).max(LOWEST_BAR);
            self.bar.store(next, Ordering::Relaxed);
        }
        for (index, nth) in Bits(passed).zip(first..) {
            let (ns, event) = event(index);
            // What was chosen stands for all that passed over.
            let weight = ns.saturating_add(1).max(bar);
            self.put(nth, weight, &event);
        }
    }

    /// Puts the event, which is the `nth` that is tried, into its place.
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer places")]
    fn put(&self, nth: u64, weight: u64, event: &Taken) {
        let places = self.places.len() as u64;
        if nth < places {
            // Nobody else writes it before it is full.
            self.places[nth as usize].fill(weight, event);
            return;
        }
        // Multiples of φ, which fall evenly between 0 and 1: no place is drawn again before nearly all were.
        let drawn = part_of(places, nth.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let place = &self.places[drawn as usize];
        // Acquire: pairs with the release in `fill`.
        let is_mine =
            place
                .state
                .compare_exchange(FULL, BUSY, Ordering::Acquire, Ordering::Relaxed);
        // Who has it is writing, and one of the two events would be gone anyway.
        if is_mine.is_err() {
            return;
        }
        if place.worth().is_less_than(Worth::new(weight, event.start)) {
            place.fill(weight, event);
        } else {
            place.state.store(FULL, Ordering::Release);
        }
    }

    /// How many there were, the bar, and what is kept. For who is alone with it.
    pub(super) fn kept(&self) -> (u64, u64, Vec<Taken>) {
        let bar = self.bar.load(Ordering::Relaxed);
        // What is left from the time when the bar was lower would be shown too often.
        let kept = self.places.iter().filter(|place| {
            place.state.load(Ordering::Acquire) == FULL && place.worth().reaches(bar)
        });
        let seen = self.seen.iter().map(|seen| seen.load(Ordering::Relaxed));
        (seen.sum(), bar, kept.map(Place::taken).collect())
    }
}

// All but `state` are written by one at a time, and read by who comes after: Relaxed.
impl Place {
    fn new() -> Self {
        Place {
            state: AtomicU32::new(FREE),
            thread: AtomicU32::new(0),
            task: AtomicU32::new(0),
            holders: AtomicU32::new(0),
            what: AtomicUsize::new(0),
            site: AtomicUsize::new(0),
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
            holder: AtomicUsize::new(0),
            weight: AtomicU64::new(0),
        }
    }

    fn worth(&self) -> Worth {
        Worth::new(
            self.weight.load(Ordering::Relaxed),
            self.start.load(Ordering::Relaxed),
        )
    }

    fn fill(&self, weight: u64, event: &Taken) {
        self.thread.store(event.thread, Ordering::Relaxed);
        self.task.store(event.task, Ordering::Relaxed);
        self.holders.store(event.holders, Ordering::Relaxed);
        self.what.store(event.what, Ordering::Relaxed);
        self.site.store(event.site, Ordering::Relaxed);
        self.start.store(event.start, Ordering::Relaxed);
        self.end.store(event.end, Ordering::Relaxed);
        self.holder.store(event.holder, Ordering::Relaxed);
        self.weight.store(weight, Ordering::Relaxed);
        // Release: who finds it full finds what is in it.
        self.state.store(FULL, Ordering::Release);
    }

    fn taken(&self) -> Taken {
        Taken {
            what: self.what.load(Ordering::Relaxed),
            site: self.site.load(Ordering::Relaxed),
            start: self.start.load(Ordering::Relaxed),
            end: self.end.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
            task: self.task.load(Ordering::Relaxed),
            holder: self.holder.load(Ordering::Relaxed),
            holders: self.holders.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes events one by one, of so many nanoseconds each, and returns which are kept, by their start.
    fn kept(room: &Room, lengths: impl IntoIterator<Item = u64>) -> Vec<u64> {
        for (start, ns) in (1..).zip(lengths) {
            let mut choice = Choice::new(room, scrambled(start));
            let passed = u64::from(choice.passes(ns));
            let event = Taken {
                start,
                ..Taken::default()
            };
            room.take((0, choice.bar), 1, passed, |_| (ns, event));
        }
        room.kept().2.iter().map(|event| event.start).collect()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let room = Room::new(1000);
        let mut kept = kept(&room, (0..999).map(|n| n % 7));
        kept.sort_unstable();
        assert_eq!(kept, (1..1000).collect::<Vec<_>>());
        assert_eq!(room.kept().1, 0);
    }

    #[test]
    fn of_more_than_fits_the_long_ones_are_kept_and_the_others_evenly_over_the_time() {
        let room = Room::new(4096);
        let many = 400_000;
        // A long one in ten thousand; the others differ by their length, tenfold.
        let ns = |n: u64| match n % 10_000 {
            0 => 10_000_000,
            n if n % 2 == 0 => 50,
            _ => 500,
        };
        let kept = kept(&room, (1..=many).map(ns));
        let (seen, bar, _) = room.kept();
        assert_eq!(seen, many);
        assert!(bar > 500, "{bar}");
        let of = |wanted: u64| {
            kept.iter()
                .copied()
                .filter(move |&start| ns(start) == wanted)
        };
        assert_eq!(of(10_000_000).count(), 40);
        let (short, long) = (of(50).count(), of(500).count());
        // In proportion to their length: ten times as many, as far as chance allows.
        assert!((6 * short..16 * short).contains(&long), "{short} {long}");
        assert!(kept.len() > 800, "{}", kept.len());
        for part in 0..4 {
            let is_in = |start: u64| (start - 1) * 4 / many == part;
            let of_part = kept.iter().filter(|start| is_in(**start)).count();
            assert!(
                (kept.len() / 8..kept.len() / 2).contains(&of_part),
                "{part}: {of_part} of {}",
                kept.len()
            );
        }
    }
}
