//! The search against the definition: whatever brute force finds is found, and whatever is found is a schedule that can happen.
//!
//! Programs are drawn by chance and written as SQL, so that reading, unfolding and searching are tried together.

use crate::reference::{Concrete, has_counterexample, is_counterexample};
use crate::robustness::{Robustness, RobustnessAnalysis};
use crate::search::{SearchOutcome, Searcher};
use crate::split::{Level, SplitFound};
use crate::steps::MOST_STEPS_IN_ALL;
use crate::template::{Template, TermNode};
use crate::transaction::Transactions;
use crate::unfold::{UnfoldOptions, Vocabulary, unfold};
use crate::witness::values;
use skew_chance::Random;
use skew_program::Program;

fn templates(text: &str, options: UnfoldOptions) -> Vec<Template> {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let transactions = Transactions::of(&program);
    assert_eq!(transactions.unsupported, [], "{text}");
    unfold(&transactions, &Vocabulary::of(&transactions), options).unwrap_or_else(|error| panic!("{error:?}")).templates
}

const TABLES: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL);
CREATE TABLE u (id INT PRIMARY KEY, a INT NOT NULL, link INT NOT NULL);
";

fn statement(random: &mut Random) -> String {
    let table = ["t", "u"][random.index(2)];
    let key = ["p", "q", "x", "1"][random.index(4)];
    let column = if table == "t" { ["a", "b"][random.index(2)] } else { "a" };
    match random.index(9) {
        0 | 1 => format!("SELECT {column} INTO z FROM {table} WHERE id = {key};"),
        2 => "SELECT link INTO x FROM u WHERE id = p;".to_owned(),
        3 => format!("SELECT {column} INTO z FROM {table} WHERE id = {key} FOR UPDATE;"),
        4 | 5 => format!("UPDATE {table} SET {column} = {column} + 1 WHERE id = {key};"),
        6 => format!("UPDATE {table} SET {column} = 0 WHERE id = {key};"),
        7 => "UPDATE t SET a = b WHERE id = p;".to_owned(),
        _ => format!("SELECT SUM(a) INTO z FROM {table} WHERE id IN (p, q);"),
    }
}

fn program(random: &mut Random) -> String {
    let mut text = TABLES.to_owned();
    for number in 0..1 + random.index(3) {
        let body: Vec<String> = (0..1 + random.index(3)).map(|_| statement(random)).collect();
        let body = body.join(" ");
        text += &format!("CREATE PROCEDURE p{number}(IN p INT, IN q INT) BEGIN DECLARE x, z INT; {body} END;\n");
    }
    text
}

/// All instances of a template whose keys have values from a small domain; other values do not matter.
fn instances<'a>(template: &'a Template, level: Level) -> Vec<Concrete<'a>> {
    let is_key =
        |term: usize| template.terms.iter().any(|node| matches!(node, TermNode::Row(_, _, key) if key.contains(&term)));
    let free = template.terms.iter().enumerate().filter(|(_, node)| matches!(node, TermNode::Free(_)));
    let keys: Vec<bool> = free.map(|(term, _)| is_key(term)).collect();
    let count = keys.iter().filter(|is_key| **is_key).count();
    (0..1_usize << count)
        .map(|choice| {
            let mut left = choice;
            let mut value = |is_key: &bool| {
                let value = if *is_key { 1 + (left & 1) } else { 1 };
                left >>= usize::from(*is_key);
                value
            };
            let values: Vec<usize> = keys.iter().map(&mut value).collect();
            Concrete::new(template, level, &values)
        })
        .collect()
}

/// Whether instances go wrong together, with all their rows or without some of them.
fn go_wrong(set: &[&Concrete<'_>]) -> bool {
    // A cycle of two has two conflicts; a cycle of three that is none of two has one between any two.
    let least = if set.len() == 2 { 2 } else { 1 };
    let pairs = set.iter().enumerate().flat_map(|(place, one)| set[place + 1..].iter().map(move |two| (one, two)));
    if pairs.into_iter().any(|(one, two)| one.conflicts(two) < least) {
        return false;
    }
    let rows = set.iter().flat_map(|one| one.template.optional.iter().map(|row| one.values[*row]));
    let mut rows: Vec<usize> = rows.collect();
    rows.sort_unstable();
    rows.dedup();
    let choices = 0..1_usize << rows.len().min(2);
    choices.into_iter().any(|choice| {
        let missing: Vec<usize> =
            (0..rows.len().min(2)).filter(|place| choice >> place & 1 == 1).map(|one| rows[one]).collect();
        let mut instances: Vec<Concrete<'_>> = set.iter().map(|one| (*one).clone()).collect();
        instances.iter_mut().for_each(|one| one.missing.clone_from(&missing));
        has_counterexample(&instances)
    })
}

/// Whether brute force finds two or three instances that go wrong together.
fn goes_wrong(templates: &[Template], levels: &[Option<Level>], three: bool) -> bool {
    let all: Vec<Concrete<'_>> = templates
        .iter()
        .flat_map(|template| levels[template.procedure].map(|level| instances(template, level)).unwrap_or_default())
        .collect();
    for (number, one) in all.iter().enumerate() {
        for (next, two) in all.iter().enumerate().skip(number) {
            if go_wrong(&[one, two]) {
                return true;
            }
            for third in all.iter().skip(next).filter(|_| three) {
                let set = [one, two, third];
                let chunks: usize = set.iter().map(|one| one.template.chunks.len()).sum();
                if chunks <= 4 && go_wrong(&set) {
                    return true;
                }
            }
        }
    }
    false
}

/// Whether what was found can happen: as it was found, or, because of locks, in some other order.
fn happens(templates: &[Template], found: &SplitFound, levels: &[Option<Level>]) -> bool {
    let used: Vec<&Template> = found.templates.iter().map(|number| &templates[*number]).collect();
    let values = values(&used, found);
    let missing: Vec<usize> = found.missing.iter().map(|row| values[0][*row]).collect();
    let level = |template: &Template| levels[template.procedure].expect("a level");
    let instances: Vec<Concrete<'_>> = used
        .iter()
        .zip(values)
        .map(|(template, values)| Concrete { template, level: level(template), values, missing: missing.clone() })
        .collect();
    let begins = |number: usize| usize::from(instances[number].level != Level::ReadCommitted);
    let mut schedule = vec![0; found.prefix + begins(0)];
    for (number, template) in used.iter().enumerate().skip(1) {
        schedule.extend(std::iter::repeat_n(number, template.chunks.len() + 1 + begins(number)));
    }
    schedule.extend(std::iter::repeat_n(0, used[0].chunks.len() - found.prefix + 1));
    is_counterexample(&instances, &schedule) || (instances.len() < 4 && has_counterexample(&instances))
}

fn compare(seeds: std::ops::Range<u64>, three: bool) {
    let (mut robust, mut broken) = (0, 0);
    for seed in seeds {
        let mut random = Random::new(seed);
        let text = program(&mut random);
        let options =
            UnfoldOptions { cells: random.chance(0.7), atomic: random.chance(0.8), functional: random.chance(0.8) };
        let templates = templates(&text, options);
        let procedures = text.matches("PROCEDURE").count();
        let levels: Vec<Option<Level>> = (0..procedures).map(|_| Some(Level::ALL[random.index(3)])).collect();
        match Searcher::new(templates.clone(), MOST_STEPS_IN_ALL).search(&levels) {
            SearchOutcome::Found(found) => {
                broken += 1;
                assert!(
                    happens(&templates, &found, &levels),
                    "seed {seed}: {levels:?} {found:?}\n{text}\n{templates:#?}"
                );
            }
            SearchOutcome::Nothing => {
                robust += 1;
                assert!(!goes_wrong(&templates, &levels, three), "seed {seed}: {levels:?} {options:?}\n{text}");
            }
            SearchOutcome::TooLong => panic!("seed {seed}: given up\n{text}"),
        }
    }
    assert!(robust > 5 && broken > 5, "{robust} robust, {broken} not");
}

#[test]
fn what_is_found_happens_and_what_two_instances_can_do_is_found() {
    compare(0..250, false);
}

#[test]
fn what_three_instances_can_do_is_found() {
    compare(1_000..1_080, true);
}

#[test]
fn a_write_that_finds_no_row_forbids_nothing() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);
CREATE TABLE guard (id INT PRIMARY KEY, enabled INT NOT NULL, n INT NOT NULL);
CREATE PROCEDURE p(IN mine INT, IN other INT)
BEGIN
  DECLARE a INT;
  SELECT v INTO a FROM t WHERE id = other;
  UPDATE guard SET n = n + 1 WHERE id = 0 AND enabled = 1;
  UPDATE t SET v = a + 1 WHERE id = mine;
END;";
    let templates = templates(text, UnfoldOptions::default());
    let searcher = Searcher::new(templates, MOST_STEPS_IN_ALL);
    assert!(matches!(searcher.search(&[Some(Level::Snapshot)]), SearchOutcome::Found(_)));
    assert!(matches!(searcher.search(&[Some(Level::Serializable)]), SearchOutcome::Nothing));
}

/// Branches and loops under a lock: many paths, that meet in many ways, and none of them goes wrong.
const BRANCHES: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL);
CREATE TABLE c (t INT REFERENCES t (id), n INT, a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (t, n));
CREATE PROCEDURE p(IN p INT, IN q INT, OUT z INT)
BEGIN
  DECLARE x, i INT DEFAULT 1;
  SELECT a INTO z FROM t WHERE id = p FOR UPDATE;
  IF z > 0 THEN
    UPDATE c SET a = a + 1 WHERE t = p AND n = q;
  ELSE
    SELECT b INTO x FROM c WHERE t = p AND n = q;
    UPDATE c SET a = x WHERE t = p AND n = q;
  END IF;
  WHILE i <= z DO
    SELECT a INTO x FROM c WHERE t = p AND n = q + i;
    IF x > 0 THEN UPDATE c SET b = b - x WHERE t = p AND n = i; END IF;
    SET i = i + 1;
  END WHILE;
  UPDATE t SET a = a + 1 WHERE id = p;
END;
CREATE PROCEDURE r(IN p INT, IN q INT)
BEGIN
  DECLARE z INT;
  SELECT a INTO z FROM t WHERE id = p FOR UPDATE;
  IF z > 1 THEN UPDATE c SET a = 0 WHERE t = p AND n = q; ELSE UPDATE c SET b = 0 WHERE t = p AND n = 1; END IF;
END;";

fn asked(text: &str, most: usize) -> (RobustnessAnalysis, Vec<Robustness>) {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
    let analysis = RobustnessAnalysis::new(Transactions::of(&program), UnfoldOptions::default());
    let analysis = analysis.unwrap_or_else(|error| panic!("{error:?}")).within(most);
    let count = analysis.transactions().procedures.len();
    let answers = Level::ALL.iter().map(|level| analysis.ask(&vec![Some(*level); count])).collect();
    (analysis, answers)
}

#[test]
fn branches_and_loops_take_few_steps() {
    let (analysis, answers) = asked(BRANCHES, MOST_STEPS_IN_ALL);
    assert!(answers[0].is_robust(), "{answers:?}");
    assert!(analysis.lowest().is_some());
    assert!(analysis.steps() < 200_000, "{} steps", analysis.steps());
}

#[test]
fn a_question_that_takes_too_long_is_given_up_with_its_reason() {
    let (analysis, answers) = asked(BRANCHES, 1_000);
    assert!(answers.iter().any(|answer| matches!(answer, Robustness::Unknown(_))), "{answers:?}");
    let lowest = analysis.lowest().expect("nothing is left to serializable");
    assert!(lowest.iter().all(|level| *level == Level::Serializable), "{lowest:?}");
    assert!(analysis.steps() <= 1_000);
}
