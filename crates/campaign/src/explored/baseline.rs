//! Every order of transactions, as the paper's baseline. The same history comes as often as there are orders that lead
//! to it; each is judged when it comes first.

use super::tally::LevelTally;
use super::{ExploredProgram, Pace};
use crate::Complaint;
use sha2::{Digest, Sha256};
use skew_explore::{Baseline, Options, Subtree};
use std::collections::BTreeSet;

/// Explores from the beginning. What is left of it when it is stopped is the whole: an order cannot be taken up again.
pub(super) fn explore(
    subject: &ExploredProgram<'_>,
    options: Options,
    pace: Pace,
    mut tally: LevelTally,
) -> Result<(LevelTally, Vec<Subtree>), Complaint> {
    let program = subject.explorable(subject.left_out.clone());
    let trouble = |error| subject.trouble(&error);
    let mut baseline = Baseline::new(&program, options).map_err(trouble)?;
    let mut known: BTreeSet<[u8; 32]> = BTreeSet::new();
    let (mut ends, mut left) = (0, Vec::new());
    while let Some(run) = baseline.next_run().map_err(trouble)? {
        if subject.terms.stop.is_stopped() || ends == pace.budget {
            left.push(Subtree::whole());
            break;
        }
        ends += 1;
        let is_new = known.insert(Sha256::digest(run.pattern()).into());
        if is_new && tally.count(&program, &run, &subject.terms) && pace.stop_at_first {
            left.push(Subtree::whole());
            break;
        }
    }
    tally.explored = ends;
    Ok((tally, left))
}
