//! Where the value of an expression goes to, and what is said of a place in the end.

use proc_macro2::Span;

/// Where a value goes to, and which of the locks in there is meant.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) to: To,
    /// `.1` for the second lock of a tuple, `.inner` for one in the data of another.
    pub(super) suffix: String,
}

#[derive(Clone, Debug)]
pub(super) enum To {
    /// Out of sight.
    Nowhere,
    /// What the function returns.
    Returned,
    /// A field of a type, by the type's path as written.
    Field {
        owner: String,
        field: String,
    },
    /// The field of what may be a type of somebody else's, such as `Extension(state)`, and where that goes.
    Wrapped {
        owner: String,
        field: String,
        outer: Box<Target>,
    },
    Variable(usize),
}

impl Target {
    pub(super) const NOWHERE: Self = Self::new(To::Nowhere);
    pub(super) const RETURNED: Self = Self::new(To::Returned);

    pub(super) const fn new(to: To) -> Self {
        Target {
            to,
            suffix: String::new(),
        }
    }

    pub(super) fn field(owner: &str, field: &str) -> Self {
        Self::new(To::Field {
            owner: owner.to_owned(),
            field: field.to_owned(),
        })
    }

    pub(super) fn variable(id: usize) -> Self {
        Self::new(To::Variable(id))
    }

    pub(super) fn with(&self, suffix: &str) -> Self {
        Target {
            to: self.to.clone(),
            suffix: format!("{}{suffix}", self.suffix),
        }
    }

    /// In the data of the lock that goes there.
    pub(super) fn inner(&self) -> Self {
        self.with(".inner")
    }
}

/// A place that makes a lock.
pub(crate) struct Place {
    /// Where the call begins that makes it.
    pub(super) at: Span,
    /// The type whose field it becomes, as written; `Self` where nobody knows, or nothing.
    pub(super) owner: String,
    pub(super) field: String,
    /// The name below the module, where nobody has declared the field.
    pub(super) otherwise: String,
}

impl Place {
    pub(crate) fn of_field(at: Span, owner: &str, field: &str) -> Self {
        Place {
            at,
            owner: owner.to_owned(),
            field: field.to_owned(),
            otherwise: String::new(),
        }
    }
}
