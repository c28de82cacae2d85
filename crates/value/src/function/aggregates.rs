//! Aggregates: one value of many rows.
//!
//! ```text
//!   sum(integer) = bigint    sum(bigint) = numeric    avg(integer) = numeric    in MySQL both are numeric
//! ```
//!
//! Except `count`, an aggregate of no rows is NULL. NULLs are skipped, except by `array_agg` and the JSON aggregates. DISTINCT is a
//! wrapper that lets each group key through once.

use super::arguments::{decimal, integer, real, text};
use super::{Accumulator, Aggregate, undefined};
use crate::Dialect;
use crate::{CastKind, Collation, Datum, GroupKey, Style, Zone, can_coerce, compare_in, number};
use crate::{IntegerWidth, SqlType};
use crate::{SqlError, SqlState};
use bigdecimal::{BigDecimal, Zero};
use std::collections::{BTreeMap, BTreeSet};

type NewAccumulator = fn(&Aggregate, Style) -> Box<dyn Accumulator>;

const NAMES: [&str; 28] = [
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "every",
    "string_agg",
    "group_concat",
    "array_agg",
    "json_agg",
    "jsonb_agg",
    "json_object_agg",
    "jsonb_object_agg",
    "json_arrayagg",
    "json_objectagg",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "variance",
    "var_samp",
    "var_pop",
    "bit_and",
    "bit_or",
    "std",
    "any_value",
    "bit_xor",
];

pub(super) fn is_aggregate(name: &str, dialect: Dialect) -> bool {
    name_of(name, dialect).is_some()
}

fn name_of(name: &str, dialect: Dialect) -> Option<&'static str> {
    let postgres_only = ["bool_and", "bool_or", "every", "string_agg", "array_agg", "json_agg", "jsonb_agg"];
    let more_postgres = ["json_object_agg", "jsonb_object_agg"];
    let mysql_only = ["group_concat", "json_arrayagg", "json_objectagg", "std", "any_value"];
    let foreign = match dialect {
        Dialect::Postgres => mysql_only.contains(&name),
        Dialect::MySql => postgres_only.contains(&name) || more_postgres.contains(&name),
    };
    NAMES.iter().copied().find(|known| *known == name && !foreign)
}

pub(super) fn aggregate(
    name: &str,
    arguments: &[SqlType],
    distinct: bool,
    dialect: Dialect,
) -> Result<Aggregate, SqlError> {
    let known = name_of(name, dialect).ok_or_else(|| undefined(name, arguments))?;
    if known == "array_agg" && matches!(arguments, [SqlType::Array(_) | SqlType::Vector(_)]) {
        return Err(SqlError::unsupported("an array of more than one dimension"));
    }
    let (parameters, result, start) = match known {
        "sum" | "avg" => sums(known, arguments, dialect),
        "stddev" | "stddev_samp" | "stddev_pop" | "variance" | "var_samp" | "var_pop" | "std" => {
            spreads(known, arguments, dialect)
        }
        "string_agg" | "group_concat" => texts(known, arguments, dialect),
        "json_agg" | "jsonb_agg" | "json_arrayagg" | "json_object_agg" | "jsonb_object_agg" | "json_objectagg" => {
            documents(known, arguments, dialect)
        }
        _ => simple(known, arguments, dialect),
    }
    .ok_or_else(|| undefined(name, arguments))?;
    Ok(Aggregate { name: known, parameters, result, distinct, start, dialect })
}

type AggregateSignature = Option<(Vec<SqlType>, SqlType, NewAccumulator)>;

fn text_if_unknown(argument: &SqlType) -> SqlType {
    if *argument == SqlType::Unknown { SqlType::TEXT } else { argument.clone() }
}

fn simple(name: &str, arguments: &[SqlType], dialect: Dialect) -> AggregateSignature {
    let one = arguments.first().map(text_if_unknown);
    let start: NewAccumulator = match name {
        "count" if arguments.is_empty() => return Some((Vec::new(), SqlType::BIGINT, |_, _| Box::new(Count(0)))),
        "count" => {
            let parameters = arguments.iter().map(text_if_unknown).collect();
            return Some((parameters, SqlType::BIGINT, |_, _| Box::new(Count(0))));
        }
        _ if arguments.len() != 1 => return None,
        "min" | "max" => {
            let orderable =
                !matches!(one, Some(SqlType::Json | SqlType::JsonBinary | SqlType::Boolean | SqlType::Uuid));
            let known_order = !matches!(one, Some(SqlType::Enumeration(_)));
            if !(orderable && known_order) && dialect == Dialect::Postgres {
                return None;
            }
            |aggregate, style| {
                Box::new(Extreme {
                    best: Datum::Null,
                    greatest: aggregate.name == "max",
                    collation: Collation::of(style.dialect),
                })
            }
        }
        "any_value" => |_, _| Box::new(First(Datum::Null)),
        "bool_and" | "every" | "bool_or" => {
            if !can_coerce(one.as_ref()?, &SqlType::Boolean, CastKind::Implicit, dialect) {
                return None;
            }
            let start: NewAccumulator = |aggregate, _| Box::new(Logic { any: aggregate.name == "bool_or", seen: None });
            return Some((vec![SqlType::Boolean], SqlType::Boolean, start));
        }
        "array_agg" => {
            let result = SqlType::Array(Box::new(one.clone()?));
            return Some((vec![one?], result, |_, _| Box::new(Elements(Vec::new()))));
        }
        "bit_and" | "bit_or" | "bit_xor" => {
            let integer = match &one {
                Some(SqlType::Integer { .. }) if dialect == Dialect::Postgres => one.clone()?,
                _ if dialect == Dialect::MySql => SqlType::integer(IntegerWidth::Big, true),
                _ => return None,
            };
            let start: NewAccumulator =
                |aggregate, style| Box::new(Bits { name: aggregate.name, dialect: style.dialect, value: None });
            return Some((vec![integer.clone()], integer, start));
        }
        _ => return None,
    };
    Some((vec![one.clone()?], one?, start))
}

fn sums(name: &str, arguments: &[SqlType], dialect: Dialect) -> AggregateSignature {
    let [argument] = arguments else { return None };
    let mysql = dialect == Dialect::MySql;
    let parameter = match argument {
        SqlType::Integer { .. } => argument.clone(),
        SqlType::Decimal(_) => SqlType::NUMERIC,
        SqlType::Single | SqlType::Double | SqlType::Interval => argument.clone(),
        SqlType::Boolean if mysql => SqlType::BIGINT,
        _ if mysql => SqlType::Double,
        SqlType::Unknown => SqlType::Double,
        _ => return None,
    };
    let start: NewAccumulator = |aggregate, style| Box::new(Sum::new(aggregate, style.dialect));
    let result = match (&parameter, name) {
        (SqlType::Interval, _) => SqlType::Interval,
        (SqlType::Integer { width, .. }, "sum") if !mysql && *width != IntegerWidth::Big => SqlType::BIGINT,
        (SqlType::Single, "sum") if !mysql => SqlType::Single,
        (SqlType::Single | SqlType::Double, _) => SqlType::Double,
        _ => SqlType::NUMERIC,
    };
    Some((vec![parameter], result, start))
}

fn spreads(_: &str, arguments: &[SqlType], dialect: Dialect) -> AggregateSignature {
    let [argument] = arguments else { return None };
    let exact = dialect == Dialect::Postgres && matches!(argument, SqlType::Integer { .. } | SqlType::Decimal(_));
    if !exact && !can_coerce(argument, &SqlType::Double, CastKind::Implicit, dialect) {
        return None;
    }
    let sql_type = if exact { SqlType::NUMERIC } else { SqlType::Double };
    let start: NewAccumulator =
        |aggregate, style| Box::new(Spread { name: aggregate.name, dialect: style.dialect, values: Vec::new() });
    Some((vec![sql_type.clone()], sql_type, start))
}

fn texts(name: &str, arguments: &[SqlType], dialect: Dialect) -> AggregateSignature {
    let start: NewAccumulator = |_, style| Box::new(Texts { joined: None, dialect: style.dialect });
    let text = |one: &SqlType| can_coerce(one, &SqlType::TEXT, CastKind::Implicit, dialect);
    match (name, arguments) {
        ("string_agg", [value, separator]) if text(value) && text(separator) => {
            Some((vec![SqlType::TEXT, SqlType::TEXT], SqlType::TEXT, start))
        }
        // The binder gives the separator as a second argument where SEPARATOR is written.
        ("group_concat", [_] | [_, _]) => Some((vec![SqlType::TEXT; arguments.len()], SqlType::TEXT, start)),
        _ => None,
    }
}

fn documents(name: &str, arguments: &[SqlType], _: Dialect) -> AggregateSignature {
    let is_object = name.contains("object");
    if arguments.len() != if is_object { 2 } else { 1 } {
        return None;
    }
    let result = if name.starts_with("jsonb") { SqlType::JsonBinary } else { SqlType::Json };
    let start: NewAccumulator =
        |aggregate, style| Box::new(Documents { aggregate: aggregate.clone(), style, rows: Vec::new() });
    Some((arguments.iter().map(text_if_unknown).collect(), result, start))
}

/// A group that counts equal arguments once, as they come.
pub(super) struct Distinct {
    pub(super) seen: BTreeSet<Vec<GroupKey>>,
    pub(super) collation: Collation,
    pub(super) inner: Box<dyn Accumulator>,
}

/// A group that counts equal arguments once and takes them in their order, NULL last: PostgreSQL finds equals by sorting, and
/// `array_agg(DISTINCT x)` shows it.
pub(super) struct SortedDistinct {
    pub(super) seen: BTreeMap<Vec<GroupKey>, Vec<Datum>>,
    pub(super) aggregate: Aggregate,
    pub(super) zone: Zone,
}

impl Accumulator for SortedDistinct {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        let key = arguments.iter().map(|one| GroupKey::new(one, Collation::Bytes)).collect();
        self.seen.entry(key).or_insert_with(|| arguments.to_vec());
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        let mut inner =
            (self.aggregate.start)(&self.aggregate, Style { dialect: self.aggregate.dialect, zone: self.zone });
        for arguments in self.seen.values() {
            inner.add(arguments)?;
        }
        inner.finish()
    }
}

impl Accumulator for Distinct {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        let key = arguments.iter().map(|one| GroupKey::new(one, self.collation)).collect();
        if self.seen.insert(key) { self.inner.add(arguments) } else { Ok(()) }
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        self.inner.finish()
    }
}

struct Count(i128);

impl Accumulator for Count {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        self.0 += i128::from(!arguments.iter().any(Datum::is_null));
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        Ok(Datum::Integer(self.0))
    }
}

struct Extreme {
    best: Datum,
    greatest: bool,
    collation: Collation,
}

impl Accumulator for Extreme {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        let Some(datum) = arguments.first().filter(|one| !one.is_null()) else { return Ok(()) };
        let order = compare_in(datum, &self.best, self.collation);
        let better = if self.greatest { order.is_gt() } else { order.is_lt() };
        if self.best.is_null() || better {
            self.best = datum.clone();
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        Ok(self.best.clone())
    }
}

struct First(Datum);

impl Accumulator for First {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        if self.0.is_null() {
            self.0 = arguments.first().cloned().unwrap_or_default();
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        Ok(self.0.clone())
    }
}

struct Logic {
    any: bool,
    seen: Option<bool>,
}

impl Accumulator for Logic {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        if let Some(Datum::Boolean(value)) = arguments.first() {
            let seen = self.seen.unwrap_or(!self.any);
            self.seen = Some(if self.any { seen || *value } else { seen && *value });
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        Ok(self.seen.map_or(Datum::Null, Datum::Boolean))
    }
}

struct Elements(Vec<Datum>);

impl Accumulator for Elements {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        self.0.extend(arguments.first().cloned());
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        Ok(if self.0.is_empty() { Datum::Null } else { Datum::Array(self.0.clone().into()) })
    }
}

struct Bits {
    name: &'static str,
    dialect: Dialect,
    value: Option<i128>,
}

impl Accumulator for Bits {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        if arguments.first().is_some_and(Datum::is_null) {
            return Ok(());
        }
        let one = integer(arguments, 0)?;
        self.value = Some(match (self.value, self.name) {
            (None, _) => one,
            (Some(value), "bit_and") => value & one,
            (Some(value), "bit_or") => value | one,
            (Some(value), _) => value ^ one,
        });
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        Ok(match (self.value, self.dialect) {
            (Some(value), _) => Datum::Integer(value),
            (None, Dialect::Postgres) => Datum::Null,
            (None, Dialect::MySql) if self.name == "bit_and" => Datum::Integer(u64::MAX.into()),
            (None, Dialect::MySql) => Datum::Integer(0),
        })
    }
}

/// The sum, and the mean of it.
struct Sum {
    result: SqlType,
    is_mean: bool,
    dialect: Dialect,
    count: i64,
    integers: i128,
    decimals: BigDecimal,
    reals: f64,
    has_infinity: bool,
    spans: crate::Interval,
}

impl Sum {
    fn new(aggregate: &Aggregate, dialect: Dialect) -> Sum {
        Sum {
            result: aggregate.result.clone(),
            is_mean: aggregate.name == "avg",
            dialect,
            count: 0,
            integers: 0,
            decimals: BigDecimal::zero(),
            reals: 0.0,
            has_infinity: false,
            spans: crate::Interval::default(),
        }
    }

    fn total(&self) -> BigDecimal {
        number::add(&self.decimals, &BigDecimal::from(self.integers))
    }

    /// The sum of the floats, unless it became infinite though none of them was.
    fn finite(&self) -> Result<f64, SqlError> {
        let reals = if self.result == SqlType::Single { f64::from(self.reals as f32) } else { self.reals };
        if reals.is_infinite() && !self.has_infinity {
            return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow"));
        }
        Ok(reals)
    }

    fn mean(&self) -> Result<Datum, SqlError> {
        let count = BigDecimal::from(self.count);
        Ok(match self.result {
            SqlType::Double | SqlType::Single => Datum::Real(self.finite()? / self.count as f64),
            SqlType::Interval => Datum::Interval(self.spans.scale(1.0 / self.count as f64)?),
            _ if self.dialect == Dialect::MySql => {
                let total = self.total();
                let scale = total.fractional_digit_count() + 4;
                Datum::Decimal(number::quotient(&total, &count, scale))
            }
            _ => Datum::Decimal(number::divide(&self.total(), &count)?),
        })
    }
}

impl Accumulator for Sum {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        match arguments.first() {
            None | Some(Datum::Null) => return Ok(()),
            Some(Datum::Integer(value)) => {
                self.integers = self.integers.checked_add(*value).ok_or_else(|| number::out_of_range("bigint"))?;
            }
            Some(Datum::Decimal(value)) => self.decimals = number::add(&self.decimals, value),
            Some(Datum::Interval(span)) => self.spans = self.spans.checked_add(*span)?,
            Some(_) => {
                let value = real(arguments, 0)?;
                self.has_infinity |= value.is_infinite();
                self.reals += value;
            }
        }
        self.count += 1;
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        if self.count == 0 {
            return Ok(Datum::Null);
        }
        if self.is_mean {
            return self.mean();
        }
        match self.result {
            SqlType::Single | SqlType::Double => self.finite().map(Datum::Real),
            SqlType::Interval => Ok(Datum::Interval(self.spans)),
            SqlType::Integer { .. } => super::arithmetic::in_range(Some(self.integers), &self.result),
            _ => number::checked_decimal(self.total()).map(Datum::Decimal),
        }
    }
}

/// Variances and deviations, from all the values: exact for exact numbers.
struct Spread {
    name: &'static str,
    dialect: Dialect,
    values: Vec<Datum>,
}

impl Spread {
    /// `stddev` is of a sample in PostgreSQL and of all in MySQL.
    fn is_sample(&self) -> bool {
        self.name.ends_with("samp") || (self.dialect == Dialect::Postgres && !self.name.ends_with("pop"))
    }

    fn is_root(&self) -> bool {
        self.name.starts_with("std")
    }

    fn of_decimals(&self) -> Result<Datum, SqlError> {
        let (mut sum, mut squares) = (BigDecimal::zero(), BigDecimal::zero());
        for place in 0..self.values.len() {
            let value = decimal(&self.values, place)?;
            squares = number::add(&squares, &number::multiply(&value, &value));
            sum = number::add(&sum, &value);
        }
        let count = BigDecimal::from(self.values.len() as u64);
        let divisor = if self.is_sample() { &count * (&count - 1) } else { &count * &count };
        let numerator = number::add(&number::multiply(&count, &squares), &-number::multiply(&sum, &sum));
        if numerator.is_zero() {
            return Ok(Datum::Decimal(BigDecimal::zero()));
        }
        let variance = number::divide(&numerator, &divisor)?;
        Ok(Datum::Decimal(if self.is_root() { super::numbers::decimal_root(&variance) } else { variance }))
    }

    fn of_reals(&self) -> Result<Datum, SqlError> {
        let values: Vec<f64> =
            (0..self.values.len()).map(|place| real(&self.values, place)).collect::<Result<_, _>>()?;
        let count = values.len() as f64;
        // Youngs and Cramer's way, as PostgreSQL does it: the last digits depend on the way.
        let (mut sum, mut squares) = (0.0, 0.0);
        for (place, value) in values.iter().enumerate() {
            sum += value;
            if place > 0 {
                let present = place as f64 + 1.0;
                let difference = value * present - sum;
                squares += difference * difference / (present * (present - 1.0));
            }
        }
        if !squares.is_finite() && values.iter().all(|value| value.is_finite()) {
            return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow"));
        }
        let variance = squares / if self.is_sample() { count - 1.0 } else { count };
        Ok(Datum::Real(if self.is_root() { variance.sqrt() } else { variance }))
    }
}

impl Accumulator for Spread {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        self.values.extend(arguments.first().filter(|one| !one.is_null()).cloned());
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        match self.values.first() {
            None => Ok(Datum::Null),
            Some(_) if self.is_sample() && self.values.len() == 1 => Ok(Datum::Null),
            Some(Datum::Decimal(_)) => self.of_decimals(),
            Some(_) => self.of_reals(),
        }
    }
}

struct Texts {
    joined: Option<String>,
    dialect: Dialect,
}

impl Accumulator for Texts {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        if arguments.first().is_none_or(Datum::is_null) {
            return Ok(());
        }
        let separator = match arguments.get(1) {
            Some(Datum::Text(separator)) => separator,
            None if self.dialect == Dialect::MySql => ",",
            _ => "",
        };
        let value = text(arguments, 0)?;
        match &mut self.joined {
            Some(joined) if joined.len() + value.len() > super::arguments::LONGEST_TEXT => {
                return Err(super::arguments::too_large("the text"));
            }
            Some(joined) => {
                joined.push_str(separator);
                joined.push_str(value);
            }
            None => self.joined = Some(value.to_owned()),
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        Ok(self.joined.as_deref().map_or(Datum::Null, Datum::text))
    }
}

struct Documents {
    aggregate: Aggregate,
    style: Style,
    rows: Vec<Vec<Datum>>,
}

impl Documents {
    fn printed(&self, row: &[Datum], place: usize) -> Result<String, SqlError> {
        let sql_type = self.aggregate.parameters.get(place).unwrap_or(&SqlType::TEXT);
        super::documents::to_json(row.get(place).unwrap_or(&Datum::Null), sql_type, self.style)
    }

    fn key(&self, row: &[Datum]) -> Result<String, SqlError> {
        match row.first() {
            None | Some(Datum::Null) => Err(SqlError::new(SqlState("22023"), "field name must not be null")),
            Some(Datum::Text(text)) => Ok(crate::json::quote(text)),
            Some(other) => super::documents::to_json_key(other, &self.aggregate.parameters[0], self.style),
        }
    }
}

impl Accumulator for Documents {
    fn add(&mut self, arguments: &[Datum]) -> Result<(), SqlError> {
        self.rows.push(arguments.to_vec());
        Ok(())
    }

    fn finish(&self) -> Result<Datum, SqlError> {
        if self.rows.is_empty() {
            return Ok(Datum::Null);
        }
        let is_object = self.aggregate.name.contains("object");
        let one = |row: &Vec<Datum>| match is_object {
            true => Ok(format!("{} : {}", self.key(row)?, self.printed(row, 1)?)),
            false => self.printed(row, 0),
        };
        let parts: Vec<String> = self.rows.iter().map(one).collect::<Result<_, SqlError>>()?;
        let joined = parts.join(", ");
        let text = if is_object { format!("{{ {joined} }}") } else { format!("[{joined}]") };
        crate::input(&text, &self.aggregate.result, self.style)
    }
}
