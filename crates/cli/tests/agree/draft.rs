//! A small program as data: it is written down as a file of the program language, said statement by statement, and made smaller.
//!
//! ```text
//!   SESSION a: CALL a1();             a1:  0  SELECT v INTO r0 FROM kv WHERE k = 1;
//!                                          1  IF r0 = 0 THEN UPDATE kv SET v = 5 WHERE k = 1; SET r1 = ROW_COUNT(); END IF;
//! ```
//!
//! Statement number n leaves its answer in the variable `rn`: the value that a query found, or how many rows were changed. So everything
//! that a call sees is among what it hands out, and a statement keeps its variable when those before it are dropped.

use skew_value::Dialect;
use std::fmt::Write;

/// No procedure has more statements than these.
pub(crate) const MOST_STATEMENTS: usize = 4;

/// What statements answered, by their numbers.
pub(crate) type Values = [Option<i64>; MOST_STATEMENTS];

/// When a statement is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    /// An earlier statement found nothing, or changed nothing.
    Nothing(usize),
    /// An earlier statement found or changed something.
    Something(usize),
}

/// One statement of a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Statement {
    /// Its place when it was drawn, and the number of its variable.
    pub(crate) number: usize,
    pub(crate) guard: Option<Guard>,
    /// SQL, with `@into` where a query says into which variable, and `r0`, `r1`, … for earlier answers.
    pub(crate) text: String,
    /// A failure of it is taken back, and the transaction goes on. Only a client can do that, no procedure.
    pub(crate) saved: bool,
    /// Whether the transaction is rolled back when the answer is nothing.
    pub(crate) or_rollback: bool,
}

/// A transaction.
pub(crate) type Procedure = Vec<Statement>;

/// A program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Draft {
    pub(crate) dialect: Dialect,
    /// Tables and indexes.
    pub(crate) schema: Vec<String>,
    pub(crate) rows: Vec<String>,
    pub(crate) sessions: Vec<Vec<Procedure>>,
}

impl Guard {
    fn written(self) -> String {
        match self {
            Guard::Nothing(number) => format!("r{number} IS NULL OR r{number} = 0"),
            Guard::Something(number) => format!("r{number} > 0"),
        }
    }

    fn holds(self, values: &Values) -> bool {
        match self {
            Guard::Nothing(number) => values[number].is_none_or(|value| value == 0),
            Guard::Something(number) => values[number].is_some_and(|value| value > 0),
        }
    }
}

impl Statement {
    fn is_query(&self) -> bool {
        self.text.contains("@into")
    }

    /// As the program language has it.
    fn written(&self) -> String {
        let number = self.number;
        let mut text = match self.is_query() {
            true => format!("{};", self.text.replace("@into", &format!("INTO r{number}"))),
            false => format!("{}; SET r{number} = ROW_COUNT();", self.text),
        };
        if self.or_rollback {
            let _ = write!(text, " IF r{number} IS NULL OR r{number} = 0 THEN ROLLBACK; END IF;");
        }
        match self.guard {
            Some(guard) => format!("IF {} THEN {text} END IF;", guard.written()),
            None => text,
        }
    }

    /// As it is said to a server.
    pub(crate) fn said(&self, values: &Values) -> String {
        let mut text = self.text.replace("@into ", "");
        for (number, value) in values.iter().enumerate() {
            let value = value.map_or("NULL".to_owned(), |value| value.to_string());
            text = text.replace(&format!("r{number}"), &value);
        }
        text
    }

    pub(crate) fn runs(&self, values: &Values) -> bool {
        self.guard.is_none_or(|guard| guard.holds(values))
    }

    pub(crate) fn rolls_back(&self, values: &Values) -> bool {
        self.or_rollback && Guard::Nothing(self.number).holds(values)
    }
}

/// The name of a session.
pub(crate) fn session_name(session: usize) -> String {
    char::from(b'a' + session as u8).to_string()
}

impl Draft {
    /// The file.
    pub(crate) fn written(&self) -> String {
        let dialect = if self.dialect == Dialect::Postgres { "postgres" } else { "mysql" };
        let mut text = format!("-- dialect: {dialect}\n");
        for statement in self.schema.iter().chain(&self.rows) {
            let _ = writeln!(text, "{statement};");
        }
        let mut calls = String::new();
        for (session, procedures) in self.sessions.iter().enumerate() {
            let session = session_name(session);
            let _ = write!(calls, "SESSION {session}:");
            for (number, procedure) in procedures.iter().enumerate() {
                let name = format!("{session}{}", number + 1);
                let _ = writeln!(text, "CREATE PROCEDURE {name}()\nBEGIN\n  DECLARE r0, r1, r2, r3 INT;");
                for statement in procedure {
                    let _ = writeln!(text, "  {}", statement.written());
                }
                text.push_str("END;\n");
                let _ = write!(calls, " CALL {name}();");
            }
            calls.push('\n');
        }
        text + &calls
    }

    /// Smaller programs: without a session, a call, a statement, a condition, a row, an index.
    pub(crate) fn smaller(&self) -> Vec<Draft> {
        let mut smaller = Vec::new();
        let mut add = |change: &dyn Fn(&mut Draft)| {
            let mut draft = self.clone();
            change(&mut draft);
            smaller.push(draft);
        };
        for session in 0..self.sessions.len() {
            if self.sessions.len() > 1 {
                add(&|draft| drop(draft.sessions.remove(session)));
            }
            for call in 0..self.sessions[session].len() {
                if self.sessions[session].len() > 1 {
                    add(&|draft| drop(draft.sessions[session].remove(call)));
                }
                for place in 0..self.sessions[session][call].len() {
                    if self.sessions[session][call].len() > 1 {
                        add(&|draft| drop(draft.sessions[session][call].remove(place)));
                    }
                    add(&|draft| draft.sessions[session][call][place].guard = None);
                    add(&|draft| draft.sessions[session][call][place].or_rollback = false);
                    add(&|draft| draft.sessions[session][call][place].saved = false);
                }
            }
        }
        (0..self.rows.len()).for_each(|row| add(&|draft| drop(draft.rows.remove(row))));
        let indexes = (0..self.schema.len()).filter(|&part| !self.schema[part].starts_with("CREATE TABLE"));
        indexes.for_each(|part| add(&|draft| drop(draft.schema.remove(part))));
        smaller.retain(|draft| draft != self);
        smaller
    }
}
