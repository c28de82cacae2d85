//! dbcop's JSON, the new and the old.
//!
//! ```text
//!   {"data":[[{"events":[{"Write":{"variable":0,"version":1}},{"Read":{"variable":0,"version":null}}],"committed":true}]]}
//!   {"data":[[{"events":[{"write":true,"variable":0,"value":1,"success":true}],"success":true}]]}
//! ```
//!
//! Sessions of transactions of events. In the new one `null` is the initial version; in the old one, which says the same as the
//! bincode, it is the value 0. What the members beside `data` say about the run is not needed, apart from `info`.

use super::datum::{Datum, DatumKind, Taker};
use super::json::Json;
use super::known::{FormatReader, KnownFormat, Likeness};
use crate::builder::{HistoryBuilder, Refusal};
use crate::history::{Action, Event, Outcome};

const ADVICE: &str = "the file is one object like {\"data\":[[{\"events\":[{\"Write\":{\"variable\":0,\"version\":1}}],\"committed\":true}]]}";

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "dbcop-json",
    aliases: &["hist"],
    description: "dbcop, JSON",
    extension: None,
    likeness: |look| Likeness::weak(look.object_with(&["data"])),
    read: FormatReader::Text(read),
    write: None,
};

fn read(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut json = Json::new(text, 1);
    if json.at_end() {
        return Ok(Taker::new(text, 1).builder);
    }
    let file = json.value()?;
    json.end()?;
    let mut reader = DbcopJsonReader { taker: Taker::new(text, 1), failed: Vec::new() };
    if let Some(info) = file.member("info").and_then(Datum::word).filter(|info| !info.is_empty()) {
        reader.taker.builder.about(info);
    }
    let data =
        file.member("data").ok_or_else(|| reader.taker.refuse(&file, "no list of sessions in `data`", ADVICE))?;
    for (number, session) in reader.list(data, "sessions")?.iter().enumerate() {
        reader.session(number as i64, session)?;
    }
    reader.finish()
}

struct DbcopJsonReader<'t> {
    taker: Taker<'t>,
    failed: Vec<Event>,
}

impl DbcopJsonReader<'_> {
    fn session(&mut self, number: i64, session: &Datum<'_>) -> Result<(), Refusal> {
        let id = self.taker.builder.session(number);
        for transaction in self.list(session, "transactions")? {
            self.taker.builder.at(self.taker.place(transaction));
            self.taker.builder.begin(id, None)?;
            let events = transaction.member("events");
            let events =
                events.ok_or_else(|| self.taker.refuse(transaction, "a transaction without `events`", ADVICE))?;
            let committed = self.truth(transaction, ["committed", "success"])?;
            for event in self.list(events, "events")? {
                self.event(event, committed)?;
            }
            if !committed {
                self.taker.builder.outcome(Outcome::AbortedByDatabase);
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Datum<'_>, committed: bool) -> Result<(), Refusal> {
        let (action, body, value, success) = if let Some(body) = event.member("Write") {
            (Action::Write, body, "version", true)
        } else if let Some(body) = event.member("Read") {
            (Action::Read, body, "version", true)
        } else {
            let action = if self.truth(event, ["write", "write"])? { Action::Write } else { Action::Read };
            (action, event, "value", self.truth(event, ["success", "success"])?)
        };
        let variable = body.member("variable");
        let variable = variable.ok_or_else(|| self.taker.refuse(event, "an event without `variable`", ADVICE))?;
        let key = self.taker.key(variable)?;
        let value = match body.member(value) {
            None if action == Action::Read => crate::value::Value::ABSENT,
            None => return Err(self.taker.refuse(event, format!("a write without `{value}`"), ADVICE)),
            // The old format's initial value is 0, the new one's is nothing.
            Some(Datum { kind: DatumKind::Integer(0), .. }) if value == "value" && action == Action::Read => {
                crate::value::Value::ABSENT
            }
            Some(value) => self.taker.scalar(value)?,
        };
        match (success, action) {
            (true, _) => self.taker.builder.event(Event::new(action, key, value)),
            (false, Action::Read) => {}
            (false, _) if committed => self.failed.push(Event::new(action, key, value)),
            (false, _) => self.taker.builder.event(Event::new(action, key, value)),
        }
        Ok(())
    }

    /// The failed writes of committed transactions become an aborted one, as for the bincode.
    fn finish(mut self) -> Result<HistoryBuilder, Refusal> {
        if !self.failed.is_empty() {
            let session = self.taker.builder.session("failed writes");
            self.taker.builder.begin(session, None)?;
            self.taker.builder.outcome(Outcome::AbortedByDatabase);
            self.taker.builder.events(&self.failed);
        }
        Ok(self.taker.builder)
    }

    fn truth(&self, datum: &Datum<'_>, names: [&str; 2]) -> Result<bool, Refusal> {
        match names.iter().find_map(|name| datum.member(name)).map(|found| &found.kind) {
            Some(DatumKind::Boolean(truth)) => Ok(*truth),
            _ => Err(self.taker.refuse(datum, format!("no `{}` that is true or false", names[0]), ADVICE)),
        }
    }

    fn list<'d, 'a>(&self, datum: &'d Datum<'a>, what: &str) -> Result<&'d [Datum<'a>], Refusal> {
        let refuse = || self.taker.refuse(datum, format!("{} where a list of {what} should be", datum.noun()), ADVICE);
        datum.list().ok_or_else(refuse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::notation;

    fn read(text: &str) -> Result<History, Refusal> {
        super::read(text)?.finish()
    }

    #[test]
    fn the_new_shape_reads() {
        let text = "{\"params\":{},\"info\":\"i\",\"data\":[[{\"events\":[{\"Write\":{\"variable\":0,\"version\":1}},\
                    {\"Read\":{\"variable\":0,\"version\":null}}],\"committed\":true}],[{\"events\":[],\"committed\":false}]]}";
        assert_eq!(notation::write(&read(text).unwrap()), "0: w(0,1) r(0,nil)\n1: !\n");
    }

    #[test]
    fn the_old_shape_reads() {
        let text = "{\"data\":[[{\"events\":[{\"write\":true,\"variable\":3,\"value\":1,\"success\":false},\
                    {\"write\":false,\"variable\":3,\"value\":0,\"success\":true}],\"success\":true}]]}";
        assert_eq!(notation::write(&read(text).unwrap()), "0: r(3,nil)\nfailed writes: w(3,1) !\n");
    }

    #[test]
    fn mistakes_name_their_line() {
        let refusal = read("{\"data\":[[\n{\"events\":[{\"Write\":{}}],\"committed\":true}]]}").unwrap_err();
        assert_eq!(refusal.to_string(), "line 2: an event without `variable`");
        assert_eq!(read("{}").unwrap_err().to_string(), "line 1: no list of sessions in `data`");
        assert!(read("").unwrap_err().to_string().contains("no transaction"));
    }
}
