//! The atomics that `samples.rs` is written against; `tests/samples_model.rs` puts loom's in their place.

pub(super) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
pub(super) use std::thread::yield_now;
