//! What a command says to its database in one run with ordinary reads, for whoever analyses that.

use super::database::listen;
use super::{EndedRun, ServeSettings, run_on};
use crate::command::CommandEnd;
use crate::{Complaint, StopFlags};
use skew_mockdb::{Campaign, Record, Tape};

/// A run that was listened to.
pub struct ListenedRun {
    /// How the command ended.
    pub ended: CommandEnd,
    /// What it said, as a jsonlog of PostgreSQL's.
    pub statements: String,
}

/// Runs a command once and listens.
pub fn listen_to(settings: &ServeSettings, stop: StopFlags<'_>) -> Result<ListenedRun, Complaint> {
    let tape = Tape::default();
    let mut database = settings.database.fresh(settings.seed, &Campaign::default(), Record::default())?;
    database.statements = Some(tape.clone());
    let server = listen(database, settings.wire.clone())?;
    let EndedRun { ended, .. } = run_on(server, settings, stop, false, || Ok(()), || false)?;
    Ok(ListenedRun { ended, statements: tape.text() })
}
