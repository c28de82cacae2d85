//! Which row of the tables a call means.
//!
//! PostgreSQL's rules in short: of the rows that the arguments can be cast to implicitly, the one with the most exact matches wins,
//! then the one with the most preferred types (double of the numbers, text, timestamptz of the dates), then the first. Untyped
//! literals fit anything; in an operator they first try the type of the other side.
//!
//! ```text
//!   sqrt(2)                  sqrt(double) beats sqrt(numeric): double is preferred
//!   date + '7'               no date + date, so the rows date + integer and date + interval are asked, in this order
//!   'a' || 1                 text || any
//! ```

use super::signature::{SignatureRow, TypePattern};
use super::{Routine, comparison, undefined};
use crate::Dialect;
use crate::coerce::number_type;
use crate::{CastKind, can_coerce, common_type};
use crate::{IntegerWidth, SqlType};
use crate::{SqlError, SqlState};

/// How well a row fits: exact matches, then preferred types, then literals that become text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Score {
    exact: usize,
    preferred: usize,
    texts: usize,
}

pub(super) fn operator(symbol: &str, arguments: &[SqlType], dialect: Dialect) -> Result<Routine, SqlError> {
    let rows = super::operator_tables();
    if let Some(same) = literal_as_other_side(arguments) {
        let chosen = choose(symbol, &same, dialect, rows);
        if let Some((score, routine)) = chosen.filter(|(score, _)| score.exact == same.len()) {
            debug_assert!(score.exact <= routine.parameters.len());
            return Ok(routine);
        }
    }
    choose(symbol, arguments, dialect, rows).map(|(_, routine)| routine).ok_or_else(|| {
        let names: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let call = match &names[..] {
            [one] => format!("{symbol} {one}"),
            _ => names.join(&format!(" {symbol} ")),
        };
        SqlError::new(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {call}")).with_hint(
            "No operator matches the given name and argument types. You might need to add explicit type casts.",
        )
    })
}

/// The arguments with a literal on one side taken as the type of the other.
fn literal_as_other_side(arguments: &[SqlType]) -> Option<[SqlType; 2]> {
    match arguments {
        [SqlType::Unknown, SqlType::Unknown] => None,
        [SqlType::Unknown, known] | [known, SqlType::Unknown] => Some([known.clone(), known.clone()]),
        _ => None,
    }
}

pub(super) fn scalar(name: &str, arguments: &[SqlType], dialect: Dialect) -> Result<Routine, SqlError> {
    let chosen = choose(name, arguments, dialect, super::scalar_tables());
    chosen.map(|(_, routine)| routine).ok_or_else(|| undefined(name, arguments))
}

fn choose(name: &str, arguments: &[SqlType], dialect: Dialect, tables: &[&[SignatureRow]]) -> Option<(Score, Routine)> {
    let mut best: Option<(Score, Routine)> = None;
    for row in tables.iter().flat_map(|table| table.iter()) {
        if row.name != name || !row.is_spoken(dialect) || !row.takes_so_many(arguments.len()) {
            continue;
        }
        let Some(score) = score(row, arguments, dialect) else { continue };
        if best.as_ref().is_some_and(|(other, _)| *other >= score) {
            continue;
        }
        if let Some(routine) = routine(row, arguments, dialect) {
            best = Some((score, routine));
        }
    }
    best
}

fn score(row: &SignatureRow, arguments: &[SqlType], dialect: Dialect) -> Option<Score> {
    let mut sum = Score::default();
    for (place, argument) in arguments.iter().enumerate() {
        let one = fit(row.kind(place), argument, dialect)?;
        sum.exact += one.exact;
        sum.preferred += one.preferred;
        sum.texts += one.texts;
    }
    Some(sum)
}

const EXACT: Score = Score { exact: 1, preferred: 0, texts: 0 };
const NEUTRAL: Score = Score { exact: 0, preferred: 0, texts: 0 };

/// How well an argument fits a place; nothing if it does not.
fn fit(kind: TypePattern, argument: &SqlType, dialect: Dialect) -> Option<Score> {
    let mysql = dialect == Dialect::MySql;
    let is_unknown = *argument == SqlType::Unknown;
    if let Some(parameter) = kind.concrete(dialect) {
        return fit_concrete(kind, &parameter, argument, dialect);
    }
    let accepted = match kind {
        // MySQL makes a number of anything but an interval, which has rows of its own.
        TypePattern::Number if mysql && !argument.is_number() => return Some(NEUTRAL).filter(|_| !is_apart(argument)),
        TypePattern::Number => argument.is_number(),
        // What is no exact number is a double, for which there is another row.
        TypePattern::Exact if mysql && *argument == SqlType::Boolean => true,
        TypePattern::Exact => matches!(argument, SqlType::Integer { .. } | SqlType::Decimal(_)),
        TypePattern::Whole => matches!(argument, SqlType::Integer { .. }),
        TypePattern::Elements => matches!(argument, SqlType::Array(_) | SqlType::Vector(_)),
        TypePattern::NonArray => {
            return Some(NEUTRAL).filter(|_| !matches!(argument, SqlType::Array(_) | SqlType::Vector(_)));
        }
        _ => {
            return Some(NEUTRAL)
                .filter(|_| kind != TypePattern::Comparable || mysql || *argument != SqlType::Json)
                .map(|score| if kind == TypePattern::Comparable && !is_unknown { EXACT } else { score });
        }
    };
    match accepted {
        _ if is_unknown => Some(NEUTRAL),
        true => Some(EXACT),
        false => None,
    }
}

/// What MySQL takes for no number.
fn is_apart(argument: &SqlType) -> bool {
    matches!(argument, SqlType::Interval | SqlType::Array(_))
}

fn fit_concrete(kind: TypePattern, parameter: &SqlType, argument: &SqlType, dialect: Dialect) -> Option<Score> {
    if *argument == SqlType::Unknown {
        return Some(Score { texts: usize::from(kind == TypePattern::Text), ..NEUTRAL });
    }
    if argument.is_same_kind(parameter) {
        return Some(EXACT);
    }
    if !can_coerce(argument, parameter, CastKind::Implicit, dialect) {
        return None;
    }
    let preferred =
        matches!(kind, TypePattern::Double | TypePattern::Text | TypePattern::Zoned | TypePattern::Interval);
    Some(Score { preferred: usize::from(preferred), ..NEUTRAL })
}

/// The row for these arguments, its families made types; nothing if they do not agree.
fn routine(row: &SignatureRow, arguments: &[SqlType], dialect: Dialect) -> Option<Routine> {
    let kinds: Vec<TypePattern> = (0..arguments.len()).map(|place| row.kind(place)).collect();
    let number = number_of(&kinds, arguments, dialect);
    let element = element_of(&kinds, arguments, dialect)?;
    let compared = match (&kinds[..], arguments) {
        ([TypePattern::Comparable, TypePattern::Comparable], [left, right]) => {
            let (left, right) = comparison::comparable(row.name, left, right, dialect)?;
            vec![left, right]
        }
        _ => Vec::new(),
    };
    let concrete = |place: usize, kind: TypePattern, argument: Option<&SqlType>| -> SqlType {
        match kind {
            TypePattern::Number | TypePattern::Exact | TypePattern::Whole => number.clone(),
            TypePattern::Element => element.clone(),
            TypePattern::Elements => SqlType::Array(Box::new(element.clone())),
            TypePattern::Comparable => compared.get(place).cloned().unwrap_or(SqlType::TEXT),
            TypePattern::Any | TypePattern::NonArray => match argument {
                None | Some(SqlType::Unknown) => SqlType::TEXT,
                Some(argument) => argument.clone(),
            },
            other => match (other.concrete(dialect), argument) {
                // A CHAR keeps its length where it is compared as what it is.
                (Some(parameter), Some(argument))
                    if argument.is_same_kind(&parameter) || (argument.is_text() && parameter.is_text()) =>
                {
                    argument.clone()
                }
                (parameter, _) => parameter.unwrap_or(SqlType::TEXT),
            },
        }
    };
    let parameters = kinds.iter().zip(arguments).enumerate();
    Some(Routine {
        name: row.name,
        parameters: parameters.map(|(place, (kind, argument))| concrete(place, *kind, Some(argument))).collect(),
        result: concrete(0, row.gives, None),
        strict: row.strict,
        volatile: row.volatile,
        implementation: row.run,
    })
}

/// The number that all numbers of the row become.
fn number_of(kinds: &[TypePattern], arguments: &[SqlType], dialect: Dialect) -> SqlType {
    let mut common: Option<SqlType> = None;
    let mut exact = false;
    for (kind, argument) in kinds.iter().zip(arguments) {
        if !matches!(kind, TypePattern::Number | TypePattern::Exact | TypePattern::Whole) {
            continue;
        }
        exact |= *kind != TypePattern::Number;
        let argument = match argument {
            SqlType::Unknown if dialect == Dialect::Postgres => continue,
            number if number.is_number() => number.unbounded(),
            SqlType::Boolean => SqlType::INTEGER,
            _ => SqlType::Double,
        };
        common = Some(match common {
            Some(common) if common == argument => common,
            Some(common) => number_type(&common, &argument),
            None => argument,
        });
    }
    match common {
        // All integer arithmetic of MySQL is in 64 bits.
        Some(SqlType::Integer { unsigned, .. }) if dialect == Dialect::MySql => {
            SqlType::Integer { width: IntegerWidth::Big, unsigned }
        }
        Some(common) => common,
        None if exact => SqlType::NUMERIC,
        None => SqlType::Double,
    }
}

/// The type of the elements of the row; nothing if the arguments have none in common.
fn element_of(kinds: &[TypePattern], arguments: &[SqlType], dialect: Dialect) -> Option<SqlType> {
    let mut elements = Vec::new();
    for (kind, argument) in kinds.iter().zip(arguments) {
        match (kind, argument) {
            (TypePattern::Element, element) => elements.push(element.clone()),
            (TypePattern::Elements, SqlType::Array(element) | SqlType::Vector(element)) => {
                elements.push((**element).clone())
            }
            _ => {}
        }
    }
    common_type(&elements, dialect).ok()
}
