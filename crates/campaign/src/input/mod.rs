//! Histories as bytes: unpacked, taken out of archives, read.
//!
//! ```text
//!   bytes ── unpack: gzip, xz, zstd, and not too much of it ── archive: the files of a .tar ──> Input ── format ──> History
//!                                                                                                └── excerpt: what stands where it is wrong
//! ```
//!
//! Where bytes come from, and what users call that, is for whoever knows files.

mod archive;
mod excerpt;
mod unpack;

pub use archive::cobra_log_number;

use crate::Complaint;
use sha2::{Digest, Sha256};
use skew_history::History;
use skew_history::format::{self, Format, Source, Unfinished};
use std::io::Read;

/// How much an input may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InputLimits {
    /// How large it may be once unpacked.
    pub size: u64,
    /// How many times its size it may unpack to.
    pub ratio: u64,
}

impl InputLimits {
    /// What nobody has to ask for.
    pub const USUAL: InputLimits = InputLimits { size: 16 << 30, ratio: 200 };

    /// Reads `16GiB`, `100MB` or a number of bytes.
    pub fn parse_size(text: &str) -> Result<u64, String> {
        let units: [(&str, u64); 9] = [
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("TiB", 1 << 40),
            ("kB", 1000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("B", 1),
            ("", 1),
        ];
        let parsed = units.into_iter().find_map(|(unit, bytes)| {
            let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            number.checked_mul(bytes)
        });
        parsed.ok_or_else(|| format!("`{text}` is not a size; write it like 16GiB, 100MB or 4096"))
    }
}

/// Inputs beyond this size are dropped before their history is put in order.
const LARGE: usize = 64 << 20;

/// One file in memory.
pub struct NamedBytes {
    /// Its name without the ending that says how it is packed: formats are recognised by it.
    pub name: String,
    /// What it holds, unpacked.
    pub bytes: Vec<u8>,
}

/// The files of one history.
pub struct Input {
    /// What the user calls it.
    pub name: String,
    /// The file, or all logs of Cobra.
    pub files: Vec<NamedBytes>,
}

impl Input {
    /// The histories in a file, of this name and about this size: one, or several if it is an archive.
    pub fn all(
        name: &str,
        bytes: Box<dyn Read>,
        size: Option<u64>,
        limits: InputLimits,
    ) -> Result<Vec<Input>, Complaint> {
        archive::open(name, bytes, size, limits)
    }

    /// The hash that binds a certificate to this input: of the bytes for a file, of all names and bytes for a folder. Packing changes
    /// neither, so a certificate of a file is one of the packed file too.
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        match self.files.as_slice() {
            [file] if !archive::is_cobra_log(&file.name) => hash.update(&file.bytes),
            files => files.iter().for_each(|file| {
                let name = base_name(&file.name);
                // Lengths first, or `a` + `bc` would be `ab` + `c`.
                hash.update((name.len() as u64).to_be_bytes());
                hash.update(name);
                hash.update((file.bytes.len() as u64).to_be_bytes());
                hash.update(&file.bytes);
            }),
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The history, and the format it was in.
    pub fn read(&self, from: Option<Format>) -> Result<(Format, History), Complaint> {
        let (format, unfinished) = self.take_in(from)?;
        let history = unfinished.finish().map_err(|error| excerpt::complaint(self, &error))?;
        Ok((format, history))
    }

    /// The same, letting go of the bytes as early as possible.
    pub fn into_history(mut self, from: Option<Format>) -> Result<(Format, History), Complaint> {
        let (format, unfinished) = self.take_in(from)?;
        // The bytes of a small input may still be shown beside a complaint; those of a large one are in the way.
        if self.files.iter().map(|file| file.bytes.len()).sum::<usize>() > LARGE {
            self.files.iter_mut().for_each(|file| file.bytes = Vec::new());
        }
        let history = unfinished.finish().map_err(|error| excerpt::complaint(&self, &error))?;
        Ok((format, history))
    }

    fn take_in(&self, from: Option<Format>) -> Result<(Format, Unfinished), Complaint> {
        let sources: Vec<Source<'_>> =
            self.files.iter().map(|file| Source { name: &file.name, bytes: &file.bytes }).collect();
        let outcome = from.map_or_else(|| format::detect(&sources), Ok);
        let outcome = outcome.and_then(|format| Ok((format, format::take_in(&sources, format)?)));
        outcome.map_err(|error| excerpt::complaint(self, &error))
    }
}

/// Reads a file of this name to its end, but not beyond the limit. `expected` is a guess at its size.
pub fn read_all(name: &str, bytes: impl Read, expected: Option<u64>, limit: u64) -> Result<Vec<u8>, Complaint> {
    unpack::read_all(bytes, expected, limit).map_err(|error| error.complaint(name))
}

fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(files: &[(&str, &str)]) -> Input {
        let file = |&(name, text): &(&str, &str)| NamedBytes { name: name.to_owned(), bytes: text.into() };
        Input { name: String::new(), files: files.iter().map(file).collect() }
    }

    #[test]
    fn the_hash_of_a_file_is_the_usual_one() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(input(&[("x", "abc")]).sha256(), expected);
    }

    #[test]
    fn the_hash_of_a_folder_depends_on_names_and_on_where_files_end() {
        let one = input(&[("a/T0.log", "ab"), ("a/T1.log", "c")]).sha256();
        assert_eq!(one, input(&[("b/T0.log", "ab"), ("b/T1.log", "c")]).sha256());
        assert_ne!(one, input(&[("a/T0.log", "a"), ("a/T1.log", "bc")]).sha256());
        assert_ne!(one, input(&[("a/T0.log", "ab"), ("a/T2.log", "c")]).sha256());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(InputLimits::parse_size("16GiB"), Ok(InputLimits::USUAL.size));
        assert_eq!(InputLimits::parse_size("3 kB"), Ok(3000));
        assert_eq!(InputLimits::parse_size("7"), Ok(7));
        assert!(InputLimits::parse_size("much").is_err() && InputLimits::parse_size("99999999999TiB").is_err());
    }
}
