//! Reads of which only presence or absence is known: whom they mean, and whether that can be.
//!
//! ```text
//!   a:  w(x,nil) w(x,7)              deletes the row and inserts its key anew
//!   b:  r(x,nil) gone by a           waited for a's lock, and the row that it waited for is no more
//! ```
//!
//! Such a read saw neither what was there before `a` nor what `a` left: so its value says nothing, and `a` has to be named. An `a` that
//! did not do both is a mistake of the input. So is a list that was only found: whoever reads a list reads its elements.

use super::finish::{Finish, Laid};
use super::{PendingClaim, Place, Problem, Refusal};
use crate::history::{Action, Event, EventId, KeyId, TransactionId};

impl Finish {
    /// The transactions that are meant.
    pub(super) fn deletions_that_hid(&self, laid: &Laid) -> Result<Vec<(EventId, TransactionId)>, Refusal> {
        let meant =
            laid.gone.iter().map(|&(event, by, place)| Ok((event, self.deletion_that_hid(laid, event, by, place)?)));
        meant.collect()
    }

    /// A read that only found something is of a key that holds one value at a time.
    pub(super) fn refuse_found_lists(&self, laid: &Laid) -> Result<(), Refusal> {
        let keys = (0..self.builder.keys.len() as u32).map(KeyId);
        let mut lists: Vec<bool> = keys.map(|key| self.builder.given_initial(key).is_list()).collect();
        for event in &laid.events {
            lists[event.key.index()] |= event.action == Action::Append || event.value.is_list();
        }
        let is_list = |event: &&Event| lists[event.key.index()];
        let Some(read) = laid.events.iter().filter(|event| event.value.is_found()).find(is_list) else { return Ok(()) };
        let what = format!("a read of {} found something, and the key is a list", self.builder.key_name(read.key));
        let problem = Problem::malformed(what, "say which elements the read returned, as in \"v\":[1,2]");
        Err(Refusal { place: Place::Whole, problem })
    }

    fn deletion_that_hid(
        &self,
        laid: &Laid,
        read: EventId,
        by: PendingClaim,
        place: Place,
    ) -> Result<TransactionId, Refusal> {
        let key = laid.events[read.index()].key;
        let PendingClaim::Named(id) = by else { unreachable!("the initial state deletes nothing") };
        let refuse = |why: &str, advice| {
            let (key, id) = (self.builder.key_name(key), self.builder.ids.get(id as usize));
            let problem =
                Problem::malformed(format!("the row {key} is said to be gone by transaction {id}, {why}"), advice);
            Refusal { place, problem }
        };
        let Some(transaction) = self.transaction(id) else {
            return Err(refuse("which is not in the input", "add the missing transaction, or drop `gone`"));
        };
        let (from, to) = laid.events_of(transaction);
        if (from..to).contains(&read.index()) {
            return Err(refuse("which is the reader itself", "name the transaction that the read waited for"));
        }
        if !replaces_what_it_deletes(&laid.events[from..to], key) {
            let advice = "`gone` names a transaction that writes null to the key and then something else";
            return Err(refuse("which does not delete it and insert it anew", advice));
        }
        Ok(transaction)
    }
}

impl Laid {
    fn events_of(&self, transaction: TransactionId) -> (usize, usize) {
        let start = |transaction: usize| self.transactions.get(transaction).map(|entry| entry.first_event as usize);
        let at = transaction.index();
        (start(at).unwrap_or_default(), start(at + 1).unwrap_or(self.events.len()))
    }
}

fn replaces_what_it_deletes(events: &[Event], key: KeyId) -> bool {
    let mut writes = events.iter().filter(|event| event.key == key && !event.is_read());
    writes.any(|event| event.value.is_absent()) && writes.any(|event| !event.value.is_absent())
}

#[cfg(test)]
mod tests {
    use super::super::HistoryBuilder;
    use super::*;
    use crate::history::History;
    use crate::statement::{Asked, StatementKind};
    use crate::value::Value;

    /// `t1` writes these values; `t2` reads nothing because of somebody.
    fn gone_by(written: &[Value], by: &str) -> Result<History, Refusal> {
        let mut builder = HistoryBuilder::new();
        let (reader, writer, key) = (builder.session("b"), builder.session("a"), builder.key("x"));
        builder.begin(writer, Some("t1".into()))?;
        written.iter().for_each(|&value| builder.write(key, value));
        builder.begin(reader, Some("t2".into()))?;
        builder.read(key, Value::ABSENT);
        builder.asked(Asked { statement: 1, kind: StatementKind::Update, waited: true, ..Asked::default() })?;
        builder.gone(by.into())?;
        builder.finish()
    }

    #[test]
    fn a_read_is_gone_by_who_deletes_the_row_and_inserts_its_key() {
        let seven = Value::small_integer(7).unwrap();
        // The session of the reader comes first, so everything moves.
        let history = gone_by(&[Value::ABSENT, seven], "t1").unwrap();
        let (read, write) = (EventId(0), EventId(1));
        assert_eq!((history.gone(read), history.gone(write)), (Some(TransactionId(1)), None));
        assert_eq!((history.asked(read).kind, history.asked(write)), (StatementKind::Update, Asked::default()));
        for (written, by, why) in [
            (&[Value::ABSENT, seven][..], "t3", "is not in the input"),
            (&[Value::ABSENT, seven], "t2", "is the reader itself"),
            (&[seven, Value::ABSENT], "t1", "does not delete it and insert it anew"),
            (&[seven, seven], "t1", "does not delete it and insert it anew"),
            (&[], "t1", "does not delete it and insert it anew"),
        ] {
            let refusal = gone_by(written, by).unwrap_err();
            assert!(refusal.to_string().ends_with(why), "{refusal}");
        }
    }

    #[test]
    fn a_read_stays_gone_where_sessions_alternate_and_nothing_else_is_said() {
        let text = "a: w(x,nil) w(x,7)\nb: r(x,gone)<-a#0\na: w(y,1)\nb: r(y,1)";
        let history = crate::notation::parse(text).unwrap();
        assert_eq!(history.all_gone(), [(EventId(3), TransactionId(0))]);
    }

    #[test]
    fn a_list_is_not_found_without_its_elements() {
        let parse = crate::notation::parse;
        for text in ["a: append(x,1) | r(x,found)", "init(x,[1 2])\na: w(x,1) | r(x,found)", "a: r(x,[1]) | r(x,found)"]
        {
            let refusal = parse(text).unwrap_err().to_string();
            assert_eq!(refusal, "a read of x found something, and the key is a list");
        }
    }

    #[test]
    fn gone_stands_at_a_read_of_nothing() {
        let mut builder = HistoryBuilder::new();
        let (session, key) = (builder.session("a"), builder.key("x"));
        builder.begin(session, None).unwrap();
        builder.write(key, Value::ABSENT);
        assert!(builder.gone("t1".into()).is_err());
        builder.read(key, Value::small_integer(1).unwrap());
        assert!(builder.gone("t1".into()).is_err());
    }

    #[test]
    fn statements_do_not_go_back_and_what_is_found_has_no_other_value() {
        let mut builder = HistoryBuilder::new();
        let (session, key) = (builder.session("a"), builder.key("x"));
        let asked = |statement, found| Asked { statement, found, ..Asked::default() };
        builder.engine("postgres 15.20");
        builder.begin(session, None).unwrap();
        builder.read(key, Value::ABSENT);
        builder.read(key, Value::ABSENT);
        builder.asked(asked(2, true)).unwrap();
        builder.read(key, Value::ABSENT);
        assert!(builder.asked(asked(1, false)).is_err());
        builder.begin(session, None).unwrap();
        builder.read(key, Value::ABSENT);
        builder.asked(asked(1, false)).unwrap();
        builder.refused("40001", 2);
        let history = builder.finish().unwrap();
        assert_eq!(history.engine(), Some("postgres 15.20"));
        let statements: Vec<u32> = (0..4).map(|event| history.asked(EventId(event)).statement).collect();
        assert_eq!(statements, [0, 2, 0, 1]);
        assert!(history.event(EventId(1)).value.is_found() && history.features().found_reads);
        let refused = history.refusal(TransactionId(1)).unwrap();
        assert_eq!((refused.error, refused.statement, history.refusal(TransactionId(0))), ("40001", 2, None));
    }
}
