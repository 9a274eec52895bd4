//! Which of `Send`, `Sync`, `UnwindSafe` and so on the types have: those that std's have.

use instrumented_lock::std_sync;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// Whether a type has a trait: the method of the question itself is found before this one, where it applies.
trait HasNot {
    fn has(&self) -> bool {
        false
    }
}

macro_rules! asks {
    ($($Trait:ident: $module:ident;)*) => {
        $(mod $module {
            use super::*;

            pub(super) struct Asked<T: ?Sized>(PhantomData<T>);
            impl<T: ?Sized> Asked<T> {
                pub(super) fn new() -> Self {
                    Asked(PhantomData)
                }
            }
            impl<T: ?Sized + $Trait> Asked<T> {
                pub(super) fn has(&self) -> bool {
                    true
                }
            }
            impl<T: ?Sized> HasNot for Asked<T> {}
        })*
    };
}

asks! {
    Send: send;
    Sync: sync;
    Unpin: unpin;
    UnwindSafe: unwind_safe;
    RefUnwindSafe: ref_unwind_safe;
}

macro_rules! traits {
    ($T:ty) => {{
        #[allow(unused_imports)]
        use HasNot as _;
        [
            send::Asked::<$T>::new().has(),
            sync::Asked::<$T>::new().has(),
            unpin::Asked::<$T>::new().has(),
            unwind_safe::Asked::<$T>::new().has(),
            ref_unwind_safe::Asked::<$T>::new().has(),
        ]
    }};
}

macro_rules! as_stds {
    ($($T:ty),*) => {$(
        as_stds!(@ Mutex<$T>, "Mutex", stringify!($T));
        as_stds!(@ RwLock<$T>, "RwLock", stringify!($T));
        as_stds!(@ MutexGuard<'static, $T>, "MutexGuard", stringify!($T));
        as_stds!(@ RwLockReadGuard<'static, $T>, "RwLockReadGuard", stringify!($T));
        as_stds!(@ RwLockWriteGuard<'static, $T>, "RwLockWriteGuard", stringify!($T));
    )*};
    (@ $Lock:ident<$($argument:tt)*) => { as_stds!(% $Lock [$($argument)*]) };
    (% $Lock:ident [$($argument:tt)*]) => { as_stds!(& $Lock; $($argument)*) };
    (& $Lock:ident; 'static, $T:ty>, $name:expr, $of:expr) => {
        assert_eq!(
            traits!(std_sync::$Lock<'static, $T>),
            traits!(std::sync::$Lock<'static, $T>),
            "Send, Sync, Unpin, UnwindSafe, RefUnwindSafe of {}<{}>", $name, $of,
        )
    };
    (& $Lock:ident; $T:ty>, $name:expr, $of:expr) => {
        assert_eq!(
            traits!(std_sync::$Lock<$T>),
            traits!(std::sync::$Lock<$T>),
            "Send, Sync, Unpin, UnwindSafe, RefUnwindSafe of {}<{}>", $name, $of,
        )
    };
}

/// Not what a lock needs and what a guard shares: `Sync`, and not `Send`.
struct SyncOnly(PhantomData<*mut ()>);
// SAFETY: it has nothing in it.
unsafe impl Sync for SyncOnly {}

#[test]
fn the_question_tells_both_answers() {
    assert_eq!(traits!(Cell<u8>), [true, false, true, true, false]);
    assert_eq!(traits!(&'static u8), [true, true, true, true, true]);
}

#[test]
fn types_have_the_traits_of_stds() {
    as_stds!(
        u8,
        Cell<u8>,
        RefCell<String>,
        Rc<u8>,
        SyncOnly,
        &'static mut u8,
        *mut u8,
        std::marker::PhantomPinned,
        std::sync::MutexGuard<'static, u8>
    );
    assert_eq!(traits!(std_sync::Condvar), traits!(std::sync::Condvar));
}
