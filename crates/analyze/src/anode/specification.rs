//! Levels as constraints on two relations: who sees whom (*vis*), and one order of all instances (*ar*).
//!
//! ```text
//!   eventual             nothing: an instance sees all or nothing of another one, and only of those that come before it in ar
//!   causal               forall a b c: vis(a, b) and vis(b, c) => vis(a, c)
//!   prefix               forall a b c: ar(a, b) and vis(b, c) => vis(a, c)
//!   psi                  causal, and forall a b: ww(a, b) => vis(a, b)
//!   snapshot             prefix, and forall a b: ww(a, b) => vis(a, b)
//!   serializable         forall a b: ar(a, b) => vis(a, b)
//!   psi(P)               forall a b: a is P and b is P and ww(a, b) => vis(a, b)
//!   prefix(P)            forall a b c: ar(a, b) and vis(b, c) and c is P => vis(a, c)
//!   snapshot(P)          psi(P) and prefix(P)
//!   serializable(P, Q)   forall a b: a is P and b is Q and ar(a, b) => vis(a, b), and the same with a and b exchanged
//! ```
//!
//! A file of a user's has one constraint per line, in any of these forms; all of them hold. Left of `=>` stand atoms joined by `and`, right of
//! it atoms joined by `or`; an atom is `vis(a, b)`, `ar(a, b)`, `ww(a, b)`, `a is P`, `a = b`, or `not` before one of these. `--` begins a
//! comment. There is no `exists`: what is asked is asked of a few instances, and who says that there is another one says nothing about these few.

use super::moment::Timing;
use skew_history::EngineLevel;
use std::fmt;

/// An atom of a rule over variables, by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RuleAtom {
    /// The second sees the first.
    Visible(usize, usize),
    /// The first comes first.
    Before(usize, usize),
    /// Both write the same, and the first comes first.
    Overwritten(usize, usize),
    /// It is an instance of a procedure.
    Is(usize, String),
    /// They are one.
    Same(usize, usize),
}

/// Where all premises hold, one of the conclusions does; the flag is whether an atom holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SpecificationRule {
    pub(crate) variables: usize,
    pub(crate) premises: Vec<(RuleAtom, bool)>,
    pub(crate) conclusions: Vec<(RuleAtom, bool)>,
}

/// A level by its constraints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Specification {
    /// What it is called.
    pub name: String,
    pub(crate) rules: Vec<SpecificationRule>,
    /// The levels of all instances and of single procedures that it is made of.
    pub(crate) parts: Vec<(String, Vec<String>)>,
    /// Where it is a matter of time in place of rules: a level of PostgreSQL.
    pub(crate) timing: Option<Timing>,
}

/// What is wrong with the text of a specification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecificationError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for SpecificationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

/// The levels that have a name.
pub const PAPER_LEVELS: [&str; 6] = ["eventual", "causal", "prefix", "psi", "snapshot", "serializable"];

impl Specification {
    /// The level of a name, for all instances.
    pub fn level(name: &str) -> Option<Specification> {
        let is_known = PAPER_LEVELS.contains(&name);
        is_known.then(|| Specification::parse(name, name).ok()).flatten()
    }

    /// A level of PostgreSQL, if it is one that is a matter of time alone: read committed, repeatable read.
    pub fn of_engine(level: EngineLevel) -> Option<Specification> {
        let timing = match level {
            EngineLevel::PostgresReadCommitted => Timing::ReadCommitted,
            EngineLevel::PostgresRepeatableRead => Timing::RepeatableRead,
            _ => return None,
        };
        let (rules, parts) = (Vec::new(), Vec::new());
        Some(Specification { name: level.name().to_owned(), rules, parts, timing: Some(timing) })
    }

    /// Reads a specification.
    pub fn parse(name: &str, text: &str) -> Result<Specification, SpecificationError> {
        let mut specification =
            Specification { name: name.to_owned(), rules: Vec::new(), parts: Vec::new(), timing: None };
        for (number, line) in text.lines().enumerate() {
            let line = line.split("--").next().unwrap_or_default().trim();
            if !line.is_empty() {
                let read = specification.line(line);
                read.map_err(|message| SpecificationError { line: number + 1, message })?;
            }
        }
        Ok(specification)
    }

    /// The level of PostgreSQL that it is, if it is one.
    pub fn engine(&self) -> Option<EngineLevel> {
        self.timing.map(|timing| match timing {
            Timing::ReadCommitted => EngineLevel::PostgresReadCommitted,
            Timing::RepeatableRead => EngineLevel::PostgresRepeatableRead,
        })
    }

    /// The level of a name that it says the same as, if there is one.
    pub fn same_as(&self) -> Option<&'static str> {
        let says_all =
            |one: &Specification, other: &Specification| other.rules.iter().all(|rule| one.rules.contains(rule));
        let is_same = |name: &&str| {
            Specification::level(name).is_some_and(|level| says_all(self, &level) && says_all(&level, self))
        };
        PAPER_LEVELS.into_iter().find(is_same).filter(|_| self.timing.is_none())
    }

    /// The procedures that it names.
    pub(crate) fn procedures(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().flat_map(rule_names)
    }

    /// Whether a level holds for all instances, as one of its parts.
    pub(crate) fn has(&self, level: &str) -> bool {
        self.parts.iter().any(|(name, procedures)| name == level && procedures.is_empty())
    }

    /// The procedures for which alone a level holds.
    pub(crate) fn has_for(&self, level: &str) -> Vec<&str> {
        let of = self.parts.iter().filter(|(name, procedures)| name == level && procedures.len() == 1);
        of.flat_map(|(_, procedures)| procedures).map(String::as_str).collect()
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.to_lowercase().starts_with("exists") || line.to_lowercase().contains(" exists ") {
            return Err("there is no `exists`: a question is asked of a few instances, and that there is another one says nothing about them".to_owned());
        }
        if let Some(rule) = line.strip_prefix("forall ") {
            self.rules.push(parse_rule(rule)?);
            return Ok(());
        }
        let (level, procedures) = match line.split_once('(') {
            None => (line, Vec::new()),
            Some((level, rest)) => {
                let inner = rest.trim().strip_suffix(')').ok_or("a parenthesis is not closed")?;
                (level.trim(), inner.split(',').map(|name| name.trim().to_owned()).collect())
            }
        };
        self.part(level, &procedures)
    }

    fn part(&mut self, level: &str, procedures: &[String]) -> Result<(), String> {
        self.parts.push((level.to_owned(), procedures.to_vec()));
        let rules: Vec<String> = match (level, procedures) {
            ("eventual", []) => Vec::new(),
            ("causal", []) => vec!["a b c: vis(a, b) and vis(b, c) => vis(a, c)".to_owned()],
            ("prefix", []) => vec!["a b c: ar(a, b) and vis(b, c) => vis(a, c)".to_owned()],
            ("psi" | "snapshot", []) => {
                self.part(if level == "psi" { "causal" } else { "prefix" }, &[])?;
                vec!["a b: ww(a, b) => vis(a, b)".to_owned()]
            }
            ("serializable", []) => vec!["a b: ar(a, b) => vis(a, b)".to_owned()],
            ("psi", [p]) => vec![format!("a b: a is {p} and b is {p} and ww(a, b) => vis(a, b)")],
            ("prefix", [p]) => vec![format!("a b c: ar(a, b) and vis(b, c) and c is {p} => vis(a, c)")],
            ("snapshot", [_]) => {
                self.part("psi", procedures)?;
                self.part("prefix", procedures)?;
                Vec::new()
            }
            ("serializable", [p, q]) => vec![
                format!("a b: a is {p} and b is {q} and ar(a, b) => vis(a, b)"),
                format!("a b: a is {q} and b is {p} and ar(a, b) => vis(a, b)"),
            ],
            _ => {
                return Err(format!(
                    "`{level}` with {} procedures is not known: eventual, causal, prefix, psi, snapshot and serializable are for all, psi, prefix \
                     and snapshot for one procedure, serializable for two; other constraints begin with `forall`",
                    procedures.len()
                ));
            }
        };
        for rule in rules {
            self.rules.push(parse_rule(&rule)?);
        }
        Ok(())
    }
}

fn rule_names(rule: &SpecificationRule) -> impl Iterator<Item = &str> {
    rule.premises.iter().chain(&rule.conclusions).filter_map(|(atom, _)| match atom {
        RuleAtom::Is(_, name) => Some(name.as_str()),
        _ => None,
    })
}

/// Reads what stands after `forall`.
fn parse_rule(text: &str) -> Result<SpecificationRule, String> {
    let (names, body) = text.split_once(':').ok_or("a colon is missing after the variables")?;
    let names: Vec<&str> = names.split([' ', ',']).filter(|name| !name.is_empty()).collect();
    if names.is_empty() || names.len() > 4 {
        return Err("a rule is about one to four instances".to_owned());
    }
    let (left, right) = body.split_once("=>").ok_or("`=>` is missing")?;
    let atoms = |side: &str, word: &str| -> Result<Vec<(RuleAtom, bool)>, String> {
        side.split(word).map(|atom| parse_atom(atom.trim(), &names)).collect()
    };
    let (premises, conclusions) = (atoms(left, " and ")?, atoms(right, " or ")?);
    let forced = |(atom, holds): &(RuleAtom, bool)| matches!(atom, RuleAtom::Overwritten(..)) && *holds;
    if conclusions.iter().any(forced) || premises.iter().any(|(atom, holds)| forced(&(atom.clone(), !holds))) {
        return Err("a rule may start from ww, it cannot ask for it: whether two instances write the same is up to their statements".to_owned());
    }
    Ok(SpecificationRule { variables: names.len(), premises, conclusions })
}

fn parse_atom(text: &str, names: &[&str]) -> Result<(RuleAtom, bool), String> {
    if let Some(rest) = text.strip_prefix("not ") {
        let (atom, holds) = parse_atom(rest.trim(), names)?;
        return Ok((atom, !holds));
    }
    let place = |name: &str| {
        let name = name.trim();
        names.iter().position(|known| *known == name).ok_or(format!("`{name}` is not among the variables of its rule"))
    };
    if let Some((name, procedure)) = text.split_once(" is ") {
        return Ok((RuleAtom::Is(place(name)?, procedure.trim().to_owned()), true));
    }
    if let Some((relation, rest)) = text.split_once('(') {
        let inner = rest.trim().strip_suffix(')').ok_or("a parenthesis is not closed")?;
        let (first, second) = inner.split_once(',').ok_or(format!("`{text}` needs two instances"))?;
        let (first, second) = (place(first)?, place(second)?);
        return match relation.trim() {
            "vis" => Ok((RuleAtom::Visible(first, second), true)),
            "ar" => Ok((RuleAtom::Before(first, second), true)),
            "ww" => Ok((RuleAtom::Overwritten(first, second), true)),
            "wr" | "rw" => Err(format!(
                "`{relation}` cannot be used: who wrote last what somebody reads may be none of the few instances that are asked about"
            )),
            other => Err(format!("`{other}` is not known: vis, ar, ww")),
        };
    }
    match text.split_once('=') {
        Some((first, second)) => Ok((RuleAtom::Same(place(first)?, place(second)?), true)),
        None => Err(format!("`{text}` is not an atom: vis(a, b), ar(a, b), ww(a, b), a is P, a = b")),
    }
}
