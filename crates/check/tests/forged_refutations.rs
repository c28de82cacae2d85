//! No refutation, however forged, is believed of a history that holds; above all not where lists hold equal elements.
//!
//! The verifier trusts nobody, so it is given what a liar would write: refutations made up from the events of a history, and real ones
//! with something changed: an answer taken out of its split, another read, another level. Whatever it accepts must be true by the
//! definitions. The seed is printed; `SKEW_SEED` and `SKEW_HISTORIES` repeat or extend a run.

#![allow(clippy::print_stderr)]

mod support;

use skew_check::spec::satisfies;
use skew_check::{
    Anomaly, Assumption, BadRead, Budget, Edge, EdgeKind, IsolationLevel, Literal, Options, Proof, ProofStep,
    Refutation, Verdict, check_levels,
};
use skew_history::{Action, EventId, History, KeyId, TransactionId, Writer, notation};
use support::{Random, Shape, describe, random_history};

fn refutes_nothing(text: &str, refutation: &Refutation) {
    let history = notation::parse(text).unwrap();
    for level in IsolationLevel::of_papers() {
        assert!(satisfies(&history, level), "{text} holds at {level}");
        let anomaly = Anomaly { level, refutation: refutation.clone() };
        assert!(!anomaly.refutes(&history, level), "{text} at {level}");
    }
}

#[test]
fn one_of_two_equal_elements_is_not_taken_for_the_aborted_one() {
    let bad = BadRead::Aborted { read: EventId(2), write: EventId(0) };
    refutes_nothing("a: append(l,1) !; b: append(l,1); c: r(l,[1])", &Refutation::Read(bad));
}

#[test]
fn an_equal_element_does_not_make_an_unknown_transaction_count() {
    let bad = BadRead::ThinAir { read: EventId(0) };
    refutes_nothing("a: r(x,99) append(l,1) ?; b: append(l,1); c: r(l,[1])", &Refutation::Read(bad));
}

#[test]
fn an_equal_element_is_not_read_from_a_later_transaction_of_the_session() {
    let (first, second) = (Writer::Transaction(TransactionId(0)), Writer::Transaction(TransactionId(1)));
    let later = Edge { from: first, to: second, kind: EdgeKind::SessionOrder };
    let read = Edge { from: second, to: first, kind: EdgeKind::ReadsFrom { read: EventId(0) } };
    let proof = Proof { steps: vec![ProofStep::Cycle(vec![later, read])] };
    refutes_nothing("a: r(l,[1]) | append(l,1); b: append(l,1)", &Refutation::Proof(proof));
}

#[test]
fn nothing_follows_from_being_before_oneself() {
    let itself = Literal::Before(TransactionId(0), TransactionId(0));
    for clause in [vec![itself], vec![itself, itself]] {
        let proof = Proof { steps: vec![ProofStep::Clause(clause)] };
        refutes_nothing("a: r(x,init) w(x,1); b: r(x,1) w(x,2)", &Refutation::Proof(proof));
    }
}

#[test]
fn what_no_assumption_could_explain_needs_none() {
    let history = notation::parse("a: append(l,1); b: append(l,1); c: r(l,[1 1 1])").unwrap();
    let level = IsolationLevel::ReadCommitted;
    let anomaly = Anomaly { level, refutation: Refutation::Read(BadRead::DuplicateElement { read: EventId(2) }) };
    assert!(anomaly.refutes(&history, level));
}

/// Makes up refutations of one history.
struct Forger<'a> {
    history: &'a History,
    random: &'a mut Random,
}

impl Forger<'_> {
    fn event(&mut self) -> EventId {
        EventId(self.random.below(self.history.event_count()) as u32)
    }

    fn transaction(&mut self) -> TransactionId {
        TransactionId(self.random.below(self.history.transaction_count()) as u32)
    }

    fn writer(&mut self) -> Writer {
        if self.random.chance(15) { Writer::Initial } else { Writer::Transaction(self.transaction()) }
    }

    /// An event of a transaction that passes a test; any event when there is none.
    fn event_of(&mut self, writer: Writer, is_wanted: impl Fn(Action) -> bool) -> EventId {
        let Writer::Transaction(transaction) = writer else { return self.event() };
        let events = self.history.numbered_events_of(transaction).filter(|(_, event)| is_wanted(event.action));
        let events: Vec<EventId> = events.map(|(number, _)| number).collect();
        if events.is_empty() { self.event() } else { self.random.pick(&events) }
    }

    fn some(&mut self, is_wanted: impl Fn(Action) -> bool) -> EventId {
        let transaction = self.transaction();
        self.event_of(Writer::Transaction(transaction), is_wanted)
    }

    fn bad_read(&mut self) -> BadRead {
        let read = self.some(|action| action == Action::Read);
        let other = self.some(|action| action != Action::Read);
        match self.random.below(6) {
            0 => BadRead::Internal { read, own: other },
            1 => BadRead::Aborted { read, write: other },
            2 => BadRead::Intermediate { read, write: other },
            3 => BadRead::ThinAir { read },
            4 => BadRead::DuplicateElement { read },
            _ => BadRead::IncompatibleLists { read, other: self.some(|action| action == Action::Read) },
        }
    }

    fn edge(&mut self, from: Writer, to: Writer) -> Edge {
        let is_read = |action| action == Action::Read;
        let kind = match self.random.below(7) {
            0 => EdgeKind::SessionOrder,
            1 | 2 => EdgeKind::ReadsFrom { read: self.event_of(to, is_read) },
            3 => EdgeKind::VersionOrder { key: KeyId(self.random.below(self.history.key_count()) as u32) },
            4 | 5 => EdgeKind::Overwrites { read: self.event_of(from, is_read), writer: self.writer() },
            _ => {
                let reader = Writer::Transaction(self.transaction());
                let read = self.event_of(reader, is_read);
                let step = match self.random.chance(50) {
                    true => EdgeKind::SessionOrder,
                    false => EdgeKind::ReadsFrom { read: self.event_of(reader, is_read) },
                };
                EdgeKind::MustSee { read, path: vec![Edge { from, to: reader, kind: step }] }
            }
        };
        Edge { from, to, kind }
    }

    fn cycle(&mut self) -> ProofStep {
        let length = 2 + self.random.below(2);
        let stations: Vec<Writer> = (0..length).map(|_| self.writer()).collect();
        let edges = (0..length).map(|place| self.edge(stations[place], stations[(place + 1) % length]));
        ProofStep::Cycle(edges.collect())
    }

    fn step(&mut self) -> ProofStep {
        if self.random.chance(70) { self.cycle() } else { self.clause() }
    }

    fn clause(&mut self) -> ProofStep {
        let literal = |it: &mut Self| match it.random.below(4) {
            0 => Literal::ReadsFrom(it.some(|action| action == Action::Read), Writer::Transaction(it.transaction())),
            1 => Literal::NotReadsFrom(it.some(|action| action == Action::Read), Writer::Initial),
            _ => Literal::Before(it.transaction(), it.transaction()),
        };
        let mut literals: Vec<Literal> = (0..self.random.below(4)).map(|_| literal(self)).collect();
        // What stands twice is read twice.
        if self.random.below(3) == 0 {
            literals.extend(literals.first().copied());
        }
        ProofStep::Clause(literals)
    }

    fn assumption(&mut self) -> Assumption {
        let transaction = self.transaction();
        let append = self.some(|action| action == Action::Append);
        let event = self.history.event(append);
        match self.random.below(3) {
            0 => Assumption::Committed(transaction),
            1 => Assumption::NotCommitted(transaction),
            _ => {
                let mut appends: Vec<EventId> = (0..self.history.event_count() as u32).map(EventId).collect();
                appends.retain(|&other| {
                    let other = self.history.event(other);
                    other.action == Action::Append && (other.key, other.value) == (event.key, event.value)
                });
                let order = self.random.permutation(appends.len());
                let appends = order.into_iter().map(|place| appends[place]).collect();
                Assumption::Appends { key: event.key, element: event.value, appends }
            }
        }
    }

    fn made_up(&mut self) -> Refutation {
        match self.random.below(10) {
            0..=3 => Refutation::Read(self.bad_read()),
            4..=7 => Refutation::Proof(Proof { steps: (0..self.random.up_to(2)).map(|_| self.step()).collect() }),
            _ => {
                let answers = self.random.up_to(2);
                Refutation::Split((0..answers).map(|_| (self.assumption(), self.leaf())).collect())
            }
        }
    }

    fn leaf(&mut self) -> Refutation {
        match self.random.chance(50) {
            true => Refutation::Read(self.bad_read()),
            false => Refutation::Proof(Proof { steps: vec![self.cycle()] }),
        }
    }

    /// Changes one thing somewhere.
    fn change(&mut self, refutation: &mut Refutation) {
        if self.random.chance(10) {
            *refutation = self.made_up();
            return;
        }
        let whole = refutation.clone();
        match refutation {
            Refutation::Read(bad) => *bad = self.bad_read(),
            Refutation::Proof(proof) => self.change_proof(proof),
            Refutation::Split(answers) => self.change_split(answers, whole),
            Refutation::Alone(transactions) => transactions.push(self.transaction()),
        }
        // What is taken out of its split is the lie that lists invite.
        if let Refutation::Split(answers) = refutation
            && !answers.is_empty()
            && self.random.chance(40)
        {
            *refutation = self.random.pick(answers).1;
        }
    }

    fn change_split(&mut self, answers: &mut Vec<(Assumption, Refutation)>, whole: Refutation) {
        if answers.is_empty() {
            return;
        }
        let (one, other) = (self.random.below(answers.len()), self.random.below(answers.len()));
        match self.random.below(5) {
            0 => drop(answers.remove(one)),
            1 => answers[one].0 = self.assumption(),
            2 => answers[one].1 = answers[other].1.clone(),
            3 => answers[one].1 = whole,
            _ => self.change(&mut answers[one].1),
        }
    }

    fn change_proof(&mut self, proof: &mut Proof) {
        if proof.steps.is_empty() || self.random.chance(15) {
            let step = self.step();
            proof.steps.push(step);
            return;
        }
        let place = self.random.below(proof.steps.len());
        match &mut proof.steps[place] {
            _ if self.random.chance(20) => drop(proof.steps.remove(place)),
            ProofStep::Cycle(edges) if !edges.is_empty() => {
                let at = self.random.below(edges.len());
                edges[at] = self.edge(edges[at].from, edges[at].to);
            }
            step => *step = self.clause(),
        }
    }
}

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Histories that some level allows, most of them with a list: in others there is nothing to lie about.
#[test]
fn no_forged_refutation_of_a_history_that_holds_is_believed() {
    let (seed, count) = (environment("SKEW_SEED", 7), environment("SKEW_HISTORIES", 3_000));
    eprintln!("forged refutations: {count} histories from seed {seed}");
    let (mut tried, mut believed) = (0u64, 0u64);
    let levels: Vec<IsolationLevel> = IsolationLevel::of_papers().collect();
    for number in 0..count {
        let random = &mut Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let shape = Shape { lists: number % 3 > 0, duplicates: true, outcomes: number % 4 > 0, ..Shape::any(random) };
        let history = random_history(random, &shape);
        let reports = check_levels(&history, &levels, Options::default(), Budget::UNLIMITED);
        let holds = |level: IsolationLevel| reports.iter().any(|known| known.level == level && known.verdict.holds());
        let allowed: Vec<IsolationLevel> = levels.iter().copied().filter(|&level| holds(level)).collect();
        let found = reports.iter().filter_map(|report| match &report.verdict {
            Verdict::Fails(anomaly) => Some(anomaly.refutation.clone()),
            _ => None,
        });
        let found: Vec<Refutation> = found.collect();
        if history.event_count() == 0 || allowed.is_empty() {
            continue;
        }
        for _ in 0..40 {
            let mut forger = Forger { history: &history, random };
            let refutation = if found.is_empty() || forger.random.chance(50) {
                forger.made_up()
            } else {
                let mut refutation = forger.random.pick(&found);
                (0..forger.random.up_to(3)).for_each(|_| forger.change(&mut refutation));
                refutation
            };
            let level = random.pick(&levels);
            let anomaly = Anomaly { level, refutation };
            tried += 1;
            for asked in levels.iter().copied().filter(|&asked| anomaly.refutes(&history, asked)) {
                believed += 1;
                let is_true = !holds(asked);
                assert!(is_true, "{asked} holds, and this is believed: {anomaly:?} of\n{}", describe(&history));
            }
        }
    }
    assert!(tried > 10 * count && believed > count / 10, "of {tried} lies {believed} are true after all");
}
