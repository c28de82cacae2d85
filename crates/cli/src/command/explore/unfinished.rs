//! An exploration in a file: what is left of it, and what was counted.
//!
//! ```text
//!   --resume FILE     goes on from the file if it is there, and keeps in it what is left when the exploration ends early
//!   --split N         N files, each with a part of what is to be explored; --part FILE explores one, and keeps in it what it counted
//!   --merge FILE …    adds up what they counted; what is left in them makes the result incomplete
//! ```
//!
//! A file belongs to one program text and one set of options; it is refused for any other, because a schedule means nothing there.

use super::tally::Tally;
use crate::input::{Complaint, cannot};
use crate::output::{can_write, unwritable, write_whole};
use serde::{Deserialize, Serialize};
use skew_explore::Subtree;
use skew_history::IsolationLevel;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::fs;
use std::path::Path;

/// All of an exploration that is not over.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Unfinished {
    pub(super) skew: u32,
    pub(super) exploration: Identity,
    pub(super) levels: Vec<Level>,
    /// Which parts of the whole this is; nothing for the whole.
    pub(super) parts: Option<Parts>,
}

/// Some of the parts that `--split` made of an exploration. The same options make the same parts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) of: usize,
    pub(super) which: BTreeSet<usize>,
}

impl Parts {
    /// Those that are not here.
    pub(super) fn missing(&self) -> Vec<usize> {
        (1..=self.of).filter(|part| !self.which.contains(part)).collect()
    }
}

/// What a file belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) sha256: String,
    pub(super) updates: String,
    pub(super) granularity: String,
    pub(super) base: Option<String>,
    pub(super) against: String,
    pub(super) max_steps: u64,
    /// When the database's clock starts, where that was said.
    #[serde(default)]
    pub(super) clock: Option<String>,
    pub(super) list: bool,
    /// The calls that are left out.
    #[serde(default)]
    pub(super) without: Vec<String>,
}

/// One level.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Level {
    pub(super) level: String,
    pub(super) left: Vec<Subtree>,
    pub(super) tally: Tally,
}

impl Unfinished {
    /// Reads a file and sees to it that it belongs here: to this program, whose assertions are so many, these options, and these levels
    /// if there are any.
    pub(super) fn read(
        path: &Path,
        nothing_done: &Unfinished,
        levels: &[IsolationLevel],
    ) -> Result<Unfinished, Complaint> {
        let name = path.to_string_lossy();
        let text = fs::read_to_string(path).map_err(|error| {
            Complaint::new(&name, cannot("read", &error), "use a file that --resume or --split wrote")
        })?;
        let read: Unfinished = serde_json::from_str(&text).map_err(|error| {
            let message = format!("this is no unfinished exploration: {error}");
            Complaint::new(&name, message, "use a file that --resume or --split wrote")
        })?;
        let wrong = |message: &str, advice: &str| Err(Complaint::new(&name, message.to_owned(), advice));
        if read.skew != nothing_done.skew {
            return wrong("this exploration is of another version of skew", "explore it anew");
        }
        if read.exploration != nothing_done.exploration {
            let advice = "give the program and the options with which it began";
            return wrong("this exploration is of another program or of other options", advice);
        }
        let asked = levels.iter().map(|level| level.name());
        if !levels.is_empty() && !asked.eq(read.levels.iter().map(|level| level.level.as_str())) {
            return wrong(
                "this exploration is at other levels",
                "leave --level out, or give those with which it began",
            );
        }
        let assertions = nothing_done.levels.first().map_or(0, |level| level.tally.assertions.len());
        if read.levels.iter().any(|level| level.tally.assertions.len() != assertions) || !read.has_sound_parts() {
            return wrong("this file was changed by hand", "explore it anew");
        }
        Ok(read)
    }

    fn has_sound_parts(&self) -> bool {
        self.parts.as_ref().is_none_or(|parts| parts.which.iter().all(|part| (1..=parts.of).contains(part)))
    }

    /// Whether a file can be written there.
    pub(super) fn try_place(path: &Path) -> Result<(), Complaint> {
        can_write(path).map_err(|error| unwritable(path, &error))
    }

    /// Writes the file as a whole, so that whoever is interrupted has the old one or the new one.
    pub(super) fn write(&self, path: &Path) -> Result<(), Complaint> {
        let complain = |error: std::io::Error| unwritable(path, &error);
        let text = serde_json::to_string(self).map_err(|error| complain(error.into()))?;
        write_whole(path, text).map_err(complain)
    }

    /// Adds another part; says why it cannot be added.
    pub(super) fn merge(mut self, other: Unfinished) -> Result<Unfinished, String> {
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
    pub(super) fn split(&self, parts: usize) -> Vec<Unfinished> {
        let parts = parts.min(self.levels.iter().map(|level| level.left.len()).max().unwrap_or(0)).max(1);
        let empty = |level: &Level| Level {
            left: Vec::new(),
            tally: Tally::new(level.tally.assertions.len()),
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
