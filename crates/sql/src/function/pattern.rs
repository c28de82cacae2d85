//! LIKE, SIMILAR TO and regular expressions.
//!
//! LIKE is matched here, remembering only the last `%`: no pattern is slower than its length times the text's. SIMILAR TO and `~`
//! become patterns of the `regex` crate, which is linear; it has no back references, and a pattern that uses them is refused.

use super::Invocation;
use super::arguments::{Answer, answer, integer, invalid, text};
use super::signature::{Kind::*, Row, row};
use crate::dialect::Dialect;
use crate::error::{SqlError, SqlState};
use crate::value::types::SqlType;
use crate::value::{Collation, Datum};
use regex::Regex;
use std::cell::RefCell;

pub(super) const OPERATORS: &[Row] = &[
    row("like", &[Text, Text], Boolean, like),
    row("~~", &[Text, Text], Boolean, like).postgres(),
    row("not like", &[Text, Text], Boolean, not_like),
    row("!~~", &[Text, Text], Boolean, not_like).postgres(),
    row("ilike", &[Text, Text], Boolean, ilike).postgres(),
    row("~~*", &[Text, Text], Boolean, ilike).postgres(),
    row("not ilike", &[Text, Text], Boolean, not_ilike).postgres(),
    row("!~~*", &[Text, Text], Boolean, not_ilike).postgres(),
    row("like", &[Text, Text, Text], Boolean, like),
    row("not like", &[Text, Text, Text], Boolean, not_like),
    row("ilike", &[Text, Text, Text], Boolean, ilike).postgres(),
    row("not ilike", &[Text, Text, Text], Boolean, not_ilike).postgres(),
    row("similar to", &[Text, Text], Boolean, similar).postgres(),
    row("similar to", &[Text, Text, Text], Boolean, similar).postgres(),
    row("not similar to", &[Text, Text], Boolean, not_similar).postgres(),
    row("not similar to", &[Text, Text, Text], Boolean, not_similar).postgres(),
    row("~", &[Text, Text], Boolean, matches).postgres(),
    row("~*", &[Text, Text], Boolean, matches_any_case).postgres(),
    row("!~", &[Text, Text], Boolean, not_matches).postgres(),
    row("!~*", &[Text, Text], Boolean, not_matches_any_case).postgres(),
    row("regexp", &[Text, Text], Boolean, matches_any_case).mysql(),
    row("rlike", &[Text, Text], Boolean, matches_any_case).mysql(),
    row("not regexp", &[Text, Text], Boolean, not_matches_any_case).mysql(),
    row("not rlike", &[Text, Text], Boolean, not_matches_any_case).mysql(),
];

pub(super) const FUNCTIONS: &[Row] = &[
    row("regexp_replace", &[Text, Text, Text], Text, replace),
    row("regexp_replace", &[Text, Text, Text, Text], Text, replace).postgres(),
    row("regexp_match", &[Text, Text], TextArray, captures).postgres(),
    row("regexp_match", &[Text, Text, Text], TextArray, captures).postgres(),
    row("regexp_like", &[Text, Text], Boolean, matches_like),
    row("regexp_like", &[Text, Text, Text], Boolean, matches_like),
    row("regexp_count", &[Text, Text], Integer, count),
    row("regexp_substr", &[Text, Text], Text, substring),
    row("regexp_split_to_array", &[Text, Text], TextArray, split).postgres(),
    row("substring", &[Text, Text], Text, substring).postgres(),
    row("like_escape", &[Text, Text], Text, like_escape).postgres(),
];

fn negated(answer: Answer) -> Answer {
    Ok(match answer? {
        Datum::Boolean(value) => Datum::Boolean(!value),
        other => other,
    })
}

/// The text that LIKE sees: a CHAR with its blanks.
fn subject(arguments: &[Datum], call: Invocation<'_>) -> Result<String, SqlError> {
    let text = text(arguments, 0)?;
    Ok(match (call.parameters.first(), call.environment.dialect) {
        (Some(SqlType::Character(length)), Dialect::Postgres) => format!("{text:<width$}", width = *length as usize),
        _ => text.to_owned(),
    })
}

fn escape_of(arguments: &[Datum]) -> Result<Option<char>, SqlError> {
    if arguments.len() < 3 {
        return Ok(Some('\\'));
    }
    let mut letters = text(arguments, 2)?.chars();
    match (letters.next(), letters.next()) {
        (escape, None) => Ok(escape),
        _ => Err(SqlError::new(SqlState("22025"), "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

fn like(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    let folding = call.environment.dialect == Dialect::MySql;
    like_with(arguments, call, |letter| if folding { fold(letter) } else { letter.to_string() })
}

/// One letter as MySQL compares it.
fn fold(letter: char) -> String {
    Collation::Folded.key(letter.encode_utf8(&mut [0; 4])).into_owned()
}

fn not_like(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    negated(like(arguments, call))
}

fn ilike(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    like_with(arguments, call, |letter| letter.to_lowercase().collect())
}

fn not_ilike(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    negated(ilike(arguments, call))
}

fn like_with(arguments: &[Datum], call: Invocation<'_>, fold: impl Fn(char) -> String) -> Answer {
    let subject: Vec<String> = subject(arguments, call)?.chars().map(&fold).collect();
    let pattern = like_tokens(text(arguments, 1)?, escape_of(arguments)?, fold);
    Ok(Datum::Boolean(like_matches(&subject, &pattern)))
}

#[derive(PartialEq)]
enum Token {
    Many,
    One,
    Letter(String),
    Nothing,
}

fn like_tokens(pattern: &str, escape: Option<char>, fold: impl Fn(char) -> String) -> Vec<Token> {
    let mut letters = pattern.chars();
    let mut tokens = Vec::new();
    while let Some(letter) = letters.next() {
        tokens.push(if Some(letter) == escape {
            // An escape at the end escapes nothing, and nothing matches it.
            letters.next().map_or(Token::Nothing, |escaped| Token::Letter(fold(escaped)))
        } else if letter == '%' {
            Token::Many
        } else if letter == '_' {
            Token::One
        } else {
            Token::Letter(fold(letter))
        });
    }
    tokens
}

/// Walks both; on a mismatch the last `%` takes one letter more. Earlier ones never need to.
fn like_matches(subject: &[String], pattern: &[Token]) -> bool {
    let (mut at, mut token) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < subject.len() {
        match pattern.get(token) {
            Some(Token::Many) => {
                retry = Some((at, token));
                token += 1;
            }
            Some(Token::One) => (at, token) = (at + 1, token + 1),
            Some(Token::Letter(letter)) if *letter == subject[at] => (at, token) = (at + 1, token + 1),
            _ => match retry {
                Some((start, many)) => {
                    retry = Some((start + 1, many));
                    (at, token) = (start + 1, many + 1);
                }
                None => return false,
            },
        }
    }
    pattern[token..].iter().all(|rest| *rest == Token::Many)
}

fn like_escape(arguments: &[Datum], _: Invocation<'_>) -> Answer {
    let escape = text(arguments, 1)?.chars().next();
    let mut plain = String::new();
    for letter in text(arguments, 0)?.chars() {
        match letter {
            letter if Some(letter) == escape => plain.push('\\'),
            '\\' => plain.push_str("\\\\"),
            letter => plain.push(letter),
        }
    }
    answer(plain)
}

thread_local! {
    // The same pattern is applied to row after row: keep the last compiled ones.
    static COMPILED: RefCell<Vec<(String, Regex)>> = const { RefCell::new(Vec::new()) };
}

const MOST_COMPILED: usize = 16;

fn compile(pattern: &str, any_case: bool) -> Result<Regex, SqlError> {
    let translated = format!("(?s{}){}", if any_case { "i" } else { "" }, translate(pattern));
    COMPILED.with_borrow_mut(|compiled| {
        if let Some((_, regex)) = compiled.iter().find(|(known, _)| *known == translated) {
            return Ok(regex.clone());
        }
        let regex = Regex::new(&translated).map_err(|error| {
            let reason = error.to_string().lines().last().unwrap_or_default().to_owned();
            SqlError::new(SqlState("2201B"), format!("invalid regular expression: {reason}"))
        })?;
        if compiled.len() == MOST_COMPILED {
            compiled.remove(0);
        }
        compiled.push((translated, regex.clone()));
        Ok(regex)
    })
}

/// PostgreSQL's escapes for word boundaries in the words of the `regex` crate.
fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            translated.push(letter);
            continue;
        }
        match letters.next() {
            Some('m') => translated.push_str("\\b{start}"),
            Some('M') => translated.push_str("\\b{end}"),
            Some('y') => translated.push_str("\\b"),
            Some('Y') => translated.push_str("\\B"),
            Some('Z') => translated.push_str("\\z"),
            Some(other) => translated.extend(['\\', other]),
            None => translated.push('\\'),
        }
    }
    translated
}

fn matches_with(arguments: &[Datum], any_case: bool) -> Answer {
    Ok(Datum::Boolean(compile(text(arguments, 1)?, any_case)?.is_match(text(arguments, 0)?)))
}

fn matches(arguments: &[Datum], _: Invocation<'_>) -> Answer {
    matches_with(arguments, false)
}

fn matches_any_case(arguments: &[Datum], _: Invocation<'_>) -> Answer {
    matches_with(arguments, true)
}

fn not_matches(arguments: &[Datum], _: Invocation<'_>) -> Answer {
    negated(matches_with(arguments, false))
}

fn not_matches_any_case(arguments: &[Datum], _: Invocation<'_>) -> Answer {
    negated(matches_with(arguments, true))
}

fn matches_like(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    let flags = if arguments.len() > 2 { text(arguments, 2)? } else { "" };
    let folding = call.environment.dialect == Dialect::MySql && !flags.contains('c');
    matches_with(arguments, folding || flags.contains('i'))
}

fn similar(arguments: &[Datum], _: Invocation<'_>) -> Answer {
    let escape = escape_of(arguments)?;
    let mut pattern = String::from("^(?:");
    let mut letters = text(arguments, 1)?.chars();
    let mut in_set = false;
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => {
                let literal = letters.next().map(String::from).unwrap_or_default();
                pattern.push_str(&regex::escape(&literal));
            }
            '[' | ']' => {
                in_set = letter == '[';
                pattern.push(letter);
            }
            '%' if !in_set => pattern.push_str(".*"),
            '_' if !in_set => pattern.push('.'),
            '.' | '^' | '$' | '\\' if !in_set => pattern.extend(['\\', letter]),
            other => pattern.push(other),
        }
    }
    pattern.push_str(")$");
    Ok(Datum::Boolean(compile(&pattern, false)?.is_match(text(arguments, 0)?)))
}

fn not_similar(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    negated(similar(arguments, call))
}

fn replace(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    let mysql = call.environment.dialect == Dialect::MySql;
    let flags = if arguments.len() > 3 { text(arguments, 3)? } else { "" };
    if let Some(flag) = flags.chars().find(|flag| !matches!(flag, 'g' | 'i' | 'c')) {
        return Err(invalid(format!("invalid regular expression option: \"{flag}\"")));
    }
    let regex = compile(text(arguments, 1)?, mysql || flags.contains('i'))?;
    let limit = if mysql || flags.contains('g') { 0 } else { 1 };
    let template = replacement(text(arguments, 2)?);
    answer(regex.replacen(text(arguments, 0)?, limit, template.as_str()).into_owned())
}

/// `\1` and `\&` as `${1}` and `${0}`; a dollar is itself.
fn replacement(template: &str) -> String {
    let mut translated = String::new();
    let mut letters = template.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '$' => translated.push_str("$$"),
            '\\' => match letters.next() {
                Some(digit @ '1'..='9') => translated.push_str(&format!("${{{digit}}}")),
                Some('&') => translated.push_str("${0}"),
                Some(other) => translated.push(other),
                None => translated.push('\\'),
            },
            other => translated.push(other),
        }
    }
    translated
}

/// The groups of the first match, or the match where the pattern has none.
fn captures(arguments: &[Datum], _: Invocation<'_>) -> Answer {
    let flags = if arguments.len() > 2 { text(arguments, 2)? } else { "" };
    let regex = compile(text(arguments, 1)?, flags.contains('i'))?;
    let Some(found) = regex.captures(text(arguments, 0)?) else { return Ok(Datum::Null) };
    let skipped = usize::from(found.len() > 1);
    let group = |one: Option<regex::Match<'_>>| one.map_or(Datum::Null, |one| Datum::text(one.as_str()));
    Ok(Datum::Array(found.iter().skip(skipped).map(group).collect()))
}

fn substring(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    let mysql = call.environment.dialect == Dialect::MySql;
    let regex = compile(text(arguments, 1)?, mysql)?;
    let Some(found) = regex.captures(text(arguments, 0)?) else { return Ok(Datum::Null) };
    let place = if mysql { 0 } else { usize::from(found.len() > 1) };
    Ok(found.get(place).map_or(Datum::Null, |one| Datum::text(one.as_str())))
}

fn count(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    let regex = compile(text(arguments, 1)?, call.environment.dialect == Dialect::MySql)?;
    Ok(Datum::Integer(regex.find_iter(text(arguments, 0)?).count() as i128))
}

fn split(arguments: &[Datum], _: Invocation<'_>) -> Answer {
    let regex = compile(text(arguments, 1)?, false)?;
    Ok(Datum::Array(regex.split(text(arguments, 0)?).map(Datum::text).collect()))
}

/// Where the argument is a length: at least zero.
pub(super) fn length(arguments: &[Datum], place: usize) -> Result<usize, SqlError> {
    Ok(usize::try_from(integer(arguments, place)?.max(0)).unwrap_or(usize::MAX))
}
