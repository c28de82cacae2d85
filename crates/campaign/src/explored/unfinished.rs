//! An exploration that is not over: what is left of it, and what was counted.
//!
//! ```text
//!   kept and read again      goes on where it was left
//!   split in N               each has a part of what is to be explored, and counts for itself
//!   merged                   what the parts counted, added up; what is left in them makes the result incomplete
//! ```
//!
//! It belongs to one program text and one set of options; it is refused for any other, because a schedule means nothing there.

use super::tally::LevelTally;
use super::{ExploredProgram, left_out};
use crate::{Complaint, Conclusion, Moment};
use serde::{Deserialize, Serialize};
use skew_explore::{Base, Search, Subtree};
use skew_history::IsolationLevel;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// All of an exploration that is not over.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Unfinished {
    skew: u32,
    exploration: ExplorationIdentity,
    pub(super) levels: Vec<UnfinishedLevel>,
    /// Which parts of the whole this is; nothing for the whole.
    pub(super) parts: Option<Parts>,
}

/// Some of the parts that `--split` made of an exploration. The same options make the same parts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) of: usize,
    pub(super) which: BTreeSet<usize>,
}

/// What a file belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct ExplorationIdentity {
    sha256: String,
    updates: String,
    granularity: String,
    base: Option<String>,
    against: String,
    max_steps: u64,
    /// When the database's clock starts, where that was said.
    #[serde(default)]
    clock: Option<String>,
    list: bool,
    /// The calls that are left out.
    #[serde(default)]
    without: Vec<String>,
}

/// One level.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct UnfinishedLevel {
    pub(super) level: String,
    pub(super) left: Vec<Subtree>,
    pub(super) tally: LevelTally,
}

impl Unfinished {
    /// Reads one from the text of a file, and sees to it that it belongs here: to the program and the options of another, whose assertions are so many, and to these
    /// levels if there are any.
    pub fn read(
        name: &str,
        text: &str,
        nothing_done: &Unfinished,
        levels: &[IsolationLevel],
    ) -> Result<Unfinished, Complaint> {
        let read: Unfinished = serde_json::from_str(text).map_err(|error| {
            let message = format!("this is no unfinished exploration: {error}");
            Complaint::new(name, message, "use a file that --resume or --split wrote")
        })?;
        let wrong = |message: &str, advice: &str| Err(Complaint::new(name, message.to_owned(), advice));
        let asked = levels.iter().map(|level| level.name());
        let assertions = nothing_done.levels.first().map_or(0, |level| level.tally.assertions.len());
        let is_sound = |level: &UnfinishedLevel| level.tally.assertions.len() == assertions;
        if read.skew != nothing_done.skew {
            wrong("this exploration is of another version of skew", "explore it anew")
        } else if read.exploration != nothing_done.exploration {
            wrong(
                "this exploration is of another program or of other options",
                "give the program and the options with which it began",
            )
        } else if !levels.is_empty() && !asked.eq(read.levels.iter().map(|level| level.level.as_str())) {
            wrong("this exploration is at other levels", "leave --level out, or give those with which it began")
        } else if !read.levels.iter().all(is_sound) || !read.has_sound_parts() {
            wrong("this file was changed by hand", "explore it anew")
        } else {
            Ok(read)
        }
    }

    /// As text, to be read again.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    fn has_sound_parts(&self) -> bool {
        self.parts.as_ref().is_none_or(|parts| parts.which.iter().all(|part| (1..=parts.of).contains(part)))
    }

    /// Whether it is only some of the parts of an exploration.
    pub fn is_partial(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.which.len() < parts.of)
    }

    /// Adds another part; says why it cannot be added.
    pub fn merge(mut self, other: Unfinished) -> Result<Unfinished, String> {
        let names =
            |unfinished: &Unfinished| unfinished.levels.iter().map(|level| level.level.clone()).collect::<Vec<_>>();
        if names(&self) != names(&other) {
            return Err("it has other levels".to_owned());
        }
        match (&mut self.parts, other.parts) {
            (Some(parts), Some(others)) if parts.of == others.of => {
                if let Some(twice) = parts.which.intersection(&others.which).next() {
                    return Err(format!("part {twice} is already there"));
                }
                parts.which.extend(others.which);
            }
            _ => return Err("it is not of the same --split".to_owned()),
        }
        for (level, other) in self.levels.iter_mut().zip(other.levels) {
            level.left.extend(other.left);
            level.tally.add(other.tally);
        }
        Ok(self)
    }

    /// Parts whose shares are about the same: the largest subtrees first, each to the part that has least. There are no more of them than
    /// a level has subtrees.
    fn split(&self, parts: usize) -> Vec<Unfinished> {
        let parts = parts.min(self.levels.iter().map(|level| level.left.len()).max().unwrap_or(0)).max(1);
        let empty = |level: &UnfinishedLevel| UnfinishedLevel {
            left: Vec::new(),
            tally: LevelTally::new(level.tally.assertions.len()),
            level: level.level.clone(),
        };
        let nothing = Unfinished { levels: self.levels.iter().map(empty).collect(), ..self.clone() };
        let part = |number| {
            let parts = Some(Parts { of: parts, which: BTreeSet::from([number]) });
            Unfinished { parts, ..nothing.clone() }
        };
        let mut split: Vec<Unfinished> = (1..=parts).map(part).collect();
        for (number, level) in self.levels.iter().enumerate() {
            let mut left = level.left.clone();
            left.sort_by(|one, other| other.share().total_cmp(&one.share()));
            // Shares as whole numbers, which are ordered.
            let mut shares: BinaryHeap<Reverse<(u64, usize)>> = (0..parts).map(|part| Reverse((0, part))).collect();
            for subtree in left {
                let Some(Reverse((share, part))) = shares.pop() else { break };
                shares.push(Reverse((share.saturating_add((subtree.share() * 1e18) as u64), part)));
                split[part].levels[number].left.push(subtree);
            }
        }
        split
    }
}

impl ExploredProgram<'_> {
    /// Everything that is to be explored.
    pub fn nothing_done(&self, levels: &[IsolationLevel]) -> Unfinished {
        let level = |level: &IsolationLevel| UnfinishedLevel {
            level: level.name().to_owned(),
            left: vec![Subtree::whole()],
            tally: LevelTally::new(self.program().assertions().len()),
        };
        Unfinished { skew: 1, exploration: self.identity(), levels: levels.iter().map(level).collect(), parts: None }
    }

    /// The same in so many parts.
    pub fn in_parts(&self, levels: &[IsolationLevel], parts: usize) -> Result<Vec<Unfinished>, Complaint> {
        let trouble = |error| self.trouble(&error);
        let mut whole = self.nothing_done(levels);
        let program = self.explorable(self.left_out.clone());
        for (level, &isolation) in whole.levels.iter_mut().zip(levels) {
            let mut search = Search::new(&program, self.terms.options(isolation)).map_err(trouble)?;
            // Several subtrees a part: their sizes are only estimates.
            search.split(4 * parts).map_err(trouble)?;
            level.left = search.frontier();
        }
        Ok(whole.split(parts))
    }

    /// The level of an exploration, if there is one of that name: files may have been changed by hand.
    pub(super) fn isolation(&self, level: &UnfinishedLevel) -> Result<IsolationLevel, Complaint> {
        let unknown = |_| self.complain(format!("there is no level `{}`", level.level), "split it anew");
        level.level.parse().map_err(unknown)
    }

    /// What an exploration shows: an assertion that fails in some run, or, if that is to count, a run that is not what all are compared with.
    pub fn conclusion(&self, explored: &Unfinished) -> Conclusion {
        let failed = |level: &UnfinishedLevel| {
            level.tally.assertions.iter().any(|found| found.runs > 0)
                || (self.terms.fails_against && level.tally.violating.runs > 0)
        };
        let open = |level: &UnfinishedLevel| !level.left.is_empty() || level.tally.is_open() || self.is_coarse(level);
        let levels = &explored.levels;
        Conclusion::judged(levels.iter().any(failed), self.has_unasked() || levels.iter().any(open))
    }

    /// Whether a level of an engine is explored with larger steps than a server's: with EXCLUDE a writer waits for all others here.
    pub(super) fn is_coarse(&self, level: &UnfinishedLevel) -> bool {
        let is_of_engine = self.isolation(level).is_ok_and(|level| level.of_engine().is_some());
        let calls: usize = self.program().scripts().iter().map(|script| script.calls.len()).sum();
        is_of_engine && calls > 1 && self.program().initial().0.tables.values().any(|table| table.excludes())
    }

    fn identity(&self) -> ExplorationIdentity {
        let base = |base: Base| match base {
            Base::Any => "None",
            Base::ReadCommitted => "ReadCommitted",
            Base::ReadAtomic => "ReadAtomic",
            Base::Causal => "Causal",
        };
        ExplorationIdentity {
            sha256: self.file.sha256(),
            updates: self.terms.updates_name().to_owned(),
            granularity: self.terms.granularity_name().to_owned(),
            base: self.terms.base.map(|it| base(it).to_owned()),
            against: self.terms.against.name().to_owned(),
            max_steps: self.most_steps,
            clock: (self.clock != Moment::USUAL).then(|| self.clock.to_string()),
            list: self.terms.list,
            without: left_out::names(self.program(), &self.left_out),
        }
    }
}
