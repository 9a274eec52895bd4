//! [`Semaphore`] and its permits.

use super::core::{Core, Locks, Request, Taken, block_on, take, try_take};
use crate::class::{Class, DeclaredClass, Instrumentable, Unclassed};
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use ::tokio::sync::{AcquireError, TryAcquireError};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

const fn request(permits: u32) -> Request {
    Request {
        kind: LockKind::Semaphore,
        // Others may hold some too.
        activity: Activity::Read,
        permits,
    }
}

/// A semaphore of tasks with the interface of [`tokio::sync::Semaphore`], which records how long permits are
/// waited for and held: see [the module](super).
#[repr(transparent)]
pub struct Semaphore<C = Unclassed> {
    class: PhantomData<fn() -> C>,
    core: Core,
}

impl<C: Class> Semaphore<C> {
    /// A semaphore with so many permits.
    #[track_caller]
    #[must_use]
    pub const fn new(permits: usize) -> Self {
        Semaphore {
            class: PhantomData,
            core: Core::new::<C>(permits, Location::caller()),
        }
    }

    /// [`new`](Self::new), which is `const` here.
    #[track_caller]
    #[must_use]
    pub const fn const_new(permits: usize) -> Self {
        Self::new(permits)
    }
}

impl Semaphore {
    /// A semaphore of the class that has this name: as [`named`](crate::Mutex::named) there.
    #[track_caller]
    #[must_use]
    pub fn named(name: &str, permits: usize) -> Self {
        Semaphore {
            class: PhantomData,
            core: Core::named(name, LockKind::Semaphore, permits),
        }
    }
}

impl<C> Semaphore<C> {
    /// Gives this semaphore a label, by which reports tell it from others of its class: as
    /// [`set_label`](crate::Mutex::set_label) there.
    pub fn set_label(&self, label: impl Into<Arc<str>>) {
        self.core.label(LockKind::Semaphore, label.into());
    }

    /// The most permits that a semaphore can have.
    pub const MAX_PERMITS: usize = ::tokio::sync::Semaphore::MAX_PERMITS;

    fn unclassed(&self) -> &Semaphore {
        let semaphore: *const Self = self;
        // SAFETY: `repr(transparent)` over the same type; `C` has no value.
        unsafe { &*semaphore.cast::<Semaphore>() }
    }

    fn unclassed_handle(self: Arc<Self>) -> Arc<Semaphore> {
        let semaphore = Arc::into_raw(self);
        // SAFETY: the pointer comes from `into_raw`, and both types have the same layout.
        unsafe { Arc::from_raw(semaphore.cast::<Semaphore>()) }
    }

    /// How many permits there are that nobody has.
    pub fn available_permits(&self) -> usize {
        self.core.semaphore().available_permits()
    }

    /// Adds permits.
    pub fn add_permits(&self, n: usize) {
        self.core.semaphore().add_permits(n);
    }

    /// Takes away permits that nobody has, and returns how many there were, up to `n`.
    pub fn forget_permits(&self, n: usize) -> usize {
        self.core.semaphore().forget_permits(n)
    }

    /// No permit is given any more: who waits gets an error.
    pub fn close(&self) {
        self.core.semaphore().close();
    }

    /// Whether it has been [closed](Self::close).
    pub fn is_closed(&self) -> bool {
        self.core.semaphore().is_closed()
    }

    /// Waits for a permit.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed.
    #[track_caller]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_many(1)
    }

    /// Waits for `n` permits at once.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed.
    #[track_caller]
    pub fn acquire_many(
        &self,
        n: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        let (site, semaphore) = (Location::caller(), self.unclassed());
        async move { Ok(SemaphorePermit(take(semaphore, request(n), site).await?)) }
    }

    /// Takes a permit if there is one.
    ///
    /// # Errors
    ///
    /// If there is none, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits if there are so many.
    ///
    /// # Errors
    ///
    /// If there are not, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        Ok(SemaphorePermit(try_take(self.unclassed(), request(n))?))
    }

    /// [`acquire`](Self::acquire) for a thread, which waits.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed.
    ///
    /// # Panics
    ///
    /// In a task.
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.blocking_acquire_many(1)
    }

    /// [`acquire_many`](Self::acquire_many) for a thread, which waits.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed.
    ///
    /// # Panics
    ///
    /// In a task.
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_on(self.acquire_many(n))
    }

    /// [`acquire`](Self::acquire), with a permit that owns a handle to the semaphore.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed.
    #[track_caller]
    pub fn acquire_owned(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        self.acquire_many_owned(1)
    }

    /// [`acquire_many`](Self::acquire_many), with permits that own a handle to the semaphore.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed.
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        let (site, semaphore) = (Location::caller(), self.unclassed_handle());
        async move {
            Ok(OwnedSemaphorePermit(
                take(semaphore, request(n), site).await?,
            ))
        }
    }

    /// [`try_acquire`](Self::try_acquire), with a permit that owns a handle to the semaphore.
    ///
    /// # Errors
    ///
    /// If there is none, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// [`try_acquire_many`](Self::try_acquire_many), with permits that own a handle to the semaphore.
    ///
    /// # Errors
    ///
    /// If there are not so many, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        Ok(OwnedSemaphorePermit(try_take(
            self.unclassed_handle(),
            request(n),
        )?))
    }

    /// [`acquire_owned`](Self::acquire_owned) for a thread, which waits.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed.
    ///
    /// # Panics
    ///
    /// In a task.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.blocking_acquire_many_owned(1)
    }

    /// [`acquire_many_owned`](Self::acquire_many_owned) for a thread, which waits.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed.
    ///
    /// # Panics
    ///
    /// In a task.
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_on(self.acquire_many_owned(n))
    }
}

impl<C> fmt::Debug for Semaphore<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("permits", &self.available_permits())
            .finish_non_exhaustive()
    }
}

impl Locks for Semaphore {
    fn core(&self) -> &Core {
        &self.core
    }
}

impl<C: DeclaredClass> Deref for Semaphore<C> {
    type Target = Semaphore;

    fn deref(&self) -> &Self::Target {
        self.unclassed()
    }
}

#[diagnostic::do_not_recommend]
impl<C> Instrumentable<C> for Semaphore {
    type Lock = Semaphore<C>;
}

/// What can be done with permits.
macro_rules! permits {
    ($Semaphore:ty) => {
        /// The permits are gone for good; the hold ends.
        pub fn forget(self) {
            self.0.forget();
        }

        /// Adds the permits of `other`, whose hold ends.
        ///
        /// # Panics
        ///
        /// If they are another semaphore's.
        #[track_caller]
        pub fn merge(&mut self, mut other: Self) {
            assert!(
                std::ptr::eq(&*self.0.handle, &*other.0.handle),
                "merging permits from different semaphore instances"
            );
            self.0.permits += std::mem::take(&mut other.0.permits);
        }

        /// Takes off `n` of the permits, whose hold is not recorded any more. `None` if there are not so many.
        pub fn split(&mut self, n: usize) -> Option<Self> {
            Some(Self(self.0.split(n)?))
        }

        /// How many permits these are.
        pub fn num_permits(&self) -> usize {
            self.0.permits
        }

        /// The semaphore.
        pub fn semaphore(&self) -> &$Semaphore {
            &self.0.handle
        }
    };
}

/// Permits of a semaphore, given back when this is dropped.
#[must_use]
#[clippy::has_significant_drop]
pub struct SemaphorePermit<'a>(Taken<&'a Semaphore>);

impl SemaphorePermit<'_> {
    permits!(Semaphore);
}

impl fmt::Debug for SemaphorePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemaphorePermit")
            .field("sem", self.semaphore())
            .field("permits", &self.num_permits())
            .finish()
    }
}

/// [`SemaphorePermit`], with a handle to the semaphore.
#[must_use]
#[clippy::has_significant_drop]
pub struct OwnedSemaphorePermit(Taken<Arc<Semaphore>>);

impl OwnedSemaphorePermit {
    permits!(Arc<Semaphore>);
}

impl fmt::Debug for OwnedSemaphorePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedSemaphorePermit")
            .field("sem", self.semaphore())
            .field("permits", &self.num_permits())
            .finish()
    }
}
