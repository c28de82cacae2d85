//! Every method of a transaction, on both servers, with the lines that it leaves.

use crate::{finished, holds, installed};
use skew_history::{History, IsolationLevel, Outcome};
use skew_value::Dialect;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use skew_workload::table::{Table, int, text};
use skew_workload::{
    Assertion, Failure, FinalState, Loader, Operation, Options, Random, Transaction, Url, Value, Workload,
};

const SHOPS: Table = Table::new("shops", &[int("id")], &[text("name")]).with_constraints(&["UNIQUE (name)"]);
const ITEMS: Table = Table::new("items", &[int("shop"), text("code")], &[int("stock"), text("remark")])
    .with_indexes(&["stock"])
    .with_constraints(&["FOREIGN KEY (shop) REFERENCES {shops} (id)"]);

/// One session that does everything once.
struct Everything;

impl Workload for Everything {
    fn name(&self) -> &'static str {
        "everything"
    }

    fn tables(&self) -> &[Table] {
        &[SHOPS, ITEMS]
    }

    fn load(&self, loader: &mut Loader) {
        loader.insert(&SHOPS, 1, "Ann's \\ \"shop\"");
        loader.insert(&ITEMS, (1, "a/b"), (10, None::<i64>));
        loader.insert(&ITEMS, (1, "c"), (20, "é"));
    }

    fn draw(&self, _: &mut Random, _: usize, number: u64) -> Operation {
        match number {
            0 => Operation::new("changes", changes),
            1 => Operation::new("reads", reads),
            2 => Operation::new("unique", |transaction| transaction.insert(&SHOPS, 2, "Ann's \\ \"shop\"")),
            3 => Operation::new("foreign", |transaction| transaction.insert(&ITEMS, (9, "x"), (0, "y"))),
            4 => Operation::new("back", |transaction| {
                transaction.update(&SHOPS, 1, "name = ?", "another")?;
                Err(Failure::RolledBack)
            }),
            5 => Operation::new("passed over", |transaction| {
                // The program ignores the failure; the transaction does not commit all the same.
                let _ = transaction.insert(&SHOPS, 1, "again");
                Ok(())
            }),
            _ => Operation::observed("several", |transaction| Ok(vec![Value::Int(count(transaction)?)])),
        }
    }

    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        let seen: Vec<Value> = end.observations().iter().flat_map(|observation| observation.values.clone()).collect();
        let stock = end.number("SELECT SUM(stock) FROM {items} WHERE shop = ?", 1)?;
        let nothing = end.number("SELECT SUM(stock) FROM {items} WHERE shop = ?", 5)?;
        let found = format!("{seen:?} {stock} {nothing} {}", end.is_complete());
        Ok(vec![Assertion::new("stock", stock == 27, found)])
    }
}

fn count(transaction: &mut Transaction<'_>) -> Result<i64, Failure> {
    let rows = transaction.query("SELECT COUNT(*) FROM {items}", ())?;
    rows[0].int(0)
}

fn changes(transaction: &mut Transaction<'_>) -> Result<(), Failure> {
    assert!(transaction.update(&ITEMS, (1, "a/b"), "stock = stock + ?, remark = ?", (5, "more"))?);
    assert!(!transaction.update(&ITEMS, (1, "none"), "stock = ?", 0)?);
    let after = transaction.update_returning(&ITEMS, (1, "a/b"), "stock = stock - 1", (), &["stock", "remark"])?;
    let after = after.expect("the row is there");
    assert_eq!((after.int(0)?, after.text(1)?), (14, "more"));
    assert!(transaction.update_if(&ITEMS, (1, "c"), ("stock = ?", 20), ("stock = ?", 21))?);
    assert!(!transaction.update_if(&ITEMS, (1, "c"), ("stock = ?", 20), ("stock = ?", 22))?);
    transaction.insert(&ITEMS, (1, "d"), (3, Value::Null))?;
    let changed = transaction.update_where(&ITEMS, ("stock > ?", 13), ("stock = stock - ?", 4))?;
    assert_eq!(changed.len(), 2);
    assert!(transaction.delete(&ITEMS, (1, "d"))? && !transaction.delete(&ITEMS, (1, "d"))?);
    transaction.insert(&ITEMS, (1, "e"), (100, Value::Null))?;
    assert_eq!(transaction.delete_where(&ITEMS, "stock >= ?", 100)?, [vec![Value::Int(1), "e".into()]]);
    Ok(())
}

fn reads(transaction: &mut Transaction<'_>) -> Result<(), Failure> {
    let shop = transaction.select(&SHOPS, 1, &["name"])?.expect("the shop is there");
    assert_eq!(shop.text(0)?, "Ann's \\ \"shop\"");
    assert_eq!(transaction.select(&ITEMS, (1, "e"), &["stock"])?, None);
    let locked = transaction.select_for_update(&ITEMS, (1, "c"), &["stock", "remark"])?.expect("it is there");
    assert_eq!((locked.int(0)?, locked.text(1)?), (17, "é"));
    let found = transaction.scan(&ITEMS, "shop = ? ORDER BY stock", 1, &["stock"])?;
    let found: Vec<(Value, i64)> = found.iter().map(|it| (it.key[1].clone(), it.row.int(0).unwrap_or(0))).collect();
    assert_eq!(found, [("a/b".into(), 10), ("c".into(), 17)]);
    assert_eq!(transaction.scan_for_update(&ITEMS, "", (), &[])?.len(), 2);
    assert_eq!(transaction.scan_prefix(&ITEMS, 1, &["stock"])?.len(), 2);
    assert_eq!(transaction.scan_prefix(&ITEMS, 9, &[])?, []);
    assert!(transaction.overwrite(&ITEMS, (1, "c"), "remark = ?", Value::Null)?);
    assert!(!transaction.overwrite(&ITEMS, (1, "none"), "remark = ?", Value::Null)?);
    Ok(())
}

fn everything_on(url: &Url) {
    let level = IsolationLevel::Snapshot;
    let options = Options { sessions: 1, operations: 7, level, ..Options::new(url.clone()) };
    let (report, history) = finished(&Everything, &options);
    assert_eq!((report.committed, report.rolled_back, report.given_up), (3, 1, 0));
    assert_eq!(
        report.aborted.iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>(),
        ["foreign key violation 1", "unique violation 2"]
    );
    assert_eq!(report.assertions[0].detail, "[Int(2)] 27 0 true");
    assert!(report.assertions[0].holds);
    assert_eq!((report.notes.deletions, report.notes.unrecorded), (2, 1));
    for level in [IsolationLevel::Serializable, IsolationLevel::StrictSerializable, IsolationLevel::Declared] {
        assert!(holds(&history, level), "{level}");
    }
    assert!(history.find_key("items/1/a%2Fb").is_some());
    let outcomes: Vec<Outcome> = history.transactions().map(|id| history.outcome(id)).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Outcome::Committed).count(), 3);
    events(&history, if url.dialect == Dialect::MySql { "locking " } else { "" });
}

/// The events of the first transaction: both updates of one row say what they replaced. InnoDB locks the gap where a row might be.
fn events(history: &History, absence: &str) {
    let first = history.transactions().next().expect("there are seven");
    let shown: Vec<String> = history
        .events_of(first)
        .iter()
        .take(6)
        .map(|event| {
            let lock = if event.locking { "locking " } else { "" };
            format!("{lock}{:?} {} {}", event.action, history.key_name(event.key), history.show(event.value))
        })
        .collect();
    assert_eq!(shown[0], "locking Read items/1/a%2Fb 0", "{shown:?}");
    assert_eq!(shown[1], "Write items/1/a%2Fb 1000000001", "{shown:?}");
    // The update of no row has read that there is none.
    assert_eq!(shown[2], format!("{absence}Read items/1/none nil"), "{shown:?}");
    assert_eq!(shown[3], "locking Read items/1/a%2Fb 1000000001", "{shown:?}");
}

#[test]
fn every_method_works_on_postgresql() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    everything_on(server.url());
}

#[test]
fn every_method_works_on_mariadb() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    everything_on(server.url());
}
