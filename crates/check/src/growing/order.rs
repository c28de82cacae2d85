//! What is known of the commit order, and what is still open.
//!
//! Every transaction is two points, its begin and its commit; what is known is a transitive relation between points, kept as one row
//! of bits per point. What is open are questions with two answers, each an edge (the table of `rules` says where it starts and ends):
//!
//! ```text
//!   t3 read x from t1, and t2 wrote x too:    t2 ──> t1    or   t3 ──> t2        (an overwrite)
//!   t and u wrote x, t at snapshot:        C(u) ──> S(t)   or   C(t) ──> C(u)    (a write conflict)
//! ```
//!
//! An answer that would close a cycle leaves the other. Where that does not settle all, a whole order is guessed, the last one that was
//! valid being the guide; a question that the guess leaves unanswered is what the search branches on. So a guess that fits costs one
//! pass, and the search is complete.
//!
//! psi asks otherwise: the relation is that of dependencies, and "t3 sees t2" means that it leads from one to the other:
//!
//! ```text
//!   t3 read x from t1, and t2 wrote x too:    t2 ──> t1    or   not t2 ──> t3
//! ```

use super::bits::members;
use super::node::Point;

/// What comes before what.
pub(super) type Edge = (Point, Point);

/// What the commit order has to decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    /// One of two edges holds.
    Either(Edge, Edge),
    /// At psi: if `other` leads to `reader`, then it leads to `writer`, and never when that is the base version.
    Seen { reader: Point, writer: Option<Point>, other: Point },
}

/// How a search ended.
pub(super) enum Search {
    /// All questions are answered by this order of all points.
    Found(Vec<Point>),
    /// There is no such order.
    Impossible,
    /// The budget ended first.
    Unknown,
}

enum Answer {
    Known,
    Open,
    Forced(Edge),
    Contradiction,
}

/// A transitive relation on points, and open questions.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// Per point the points before it, `stride` words each.
    rows: Vec<u64>,
    stride: usize,
    points: usize,
    questions: Vec<Question>,
}

impl Knowledge {
    /// Makes room for points up to this number.
    pub(super) fn grow(&mut self, points: usize) {
        let stride = points.div_ceil(64).next_power_of_two();
        if stride > self.stride {
            let mut rows = vec![0; self.points * stride];
            for (new, old) in rows.chunks_mut(stride).zip(self.rows.chunks(self.stride.max(1))) {
                new[..old.len()].copy_from_slice(old);
            }
            (self.rows, self.stride) = (rows, stride);
        }
        self.points = self.points.max(points);
        self.rows.resize(self.points * self.stride, 0);
    }

    /// The points before one, 64 to a word.
    fn row(&self, point: Point) -> &[u64] {
        &self.rows[point.index() * self.stride..][..self.stride]
    }

    /// Whether one point is known to be before another.
    pub(super) fn before(&self, one: Point, other: Point) -> bool {
        self.row(other)[one.index() / 64] >> (one.index() % 64) & 1 == 1
    }

    /// Learns an edge; false if it closes a cycle.
    #[must_use]
    pub(super) fn insert(&mut self, (from, to): Edge) -> bool {
        if from == to || self.before(to, from) {
            return false;
        }
        if self.before(from, to) {
            return true;
        }
        let stride = self.stride;
        let mut past: Vec<u64> = self.row(from).to_vec();
        past[from.index() / 64] |= 1 << (from.index() % 64);
        let (word, bit) = (to.index() / 64, to.index() % 64);
        for (point, row) in self.rows.chunks_exact_mut(stride).enumerate() {
            if point == to.index() || row[word] >> bit & 1 == 1 {
                row.iter_mut().zip(&past).for_each(|(row, past)| *row |= past);
            }
        }
        true
    }

    /// Asks for an answer.
    pub(super) fn ask(&mut self, question: Question) {
        self.questions.push(question);
    }

    /// Whether nothing is open.
    pub(super) fn is_settled(&self) -> bool {
        self.questions.is_empty()
    }

    fn answer(&self, question: Question) -> Answer {
        match question {
            Question::Either(one, other) => self.answer_either(one, other),
            Question::Seen { writer: Some(writer), other, .. } if self.before(other, writer) => Answer::Known,
            Question::Seen { reader, writer, other } if self.before(other, reader) => match writer {
                Some(writer) if !self.before(writer, other) => Answer::Forced((other, writer)),
                _ => Answer::Contradiction,
            },
            Question::Seen { .. } => Answer::Open,
        }
    }

    fn answer_either(&self, one: Edge, other: Edge) -> Answer {
        if self.before(one.0, one.1) || self.before(other.0, other.1) {
            return Answer::Known;
        }
        let possible = |(from, to): Edge| from != to && !self.before(to, from);
        match (possible(one), possible(other)) {
            (true, true) => Answer::Open,
            (true, false) => Answer::Forced(one),
            (false, true) => Answer::Forced(other),
            (false, false) => Answer::Contradiction,
        }
    }

    /// Answers what has one possible answer, until nothing changes; false on a contradiction.
    #[must_use]
    pub(super) fn propagate(&mut self) -> bool {
        loop {
            let mut changed = false;
            let mut kept = 0;
            for place in 0..self.questions.len() {
                let question = self.questions[place];
                match self.answer(question) {
                    Answer::Known => continue,
                    Answer::Contradiction => return false,
                    Answer::Forced(edge) => {
                        if !self.insert(edge) {
                            return false;
                        }
                        changed = true;
                        continue;
                    }
                    Answer::Open => {}
                }
                self.questions[kept] = question;
                kept += 1;
            }
            self.questions.truncate(kept);
            if !changed {
                return true;
            }
        }
    }

    /// An order of all points that agrees with what is known, and otherwise with the guide.
    pub(super) fn linear(&self, guide: &[Point]) -> Vec<Point> {
        let mut place = vec![u32::MAX; self.points];
        guide.iter().enumerate().for_each(|(position, &point)| place[point.index()] = position as u32);
        let mut wanted: Vec<Point> = (0..self.points).map(Point::new).collect();
        wanted.sort_by_key(|point| place[point.index()]);
        let mut emitted = vec![0_u64; self.stride];
        let mut order = Vec::with_capacity(self.points);
        for point in wanted {
            self.emit(point, &place, &mut emitted, &mut order);
        }
        order
    }

    /// Appends a point with all that is before it. What is before has fewer points before it, so sorting by their number keeps the relation.
    fn emit(&self, point: Point, place: &[u32], emitted: &mut [u64], order: &mut Vec<Point>) {
        if emitted[point.index() / 64] >> (point.index() % 64) & 1 == 1 {
            return;
        }
        let missing = self.row(point).iter().zip(&*emitted).enumerate();
        let missing = missing.flat_map(|(at, (row, done))| members(at, row & !done));
        let mut missing: Vec<Point> = missing.map(Point::new).collect();
        missing.sort_by_cached_key(|&point| (self.rank(point), place[point.index()]));
        missing.push(point);
        for point in missing {
            emitted[point.index() / 64] |= 1 << (point.index() % 64);
            order.push(point);
        }
    }

    fn rank(&self, point: Point) -> u32 {
        self.row(point).iter().map(|word| word.count_ones()).sum()
    }

    /// What an order leaves unanswered: two edges, one of which must hold; the first is tried first.
    fn unanswered(&self, order: &[Point]) -> Option<(Edge, Edge)> {
        let mut position = vec![0_u32; self.points];
        order.iter().enumerate().for_each(|(place, &point)| position[point.index()] = place as u32);
        let holds = |(from, to): Edge| position[from.index()] < position[to.index()];
        let mut seen = false;
        for question in &self.questions {
            match *question {
                Question::Either(one, other) if !holds(one) && !holds(other) => return Some((other, one)),
                Question::Either(..) => {}
                Question::Seen { .. } => seen = true,
            }
        }
        if seen { self.unseen(&holds) } else { None }
    }

    /// At psi: whether the order of versions that a guess gives makes somebody see too much; then some open order of two versions.
    fn unseen(&self, holds: &dyn Fn(Edge) -> bool) -> Option<(Edge, Edge)> {
        let mut guessed = self.clone();
        let mut open = None;
        for question in &self.questions {
            if let Question::Either(one, other) = *question {
                let (guess, against) = if holds(one) { (one, other) } else { (other, one) };
                open = open.or(Some((guess, against)));
                // Edges along one order close no cycle.
                let fits = guessed.insert(guess);
                debug_assert!(fits, "an order is acyclic");
            }
        }
        let contradicts = |question: &Question| match guessed.answer(*question) {
            Answer::Contradiction => true,
            // The versions are ordered by the guess: what is not before the other is after it.
            Answer::Forced(_) => true,
            Answer::Known | Answer::Open => false,
        };
        if guessed.questions.iter().any(contradicts) { open } else { None }
    }

    /// Looks for an order of all points that answers every question, at most `budget` guesses long.
    pub(super) fn search(&self, guide: &[Point], mut budget: u64) -> Search {
        let mut stack = vec![self.clone()];
        while let Some(mut knowledge) = stack.pop() {
            if budget == 0 {
                return Search::Unknown;
            }
            budget -= 1;
            if !knowledge.propagate() {
                continue;
            }
            let order = knowledge.linear(guide);
            let Some((first, second)) = knowledge.unanswered(&order) else { return Search::Found(order) };
            let mut otherwise = knowledge.clone();
            if otherwise.insert(second) {
                stack.push(otherwise);
            }
            if knowledge.insert(first) {
                stack.push(knowledge);
            }
        }
        Search::Impossible
    }
}
