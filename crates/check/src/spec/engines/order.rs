//! Moments and what is known of their order: a graph that never has a cycle.
//!
//! Every moment knows all moments that come after it, so whether one more pair makes a cycle is a look at one bit.

/// A moment of a run, by its number.
pub(super) type StoryMoment = usize;

/// Two moments, the earlier one first.
pub(super) type MomentPair = (StoryMoment, StoryMoment);

/// A strict partial order of moments.
#[derive(Clone, Debug)]
pub(super) struct MomentOrder {
    /// How many words a row has.
    width: usize,
    /// Per moment a row of bits: those after it.
    after: Vec<u64>,
}

impl MomentOrder {
    /// So many moments, in no order.
    pub(super) fn of(moments: usize) -> MomentOrder {
        let width = moments.div_ceil(64);
        MomentOrder { width, after: vec![0; moments * width] }
    }

    /// Whether one moment is before another.
    pub(super) fn has(&self, (one, other): MomentPair) -> bool {
        self.after[one * self.width + other / 64] & 1 << (other % 64) != 0
    }

    /// All moments in a row that agrees with what is known: whoever has more after it comes first.
    pub(super) fn in_a_row(&self) -> Vec<StoryMoment> {
        let moments = self.after.len().checked_div(self.width).unwrap_or(0);
        let later = |moment: usize| {
            let row = &self.after[moment * self.width..(moment + 1) * self.width];
            row.iter().map(|word| word.count_ones()).sum::<u32>()
        };
        let mut row: Vec<StoryMoment> = (0..moments).collect();
        row.sort_by_key(|&moment| std::cmp::Reverse(later(moment)));
        row
    }

    /// Adds pairs and what follows from them. Nothing is left of the order when there is a cycle.
    pub(super) fn with(mut self, edges: &[MomentPair]) -> Option<MomentOrder> {
        edges.iter().all(|&edge| self.add(edge)).then_some(self)
    }

    /// Adds a pair and what follows from it; false when there is a cycle.
    fn add(&mut self, (one, other): MomentPair) -> bool {
        if one == other || self.has((other, one)) {
            return false;
        }
        if self.has((one, other)) {
            return true;
        }
        let moments = self.after.len() / self.width;
        for earlier in (0..moments).filter(|&earlier| earlier == one || self.has((earlier, one))).collect::<Vec<_>>() {
            for word in 0..self.width {
                self.after[earlier * self.width + word] |= self.after[other * self.width + word];
            }
            self.after[earlier * self.width + other / 64] |= 1 << (other % 64);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_is_known_and_cycles_are_refused() {
        let chain = MomentOrder::of(70).with(&[(0, 1), (1, 69), (5, 0)]).unwrap();
        assert!(chain.has((5, 69)) && !chain.has((69, 5)));
        assert!(chain.clone().with(&[(69, 5)]).is_none());
        assert!(chain.with(&[(3, 3)]).is_none());
    }
}
