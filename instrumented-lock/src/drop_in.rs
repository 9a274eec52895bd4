//! The lock types with the class left out, for files that nobody annotates.
//!
//! Change `use parking_lot::{Mutex, RwLock}` to `use instrumented_lock::drop_in::{Mutex, RwLock}`
//! and the file compiles as it did: `let m = Mutex::new(0)` infers. Each lock is reported under the
//! line that creates it, and every function that takes `&Mutex<T>` accepts it.
//!
//! When a struct of the file is annotated later, the import becomes `instrumented_lock::Mutex`,
//! whose `new` infers the class.

pub use crate::common::*;

/// [`crate::Mutex`] without a declared class.
pub type Mutex<T> = crate::mutex::Mutex<T>;

/// [`crate::FairMutex`] without a declared class.
pub type FairMutex<T> = crate::fair_mutex::FairMutex<T>;

/// [`crate::ReentrantMutex`] without a declared class.
pub type ReentrantMutex<T> = crate::remutex::ReentrantMutex<T>;

/// [`crate::RwLock`] without a declared class.
pub type RwLock<T> = crate::rwlock::RwLock<T>;

/// [`crate::RecursiveRwLock`] without a declared class.
pub type RecursiveRwLock<T> = crate::recursive_rwlock::RecursiveRwLock<T>;

/// [`crate::Condvar`] without a declared class.
pub type Condvar = crate::condvar::Condvar;
