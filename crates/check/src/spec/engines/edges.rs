//! What follows for moments once the lock order of a key is known: who read what when, and what a level adds.
//!
//! | what | edges |
//! |---|---|
//! | a read at N of the version of a | C_a → N, and N → C_b for every b that changes the key later |
//! | a row that was locked, or passed over after a wait: PostgreSQL's read committed | it was there when the statement started |
//! | FOR KEY SHARE of a row: PostgreSQL's read committed | the version at i, and i′ → C_b for every b that deletes it later |
//! | the same, where b may have changed the key | or else i → C_b, and the latest version when it is locked |
//! | a row that was waited for and is deleted, or *gone*: PostgreSQL's read committed | i → C_b → i′, and it was there at i |
//! | first updater wins: PostgreSQL's repeatable read | C_a → S for every a that changed before what is locked |
//! | an own row beside that of the snapshot: the same | the snapshot has none, unless it was returned, too |
//! | snapshot isolation: MariaDB | C_a → the first plain read, for every a that changed before what is locked after it |
//!
//! Some of this can have come about in one of several ways: a *choice* is a list of edges for each.

use super::lock_order::Holder;
use super::locks::{self, Hold, Mode};
use super::order::{MomentOrder, MomentPair, StoryMoment};
use super::story::{Deed, From, Story, Touch};
use skew_history::{EngineLevel, StatementKind};

/// Several ways, each with its edges.
pub(super) type Choice = Vec<Vec<MomentPair>>;

/// A key with its lock order.
pub(super) struct Ordered<'a> {
    story: &'a Story<'a>,
    key: usize,
    /// In lock order.
    holders: Vec<&'a Holder<'a>>,
    /// Who changes the key, in order.
    pub(super) versions: Vec<usize>,
}

impl<'a> Ordered<'a> {
    pub(super) fn new(story: &'a Story<'a>, key: usize, holders: &'a [Holder<'a>], order: &[usize]) -> Ordered<'a> {
        let holders: Vec<&Holder> = order.iter().map(|&one| &holders[one]).collect();
        let versions = holders.iter().filter(|one| one.changes(story)).map(|one| one.transaction).collect();
        Ordered { story, key, holders, versions }
    }

    /// Whether some way to take all choices leaves an order that `test` accepts. Nothing is possible when a version is where it cannot be.
    pub(super) fn some_way(&self, order: &MomentOrder, test: &mut dyn FnMut(&MomentOrder) -> bool) -> bool {
        self.agrees_with_lists() && self.choices().is_some_and(|choices| take(&choices, order, test))
    }

    pub(super) fn agrees_with_lists(&self) -> bool {
        let row = &self.story.appenders[self.key];
        row.iter().eq(self.versions.iter().take(row.len()))
    }

    /// What has to be, each in one of several ways. Nothing when a version is where it cannot be.
    pub(super) fn choices(&self) -> Option<Vec<Choice>> {
        let mut choices = Vec::new();
        for touch in self.story.touches_of(self.key) {
            if let Deed::Read { from, absent, passed, waited } = touch.deed {
                match from {
                    From::Own => {}
                    From::Gone(by) => choices.push(vec![self.waited_for_deletion(touch, by)?]),
                    From::Version(writer) => choices.push(self.read(touch, writer, absent, passed && waited)?),
                }
            }
        }
        for (place, holder) in self.holders.iter().enumerate() {
            choices.push(vec![self.level_adds(place, holder)?]);
            choices.extend(self.waits(place, holder));
        }
        choices.extend(self.own_rows_beside());
        Some(choices)
    }

    fn level(&self, transaction: usize) -> EngineLevel {
        self.story.transactions[transaction].level
    }

    fn end(&self, transaction: usize) -> StoryMoment {
        self.story.transactions[transaction].end
    }

    /// The place of a version; the initial one is before all.
    fn place(&self, writer: Option<usize>) -> Option<usize> {
        writer.map_or(Some(0), |writer| self.versions.iter().position(|&one| one == writer).map(|place| place + 1))
    }

    fn read(&self, touch: &Touch, writer: Option<usize>, absent: bool, asked_again: bool) -> Option<Choice> {
        let level = self.level(touch.transaction);
        let place = self.place(writer)?;
        if touch.beside_own && !has_rows_beside(self.story, self.key, touch.transaction) {
            return None;
        }
        let at_read_committed = level == EngineLevel::PostgresReadCommitted;
        if !at_read_committed || !is_search(touch.kind) {
            return Some(vec![self.read_at(moment_of(self.story, touch), touch.transaction, place)]);
        }
        let Deed::Read { passed, .. } = touch.deed else { return None };
        if absent {
            let found_none = self.read_at(touch.start, touch.transaction, place);
            let deleted_since = writer.and_then(|writer| self.waited_for_deletion(touch, writer));
            return Some([Some(found_none), deleted_since].into_iter().flatten().collect());
        }
        if passed && !asked_again {
            return Some(vec![self.read_at(touch.start, touch.transaction, place)]);
        }
        if is_key_share_of_row(touch) {
            return Some(self.read_key_share(touch, place));
        }
        let mut edges = self.read_at(touch.held, touch.transaction, place);
        edges.extend(self.was_there_before(place, touch.start));
        if asked_again {
            edges.push((touch.start, self.end(writer?)));
        }
        Some(vec![edges])
    }

    /// C_a → N, and N → C_b for every b that changes the key later.
    fn read_at(&self, moment: StoryMoment, reader: usize, place: usize) -> Vec<MomentPair> {
        let before = self.versions[..place].last().map(|&writer| (self.end(writer), moment));
        let later = self.versions[place..].iter().filter(|&&other| other != reader);
        before.into_iter().chain(later.map(|&other| (moment, self.end(other)))).collect()
    }

    /// FOR KEY SHARE returns the row as it was when the statement started, and the row is still there when it is locked. But if its key may have
    /// changed since, it may have looked again.
    fn read_key_share(&self, touch: &Touch, place: usize) -> Choice {
        let was_there = self.was_there_before(place, touch.start);
        let later = self.versions[place..].iter().filter(|&&other| other != touch.transaction);
        let deleting = later.filter(|&&other| self.changes_of(other).any(|absent| absent));
        let still_there = deleting.map(|&other| (touch.held, self.end(other)));
        let mut at_start = self.read_at(touch.start, touch.transaction, place);
        at_start.extend(still_there.chain(was_there));
        let of_key = self.versions[..place].iter().filter(|&&one| may_change_key(self.story, self.key, one));
        let looked_again = of_key.map(|&by| {
            let mut edges = self.read_at(touch.moment, touch.transaction, place);
            edges.extend(was_there.into_iter().chain([(touch.start, self.end(by))]));
            edges
        });
        [at_start].into_iter().chain(looked_again).collect()
    }

    /// The row that a version belongs to was inserted before a moment.
    fn was_there_before(&self, place: usize, moment: StoryMoment) -> Option<MomentPair> {
        let born = (1..=place).rev().find(|&place| self.begins_a_row(place))?;
        Some((self.end(self.versions[born - 1]), moment))
    }

    /// Whether the version at a place is of another row than the one before it.
    fn begins_a_row(&self, place: usize) -> bool {
        let mut is_absent = self.leaves_nothing(place - 1);
        let mut begins = false;
        for absent in self.changes_of(self.versions[place - 1]) {
            begins |= is_absent && !absent;
            is_absent = absent;
        }
        begins
    }

    /// Whether the version at a place is that there is no row.
    fn leaves_nothing(&self, place: usize) -> bool {
        match place.checked_sub(1) {
            None => self.story.is_absent_at_first(self.key),
            Some(before) => self.changes_of(self.versions[before]).last().unwrap_or(false),
        }
    }

    /// Whether a row is there or not, after each change of a transaction.
    fn changes_of(&self, transaction: usize) -> impl Iterator<Item = bool> {
        let touches = self.story.touches_by(self.key, transaction);
        touches.filter_map(|touch| if let Deed::Change { absent } = touch.deed { Some(absent) } else { None })
    }

    /// i → C_b → i′: the statement had found a row which b then deleted. Nothing when there was none.
    fn waited_for_deletion(&self, touch: &Touch, by: usize) -> Option<Vec<MomentPair>> {
        let place = self.place(Some(by))?;
        let deletes = !self.leaves_nothing(place - 1) && self.changes_of(by).any(|absent| absent);
        if !deletes || !is_search(touch.kind) || self.level(touch.transaction) != EngineLevel::PostgresReadCommitted {
            return None;
        }
        let waited = [(touch.start, self.end(by)), (self.end(by), touch.held)];
        Some(waited.into_iter().chain(self.was_there_before(place - 1, touch.start)).collect())
    }

    /// What the level of a holder adds. Nothing when it cannot have been at its place.
    fn level_adds(&self, place: usize, holder: &Holder) -> Option<Vec<MomentPair>> {
        let changed = || {
            let earlier = self.holders[..place].iter();
            earlier.filter(|one| one.transaction != holder.transaction && one.changes(self.story))
        };
        let last = changed().next_back().map(|one| one.transaction);
        if !holder.locks_version(last) {
            return None;
        }
        let teller = &self.story.transactions[holder.transaction];
        let first = holder.locks.first()?;
        let edges = match teller.level {
            EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable => {
                let is_upsert = holder.touches[0].kind == StatementKind::Upsert;
                let updates = first.mode != Mode::Insertion && (!holder.is_glance || is_upsert);
                let conflicting = changed()
                    .filter(|one| updates && one.locks.iter().any(|lock| lock.changes && holder.conflicts(lock)));
                conflicting.map(|one| (one.release, teller.begin)).collect()
            }
            EngineLevel::MysqlSnapshotIsolation => {
                let is_after = |plain: &StoryMoment| holder.locks.iter().any(|lock| lock.moment > *plain);
                let plain = teller.first_plain_read.filter(is_after);
                plain.into_iter().flat_map(|plain| changed().map(move |one| (one.release, plain))).collect()
            }
            _ => Vec::new(),
        };
        Some(edges)
    }

    /// InnoDB's read committed keeps the lock of a row that does not qualify only if it was waited for: somebody held it until then, or had
    /// asked for it before and was refused.
    fn waits(&self, place: usize, holder: &Holder) -> Vec<Choice> {
        if self.level(holder.transaction) != EngineLevel::MysqlReadCommitted {
            return Vec::new();
        }
        let waited = |touch: &&&Touch| matches!(touch.deed, Deed::Read { passed: true, waited: true, .. });
        let earlier = self.holders[..place].iter().filter(|one| one.transaction != holder.transaction);
        let conflicting = earlier.filter(|one| holder.first_conflict(one).is_some());
        // Nobody overtakes: who had the lock in between has asked for it before.
        let asked = conflicting.clone().flat_map(|one| one.new_locks().map(move |lock| (one, lock)));
        let asked = asked.filter(|(_, lock)| lock.mode != Mode::Gap);
        let asked: Vec<StoryMoment> = asked.map(|(one, lock)| one.asked_after(lock)).collect();
        let until = |touch: &Touch, moment: StoryMoment| {
            asked.iter().chain([&(touch.moment - 1)]).map(|&before| (before, moment)).collect::<Vec<MomentPair>>()
        };
        let wait = |touch: &&Touch| {
            let for_lock = conflicting.clone().filter(|one| !one.is_glance).map(|one| until(touch, one.release));
            let refused = self.story.refused_over(self.key).filter(|&one| one != holder.transaction);
            let for_request =
                refused.map(|one| [until(touch, self.end(one)), vec![(self.end(one), touch.moment)]].concat());
            for_lock.chain(for_request).collect()
        };
        holder.touches.iter().filter(waited).map(wait).collect()
    }

    /// After an own INSERT, PostgreSQL's repeatable read still looks at the snapshot: it has no row, unless it was returned, too.
    fn own_rows_beside(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        for (transaction, teller) in self.story.transactions.iter().enumerate() {
            let own: Vec<&Touch> = self.story.touches_by(self.key, transaction).collect();
            if looks_beside_own_row(self.story, &own) {
                let absences = (0..=self.versions.len()).filter(|&place| self.leaves_nothing(place));
                let absences = absences.filter(|&place| self.versions[..place].last() != Some(&transaction));
                choices.push(absences.map(|place| self.read_at(teller.begin, transaction, place)).collect());
            }
        }
        choices
    }
}

fn take(choices: &[Choice], order: &MomentOrder, test: &mut dyn FnMut(&MomentOrder) -> bool) -> bool {
    let Some((first, rest)) = choices.split_first() else { return test(order) };
    first.iter().any(|edges| order.clone().with(edges).is_some_and(|order| take(rest, &order, test)))
}

/// When a read looked; what is special about searches at PostgreSQL's read committed is for others.
pub(super) fn moment_of(story: &Story, touch: &Touch) -> StoryMoment {
    let teller = &story.transactions[touch.transaction];
    let Deed::Read { absent, passed, .. } = touch.deed else { return touch.moment };
    let is_insert = matches!(touch.kind, StatementKind::Insert | StatementKind::Upsert);
    let is_plain = touch.kind == StatementKind::Select;
    match teller.level {
        EngineLevel::PostgresReadCommitted if is_plain => touch.start,
        EngineLevel::PostgresReadCommitted => touch.moment,
        EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable => {
            let finds_no_row = !is_insert && (absent || passed);
            let is_key_share = matches!(touch.kind, StatementKind::ForKeyShare | StatementKind::ForeignKey);
            if is_plain || finds_no_row || is_key_share { teller.begin } else { touch.moment }
        }
        EngineLevel::MysqlReadCommitted if is_plain => touch.start,
        EngineLevel::MysqlRepeatableRead | EngineLevel::MysqlSnapshotIsolation if is_plain => {
            teller.first_plain_read.unwrap_or(touch.start)
        }
        EngineLevel::MysqlReadCommitted
        | EngineLevel::MysqlRepeatableRead
        | EngineLevel::MysqlSnapshotIsolation
        | EngineLevel::MysqlSerializable => touch.moment,
    }
}

/// Whether a transaction may have a row of its own beside that of its snapshot: its first change of the key is an INSERT.
pub(super) fn has_rows_beside(story: &Story, key: usize, transaction: usize) -> bool {
    let own: Vec<&Touch> = story.touches_by(key, transaction).collect();
    inserts_first(story, &own)
}

/// Whether what a transaction does to a key begins with an INSERT, at a level at which its snapshot may have a row there all the same.
fn inserts_first(story: &Story, own: &[&Touch]) -> bool {
    let repeatable = [EngineLevel::PostgresRepeatableRead, EngineLevel::PostgresSerializable];
    let first = own.iter().find(|touch| matches!(touch.deed, Deed::Change { .. }));
    first.is_some_and(|first| {
        repeatable.contains(&story.transactions[first.transaction].level) && inserts(first.kind) && !first.found_row
    })
}

/// Whether a statement looks for rows to lock: only such a one can wait for a row and then not find it.
pub(super) fn is_search(kind: StatementKind) -> bool {
    !matches!(kind, StatementKind::Select | StatementKind::Insert | StatementKind::Upsert)
}

/// Whether FOR KEY SHARE has found a row. PostgreSQL's read committed returns that as it was when the statement started, however long it waited: a
/// change that leaves the key alone is none to it.
pub(super) fn is_key_share_of_row(touch: &Touch) -> bool {
    touch.kind == StatementKind::ForKeyShare && matches!(touch.deed, Deed::Read { absent: false, passed: false, .. })
}

/// Whether PostgreSQL may take what a transaction does to a row for a change of its key: it does when the transaction had locked the row FOR UPDATE
/// before, and when an entry of an index changes.
pub(super) fn may_change_key(story: &Story, key: usize, transaction: usize) -> bool {
    let is_strong = |touch: &Touch| {
        let mode = match locks::hold(touch, story.transactions[transaction].level) {
            Hold::ToTheEnd(mode) => mode as usize,
            Hold::ForAMoment(_) | Hold::Nothing => return false,
        };
        mode == Mode::Exclusive as usize || mode == Mode::Insertion as usize
    };
    let is_change = |touch: &Touch| matches!(touch.deed, Deed::Change { .. });
    let from_lock = story.touches_by(key, transaction).skip_while(|touch| !is_strong(touch));
    from_lock.into_iter().any(is_change) || story.changes_entry(transaction)
}

fn inserts(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::Insert | StatementKind::Upsert)
}

/// Whether a transaction, all of whose looks at a key are given, looks for rows there after its own INSERT and is not told of one of the snapshot.
pub(super) fn looks_beside_own_row(story: &Story, own: &[&Touch]) -> bool {
    let changed = own.iter().skip_while(|touch| !matches!(touch.deed, Deed::Change { .. }));
    let looking: Vec<&&Touch> = changed.filter(|touch| !inserts(touch.kind)).collect();
    let is_told = |touch: &Touch| looking.iter().any(|other| other.start == touch.start && other.beside_own);
    inserts_first(story, own) && looking.iter().any(|touch| !is_told(touch))
}
