//! Sessions and their calls: what is given to a procedure, and what comes back.
//!
//! ```text
//!   SESSION bob: CALL withdraw(1, 60, @b); CALL refund(@b) AT snapshot;
//!                              constants  OUT ── @b of bob ──> IN
//! ```
//!
//! What is written down is here; a session on its way is a [`Client`](crate::Client).

use crate::bind::Binder;
use crate::instruction::{Parameter, Procedure, Target};
use crate::source::{FIELD_DOT, syntax};
use crate::syntax::{ArgumentText, CallText, Name, ParameterMode, SessionText};
use skew_history::IsolationLevel;
use skew_value::{Datum, Place, SqlError, SqlState, SqlType};
use std::sync::Arc;

/// SESSION: a name and what it calls.
#[derive(Clone, Debug)]
pub struct Script {
    /// The name of the session.
    pub name: String,
    /// Its calls in order.
    pub calls: Vec<Call>,
    /// How many variables it has.
    pub(crate) variables: usize,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The procedure, as a place in [`Program::procedures`](crate::Program::procedures).
    pub procedure: usize,
    /// `AT level`.
    pub level: Option<IsolationLevel>,
    /// Where in the file.
    pub place: Place,
    pub(crate) arguments: Vec<Argument>,
}

impl Call {
    /// The variable of the session that is given to a parameter or takes its value, by number.
    pub fn variable(&self, parameter: usize) -> Option<usize> {
        match self.arguments.get(parameter)? {
            Argument::Variable { variable, .. } => Some(*variable),
            Argument::Constant(_) => None,
        }
    }

    /// The constant that is given to a parameter, by number.
    pub fn constant(&self, parameter: usize) -> Option<&Datum> {
        match self.arguments.get(parameter)? {
            Argument::Constant(value) => Some(value),
            Argument::Variable { .. } => None,
        }
    }
}

/// What is given to a parameter.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A value of the parameter's type.
    Constant(Datum),
    /// A variable of the session, and the conversion of what an earlier call left there. An OUT parameter takes nothing.
    Variable { variable: usize, taken: Option<Target> },
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CallOutcome {
    /// Its transaction committed.
    Committed,
    /// Its program aborted it: ROLLBACK, SIGNAL, an error.
    Aborted,
    /// The database refused it.
    Refused,
}

impl CallOutcome {
    /// The word of the field `outcome`.
    pub fn word(self) -> &'static str {
        match self {
            CallOutcome::Committed => "committed",
            CallOutcome::Aborted | CallOutcome::Refused => "aborted",
        }
    }
}

/// What came back from a call.
#[derive(Clone, PartialEq, Debug)]
pub struct CallResult {
    /// How it ended.
    pub outcome: CallOutcome,
    /// The values of [`Procedure::fields`] at its end.
    pub fields: Vec<Datum>,
}

/// What came back from all calls, by session and call; those that never ended are missing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Results {
    calls: Vec<Vec<Option<CallResult>>>,
}

impl Results {
    /// Nothing came back yet.
    pub fn new(scripts: &[Script]) -> Results {
        Results { calls: scripts.iter().map(|script| vec![None; script.calls.len()]).collect() }
    }

    /// The result of a call.
    pub fn get(&self, session: usize, call: usize) -> Option<&CallResult> {
        self.calls.get(session)?.get(call)?.as_ref()
    }

    /// A call ended.
    pub fn set(&mut self, session: usize, call: usize, result: CallResult) {
        if let Some(place) = self.calls.get_mut(session).and_then(|calls| calls.get_mut(call)) {
            *place = Some(result);
        }
    }
}

/// Binds the sessions of a file.
pub(crate) fn scripts(
    binder: &mut Binder<'_>,
    texts: &[SessionText],
    procedures: &[Arc<Procedure>],
) -> Result<Vec<Script>, SqlError> {
    let mut scripts: Vec<Script> = Vec::new();
    for text in texts {
        let name = &text.name;
        if scripts.iter().any(|other| other.name.eq_ignore_ascii_case(&name.text)) {
            let message = format!("there are two sessions {}", name.text);
            let error = SqlError::new(SqlState::DUPLICATE_OBJECT, message).at(name.place);
            return Err(error.with_hint("write all calls of a session after one SESSION line"));
        }
        let mut known = Known::default();
        let calls: Result<Vec<Call>, SqlError> =
            text.calls.iter().map(|call| known.call(binder, call, procedures)).collect();
        scripts.push(Script { name: name.text.clone(), calls: calls?, variables: known.variables.len() });
    }
    Ok(scripts)
}

/// What a call gives to all parameters. The last ones may be left out if they have defaults; so may what a function only hands out, which goes into
/// variables that nobody asks for.
fn all_arguments(procedure: &Procedure, text: &CallText) -> Option<Vec<ArgumentText>> {
    let (given, all) = (&text.arguments, &procedure.parameters);
    let is_handed_out = |parameter: &Parameter| procedure.is_function && parameter.mode == ParameterMode::Out;
    let leaves_out = given.len() < all.len() && all.iter().any(is_handed_out);
    let mut given = given.iter().cloned();
    let mut arguments = Vec::new();
    for parameter in all {
        let nowhere = || Name { text: format!("nowhere{FIELD_DOT}{}", parameter.name), place: text.procedure.place };
        let argument = match is_handed_out(parameter) && leaves_out {
            true => Some(ArgumentText::Variable(nowhere())),
            false => given.next().or_else(|| parameter.default.clone().map(ArgumentText::Constant)),
        };
        arguments.push(argument?);
    }
    given.next().is_none().then_some(arguments)
}

/// The variables of a session as its calls name them, with the type that the last call so far leaves in them.
#[derive(Default)]
struct Known {
    variables: Vec<(String, Option<SqlType>)>,
}

impl Known {
    fn call(
        &mut self,
        binder: &mut Binder<'_>,
        text: &CallText,
        procedures: &[Arc<Procedure>],
    ) -> Result<Call, SqlError> {
        let name = &text.procedure;
        let procedure = procedures.iter().position(|procedure| procedure.name == name.text).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_OBJECT, format!("there is no procedure {}", name.text)).at(name.place)
        })?;
        let parameters = &procedures[procedure].parameters;
        let given = all_arguments(&procedures[procedure], text).ok_or_else(|| {
            let (wanted, given) = (parameters.len(), text.arguments.len());
            syntax(name.place, format!("{} has {wanted} parameters, the call gives {given}", name.text))
        })?;
        let mut arguments = Vec::new();
        let mut set = Vec::new();
        for (argument, parameter) in given.iter().zip(parameters) {
            let sql_type = parameter.sql_type.clone();
            let argument = match argument {
                ArgumentText::Constant(piece) if parameter.mode == ParameterMode::In => {
                    let (value, from) = binder.constant(piece)?;
                    let place = binder.source.place_of(piece);
                    let target = binder.target(from, 0, sql_type, place)?;
                    Argument::Constant(target.convert(&value, binder.source.dialect).map_err(|error| error.at(place))?)
                }
                ArgumentText::Constant(piece) => {
                    let message = format!("{} is an OUT parameter: it needs a @variable", parameter.name);
                    return Err(syntax(binder.source.place_of(piece), message));
                }
                ArgumentText::Variable(name) => {
                    let variable = self.variable(name);
                    if parameter.mode != ParameterMode::In {
                        set.push((variable, sql_type.clone()));
                    }
                    let taken = self.taken(binder, name, variable, parameter.mode, sql_type)?;
                    Argument::Variable { variable, taken }
                }
            };
            arguments.push(argument);
        }
        // Only after the call: `p(@a, @a)` takes the old value.
        set.into_iter().for_each(|(variable, sql_type)| self.variables[variable].1 = Some(sql_type));
        Ok(Call { procedure, level: text.level, place: name.place, arguments })
    }

    fn variable(&mut self, name: &Name) -> usize {
        let known = self.variables.iter().position(|(known, _)| *known == name.text);
        known.unwrap_or_else(|| {
            self.variables.push((name.text.clone(), None));
            self.variables.len() - 1
        })
    }

    /// How the value that an earlier call left in a variable becomes an argument.
    fn taken(
        &self,
        binder: &Binder<'_>,
        name: &Name,
        variable: usize,
        mode: ParameterMode,
        sql_type: SqlType,
    ) -> Result<Option<Target>, SqlError> {
        match (mode, self.variables[variable].1.clone()) {
            (ParameterMode::Out, _) | (ParameterMode::InOut, None) => Ok(None),
            (ParameterMode::In, None) => {
                let message = format!("no earlier call of this session sets @{}", name.text);
                let error = SqlError::new(SqlState::UNDEFINED_OBJECT, message).at(name.place);
                Err(error.with_hint("variables are set by OUT parameters, in the order of the calls"))
            }
            (_, Some(from)) => binder.target(from, 0, sql_type, name.place).map(Some),
        }
    }
}
