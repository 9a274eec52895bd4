//! Which locks have been taken while which others were held, and the circles in that.
//!
//! An edge leads from a lock that was held to the one that was then asked for: not from lock to lock but from
//! class to class, as Linux' lockdep has it, with the modes of both. Edges are learnt from what has run; a
//! circle of them is a deadlock that may happen, whether or not it ever has: each edge needs to have run once,
//! at any time, on any thread.

use crate::mode::Activity;
use crate::stats::Site;
use std::collections::HashMap;
use std::mem;
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

/// Room for so many more than half of what is kept is there at least, wherever a thread could make it.
const SPARE: usize = 256;

/// A class that has edges.
#[derive(Clone, Copy, Debug)]
struct Node {
    class: usize,
    /// The last edge that leads from it, as an index from 1.
    first: u32,
    /// By what is asked for: for what holds that has to wait, a bit for each [`Activity`].
    waits_for: [u8; Activity::ALL.len()],
    /// By which search it has been reached, the last time, and which holds that has gone on from.
    search: u32,
    followed: u8,
}

/// A class in [`Graph::nodes`] and what is held or asked for, as in an [`End`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NodeEnd(u32);

impl NodeEnd {
    const BITS: u32 = 3;

    fn new(node: u32, end: End) -> Self {
        let low = number(end & !CLASS);
        NodeEnd(node << Self::BITS | low)
    }

    fn node(self) -> usize {
        (self.0 >> Self::BITS) as usize
    }

    fn low(self) -> usize {
        (self.0 & ((1 << Self::BITS) - 1)) as usize
    }

    fn activity(self) -> Activity {
        activity_of(self.low())
    }
}

/// What a search reads of an edge, apart from what only a report does.
#[derive(Clone, Copy, Debug)]
struct Link {
    held: NodeEnd,
    wanted: NodeEnd,
    /// The edge before that leads from the same class, as an index from 1.
    next: u32,
    /// The name of the thread, likewise.
    thread: u32,
}

impl Link {
    fn is_within(self) -> bool {
        self.held.node() == self.wanted.node()
    }
}

/// The rest of an edge.
#[derive(Clone, Copy, Debug)]
struct Facts {
    held_at: Option<Site>,
    wanted_at: Option<Site>,
    count: u64,
}

/// An edge that a search has come to.
#[derive(Clone, Copy, Debug)]
struct Step {
    edge: u32,
    /// After which one, as an index from 1 among the steps.
    after: u32,
    /// The holds that it goes on from, in the class that it leads to: a bit for each [`Activity`].
    follow: u8,
}

/// Adding and searching allocate nothing: an edge may be learnt with an allocator's lock held. What they need
/// is there [from the start](Graph::with_more_room).
#[derive(Debug)]
pub(crate) struct Graph {
    links: Vec<Link>,
    facts: Vec<Facts>,
    nodes: Vec<Node>,
    /// Where a class is in `nodes`.
    places: HashMap<usize, u32>,
    names: Vec<Arc<str>>,
    /// What searches there have been, and the way of the last.
    search: u32,
    steps: Vec<Step>,
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

/// How many of something a graph has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    edges: usize,
    nodes: usize,
    names: usize,
}

impl Graph {
    /// An empty one that has room for so much, and for some more.
    pub(crate) fn with_more_room(size: Size) -> Self {
        let more = |count: usize| count + count / 16 + SPARE;
        let edges = more(size.edges).min(MOST_EDGES);
        let nodes = more(size.nodes);
        Graph {
            links: Vec::with_capacity(edges),
            facts: Vec::with_capacity(edges),
            nodes: Vec::with_capacity(nodes),
            places: HashMap::with_capacity(nodes),
            names: Vec::with_capacity(more(size.names)),
            search: 0,
            // A search goes on from a node once for each activity at most.
            steps: Vec::with_capacity((nodes * Activity::ALL.len()).min(edges)),
        }
    }

    pub(crate) fn size(&self) -> Size {
        Size {
            edges: self.links.len(),
            nodes: self.nodes.len(),
            names: self.names.len(),
        }
    }

    fn spare(&self) -> Size {
        Size {
            edges: self.links.capacity() - self.links.len(),
            nodes: self.nodes.capacity() - self.nodes.len(),
            names: self.names.capacity() - self.names.len(),
        }
    }

    /// Whether little room is left, and there may be more.
    pub(crate) fn is_short(&self) -> bool {
        let (size, spare) = (self.size(), self.spare());
        let is_short = |count: usize, spare: usize| spare <= SPARE / 2 + count / 32;
        size.edges + spare.edges < MOST_EDGES && is_short(size.edges, spare.edges)
            || size.edges < MOST_EDGES
                && (is_short(size.nodes, spare.nodes) || is_short(size.names, spare.names))
    }

    /// Whether there is room for all that another one has.
    pub(crate) fn has_room_for(&self, size: Size) -> bool {
        size.edges <= self.links.capacity()
            && size.nodes <= self.nodes.capacity()
            && size.names <= self.names.capacity()
    }

    /// Takes over all that another one has, in place of its own, if there is room for it: to go on in its place.
    /// Neither allocates nor frees.
    pub(crate) fn take_over(&mut self, other: &Graph) {
        self.copy(other);
        let places = self.nodes.iter().map(|node| node.class).zip(0..);
        self.places.extend(places);
    }

    /// The same, to be looked at: nothing can be added.
    pub(crate) fn copy(&mut self, other: &Graph) {
        assert!(self.links.is_empty() && self.has_room_for(other.size()));
        self.links.extend_from_slice(&other.links);
        self.facts.extend_from_slice(&other.facts);
        self.nodes.extend_from_slice(&other.nodes);
        self.names.extend_from_slice(&other.names);
        self.search = other.search;
    }

    /// The edge of this index.
    pub(crate) fn edge(&self, at: u32) -> Edge {
        let (link, facts) = (self.links[at as usize], self.facts[at as usize]);
        let end = |end: NodeEnd| self.nodes[end.node()].class | end.low();
        let name = link.thread.checked_sub(1);
        Edge {
            held: end(link.held),
            wanted: end(link.wanted),
            held_at: facts.held_at,
            wanted_at: facts.wanted_at,
            thread: name.map(|name| Arc::clone(&self.names[name as usize])),
            count: facts.count,
        }
    }

    /// All edges, in the order of their indices.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Edge> {
        (0..number(self.links.len())).map(|at| self.edge(at))
    }

    pub(crate) fn count(&mut self, edge: u32, times: u64) {
        if let Some(facts) = self.facts.get_mut(edge as usize) {
            facts.count = facts.count.saturating_add(times);
        }
    }

    /// Adds an edge, unless it is known.
    pub(crate) fn add(&mut self, new: &Edge, conflicts: Conflicts) -> Added {
        let ends = (new.held, new.wanted);
        let held = self.places.get(&class_of(new.held)).copied();
        let wanted = self.places.get(&class_of(new.wanted)).copied();
        if let Some((held, wanted)) = held.zip(wanted) {
            let ends = (NodeEnd::new(held, ends.0), NodeEnd::new(wanted, ends.1));
            let is_it = |&at: &u32| {
                let link = &self.links[at as usize];
                (link.held, link.wanted) == ends
            };
            if let Some(known) = self.from(held as usize).find(is_it) {
                return Added::Known(known);
            }
        }
        let spare = self.spare();
        if self.links.len() >= MOST_EDGES {
            return Added::Full;
        }
        if spare.edges == 0 || spare.nodes < 2 || spare.names == 0 {
            return Added::NoRoom;
        }
        let held = self.node(class_of(new.held), conflicts);
        let wanted = self.node(class_of(new.wanted), conflicts);
        let index = number(self.links.len());
        let thread = new.thread.as_ref().map_or(0, |name| self.name(name) + 1);
        let first = &mut self.nodes[held as usize].first;
        self.links.push(Link {
            held: NodeEnd::new(held, new.held),
            wanted: NodeEnd::new(wanted, new.wanted),
            next: mem::replace(first, index + 1),
            thread,
        });
        self.facts.push(Facts {
            held_at: new.held_at,
            wanted_at: new.wanted_at,
            count: new.count,
        });
        Added::New(index, self.last_of_circle(index).is_some())
    }

    /// Where a class is among the nodes, from now on if it was not.
    fn node(&mut self, class: usize, conflicts: Conflicts) -> u32 {
        let nodes = &mut self.nodes;
        *self.places.entry(class).or_insert_with(|| {
            let waits_for = Activity::ALL.map(|wanted| {
                let held = Activity::ALL.into_iter();
                let held = held.filter(|&held| conflicts(class, held, wanted));
                held.fold(0, |bits, held| bits | bit(held))
            });
            nodes.push(Node {
                class,
                first: 0,
                waits_for,
                search: 0,
                followed: 0,
            });
            number(nodes.len() - 1)
        })
    }

    /// Where a name is. One that many threads share is mostly there once: only the last few are looked at.
    fn name(&mut self, name: &Arc<str>) -> u32 {
        const FEW: usize = 64;
        let before = self.names.iter().rev().take(FEW);
        let known = before.zip(1..).find(|(known, _)| *known == name);
        let place = known.map(|(_, from_end)| self.names.len() - from_end);
        number(place.unwrap_or_else(|| {
            self.names.push(Arc::clone(name));
            self.names.len() - 1
        }))
    }

    /// The edges of the circle that this one has closed, which is the first; none where it has not.
    pub(crate) fn circle(&mut self, closed_by: u32) -> Vec<u32> {
        let Some(last) = self.last_of_circle(closed_by) else {
            return Vec::new();
        };
        let before = |step: &Step| Some(self.steps[step.after.checked_sub(1)? as usize]);
        let steps = std::iter::successors(Some(last), before);
        let mut path: Vec<_> = steps.map(|step| step.edge).collect();
        path.push(closed_by);
        path.reverse();
        path
    }

    /// The edges that lead from a node, the latest first.
    fn from(&self, node: usize) -> impl Iterator<Item = u32> {
        let edge = |number: u32| number.checked_sub(1);
        let first = edge(self.nodes[node].first);
        std::iter::successors(first, move |&at| edge(self.links[at as usize].next))
    }

    /// Whether what an edge asks for has to wait for what another one holds.
    fn waits_for(&self, wanted: Link, held: Link) -> bool {
        let (wanted, held) = (wanted.wanted, held.held);
        wanted.node() == held.node()
            && self.nodes[held.node()].waits_for[wanted.activity() as usize] & bit(held.activity())
                != 0
    }

    /// The last of as few edges as can be, known before this one, that together with it lead round in a circle
    /// in which each thread waits for the next one. The way to it is in `steps`.
    fn last_of_circle(&mut self, closed_by: u32) -> Option<Step> {
        let new = self.links[closed_by as usize];
        if new.is_within() {
            // In one class it is the other direction that closes the circle.
            let closes = |&at: &u32| {
                let link = self.links[at as usize];
                at < closed_by
                    && link.is_within()
                    && (link.wanted.low() ^ new.wanted.low()) & DOWNWARDS != 0
                    && self.waits_for(new, link)
                    && self.waits_for(link, new)
            };
            let edge = self.from(new.held.node()).find(closes)?;
            return Some(Step {
                edge,
                after: 0,
                follow: 0,
            });
        }
        // Breadth first, so that what is found is short.
        self.search = self.search.wrapping_add(1);
        self.steps.clear();
        let (mut wanted, mut follow, mut after) = (new.wanted, self.reach(new.wanted), 0);
        loop {
            let mut next = self.nodes[wanted.node()].first;
            while let Some(edge) = next.checked_sub(1) {
                let link = self.links[edge as usize];
                next = link.next;
                let is_on_the_way = edge < closed_by
                    && follow & bit(link.held.activity()) != 0
                    && !link.is_within();
                if !is_on_the_way {
                    continue;
                }
                if self.waits_for(link, new) {
                    return Some(Step {
                        edge,
                        after,
                        follow: 0,
                    });
                }
                let follow = self.reach(link.wanted);
                if follow != 0 {
                    self.steps.push(Step {
                        edge,
                        after,
                        follow,
                    });
                }
            }
            let step = *self.steps.get(after as usize)?;
            (wanted, follow) = (self.links[step.edge as usize].wanted, step.follow);
            after += 1;
        }
    }

    /// A search has come to who asks for this. Returns the holds there that it goes on from: those that it has
    /// not come to before, on a way that is no longer.
    fn reach(&mut self, wanted: NodeEnd) -> u8 {
        let node = &mut self.nodes[wanted.node()];
        if node.search != self.search {
            (node.search, node.followed) = (self.search, 0);
        }
        let follow = node.waits_for[wanted.activity() as usize] & !node.followed;
        node.followed |= follow;
        follow
    }
}

fn bit(activity: Activity) -> u8 {
    1 << activity as u8
}

/// A number that is no larger than a few of [`MOST_EDGES`].
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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

    fn new() -> Graph {
        Graph::with_more_room(Size::default())
    }

    fn make_room(graph: &mut Graph) {
        if graph.is_short() {
            let mut larger = Graph::with_more_room(graph.size());
            larger.take_over(graph);
            *graph = larger;
        }
    }

    fn capacities(graph: &Graph) -> [usize; 6] {
        [
            graph.links.capacity(),
            graph.facts.capacity(),
            graph.nodes.capacity(),
            graph.places.capacity(),
            graph.names.capacity(),
            graph.steps.capacity(),
        ]
    }

    fn add(graph: &mut Graph, held: End, wanted: End) -> Option<Vec<u32>> {
        make_room(graph);
        let room = capacities(graph);
        let added = graph.add(&edge(held, wanted), conflicts);
        assert_eq!(capacities(graph), room, "nothing is allocated");
        let Added::New(index, is_closed) = added else {
            panic!("{added:?}");
        };
        let circle = graph.circle(index);
        assert_eq!(is_closed, !circle.is_empty());
        is_closed.then_some(circle)
    }

    #[test]
    fn a_circle_of_any_length_is_found_by_the_edge_that_closes_it() {
        for length in 2..40 {
            let mut graph = new();
            let at = |n: usize| end(2 * (n % length) + 1, Write);
            for n in 0..length - 1 {
                assert_eq!(add(&mut graph, at(n), at(n + 1)), None);
                // Not on the way.
                assert_eq!(add(&mut graph, at(n), end(1001 + 2 * n, Write)), None);
            }
            let circle = add(&mut graph, at(length - 1), at(0)).expect("it is closed");
            assert_eq!(circle.len(), length);
            let ends = circle.iter().map(|&at| graph.edge(at));
            let ends: Vec<_> = ends.map(|edge| (edge.held, edge.wanted)).collect();
            for (n, (_, wanted)) in ends.iter().enumerate() {
                assert_eq!(*wanted, ends[(n + 1) % length].0);
            }
        }
    }

    #[test]
    fn readers_that_do_not_wait_for_each_other_close_no_circle() {
        let mut graph = new();
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
        let mut graph = new();
        let (a, b) = (1, 3);
        assert_eq!(add(&mut graph, end(a, Read), end(b, Read)), None);
        assert_eq!(
            add(&mut graph, end(b, Read), end(a, Read)),
            Some(vec![1, 0])
        );
    }

    #[test]
    fn locks_of_one_class_have_a_direction() {
        let mut graph = new();
        let (up, down) = (end(1, Write), end(1, Write) | DOWNWARDS);
        assert_eq!(add(&mut graph, end(1, Write), up), None);
        assert_eq!(
            graph.add(&edge(end(1, Write), up), conflicts),
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
    fn what_is_learnt_is_there_however_much_room_is_made_for_it() {
        let mut graph = new();
        let name =
            |n: usize| (!n.is_multiple_of(3)).then(|| Arc::from(format!("thread {}", n / 100)));
        // Of some 5,000 classes, and more edges than are kept.
        let learnt = |n: usize| Edge {
            thread: name(n),
            count: n as u64,
            ..edge(end(n / 3 + 1, Write), end(n / 3 + 2 + n % 3, Read))
        };
        for n in 0..MOST_EDGES {
            make_room(&mut graph);
            let room = capacities(&graph);
            let added = graph.add(&learnt(n), conflicts);
            assert_eq!(added, Added::New(number(n), false));
            assert_eq!(capacities(&graph), room, "nothing is allocated");
        }
        let full = graph.add(&learnt(MOST_EDGES), conflicts);
        assert_eq!((full, graph.is_short()), (Added::Full, false));
        for n in 0..MOST_EDGES {
            let (found, expected) = (graph.edge(number(n)), learnt(n));
            assert_eq!((found.held, found.wanted), (expected.held, expected.wanted));
            assert_eq!(found.thread, expected.thread);
            assert_eq!(found.count, expected.count);
            assert_eq!(graph.add(&expected, conflicts), Added::Known(number(n)));
        }
        assert!(graph.names.len() < 400, "names are shared");
    }

    #[test]
    fn a_graph_without_room_says_so() {
        let mut graph = new();
        let added = (0..).map(|n| graph.add(&edge(end(n, Write), end(n + 1, Write)), conflicts));
        let mut rest = added.skip_while(|added| matches!(added, Added::New(..)));
        assert_eq!(rest.next(), Some(Added::NoRoom));
        assert!(graph.is_short());
        make_room(&mut graph);
        assert!(!graph.is_short());
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
            let mut graph = new();
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
