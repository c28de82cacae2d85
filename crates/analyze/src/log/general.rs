//! The general query log of MySQL and MariaDB: a time, where it is new, the number of the connection, what it did, and the text.
//!
//! ```text
//!   /usr/sbin/mariadbd, Version: 10.11.6-MariaDB …. started with:
//!   Tcp port: 3306  Unix socket: …
//!   Time                Id Command    Argument
//!   231118  9:00:01      4 Connect    shop@localhost on shop using Socket
//!                        4 Query      START TRANSACTION
//!                        4 Query      SELECT stock FROM product
//!   WHERE id = 1                                                              goes on: a text has the line breaks of its client
//!                        4 Execute    UPDATE product SET stock = 7 WHERE id = 1     a prepared statement, values put in
//! ```
//!
//! A line that does not begin as an entry does belongs to the text before it. Errors are not in this log: a transaction that failed is seen
//! by the ROLLBACK that follows, or by the end of its connection.

use super::{LogEvent, LogEventKind, ToldLine};

/// What connections do, as this log calls it.
const COMMANDS: [&str; 22] = [
    "Sleep",
    "Quit",
    "Init DB",
    "Query",
    "Field List",
    "Create DB",
    "Drop DB",
    "Refresh",
    "Shutdown",
    "Statistics",
    "Processlist",
    "Connect",
    "Kill",
    "Debug",
    "Ping",
    "Change user",
    "Prepare",
    "Execute",
    "Close stmt",
    "Reset stmt",
    "Fetch",
    "Set option",
];

/// Whether one of the first lines is the heading of this log, or the first is an entry.
pub(super) fn is_general(text: &str) -> bool {
    let mut first = text.lines().filter(|line| !line.trim().is_empty()).take(5).peekable();
    let begins = first.peek().is_some_and(|line| entry(line).is_some());
    begins || first.any(is_heading)
}

fn is_heading(line: &str) -> bool {
    line.split_whitespace().eq(["Time", "Id", "Command", "Argument"])
}

pub(super) fn read(text: &str, tell: &mut dyn FnMut(ToldLine)) {
    // The last entry, if it was a text, which may go on.
    let mut open: Option<LogEvent> = None;
    let (mut has_begun, mut headings) = (false, 0);
    for (number, line) in text.lines().enumerate() {
        let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        if line.contains(", Version: ") && line.trim_end().ends_with("started with:") {
            open.take().into_iter().for_each(|event| tell(Ok(event)));
            (headings, has_begun) = (2, true);
            continue;
        }
        if headings > 0 || is_heading(line) {
            headings = if is_heading(line) { 0 } else { headings - 1 };
            continue;
        }
        match (entry(line), &mut open) {
            (Some(entry), _) => {
                open.take().into_iter().for_each(|event| tell(Ok(event)));
                has_begun = true;
                open = begun(number, entry, tell);
            }
            (None, Some(LogEvent { kind: LogEventKind::Said(text, _), .. })) => {
                text.push('\n');
                text.push_str(line);
            }
            (None, _) if has_begun || line.trim().is_empty() => {}
            (None, _) => tell(Err((number, "no entry of a general query log".to_owned()))),
        }
    }
    open.into_iter().for_each(|event| tell(Ok(event)));
}

/// What an entry begins: a text that may go on, or something that is told at once.
fn begun(
    line: u32,
    (session, command, argument): (&str, &str, &str),
    tell: &mut dyn FnMut(ToldLine),
) -> Option<LogEvent> {
    let event = |kind: LogEventKind| LogEvent { line, session: session.to_owned(), kind };
    match command {
        "Query" | "Execute" => return Some(event(LogEventKind::Said(argument.to_owned(), Vec::new()))),
        "Quit" | "Connect" | "Change user" => tell(Ok(event(LogEventKind::Left))),
        _ => {}
    }
    None
}

/// The connection, the command and the argument of a line that begins an entry.
fn entry(line: &str) -> Option<(&str, &str, &str)> {
    let rest = after_time(line)?.trim_start_matches([' ', '\t']);
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).filter(|digits| *digits > 0)?;
    let (session, rest) = rest.split_at(digits);
    let rest = rest.strip_prefix(' ')?;
    let command = COMMANDS.iter().find(|command| rest.starts_with(**command))?;
    let argument = &rest[command.len()..];
    match argument.strip_prefix('\t') {
        Some(argument) => Some((session, *command, argument)),
        None if argument.trim().is_empty() => Some((session, *command, "")),
        None => None,
    }
}

/// What follows the time: `2024-11-18T09:00:01.123456Z<tab>`, `231118  9:00:01<tab>`, or two tabs for the time of the line before.
fn after_time(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("\t\t") {
        return Some(rest);
    }
    let (time, rest) = line.split_once('\t')?;
    let is_time = !time.is_empty()
        && time.starts_with(|letter: char| letter.is_ascii_digit())
        && time.chars().all(|letter| letter.is_ascii_digit() || "-:.TZ+ ".contains(letter));
    is_time.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_both_servers_are_read() {
        let mysql = "2024-11-18T09:00:01.123456Z\t    8 Query\tSELECT 1";
        assert_eq!(entry(mysql), Some(("8", "Query", "SELECT 1")));
        assert_eq!(
            entry("231118  9:00:01\t     4 Connect\tshop@localhost on shop"),
            Some(("4", "Connect", "shop@localhost on shop"))
        );
        assert_eq!(entry("\t\t     4 Quit\t"), Some(("4", "Quit", "")));
        assert_eq!(entry("\t\t     4 Close stmt\t"), Some(("4", "Close stmt", "")));
        for other in ["WHERE id = 1", "", "\t\t x Query\tSELECT 1", "\t4 Nonsense\tx", "12\t34"] {
            assert_eq!(entry(other), None, "{other}");
        }
    }

    #[test]
    fn a_text_goes_on_until_the_next_entry() {
        let log = "mariadbd, Version: 10.11 (x). started with:\nTcp port: 1  Unix socket: s\nTime\t\t    Id Command\tArgument\n\
                   231118  9:00:01\t     4 Query\tSELECT 1\nFROM t\n\t\t     4 Quit\t\n";
        let told = |text: &str| {
            let mut told = Vec::new();
            read(text, &mut |one| told.push(one.map(|event| event.kind)));
            told
        };
        assert!(is_general(log));
        assert_eq!(
            told(log),
            [Ok(LogEventKind::Said("SELECT 1\nFROM t".to_owned(), Vec::new())), Ok(LogEventKind::Left)]
        );
        assert_eq!(told("what\n"), [Err((1, "no entry of a general query log".to_owned()))]);
    }
}
