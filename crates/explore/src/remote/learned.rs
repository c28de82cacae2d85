//! What is known of a program that runs as a whole, from the runs so far.
//!
//! Sessions and transactions have their numbers in the order in which they were first met; the numbers stay, so that histories which
//! wait mean the same after every run. To [`Run`](crate::Run) it is a program like any other, only that no transaction of it can be run alone.

use super::habits::Habits;
use crate::error::ExploreError;
use crate::explorable::{Explorable, TransactionEnd};
use crate::keys::{KeyNumber, Keys};
use crate::outline::{Options, Outline, Place};
use crate::requests::{Interrupt, Requests};
use crate::set::Number;
use skew_history::IsolationLevel;
use skew_sql::rows::{Layout, SpaceShape};
use skew_sql::{Row, RowKey, SpaceId};
use skew_value::Datum;
use std::collections::BTreeMap;

/// What is known of a program.
#[derive(Clone, Debug)]
pub struct Learned {
    pub(crate) outline: Outline,
    pub(crate) keys: Keys,
    names: BTreeMap<RowKey, String>,
    /// What rows are for whoever reads histories; their keys' names are told.
    layout: Layout,
    pub(super) habits: Habits,
    /// Whether a run has said what there was before everything.
    has_initial: bool,
}

impl Learned {
    pub(crate) fn new(options: Options) -> Learned {
        Learned {
            outline: Outline::unknown(options),
            keys: Keys::default(),
            names: BTreeMap::new(),
            layout: Layout::default(),
            habits: Habits::default(),
            has_initial: false,
        }
    }

    pub(crate) fn options(&self) -> Options {
        self.outline.options
    }

    /// Whether no transaction was met.
    pub(crate) fn is_empty(&self) -> bool {
        self.outline.count() == 0
    }

    /// The transaction of a session with so many before it, new or not.
    pub(crate) fn transaction(
        &mut self,
        session: &str,
        before: usize,
        level: Option<IsolationLevel>,
    ) -> Result<Number, ExploreError> {
        let level = level.unwrap_or(self.outline.options.level);
        let known = self.outline.session_names.iter().position(|name| name == session);
        let number = known.and_then(|session| self.outline.number(Place { session, number: before }));
        let Some(number) = number else { return self.outline.add(session, level) };
        if self.outline.levels[number as usize] != level {
            let transaction = self.outline.transaction_name(number);
            let before = self.outline.levels[number as usize];
            let message = format!("it is at {level} in this run and was at {before} in another; one level for each");
            return Err(ExploreError::Failed { transaction, message });
        }
        Ok(number)
    }

    /// The rows that are there before everything; every run has to begin with the same.
    pub(crate) fn begin_with(&mut self, rows: Vec<(RowKey, String, Row)>) -> Result<(), ExploreError> {
        if !self.has_initial {
            self.has_initial = true;
            self.names.extend(rows.iter().map(|(key, name, _)| (key.clone(), name.clone())));
            self.keys = Keys::new(rows.into_iter().map(|(key, _, row)| (key, row)).collect());
            return Ok(());
        }
        let rows: BTreeMap<RowKey, (String, Row)> =
            rows.into_iter().map(|(key, name, row)| (key, (name, row))).collect();
        let told = rows.iter().map(|(key, (_, row))| (key, row));
        if told.clone().eq(self.keys.all_initial()) {
            return Ok(());
        }
        let known: BTreeMap<&RowKey, &Row> = self.keys.all_initial().collect();
        let other = |(key, row): &(&RowKey, &Row)| known.get(*key) != Some(row);
        let key = match told.clone().find(other) {
            Some((key, _)) => rows[key].0.clone(),
            None => known.keys().find(|key| !rows.contains_key(**key)).map_or(String::new(), |key| self.key_name(key)),
        };
        Err(ExploreError::OtherInitial { key })
    }

    /// What the rows of a space are for whoever reads histories. Columns may be added, not changed.
    pub(crate) fn describe(&mut self, space: SpaceId, columns: Vec<(String, bool)>) {
        self.layout.describe(space, SpaceShape { name: String::new(), columns, index: false });
    }

    /// The number of a key, whose name is this.
    pub(crate) fn key(&mut self, key: &RowKey, name: impl FnOnce() -> String) -> KeyNumber {
        if !self.names.contains_key(key) {
            self.names.insert(key.clone(), name());
        }
        self.keys.number(key)
    }
}

impl Explorable for Learned {
    type Left = ();

    fn session_count(&self) -> usize {
        self.outline.session_names.len()
    }

    fn session_name(&self, session: usize) -> String {
        self.outline.session_names[session].clone()
    }

    fn transaction_count(&self, session: usize) -> usize {
        self.outline.places[1..].iter().filter(|place| place.session == session).count()
    }

    fn level(&self, place: Place) -> Option<IsolationLevel> {
        self.outline.number(place).map(|number| self.outline.levels[number as usize])
    }

    fn initial(&self) -> Vec<(RowKey, Row)> {
        self.keys.all_initial().map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    fn run(&self, _: Place, _: Option<&()>, _: &mut Requests<'_>) -> Result<TransactionEnd<()>, Interrupt> {
        Err(Interrupt::Failed("this program runs only as a whole".to_owned()))
    }

    fn key_name(&self, key: &RowKey) -> String {
        match self.names.get(key) {
            Some(name) => name.clone(),
            // Only the beginning of names is asked for in this way, to tell what a scan covers.
            None => self.unmet_name(key),
        }
    }

    fn shown(&self, key: &RowKey, row: &Row) -> Datum {
        self.layout.shown(key, row)
    }
}

impl Learned {
    /// The name of a key that was not met: as that of one that was, with other last parts.
    fn unmet_name(&self, key: &RowKey) -> String {
        let last = key.parts.last().map(ToString::to_string).unwrap_or_default();
        let start = key.parts.len().saturating_sub(1);
        let alike = self.names.iter().find_map(|(met, name)| {
            let alike = met.space == key.space && met.parts.get(..start) == Some(&key.parts[..start]);
            let tail: Vec<String> = met.parts.get(start..)?.iter().map(ToString::to_string).collect();
            if alike { name.strip_suffix(&tail.join("/")) } else { None }
        });
        format!("{}{last}", alike.unwrap_or("?"))
    }
}
