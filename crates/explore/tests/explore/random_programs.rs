//! Seeded random programs, small enough for brute force.

use crate::script::{Op, SPACE, Script};
use skew_explore::IsolationLevel;
use skew_sql::{KeyPart, KeyRange};

/// A small generator of numbers: the same seed gives the same program on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// What a program may have.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Features {
    pub(crate) scans: bool,
    pub(crate) locks: bool,
    pub(crate) mixed: bool,
}

/// A program of at most four transactions, small enough for brute force.
pub(crate) fn program(random: &mut Random, features: Features) -> Script {
    let transactions = 2 + random.below(if features.scans || features.locks { 2 } else { 3 });
    program_of(random, features, transactions)
}

/// A program of so many transactions.
pub(crate) fn program_of(random: &mut Random, features: Features, transactions: usize) -> Script {
    let sessions = 1 + random.below(transactions);
    let mut script = Script { sessions: vec![Vec::new(); sessions.max(2)], initial: Vec::new() };
    for number in 0..transactions {
        let session = if number < script.sessions.len() { number } else { random.below(script.sessions.len()) };
        let ops = transaction(random, features, transactions);
        let level = features.mixed.then(|| level(random));
        script.sessions[session].push((ops, level));
    }
    script.sessions.retain(|session| !session.is_empty());
    for key in KEYS {
        if !features.scans || random.chance(30) {
            script.initial.push(key.to_owned());
        }
    }
    script
}

const KEYS: [&str; 3] = ["k/1", "k/2", "k/3"];

fn level(random: &mut Random) -> IsolationLevel {
    use IsolationLevel::*;
    [ReadCommitted, ReadAtomic, Causal, Prefix, Snapshot, Serializable, ReadCommitted, ReadAtomic, Causal]
        [random.below(9)]
}

fn transaction(random: &mut Random, features: Features, transactions: usize) -> Vec<Op> {
    let most = if transactions > 3 { 2 } else { 3 };
    let mut ops = Vec::new();
    let keys = if features.scans { 3 } else { 2 };
    for _ in 0..1 + random.below(most) {
        let key = KEYS[random.below(keys)].to_owned();
        ops.push(match random.below(100) {
            _ if features.scans && random.chance(35) => Op::Scan(range(random)),
            0..45 => Op::Read(key, features.locks && random.chance(50)),
            45..80 => Op::Write(key),
            80..85 if features.scans => Op::Delete(key),
            80..92 => Op::If,
            92..96 => Op::Abort,
            _ => Op::Read(key, false),
        });
    }
    // A condition needs something after it to be one.
    if ops.last() == Some(&Op::If) {
        ops.push(Op::Write(KEYS[random.below(keys)].to_owned()));
    }
    ops
}

fn range(random: &mut Random) -> KeyRange {
    let mut range = KeyRange::of_prefix(SPACE, vec![KeyPart::Text("k".into())]);
    if random.chance(30) {
        range.low = Some(KeyPart::Number(2));
    }
    if random.chance(30) {
        range.high = Some(KeyPart::Number(2));
    }
    range.descending = random.chance(30);
    range.limit = random.chance(30).then(|| 1 + random.below(2));
    range
}
