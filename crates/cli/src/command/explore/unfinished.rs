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
use serde::{Deserialize, Serialize};
use skew_explore::Subtree;
use std::fs;
use std::path::Path;

/// All of an exploration that is not over.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Unfinished {
    pub(super) skew: u32,
    pub(super) exploration: Identity,
    pub(super) levels: Vec<Level>,
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
}

/// One level.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Level {
    pub(super) level: String,
    pub(super) left: Vec<Subtree>,
    pub(super) tally: Tally,
}

impl Unfinished {
    /// Reads a file and sees to it that it belongs here.
    pub(super) fn read(path: &Path, identity: &Identity) -> Result<Unfinished, Complaint> {
        let name = path.to_string_lossy();
        let text = fs::read_to_string(path).map_err(|error| {
            Complaint::new(&name, cannot("read", &error), "use a file that --resume or --split wrote")
        })?;
        let read: Unfinished = serde_json::from_str(&text).map_err(|error| {
            let message = format!("this is no unfinished exploration: {error}");
            Complaint::new(&name, message, "use a file that --resume or --split wrote")
        })?;
        if read.exploration != *identity {
            let message = "this exploration is of another program or of other options".to_owned();
            return Err(Complaint::new(&name, message, "give the program and the options with which it began"));
        }
        Ok(read)
    }

    /// Writes the file beside its place first, so that whoever is interrupted has the old one or the new one.
    pub(super) fn write(&self, path: &Path) -> Result<(), Complaint> {
        let complain = |error: std::io::Error| {
            Complaint::new(&path.to_string_lossy(), cannot("write", &error), "choose another place")
        };
        let text = serde_json::to_string(self).map_err(|error| complain(error.into()))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(complain)?;
        std::io::Write::write_all(&mut file, text.as_bytes()).map_err(complain)?;
        file.persist(path).map_err(|error| complain(error.error))?;
        Ok(())
    }

    /// Adds up several; they have the same levels.
    pub(super) fn merge(mut self, other: Unfinished) -> Option<Unfinished> {
        let names =
            |unfinished: &Unfinished| unfinished.levels.iter().map(|level| level.level.clone()).collect::<Vec<_>>();
        if names(&self) != names(&other) {
            return None;
        }
        for (level, other) in self.levels.iter_mut().zip(other.levels) {
            level.left.extend(other.left);
            level.tally.add(other.tally);
        }
        Some(self)
    }

    /// Parts whose shares are about the same: the largest subtrees first, each to the part that has least.
    pub(super) fn split(&self, parts: usize) -> Vec<Unfinished> {
        let empty = |level: &Level| Level {
            left: Vec::new(),
            tally: Tally::new(level.tally.assertions.len()),
            level: level.level.clone(),
        };
        let nothing = Unfinished { levels: self.levels.iter().map(empty).collect(), ..self.clone() };
        let mut split = vec![nothing; parts];
        for (number, level) in self.levels.iter().enumerate() {
            let mut left = level.left.clone();
            left.sort_by(|one, other| other.share().total_cmp(&one.share()));
            for subtree in left {
                let share = |part: &Unfinished| part.levels[number].left.iter().map(Subtree::share).sum::<f64>();
                let least = split.iter_mut().min_by(|one, other| share(one).total_cmp(&share(other)));
                if let Some(part) = least {
                    part.levels[number].left.push(subtree);
                }
            }
        }
        split
    }
}
