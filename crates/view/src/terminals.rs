//! Statements of several sessions as people would type them: a terminal per session, side by side, time going down.
//!
//! ```text
//!   a                                         b
//!   BEGIN;
//!                                             BEGIN;
//!   UPDATE t SET value = 11 WHERE id = 1;
//!     -- 1 row
//!                                             UPDATE t SET value = 12 WHERE id = 1;
//!                                               -- waits for a
//!   COMMIT;
//!                                               -- goes on: 1 row
//! ```
//!
//! What comes back stands behind `--`, which SQL passes over: a column can be copied as it is.

use crate::Palette;
use crate::words::{clean, wrap};
use std::fmt::Write as _;

/// How wide all columns together may be.
const WIDEST: usize = 116;

/// What stands between two columns.
const GAP: usize = 3;

/// One line of a terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TerminalLine {
    /// Whose terminal: a place among the sessions.
    pub column: usize,
    /// What stands there.
    pub text: TerminalText,
}

/// What stands in a terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TerminalText {
    /// A statement, without its semicolon.
    Typed(String),
    /// What came back, or that nothing did.
    Remark(String),
}

/// The terminals side by side, every line with two spaces before it.
pub fn terminals(sessions: &[String], lines: &[TerminalLine], palette: Palette) -> String {
    let columns = sessions.len().max(1);
    let room = (WIDEST.saturating_sub(GAP * (columns - 1)) / columns).max(24);
    let longest = lines.iter().map(|line| line.text.written().chars().count()).max().unwrap_or(0);
    let width = longest.min(room);
    let Palette { heading, faint, end, .. } = palette;
    let mut out = String::new();
    let titles: Vec<String> = sessions.iter().map(|name| format!("{:width$}", clean(name))).collect();
    let titles = titles.join(&" ".repeat(GAP));
    let _ = writeln!(out, "  {heading}{}{end}", titles.trim_end());
    for line in lines {
        let before = " ".repeat(2 + line.column * (width + GAP));
        let (start, stop) = if let TerminalText::Remark(_) = line.text { (faint, end) } else { ("", "") };
        for part in line.text.parts(width) {
            let _ = writeln!(out, "{before}{start}{part}{stop}");
        }
    }
    out
}

impl TerminalText {
    /// All of it in one line.
    fn written(&self) -> String {
        match self {
            TerminalText::Typed(sql) => format!("{};", clean(sql)),
            TerminalText::Remark(text) => format!("  -- {}", clean(text)),
        }
    }

    /// The same in lines that fit; a remark is one in each of them.
    fn parts(&self, width: usize) -> Vec<String> {
        let (text, first, next) = match self {
            TerminalText::Typed(sql) => (format!("{};", clean(sql)), "", "  "),
            TerminalText::Remark(text) => (clean(text), "  -- ", "  -- "),
        };
        if self.written().chars().count() <= width {
            return vec![self.written()];
        }
        let lines = wrap(&text, width.saturating_sub(next.len()).max(1));
        let indent = |(number, line): (usize, String)| format!("{}{line}", if number == 0 { first } else { next });
        lines.into_iter().enumerate().map(indent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(column: usize, sql: &str) -> TerminalLine {
        TerminalLine { column, text: TerminalText::Typed(sql.to_owned()) }
    }

    fn remark(column: usize, text: &str) -> TerminalLine {
        TerminalLine { column, text: TerminalText::Remark(text.to_owned()) }
    }

    #[test]
    fn sessions_stand_side_by_side_and_time_goes_down() {
        let lines = [typed(0, "BEGIN"), typed(1, "COMMIT"), remark(1, "waits for a")];
        let sessions = ["a".to_owned(), "b".to_owned()];
        let shown = terminals(&sessions, &lines, Palette::PLAIN);
        let expected =
            "  a                  b\n  BEGIN;\n                     COMMIT;\n                       -- waits for a\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_too_wide_goes_on_in_the_next_line() {
        let sql = format!("SELECT {}x", "value, ".repeat(20));
        let sessions = ["a", "b", "c"].map(str::to_owned);
        let shown = terminals(&sessions, &[typed(2, &sql), remark(0, &sql)], Palette::PLAIN);
        assert!(shown.lines().all(|line| line.len() <= WIDEST + 2), "{shown}");
        assert!(shown.lines().filter(|line| line.trim_start().starts_with("-- ")).count() > 1, "{shown}");
        assert!(shown.contains("\n  ") && shown.trim_end().lines().any(|line| line.ends_with("x;")), "{shown}");
    }
}
