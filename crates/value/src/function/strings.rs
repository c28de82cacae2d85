//! Functions of text.
//!
//! Places count from 1, in characters. What would be larger than the limit is refused before it is built.

use super::Invocation;
use super::arguments::{Evaluated, LONGEST_TEXT, answer, bytes, integer, invalid, text, too_large};
use super::pattern::length;
use super::signature::{SignatureRow, TypePattern::*, row};
use crate::Dialect;
use crate::SqlError;
use crate::{Collation, Datum};

pub(super) const OPERATORS: &[SignatureRow] = &[
    row("||", &[Text, Text], Text, join).postgres(),
    row("||", &[Text, NonArray], Text, join_any).postgres(),
    row("||", &[NonArray, Text], Text, join_any).postgres(),
    row("||", &[Bytes, Bytes], Bytes, join_bytes).postgres(),
    row("^@", &[Text, Text], Boolean, starts_with).postgres(),
];

pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("length", &[Text], Integer, characters).postgres(),
    row("length", &[Text], Integer, octets).mysql(),
    row("length", &[Bytes], Integer, octets),
    row("char_length", &[Text], Integer, characters),
    row("character_length", &[Text], Integer, characters),
    row("octet_length", &[Text], Integer, octets),
    row("octet_length", &[Bytes], Integer, octets),
    row("bit_length", &[Text], Integer, bits),
    row("lower", &[Text], Text, lower),
    row("lcase", &[Text], Text, lower).mysql(),
    row("upper", &[Text], Text, upper),
    row("ucase", &[Text], Text, upper).mysql(),
    row("initcap", &[Text], Text, capitals).postgres(),
    row("substring", &[Text, Integer], Text, substring),
    row("substring", &[Text, Integer, Integer], Text, substring),
    row("substr", &[Text, Integer], Text, substring),
    row("substr", &[Text, Integer, Integer], Text, substring),
    row("mid", &[Text, Integer, Integer], Text, substring).mysql(),
    row("left", &[Text, Integer], Text, left),
    row("right", &[Text, Integer], Text, right),
    row("trim", &[Text], Text, trim_both),
    row("trim", &[Text, Text], Text, trim_both),
    row("btrim", &[Text], Text, trim_both).postgres(),
    row("btrim", &[Text, Text], Text, trim_both).postgres(),
    row("ltrim", &[Text], Text, trim_left),
    row("ltrim", &[Text, Text], Text, trim_left),
    row("rtrim", &[Text], Text, trim_right),
    row("rtrim", &[Text, Text], Text, trim_right),
    row("lpad", &[Text, Integer], Text, pad_left),
    row("lpad", &[Text, Integer, Text], Text, pad_left),
    row("rpad", &[Text, Integer], Text, pad_right),
    row("rpad", &[Text, Integer, Text], Text, pad_right),
    row("replace", &[Text, Text, Text], Text, replace),
    row("translate", &[Text, Text, Text], Text, translate).postgres(),
    row("overlay", &[Text, Text, Integer], Text, overlay).postgres(),
    row("overlay", &[Text, Text, Integer, Integer], Text, overlay).postgres(),
    row("insert", &[Text, Integer, Integer, Text], Text, insert).mysql(),
    // Called as a function, PostgreSQL's `position` has the whole first; `POSITION(part IN whole)` is `strpos` and `locate`.
    row("position", &[Text, Text], Integer, position_in_second).mysql(),
    row("position", &[Text, Text], Integer, position_in_first).postgres(),
    row("strpos", &[Text, Text], Integer, position_in_first).postgres(),
    row("instr", &[Text, Text], Integer, position_in_first).mysql(),
    row("locate", &[Text, Text], Integer, position_in_second).mysql(),
    row("locate", &[Text, Text, Integer], Integer, position_in_second).mysql(),
    row("concat", &[Any], Text, concatenate).variadic().lenient().postgres(),
    row("concat", &[Any], Text, concatenate).variadic().mysql(),
    row("concat_ws", &[Text, Any], Text, concatenate_with).variadic().lenient(),
    row("repeat", &[Text, Integer], Text, repeat),
    row("space", &[Integer], Text, space).mysql(),
    row("reverse", &[Text], Text, reverse),
    row("split_part", &[Text, Text, Integer], Text, split_part).postgres(),
    row("substring_index", &[Text, Text, Integer], Text, substring_index).mysql(),
    row("ascii", &[Text], Integer, code).postgres(),
    row("ascii", &[Text], Integer, first_byte).mysql(),
    row("ord", &[Text], Integer, first_byte).mysql(),
    row("chr", &[Integer], Text, character).postgres(),
    row("starts_with", &[Text, Text], Boolean, starts_with).postgres(),
    row("strcmp", &[Text, Text], Integer, compare).mysql(),
    row("field", &[Text, Text], Integer, field).variadic().lenient().mysql(),
    row("find_in_set", &[Text, Text], Integer, find_in_set).mysql(),
    row("elt", &[Integer, Text], Text, choose_text).variadic().lenient().mysql(),
];

fn join(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    bounded(format!("{}{}", text(arguments, 0)?, text(arguments, 1)?))
}

fn join_any(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    // `||` casts to text, so a boolean is a word; `concat` prints, so there it is a letter.
    let cast = |place: usize| match arguments.get(place) {
        Some(Datum::Boolean(value)) => value.to_string(),
        _ => printed(arguments, call, place),
    };
    bounded(cast(0) + &cast(1))
}

fn join_bytes(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Bytes([bytes(arguments, 0)?, bytes(arguments, 1)?].concat().into()))
}

fn bounded(text: String) -> Evaluated {
    if text.len() > LONGEST_TEXT { Err(too_large("the text")) } else { answer(text) }
}

/// An argument of any type as text.
pub(super) fn printed(arguments: &[Datum], call: Invocation<'_>, place: usize) -> String {
    let Some(datum) = arguments.get(place) else { return String::new() };
    let sql_type = call.parameters.get(place).unwrap_or(&crate::SqlType::TEXT);
    match (datum, sql_type) {
        // A CHAR loses its blanks on its way to text.
        (Datum::Text(text), _) => text.to_string(),
        _ => crate::output(datum, sql_type, call.environment.style()),
    }
}

fn characters(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(text(arguments, 0)?.chars().count() as i128))
}

fn octets(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(bytes(arguments, 0)?.len() as i128))
}

fn bits(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(bytes(arguments, 0)?.len() as i128 * 8))
}

/// Letter for letter, as databases do: what would become several letters, as ß, stays.
fn capital(letter: char) -> char {
    let mut letters = letter.to_uppercase();
    match (letters.next(), letters.next()) {
        (Some(one), None) => one,
        _ => letter,
    }
}

fn small(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

fn lower(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(text(arguments, 0)?.chars().map(small).collect::<String>())
}

fn upper(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(text(arguments, 0)?.chars().map(capital).collect::<String>())
}

fn capitals(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let mut inside = false;
    let mut result = String::new();
    for letter in text(arguments, 0)?.chars() {
        result.push(if inside { small(letter) } else { capital(letter) });
        inside = letter.is_alphanumeric();
    }
    answer(result)
}

fn substring(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let whole = text(arguments, 0)?;
    let count = whole.chars().count() as i128;
    let mysql = call.environment.dialect == Dialect::MySql;
    let start = match integer(arguments, 1)? {
        0 if mysql => return answer(""),
        start if start < 0 && mysql && -start > count => return answer(""),
        start if start < 0 && mysql => count + start + 1,
        start => start,
    };
    let end = match arguments.len() {
        3 => {
            let length = integer(arguments, 2)?;
            if length < 0 && !mysql {
                return Err(SqlError::new(crate::SqlState("22011"), "negative substring length not allowed"));
            }
            start + length.max(0)
        }
        _ => count + 1,
    };
    answer(slice(whole, start, end))
}

/// The characters from one place to before another.
fn slice(whole: &str, start: i128, end: i128) -> String {
    let first = start.max(1) - 1;
    let taken = (end - 1 - first).max(0);
    whole.chars().skip(first.min(1 << 40) as usize).take(taken.min(1 << 40) as usize).collect()
}

/// A negative count leaves that many out; MySQL gives nothing.
fn left(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (whole, count) = (text(arguments, 0)?, integer(arguments, 1)?);
    let mysql = call.environment.dialect == Dialect::MySql;
    let end = if count < 0 && !mysql { whole.chars().count() as i128 + count } else { count };
    answer(slice(whole, 1, end + 1))
}

fn right(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (whole, count) = (text(arguments, 0)?, integer(arguments, 1)?);
    let total = whole.chars().count() as i128;
    let start = match count {
        ..0 if call.environment.dialect == Dialect::MySql => return answer(""),
        ..0 => 1 - count,
        _ => total - count + 1,
    };
    answer(slice(whole, start, total + 1))
}

/// PostgreSQL removes any of the characters, MySQL the whole text again and again.
fn trimmed<'text>(
    arguments: &'text [Datum],
    call: Invocation<'_>,
    left: bool,
    right: bool,
) -> Result<&'text str, SqlError> {
    let mut whole = text(arguments, 0)?;
    let removed = if arguments.len() > 1 { text(arguments, 1)? } else { " " };
    if removed.is_empty() {
        return Ok(whole);
    }
    if call.environment.dialect == Dialect::MySql {
        if left {
            whole = whole.trim_start_matches(removed);
        }
        return Ok(if right { whole.trim_end_matches(removed) } else { whole });
    }
    if left {
        whole = whole.trim_start_matches(|letter| removed.contains(letter));
    }
    Ok(if right { whole.trim_end_matches(|letter| removed.contains(letter)) } else { whole })
}

fn trim_both(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    answer(trimmed(arguments, call, true, true)?)
}

fn trim_left(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    answer(trimmed(arguments, call, true, false)?)
}

fn trim_right(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    answer(trimmed(arguments, call, false, true)?)
}

/// What pads, and the text cut to the length.
fn padding(arguments: &[Datum]) -> Result<(String, String), SqlError> {
    let wanted = length(arguments, 1)?;
    if wanted > LONGEST_TEXT / 4 {
        return Err(too_large("the padded text"));
    }
    let fill = if arguments.len() > 2 { text(arguments, 2)? } else { " " };
    let kept: String = text(arguments, 0)?.chars().take(wanted).collect();
    let missing = wanted - kept.chars().count();
    Ok((fill.chars().cycle().take(if fill.is_empty() { 0 } else { missing }).collect(), kept))
}

fn pad_left(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (fill, kept) = padding(arguments)?;
    answer(fill + &kept)
}

fn pad_right(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (fill, kept) = padding(arguments)?;
    answer(kept + &fill)
}

fn replace(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (whole, from, to) = (text(arguments, 0)?, text(arguments, 1)?, text(arguments, 2)?);
    if from.is_empty() {
        return answer(whole);
    }
    if whole.len().saturating_mul(to.len() / from.len() + 1) > 16 * LONGEST_TEXT {
        return Err(too_large("the text"));
    }
    bounded(whole.replace(from, to))
}

fn translate(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let from: Vec<char> = text(arguments, 1)?.chars().collect();
    let to: Vec<char> = text(arguments, 2)?.chars().collect();
    let change = |letter: char| match from.iter().position(|one| *one == letter) {
        Some(place) => to.get(place).copied(),
        None => Some(letter),
    };
    answer(text(arguments, 0)?.chars().filter_map(change).collect::<String>())
}

fn overlay(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (whole, part, start) = (text(arguments, 0)?, text(arguments, 1)?, integer(arguments, 2)?);
    let count = if arguments.len() > 3 { integer(arguments, 3)? } else { part.chars().count() as i128 };
    if start < 1 {
        return Err(SqlError::new(crate::SqlState("22011"), "negative substring length not allowed"));
    }
    answer(slice(whole, 1, start) + part + &slice(whole, start + count, i128::from(i64::MAX)))
}

fn insert(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (whole, start, count, part) =
        (text(arguments, 0)?, integer(arguments, 1)?, integer(arguments, 2)?, text(arguments, 3)?);
    let total = whole.chars().count() as i128;
    if start < 1 || start > total {
        return answer(whole);
    }
    let count = if count < 0 { total } else { count };
    answer(slice(whole, 1, start) + part + &slice(whole, start + count, total + 1))
}

/// The place of a part in a whole, from a place on; in MySQL without regard to case.
fn place_of(part: &str, whole: &str, from: i128, call: Invocation<'_>) -> Datum {
    let fold = |one: &str| -> Vec<String> {
        let collation = Collation::of(call.environment.dialect);
        one.chars().map(|letter| collation.key(letter.encode_utf8(&mut [0; 4])).into_owned()).collect()
    };
    let (part, whole) = (fold(part), fold(whole));
    let Some(first) = usize::try_from(from).ok().filter(|from| *from >= 1) else { return Datum::Integer(0) };
    let found = (first - 1..=whole.len()).find(|start| whole[*start..].starts_with(&part));
    Datum::Integer(found.map_or(0, |start| start as i128 + 1))
}

fn position_in_first(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(place_of(text(arguments, 1)?, text(arguments, 0)?, 1, call))
}

fn position_in_second(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let from = if arguments.len() > 2 { integer(arguments, 2)? } else { 1 };
    Ok(place_of(text(arguments, 0)?, text(arguments, 1)?, from, call))
}

fn concatenate(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    bounded((0..arguments.len()).map(|place| printed(arguments, call, place)).collect())
}

fn concatenate_with(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    if arguments.first().is_none_or(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let present = (1..arguments.len()).filter(|place| !arguments[*place].is_null());
    let parts: Vec<String> = present.map(|place| printed(arguments, call, place)).collect();
    bounded(parts.join(text(arguments, 0)?))
}

fn repeat(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (part, count) = (text(arguments, 0)?, length(arguments, 1)?);
    if part.len().saturating_mul(count) > LONGEST_TEXT {
        return Err(too_large("the repeated text"));
    }
    answer(part.repeat(count))
}

fn space(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let count = length(arguments, 0)?;
    if count > LONGEST_TEXT { Err(too_large("the text")) } else { answer(" ".repeat(count)) }
}

fn reverse(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(text(arguments, 0)?.chars().rev().collect::<String>())
}

fn split_part(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (whole, separator, wanted) = (text(arguments, 0)?, text(arguments, 1)?, integer(arguments, 2)?);
    if wanted == 0 {
        return Err(invalid("field position must not be zero"));
    }
    let parts: Vec<&str> = match separator {
        "" => vec![whole],
        separator => whole.split(separator).collect(),
    };
    let place = if wanted > 0 { wanted - 1 } else { parts.len() as i128 + wanted };
    answer(usize::try_from(place).ok().and_then(|place| parts.get(place).copied()).unwrap_or(""))
}

fn substring_index(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (whole, separator, count) = (text(arguments, 0)?, text(arguments, 1)?, integer(arguments, 2)?);
    if separator.is_empty() || count == 0 {
        return answer("");
    }
    let parts: Vec<&str> = whole.split(separator).collect();
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX).min(parts.len());
    let kept = if count > 0 { &parts[..wanted] } else { &parts[parts.len() - wanted..] };
    answer(kept.join(separator))
}

fn code(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(text(arguments, 0)?.chars().next().map_or(0, |letter| letter as i128)))
}

fn first_byte(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(text(arguments, 0)?.bytes().next().map_or(0, i128::from)))
}

fn character(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let code = u32::try_from(integer(arguments, 0)?).ok().filter(|code| *code != 0).and_then(char::from_u32);
    answer(String::from(code.ok_or_else(|| invalid("requested character is not valid"))?))
}

fn starts_with(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(text(arguments, 0)?.starts_with(text(arguments, 1)?)))
}

fn compare(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let key = |place| text(arguments, place).map(|one| Collation::Folded.key(one));
    Ok(Datum::Integer(key(0)?.cmp(&key(1)?) as i128))
}

fn field(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    if arguments.first().is_none_or(Datum::is_null) {
        return Ok(Datum::Integer(0));
    }
    let wanted = Collation::Folded.key(text(arguments, 0)?);
    let is_wanted = |one: &Datum| matches!(one, Datum::Text(text) if Collation::Folded.key(text) == wanted);
    Ok(Datum::Integer(arguments.iter().skip(1).position(is_wanted).map_or(0, |place| place as i128 + 1)))
}

fn find_in_set(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let wanted = Collation::Folded.key(text(arguments, 0)?);
    let found = text(arguments, 1)?.split(',').position(|one| Collation::Folded.key(one) == wanted);
    Ok(Datum::Integer(found.map_or(0, |place| place as i128 + 1)))
}

fn choose_text(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    match arguments.first() {
        Some(Datum::Integer(place)) if *place >= 1 => {
            Ok(usize::try_from(*place).ok().and_then(|place| arguments.get(place)).cloned().unwrap_or_default())
        }
        _ => Ok(Datum::Null),
    }
}
