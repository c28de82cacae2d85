//! What a prepared statement will do: every kind of statement finds its way here.

use super::copy;
use super::named::Named;
use crate::answer::{Control, DeclaredLevel, Modes, ResultColumn};
use crate::bind::{Binder, Scope, bind_change};
use crate::copy::Copy;
use crate::define;
use crate::plan::{explain, optimise};
use crate::syntax;
use crate::table_lock::TableMode;
use crate::tree::change::{Change, Insert};
use crate::tree::expression::Expression;
use crate::tree::plan::{Definition, Plan};
use crate::virtual_tables;
use skew_value::{Dialect, SqlError, SqlState, SqlType};
use sqlparser::ast::{self, SetExpr, Statement};
use std::sync::Arc;

/// What a prepared statement will do.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Answer rows.
    Query(Plan, Vec<ResultColumn>),
    /// Change rows, after the common table expressions it uses.
    Change(Vec<(usize, Definition)>, Change),
    /// Take rows from the client.
    CopyIn(Copy, Box<Insert>),
    /// Give rows to the client.
    CopyOut(Copy, Plan),
    /// Change the schema: everything is looked at when it runs.
    Define,
    /// LOCK TABLE: nothing more is done once the tables are locked, for which some do not wait.
    LockTables {
        /// NOWAIT.
        nowait: bool,
    },
    /// Tell the plan.
    Explain(Vec<String>),
    /// Leave it to whoever keeps transactions.
    Control(Control),
    /// Something with what the session keeps by name.
    Named(Named),
    /// SET CONSTRAINTS … IMMEDIATE.
    CheckDeferred,
    /// Settings, for the caller to keep.
    Set(Vec<(String, Option<String>)>, bool),
    /// MySQL's `SET @a = …`.
    SetVariables(Vec<(String, Expression)>),
    /// A setting is asked for.
    Show(String),
    /// Nothing; the words that clients are told.
    Nothing(String),
}

impl Action {
    /// The columns of the answer, if there are rows.
    pub(super) fn columns(&self) -> Option<Vec<ResultColumn>> {
        let text = |name: &str| vec![ResultColumn { name: name.to_owned(), sql_type: SqlType::TEXT }];
        match self {
            Action::Query(_, columns) => Some(columns.clone()),
            Action::Change(_, change) => change.returning().map(|returning| returning.columns.clone()),
            Action::Explain(_) => Some(text("QUERY PLAN")),
            Action::Show(name) => Some(text(told_name(name))),
            _ => None,
        }
    }
}

/// Binds a statement of any kind.
pub(super) fn bind(statement: &Statement, binder: &mut Binder<'_>) -> Result<Action, SqlError> {
    match statement {
        Statement::Query(query) => bind_query(query, binder),
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
            Ok(Action::Change(Vec::new(), bind_change(statement, binder)?))
        }
        Statement::Copy { source, target, options, to, .. } => copy::bind(source, target, options, *to, binder),
        Statement::Explain { statement, analyze: false, format: None, options, .. } => {
            check_explain(options.as_deref().unwrap_or_default())?;
            bind_explain(statement, binder)
        }
        Statement::StartTransaction { modes, statements, exception: None, .. } if statements.is_empty() => {
            Ok(Action::Control(Control::Begin(modes_of(modes)?)))
        }
        Statement::Commit { chain, .. } => Ok(Action::Control(Control::Commit { chain: *chain })),
        Statement::Rollback { chain, savepoint: None } => Ok(Action::Control(Control::Rollback { chain: *chain })),
        Statement::Rollback { savepoint: Some(name), .. } => {
            Ok(Action::Control(Control::RollbackTo(binder.name(name))))
        }
        Statement::Savepoint { name } => Ok(Action::Control(Control::Savepoint(binder.name(name)))),
        Statement::ReleaseSavepoint { name } => Ok(Action::Control(Control::Release(binder.name(name)))),
        Statement::Set(set) => bind_set(set, binder),
        other if binder.dialect == Dialect::MySql && is_show(other, binder)? => bind_show(other, binder),
        Statement::ShowVariable { variable } => {
            let words: Vec<String> = variable.iter().map(|word| word.value.to_lowercase()).collect();
            Ok(Action::Show(setting_name(&words.join("_")).to_owned()))
        }
        Statement::Reset(reset) => Ok(bind_reset(reset)),
        // One store holds what every database of a PostgreSQL client has: all names lead to it.
        Statement::CreateDatabase { .. } if binder.dialect == Dialect::Postgres => {
            Ok(Action::Nothing("CREATE DATABASE".to_owned()))
        }
        Statement::Drop { object_type: ast::ObjectType::Database, .. } if binder.dialect == Dialect::Postgres => {
            Ok(Action::Nothing("DROP DATABASE".to_owned()))
        }
        Statement::Lock(lock) if binder.dialect == Dialect::Postgres => bind_lock(lock, binder),
        other if define::is_definition(other) => {
            define::lock_tables(other, binder);
            Ok(Action::Define)
        }
        other => ignored(other),
    }
}

/// MySQL's SHOW and DESCRIBE of what exists are queries of its catalogs.
fn is_show(statement: &Statement, binder: &Binder<'_>) -> Result<bool, SqlError> {
    Ok(virtual_tables::show::query_of(statement, binder.catalog)?.is_some())
}

fn bind_show(statement: &Statement, binder: &mut Binder<'_>) -> Result<Action, SqlError> {
    let text = virtual_tables::show::query_of(statement, binder.catalog)?.unwrap_or_default();
    bind_query(&syntax::parse_query(binder.dialect, &text)?, binder)
}

/// Statements that mean nothing to a store in memory.
fn ignored(statement: &Statement) -> Result<Action, SqlError> {
    let words = match statement {
        Statement::Analyze(_) => "ANALYZE",
        Statement::Vacuum(_) => "VACUUM",
        Statement::Discard { object_type: ast::DiscardObject::PLANS } => "DISCARD PLANS",
        Statement::Grant(_) => "GRANT",
        Statement::Revoke(_) => "REVOKE",
        Statement::CreateExtension(_) => "CREATE EXTENSION",
        Statement::Use(_) => "USE",
        // Who listens here would wait for ever; without listeners a notification is for nobody.
        Statement::LISTEN { .. } => return Err(SqlError::unsupported("LISTEN")),
        Statement::UNLISTEN { .. } => "UNLISTEN",
        Statement::NOTIFY { .. } => "NOTIFY",
        Statement::Flush { .. } => "FLUSH",
        other => {
            let text = other.to_string();
            let word = text.split_whitespace().take(2).collect::<Vec<&str>>().join(" ");
            return Err(SqlError::unsupported(format!("the statement {word}")));
        }
    };
    Ok(Action::Nothing(words.to_owned()))
}

pub(super) fn bind_query(query: &ast::Query, binder: &mut Binder<'_>) -> Result<Action, SqlError> {
    // WITH … INSERT is a query around a change.
    if let SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) = &*query.body {
        let (definitions, change) = binder.change_with(query.with.as_ref(), inner)?;
        return Ok(Action::Change(definitions, change));
    }
    let query = binder.query(query, None)?;
    Ok(Action::Query(optimise(query.plan), query.columns))
}

/// LOCK TABLE. Of a view the tables are locked that it reads.
fn bind_lock(lock: &ast::Lock, binder: &mut Binder<'_>) -> Result<Action, SqlError> {
    let mode = lock.lock_mode.as_ref().map_or(TableMode::AccessExclusive, mode_of_lock);
    for target in &lock.tables {
        let name = binder.catalog.resolve_existing(&target.name, binder.dialect)?;
        let Some(view) = binder.catalog.views.get(&name) else {
            let table = Arc::clone(binder.catalog.expect_table(&name)?);
            binder.lock_table(&table.name, mode);
            continue;
        };
        let query = syntax::parse_query(binder.dialect, &view.query)?;
        let mut inside = Binder::new(binder.dialect, binder.catalog, &[]);
        inside.query(&query, None)?;
        inside.take_table_locks().iter().for_each(|lock| binder.lock_table(&lock.table, mode));
    }
    Ok(Action::LockTables { nowait: lock.nowait })
}

fn mode_of_lock(mode: &ast::LockTableMode) -> TableMode {
    match mode {
        ast::LockTableMode::AccessShare => TableMode::AccessShare,
        ast::LockTableMode::RowShare => TableMode::RowShare,
        ast::LockTableMode::RowExclusive => TableMode::RowExclusive,
        ast::LockTableMode::ShareUpdateExclusive => TableMode::ShareUpdateExclusive,
        ast::LockTableMode::Share => TableMode::Share,
        ast::LockTableMode::ShareRowExclusive => TableMode::ShareRowExclusive,
        ast::LockTableMode::Exclusive => TableMode::Exclusive,
        ast::LockTableMode::AccessExclusive => TableMode::AccessExclusive,
    }
}

/// Refuses options that would run the statement, or tell its plan otherwise than in lines.
fn check_explain(options: &[ast::UtilityOption]) -> Result<(), SqlError> {
    for option in options {
        let value = option.arg.as_ref().map_or("true".to_owned(), |value| setting_text(value).to_lowercase());
        let name = option.name.value.to_lowercase();
        let is_off = ["false", "off", "0"].contains(&value.as_str());
        if name == "analyze" && !is_off || name == "format" && value != "text" {
            return Err(SqlError::unsupported(format!("EXPLAIN ({option})")));
        }
    }
    Ok(())
}

fn bind_explain(statement: &Statement, binder: &mut Binder<'_>) -> Result<Action, SqlError> {
    match bind(statement, binder)? {
        Action::Query(plan, _) => Ok(Action::Explain(explain(&plan))),
        Action::Change(_, change) => Ok(Action::Explain(vec![change.command().to_lowercase()])),
        _ => Err(SqlError::unsupported("EXPLAIN of a statement that is no query and no change")),
    }
}

fn modes_of(modes: &[ast::TransactionMode]) -> Result<Modes, SqlError> {
    let mut found = Modes::default();
    for mode in modes {
        match mode {
            ast::TransactionMode::AccessMode(access) => {
                found.read_only = Some(matches!(access, ast::TransactionAccessMode::ReadOnly));
            }
            ast::TransactionMode::IsolationLevel(level) => {
                found.level = Some(match level {
                    ast::TransactionIsolationLevel::ReadUncommitted => DeclaredLevel::ReadUncommitted,
                    ast::TransactionIsolationLevel::ReadCommitted => DeclaredLevel::ReadCommitted,
                    ast::TransactionIsolationLevel::RepeatableRead => DeclaredLevel::RepeatableRead,
                    ast::TransactionIsolationLevel::Serializable => DeclaredLevel::Serializable,
                    ast::TransactionIsolationLevel::Snapshot => DeclaredLevel::Snapshot,
                });
            }
        }
    }
    Ok(found)
}

/// MySQL's `SET SESSION TRANSACTION` is about all later transactions. The parser leaves the word out, so it is read here.
pub(super) fn with_scope(action: Action, text: &str, dialect: Dialect) -> Result<Action, SqlError> {
    let Action::Control(Control::SetTransaction(modes)) = &action else { return Ok(action) };
    let scope = text.split_whitespace().nth(1).unwrap_or_default().to_lowercase();
    match (dialect, scope.as_str()) {
        (Dialect::MySql, "session" | "local") => Ok(Action::Control(Control::SetSession(*modes))),
        (Dialect::MySql, "global") => Err(SqlError::unsupported("SET GLOBAL TRANSACTION")),
        _ => Ok(action),
    }
}

fn bind_set(set: &ast::Set, binder: &mut Binder<'_>) -> Result<Action, SqlError> {
    match set {
        ast::Set::SetTransaction { modes, snapshot: None, session } => {
            let modes = modes_of(modes)?;
            Ok(Action::Control(if *session { Control::SetSession(modes) } else { Control::SetTransaction(modes) }))
        }
        ast::Set::SetTransaction { .. } => Err(SqlError::unsupported("SET TRANSACTION SNAPSHOT")),
        // How `SET CONSTRAINTS` is read. Keys that may be deferred are, until the end or until they are asked for.
        ast::Set::SingleAssignment { variable, values, .. } if variable.to_string() == syntax::CONSTRAINTS => {
            let immediate = values.iter().any(|value| setting_text(value) == "immediate");
            Ok(if immediate { Action::CheckDeferred } else { Action::Nothing("SET CONSTRAINTS".to_owned()) })
        }
        ast::Set::SingleAssignment { scope, variable, values, .. } => {
            let local = matches!(scope, Some(ast::ContextModifier::Local));
            bind_assignments(&[(variable, values.as_slice())], local, binder)
        }
        ast::Set::MultipleAssignments { assignments } => {
            let assignments: Vec<(&ast::ObjectName, &[ast::Expr])> =
                assignments.iter().map(|one| (&one.name, std::slice::from_ref(&one.value))).collect();
            bind_assignments(&assignments, false, binder)
        }
        ast::Set::SetNames { charset_name, .. } => {
            Ok(Action::Set(vec![("names".to_owned(), Some(charset_name.value.clone()))], false))
        }
        ast::Set::SetNamesDefault {} => Ok(Action::Set(vec![("names".to_owned(), None)], false)),
        ast::Set::SetTimeZone { local, value } => {
            let text = setting_text(value);
            let is_word = matches!(value, ast::Expr::Identifier(_));
            let back = is_word && ["local", "default"].iter().any(|word| text.eq_ignore_ascii_case(word));
            Ok(Action::Set(vec![("timezone".to_owned(), (!back).then_some(text))], *local))
        }
        ast::Set::SetRole { .. } | ast::Set::SetSessionAuthorization(_) => Ok(Action::Nothing("SET".to_owned())),
        other => Err(SqlError::unsupported(format!("the statement {other}"))),
    }
}

fn bind_assignments(
    assignments: &[(&ast::ObjectName, &[ast::Expr])],
    local: bool,
    binder: &mut Binder<'_>,
) -> Result<Action, SqlError> {
    let mut settings = Vec::new();
    let mut variables = Vec::new();
    for (name, values) in assignments {
        let name = name.to_string().replace(['"', '`'], "").to_lowercase();
        match (name.strip_prefix('@').filter(|name| !name.starts_with('@')), binder.dialect, *values) {
            (Some(variable), Dialect::MySql, [value]) => {
                let value = binder.expression(value, &Scope::empty(None))?;
                variables.push((variable.to_owned(), binder.settled(value)?));
            }
            _ => {
                let name = name.trim_start_matches('@');
                let name = name.strip_prefix("session.").or_else(|| name.strip_prefix("local.")).unwrap_or(name);
                let values: Vec<String> = values.iter().map(setting_text).collect();
                let value = values.join(", ");
                let default = value.eq_ignore_ascii_case("default");
                if binder.dialect == Dialect::Postgres && !default {
                    skew_value::function::check_setting(name, &value)?;
                }
                settings.push((name.to_owned(), (!default).then_some(value)));
            }
        }
    }
    match (settings.is_empty(), variables.is_empty()) {
        (true, false) => Ok(Action::SetVariables(variables)),
        (false, true) => Ok(Action::Set(settings, local)),
        _ => Err(SqlError::unsupported("SET of settings and variables at once")),
    }
}

/// A setting's value without its quotes.
fn setting_text(value: &ast::Expr) -> String {
    match value {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) | ast::Value::DoubleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        ast::Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}

/// The setting that words mean: some have two names.
fn setting_name(name: &str) -> &str {
    match name {
        "transaction_isolation_level" => "transaction_isolation",
        "time_zone" => "timezone",
        other => other,
    }
}

/// How a setting is called in an answer: three are not told in lower case.
fn told_name(name: &str) -> &str {
    match name {
        "timezone" => "TimeZone",
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        other => other,
    }
}

fn bind_reset(reset: &ast::ResetStatement) -> Action {
    match &reset.reset {
        ast::Reset::ALL => Action::Set(vec![("all".to_owned(), None)], false),
        ast::Reset::SessionAuthorization => Action::Nothing("RESET".to_owned()),
        ast::Reset::ConfigurationParameter(name) => Action::Set(vec![(name.to_string().to_lowercase(), None)], false),
    }
}

/// Something was prepared that cannot be executed any more.
pub(super) fn changed_result() -> SqlError {
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "cached plan must not change result type")
}
