//! What clients say, a line each, as PostgreSQL's jsonlog has it with `log_statement = 'all'`: whoever reads such logs reads this one.
//!
//! ```text
//!   {"session_id":"0","error_severity":"LOG","message":"starting skew serve"}
//!   {"session_id":"1","error_severity":"LOG","message":"statement: BEGIN"}
//!   {"session_id":"1","error_severity":"LOG","message":"execute <unnamed>: SELECT … $1","detail":"parameters: $1 = '7'"}
//!   {"session_id":"1","error_severity":"ERROR","message":"duplicate key …","statement":"INSERT …"}
//!   {"session_id":"1","error_severity":"LOG","message":"disconnection: the client is gone"}
//! ```
//!
//! There are no times in it, so that two runs of the same commands have the same lines.

use crate::tape::Tape;
use skew_history::json::quoted;
use skew_sql::session::Prepared;
use skew_value::{Datum, Dialect, output};
use std::io::Write;

/// Where lines go, if anybody wants to have them.
#[derive(Clone, Default, Debug)]
pub(crate) struct StatementLog(Option<Tape>);

impl StatementLog {
    /// Says whose log it is: connections of this server are what its clients do one after the other.
    pub(crate) fn begin(tape: Option<Tape>) -> StatementLog {
        let log = StatementLog(tape);
        log.line(0, "LOG", "starting skew serve", None);
        log
    }

    /// A text of the simple protocol.
    pub(crate) fn said(&self, client: i32, text: &str) {
        self.line(client, "LOG", &format!("statement: {text}"), None);
    }

    /// A statement with its parameters.
    pub(crate) fn executed(&self, client: i32, text: &str, prepared: &Prepared, parameters: &[Datum]) {
        if self.0.is_none() {
            return;
        }
        let detail = values(prepared, parameters).map(|values| ("detail", format!("parameters: {values}")));
        self.line(client, "LOG", &format!("execute <unnamed>: {text}"), detail);
    }

    /// An error, and the text that it is about, where that is known.
    pub(crate) fn failed(&self, client: i32, message: &str, text: &str) {
        self.line(client, "ERROR", message, (!text.is_empty()).then(|| ("statement", text.to_owned())));
    }

    /// A client is gone.
    pub(crate) fn left(&self, client: i32) {
        self.line(client, "LOG", "disconnection: the client is gone", None);
    }

    fn line(&self, client: i32, severity: &str, message: &str, more: Option<(&str, String)>) {
        let Some(tape) = &self.0 else { return };
        let more = more.map(|(name, text)| format!(",\"{name}\":{}", quoted(&text))).unwrap_or_default();
        let message = quoted(message);
        let line =
            format!("{{\"session_id\":\"{client}\",\"error_severity\":\"{severity}\",\"message\":{message}{more}}}\n");
        // A tape takes everything, and a line as a whole.
        let _ = tape.clone().write_all(line.as_bytes());
    }
}

/// The parameters of a statement, if it has any.
pub(crate) fn values(prepared: &Prepared, parameters: &[Datum]) -> Option<String> {
    let types = prepared.parameter_types();
    let value = |(place, (datum, sql_type)): (usize, (&Datum, _))| match datum {
        Datum::Null => format!("${} = NULL", place + 1),
        datum => {
            let written = output(datum, sql_type, Dialect::Postgres);
            format!("${} = '{}'", place + 1, written.replace('\'', "''"))
        }
    };
    let values: Vec<String> = parameters.iter().zip(types).enumerate().map(value).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_a_log() {
        let tape = Tape::default();
        let log = StatementLog::begin(Some(tape.clone()));
        log.said(1, "SELECT 'a\nb'");
        log.failed(2, "no \"x\"", "SELECT x");
        log.left(1);
        let lines: Vec<String> = tape.text().lines().skip(1).map(str::to_owned).collect();
        assert_eq!(lines[0], r#"{"session_id":"1","error_severity":"LOG","message":"statement: SELECT 'a\nb'"}"#);
        assert_eq!(
            lines[1],
            r#"{"session_id":"2","error_severity":"ERROR","message":"no \"x\"","statement":"SELECT x"}"#
        );
        assert_eq!(lines.len(), 3);
    }
}
