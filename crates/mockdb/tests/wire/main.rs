//! The PostgreSQL protocol, byte by byte and through a client of another make.
//!
//! | module | what it asks |
//! |---|---|
//! | `simple` | statements as text: transactions, errors, settings |
//! | `series` | prepared statements, portals, what an error in a series does |
//! | `values` | every type as text and as bytes, both ways |
//! | `copy` | COPY both ways |
//! | `leaving` | clients that go, wait, cancel, never read, or make no sense |
//! | `long` | statements that work for long, or sleep |
//! | `zones` | the time zone of a connection |
//! | `foretold` | reads and an order that are foretold |
//! | `steered` | a database that somebody else steers |
//! | `depth` | how often the adversary finds bugs of known depth |
//! | `racing` | an adversary that holds requests back |
//! | `ways_in` | startup, passwords, whose turn it is |

mod copy;
mod depth;
mod foretold;
mod leaving;
mod long;
mod racing;
mod raw;
mod series;
mod simple;
mod steered;
mod values;
mod ways_in;
mod zones;

use raw::Raw;
use skew_check::{Budget, check};
use skew_mockdb::wire::{RunningServer, Schedule, WireServer, WireSettings};
use skew_mockdb::{Campaign, Chooser, ChooserKind, Database, Level, Options, Record, Store, Tape};
use skew_sql::Catalog;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// A server of an empty database that reads the latest versions.
struct Served {
    server: Option<RunningServer>,
    address: SocketAddr,
    tape: Tape,
}

fn settings() -> WireSettings {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    WireSettings { address, password: None, schedule: Schedule::Interleaved, delay: None }
}

impl Served {
    fn new() -> Served {
        Served::with(Level::ReadCommitted, ChooserKind::Latest, settings())
    }

    fn with(level: Level, chooser: ChooserKind, settings: WireSettings) -> Served {
        Served::choosing(level, chooser.build(1, &Campaign::default()), settings)
    }

    fn choosing(level: Level, chooser: Box<dyn Chooser>, settings: WireSettings) -> Served {
        Served::of(Store::new(Options::new(level, 1), chooser), settings)
    }

    fn seeded(seed: u64, level: Level, chooser: ChooserKind, settings: WireSettings) -> Served {
        Served::of(Store::new(Options::new(level, seed), chooser.build(1, &Campaign::default())), settings)
    }

    fn of(store: Store, settings: WireSettings) -> Served {
        Served::writing(store, None, settings)
    }

    fn writing(store: Store, choices: Option<&Tape>, settings: WireSettings) -> Served {
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        let tape = Tape::default();
        database.store.start(
            Record { history: Some(Box::new(tape.clone())), choices: choices.map(|tape| Box::new(tape.clone()) as _) },
            "",
        );
        let server = WireServer::bind(database, settings).unwrap().start().unwrap();
        Served { address: server.address(), server: Some(server), tape }
    }

    fn connect(&self) -> Raw {
        Raw::connect(self.address, &[("user", "ann")])
    }

    /// A client with a table of two accounts.
    fn with_accounts(&self) -> Raw {
        let mut client = self.connect();
        client.query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)");
        client.query("INSERT INTO account VALUES (1, 100), (2, 0)");
        client
    }

    /// Ends the server; what was recorded is what the levels allow.
    fn stop(mut self) -> skew_mockdb::wire::WireSummary {
        let summary = self.server.take().unwrap().stop();
        let history = self.tape.history().unwrap_or_else(|error| panic!("{error}\n{}", self.tape.text()));
        assert!(check(&history, Level::Declared, Budget::UNLIMITED).holds(), "{}", self.tape.text());
        summary
    }
}
