//! Regular expressions of PostgreSQL and MySQL by the `regex` crate, which is linear in the text and has no back references.
//!
//! PostgreSQL's are POSIX at heart: of the matches that start first the longest counts, where Perl, MySQL and `regex` take the first
//! alternative that fits.
//!
//! ```text
//!   'a|ab' in 'xaby'            PostgreSQL ab      regex a       the whole match is asked for again, the longest
//!   '(a|ab)(bc|c)' in 'abc'     {ab,c}             {a,bc}        refused: the groups depend on the order of the alternatives
//!   '(.*?)(\d+)' in 'abc123'    {abc,1}            {abc,123}     refused: greedy and non-greedy in one expression
//! ```
//!
//! Whether a text matches at all is the same for both, so `~` refuses nothing. What is done with a match is in [`super::pattern`].

use crate::Dialect;
use crate::{SqlError, SqlState};
use regex::Regex;
use regex_automata::nfa::thompson::{self, pikevm};
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Hir, HirKind};
use std::cell::RefCell;
use std::rc::Rc;

/// The start and end of the match and of its groups.
pub(super) type Groups = Vec<Option<(usize, usize)>>;

/// The most states of the machine that finds longest matches.
const LARGEST: usize = 10 << 20;
const MOST_COMPILED: usize = 16;

thread_local! {
    // The same pattern is applied to row after row: keep the last compiled ones.
    static COMPILED: RefCell<Vec<(String, Dialect, Rc<Regular>)>> = const { RefCell::new(Vec::new()) };
}

/// A compiled regular expression.
pub(super) struct Regular {
    regex: Regex,
    translated: String,
    extent: Extent,
}

/// What is known about where matches end.
enum Extent {
    /// As the `regex` crate finds it.
    First,
    /// The longest, and what the expression with its alternatives turned around would say of the groups.
    Longest { machine: Box<pikevm::PikeVM>, turned: Option<Regex> },
    /// Not known: greedy and non-greedy in one expression.
    Mixed,
}

/// Compiles a regular expression, or takes it from those that were compiled last.
pub(super) fn compile(pattern: &str, any_case: bool, dialect: Dialect) -> Result<Rc<Regular>, SqlError> {
    // A point matches the end of a line in PostgreSQL, but not in MySQL.
    let flags = match (dialect, any_case) {
        (Dialect::Postgres, true) => "(?si)",
        (Dialect::Postgres, false) => "(?s)",
        (Dialect::MySql, true) => "(?i)",
        (Dialect::MySql, false) => "",
    };
    let body = if dialect == Dialect::Postgres { translate(pattern) } else { pattern.to_owned() };
    let translated = format!("{flags}{body}");
    COMPILED.with_borrow_mut(|compiled| {
        let is_known = |(known, other, _): &&(String, Dialect, Rc<Regular>)| *known == translated && *other == dialect;
        if let Some((_, _, regular)) = compiled.iter().find(is_known) {
            return Ok(regular.clone());
        }
        let regular = Rc::new(Regular::new(&translated, dialect)?);
        if compiled.len() == MOST_COMPILED {
            compiled.remove(0);
        }
        compiled.push((translated, dialect, regular.clone()));
        Ok(regular)
    })
}

fn invalid(error: &dyn std::fmt::Display) -> SqlError {
    let reason = error.to_string().lines().last().unwrap_or_default().to_owned();
    SqlError::new(SqlState("2201B"), format!("invalid regular expression: {reason}"))
}

impl Regular {
    fn new(translated: &str, dialect: Dialect) -> Result<Regular, SqlError> {
        let regex = Regex::new(translated).map_err(|error| invalid(&error))?;
        let extent = match dialect {
            Dialect::Postgres => extent(translated, regex.captures_len() > 1)?,
            Dialect::MySql => Extent::First,
        };
        Ok(Regular { regex, translated: translated.to_owned(), extent })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The first match at or after a place.
    pub(super) fn find(&self, text: &str, from: usize) -> Result<Option<Groups>, SqlError> {
        let Some(groups) = groups_at(&self.regex, text, from) else { return Ok(None) };
        let Some((start, end)) = groups[0] else { return Ok(None) };
        match &self.extent {
            Extent::First => Ok(Some(groups)),
            Extent::Mixed => Err(self.ambiguous("greedy and non-greedy repetitions")),
            Extent::Longest { machine, turned } => {
                let input = Input::new(text).range(start..).anchored(Anchored::Yes);
                let longest = machine.find(&mut machine.create_cache(), input).map_or(end, |found| found.end());
                let agrees = |regex: &Regex| groups_at(regex, text, from).as_ref() == Some(&groups);
                match longest == end && turned.as_ref().is_none_or(agrees) {
                    true => Ok(Some(groups)),
                    false if groups.len() == 1 => Ok(Some(vec![Some((start, longest))])),
                    false => Err(self.ambiguous("groups that could match in several ways")),
                }
            }
        }
    }

    /// All matches, each from the end of the last; one letter on where that was empty.
    pub(super) fn find_all(&self, text: &str, most: usize) -> Result<Vec<Groups>, SqlError> {
        let mut found = Vec::new();
        let mut from = 0;
        while from <= text.len() && found.len() < most {
            let Some(groups) = self.find(text, from)? else { break };
            let Some((start, end)) = groups[0] else { break };
            let step = text[end..].chars().next().map_or(1, char::len_utf8);
            from = if start == end { end + step } else { end };
            found.push(groups);
        }
        Ok(found)
    }

    fn ambiguous(&self, what: &str) -> SqlError {
        SqlError::unsupported(format!("the parts of a match of \"{}\", which has {what}", self.translated))
    }
}

fn groups_at(regex: &Regex, text: &str, from: usize) -> Option<Groups> {
    let captures = regex.captures_at(text, from)?;
    Some(captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect())
}

/// Which repetitions and alternatives an expression has.
#[derive(Default)]
struct ExpressionShape {
    greedy: bool,
    lazy: bool,
    alternatives: bool,
}

impl ExpressionShape {
    fn look(&mut self, expression: &Hir) {
        match expression.kind() {
            HirKind::Repetition(repetition) => {
                let varies = repetition.max != Some(repetition.min);
                self.greedy |= varies && repetition.greedy;
                self.lazy |= varies && !repetition.greedy;
                self.look(&repetition.sub);
            }
            HirKind::Capture(capture) => self.look(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.look(part)),
            HirKind::Alternation(parts) => {
                self.alternatives = true;
                parts.iter().for_each(|part| self.look(part));
            }
            _ => {}
        }
    }
}

fn extent(translated: &str, has_groups: bool) -> Result<Extent, SqlError> {
    let expression = regex_syntax::parse(translated).map_err(|error| invalid(&error))?;
    let mut shape = ExpressionShape::default();
    shape.look(&expression);
    match (shape.lazy, shape.greedy || shape.alternatives) {
        (true, true) => return Ok(Extent::Mixed),
        (true, false) | (false, false) => return Ok(Extent::First),
        (false, true) => {}
    }
    let machine = pikevm::PikeVM::builder()
        .configure(pikevm::Config::new().match_kind(MatchKind::All))
        .thompson(thompson::Config::new().nfa_size_limit(Some(LARGEST)))
        .build(translated)
        .map_err(|error| invalid(&error))?;
    let turned = match shape.alternatives && has_groups {
        true => Some(Regex::new(&turned(&expression).to_string()).map_err(|error| invalid(&error))?),
        false => None,
    };
    Ok(Extent::Longest { machine: Box::new(machine), turned })
}

/// The same expression with the last alternative first.
fn turned(expression: &Hir) -> Hir {
    match expression.kind() {
        HirKind::Repetition(repetition) => Hir::repetition(repetition.with(turned(&repetition.sub))),
        HirKind::Capture(capture) => {
            let mut capture = capture.clone();
            capture.sub = Box::new(turned(&capture.sub));
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(turned).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().rev().map(turned).collect()),
        _ => expression.clone(),
    }
}

/// PostgreSQL's escapes and sets in the words of the `regex` crate, to which `[`, `&&`, `--` and `~~` mean something in a set.
fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => translate_escape(letters.next(), &mut translated),
            '[' => translate_set(&mut letters, &mut translated),
            other => translated.push(other),
        }
    }
    translated
}

fn translate_escape(letter: Option<char>, translated: &mut String) {
    match letter {
        Some('m') => translated.push_str("\\b{start}"),
        Some('M') => translated.push_str("\\b{end}"),
        Some('y') => translated.push_str("\\b"),
        Some('Y') => translated.push_str("\\B"),
        Some('Z') => translated.push_str("\\z"),
        Some('d') => translated.push_str("[0-9]"),
        Some('D') => translated.push_str("[^0-9]"),
        Some(other) => translated.extend(['\\', other]),
        None => translated.push('\\'),
    }
}

/// The set after its `[`, up to its `]`.
fn translate_set(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, translated: &mut String) {
    translated.push('[');
    if letters.next_if_eq(&'^').is_some() {
        translated.push('^');
    }
    if letters.next_if_eq(&']').is_some() {
        translated.push_str("\\]");
    }
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        match letter {
            ']' => {
                translated.push(']');
                break;
            }
            '[' if letters.peek() == Some(&':') => {
                translated.push('[');
                for inner in letters.by_ref() {
                    translated.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            '[' | '&' | '~' => translated.extend(['\\', letter]),
            '-' if last == '-' => translated.push_str("\\-"),
            '\\' => match letters.next() {
                Some('d') => translated.push_str("0-9"),
                other => translate_escape(other, translated),
            },
            other => translated.push(other),
        }
        last = letter;
    }
}
