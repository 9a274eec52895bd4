//! The atomics that `log.rs` and `watch.rs` are written against; `tests/models` puts
//! loom's in their place.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(super) use std::thread::yield_now;
