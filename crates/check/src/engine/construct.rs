//! Which orders of holders are known, what follows from them, and which are open.
//!
//! ```text
//!   key ── told_order: do locking reads tell the order of versions? ── yes ──> the next version of each; those who lock one version are compared
//!                                                                     no ───> every two holders are compared, session by session
//! ```
//!
//! Comparing asks reachability: who is before a holder in another session is a prefix of that session, who is after it a suffix; what is between is
//! open.

use super::holders::{HolderId, LockHolder};
use super::nodes::ServerReach;
use super::puzzle::{Pair, Puzzle, PuzzleEdge};
use super::told_order::ToldOrder;
use crate::resolve::{INITIAL, PackedWriter};
use skew_history::{KeyId, TransactionId};

/// Holders whose order locking reads do not tell.
pub(super) enum Untold {
    /// All of a key.
    Key(KeyId),
    /// Those who lock one version and do not change it.
    Lockers(Vec<HolderId>),
}

impl Puzzle<'_, '_> {
    /// What follows where locking reads tell the order of versions, and the holders whose orders have to be looked for.
    pub(super) fn told(&self, edges: &mut Vec<PuzzleEdge>) -> Vec<Untold> {
        let (mut order, mut untold) = (ToldOrder::default(), Vec::new());
        for key in self.resolved.history.keys() {
            let kept = self.holders.kept_on(key);
            if !order.read(kept, &self.holders, &self.locked_versions) {
                untold.push(Untold::Key(key));
                continue;
            }
            self.told_versions(key, &order.changers, edges);
            let of_one_version = order.lockers.chunk_by(|one, other| one.0 == other.0);
            let several = of_one_version.filter(|lockers| lockers.len() > 1);
            untold.extend(several.map(|lockers| Untold::Lockers(lockers.iter().map(|&(_, holder)| holder).collect())));
        }
        untold
    }

    /// What follows from the order of those who change a key: the next one of all and, where that is not the same, of those that are
    /// asked to be serializable.
    pub(super) fn told_versions(&self, key: KeyId, changers: &[HolderId], edges: &mut Vec<PuzzleEdge>) {
        let mut later: Vec<HolderId> = Vec::with_capacity(2);
        for &number in changers.iter().rev() {
            let holder = self.holders.get(number);
            self.later_ones(holder, &later, edges);
            self.overwritten(self.readers.of_holder(number), holder.transaction.into(), &later, edges);
            let is_serial = self.nodes.serial(holder.transaction).is_none() || self.is_serial(holder.transaction);
            let next_serial = later.iter().copied().filter(|_| !is_serial).rfind(|&one| {
                let transaction = self.holders.get(one).transaction;
                self.is_serial(transaction)
            });
            later.clear();
            later.push(number);
            later.extend(next_serial);
        }
        self.overwritten(self.readers.of_initial(key), INITIAL, &later, edges);
    }

    /// What follows for untold orders from what is known, and the open pairs. Reachability is found out only where anything is untold: that is most
    /// of the work.
    pub(super) fn constructed(&self, untold: &[Untold], edges: &mut Vec<PuzzleEdge>) -> Vec<Pair> {
        let mut open = Vec::new();
        if !untold.is_empty() {
            let clocks = self.clocks();
            untold.iter().for_each(|untold| self.construct_untold(untold, &clocks, edges, &mut open));
        }
        let keys = self.resolved.history.keys();
        keys.for_each(|key| self.glances(key, self.holders.kept_on(key), &mut open));
        open.sort_unstable();
        open.dedup();
        open
    }

    fn construct_untold(
        &self,
        untold: &Untold,
        clocks: &ServerReach,
        edges: &mut Vec<PuzzleEdge>,
        open: &mut Vec<Pair>,
    ) {
        match untold {
            Untold::Key(key) => self.construct_key(*key, clocks, edges, open),
            Untold::Lockers(lockers) => {
                let runs = self.runs(lockers);
                for &number in lockers {
                    let holder = self.holders.get(number);
                    let others = runs.iter().map(|run| &lockers[run.clone()]);
                    others.for_each(|run| _ = self.window(holder, run, clocks, open));
                }
            }
        }
    }

    fn construct_key(&self, key: KeyId, clocks: &ServerReach, edges: &mut Vec<PuzzleEdge>, open: &mut Vec<Pair>) {
        let kept = self.holders.kept_on(key);
        let runs = self.runs(kept);
        let mut later: Vec<HolderId> = Vec::new();
        for (place, &number) in kept.iter().enumerate() {
            let holder = self.holders.get(number);
            later.clear();
            for run in &runs {
                let known_after = match run.contains(&place) {
                    true => place + 1,
                    false => self.window(holder, &kept[run.clone()], clocks, open) + run.start,
                };
                self.first_changes(&kept[known_after..run.end], &mut later);
            }
            if holder.changes.is_some() {
                self.keep_first_of_both(&mut later, clocks);
                self.later_ones(holder, &later, edges);
                self.overwritten(self.readers.of_holder(number), holder.transaction.into(), &later, edges);
            }
        }
        later.clear();
        runs.iter().for_each(|run| self.first_changes(&kept[run.clone()], &mut later));
        self.keep_first_of_both(&mut later, clocks);
        self.overwritten(self.readers.of_initial(key), INITIAL, &later, edges);
    }

    /// The first of these that changes the key for others, and the first that is asked to be serializable.
    fn first_changes(&self, run: &[HolderId], later: &mut Vec<HolderId>) {
        let changing = || run.iter().copied().filter(|&one| self.holders.get(one).changes.is_some());
        let first = changing().next();
        later.extend(first);
        if self.nodes.serial(TransactionId(0)).is_some() {
            let serial = changing().find(|&one| self.is_serial(self.holders.get(one).transaction));
            later.extend(serial.filter(|&serial| first != Some(serial)));
        }
    }

    fn later_ones(&self, holder: &LockHolder, later: &[HolderId], edges: &mut Vec<PuzzleEdge>) {
        for &other in later {
            self.serial_versions(holder, self.holders.get(other), edges);
        }
    }

    /// What it brings that some of the later ones, which are known, overwrote what was read.
    fn overwritten(&self, reads: &[u32], writer: PackedWriter, later: &[HolderId], edges: &mut Vec<PuzzleEdge>) {
        for &read in reads {
            later.iter().for_each(|&other| self.overwrite_brings(read, writer, self.holders.get(other), edges));
        }
    }

    /// Of all later ones the first are enough, since the others follow them; the same of those that are asked to be serializable. Where not
    /// everything is noticed, less follows.
    fn keep_first_of_both(&self, later: &mut Vec<HolderId>, clocks: &ServerReach) {
        if self.nodes.serial(TransactionId(0)).is_none() {
            return self.keep_first(later, clocks);
        }
        if self.noticed.is_some() {
            return;
        }
        let is_serial = |one: &HolderId| self.is_serial(self.holders.get(*one).transaction);
        let mut serial: Vec<HolderId> = later.iter().copied().filter(is_serial).collect();
        self.keep_first(&mut serial, clocks);
        self.keep_first(later, clocks);
        later.extend(serial);
        later.sort_unstable();
        later.dedup();
    }

    /// Drops those that are known to be after another one.
    fn keep_first(&self, later: &mut Vec<HolderId>, clocks: &ServerReach) {
        let is_after = |first: HolderId, other: HolderId| {
            let (release, earliest) = (self.holders.get(first).release, self.earliest(self.holders.get(other)));
            clocks.reaches(&self.nodes.chains, self.nodes.of(release), earliest)
        };
        let mut kept = 0;
        while kept < later.len() {
            let first = later[kept];
            let before = later[..kept].iter().filter(|&&one| !is_after(first, one)).count();
            later.retain(|&other| other == first || !is_after(first, other));
            kept = before + 1;
        }
    }

    /// Notes the open pairs of a holder with those of another session; how many of them are known to be before it or open.
    fn window(&self, holder: &LockHolder, run: &[HolderId], clocks: &ServerReach, open: &mut Vec<Pair>) -> usize {
        let chains = &self.nodes.chains;
        let earliest = self.earliest(holder);
        let known_before =
            |&other: &HolderId| clocks.reaches(chains, self.nodes.of(self.holders.get(other).release), earliest);
        let release = self.nodes.of(holder.release);
        let not_after = |&other: &HolderId| !clocks.reaches(chains, release, self.earliest(self.holders.get(other)));
        let before = run.partition_point(known_before);
        let after = before + run[before..].partition_point(not_after);
        for &other in &run[before..after] {
            let other = self.holders.get(other);
            if holder.transaction < other.transaction && self.is_open(holder, other) {
                open.push(Pair::Kept(holder.transaction, other.transaction));
            }
        }
        after
    }

    /// Whether the order of two has to be searched for: they conflict, and neither stands where its read says.
    fn is_open(&self, one: &LockHolder, other: &LockHolder) -> bool {
        let is_placed = |reader: &LockHolder, changer: &LockHolder| {
            changer.changes.is_some() && reader.changes.is_none() && reader.has_read
        };
        let both_change = one.changes.is_some() && other.changes.is_some();
        let is_placed = is_placed(one, other) || is_placed(other, one);
        one.first_conflict(other).is_some() && (both_change || !is_placed)
    }

    /// The open pairs of the glances at a key: those with whoever locks it and does not change it for others.
    fn glances(&self, key: KeyId, kept: &[HolderId], open: &mut Vec<Pair>) {
        for &glance in self.holders.glances_on(key) {
            let looking = self.holders.get(glance);
            for &other in kept {
                let holder = self.holders.get(other);
                let is_placed = holder.changes.is_some() && looking.has_read;
                let is_own = holder.transaction == looking.transaction;
                if !is_own && !is_placed && holder.first_conflict(looking).is_some() {
                    open.push(Pair::Glance(glance, other));
                }
            }
        }
    }

    /// The holders of each session, which are neighbours.
    fn runs(&self, holders: &[HolderId]) -> Vec<std::ops::Range<usize>> {
        let session = |holder: HolderId| self.resolved.session(self.holders.get(holder).transaction);
        let mut runs = Vec::new();
        let mut start = 0;
        for run in holders.chunk_by(|&one, &other| session(one) == session(other)) {
            runs.push(start..start + run.len());
            start += run.len();
        }
        runs
    }
}
