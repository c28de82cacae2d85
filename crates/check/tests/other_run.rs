//! Some other run, asked as a tool that predicts will ask.

mod support;

use skew_check::spec::satisfies;
use skew_check::{Budget, CommitOrder, Formula, IsolationLevel, OtherRun, Solution, SomeRun, Term};
use skew_history::{EventId, History, Writer, notation};
use support::Random;

fn parse(text: &str) -> History {
    notation::parse(text).expect("a history")
}

fn found(run: &OtherRun<'_>, level: IsolationLevel) -> Option<CommitOrder> {
    match run.find(level, Budget::UNLIMITED) {
        SomeRun::Found(order) => Some(order),
        SomeRun::Nothing => None,
        SomeRun::Unknown => panic!("there is no limit"),
    }
}

/// A run that one level allows and another does not: candidates of the first, until the second refuses one.
fn predict(run: &mut OtherRun<'_>, within: IsolationLevel, against: IsolationLevel) -> Option<Vec<(EventId, Writer)>> {
    while let Some(CommitOrder { choices, .. }) = found(run, within) {
        let mut candidate = run.clone();
        for &(read, writer) in &choices {
            candidate.may_read(read, &[writer]).expect("it was a candidate");
        }
        if found(&candidate, against).is_none() {
            return Some(choices);
        }
        run.exclude(&choices);
    }
    None
}

#[test]
fn a_serial_run_becomes_a_write_skew() {
    use IsolationLevel::{Causal, Serializable};
    let history = parse("a: r(x,init) r(y,init) w(x,1)\nb: r(x,1) r(y,init) w(y,2)");
    assert!(satisfies(&history, Serializable));
    let mut run = OtherRun::new(&history);
    let reads = run.reads().expect("no bad reads").expect("all committed");
    let changed = reads.iter().find(|read| read.writers != [Writer::Initial]).expect("b read from a").read;
    run.may_read(changed, &run.writers(changed)).expect("they are its writers");
    assert_eq!(predict(&mut run, Causal, Serializable), Some(vec![(changed, Writer::Initial)]));
}

#[test]
fn a_locking_read_cannot_change_to_what_is_not_the_latest() {
    use IsolationLevel::{ReadCommitted, Serializable};
    let history = parse("a: lock r(x,init) w(x,1)\nb: lock r(x,1) w(x,2)");
    let mut run = OtherRun::new(&history);
    let all = run.reads().expect("no bad reads").expect("all committed");
    for read in all {
        run.may_read(read.read, &run.writers(read.read)).expect("they are its writers");
    }
    assert_eq!(predict(&mut run, ReadCommitted, Serializable), None, "an atomic increment is never lost");
}

#[test]
fn who_left_no_version_is_refused() {
    let history = parse("a: r(x,init) w(x,1) r(x,1)\nb: w(x,2) !\nc: w(y,3)");
    let mut run = OtherRun::new(&history);
    assert_eq!(
        run.writers(EventId(0)),
        [Writer::Initial],
        "a itself, who aborted, who wrote something else: none of them"
    );
    assert_eq!(run.writers(EventId(1)), [], "a write");
    assert_eq!(run.writers(EventId(2)), [], "a read of an own write");
    let other = Writer::Transaction(history.transactions().last().expect("c"));
    assert!(run.may_read(EventId(0), &[Writer::Initial, other]).is_err() && run.may_read(EventId(0), &[]).is_err());
    assert!(run.may_read(EventId(99), &[Writer::Initial]).is_err());
}

/// Sessions of transactions that write x or y or read one of them; `?` stands for what is read.
fn random_text(random: &mut Random) -> String {
    let mut value = 0;
    let mut event = |random: &mut Random| {
        let key = random.pick(&["x", "y"]);
        let lock = if random.chance(15) { "lock " } else { "" };
        match random.chance(55) {
            true => format!("{lock}r({key},?{key})"),
            false => {
                value += 1;
                format!("w({key},{value})")
            }
        }
    };
    let mut transaction = |random: &mut Random| {
        let events: Vec<String> = (0..1 + random.below(3)).map(|_| event(random)).collect();
        events.join(" ")
    };
    let sessions = (0..2 + random.below(2)).map(|session| {
        let transactions: Vec<String> = (0..1 + random.below(2)).map(|_| transaction(random)).collect();
        format!("s{session}: {}", transactions.join(" | "))
    });
    sessions.collect::<Vec<_>>().join("\n")
}

/// The history in which every read returns what is said, in order.
fn with_values(text: &str, values: &[String]) -> History {
    let mut parts = text.split('?');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for (part, value) in parts.zip(values) {
        filled.push_str(value);
        filled.push_str(&part[1..]);
    }
    parse(&filled)
}

#[test]
fn what_is_found_is_what_brute_force_finds() {
    let mut runs = [0, 0];
    for seed in 0..400 {
        let random = &mut Random::new(9_000_000 + seed);
        let text = random_text(random);
        let reads = text.matches('?').count();
        if reads == 0 || reads > 4 {
            continue;
        }
        let observed = with_values(&text, &vec!["init".to_owned(); reads]);
        let mut run = OtherRun::new(&observed);
        let ids = (0..observed.event_count() as u32).map(EventId).filter(|&event| observed.event(event).is_read());
        let free: Vec<(EventId, Vec<Writer>)> = ids.map(|read| (read, run.writers(read))).collect();
        // A read of an own write is not free, and returns that.
        if free.iter().any(|(_, writers)| writers.is_empty()) {
            continue;
        }
        free.iter().for_each(|(read, writers)| run.may_read(*read, writers).expect("they are its writers"));
        for level in IsolationLevel::of_papers() {
            compare(&text, &observed, &free, &run, level, &mut runs);
        }
    }
    assert!(runs[0] > 500 && runs[1] > 50, "{runs:?}: runs that are allowed, and levels at which all are");
}

/// Takes one run after the other, until all that the level allows have been.
fn compare(
    text: &str,
    observed: &History,
    free: &[(EventId, Vec<Writer>)],
    run: &OtherRun<'_>,
    level: IsolationLevel,
    runs: &mut [usize; 2],
) {
    let allowed = choices(free).into_iter().filter(|choice| satisfies(&chosen(text, observed, free, choice), level));
    let mut allowed: Vec<Vec<Writer>> = allowed.collect();
    let mut run = run.clone();
    let all = free.iter().map(|(_, writers)| writers.len()).product::<usize>();
    runs[1] += usize::from(allowed.len() == all);
    while let Some(order) = found(&run, level) {
        let writer = |(read, writers): &(EventId, Vec<Writer>)| {
            let choice = order.choices.iter().find(|(event, _)| event == read);
            choice.map_or(writers[0], |(_, writer)| *writer)
        };
        let choice: Vec<Writer> = free.iter().map(writer).collect();
        let place = allowed.iter().position(|known| *known == choice);
        allowed.remove(place.unwrap_or_else(|| panic!("{level} does not allow {choice:?} in\n{text}")));
        let together: Vec<(EventId, Writer)> = free.iter().map(|(read, _)| *read).zip(choice).collect();
        run.exclude(&together);
        runs[0] += 1;
    }
    assert!(allowed.is_empty(), "{level} allows {allowed:?} in\n{text}");
}

fn choices(free: &[(EventId, Vec<Writer>)]) -> Vec<Vec<Writer>> {
    free.iter().fold(vec![Vec::new()], |all, (_, writers)| {
        let with = |choice: &Vec<Writer>| writers.iter().map(|&one| [&choice[..], &[one]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(with).collect()
    })
}

fn chosen(text: &str, observed: &History, free: &[(EventId, Vec<Writer>)], choice: &[Writer]) -> History {
    let value = |((read, _), writer): (&(EventId, Vec<Writer>), &Writer)| match writer {
        Writer::Initial => "init".to_owned(),
        Writer::Transaction(writer) => {
            let key = observed.event(*read).key;
            let mut writes = observed.events_of(*writer).iter().filter(|event| !event.is_read() && event.key == key);
            observed.show(writes.next_back().expect("a writer of the key").value).to_string()
        }
    };
    with_values(text, &free.iter().zip(choice).map(value).collect::<Vec<_>>())
}

#[test]
fn formulas_have_the_models_of_brute_force() {
    let mut solved = [0, 0];
    for seed in 0..600 {
        let random = &mut Random::new(7_000_000 + seed);
        let (variables, nodes) = (1 + random.below(6), 1 + random.below(5));
        let mut formula = Formula::new();
        let terms: Vec<Term> = (0..variables).map(|_| formula.variable()).collect();
        let term = |random: &mut Random| if random.chance(50) { random.pick(&terms) } else { !random.pick(&terms) };
        let clauses: Vec<Vec<Term>> =
            (0..random.below(8)).map(|_| (0..1 + random.below(3)).map(|_| term(random)).collect()).collect();
        let edges: Vec<(usize, usize, Vec<Term>)> = (0..random.below(10))
            .map(|_| (random.below(nodes), random.below(nodes), (0..random.below(3)).map(|_| term(random)).collect()))
            .collect();
        clauses.iter().for_each(|clause| formula.require(clause.iter().copied()));
        edges.iter().for_each(|(from, to, terms)| formula.before(*from, *to, terms));
        let holds = |is_true: &dyn Fn(Term) -> bool| {
            let held = edges.iter().filter(|(.., terms)| terms.iter().all(|&term| is_true(term)));
            clauses.iter().all(|clause| clause.iter().any(|&term| is_true(term)))
                && is_acyclic(nodes, &held.map(|&(from, to, _)| (from, to)).collect::<Vec<_>>())
        };
        let bit = |values: u32, term: Term| match terms.iter().position(|&other| other == term) {
            Some(place) => values >> place & 1 == 1,
            None => values >> terms.iter().position(|&other| other == !term).expect("a term") & 1 == 0,
        };
        let possible = (0..1u32 << variables).any(|values| holds(&|term| bit(values, term)));
        solved[usize::from(possible)] += 1;
        match formula.solve(Budget::UNLIMITED) {
            Solution::Model(model) => assert!(holds(&|term| model.is_true(term)), "seed {seed}"),
            Solution::Impossible => assert!(!possible, "seed {seed}"),
            Solution::Unknown => panic!("there is no limit"),
        }
        // The same where clauses are told only when they are broken.
        let mut known = Formula::new();
        assert_eq!(terms, terms.iter().map(|_| known.variable()).collect::<Vec<_>>());
        edges.iter().for_each(|(from, to, terms)| known.before(*from, *to, terms));
        let broken =
            |model: &skew_check::Model| clauses.iter().find(|one| !one.iter().any(|&term| model.is_true(term)));
        let solution = known.search(Budget::UNLIMITED, &mut |model| broken(model).cloned());
        assert_eq!(matches!(solution, Solution::Model(_)), possible, "seed {seed}");
        assert_eq!(matches!(known.solve(Budget::UNLIMITED), Solution::Model(_)), possible, "seed {seed}, again");
    }
    assert!(solved.iter().all(|&count| count > 50), "{solved:?}");
}

fn is_acyclic(nodes: usize, edges: &[(usize, usize)]) -> bool {
    let mut left: Vec<usize> = (0..nodes).collect();
    while let Some(place) =
        left.iter().position(|&node| !edges.iter().any(|&(from, to)| to == node && left.contains(&from)))
    {
        left.remove(place);
    }
    left.is_empty()
}
