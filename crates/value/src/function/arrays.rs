//! Arrays, and the forms that take any type: GREATEST, COALESCE, NULLIF, IF.
//!
//! Arrays have one dimension and count from 1. An element and an array in one call have the same element type; the arguments are cast
//! to the common one before.

use super::Invocation;
use super::arguments::{Evaluated, LONGEST_TEXT, answer, array, integer, invalid, text, too_large};
use super::signature::{SignatureRow, TypePattern::*, row};
use crate::Dialect;
use crate::SqlError;
use crate::SqlType;
use crate::{Collation, Datum, compare_in};

pub(super) const OPERATORS: &[SignatureRow] = &[
    row("||", &[Elements, Elements], Elements, join).lenient().postgres(),
    row("||", &[Elements, Element], Elements, append).lenient().postgres(),
    row("||", &[Element, Elements], Elements, prepend).lenient().postgres(),
    row("@>", &[Elements, Elements], Boolean, contains).postgres(),
    row("<@", &[Elements, Elements], Boolean, contained).postgres(),
    row("&&", &[Elements, Elements], Boolean, overlaps).postgres(),
];

pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("array_append", &[Elements, Element], Elements, append).lenient().postgres(),
    row("array_prepend", &[Element, Elements], Elements, prepend).lenient().postgres(),
    row("array_cat", &[Elements, Elements], Elements, join).lenient().postgres(),
    row("array_remove", &[Elements, Element], Elements, remove).lenient().postgres(),
    row("array_replace", &[Elements, Element, Element], Elements, replace).lenient().postgres(),
    row("array_position", &[Elements, Element], Integer, position).lenient().postgres(),
    row("array_length", &[Elements, Integer], Integer, length).postgres(),
    row("array_upper", &[Elements, Integer], Integer, length).postgres(),
    row("array_lower", &[Elements, Integer], Integer, lower_bound).postgres(),
    row("array_ndims", &[Elements], Integer, dimensions).postgres(),
    row("cardinality", &[Elements], Integer, cardinality).postgres(),
    // `x[1:2]`, under a name that nobody calls by mistake.
    row("[:]", &[Elements, Integer, Integer], Elements, slice).postgres(),
    row("array_to_string", &[Elements, Text], Text, to_string).lenient().postgres(),
    row("array_to_string", &[Elements, Text, Text], Text, to_string).lenient().postgres(),
    row("string_to_array", &[Text, Text], TextArray, from_string).lenient().postgres(),
    row("string_to_array", &[Text, Text, Text], TextArray, from_string).lenient().postgres(),
    row("greatest", &[Element], Element, greatest).variadic().lenient(),
    row("least", &[Element], Element, least).variadic().lenient(),
    row("coalesce", &[Element], Element, coalesce).variadic().lenient(),
    row("ifnull", &[Element, Element], Element, coalesce).lenient().mysql(),
    row("nullif", &[Element, Element], Element, null_if).lenient(),
    row("if", &[Boolean, Element, Element], Element, choose).lenient().mysql(),
    row("isnull", &[Any], Boolean, is_null).lenient().mysql(),
    row("num_nulls", &[Any], Integer, count_nulls).variadic().lenient().postgres(),
    row("num_nonnulls", &[Any], Integer, count_values).variadic().lenient().postgres(),
];

/// An array, or nothing where NULL stands.
fn elements_or_none(arguments: &[Datum], place: usize) -> Result<Option<&[Datum]>, SqlError> {
    match arguments.get(place) {
        Some(Datum::Null) => Ok(None),
        _ => array(arguments, place).map(Some),
    }
}

fn made(elements: Vec<Datum>) -> Evaluated {
    if elements.len() > super::arguments::MOST_ROWS {
        Err(too_large("the array"))
    } else {
        Ok(Datum::Array(elements.into()))
    }
}

fn join(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    match (elements_or_none(arguments, 0)?, elements_or_none(arguments, 1)?) {
        (None, None) => Ok(Datum::Null),
        (left, right) => made([left.unwrap_or_default(), right.unwrap_or_default()].concat()),
    }
}

fn append(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let mut elements = elements_or_none(arguments, 0)?.unwrap_or_default().to_vec();
    elements.extend(arguments.get(1).cloned());
    made(elements)
}

fn prepend(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let mut elements: Vec<Datum> = arguments.first().cloned().into_iter().collect();
    elements.extend_from_slice(elements_or_none(arguments, 1)?.unwrap_or_default());
    made(elements)
}

/// Equal, NULLs included.
fn same(left: &Datum, right: &Datum, call: Invocation<'_>) -> bool {
    left.is_null() == right.is_null() && compare_in(left, right, Collation::of(call.environment.dialect)).is_eq()
}

/// Every wanted element is there; NULL equals nothing.
fn all_in(wanted: &[Datum], elements: &[Datum], call: Invocation<'_>) -> bool {
    wanted.iter().all(|one| !one.is_null() && elements.iter().any(|other| same(one, other, call)))
}

fn contains(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(all_in(array(arguments, 1)?, array(arguments, 0)?, call)))
}

fn contained(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(all_in(array(arguments, 0)?, array(arguments, 1)?, call)))
}

fn overlaps(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (left, right) = (array(arguments, 0)?, array(arguments, 1)?);
    let shared = |one: &Datum| !one.is_null() && right.iter().any(|other| same(one, other, call));
    Ok(Datum::Boolean(left.iter().any(shared)))
}

fn remove(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let Some(elements) = elements_or_none(arguments, 0)? else { return Ok(Datum::Null) };
    made(elements.iter().filter(|one| !same(one, &arguments[1], call)).cloned().collect())
}

fn replace(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let Some(elements) = elements_or_none(arguments, 0)? else { return Ok(Datum::Null) };
    let change = |one: &Datum| if same(one, &arguments[1], call) { arguments[2].clone() } else { one.clone() };
    made(elements.iter().map(change).collect())
}

fn position(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let Some(elements) = elements_or_none(arguments, 0)? else { return Ok(Datum::Null) };
    let found = elements.iter().position(|one| same(one, &arguments[1], call));
    Ok(found.map_or(Datum::Null, |place| Datum::Integer(place as i128 + 1)))
}

fn length(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let count = array(arguments, 0)?.len();
    Ok(if integer(arguments, 1)? == 1 && count > 0 { Datum::Integer(count as i128) } else { Datum::Null })
}

fn lower_bound(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let is_there = integer(arguments, 1)? == 1 && !array(arguments, 0)?.is_empty();
    Ok(if is_there { Datum::Integer(1) } else { Datum::Null })
}

fn dimensions(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(if array(arguments, 0)?.is_empty() { Datum::Null } else { Datum::Integer(1) })
}

fn cardinality(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(array(arguments, 0)?.len() as i128))
}

/// The elements from one place to another, numbered from 1 again.
fn slice(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let elements = array(arguments, 0)?;
    let first = usize::try_from(integer(arguments, 1)?.max(1) - 1).unwrap_or(usize::MAX);
    let end = usize::try_from(integer(arguments, 2)?.max(0)).unwrap_or(usize::MAX).min(elements.len());
    made(elements.get(first..end).unwrap_or_default().to_vec())
}

fn to_string(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    if arguments.iter().take(2).any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let element_type = match call.parameters.first() {
        Some(SqlType::Array(element)) => element,
        _ => return Err(invalid("an array was expected")),
    };
    let for_null = match arguments.get(2) {
        Some(Datum::Text(text)) => Some(text.to_string()),
        _ => None,
    };
    let print = |one: &Datum| match one {
        Datum::Null => for_null.clone(),
        other => Some(crate::output(other, element_type, call.environment.style())),
    };
    let joined = array(arguments, 0)?.iter().filter_map(print).collect::<Vec<_>>().join(text(arguments, 1)?);
    if joined.len() > LONGEST_TEXT { Err(too_large("the text")) } else { answer(joined) }
}

fn from_string(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    if arguments.first().is_none_or(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let whole = text(arguments, 0)?;
    let parts: Vec<String> = match arguments.get(1) {
        _ if whole.is_empty() => Vec::new(),
        Some(Datum::Text(separator)) if separator.is_empty() => vec![whole.to_owned()],
        Some(Datum::Text(separator)) => whole.split(&**separator).map(str::to_owned).collect(),
        _ => whole.chars().map(String::from).collect(),
    };
    let is_null = |part: &String| matches!(arguments.get(2), Some(Datum::Text(null)) if **null == **part);
    made(parts.into_iter().map(|part| if is_null(&part) { Datum::Null } else { Datum::text(part) }).collect())
}

/// The greatest or least; PostgreSQL skips NULLs, in MySQL one NULL makes all NULL.
fn extreme(arguments: &[Datum], call: Invocation<'_>, greatest: bool) -> Evaluated {
    if call.environment.dialect == Dialect::MySql && arguments.iter().any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let collation = Collation::of(call.environment.dialect);
    let present = arguments.iter().filter(|one| !one.is_null());
    let order = |left: &&Datum, right: &&Datum| compare_in(left, right, collation);
    let found = if greatest { present.max_by(order) } else { present.min_by(order) };
    Ok(found.cloned().unwrap_or_default())
}

fn greatest(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    extreme(arguments, call, true)
}

fn least(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    extreme(arguments, call, false)
}

fn coalesce(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(arguments.iter().find(|one| !one.is_null()).cloned().unwrap_or_default())
}

fn null_if(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let [left, right] = arguments else { return Err(invalid("nullif takes two arguments")) };
    let equal = !left.is_null() && same(left, right, call);
    Ok(if equal { Datum::Null } else { left.clone() })
}

fn choose(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let place = if arguments.first() == Some(&Datum::Boolean(true)) { 1 } else { 2 };
    Ok(arguments.get(place).cloned().unwrap_or_default())
}

fn is_null(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(arguments.first().is_none_or(Datum::is_null)))
}

fn count_nulls(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(arguments.iter().filter(|one| one.is_null()).count() as i128))
}

fn count_values(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(arguments.iter().filter(|one| !one.is_null()).count() as i128))
}
