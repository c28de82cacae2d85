//! Forgetting: the past beyond the horizon becomes the initial state.
//!
//! After so many commits, or so many roll-backs by programs, all transactions that have ended are *frozen* in one order that justifies
//! them, which is part of the commit order from then on:
//!
//! ```text
//!   frozen, in order:   t1  t2  t3 │ pending and new
//!   x:                  1       2  │ may be read by those who have read nothing older than the last frozen versions: x = 2
//! ```
//!
//! A pending transaction that has read a version which a frozen one overwrites (x = 1) cannot stand after them. At psi, snapshot and
//! serializable it is doomed; at the other levels it may go on reading below, and the frozen ones are kept until it ends, or until the next
//! freeze, when it is held to what it has seen (`pinning`). Then they are dropped: each key keeps its last version, and the rest is
//! as if it had never been.
//!
//! A transaction that its program rolled back has read, and what it read had to be right: it is a part of `I` as long as something may
//! still be ordered before it. `t1: w(x) · t2: r(x) from t1, rolled back · t3: w(x)` says at serializable that t3 is not between t1 and t2. It wrote
//! nothing, so nobody reads from it and nobody can be below it. Frozen at its place in the order it is like a committed transaction that
//! only read: whatever comes later comes after it, which answers every question that its reads can still ask (`other ──> writer`
//! or `reader ──> other`, where `other` is new), so that nothing is lost when it goes. That holds for every freeze; what is special is only that
//! programs that roll back all they do never commit, so roll-backs have to be counted as well. They are counted apart: a run in which
//! commits are what is many is sealed as if there were no roll-backs.

use super::bits::Bits;
use super::draft::Candidate;
use super::node::{Node, Point, Read, Row, Slot, Source, State};
use super::order::Knowledge;
use super::{GrowingHistory, Version};

impl GrowingHistory {
    /// Freezes all that is committed, and drops it if nobody reads below.
    pub(super) fn freeze(&mut self) {
        let order = self.ensure_witness().to_vec();
        (self.commits, self.rollbacks) = (0, 0);
        let ended = |slot: Slot| matches!(self.nodes.node(slot).state, State::Committed | State::Aborted);
        self.frozen = order
            .iter()
            .filter(|point| point.is_commit())
            .map(|point| point.slot())
            .filter(|&slot| ended(slot))
            .collect();
        for &slot in &self.frozen {
            self.nodes.nodes[slot.index()].frozen = true;
        }
        self.set_floors();
        let pending: Vec<Slot> = self.pending().collect();
        let last = self.frozen.last().copied();
        for slot in pending {
            self.hold_pending(slot, last, &order);
        }
        if !self.drop_frozen() {
            self.rebuild();
        }
    }

    /// An order that justifies `I`: needed before something goes, because then what was settled may be open again.
    pub(super) fn ensure_witness(&mut self) -> &[Point] {
        self.witness.get_or_insert_with(|| self.knowledge.linear(&[]))
    }

    fn pending(&self) -> impl Iterator<Item = Slot> + '_ {
        let nodes = self.nodes.nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.state == State::Pending).map(|(slot, _)| Slot::new(slot))
    }

    /// The last frozen version of every key.
    fn set_floors(&mut self) {
        for &slot in &self.frozen {
            for key in self.nodes.nodes[slot.index()].writes.keys() {
                if let Some(row) = self.nodes.rows.get_mut(key) {
                    row.floor = Some(slot);
                }
            }
        }
    }

    /// A pending transaction comes after the frozen ones, is doomed, or is exempt.
    fn hold_pending(&mut self, slot: Slot, last: Option<Slot>, order: &[Point]) {
        let node = self.nodes.node(slot);
        let stays = node.exempt;
        let below = stays || node.pinned.is_some() || node.reads.iter().any(|read| self.is_below(read));
        if below && node.rule.may_be_refused {
            self.forget_reads(slot, 0);
            self.nodes.node_mut(slot).doomed = true;
            return;
        }
        let point = if below { slot.commit() } else { node.start(slot) };
        if stays {
            self.pin(slot, order);
        }
        let node = self.nodes.node_mut(slot);
        node.exempt = below && !stays && node.pinned.is_none();
        node.edges.extend(last.map(|last| (last.commit(), point)));
    }

    /// Whether a frozen transaction overwrites what was read.
    fn is_below(&self, read: &Read) -> bool {
        let floor = self.nodes.rows.get(&read.key).and_then(|row| row.floor);
        match (read.source, floor) {
            (_, None) => false,
            (Source::Base, Some(_)) => true,
            (Source::Node(writer), Some(floor)) => writer != floor && self.nodes.node(writer).frozen,
        }
    }

    /// Forgets the frozen transactions if nobody may read below them; says whether it did.
    pub(super) fn drop_frozen(&mut self) -> bool {
        if self.frozen.is_empty() || self.nodes.nodes.iter().any(|node| node.exempt) {
            return false;
        }
        self.frozen.clear();
        let mut dropped = Vec::new();
        let mut bases = Vec::new();
        for (&key, row) in &mut self.nodes.rows {
            let Some(floor) = row.floor.take() else { continue };
            let gone = row.writers.iter().filter(|&&writer| self.nodes.nodes[writer.index()].frozen && writer != floor);
            dropped.extend(gone.map(|&writer| (key, Version::Of(self.nodes.nodes[writer.index()].id))));
            let base = self.nodes.bases.insert(key, Version::Of(self.nodes.nodes[floor.index()].id));
            bases.push((key, base.unwrap_or(Version::Initial)));
        }
        self.pin_bases(&bases);
        dropped.extend(bases);
        self.forget_versions(dropped);
        self.compact();
        true
    }

    /// Closes the gaps that dropped and refused transactions leave. Frozen ones are dropped when they are in no order any more.
    fn compact(&mut self) {
        let keeps_frozen = !self.frozen.is_empty();
        let keeps = |node: &Node| (keeps_frozen || !node.frozen) && node.state != State::Gone;
        let mut next = 0;
        let mut renamed = Vec::with_capacity(self.nodes.nodes.len());
        for node in &self.nodes.nodes {
            renamed.push(keeps(node).then_some(Slot::new(next)));
            next += usize::from(keeps(node));
        }
        let renaming = Renaming(renamed);
        let witness = self.witness.take();
        self.witness = witness.map(|witness| witness.into_iter().filter_map(|point| renaming.point(point)).collect());
        self.nodes.nodes.retain(keeps);
        for node in &mut self.nodes.nodes {
            renaming.apply(node);
        }
        self.nodes.rows.values_mut().for_each(|row| renaming.apply_to_row(row));
        self.nodes.pass_moment(None);
        self.nodes.rows.retain(|_, row| !row.writers.is_empty() || !row.readers.is_empty());
        let slots = self.nodes.nodes.iter().enumerate();
        self.nodes.slots = slots.map(|(slot, node)| (node.id, Slot::new(slot))).collect();
        self.frozen = self.frozen.iter().filter_map(|&slot| renaming.slot(slot)).collect();
        self.settled = renaming.bits(&self.settled);
        self.connected.values_mut().for_each(|seen| *seen = renaming.bits(seen));
        self.connected.retain(|_, seen| seen.iter().next().is_some());
        let last = std::mem::take(&mut self.last_of_session);
        self.last_of_session =
            last.into_iter().filter_map(|(session, slot)| Some((session, renaming.slot(slot)?))).collect();
        self.rebuild();
    }

    /// Works out anew what is known, after something went.
    pub(super) fn rebuild(&mut self) {
        let gone = self.nodes.nodes.iter().filter(|node| node.state == State::Gone).count();
        if gone > 8 + self.nodes.nodes.len() / 2 {
            return self.compact();
        }
        let mut knowledge = Knowledge::default();
        knowledge.grow(2 * self.nodes.nodes.len());
        let chain = self.frozen.windows(2).map(|pair| (pair[0].commit(), pair[1].commit()));
        let owned = self.nodes.nodes.iter().filter(|node| node.state != State::Gone);
        let owned = owned.flat_map(|node| node.edges.iter().chain(node.reads.iter().flat_map(|read| &read.edges)));
        for edge in owned.copied().chain(chain) {
            let fits = knowledge.insert(edge);
            debug_assert!(fits, "what was allowed stays allowed when something goes");
        }
        self.ask_again(&mut knowledge);
        let consistent = knowledge.propagate();
        debug_assert!(consistent, "what was allowed stays allowed when something goes");
        if knowledge.is_settled() {
            self.witness = None;
        }
        self.knowledge = knowledge;
    }

    /// Asks about all versions anew: each writer as if it committed now, in the order of commits.
    fn ask_again(&self, knowledge: &mut Knowledge) {
        for (&key, row) in &self.nodes.rows {
            for &(reader, source, locking) in &row.readers {
                let candidate = Candidate { reader, key, source, locking };
                self.nodes.questions_of_read(candidate, knowledge);
                if source == Source::Base && !self.nodes.node(reader).rule.watches_overwrites() {
                    let point = self.nodes.node(reader).read_point(reader, locking);
                    let others = row.writers.iter().filter(|&&writer| writer != reader);
                    others.for_each(|&writer| _ = knowledge.insert((point, writer.commit())));
                }
            }
            self.ask_about_writers(knowledge, row);
        }
    }

    fn ask_about_writers(&self, knowledge: &mut Knowledge, row: &Row) {
        for (place, &writer) in row.writers.iter().enumerate() {
            for &earlier in &row.writers[..place] {
                self.add_conflict(knowledge, writer, earlier);
            }
            let fits = self.add_lock(knowledge, writer, row.writers[..place].last());
            debug_assert!(fits, "versions are in the order of commits");
        }
    }
}

/// New places of the transactions that stay.
struct Renaming(Vec<Option<Slot>>);

impl Renaming {
    fn slot(&self, slot: Slot) -> Option<Slot> {
        self.0[slot.index()]
    }

    fn point(&self, point: Point) -> Option<Point> {
        self.slot(point.slot()).map(|slot| if point.is_commit() { slot.commit() } else { slot.begin() })
    }

    fn source(&self, source: Source) -> Source {
        match source {
            Source::Node(slot) => self.slot(slot).map_or(Source::Base, Source::Node),
            Source::Base => Source::Base,
        }
    }

    fn bits(&self, bits: &Bits) -> Bits {
        bits.iter().filter_map(|slot| self.slot(slot)).collect()
    }

    fn edges(&self, edges: &mut Vec<(Point, Point)>) {
        *edges = edges.iter().filter_map(|&(from, to)| Some((self.point(from)?, self.point(to)?))).collect();
    }

    fn apply(&self, node: &mut Node) {
        for bits in [
            &mut node.session_past,
            &mut node.granted,
            &mut node.plain_writers,
            &mut node.plain_past,
            &mut node.full_past,
        ] {
            *bits = self.bits(bits);
        }
        self.edges(&mut node.edges);
        for read in &mut node.reads {
            self.edges(&mut read.edges);
            read.source = self.source(read.source);
        }
    }

    fn apply_to_row(&self, row: &mut Row) {
        let writers = row.writers.iter().filter_map(|&writer| self.slot(writer));
        row.writers = writers.collect();
        row.floor = row.floor.and_then(|floor| self.slot(floor));
        let readers = row.readers.iter();
        let readers =
            readers.filter_map(|&(reader, source, locking)| Some((self.slot(reader)?, self.source(source), locking)));
        row.readers = readers.collect();
    }
}
