//! [`Site`]: a line that acquires.

/// A line of the user's that acquires.
pub(crate) type Site = &'static std::panic::Location<'static>;
