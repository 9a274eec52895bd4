//! A thread that runs the steps of a schedule and counts what they should come to.

use super::{Act, End, Figure, How, LOCKS, Locks, Step, Tally, Use};
use instrumented_lock::lock_api::{
    self, RawMutexFair, RawMutexTimed, RawRwLockTimed, RawRwLockUpgradeDowngrade,
    RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};
use instrumented_lock::{MappedReentrantMutexGuard, Mode, MutexGuard, ReentrantMutexGuard};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Long enough for others to run into the lock.
const PAUSE: Duration = Duration::from_micros(50);

/// The payload of a panic that is part of a schedule.
struct Planned;

/// Panics, without the message to standard error.
fn panic_as_planned<T>() -> T {
    resume_unwind(Box::new(Planned))
}

fn catch_planned(f: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(f))
        && !panic.is::<Planned>()
    {
        resume_unwind(panic);
    }
}

pub(super) struct Thread<'a> {
    locks: &'a Locks,
    pub(super) tally: Tally,
}

/// Runs the steps that are nested in another one.
type Nested<'f, 'a> = &'f dyn Fn(&mut Thread<'a>);

impl<'a> Thread<'a> {
    pub(super) fn new(locks: &'a Locks) -> Self {
        Thread {
            locks,
            tally: Tally::new(),
        }
    }

    pub(super) fn run(&mut self, steps: &[Step]) {
        self.run_above(0, steps);
    }

    /// Runs `steps` while holding locks below number `floor`.
    fn run_above(&mut self, floor: usize, mut steps: &[Step]) {
        while let Some((step, rest)) = steps.split_first() {
            steps = rest;
            match step {
                Step::Leak { shared } => self.leak(*shared),
                Step::Use(this) => {
                    let mut inside: &[Step] = &[];
                    if this.nests {
                        mem::swap(&mut steps, &mut inside);
                    }
                    let nested = |thread: &mut Self| {
                        thread.run_above(floor.max(this.lock + 1), inside);
                    };
                    catch_planned(|| self.perform(this, floor, &nested));
                }
            }
        }
    }

    fn perform(&mut self, this: &Use, floor: usize, nested: Nested<'_, 'a>) {
        let mut this = this.clone();
        if this.lock < floor {
            // Out of order: it is tried, and its guard does nothing that may block.
            this.how = How::Try;
            this.acts.clear();
        }
        let locks = self.locks;
        match LOCKS[this.lock] {
            "plain" => self.mutex("plain", &locks.plain, &this, Self::plain_act, nested),
            "fair" => self.mutex("fair", &locks.fair, &this, |_, _, _| (), nested),
            "reentrant" => self.reentrant(&this, nested),
            "shared" => self.rwlock("shared", &locks.shared, &this, nested),
            "recursive" => self.rwlock("recursive", &locks.recursive, &this, nested),
            other => unreachable!("no lock is named {other}"),
        }
    }

    fn count(&mut self, lock: &'static str, figure: Figure) {
        *self.tally.entry((lock, figure)).or_default() += 1;
    }

    /// Counts how an attempt went.
    fn attempted(&mut self, lock: &'static str, mode: Mode, how: How, succeeded: bool) {
        let figure = match how {
            _ if succeeded => Figure::Acquired(mode),
            How::Timed => Figure::TimedOut(mode),
            How::Block | How::Try => Figure::TryFailed(mode),
        };
        self.count(lock, figure);
    }

    fn leak(&mut self, shared: bool) {
        let (name, mode, got) = if shared {
            let guard = self.locks.leaking_shared.try_read();
            ("leaking_shared", Mode::Read, guard.map(mem::forget))
        } else {
            let guard = self.locks.leaking.try_lock();
            ("leaking", Mode::Write, guard.map(mem::forget))
        };
        self.attempted(name, mode, How::Try, got.is_some());
        if got.is_some() {
            self.count(name, Figure::InFlight(mode));
        }
    }

    fn mutex<R: RawMutexFair + RawMutexTimed<Duration = Duration>>(
        &mut self,
        name: &'static str,
        lock: &'a lock_api::Mutex<R, u64>,
        this: &Use,
        other_act: impl Fn(&mut Self, &mut lock_api::MutexGuard<'_, R, u64>, Act),
        nested: Nested<'_, 'a>,
    ) {
        use lock_api::{MappedMutexGuard as Mapped, MutexGuard as Guard};
        let guard = match this.how {
            How::Block => Some(lock.lock()),
            How::Try => lock.try_lock(),
            How::Timed => lock.try_lock_for(PAUSE),
        };
        self.attempted(name, Mode::Write, this.how, guard.is_some());
        let Some(mut guard) = guard else { return };
        let again = Figure::Acquired(Mode::Write);
        *guard += 1;
        for &act in &this.acts {
            match act {
                Act::Pause => std::thread::sleep(PAUSE),
                Act::Bump => {
                    Guard::bump(&mut guard);
                    self.count(name, again);
                }
                Act::Unlocked => {
                    Guard::unlocked(&mut guard, std::thread::yield_now);
                    self.count(name, again);
                }
                Act::UnlockedFair => {
                    Guard::unlocked_fair(&mut guard, std::thread::yield_now);
                    self.count(name, again);
                }
                Act::UnlockedPanics => {
                    catch_planned(|| Guard::unlocked(&mut guard, panic_as_planned));
                    self.count(name, again);
                }
                _ => other_act(self, &mut guard, act),
            }
        }
        nested(self);
        match this.end {
            End::Drop => drop(guard),
            End::UnlockFair => Guard::unlock_fair(guard),
            End::Map => drop(Guard::map(guard, |n| n)),
            End::MapThenUnlockFair => Mapped::unlock_fair(Guard::map(guard, |n| n)),
            End::TryMapFails => drop(Guard::try_map(guard, |_| None::<&mut u64>)),
            End::MapPanics => drop(Guard::map(guard, |_| panic_as_planned::<&mut u64>())),
            End::Panic => panic_as_planned(),
        }
    }

    /// What only a mutex can that condition variables work with.
    fn plain_act(&mut self, guard: &mut MutexGuard<'_, u64>, act: Act) {
        let changed = &self.locks.changed;
        match act {
            Act::Wait => {
                let woken = changed.wait_for(guard, PAUSE);
                self.count("plain", Figure::Acquired(Mode::Write));
                for name in ["plain", "changed"] {
                    self.count(name, Figure::Asleep);
                    if woken.timed_out() {
                        self.count(name, Figure::AsleepTooLong);
                    }
                }
            }
            Act::ConditionPanics => {
                catch_planned(|| changed.wait_while(guard, |_| panic_as_planned()));
            }
            Act::Notify => {
                changed.notify_one();
            }
            _ => (),
        }
    }

    fn reentrant(&mut self, this: &Use, nested: Nested<'_, 'a>) {
        use MappedReentrantMutexGuard as Mapped;
        use ReentrantMutexGuard as Guard;
        let lock = &self.locks.reentrant;
        let is_outermost = !lock.is_owned_by_current_thread();
        let guard = match this.how {
            How::Block => Some(lock.lock()),
            How::Try => lock.try_lock(),
            How::Timed => lock.try_lock_for(PAUSE),
        };
        if is_outermost {
            self.attempted("reentrant", Mode::Write, this.how, guard.is_some());
        } else {
            self.count("reentrant", Figure::Nested);
        }
        let Some(mut guard) = guard else { return };
        let again = Figure::Acquired(Mode::Write);
        for &act in &this.acts {
            match act {
                Act::Pause => std::thread::sleep(PAUSE),
                Act::Bump => {
                    Guard::bump(&mut guard);
                    self.count("reentrant", again);
                }
                Act::Unlocked => {
                    Guard::unlocked(&mut guard, std::thread::yield_now);
                    self.count("reentrant", again);
                }
                Act::UnlockedFair => {
                    Guard::unlocked_fair(&mut guard, std::thread::yield_now);
                    self.count("reentrant", again);
                }
                Act::UnlockedPanics => {
                    catch_planned(|| Guard::unlocked(&mut guard, panic_as_planned));
                    self.count("reentrant", again);
                }
                _ => (),
            }
        }
        nested(self);
        match this.end {
            End::Drop => drop(guard),
            End::UnlockFair => Guard::unlock_fair(guard),
            End::Map => drop(Guard::map(guard, |n| n)),
            End::MapThenUnlockFair => Mapped::unlock_fair(Guard::map(guard, |n| n)),
            End::TryMapFails => drop(Guard::try_map(guard, |_| None::<&u64>)),
            End::MapPanics => drop(Guard::map(guard, |_| panic_as_planned::<&u64>())),
            End::Panic => panic_as_planned(),
        }
    }

    fn rwlock<R>(
        &mut self,
        name: &'static str,
        lock: &'a lock_api::RwLock<R, u64>,
        this: &Use,
        nested: Nested<'_, 'a>,
    ) where
        R: Upgrades,
    {
        let guard = match (this.mode, this.how) {
            (Mode::Read, How::Block) => Some(Shared::Read(lock.read())),
            (Mode::Read, How::Try) => lock.try_read().map(Shared::Read),
            (Mode::Read, How::Timed) => lock.try_read_for(PAUSE).map(Shared::Read),
            (Mode::Upgradable, How::Block) => Some(Shared::Upgradable(lock.upgradable_read())),
            (Mode::Upgradable, How::Try) => lock.try_upgradable_read().map(Shared::Upgradable),
            (Mode::Upgradable, How::Timed) => {
                lock.try_upgradable_read_for(PAUSE).map(Shared::Upgradable)
            }
            (Mode::Write, How::Block) => Some(Shared::Write(lock.write())),
            (Mode::Write, How::Try) => lock.try_write().map(Shared::Write),
            (Mode::Write, How::Timed) => lock.try_write_for(PAUSE).map(Shared::Write),
        };
        self.attempted(name, this.mode, this.how, guard.is_some());
        let Some(mut guard) = guard else { return };
        for &act in &this.acts {
            guard = guard.act(act, &mut |figure| self.count(name, figure));
        }
        nested(self);
        guard.end(this.end);
    }
}

/// A raw lock that can do all that `parking_lot`'s can.
trait Upgrades:
    RawRwLockUpgradeFair
    + RawRwLockUpgradeDowngrade
    + RawRwLockUpgradeTimed
    + RawRwLockTimed<Duration = Duration>
{
}
impl<R> Upgrades for R where
    R: RawRwLockUpgradeFair
        + RawRwLockUpgradeDowngrade
        + RawRwLockUpgradeTimed
        + RawRwLockTimed<Duration = Duration>
{
}

/// The guard of a reader-writer lock.
enum Shared<'a, R: Upgrades> {
    Read(lock_api::RwLockReadGuard<'a, R, u64>),
    Upgradable(lock_api::RwLockUpgradableReadGuard<'a, R, u64>),
    Write(lock_api::RwLockWriteGuard<'a, R, u64>),
}

impl<R: Upgrades> Shared<'_, R> {
    fn act(self, act: Act, count: &mut dyn FnMut(Figure)) -> Self {
        use lock_api::{RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};
        /// What all three do alike.
        macro_rules! common {
            ($Guard:ident, $guard:ident, $mode:expr) => {{
                match act {
                    Act::Pause => std::thread::sleep(PAUSE),
                    Act::Bump => $Guard::bump(&mut $guard),
                    Act::Unlocked => $Guard::unlocked(&mut $guard, std::thread::yield_now),
                    Act::UnlockedFair => {
                        $Guard::unlocked_fair(&mut $guard, std::thread::yield_now);
                    }
                    Act::UnlockedPanics => {
                        catch_planned(|| $Guard::unlocked(&mut $guard, panic_as_planned));
                    }
                    _ => (),
                }
                if matches!(
                    act,
                    Act::Bump | Act::Unlocked | Act::UnlockedFair | Act::UnlockedPanics
                ) {
                    count(Figure::Acquired($mode));
                }
            }};
        }
        match self {
            Shared::Read(mut guard) => {
                common!(RwLockReadGuard, guard, Mode::Read);
                Shared::Read(guard)
            }
            Shared::Write(mut guard) => match act {
                Act::Downgrade => {
                    count(Figure::Acquired(Mode::Read));
                    Shared::Read(RwLockWriteGuard::downgrade(guard))
                }
                Act::DowngradeToUpgradable => {
                    count(Figure::Acquired(Mode::Upgradable));
                    Shared::Upgradable(RwLockWriteGuard::downgrade_to_upgradable(guard))
                }
                _ => {
                    *guard += 1;
                    common!(RwLockWriteGuard, guard, Mode::Write);
                    Shared::Write(guard)
                }
            },
            Shared::Upgradable(guard) => guard_upgradable(guard, act, count),
        }
    }
}
