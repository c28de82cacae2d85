//! The course of a run that shows a finding: the user's statements in the order in which they were sent, and what came back.
//!
//! ```text
//!   t1 withdraw(1, 60)                                      t2 withdraw(1, 60)
//!   SELECT balance INTO bal FROM account WHERE id = acct;
//!     -- 1. withdraw.sql:12: 100
//!                                                           SELECT balance INTO bal FROM account WHERE id = acct;
//!                                                             -- 2. withdraw.sql:12: 100
//! ```
//!
//! A finding without a run is told by the order of statements that its witness has, where nothing comes back.

use super::{Analyzed, KnownFinding};
use crate::typed::{Typed, TypedMoment, TypedStatement, words};
use skew_analyze::Finding;
use skew_value::Place;
use skew_view::terminals::{TerminalLine, TerminalText};

/// A statement in its place of an interleaving.
pub(super) struct CourseStatement {
    /// Whose it is: a number among the instances.
    pub(super) instance: usize,
    /// As the file has it.
    pub(super) sql: String,
    /// Where it stands; an end of a transaction where its last statement does.
    pub(super) place: Place,
    /// Whether it ends a transaction, and stands nowhere in the file.
    pub(super) is_end: bool,
    /// What happens then, if that is known: that it waits, what comes back.
    pub(super) told: Vec<String>,
    /// What it was answered in the end.
    pub(super) answer: Option<String>,
}

impl Analyzed {
    /// The statements of all instances in their order: those of the run, where there is one.
    pub(super) fn course(&self, finding: &Finding, known: &KnownFinding) -> Vec<CourseStatement> {
        match known.run.as_ref().and_then(|run| run.typed.as_ref()) {
            Some(typed) => self.course_of(typed).0,
            None => finding.interleaving.iter().map(|one| self.imagined(one)).collect(),
        }
    }

    fn imagined(&self, one: &skew_analyze::WitnessStatement) -> CourseStatement {
        let (instance, sql, place) = (one.instance, self.text.shown(&one.text), one.place);
        CourseStatement { instance, sql, place, is_end: false, told: Vec::new(), answer: None }
    }

    /// The statements of a run, and what happens to them: the number of each, and nothing where it is sent.
    fn course_of(&self, typed: &Typed) -> (Vec<CourseStatement>, Vec<(usize, Option<String>)>) {
        let mut course: Vec<CourseStatement> = Vec::new();
        let mut numbers: Vec<Option<usize>> = vec![None; typed.statements.len()];
        let mut moments = Vec::new();
        for moment in typed.moments() {
            match moment {
                TypedMoment::Sent(number) => {
                    let Some(statement) = self.course_statement(&typed.statements[number], &course) else { continue };
                    numbers[number] = Some(course.len());
                    moments.push((course.len(), None));
                    course.push(statement);
                }
                TypedMoment::Told(number, words) => {
                    let Some(number) = numbers[number] else { continue };
                    course[number].told.push(words.clone());
                    moments.push((number, Some(words)));
                }
            }
        }
        (course, moments)
    }

    /// A statement of a run as the file has it. What begins a transaction stands in no file.
    fn course_statement(&self, typed: &TypedStatement, before: &[CourseStatement]) -> Option<CourseStatement> {
        let TypedStatement { session, sql, heard, place } = typed;
        let last = before.iter().rev().find(|one| one.instance == *session).map(|one| one.place);
        let is_end = place.is_none();
        let place = place.or(last)?;
        let written = self.statements.get(&(place.line, place.column)).filter(|_| !is_end);
        let sql = written.map_or(sql.clone(), |text| self.text.shown(text));
        let answer = Some(words(heard));
        Some(CourseStatement { instance: *session, sql, place, is_end, told: Vec::new(), answer })
    }

    /// The interleaving for people: a terminal for each instance, the statements numbered, with their places and what came back.
    pub(super) fn columns(&self, finding: &Finding, known: &KnownFinding) -> (Vec<String>, Vec<TerminalLine>) {
        let typed = known.run.as_ref().and_then(|run| run.typed.as_ref());
        let (course, moments) = match typed {
            Some(typed) => self.course_of(typed),
            None => {
                let course = self.course(finding, known);
                let moments = (0..course.len()).map(|number| (number, None)).collect();
                (course, moments)
            }
        };
        let mut lines: Vec<TerminalLine> = Vec::new();
        let mut numbered = 0;
        for (at, (number, told)) in moments.iter().enumerate() {
            let CourseStatement { instance: column, sql, is_end, place, .. } = &course[*number];
            let mut remark =
                |words: String| lines.push(TerminalLine { column: *column, text: TerminalText::Remark(words) });
            if let Some(words) = told {
                // What comes back at once stands behind the place.
                if at > 0 && moments[at - 1] == (*number, None) && !is_end {
                    continue;
                }
                remark(words.clone());
                continue;
            }
            let mut place = self.text.spot(*place).rsplit('/').next().unwrap_or_default().to_owned();
            numbered += usize::from(!is_end);
            if let Some((_, Some(words))) = moments.get(at + 1).filter(|next| next.0 == *number) {
                place = format!("{place}: {words}");
            }
            lines.push(TerminalLine { column: *column, text: TerminalText::Typed(self.told_statement(sql)) });
            if !is_end {
                lines
                    .push(TerminalLine { column: *column, text: TerminalText::Remark(format!("{numbered}. {place}")) });
            }
        }
        (self.titles(known), lines)
    }

    /// Who takes part in the interleaving: the calls of the run, where there is one.
    pub(super) fn titles(&self, known: &KnownFinding) -> Vec<String> {
        match known.run.as_ref().filter(|run| run.typed.is_some()) {
            Some(run) => run.numbered_calls(),
            None => known.calls.clone(),
        }
    }
}
