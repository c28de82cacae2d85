//! What helps against a finding: changes that are made to the text, or levels, and kept only if the analysis of the result says that it is gone.
//!
//! ```text
//!   SELECT n INTO have … ; UPDATE … SET n = have - k      UPDATE … SET n = stock.n - k         where `have` decides nothing else
//!   SELECT … FROM t WHERE …;                              SELECT … FROM t WHERE … FOR UPDATE;
//!                                                         UPDATE t SET c = t.c WHERE …; SELECT … FROM t WHERE …;
//!   postgres:read-committed                               postgres:repeatable-read, for one procedure or for all that take part
//! ```
//!
//! A lock is not a write: on a snapshot FOR UPDATE does not refuse somebody whose snapshot is older, an UPDATE that changes nothing does. So both
//! are tried, and whichever is verified is told. The lines stay where they are, or a place would mean something else.

use super::text::AnalyzedText;
use skew_analyze::{Fix, FixKind, Level, RobustnessAnalysis, Transactions, UnfoldOptions, Witness};
use skew_value::Place;
use std::ops::Range;

/// So many steps may verifying one fix take; one that takes more is not told.
const MOST_STEPS: usize = 2_000_000;

/// Who looks for fixes of one finding.
pub(crate) struct Fixing<'a> {
    pub(crate) text: &'a AnalyzedText,
    pub(crate) analysis: &'a RobustnessAnalysis,
    pub(crate) options: UnfoldOptions,
    pub(crate) level: Level,
    pub(crate) witness: &'a Witness,
}

/// A fix with what it changes.
pub(crate) struct FixMade {
    pub(crate) fix: Fix,
    pub(crate) change: FixChange,
}

/// What a fix changes.
#[derive(Clone, Debug)]
pub(crate) enum FixChange {
    /// The text: all of it, and on which lines there are so many statements more or fewer.
    Text(String, Vec<(u32, i32)>),
    /// The levels of procedures.
    Levels(Vec<(String, Level)>),
}

/// A change of the text.
#[derive(Clone)]
struct Edit {
    bytes: Range<usize>,
    by: String,
    /// A line, and how many statements there are more.
    more: Option<(u32, i32)>,
}

impl Fixing<'_> {
    /// All fixes that are verified, the smallest change of each kind.
    pub(crate) fn fixes(&self) -> Vec<FixMade> {
        let mut fixes: Vec<FixMade> = self.atomic_update().into_iter().collect();
        fixes.extend(self.of_reads(FixKind::ForUpdate));
        fixes.extend(self.of_reads(FixKind::IdentityUpdate));
        fixes.extend(self.higher_level());
        fixes
    }

    /// The changed text, if the procedures of the finding are robust with it.
    fn helps(&self, mut edits: Vec<Edit>) -> Option<FixChange> {
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.bytes.start));
        let mut text = self.text.text.clone();
        let more = edits.iter().filter_map(|edit| edit.more).collect();
        edits.into_iter().for_each(|edit| text.replace_range(edit.bytes, &edit.by));
        let changed = self.text.changed(text)?;
        let transactions = Transactions::of(&changed.program);
        if transactions.unsupported.len() > self.analysis.transactions().unsupported.len() {
            return None;
        }
        let level = |name: &str| self.witness.instances.iter().any(|one| one.name == name).then_some(self.level);
        let levels: Vec<Option<Level>> = transactions.procedures.iter().map(|one| level(&one.name)).collect();
        let analysis = RobustnessAnalysis::new(transactions, self.options).ok()?.within(MOST_STEPS);
        analysis.ask(&levels).is_robust().then_some(FixChange::Text(changed.text, more))
    }

    /// The plain SELECTs that take part, in the order of the text.
    fn reads(&self) -> Vec<StatementText> {
        let places = self.witness.dependencies.iter().flat_map(|one| [one.from.1, one.to.1]);
        let mut places: Vec<Place> = places.collect();
        places.sort_by_key(|place| (place.line, place.column));
        places.dedup();
        let plain = |place: Place| StatementText::at(&self.text.text, place);
        let is_read = |statement: &StatementText| {
            let words = statement.lower();
            words.starts_with("select") && !words.contains(" for update") && !words.contains(" for share")
        };
        places.into_iter().filter_map(plain).filter(is_read).collect()
    }

    /// FOR UPDATE or an UPDATE that changes nothing, on one read if that is enough, else on all.
    fn of_reads(&self, kind: FixKind) -> Option<FixMade> {
        let reads = self.reads();
        let edit = |read: &StatementText| match kind {
            FixKind::ForUpdate => {
                Some(Edit { bytes: read.bytes.end..read.bytes.end, by: " FOR UPDATE".to_owned(), more: None })
            }
            _ => {
                let update = self.identity_update(read)?;
                let more = Some((read.place.line, 1));
                Some(Edit { bytes: read.bytes.start..read.bytes.start, by: format!("{update}; "), more })
            }
        };
        let alone = reads.iter().map(std::slice::from_ref);
        let all = (reads.len() > 1).then_some(&reads[..]);
        for chosen in alone.chain(all) {
            let Some(edits) = chosen.iter().map(edit).collect::<Option<Vec<Edit>>>() else { continue };
            if let Some(change) = self.helps(edits) {
                let places: Vec<String> = chosen.iter().map(|read| self.text.spot(read.place)).collect();
                let at = places.join(" and ");
                let sentence = match (kind, self.identity_update(&chosen[0])) {
                    (FixKind::IdentityUpdate, Some(update)) => {
                        format!("write `{};` before the SELECT at {at}", self.text.shown(&update))
                    }
                    _ => format!("add FOR UPDATE to the SELECT at {at}"),
                };
                let fix = Fix { kind, place: chosen[0].place, verified: true, sentence };
                return Some(FixMade { fix, change });
            }
        }
        None
    }

    /// `UPDATE t SET c = t.c WHERE …` for a `SELECT … FROM t WHERE …` of one table.
    fn identity_update(&self, read: &StatementText) -> Option<String> {
        let lower = read.lower();
        let from = word_at(&lower, "from")?;
        let condition = from + word_at(lower.get(from..)?, "where")?;
        let table = lower.get(from + 4..condition)?.trim();
        let known = self.text.program.initial().0.tables.get(table)?;
        let keys = known.key_columns();
        let columns = known.column_names();
        let mut others = columns.iter().filter(|column| !keys.contains(column));
        let is_read = |column: &&String| word_at(&lower[..from], column).is_some();
        let column = others.clone().find(is_read).or_else(|| others.next())?;
        let condition = read.text.get(condition..)?.split_whitespace().collect::<Vec<&str>>().join(" ");
        Some(format!("UPDATE {table} SET {column} = {table}.{column} {condition}"))
    }

    /// `SELECT c INTO v FROM t WHERE …; … UPDATE t SET c = … v …`, where v is for nothing else, as one UPDATE.
    fn atomic_update(&self) -> Option<FixMade> {
        self.reads().iter().find_map(|read| self.computed_in_place(read))
    }

    fn computed_in_place(&self, read: &StatementText) -> Option<FixMade> {
        let lower = read.lower();
        let (into, from) = (word_at(&lower, "into")?, word_at(&lower, "from")?);
        let column = lower.get("select".len()..into)?.trim();
        let variable = lower.get(into + 4..from)?.trim();
        let table = lower.get(from + 4..from + word_at(lower.get(from..)?, "where")?)?.trim();
        let is_name =
            |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        if ![column, variable, table].into_iter().all(is_name) {
            return None;
        }
        let is_same = |one: &StatementText| one.condition().is_some() && one.condition() == read.condition();
        let uses = |one: &StatementText| word_at(&one.lower(), variable).is_some();
        let update = self.updates_of(table).into_iter().find(|one| is_same(one) && uses(one))?;
        let body = self.procedure_around(read)?;
        let uses = words_at(&self.text.text[body.clone()].to_ascii_lowercase(), variable);
        let others = uses.iter().map(|at| at + body.start);
        let others: Vec<usize> = others.filter(|at| !read.bytes.contains(at) && !update.bytes.contains(at)).collect();
        // One more is its declaration. What is handed out is for the caller, too.
        if others.len() > 1 || others.iter().any(|at| is_handed_out(&self.text.text[..*at])) {
            return None;
        }
        let instead = format!("{table}.{column}");
        let mut edits: Vec<Edit> = words_at(&update.lower(), variable)
            .into_iter()
            .map(|at| at + update.bytes.start)
            .map(|at| Edit { bytes: at..at + variable.len(), by: instead.clone(), more: None })
            .collect();
        let blank = self.text.text.get(read.bytes.start..read.bytes.end + 1)?.chars();
        let by = blank.map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect();
        edits.push(Edit { bytes: read.bytes.start..read.bytes.end + 1, by, more: Some((read.place.line, -1)) });
        let place = update.place;
        let sentence = format!(
            "let the UPDATE at {} compute with {column} itself, and drop the SELECT at {}",
            self.text.spot(place),
            self.text.spot(read.place)
        );
        let change = self.helps(edits)?;
        Some(FixMade { fix: Fix { kind: FixKind::AtomicUpdate, place, verified: true, sentence }, change })
    }

    /// The UPDATEs of a table that take part.
    fn updates_of(&self, table: &str) -> Vec<StatementText> {
        let places = self.witness.statements.iter().map(|statement| statement.place);
        let found = places.filter_map(|place| StatementText::at(&self.text.text, place));
        let begins = format!("update {table} ");
        found.filter(|statement| statement.lower().starts_with(&begins)).collect()
    }

    /// The bytes of the procedure that a statement stands in.
    fn procedure_around(&self, statement: &StatementText) -> Option<Range<usize>> {
        let parts = skew_program::parts(&self.text.text, self.text.dialect).ok()?;
        parts.into_iter().map(|part| part.bytes).find(|bytes| bytes.contains(&statement.bytes.start))
    }

    /// A higher level for one procedure if that is enough, else for all that take part.
    fn higher_level(&self) -> Option<FixMade> {
        let procedures = &self.analysis.transactions().procedures;
        let takes_part = |name: &str| self.witness.instances.iter().any(|one| one.name == name);
        let members: Vec<usize> = (0..procedures.len()).filter(|one| takes_part(&procedures[*one].name)).collect();
        let higher = Level::ALL.into_iter().filter(|level| *level > self.level);
        let alone: Vec<Vec<usize>> = members.iter().map(|one| vec![*one]).collect();
        for level in higher {
            for chosen in alone.iter().chain([&members]) {
                let of = |one: usize| if chosen.contains(&one) { level } else { self.level };
                let levels: Vec<Option<Level>> =
                    (0..procedures.len()).map(|one| members.contains(&one).then(|| of(one))).collect();
                if self.analysis.ask(&levels).is_robust() {
                    let names: Vec<&str> = chosen.iter().map(|one| procedures[*one].name.as_str()).collect();
                    let sentence = format!(
                        "run {} at {}, and again when it is refused with 40001",
                        names.join(" and "),
                        level.of_engine()
                    );
                    let place =
                        procedures[chosen[0]].steps.first().map_or(Place { line: 1, column: 1 }, |step| step.place);
                    let fix = Fix { kind: FixKind::HigherLevel, place, verified: true, sentence };
                    let change = FixChange::Levels(names.iter().map(|name| ((*name).to_owned(), level)).collect());
                    return Some(FixMade { fix, change });
                }
            }
        }
        None
    }
}

/// A statement where it stands.
struct StatementText {
    place: Place,
    /// Without its semicolon.
    bytes: Range<usize>,
    text: String,
}

impl StatementText {
    /// The statement at a place, up to its semicolon; nothing where a parenthesis or a word of a block ends it.
    fn at(text: &str, place: Place) -> Option<StatementText> {
        let line = text.split_inclusive('\n').take(place.line.saturating_sub(1) as usize).map(str::len).sum::<usize>();
        let rest = text.get(line..)?;
        let column = rest.char_indices().nth(place.column.saturating_sub(1) as usize)?.0;
        let start = line + column;
        let (mut depth, mut quote) = (0_i32, None);
        for (at, letter) in text[start..].char_indices() {
            match (quote, letter) {
                // A comment ends with its line.
                (None, '-') if text[start + at..].starts_with("--") => quote = Some('\n'),
                (Some(open), _) if letter == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(letter),
                (None, '(') => depth += 1,
                (None, ')') if depth == 0 => return None,
                (None, ')') => depth -= 1,
                (None, ';') => {
                    let bytes = start..start + at;
                    return Some(StatementText { place, text: text[bytes.clone()].to_owned(), bytes });
                }
                _ => {}
            }
        }
        None
    }

    /// What stands behind WHERE, without needless blanks.
    fn condition(&self) -> Option<String> {
        let lower = self.lower();
        let condition = word_at(&lower, "where")?;
        Some(lower[condition..].split_whitespace().collect::<Vec<&str>>().join(" "))
    }

    /// Its text in small letters, as long as it is.
    fn lower(&self) -> String {
        self.text.to_ascii_lowercase().replace('\n', " ")
    }
}

/// Where a word stands first.
fn word_at(text: &str, word: &str) -> Option<usize> {
    words_at(text, word).first().copied()
}

/// Where a word stands.
fn words_at(text: &str, word: &str) -> Vec<usize> {
    let is_part =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.');
    let stands = |at: &usize| {
        !is_part(text[..*at].chars().next_back()) && {
            let next = text[at + word.len()..].chars().next();
            !next.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
        }
    };
    text.match_indices(word).map(|(at, _)| at).filter(stands).collect()
}

/// Whether the name that follows a text is declared there as what a procedure hands out.
fn is_handed_out(before: &str) -> bool {
    let word = before.split_whitespace().next_back().unwrap_or_default().to_ascii_lowercase();
    let word = word.rsplit(['(', ',']).next().unwrap_or_default();
    ["out", "inout"].contains(&word)
}
