//! What the benches measure and how; shared by the criterion benches and the binary `cost`, so that
//! both speak of the same thing.
//!
//! | module | |
//! |---|---|
//! | [`locks`] | the ways to have locks: bare, the floor, instrumented |
//! | `peers` | the same for what a program would take instead |
//! | [`subject`] | the list of all of them, the instrumented ones once a mode |
//! | [`case`] | what is done with the locks |
//! | [`measure`] | slices of a case on any number of threads, and what they took |
//! | [`recorder`] | statistics without locks: ours, behind a mutex, striped |
//! | [`classes`] | a thousand lock classes |
//! | [`work`] | a section of so many nanoseconds |
//! | [`clock`] | raw, ordered, and processor time |
//! | [`pair`] | two functions whose machine code `.ci/off` compares |

pub mod case;
pub mod classes;
pub mod clock;
pub mod locks;
pub mod measure;
pub mod pair;
#[cfg(feature = "peers")]
pub mod peers;
pub mod recorder;
pub mod subject;
pub mod work;
