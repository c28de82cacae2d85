//! Certificates as lines of JSON: a verdict that somebody who does not trust us can check.
//!
//! ```json
//! {"skew":1,"certificate":"commit-order","history_sha256":"…","file":"a.jsonl","format":"native","level":"causal",
//!  "verdict":"holds","order":[1,2]}
//! {"skew":1,"certificate":"proof",…,"level":"snapshot","verdict":"fails","proved_at":"psi","steps":[
//!  {"cycle":[{"from":1,"to":2,"kind":"ww","key":1},{"from":2,"to":1,"kind":"rw","read":3,"writer":0}]},…]}
//! ```
//!
//! Everything is counted from 1 in the order of the history, session by session; 0 is the initial state. In `order` a commit is the
//! number of its transaction and a begin is the same number negated. The numbers mean something only for the input whose bytes
//! have this hash, read in this format.
//!
//! | module | does |
//! |---|---|
//! | `line` | the shape of a line, and how a verdict becomes one |
//! | `limits` | how a line becomes a verdict again, number by number |
//!
//! A certificate may be forged. [`read`] yields an [`Unchecked`] one, and only [`Unchecked::within`] turns it into a verdict: every
//! number is compared with the history first, so that no checker ever meets one that is out of range.

mod limits;
mod line;

use limits::Limits;
use line::CertificateLine;
use skew_check::Verdict;
use skew_history::builder::Problem;
use skew_history::format::Format;
use skew_history::{History, IsolationLevel};
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
            Verdict::Unknown(_) => None,
        }
    }
}

/// Writes one line.
pub fn write(subject: &Subject, verdict: &Verdict, history: &History, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &CertificateLine::new(subject, verdict, history))?;
    out.write_all(b"\n")
}

/// A certificate whose numbers nobody has looked at.
#[derive(Debug)]
pub struct Unchecked {
    /// What it says it is about.
    pub subject: Subject,
    line: CertificateLine,
}

/// Reads one line.
pub fn read(text: &[u8]) -> Result<Unchecked, Problem> {
    let line: CertificateLine =
        serde_json::from_slice(text).map_err(|error| malformed(format!("not a certificate: {error}")))?;
    if line.skew != 1 {
        return Err(malformed(format!("this is version {} of certificates, and only version 1 is known", line.skew)));
    }
    let format = line.format.parse().map_err(|_| malformed(format!("`{}` is not a format", line.format)))?;
    let level = level_named(&line.level)?;
    let subject = Subject { file: line.file.clone(), history_sha256: line.history_sha256.clone(), format, level };
    Ok(Unchecked { subject, line })
}

impl Unchecked {
    /// The certificate, if all its numbers are numbers of this history and its level can be asked of it.
    pub fn within(self, history: &History) -> Result<Certificate, Problem> {
        if let Some(why) = skew_check::cannot_ask(history, self.subject.level) {
            return Err(malformed(format!("nothing can be said about that level: {why}")));
        }
        let verdict = Limits::new(history).verdict(&self.line, self.subject.level)?;
        Ok(Certificate { subject: self.subject, verdict })
    }
}

fn level_named(name: &str) -> Result<IsolationLevel, Problem> {
    name.parse().map_err(|_| malformed(format!("`{name}` is not a level")))
}

fn malformed(what: String) -> Problem {
    Problem::malformed(what, ADVICE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_check::{
        Anomaly, Assumption, BadRead, CommitOrder, Doubt, Edge, EdgeKind, Instant, Literal, Proof, ProofStep,
        Refutation,
    };
    use skew_history::{EventId, KeyId, TransactionId, Writer, notation};

    fn fails(refutation: Refutation) -> Verdict {
        Verdict::Fails(Anomaly { level: IsolationLevel::Causal, refutation })
    }

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
        write(&subject(), verdict, &history(), &mut out).unwrap();
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
                ProofStep::Cycle(vec![
                    edge(one, two, EdgeKind::VersionOrder { key: KeyId(0) }),
                    edge(two, one, EdgeKind::Overwrites { read: EventId(2), writer: Writer::Initial }),
                    edge(Writer::Initial, one, EdgeKind::RealTime),
                    edge(one, two, EdgeKind::MustSee { read: EventId(2), path }),
                ]),
                ProofStep::Clause(vec![
                    Literal::Before(TransactionId(0), TransactionId(1)),
                    Literal::ReadsFrom(EventId(0), Writer::Initial),
                    Literal::NotReadsFrom(EventId(0), two),
                ]),
            ],
        }
    }

    fn split() -> Refutation {
        let element = history().event(EventId(1)).value;
        let appends = Assumption::Appends { key: KeyId(0), element, appends: vec![EventId(1), EventId(3)] };
        let inner = Refutation::Split(vec![(appends, Refutation::Proof(proof()))]);
        Refutation::Split(vec![
            (Assumption::Committed(TransactionId(1)), inner),
            (Assumption::NotCommitted(TransactionId(1)), Refutation::Read(BadRead::ThinAir { read: EventId(0) })),
        ])
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
        let mut verdicts = vec![
            Verdict::Holds(order),
            Verdict::Unknown(Doubt::Unsaid),
            fails(Refutation::Proof(proof())),
            fails(split()),
        ];
        verdicts.extend(reads.map(|read| fails(Refutation::Read(read))));
        for verdict in verdicts {
            let certificate = back(&text(&verdict)).unwrap();
            assert_eq!(format!("{:?}", certificate.verdict), format!("{verdict:?}"));
            assert_eq!(certificate.subject, subject());
        }
    }

    #[test]
    fn a_number_beyond_the_history_is_refused_wherever_it_stands() {
        let good = text(&fails(split()));
        let digits: Vec<usize> =
            good.char_indices().filter(|(_, letter)| letter.is_ascii_digit()).map(|(at, _)| at).collect();
        let start = good.find("\"split\":").unwrap();
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
