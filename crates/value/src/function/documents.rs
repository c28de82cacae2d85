//! Functions and operators of JSON.
//!
//! JSON keeps the text it came with, JSONB is canonical; MySQL's JSON is canonical too. What is built by functions has the spacing
//! that each function of PostgreSQL gives it:
//!
//! ```text
//!   json_build_object('a', 1)   {"a" : 1}         jsonb_build_object('a', 1)   {"a": 1}
//!   to_json(array[1, 2])        [1,2]             '{"a": [1,2]}'::json -> 'a'  [1,2]   as it was written
//! ```

use super::Invocation;
use super::arguments::{Evaluated, answer, array, boolean, document, integer, invalid, json, text};
use super::signature::{SignatureRow, TypePattern::*, row};
use crate::Dialect;
use crate::SqlType;
use crate::json::{self, Json, Key};
use crate::{Datum, Style};
use crate::{SqlError, SqlState};

pub(super) const OPERATORS: &[SignatureRow] = &[
    row("->", &[Jsonb, Text], Jsonb, field).postgres(),
    row("->", &[Jsonb, Integer], Jsonb, element).postgres(),
    row("->>", &[Jsonb, Text], Text, field).postgres(),
    row("->>", &[Jsonb, Integer], Text, element).postgres(),
    row("#>", &[Jsonb, TextArray], Jsonb, path).postgres(),
    row("#>>", &[Jsonb, TextArray], Text, path).postgres(),
    row("->", &[Json, Text], Json, field).postgres(),
    row("->", &[Json, Integer], Json, element).postgres(),
    row("->>", &[Json, Text], Text, field).postgres(),
    row("->>", &[Json, Integer], Text, element).postgres(),
    row("#>", &[Json, TextArray], Json, path).postgres(),
    row("#>>", &[Json, TextArray], Text, path).postgres(),
    row("@>", &[Jsonb, Jsonb], Boolean, contains).postgres(),
    row("<@", &[Jsonb, Jsonb], Boolean, contained).postgres(),
    row("?", &[Jsonb, Text], Boolean, has_key).postgres(),
    row("?|", &[Jsonb, TextArray], Boolean, has_any_key).postgres(),
    row("?&", &[Jsonb, TextArray], Boolean, has_all_keys).postgres(),
    row("||", &[Jsonb, Jsonb], Jsonb, join).postgres(),
    row("-", &[Jsonb, Text], Jsonb, without_key).postgres(),
    row("-", &[Jsonb, Integer], Jsonb, without_element).postgres(),
    row("-", &[Jsonb, TextArray], Jsonb, without_keys).postgres(),
    row("#-", &[Jsonb, TextArray], Jsonb, without_path).postgres(),
    row("->", &[Json, Text], Json, extract).mysql(),
    row("->>", &[Json, Text], Text, extract_text).mysql(),
];

pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("to_json", &[Any], Json, convert).postgres(),
    row("row_to_json", &[Any], Json, convert).postgres(),
    row("to_jsonb", &[Any], Jsonb, convert).postgres(),
    row("array_to_json", &[Elements], Json, convert).postgres(),
    row("json_build_object", &[Any], Json, build_object).variadic().lenient().postgres(),
    row("jsonb_build_object", &[Any], Jsonb, build_object).variadic().lenient().postgres(),
    row("json_build_array", &[Any], Json, build_array).variadic().lenient().postgres(),
    row("jsonb_build_array", &[Any], Jsonb, build_array).variadic().lenient().postgres(),
    row("json_object", &[Any], Json, build_object).variadic().lenient().mysql(),
    row("json_array", &[Any], Json, build_array).variadic().lenient().mysql(),
    row("jsonb_set", &[Jsonb, TextArray, Jsonb], Jsonb, set).postgres(),
    row("jsonb_set", &[Jsonb, TextArray, Jsonb, Boolean], Jsonb, set).postgres(),
    row("json_array_length", &[Json], Integer, array_length).postgres(),
    row("jsonb_array_length", &[Jsonb], Integer, array_length).postgres(),
    row("json_length", &[Json], Integer, size).mysql(),
    row("json_typeof", &[Json], Text, kind).postgres(),
    row("jsonb_typeof", &[Jsonb], Text, kind).postgres(),
    row("json_type", &[Json], Text, mysql_kind).mysql(),
    row("json_valid", &[Text], Boolean, is_valid).mysql(),
    row("json_extract_path", &[Json, Text], Json, named_path).variadic().postgres(),
    row("json_extract_path_text", &[Json, Text], Text, named_path).variadic().postgres(),
    row("jsonb_extract_path", &[Jsonb, Text], Jsonb, named_path).variadic().postgres(),
    row("jsonb_extract_path_text", &[Jsonb, Text], Text, named_path).variadic().postgres(),
    row("json_extract", &[Json, Text], Json, extract).mysql(),
    row("json_unquote", &[Json], Text, unquote).mysql(),
    row("json_quote", &[Text], Text, quote).mysql(),
    row("json_contains", &[Json, Json], Boolean, contains).mysql(),
    row("json_strip_nulls", &[Json], Json, strip_nulls).postgres(),
    row("jsonb_strip_nulls", &[Jsonb], Jsonb, strip_nulls).postgres(),
    row("jsonb_pretty", &[Jsonb], Text, pretty).postgres(),
];

/// A value as JSON text, as `to_json` writes it.
pub(super) fn to_json(datum: &Datum, sql_type: &SqlType, style: Style) -> Result<String, SqlError> {
    Ok(match datum {
        Datum::Null => "null".to_owned(),
        Datum::Boolean(value) => value.to_string(),
        Datum::Integer(_) | Datum::Decimal(_) => crate::output(datum, sql_type, style),
        Datum::Real(value) if value.is_finite() => crate::output(datum, sql_type, style),
        Datum::Json(text) => text.to_string(),
        Datum::Array(values) if matches!(sql_type, SqlType::Record(_)) => {
            let SqlType::Record(fields) = sql_type else { return Ok("null".to_owned()) };
            let member = |(value, (name, kind)): (&Datum, &(String, SqlType))| {
                Ok(format!("{}:{}", json::quote(name), to_json(value, kind, style)?))
            };
            let members: Result<Vec<String>, SqlError> = values.iter().zip(fields.iter()).map(member).collect();
            format!("{{{}}}", members?.join(","))
        }
        Datum::Array(elements) => {
            let element = match sql_type {
                SqlType::Array(element) | SqlType::Vector(element) => element,
                other => other,
            };
            let parts: Result<Vec<String>, SqlError> =
                elements.iter().map(|one| to_json(one, element, style)).collect();
            format!("[{}]", parts?.join(","))
        }
        Datum::Timestamp(_) | Datum::TimestampZoned(_) => {
            let printed = crate::output(datum, sql_type, style);
            json::quote(&if style.dialect == Dialect::Postgres { standard(printed, datum) } else { printed })
        }
        other => json::quote(&crate::output(other, sql_type, style)),
    })
}

/// A value as the key of an object: always a string.
pub(super) fn to_json_key(datum: &Datum, sql_type: &SqlType, style: Style) -> Result<String, SqlError> {
    match datum {
        Datum::Timestamp(_) | Datum::TimestampZoned(_) => to_json(datum, sql_type, style),
        // A CHAR loses its blanks on its way to text.
        Datum::Text(text) => Ok(json::quote(text)),
        other => Ok(json::quote(&crate::output(other, sql_type, style))),
    }
}

/// `2024-01-31T10:20:30+01:00`: JSON dates spell the zone's minutes.
fn standard(printed: String, datum: &Datum) -> String {
    let printed = printed.replacen(' ', "T", 1);
    let (moment, era) = match printed.strip_suffix(" BC") {
        Some(moment) => (moment, " BC"),
        None => (printed.as_str(), ""),
    };
    let is_whole = moment.rfind(['+', '-']).is_some_and(|sign| moment.len() - sign == 3 && moment.contains('T'));
    match datum {
        Datum::TimestampZoned(_) if is_whole => format!("{moment}:00{era}"),
        _ => printed,
    }
}

/// The text in the form of the result: as it stands for JSON, canonical for JSONB.
fn built(text: &str, call: Invocation<'_>) -> Evaluated {
    crate::input(text, call.result, call.environment.dialect)
}

fn convert(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let sql_type = call.parameters.first().unwrap_or(&SqlType::TEXT);
    built(&to_json(arguments.first().unwrap_or(&Datum::Null), sql_type, call.environment.style())?, call)
}

fn printed(arguments: &[Datum], call: Invocation<'_>, place: usize) -> Result<String, SqlError> {
    let sql_type = call.parameters.get(place).unwrap_or(&SqlType::TEXT);
    to_json(arguments.get(place).unwrap_or(&Datum::Null), sql_type, call.environment.style())
}

fn build_object(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    if !arguments.len().is_multiple_of(2) {
        return Err(invalid("argument list must have even number of elements"));
    }
    let mut pairs = Vec::new();
    for place in (0..arguments.len()).step_by(2) {
        if arguments[place].is_null() {
            return Err(invalid(format!("argument {} cannot be null", place + 1)));
        }
        let sql_type = call.parameters.get(place).unwrap_or(&SqlType::TEXT);
        let key = to_json_key(&arguments[place], sql_type, call.environment.style())?;
        pairs.push(format!("{key} : {}", printed(arguments, call, place + 1)?));
    }
    built(&format!("{{{}}}", pairs.join(", ")), call)
}

fn build_array(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let parts: Result<Vec<String>, SqlError> =
        (0..arguments.len()).map(|place| printed(arguments, call, place)).collect();
    built(&format!("[{}]", parts?.join(", ")), call)
}

/// One step of a path.
#[derive(Clone, Copy)]
enum PathStep<'text> {
    Key(&'text str),
    Place(i64),
}

/// A part of a document, in its text: JSON gives back what was written.
fn step_into(text: &str, step: PathStep<'_>) -> Result<Option<String>, SqlError> {
    let members = json::members(text)?;
    Ok(match step {
        PathStep::Key(wanted) => {
            members.iter().rev().find(|(key, _)| key.as_deref() == Some(wanted)).map(|(_, part)| (*part).to_owned())
        }
        PathStep::Place(place) if members.first().is_some_and(|(key, _)| key.is_none()) => {
            let place = if place < 0 { place + members.len() as i64 } else { place };
            usize::try_from(place).ok().and_then(|place| members.get(place)).map(|(_, part)| (*part).to_owned())
        }
        PathStep::Place(_) => None,
    })
}

/// A part as the result wants it: a document, or text without quotes.
fn part_answer(part: Option<String>, call: Invocation<'_>) -> Evaluated {
    match (part, call.result) {
        (None, _) => Ok(Datum::Null),
        (Some(part), SqlType::Text(_)) => match part.as_bytes().first() {
            Some(b'"') => Ok(Json::parse(&part)?.as_text().map_or(Datum::Null, Datum::text)),
            Some(b'n') => Ok(Datum::Null),
            _ => answer(part),
        },
        (Some(part), _) => Ok(Datum::Json(part.into())),
    }
}

fn field(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    part_answer(step_into(text(arguments, 0)?, PathStep::Key(text(arguments, 1)?))?, call)
}

fn element(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (whole, place) = (text(arguments, 0)?, integer(arguments, 1)?);
    // To JSONB a scalar is an array of one.
    let is_scalar = !whole.trim_start().starts_with(['[', '{']);
    if is_scalar && call.parameters.first() == Some(&SqlType::JsonBinary) {
        return part_answer(matches!(place, 0 | -1).then(|| whole.to_owned()), call);
    }
    part_answer(step_into(whole, PathStep::Place(place as i64))?, call)
}

/// Follows keys and, in arrays, places.
fn follow(text: &str, steps: &[&str]) -> Result<Option<String>, SqlError> {
    let mut part = text.trim().to_owned();
    for step in steps {
        let next = match (part.as_bytes().first(), step.parse::<i64>()) {
            (Some(b'['), Ok(place)) => step_into(&part, PathStep::Place(place))?,
            (Some(b'['), Err(_)) => None,
            _ => step_into(&part, PathStep::Key(step))?,
        };
        match next {
            Some(next) => part = next,
            None => return Ok(None),
        }
    }
    Ok(Some(part))
}

fn path(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let elements = array(arguments, 1)?;
    if elements.iter().any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let steps: Vec<&str> = (0..elements.len()).map(|place| text(elements, place)).collect::<Result<_, _>>()?;
    part_answer(follow(text(arguments, 0)?, &steps)?, call)
}

fn named_path(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let steps: Vec<&str> = (1..arguments.len()).map(|place| text(arguments, place)).collect::<Result<_, _>>()?;
    part_answer(follow(text(arguments, 0)?, &steps)?, call)
}

fn contains(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(whole_contains(&json(arguments, 0)?, &json(arguments, 1)?)))
}

fn contained(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(whole_contains(&json(arguments, 1)?, &json(arguments, 0)?)))
}

/// At the top an array also contains a bare value.
fn whole_contains(document: &Json, part: &Json) -> bool {
    match (document, part) {
        (Json::Array(elements), Json::Array(_) | Json::Object(_)) => {
            document.contains(part) && matches!(part, Json::Array(_)) || elements.0.is_empty() && document == part
        }
        (Json::Array(elements), part) => elements.0.contains(part),
        _ => document.contains(part),
    }
}

fn holds_key(document: &Json, key: &str) -> bool {
    match document {
        Json::Object(_) => document.get(key).is_some(),
        Json::Array(elements) => elements.0.iter().any(|one| matches!(one, Json::String(text) if text == key)),
        Json::String(text) => text == key,
        _ => false,
    }
}

fn has_key(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(holds_key(&json(arguments, 0)?, text(arguments, 1)?)))
}

fn has_any_key(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let document = json(arguments, 0)?;
    let holds = |one: &Datum| matches!(one, Datum::Text(key) if holds_key(&document, key));
    Ok(Datum::Boolean(array(arguments, 1)?.iter().any(holds)))
}

fn has_all_keys(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let document = json(arguments, 0)?;
    let holds = |one: &Datum| one.is_null() || matches!(one, Datum::Text(key) if holds_key(&document, key));
    Ok(Datum::Boolean(array(arguments, 1)?.iter().all(holds)))
}

fn join(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let elements = |one: Json| match one {
        Json::Array(elements) => elements.0,
        other => vec![other],
    };
    document(&match (json(arguments, 0)?, json(arguments, 1)?) {
        (Json::Object(left), Json::Object(right)) => {
            let pairs = left.0.into_iter().chain(right.0);
            Json::object(pairs.map(|(key, value)| (key.0, value)).collect())
        }
        (left, right) => Json::array([elements(left), elements(right)].concat()),
    })
}

fn without_key(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    without(json(arguments, 0)?, &[text(arguments, 1)?])
}

fn without_keys(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let keys = array(arguments, 1)?.iter().filter_map(|key| match key {
        Datum::Text(key) => Some(&**key),
        _ => None,
    });
    without(json(arguments, 0)?, &keys.collect::<Vec<_>>())
}

fn without(whole: Json, keys: &[&str]) -> Evaluated {
    document(&match whole {
        Json::Object(mut pairs) => {
            pairs.0.retain(|(name, _)| !keys.contains(&name.0.as_str()));
            Json::Object(pairs)
        }
        Json::Array(mut elements) => {
            elements.0.retain(|one| !matches!(one, Json::String(text) if keys.contains(&text.as_str())));
            Json::Array(elements)
        }
        _ => return Err(invalid("cannot delete from scalar")),
    })
}

fn without_element(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let place = integer(arguments, 1)?;
    document(&match json(arguments, 0)? {
        Json::Array(mut elements) => {
            let place = if place < 0 { place + elements.0.len() as i128 } else { place };
            if let Some(place) = usize::try_from(place).ok().filter(|place| *place < elements.0.len()) {
                elements.0.remove(place);
            }
            Json::Array(elements)
        }
        Json::Object(_) => return Err(invalid("cannot delete from object using integer index")),
        _ => return Err(invalid("cannot delete from scalar")),
    })
}

/// What is done at a path: a value is put there, or what is there is taken away.
struct PathChange {
    steps: Vec<String>,
    value: Option<Json>,
    create: bool,
}

impl PathChange {
    /// The path stands in the second argument.
    fn of(arguments: &[Datum], value: Option<Json>, create: bool) -> Result<PathChange, SqlError> {
        let steps = array(arguments, 1)?;
        if let Some(place) = steps.iter().position(Datum::is_null) {
            let message = format!("path element at position {} is null", place + 1);
            return Err(SqlError::new(SqlState("22004"), message));
        }
        let steps = (0..steps.len()).map(|place| text(steps, place).map(str::to_owned)).collect::<Result<_, _>>()?;
        Ok(PathChange { steps, value, create })
    }

    fn apply(&self, whole: Json) -> Evaluated {
        if whole.is_scalar() {
            let verb = if self.value.is_some() { "set" } else { "delete" };
            return Err(invalid(format!("cannot {verb} path in scalar")));
        }
        document(&if self.steps.is_empty() { whole } else { self.changed(whole, 0)? })
    }

    fn changed(&self, whole: Json, depth: usize) -> Result<Json, SqlError> {
        let Some(step) = self.steps.get(depth) else { return Ok(self.value.clone().unwrap_or(whole)) };
        let is_last = depth + 1 == self.steps.len();
        match whole {
            Json::Object(mut pairs) => {
                let found = pairs.0.iter().position(|(key, _)| key.0 == *step);
                match (found, &self.value) {
                    (Some(place), None) if is_last => drop(pairs.0.remove(place)),
                    (Some(place), _) => {
                        let old = std::mem::replace(&mut pairs.0[place].1, Json::Null);
                        pairs.0[place].1 = self.changed(old, depth + 1)?;
                    }
                    (None, Some(value)) if is_last && self.create => pairs.0.push((Key(step.clone()), value.clone())),
                    _ => {}
                }
                Ok(Json::object(pairs.0.into_iter().map(|(key, value)| (key.0, value)).collect()))
            }
            Json::Array(elements) => self.changed_array(elements.0, step, depth),
            other => Ok(other),
        }
    }

    fn changed_array(&self, mut elements: Vec<Json>, step: &str, depth: usize) -> Result<Json, SqlError> {
        let is_last = depth + 1 == self.steps.len();
        let wanted: i32 = step.trim().parse().map_err(|_| {
            let message = format!("path element at position {} is not an integer: \"{step}\"", depth + 1);
            SqlError::new(SqlState::INVALID_TEXT, message)
        })?;
        let place = if wanted < 0 { i64::from(wanted) + elements.len() as i64 } else { wanted.into() };
        match (usize::try_from(place).ok().filter(|place| *place < elements.len()), &self.value) {
            (Some(place), None) if is_last => drop(elements.remove(place)),
            (Some(place), _) => {
                let old = std::mem::replace(&mut elements[place], Json::Null);
                elements[place] = self.changed(old, depth + 1)?;
            }
            (None, Some(value)) if is_last && self.create && place < 0 => elements.insert(0, value.clone()),
            (None, Some(value)) if is_last && self.create => elements.push(value.clone()),
            _ => {}
        }
        Ok(Json::array(elements))
    }
}

fn set(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let create = if arguments.len() > 3 { boolean(arguments, 3)? } else { true };
    PathChange::of(arguments, Some(json(arguments, 2)?), create)?.apply(json(arguments, 0)?)
}

fn without_path(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    PathChange::of(arguments, None, false)?.apply(json(arguments, 0)?)
}

fn array_length(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    match json(arguments, 0)? {
        Json::Array(elements) => Ok(Datum::Integer(elements.0.len() as i128)),
        Json::Object(_) => Err(invalid("cannot get array length of a non-array")),
        _ => Err(invalid("cannot get array length of a scalar")),
    }
}

fn size(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(match json(arguments, 0)? {
        Json::Array(elements) => elements.0.len() as i128,
        Json::Object(pairs) => pairs.0.len() as i128,
        _ => 1,
    }))
}

fn kind(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(json(arguments, 0)?.kind())
}

fn mysql_kind(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(match json(arguments, 0)? {
        Json::Number(number) if number.fractional_digit_count() <= 0 => "INTEGER".to_owned(),
        Json::Number(_) => "DOUBLE".to_owned(),
        other => other.kind().to_ascii_uppercase(),
    })
}

fn is_valid(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(Json::parse(text(arguments, 0)?).is_ok()))
}

/// MySQL's paths: `$.key`, `$."key"`, `$[0]`; wildcards are refused.
fn mysql_steps(path: &str) -> Result<Vec<String>, SqlError> {
    let wrong = || SqlError::new(SqlState("42000"), format!("invalid JSON path expression: {path}"));
    let mut rest = path.trim().strip_prefix('$').ok_or_else(wrong)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[") {
            let (place, after) = after.split_once(']').ok_or_else(wrong)?;
            place.trim().parse::<u32>().map_err(|_| SqlError::unsupported(format!("the JSON path {path}")))?;
            steps.push(place.trim().to_owned());
            rest = after;
        } else if let Some(after) = rest.strip_prefix(".\"") {
            let (key, after) = after.split_once('"').ok_or_else(wrong)?;
            steps.push(key.to_owned());
            rest = after;
        } else {
            let after = rest.strip_prefix('.').ok_or_else(wrong)?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            if end == 0 || after.starts_with('*') {
                return Err(SqlError::unsupported(format!("the JSON path {path}")));
            }
            steps.push(after[..end].to_owned());
            rest = &after[end..];
        }
    }
    Ok(steps)
}

fn extracted(arguments: &[Datum]) -> Result<Option<String>, SqlError> {
    let steps = mysql_steps(text(arguments, 1)?)?;
    follow(text(arguments, 0)?, &steps.iter().map(String::as_str).collect::<Vec<_>>())
}

fn extract(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(extracted(arguments)?.map_or(Datum::Null, |part| Datum::Json(part.into())))
}

fn extract_text(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    match extracted(arguments)? {
        None => Ok(Datum::Null),
        Some(part) if part.starts_with('"') => answer(Json::parse(&part)?.as_text().unwrap_or_default()),
        Some(part) => answer(part),
    }
}

fn unquote(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    match Json::parse(text(arguments, 0)?) {
        Ok(Json::String(string)) => answer(string),
        _ => answer(text(arguments, 0)?),
    }
}

fn quote(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(json::quote(text(arguments, 0)?))
}

fn stripped(document: Json) -> Json {
    match document {
        Json::Object(pairs) => {
            let kept = pairs.0.into_iter().filter(|(_, value)| *value != Json::Null);
            Json::object(kept.map(|(key, value)| (key.0, stripped(value))).collect())
        }
        Json::Array(elements) => Json::array(elements.0.into_iter().map(stripped).collect()),
        other => other,
    }
}

/// Of JSON, which keeps its order and its equal keys, without blanks.
fn stripped_text(text: &str) -> Result<String, SqlError> {
    let text = text.trim();
    let members = json::members(text)?;
    let mut parts = Vec::with_capacity(members.len());
    for (key, part) in members {
        match key {
            Some(_) if part == "null" => {}
            Some(key) => parts.push(format!("{}:{}", json::quote(&key), stripped_text(part)?)),
            None => parts.push(stripped_text(part)?),
        }
    }
    let joined = parts.join(",");
    Ok(match text.as_bytes().first() {
        Some(b'{') => format!("{{{joined}}}"),
        Some(b'[') => format!("[{joined}]"),
        Some(b'"') => Json::parse(text)?.print(),
        _ => text.to_owned(),
    })
}

fn strip_nulls(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match call.result {
        SqlType::Json => Ok(Datum::Json(stripped_text(text(arguments, 0)?)?.into())),
        _ => document(&stripped(json(arguments, 0)?)),
    }
}

fn pretty(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let mut printed = String::new();
    pretty_into(&json(arguments, 0)?, 0, &mut printed);
    answer(printed)
}

fn pretty_into(document: &Json, depth: usize, printed: &mut String) {
    let indent = |depth: usize| "    ".repeat(depth);
    let (open, close, parts): (char, char, Vec<(Option<&str>, &Json)>) = match document {
        Json::Object(pairs) => ('{', '}', pairs.0.iter().map(|(key, value)| (Some(key.0.as_str()), value)).collect()),
        Json::Array(elements) => ('[', ']', elements.0.iter().map(|one| (None, one)).collect()),
        other => return printed.push_str(&other.print()),
    };
    printed.push(open);
    for (place, (key, value)) in parts.into_iter().enumerate() {
        printed.push_str(if place > 0 { ",\n" } else { "\n" });
        printed.push_str(&indent(depth + 1));
        if let Some(key) = key {
            printed.push_str(&format!("{}: ", json::quote(key)));
        }
        pretty_into(value, depth + 1, printed);
    }
    printed.push_str(&format!("\n{}{close}", indent(depth)));
}
