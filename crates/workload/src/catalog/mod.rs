//! All workloads that there are, by name.
//!
//! ```
//! use skew_workload::catalog;
//! let bank = catalog::by_name("smallbank").expect("a workload");
//! assert_eq!(bank.tables().len(), 3);
//! assert!(catalog::by_name("bank").is_none());
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`smallbank`], [`voter`], [`wikipedia`], [`tpcc`] | the workloads of OLTP-Bench that the papers use, with assertions A1 to A17 |
//! | [`rubis`] | an auction house |
//! | [`twitter`], [`shopping_cart`], [`courseware`], [`treiber_stack`] | small applications with a fixed harness |
//! | [`tickets`] | a mutex made of `FOR UPDATE` |
//! | `shared` | what several of them need |
//!
//! The same workload can run on a [`Store`] that is less than a database:
//!
//! ```
//! use skew_workload::catalog::{Store, by_name_on};
//! let tables = |store| by_name_on("wikipedia", store).map(|workload| workload.tables().len());
//! assert_eq!((tables(Store::Database), tables(Store::Plain)), (Some(10), Some(11)));
//! ```
//!
//! Every assertion holds in every serializable run. A transaction that was undone leaves nothing behind; and where the answer to a commit
//! was lost, what counts committed transactions is not asserted at all. A row that should be there and is not, as weak levels
//! allow, makes the program roll back.

pub mod courseware;
pub mod rubis;
mod shared;
pub mod shopping_cart;
pub mod smallbank;
#[cfg(test)]
mod tests;
pub mod tickets;
pub mod tpcc;
pub mod treiber_stack;
pub mod twitter;
pub mod voter;
pub mod wikipedia;

pub use shared::Arithmetic;

use crate::registers::{Parameters, Registers};
use crate::workload::Workload;

/// A workload that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// How many sessions with how many operations it has when that is fixed, so that nobody tunes it.
    pub harness: Option<Harness>,
    build: fn(&Requirements) -> Box<dyn Workload>,
}

/// What a workload may expect besides reads and writes.
///
/// ```text
///                two inserts of one key      numbers of new rows
///   Database     the second one is refused   drawn outside of transactions, never twice
///   Plain        both commit                 the last one and one, read and written as everything else is
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Store {
    /// A database: every real server, and the mock unless it is told otherwise.
    #[default]
    Database,
    /// Versions of rows and nothing else: the store of the MonkeyDB paper, the mock with plain updates. Keys are not kept unique there,
    /// so TPC-C does not name rows by numbers that two transactions may draw, see [`tpcc::Tpcc::keyed`]; and there is nothing that counts, so
    /// Wikipedia does that itself, see [`wikipedia::Wikipedia::counting`].
    Plain,
}

/// What is asked of a workload besides its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requirements {
    /// What it runs on.
    pub store: Store,
    /// Whether every lookup reads the whole table, see [`crate::Options::scan`]. Then tables have as many rows as make a run about as large as
    /// those of the IsoPredict paper, whose store looks for rows in this way (its Table 3).
    pub scan: bool,
    /// Of voter: how many votes a telephone has.
    pub limit: Option<i64>,
}

/// The size of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Harness {
    /// How many sessions.
    pub sessions: usize,
    /// How many operations each of them does.
    pub operations: u64,
}

/// The harness of the small applications.
const SMALL: Option<Harness> = Some(Harness { sessions: 3, operations: 3 });

impl Entry {
    /// The workload with its default parameters, for a database.
    pub fn workload(&self) -> Box<dyn Workload> {
        self.workload_for(&Requirements::default())
    }

    /// The workload that is asked for.
    pub fn workload_for(&self, required: &Requirements) -> Box<dyn Workload> {
        (self.build)(required)
    }
}

const fn entry(name: &'static str, about: &'static str, build: fn(&Requirements) -> Box<dyn Workload>) -> Entry {
    Entry { name, about, harness: None, build }
}

const fn small(name: &'static str, about: &'static str, build: fn(&Requirements) -> Box<dyn Workload>) -> Entry {
    Entry { name, about, harness: SMALL, build }
}

fn registers(_: &Requirements) -> Box<dyn Workload> {
    Box::new(Registers::new(Parameters::default()))
}

fn lists(_: &Requirements) -> Box<dyn Workload> {
    Box::new(Registers::new(Parameters { lists: true, ..Parameters::default() }))
}

/// All workloads.
pub const ALL: &[Entry] = &[
    entry("registers", "reads and writes of single values; the history is what is checked", registers),
    entry("lists", "numbers appended to lists, and reads of whole lists", lists),
    entry("smallbank", "savings and checking accounts; no money is lost (A13)", |_| {
        Box::new(smallbank::SmallBank::default())
    }),
    entry("voter", "votes by telephone; nobody votes more often than allowed (A14)", |required| {
        Box::new(voter::Voter::required(required))
    }),
    entry(
        "tpcc",
        "orders, payments and deliveries of a supplier; twelve consistency conditions (A1 to A12)",
        |required| Box::new(tpcc::Tpcc::required(required)),
    ),
    entry(
        "wikipedia",
        "edits of pages; users, history and log agree on how many there were (A15 to A17)",
        |required| Box::new(wikipedia::Wikipedia::required(required)),
    ),
    entry("rubis", "an auction house; items agree with their bids and sales", |_| Box::new(rubis::Rubis::default())),
    entry("tickets", "numbers drawn behind a FOR UPDATE of the machine; no number is drawn twice", |_| {
        Box::new(tickets::Tickets::default())
    }),
    small("twitter", "tweets and followers; no tweet that was seen is missing later", |_| {
        Box::new(twitter::Twitter::default())
    }),
    small("shopping-cart", "one cart; a deleted item stays deleted", |_| {
        Box::new(shopping_cart::ShoppingCart::default())
    }),
    small("courseware", "students and courses; no course is overfull, nobody is in a removed one", |_| {
        Box::new(courseware::Courseware::default())
    }),
    small("treiber-stack", "a stack made of rows; no element is popped twice", |_| {
        Box::new(treiber_stack::TreiberStack::default())
    }),
];

/// The workload with this name and its default parameters, for a database.
pub fn by_name(name: &str) -> Option<Box<dyn Workload>> {
    by_name_on(name, Store::Database)
}

/// The workload with this name and its default parameters, for a store.
pub fn by_name_on(name: &str, store: Store) -> Option<Box<dyn Workload>> {
    let required = Requirements { store, ..Requirements::default() };
    ALL.iter().find(|entry| entry.name == name).map(|entry| entry.workload_for(&required))
}
