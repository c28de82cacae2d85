//! What must hold for any bytes at all, shared by the fuzz targets and by an ordinary test that replays the kept inputs.
//!
//! ```text
//!   bytes ── read ──> refusal: it says where and what to do                                  no panic, ever
//!                └──> history ── write native ── read ──> the same history
//!                            └── write the others ── read ──> the same versions read        or a refusal to write
//! ```
//!
//! A Cobra history is several files: the bytes are cut into them at `--`.

mod shape;

use shape::{ShapeOf, shape};
use skew_history::format::{Format, Source, read, write};
use skew_history::{Asked, EventId, History, notation};

/// Reads the bytes as a history of this format and, if they are one, writes it and reads it back.
pub fn fuzz_one(format: Format, bytes: &[u8]) {
    let history = match read_cut(format, bytes) {
        Ok(history) => history,
        Err(error) => {
            assert!(!error.advice().is_empty() && !error.to_string().is_empty());
            return;
        }
    };
    assert_native_reads_back(&history);
    for other in others() {
        assert_reads_back(&history, other);
    }
}

/// The formats of others that are written. Our own hold everything: native is compared whole, and the notation compares itself.
pub fn others() -> Vec<Format> {
    let is_own = |format: &Format| matches!(format, Format::Native | Format::Notation);
    Format::written().into_iter().filter(|format| !is_own(format)).collect()
}

fn read_cut(format: Format, bytes: &[u8]) -> Result<History, skew_history::format::ReadError> {
    if format != Format::Cobra {
        return read(&[Source { name: "input", bytes }], format);
    }
    let mut logs: Vec<&[u8]> = Vec::new();
    let mut rest = bytes;
    while let Some(cut) = rest.windows(2).position(|window| window == b"--") {
        logs.push(&rest[..cut]);
        rest = &rest[cut + 2..];
    }
    logs.push(rest);
    let names: Vec<String> = (0..logs.len()).map(|number| format!("T{number}.log")).collect();
    let sources: Vec<Source<'_>> = names.iter().zip(&logs).map(|(name, bytes)| Source { name, bytes }).collect();
    read(&sources, format)
}

/// What native holds comes back whole.
pub fn assert_native_reads_back(history: &History) {
    let mut bytes = Vec::new();
    write(history, Format::Native, &mut bytes).expect("native carries everything");
    let again = read(&[Source { name: "native", bytes: &bytes }], Format::Native).expect("native reads back");
    assert_eq!(history.transaction_count(), again.transaction_count());
    assert_eq!(history.event_count(), again.event_count());
    for transaction in history.transactions() {
        let told = |history: &History| {
            let events = history.numbered_events_of(transaction);
            let events: Vec<String> =
                events.map(|(number, event)| notation::show_event(history, number, event)).collect();
            let session = history.session_name(history.session_of(transaction)).to_string();
            let name = history.transaction_name(transaction).to_string();
            let ending =
                (history.outcome(transaction), history.declared_level(transaction), history.times(transaction));
            let refusal = history.refusal(transaction).map(|refused| (refused.error.to_owned(), refused.statement));
            (session, name, events, ending, refusal, history.transaction_note(transaction).map(str::to_owned))
        };
        assert_eq!(told(history), told(&again));
    }
    let notes = |history: &History| -> Vec<Option<String>> {
        (0..history.event_count() as u32).map(|event| history.event_note(EventId(event)).map(str::to_owned)).collect()
    };
    assert_eq!(notes(history), notes(&again));
    assert_eq!(history.claims(), again.claims());
    assert_eq!(history.all_gone(), again.all_gone());
    assert_eq!(history.engine(), again.engine());
    let asked = |history: &History| -> Vec<Asked> {
        (0..history.event_count() as u32).map(|event| history.asked(EventId(event))).collect()
    };
    assert_eq!(asked(history), asked(&again));
    for key in history.keys() {
        let name = history.key_name(key).to_string();
        let initial = |history: &History, key| history.show(history.initial(key)).to_string();
        match again.find_key(&name) {
            Some(same) => assert_eq!(initial(history, key), initial(&again, same)),
            None => assert!(history.initial(key).is_absent()),
        }
    }
}

/// What another format can carry comes back with the same reads of the same versions.
pub fn assert_reads_back(history: &History, format: Format) {
    let mut bytes = Vec::new();
    let Ok(losses) = write(history, format, &mut bytes) else { return };
    let again = match read(&[Source { name: "written", bytes: &bytes }], format) {
        Ok(again) => again,
        // Nothing that counts was there to write.
        Err(error) if error.problem == skew_history::Problem::Empty => return,
        Err(error) => panic!("{format} does not read back: {error}\n{}", String::from_utf8_lossy(&bytes)),
    };
    // A sentence says that reads are gone.
    if losses.iter().any(|loss| loss.starts_with("Reads of the initial state")) {
        return;
    }
    let of = ShapeOf {
        by_name: matches!(format, Format::ElleEdn | Format::ElleJson),
        aborted_is_thin_air: format == Format::IsoPredict,
    };
    assert_eq!(shape(history, of), shape(&again, of), "{format}\n{}", String::from_utf8_lossy(&bytes));
}
