//! Functions that give rows, and the window functions' types.
//!
//! ```text
//!   generate_series(1, 3)      1, 2, 3           unnest('{a,b}'::text[])    a, b
//! ```
//!
//! A column is named after its function where the query gives it no other name.

use super::arguments::{MOST_ROWS, array, decimal, integer, interval, json, text, time, too_large};
use super::{Invocation, TableRoutine, WindowRoutine, undefined};
use crate::Dialect;
use crate::json::{self, Json};
use crate::{CastKind, Datum, can_coerce, common_type};
use crate::{Registry, SqlType};
use crate::{SqlError, SqlState};
use bigdecimal::Zero;

type TableRows = Result<Vec<Vec<Datum>>, SqlError>;

/// The names of all of PostgreSQL's.
pub(super) const NAMES: &[&str] = &[
    "generate_series",
    "generate_subscripts",
    "unnest",
    "_pg_expandarray",
    "pg_partition_ancestors",
    "string_to_table",
    "json_object_keys",
    "jsonb_object_keys",
    "json_array_elements",
    "jsonb_array_elements",
    "json_array_elements_text",
    "jsonb_array_elements_text",
    "json_each",
    "jsonb_each",
    "json_each_text",
    "jsonb_each_text",
];

pub(super) fn table(name: &str, arguments: &[SqlType], dialect: Dialect) -> Result<TableRoutine, SqlError> {
    let found = match dialect {
        Dialect::MySql => None,
        Dialect::Postgres => match name {
            "generate_series" => series(arguments),
            "unnest" => elements(arguments),
            "_pg_expandarray" => numbered_elements(arguments),
            "generate_subscripts" => subscripts(arguments),
            // Nothing is partitioned here, and what is not has no ancestors.
            "pg_partition_ancestors" if arguments.len() == 1 => {
                let relation = SqlType::Registered(Registry::Relation);
                one_column("pg_partition_ancestors", "relid", vec![relation.clone()], relation, |_, _| Ok(Vec::new()))
            }
            _ => documents(name, arguments),
        },
    };
    found.ok_or_else(|| undefined(name, arguments))
}

fn one_column(
    name: &'static str,
    column: &str,
    parameters: Vec<SqlType>,
    result: SqlType,
    implementation: fn(&[Datum], Invocation<'_>) -> TableRows,
) -> Option<TableRoutine> {
    Some(TableRoutine { name, parameters, columns: vec![(column.to_owned(), result)], implementation })
}

fn series(arguments: &[SqlType]) -> Option<TableRoutine> {
    let name = "generate_series";
    let implicitly = |from: &SqlType, to: &SqlType| can_coerce(from, to, CastKind::Implicit, Dialect::Postgres);
    if let [from, to, step] = arguments {
        let moment = common_type(&[from.clone(), to.clone()], Dialect::Postgres).ok()?.unbounded();
        if moment.is_date_like() && implicitly(step, &SqlType::Interval) {
            let zoned = if moment == SqlType::Date { SqlType::TIMESTAMPTZ } else { moment };
            return one_column(name, name, vec![zoned.clone(), zoned.clone(), SqlType::Interval], zoned, moments);
        }
    }
    if !(2..=3).contains(&arguments.len()) {
        return None;
    }
    let common = common_type(arguments, Dialect::Postgres).ok()?.unbounded();
    match common {
        SqlType::Integer { .. } => {
            let common = if common == SqlType::SMALLINT { SqlType::INTEGER } else { common };
            one_column(name, name, vec![common.clone(); arguments.len()], common, integers)
        }
        SqlType::Decimal(_) => {
            one_column(name, name, vec![SqlType::NUMERIC; arguments.len()], SqlType::NUMERIC, decimals)
        }
        _ => None,
    }
}

fn no_step() -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER, "step size cannot equal zero")
}

fn integers(arguments: &[Datum], _: Invocation<'_>) -> TableRows {
    let (from, to) = (integer(arguments, 0)?, integer(arguments, 1)?);
    let step = if arguments.len() > 2 { integer(arguments, 2)? } else { 1 };
    if step == 0 {
        return Err(no_step());
    }
    if (to - from) / step >= MOST_ROWS as i128 {
        return Err(too_large("the series"));
    }
    let count = if (to - from).signum() * step.signum() < 0 { 0 } else { (to - from) / step + 1 };
    Ok((0..count).map(|place| vec![Datum::Integer(from + place * step)]).collect())
}

fn decimals(arguments: &[Datum], _: Invocation<'_>) -> TableRows {
    let (mut value, to) = (decimal(arguments, 0)?, decimal(arguments, 1)?);
    let step = if arguments.len() > 2 { decimal(arguments, 2)? } else { 1.into() };
    if step.is_zero() {
        return Err(no_step());
    }
    let upwards = step > bigdecimal::BigDecimal::zero();
    let mut rows = Vec::new();
    while if upwards { value <= to } else { value >= to } {
        if rows.len() >= MOST_ROWS {
            return Err(too_large("the series"));
        }
        rows.push(vec![Datum::Decimal(value.clone())]);
        value += &step;
    }
    Ok(rows)
}

fn moments(arguments: &[Datum], call: Invocation<'_>) -> TableRows {
    let (mut value, to, step) = (time(arguments, 0)?, time(arguments, 1)?, interval(arguments, 2)?);
    if step.length() == 0 {
        return Err(no_step());
    }
    let mut rows = Vec::new();
    while if step.length() > 0 { value <= to } else { value >= to } {
        if rows.len() >= MOST_ROWS {
            return Err(too_large("the series"));
        }
        rows.push(vec![match call.result {
            SqlType::Timestamp(_) => Datum::Timestamp(value),
            _ => Datum::TimestampZoned(value),
        }]);
        value = super::moments::after(step, value, call)?;
    }
    Ok(rows)
}

fn elements(arguments: &[SqlType]) -> Option<TableRoutine> {
    match arguments {
        [SqlType::Array(element) | SqlType::Vector(element)] => {
            one_column("unnest", "unnest", arguments.to_vec(), (**element).clone(), unnest)
        }
        _ => None,
    }
}

fn unnest(arguments: &[Datum], _: Invocation<'_>) -> TableRows {
    Ok(array(arguments, 0)?.iter().map(|one| vec![one.clone()]).collect())
}

/// The elements with their places, counted from 1.
fn numbered_elements(arguments: &[SqlType]) -> Option<TableRoutine> {
    let [SqlType::Array(element) | SqlType::Vector(element)] = arguments else { return None };
    let columns = vec![("x".to_owned(), (**element).clone()), ("n".to_owned(), SqlType::INTEGER)];
    Some(TableRoutine { name: "_pg_expandarray", parameters: arguments.to_vec(), columns, implementation: expand })
}

fn expand(arguments: &[Datum], _: Invocation<'_>) -> TableRows {
    let elements = array(arguments, 0)?.iter().enumerate();
    Ok(elements.map(|(place, one)| vec![one.clone(), Datum::Integer(place as i128 + 1)]).collect())
}

/// The places of an array's elements; a vector's are counted from 0.
fn subscripts(arguments: &[SqlType]) -> Option<TableRoutine> {
    let name = "generate_subscripts";
    let implementation = match arguments.first()? {
        SqlType::Array(_) => |arguments: &[Datum], _: Invocation<'_>| places(arguments, 1),
        SqlType::Vector(_) => |arguments: &[Datum], _: Invocation<'_>| places(arguments, 0),
        _ => return None,
    };
    let parameters = match arguments.len() {
        2 => vec![arguments[0].clone(), SqlType::INTEGER],
        3 => vec![arguments[0].clone(), SqlType::INTEGER, SqlType::Boolean],
        _ => return None,
    };
    one_column(name, name, parameters, SqlType::INTEGER, implementation)
}

fn places(arguments: &[Datum], first: i128) -> TableRows {
    let count = if integer(arguments, 1)? == 1 { array(arguments, 0)?.len() as i128 } else { 0 };
    let mut places: Vec<Vec<Datum>> = (first..first + count).map(|place| vec![Datum::Integer(place)]).collect();
    if arguments.get(2) == Some(&Datum::Boolean(true)) {
        places.reverse();
    }
    Ok(places)
}

fn documents(name: &str, arguments: &[SqlType]) -> Option<TableRoutine> {
    let (parameter, result) = match name.starts_with("jsonb") {
        true => (SqlType::JsonBinary, SqlType::JsonBinary),
        false => (SqlType::Json, SqlType::Json),
    };
    let fits = |one: &SqlType| can_coerce(one, &parameter, CastKind::Implicit, Dialect::Postgres);
    let text = SqlType::TEXT;
    if let ("regexp_split_to_table" | "string_to_table", [_, _]) = (name, arguments) {
        return one_column("string_to_table", name, vec![text.clone(); 2], text, split)
            .filter(|_| name == "string_to_table");
    }
    if !matches!(arguments, [one] if fits(one)) {
        return None;
    }
    let one = vec![parameter];
    match name {
        "json_object_keys" => one_column("json_object_keys", name, one, text, keys),
        "jsonb_object_keys" => one_column("jsonb_object_keys", name, one, text, keys),
        "json_array_elements" => one_column("json_array_elements", "value", one, result, array_elements),
        "jsonb_array_elements" => one_column("jsonb_array_elements", "value", one, result, array_elements),
        "json_array_elements_text" | "jsonb_array_elements_text" => {
            one_column("json_array_elements_text", "value", one, text, element_texts)
        }
        "json_each" | "jsonb_each" => pairs("json_each", one, result, each),
        "json_each_text" | "jsonb_each_text" => pairs("json_each_text", one, text, each_text),
        _ => None,
    }
}

fn pairs(
    name: &'static str,
    parameters: Vec<SqlType>,
    value: SqlType,
    implementation: fn(&[Datum], Invocation<'_>) -> TableRows,
) -> Option<TableRoutine> {
    let columns = vec![("key".to_owned(), SqlType::TEXT), ("value".to_owned(), value)];
    Some(TableRoutine { name, parameters, columns, implementation })
}

fn split(arguments: &[Datum], _: Invocation<'_>) -> TableRows {
    let (whole, separator) = (text(arguments, 0)?, text(arguments, 1)?);
    if whole.is_empty() {
        return Ok(Vec::new());
    }
    Ok(match separator {
        "" => vec![vec![Datum::text(whole)]],
        separator => whole.split(separator).map(|part| vec![Datum::text(part)]).collect(),
    })
}

fn wrong_kind(wanted: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER, format!("the document is no {wanted}"))
}

fn keys(arguments: &[Datum], _: Invocation<'_>) -> TableRows {
    match json(arguments, 0)? {
        Json::Object(_) => {
            let members = json::members(text(arguments, 0)?)?;
            Ok(members.into_iter().map(|(key, _)| vec![Datum::text(key.unwrap_or_default())]).collect())
        }
        _ => Err(wrong_kind("object")),
    }
}

fn array_elements(arguments: &[Datum], _: Invocation<'_>) -> TableRows {
    match json(arguments, 0)? {
        Json::Array(_) => {
            let members = json::members(text(arguments, 0)?)?;
            Ok(members.into_iter().map(|(_, part)| vec![Datum::Json(part.into())]).collect())
        }
        _ => Err(wrong_kind("array")),
    }
}

/// A part as text: strings without quotes, null as NULL.
fn part_text(part: &str) -> Result<Datum, SqlError> {
    Ok(match part.as_bytes().first() {
        Some(b'"' | b'n') => Json::parse(part)?.as_text().map_or(Datum::Null, Datum::text),
        _ => Datum::text(part),
    })
}

fn element_texts(arguments: &[Datum], call: Invocation<'_>) -> TableRows {
    let rows = array_elements(arguments, call)?;
    rows.into_iter().map(|row| Ok(vec![part_text(text(&row, 0)?)?])).collect()
}

fn each(arguments: &[Datum], _: Invocation<'_>) -> TableRows {
    match json(arguments, 0)? {
        Json::Object(_) => {
            let members = json::members(text(arguments, 0)?)?;
            let pair = |(key, part): (Option<String>, &str)| {
                vec![Datum::text(key.unwrap_or_default()), Datum::Json(part.into())]
            };
            Ok(members.into_iter().map(pair).collect())
        }
        _ => Err(wrong_kind("object")),
    }
}

fn each_text(arguments: &[Datum], call: Invocation<'_>) -> TableRows {
    let rows = each(arguments, call)?;
    rows.into_iter().map(|row| Ok(vec![row[0].clone(), part_text(text(&row, 1)?)?])).collect()
}

/// What window functions take and give.
pub(super) fn window(name: &str, arguments: &[SqlType], dialect: Dialect) -> Result<WindowRoutine, SqlError> {
    let known = [
        "row_number",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
        "ntile",
        "lag",
        "lead",
        "first_value",
        "last_value",
        "nth_value",
    ];
    let name = known.into_iter().find(|known| *known == name).ok_or_else(|| undefined(name, arguments))?;
    let value = || match arguments.first() {
        None | Some(SqlType::Unknown) => SqlType::TEXT,
        Some(value) => value.clone(),
    };
    let (parameters, result) = match (name, arguments.len()) {
        ("row_number" | "rank" | "dense_rank", 0) => (Vec::new(), SqlType::BIGINT),
        ("percent_rank" | "cume_dist", 0) => (Vec::new(), SqlType::Double),
        ("ntile", 1) => (vec![SqlType::INTEGER], SqlType::INTEGER),
        ("lag" | "lead" | "first_value" | "last_value", 1) => (vec![value()], value()),
        ("lag" | "lead" | "nth_value", 2) => (vec![value(), SqlType::INTEGER], value()),
        ("lag" | "lead", 3) => {
            let common = common_type(&[arguments[0].clone(), arguments[2].clone()], dialect)?;
            (vec![common.clone(), SqlType::INTEGER, common.clone()], common)
        }
        _ => return Err(undefined(name, arguments)),
    };
    Ok(WindowRoutine { name, parameters, result })
}
