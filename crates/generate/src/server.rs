//! A server with locks: PostgreSQL or InnoDB at one of their levels, as far as reads, updates and inserts by key go.
//!
//! ```text
//!   read  ──> SELECT              of the level's state: of the statement, of the transaction, or the latest with a lock
//!   write ──> UPDATE, or INSERT   waits until the key is its own, reads what is there, writes; held to the end
//! ```
//!
//! | level | what a SELECT sees | who is refused besides |
//! |---|---|---|
//! | `postgres:read-committed`, `mysql:read-committed` | the latest commit, when its statement runs | |
//! | `postgres:repeatable-read` | the state at the beginning | who writes what has changed since |
//! | `postgres:serializable` | the same | the same, and who wrote something and has read what changed since |
//! | `mysql:repeatable-read` | the state at the first SELECT | |
//! | `mysql:snapshot-isolation` | the same | who writes what has changed since |
//! | `mysql:serializable` | the latest, and keeps it from changing | |
//!
//! Of those who wait for each other, the one that closes the circle is refused.
//!
//! *Why what it makes is of its level:* order the moments as they happened. Locks are taken when nobody else holds them in a way that conflicts,
//! and kept to the end, so every edge of a lock order goes from an end to a later statement. A SELECT reads, at a moment that its level names, the latest
//! of what was committed then: its writer had committed before, and whoever overwrites it commits later. Who writes what changed since its state was
//! taken is refused, which is the rule of the first updater. All edges go forward, so there is no cycle. *PostgreSQL's serializable:* whoever
//! writes has read what is still the latest when it commits, so it could have run at that very moment; who only reads, when its state was
//! taken.

use crate::attempt::{Attempt, Content, GeneratedEvent};
use crate::database::{Advance, CommittedValues, Database};
use skew_chance::Random;
use skew_history::{Action, Asked, Engine, EngineLevel, StatementKind};
use std::collections::BTreeMap;

/// A server at one level.
pub(crate) struct Server {
    level: EngineLevel,
    rows: CommittedValues,
    commits: u64,
    /// By key, who holds it, and whether alone.
    locks: BTreeMap<u64, Vec<(u32, bool)>>,
    /// By session, the key that it waits for, and whether it wants it alone.
    waits: BTreeMap<u32, (u64, bool)>,
}

impl Server {
    pub(crate) fn new(level: EngineLevel) -> Server {
        let (locks, waits) = (BTreeMap::new(), BTreeMap::new());
        Server { level, rows: CommittedValues::default(), commits: 0, locks, waits }
    }

    /// Keeps the state of now for all that a transaction is going to read.
    fn take_state(&self, attempt: &mut Attempt) {
        attempt.snapshot = self.commits;
        let reads = attempt.steps.iter().filter(|step| step.action == Action::Read);
        attempt.state = Some(reads.map(|step| (step.key, self.rows.content(step.key))).collect());
    }

    /// Who keeps a session from having a key.
    fn holders(&self, session: u32, key: u64, alone: bool) -> impl Iterator<Item = u32> {
        let others = self.locks.get(&key).into_iter().flatten();
        others.filter(move |holder| holder.0 != session && (alone || holder.1)).map(|holder| holder.0)
    }

    /// Whether a session that waits for a key waits for itself.
    fn is_deadlocked(&self, session: u32) -> bool {
        let (mut reached, mut open) = (Vec::new(), vec![session]);
        while let Some(one) = open.pop() {
            let Some(&(key, alone)) = self.waits.get(&one) else { continue };
            for other in self.holders(one, key, alone) {
                if other == session {
                    return true;
                }
                if !reached.contains(&other) {
                    reached.push(other);
                    open.push(other);
                }
            }
        }
        false
    }

    /// Locks a key, unless somebody is in the way.
    fn lock(&mut self, session: u32, key: u64, alone: bool) -> Advance {
        if self.holders(session, key, alone).next().is_some() {
            self.waits.insert(session, (key, alone));
            return match (self.is_deadlocked(session), self.level.engine()) {
                (false, _) => Advance::Waits,
                (true, Engine::Postgres) => Advance::Refused("40P01"),
                (true, Engine::Mysql) => Advance::Refused("1213"),
            };
        }
        self.waits.remove(&session);
        let holders = self.locks.entry(key).or_default();
        match holders.iter_mut().find(|holder| holder.0 == session) {
            Some(holder) => holder.1 |= alone,
            None => holders.push((session, alone)),
        }
        Advance::Done
    }

    fn release(&mut self, attempt: &Attempt) {
        self.waits.remove(&attempt.session);
        for step in &attempt.steps {
            if let Some(holders) = self.locks.get_mut(&step.key) {
                holders.retain(|holder| holder.0 != attempt.session);
                if holders.is_empty() {
                    self.locks.remove(&step.key);
                }
            }
        }
    }

    fn select(&mut self, attempt: &mut Attempt, key: u64) -> Advance {
        use EngineLevel::*;
        match self.level {
            PostgresReadCommitted | MysqlReadCommitted => {}
            PostgresRepeatableRead | PostgresSerializable => {}
            MysqlRepeatableRead | MysqlSnapshotIsolation if attempt.state.is_none() => self.take_state(attempt),
            MysqlRepeatableRead | MysqlSnapshotIsolation => {}
            MysqlSerializable => match self.lock(attempt.session, key, false) {
                Advance::Done => {}
                other => return other,
            },
        }
        let of_state = attempt.state.as_ref().and_then(|state| state.get(&key).cloned());
        let content = of_state.unwrap_or_else(|| self.rows.content(key));
        attempt.put(Action::Read, key, content, StatementKind::Select);
        Advance::Done
    }

    fn change(&mut self, attempt: &mut Attempt, key: u64, value: i64) -> Advance {
        match self.lock(attempt.session, key, true) {
            Advance::Done => {}
            other => return other,
        }
        let has_changed = attempt.state.is_some() && self.rows.commit(key) > attempt.snapshot;
        match self.level {
            EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable if has_changed => {
                return Advance::Refused("40001");
            }
            EngineLevel::MysqlSnapshotIsolation if has_changed => return Advance::Refused("1020"),
            _ => {}
        }
        let there = attempt.with_own_writes(key, self.rows.content(key));
        let kind = if there == Content::Absent { StatementKind::Insert } else { StatementKind::Update };
        attempt.put(Action::Read, key, there, kind);
        attempt.put(Action::Write, key, Content::Integer(value), kind);
        Advance::Done
    }
}

impl Database for Server {
    fn begin(&mut self, attempt: &mut Attempt, _random: &mut Random) {
        (attempt.taken, attempt.state) = (0, None);
        if matches!(self.level, EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable) {
            self.take_state(attempt);
        }
    }

    fn advance(&mut self, attempt: &mut Attempt) -> Advance {
        let step = attempt.steps[attempt.taken];
        let advance = match step.action {
            Action::Read => self.select(attempt, step.key),
            Action::Write | Action::Append => self.change(attempt, step.key, step.value),
        };
        match advance {
            Advance::Done => attempt.taken += 1,
            Advance::Waits => {}
            Advance::Refused(_) => self.release(attempt),
        }
        advance
    }

    fn commit(&mut self, attempt: &Attempt, _random: &mut Random) -> bool {
        let has_written = attempt.writes().next().is_some();
        let is_stale =
            |event: &GeneratedEvent| event.action == Action::Read && self.rows.commit(event.key) > attempt.snapshot;
        let is_serializable = self.level == EngineLevel::PostgresSerializable;
        let is_refused = is_serializable && has_written && attempt.events.iter().any(is_stale);
        if !is_refused {
            self.commits += 1;
            for event in attempt.writes() {
                self.rows.apply(event, self.commits);
            }
        }
        self.release(attempt);
        !is_refused
    }

    fn abort(&mut self, attempt: &Attempt) {
        self.release(attempt);
    }

    fn settle(&mut self) {}
}

impl Attempt {
    /// One more event of the statement under way.
    fn put(&mut self, action: Action, key: u64, content: Content, kind: StatementKind) {
        let content = if action == Action::Read { self.with_own_writes(key, content) } else { content };
        let asked = Asked { statement: self.taken as u32 + 1, kind, ..Asked::default() };
        self.events.push(GeneratedEvent { action, key, content, asked });
    }
}
