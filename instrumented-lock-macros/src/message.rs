//! The text of every diagnostic: lower case, no full stop; names the attribute and says what to
//! write instead, or lists what is allowed.

mod bodies;
mod items;
mod options;
mod rules;
mod words;

pub(crate) use bodies::*;
pub(crate) use items::*;
pub(crate) use options::*;
pub(crate) use rules::*;
