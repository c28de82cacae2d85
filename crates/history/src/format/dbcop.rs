//! dbcop's bincode: the files of dbcop, PolySI and VeriStrong.
//!
//! ```text
//!   id  nodes  variables  transactions  events        five numbers about the run that made it, not needed
//!   info  start  end                                   three texts: a length and that many bytes
//!   sessions × ( transactions × ( events × ( write? variable value success? )  success? ) )
//! ```
//!
//! Numbers are 64 bits, little-endian; truth values are one byte; every list begins with its length. Value 0 is the initial
//! value of every variable. A transaction without success was aborted. An event without success did not happen: a failed read
//! is dropped; a failed write is moved into an aborted transaction in a session of its own, so that whoever read its value
//! read something aborted.

use super::known::{FormatReader, FormatWriter, KnownFormat, Likeness};
use super::plume_write;
use crate::builder::{HistoryBuilder, Place, Problem, Refusal};
use crate::history::{Action, Event, Outcome};
use crate::name::Name;

const ADVICE: &str = "check that the file is complete and is dbcop's bincode";

/// Bytes of an event.
const EVENT: usize = 18;

/// Failed writes stand in this session.
const FAILED: &str = "failed writes";

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "dbcop",
    aliases: &["dbcop-bincode", "bincode"],
    description: "dbcop, binary",
    extension: Some("bincode"),
    likeness: |look| Likeness::strong(look.is_binary && is_plausible(look.bytes)),
    read: FormatReader::Bytes(read),
    write: Some(FormatWriter { place: 3, write: plume_write::write_bincode }),
};

fn read(bytes: &[u8]) -> Result<HistoryBuilder, Refusal> {
    if bytes.is_empty() {
        return Err(Refusal { place: Place::Whole, problem: Problem::Empty });
    }
    let mut reader = DbcopReader { bytes, at: 0, builder: HistoryBuilder::new(), failed: Vec::new() };
    let zero = reader.builder.values().integer(0);
    reader.builder.default_initial(zero);
    reader.header()?;
    let sessions = reader.length("sessions", 8)?;
    reader.builder.reserve(0, (bytes.len() - reader.at) / EVENT);
    for session in 0..sessions {
        reader.session(session as i64)?;
    }
    if reader.at < bytes.len() {
        let what = format!("{} bytes after the end of the history", bytes.len() - reader.at);
        return Err(reader.refuse(reader.at, what));
    }
    reader.finish()
}

/// Whether the bytes begin like such a file.
fn is_plausible(bytes: &[u8]) -> bool {
    let mut reader = DbcopReader { bytes, at: 0, builder: HistoryBuilder::new(), failed: Vec::new() };
    reader.header().is_ok() && reader.length("sessions", 8).is_ok()
}

struct DbcopReader<'a> {
    bytes: &'a [u8],
    at: usize,
    builder: HistoryBuilder,
    failed: Vec<Event>,
}

impl DbcopReader<'_> {
    fn header(&mut self) -> Result<(), Refusal> {
        for what in ["id", "number of nodes", "number of variables", "number of transactions", "number of events"] {
            self.number(what)?;
        }
        let info = self.text("info")?;
        if !info.is_empty() {
            self.builder.about(&info);
        }
        self.text("start")?;
        self.text("end")?;
        Ok(())
    }

    fn session(&mut self, number: i64) -> Result<(), Refusal> {
        let session = self.builder.session(number);
        let transactions = self.length("transactions", 9)?;
        for _ in 0..transactions {
            self.builder.at(Place::Byte(self.at as u64));
            self.builder.begin(session, None)?;
            self.transaction()?;
        }
        Ok(())
    }

    fn transaction(&mut self) -> Result<(), Refusal> {
        let events = self.length("events", EVENT)?;
        let first = self.at;
        self.at += events * EVENT;
        let success_at = self.at;
        // Whether failed writes need a place of their own is known only now.
        let committed = self.truth("success of a transaction")?;
        for (number, event) in self.bytes[first..success_at].as_chunks::<EVENT>().0.iter().enumerate() {
            let Some((event, success)) = self.event(event) else {
                let at = first + number * EVENT;
                return Err(self.bad_truth(at, self.bytes[at], self.bytes[at + EVENT - 1]));
            };
            match (success, event.action) {
                (true, _) => self.builder.event(event),
                (false, Action::Read) => {}
                (false, _) if committed => self.failed.push(event),
                (false, _) => self.builder.event(event),
            }
        }
        if !committed {
            self.builder.outcome(Outcome::AbortedByDatabase);
        }
        Ok(())
    }

    fn event(&mut self, bytes: &[u8; EVENT]) -> Option<(Event, bool)> {
        let word = |from: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[from + index]));
        let (write, variable, value, success) = (bytes[0], word(1), word(9), bytes[EVENT - 1]);
        if write > 1 || success > 1 {
            return None;
        }
        let key = match i64::try_from(variable) {
            Ok(variable) => self.builder.key(variable),
            Err(_) => self.builder.key(Name::Text(&variable.to_string())),
        };
        let value = self.builder.values().integer(value);
        let action = if write == 1 { Action::Write } else { Action::Read };
        Some((Event::new(action, key, value), success == 1))
    }

    fn bad_truth(&self, at: usize, write: u8, success: u8) -> Refusal {
        let (at, byte, what) = if write > 1 {
            (at, write, "whether an event writes")
        } else {
            (at + EVENT - 1, success, "the success of an event")
        };
        self.refuse(at, format!("the byte {byte} as {what}, which should be 0 or 1"))
    }

    fn finish(mut self) -> Result<HistoryBuilder, Refusal> {
        if !self.failed.is_empty() {
            let session = self.builder.session(FAILED);
            self.builder.begin(session, None)?;
            self.builder.outcome(Outcome::AbortedByDatabase);
            self.builder.events(&self.failed);
        }
        Ok(self.builder)
    }

    fn number(&mut self, what: &str) -> Result<u64, Refusal> {
        let bytes = self.take(8, what)?;
        Ok(u64::from_le_bytes(std::array::from_fn(|index| bytes[index])))
    }

    /// How many things follow. More than the rest of the file has room for is refused before anything is allocated.
    fn length(&mut self, what: &str, least_bytes_each: usize) -> Result<usize, Refusal> {
        let at = self.at;
        let length = self.number(&format!("the number of {what}"))?;
        let room = (self.bytes.len() - self.at) / least_bytes_each;
        match usize::try_from(length) {
            Ok(length) if length <= room => Ok(length),
            _ => Err(self.refuse(at, format!("{length} {what}, and room for {room} in the rest of the file"))),
        }
    }

    fn text(&mut self, what: &str) -> Result<String, Refusal> {
        let at = self.at;
        let length = self.length(&format!("bytes of `{what}`"), 1)?;
        let bytes = self.take(length, what)?.to_vec();
        String::from_utf8(bytes).map_err(|_| self.refuse(at, format!("`{what}` is not UTF-8 text")))
    }

    fn truth(&mut self, what: &str) -> Result<bool, Refusal> {
        let at = self.at;
        match self.take(1, what)?[0] {
            byte @ (0 | 1) => Ok(byte == 1),
            byte => Err(self.refuse(at, format!("the byte {byte} as the {what}, which should be 0 or 1"))),
        }
    }

    fn take(&mut self, length: usize, what: &str) -> Result<&[u8], Refusal> {
        let Some(bytes) = self.bytes.get(self.at..).and_then(|rest| rest.get(..length)) else {
            return Err(self.refuse(self.bytes.len(), format!("the file ends inside {what}")));
        };
        self.at += length;
        Ok(bytes)
    }

    fn refuse(&self, at: usize, what: impl Into<String>) -> Refusal {
        Refusal { place: Place::Byte(at as u64), problem: Problem::malformed(what, ADVICE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::notation;

    fn read(bytes: &[u8]) -> Result<History, Refusal> {
        super::read(bytes)?.finish()
    }

    type SampleEvent = (bool, u64, u64, bool);

    pub(crate) fn sample(sessions: &[&[(&[SampleEvent], bool)]]) -> Vec<u8> {
        let mut bytes = vec![0; 40];
        for text in ["Test", "then", "now"] {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.extend((sessions.len() as u64).to_le_bytes());
        for session in sessions {
            bytes.extend((session.len() as u64).to_le_bytes());
            for (events, success) in *session {
                bytes.extend((events.len() as u64).to_le_bytes());
                for &(write, variable, value, success) in *events {
                    bytes.push(u8::from(write));
                    bytes.extend(variable.to_le_bytes());
                    bytes.extend(value.to_le_bytes());
                    bytes.push(u8::from(success));
                }
                bytes.push(u8::from(*success));
            }
        }
        bytes
    }

    fn small() -> Vec<u8> {
        sample(&[
            &[(&[(true, 1, 5, true), (true, 2, 6, false), (false, 2, 9, false)], true)],
            &[(&[(false, 1, 0, true), (true, 1, u64::MAX, false)], false), (&[], true)],
        ])
    }

    #[test]
    fn sessions_transactions_and_failures_come_back() {
        let history = read(&small()).unwrap();
        let expected = "0: w(1,5)\n1: r(1,0) w(1,18446744073709551615) ! |\nfailed writes: w(2,6) !\n";
        assert_eq!(notation::write(&history), expected);
        assert_eq!(history.about(), Some("Test"));
        assert_eq!(history.show(history.initial(history.find_key("1").unwrap())).to_string(), "0");
        assert!(is_plausible(&small()));
    }

    #[test]
    fn a_file_cut_anywhere_is_refused_with_a_byte() {
        let whole = small();
        for length in 1..whole.len() {
            let refusal = read(&whole[..length]).unwrap_err();
            assert!(matches!(refusal.place, Place::Byte(_)), "{length}: {refusal}");
        }
        let refusal = read(&whole[..30]).unwrap_err();
        assert_eq!(refusal.to_string(), "byte 30: the file ends inside number of transactions");
        assert_eq!(read(b"").unwrap_err().problem, Problem::Empty);
    }

    #[test]
    fn absurd_lengths_are_refused_before_anything_is_allocated() {
        let mut bytes = small();
        let sessions_at = 40 + 8 + 4 + 8 + 4 + 8 + 3;
        bytes[sessions_at..sessions_at + 8].fill(0xff);
        let refusal = read(&bytes).unwrap_err();
        assert!(refusal.to_string().starts_with("byte 75: 18446744073709551615 sessions, and room for"), "{refusal}");
    }

    #[test]
    fn bytes_that_are_neither_0_nor_1_and_bytes_after_the_end_are_refused() {
        let mut bytes = small();
        let first_event = 75 + 8 + 8 + 8;
        bytes[first_event] = 7;
        assert!(read(&bytes).unwrap_err().to_string().starts_with("byte 99: the byte 7 as whether an event writes"));
        bytes[first_event] = 1;
        bytes[first_event + 17] = 2;
        assert!(read(&bytes).unwrap_err().to_string().starts_with("byte 116: the byte 2 as the success"));
        let mut bytes = small();
        bytes.push(0);
        assert!(read(&bytes).unwrap_err().to_string().contains("1 bytes after the end"));
    }
}
