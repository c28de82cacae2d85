//! Sessions and their calls: what is given to a procedure, and what comes back.
//!
//! ```text
//!   SESSION bob: CALL withdraw(1, 60, @b); CALL refund(@b) AT snapshot;
//!                              constants  OUT ── @b of bob ──> IN
//! ```
//!
//! A [`Client`] is one session on its way: it starts a [`Run`] per call and keeps the session's variables. A call that committed, or
//! that ended with ROLLBACK, sets them; one that failed or was refused does not, as in every database.

use crate::Program;
use crate::bind::Binder;
use crate::error::syntax;
use crate::instruction::{Procedure, Target};
use crate::run::Run;
use crate::syntax::{ArgumentText, CallText, Name, ParameterMode, SessionText};
use skew_history::IsolationLevel;
use skew_value::{Datum, Dialect, Place, SqlError, SqlState, SqlType};
use std::sync::Arc;

/// SESSION: a name and what it calls.
#[derive(Clone, Debug)]
pub struct Script {
    /// The name of the session.
    pub name: String,
    /// Its calls in order.
    pub calls: Vec<Call>,
    /// How many variables it has.
    variables: usize,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The procedure, as a place in [`Program::procedures`].
    pub procedure: usize,
    /// `AT level`.
    pub level: Option<IsolationLevel>,
    /// Where in the file.
    pub place: Place,
    arguments: Vec<Argument>,
}

/// What is given to a parameter.
#[derive(Clone, Debug)]
enum Argument {
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
    pub fn new(program: &Program) -> Results {
        Results { calls: program.scripts().iter().map(|script| vec![None; script.calls.len()]).collect() }
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

/// A session on its way: its variables.
#[derive(Clone, Debug)]
pub struct Client {
    session: usize,
    variables: Vec<Datum>,
}

impl Client {
    /// A session of a program, before its first call.
    pub fn new(program: &Program, session: usize) -> Client {
        let count = program.scripts().get(session).map_or(0, |script| script.variables);
        Client { session, variables: vec![Datum::Null; count] }
    }

    /// Begins a call; an argument that cannot become its parameter's type is an error.
    pub fn start(&self, program: &Program, call: usize, most_steps: u64) -> Result<Run, SqlError> {
        let call = self.call(program, call)?;
        let procedure = Arc::clone(&program.procedures()[call.procedure]);
        let value = |argument: &Argument| self.value(argument, program.dialect());
        let arguments: Result<Vec<Datum>, SqlError> = call.arguments.iter().map(value).collect();
        Ok(Run::new(procedure, arguments.map_err(|error| error.at(call.place))?, most_steps))
    }

    fn call<'a>(&self, program: &'a Program, call: usize) -> Result<&'a Call, SqlError> {
        let script = program.scripts().get(self.session);
        script
            .and_then(|script| script.calls.get(call))
            .ok_or_else(|| SqlError::new(SqlState::INTERNAL, "no such call"))
    }

    fn value(&self, argument: &Argument, dialect: Dialect) -> Result<Datum, SqlError> {
        match argument {
            Argument::Constant(value) => Ok(value.clone()),
            Argument::Variable { variable, taken: Some(target) } => target.convert(&self.variables[*variable], dialect),
            Argument::Variable { taken: None, .. } => Ok(Datum::Null),
        }
    }

    /// Ends a call that could not start: it hands out nothing, and all its fields are NULL.
    pub fn refuse(&self, program: &Program, call: usize, outcome: CallOutcome) -> CallResult {
        let procedure = self.call(program, call).ok().map(|call| &program.procedures()[call.procedure]);
        let fields = procedure.map_or(0, |procedure| procedure.fields.len());
        CallResult { outcome, fields: vec![Datum::Null; fields] }
    }

    /// Ends a call: what it hands out, and what the session's variables are now. `hands_out` is false after an error.
    pub fn finish(
        &mut self,
        program: &Program,
        call: usize,
        run: &Run,
        outcome: CallOutcome,
        hands_out: bool,
    ) -> CallResult {
        if let (true, Ok(call)) = (hands_out, self.call(program, call)) {
            for (number, (argument, parameter)) in call.arguments.iter().zip(&run.procedure().parameters).enumerate() {
                if let (Argument::Variable { variable, .. }, true) = (argument, parameter.mode != ParameterMode::In) {
                    self.variables[*variable] = run.parameter(number).clone();
                }
            }
        }
        let fields = (0..run.procedure().fields.len()).map(|number| run.field(number).clone()).collect();
        CallResult { outcome, fields }
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
        if parameters.len() != text.arguments.len() {
            let (wanted, given) = (parameters.len(), text.arguments.len());
            return Err(syntax(name.place, format!("{} has {wanted} parameters, the call gives {given}", name.text)));
        }
        let mut arguments = Vec::new();
        let mut set = Vec::new();
        for (argument, parameter) in text.arguments.iter().zip(parameters) {
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
