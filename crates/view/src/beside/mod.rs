//! A run and another one that it could have been, side by side.
//!
//! ```text
//!       observed                 predicted
//!   session a
//!   t1  read x = 0 (initial)     read x = 0 (initial)
//!       write x = 1              write x = 1
//!   session b
//!   t2  read x = 1               read x = 0 (initial)     ◀ changed
//!       write x = 2              ✂
//! ```
//!
//! Two histories whose transactions have the same names: the first is whole, in the second sessions may end earlier and reads may return
//! something else. Only those transactions and keys are shown that somebody asks for, so that a run of thousands fits on a page.
//!
//! An append on the left may be a read and a write on the right: that is what it does.

mod svg;

pub use svg::drawings;

use crate::Palette;
use crate::words::{self, Versions};
use skew_history::{Action, Event, EventId, History, KeyId, SessionId, TransactionId};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Where a column ends at the latest, so that two fit beside each other.
const WIDEST_COLUMN: usize = 48;
const GAP: &str = "    ";

/// Two runs, and what is shown of them. Numbers are those of the first.
#[derive(Clone, Debug)]
pub struct Beside<'a> {
    /// What was observed.
    pub observed: &'a History,
    /// What could have been.
    pub predicted: &'a History,
    /// The transactions that take part, in ascending order.
    pub transactions: Vec<TransactionId>,
    /// The keys that take part.
    pub keys: BTreeSet<KeyId>,
    /// The reads that return something else.
    pub changed: Vec<EventId>,
    /// The sessions that end earlier.
    pub cut: Vec<SessionId>,
}

/// What stands beside what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BesideRow {
    /// The transaction whose first row this is; the session in a row of its own.
    pub name: String,
    /// What was observed.
    pub observed: String,
    /// What could have been.
    pub predicted: String,
    /// What there is to say about it.
    pub mark: BesideMark,
}

/// What there is to say about a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BesideMark {
    /// A session begins.
    Session,
    /// Both are the same.
    Same,
    /// A read returns something else.
    Changed,
    /// It is not in the other run.
    Gone,
}

impl Beside<'_> {
    /// All rows, session by session.
    pub fn rows(&self) -> Vec<BesideRow> {
        let versions = (Versions::new(self.observed), Versions::new(self.predicted));
        let mut rows = Vec::new();
        let mut session = None;
        for &transaction in &self.transactions {
            let of = self.observed.session_of(transaction);
            if session != Some(of) {
                self.end_session(session, &mut rows);
                session = Some(of);
                let name = format!("session {}", words::clean(&self.observed.session_name(of).to_string()));
                rows.push(row(name, String::new(), String::new(), BesideMark::Session));
            }
            let start = rows.len();
            self.transaction(transaction, &versions, &mut rows);
            if let Some(first) = rows.get_mut(start) {
                first.name = words::clean(&self.observed.transaction_name(transaction).to_string());
            }
        }
        self.end_session(session, &mut rows);
        rows
    }

    /// Where a session ends earlier, its first row that is gone says so; if none is shown, a row of its own.
    fn end_session(&self, session: Option<SessionId>, rows: &mut Vec<BesideRow>) {
        if !session.is_some_and(|session| self.cut.contains(&session)) {
            return;
        }
        let start = rows.iter().rposition(|row| row.mark == BesideMark::Session).unwrap_or(0);
        match rows[start..].iter_mut().find(|row| row.mark == BesideMark::Gone) {
            Some(row) => "✂".clone_into(&mut row.predicted),
            None => rows.push(row(String::new(), "…".to_owned(), "✂".to_owned(), BesideMark::Gone)),
        }
    }

    fn transaction(&self, id: TransactionId, versions: &(Versions, Versions), rows: &mut Vec<BesideRow>) {
        let name = self.observed.transaction_name(id).to_string();
        let other = self.predicted.find_transaction(&name);
        let mut others: Vec<(EventId, &Event)> =
            other.into_iter().flat_map(|other| self.predicted.numbered_events_of(other)).collect();
        others.reverse();
        for (number, event) in self.observed.numbered_events_of(id) {
            let pair = self.partner(event, &mut others);
            let is_shown = self.keys.contains(&event.key);
            // An append is a read and a write on the other side.
            let second = match event.action {
                Action::Append if pair.is_some_and(|(_, pair)| pair.is_read()) => self.partner(event, &mut others),
                _ => None,
            };
            if !is_shown {
                continue;
            }
            let observed = told(self.observed, &versions.0, number);
            let predicted = |(number, _)| told(self.predicted, &versions.1, number);
            let mark = match pair {
                None => BesideMark::Gone,
                Some(_) if self.changed.contains(&number) => BesideMark::Changed,
                Some(_) => BesideMark::Same,
            };
            rows.push(row(String::new(), observed, pair.map(predicted).unwrap_or_default(), mark));
            rows.extend(second.map(|second| row(String::new(), String::new(), predicted(second), BesideMark::Same)));
        }
    }

    /// What an event is in the other run, if it is there: the next one there, if that is of the same key.
    fn partner<'h>(&self, event: &Event, others: &mut Vec<(EventId, &'h Event)>) -> Option<(EventId, &'h Event)> {
        let name = self.observed.key_name(event.key).to_string();
        let is_same = |(_, other): &&(EventId, &Event)| {
            let of_kind = event.is_read() == other.is_read() || event.action == Action::Append;
            of_kind && self.predicted.key_name(other.key).to_string() == name
        };
        others.last().filter(is_same)?;
        others.pop()
    }

    /// Both runs as text.
    pub fn text(&self, palette: Palette) -> String {
        let rows = self.rows();
        let width = |text: fn(&BesideRow) -> &str| rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0);
        let events = rows.iter().filter(|row| row.mark != BesideMark::Session);
        let names = events.map(|row| row.name.chars().count()).max().unwrap_or(0);
        let (left, right) = (width(|row| &row.observed).max(8), width(|row| &row.predicted).max(9));
        let Palette { heading, bad, faint, end, .. } = palette;
        let mut out = format!("  {:names$}  {heading}{:left$}{end}{GAP}{heading}predicted{end}\n", "", "observed");
        for BesideRow { name, observed, predicted, mark } in &rows {
            let predicted_wide = format!("{predicted:right$}");
            let line = match mark {
                BesideMark::Session => format!("  {faint}{name}{end}"),
                BesideMark::Same => format!("  {name:names$}  {observed:left$}{GAP}{}", predicted_wide.trim_end()),
                BesideMark::Changed => {
                    format!("  {name:names$}  {observed:left$}{GAP}{bad}{predicted_wide}{GAP}◀ changed{end}")
                }
                BesideMark::Gone => format!("  {name:names$}  {faint}{observed:left$}{end}{GAP}{predicted}"),
            };
            writeln!(out, "{}", line.trim_end()).expect("writing to a string");
        }
        out
    }
}

fn row(name: String, observed: String, predicted: String, mark: BesideMark) -> BesideRow {
    BesideRow { name, observed: shortened(observed), predicted: shortened(predicted), mark }
}

fn shortened(text: String) -> String {
    if text.chars().count() <= WIDEST_COLUMN {
        return text;
    }
    let start: String = text.chars().take(WIDEST_COLUMN - 1).collect();
    format!("{start}…")
}

fn told(history: &History, versions: &Versions, number: EventId) -> String {
    let is_initial = versions.writer_of(history, number) == Some(skew_history::Writer::Initial);
    words::event(history, number, is_initial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_history::notation;

    fn beside<'a>(observed: &'a History, predicted: &'a History, changed: &[u32], cut: &[u32]) -> Beside<'a> {
        Beside {
            observed,
            predicted,
            transactions: observed.transactions().collect(),
            keys: observed.keys().filter(|&key| observed.key_name(key).to_string() != "z").collect(),
            changed: changed.iter().copied().map(EventId).collect(),
            cut: cut.iter().copied().map(SessionId).collect(),
        }
    }

    #[test]
    fn changed_reads_and_cuts_are_marked_and_other_keys_left_out() {
        let observed = notation::parse("a: r(x,init) w(x,1); b: r(z,init) r(x,1) w(x,2) | r(x,2)").unwrap();
        let predicted = notation::parse("a: r(x,init) w(x,1); b: r(z,init) r(x,init) w(x,2)").unwrap();
        let text = beside(&observed, &predicted, &[3], &[1]).text(Palette::PLAIN);
        assert_eq!(
            text,
            "       observed                  predicted\n  \
               session a\n  \
               a#0  read x = nil (initial)    read x = nil (initial)\n       \
                    write x = 1               write x = 1\n  \
               session b\n  \
               b#0  read x = 1                read x = nil (initial)    ◀ changed\n       \
                    write x = 2               write x = 2\n  \
               b#1  read x = 2                ✂\n"
        );
    }

    #[test]
    fn an_append_is_a_read_and_a_write_on_the_other_side() {
        let observed = notation::parse("a: append(x,1); b: append(x,2) w(y,1)").unwrap();
        let predicted = notation::parse("a: r(x,init) w(x,1); b: r(x,init)").unwrap();
        let rows = beside(&observed, &predicted, &[1], &[1]).rows();
        let marks: Vec<BesideMark> = rows.iter().map(|row| row.mark).collect();
        use BesideMark::{Changed, Gone, Same, Session};
        assert_eq!(marks, [Session, Same, Same, Session, Changed, Gone]);
        assert_eq!(rows[2].predicted, "write x = 1");
    }

    #[test]
    fn a_cut_is_marked_where_nothing_that_is_gone_is_shown() {
        let observed = notation::parse("a: r(x,init) r(z,init); b: w(x,1)").unwrap();
        let predicted = notation::parse("a: r(x,init); b: w(x,1)").unwrap();
        let text = beside(&observed, &predicted, &[], &[0]).text(Palette::PLAIN);
        assert!(text.contains("…                         ✂\n"), "{text}");
    }
}
