//! The metadata service of an object store: volumes, buckets and keys, filled from a directory
//! tree and served by handler threads.
//!
//! - `store`: [`Namespace`], the service, with all its locks and their order
//! - `sessions`, `journal`: what two of the locks protect
//! - `request`: [`Request`] and [`Response`], what clients say and hear
//! - `load`: [`load`], from a directory tree to keys
//! - `client`, `serve`: [`serve`], handler threads and the requests they answer
//! - `tally`: [`Tally`], the operations done, and [the locks that each must have
//!   taken](acquisitions)
//! - `options`, `failure`, `summary`: [`Options`], [`Failure`] and [`summary`](summary()), the
//!   command line
//!
//! `store` knows nothing of where keys and requests come from, and nothing here but `store` takes a
//! lock.

mod client;
mod failure;
mod journal;
mod load;
mod options;
mod request;
mod serve;
mod sessions;
mod store;
mod summary;
mod tally;

pub use failure::Failure;
pub use load::{Loaded, Unreadable, load};
pub use options::{Invocation, Options, USAGE};
pub use request::{BucketPath, Entry, KeyPath, Name, Operation, Outcome, Request, Response};
pub use serve::{Plan, Served, Until, serve};
pub use store::{Namespace, Restored};
pub use summary::{grouped, summary};
pub use tally::{Acquisitions, LOCKS, Tally, acquisitions};
