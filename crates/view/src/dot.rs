//! Drawings for Graphviz.
//!
//! A counterexample is a graph of record nodes, a transaction with its events each, and labelled edges; a whole history has a
//! cluster per session, its session order and who read from whom.
//!
//! ```text
//!   t1 [label="{t1|read x = 0\l|write x = 1\l}"];
//!   t1 -> t2 [label="ww x"];
//! ```

use crate::picture::Picture;
use crate::scene::{Arrow, Participant, Scene};
use crate::words::{self, Versions};
use skew_history::{EventId, History, TransactionId, Writer};
use std::io::{self, Write};

/// Colours that tell the cases apart on light and on dark ground.
pub(crate) const CASE_COLOURS: [&str; 4] = ["#c2410c", "#1d6fd1", "#15803d", "#9333ea"];

/// The counterexample as a directed graph.
pub fn counterexample(picture: Picture<'_>) -> String {
    let scene = Scene::new(picture);
    let mut out = String::from("digraph counterexample {\n");
    let [name, in_words] = &scene.title;
    let title = quote(&format!("{name}: {in_words}\n{}", scene.meaning));
    out.push_str(&format!("  label={title}; labelloc=t;\n"));
    out.push_str(
        "  node [shape=record, fontname=\"monospace\", fontsize=11];\n  edge [fontname=\"monospace\", fontsize=11];\n",
    );
    for (number, participant) in scene.participants.iter().enumerate() {
        out.push_str(&node(number, participant));
    }
    for arrow in &scene.arrows {
        out.push_str(&edge(arrow));
    }
    out.push_str("}\n");
    out
}

fn node(number: usize, participant: &Participant) -> String {
    let lines = participant.lines.iter().map(|line| format!("{}\\l", escape_record(line)));
    let label = format!("{{{}|{}}}", escape_record(&participant.name), lines.collect::<String>());
    let style = if participant.takes_part { "" } else { ", style=dashed" };
    format!("  n{number} [label=\"{label}\"{style}];\n")
}

fn edge(arrow: &Arrow) -> String {
    let style = match arrow.cases.as_slice() {
        [] => "style=dashed, color=gray50, fontcolor=gray50".to_owned(),
        [case] => {
            let colour = CASE_COLOURS[case % CASE_COLOURS.len()];
            format!("color=\"{colour}\", fontcolor=\"{colour}\"")
        }
        _ => "penwidth=1.5".to_owned(),
    };
    format!("  n{} -> n{} [label={}, {style}];\n", arrow.from, arrow.to, quote(&arrow.label))
}

/// The whole history as a directed graph.
pub fn history(history: &History, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "digraph history {{")?;
    writeln!(out, "  node [shape=record, fontname=\"monospace\", fontsize=11];")?;
    let versions = Versions::new(history);
    for session in history.sessions() {
        writeln!(out, "  subgraph cluster_{} {{", session.0)?;
        writeln!(
            out,
            "    label={};",
            quote(&format!("session {}", words::clean(&history.session_name(session).to_string())))
        )?;
        for transaction in history.transactions_of(session) {
            write_transaction(history, &versions, transaction, out)?;
        }
        let mut previous = None;
        for transaction in history.transactions_of(session) {
            if let Some(TransactionId(previous)) = previous {
                writeln!(out, "    t{previous} -> t{} [label=\"so\"];", transaction.0)?;
            }
            previous = Some(transaction);
        }
        writeln!(out, "  }}")?;
    }
    write_reads(history, &versions, out)?;
    writeln!(out, "}}")
}

fn write_transaction(
    history: &History,
    versions: &Versions,
    transaction: TransactionId,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut name = words::transaction(history, transaction);
    let outcome = words::outcome(history.outcome(transaction));
    if let Some(outcome) = outcome {
        name.push_str(&format!(" ({outcome})"));
    }
    write!(out, "    t{} [label=\"{{{}|", transaction.0, escape_record(&name))?;
    for number in history.event_range(transaction).map(EventId) {
        let initial = versions.writer_of(history, number) == Some(Writer::Initial);
        write!(out, "{}\\l", escape_record(&words::event(history, number, initial)))?;
    }
    writeln!(out, "}}\"{}];", if outcome.is_some() { ", style=dashed" } else { "" })
}

fn write_reads(history: &History, versions: &Versions, out: &mut dyn Write) -> io::Result<()> {
    for event in (0..history.event_count() as u32).map(EventId) {
        let Some(Writer::Transaction(writer)) = versions.writer_of(history, event) else { continue };
        let reader = history.transaction_of(event);
        if reader != writer {
            let label = quote(&format!("wr {}", words::key(history, history.event(event).key)));
            writeln!(out, "  t{} -> t{} [label={label}];", writer.0, reader.0)?;
        }
    }
    Ok(())
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// In a record, brackets and bars have a meaning of their own.
fn escape_record(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\\"{}|<>".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_history::notation;

    #[test]
    fn a_history_has_a_cluster_per_session_and_shows_who_read_from_whom() {
        let found = notation::parse("a: w(x,1) | w(y,2); b: r(x,1) !").unwrap();
        let mut out = Vec::new();
        history(&found, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("t0 -> t1 [label=\"so\"]") && text.contains("t0 -> t2 [label=\"wr x\"]"), "{text}");
        assert!(text.contains("b#0 (aborted)|read x = 1\\l") && text.contains("style=dashed"), "{text}");
    }

    #[test]
    fn record_letters_are_escaped() {
        assert_eq!(escape_record("a{|\"\\>"), "a\\{\\|\\\"\\\\\\>");
    }
}
