//! Native JSON lines, a transaction each; or the history that they are, without the lines.
//!
//! ```text
//!   {"skew":1,"about":"generated at snapshot: 20 sessions, …"}
//!   {"session":1,"id":7,"ops":[{"r":"17","v":null},{"w":"3","v":12}]}
//! ```

use crate::attempt::{Content, GeneratedEvent};
use crate::parameters::Parameters;
use crate::recorder::Generated;
use crate::{GenerateError, generate};
use skew_history::Name;
use skew_history::line::{self, Closing, Ended, Header, HistorySink, LineWriter, Note, Opening, Operation};
use std::io;

pub(super) fn write(parameters: &Parameters, out: &mut dyn io::Write) -> Result<(), GenerateError> {
    let mut lines = LineWriter::new();
    let Ok(()) = tell_header(&mut lines, parameters);
    generate(parameters, &mut |transaction| {
        let Ok(()) = tell(&mut lines, transaction);
        lines.hand_on(out)
    })?;
    lines.hand_on_all(out)?;
    Ok(out.flush()?)
}

pub(super) fn tell_header<S: HistorySink>(sink: &mut S, parameters: &Parameters) -> Result<(), S::Error> {
    let engine = parameters.level.of_engine().map(|level| level.engine().name());
    sink.put_header(Header { engine, ..Header::about(&parameters.describe()) })
}

pub(super) fn tell<S: HistorySink>(sink: &mut S, transaction: &Generated<'_>) -> Result<(), S::Error> {
    let Generated { session, id, events, outcome, level, times, refused } = *transaction;
    sink.put_opening(&Opening {
        session: Name::Integer(i64::from(session)),
        id: Some(Name::Integer(id as i64)),
        note: Note::Nothing,
    })?;
    for GeneratedEvent { action, key, content, asked } in events {
        let content = match content {
            Content::Absent => line::Content::Absent,
            Content::Integer(number) => line::Content::Integer(*number),
            Content::List(elements) => line::Content::Integers(elements),
        };
        let operation = Operation::new(*action, Name::Integer(*key as i64), content);
        sink.put_operation(&Operation { asked: *asked, ..operation })?;
    }
    let ended = match refused {
        Some(refused) => Ended::Aborted { by: None, refused: Some(refused) },
        None => outcome.into(),
    };
    sink.put_ending(&Closing { outcome: ended, level, times, note: Note::Nothing })
}
