//! Straight into memory: the history that the lines would be read as, without the lines.

use super::{Closing, Content, Ended, Header, HistorySink, Opening, Operation, ScanSpec, ScannedKey};
use crate::builder::{HistoryBuilder, Refusal};
use crate::name::Name;
use crate::statement::Refused;
use crate::value::{Value, ValueView, Values};

impl HistorySink for HistoryBuilder {
    type Error = Refusal;

    fn put_header<'a, I>(&mut self, header: Header<'a, I>) -> Result<(), Refusal>
    where
        I: Iterator<Item = (Name<'a>, Content<'a>)>,
    {
        let Header { engine, initial, about } = header;
        if let Some(engine) = engine {
            self.engine(engine);
        }
        for (key, content) in initial.into_iter().flatten() {
            let (key, value) = (self.key(key), taken_in(self.values(), &content));
            self.initial(key, value);
        }
        if let Some(about) = about {
            self.about(about);
        }
        Ok(())
    }

    fn put_opening(&mut self, opening: &Opening<'_>) -> Result<(), Refusal> {
        let Opening { session, id, note } = *opening;
        let session = self.session(session);
        self.begin(session, id)?;
        self.note_transaction(note);
        Ok(())
    }

    fn put_operation(&mut self, operation: &Operation<'_, Name<'_>, Content<'_>>) -> Result<(), Refusal> {
        let (key, value) = (self.key(operation.key), taken_in(self.values(), &operation.value));
        self.operation(operation.numbered(key, value))
    }

    fn put_scan(&mut self, scan: &ScanSpec<'_>, listed: &[ScannedKey<'_, Content<'_>>]) -> Result<(), Refusal> {
        let listed: Vec<ScannedKey<'_>> = listed
            .iter()
            .map(|ScannedKey { key, value, writer }| ScannedKey {
                key,
                value: taken_in(self.values(), value),
                writer: *writer,
            })
            .collect();
        self.scan(*scan, &listed)
    }

    fn put_ending(&mut self, ending: &Closing<'_>) -> Result<(), Refusal> {
        let Closing { outcome, level, times, note } = *ending;
        self.outcome(outcome.outcome());
        if let Ended::Aborted { by: _, refused: Some(Refused { error, statement }) } = outcome {
            self.refused(error, statement);
        }
        if let Some(level) = level {
            self.level(level);
        }
        self.times(times)?;
        self.note_transaction(note);
        Ok(())
    }

    fn put_seal(&mut self, deletions: &[(Name<'_>, Name<'_>)]) -> Result<(), Refusal> {
        self.seal(deletions);
        Ok(())
    }
}

/// The value of a content. A list without elements is one that nobody appended to: absent.
fn taken_in(values: &mut Values, content: &Content<'_>) -> Value {
    match content {
        Content::Absent | Content::Integers([]) => Value::ABSENT,
        Content::Integer(number) => values.integer(*number),
        Content::Boolean(truth) => values.boolean(*truth),
        Content::Text(text) => values.text(text),
        Content::Integers(elements) => {
            let elements: Vec<Value> = elements.iter().map(|&element| values.integer(element)).collect();
            values.list(elements)
        }
        Content::Pooled(pool, value) => copied(values, pool, *value),
    }
}

fn copied(values: &mut Values, pool: &Values, value: Value) -> Value {
    match pool.view(value) {
        ValueView::Absent | ValueView::List([]) => Value::ABSENT,
        ValueView::Found => Value::FOUND,
        ValueView::Integer(number) => values.integer(number),
        ValueView::Real(number) => values.real(number),
        ValueView::Text(text) => values.text(text),
        ValueView::Boolean(truth) => values.boolean(truth),
        ValueView::List(elements) => {
            let elements: Vec<Value> = elements.iter().map(|&element| copied(values, pool, element)).collect();
            values.list(elements)
        }
    }
}
