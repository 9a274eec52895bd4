//! Which locks have been taken while which others were held, and the circles in that.
//!
//! An edge leads from a lock that was held to the one that was then asked for: not from lock to lock but from
//! class to class, as Linux' lockdep has it, with the modes of both. Edges are learnt from what has run; a
//! circle of them is a deadlock that may happen, whether or not it ever has: each edge needs to have run once,
//! at any time, on any thread.

use crate::mode::Activity;
use crate::stats::Site;
use std::collections::HashMap;
use std::sync::Arc;

/// A class and what one of its locks is held or asked for: the class's address, and an [`Activity`] in the
/// low bits.
pub(crate) type End = usize;

const ACTIVITY: usize = 3;
/// In the second end of an edge between locks of one class: the second lock is at a lower address.
pub(crate) const DOWNWARDS: usize = 4;
const CLASS: usize = !(ACTIVITY | DOWNWARDS);

pub(crate) fn activity_of(end: End) -> Activity {
    Activity::from_bits(end)
}

pub(crate) fn class_of(end: End) -> usize {
    end & CLASS
}

/// One lock was held when another one was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) held: End,
    pub(crate) wanted: End,
    /// The line that had acquired the first, and that which asked for the second, the first time.
    pub(crate) held_at: Option<Site>,
    pub(crate) wanted_at: Option<Site>,
    /// Whose thread it was.
    pub(crate) thread: Option<Arc<str>>,
    /// How often it has been so, as far as threads have said.
    pub(crate) count: u64,
}

/// Edges that are kept.
const MOST_EDGES: usize = 1 << 14;

/// Edges that there is room for at first.
const FIRST_ROOM: usize = 256;

/// Adding and searching allocate nothing: an edge may be learnt with an allocator's lock held. What they need
/// is there [from the start](Graph::with_room_for).
#[derive(Debug, Default)]
pub(crate) struct Graph {
    edges: Vec<Edge>,
    /// Of each edge the one before that leads from the same class, as an index from 1.
    next: Vec<u32>,
    /// The last edge that leads from a class, likewise.
    first: HashMap<usize, u32>,
    /// For a search: which one it is, by which edges have been reached, and what is still to be followed.
    search: u32,
    reached: Vec<Reached>,
    queue: Vec<u32>,
}

/// How an edge has been reached.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    /// By which search, the last time.
    search: u32,
    /// From which edge, as an index from 1.
    from: u32,
}

/// What became of an edge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It was there.
    Known(u32),
    /// It was not; whether it has closed a circle.
    New(u32, bool),
    /// There is no room at the moment.
    NoRoom,
    /// There is never going to be.
    Full,
}

/// Whether who asks for a lock of a class has to wait for who holds it, or for somebody who waits for that.
pub(crate) type Conflicts = fn(class: usize, held: Activity, wanted: Activity) -> bool;

impl Graph {
    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub(crate) fn count(&mut self, edge: u32, times: u64) {
        if let Some(edge) = self.edges.get_mut(edge as usize) {
            edge.count = edge.count.saturating_add(times);
        }
    }

    /// Whether half of the room is used, and there may be more.
    pub(crate) fn is_short(&self) -> bool {
        let (used, room) = (self.edges.len(), self.reached.len());
        used * 2 >= room && room < MOST_EDGES
    }

    /// Whether there is room for so many edges.
    pub(crate) fn has_room_for(&self, edges: usize) -> bool {
        edges <= self.reached.len()
    }

    /// A larger one, with nothing in it; as large as it takes for so many edges.
    pub(crate) fn with_room_for(edges: usize) -> Self {
        let room = edges.next_power_of_two().clamp(FIRST_ROOM, MOST_EDGES);
        Graph {
            edges: Vec::with_capacity(room),
            next: Vec::with_capacity(room),
            first: HashMap::with_capacity(room),
            queue: Vec::with_capacity(room),
            reached: vec![Reached::default(); room],
            search: 0,
        }
    }

    /// Takes over all edges of another one, if there is room for them. Neither allocates nor frees.
    pub(crate) fn take_over(&mut self, other: &mut Graph) {
        if self.has_room_for(other.edges.len()) && self.edges.is_empty() {
            other.edges.drain(..).for_each(|edge| self.push(edge));
        }
    }

    /// Adds an edge, unless it is known.
    pub(crate) fn add(&mut self, new: Edge, conflicts: Conflicts) -> Added {
        let same = |&edge: &u32| {
            let edge = &self.edges[edge as usize];
            (edge.held, edge.wanted) == (new.held, new.wanted)
        };
        if let Some(known) = self.from(class_of(new.held)).find(same) {
            return Added::Known(known);
        }
        match self.edges.len() {
            MOST_EDGES => return Added::Full,
            count if count >= self.reached.len() => return Added::NoRoom,
            _ => {}
        }
        self.push(new);
        let index = u32::try_from(self.edges.len() - 1).unwrap_or(u32::MAX);
        Added::New(index, self.last_of_circle(index, conflicts).is_some())
    }

    /// Adds an edge that is not known.
    pub(crate) fn push(&mut self, new: Edge) {
        let first = self.first.entry(class_of(new.held)).or_insert(0);
        self.next.push(*first);
        self.edges.push(new);
        *first = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
    }

    /// The edges of the circle that this one has closed, which is the first; none where it has not.
    pub(crate) fn circle(&mut self, closed_by: u32, conflicts: Conflicts) -> Vec<u32> {
        let Some(last) = self.last_of_circle(closed_by, conflicts) else {
            return Vec::new();
        };
        let before = |&at: &u32| self.reached[at as usize].from.checked_sub(1);
        let mut path: Vec<_> = std::iter::successors(Some(last), before).collect();
        path.push(closed_by);
        path.reverse();
        path
    }

    /// The edges that lead from a class, the latest first.
    fn from(&self, class: usize) -> impl Iterator<Item = u32> {
        let first = self.first.get(&class).copied().unwrap_or(0);
        let edge = |number: u32| number.checked_sub(1);
        std::iter::successors(edge(first), move |&at| edge(self.next[at as usize]))
    }

    /// The last of as few edges as can be, known before this one, that together with it lead round in a circle
    /// in which each thread waits for the next one. The way to it is in `reached`.
    fn last_of_circle(&mut self, closed_by: u32, conflicts: Conflicts) -> Option<u32> {
        let waits_for = |wanted: &Edge, held: &Edge| {
            class_of(wanted.wanted) == class_of(held.held)
                && conflicts(
                    class_of(held.held),
                    activity_of(held.held),
                    activity_of(wanted.wanted),
                )
        };
        let is_within = |edge: &Edge| class_of(edge.held) == class_of(edge.wanted);
        self.search = self.search.wrapping_add(1);
        self.queue.clear();
        let new = &self.edges[closed_by as usize];
        if is_within(new) {
            // In one class it is the other direction that closes the circle.
            let closes = |&at: &u32| {
                let edge = &self.edges[at as usize];
                at < closed_by
                    && is_within(edge)
                    && (edge.wanted ^ new.wanted) & DOWNWARDS != 0
                    && waits_for(new, edge)
                    && waits_for(edge, new)
            };
            let other = self.from(class_of(new.held)).find(closes)?;
            self.reached[other as usize].from = 0;
            return Some(other);
        }
        // Breadth first, so that what is found is short.
        let mut done = 0;
        let (mut after, mut from) = (closed_by, 0);
        loop {
            let wanted = class_of(self.edges[after as usize].wanted);
            let mut next = self.first.get(&wanted).copied().unwrap_or(0);
            while let Some(at) = next.checked_sub(1) {
                next = self.next[at as usize];
                let edge = &self.edges[at as usize];
                let reached = &mut self.reached[at as usize];
                let is_new = reached.search != self.search && at < closed_by && !is_within(edge);
                if is_new && waits_for(&self.edges[after as usize], edge) {
                    *reached = Reached {
                        search: self.search,
                        from,
                    };
                    self.queue.push(at);
                }
            }
            after = *self.queue.get(done)?;
            if waits_for(&self.edges[after as usize], &self.edges[closed_by as usize]) {
                return Some(after);
            }
            from = after + 1;
            done += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Activity::{Read, Write};

    /// A class that is a multiple of 512 is one whose readers do not wait for each other.
    fn conflicts(class: usize, held: Activity, wanted: Activity) -> bool {
        (held, wanted) != (Read, Read) || !class.is_multiple_of(512)
    }

    fn end(class: usize, activity: Activity) -> End {
        (class * 256) | activity as usize
    }

    fn edge(held: End, wanted: End) -> Edge {
        Edge {
            held,
            wanted,
            held_at: None,
            wanted_at: None,
            thread: None,
            count: 0,
        }
    }

    fn add(graph: &mut Graph, held: End, wanted: End) -> Option<Vec<u32>> {
        if graph.is_short() {
            let mut larger = Graph::with_room_for(graph.edges().len() * 4);
            larger.take_over(graph);
            *graph = larger;
        }
        let capacity = |graph: &Graph| (graph.edges.capacity(), graph.queue.capacity());
        let room = capacity(graph);
        let added = graph.add(edge(held, wanted), conflicts);
        assert_eq!(capacity(graph), room, "nothing is allocated");
        let Added::New(index, is_closed) = added else {
            panic!("{added:?}");
        };
        let circle = graph.circle(index, conflicts);
        assert_eq!(is_closed, !circle.is_empty());
        is_closed.then_some(circle)
    }

    #[test]
    fn a_circle_of_any_length_is_found_by_the_edge_that_closes_it() {
        for length in 2..40 {
            let mut graph = Graph::default();
            let at = |n: usize| end(2 * (n % length) + 1, Write);
            for n in 0..length - 1 {
                assert_eq!(add(&mut graph, at(n), at(n + 1)), None);
                // Not on the way.
                assert_eq!(add(&mut graph, at(n), end(1001 + 2 * n, Write)), None);
            }
            let circle = add(&mut graph, at(length - 1), at(0)).expect("it is closed");
            assert_eq!(circle.len(), length);
            let ends = circle.iter().map(|&at| &graph.edges()[at as usize]);
            let ends: Vec<_> = ends.map(|edge| (edge.held, edge.wanted)).collect();
            for (n, (_, wanted)) in ends.iter().enumerate() {
                assert_eq!(*wanted, ends[(n + 1) % length].0);
            }
        }
    }

    #[test]
    fn readers_that_do_not_wait_for_each_other_close_no_circle() {
        let mut graph = Graph::default();
        let (a, b) = (2, 4);
        assert_eq!(add(&mut graph, end(a, Read), end(b, Read)), None);
        assert_eq!(add(&mut graph, end(b, Read), end(a, Read)), None);
        // With a writer on one side each still waits for the other one at one lock only.
        assert_eq!(add(&mut graph, end(b, Read), end(a, Write)), None);
        assert_eq!(
            add(&mut graph, end(a, Read), end(b, Write)),
            Some(vec![3, 2])
        );
        // Those who queue behind a writer may wait for other readers.
        let mut graph = Graph::default();
        let (a, b) = (1, 3);
        assert_eq!(add(&mut graph, end(a, Read), end(b, Read)), None);
        assert_eq!(
            add(&mut graph, end(b, Read), end(a, Read)),
            Some(vec![1, 0])
        );
    }

    #[test]
    fn locks_of_one_class_have_a_direction() {
        let mut graph = Graph::default();
        let (up, down) = (end(1, Write), end(1, Write) | DOWNWARDS);
        assert_eq!(add(&mut graph, end(1, Write), up), None);
        assert_eq!(
            graph.add(edge(end(1, Write), up), conflicts),
            Added::Known(0)
        );
        assert_eq!(add(&mut graph, end(1, Write), down), Some(vec![1, 0]));
        // Nor is it a way round for others.
        assert_eq!(add(&mut graph, end(3, Write), end(1, Write)), None);
        assert_eq!(
            add(&mut graph, end(1, Write), end(3, Write)),
            Some(vec![3, 2])
        );
    }

    #[test]
    fn an_edge_takes_64_bytes() {
        assert!(size_of::<Edge>() + size_of::<u32>() <= 64);
    }

    /// Whether there is a closed way through `ends`, all tried.
    fn naive(edges: &[(End, End)], way: &mut Vec<usize>) -> bool {
        let last = edges[way[way.len() - 1]];
        let meets = |wanted: End, held: End| {
            class_of(wanted) == class_of(held)
                && conflicts(class_of(held), activity_of(held), activity_of(wanted))
        };
        if way.len() > 1 && meets(last.1, edges[way[0]].0) {
            return true;
        }
        (0..edges.len()).any(|next| {
            if way.contains(&next) || !meets(last.1, edges[next].0) {
                return false;
            }
            way.push(next);
            let found = naive(edges, way);
            way.pop();
            found
        })
    }

    #[test]
    fn circles_are_those_that_a_search_of_all_ways_finds() {
        let mut random = 1u64;
        let mut draw = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 20) % n
        };
        let (mut closed, mut open) = (0, 0);
        for _ in 0..300 {
            let mut graph = Graph::default();
            let mut edges = Vec::new();
            for _ in 0..8 {
                let mut one = || {
                    let activity = if draw(3) == 0 { Write } else { Read };
                    end(usize::try_from(draw(4) + 1).unwrap(), activity)
                };
                let (held, wanted) = (one(), one());
                if class_of(held) == class_of(wanted) || edges.contains(&(held, wanted)) {
                    continue;
                }
                edges.push((held, wanted));
                let found = add(&mut graph, held, wanted).is_some();
                let expected = naive(&edges, &mut vec![edges.len() - 1]);
                assert_eq!(found, expected, "{edges:?}");
                if found { closed += 1 } else { open += 1 }
            }
        }
        assert!(closed > 100 && open > 100, "{closed} {open}");
    }
}
