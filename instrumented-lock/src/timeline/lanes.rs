//! Slices of one track that overlap without one being inside the other, which no viewer shows right: the track
//! gets several lanes. So it is where locks are let go of in the order in which they were taken.

/// Which lane each slice is put into: for each, as they come, its number from 0. They come by their begin, of
/// several at the same time the longest first.
pub(super) struct Lanes {
    /// For each lane the ends of those slices that are open, the outermost first.
    open: Vec<Vec<u64>>,
}

impl Lanes {
    pub(super) fn new() -> Self {
        Lanes { open: Vec::new() }
    }

    /// The lane of the next slice.
    pub(super) fn lane(&mut self, start: u64, end: u64) -> usize {
        for (lane, open) in self.open.iter_mut().enumerate() {
            while open.last().is_some_and(|&outer| outer <= start) {
                open.pop();
            }
            if open.last().is_none_or(|&outer| end <= outer) {
                open.push(end);
                return lane;
            }
        }
        self.open.push(vec![end]);
        self.open.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_overlap_are_put_into_different_lanes_and_others_are_not() {
        let mut lanes = Lanes::new();
        let put = |&(start, end, lane): &(u64, u64, usize)| {
            assert_eq!(lanes.lane(start, end), lane, "{start} to {end}");
        };
        [
            (0, 10, 0),
            // Inside, one behind the other, to the end of the outer one.
            (1, 5, 0),
            (5, 10, 0),
            // Overlaps the one that began at 5.
            (7, 12, 1),
            (8, 15, 2),
            (10, 20, 0),
            (12, 13, 0),
            (15, 15, 0),
            (19, 21, 1),
        ]
        .iter()
        .for_each(put);
        assert_eq!(lanes.open.len(), 3);
    }
}
