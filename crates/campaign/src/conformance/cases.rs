//! The cases: two or three sessions each, on a table of two rows, in the order that would show one anomaly.
//!
//! ```text
//!   table (id, value):  1 10, 2 20
//! ```
//!
//! A case has a name that the literature knows, the statements, what their answers look like when the anomaly happened, and the same as a small
//! history. Which levels forbid a case is not said here: the checker is asked about its history.
//!
//! The names are Adya's (G0 to G2, G-single, OTV, PMP), and P4 is that of Berenson and others. All statements are understood by PostgreSQL and by MySQL.

use skew_workload::screenplay::Transcript;

/// One anomaly, as statements that would show it.
#[derive(Debug)]
pub struct Case {
    /// As the literature calls it.
    pub name: &'static str,
    /// What happens, in a few words.
    pub title: &'static str,
    /// The statements, with `{table}` for the table.
    pub(super) text: &'static str,
    /// Whether the answers show the anomaly.
    pub(super) happened: fn(&Transcript) -> bool,
    /// What clients saw then, in the notation of small histories.
    pub history: &'static str,
}

/// The rows before every case.
pub(super) const ROWS: &str = "(1, 10), (2, 20)";

/// All cases, the worst first.
pub const CASES: [Case; 14] = [
    G0,
    G1A,
    G1B,
    G1C,
    OTV,
    PMP,
    PMP_WRITE,
    P4,
    G_SINGLE,
    G_SINGLE_PREDICATE,
    G_SINGLE_WRITE,
    G2_ITEM,
    G2,
    G2_TWO_EDGES,
];

/// Whether an answer has these rows.
fn shows(transcript: &Transcript, name: &str, rows: &str) -> bool {
    transcript.rows(name).as_deref() == Some(rows)
}

/// Whether nobody was refused: then everybody committed who meant to.
fn all_went_well(transcript: &Transcript) -> bool {
    transcript.refusals().next().is_none()
}

const G0: Case = Case {
    name: "G0",
    title: "two transactions overwrite each other",
    text: "
        a: BEGIN
        b: BEGIN
        a: UPDATE {table} SET value = 11 WHERE id = 1
        b: UPDATE {table} SET value = 12 WHERE id = 1
        a: UPDATE {table} SET value = 21 WHERE id = 2
        a: COMMIT
        b: UPDATE {table} SET value = 22 WHERE id = 2
        b: COMMIT
        c end: SELECT id, value FROM {table} ORDER BY id",
    happened: |t| all_went_well(t) && (shows(t, "end", "1 11, 2 22") || shows(t, "end", "1 12, 2 21")),
    // Whoever looks afterwards sees half of each, in whatever order.
    history: "a: w(x,11) w(y,21)\nb: w(x,12) w(y,22)\nc: r(x,12) r(y,21) | r(y,21) r(x,12)",
};

const G1A: Case = Case {
    name: "G1a",
    title: "a read of what is rolled back later",
    text: "
        a: BEGIN
        b: BEGIN
        a: UPDATE {table} SET value = 101 WHERE id = 1
        b first: SELECT value FROM {table} WHERE id = 1
        a: ROLLBACK
        b: SELECT value FROM {table} WHERE id = 1
        b: COMMIT",
    happened: |t| shows(t, "first", "101"),
    history: "a: w(x,101) !\nb: r(x,101)",
};

const G1B: Case = Case {
    name: "G1b",
    title: "a read of what its writer overwrites later",
    text: "
        a: BEGIN
        b: BEGIN
        a: UPDATE {table} SET value = 101 WHERE id = 1
        b first: SELECT value FROM {table} WHERE id = 1
        a: UPDATE {table} SET value = 11 WHERE id = 1
        a: COMMIT
        b: SELECT value FROM {table} WHERE id = 1
        b: COMMIT",
    happened: |t| shows(t, "first", "101"),
    history: "a: w(x,101) w(x,11)\nb: r(x,101)",
};

const G1C: Case = Case {
    name: "G1c",
    title: "two transactions read from each other",
    text: "
        a: BEGIN
        b: BEGIN
        a: UPDATE {table} SET value = 11 WHERE id = 1
        b: UPDATE {table} SET value = 22 WHERE id = 2
        a other: SELECT value FROM {table} WHERE id = 2
        b other's: SELECT value FROM {table} WHERE id = 1
        a: COMMIT
        b: COMMIT",
    happened: |t| shows(t, "other", "22") && shows(t, "other's", "11"),
    history: "a: w(x,11) r(y,22)\nb: w(y,22) r(x,11)",
};

const OTV: Case = Case {
    name: "OTV",
    title: "a transaction that was seen is gone in the next statement",
    text: "
        a: BEGIN
        b: BEGIN
        c: BEGIN
        a: UPDATE {table} SET value = 11 WHERE id = 1
        a: UPDATE {table} SET value = 19 WHERE id = 2
        b: UPDATE {table} SET value = 12 WHERE id = 1
        a: COMMIT
        c first: SELECT value FROM {table} WHERE id = 1
        c second: SELECT value FROM {table} WHERE id = 2
        b: UPDATE {table} SET value = 18 WHERE id = 2
        b: COMMIT
        c third: SELECT value FROM {table} WHERE id = 2
        c fourth: SELECT value FROM {table} WHERE id = 1
        c: COMMIT",
    happened: |t| {
        // Of the initial state, of a and of b, in this order: none may come back.
        let seen = ["first", "second", "third", "fourth"].iter().filter_map(|name| t.rows(name));
        let ages: Vec<usize> = seen
            .filter_map(|value| {
                [["10", "20"], ["11", "19"], ["12", "18"]].iter().position(|values| values.contains(&value.as_str()))
            })
            .collect();
        !ages.is_sorted()
    },
    history: "a: w(x,11) w(y,19)\nb: lock r(x,11) w(x,12) w(y,18)\nc: r(x,12) r(y,19)",
};

const PMP: Case = Case {
    name: "PMP",
    title: "a condition finds more the second time",
    text: "
        a: BEGIN
        b: BEGIN
        a first: SELECT id, value FROM {table} WHERE value = 30
        b: INSERT INTO {table} (id, value) VALUES (3, 30)
        b: COMMIT
        a second: SELECT id, value FROM {table} WHERE value % 3 = 0
        a: COMMIT",
    happened: |t| shows(t, "first", "") && shows(t, "second", "3 30"),
    history: "a: scan(p/:) scan(p/: p/3=30)\nb: w(p/3,30)",
};

const PMP_WRITE: Case = Case {
    name: "PMP-write",
    title: "a condition finds one row to read and another, or none, to change",
    text: "
        a: BEGIN
        b: BEGIN
        b before: SELECT id, value FROM {table} WHERE value = 20
        a: UPDATE {table} SET value = value + 10
        b: DELETE FROM {table} WHERE value = 20
        a: COMMIT
        b: COMMIT
        c end: SELECT id, value FROM {table} ORDER BY id",
    // a then b: b reads and deletes row 1. b then a: it reads and deletes row 2.
    happened: |t| all_went_well(t) && shows(t, "before", "2 20") && !shows(t, "end", "1 20"),
    history: "a: lock r(x,init) lock r(y,init) w(x,20) w(y,30)\nb: r(y,init) lock r(y,30)",
};

const P4: Case = Case {
    name: "P4",
    title: "lost update",
    text: "
        a: BEGIN
        b: BEGIN
        a mine: SELECT value FROM {table} WHERE id = 1
        b yours: SELECT value FROM {table} WHERE id = 1
        a: UPDATE {table} SET value = 11 WHERE id = 1
        b: UPDATE {table} SET value = 12 WHERE id = 1
        a: COMMIT
        b: COMMIT",
    happened: |t| all_went_well(t) && shows(t, "mine", "10") && shows(t, "yours", "10"),
    history: "a: r(x,init) w(x,11)\nb: r(x,init) w(x,12)",
};

const G_SINGLE: Case = Case {
    name: "G-single",
    title: "read skew",
    text: "
        a: BEGIN
        b: BEGIN
        a first: SELECT value FROM {table} WHERE id = 1
        b: SELECT id, value FROM {table} ORDER BY id
        b: UPDATE {table} SET value = 12 WHERE id = 1
        b: UPDATE {table} SET value = 18 WHERE id = 2
        b: COMMIT
        a second: SELECT value FROM {table} WHERE id = 2
        a: COMMIT",
    happened: |t| shows(t, "first", "10") && shows(t, "second", "18"),
    history: "a: r(x,init) r(y,18)\nb: r(x,init) r(y,init) w(x,12) w(y,18)",
};

const G_SINGLE_PREDICATE: Case = Case {
    name: "G-single-predicate",
    title: "read skew between two conditions",
    text: "
        a: BEGIN
        b: BEGIN
        a first: SELECT id, value FROM {table} WHERE value % 5 = 0 ORDER BY id
        b: UPDATE {table} SET value = 12 WHERE value = 10
        b: COMMIT
        a second: SELECT id, value FROM {table} WHERE value % 3 = 0
        a: COMMIT",
    happened: |t| shows(t, "first", "1 10, 2 20") && shows(t, "second", "1 12"),
    history: "a: r(x,init) r(x,12)\nb: lock r(x,init) w(x,12)",
};

const G_SINGLE_WRITE: Case = Case {
    name: "G-single-write",
    title: "read skew between a read and a change",
    text: "
        a: BEGIN
        b: BEGIN
        a first: SELECT value FROM {table} WHERE id = 1
        b: SELECT id, value FROM {table} ORDER BY id
        b: UPDATE {table} SET value = 12 WHERE id = 1
        b: UPDATE {table} SET value = 18 WHERE id = 2
        b: COMMIT
        a: DELETE FROM {table} WHERE value = 20
        a: COMMIT
        c end: SELECT id, value FROM {table} ORDER BY id",
    // a then b: row 2 is deleted before b would change it.
    happened: |t| all_went_well(t) && shows(t, "first", "10") && shows(t, "end", "1 12, 2 18"),
    history: "a: r(x,init) lock r(y,18)\nb: r(x,init) r(y,init) w(x,12) w(y,18)",
};

const G2_ITEM: Case = Case {
    name: "G2-item",
    title: "write skew",
    text: "
        a: BEGIN
        b: BEGIN
        a mine: SELECT id, value FROM {table} WHERE id IN (1, 2) ORDER BY id
        b yours: SELECT id, value FROM {table} WHERE id IN (1, 2) ORDER BY id
        a: UPDATE {table} SET value = 11 WHERE id = 1
        b: UPDATE {table} SET value = 21 WHERE id = 2
        a: COMMIT
        b: COMMIT",
    happened: |t| all_went_well(t) && shows(t, "mine", "1 10, 2 20") && shows(t, "yours", "1 10, 2 20"),
    history: "a: r(x,init) r(y,init) w(x,11)\nb: r(x,init) r(y,init) w(y,21)",
};

const G2: Case = Case {
    name: "G2",
    title: "write skew by what a condition does not find",
    text: "
        a: BEGIN
        b: BEGIN
        a mine: SELECT id, value FROM {table} WHERE value % 3 = 0
        b yours: SELECT id, value FROM {table} WHERE value % 3 = 0
        a: INSERT INTO {table} (id, value) VALUES (3, 30)
        b: INSERT INTO {table} (id, value) VALUES (4, 42)
        a: COMMIT
        b: COMMIT",
    happened: |t| all_went_well(t) && shows(t, "mine", "") && shows(t, "yours", ""),
    history: "a: scan(p/:) w(p/3,30)\nb: scan(p/:) w(p/4,42)",
};

const G2_TWO_EDGES: Case = Case {
    name: "G2-two-edges",
    title: "write skew that only a reader sees",
    text: "
        a: BEGIN
        a mine: SELECT id, value FROM {table} ORDER BY id
        b: BEGIN
        b: UPDATE {table} SET value = value + 5 WHERE id = 2
        b: COMMIT
        c: BEGIN
        c both: SELECT id, value FROM {table} ORDER BY id
        c: COMMIT
        a: UPDATE {table} SET value = 0 WHERE id = 1
        a: COMMIT",
    happened: |t| all_went_well(t) && shows(t, "mine", "1 10, 2 20") && shows(t, "both", "1 10, 2 25"),
    history: "a: r(x,init) r(y,init) w(x,0)\nb: lock r(y,init) w(y,25)\nc: r(x,init) r(y,25)",
};
