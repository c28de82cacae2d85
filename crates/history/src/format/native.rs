//! The native format: JSON Lines, a transaction per line.
//!
//! ```text
//!   {"skew":1,"initial":{"x":0},"about":"optional header line"}
//!   {"session":"a","id":"t1","ops":[{"r":"x","v":0},{"w":"x","v":1}]}
//!   {"sealed":{"item/3":"t7"}}
//! ```
//!
//! Nearly all lines have the same few members, so each is first tried by a scanner of fixed shape
//! ([`super::native_scanner`]), which gives up at the first surprise; then the line goes through general JSON
//! ([`super::native_line`]), which accepts the rest or says what is wrong. Both must agree on what both accept, and a test
//! holds them to it.

use super::json::Json;
use super::known::{FileStart, FormatReader, FormatWriter, KnownFormat, Likeness, Look, has_any};
use super::native_line::LineReader;
use super::native_scanner::Scanner;
use super::native_write;
use crate::builder::{HistoryBuilder, Place, Refusal};

/// So many lines tell how many events the others will have.
const SAMPLE: u64 = 1000;

/// The most bytes of one transaction.
const LONGEST_LINE: usize = 1 << 28;

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "native",
    aliases: &["skew", "jsonl"],
    description: "JSON Lines, a transaction per line",
    extension: None,
    likeness,
    read: FormatReader::Text(read),
    write: Some(FormatWriter { place: 0, write: native_write::write }),
};

fn likeness(look: &Look<'_>) -> Likeness {
    // TimeKiller has `ops`, too.
    let is_ours = |names: &[&str]| {
        has_any(names, &["skew", "session", "sealed"]) || has_any(names, &["ops"]) && !has_any(names, &["sts"])
    };
    Likeness::strong(matches!(&look.start, FileStart::Object(names) if is_ours(names)))
}

pub(super) fn read(text: &str) -> Result<HistoryBuilder, Refusal> {
    super::text::refuse_long_line(text, LONGEST_LINE)?;
    let mut builder = HistoryBuilder::new();
    let mut scanner = Scanner::new(text);
    let mut line = 0;
    let mut lines_with_content = 0u64;
    while !scanner.at_end() {
        if line == SAMPLE {
            builder.expect_more(scanner.position(), text.len());
        }
        line += 1;
        builder.at(Place::Line(line));
        if scanner.line(&mut builder)? {
            lines_with_content += 1;
            continue;
        }
        let content = scanner.take_line();
        if !content.trim_ascii().is_empty() {
            builder = read_line(builder, content, line, lines_with_content == 0)?;
            lines_with_content += 1;
        }
    }
    Ok(builder)
}

/// Reads a line of any shape.
fn read_line(builder: HistoryBuilder, content: &str, line: u64, first: bool) -> Result<HistoryBuilder, Refusal> {
    let mut json = Json::new(content, line);
    let datum = json.value()?;
    json.end()?;
    LineReader::new(builder, content, line).line(&datum, first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::history::{EventId, Outcome, SessionId, TransactionId, Writer};
    use crate::notation;

    fn read(text: &str) -> Result<History, Refusal> {
        super::read(text)?.finish()
    }

    fn shown(text: &str) -> String {
        notation::write(&read(text).unwrap())
    }

    fn mistake(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    /// Only general JSON reads this.
    fn slowly(text: &str) -> Result<History, Refusal> {
        let mut builder = HistoryBuilder::new();
        for (number, line) in (1..).zip(text.lines()) {
            builder.at(Place::Line(number));
            builder = read_line(builder, line, number, number == 1)?;
        }
        builder.finish()
    }

    #[test]
    fn the_example_of_the_book_reads() {
        let text = concat!(
            "{\"skew\":1,\"initial\":{\"x\":0},\"about\":\"two withdrawals\"}\n",
            "{\"session\":\"a\",\"id\":\"t1\",\"ops\":[{\"r\":\"x\",\"v\":0},{\"w\":\"x\",\"v\":1}]}\r\n\n",
            "{\"session\":\"b\",\"id\":\"t2\",\"ops\":[{\"r\":\"x\",\"v\":0},{\"w\":\"x\",\"v\":2}],",
            "\"outcome\":\"committed\",\"level\":\"si\",\"begin\":17,\"end\":42}",
        );
        let history = read(text).unwrap();
        assert_eq!(notation::write(&history), "a: r(x,0) w(x,1)\nb: r(x,0) w(x,2) @snapshot @17..42\n");
        assert_eq!(history.about(), Some("two withdrawals"));
        assert_eq!(history.transaction_name(TransactionId(1)).to_string(), "t2");
        assert_eq!(history.show(history.initial(history.find_key("x").unwrap())).to_string(), "0");
    }

    #[test]
    fn ids_are_optional_and_names_may_be_integers() {
        let history = read("{\"session\":1,\"ops\":[]}\n{\"session\":\"1\",\"id\":7,\"ops\":[]}").unwrap();
        assert_eq!(history.session_count(), 1);
        assert_eq!(history.transaction_name(TransactionId(0)).to_string(), "1#0");
        assert_eq!(history.transaction_name(TransactionId(1)).to_string(), "7");
    }

    #[test]
    fn outcomes_say_who_aborted() {
        let text = concat!(
            "{\"session\":1,\"ops\":[],\"outcome\":\"aborted\"}\n{\"session\":1,\"ops\":[],\"outcome\":\"aborted\",\"by\":\"program\"}\n",
            "{\"session\":1,\"ops\":[],\"by\":\"database\",\"outcome\":\"aborted\"}\n{\"session\":1,\"ops\":[],\"outcome\":\"unknown\"}",
        );
        let history = read(text).unwrap();
        let outcomes: Vec<Outcome> = history.transactions().map(|t| history.outcome(t)).collect();
        use Outcome::*;
        assert_eq!(outcomes, [AbortedByDatabase, AbortedByProgram, AbortedByDatabase, Unknown]);
    }

    #[test]
    fn reads_may_name_their_writer() {
        let text = concat!(
            "{\"session\":1,\"ops\":[{\"r\":\"x\",\"v\":1,\"from\":\"t2\"},{\"r\":\"x\",\"v\":null,\"from\":null},{\"r\":\"x\",\"v\":1,\"from\":\"2#0\"}]}\n",
            "{\"session\":2,\"ops\":[{\"w\":\"x\",\"v\":1}]}\n{\"session\":3,\"id\":\"t2\",\"ops\":[{\"w\":\"x\",\"v\":1}]}",
        );
        let history = read(text).unwrap();
        assert_eq!(history.claim(EventId(0)), Some(Writer::Transaction(TransactionId(2))));
        assert_eq!(history.claim(EventId(1)), Some(Writer::Initial));
        assert_eq!(history.claim(EventId(2)), Some(Writer::Transaction(TransactionId(1))));
        let unknown = mistake("{\"session\":1,\"ops\":[{\"r\":\"x\",\"v\":1,\"from\":\"t9\"}]}");
        assert_eq!(unknown, "line 1: a read of x is said to come from transaction t9, which is not in the input");
    }

    #[test]
    fn values_are_scalars_and_reads_may_be_lists() {
        let text = concat!(
            "{\"session\":1,\"ops\":[{\"w\":\"x\",\"v\":\"é\\n\"},{\"w\":\"y\",\"v\":true},{\"w\":\"z\",\"v\":2.5},{\"w\":\"x\",\"v\":null}]}\n",
            "{\"session\":2,\"ops\":[{\"a\":\"l\",\"v\":1},{\"r\":\"l\",\"v\":[1,\"b\"]},{\"r\":\"l\",\"v\":[]},{\"r\":\"q\",\"v\":18446744073709551615}]}",
        );
        let expected = concat!(
            "1: w(x,\"é\\n\") w(y,true) w(z,2.5) w(x,nil)\n",
            "2: append(l,1) r(l,[1 \"b\"]) r(l,nil) r(q,18446744073709551615)\n",
        );
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn extra_fields_are_kept_and_null_is_as_if_left_out() {
        let text = concat!(
            "{\"session\":1,\"id\":null,\"level\":null,\"begin\":null,\"outcome\":null,\"host\":\"h\",\"pid\":[1, 2],",
            "\"ops\":[{\"r\":\"x\",\"v\":1,\"sql\":\"SELECT \\\"1\\\"\",\"at\":5}]}",
        );
        let history = read(text).unwrap();
        assert_eq!(history.transaction_note(TransactionId(0)), Some("\"host\":\"h\",\"pid\":[1, 2]"));
        assert_eq!(history.event_note(EventId(0)), Some("\"sql\":\"SELECT \\\"1\\\"\",\"at\":5"));
        assert!(!history.has_times());
    }

    #[test]
    fn scans_read_their_whole_range_and_seals_say_who_deleted() {
        let text = concat!(
            "{\"session\":1,\"id\":\"t1\",\"ops\":[{\"w\":\"i/1\",\"v\":1},{\"w\":\"i/2\",\"v\":2},{\"w\":\"i/30\",\"v\":3},{\"w\":\"i/1#c\",\"v\":3}]}\n",
            "{\"session\":1,\"id\":\"t2\",\"ops\":[{\"w\":\"i/1\",\"v\":null}]}\n{\"sealed\":{\"i/1\":\"t2\"}}\n",
            "{\"session\":2,\"ops\":[{\"scan\":\"i/\",\"lo\":1,\"hi\":9,\"reads\":[{\"k\":\"i/2\",\"v\":2,\"from\":\"t1\"}],\"lock\":true,\"sql\":\"x\"}]}\n",
            "{\"session\":3,\"ops\":[{\"scan\":\"i/\",\"sealed\":0,\"reads\":[{\"k\":\"i/30\",\"v\":3}]},{\"r\":\"y\",\"v\":null,\"lock\":true}]}",
        );
        let history = read(text).unwrap();
        let lines: Vec<String> = notation::write(&history).lines().map(str::to_owned).collect();
        assert_eq!(lines[1], "2: lock r(i/1,nil) lock r(i/2,2)");
        assert_eq!(lines[2], "3: r(i/1,nil) r(i/2,nil) r(i/30,3) lock r(y,nil)");
        assert_eq!(history.claim(EventId(5)), Some(Writer::Transaction(TransactionId(1))));
        assert_eq!(history.claim(EventId(7)), None);
        assert_eq!(history.event_note(EventId(5)), Some("\"sql\":\"x\""));
    }

    #[test]
    fn statements_say_what_they_asked_for() {
        let text = concat!(
            "{\"skew\":1,\"engine\":\"postgres 15.20\",\"initial\":{\"kv/7\":3}}\n",
            "{\"session\":\"a\",\"id\":\"t1\",\"ops\":[{\"w\":\"kv/5\",\"v\":1},{\"w\":\"kv/7\",\"v\":null},{\"w\":\"kv/7\",\"v\":4}]}\n",
            "{\"session\":\"b\",\"id\":\"t2\",\"level\":\"postgres:read-committed\",\"ops\":[{\"r\":\"kv/5\",\"v\":null,\"from\":null,\"s\":1,\"kind\":\"update\"},",
            "{\"r\":\"kv/5\",\"found\":true,\"from\":\"t1\",\"s\":2,\"kind\":\"insert\"},{\"r\":\"kv/7\",\"v\":null,\"gone\":\"t1\",\"s\":3,\"kind\":\"update\"},",
            "{\"scan\":\"kv/\",\"reads\":[{\"k\":\"kv/7\",\"v\":4}],\"s\":4,\"kind\":\"for-share\"}],\"outcome\":\"aborted\",\"by\":\"database\",\"error\":40001,\"s\":5}",
        );
        let expected = "b: r(kv/5,init)@1:update r(kv/5,found)@2:insert r(kv/7,gone)@3:update<-a#0 \
                        r(kv/5,nil)@4:for-share r(kv/7,4)@4:for-share !40001@5 @postgres:read-committed";
        let history = read(text).unwrap();
        assert_eq!(notation::write(&history).lines().nth(1), Some(expected));
        let levels =
            notation::parse("a: w(x,1) @pg:rc | r(x,1)@1:update @mysql:repeatable-read").map(|it| notation::write(&it));
        assert_eq!(
            levels.unwrap().trim_end(),
            "a: w(x,1) @postgres:read-committed | r(x,1)@1:update @mysql:repeatable-read"
        );
        assert_eq!(history.claim(EventId(4)), Some(Writer::Transaction(TransactionId(0))));
        assert_eq!(history.engine(), Some("postgres 15.20"));
        assert_eq!(history.transaction_note(TransactionId(1)), None);
    }

    #[test]
    fn what_a_statement_cannot_have_asked_is_refused() {
        let line = |ops: &str| format!("{{\"session\":1,\"id\":\"t\",\"ops\":[{ops}]}}");
        for (ops, expected) in [
            ("{\"r\":\"x\",\"v\":1,\"s\":0}", "`s` is 0, which is not the number of a statement"),
            ("{\"r\":\"x\",\"v\":1,\"s\":-1}", "`s` is -1, which"),
            ("{\"r\":\"x\",\"v\":1,\"s\":\"2\"}", "`s` is \\\"2\\\", which"),
            ("{\"r\":\"x\",\"v\":1,\"s\":2},{\"r\":\"x\",\"v\":1,\"s\":1}", "statement 1 stands behind statement 2"),
            ("{\"r\":\"x\",\"v\":1,\"s\":2},{\"scan\":\"y\",\"s\":1}", "statement 1 stands behind statement 2"),
            ("{\"r\":\"x\",\"v\":1,\"kind\":\"look\"}", "`look` is not a kind of statement"),
            ("{\"r\":\"x\",\"v\":1,\"found\":true}", "an event with both `found` and `v`"),
            ("{\"r\":\"x\",\"found\":1}", "`found` that is neither true nor false"),
            ("{\"w\":\"x\",\"found\":true}", "`found` on a write"),
            ("{\"w\":\"x\",\"v\":null,\"gone\":\"t\"}", "`gone` on a write"),
            ("{\"r\":\"x\",\"v\":1,\"gone\":\"t\"}", "`gone` beside a value that is not null"),
            ("{\"r\":\"x\",\"found\":true,\"gone\":\"t\"}", "an event with both `gone` and `found`"),
            ("{\"r\":\"x\",\"v\":null,\"from\":null,\"gone\":\"t\"}", "an event with both `gone` and `from`"),
            (
                "{\"r\":\"x\",\"v\":null,\"gone\":\"t9\"}",
                "the row x is said to be gone by transaction t9, which is not in the input",
            ),
            (
                "{\"r\":\"x\",\"v\":null,\"gone\":\"t\"}",
                "the row x is said to be gone by transaction t, which is the reader itself",
            ),
            ("{\"scan\":\"y\",\"passed\":true}", "`passed` on a scan"),
        ] {
            let found = mistake(&line(ops));
            assert!(found.starts_with(&format!("line 1: {expected}")), "{ops}\n  gave {found}\n  not  {expected}");
        }
        let advice = read(&line("{\"r\":\"x\",\"v\":1,\"kind\":\"look\"}")).unwrap_err().problem.advice();
        assert!(advice.ends_with("for-share, for-key-share or fk"), "{advice}");
        for (end, expected) in [
            ("\"error\":\"40001\"", "`error` on a transaction that is not aborted"),
            ("\"outcome\":\"unknown\",\"s\":1", "`s` on a transaction that is not aborted"),
            ("\"outcome\":\"aborted\",\"s\":1", "`s` on a transaction without `error`"),
            ("\"outcome\":\"aborted\",\"error\":\"40001\",\"s\":0", "`s` is 0, which"),
            ("\"outcome\":\"aborted\",\"error\":[]", "a list where a name should be"),
        ] {
            let found = mistake(&format!("{{\"session\":1,\"ops\":[],{end}}}"));
            assert!(found.starts_with(&format!("line 1: {expected}")), "{end}\n  gave {found}\n  not  {expected}");
        }
        assert!(mistake("{\"skew\":1,\"engine\":15}").starts_with("line 1: `engine` that is not a text"));
    }

    #[test]
    fn both_readers_read_the_same() {
        let text = concat!(
            "{\"skew\":1}\n{\"session\":\"a\",\"id\":\"t1\",\"ops\":[{\"r\":\"x\",\"v\":0},{\"w\":\"x\",\"v\":1}]}\n",
            "{ \"ops\" : [ {\"v\":-3 , \"w\":\"7\"} , {\"a\":\"l\",\"v\":\"é\"} ] , \"id\":8,\"session\":-4}\n",
            "{\"session\":\"a\",\"ops\":[{\"r\":\"l\",\"v\":[\"é\",true,1]},{\"r\":9,\"v\":false,\"from\":\"t1\"}],\"outcome\":\"unknown\",\"begin\":-1,\"end\":1700000000000000000,\"level\":\"rc\"}\n",
            "{\"session\":\"a\",\"ops\":[{\"r\":\"x\",\"v\":null,\"from\":null,\"lock\":true},{\"r\":\"l\",\"v\":[]}],\"outcome\":\"aborted\"}",
        );
        let (quick, slow) = (read(text).unwrap(), slowly(text).unwrap());
        assert_eq!(notation::write(&quick), notation::write(&slow));
        assert_eq!(quick.claims(), slow.claims());
        assert_eq!(quick.session_name(SessionId(0)), slow.session_name(SessionId(0)));
        let asked = concat!(
            "{\"session\":\"a\",\"id\":\"t5\",\"ops\":[{\"w\":\"x\",\"v\":null,\"s\":1,\"kind\":\"delete\"},{\"w\":\"x\",\"v\":1,\"s\":2,\"kind\":\"insert\"}]}\n",
            "{\"session\":\"b\",\"ops\":[{\"r\":\"x\",\"found\":true,\"s\":1,\"kind\":\"insert\",\"waited\":true},{\"r\":\"x\",\"v\":null,\"gone\":\"t5\",\"s\":1,\"passed\":true},{\"r\":\"x\",\"v\":1,\"s\":2,\"kind\":\"select\"}]}",
        );
        let text = format!("{text}\n{asked}");
        let (quick, slow) = (read(&text).unwrap(), slowly(&text).unwrap());
        assert_eq!(notation::write(&quick), notation::write(&slow));
        let fast_lines =
            text.lines().skip(1).filter(|line| Scanner::new(line).line(&mut HistoryBuilder::new()) == Ok(true));
        assert_eq!(fast_lines.count(), 6, "the scanner takes the usual lines itself");
    }

    #[test]
    fn bad_lines_name_their_place_and_what_to_do() {
        for (text, expected) in [
            ("{\"session\":1,\"ops\":[]}\n{\"session\":1,\"ops\":[{\"q\":1}]}", "line 2: an event without"),
            ("{\"session\":1,\"ops\":[{\"r\":\"x\"}]}", "line 1: an event without `v`"),
            ("{\"session\":1,\"ops\":[{\"r\":\"x\",\"w\":\"x\",\"v\":1}]}", "line 1: an event that is both"),
            ("{\"ops\":[]}", "line 1: a transaction without `session`"),
            ("{\"session\":1}", "line 1: a transaction without `ops`"),
            ("{\"session\":1,\"ops\":[],\"outcome\":\"done\"}", "line 1: `done` is not an outcome"),
            ("{\"session\":1,\"ops\":[],\"level\":\"best\"}", "line 1: `best` is not an isolation level"),
            ("{\"session\":1,\"ops\":[],\"by\":\"program\"}", "line 1: `by` on a transaction that is not aborted"),
            ("{\"session\":1,\"session\":2,\"ops\":[]}", "line 1: the member \"session\" appears twice"),
            ("{\"session\":1,\"ops\":[{\"w\":\"x\",\"v\":[1]}]}", "line 1: a list where"),
            ("{\"session\":1,\"ops\":[{\"w\":\"x\",\"v\":99999999999999999999}]}", "line 1: the number"),
            ("{\"session\":1,\"ops\":[{\"w\":\"x\",\"v\":1,\"from\":\"t\"}]}", "line 1: `from` on"),
            (
                "{\"session\":1,\"id\":\"t\",\"ops\":[]}\n{\"session\":2,\"id\":\"t\",\"ops\":[]}",
                "line 2: transaction t appears twice, in session 1 and in session 2",
            ),
            (
                "{\"session\":\"a\",\"ops\":[]}\n{\"session\":\"b\",\"id\":\"a#0\",\"ops\":[]}",
                "line 2: transaction a#0 appears twice, in session a and in session b",
            ),
            (
                "{\"session\":7,\"id\":\"7#1\",\"ops\":[]}\n{\"session\":7,\"ops\":[]}",
                "line 1: transaction 7#1 appears twice, in session 7 and in session 7",
            ),
            ("{\"session\":1,\"ops\":[],\"begin\":5,\"end\":3}", "line 1: transaction of session 1 ends at 3"),
            ("{\"session\":1,\"ops\":[]}\n{\"skew\":1}", "line 2: a header"),
            ("{\"skew\":2}", "line 1: the header says version 2"),
            ("[1]", "line 1: a list where"),
            ("{\"session\":1,\"ops\":[{\"r\":\"x\",\"v\":1}", "line 1: a bracket that opens here is never closed"),
            ("{\"session\":1,\"ops\":[{\"r\":\"x\u{0}\",\"v\":1}]}", "line 1: a control character"),
            ("{\"session\":1,\"ops\":[]} {}", "line 1: expected the end"),
        ] {
            let found = mistake(text);
            assert!(found.starts_with(expected), "{text}\n  gave {found}\n  not  {expected}");
        }
        assert!(mistake("").contains("no transaction"));
    }

    #[test]
    fn an_id_may_look_like_the_name_of_a_transaction_without_one_as_long_as_there_is_none() {
        let text = "{\"session\":\"a\",\"id\":\"a#7\",\"ops\":[{\"w\":\"x\",\"v\":1}]}\n\
                    {\"session\":\"b\",\"id\":\"a#00\",\"ops\":[]}\n\
                    {\"session\":\"a\",\"ops\":[{\"r\":\"x\",\"v\":1,\"from\":\"a#7\"}]}";
        assert_eq!(read(text).unwrap().transaction_count(), 3);
        assert!(mistake(&text.replace("\"from\":\"a#7\"", "\"from\":\"a#01\"")).contains("not in the input"));
    }

    #[test]
    fn a_line_may_be_very_long() {
        let events = vec!["{\"r\":\"x\",\"v\":1}"; 100_000].join(",");
        let text = format!("{{\"session\":1,\"ops\":[{events}]}}");
        assert_eq!(read(&text).unwrap().event_count(), 100_000);
        assert!(mistake(&text[..text.len() - 2]).starts_with("line 1: "));
        assert!(mistake(&"x".repeat(1 << 20)).starts_with("line 1: "));
    }
}
