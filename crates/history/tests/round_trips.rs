//! Random small histories, written in every format that can carry them and read back: the same versions are read.
//!
//! The values repeat, keys are deleted, reads name writers, nobody wrote what was read, transactions abort: whatever a format
//! cannot carry it must refuse or say.

#[allow(dead_code, unreachable_pub)]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use skew_history::builder::{ClaimedWriter, Refusal};
use skew_history::format::{Format, WriteError, write};
use skew_history::{Action, Event, History, HistoryBuilder, Name, Outcome, Times, Value, notation};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    fn chance(&mut self, in_ten: u64) -> bool {
        self.roll(10) < in_ten
    }
}

/// What a family of random histories has.
#[derive(Clone, Copy)]
struct Family {
    texts: bool,
    deletes: bool,
    claims: bool,
    unknown: bool,
    lists: bool,
    times: bool,
    initial_zero: bool,
}

fn value(dice: &mut Dice, builder: &mut HistoryBuilder, family: Family, writes: bool) -> Value {
    match dice.roll(6) {
        0 if family.deletes || !writes && !family.initial_zero => Value::ABSENT,
        0 if !writes => builder.values().integer(0),
        number if family.texts => builder.values().text(["a", "b\n\"", ":c", "é", "e e", "7"][number as usize]),
        number => builder.values().integer(number as i64 + 1),
    }
}

fn event(dice: &mut Dice, builder: &mut HistoryBuilder, family: Family, transactions: u64) {
    let key = ["x", "y", "3"][dice.roll(3) as usize];
    let key = builder.key(if family.texts { key } else { ["1", "2", "3"][dice.roll(3) as usize] });
    if family.lists {
        let elements: Vec<Value> = (0..=dice.roll(3)).map(|n| builder.values().integer(n as i64)).collect();
        let list = if elements.is_empty() { Value::ABSENT } else { builder.values().list(elements) };
        match dice.roll(2) {
            0 => builder.read(key, list),
            _ => builder.append(key, Value::small_integer(dice.roll(5) as i64).unwrap()),
        }
        return;
    }
    let action = if dice.chance(5) { Action::Read } else { Action::Write };
    let value = value(dice, builder, family, action == Action::Write);
    builder.event(Event::new(action, key, value));
    if action == Action::Read && family.claims && dice.chance(5) {
        builder.claim(match dice.roll(transactions + 1) {
            0 => ClaimedWriter::Initial,
            number => ClaimedWriter::Transaction(Name::Integer(number as i64)),
        });
    }
}

fn random(dice: &mut Dice, family: Family) -> Result<History, Refusal> {
    let mut builder = HistoryBuilder::new();
    if family.initial_zero {
        builder.default_initial(Value::small_integer(0).unwrap());
    }
    let transactions = 2 + dice.roll(5);
    let mut clock = 0;
    for id in 1..=transactions {
        let session = dice.roll(3) as i64;
        let session =
            if family.texts { builder.session(["a", "b c", "9"][session as usize]) } else { builder.session(session) };
        builder.begin(session, Some(Name::Integer(id as i64)))?;
        for _ in 0..dice.roll(5) {
            event(dice, &mut builder, family, transactions);
        }
        builder.outcome(match dice.roll(8) {
            0 => Outcome::AbortedByDatabase,
            1 if family.unknown => Outcome::Unknown,
            _ => Outcome::Committed,
        });
        if family.times {
            let begin = clock + dice.roll(3) as i64;
            clock = begin + dice.roll(3) as i64;
            builder.times(Times { begin: Some(begin), end: Some(clock) })?;
        }
    }
    builder.finish()
}

fn families() -> impl Iterator<Item = Family> {
    (0..128u32).map(|bits| {
        let has = |bit: u32| bits >> bit & 1 == 1;
        Family {
            texts: has(0),
            deletes: has(1),
            claims: has(2),
            unknown: has(3),
            lists: has(4),
            times: has(5),
            initial_zero: has(6),
        }
    })
}

#[test]
fn what_is_written_reads_back_with_the_same_versions_read() {
    let mut dice = Dice(7);
    let mut written = [0; Format::ALL.len()];
    for family in families() {
        for _ in 0..40 {
            let history = random(&mut dice, family).unwrap();
            fuzz::assert_native_reads_back(&history);
            for format in fuzz::others() {
                fuzz::assert_reads_back(&history, format);
                written[format as usize] += u32::from(write(&history, format, &mut Vec::new()).is_ok());
            }
        }
    }
    for format in fuzz::others() {
        let count = written[format as usize];
        assert!(count > 500, "{format} was written only {count} times: this test says little about it");
    }
}

#[test]
fn elle_keeps_real_time() {
    let history = notation::parse("a: w(x,1) @1..5 | r(x,1) @9..9\nb: r(x,nil) @5..8 ; c: w(x,2) ? @2..").unwrap();
    let mut bytes = Vec::new();
    write(&history, Format::ElleEdn, &mut bytes).unwrap();
    let source = skew_history::format::Source { name: "h.edn", bytes: &bytes };
    let again = skew_history::format::read(&[source], Format::ElleEdn).unwrap();
    assert_eq!(notation::write(&again), "0: w(x,1) @0..3 | r(x,1) @5..6\n2: w(x,2) ? @1..\n1: r(x,nil) @2..4\n");
}

#[test]
fn losses_are_told_and_what_cannot_be_carried_is_refused() {
    let told = |text: &str, format| write(&notation::parse(text).unwrap(), format, &mut Vec::new());
    let losses = told("a: lock r(x,init) w(x,1) @si @1..2 | r(x,1) !! ; b: scan(x: x=1)", Format::Plume).unwrap();
    for word in ["Keys", "Sessions", "levels", "times", "Locking", "Range reads", "program", "Values are numbered"] {
        assert!(losses.iter().any(|loss| loss.contains(word)), "{word} in {losses:?}");
    }
    let refusal = told("a: append(x,1)", Format::Plume).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the format plume cannot carry this history: key x is a list, and it has plain values only"
    );
    let refusal = told("w(x,1) w(x,2); r(x,1)", Format::IsoPredict).unwrap_err();
    assert!(matches!(refusal, WriteError::Unsupported { .. }) && !refusal.advice().is_empty());
    assert!(told("w(x,1)", Format::Cobra).is_err());
    let losses = told("engine(postgres 15)\na: w(1,1)@1:update !40001@2 | w(1,2)", Format::Plume).unwrap();
    for word in ["statements", "errors", "engine"] {
        assert!(losses.iter().any(|loss| loss.contains(word)), "{word} in {losses:?}");
    }
    for format in fuzz::others() {
        let refusal = told("a: w(x,1) | r(x,found)", format).unwrap_err();
        assert!(
            refusal.to_string().ends_with("a#1 found a row without learning its version when it read x"),
            "{refusal}"
        );
        let refusal = told("a: w(x,nil) w(x,1); b: r(x,gone)<-a#0", format).unwrap_err();
        assert!(refusal.to_string().ends_with("b#0 found that a row was gone when it read x"), "{refusal}");
    }
}

#[test]
fn a_failing_sink_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no room"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let history = notation::parse("w(x,1)").unwrap();
    let error = write(&history, Format::Native, &mut Full).unwrap_err();
    assert_eq!(error.to_string(), "cannot write the history: no room");
}
