//! What a transaction asks, and how it is answered: from what is recorded, then from the only possible answer, then not at all.
//!
//! ```text
//!   recorded     Read x from t2 · Write y          the run has to ask for just this again, else it is not deterministic
//!   then         read z: only t0 wrote it           one answer: recorded, and the run goes on
//!   then         read x: t0 or t2                   a branch: the run is interrupted, and begins again with each answer
//! ```
//!
//! A read that is sought is told which versions fit: of all that there are when it is first made. One that a swap lets read from somebody who
//! came later is looked at again when its transaction runs again, and given up if it then reads what it cannot.
//!
//! A scan asks for the keys of its range one after the other, in order: those that were there before everything and those that committed
//! transactions wrote. Its next key is always the first known one behind the last, so that a scan which is taken up again in another branch
//! goes on where it was.

use crate::consistency::Beginning;
use crate::error::ExploreError;
use crate::forced::ForcedOrder;
use crate::keys::{KeyNumber, Keys, reads_down};
use crate::log::{Event, Log, Manner, ReadKind, ScanEnd, Sought};
use crate::ordered::Ordered;
use crate::outline::Outline;
use crate::server::access::StepAccess;
use crate::server::turn::{ServerTurn, TurnPoint};
use crate::set::{INITIAL, Number, Set};
use skew_history::{Engine, EngineLevel, StatementKind};
use skew_sql::rows::{Found, Looked, Scanned};
use skew_sql::{Fit, Fits, KeyPart, KeyRange, Patience, Row, RowKey};
use std::sync::Arc;

/// Why a run of a transaction did not come to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// The answer to a request is not known yet. Only [`Requests`] says so; the transaction hands it out, and is run again later.
    Waiting,
    /// It cannot be run: what it does is not supported. The exploration ends with this message.
    Failed(String),
    /// At a level of an engine: the server refuses the transaction with this code and rolls it back. The transaction ends by that.
    Refused(&'static str),
}

/// What came of a step on a server.
pub(crate) struct TakenStep {
    /// Where the transaction stands now.
    pub(crate) stands: Option<TurnPoint>,
    /// The statement that was refused, and with which code.
    pub(crate) refused: Option<(u32, &'static str)>,
    /// How many statements it has said that are answered.
    pub(crate) said: usize,
    /// Whether the next one has begun.
    pub(crate) has_begun: bool,
    /// It began early, and nothing followed from that.
    pub(crate) waited_in_vain: bool,
    /// Nobody wants a run in which it hears what it heard.
    pub(crate) is_unwanted: bool,
    pub(crate) access: StepAccess,
}

/// Who answers a read that is not recorded.
pub(crate) enum Guide<'a> {
    /// The base levels; several possible answers are a branch.
    Levels,
    /// A list, from its start; where it ends, the run is interrupted.
    List(std::slice::Iter<'a, Number>),
    /// Nobody: the transaction has ended before, and must end again just so.
    Nobody {
        /// Whether it committed.
        commits: bool,
    },
}

/// A read that has several answers.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) key: KeyNumber,
    pub(crate) manner: Manner,
    pub(crate) scanned: bool,
    pub(crate) choices: Vec<Number>,
}

/// Why a run was interrupted.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// There are several answers, or none.
    Branch(Branch),
    /// The list has no more answers.
    EndOfList,
    /// It cannot go on.
    Error(ExploreError),
}

/// The requests of one run of a transaction.
///
/// After [`Interrupt::Waiting`] the transaction has to hand the interrupt out; whatever it does instead is ignored, and it is run again.
pub struct Requests<'a> {
    history: &'a mut Ordered,
    keys: &'a mut Keys,
    outline: &'a Outline,
    names: &'a dyn Fn(&RowKey) -> String,
    guide: Guide<'a>,
    /// The next recorded event.
    cursor: usize,
    pub(crate) reason: Option<Interruption>,
    /// At a level of an engine: the step that is being taken on its server, which has all the answers.
    turn: Option<ServerTurn<'a>>,
}

impl<'a> Requests<'a> {
    pub(crate) fn new(
        history: &'a mut Ordered,
        keys: &'a mut Keys,
        outline: &'a Outline,
        names: &'a dyn Fn(&RowKey) -> String,
        guide: Guide<'a>,
    ) -> Requests<'a> {
        Requests { history, keys, outline, names, guide, cursor: 0, reason: None, turn: None }
    }

    /// Those of a step on a server.
    pub(crate) fn on_server(
        turn: ServerTurn<'a>,
        unused: &'a mut Ordered,
        keys: &'a mut Keys,
        outline: &'a Outline,
        names: &'a dyn Fn(&RowKey) -> String,
    ) -> Requests<'a> {
        Requests { turn: Some(turn), ..Requests::new(unused, keys, outline, names, Guide::Levels) }
    }

    /// What came of a step on a server; `has_ended`: the program has come to its end.
    pub(crate) fn taken(self, has_ended: bool) -> Result<TakenStep, ExploreError> {
        let Some(mut turn) = self.turn else { return Err(ExploreError::ForeignSubtree) };
        if has_ended {
            turn.end();
        }
        let transaction = || self.outline.transaction_name(turn.number());
        let limit = self.outline.options.most_events;
        if turn.events() > limit {
            return Err(ExploreError::TooManyEvents { transaction: transaction(), limit });
        }
        if let Some(event) = turn.differs {
            let (recorded, asked) = ("another request".to_owned(), "a request that it did not make then");
            return Err(ExploreError::not_deterministic(transaction(), event, recorded, asked));
        }
        let has_begun = turn.has_begun();
        let ServerTurn { stands, refused, waited_in_vain, is_unwanted, access, said, .. } = turn;
        Ok(TakenStep { stands, refused, waited_in_vain, is_unwanted, access, said, has_begun })
    }

    /// The transaction has said so many statements, which are answered, and whether anybody wants a run with these answers. Only who wants to
    /// know when statements are sent needs the first.
    pub(crate) fn has_said(&mut self, statements: usize, is_wanted: bool) {
        if let Some(turn) = &mut self.turn {
            turn.said = statements;
            turn.is_unwanted = !is_wanted;
        }
    }

    /// A statement begins, and all requests are its own until the next one does. `ignores`: an INSERT that leaves what is there as it is.
    ///
    /// Only levels of engines ask for it. Without, every request is a statement by itself: a plain SELECT, a SELECT … FOR UPDATE, or a
    /// write for which nothing was read.
    pub fn statement(&mut self, kind: StatementKind, ignores: bool) {
        if let Some(turn) = &mut self.turn {
            turn.declare(kind, ignores);
        }
    }

    /// What the statement that has begun says, for whoever is shown the run.
    pub fn say(&mut self, text: &Arc<str>) {
        if let Some(turn) = &mut self.turn {
            turn.say(text);
        }
    }

    /// The statement that has begun looks at nothing more in its snapshot once it has asked for its first lock. Saying so saves time, because
    /// fewer orders make a difference; it has to be true.
    pub fn look_once(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.look_once();
        }
    }

    /// What is done about rows that are to be locked and that somebody else has.
    pub(crate) fn locks_with(&mut self, patience: Patience) {
        if let Some(turn) = &mut self.turn {
            turn.patience = patience;
        }
    }

    /// What is sought next is one row by a key that depends on no other row, or not: where conditions pass over it, servers differ in that.
    pub(crate) fn seeks_one(&mut self, is_one: bool) {
        if let Some(turn) = &mut self.turn {
            turn.seeks_one = is_one;
        }
    }

    /// The transaction is about to commit. At a level of an engine the server may refuse that: the code with which it does. Who does not ask
    /// is refused all the same.
    pub fn commit(&mut self) -> Option<&'static str> {
        self.turn.as_mut().and_then(ServerTurn::commit)
    }

    /// A place in the transaction to go back to.
    pub(crate) fn savepoint(&self) -> usize {
        self.turn.as_ref().map_or(self.cursor, ServerTurn::savepoint)
    }

    /// Takes back what was written behind a savepoint. What was read has been read; what a server locked for it is free where its engine says
    /// so.
    pub(crate) fn back_to(&mut self, savepoint: usize) -> Result<(), Interrupt> {
        match &mut self.turn {
            Some(turn) => turn.back_to(savepoint, self.keys),
            None => Err(Interrupt::Failed("ROLLBACK TO a savepoint at a level that is none of an engine".to_owned())),
        }
    }

    /// Whether a server has the answers.
    pub(crate) fn is_on_server(&self) -> bool {
        self.turn.is_some()
    }

    /// Whose server has the answers, if one has.
    pub(crate) fn engine(&self) -> Option<Engine> {
        let number = usize::from(self.turn.as_ref()?.number());
        self.outline.levels[number].of_engine().map(EngineLevel::engine)
    }

    /// Whether a key is free, for an INSERT and whatever else takes a new key: nothing, or the row that is there.
    pub fn check(&mut self, key: &RowKey) -> Result<Option<Row>, Interrupt> {
        let number = self.keys.number(key);
        match &mut self.turn {
            Some(turn) => turn.check(number, self.keys, true, None),
            None => self.read(key, true),
        }
    }

    /// The same of one key among several: whether it decides about a row that is there, and the row to which it leads if it is the entry of an
    /// index.
    pub(crate) fn check_one_of(
        &mut self,
        key: &RowKey,
        decides: bool,
        row: Option<&RowKey>,
    ) -> Result<Option<Row>, Interrupt> {
        let (number, row) = (self.keys.number(key), row.map(|row| self.keys.number(row)));
        match &mut self.turn {
            Some(turn) => turn.check(number, self.keys, decides, row),
            None => self.read(key, true),
        }
    }

    /// The first, plain look of the statement at a row that it has locked since makes no difference.
    pub(crate) fn forget_look(&mut self, key: &RowKey) {
        let number = self.keys.number(key);
        if let Some(turn) = &mut self.turn {
            turn.forget_look(number);
        }
    }

    /// The entry of a unique index as it is committed, where a server waits for who is about to change its row.
    pub(crate) fn standing_entry(&mut self, key: &RowKey) -> Option<Row> {
        let number = self.keys.number(key);
        self.turn.as_mut().and_then(|turn| turn.standing_entry(number, self.keys))
    }

    /// Locks a row that is there for a purpose of its own, such as the check of a foreign key.
    pub fn lock(&mut self, key: &RowKey, kind: StatementKind) -> Result<Option<Row>, Interrupt> {
        self.lock_in(key, kind, None)
    }

    /// The same of an entry of which a server locks the row.
    pub(crate) fn lock_in(
        &mut self,
        key: &RowKey,
        kind: StatementKind,
        row: Option<&RowKey>,
    ) -> Result<Option<Row>, Interrupt> {
        let (number, row) = (self.keys.number(key), row.map(|row| self.keys.number(row)));
        match &mut self.turn {
            Some(turn) => turn.lock(number, self.keys, kind, row),
            None => self.read(key, true),
        }
    }

    /// Locks a row that the statement has found in what it read plainly.
    pub(crate) fn lock_found(&mut self, key: &RowKey, kind: StatementKind) -> Result<Option<Row>, Interrupt> {
        let number = self.keys.number(key);
        match &mut self.turn {
            Some(turn) => turn.lock_found(number, self.keys, kind),
            None => self.read(key, true),
        }
    }

    /// Locks a row that refers to one which is deleted, or whose key changes.
    pub(crate) fn lock_child(&mut self, key: &RowKey, kind: StatementKind) -> Result<Option<Row>, Interrupt> {
        let number = self.keys.number(key);
        match &mut self.turn {
            Some(turn) => turn.lock_child(number, self.keys, kind),
            None => self.read(key, true),
        }
    }

    /// The same after all that is recorded: a run that goes on rather than one that begins again.
    pub(crate) fn after(self, cursor: usize) -> Requests<'a> {
        Requests { cursor, ..self }
    }

    /// Reads the row under a key; nothing if there is none. A locking read sees the latest version, whatever the level.
    pub fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Interrupt> {
        let key = self.keys.number(key);
        if let Some(turn) = &mut self.turn {
            return if locking {
                turn.lock(key, self.keys, StatementKind::ForUpdate, None)
            } else {
                turn.select(key, self.keys)
            };
        }
        self.read_in(key, if locking { Manner::Locking } else { Manner::Plain })?;
        Ok(self.answer(self.cursor - 1))
    }

    /// Reads the row under a key for a statement that seeks rows to lock: it is locked, or passed over.
    pub fn seek(&mut self, key: &RowKey, fits: &mut Fits<'_>) -> Result<Found, Interrupt> {
        let key = self.keys.number(key);
        if let Some(turn) = &mut self.turn {
            return turn.seek(key, self.keys, fits);
        }
        let sought = self.sought(key, fits);
        self.read_in(key, Manner::Sought(sought))?;
        self.look_again(self.cursor - 1, sought)?;
        Ok(self.found(self.cursor - 1))
    }

    fn read_in(&mut self, key: KeyNumber, manner: Manner) -> Result<(), Interrupt> {
        self.go_on()?;
        match self.log().events.get(self.cursor) {
            Some(Event::Read(read)) if read.key == key && read.manner.is_like(manner) && !read.scanned => {}
            Some(Event::Own { key: own, scanned: false }) if *own == key => {}
            Some(_) => return Err(self.differs(&self.told("read", key))),
            None => self.read_new(key, manner, false)?,
        }
        self.cursor += 1;
        Ok(())
    }

    /// Which of the versions that there are now a statement passes over.
    fn sought(&self, key: KeyNumber, fits: &mut Fits<'_>) -> Sought {
        let row_key = self.keys.key(key);
        let mut is_passed = |row: Option<&Row>| row.is_none_or(|row| !fits(row_key, row).is_sought());
        let known = self.history.writers(key);
        let passed = known.iter().filter(|&writer| is_passed(self.history.value(self.keys, key, writer))).collect();
        Sought { known, passed, initial: is_passed(self.keys.initial(key)) }
    }

    /// A read that a swap lets read from somebody of whom it did not know: whether it locks is known only now.
    fn look_again(&mut self, place: usize, now: Sought) -> Result<(), Interrupt> {
        let Event::Read(read) = &self.log().events[place] else { return Ok(()) };
        let (key, scanned, source) = (read.key, read.scanned, read.source);
        let is_open = matches!(read.manner, Manner::Sought(before) if !before.knows(source));
        if !is_open || matches!(self.guide, Guide::List(_)) {
            return Ok(());
        }
        let manner = Manner::Sought(now);
        if let Event::Read(read) = &mut self.history.pending_mut().events[place] {
            read.manner = manner;
        }
        let log = self.log();
        let beginning = Beginning { log, events: &log.events, read: None };
        let mut known = ForcedOrder::clone(&self.history.forced);
        match known.add_beginning(self.history, beginning, self.history.complete, &self.outline.bases) {
            true => Ok(()),
            false => Err(self.stop(Interruption::Branch(Branch { key, manner, scanned, choices: Vec::new() }))),
        }
    }

    /// What a sought read came to.
    fn found(&self, place: usize) -> Found {
        let locks = matches!(&self.log().events[place], Event::Read(read) if read.kind() == ReadKind::Locking);
        match self.answer(place) {
            Some(row) if locks => Found::Locked(row),
            row => Found::Passed(row),
        }
    }

    /// Writes a row under a key; nothing: deletes it.
    pub fn write(&mut self, key: &RowKey, value: Option<Row>) -> Result<(), Interrupt> {
        let key = self.keys.number(key);
        if let Some(turn) = &mut self.turn {
            return turn.write(key, self.keys, value);
        }
        self.go_on()?;
        match self.log().events.get(self.cursor) {
            Some(Event::Write { key: written, value: before }) if *written == key && *before == value => {}
            Some(_) => return Err(self.differs(&self.told("write", key))),
            None => {
                self.make_room(|it| it.told("write", key))?;
                self.history.pending_mut().push_write(key, value);
            }
        }
        self.cursor += 1;
        Ok(())
    }

    /// Reads the rows of a range, in the order that the range asks for: one read per key of the range, there or not.
    ///
    /// A range with a limit is read up to the end of the part of the key where it has enough rows, because what a recorded scan covers
    /// ends with a part; all that was read there is returned. With `locking` every read of it sees the latest version, whatever the level.
    pub fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Scanned, Interrupt> {
        if let Some(turn) = &mut self.turn {
            return if locking { turn.present(range, self.keys) } else { turn.scan(range, self.keys) };
        }
        let start = self.cursor;
        let manner = if locking { Manner::Locking } else { Manner::Plain };
        let end = self.scan_in(range, manner, &mut |_, _| Fit::Yes)?;
        Ok(Scanned { rows: self.rows(range, start), read: whole_part(range, &end) })
    }

    /// Reads the keys of a range for a statement that seeks rows to lock, until as many as the range wants fit.
    pub fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Looked, Interrupt> {
        if let Some(turn) = &mut self.turn {
            return turn.look_over(range, self.keys, fits);
        }
        let start = self.cursor;
        let end = self.scan_in(range, Manner::Sought(Sought::ABSENT), fits)?;
        let found = |place: usize| match &self.log().events[place] {
            Event::Read(read) => Some((self.keys.key(read.key).clone(), self.found(place))),
            _ => None,
        };
        Ok(Looked { found: (start + 1..self.cursor).filter_map(found).collect(), read: whole_part(range, &end) })
    }

    fn scan_in(&mut self, range: &KeyRange, manner: Manner, fits: &mut Fits<'_>) -> Result<ScanEnd, Interrupt> {
        self.go_on()?;
        let start = self.cursor;
        match self.log().events.get(start) {
            Some(Event::Scan { range: before, manner: asked, .. }) if **before == *range && asked.is_like(manner) => {}
            Some(_) => return Err(self.differs("a scan")),
            None => {
                self.make_room(|_| "a scan".to_owned())?;
                self.history.pending_mut().push_scan(Arc::new(range.clone()), manner);
            }
        }
        self.cursor += 1;
        while let Some(key) =
            self.log().events.get(self.cursor).filter(|event| event.is_scanned()).and_then(Event::read_key)
        {
            self.look_again(self.cursor, self.sought(key, fits))?;
            self.cursor += 1;
        }
        if matches!(self.log().events[start], Event::Scan { end: ScanEnd::Open, .. }) {
            let found = self.scan_on(range, manner, start, fits)?;
            if let Event::Scan { end, .. } = &mut self.history.pending_mut().events[start] {
                *end = found;
            }
        }
        match &self.log().events[start] {
            Event::Scan { end, .. } => Ok(end.clone()),
            _ => Ok(ScanEnd::Whole),
        }
    }

    /// Reads what is left of a range.
    fn scan_on(
        &mut self,
        range: &KeyRange,
        manner: Manner,
        start: usize,
        fits: &mut Fits<'_>,
    ) -> Result<ScanEnd, Interrupt> {
        let is_sought = matches!(manner, Manner::Sought(_));
        loop {
            let last = self.log().events[start + 1..self.cursor].last().and_then(Event::read_key);
            let enough = self.enough(range, start, fits);
            let has_enough = enough.is_some();
            let log = self.log();
            let known = |key| self.history.is_known(self.keys, key, log.number) || log.own(key).is_some();
            let next = self.keys.next_in(range, last, known);
            let part_of = |key: KeyNumber| self.keys.key(key).parts.get(range.prefix.len()).cloned();
            match (next, enough) {
                (next, Some(part)) if next.is_none_or(|next| part_of(next) != part) => return Ok(ScanEnd::At(part)),
                (None, _) => return Ok(ScanEnd::Whole),
                (Some(next), _) => {
                    // Behind the rows that it wants the statement locks nothing; what it reads there it reads to the end of a part.
                    let manner = match is_sought {
                        true if has_enough => Manner::Plain,
                        true => Manner::Sought(self.sought(next, fits)),
                        false => manner,
                    };
                    self.read_new(next, manner, true)?;
                }
            }
            self.cursor += 1;
        }
    }

    /// The part of the key where a scan that begins here has enough rows, if it has; of one that seeks, rows that fit.
    fn enough(&self, range: &KeyRange, start: usize, fits: &mut Fits<'_>) -> Option<Option<KeyPart>> {
        let limit = range.limit?;
        let mut found = 0;
        for place in start + 1..self.cursor {
            let counts = match (&self.log().events[place], self.answer(place)) {
                (_, None) => false,
                (Event::Own { key, .. }, Some(row)) => fits(self.keys.key(*key), &row) != Fit::No,
                (Event::Read(read), Some(_)) => read.kind() != ReadKind::Passing,
                _ => true,
            };
            found += usize::from(counts);
            if found == limit {
                let key = self.log().events[place].read_key()?;
                return Some(self.keys.key(key).parts.get(range.prefix.len()).cloned());
            }
        }
        None
    }

    /// The rows that a scan found, as its range asks for them.
    fn rows(&self, range: &KeyRange, start: usize) -> Vec<(RowKey, Row)> {
        let row = |place: usize| {
            let key = self.log().events[place].read_key()?;
            Some((self.keys.key(key).clone(), self.answer(place)?))
        };
        let mut rows: Vec<(RowKey, Row)> = (start + 1..self.cursor).filter_map(row).collect();
        if range.descending && !reads_down(range) {
            rows.reverse();
        }
        rows
    }

    /// A read that is not recorded yet becomes the next event.
    fn read_new(&mut self, key: KeyNumber, manner: Manner, scanned: bool) -> Result<(), Interrupt> {
        self.make_room(|it| it.told("read", key))?;
        if self.log().own(key).is_some() {
            self.history.pending_mut().events.push(Event::Own { key, scanned });
            return Ok(());
        }
        let source = self.source(key, manner, scanned)?;
        let manner = match (manner, &self.guide) {
            // It was prescribed before the version was there to be looked at. Whether it can be read is looked at when nothing is prescribed.
            (Manner::Sought(sought), Guide::List(_)) if !self.is_possible(key, manner, source) => {
                Manner::Sought(Sought { known: sought.known - Set::only(source), ..sought })
            }
            _ => manner,
        };
        self.history.push_read(key, manner, scanned, source);
        Ok(())
    }

    fn is_possible(&self, key: KeyNumber, manner: Manner, source: Number) -> bool {
        self.history.choices(key, manner, &self.outline.bases).contains(&source)
    }

    fn source(&mut self, key: KeyNumber, manner: Manner, scanned: bool) -> Result<Number, Interrupt> {
        let choices = match &mut self.guide {
            Guide::Levels => self.history.choices(key, manner, &self.outline.bases),
            Guide::List(list) => match list.next() {
                None => return Err(self.stop(Interruption::EndOfList)),
                Some(&source) if source == INITIAL || self.history.writers(key).contains(source) => vec![source],
                Some(_) => return Err(self.stop(Interruption::Error(ExploreError::ForeignSubtree))),
            },
            Guide::Nobody { .. } => Vec::new(),
        };
        match choices.as_slice() {
            [only] => Ok(*only),
            _ => Err(self.stop(Interruption::Branch(Branch { key, manner, scanned, choices }))),
        }
    }

    /// The value that an event of this run read.
    fn answer(&self, place: usize) -> Option<Row> {
        let log = self.log();
        match &log.events[place] {
            Event::Read(read) => self.history.value(self.keys, read.key, read.source).cloned(),
            // What it had written when it read, not what it wrote after.
            Event::Own { key, .. } => log.own_before(*key, place).cloned(),
            Event::Write { .. } | Event::Scan { .. } => None,
        }
    }

    fn log(&self) -> &Log {
        self.history.log(*self.history.order.last().expect("a pending transaction"))
    }

    /// Once interrupted, a run gets no more answers.
    fn go_on(&self) -> Result<(), Interrupt> {
        if self.reason.is_some() { Err(Interrupt::Waiting) } else { Ok(()) }
    }

    /// One more event may be recorded.
    fn make_room(&mut self, asked: impl Fn(&Self) -> String) -> Result<(), Interrupt> {
        if matches!(self.guide, Guide::Nobody { .. }) {
            return Err(self.differs(&asked(self)));
        }
        if self.log().events.len() < self.outline.options.most_events {
            return Ok(());
        }
        let transaction = self.outline.transaction_name(self.log().number);
        let limit = self.outline.options.most_events;
        Err(self.stop(Interruption::Error(ExploreError::TooManyEvents { transaction, limit })))
    }

    fn told(&self, what: &str, key: KeyNumber) -> String {
        format!("a {what} of {}", (self.names)(self.keys.key(key)))
    }

    fn stop(&mut self, reason: Interruption) -> Interrupt {
        self.reason.get_or_insert(reason);
        Interrupt::Waiting
    }

    /// Another run of the transaction asked for something else at this place.
    fn differs(&mut self, asked: &str) -> Interrupt {
        let event = self.log().events.get(self.cursor);
        let words = |event: &Event| event.words(|key| (self.names)(self.keys.key(key)));
        let recorded = event.map_or_else(|| "its end".to_owned(), words);
        let transaction = self.outline.transaction_name(self.log().number);
        let error = ExploreError::not_deterministic(transaction, self.cursor, recorded, asked);
        self.stop(Interruption::Error(error))
    }

    /// The transaction came to its end: it must have asked for all that is recorded.
    pub(crate) fn end(&mut self, commits: bool) {
        let other_ending = matches!(self.guide, Guide::Nobody { commits: before } if before != commits);
        if self.reason.is_none() && (self.cursor < self.log().events.len() || other_ending) {
            self.differs("its end");
        }
    }
}

/// As far as a scan read a range whole; nothing if that is no range.
pub(crate) fn whole_part(range: &KeyRange, end: &ScanEnd) -> Option<KeyRange> {
    let whole = KeyRange { limit: None, ..range.clone() };
    match end {
        ScanEnd::Open | ScanEnd::At(None) => None,
        ScanEnd::Whole => Some(whole),
        ScanEnd::At(part) if reads_down(range) => Some(KeyRange { low: part.clone(), ..whole }),
        ScanEnd::At(part) => Some(KeyRange { high: part.clone(), ..whole }),
    }
}
