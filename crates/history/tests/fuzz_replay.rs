//! Replays the kept fuzz inputs and some thousands of mutations of them, by the same function that the fuzz targets call.

// What was skipped or replayed is for whoever runs the test.
#![allow(clippy::print_stderr)]

#[allow(dead_code, unreachable_pub)]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use skew_history::format::Format;
use std::fs;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn kept(format: Format) -> Vec<(String, Vec<u8>)> {
    let folder = corpus().join(format.name());
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    inputs
}

/// A small generator with a fixed seed: the same mutations on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides.max(1)
    }
}

fn mutate(dice: &mut Dice, input: &[u8], other: &[u8]) -> Vec<u8> {
    const TOKENS: [&[u8]; 12] =
        [b"0", b"-1", b"99999999999999999999", b"\"", b"[", b"]", b"{", b"}", b"null", b"\n", b"\0", b"\xff"];
    let mut bytes = input.to_vec();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(bytes.len() + 1);
        match dice.roll(6) {
            0 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
            1 => bytes.truncate(at),
            2 => drop(bytes.splice(at..at, TOKENS[dice.roll(TOKENS.len())].iter().copied())),
            3 => drop(bytes.drain(at..(at + dice.roll(8)).min(bytes.len()))),
            4 => {
                let from = dice.roll(other.len());
                let piece = other[from..(from + dice.roll(40)).min(other.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
            _ => {}
        }
    }
    bytes
}

#[test]
fn kept_inputs_and_their_mutations_are_read_or_refused_without_a_panic() {
    const MUTATIONS: usize = 2_000;
    for format in Format::ALL {
        let inputs = kept(format);
        for (name, bytes) in &inputs {
            eprintln!("replaying {name}");
            fuzz::fuzz_one(format, bytes);
        }
        let mut dice = Dice(0x5eed + format as u64);
        for _ in 0..MUTATIONS {
            let (input, other) = (dice.roll(inputs.len()), dice.roll(inputs.len()));
            let bytes = mutate(&mut dice, &inputs[input].1, &inputs[other].1);
            let caught = std::panic::catch_unwind(|| fuzz::fuzz_one(format, &bytes));
            assert!(caught.is_ok(), "{format}, this input: {}", bytes.escape_ascii());
        }
    }
}

#[test]
fn the_kept_inputs_stay_small() {
    let total: usize = Format::ALL.iter().flat_map(|&format| kept(format)).map(|(_, bytes)| bytes.len()).sum();
    assert!(total < 64 << 10, "{total} bytes");
}
