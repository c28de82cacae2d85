//! Assertions: conditions on the final state and on what the calls handed out.
//!
//! ```text
//!   (SELECT balance FROM account WHERE id = 1) = 100 - alice[1].paid
//!                                                      alice·1··paid     a variable of the condition
//! ```
//!
//! The fields of a call are its OUT parameters, what its outermost block declares, and `outcome` ('committed' or 'aborted'). A condition
//! that is false or NULL fails. Which final states there are is for others to say: where the level leaves the order of writes open, an
//! assertion is asked once for each state that is possible.

use crate::bind::Binder;
use crate::call::{Results, Script};
use crate::instruction::{Procedure, Query};
use crate::source::FIELD_DOT;
use crate::syntax::AssertionText;
use skew_sql::{Session, Stop, Storage};
use skew_value::{Datum, Dialect, SqlError, SqlState, SqlType};
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// ASSERT.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// Its name.
    pub name: String,
    query: Query,
    fields: Vec<Asked>,
}

/// A field that an assertion asks for.
#[derive(Clone, Debug)]
struct Asked {
    session: usize,
    call: usize,
    /// A place in the procedure's fields; none is `outcome`.
    field: Option<usize>,
}

impl Assertion {
    /// The calls whose fields it asks for, as session and call; one may come several times.
    pub fn calls(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.fields.iter().map(|asked| (asked.session, asked.call))
    }

    /// Whether the condition is true in a final state, which the storage shows, after calls with these results.
    pub fn holds(&self, session: &mut Session, results: &Results, storage: &mut dyn Storage) -> Result<bool, Stop> {
        let values: Vec<Datum> = self.fields.iter().map(|asked| asked.value(results)).collect();
        self.query.holds(session, &values, storage)
    }

    /// The condition as a query of one boolean, after calls with these results.
    pub fn query_text(&self, results: &Results, dialect: Dialect) -> Result<String, SqlError> {
        let values: Vec<Datum> = self.fields.iter().map(|asked| asked.value(results)).collect();
        self.query.text_with(&values, dialect)
    }
}

impl Asked {
    fn value(&self, results: &Results) -> Datum {
        let Some(result) = results.get(self.session, self.call) else { return Datum::Null };
        match self.field {
            Some(field) => result.fields.get(field).cloned().unwrap_or_default(),
            None => Datum::text(result.outcome.word()),
        }
    }
}

/// Binds the assertions of a file.
pub(crate) fn assertions(
    binder: &mut Binder<'_>,
    texts: &[AssertionText],
    scripts: &[Script],
    procedures: &[Arc<Procedure>],
) -> Result<Vec<Assertion>, SqlError> {
    let mut assertions: Vec<Assertion> = Vec::new();
    for text in texts {
        let place = binder.source.place_of(&text.condition);
        if assertions.iter().any(|other| other.name == text.name) {
            let message = format!("there are two assertions '{}'", text.name);
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message).at(place));
        }
        let (fields, variables) = fields_of(binder, text, scripts, procedures)?;
        let query = binder.condition(&text.condition, &variables)?;
        assertions.push(Assertion { name: text.name.clone(), query, fields });
    }
    Ok(assertions)
}

type Fields = (Vec<Asked>, Vec<(String, SqlType)>);

/// The fields that a condition names, each once, and the variables that stand for them.
fn fields_of(
    binder: &Binder<'_>,
    text: &AssertionText,
    scripts: &[Script],
    procedures: &[Arc<Procedure>],
) -> Result<Fields, SqlError> {
    let (mut fields, mut variables): Fields = (Vec::new(), Vec::new());
    let spots = text.condition.spots.clone();
    for number in spots.clone() {
        let brackets = binder.source.spots.get(number + 1).is_some_and(|spot| spot.token == Token::LBracket);
        let Some((_, name)) = binder.field_at(number, spots.end).filter(|_| brackets) else { continue };
        if variables.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let place = binder.source.spots[number].place;
        let (asked, sql_type) = field_named(&name, scripts, procedures).map_err(|error| error.at(place))?;
        fields.push(asked);
        variables.push((name, sql_type));
    }
    Ok((fields, variables))
}

/// The field that `alice·1··paid` stands for.
fn field_named(name: &str, scripts: &[Script], procedures: &[Arc<Procedure>]) -> Result<(Asked, SqlType), SqlError> {
    let parts: Vec<&str> = name.split(FIELD_DOT).collect();
    let &[session_name, number, _, field_name] = parts.as_slice() else {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, format!("{name} is no field of a call")));
    };
    let undefined = |message: String| SqlError::new(SqlState::UNDEFINED_OBJECT, message);
    let session = scripts.iter().position(|script| script.name.eq_ignore_ascii_case(session_name));
    let session = session.ok_or_else(|| undefined(format!("there is no session {session_name}")))?;
    let calls = &scripts[session].calls;
    let call = number.parse::<usize>().ok().filter(|number| (1..=calls.len()).contains(number));
    let call = call
        .ok_or_else(|| undefined(format!("{session_name} has {} calls, there is no call {number}", calls.len())))?
        - 1;
    if field_name == "outcome" {
        return Ok((Asked { session, call, field: None }, SqlType::TEXT));
    }
    let procedure = &procedures[calls[call].procedure];
    let field = procedure.fields.iter().position(|field| field.name == field_name).ok_or_else(|| {
        let known: Vec<&str> = procedure.fields.iter().map(|field| field.name.as_str()).chain(["outcome"]).collect();
        undefined(format!("{} hands out no {field_name}", procedure.name))
            .with_hint(format!("its fields are {}", known.join(", ")))
    })?;
    Ok((Asked { session, call, field: Some(field) }, procedure.fields[field].sql_type.clone()))
}
