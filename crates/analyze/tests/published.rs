//! Published results, from SQL texts: SmallBank (which lies beside the project), TPC-C as point statements, and the small classics.
//!
//! A read is *promoted* by putting an UPDATE that changes nothing before it, or by adding FOR UPDATE: in the text, as a user would.

use skew_analyze::{Level, RobustnessAnalysis, Transactions, UnfoldOptions};
use skew_program::Program;
use std::path::PathBuf;

const CELLS: UnfoldOptions = UnfoldOptions { cells: true, atomic: true, functional: true };
const ROWS: UnfoldOptions = UnfoldOptions { cells: false, ..CELLS };
const SPLIT_ROWS: UnfoldOptions = UnfoldOptions { cells: false, atomic: false, functional: true };
const INDEPENDENT: UnfoldOptions = UnfoldOptions { functional: false, ..CELLS };

fn analysis(text: &str, options: UnfoldOptions) -> RobustnessAnalysis {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let transactions = Transactions::of(&program);
    assert_eq!(transactions.unsupported, [], "{text}");
    RobustnessAnalysis::new(transactions, options).unwrap_or_else(|error| panic!("{error:?}"))
}

/// SmallBank; nothing where the shared folder is not there.
fn smallbank() -> Option<String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SKEW_SHARED").map_or_else(beside, PathBuf::from);
    match std::fs::read_to_string(shared.join("analyze/smallbank.sql")) {
        Ok(text) => Some(text),
        Err(_) => {
            skew_testing::skipped("results about SmallBank: there is no shared folder with analyze/smallbank.sql");
            None
        }
    }
}

fn tpcc() -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/analyze/tpcc-kv.sql");
    std::fs::read_to_string(file).expect("the example is there")
}

/// The words of levels: RC, SI, SSI.
fn words(levels: &[Level]) -> String {
    let word = |level: &Level| match level {
        Level::ReadCommitted => "RC",
        Level::Snapshot => "SI",
        Level::Serializable => "SSI",
    };
    levels.iter().map(word).collect::<Vec<&str>>().join(" ")
}

/// The lowest levels of some procedures, in this order.
fn lowest(text: &str, options: UnfoldOptions, procedures: &[&str]) -> String {
    let analysis = analysis(text, options);
    let levels = analysis.lowest().expect("levels");
    let place = |name: &&str| {
        let all = &analysis.transactions().procedures;
        all.iter().position(|procedure| procedure.name == *name).unwrap_or_else(|| panic!("there is no {name}"))
    };
    words(&procedures.iter().map(|name| levels[place(name)]).collect::<Vec<Level>>())
}

/// The largest sets that are robust at read committed, with short names.
fn subsets(text: &str, options: UnfoldOptions, short: &[(&str, &str)]) -> Vec<String> {
    let analysis = analysis(text, options);
    let sets = analysis.maximal_subsets(Level::ReadCommitted).expect("few procedures");
    let name = |number: &usize| {
        let name = &analysis.transactions().procedures[*number].name;
        short.iter().position(|(long, _)| long == name).unwrap_or_else(|| panic!("{name} has no short name"))
    };
    let told = |set: &Vec<usize>| {
        let mut places: Vec<usize> = set.iter().map(name).collect();
        places.sort_unstable();
        places.iter().map(|place| short[*place].1).collect::<Vec<&str>>().join(",")
    };
    let mut sets: Vec<String> = sets.iter().map(told).collect();
    sets.sort();
    sets
}

const BANK: [(&str, &str); 5] = [
    ("amalgamate", "Am"),
    ("balance", "Bal"),
    ("deposit_checking", "DC"),
    ("transact_savings", "TS"),
    ("write_check", "WC"),
];
const SHOP: [(&str, &str); 5] =
    [("delivery", "Del"), ("payment", "Pay"), ("new_order", "NO"), ("order_status", "OS"), ("stock_level", "SL")];

#[test]
fn subsets_of_smallbank_that_are_robust_against_read_committed() {
    let Some(text) = smallbank() else { return };
    for functional in [true, false] {
        let with = |options: UnfoldOptions| UnfoldOptions { functional, ..options };
        assert_eq!(subsets(&text, with(SPLIT_ROWS), &BANK), ["Bal"]);
        assert_eq!(subsets(&text, with(ROWS), &BANK), ["Am,DC,TS", "Bal,DC", "Bal,TS"]);
        assert_eq!(subsets(&text, with(CELLS), &BANK), ["Am,DC,TS", "Bal,DC", "Bal,TS"]);
    }
}

#[test]
fn subsets_of_tpcc_that_are_robust_against_read_committed() {
    let text = tpcc();
    assert_eq!(subsets(&text, SPLIT_ROWS, &SHOP), ["OS,SL"]);
    assert_eq!(subsets(&text, ROWS, &SHOP), ["Del,Pay,SL", "NO,SL", "Pay,OS,SL"]);
    assert_eq!(subsets(&text, CELLS, &SHOP), ["Del,Pay,NO,SL", "Pay,OS,SL"]);
}

#[test]
fn lowest_levels_of_tpcc() {
    let order = ["new_order", "delivery", "payment", "order_status", "stock_level"];
    assert_eq!(lowest(&tpcc(), CELLS, &order), "RC RC RC SI RC");
    assert_eq!(lowest(&tpcc(), ROWS, &order), "SSI SSI SSI SSI RC");
    assert_eq!(lowest(&tpcc(), SPLIT_ROWS, &order), "SSI SSI SSI SSI RC");
}

#[test]
fn tpcc_is_robust_against_snapshot_isolation_by_attributes_and_smallbank_is_not() {
    let all = |count: usize| vec![Some(Level::Snapshot); count];
    assert!(analysis(&tpcc(), CELLS).ask(&all(5)).is_robust());
    let Some(text) = smallbank() else { return };
    assert!(!analysis(&text, CELLS).ask(&all(5)).is_robust());
}

/// How reads are promoted.
#[derive(Clone, Copy)]
enum Promotion {
    Update,
    Lock,
}

/// A text in which some reads (`Bal:S`, `WC:C`) of SmallBank are promoted.
fn promoted(text: &str, reads: &str, promotion: Promotion) -> String {
    let mut text = text.to_owned();
    for read in reads.split(' ').filter(|read| !read.is_empty()) {
        let (procedure, tables) = read.split_once(':').expect("Bal:S");
        let procedure = if procedure == "Bal" { "balance" } else { "write_check" };
        for table in tables.split(',') {
            let (variable, table) = if table == "S" { ("s", "savings") } else { ("k", "checking") };
            let begin = text.find(&format!("PROCEDURE {procedure}(")).expect("the procedure");
            let read = format!("SELECT balance INTO {variable} FROM {table} WHERE custid = c;");
            let place = begin + text[begin..].find(&read).expect("the read");
            let instead = match promotion {
                Promotion::Update => format!("UPDATE {table} SET balance = balance WHERE custid = c; {read}"),
                Promotion::Lock => read.replace(';', " FOR UPDATE;"),
            };
            text.replace_range(place..place + read.len(), &instead);
        }
    }
    text
}

const COLUMNS: [&str; 5] = ["balance", "deposit_checking", "transact_savings", "amalgamate", "write_check"];

fn assert_lowest(rows: &[(&[&str], &str)], options: UnfoldOptions, promotion: Promotion) {
    let Some(text) = smallbank() else { return };
    let mut wrong = Vec::new();
    for (promotions, expected) in rows {
        for reads in *promotions {
            let found = lowest(&promoted(&text, reads, promotion), options, &COLUMNS);
            if found != *expected {
                wrong.push(format!("{reads:?}: {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn lowest_levels_of_smallbank_with_promoted_reads_and_independent_keys() {
    let rows: [(&[&str], &str); 6] = [
        (&["", "WC:C"], "SSI RC SSI SSI SSI"),
        (&["Bal:S", "Bal:S WC:C"], "SSI SSI SSI SSI SSI"),
        (&["Bal:C", "WC:S", "Bal:C WC:S", "Bal:C WC:C"], "SI RC RC RC SI"),
        (&["WC:S,C", "Bal:C WC:S,C"], "SI RC RC RC RC"),
        (&["Bal:S,C", "Bal:S WC:S", "Bal:S,C WC:S", "Bal:S,C WC:C"], "RC RC RC RC SI"),
        (&["Bal:S WC:S,C", "Bal:S,C WC:S,C"], "RC RC RC RC RC"),
    ];
    assert_lowest(&rows, INDEPENDENT, Promotion::Update);
}

#[test]
fn lowest_levels_of_smallbank_with_promoted_reads_and_functional_keys() {
    let rows: [(&[&str], &str); 6] = [
        (&["", "WC:C"], "SSI RC SSI RC SSI"),
        (&["Bal:S", "Bal:S WC:C"], "SSI RC RC RC SSI"),
        (&["Bal:C", "WC:S", "Bal:C WC:S", "Bal:C WC:C"], "SI RC RC RC SI"),
        (&["WC:S,C", "Bal:C WC:S,C"], "SI RC RC RC RC"),
        (&["Bal:S,C", "Bal:S WC:S", "Bal:S,C WC:S", "Bal:S,C WC:C"], "RC RC RC RC SI"),
        (&["Bal:S WC:S,C", "Bal:S,C WC:S,C"], "RC RC RC RC RC"),
    ];
    assert_lowest(&rows, CELLS, Promotion::Update);
}

#[test]
fn lowest_levels_of_smallbank_with_reads_for_update() {
    let rows: [(&[&str], &str); 5] = [
        (&["", "Bal:S", "Bal:C", "Bal:S,C", "WC:C", "Bal:S WC:C", "Bal:C WC:C", "Bal:S,C WC:C"], "SSI RC SSI RC SSI"),
        (&["WC:S", "Bal:C WC:S"], "SI RC RC RC SI"),
        (&["Bal:S WC:S", "Bal:S,C WC:S"], "RC RC RC RC SI"),
        (&["WC:S,C", "Bal:C WC:S,C"], "SI RC RC RC RC"),
        (&["Bal:S WC:S,C", "Bal:S,C WC:S,C"], "RC RC RC RC RC"),
    ];
    assert_lowest(&rows, CELLS, Promotion::Lock);
}

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);\n";

/// The lowest levels of procedures, given by their bodies over parameters i and j.
fn small(bodies: &[&str]) -> String {
    let procedure = |(number, body): (usize, &&str)| {
        format!("CREATE PROCEDURE p{number}(IN i INT, IN j INT, IN n INT) BEGIN DECLARE a, b INT; {body} END;\n")
    };
    let text: String = bodies.iter().enumerate().map(procedure).collect();
    let names: Vec<String> = (0..bodies.len()).map(|number| format!("p{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    lowest(&format!("{TABLE}{text}"), CELLS, &names)
}

#[test]
fn lowest_levels_of_the_small_classics() {
    let read_then_set = "SELECT v INTO a FROM t WHERE id = i; UPDATE t SET v = n WHERE id = i;";
    assert_eq!(small(&[read_then_set]), "SI");
    let locked = "SELECT v INTO a FROM t WHERE id = i FOR UPDATE; UPDATE t SET v = n WHERE id = i;";
    assert_eq!(small(&[locked]), "RC");
    assert_eq!(small(&["UPDATE t SET v = v - 1 WHERE id = i;"]), "RC");
    let transfer = "UPDATE t SET v = v - n WHERE id = i; UPDATE t SET v = v + n WHERE id = j;";
    assert_eq!(small(&[transfer]), "RC");
    let audit = "SELECT v INTO a FROM t WHERE id = i; SELECT v INTO b FROM t WHERE id = j;";
    assert_eq!(small(&[audit, transfer]), "SI RC");
    assert_eq!(small(&["SELECT SUM(v) INTO a FROM t WHERE id IN (i, j);", transfer]), "RC RC");
    assert_eq!(small(&["SELECT SUM(v) INTO a FROM t;", transfer]), "RC RC");
    let writer = "UPDATE t SET v = n WHERE id = i; UPDATE t SET v = n WHERE id = j;";
    assert_eq!(small(&[audit, writer]), "SI RC");
}

#[test]
fn doctors_on_call_need_serializable_or_both_reads_promoted() {
    let on_call =
        "SELECT v INTO a FROM t WHERE id = i; SELECT v INTO b FROM t WHERE id = j; UPDATE t SET v = 0 WHERE id = i;";
    assert_eq!(small(&[on_call]), "SSI");
    let updated = "UPDATE t SET v = v WHERE id = i; UPDATE t SET v = v WHERE id = j; UPDATE t SET v = 0 WHERE id = i;";
    assert_eq!(small(&[updated]), "RC");
    let locked = on_call.replacen("id = i;", "id = i FOR UPDATE;", 1).replacen("id = j;", "id = j FOR UPDATE;", 1);
    assert_eq!(small(&[&locked]), "RC");
}

#[test]
fn locking_the_parent_is_right_at_read_committed_and_wrong_on_a_snapshot() {
    let text = "CREATE TABLE shop (id INT PRIMARY KEY, places INT NOT NULL);
CREATE TABLE booking (shop INT, place INT, taken INT NOT NULL, PRIMARY KEY (shop, place), FOREIGN KEY (shop) REFERENCES shop (id));
CREATE PROCEDURE book(IN s INT, IN one INT, IN other INT)
BEGIN
  DECLARE n, a INT;
  SELECT places INTO n FROM shop WHERE id = s FOR UPDATE;
  SELECT taken INTO a FROM booking WHERE shop = s AND place = other;
  UPDATE booking SET taken = 1 WHERE shop = s AND place = one;
END;";
    let safe = analysis(text, CELLS);
    assert!(safe.ask(&[Some(Level::ReadCommitted)]).is_robust());
    assert!(!safe.ask(&[Some(Level::Snapshot)]).is_robust());
    assert!(safe.ask(&[Some(Level::Serializable)]).is_robust());
    // Without the foreign key there may be bookings of a shop that is not there, which nobody can lock.
    let loose = analysis(&text.replace(", FOREIGN KEY (shop) REFERENCES shop (id)", ""), CELLS);
    assert!(!loose.ask(&[Some(Level::ReadCommitted)]).is_robust());
}

#[test]
fn a_search_that_locks_looks_once_more_after_its_wait() {
    let hand_over = "UPDATE t SET v = 0 WHERE id = i; UPDATE t SET v = 1 WHERE id = j;";
    // Found and locked by one condition: whoever is on call is missed when the duty changes hands in the middle of the statement.
    let text = format!(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, calls INT NOT NULL);
CREATE PROCEDURE hand_over(IN i INT, IN j INT) BEGIN {hand_over} END;
CREATE PROCEDURE page() BEGIN UPDATE t SET calls = 1 WHERE v = 1; END;"
    );
    let changing = analysis(&text, CELLS);
    assert!(!changing.ask(&[Some(Level::ReadCommitted); 2]).is_robust());
    let locking =
        analysis(&text.replace("UPDATE t SET calls = 1 WHERE v = 1", "SELECT id FROM t WHERE v = 1 FOR UPDATE"), CELLS);
    assert!(!locking.ask(&[Some(Level::ReadCommitted); 2]).is_robust());
    assert!(locking.ask(&[Some(Level::Snapshot); 2]).is_robust());
}
