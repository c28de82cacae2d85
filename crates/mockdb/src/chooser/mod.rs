//! Which of the versions that the level allows a read returns.
//!
//! ```text
//!   versions of x, oldest first     init   t1   t4   t7
//!   allowed at this read             no    yes  yes  yes
//!   stalest → t1        latest → t7        random → any of the three, each equally likely
//! ```
//!
//! A chooser sees the versions through a [`Reading`]: it asks whether one is allowed only when it would take it, because that
//! question costs. Each strategy is a page of its own.

mod foretold;
mod latest;
mod latest_per_session;
mod novel;
mod random;
mod script;
mod stalest;

pub use foretold::{
    Divergence, Foretelling, Foretold, ForetoldRead, ForetoldTransaction, HowDiverged, TransactionPlace,
};
pub use latest::Latest;
pub use latest_per_session::LatestPerSession;
pub use novel::{Campaign, Novel};
pub use random::Random;
pub use script::Script;
pub use stalest::Stalest;

use crate::log::writer_name;
use crate::versions::VersionTable;
use skew_check::{GrowingHistory, GrowingId, Version};
use skew_history::{KeyId, SessionId};
use skew_sql::Row;
use std::fmt;
use std::str::FromStr;

/// A strategy.
pub trait Chooser: Send {
    /// One of the versions that are allowed; nothing only if none is.
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version>;

    /// Whether a commit or a wait that could go well is refused nevertheless; nothing leaves that to chance.
    fn refuses(&mut self, _session: &str, _what: &str) -> Option<bool> {
        None
    }

    /// A read under a lock got the latest version, about which there is no choice.
    fn note_locked(&mut self, _read: &LockedRead<'_>) {}

    /// The database refused a transaction of a session that had this many before it.
    fn note_refused(&mut self, _session: &str, _transaction: u32) {}

    /// Whether it also decides for transactions that asked for another chooser: a replay knows what that one chose.
    fn decides_all(&self) -> bool {
        false
    }

    /// How often what was asked did not fit what the strategy had to follow.
    fn divergences(&self) -> usize {
        0
    }
}

/// Who wrote a version, in words that are the same in every run of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VersionWriter {
    /// The initial state.
    Initial,
    /// The transaction of a session that has this many before it.
    Transaction(SessionId, u32),
}

/// A read under a lock, which is of the latest version.
#[derive(Clone, Copy, Debug)]
pub struct LockedRead<'a> {
    /// The name of the session that reads.
    pub session: &'a str,
    /// The number of the transaction in its session.
    pub transaction: u32,
    /// The name of the key.
    pub key: &'a str,
    /// Who wrote the version: the name of the session, and how many transactions of it came before; nothing for the initial one.
    pub writer: Option<(&'a str, u32)>,
}

/// Who reads.
#[derive(Clone, Copy)]
pub(crate) struct VersionReader<'a> {
    pub(crate) transaction: GrowingId,
    /// The name of the session, the number of the transaction in it and of the read in that.
    pub(crate) place: (&'a str, u32, usize),
    /// The read of an update: checked together with its write.
    pub(crate) updating: bool,
    /// The names of sessions.
    pub(crate) names: &'a dyn Fn(SessionId) -> &'a str,
}

/// A read that wants a version.
pub struct Reading<'a> {
    growing: &'a mut GrowingHistory,
    values: &'a VersionTable,
    reader: VersionReader<'a>,
    key: KeyId,
    key_name: &'a str,
    /// Which versions a statement seeks that will lock the row.
    fits: Option<&'a mut dyn FnMut(Option<Row>) -> bool>,
    /// The version that a lock would show, if it fits: whoever seeks a row to lock may have it although a plain read may not.
    under_lock: Option<Version>,
    versions: Vec<Version>,
    writers: Vec<VersionWriter>,
}

impl<'a> Reading<'a> {
    /// A read of a key. A statement that will lock the row if it fits says what fits.
    pub(crate) fn new(
        growing: &'a mut GrowingHistory,
        values: &'a VersionTable,
        reader: VersionReader<'a>,
        (key, key_name): (KeyId, &'a str),
        mut fits: Option<&'a mut dyn FnMut(Option<Row>) -> bool>,
    ) -> Reading<'a> {
        let versions = growing.versions(reader.transaction, key);
        let writer = |version: &Version| match values.writer(key, *version) {
            None => VersionWriter::Initial,
            Some((session, before)) => VersionWriter::Transaction(session, before),
        };
        let writers = versions.iter().map(writer).collect();
        let under_lock = fits.as_mut().and_then(|fits| {
            let latest = growing.latest(key);
            fits(values.value(key, latest)).then_some(latest)
        });
        Reading { growing, values, reader, key, key_name, fits, under_lock, versions, writers }
    }
}

impl Reading<'_> {
    /// All versions that there are, oldest first, allowed or not.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// Who wrote each of them.
    pub fn writers(&self) -> &[VersionWriter] {
        &self.writers
    }

    /// The writer of the version at this place of [`Reading::versions`] as the log names it; nothing for the initial version.
    pub fn writer_name(&self, place: usize) -> Option<String> {
        match self.writers[place] {
            VersionWriter::Initial => None,
            VersionWriter::Transaction(session, before) => Some(writer_name((self.reader.names)(session), before)),
        }
    }

    /// The same as the name of the writer's session and how many transactions of it came before.
    pub fn writer(&self, place: usize) -> Option<(&str, u32)> {
        match self.writers[place] {
            VersionWriter::Initial => None,
            VersionWriter::Transaction(session, before) => Some(((self.reader.names)(session), before)),
        }
    }

    /// Whether the level allows the version at this place of [`Reading::versions`].
    pub fn allows(&mut self, place: usize) -> bool {
        let version = self.versions[place];
        if self.under_lock == Some(version) {
            return true;
        }
        let transaction = self.reader.transaction;
        if self.reader.updating {
            self.growing.allows_update(transaction, self.key, version, false)
        } else {
            self.growing.allows(transaction, self.key, version, false)
        }
    }

    /// Whether a statement seeks rows to lock: it locks the row if the version that it gets fits, and then reads the latest.
    pub fn seeks(&self) -> bool {
        self.fits.is_some()
    }

    /// Whether the version at this place of [`Reading::versions`] is one that the statement seeks.
    pub fn fits(&mut self, place: usize) -> bool {
        let version = self.versions[place];
        let value = self.values.value(self.key, version);
        self.fits.as_mut().is_some_and(|fits| fits(value))
    }

    /// The name of the session that reads.
    pub fn session(&self) -> &str {
        self.reader.place.0
    }

    /// The number of the transaction in its session.
    pub fn transaction(&self) -> u32 {
        self.reader.place.1
    }

    /// The number of the read in its transaction.
    pub fn number(&self) -> usize {
        self.reader.place.2
    }

    /// The name of the key.
    pub fn key_name(&self) -> &str {
        self.key_name
    }
}

/// The strategies by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum ChooserKind {
    /// Any version that is allowed, each equally likely.
    #[default]
    Random,
    /// The one that committed last.
    Latest,
    /// The one that committed first.
    Stalest,
    /// Any of the last versions that each session wrote.
    LatestPerSession,
    /// The one that leads to what was seen least often in this campaign.
    Novel,
}

impl ChooserKind {
    /// All of them.
    pub const ALL: [ChooserKind; 5] = [
        ChooserKind::Random,
        ChooserKind::Latest,
        ChooserKind::Stalest,
        ChooserKind::LatestPerSession,
        ChooserKind::Novel,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ChooserKind::Random => "random",
            ChooserKind::Latest => "latest",
            ChooserKind::Stalest => "stalest",
            ChooserKind::LatestPerSession => "latest-per-session",
            ChooserKind::Novel => "novel",
        }
    }

    /// A chooser of this kind; what a campaign has seen matters to one of them.
    pub fn build(self, seed: u64, campaign: &Campaign) -> Box<dyn Chooser> {
        match self {
            ChooserKind::Random => Box::new(Random::new(seed)),
            ChooserKind::Latest => Box::new(Latest),
            ChooserKind::Stalest => Box::new(Stalest),
            ChooserKind::LatestPerSession => Box::new(LatestPerSession::new(seed)),
            ChooserKind::Novel => Box::new(Novel::new(seed, campaign.clone())),
        }
    }
}

impl fmt::Display for ChooserKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for ChooserKind {
    type Err = String;

    fn from_str(text: &str) -> Result<ChooserKind, String> {
        let found = ChooserKind::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            let names = ChooserKind::ALL.map(ChooserKind::name).join(", ");
            format!("`{text}` is not a chooser; use one of {names}")
        })
    }
}
