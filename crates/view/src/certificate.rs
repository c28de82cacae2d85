//! Certificates as lines of JSON: a verdict that somebody who does not trust us can check.
//!
//! ```json
//! {"skew":1,"certificate":"commit-order","history_sha256":"…","file":"a.jsonl","format":"native","level":"causal",
//!  "verdict":"holds","order":[1,2]}
//! {"skew":1,"certificate":"proof",…,"level":"psi","verdict":"fails","steps":[
//!  {"cycle":[{"from":1,"to":2,"kind":"ww","key":1},{"from":2,"to":1,"kind":"rw","read":3,"writer":0}]},…]}
//! ```
//!
//! Everything is counted from 1 in the order of the history, session by session; 0 is the initial state. In `order` a commit is the
//! number of its transaction and a begin is the same number negated. The numbers mean something only for the input whose bytes
//! have this hash, read in this format.
//!
//! A certificate may be forged. [`read`] yields an [`Unchecked`] one, and only [`Unchecked::within`] turns it into a verdict: every
//! number is compared with the history first, so that no checker ever meets one that is out of range.

use serde::{Deserialize, Serialize};
use skew_check::{Anomaly, BadRead, CommitOrder, Edge, EdgeKind, Instant, Literal, Proof, Refutation, Step, Verdict};
use skew_history::builder::Problem;
use skew_history::format::Format;
use skew_history::{EventId, History, IsolationLevel, KeyId, TransactionId, Writer};
use std::io::{self, Write};

const ADVICE: &str = "use a file that `skew check --certificate` wrote";

/// What a certificate is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The input, as the user named it.
    pub file: String,
    /// The hash of its bytes.
    pub history_sha256: String,
    /// The format in which it was read.
    pub format: Format,
    /// The level that was asked about.
    pub level: IsolationLevel,
}

/// A verdict about a subject, with all numbers inside the history.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// What it is about.
    pub subject: Subject,
    /// The answer and its proof.
    pub verdict: Verdict,
}

impl Certificate {
    /// Whether the proof proves the answer; `None` when the answer is that there is none.
    pub fn is_valid(&self, history: &History) -> Option<bool> {
        match &self.verdict {
            Verdict::Holds(order) => Some(order.justifies(history, self.subject.level)),
            Verdict::Fails(anomaly) => Some(anomaly.refutes(history, self.subject.level)),
            Verdict::Unknown => None,
        }
    }
}

/// Writes one line.
pub fn write(subject: &Subject, verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Line {
        skew: 1,
        certificate: "none".to_owned(),
        history_sha256: subject.history_sha256.clone(),
        file: subject.file.clone(),
        format: subject.format.name().to_owned(),
        level: subject.level.name().to_owned(),
        verdict: verdict.word().to_owned(),
        order: None,
        choices: Vec::new(),
        read: None,
        steps: None,
    };
    match verdict {
        Verdict::Holds(order) => line.set_order(order),
        Verdict::Fails(Anomaly { refutation: Refutation::Read(read) }) => line.set_read(read),
        Verdict::Fails(Anomaly { refutation: Refutation::Proof(proof) }) => line.set_proof(proof),
        Verdict::Unknown => {}
    }
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// A certificate whose numbers nobody has looked at.
#[derive(Debug)]
pub struct Unchecked {
    /// What it says it is about.
    pub subject: Subject,
    line: Line,
}

/// Reads one line.
pub fn read(text: &[u8]) -> Result<Unchecked, Problem> {
    let line: Line = serde_json::from_slice(text).map_err(|error| malformed(format!("not a certificate: {error}")))?;
    if line.skew != 1 {
        return Err(malformed(format!("this is version {} of certificates, and only version 1 is known", line.skew)));
    }
    let format = line.format.parse().map_err(|_| malformed(format!("`{}` is not a format", line.format)))?;
    let level = line.level.parse().map_err(|_| malformed(format!("`{}` is not a level", line.level)))?;
    let subject = Subject { file: line.file.clone(), history_sha256: line.history_sha256.clone(), format, level };
    Ok(Unchecked { subject, line })
}

impl Unchecked {
    /// The certificate, if all its numbers are numbers of this history.
    pub fn within(self, history: &History) -> Result<Certificate, Problem> {
        let limits = Limits {
            transactions: history.transaction_count(),
            events: history.event_count(),
            keys: history.key_count(),
        };
        let line = self.line;
        let verdict = match (line.verdict.as_str(), line.certificate.as_str()) {
            ("holds", "commit-order") => Verdict::Holds(limits.order(&line)?),
            ("fails", "bad-read") => fails(Refutation::Read(limits.bad_read(line.read.as_ref())?)),
            ("fails", "proof") => fails(Refutation::Proof(limits.proof(line.steps.as_deref())?)),
            ("unknown", "none") => Verdict::Unknown,
            (verdict, kind) => {
                return Err(malformed(format!("a `{kind}` certificate cannot belong to the verdict `{verdict}`")));
            }
        };
        Ok(Certificate { subject: self.subject, verdict })
    }
}

fn fails(refutation: Refutation) -> Verdict {
    Verdict::Fails(Anomaly { refutation })
}

fn malformed(what: String) -> Problem {
    Problem::malformed(what, ADVICE)
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Line {
    skew: u64,
    certificate: String,
    history_sha256: String,
    file: String,
    format: String,
    level: String,
    verdict: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Vec<i64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    choices: Vec<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<BadReadLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepLine>>,
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct BadReadLine {
    kind: String,
    read: u64,
    /// The other event, where the kind has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<u64>,
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
enum StepLine {
    Cycle(Vec<EdgeLine>),
    Clause(Vec<LiteralLine>),
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
enum LiteralLine {
    Before(u64, u64),
    ReadsFrom(u64, u64),
    NotReadsFrom(u64, u64),
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct EdgeLine {
    from: u64,
    to: u64,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writer: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    path: Vec<EdgeLine>,
}

fn transaction_number(transaction: TransactionId) -> u64 {
    u64::from(transaction.0) + 1
}

fn event_number(event: EventId) -> u64 {
    u64::from(event.0) + 1
}

fn writer_number(writer: Writer) -> u64 {
    match writer {
        Writer::Initial => 0,
        Writer::Transaction(transaction) => transaction_number(transaction),
    }
}

impl Line {
    fn set_order(&mut self, order: &CommitOrder) {
        self.certificate = "commit-order".to_owned();
        let number = |instant: &Instant| match *instant {
            Instant::Commit(transaction) => transaction_number(transaction) as i64,
            Instant::Begin(transaction) => -(transaction_number(transaction) as i64),
        };
        self.order = Some(order.instants.iter().map(number).collect());
        self.choices =
            order.choices.iter().map(|&(event, writer)| (event_number(event), writer_number(writer))).collect();
    }

    fn set_read(&mut self, bad: &BadRead) {
        self.certificate = "bad-read".to_owned();
        let (kind, other) = match *bad {
            BadRead::Internal { own, .. } => ("internal", Some(own)),
            BadRead::Aborted { write, .. } => ("aborted", Some(write)),
            BadRead::Intermediate { write, .. } => ("intermediate", Some(write)),
            BadRead::ThinAir { .. } => ("thin-air", None),
            BadRead::DuplicateElement { .. } => ("duplicate-element", None),
            BadRead::IncompatibleLists { other, .. } => ("incompatible-lists", Some(other)),
        };
        let read = event_number(bad.read());
        self.read = Some(BadReadLine { kind: kind.to_owned(), read, other: other.map(event_number) });
    }

    fn set_proof(&mut self, proof: &Proof) {
        self.certificate = "proof".to_owned();
        let step = |step: &Step| match step {
            Step::Cycle(edges) => StepLine::Cycle(edges.iter().map(edge_line).collect()),
            Step::Clause(literals) => StepLine::Clause(literals.iter().map(literal_line).collect()),
        };
        self.steps = Some(proof.steps.iter().map(step).collect());
    }
}

fn literal_line(literal: &Literal) -> LiteralLine {
    match *literal {
        Literal::Before(first, second) => LiteralLine::Before(transaction_number(first), transaction_number(second)),
        Literal::ReadsFrom(read, writer) => LiteralLine::ReadsFrom(event_number(read), writer_number(writer)),
        Literal::NotReadsFrom(read, writer) => LiteralLine::NotReadsFrom(event_number(read), writer_number(writer)),
    }
}

fn edge_line(edge: &Edge) -> EdgeLine {
    let (from, to) = (writer_number(edge.from), writer_number(edge.to));
    let plain = |kind: &str| EdgeLine {
        from,
        to,
        kind: kind.to_owned(),
        key: None,
        read: None,
        writer: None,
        path: Vec::new(),
    };
    match &edge.kind {
        EdgeKind::SessionOrder => plain("so"),
        EdgeKind::RealTime => plain("rt"),
        EdgeKind::ReadsFrom { read } => EdgeLine { read: Some(event_number(*read)), ..plain("wr") },
        EdgeKind::VersionOrder { key } => EdgeLine { key: Some(u64::from(key.0) + 1), ..plain("ww") },
        EdgeKind::Overwrites { read, writer } => {
            EdgeLine { read: Some(event_number(*read)), writer: Some(writer_number(*writer)), ..plain("rw") }
        }
        EdgeKind::MustSee { read, path } => {
            let path = path.iter().map(edge_line).collect();
            EdgeLine { read: Some(event_number(*read)), path, ..plain("must-see") }
        }
    }
}

/// How far the numbers of a history go.
struct Limits {
    transactions: usize,
    events: usize,
    keys: usize,
}

impl Limits {
    fn transaction(&self, number: u64) -> Result<TransactionId, Problem> {
        dense(number, self.transactions, "transaction").map(TransactionId)
    }

    fn event(&self, number: u64) -> Result<EventId, Problem> {
        dense(number, self.events, "event").map(EventId)
    }

    fn needed_event(&self, number: Option<u64>, of: &str) -> Result<EventId, Problem> {
        self.event(number.ok_or_else(|| malformed(format!("a `{of}` lacks the number of an event")))?)
    }

    fn writer(&self, number: u64) -> Result<Writer, Problem> {
        if number == 0 { Ok(Writer::Initial) } else { self.transaction(number).map(Writer::Transaction) }
    }

    fn order(&self, line: &Line) -> Result<CommitOrder, Problem> {
        let numbers = line.order.as_ref().ok_or_else(|| malformed("the member `order` is missing".to_owned()))?;
        let instant = |&number: &i64| {
            let transaction = self.transaction(number.unsigned_abs())?;
            Ok(if number > 0 { Instant::Commit(transaction) } else { Instant::Begin(transaction) })
        };
        let instants = numbers.iter().map(instant).collect::<Result<_, Problem>>()?;
        let choice = |&(event, writer): &(u64, u64)| Ok((self.event(event)?, self.writer(writer)?));
        let choices: Vec<_> = line.choices.iter().map(choice).collect::<Result<_, Problem>>()?;
        if !choices.is_sorted_by(|one, next| one.0 < next.0) {
            return Err(malformed("the choices are not sorted by event, each once".to_owned()));
        }
        Ok(CommitOrder { instants, choices })
    }

    fn bad_read(&self, line: Option<&BadReadLine>) -> Result<BadRead, Problem> {
        let line = line.ok_or_else(|| malformed("the member `read` is missing".to_owned()))?;
        let read = self.event(line.read)?;
        let other = || self.needed_event(line.other, &line.kind);
        Ok(match line.kind.as_str() {
            "internal" => BadRead::Internal { read, own: other()? },
            "aborted" => BadRead::Aborted { read, write: other()? },
            "intermediate" => BadRead::Intermediate { read, write: other()? },
            "thin-air" => BadRead::ThinAir { read },
            "duplicate-element" => BadRead::DuplicateElement { read },
            "incompatible-lists" => BadRead::IncompatibleLists { read, other: other()? },
            kind => return Err(malformed(format!("`{kind}` is not a kind of bad read"))),
        })
    }

    fn proof(&self, steps: Option<&[StepLine]>) -> Result<Proof, Problem> {
        let steps = steps.ok_or_else(|| malformed("the member `steps` is missing".to_owned()))?;
        let step = |step: &StepLine| {
            Ok(match step {
                StepLine::Cycle(edges) => Step::Cycle(self.edges(edges)?),
                StepLine::Clause(literals) => {
                    Step::Clause(literals.iter().map(|literal| self.literal(literal)).collect::<Result<_, Problem>>()?)
                }
            })
        };
        Ok(Proof { steps: steps.iter().map(step).collect::<Result<_, Problem>>()? })
    }

    fn literal(&self, literal: &LiteralLine) -> Result<Literal, Problem> {
        Ok(match *literal {
            LiteralLine::Before(first, second) => Literal::Before(self.transaction(first)?, self.transaction(second)?),
            LiteralLine::ReadsFrom(read, writer) => Literal::ReadsFrom(self.event(read)?, self.writer(writer)?),
            LiteralLine::NotReadsFrom(read, writer) => Literal::NotReadsFrom(self.event(read)?, self.writer(writer)?),
        })
    }

    /// The depth of paths within paths is bounded by the JSON reader, which refuses more than 128 brackets in one another.
    fn edges(&self, lines: &[EdgeLine]) -> Result<Vec<Edge>, Problem> {
        lines.iter().map(|line| self.edge(line)).collect()
    }

    fn edge(&self, line: &EdgeLine) -> Result<Edge, Problem> {
        let read = || self.needed_event(line.read, &line.kind);
        let kind = match line.kind.as_str() {
            "so" => EdgeKind::SessionOrder,
            "rt" => EdgeKind::RealTime,
            "wr" => EdgeKind::ReadsFrom { read: read()? },
            "ww" => EdgeKind::VersionOrder { key: self.key(line.key)? },
            "rw" => {
                let writer =
                    line.writer.ok_or_else(|| malformed("an `rw` lacks the writer of what was read".to_owned()))?;
                EdgeKind::Overwrites { read: read()?, writer: self.writer(writer)? }
            }
            "must-see" => EdgeKind::MustSee { read: read()?, path: self.edges(&line.path)? },
            kind => return Err(malformed(format!("`{kind}` is not a kind of edge"))),
        };
        Ok(Edge { from: self.writer(line.from)?, to: self.writer(line.to)?, kind })
    }

    fn key(&self, number: Option<u64>) -> Result<KeyId, Problem> {
        let number = number.ok_or_else(|| malformed("a `ww` lacks the number of its key".to_owned()))?;
        dense(number, self.keys, "key").map(KeyId)
    }
}

/// From the file's count, which begins with 1, to ours, which begins with 0.
fn dense(number: u64, limit: usize, what: &str) -> Result<u32, Problem> {
    match number.checked_sub(1).filter(|&number| number < limit as u64) {
        Some(number) => Ok(number as u32),
        None => Err(malformed(format!("{what} {number} does not exist: the history has {limit}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_history::notation;

    fn subject() -> Subject {
        Subject {
            file: "a".to_owned(),
            history_sha256: "00".to_owned(),
            format: Format::Native,
            level: IsolationLevel::ParallelSnapshot,
        }
    }

    fn history() -> History {
        notation::parse("a: r(x,init) w(x,1); b: r(x,init) w(x,2)").unwrap()
    }

    fn text(verdict: &Verdict) -> String {
        let mut out = Vec::new();
        write(&subject(), verdict, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn back(text: &str) -> Result<Certificate, Problem> {
        read(text.as_bytes())?.within(&history())
    }

    /// One of everything.
    fn proof() -> Proof {
        let (one, two) = (Writer::Transaction(TransactionId(0)), Writer::Transaction(TransactionId(1)));
        let edge = |from, to, kind| Edge { from, to, kind };
        let path =
            vec![edge(one, two, EdgeKind::ReadsFrom { read: EventId(2) }), edge(one, two, EdgeKind::SessionOrder)];
        Proof {
            steps: vec![
                Step::Cycle(vec![
                    edge(one, two, EdgeKind::VersionOrder { key: KeyId(0) }),
                    edge(two, one, EdgeKind::Overwrites { read: EventId(2), writer: Writer::Initial }),
                    edge(Writer::Initial, one, EdgeKind::RealTime),
                    edge(one, two, EdgeKind::MustSee { read: EventId(2), path }),
                ]),
                Step::Clause(vec![
                    Literal::Before(TransactionId(0), TransactionId(1)),
                    Literal::ReadsFrom(EventId(0), Writer::Initial),
                    Literal::NotReadsFrom(EventId(0), two),
                ]),
            ],
        }
    }

    #[test]
    fn all_certificates_read_back() {
        let order = CommitOrder {
            instants: vec![
                Instant::Begin(TransactionId(1)),
                Instant::Commit(TransactionId(1)),
                Instant::Commit(TransactionId(0)),
            ],
            choices: vec![(EventId(0), Writer::Initial), (EventId(2), Writer::Transaction(TransactionId(0)))],
        };
        let reads = [
            BadRead::Internal { read: EventId(0), own: EventId(1) },
            BadRead::Aborted { read: EventId(0), write: EventId(3) },
            BadRead::Intermediate { read: EventId(0), write: EventId(3) },
            BadRead::ThinAir { read: EventId(0) },
            BadRead::DuplicateElement { read: EventId(0) },
            BadRead::IncompatibleLists { read: EventId(0), other: EventId(2) },
        ];
        let mut verdicts = vec![Verdict::Holds(order), Verdict::Unknown, fails(Refutation::Proof(proof()))];
        verdicts.extend(reads.map(|read| fails(Refutation::Read(read))));
        for verdict in verdicts {
            let certificate = back(&text(&verdict)).unwrap();
            assert_eq!(format!("{:?}", certificate.verdict), format!("{verdict:?}"));
            assert_eq!(certificate.subject, subject());
        }
    }

    #[test]
    fn a_number_beyond_the_history_is_refused_wherever_it_stands() {
        let good = text(&fails(Refutation::Proof(proof())));
        let digits: Vec<usize> =
            good.char_indices().filter(|(_, letter)| letter.is_ascii_digit()).map(|(at, _)| at).collect();
        let start = good.find("\"steps\"").unwrap();
        let mut tried = 0;
        for at in digits.into_iter().filter(|&at| at > start) {
            let forged = format!("{}99{}", &good[..at], &good[at + 1..]);
            let problem = back(&forged).unwrap_err();
            assert!(problem.to_string().contains("99 does not exist"), "{problem}");
            tried += 1;
        }
        assert!(tried > 15);
    }

    #[test]
    fn every_truncation_and_every_mismatch_is_refused() {
        let good = text(&fails(Refutation::Proof(proof())));
        for end in 0..good.trim_end().len() {
            assert!(back(&good[..end]).is_err(), "{}", &good[..end]);
        }
        assert!(back(&good.replace("\"fails\"", "\"holds\"")).is_err());
        assert!(back(&good.replace("\"skew\":1", "\"skew\":2")).is_err());
        assert!(back(&good.replace("\"ww\"", "\"xx\"")).is_err());
        let deep = good.replace("\"steps\":[", &format!("\"steps\":{}", "[".repeat(100_000)));
        assert!(back(&deep).is_err());
    }

    #[test]
    fn zero_and_the_most_negative_number_are_no_instants() {
        let order = text(&Verdict::Holds(CommitOrder::default()));
        for number in ["0", "-9223372036854775808", "3", "-3"] {
            let forged = order.replace("\"order\":[]", &format!("\"order\":[{number}]"));
            assert!(back(&forged).is_err(), "{forged}");
        }
    }
}
