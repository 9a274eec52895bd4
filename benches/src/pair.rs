//! The same function twice, for `.ci/off`: with `parking_lot`'s lock, and with the instrumented one
//! that the feature `stats` has taken the instruments from.

macro_rules! pairs {
    ($($name:ident, $Mutex:ty, $RwLock:ty;)*) => {
        $(
            /// One lock and unlock of each kind.
            // Not inlined and not renamed, to be found in the assembly.
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub fn $name(mutex: &$Mutex, rwlock: &$RwLock) -> u64 {
                *mutex.lock() += 1;
                *rwlock.write() += 2;
                *rwlock.read()
            }
        )*
    };
}

pairs! {
    pair_of_parking_lot, parking_lot::Mutex<u64>, parking_lot::RwLock<u64>;
    pair_of_instrumented_lock,
        instrumented_lock::drop_in::Mutex<u64>, instrumented_lock::drop_in::RwLock<u64>;
}
