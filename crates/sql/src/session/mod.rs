//! A session: parse, prepare, execute.
//!
//! ```text
//!   parse("SELECT price FROM item WHERE id = $1")  ── Statement
//!   prepare(&statement, &[])                       ── Prepared: parameters [integer], columns [price integer]; nothing was read
//!   execute(&prepared, &[7], &mut storage)         ── Answer::Rows; read item/7
//! ```
//!
//! A session knows a dialect and a catalog. Transactions, savepoints, locks and settings belong to whoever calls it: such statements
//! are answered as [`Answer::Transaction`] or [`Answer::Set`] and change nothing here. A statement that changes the schema puts a
//! new catalog into the session; the caller publishes [`Session::catalog`] at commit, or puts the old one back.

mod action;
mod copy;
mod named;

pub use crate::answer::{Answer, Changed, Control, DeclaredLevel, Modes, ResultColumn, Rows};

use crate::bind::Binder;
use crate::catalog::Catalog;
use crate::change;
use crate::define;
use crate::execute::Execution;
use crate::stop::Stop;
use crate::storage::{Patience, SequenceId, Storage};
use crate::syntax::{self, Purpose, Statement};
use crate::table_lock::TableLock;
use crate::touched::{self, Touches};
use crate::tree::change::{Change, ChildCheck};
use crate::virtual_tables::registered;
use action::Action;
use named::Named;
use skew_value::function::{Environment, SetByFunction};
use skew_value::{Datum, Dialect, SqlError, SqlState, SqlType, Style, Zone, output};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// A session over a catalog.
#[derive(Clone, Debug)]
pub struct Session {
    dialect: Dialect,
    catalog: Arc<Catalog>,
    user: String,
    database: String,
    connection: i32,
    /// Shared with the environment of every statement, and copied only when one changes them.
    settings: Arc<BTreeMap<String, String>>,
    /// What `set_config` set.
    set_by_functions: Vec<SetByFunction>,
    user_variables: BTreeMap<String, (Datum, SqlType)>,
    last_sequence: Option<SequenceId>,
    deferred: Vec<ChildCheck>,
    /// PREPARE.
    statements: BTreeMap<String, Prepared>,
    /// DECLARE … CURSOR.
    cursors: BTreeMap<String, named::Cursor>,
    /// Whether changes count all rows that qualified.
    counts_found: bool,
}

/// Names and types that a program gives to the statements it runs.
pub(crate) type Variables = [(String, SqlType)];

/// A statement that is bound: its parameters and columns are known.
#[derive(Clone, Debug)]
pub struct Prepared {
    statement: Statement,
    given_types: Vec<SqlType>,
    parameter_types: Vec<SqlType>,
    variables: Vec<(String, SqlType)>,
    /// Where they stand in the text, as line and column.
    variable_places: Vec<((u64, u64), usize)>,
    columns: Option<Arc<[ResultColumn]>>,
    warnings: Vec<String>,
    table_locks: Arc<[TableLock]>,
    /// Nobody was told of its columns yet.
    is_untold: bool,
    catalog_version: u64,
    action: Arc<Action>,
    /// The rows that a client sent for a COPY.
    copied: Option<copy::Copied>,
}

impl Prepared {
    /// The statement.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The variable of a program that stands at a place of the text, line and column, and its type.
    pub fn variable_at(&self, place: (u64, u64)) -> Option<(usize, &SqlType)> {
        let (_, index) = self.variable_places.iter().find(|(known, _)| *known == place)?;
        Some((*index, &self.variables.get(*index)?.1))
    }

    /// The types of its parameters.
    pub fn parameter_types(&self) -> &[SqlType] {
        &self.parameter_types
    }

    /// The columns of its rows, if it answers rows.
    pub fn columns(&self) -> Option<&Arc<[ResultColumn]>> {
        self.columns.as_ref()
    }

    /// Whether it reads or writes, so that it needs a transaction; BEGIN, SET and SHOW do not.
    pub fn uses_storage(&self) -> bool {
        !matches!(&*self.action, Action::Control(_) | Action::Set(..) | Action::Show(_) | Action::Nothing(_))
    }

    /// Whether it changes the schema.
    pub fn defines(&self) -> bool {
        matches!(&*self.action, Action::Define)
    }

    /// The same for who runs it once: what it waits for may change its columns, of which nobody was told.
    pub fn once(self) -> Prepared {
        Prepared { is_untold: true, ..self }
    }

    /// The tables that it locks before it looks at rows, in this order.
    pub fn table_locks(&self) -> &[TableLock] {
        match &*self.action {
            Action::Named(Named::Execute(prepared, _)) => prepared.table_locks(),
            _ => &self.table_locks,
        }
    }

    /// What it is for: EXECUTE is for what was prepared.
    pub fn purpose(&self) -> Purpose {
        match &*self.action {
            Action::Named(Named::Execute(prepared, _)) => prepared.purpose(),
            _ => self.statement.purpose(),
        }
    }

    /// Whether it is LOCK TABLE.
    pub fn only_locks(&self) -> bool {
        matches!(&*self.action, Action::LockTables { .. })
    }

    /// What it would touch, told without running it.
    pub fn touches(&self) -> Touches {
        match &*self.action {
            Action::Query(plan, _) => touched::of_query(plan),
            Action::Change(definitions, change) => touched::of_change(definitions, change),
            _ if self.uses_storage() => {
                let words: Vec<&str> = self.statement.text().split_whitespace().take(2).collect();
                Touches { unsupported: vec![words.join(" ")], ..Touches::default() }
            }
            _ => Touches::default(),
        }
    }

    /// What the author may not have meant: a variable that hides a column.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Session {
    /// A session that speaks a dialect and sees a catalog.
    pub fn new(dialect: Dialect, catalog: Arc<Catalog>) -> Session {
        Session {
            dialect,
            catalog,
            user: "skew".to_owned(),
            database: "skew".to_owned(),
            connection: 0,
            settings: Arc::default(),
            set_by_functions: Vec::new(),
            user_variables: BTreeMap::new(),
            last_sequence: None,
            deferred: Vec::new(),
            statements: BTreeMap::new(),
            cursors: BTreeMap::new(),
            counts_found: false,
        }
    }

    /// Counts every row that qualified, changed or not, as PostgreSQL does whatever the dialect.
    pub fn count_found(&mut self) {
        self.counts_found = true;
    }

    /// Who is connected to what, for functions that tell it.
    pub fn set_identity(&mut self, user: impl Into<String>, database: impl Into<String>, connection: i32) {
        self.user = user.into();
        self.database = database.into();
        self.connection = connection;
    }

    /// Who is connected.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// To which database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The settings that functions see.
    pub fn settings(&self) -> &Arc<BTreeMap<String, String>> {
        &self.settings
    }

    /// The same, to be set.
    pub fn settings_mut(&mut self) -> &mut BTreeMap<String, String> {
        Arc::make_mut(&mut self.settings)
    }

    /// Other settings: as they were.
    pub fn set_settings(&mut self, settings: Arc<BTreeMap<String, String>>) {
        self.settings = settings;
    }

    /// The time zone that is set. MySQL's stays UTC, and what no zone is was refused by whoever keeps the settings.
    fn zone(&self) -> Zone {
        match self.settings.get("timezone").map(String::as_str) {
            None | Some("UTC") => Zone::Utc,
            Some(_) if self.dialect == Dialect::MySql => Zone::Utc,
            Some(name) => Zone::of_setting(name).map_or(Zone::Utc, |(zone, _)| zone),
        }
    }

    /// How clients read and write values.
    pub fn style(&self) -> Style {
        Style { dialect: self.dialect, zone: self.zone() }
    }

    /// What `set_config` set since the last time somebody asked, in its order. The settings have it already; whoever checks them, or
    /// does more than keep them, puts the old ones back and sets these himself.
    pub fn take_set_by_functions(&mut self) -> Vec<SetByFunction> {
        std::mem::take(&mut self.set_by_functions)
    }

    /// The dialect.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The catalog as this session's transaction sees it.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Another catalog: after a commit of others, or after a rollback.
    pub fn set_catalog(&mut self, catalog: Arc<Catalog>) {
        self.catalog = catalog;
    }

    /// The statements of a text.
    pub fn parse(&self, text: &str) -> Result<Vec<Statement>, SqlError> {
        syntax::parse(self.dialect, text)
    }

    /// Binds a statement. Parameters whose type is not given (or [`SqlType::Unknown`]) get the type that their place asks for.
    pub fn prepare(&self, statement: &Statement, parameter_types: &[SqlType]) -> Result<Prepared, SqlError> {
        self.prepare_in(statement, parameter_types, &[])
    }

    /// Binds a statement of a program, whose variables hide columns of the same name; [`Prepared::warnings`] tells which.
    pub fn prepare_in(
        &self,
        statement: &Statement,
        parameter_types: &[SqlType],
        variables: &Variables,
    ) -> Result<Prepared, SqlError> {
        let mut binder = Binder::new(self.dialect, &self.catalog, parameter_types)
            .with_variables(variables)
            .with_user_variables(&self.user_variables)
            .with_placeholders(statement.placeholders())
            .with_zone(self.zone())
            .with_length(statement.text().len());
        let action = match self.bind_named(statement, &mut binder)? {
            Some(named) => Action::Named(named),
            None => action::with_scope(action::bind(&statement.ast, &mut binder)?, statement.text(), self.dialect)?,
        };
        let variable_places = binder.take_variable_places();
        let table_locks = binder.take_table_locks().into();
        let (parameter_types_found, warnings) = binder.finish();
        Ok(Prepared {
            statement: statement.clone(),
            given_types: parameter_types.to_vec(),
            parameter_types: parameter_types_found,
            variables: variables.to_vec(),
            variable_places,
            columns: match &action {
                Action::Named(named) => named.columns(),
                other => other.columns().map(Arc::from),
            },
            warnings,
            table_locks,
            is_untold: false,
            catalog_version: self.catalog.version,
            action: Arc::new(action),
            copied: None,
        })
    }

    /// Runs a statement.
    pub fn execute(
        &mut self,
        prepared: &Prepared,
        parameters: &[Datum],
        storage: &mut dyn Storage,
    ) -> Result<Answer, Stop> {
        self.execute_in(prepared, parameters, &[], storage)
    }

    /// Runs a statement of a program with the values of its variables, in the order they were prepared with.
    pub fn execute_in(
        &mut self,
        prepared: &Prepared,
        parameters: &[Datum],
        variables: &[Datum],
        storage: &mut dyn Storage,
    ) -> Result<Answer, Stop> {
        if prepared.catalog_version != self.catalog.version {
            // The schema changed: names may mean something else now.
            let mut again = self.prepare_in(&prepared.statement, &prepared.given_types, &prepared.variables)?;
            again.copied.clone_from(&prepared.copied);
            return match again.columns == prepared.columns || prepared.columns.is_none() || prepared.is_untold {
                true => self.run(&again, parameters, variables, storage),
                false => Err(action::changed_result().into()),
            };
        }
        self.run(prepared, parameters, variables, storage)
    }

    fn run(
        &mut self,
        prepared: &Prepared,
        parameters: &[Datum],
        variables: &[Datum],
        storage: &mut dyn Storage,
    ) -> Result<Answer, Stop> {
        if parameters.len() != prepared.parameter_types.len() {
            let message = format!(
                "the statement has {} parameters, but {} values were given",
                prepared.parameter_types.len(),
                parameters.len()
            );
            return Err(SqlError::new(SqlState("08P01"), message).into());
        }
        match &*prepared.action {
            Action::Query(..)
            | Action::Change(..)
            | Action::SetVariables(_)
            | Action::CopyIn(..)
            | Action::CopyOut(..) => self.run_rows(prepared, parameters, variables, storage),
            Action::Define => self.define(&prepared.statement, storage),
            Action::Explain(lines) => {
                let rows = lines.iter().map(|line| vec![Datum::text(line.as_str())]).collect();
                Ok(Answer::Rows(Rows { columns: columns_of(prepared), rows }))
            }
            Action::Named(named) => self.run_named(named, parameters, storage),
            Action::Control(control) => {
                self.end_cursors(control);
                Ok(Answer::Transaction(control.clone()))
            }
            Action::LockTables { nowait } => {
                let patience = if *nowait { Patience::Refuse } else { Patience::Wait };
                storage.lock_tables(&prepared.table_locks, patience)?;
                Ok(Answer::Done("LOCK TABLE".to_owned()))
            }
            Action::CheckDeferred => {
                self.check_deferred(storage)?;
                Ok(Answer::Done("SET CONSTRAINTS".to_owned()))
            }
            Action::Set(settings, local) => Ok(match settings.as_slice() {
                [(name, value)] => Answer::Set { name: name.clone(), value: value.clone(), local: *local },
                several => Answer::SetSeveral(several.to_vec()),
            }),
            Action::Show(name) => Ok(Answer::Show(name.clone())),
            Action::Nothing(words) => Ok(Answer::Done(words.clone())),
        }
    }

    fn run_rows(
        &mut self,
        prepared: &Prepared,
        parameters: &[Datum],
        variables: &[Datum],
        storage: &mut dyn Storage,
    ) -> Result<Answer, Stop> {
        let mut environment = self.environment(storage);
        environment.changes = matches!(&*prepared.action, Action::Change(..) | Action::CopyIn(..));
        let environment = Rc::new(environment);
        let mut execution = Execution::new(self.catalog.clone(), environment.clone(), storage, change::carry_out)
            .with_values(parameters, variables)
            .with_user_variables(&self.user_variables);
        execution.last_sequence = self.last_sequence;
        let mut assigned = Vec::new();
        let answer = match &*prepared.action {
            Action::Query(plan, _) => {
                let rows = execution.run(plan)?;
                Answer::Rows(Rows { columns: columns_of(prepared), rows })
            }
            Action::Change(definitions, change) => {
                execution.define(definitions, None)?;
                let outcome = change::carry_out(change, &mut execution)?;
                execution.deferred.extend(outcome.deferred);
                let returning =
                    change.returning().map(|_| Rows { columns: columns_of(prepared), rows: outcome.returned });
                Answer::Changed(Changed {
                    command: change.command(),
                    count: if self.counts_found { outcome.found } else { outcome.count },
                    found: outcome.found,
                    returning,
                    insert_id: outcome.insert_id,
                })
            }
            Action::CopyOut(copy, plan) => {
                let rows = execution.run(plan)?;
                Answer::Rows(Rows { columns: Arc::clone(&copy.columns), rows })
            }
            Action::CopyIn(_, insert) => {
                let Some(copied) = &prepared.copied else {
                    return Err(SqlError::unsupported("COPY … FROM STDIN where no client sends rows").into());
                };
                let change = Change::Insert(Box::new(copy::with_rows(insert, copied)));
                let outcome = change::carry_out(&change, &mut execution)?;
                execution.deferred.extend(outcome.deferred);
                let (count, found) = (outcome.count, outcome.found);
                Answer::Changed(Changed { command: "COPY", count, found, ..Changed::default() })
            }
            Action::SetVariables(variables) => {
                for (name, value) in variables {
                    let sql_type = value.sql_type.clone();
                    assigned.push((name.clone(), (execution.evaluate_over(value, &[])?, sql_type)));
                }
                Answer::Done("SET".to_owned())
            }
            _ => return Err(SqlError::new(SqlState::INTERNAL, "a statement without rows").into()),
        };
        let (deferred, last) = (std::mem::take(&mut execution.deferred), execution.last_sequence);
        drop(execution);
        self.deferred.extend(deferred);
        self.last_sequence = last;
        self.user_variables.extend(assigned);
        self.keep_settings(&environment);
        Ok(answer)
    }

    /// What functions have set.
    fn keep_settings(&mut self, environment: &Environment) {
        self.settings = environment.settings.take();
        self.set_by_functions.extend(environment.set.take());
    }

    fn environment(&self, storage: &mut dyn Storage) -> Environment {
        let mut environment = Environment::new(self.dialect, storage.now(), storage.random()).with_zone(self.zone());
        environment.user.clone_from(&self.user);
        environment.database.clone_from(&self.database);
        environment.connection = self.connection;
        environment.cursors = self.listed_cursors();
        *environment.settings.get_mut() = Arc::clone(&self.settings);
        environment
    }

    /// The text of a value as clients see it. Numbers of things (`regclass`) are told by name, which needs the catalog; all other types
    /// could be asked of [`skew_value::output`].
    pub fn text_of(&self, datum: &Datum, sql_type: &SqlType) -> String {
        if let (SqlType::Registered(registry), Datum::Integer(_)) = (sql_type, datum) {
            let mut environment = Environment::new(self.dialect, 0, 0);
            environment.user.clone_from(&self.user);
            let named = registered::writer(*registry).call(std::slice::from_ref(datum), &self.catalog, &environment);
            return named.map_or_else(
                |_| output(datum, sql_type, self.dialect),
                |text| output(&text, &SqlType::TEXT, self.dialect),
            );
        }
        match datum {
            Datum::TimestampZoned(_) | Datum::Array(_) => output(datum, sql_type, self.style()),
            _ => output(datum, sql_type, self.dialect),
        }
    }

    fn define(&mut self, statement: &Statement, storage: &mut dyn Storage) -> Result<Answer, Stop> {
        match define::define(&statement.ast, &self.catalog, self.style(), storage)? {
            Some((catalog, words)) => {
                self.catalog = Arc::new(catalog);
                Ok(Answer::Defined(words))
            }
            None => Err(SqlError::unsupported("this statement").into()),
        }
    }

    /// Looks at the foreign keys that wait for the commit; the caller asks before it commits. An error means that it must not.
    pub fn check_deferred(&mut self, storage: &mut dyn Storage) -> Result<(), Stop> {
        if self.deferred.is_empty() {
            return Ok(());
        }
        let mut execution = Execution::of_definition(self.catalog.clone(), self.style(), storage, change::carry_out);
        change::check_deferred(&self.deferred, &self.catalog, &mut execution)?;
        self.deferred.clear();
        Ok(())
    }

    /// Whether foreign keys wait for the commit.
    pub fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// The transaction was rolled back: nothing waits any more.
    pub fn forget_deferred(&mut self) {
        self.deferred.clear();
    }
}

fn columns_of(prepared: &Prepared) -> Arc<[ResultColumn]> {
    prepared.columns.clone().unwrap_or_default()
}
