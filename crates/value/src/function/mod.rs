//! Operators, functions and aggregates: from a name and the types of its arguments to something that can be called.
//!
//! ```text
//!   binder                                      executor
//!   operator("+", [integer, numeric])
//!     └─> Routine { parameters: [numeric, numeric], result: numeric }
//!   casts the arguments to `parameters`   ───>  routine.call([2, 1.5], environment) = 3.5
//! ```
//!
//! Everything is a row of a table: a name, the types it takes, the type it gives, a Rust function. `resolve` chooses the row by
//! PostgreSQL's rules. What needs the catalog or the storage (`nextval`, `to_regclass`, …) is resolved by the binder before it
//! asks here; so are forms that do not evaluate all their arguments (COALESCE, CASE, AND).

mod aggregates;
mod arguments;
mod arithmetic;
mod arrays;
mod comparison;
mod documents;
mod formats;
mod moments;
mod numbers;
mod pattern;
mod regular;
mod resolve;
mod session;
mod signature;
mod strings;
mod tables;
mod transcendental;
mod zones;

use crate::Dialect;
use crate::SqlType;
use crate::{Datum, Style, Zone};
use crate::{SqlError, SqlState};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a call may know besides its arguments. One per statement; the seed comes from the storage, so that runs repeat.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Which SQL is spoken.
    pub dialect: Dialect,
    /// When the transaction began, in microseconds since 1970: what `now()` gives.
    pub transaction_time: i64,
    /// The present for `clock_timestamp()`.
    pub(crate) clock_time: i64,
    /// The cursors of the session: name, statement, whether it is held.
    pub cursors: Vec<(String, String, bool)>,
    /// The name of the user.
    pub user: String,
    /// The name of the database.
    pub database: String,
    /// The number of the connection.
    pub connection: i32,
    /// Whether the statement changes rows: then MySQL, in its default modes, refuses what it forgives a query.
    pub changes: bool,
    /// The settings of the session, which `set_config` changes: whoever made the environment takes them back.
    pub settings: RefCell<Arc<BTreeMap<String, String>>>,
    /// What `set_config` set, in its order.
    pub set: RefCell<Vec<SetByFunction>>,
    /// The time zone of the session.
    zone: Cell<Zone>,
    random: Cell<u64>,
}

impl Environment {
    /// An environment at a time, with a seed.
    pub fn new(dialect: Dialect, now: i64, seed: u64) -> Environment {
        Environment {
            dialect,
            transaction_time: now,
            clock_time: now,
            random: Cell::new(seed),
            ..Environment::default()
        }
    }

    /// The same in a time zone.
    pub fn with_zone(self, zone: Zone) -> Environment {
        self.zone.set(zone);
        self
    }

    /// From here on the statement is in the zone that a setting names, which is kept under the name that is answered.
    fn set_zone(&self, value: &str) -> Result<String, SqlError> {
        let (zone, shown) = Zone::of_setting(value).ok_or_else(|| unknown_zone(value))?;
        self.zone.set(zone);
        Ok(shown)
    }

    /// The time zone of the session.
    pub fn zone(&self) -> Zone {
        self.zone.get()
    }

    /// How values are read and printed.
    pub fn style(&self) -> Style {
        Style { dialect: self.dialect, zone: self.zone() }
    }

    /// The next random number: SplitMix64, which is good enough for `random()` and repeats for a seed.
    pub(crate) fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// No zone is called so.
pub fn unknown_zone(value: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER, format!("invalid value for parameter \"TimeZone\": \"{value}\""))
        .with_hint("a zone is a name like Europe/Berlin, or hours east of UTC")
}

/// A setting that `set_config` set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetByFunction {
    /// Its name, in lower case.
    pub name: String,
    /// What it was set to.
    pub value: String,
    /// Whether only for the transaction.
    pub local: bool,
}

/// A call on its way: the routine that was chosen, and the environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invocation<'call> {
    /// The types of the arguments.
    pub(crate) parameters: &'call [SqlType],
    /// The type of the result.
    pub(crate) result: &'call SqlType,
    /// What else may be known.
    pub(crate) environment: &'call Environment,
}

/// What a routine does.
pub(crate) type Implementation = fn(&[Datum], Invocation<'_>) -> Result<Datum, SqlError>;

/// An operator or function for arguments of certain types.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Its name, for messages.
    pub name: &'static str,
    /// What the arguments are cast to before the call, implicitly.
    pub parameters: Vec<SqlType>,
    /// What it gives.
    pub result: SqlType,
    /// Whether NULL among the arguments gives NULL; [`Routine::call`] sees to it.
    pub(crate) strict: bool,
    /// Whether two calls with equal arguments may differ in one statement.
    pub volatile: bool,
    implementation: Implementation,
}

impl Routine {
    /// Calls it with arguments of the types of its parameters.
    pub fn call(&self, arguments: &[Datum], environment: &Environment) -> Result<Datum, SqlError> {
        if self.strict && arguments.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let invocation = Invocation { parameters: &self.parameters, result: &self.result, environment };
        (self.implementation)(arguments, invocation)
    }
}

/// The tables of operators.
fn operator_tables() -> &'static [&'static [signature::SignatureRow]] {
    &[
        comparison::OPERATORS,
        arithmetic::OPERATORS,
        strings::OPERATORS,
        pattern::OPERATORS,
        moments::OPERATORS,
        documents::OPERATORS,
        arrays::OPERATORS,
    ]
}

/// The tables of functions.
fn scalar_tables() -> &'static [&'static [signature::SignatureRow]] {
    &[
        numbers::FUNCTIONS,
        arithmetic::FUNCTIONS,
        strings::FUNCTIONS,
        pattern::FUNCTIONS,
        moments::FUNCTIONS,
        formats::FUNCTIONS,
        documents::FUNCTIONS,
        arrays::FUNCTIONS,
        session::FUNCTIONS,
    ]
}

/// The operator of a symbol: two arguments, or one for a prefix operator. Comparisons, LIKE (`~~`, `like`), `is distinct from`, `and`,
/// `or`, `not` are among them, spelled in lower case.
pub fn operator(symbol: &str, arguments: &[SqlType], dialect: Dialect) -> Result<Routine, SqlError> {
    resolve::operator(symbol, arguments, dialect)
}

/// The function of a name, in lower case.
pub fn scalar(name: &str, arguments: &[SqlType], dialect: Dialect) -> Result<Routine, SqlError> {
    resolve::scalar(name, arguments, dialect)
}

/// What a table function does.
type TableImplementation = fn(&[Datum], Invocation<'_>) -> Result<Vec<Vec<Datum>>, SqlError>;

/// A function that gives rows, in FROM.
#[derive(Clone, Debug)]
pub struct TableRoutine {
    /// Its name.
    pub name: &'static str,
    /// What the arguments are cast to.
    pub parameters: Vec<SqlType>,
    /// The names and types of its columns.
    pub columns: Vec<(String, SqlType)>,
    implementation: TableImplementation,
}

impl TableRoutine {
    /// Its rows. All table functions are strict: NULL among the arguments gives no row.
    pub fn call(&self, arguments: &[Datum], environment: &Environment) -> Result<Vec<Vec<Datum>>, SqlError> {
        if arguments.iter().any(Datum::is_null) {
            return Ok(Vec::new());
        }
        let result = self.columns.first().map_or(&SqlType::Unknown, |(_, sql_type)| sql_type);
        (self.implementation)(arguments, Invocation { parameters: &self.parameters, result, environment })
    }
}

/// The table function of a name, in lower case.
pub fn table(name: &str, arguments: &[SqlType], dialect: Dialect) -> Result<TableRoutine, SqlError> {
    tables::table(name, arguments, dialect)
}

pub use session::check_setting;

/// Whether a name is that of a table function.
pub fn is_table(name: &str) -> bool {
    tables::NAMES.contains(&name)
}

/// Takes the rows of a group one by one.
pub trait Accumulator {
    /// One row's arguments, NULLs included.
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError>;
    /// The value of the group so far; rows may be added afterwards, as running window frames do.
    fn finish(&self) -> Result<Datum, SqlError>;
}

/// An aggregate for arguments of certain types.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Its name.
    pub name: &'static str,
    /// What the arguments are cast to.
    pub parameters: Vec<SqlType>,
    /// What it gives.
    pub result: SqlType,
    /// Whether equal arguments count once; the accumulator sees to it.
    pub(crate) distinct: bool,
    start: fn(&Aggregate, Style) -> Box<dyn Accumulator>,
    dialect: Dialect,
}

impl Aggregate {
    /// A new, empty group, for rows in any order.
    pub fn accumulator(&self, zone: Zone) -> Box<dyn Accumulator> {
        match self.dialect {
            Dialect::Postgres if self.distinct => {
                Box::new(aggregates::SortedDistinct { seen: Default::default(), aggregate: self.clone(), zone })
            }
            _ => self.ordered_accumulator(zone),
        }
    }

    /// A new, empty group for rows in the order that the call asks for: an ORDER BY in the call is the executor's.
    pub fn ordered_accumulator(&self, zone: Zone) -> Box<dyn Accumulator> {
        let inner = (self.start)(self, Style { dialect: self.dialect, zone });
        if !self.distinct {
            return inner;
        }
        let collation = crate::Collation::of(self.dialect);
        Box::new(aggregates::Distinct { seen: Default::default(), collation, inner })
    }
}

/// The aggregate of a name, in lower case; `count` without arguments is `count(*)`.
pub fn aggregate(name: &str, arguments: &[SqlType], distinct: bool, dialect: Dialect) -> Result<Aggregate, SqlError> {
    aggregates::aggregate(name, arguments, distinct, dialect)
}

/// Whether a name is that of an aggregate.
pub fn is_aggregate(name: &str, dialect: Dialect) -> bool {
    aggregates::is_aggregate(name, dialect)
}

/// A function of windows: what it takes and gives; the executor knows how it is computed.
#[derive(Clone, Debug)]
pub struct WindowRoutine {
    /// Its name.
    pub name: &'static str,
    /// What the arguments are cast to.
    pub parameters: Vec<SqlType>,
    /// What it gives.
    pub result: SqlType,
}

/// The window function of a name that is no aggregate, in lower case.
pub fn window(name: &str, arguments: &[SqlType], dialect: Dialect) -> Result<WindowRoutine, SqlError> {
    tables::window(name, arguments, dialect)
}

/// No function of this name takes these arguments.
fn undefined(name: &str, arguments: &[SqlType]) -> SqlError {
    let types: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    SqlError::new(SqlState::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", types.join(", ")))
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}
