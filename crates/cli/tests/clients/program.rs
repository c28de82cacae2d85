//! The clients: what each is called, and how its program is started.
//!
//! A program learns its server from the environment (`DATABASE_URL`, `PGHOST`, …), which its caller sets, and exits with 0 when
//! everything that it asserts holds. Interpreters and packages are those of the folder that the set-up made.

use std::path::{Path, PathBuf};
use std::process::Command;

/// How much a program asks for, and so how often it is run with every change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// By chance at every level, in `latest` at the weakest and the strongest.
    Steady,
    /// At the weakest and the strongest level: pgbench fills its tables with a hundred thousand rows.
    Slow,
}

/// One client and its program.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) pace: Pace,
    /// The folder to stand in, below the folder of the programs.
    pub(crate) folder: &'static str,
    pub(crate) words: &'static [&'static str],
}

const fn program(name: &'static str, words: &'static [&'static str]) -> Program {
    Program { name, pace: Pace::Steady, folder: ".", words }
}

/// `@python` and the like are looked up in the folder of the clients.
pub(crate) const CLIENTS: [Program; 11] = [
    program("psql", &["./psql.sh"]),
    program("psycopg 3", &["@python", "psycopg3.py"]),
    program("asyncpg", &["@python", "asyncpg_client.py"]),
    program("SQLAlchemy", &["@python", "sqlalchemy_client.py"]),
    Program { folder: "django_library", ..program("Django", &["@python", "check.py"]) },
    program("node pg", &["node", "node_pg.js"]),
    program("Knex", &["node", "knex_client.js"]),
    program("tokio-postgres", &["@rust/tokio_postgres_client"]),
    program("sqlx", &["@rust/sqlx_client"]),
    program("JDBC", &["java", "-cp", "/usr/share/java/postgresql.jar", "JdbcClient.java"]),
    Program { pace: Pace::Slow, ..program("pgbench", &["./pgbench.sh"]) },
];

/// Test suites as applications have them, one test after the other on one connection.
pub(crate) const SUITES: [Program; 2] = [
    Program { folder: "django_library", ..program("Django suite", &["@python", "manage.py", "test", "-v0"]) },
    Program {
        folder: "sqlalchemy_bank",
        ..program("SQLAlchemy suite", &["@python", "-m", "pytest", "-q", "-p", "no:cacheprovider"])
    },
];

impl Program {
    /// The words of its command line, looked up.
    pub(crate) fn words(&self, clients: &Path) -> Vec<String> {
        let look_up = |word: &&str| match word.split_once('@') {
            Some(("", "python")) => clients.join("python/bin/python").to_string_lossy().into_owned(),
            Some(("", built)) => clients.join(built.replace("rust", "rust/debug")).to_string_lossy().into_owned(),
            _ => (*word).to_owned(),
        };
        self.words.iter().map(look_up).collect()
    }

    /// Puts a command where the program stands, with the packages within reach.
    pub(crate) fn prepare(&self, command: &mut Command, clients: &Path) {
        let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/programs");
        command.current_dir(programs.join(self.folder));
        command.env("NODE_PATH", clients.join("node/node_modules"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("NODE_NO_WARNINGS", "1");
    }
}

/// What became of a program: nothing to say when it passed, else all that was printed.
pub(crate) type Outcome = Result<(), String>;

/// Runs a command to its end.
pub(crate) fn outcome(mut command: Command) -> Outcome {
    let done = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let printed = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Err(format!("{command:?}: {}\n{}\n{}", done.status, printed[0].trim_end(), printed[1].trim_end()))
}
