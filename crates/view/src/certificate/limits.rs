//! How a line becomes a verdict again: every number is compared with the history before anything is made of it.
//!
//! The depth of paths in paths and of splits in splits is bounded by the JSON reader, which refuses more than 128 brackets within
//! one another.

use super::line::{AnswerLine, AssumptionLine, BadReadLine, CertificateLine, EdgeLine, LiteralLine, StepLine};
use super::{level_named, malformed};
use skew_check::{
    Anomaly, Assumption, BadRead, CommitOrder, Doubt, Edge, EdgeKind, Instant, Literal, Proof, ProofStep, Refutation,
    Verdict,
};
use skew_history::builder::Problem;
use skew_history::{EventId, History, IsolationLevel, KeyId, TransactionId, Writer};

/// How far the numbers of a history go.
pub(super) struct Limits<'a> {
    history: &'a History,
}

impl<'a> Limits<'a> {
    pub(super) fn new(history: &'a History) -> Limits<'a> {
        Limits { history }
    }

    pub(super) fn verdict(&self, line: &CertificateLine, level: IsolationLevel) -> Result<Verdict, Problem> {
        let refutation = [line.read.is_some(), line.steps.is_some(), line.split.is_some(), line.alone.is_some()];
        let given = (line.order.is_some(), refutation);
        let expected = match (line.verdict.as_str(), line.certificate.as_str()) {
            ("holds", "commit-order" | "schedule") => (true, [false; 4]),
            ("fails", "bad-read") => (false, [true, false, false, false]),
            ("fails", "proof") => (false, [false, true, false, false]),
            ("fails", "split") => (false, [false, false, true, false]),
            ("fails", "alone") => (false, [false, false, false, true]),
            ("unknown", "none") => (false, [false; 4]),
            (verdict, kind) => {
                return Err(malformed(format!("a `{kind}` certificate cannot belong to the verdict `{verdict}`")));
            }
        };
        if given != expected {
            let what =
                format!("a `{}` certificate has exactly one of order, read, steps, split and alone", line.certificate);
            return Err(malformed(what));
        }
        match &line.order {
            Some(steps) if line.certificate == "schedule" => Ok(Verdict::Holds(self.schedule(steps, &line.choices)?)),
            Some(order) => Ok(Verdict::Holds(self.order(order, &line.choices)?)),
            None if line.certificate == "none" => Ok(Verdict::Unknown(Doubt::Unsaid)),
            None => {
                let level = line.proved_at.as_deref().map_or(Ok(level), level_named)?;
                let refutation = match &line.alone {
                    Some(transactions) => self.alone(transactions)?,
                    None => self.refutation(line.read.as_ref(), line.steps.as_deref(), line.split.as_deref())?,
                };
                Ok(Verdict::Fails(Anomaly { level, refutation }))
            }
        }
    }

    fn transaction(&self, number: u64) -> Result<TransactionId, Problem> {
        dense(number, self.history.transaction_count(), "transaction").map(TransactionId)
    }

    fn event(&self, number: u64) -> Result<EventId, Problem> {
        dense(number, self.history.event_count(), "event").map(EventId)
    }

    fn needed_event(&self, number: Option<u64>, of: &str) -> Result<EventId, Problem> {
        self.event(number.ok_or_else(|| malformed(format!("a `{of}` lacks the number of an event")))?)
    }

    fn key(&self, number: u64) -> Result<KeyId, Problem> {
        dense(number, self.history.key_count(), "key").map(KeyId)
    }

    fn writer(&self, number: u64) -> Result<Writer, Problem> {
        if number == 0 { Ok(Writer::Initial) } else { self.transaction(number).map(Writer::Transaction) }
    }

    fn order(&self, numbers: &[i64], choices: &[(u64, u64)]) -> Result<CommitOrder, Problem> {
        let instant = |&number: &i64| {
            let transaction = self.transaction(number.unsigned_abs())?;
            Ok(if number > 0 { Instant::Commit(transaction) } else { Instant::Begin(transaction) })
        };
        let instants = numbers.iter().map(instant).collect::<Result<_, Problem>>()?;
        let choice = |&(event, writer): &(u64, u64)| Ok((self.event(event)?, self.writer(writer)?));
        let choices: Vec<_> = choices.iter().map(choice).collect::<Result<_, Problem>>()?;
        if !choices.is_sorted_by(|one, next| one.0 < next.0) {
            return Err(malformed("the choices are not sorted by event, each once".to_owned()));
        }
        Ok(CommitOrder { instants, choices })
    }

    fn schedule(&self, numbers: &[i64], choices: &[(u64, u64)]) -> Result<CommitOrder, Problem> {
        let step = |&number: &i64| {
            let number = u64::try_from(number).map_err(|_| malformed(format!("{number} is no step of a schedule")))?;
            self.transaction(number).map(Instant::Step)
        };
        let instants = numbers.iter().map(step).collect::<Result<_, Problem>>()?;
        Ok(CommitOrder { instants, ..self.order(&[], choices)? })
    }

    fn alone(&self, numbers: &[u64]) -> Result<Refutation, Problem> {
        let transactions = numbers.iter().map(|&number| self.transaction(number)).collect::<Result<_, Problem>>()?;
        Ok(Refutation::Alone(transactions))
    }

    fn refutation(
        &self,
        read: Option<&BadReadLine>,
        steps: Option<&[StepLine]>,
        split: Option<&[AnswerLine]>,
    ) -> Result<Refutation, Problem> {
        match (read, steps, split) {
            (Some(read), None, None) => self.bad_read(read).map(Refutation::Read),
            (None, Some(steps), None) => self.proof(steps).map(Refutation::Proof),
            (None, None, Some(answers)) => {
                let answers = answers.iter().map(|answer| self.answer(answer)).collect::<Result<_, Problem>>()?;
                Ok(Refutation::Split(answers))
            }
            _ => Err(malformed("a refutation has exactly one of read, steps and split".to_owned())),
        }
    }

    fn answer(&self, line: &AnswerLine) -> Result<(Assumption, Refutation), Problem> {
        let assumption = match &line.assuming {
            AssumptionLine::Committed(number) => Assumption::Committed(self.transaction(*number)?),
            AssumptionLine::NotCommitted(number) => Assumption::NotCommitted(self.transaction(*number)?),
            AssumptionLine::Appends { key, element_of, appends } => Assumption::Appends {
                key: self.key(*key)?,
                element: self.history.event(self.event(*element_of)?).value,
                appends: appends.iter().map(|&number| self.event(number)).collect::<Result<_, Problem>>()?,
            },
        };
        Ok((assumption, self.refutation(line.read.as_ref(), line.steps.as_deref(), line.split.as_deref())?))
    }

    fn bad_read(&self, line: &BadReadLine) -> Result<BadRead, Problem> {
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

    fn proof(&self, steps: &[StepLine]) -> Result<Proof, Problem> {
        let step = |step: &StepLine| {
            Ok(match step {
                StepLine::Cycle(edges) => ProofStep::Cycle(self.edges(edges)?),
                StepLine::Clause(literals) => ProofStep::Clause(
                    literals.iter().map(|literal| self.literal(literal)).collect::<Result<_, Problem>>()?,
                ),
            })
        };
        Ok(Proof { steps: steps.iter().map(step).collect::<Result<_, Problem>>()? })
    }

    fn literal(&self, literal: &LiteralLine) -> Result<Literal, Problem> {
        Ok(match *literal {
            LiteralLine::Before(first, second) if first == second => {
                return Err(malformed(format!("transaction {first} cannot be before itself")));
            }
            LiteralLine::Before(first, second) => Literal::Before(self.transaction(first)?, self.transaction(second)?),
            LiteralLine::ReadsFrom(read, writer) => Literal::ReadsFrom(self.event(read)?, self.writer(writer)?),
            LiteralLine::NotReadsFrom(read, writer) => Literal::NotReadsFrom(self.event(read)?, self.writer(writer)?),
        })
    }

    fn edges(&self, lines: &[EdgeLine]) -> Result<Vec<Edge>, Problem> {
        lines.iter().map(|line| self.edge(line)).collect()
    }

    fn edge(&self, line: &EdgeLine) -> Result<Edge, Problem> {
        let read = || self.needed_event(line.read, &line.kind);
        let lacks = |what: &str| malformed(format!("an edge of kind `{}` lacks its {what}", line.kind));
        let kind = match line.kind.as_str() {
            "so" => EdgeKind::SessionOrder,
            "rt" => EdgeKind::RealTime,
            "wr" => EdgeKind::ReadsFrom { read: read()? },
            "ww" => EdgeKind::VersionOrder { key: self.key(line.key.ok_or_else(|| lacks("key"))?)? },
            "rw" => {
                let writer = self.writer(line.writer.ok_or_else(|| lacks("writer"))?)?;
                EdgeKind::Overwrites { read: read()?, writer }
            }
            "must-see" => EdgeKind::MustSee { read: read()?, path: self.edges(&line.path)? },
            kind => return Err(malformed(format!("`{kind}` is not a kind of edge"))),
        };
        Ok(Edge { from: self.writer(line.from)?, to: self.writer(line.to)?, kind })
    }
}

/// From the file's count, which begins with 1, to ours, which begins with 0.
fn dense(number: u64, limit: usize, what: &str) -> Result<u32, Problem> {
    match number.checked_sub(1).filter(|&number| number < limit as u64) {
        Some(number) => Ok(number as u32),
        None => Err(malformed(format!("{what} {number} does not exist: the history has {limit}"))),
    }
}
