//! What a macro cannot see and the compiler knows: whether there is a lock at a place of a type.
//!
//! The code that `#[instrumented]` leaves beside an `impl` asks with `answer!(this.field)`. Nothing of
//! that ever runs: what counts is the type that comes out. A method of [`IsLock`] is found before the
//! one of [`IsNone`] of the same name, because the latter needs one more reference; where the first
//! does not apply, the second does. In the same way [`Target`] and [`Element`] lead on to what a
//! handle points to and to what a list has in it, or nowhere.

use crate::raw::{Instrumented, Kinds};
use std::marker::PhantomData;
use std::ops::{Deref, Index};

/// A place to ask about.
pub struct Probe<'a, T: ?Sized>(PhantomData<&'a T>);

impl<T: ?Sized> Clone for Probe<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Probe<'_, T> {}

impl<'a, T: ?Sized> Probe<'a, T> {
    pub fn new(_: &'a T) -> Self {
        Probe(PhantomData)
    }
}

/// Nothing of which a rule knows.
pub struct NoLock;
/// A thread must not take it again.
pub struct PlainLock;
/// Its holder may take it again.
pub struct ReentrantLock;
/// A reader may read again.
pub struct RecursiveLock;
/// A thread must not take it again, and gets a `Result` with the guard: the lock may be poisoned.
pub struct PoisoningLock;

/// What may be done with the lock that the holder of a guard has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excuse {
    /// No kind of lock excuses the mistake.
    None,
    /// It is none with a lock that its holder may take again.
    Relock,
    /// It is none with a lock that a reader may read again.
    ReadAgain,
}

/// What the methods that take a lock have to return for a mistake to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    Either,
    /// The guard.
    Guard,
    /// A `Result` with the guard in it.
    Result,
}

/// An answer.
pub trait Answer {
    const IS_LOCK: bool;
    const IS_POISONING: bool;
    const MAY_RELOCK: bool;
    const MAY_READ_AGAIN: bool;
}

macro_rules! answers {
    ($($Answer:ty: $is_lock:literal, $is_poisoning:literal, $relock:literal, $read_again:literal;)*) => {$(
        impl Answer for $Answer {
            const IS_LOCK: bool = $is_lock;
            const IS_POISONING: bool = $is_poisoning;
            const MAY_RELOCK: bool = $relock;
            const MAY_READ_AGAIN: bool = $read_again;
        }
    )*};
}

answers! {
    NoLock: false, false, false, false;
    PlainLock: true, false, false, false;
    PoisoningLock: true, true, false, false;
    ReentrantLock: true, false, true, true;
    RecursiveLock: true, false, false, true;
}

/// The first of two answers that says anything.
pub trait Or<B> {
    type Answer;
}

impl<B> Or<B> for NoLock {
    type Answer = B;
}

macro_rules! stays {
    ($($Answer:ty)*) => {$(
        impl<B> Or<B> for $Answer {
            type Answer = $Answer;
        }
    )*};
}

stays!(PlainLock PoisoningLock ReentrantLock RecursiveLock);

pub fn or<A: Or<B>, B>(_: A, _: B) -> A::Answer {
    unreachable!("only its type is asked for")
}

/// Whether a rule is broken, if `ask` finds a lock that does not excuse it.
pub const fn is_refused<S: ?Sized, A: Answer>(
    _: fn(&mut S) -> A,
    excuse: Excuse,
    returns: Returns,
) -> bool {
    let is_read_right = match returns {
        Returns::Either => true,
        Returns::Guard => !A::IS_POISONING,
        Returns::Result => A::IS_POISONING,
    };
    A::IS_LOCK
        && is_read_right
        && match excuse {
            Excuse::None => true,
            Excuse::Relock => !A::MAY_RELOCK,
            Excuse::ReadAgain => !A::MAY_READ_AGAIN,
        }
}

/// A lock: of this crate, of `parking_lot`, or of std.
pub trait IsLock {
    type Answer;
    fn answer(self) -> Self::Answer
    where
        Self: Sized,
    {
        unreachable!("only its type is asked for")
    }
}

/// Anything else.
pub trait IsNone {
    fn answer(self) -> NoLock
    where
        Self: Sized,
    {
        NoLock
    }
}

impl<T: ?Sized> IsNone for &Probe<'_, T> {}

/// A raw lock whose habits are known.
pub trait RawKind {
    type Answer;
}

impl RawKind for parking_lot::RawMutex {
    type Answer = PlainLock;
}

impl RawKind for parking_lot::RawFairMutex {
    type Answer = PlainLock;
}

impl RawKind for parking_lot::RawRwLock<false> {
    type Answer = PlainLock;
}

impl RawKind for parking_lot::RawRwLock<true> {
    type Answer = RecursiveLock;
}

impl<R: RawKind, K: Kinds> RawKind for Instrumented<R, K> {
    type Answer = R::Answer;
}

impl<R: RawKind, T: ?Sized> IsLock for Probe<'_, lock_api::Mutex<R, T>> {
    type Answer = R::Answer;
}

impl<R: RawKind, T: ?Sized> IsLock for Probe<'_, lock_api::RwLock<R, T>> {
    type Answer = R::Answer;
}

impl<R: lock_api::RawMutex, G, T: ?Sized> IsLock for Probe<'_, lock_api::ReentrantMutex<R, G, T>> {
    type Answer = ReentrantLock;
}

impl<T: ?Sized> IsLock for Probe<'_, std::sync::Mutex<T>> {
    type Answer = PoisoningLock;
}

impl<T: ?Sized> IsLock for Probe<'_, std::sync::RwLock<T>> {
    type Answer = PoisoningLock;
}

/// What a handle points to.
pub trait Target<'a> {
    type Target: ?Sized;
    fn target(self) -> Probe<'a, Self::Target>
    where
        Self: Sized,
    {
        Probe(PhantomData)
    }
}

impl<'a, P: ?Sized + Deref<Target: 'a>> Target<'a> for Probe<'a, P> {
    type Target = P::Target;
}

/// Of what is no handle, nothing.
pub trait NoTarget<'a> {
    fn target(self) -> Probe<'a, ()>
    where
        Self: Sized,
    {
        Probe(PhantomData)
    }
}

impl<'a, T: ?Sized> NoTarget<'a> for &Probe<'a, T> {}

/// What a list has in it.
pub trait Element<'a> {
    type Element: ?Sized;
    fn element(self) -> Probe<'a, Self::Element>
    where
        Self: Sized,
    {
        Probe(PhantomData)
    }
}

impl<'a, L: ?Sized + Index<usize, Output: 'a>> Element<'a> for Probe<'a, L> {
    type Element = L::Output;
}

/// Of what is no list, nothing.
pub trait NoElement<'a> {
    fn element(self) -> Probe<'a, ()>
    where
        Self: Sized,
    {
        Probe(PhantomData)
    }
}

impl<'a, T: ?Sized> NoElement<'a> for &Probe<'a, T> {}

/// The answer for a place, or for an element of the list at a place; through four handles.
#[doc(hidden)]
#[macro_export]
macro_rules! __answer {
    (@ $probe:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::probe::{
            Element as _, IsLock as _, IsNone as _, NoElement as _, NoTarget as _, Target as _, or,
        };
        let first = $probe;
        let second = first.target();
        let third = second.target();
        let fourth = third.target();
        let fifth = fourth.target();
        or(
            first.answer(),
            or(
                second.answer(),
                or(third.answer(), or(fourth.answer(), fifth.answer())),
            ),
        )
    }};
    (element of $place:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::probe::{Element as _, NoElement as _, NoTarget as _, Target as _};
        let list = $crate::__private::probe::Probe::new(&$place);
        $crate::__private::probe::or(
            $crate::__private::answer!(@ list.element()),
            $crate::__private::answer!(@ list.target().element()),
        )
    }};
    ($place:expr) => {
        $crate::__private::answer!(@ $crate::__private::probe::Probe::new(&$place))
    };
}
