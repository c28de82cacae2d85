//! Transactions that are no procedures: statements between BEGIN and COMMIT, or behind a `-- name:` comment, as procedures.
//!
//! ```text
//!   -- name: take_out                      CREATE PROCEDURE take_out(IN p_id integer, IN p_n integer) BEGIN
//!   SELECT balance FROM account            SELECT balance FROM account
//!    WHERE id = :id;                        WHERE id = p_id;
//!   UPDATE account SET balance = $2 …      UPDATE account SET balance = p_2 …
//!                                          END;
//! ```
//!
//! Parameters are written in any of the ways that drivers have: `:name`, `@name`, `$1`, `%(name)s`, `%s`, `?`. Their types follow from where they
//! stand. A line that is put in belongs to the line that it stands for, so that every place still has its line of the file.

use crate::error::ProgramError;
use crate::parts::{FilePart, PartKind, parts};
use crate::source::{Source, Spot};
use skew_sql::Session;
use skew_value::{Dialect, Place, SqlType};
use sqlparser::tokenizer::Token;
use std::collections::BTreeMap;
use std::ops::Range;

/// A line of a text that was made from a file, and its line there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadeLine {
    /// What stands in it.
    pub text: String,
    /// The line of the file, from 1.
    pub line: u32,
}

/// A text that was made from a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MadeText {
    /// Its lines.
    pub lines: Vec<MadeLine>,
    /// Names of parameters in it, and how the file writes them.
    pub parameters: Vec<(String, String)>,
    /// Whether there are procedures in it that the file does not have.
    pub has_plain: bool,
}

/// A transaction in a file.
struct PlainTransaction {
    name: String,
    /// Where it begins, and where the statements end.
    bytes: Range<usize>,
    /// Words that are not its statements: BEGIN and COMMIT.
    without: Vec<Range<usize>>,
}

/// Something that is replaced.
struct Replacement {
    bytes: Range<usize>,
    by: String,
}

/// The lines of a text in which plain transactions are procedures; those without a name of their own are called as the file is. `session` knows
/// the tables.
pub fn as_procedures(text: &str, file: &str, session: &Session) -> Result<MadeText, ProgramError> {
    let dialect = session.dialect();
    let parts = parts(text, dialect)?;
    let source = Source::new(text, dialect);
    let start = Place { line: 1, column: 1 };
    let source = source.map_err(|error| ProgramError::new(error, start, text))?;
    let prefix = unused_prefix(&source);
    let mut lines: Vec<MadeLine> = Vec::new();
    let mut written: Vec<(String, String)> = Vec::new();
    let (mut done, mut has_plain) = (0, false);
    for transaction in transactions(text, &parts, &source, &name_of(file)) {
        has_plain = true;
        push(&mut lines, text, done..transaction.bytes.start);
        let found = parameters_in(&source, &transaction.bytes);
        written.extend(found.into_iter().map(|(bytes, name)| (format!("{prefix}{name}"), text[bytes].to_owned())));
        let (body, parameters) = rewritten(&source, &transaction, &prefix);
        let types = types(&source, &transaction, &parts, &parameters, session);
        let declared: Vec<String> =
            parameters.iter().zip(types).map(|(name, sql_type)| format!("IN {prefix}{name} {sql_type}")).collect();
        let line = line_of(text, transaction.bytes.start);
        lines.push(MadeLine {
            text: format!("CREATE PROCEDURE {}({}) BEGIN", transaction.name, declared.join(", ")),
            line,
        });
        lines.extend(
            body.lines().enumerate().map(|(more, text)| MadeLine { text: text.to_owned(), line: line + more as u32 }),
        );
        lines.push(MadeLine { text: "END;".to_owned(), line: line_of(text, transaction.bytes.end) });
        done = transaction.bytes.end;
    }
    push(&mut lines, text, done..text.len());
    written.sort();
    written.dedup_by(|one, other| one.0 == other.0);
    Ok(MadeText { lines, parameters: written, has_plain })
}

fn line_of(text: &str, byte: usize) -> u32 {
    1 + text[..byte].matches('\n').count() as u32
}

/// Some of the text as it is. Within its line a part keeps its column.
fn push(lines: &mut Vec<MadeLine>, text: &str, bytes: Range<usize>) {
    let first = line_of(text, bytes.start);
    let before = text[..bytes.start].rfind('\n').map_or(bytes.start, |newline| bytes.start - newline - 1);
    let part = format!("{}{}", " ".repeat(before), &text[bytes]);
    lines.extend(
        part.lines().enumerate().map(|(more, text)| MadeLine { text: text.to_owned(), line: first + more as u32 }),
    );
}

/// A name that SQL can have: letters, digits and underscores.
fn name_of(text: &str) -> String {
    let stem = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let stem = stem.strip_suffix(".sql").unwrap_or(stem);
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    let name: String = stem.chars().map(letter).collect();
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) { name } else { format!("t_{name}") }
}

/// `p_`, or longer where some name begins so: a parameter must not hide a column.
fn unused_prefix(source: &Source) -> String {
    let mut prefix = "p_".to_owned();
    let is_used =
        |prefix: &str| source.spots.iter().any(|spot| spot.name().is_some_and(|name| name.starts_with(prefix)));
    while is_used(&prefix) {
        prefix.insert(0, 'p');
    }
    prefix
}

/// The plain transactions of a file, in order.
fn transactions(text: &str, parts: &[FilePart], source: &Source, name: &str) -> Vec<PlainTransaction> {
    let markers = markers(text);
    if !markers.is_empty() {
        return marked(text, parts, &markers);
    }
    if parts.iter().any(|part| part.kind == PartKind::Begin) {
        return between(text, parts, name);
    }
    let is_program = |part: &FilePart| {
        matches!(part.kind, PartKind::Schema | PartKind::Silent | PartKind::Procedure(_) | PartKind::Sessions)
    };
    let is_plain = |part: &FilePart| part.kind == PartKind::Statement || has_parameters(source, &part.bytes);
    match (parts.first(), parts.last()) {
        (Some(first), Some(last)) if !parts.iter().any(is_program) && parts.iter().any(is_plain) => {
            let bytes = first.bytes.start..last.bytes.end;
            vec![PlainTransaction { name: name.to_owned(), bytes, without: Vec::new() }]
        }
        _ => Vec::new(),
    }
}

/// `-- name: take_out :exec` at the beginning of a line: where, and the name.
fn markers(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let comment = line.trim_start().strip_prefix("--").map(str::trim_start);
        let name =
            comment.and_then(|comment| comment.strip_prefix("name:")).and_then(|rest| rest.split_whitespace().next());
        if let Some(name) = name {
            found.push((start, name_of(name.trim_end_matches(['!', '$', '^', '<', '#']))));
        }
        start += line.len();
    }
    found
}

fn marked(text: &str, parts: &[FilePart], markers: &[(usize, String)]) -> Vec<PlainTransaction> {
    let mut transactions: Vec<PlainTransaction> = Vec::new();
    for (number, (start, name)) in markers.iter().enumerate() {
        let end = markers.get(number + 1).map_or(text.len(), |(next, _)| *next);
        let own: Vec<&FilePart> = parts.iter().filter(|part| (*start..end).contains(&part.bytes.start)).collect();
        let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
        if matches!(first.kind, PartKind::Schema | PartKind::Silent | PartKind::Procedure(_)) {
            continue;
        }
        let found = match own.iter().any(|part| matches!(part.kind, PartKind::Begin | PartKind::Commit)) {
            true => framed(text, &own, |kind| matches!(kind, PartKind::Statement | PartKind::Rows)),
            false => vec![(first.bytes.start..last.bytes.end, Vec::new())],
        };
        for (bytes, without) in found {
            let name = unused_name(name, &transactions);
            transactions.push(PlainTransaction { name, bytes, without });
        }
    }
    transactions
}

/// The name, with a number where others have it.
fn unused_name(name: &str, transactions: &[PlainTransaction]) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let is_free = |name: &String| transactions.iter().all(|known| known.name != *name);
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

/// What stands between BEGIN and COMMIT; of other statements each is a transaction of its own.
fn between(text: &str, parts: &[FilePart], name: &str) -> Vec<PlainTransaction> {
    let parts: Vec<&FilePart> = parts.iter().collect();
    let mut transactions: Vec<PlainTransaction> = Vec::new();
    for (bytes, without) in framed(text, &parts, |kind| *kind == PartKind::Statement) {
        let name = unused_name(name, &transactions);
        transactions.push(PlainTransaction { name, bytes, without });
    }
    transactions
}

/// The bytes of each transaction, and those of BEGIN and COMMIT in it; `alone` says what is one without them. Without COMMIT it goes on to the end.
fn framed(
    text: &str,
    parts: &[&FilePart],
    alone: impl Fn(&PartKind) -> bool,
) -> Vec<(Range<usize>, Vec<Range<usize>>)> {
    let mut found: Vec<(Range<usize>, Vec<Range<usize>>)> = Vec::new();
    let mut open: Option<(Range<usize>, Vec<Range<usize>>)> = None;
    for part in parts {
        let words = text[part.bytes.clone()].to_ascii_lowercase();
        let rolls_back = words.starts_with("rollback") && !words.split_whitespace().any(|word| word == "to");
        match &mut open {
            Some((bytes, without)) => {
                bytes.end = part.bytes.end;
                let is_frame = matches!(part.kind, PartKind::Begin | PartKind::Commit);
                without.extend(is_frame.then(|| part.bytes.clone()));
                if part.kind == PartKind::Commit || rolls_back {
                    found.extend(open.take());
                }
            }
            None if part.kind == PartKind::Begin => open = Some((part.bytes.clone(), vec![part.bytes.clone()])),
            None if alone(&part.kind) => found.push((part.bytes.clone(), Vec::new())),
            None => {}
        }
        // COMMIT AND CHAIN begins the next one.
        if (part.kind == PartKind::Commit || rolls_back) && words.contains("chain") {
            open = Some((part.bytes.end..part.bytes.end, Vec::new()));
        }
    }
    found.extend(open.filter(|(bytes, without)| without.last().map_or(bytes.start, |last| last.end) < bytes.end));
    found
}

/// A parameter at a token: its name, or nothing where it is told by its place, and how many tokens it has.
fn parameter_at(spots: &[Spot], number: usize) -> Option<(Option<String>, usize)> {
    let spot = spots.get(number)?;
    let touches = |one: usize, other: usize| {
        spots.get(other).zip(spots.get(one)).is_some_and(|(next, spot)| next.bytes.start == spot.bytes.end)
    };
    let word = |number: usize| spots.get(number).and_then(Spot::name);
    let named = |name: String| Some(Some(name));
    match &spot.token {
        Token::Placeholder(text) if text.len() > 1 => named(text[1..].to_lowercase()).map(|name| (name, 1)),
        Token::Placeholder(_) | Token::Question => Some((None, 1)),
        Token::Colon | Token::AtSign if touches(number, number + 1) => word(number + 1).map(|name| (Some(name), 2)),
        Token::Word(found) if found.value.starts_with('@') => {
            named(found.value[1..].to_lowercase()).map(|name| (name, 1))
        }
        Token::Mod if touches(number, number + 1) => match spots.get(number + 1)?.token {
            Token::LParen if word(number + 4).as_deref() == Some("s") => word(number + 2).map(|name| (Some(name), 5)),
            _ if word(number + 1).as_deref() == Some("s") => Some((None, 2)),
            _ => None,
        },
        _ => None,
    }
}

fn has_parameters(source: &Source, bytes: &Range<usize>) -> bool {
    let within = |number: &usize| bytes.contains(&source.spots[*number].bytes.start);
    (0..source.spots.len()).filter(within).any(|number| parameter_at(&source.spots, number).is_some())
}

/// The parameters of some of the text: their tokens' bytes with their names; those without get the number of their place. Drivers number `$1` anew in
/// each statement, so those of later statements have names of their own.
fn parameters_in(source: &Source, bytes: &Range<usize>) -> Vec<(Range<usize>, String)> {
    let (mut found, mut number, mut unnamed, mut statement) = (Vec::new(), 0, 0, 1);
    while number < source.spots.len() {
        let spot = &source.spots[number];
        let ends = spot.token == Token::SemiColon && bytes.contains(&spot.bytes.start) && !found.is_empty();
        statement += usize::from(ends);
        match parameter_at(&source.spots, number).filter(|_| bytes.contains(&spot.bytes.start)) {
            None => number += 1,
            Some((name, count)) => {
                let last = &source.spots[(number + count - 1).min(source.spots.len() - 1)];
                unnamed += usize::from(name.is_none());
                let is_numbered = |name: &String| statement > 1 && name.chars().all(|digit| digit.is_ascii_digit());
                let name = name.map(|name| if is_numbered(&name) { format!("{statement}_{name}") } else { name });
                found.push((spot.bytes.start..last.bytes.end, name.unwrap_or_else(|| unnamed.to_string())));
                number += count;
            }
        }
    }
    found
}

fn replaced(text: &str, bytes: &Range<usize>, mut replacements: Vec<Replacement>) -> String {
    replacements.sort_by_key(|one| one.bytes.start);
    let (mut out, mut done) = (String::new(), bytes.start);
    for one in replacements {
        out.push_str(&text[done..one.bytes.start]);
        out.push_str(&one.by);
        done = one.bytes.end;
    }
    out.push_str(&text[done..bytes.end]);
    out
}

/// The statements with parameters under their new names, and these names in the order in which they come first.
fn rewritten(source: &Source, transaction: &PlainTransaction, prefix: &str) -> (String, Vec<String>) {
    let parameters = parameters_in(source, &transaction.bytes);
    let mut names: Vec<String> = Vec::new();
    let mut replacements: Vec<Replacement> = Vec::new();
    for (bytes, name) in parameters {
        replacements.push(Replacement { bytes, by: format!("{prefix}{name}") });
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let blank = |bytes: &Range<usize>| Replacement { by: " ".repeat(bytes.len()), bytes: bytes.clone() };
    replacements.extend(transaction.without.iter().map(blank));
    let mut body = replaced(&source.text, &transaction.bytes, replacements);
    if !body.trim_end().ends_with(';') {
        body.push(';');
    }
    (body, names)
}

/// The types of parameters by where they stand; what no place tells is text.
fn types(
    source: &Source,
    transaction: &PlainTransaction,
    parts: &[FilePart],
    names: &[String],
    session: &Session,
) -> Vec<String> {
    let mut known: BTreeMap<String, SqlType> = BTreeMap::new();
    let statements = parts.iter().filter(|part| transaction.bytes.contains(&part.bytes.start));
    for part in statements.filter(|_| source.dialect == Dialect::Postgres) {
        // Positional ones are counted over the whole transaction.
        let all = parameters_in(source, &transaction.bytes);
        let own: Vec<&(Range<usize>, String)> =
            all.iter().filter(|(bytes, _)| part.bytes.contains(&bytes.start)).collect();
        let mut order: Vec<&String> = Vec::new();
        own.iter().for_each(|(_, name)| order.extend((!order.contains(&name)).then_some(name)));
        let number = |name: &String| order.iter().position(|known| *known == name).unwrap_or_default() + 1;
        let replacements =
            own.iter().map(|(bytes, name)| Replacement { bytes: bytes.clone(), by: format!("${}", number(name)) });
        let text = replaced(&source.text, &part.bytes, replacements.collect());
        let Ok(parsed) = session.parse(&text) else { continue };
        let Some(Ok(prepared)) = parsed.first().map(|statement| session.prepare(statement, &[])) else { continue };
        for (name, sql_type) in order.into_iter().zip(prepared.parameter_types()) {
            if *sql_type != SqlType::Unknown {
                known.entry(name.clone()).or_insert_with(|| sql_type.clone());
            }
        }
    }
    let told = |name: &String| known.get(name).map_or_else(|| "text".to_owned(), |found| found.to_string());
    names.iter().map(told).collect()
}
