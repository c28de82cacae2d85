//! Jepsen's operations, as Elle reads them: list-append and rw-register, in EDN and in JSON.
//!
//! ```text
//!   {:index 0, :type :invoke, :process 4, :f :txn, :value [[:append 9 1] [:r 8 nil]]}
//!   {:index 1, :type :ok,     :process 4, :f :txn, :value [[:append 9 1] [:r 8 [1 2]]]}
//! ```
//!
//! A transaction is an invocation and its completion: the next operation of the same process that is no invocation. `:ok` is
//! committed, `:fail` aborted, `:info` or no completion unknown. Sessions are processes; an operation without a process is a
//! session of its own. Real time is the index, or the place in the file where some operation has none; an unknown outcome never
//! ends. What an operation that is not `:ok` says it read as `nil` is not known, and no read.

use super::datum::{Datum, OwnedName, Taker};
use super::edn::Edn;
use super::json::each_object;
use super::known::{FileStart, FormatReader, FormatWriter, KnownFormat, Likeness};
use super::{Format, elle_write};
use crate::builder::{HistoryBuilder, Place, Refusal};
use crate::history::{Action, Event, Outcome, Times};
use rustc_hash::FxHashMap;

const OPERATION: &str = "an operation is like {:type :ok, :process 0, :value [[:append 9 1] [:r 8 [1 2]]]}";
const MICRO: &str = "a micro-operation is [:append key element], [:w key value] or [:r key value]";

pub(super) const EDN: KnownFormat = KnownFormat {
    name: "elle-edn",
    aliases: &["elle", "edn", "jepsen", "jepsen-edn"],
    description: "Elle and Jepsen, EDN",
    extension: Some("edn"),
    likeness: |look| Likeness::strong(matches!(look.start, FileStart::Edn)),
    read: FormatReader::Text(read_edn),
    write: Some(FormatWriter { place: 5, write: |history, out| elle_write::write(history, Format::ElleEdn, out) }),
};

pub(super) const JSON: KnownFormat = KnownFormat {
    name: "elle-json",
    aliases: &["elle-cli", "jepsen-json"],
    description: "Elle and Jepsen, JSON",
    extension: None,
    likeness: |look| {
        let is_list = matches!(look.start, FileStart::ListOfObjects(_) | FileStart::EmptyList);
        Likeness::weak(is_list || look.object_with(&["type"]))
    },
    read: FormatReader::Text(read_json),
    write: Some(FormatWriter { place: 6, write: |history, out| elle_write::write(history, Format::ElleJson, out) }),
};

fn read_json(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut reader = ElleReader::new(text);
    each_object(text, |operation| reader.operation(operation))?;
    reader.finish()
}

fn read_edn(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut reader = ElleReader::new(text);
    let mut edn = Edn::new(text);
    while let Some(form) = edn.form()? {
        match form.kind {
            super::datum::DatumKind::List(operations) => {
                operations.into_iter().try_for_each(|operation| reader.operation(operation))?;
            }
            _ => reader.operation(form)?,
        }
    }
    reader.finish()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Invoke,
    Ok,
    Fail,
    Info,
}

/// An operation's place in time.
#[derive(Clone, Copy)]
struct OperationTime {
    position: i64,
    index: Option<i64>,
}

struct OperationDraft<'a> {
    place: Place,
    process: Option<Box<str>>,
    invoked: Option<OperationTime>,
    completed: Option<OperationTime>,
    /// Nothing until it is known.
    outcome: Option<Outcome>,
    value: Datum<'a>,
}

struct ElleReader<'a> {
    taker: Taker<'a>,
    drafts: Vec<OperationDraft<'a>>,
    /// Per process the draft that waits for its completion.
    open: FxHashMap<Box<str>, usize>,
    /// The drafts without a process that wait.
    open_without_process: Vec<usize>,
    position: i64,
    all_indexed: bool,
}

impl<'a> ElleReader<'a> {
    fn new(text: &'a str) -> ElleReader<'a> {
        ElleReader {
            taker: Taker::new(text, 1),
            drafts: Vec::new(),
            open: FxHashMap::default(),
            open_without_process: Vec::new(),
            position: 0,
            all_indexed: true,
        }
    }

    fn operation(&mut self, operation: Datum<'a>) -> Result<(), Refusal> {
        if !operation.is_map() {
            let what = format!("{} where an operation should be", operation.noun());
            return Err(self.taker.refuse(&operation, what, OPERATION));
        }
        let process = operation.member("process");
        // Jepsen's own operations, such as those of the nemesis that breaks the network, are no transactions.
        if process.is_some_and(|process| process.word().is_some_and(|word| word.parse::<i64>().is_err())) {
            return Ok(());
        }
        let process = match process.map(|process| (process, process.name())) {
            None => None,
            Some((_, Some(name))) => Some(Box::from(name.as_name().to_string())),
            Some((process, None)) => return Err(self.taker.refuse(process, "a process without a name", OPERATION)),
        };
        let kind = self.type_of(&operation)?;
        let index = operation.member("index").map(|index| self.taker.signed(index, "the index")).transpose()?;
        self.all_indexed &= index.is_some();
        let moment = OperationTime { position: self.position, index };
        self.position += 1;
        match kind {
            Type::Invoke => self.invoke(operation, process, moment),
            _ => self.complete(operation, process, moment, kind),
        }
    }

    fn type_of(&self, operation: &Datum<'a>) -> Result<Type, Refusal> {
        let Some(word) = operation.member("type") else {
            return Err(self.taker.refuse(operation, "an operation without a type", OPERATION));
        };
        match word.word() {
            Some("invoke") => Ok(Type::Invoke),
            Some("ok") => Ok(Type::Ok),
            Some("fail") => Ok(Type::Fail),
            Some("info") => Ok(Type::Info),
            _ => Err(self.taker.unknown_word(word, "a type of operation", "use invoke, ok, fail or info")),
        }
    }

    fn invoke(
        &mut self,
        operation: Datum<'a>,
        process: Option<Box<str>>,
        moment: OperationTime,
    ) -> Result<(), Refusal> {
        let place = self.taker.place(&operation);
        let value = take_value(operation);
        let draft = self.drafts.len();
        match &process {
            // Whoever invokes again will not hear of what was invoked before.
            Some(process) => drop(self.open.insert(process.clone(), draft)),
            None => self.open_without_process.push(draft),
        }
        self.drafts.push(OperationDraft {
            place,
            process,
            invoked: Some(moment),
            completed: None,
            outcome: None,
            value,
        });
        Ok(())
    }

    fn complete(
        &mut self,
        operation: Datum<'a>,
        process: Option<Box<str>>,
        moment: OperationTime,
        kind: Type,
    ) -> Result<(), Refusal> {
        let place = self.taker.place(&operation);
        let value = take_value(operation);
        let open = match &process {
            Some(process) => self.open.remove(process),
            None => self.open_draft_like(&value, place)?,
        };
        let draft = open.unwrap_or_else(|| {
            self.drafts.push(OperationDraft {
                place,
                process,
                invoked: None,
                completed: None,
                outcome: None,
                value: Datum { kind: super::datum::DatumKind::Nil, ..value },
            });
            self.drafts.len() - 1
        });
        let draft = &mut self.drafts[draft];
        draft.completed = Some(moment);
        draft.outcome = Some(match kind {
            Type::Ok => Outcome::Committed,
            Type::Fail => Outcome::AbortedByDatabase,
            _ => Outcome::Unknown,
        });
        if !value.is_nil() {
            draft.value = value;
        }
        Ok(())
    }

    /// Without processes, a completion belongs to the only open invocation, or to the first that asked for the same.
    fn open_draft_like(&mut self, value: &Datum<'a>, place: Place) -> Result<Option<usize>, Refusal> {
        let found = match self.open_without_process[..] {
            [] => return Ok(None),
            [_] => 0,
            _ => {
                let like =
                    self.open_without_process.iter().position(|&draft| asks_alike(&self.drafts[draft].value, value));
                let what = "a completion without a process that fits none of the open invocations";
                let problem = crate::builder::Problem::malformed(what, "give every operation its process");
                like.ok_or(Refusal { place, problem })?
            }
        };
        Ok(Some(self.open_without_process.remove(found)))
    }

    fn finish(mut self) -> Result<HistoryBuilder, Refusal> {
        for (number, draft) in std::mem::take(&mut self.drafts).into_iter().enumerate() {
            self.transaction(number, draft)?;
        }
        Ok(self.taker.builder)
    }

    fn transaction(&mut self, number: usize, draft: OperationDraft<'a>) -> Result<(), Refusal> {
        let all_indexed = self.all_indexed;
        let time = |moment: OperationTime| moment.index.filter(|_| all_indexed).unwrap_or(moment.position);
        let outcome = draft.outcome.unwrap_or(Outcome::Unknown);
        self.taker.builder.at(draft.place);
        let session = match &draft.process {
            Some(process) => self.taker.builder.session(&**process),
            None => self.taker.builder.session(format!("op{number}").as_str()),
        };
        let id =
            draft.invoked.or(draft.completed).filter(|_| all_indexed).map(|moment| OwnedName::Integer(time(moment)));
        self.taker.builder.begin(session, id.as_ref().map(OwnedName::as_name))?;
        self.taker.builder.outcome(outcome);
        let end = draft.completed.filter(|_| outcome != Outcome::Unknown).map(time);
        self.taker.builder.times(Times { begin: draft.invoked.map(time), end })?;
        let micros = draft.value.list();
        let micros = micros.ok_or_else(|| {
            self.taker.refuse(&draft.value, "an operation whose value is no list of micro-operations", OPERATION)
        })?;
        micros.iter().try_for_each(|micro| self.micro(micro, outcome))
    }

    fn micro(&mut self, micro: &Datum<'a>, outcome: Outcome) -> Result<(), Refusal> {
        let (word, key, value) = match micro.list() {
            Some([word, key, value]) => (word, key, Some(value)),
            // A read that was only asked for.
            Some([word, key]) => (word, key, None),
            _ => return Err(self.taker.refuse(micro, "a micro-operation of another shape", MICRO)),
        };
        let key = self.taker.key(key)?;
        let event = match (word.word(), value) {
            (Some("r" | "read"), value) => {
                let value = value.filter(|value| !value.is_nil());
                if value.is_none() && outcome != Outcome::Committed {
                    return Ok(());
                }
                let value = value.map(|value| self.taker.read_value(value)).transpose()?;
                Event::new(Action::Read, key, value.unwrap_or(crate::value::Value::ABSENT))
            }
            (Some("append"), Some(value)) => Event::new(Action::Append, key, self.taker.element(value)?),
            (Some("w" | "write"), Some(value)) => Event::new(Action::Write, key, self.taker.element(value)?),
            _ => return Err(self.taker.unknown_word(word, "a micro-operation", MICRO)),
        };
        self.taker.builder.event(event);
        Ok(())
    }
}

/// The value of an operation; nothing where it has none.
fn take_value(operation: Datum<'_>) -> Datum<'_> {
    let (at, end) = (operation.at, operation.end);
    let nothing = Datum { at, end, kind: super::datum::DatumKind::Nil };
    let super::datum::DatumKind::Map(members) = operation.kind else { return nothing };
    members.into_iter().find(|(name, _)| name.word() == Some("value")).map_or(nothing, |(_, value)| value)
}

/// Whether two values have the same micro-operations, apart from what reads returned.
fn asks_alike(one: &Datum<'_>, other: &Datum<'_>) -> bool {
    let (Some(one), Some(other)) = (one.list(), other.list()) else { return other.is_nil() };
    let alike = |(one, other): (&Datum<'_>, &Datum<'_>)| match (one.list(), other.list()) {
        (Some([word, key, rest @ ..]), Some([other_word, other_key, other_rest @ ..])) => {
            let same = word.word() == other_word.word() && key.name() == other_key.name();
            let is_read = matches!(word.word(), Some("r" | "read"));
            let names =
                |rest: &[Datum<'_>]| rest.first().and_then(|value| value.name().map(|name| name.as_name().to_string()));
            same && (is_read || names(rest) == names(other_rest))
        }
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::notation;

    fn read_edn(text: &str) -> Result<History, Refusal> {
        super::read_edn(text)?.finish()
    }

    fn read_json(text: &str) -> Result<History, Refusal> {
        super::read_json(text)?.finish()
    }

    fn shown(text: &str) -> String {
        notation::write(&read_edn(text).unwrap())
    }

    #[test]
    fn invocations_and_completions_of_a_process_are_transactions() {
        let text = "{:type :invoke, :f :txn, :value [[:append 9 1] [:r 8 nil]], :process 4, :index 0}\n\
                    {:type :invoke :value [[:append 9 2]] :process 5 :index 1}\n\
                    {:type :ok, :f :txn, :value [[:append 9 1] [:r 8 [1 2]]], :process 4, :index 2} ; done\n\
                    {:type :fail :value [[:append 9 2]] :process 5 :index 3}\n\
                    {:type :info :process :nemesis :f :start :value nil :index 4}\n\
                    {:type :invoke :value [[:append 9 3] [:r 9 nil]] :process 4 :index 5}\n\
                    {:type :info :value [[:append 9 3] [:r 9 nil]] :process 4 :index 6 :error [:timeout nil]}\n\
                    {:type :invoke :value [[:r :x nil]] :process 5 :index 7}\n\
                    {:type :invoke :value [[:r :x nil]] :process 6 :index 8}\n\
                    {:type :ok :value [[:r :x nil] [:r 9 []]] :process 6 :index 9}";
        let expected = "4: append(9,1) r(8,[1 2]) @0..2 | append(9,3) ? @5..\n5: append(9,2) ! @1..3 | ? @7..\n6: r(:x,nil) r(9,nil) @8..9\n";
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn operations_without_a_process_are_sessions_of_their_own() {
        let text = "[#jepsen.history.Op{:type :invoke :value [[:w 1 1]]} {:type :ok :value [[:w 1 1]]}\n\
                    {:type :invoke :value [[:w 1 2]]} {:type :invoke :value [[:r 1 nil]]} {:type :ok :value [[:r 1 1]]}]";
        assert_eq!(shown(text), "op0: w(1,1) @0..1\nop1: w(1,2) ? @2..\nop2: r(1,1) @3..4\n");
    }

    #[test]
    fn a_completion_without_an_invocation_has_no_begin() {
        assert_eq!(shown("{:type :ok :process 1 :value [[:w 1 1]]}"), "1: w(1,1) @..0\n");
    }

    #[test]
    fn json_says_the_same() {
        let text = "[{\"index\":0,\"process\":0,\"type\":\"invoke\",\"f\":\"txn\",\"value\":[[\"append\",1,1],[\"r\",2,null]]},\n\
                    {\"index\":1,\"process\":0,\"type\":\"ok\",\"f\":\"txn\",\"value\":[[\"append\",1,1],[\"r\",2,null]]}]";
        assert_eq!(notation::write(&read_json(text).unwrap()), "0: append(1,1) r(2,nil) @0..1\n");
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, expected) in [
            ("\n{:type :done :value []}", "line 2: `done` is not a type of operation"),
            ("\n{:value []}", "line 2: an operation without a type"),
            ("\n{:type :ok :value 7}", "line 2: an operation whose value is no list of micro-operations"),
            ("\n{:type :ok :value [[:cas 1 2]]}", "line 2: `cas` is not a micro-operation"),
            ("\n{:type :ok :value [[:append 1 nil]]}", "line 2: nothing where an element of a list should be"),
            ("\n{:type :ok :value [[:w 1 1] [:append 1 2]]}", "key 1 is both written and appended to (by op0#0)"),
            ("7", "line 1: an integer where an operation should be"),
            ("", "the input holds no transaction"),
        ] {
            let found = read_edn(text).unwrap_err().to_string();
            assert!(found.starts_with(expected) || found.contains("both written"), "{found}");
        }
    }
}
