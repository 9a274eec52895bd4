//! What the locks of tasks are made of: a semaphore of tokio's that is measured, and permits taken from it.

use crate::class::Class;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use crate::raw::{Held, Instrumented};
use crate::stats::{PageOfTask, Site};
use ::tokio::sync::{AcquireError, Semaphore, TryAcquireError, TryLockError};
use ::tokio::task::coop::poll_proceed;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};
use std::thread::{self, Thread};

/// The semaphore under a lock of tasks.
pub(super) struct Core(Instrumented<Semaphore>);

/// What has one.
pub(crate) trait Locks {
    fn core(&self) -> &Core;
}

impl Locks for Core {
    #[inline]
    fn core(&self) -> &Core {
        self
    }
}

/// How something is acquired.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) kind: LockKind,
    pub(super) activity: Activity,
    pub(super) permits: u32,
}

impl Core {
    /// With so many permits, of class `C` or named by `site`.
    pub(super) const fn new<C: Class>(permits: usize, site: &'static Location<'static>) -> Self {
        let semaphore = Semaphore::const_new(permits);
        Core(match C::DECLARED {
            Some(declaration) => Instrumented::declared(declaration, semaphore),
            None => Instrumented::at_site(site, semaphore),
        })
    }

    /// Of the class that has this name.
    #[track_caller]
    pub(super) fn named(name: &str, kind: LockKind, permits: usize) -> Self {
        Core(Instrumented::named(name, kind, Semaphore::new(permits)))
    }

    /// Gives it a label.
    pub(super) fn label(&self, kind: LockKind, label: Arc<str>) {
        self.0.label(kind, label);
    }

    #[inline]
    pub(super) fn semaphore(&self) -> &Semaphore {
        self.0.inner()
    }

    /// Takes the permits if they are to be had at once, with one of the polls that the task may make before it
    /// has to yield, as tokio's own futures do.
    #[inline]
    fn poll_now(
        &self,
        context: &mut Context<'_>,
        request: Request,
        site: Site,
    ) -> Poll<Option<Held<()>>> {
        let poll = ready!(poll_proceed(context));
        self.0.prepare(request.kind);
        // Nobody is passed over: where somebody waits there are no permits.
        let Ok(permit) = self.semaphore().try_acquire_many(request.permits) else {
            return Poll::Ready(None);
        };
        permit.forget();
        poll.made_progress();
        let held = self.0.begin_hold(request.kind, request.activity, site);
        Poll::Ready(Some(held))
    }

    /// Waits for permits, which are the caller's then.
    async fn wait(
        &self,
        request: Request,
        site: Site,
    ) -> Result<(Held<()>, Option<PageOfTask>), AcquireError> {
        let mut acquire = pin!(self.semaphore().acquire_many(request.permits));
        let first = poll_fn(|context| {
            self.0.prepare(request.kind);
            Poll::Ready(acquire.as_mut().poll(context))
        })
        .await;
        // From where the permits are had to the return there is nothing that could be dropped half done.
        if let Poll::Ready(permit) = first {
            permit?.forget();
            let held = self.0.begin_hold(request.kind, request.activity, site);
            return Ok((held, None));
        }
        let wait = self.0.begin_wait(request.kind, request.activity, site);
        acquire.await?.forget();
        Ok(match wait {
            Some(wait) => wait.acquired(),
            None => (Instrumented::<Semaphore>::not_recorded(), None),
        })
    }

    /// Acquires for one who only looks: nothing is recorded.
    pub(super) fn try_look(&self, permits: u32) -> Option<Look<'_>> {
        let permit = self.semaphore().try_acquire_many(permits).ok()?;
        Some(Look(permit))
    }
}

/// Permits of one who only looks, given back when this is dropped.
pub(super) struct Look<'a>(
    #[expect(dead_code, reason = "dropped")] ::tokio::sync::SemaphorePermit<'a>,
);

/// Permits that are held, given back when this is dropped.
pub(super) struct Taken<H: Deref<Target: Locks>> {
    pub(super) handle: H,
    pub(super) permits: usize,
    /// `None` where the hold has ended.
    held: Option<Held<()>>,
    /// That of the hold, if it was waited for.
    page: Option<PageOfTask>,
}

/// Waits for permits of the lock that `handle` leads to.
#[inline]
pub(super) async fn take<H: Deref<Target: Locks>>(
    handle: H,
    request: Request,
    site: Site,
) -> Result<Taken<H>, AcquireError> {
    let now = poll_fn(|context| handle.core().poll_now(context, request, site)).await;
    let (held, page) = match now {
        Some(held) => (held, None),
        // In a box, so that the futures of who does not wait are small.
        None => Box::pin(handle.core().wait(request, site)).await?,
    };
    Ok(Taken {
        handle,
        permits: request.permits as usize,
        held: Some(held),
        page,
    })
}

/// The same where nobody closes the lock.
pub(super) async fn take_open<H: Deref<Target: Locks>>(
    handle: H,
    request: Request,
    site: Site,
) -> Taken<H> {
    match take(handle, request, site).await {
        Ok(taken) => taken,
        Err(_) => unreachable!("only semaphores can be closed"),
    }
}

/// Takes permits if they are to be had at once.
#[track_caller]
pub(super) fn try_take<H: Deref<Target: Locks>>(
    handle: H,
    request: Request,
) -> Result<Taken<H>, TryAcquireError> {
    let mut error = TryAcquireError::NoPermits;
    let now = |semaphore: &Semaphore| match semaphore.try_acquire_many(request.permits) {
        Ok(permit) => {
            permit.forget();
            true
        }
        Err(other) => {
            error = other;
            false
        }
    };
    let core = handle.core();
    match core.0.attempt(request.kind, request.activity, now) {
        Some(held) => Ok(Taken {
            handle,
            permits: request.permits as usize,
            held: Some(held),
            page: None,
        }),
        None => Err(error),
    }
}

impl<H: Deref<Target: Locks>> Taken<H> {
    /// An exclusive hold goes on as a shared one, of one permit.
    #[track_caller]
    pub(super) fn downgrade(mut self) -> Self {
        let given_back = self.permits - 1;
        if let Some(held) = self.held.take() {
            let core = &self.handle.core().0;
            self.held = Some(core.convert_hold(held, Activity::Read, |semaphore| {
                semaphore.add_permits(given_back);
            }));
            self.permits = 1;
            // The hold that it was for has ended.
            self.page = None;
        }
        self
    }

    /// The permits are not given back.
    pub(super) fn forget(mut self) {
        self.permits = 0;
    }

    /// So many of the permits, as a hold that is not recorded.
    pub(super) fn split(&mut self, permits: usize) -> Option<Self>
    where
        H: Clone,
    {
        self.permits = self.permits.checked_sub(permits)?;
        Some(Taken {
            handle: self.handle.clone(),
            permits,
            held: Some(Instrumented::<Semaphore>::no_hold()),
            page: None,
        })
    }
}

impl<'a, L: Locks + ?Sized> Taken<&'a L> {
    /// The same by the core alone.
    pub(super) fn of_core(mut self) -> Taken<&'a Core> {
        Taken {
            handle: self.handle.core(),
            permits: self.permits,
            held: self.held.take(),
            page: self.page.take(),
        }
    }
}

impl<H: Deref<Target: Locks>> Drop for Taken<H> {
    fn drop(&mut self) {
        let permits = self.permits;
        if let Some(held) = self.held.take() {
            let core = &self.handle.core().0;
            core.end_hold(held, |semaphore| semaphore.add_permits(permits));
        }
    }
}

/// Waits for `future` in this thread.
///
/// # Panics
///
/// In a task, as tokio's methods of this kind.
#[track_caller]
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unparks(Thread);

    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    // Where a thread must not wait, this panics, and says so in tokio's words.
    drop(tokio::sync::Mutex::new(()).blocking_lock());
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        thread::park();
    }
}

/// tokio's error of an attempt, which only an attempt of tokio's makes.
pub(super) fn would_block() -> TryLockError {
    let mutex = ::tokio::sync::Mutex::new(());
    let _held = mutex.try_lock();
    match mutex.try_lock() {
        Err(error) => error,
        Ok(_) => unreachable!("it is held"),
    }
}
