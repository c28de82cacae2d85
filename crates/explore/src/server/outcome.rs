//! A run on a server that is over: as a history, as the search knows histories, and whether it could have been one after the other.
//!
//! ```text
//!   a: 1 select x from t0 · 2 update x from t0 · x := 1 · commit           ToldTransaction, by transaction
//!   b: 1 select x from t0 · refused with 40001 at statement 2
//!        │                                │
//!        ▼                                ▼
//!   Ordered: in the order of ends       History: with statements, kinds, refusals
//! ```

use super::told::{ToldDeed, ToldEnd, ToldEvent, ToldFate, ToldTransaction};
use crate::explorable::Explorable;
use crate::forced::ForcedOrder;
use crate::keys::{KeyNumber, Keys, reads_down};
use crate::log::{Event, Manner};
use crate::ordered::{Ordered, covers};
use crate::outline::{Outline, claim};
use crate::set::{INITIAL, Number};
use skew_history::builder::{Note, Operation, Refusal};
use skew_history::{Action, Asked, EngineLevel, History, HistoryBuilder, KeyId, Name, StatementKind, Value};
use skew_sql::Row;
use skew_sql::rows::text;
use skew_value::Datum;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A run.
#[derive(Debug)]
pub(crate) struct ServerRun {
    /// By number.
    pub(crate) told: Vec<ToldTransaction>,
    /// In the order in which they ended.
    order: Vec<Number>,
    /// Who took each step.
    pub(crate) steps: Vec<Number>,
    /// Per key that was changed, who changed it, in order.
    versions: Vec<(KeyNumber, Number)>,
    /// Whether its history was met before, with other rows left.
    pub(crate) is_again: bool,
}

impl ServerRun {
    pub(crate) fn new(
        told: Vec<ToldTransaction>,
        order: Vec<Number>,
        steps: Vec<Number>,
        versions: Vec<(KeyNumber, Number)>,
        keys: &Keys,
    ) -> ServerRun {
        let written: BTreeSet<KeyNumber> = versions.iter().map(|version| version.0).collect();
        let told = told.into_iter().map(|told| settled(with_absences(told, &written, keys))).collect();
        ServerRun { told, order, steps, versions, is_again: false }
    }

    /// What tells it from other runs; with what it left, or without.
    pub(crate) fn fingerprint(&self, keys: &Keys, with_rows: bool) -> u128 {
        let half = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            with_rows.hash(&mut hasher);
            for told in &self.told {
                told.events.len().hash(&mut hasher);
                told.events.iter().chain(&told.untold).for_each(|event| hash(event, keys, &mut hasher));
                match told.end {
                    Some(ToldEnd::Refused(statement, code)) => (statement, code).hash(&mut hasher),
                    Some(ToldEnd::Committed) => 1u8.hash(&mut hasher),
                    Some(ToldEnd::RolledBack) | None => 2u8.hash(&mut hasher),
                }
            }
            if with_rows {
                self.last().hash(&mut hasher);
            }
            seed.hash(&mut hasher);
            hasher.finish()
        };
        u128::from(half(0x9e37_79b9_7f4a_7c15)) << 64 | u128::from(half(0xc2b2_ae3d_27d4_eb4f))
    }

    /// Whom each key that was changed has its last version from.
    pub(crate) fn last(&self) -> BTreeMap<KeyNumber, Number> {
        self.versions.iter().copied().collect()
    }

    /// The codes of its refusals.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = (Number, u32, &'static str)> {
        (0..).zip(&self.told).filter_map(|(number, told)| match told.end {
            Some(ToldEnd::Refused(statement, code)) => Some((number, statement, code)),
            _ => None,
        })
    }

    /// The run in one line, as [`crate::Run::pattern`] has it.
    pub(crate) fn pattern(&self, outline: &Outline, name: impl Fn(KeyNumber) -> String) -> String {
        let mut pattern = String::new();
        let mut numbers: Vec<Number> = outline.numbers().collect();
        numbers.sort_by_key(|&number| outline.places[number as usize]);
        for number in numbers {
            let told = &self.told[number as usize];
            let _ = write!(pattern, "{}:", outline.transaction_name(number));
            for event in told.events.iter().chain(&told.untold) {
                let ToldEvent { statement, kind, .. } = event;
                let key = name(event.key);
                let _ = match &event.deed {
                    ToldDeed::Read(source, _) if *source == number => write!(pattern, " {statement}:{kind}({key} own"),
                    ToldDeed::Read(INITIAL, _) => write!(pattern, " {statement}:{kind}({key} from init"),
                    ToldDeed::Read(source, _) => {
                        write!(pattern, " {statement}:{kind}({key} from {}", outline.transaction_name(*source))
                    }
                    ToldDeed::Gone(by) => {
                        write!(pattern, " {statement}:{kind}({key} gone by {}", outline.transaction_name(*by))
                    }
                    ToldDeed::Wrote(None) => write!(pattern, " {statement}:delete({key}"),
                    ToldDeed::Wrote(Some(_)) => write!(pattern, " {statement}:w({key}"),
                };
                pattern.push_str(if event.fate == ToldFate::Stays { "" } else { " untold" });
                pattern.push_str(if event.passed { " passed" } else { "" });
                pattern.push_str(if event.waited { " waited)" } else { ")" });
            }
            match told.end {
                Some(ToldEnd::Committed) => pattern.push_str("; "),
                Some(ToldEnd::Refused(statement, code)) => {
                    let _ = write!(pattern, " {statement}:refused({code}); ");
                }
                Some(ToldEnd::RolledBack) | None => pattern.push_str(" !; "),
            }
        }
        pattern
    }

    /// Whether a read found nothing because its row was deleted and its key inserted anew.
    pub(crate) fn has_gone(&self) -> bool {
        self.told.iter().any(|told| told.events.iter().any(|event| matches!(event.deed, ToldDeed::Gone(_))))
    }

    /// The history as the search knows histories: transactions in the order of their ends, reads from whom they are.
    pub(crate) fn ordered(&self, outline: &Outline, keys: &Keys) -> Ordered {
        let mut history = Ordered::new(outline.count());
        for &number in &self.order {
            history.begin(number, outline.session_past(number));
            let told = &self.told[number as usize];
            for event in &told.events {
                let key = event.key;
                match &event.deed {
                    ToldDeed::Read(source, _) if *source == number => {
                        history.pending_mut().events.push(Event::Own { key, scanned: false });
                    }
                    ToldDeed::Read(source, _) => history.push_read(key, Manner::Plain, false, *source),
                    ToldDeed::Wrote(value) => history.pending_mut().push_write(key, value.clone()),
                    ToldDeed::Gone(_) => {}
                }
            }
            let forced = ForcedOrder::clone(&history.forced);
            history.end(told.end == Some(ToldEnd::Committed), forced, keys);
        }
        history
    }

    /// Whether the transactions at PostgreSQL's serializable that committed could have run one after the other, with the same versions; and
    /// nobody was told of a duplicate who would have been refused instead.
    ///
    /// A check for duplicates that found a row is no read: PostgreSQL takes no notice of it, unless who wrote it had read the key, too.
    pub(crate) fn is_serializable(&self, outline: &Outline) -> bool {
        let is_asked =
            |number: &Number| outline.levels[*number as usize].of_engine() == Some(EngineLevel::PostgresSerializable);
        let counts = |number: &Number| self.told[*number as usize].end == Some(ToldEnd::Committed) && is_asked(number);
        let all: Vec<Number> = outline.numbers().filter(counts).collect();
        let ended_otherwise = outline.numbers().filter(|number| is_asked(number) && !counts(number));
        if ended_otherwise.into_iter().any(|number| self.has_wrong_duplicate(number, &all)) {
            return false;
        }
        let mut order = ForcedOrder::new(outline.count());
        let mut edges: Vec<(Number, Number)> = Vec::new();
        for &number in &all {
            edges.extend(outline.session_past(number).iter().filter(counts).map(|before| (before, number)));
            let told = &self.told[number as usize];
            // What was left out was seen all the same.
            let left_out = told.untold.iter().filter(|event| event.fate == ToldFate::LeftOut);
            edges.extend(told.events.iter().chain(left_out).flat_map(|event| self.edges_of(number, event)));
        }
        let counted = edges.into_iter().filter(|(one, other)| counts(one) && counts(other));
        counted.collect::<Vec<_>>().into_iter().all(|(one, other)| order.insert(one, other))
    }

    /// The reader comes after who wrote what it read, and before all who wrote later; writers come in order.
    fn edges_of(&self, number: Number, event: &ToldEvent) -> Vec<(Number, Number)> {
        let versions: Vec<Number> =
            self.versions.iter().filter(|version| version.0 == event.key).map(|version| version.1).collect();
        let source = match &event.deed {
            ToldDeed::Read(source, row) if *source != number && self.is_noted(number, event, row.is_some()) => *source,
            ToldDeed::Wrote(_) => number,
            _ => return Vec::new(),
        };
        let place = versions.iter().position(|&one| one == source).map_or(0, |place| place + 1);
        let later = versions[place..].iter().filter(|&&other| other != number);
        let before = (source != INITIAL && source != number).then_some((source, number));
        before.into_iter().chain(later.map(|&other| (number, other))).collect()
    }

    /// Whether a transaction ended with a duplicate where PostgreSQL refuses it as not serializable before it looks for duplicates: the other
    /// one had read the key before it took it, and this one has read what somebody changed who committed no later than that other one.
    fn has_wrong_duplicate(&self, number: Number, others: &[Number]) -> bool {
        use StatementKind::Insert;
        let told = &self.told[number as usize];
        let Some(ToldEvent { kind: Insert, deed: ToldDeed::Read(by, Some(_)), .. }) = told.events.last() else {
            return false;
        };
        let last = &told.events[told.events.len() - 1];
        let committed = |one: Number| self.order.iter().position(|&other| other == one);
        let is_early = |one: &Number| committed(*one) <= committed(*by);
        let out = |event: &ToldEvent| -> Vec<Number> {
            let later = self.edges_of(number, event).into_iter().filter(|edge| edge.0 == number).map(|edge| edge.1);
            later.filter(|one| others.contains(one) && is_early(one)).collect()
        };
        told.end == Some(ToldEnd::RolledBack)
            && others.contains(by)
            && self.is_noted(number, last, true)
            && told.events.iter().any(|event| matches!(event.deed, ToldDeed::Read(..)) && !out(event).is_empty())
    }

    /// Whether PostgreSQL takes notice of a read: not of a row that ON CONFLICT has found and left as it is, and of a duplicate only where who
    /// wrote it had read the key, too.
    fn is_noted(&self, number: Number, event: &ToldEvent, is_there: bool) -> bool {
        use StatementKind::{Insert, Upsert};
        let is_check = |kind| matches!(kind, Insert | Upsert);
        let ToldDeed::Read(source, _) = event.deed else { return false };
        let of_writer = |other: &ToldEvent| {
            other.key == event.key && matches!(other.deed, ToldDeed::Read(..)) && !is_check(other.kind)
        };
        let changes_it = |other: &ToldEvent| {
            (other.statement, other.key) == (event.statement, event.key) && matches!(other.deed, ToldDeed::Wrote(_))
        };
        match event.kind {
            Upsert if is_there => self.told[number as usize].events.iter().any(changes_it),
            Insert if is_there => source != INITIAL && self.told[source as usize].events.iter().any(of_writer),
            _ => true,
        }
    }

    /// The history with statements, kinds and refusals.
    pub(crate) fn history<P: Explorable + ?Sized>(
        &self,
        program: &P,
        outline: &Outline,
        keys: &Keys,
    ) -> Result<History, Refusal> {
        let mut telling = ServerTelling { program, outline, keys, builder: HistoryBuilder::new() };
        if let Some(level) = outline.levels[1].of_engine() {
            telling.builder.engine(level.engine().name());
        }
        let met: BTreeSet<KeyNumber> =
            self.told.iter().flat_map(|told| told.events.iter().map(|event| event.key)).collect();
        for &key in &met {
            if let Some(row) = keys.initial(key).cloned() {
                let (id, value) = (telling.key(key), telling.value(key, Some(&row)));
                telling.builder.initial(id, value);
            }
        }
        for number in outline.numbers() {
            telling.transaction(number, &self.told[number as usize])?;
        }
        telling.builder.finish()
    }
}

/// A history as it is written.
struct ServerTelling<'a, P: ?Sized> {
    program: &'a P,
    outline: &'a Outline,
    keys: &'a Keys,
    builder: HistoryBuilder,
}

impl<P: Explorable + ?Sized> ServerTelling<'_, P> {
    fn transaction(&mut self, number: Number, told: &ToldTransaction) -> Result<(), Refusal> {
        let place = self.outline.places[number as usize];
        let session = self.builder.session(self.outline.session_names[place.session].as_str());
        let name = self.outline.has_gaps().then(|| self.outline.transaction_name(number));
        self.builder.begin(session, name.as_deref().map(Name::from))?;
        self.builder.level(self.outline.levels[number as usize]);
        match told.end {
            Some(ToldEnd::Committed) => {}
            Some(ToldEnd::RolledBack) | None => self.builder.outcome(skew_history::Outcome::AbortedByProgram),
            Some(ToldEnd::Refused(statement, code)) => {
                self.builder.outcome(skew_history::Outcome::AbortedByDatabase);
                self.builder.refused(code, statement);
            }
        }
        told.events.iter().try_for_each(|event| self.event(number, event, told.text(event.statement)))
    }

    fn event(&mut self, number: Number, event: &ToldEvent, sql: Option<&str>) -> Result<(), Refusal> {
        let ToldEvent { statement, kind, key, passed, waited, .. } = *event;
        let asked = Asked { statement, kind, passed, waited, found: false };
        let id = self.key(key);
        let outline = self.outline;
        let name = |other: Number| (other != INITIAL).then(|| outline.transaction_name(other));
        let (action, row, from, gone) = match &event.deed {
            ToldDeed::Wrote(row) => (Action::Write, row.as_ref(), None, None),
            ToldDeed::Gone(by) => (Action::Read, None, None, name(*by)),
            ToldDeed::Read(source, row) => {
                (Action::Read, row.as_ref(), (*source != number).then(|| name(*source)), None)
            }
        };
        let value = self.value(key, row);
        let note = sql.map_or(Note::Nothing, |sql| Note::Text("sql", sql));
        let (from, gone) = (from.as_ref().map(claim), gone.as_deref().map(Name::from));
        self.builder.operation(Operation { from, gone, note, asked, ..Operation::new(action, id, value) })
    }

    fn key(&mut self, key: KeyNumber) -> KeyId {
        self.builder.key(self.program.key_name(self.keys.key(key)).as_str())
    }

    fn value(&mut self, key: KeyNumber, row: Option<&Row>) -> Value {
        let Some(row) = row else { return Value::ABSENT };
        let shown = self.program.shown(self.keys.key(key), row);
        let values = self.builder.values();
        match &shown {
            Datum::Integer(number) if i64::try_from(*number).is_ok() => values.integer(*number),
            Datum::Boolean(truth) => values.boolean(*truth),
            Datum::Text(text) => values.text(text),
            datum => values.text(&text(datum)),
        }
    }
}

/// Adds to scans the absence of keys that others wrote in this run, and puts the reads of a scan into the order of their keys.
fn with_absences(told: ToldTransaction, written: &BTreeSet<KeyNumber>, keys: &Keys) -> ToldTransaction {
    if told.scans.is_empty() {
        return told;
    }
    let mut events = Vec::with_capacity(told.events.len());
    for place in 0..=told.events.len() {
        for (number, scan) in told.scans.iter().enumerate().filter(|(_, scan)| scan.place == place) {
            let mut reads: Vec<ToldEvent> =
                told.events.iter().filter(|event| event.scan == Some(number)).cloned().collect();
            let own = |key: KeyNumber| {
                let is_there = |fate| !matches!(fate, ToldFate::TakenBack(by) if by < scan.statement);
                let is_change = |event: &ToldEvent| matches!(event.deed, ToldDeed::Wrote(_)) && is_there(event.fate);
                told.events[..place].iter().any(|event| event.key == key && is_change(event))
            };
            for &key in written.iter().filter(|&&key| covers(&scan.range, &scan.end, keys.key(key)) && !own(key)) {
                if !reads.iter().any(|read| read.key == key) {
                    let (statement, kind, fate) = (scan.statement, scan.kind, scan.fate);
                    let deed = ToldDeed::Read(INITIAL, None);
                    let scan = Some(number);
                    reads.push(ToldEvent { statement, kind, key, deed, passed: false, waited: false, scan, fate });
                }
            }
            reads.sort_by(|one, other| keys.key(one.key).cmp(keys.key(other.key)));
            if reads_down(&scan.range) && scan.kind != StatementKind::Select {
                // Each is looked at when its turn comes.
                reads.reverse();
            }
            events.extend(reads);
        }
        events.extend(told.events.get(place).filter(|event| event.scan.is_none()).cloned());
    }
    ToldTransaction { events, ..told }
}

/// What is left when parts were taken back: locks that were let go are no locks, and what was looked at later than the rest of its statement
/// stands in a statement of its own.
fn settled(told: ToldTransaction) -> ToldTransaction {
    if told.events.iter().all(|event| event.fate == ToldFate::Stays) {
        return told;
    }
    let (mut events, mut untold, mut texts, mut end) = (Vec::new(), Vec::new(), Vec::new(), told.end);
    for (statement, text) in (1..).zip(&told.texts) {
        texts.push(text.clone());
        let number = texts.len() as u32;
        if let Some(ToldEnd::Refused(refused, code)) = told.end
            && refused >= statement
        {
            end = Some(ToldEnd::Refused(number + refused - statement, code));
        }
        let of = told.events.iter().filter(|event| event.statement == statement);
        for event in of.clone() {
            match event.fate {
                ToldFate::Stays => events.push(ToldEvent { statement: number, ..event.clone() }),
                ToldFate::Seen => events.push(event.as_plain_read(number)),
                ToldFate::OldView(by) if !told.looks_plainly_after(by) => events.push(event.as_plain_read(number)),
                ToldFate::OldView(_) | ToldFate::Untold | ToldFate::LeftOut => untold.push(event.clone()),
                ToldFate::Freed | ToldFate::TakenBack(_) => {}
            }
        }
        for event in of.filter(|event| event.fate == ToldFate::Freed) {
            texts.push(text.clone());
            events.push(event.as_plain_read(texts.len() as u32));
        }
    }
    ToldTransaction { events, untold, texts, end, ..told }
}

fn hash(event: &ToldEvent, keys: &Keys, hasher: &mut DefaultHasher) {
    let ToldEvent { statement, kind, key, passed, waited, .. } = *event;
    (statement, kind, passed, waited).hash(hasher);
    // Numbers of keys depend on the order of the search.
    keys.key(key).hash(hasher);
    match &event.deed {
        ToldDeed::Read(source, _) => (0u8, *source).hash(hasher),
        ToldDeed::Gone(by) => (1u8, *by).hash(hasher),
        ToldDeed::Wrote(row) => (2u8, row.is_some()).hash(hasher),
    }
}
