//! The statements of a procedure as SQL text, for whoever hears nothing else: a server behind its protocol, a person with a console.
//!
//! ```text
//!   SELECT balance INTO bal FROM account WHERE id = acct;      in the file
//!   SELECT balance FROM account WHERE id = 1                   said, and 100 was heard
//!   IF bal >= amount THEN                                      not said: it reads nothing, so the procedure knows the answer itself
//!   UPDATE account SET balance = bal - amount WHERE id = acct;
//!   UPDATE account SET balance = 100 - 60 WHERE id = 1         said, and "1 row" was heard
//! ```
//!
//! A run that is told to [remember](crate::Run::remember) keeps what it said and heard. A [`Speaker`] says it again to somebody else; where
//! the same is heard, the procedure would have done the same there, because what it does depends on nothing else.

use crate::instruction::Query;
use crate::source::{Spot, in_file, tokens_of};
use skew_sql::session::Rows;
use skew_sql::{Answer, Stop};
use skew_value::{Datum, Dialect, Place, SqlError, SqlState, SqlType, output};
use std::fmt;

/// Somebody who answers SQL: text in, rows out.
pub trait Speaker {
    /// What goes wrong on the way, which is no answer.
    type Error;

    /// Says a statement and waits for its answer.
    fn say(&mut self, text: &str) -> Result<Heard, Self::Error>;
}

/// Rows as text; nothing is NULL.
pub type TextRows = Vec<Vec<Option<String>>>;

/// What a statement was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The rows of a query.
    Rows(TextRows),
    /// How many rows were changed, and what RETURNING returned.
    Changed(u64, TextRows),
    /// It is done, and there is nothing to tell.
    Done,
    /// It failed.
    Failed {
        /// The five letters of the error.
        state: String,
        /// What is wrong.
        message: String,
    },
}

impl Heard {
    /// What is heard of an error.
    pub(crate) fn failed(error: &SqlError) -> Heard {
        Heard::Failed { state: error.state.0.to_owned(), message: error.message.to_string() }
    }

    /// Whether another answer says the same; words of errors may differ.
    pub fn agrees(&self, other: &Heard) -> bool {
        match (self, other) {
            (Heard::Failed { state: one, .. }, Heard::Failed { state: other, .. }) => one == other,
            (one, other) => one == other,
        }
    }
}

/// In short: `100`, `3 rows`, `1 row`, an error.
impl fmt::Display for Heard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = |count: u64| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
        match self {
            Heard::Rows(found) => match found.as_slice() {
                [row] => {
                    let values: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
                    out.write_str(&values.join(" | "))
                }
                several => out.write_str(&rows(several.len() as u64)),
            },
            Heard::Changed(count, _) => out.write_str(&rows(*count)),
            Heard::Done => Ok(()),
            Heard::Failed { state, message } => write!(out, "{message} ({state})"),
        }
    }
}

/// A statement that a procedure ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spoken {
    /// Its text, with values in place of the procedure's variables.
    pub text: String,
    /// Where it stands in the file.
    pub place: Place,
    /// What it was answered.
    pub heard: Heard,
}

impl Query {
    /// What was said and heard; nothing for an expression that asks nobody.
    pub(crate) fn spoken(
        &self,
        values: &[Datum],
        answer: &Result<Answer, Stop>,
        dialect: Dialect,
    ) -> Result<Option<Spoken>, SqlError> {
        let heard = match answer {
            Ok(answer) => heard(answer),
            Err(Stop::Error(error)) => Heard::failed(error),
            // It is asked again later.
            Err(Stop::Interrupted(_)) => return Ok(None),
        };
        if !self.asks_somebody(dialect)? {
            return Ok(None);
        }
        Ok(Some(Spoken { text: self.text_with(values, dialect)?, place: self.place, heard }))
    }

    /// Whether this is more than an expression that reads nothing.
    fn asks_somebody(&self, dialect: Dialect) -> Result<bool, SqlError> {
        let spots = tokens_of(self.prepared.statement().text(), dialect)?;
        let asks = |word: &str| spots.iter().any(|spot| spot.is_word(word));
        let reads = |spot: &Spot| spot.is_word("select");
        Ok(self.prefix == 0 || spots[1..].iter().any(reads) || SEQUENCES.into_iter().any(asks))
    }

    /// The text with values for variables, in one line and without comments; an error has its place in the file.
    pub(crate) fn text_with(&self, values: &[Datum], dialect: Dialect) -> Result<String, SqlError> {
        self.said(values, dialect).map_err(|error| in_file(error, self.place, self.prefix))
    }

    fn said(&self, values: &[Datum], dialect: Dialect) -> Result<String, SqlError> {
        let source = self.prepared.statement().text();
        let spots = tokens_of(source, dialect)?;
        let mut text = String::new();
        let mut end = None;
        for spot in spots.iter().filter(|spot| !spot.bytes.is_empty()) {
            if end.is_some_and(|end| end < spot.bytes.start) {
                text.push(' ');
            }
            end = Some(spot.bytes.end);
            let place = (u64::from(spot.place.line), u64::from(spot.place.column));
            match self.prepared.variable_at(place) {
                Some((slot, sql_type)) => {
                    text.push_str(&literal(values.get(slot).unwrap_or(&Datum::Null), sql_type, dialect)?);
                }
                None => text.push_str(&source[spot.bytes.clone()]),
            }
        }
        Ok(text)
    }
}

/// Functions that an expression may not answer by itself.
const SEQUENCES: [&str; 5] = ["nextval", "currval", "lastval", "setval", "last_insert_id"];

fn heard(answer: &Answer) -> Heard {
    match answer {
        Answer::Rows(rows) => Heard::Rows(texts(rows)),
        Answer::Changed(changed) => {
            Heard::Changed(changed.count, changed.returning.as_ref().map(texts).unwrap_or_default())
        }
        _ => Heard::Done,
    }
}

/// Rows as PostgreSQL's protocol tells them.
fn texts(rows: &Rows) -> TextRows {
    let text =
        |(value, sql_type): (&Datum, &SqlType)| (!value.is_null()).then(|| output(value, sql_type, Dialect::Postgres));
    let types = || rows.columns.iter().map(|column| &column.sql_type);
    rows.rows.iter().map(|row| row.iter().zip(types()).map(text).collect()).collect()
}

/// A value as SQL writes it.
fn literal(value: &Datum, sql_type: &SqlType, dialect: Dialect) -> Result<String, SqlError> {
    let quoted = |text: &str| {
        let text = if dialect == Dialect::MySql { text.replace('\\', "\\\\") } else { text.to_owned() };
        format!("'{}'", text.replace('\'', "''"))
    };
    let number = |text: String| if text.starts_with('-') { format!("({text})") } else { text };
    Ok(match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Boolean(true) => "TRUE".to_owned(),
        Datum::Boolean(false) => "FALSE".to_owned(),
        Datum::Integer(_) | Datum::Decimal(_) => number(output(value, sql_type, dialect)),
        Datum::Text(text) => quoted(text),
        Datum::Date(_) | Datum::Timestamp(_) | Datum::TimestampZoned(_) | Datum::Time(_) | Datum::Real(_) => {
            format!("CAST({} AS {sql_type})", quoted(&output(value, sql_type, dialect)))
        }
        Datum::Json(_) | Datum::Uuid(_) | Datum::Interval(_) if dialect == Dialect::Postgres => {
            format!("CAST({} AS {sql_type})", quoted(&output(value, sql_type, dialect)))
        }
        _ => {
            let construct = format!("a variable of type {sql_type} in a statement that is said as text");
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, construct));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, MOST_STEPS, Program, Step};

    /// What the first call of a program says and hears.
    fn spoken(text: &str) -> Result<Vec<Spoken>, SqlError> {
        let program = Program::parse_in(text, skew_sql::by_place::EPOCH, Dialect::MySql).expect("a program");
        let (mut session, mut storage) = (program.session(), program.initial().1.clone());
        let mut run = Client::new(&program, 0).start(&program, 0, MOST_STEPS).expect("a call");
        run.remember();
        while run.step(&mut session, &mut storage) == Ok(Step::Continue) {}
        run.take_spoken()
    }

    fn told(text: &str) -> Vec<String> {
        let spoken = spoken(text).expect("text");
        spoken.iter().map(|one| format!("{} -> {}", one.text, one.heard)).collect()
    }

    const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, n INT, name VARCHAR(20), day DATE);
INSERT INTO t VALUES (1, 5, 'it''s', '2024-02-29'), (2, NULL, 'b', NULL);
";

    #[test]
    fn variables_become_values_and_what_reads_nothing_is_not_said() {
        let body = "CREATE PROCEDURE p(IN who INT, OUT got INT)
BEGIN
  DECLARE title VARCHAR(20); DECLARE day DATE; DECLARE less INT;
  SELECT n, name INTO got, title -- a comment
    FROM t WHERE id = who;
  SET less = 0 - got;
  IF got > 3 THEN
    UPDATE t SET name = title, n = less WHERE t.name = title AND t.id < who + 7;
  END IF;
  IF (SELECT COUNT(*) FROM t) = 2 THEN DELETE FROM t WHERE n = less; END IF;
END;
SESSION a: CALL p(1, @x);";
        assert_eq!(
            told(&format!("{TABLE}{body}")),
            [
                "SELECT n, name FROM t WHERE id = 1 -> 5 | it's",
                "UPDATE t SET name = 'it''s', n = (-5) WHERE t.name = 'it''s' AND t.id < 1 + 7 -> 1 row",
                "SELECT ((SELECT COUNT(*) FROM t) = 2) IS TRUE -> 1",
                "DELETE FROM t WHERE n = (-5) -> 1 row",
            ]
        );
    }

    #[test]
    fn rows_of_loops_dates_and_nothing_are_values_too() {
        let body = "CREATE PROCEDURE p()
BEGIN
  FOR line IN (SELECT id, n, day FROM t ORDER BY id) DO
    UPDATE t SET n = line.n WHERE id = line.id AND t.day = line.day;
  END FOR;
END;
SESSION a: CALL p();";
        let told = told(&format!("{TABLE}{body}"));
        assert_eq!(told[0], "(SELECT id, n, day FROM t ORDER BY id) -> 2 rows");
        let first = "SET n = 5 WHERE id = 1 AND t.day = CAST('2024-02-29' AS date)";
        assert!(told[1].to_lowercase().contains(&first.to_lowercase()), "{told:?}");
        assert!(told[2].contains("SET n = NULL WHERE id = 2 AND t.day = NULL -> 0 rows"), "{told:?}");
    }

    #[test]
    fn an_error_is_heard_and_a_value_that_has_no_text_is_refused_with_its_place() {
        let fails =
            "CREATE PROCEDURE p(IN me INT) BEGIN INSERT INTO t VALUES (me, 1, 'c', NULL); END; SESSION a: CALL p(1);";
        let heard = spoken(&format!("{TABLE}{fails}")).expect("text").remove(0).heard;
        assert!(matches!(&heard, Heard::Failed { state, .. } if state == "23505"), "{heard:?}");
        let bytes = "CREATE PROCEDURE p()
BEGIN
  DECLARE b VARBINARY(4);
  SET b = X'00FF';
  SELECT id FROM t WHERE name = b;
END;
SESSION a: CALL p();";
        let error = spoken(&format!("{TABLE}{bytes}")).expect_err("bytes have no text");
        assert_eq!(error.place.map(|place| place.line), Some(7), "{error:?}");
    }
}
