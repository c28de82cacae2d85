//! `--algorithm dfs`: every order of transactions, as the paper's baseline. The same history comes as often as there are orders that lead
//! to it; each is judged when it comes first.

use super::tally::Tally;
use super::workers::Work;
use crate::clock;
use sha2::{Digest, Sha256};
use skew_explore::{Baseline, ExploreError, SqlProgram, Subtree};
use skew_program::Program;
use std::collections::BTreeSet;

/// Explores from the beginning. What is left of it when it is stopped is the whole: an order cannot be taken up again.
pub(super) fn explore(work: Work<'_>, mut tally: Tally) -> Result<(Tally, Vec<Subtree>), ExploreError> {
    let Ok(program) = Program::parse_at(work.text, work.clock.0) else { return Ok((tally, Vec::new())) };
    let program = SqlProgram::new(program, work.sql).without(work.left_out.clone());
    let mut baseline = Baseline::new(&program, work.options)?;
    let mut known: BTreeSet<[u8; 32]> = BTreeSet::new();
    let mut ends = 0;
    while let Some(run) = baseline.next_run()? {
        if clock::is_stopped() || ends == work.budget {
            tally.explored = ends;
            return Ok((tally, vec![Subtree::whole()]));
        }
        ends += 1;
        if known.insert(Sha256::digest(run.pattern()).into()) {
            let failed = tally.count(&program, &run, work.questions);
            if failed && work.stop_at_first {
                tally.explored = ends;
                return Ok((tally, vec![Subtree::whole()]));
            }
        }
    }
    tally.explored = ends;
    Ok((tally, Vec::new()))
}
