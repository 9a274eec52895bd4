//! A thread that runs the steps of a schedule and counts what they should come to.

use super::{Act, End, Figure, How, LOCKS, Locks, Step, Tally, Use};
use instrumented_lock::lock_api::{
    self, MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, MutexGuard,
    RawMutexFair, RawMutexTimed, RawRwLockTimed, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair,
    RawRwLockUpgradeTimed, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use instrumented_lock::{MappedReentrantMutexGuard, Mode, RawMutex, ReentrantMutexGuard};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Long enough for others to run into the lock.
const PAUSE: Duration = Duration::from_micros(50);

/// Long enough for others to come by and notify.
const WAIT: Duration = Duration::from_millis(1);

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

/// What all guards can do, and whether that acquires the lock again.
macro_rules! act_alike {
    ($act:expr, $Guard:ident, $guard:ident) => {
        match $act {
            Act::Pause => {
                std::thread::sleep(PAUSE);
                false
            }
            Act::Bump => {
                $Guard::bump(&mut $guard);
                true
            }
            Act::Unlocked => {
                $Guard::unlocked(&mut $guard, std::thread::yield_now);
                true
            }
            Act::UnlockedFair => {
                $Guard::unlocked_fair(&mut $guard, std::thread::yield_now);
                true
            }
            Act::UnlockedPanics => {
                catch_planned(|| $Guard::unlocked(&mut $guard, panic_as_planned));
                true
            }
            _ => false,
        }
    };
}

/// Ends a guard that can be mapped, to a part that is `$Part`.
macro_rules! end_mapped {
    ($end:expr, $Guard:ident, $Mapped:ident, $guard:ident, $Part:ty) => {
        match $end {
            End::Drop => drop($guard),
            End::UnlockFair => $Guard::unlock_fair($guard),
            End::Map => drop($Guard::map($guard, |n| n)),
            End::MapThenUnlockFair => $Mapped::unlock_fair($Guard::map($guard, |n| n)),
            End::TryMapFails => drop($Guard::try_map($guard, |_| None::<$Part>)),
            End::MapPanics => drop($Guard::map($guard, |_| panic_as_planned::<$Part>())),
            End::Panic => panic_as_planned(),
        }
    };
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
        other_act: impl Fn(&mut Self, &mut MutexGuard<'_, R, u64>, Act),
        nested: Nested<'_, 'a>,
    ) {
        let guard = match this.how {
            How::Block => Some(lock.lock()),
            How::Try => lock.try_lock(),
            How::Timed => lock.try_lock_for(PAUSE),
        };
        self.attempted(name, Mode::Write, this.how, guard.is_some());
        let Some(mut guard) = guard else { return };
        *guard += 1;
        for &act in &this.acts {
            if act_alike!(act, MutexGuard, guard) {
                self.count(name, Figure::Acquired(Mode::Write));
            } else {
                other_act(self, &mut guard, act);
            }
        }
        nested(self);
        end_mapped!(this.end, MutexGuard, MappedMutexGuard, guard, &mut u64);
    }

    /// What only a mutex can that condition variables work with.
    fn plain_act(&mut self, guard: &mut MutexGuard<'_, RawMutex, u64>, act: Act) {
        let changed = &self.locks.changed;
        match act {
            Act::Wait => {
                let woken = changed.wait_for(guard, WAIT);
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
        for &act in &this.acts {
            if act_alike!(act, ReentrantMutexGuard, guard) {
                self.count("reentrant", Figure::Acquired(Mode::Write));
            }
        }
        nested(self);
        end_mapped!(
            this.end,
            ReentrantMutexGuard,
            MappedReentrantMutexGuard,
            guard,
            &u64
        );
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
    Read(RwLockReadGuard<'a, R, u64>),
    Upgradable(RwLockUpgradableReadGuard<'a, R, u64>),
    Write(RwLockWriteGuard<'a, R, u64>),
}

impl<R: Upgrades> Shared<'_, R> {
    fn act(self, act: Act, count: &mut dyn FnMut(Figure)) -> Self {
        match self {
            Shared::Read(mut guard) => {
                if act_alike!(act, RwLockReadGuard, guard) {
                    count(Figure::Acquired(Mode::Read));
                }
                Shared::Read(guard)
            }
            Shared::Upgradable(guard) => Self::act_upgradable(guard, act, count),
            Shared::Write(mut guard) => {
                *guard += 1;
                match act {
                    Act::Downgrade => {
                        count(Figure::Acquired(Mode::Read));
                        return Shared::Read(RwLockWriteGuard::downgrade(guard));
                    }
                    Act::DowngradeToUpgradable => {
                        count(Figure::Acquired(Mode::Upgradable));
                        return Shared::Upgradable(RwLockWriteGuard::downgrade_to_upgradable(
                            guard,
                        ));
                    }
                    _ => (),
                }
                if act_alike!(act, RwLockWriteGuard, guard) {
                    count(Figure::Acquired(Mode::Write));
                }
                Shared::Write(guard)
            }
        }
    }

    fn act_upgradable<'a>(
        mut guard: RwLockUpgradableReadGuard<'a, R, u64>,
        act: Act,
        count: &mut dyn FnMut(Figure),
    ) -> Shared<'a, R> {
        use RwLockUpgradableReadGuard as Guard;
        let upgraded = match act {
            Act::Upgrade => Ok(Guard::upgrade(guard)),
            Act::TryUpgrade => Guard::try_upgrade(guard),
            Act::TimedUpgrade => Guard::try_upgrade_for(guard, PAUSE),
            Act::Downgrade => {
                count(Figure::Acquired(Mode::Read));
                return Shared::Read(Guard::downgrade(guard));
            }
            Act::WithUpgraded | Act::WithUpgradedPanics | Act::TryWithUpgraded => {
                let wrote = match act {
                    Act::TryWithUpgraded => guard.try_with_upgraded(|n| *n += 1).is_some(),
                    Act::WithUpgraded => {
                        guard.with_upgraded(|n| *n += 1);
                        true
                    }
                    _ => {
                        catch_planned(|| guard.with_upgraded(|_| panic_as_planned()));
                        true
                    }
                };
                if wrote {
                    count(Figure::Acquired(Mode::Write));
                    count(Figure::Acquired(Mode::Upgradable));
                } else {
                    count(Figure::TryFailed(Mode::Write));
                }
                return Shared::Upgradable(guard);
            }
            _ => {
                if act_alike!(act, RwLockUpgradableReadGuard, guard) {
                    count(Figure::Acquired(Mode::Upgradable));
                }
                return Shared::Upgradable(guard);
            }
        };
        match (upgraded, act) {
            (Ok(guard), _) => {
                count(Figure::Acquired(Mode::Write));
                Shared::Write(guard)
            }
            (Err(guard), Act::TimedUpgrade) => {
                count(Figure::TimedOut(Mode::Write));
                Shared::Upgradable(guard)
            }
            (Err(guard), _) => {
                count(Figure::TryFailed(Mode::Write));
                Shared::Upgradable(guard)
            }
        }
    }

    fn end(self, end: End) {
        match self {
            Shared::Read(guard) => {
                end_mapped!(end, RwLockReadGuard, MappedRwLockReadGuard, guard, &u64);
            }
            Shared::Write(guard) => end_mapped!(
                end,
                RwLockWriteGuard,
                MappedRwLockWriteGuard,
                guard,
                &mut u64
            ),
            Shared::Upgradable(guard) => match end {
                End::Panic | End::MapPanics => panic_as_planned(),
                End::UnlockFair | End::MapThenUnlockFair => {
                    RwLockUpgradableReadGuard::unlock_fair(guard);
                }
                End::Drop | End::Map | End::TryMapFails => drop(guard),
            },
        }
    }
}
