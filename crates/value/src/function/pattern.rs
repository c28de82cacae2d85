//! LIKE, SIMILAR TO and regular expressions.
//!
//! LIKE is matched here, remembering only the last `%`: no pattern is slower than its length times the text's. SIMILAR TO and `~`
//! are matched by [`super::regular`]; here is what is done with the matches.

use super::Invocation;
use super::arguments::{Evaluated, LONGEST_TEXT, answer, integer, invalid, text, too_large};
use super::regular::compile;
use super::signature::{SignatureRow, TypePattern::*, row};
use crate::Dialect;
use crate::SqlType;
use crate::{Collation, Datum};
use crate::{SqlError, SqlState};

pub(super) const OPERATORS: &[SignatureRow] = &[
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

pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("regexp_replace", &[Text, Text, Text], Text, replace),
    row("regexp_replace", &[Text, Text, Text, Text], Text, replace).postgres(),
    row("regexp_match", &[Text, Text], TextArray, captures).postgres(),
    row("regexp_match", &[Text, Text, Text], TextArray, captures).postgres(),
    row("regexp_like", &[Text, Text], Boolean, matches_like),
    row("regexp_like", &[Text, Text, Text], Boolean, matches_like),
    row("regexp_count", &[Text, Text], Integer, count),
    row("regexp_substr", &[Text, Text], Text, whole_match),
    row("regexp_split_to_array", &[Text, Text], TextArray, split).postgres(),
    row("substring", &[Text, Text], Text, substring).postgres(),
    row("like_escape", &[Text, Text], Text, like_escape).postgres(),
];

fn negated(answer: Evaluated) -> Evaluated {
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
    one_escape(text(arguments, 2)?)
}

/// The letter of an ESCAPE; none where it is empty, and then nothing is escaped.
fn one_escape(text: &str) -> Result<Option<char>, SqlError> {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (escape, None) => Ok(escape),
        _ => Err(SqlError::new(SqlState("22025"), "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

fn like(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let folding = call.environment.dialect == Dialect::MySql;
    like_with(arguments, call, |letter| if folding { fold(letter) } else { letter.to_string() })
}

/// One letter as MySQL compares it.
fn fold(letter: char) -> String {
    Collation::Folded.key(letter.encode_utf8(&mut [0; 4])).into_owned()
}

fn not_like(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    negated(like(arguments, call))
}

fn ilike(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    like_with(arguments, call, |letter| letter.to_lowercase().collect())
}

fn not_ilike(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    negated(ilike(arguments, call))
}

fn like_with(arguments: &[Datum], call: Invocation<'_>, fold: impl Fn(char) -> String) -> Evaluated {
    let subject: Vec<String> = subject(arguments, call)?.chars().map(&fold).collect();
    let pattern = like_tokens(text(arguments, 1)?, escape_of(arguments)?, fold, call.environment.dialect);
    like_matches(&subject, &pattern).map(Datum::Boolean)
}

#[derive(PartialEq)]
enum Token {
    Many,
    One,
    Letter(String),
    /// An escape at the end of the pattern.
    Unfinished,
}

fn like_tokens(pattern: &str, escape: Option<char>, fold: impl Fn(char) -> String, dialect: Dialect) -> Vec<Token> {
    let mut letters = pattern.chars();
    let mut tokens = Vec::new();
    while let Some(letter) = letters.next() {
        tokens.push(if Some(letter) == escape {
            match (letters.next(), dialect) {
                (Some(escaped), _) => Token::Letter(fold(escaped)),
                // To MySQL an escape at the end is a letter like others.
                (None, Dialect::MySql) => Token::Letter(fold(letter)),
                (None, Dialect::Postgres) => Token::Unfinished,
            }
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

/// Walks both; on a mismatch the last `%` takes one letter more. Earlier ones never need to. PostgreSQL refuses an unfinished pattern
/// only when it gets there.
fn like_matches(subject: &[String], pattern: &[Token]) -> Result<bool, SqlError> {
    let (mut at, mut token) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < subject.len() {
        match pattern.get(token) {
            Some(Token::Many) => {
                retry = Some((at, token));
                token += 1;
            }
            Some(Token::One) => (at, token) = (at + 1, token + 1),
            Some(Token::Unfinished) => {
                return Err(SqlError::new(SqlState("22025"), "LIKE pattern must not end with escape character"));
            }
            Some(Token::Letter(letter)) if *letter == subject[at] => (at, token) = (at + 1, token + 1),
            _ => match retry {
                Some((start, many)) => {
                    retry = Some((start + 1, many));
                    (at, token) = (start + 1, many + 1);
                }
                None => return Ok(false),
            },
        }
    }
    Ok(pattern[token..].iter().all(|rest| *rest == Token::Many))
}

fn like_escape(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let escape = one_escape(text(arguments, 1)?)?;
    let pattern = text(arguments, 0)?;
    if escape == Some('\\') {
        return answer(pattern.to_owned());
    }
    let mut plain = String::new();
    // The letter behind an escape is itself, also if it is the escape or what LIKE escapes by.
    let mut escaped = false;
    for letter in pattern.chars() {
        match letter {
            letter if Some(letter) == escape && !escaped => {
                plain.push('\\');
                escaped = true;
                continue;
            }
            '\\' if !escaped => plain.push_str("\\\\"),
            letter => plain.push(letter),
        }
        escaped = false;
    }
    answer(plain)
}

fn matches_with(arguments: &[Datum], any_case: bool, call: Invocation<'_>) -> Evaluated {
    let regular = compile(text(arguments, 1)?, any_case, call.environment.dialect)?;
    Ok(Datum::Boolean(regular.is_match(text(arguments, 0)?)))
}

fn matches(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    matches_with(arguments, false, call)
}

fn matches_any_case(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    matches_with(arguments, true, call)
}

fn not_matches(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    negated(matches(arguments, call))
}

fn not_matches_any_case(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    negated(matches_any_case(arguments, call))
}

fn matches_like(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let flags = if arguments.len() > 2 { text(arguments, 2)? } else { "" };
    let folding = call.environment.dialect == Dialect::MySql && !flags.contains('c');
    matches_with(arguments, folding || flags.contains('i'), call)
}

fn similar(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
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
    Ok(Datum::Boolean(compile(&pattern, false, call.environment.dialect)?.is_match(text(arguments, 0)?)))
}

fn not_similar(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    negated(similar(arguments, call))
}

fn replace(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let mysql = call.environment.dialect == Dialect::MySql;
    let flags = if arguments.len() > 3 { text(arguments, 3)? } else { "" };
    if let Some(flag) = flags.chars().find(|flag| !matches!(flag, 'g' | 'i' | 'c')) {
        return Err(invalid(format!("invalid regular expression option: \"{flag}\"")));
    }
    let regular = compile(text(arguments, 1)?, mysql || flags.contains('i'), call.environment.dialect)?;
    let most = if mysql || flags.contains('g') { usize::MAX } else { 1 };
    let (subject, template) = (text(arguments, 0)?, replacement(text(arguments, 2)?, call.environment.dialect)?);
    let mut replaced = String::new();
    let mut copied = 0;
    for groups in regular.find_all(subject, most)? {
        let Some((start, end)) = groups[0] else { continue };
        replaced.push_str(&subject[copied..start]);
        for part in &template {
            match part {
                ReplacementPart::Letter(letter) => replaced.push(*letter),
                ReplacementPart::Group(number) => {
                    let group = groups.get(*number).copied().flatten();
                    replaced.push_str(group.map_or("", |(start, end)| &subject[start..end]));
                }
            }
        }
        if replaced.len() > LONGEST_TEXT {
            return Err(too_large("the text"));
        }
        copied = end;
    }
    answer(replaced + &subject[copied..])
}

/// A part of what a match is replaced by.
enum ReplacementPart {
    Letter(char),
    Group(usize),
}

/// `\1` and `\&` in PostgreSQL, `$1` and `$0` in MySQL, where a backslash makes a dollar plain.
fn replacement(template: &str, dialect: Dialect) -> Result<Vec<ReplacementPart>, SqlError> {
    let mut parts = Vec::new();
    let mut letters = template.chars();
    let digit = |letter: char| letter.to_digit(10).map(|digit| ReplacementPart::Group(digit as usize));
    while let Some(letter) = letters.next() {
        let part = match (letter, dialect) {
            ('\\', Dialect::Postgres) => match letters.next() {
                Some('&') => ReplacementPart::Group(0),
                Some(number @ '1'..='9') => digit(number).unwrap_or(ReplacementPart::Letter(number)),
                Some('\\') | None => ReplacementPart::Letter('\\'),
                Some(other) => {
                    parts.push(ReplacementPart::Letter('\\'));
                    ReplacementPart::Letter(other)
                }
            },
            ('\\', Dialect::MySql) => ReplacementPart::Letter(letters.next().unwrap_or('\\')),
            ('$', Dialect::MySql) => {
                let group = letters.next().and_then(digit);
                group.ok_or_else(|| {
                    SqlError::new(SqlState("HY000"), "a capture group in the replacement has an invalid name")
                })?
            }
            (other, _) => ReplacementPart::Letter(other),
        };
        parts.push(part);
    }
    Ok(parts)
}

fn group_text(subject: &str, group: Option<(usize, usize)>) -> Datum {
    group.map_or(Datum::Null, |(start, end)| Datum::text(&subject[start..end]))
}

/// The groups of the first match, or the match where the pattern has none.
fn captures(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let flags = if arguments.len() > 2 { text(arguments, 2)? } else { "" };
    let subject = text(arguments, 0)?;
    let regular = compile(text(arguments, 1)?, flags.contains('i'), call.environment.dialect)?;
    let Some(groups) = regular.find(subject, 0)? else { return Ok(Datum::Null) };
    let skipped = usize::from(groups.len() > 1);
    Ok(Datum::Array(groups.into_iter().skip(skipped).map(|group| group_text(subject, group)).collect()))
}

/// The first match, or its first group where the pattern has one and the call wants it.
fn found(arguments: &[Datum], call: Invocation<'_>, grouped: bool) -> Evaluated {
    let subject = text(arguments, 0)?;
    let any_case = call.environment.dialect == Dialect::MySql;
    let regular = compile(text(arguments, 1)?, any_case, call.environment.dialect)?;
    let Some(groups) = regular.find(subject, 0)? else { return Ok(Datum::Null) };
    let place = usize::from(grouped && groups.len() > 1);
    Ok(group_text(subject, groups[place]))
}

fn whole_match(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    found(arguments, call, false)
}

fn substring(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    found(arguments, call, true)
}

fn count(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let any_case = call.environment.dialect == Dialect::MySql;
    let regular = compile(text(arguments, 1)?, any_case, call.environment.dialect)?;
    Ok(Datum::Integer(regular.find_all(text(arguments, 0)?, usize::MAX)?.len() as i128))
}

/// What lies between the matches; an empty match at either end of the text or behind another match cuts nothing.
fn split(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let subject = text(arguments, 0)?;
    let regular = compile(text(arguments, 1)?, false, call.environment.dialect)?;
    let mut parts = Vec::new();
    let mut last = 0;
    for groups in regular.find_all(subject, usize::MAX)? {
        let Some((start, end)) = groups[0] else { continue };
        if start < subject.len() && end > last {
            parts.push(Datum::text(&subject[last..start]));
            last = end;
        }
    }
    parts.push(Datum::text(&subject[last..]));
    Ok(Datum::Array(parts.into()))
}

/// Where the argument is a length: at least zero.
pub(super) fn length(arguments: &[Datum], place: usize) -> Result<usize, SqlError> {
    Ok(usize::try_from(integer(arguments, place)?.max(0)).unwrap_or(usize::MAX))
}
