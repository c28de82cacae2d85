//! Viper's JSON Lines, as VeriStrong writes them: a transaction per line, without sessions.
//!
//! ```text
//!   {"value":[["w",1,5,true],["r",2,0,false]]}
//! ```
//!
//! Each operation is a letter, a key, a value and a flag that repeats whether it writes. The file does not say which lines one
//! client ran, so each line is a session of its own: ordering lines by their place would blame the database for an order that
//! nobody promised. Value 0, or none, is the initial one, except of a key to which somebody writes 0.

use super::datum::{Datum, DatumKind, Taker};
use super::json::each_object;
use super::known::{FormatReader, KnownFormat, Likeness};
use crate::builder::{HistoryBuilder, Refusal};
use crate::history::{Action, Event, KeyId};
use crate::value::Value;

const ADVICE: &str = "a line is like {\"value\":[[\"w\",1,5,true],[\"r\",2,0,false]]}";

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "viper",
    aliases: &["viper-json"],
    description: "Viper, JSON lines",
    extension: None,
    likeness: |look| Likeness::weak(look.object_with(&["value"])),
    read: FormatReader::Text(read),
    write: None,
};

fn read(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut taker = Taker::new(text, 1);
    let zero = taker.builder.values().integer(0);
    taker.builder.default_initial(zero);
    let mut zeroed: Vec<KeyId> = Vec::new();
    let mut number = 0;
    each_object(text, |line| {
        number += 1;
        taker.builder.at(taker.place(&line));
        let operations = line.member("value").and_then(Datum::list);
        let operations = operations.ok_or_else(|| taker.refuse(&line, "a line without a list `value`", ADVICE))?;
        let session = taker.builder.session(number);
        taker.builder.begin(session, None)?;
        for operation in operations {
            let event = event(&mut taker, operation, zero)?;
            if event.action == Action::Write && event.value == zero {
                zeroed.push(event.key);
            }
            taker.builder.event(event);
        }
        Ok(())
    })?;
    for key in zeroed {
        taker.builder.initial(key, Value::ABSENT);
    }
    Ok(taker.builder)
}

fn event(taker: &mut Taker<'_>, operation: &Datum<'_>, zero: Value) -> Result<Event, Refusal> {
    let shape = |taker: &Taker<'_>| taker.refuse(operation, "an operation of another shape", ADVICE);
    let (letter, key, value) = match operation.list() {
        Some([letter, key, value]) => (letter, key, value),
        Some([letter, key, value, Datum { kind: DatumKind::Boolean(_), .. }]) => (letter, key, value),
        _ => return Err(shape(taker)),
    };
    let action = match letter.word() {
        Some("r") => Action::Read,
        Some("w") => Action::Write,
        _ => return Err(shape(taker)),
    };
    let key = taker.key(key)?;
    let value = match taker.scalar(value)? {
        value if value.is_absent() && action == Action::Read => zero,
        value if value.is_absent() => return Err(shape(taker)),
        value => value,
    };
    Ok(Event::new(action, key, value))
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
    fn every_line_is_a_session() {
        let text = "{\"value\":[[\"w\",1,5,true],[\"r\",2,null,false]]}\n{\"value\":[[\"r\",1,-5,false]]}\n";
        assert_eq!(notation::write(&read(text).unwrap()), "1: w(1,5) r(2,0)\n2: r(1,-5)\n");
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(
            read("{\"value\":[]}\n{\"value\":[[\"x\",1,2]]}").unwrap_err().to_string(),
            "line 2: an operation of another shape"
        );
        assert_eq!(read("{}").unwrap_err().to_string(), "line 1: a line without a list `value`");
    }
}
