//! The shape of a line, and how a verdict becomes one.
//!
//! A refutation is a bad read, a row of steps, or a split: a question that the history leaves open, and a refutation under each
//! answer.
//!
//! ```json
//! {…,"split":[{"assuming":{"committed":3},"steps":[…]},{"assuming":{"not_committed":3},"read":{…}}]}
//! ```

use super::Subject;
use serde::{Deserialize, Serialize};
use skew_check::{
    Assumption, BadRead, CommitOrder, Edge, EdgeKind, Instant, Literal, Proof, ProofStep, Refutation, Verdict,
};
use skew_history::{EventId, History, KeyId, TransactionId, Writer};

/// One line of a certificate file.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct CertificateLine {
    pub(super) skew: u64,
    pub(super) certificate: String,
    pub(super) history_sha256: String,
    pub(super) file: String,
    pub(super) format: String,
    pub(super) level: String,
    pub(super) verdict: String,
    /// The level that the refutation speaks about, where it is a weaker one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proved_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) order: Option<Vec<i64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) choices: Vec<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) read: Option<BadReadLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) steps: Option<Vec<StepLine>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) split: Option<Vec<AnswerLine>>,
    /// Transactions that are impossible on their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) alone: Option<Vec<u64>>,
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct BadReadLine {
    pub(super) kind: String,
    pub(super) read: u64,
    /// The other event, where the kind has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) other: Option<u64>,
}

/// One answer of a split, and its refutation: one of the last three.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerLine {
    pub(super) assuming: AssumptionLine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) read: Option<BadReadLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) steps: Option<Vec<StepLine>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) split: Option<Vec<AnswerLine>>,
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum AssumptionLine {
    Committed(u64),
    NotCommitted(u64),
    Appends {
        key: u64,
        /// An append of the element, which names it.
        element_of: u64,
        appends: Vec<u64>,
    },
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum StepLine {
    Cycle(Vec<EdgeLine>),
    Clause(Vec<LiteralLine>),
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum LiteralLine {
    Before(u64, u64),
    ReadsFrom(u64, u64),
    NotReadsFrom(u64, u64),
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct EdgeLine {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) read: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) writer: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) path: Vec<EdgeLine>,
}

impl CertificateLine {
    pub(super) fn new(subject: &Subject, verdict: &Verdict, history: &History) -> CertificateLine {
        let mut line = CertificateLine {
            skew: 1,
            certificate: "none".to_owned(),
            history_sha256: subject.history_sha256.clone(),
            file: subject.file.clone(),
            format: subject.format.name().to_owned(),
            level: subject.level.name().to_owned(),
            verdict: verdict.word().to_owned(),
            proved_at: None,
            order: None,
            choices: Vec::new(),
            read: None,
            steps: None,
            split: None,
            alone: None,
        };
        match verdict {
            Verdict::Holds(order) => line.set_order(order),
            Verdict::Fails(anomaly) => {
                line.proved_at = Some(anomaly.level).filter(|&at| at != subject.level).map(|at| at.name().to_owned());
                line.set_refutation(&anomaly.refutation, history);
            }
            Verdict::Unknown(_) => {}
        }
        line
    }

    fn set_order(&mut self, order: &CommitOrder) {
        let is_schedule = matches!(order.instants.first(), Some(Instant::Step(_)));
        self.certificate = if is_schedule { "schedule" } else { "commit-order" }.to_owned();
        let number = |instant: &Instant| match *instant {
            Instant::Commit(transaction) | Instant::Step(transaction) => transaction_number(transaction) as i64,
            Instant::Begin(transaction) => -(transaction_number(transaction) as i64),
        };
        self.order = Some(order.instants.iter().map(number).collect());
        let choice = |&(event, writer): &(EventId, Writer)| (event_number(event), writer_number(writer));
        self.choices = order.choices.iter().map(choice).collect();
    }

    fn set_refutation(&mut self, refutation: &Refutation, history: &History) {
        let kind = match refutation {
            Refutation::Read(bad) => {
                self.read = Some(bad_read_line(bad));
                "bad-read"
            }
            Refutation::Proof(proof) => {
                self.steps = Some(step_lines(proof));
                "proof"
            }
            Refutation::Split(answers) => {
                self.split = Some(answer_lines(answers, history));
                "split"
            }
            Refutation::Alone(transactions) => {
                self.alone = Some(transactions.iter().copied().map(transaction_number).collect());
                "alone"
            }
        };
        self.certificate = kind.to_owned();
    }
}

/// A split within a split settles another question, and the checker asks few: the depth is small.
fn answer_lines(answers: &[(Assumption, Refutation)], history: &History) -> Vec<AnswerLine> {
    let answer = |(assumption, refutation): &(Assumption, Refutation)| {
        let assuming = assumption_line(assumption, history);
        let mut line = AnswerLine { assuming, read: None, steps: None, split: None };
        match refutation {
            Refutation::Read(bad) => line.read = Some(bad_read_line(bad)),
            Refutation::Proof(proof) => line.steps = Some(step_lines(proof)),
            Refutation::Split(answers) => line.split = Some(answer_lines(answers, history)),
            // The levels of the engines are never split.
            Refutation::Alone(_) => {}
        }
        line
    };
    answers.iter().map(answer).collect()
}

fn assumption_line(assumption: &Assumption, history: &History) -> AssumptionLine {
    match assumption {
        Assumption::Committed(transaction) => AssumptionLine::Committed(transaction_number(*transaction)),
        Assumption::NotCommitted(transaction) => AssumptionLine::NotCommitted(transaction_number(*transaction)),
        Assumption::Appends { key, element, appends } => {
            // A value is a number of the pool, which says nothing outside; an event that has it says which it is.
            let has_it = |event: &EventId| history.event(*event).value == *element;
            let element_of = appends.iter().copied().find(has_it).map_or(0, event_number);
            let appends = appends.iter().copied().map(event_number).collect();
            AssumptionLine::Appends { key: key_number(*key), element_of, appends }
        }
    }
}

fn bad_read_line(bad: &BadRead) -> BadReadLine {
    let (kind, other) = match *bad {
        BadRead::Internal { own, .. } => ("internal", Some(own)),
        BadRead::Aborted { write, .. } => ("aborted", Some(write)),
        BadRead::Intermediate { write, .. } => ("intermediate", Some(write)),
        BadRead::ThinAir { .. } => ("thin-air", None),
        BadRead::DuplicateElement { .. } => ("duplicate-element", None),
        BadRead::IncompatibleLists { other, .. } => ("incompatible-lists", Some(other)),
    };
    BadReadLine { kind: kind.to_owned(), read: event_number(bad.read()), other: other.map(event_number) }
}

fn step_lines(proof: &Proof) -> Vec<StepLine> {
    let step = |step: &ProofStep| match step {
        ProofStep::Cycle(edges) => StepLine::Cycle(edges.iter().map(edge_line).collect()),
        ProofStep::Clause(literals) => StepLine::Clause(literals.iter().map(literal_line).collect()),
    };
    proof.steps.iter().map(step).collect()
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
    let (key, read, writer, path) = (None, None, None, Vec::new());
    let plain = |kind: &str| EdgeLine { from, to, kind: kind.to_owned(), key, read, writer, path };
    match &edge.kind {
        EdgeKind::SessionOrder => plain("so"),
        EdgeKind::RealTime => plain("rt"),
        EdgeKind::ReadsFrom { read } => EdgeLine { read: Some(event_number(*read)), ..plain("wr") },
        EdgeKind::VersionOrder { key } => EdgeLine { key: Some(key_number(*key)), ..plain("ww") },
        EdgeKind::Overwrites { read, writer } => {
            EdgeLine { read: Some(event_number(*read)), writer: Some(writer_number(*writer)), ..plain("rw") }
        }
        EdgeKind::MustSee { read, path } => {
            let path = path.iter().map(edge_line).collect();
            EdgeLine { read: Some(event_number(*read)), path, ..plain("must-see") }
        }
    }
}

fn transaction_number(transaction: TransactionId) -> u64 {
    u64::from(transaction.0) + 1
}

fn event_number(event: EventId) -> u64 {
    u64::from(event.0) + 1
}

fn key_number(key: KeyId) -> u64 {
    u64::from(key.0) + 1
}

fn writer_number(writer: Writer) -> u64 {
    match writer {
        Writer::Initial => 0,
        Writer::Transaction(transaction) => transaction_number(transaction),
    }
}
