//! What a long report leaves out, unless somebody wants all of it: of an application's log there may be dozens of findings that no run has shown, over
//! statements with thirty columns each.
//!
//! ```text
//!   confirmed                                    told with their statements, however many there are
//!   potential, harmless      up to six           likewise
//!                            more than that      the first six; of the others a line each, those of one cycle at several levels together
//!   SELECT a, b, …, z FROM … WHERE …             the first two columns, and how many more there are
//! ```

use super::{Analyzed, AnsweredQuestion, KnownFinding};
use skew_analyze::{Finding, FindingStatus};
use skew_view::words::clean;
use std::collections::BTreeSet;

/// So many findings that no run has confirmed are told with their statements.
const MOST_IN_FULL: usize = 6;

/// Statements of no more letters are told whole.
const LONG: usize = 300;

/// So many columns of a long list are told.
const FIRST_COLUMNS: usize = 2;

impl Analyzed {
    /// The findings that are told with their statements, by their number.
    pub(super) fn in_full(&self) -> BTreeSet<usize> {
        let is_open = |finding: &Finding, known: &KnownFinding| {
            finding.status != FindingStatus::Confirmed && known.accepted.is_none()
        };
        let count = self.findings().filter(|(_, finding, known)| is_open(finding, known)).count();
        let is_short = self.settings.tells_all || count <= MOST_IN_FULL;
        let mut told: BTreeSet<&str> = BTreeSet::new();
        let mut full = BTreeSet::new();
        for (number, (_, finding, known)) in self.findings().enumerate() {
            let is_told = !is_open(finding, known)
                || is_short
                || (told.len() < MOST_IN_FULL && told.insert(known.fingerprint.as_str()));
            full.extend(is_told.then_some(number));
        }
        full
    }

    /// The others, a line each.
    pub(super) fn in_lines(&self, full: &BTreeSet<usize>) -> Vec<String> {
        let mut grouped: Vec<(String, Vec<&str>, String)> = Vec::new();
        let others = self.findings().enumerate().filter(|(number, _)| !full.contains(number));
        for (_, (AnsweredQuestion { answer, .. }, finding, _)) in others {
            let places: Vec<String> = finding.locations.iter().map(|place| self.text.spot(*place)).collect();
            let who = finding.transactions.join(", ");
            let what = format!("{} ({}): {who}; {}", finding.anomaly, finding.status.name(), places.join(", "));
            match grouped.iter_mut().find(|(known, ..)| *known == what) {
                Some((_, levels, _)) if levels.contains(&answer.level.as_str()) => {}
                Some((_, levels, _)) => levels.push(&answer.level),
                None => grouped.push((what.clone(), vec![&answer.level], clean(&what))),
            }
        }
        grouped.into_iter().map(|(_, levels, what)| format!("{what}; at {}", levels.join(", "))).collect()
    }

    /// How to have all of it.
    pub(super) fn how_to_have_all(&self) -> &'static str {
        match self.settings.keeps_programs {
            true => "--all tells their statements",
            false => "keep what was said with --statements FILE: `skew analyze FILE --all` tells their statements",
        }
    }

    /// A statement as it is told: a long list of columns is cut.
    pub(super) fn told_statement(&self, sql: &str) -> String {
        match self.settings.tells_all || sql.chars().count() <= LONG {
            true => sql.to_owned(),
            false => without_columns(sql).unwrap_or_else(|| sql.to_owned()),
        }
    }
}

/// A SELECT or an UPDATE with the first columns of its list, and how many more there are; nothing for others.
fn without_columns(sql: &str) -> Option<String> {
    let (first, last) = match sql.get(..6)?.to_ascii_uppercase().as_str() {
        "SELECT" => ("SELECT", "FROM"),
        "UPDATE" => ("SET", "WHERE"),
        _ => return None,
    };
    let start = word_outside(sql, first, 0)? + first.len();
    let end = word_outside(sql, last, start).unwrap_or(sql.len());
    let items = items(sql.get(start..end)?);
    let more = items.len().checked_sub(FIRST_COLUMNS + 1)? + 1;
    let kept: Vec<&str> = items[..FIRST_COLUMNS].iter().map(|item| item.trim()).collect();
    Some(format!("{} {}, … ({more} more) {}", sql.get(..start)?, kept.join(", "), sql.get(end..)?.trim_start()))
}

/// Where a word stands outside of parentheses and quotes, from a place on.
fn word_outside(sql: &str, word: &str, from: usize) -> Option<usize> {
    let is_part = |letter: Option<char>| letter.is_some_and(|one| one.is_alphanumeric() || one == '_');
    outside(sql, from).into_iter().find(|at| {
        let is_here = sql.get(*at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
        is_here && !is_part(sql[..*at].chars().next_back()) && !is_part(sql[at + word.len()..].chars().next())
    })
}

/// The parts between commas.
fn items(list: &str) -> Vec<&str> {
    let commas: Vec<usize> = outside(list, 0).into_iter().filter(|at| list[*at..].starts_with(',')).collect();
    let starts = std::iter::once(0).chain(commas.iter().map(|at| at + 1));
    let ends = commas.iter().copied().chain([list.len()]);
    starts.zip(ends).map(|(start, end)| &list[start..end]).collect()
}

/// The letters that stand outside of parentheses and quotes.
fn outside(text: &str, from: usize) -> Vec<usize> {
    let (mut depth, mut quote, mut found) = (0_usize, None, Vec::new());
    for (at, letter) in text.char_indices().filter(|(at, _)| *at >= from) {
        match (quote, letter) {
            (Some(open), _) => quote = (letter != open).then_some(open),
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 => found.push(at),
            (None, _) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::without_columns;
    use crate::analyzed::{AnalyzeSettings, Analyzed, AnalyzedText, Baseline};
    use skew_analyze::UnfoldOptions;

    #[test]
    fn lists_of_columns_are_cut_outside_of_parentheses_and_quotes() {
        let cut = |sql: &str| without_columns(sql).unwrap_or_default();
        let select = "SELECT \"t\".\"from\", f(a, b), c, d FROM t WHERE x IN (1, 2)";
        assert_eq!(cut(select), "SELECT \"t\".\"from\", f(a, b), … (2 more) FROM t WHERE x IN (1, 2)");
        let update = "update t set a = 1, b = 'x, where', c = 3 where id = 1";
        assert_eq!(cut(update), "update t set a = 1, b = 'x, where', … (1 more) where id = 1");
        assert_eq!(cut("SELECT a, b FROM t"), "");
        assert_eq!(cut("INSERT INTO t VALUES (1, 2, 3)"), "");
        assert_eq!(cut("SELECT 1, 2, 'né, FROM"), "SELECT 1, 2, … (1 more) ");
    }

    /// Eight transactions that read a column, compute with it and write it back: a rule tells each of them at two levels of MySQL.
    fn eight_patterns(tells_all: bool) -> String {
        let mut text =
            "-- dialect: mysql\nCREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL);\n".to_owned();
        let columns: String = (0..40).map(|number| format!("b AS column_{number}, ")).collect();
        for number in 0..8 {
            text += &format!(
                "CREATE PROCEDURE p{number}(IN i INT)\nBEGIN\n  DECLARE n INT;\n  SELECT a INTO n FROM t WHERE id = i;\n  SELECT {columns}a FROM t WHERE id = i;\n  UPDATE t SET a = n + 1 WHERE id = i;\nEND;\n"
            );
        }
        let text = AnalyzedText::new(&[("eight.sql".to_owned(), text)]).unwrap_or_else(|it| panic!("{}", it.message));
        let settings = AnalyzeSettings::new(Vec::new(), UnfoldOptions::default(), false, false).telling_all(tells_all);
        let analyzed =
            Analyzed::new(text, settings, &Baseline::default()).unwrap_or_else(|it| panic!("{}", it.message));
        analyzed.human(skew_view::Palette::PLAIN)
    }

    #[test]
    fn of_many_findings_that_no_run_confirms_the_last_get_a_line_each() {
        let told = |report: &str| report.lines().filter(|line| line.starts_with("lost-update at ")).count();
        let (brief, whole) = (eight_patterns(false), eight_patterns(true));
        assert_eq!(told(&brief), 6, "{brief}");
        assert!(told(&whole) >= 16, "{whole}");
        assert!(brief.contains(" more findings that no run confirms; --all tells their statements\n"), "{brief}");
        assert!(brief.contains("  lost-update (potential): p7"), "{brief}");
        assert!(!whole.contains("--all"), "{whole}");
    }
}
