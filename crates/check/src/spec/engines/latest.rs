//! The versions of a key along a schedule: which was the latest at a place, and which row it belongs to.
//!
//! ```text
//!   place                12            40             57
//!   versions   initial ──┼── t1's ─────┼── (none) ────┼── t5's           a read at 45 finds nothing: t3 deleted the row at 40
//! ```

use super::edges::{has_rows_beside, is_key_share_of_row, is_search, may_change_key, moment_of};
use super::order::StoryMoment;
use super::schedule::WalkedSchedule;
use super::story::{Deed, From, Touch};
use skew_history::{Action, EngineLevel, Event, KeyId, Value, Writer};

/// One version, and what its transaction did to the row. The first one is what was there before everybody.
struct KeyVersion {
    writer: Option<usize>,
    /// Where it became the latest.
    since: usize,
    /// What others see; nothing where a register was only appended to.
    visible: Option<Value>,
    leaves_nothing: bool,
    /// Whether a row was deleted that had been there before.
    deletes: bool,
    /// Whether there was no row after one of its changes.
    has_absence: bool,
    /// Whether the row was deleted and its key inserted anew.
    replaces: bool,
    /// The version that began the row which this one belongs to; the first one began it, or nobody.
    born: usize,
    /// Of a list: how many elements there are now.
    elements: usize,
}

/// The versions of a key, first to last.
pub(super) struct KeyVersions {
    all: Vec<KeyVersion>,
    /// All elements, where the key is a list.
    list: Option<Vec<Value>>,
}

impl KeyVersions {
    pub(super) fn new(schedule: &WalkedSchedule<'_>, key: usize, is_list: bool) -> KeyVersions {
        let story = &schedule.story;
        let initial = story.history.initial(KeyId(key as u32));
        let first = KeyVersion {
            writer: None,
            since: 0,
            visible: Some(initial),
            leaves_nothing: initial.is_absent(),
            deletes: false,
            has_absence: false,
            replaces: false,
            born: 0,
            elements: 0,
        };
        let touches: Vec<&Touch> = story.touches_of(key).filter(|touch| is_change(touch)).collect();
        let of_one = |one: &&Touch, other: &&Touch| one.transaction == other.transaction;
        let committed = touches.chunk_by(of_one).filter(|mine| story.transactions[mine[0].transaction].committed);
        let mut changes: Vec<&[&Touch]> = committed.collect();
        changes.sort_by_key(|mine| schedule.end(mine[0].transaction));
        let mut versions = KeyVersions { all: vec![first], list: is_list.then(Vec::new) };
        changes.into_iter().for_each(|mine| versions.add(schedule, mine));
        versions
    }

    /// Adds the version that the changes of one transaction leave.
    fn add(&mut self, schedule: &WalkedSchedule<'_>, changes: &[&Touch]) {
        let writer = changes[0].transaction;
        let before = &self.all[self.all.len() - 1];
        let mut is_absent = before.leaves_nothing;
        let (mut begins, mut has_deleted, mut replaces) = (false, false, false);
        let mut visible = None;
        for change in changes {
            let &Event { value, action, .. } = schedule.story.history.event(change.event);
            let absent = value.is_absent();
            begins |= is_absent && !absent;
            replaces |= has_deleted && !absent;
            has_deleted |= absent;
            is_absent = absent;
            if action == Action::Write {
                visible = Some(value);
            } else if let Some(list) = &mut self.list {
                list.push(value);
            }
        }
        self.all.push(KeyVersion {
            writer: Some(writer),
            since: schedule.end(writer),
            visible,
            leaves_nothing: is_absent,
            has_absence: has_deleted,
            deletes: !before.leaves_nothing && has_deleted,
            replaces,
            born: if begins { self.all.len() } else { before.born },
            elements: self.list.as_ref().map_or(0, Vec::len),
        });
    }

    /// Who wrote them.
    pub(super) fn writers(&self) -> impl Iterator<Item = usize> {
        self.all.iter().filter_map(|version| version.writer)
    }

    /// Which version is the latest at a moment.
    pub(super) fn latest(&self, schedule: &WalkedSchedule<'_>, moment: StoryMoment) -> usize {
        let place = schedule.at(moment);
        self.all[1..].partition_point(|version| version.since < place)
    }

    /// Which version is of a writer.
    pub(super) fn of(&self, schedule: &WalkedSchedule<'_>, writer: Option<usize>) -> Option<usize> {
        let Some(writer) = writer else { return Some(0) };
        let since = schedule.end(writer);
        let found = self.all[1..].partition_point(|version| version.since < since) + 1;
        (self.all.get(found)?.writer == Some(writer)).then_some(found)
    }

    /// Where the version after that of a writer became the latest.
    pub(super) fn next_since(&self, schedule: &WalkedSchedule<'_>, writer: Option<usize>) -> Option<usize> {
        let place = self.of(schedule, writer)?;
        self.all.get(place + 1).map(|next| next.since)
    }

    /// Whether there is no row at a moment.
    pub(super) fn is_absent(&self, schedule: &WalkedSchedule<'_>, moment: StoryMoment) -> bool {
        self.all[self.latest(schedule, moment)].leaves_nothing
    }

    /// Where a read is from, given a first guess and what its transaction had appended. Nothing when it returned something else.
    pub(super) fn source(
        &self,
        schedule: &WalkedSchedule<'_>,
        touch: &Touch,
        guess: From,
        own: &[Value],
    ) -> Option<From> {
        match guess {
            From::Own => Some(From::Own),
            From::Gone(by) => self.was_deleted(schedule, touch, self.of(schedule, Some(by))?).then_some(guess),
            From::Version(_) if touch.beside_own && !has_rows_beside(&schedule.story, touch.key, touch.transaction) => {
                None
            }
            From::Version(_) => self.version(schedule, touch, own),
        }
    }

    fn version(&self, schedule: &WalkedSchedule<'_>, touch: &Touch, own: &[Value]) -> Option<From> {
        let level = schedule.story.transactions[touch.transaction].level;
        let Deed::Read { absent, passed, waited, .. } = touch.deed else { return None };
        let found = |place: usize| self.returns(schedule, touch, place, own).then_some(place);
        if level != EngineLevel::PostgresReadCommitted || !is_search(touch.kind) {
            let place = found(self.latest(schedule, moment_of(&schedule.story, touch)))?;
            return Some(From::Version(self.all[place].writer));
        }
        let at_start = self.latest(schedule, touch.start);
        if absent {
            let none = found(at_start).map(|place| From::Version(self.all[place].writer));
            return none.or_else(|| self.deleted_since(schedule, touch, own));
        }
        if passed && !waited {
            return Some(From::Version(self.all[found(at_start)?].writer));
        }
        if is_key_share_of_row(touch) {
            return self.key_share(schedule, touch, own);
        }
        let version = &self.all[found(self.latest(schedule, touch.held))?];
        let was_there = version.born == 0 || version.born <= at_start;
        let asked_again = passed && waited;
        let has_changed = !asked_again || version.writer.is_some() && version.since > schedule.at(touch.start);
        (was_there && has_changed).then_some(From::Version(version.writer))
    }

    /// The row that FOR KEY SHARE has found: that of the statement's start, unless its key may have changed since.
    fn key_share(&self, schedule: &WalkedSchedule<'_>, touch: &Touch, own: &[Value]) -> Option<From> {
        let returned = |place: usize| self.returns(schedule, touch, place, own);
        let [start, moment, held] = [touch.start, touch.moment, touch.held].map(|at| self.latest(schedule, at));
        let is_kept = self.all[start + 1..=held].iter().all(|version| !version.has_absence);
        if is_kept && returned(start) {
            return Some(From::Version(self.all[start].writer));
        }
        let may_change = |writer| may_change_key(&schedule.story, touch.key, writer);
        let may_look_again = self.all[start + 1..=moment].iter().filter_map(|one| one.writer).any(may_change);
        let was_there = self.all[moment].born <= start;
        (may_look_again && was_there && returned(moment)).then_some(From::Version(self.all[moment].writer))
    }

    /// A row that was deleted while it was waited for.
    fn deleted_since(&self, schedule: &WalkedSchedule<'_>, touch: &Touch, own: &[Value]) -> Option<From> {
        let since = self.latest(schedule, touch.start) + 1..=self.latest(schedule, touch.held);
        let is_silent = schedule.story.history.claim(touch.event).is_none() && self.list.is_none();
        since.filter(|&place| self.was_deleted(schedule, touch, place)).find_map(|place| {
            let version = &self.all[place];
            let is_version = self.returns(schedule, touch, place, own);
            let is_gone = is_silent && version.replaces && version.writer != Some(touch.transaction);
            match is_version {
                true => Some(From::Version(version.writer)),
                false => version.writer.filter(|_| is_gone).map(From::Gone),
            }
        })
    }

    /// Whether a version is that of somebody who deleted the row for which a statement of PostgreSQL's read committed waited.
    fn was_deleted(&self, schedule: &WalkedSchedule<'_>, touch: &Touch, place: usize) -> bool {
        let level = schedule.story.transactions[touch.transaction].level;
        let version = &self.all[place];
        let waited = schedule.at(touch.start) < version.since && version.since < schedule.at(touch.held);
        let born = self.all[place.saturating_sub(1)].born;
        level == EngineLevel::PostgresReadCommitted
            && is_search(touch.kind)
            && place > 0
            && version.deletes
            && waited
            && born <= self.latest(schedule, touch.start)
    }

    /// Whether a version is what a read returned.
    fn returns(&self, schedule: &WalkedSchedule<'_>, touch: &Touch, place: usize, own: &[Value]) -> bool {
        let history = schedule.story.history;
        let value = history.event(touch.event).value;
        let version = &self.all[place];
        let name = |number: usize| Writer::Transaction(schedule.story.transactions[number].id);
        let writer = version.writer.map_or(Writer::Initial, name);
        let claim = history.claim(touch.event);
        let Some(list) = &self.list else {
            return claim.is_none_or(|claim| claim == writer)
                && version.visible.is_some_and(|visible| history.may_return(value, visible));
        };
        let by = if own.is_empty() { writer } else { name(touch.transaction) };
        let initial = history.elements(history.initial(KeyId(touch.key as u32)));
        let appended = history.elements(value).strip_suffix(own).and_then(|rest| rest.strip_prefix(initial));
        (value.is_list() || value.is_absent())
            && claim.is_none_or(|claim| claim == by)
            && appended == Some(&list[..version.elements])
    }

    /// Notes whose versions a read has shown: of a list all up to the last one.
    pub(super) fn read_by(&self, from: From, is_read: &mut [bool]) {
        let writer = match from {
            From::Own | From::Version(None) => return,
            From::Version(Some(writer)) | From::Gone(writer) => writer,
        };
        is_read[writer] = true;
        if self.list.is_some() {
            let up_to = self.writers().take_while(|&one| one != writer);
            up_to.for_each(|one| is_read[one] = true);
        }
    }
}

fn is_change(touch: &Touch) -> bool {
    matches!(touch.deed, Deed::Change { .. })
}
