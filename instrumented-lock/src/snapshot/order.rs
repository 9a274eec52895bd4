//! [`Order`]: which locks are taken while which others are held, and what is wrong with that.

use super::Location;
use crate::mode::Mode;
use std::fmt;

/// In which order locks have been taken, and what is wrong with it: see [`order`](crate::order).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Order {
    pub(crate) edges: Vec<OrderEdge>,
    pub(crate) findings: Vec<Finding>,
    /// What there was no room for.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) unlisted: u64,
}

impl Order {
    /// What has been taken while what was held, by name: one edge for each pair of locks and modes.
    pub fn edges(&self) -> &[OrderEdge] {
        &self.edges
    }

    /// What is wrong, as it was found.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Edges and findings that there was no room for, and holds of threads that had more than 32 locks.
    /// Room is for 16,384 edges and 256 findings.
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Whether there is nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Order::default()
    }

    /// What has been learnt since.
    pub(crate) fn since(&self, earlier: &Order) -> Order {
        let edges = self.edges.iter().filter_map(|edge| {
            let before = earlier.edges.iter().find(|known| known.is_same(edge));
            let before = before.map_or(0, |known| known.count);
            let count = edge.count.saturating_sub(before);
            let edge = edge.clone();
            (count > 0).then_some(OrderEdge { count, ..edge })
        });
        let is_new = |finding: &&Finding| !earlier.findings.iter().any(|it| it.is_same(finding));
        Order {
            edges: edges.collect(),
            findings: self.findings.iter().filter(is_new).cloned().collect(),
            unlisted: self.unlisted.saturating_sub(earlier.unlisted),
        }
    }

    /// What both have learnt.
    pub(crate) fn merge(&self, other: &Order) -> Order {
        let mut both = self.clone();
        for edge in &other.edges {
            match both.edges.iter_mut().find(|known| known.is_same(edge)) {
                Some(known) => known.count = known.count.saturating_add(edge.count),
                None => both.edges.push(edge.clone()),
            }
        }
        both.edges.sort_by(|a, b| a.identity().cmp(&b.identity()));
        for finding in &other.findings {
            if !both.findings.iter().any(|known| known.is_same(finding)) {
                both.findings.push(finding.clone());
            }
        }
        both.unlisted = both.unlisted.saturating_add(other.unlisted);
        both
    }
}

/// A lock that was held, or was asked for: its name, how, and by which line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OrderEnd {
    pub(crate) lock: String,
    pub(crate) mode: Mode,
    pub(crate) location: Location,
}

impl OrderEnd {
    /// The name of the lock.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// How it was held or asked for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The line that had acquired it, or asked for it.
    pub fn location(&self) -> &Location {
        &self.location
    }
}

/// One lock was asked for while another one was held. Lines and thread are those of the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OrderEdge {
    pub(crate) held: OrderEnd,
    pub(crate) wanted: OrderEnd,
    /// Both are of one class, and the second is at the lower address.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "std::ops::Not::not")
    )]
    pub(crate) downwards: bool,
    pub(crate) thread: Option<String>,
    pub(crate) count: u64,
}

impl OrderEdge {
    /// The lock that was held.
    pub fn held(&self) -> &OrderEnd {
        &self.held
    }

    /// The lock that was asked for meanwhile.
    pub fn wanted(&self) -> &OrderEnd {
        &self.wanted
    }

    /// Where both have one name: whether the second was at a lower address than the first.
    pub fn is_downwards(&self) -> bool {
        self.downwards
    }

    /// The thread that did so first, if it has a name.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// How often it has been so, at least: a thread tells the first time, and then every 64th.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn identity(&self) -> (&str, &str, Mode, Mode, bool) {
        let (held, wanted) = (&self.held, &self.wanted);
        (
            &held.lock,
            &wanted.lock,
            held.mode,
            wanted.mode,
            self.downwards,
        )
    }

    fn is_same(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

/// What kind of mistake a [`Finding`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum FindingKind {
    /// Locks are taken in a circle: threads that do so at the same time wait for each other for ever.
    Circle,
    /// A lock is taken whose `#[lock(rank = …)]` is not above that of one that is held.
    Rank,
    /// A thread is about to wait for a lock that it has itself.
    Recursion,
    /// A thread sleeps in a condition variable, which lets go of its mutex, and holds another lock meanwhile.
    Sleep,
}

/// `circle`, `rank`, `recursion` or `sleep`.
impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FindingKind::Circle => "circle",
            FindingKind::Rank => "rank",
            FindingKind::Recursion => "recursion",
            FindingKind::Sleep => "sleep",
        })
    }
}

/// A mistake in the order in which locks are taken, with the lines that show it. It may be one that has
/// done no harm yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Finding {
    pub(crate) kind: FindingKind,
    pub(crate) edges: Vec<OrderEdge>,
}

impl Finding {
    /// What kind of mistake it is.
    pub fn kind(&self) -> FindingKind {
        self.kind
    }

    /// What shows it: of a circle every edge, each of which leads to the lock that the next one holds;
    /// otherwise one.
    pub fn edges(&self) -> &[OrderEdge] {
        &self.edges
    }

    fn is_same(&self, other: &Self) -> bool {
        let places = |of: &Self| {
            let place = |edge: &OrderEdge| (edge.held.clone(), edge.wanted.clone(), edge.downwards);
            of.edges.iter().map(place).collect::<Vec<_>>()
        };
        self.kind == other.kind && places(self) == places(other)
    }
}

/// What is wrong in one sentence, then a line for each edge.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_within = self
            .edges
            .iter()
            .all(|edge| edge.held.lock == edge.wanted.lock);
        f.write_str(match self.kind {
            FindingKind::Circle if is_within => {
                "locks of one name are taken in both directions: threads that do so at the same time wait \
                 for each other for ever"
            }
            FindingKind::Circle => {
                "locks are taken in a circle: threads that do so at the same time wait for each other for \
                 ever"
            }
            FindingKind::Rank => "a lock is taken whose rank is not above that of one that is held",
            FindingKind::Recursion => "a thread is about to wait for a lock that it has itself",
            FindingKind::Sleep => "a thread sleeps with a lock held that nobody gets meanwhile",
        })?;
        for edge in &self.edges {
            let thread = edge.thread.as_deref().unwrap_or("a thread without a name");
            let (held, wanted) = (&edge.held, &edge.wanted);
            write!(
                f,
                "\n  {thread} had {} ({}) at {}",
                held.lock, held.mode, held.location
            )?;
            let does = match self.kind {
                FindingKind::Sleep => "slept with",
                _ => "took",
            };
            write!(
                f,
                "\n    and {does} {} ({}) at {}",
                wanted.lock, wanted.mode, wanted.location
            )?;
        }
        Ok(())
    }
}
