//! Whoever locks a key along a schedule, one after the other.
//!
//! Everybody stands where it lets its locks go. Who comes to the head of the queue had to wait for all before it with whose locks its own conflict; for
//! that it is enough to know, per kind of lock, when the last of them was let go.
//!
//! ```text
//!   place      7        19        30
//!   queue      t4       t2        t9           t9 got its lock at 25, after 19: right      at 15: it did not wait for t2
//! ```

use super::edges::looks_beside_own_row;
use super::lock_order::{self, Holder};
use super::locks::{Lock, Mode};
use super::schedule::WalkedSchedule;
use super::story::{Deed, From, Touch};
use skew_history::{EngineLevel, StatementKind};

/// Whether all locks of a key are got and let go as the schedule says, and whether what levels say of locks and snapshots is kept there.
pub(super) fn keeps_locks(schedule: &WalkedSchedule<'_>, key: usize) -> bool {
    let holders = lock_order::holders(&schedule.story, key);
    let mut order: Vec<&Holder> = holders.iter().collect();
    order.sort_by_key(|one| stands_at(schedule, key, one));
    let mut queue = LockQueue {
        schedule,
        released: [LastReleases::default(); KINDS],
        changed: [LastReleases::default(); KINDS],
        changers: Vec::new(),
    };
    for (place, holder) in order.iter().enumerate() {
        if !queue.may_stand_here(holder) || !queue.has_waited(&order[..place], holder) {
            return false;
        }
        queue.push(holder);
    }
    has_no_row_beside(schedule, key)
}

/// Where a holder stands in the lock order, in halves of a place: at its release. Who has only a gap, which not everybody who changes the key has to
/// mind, may have let somebody pass whose version it did not read: it stands just before that one.
fn stands_at(schedule: &WalkedSchedule<'_>, key: usize, holder: &Holder) -> usize {
    let release = 2 * schedule.at(holder.release);
    let lets_pass = holder.locks.iter().all(|lock| lock.mode == Mode::Gap);
    let read = holder.touches.iter().find_map(|touch| match touch.deed {
        Deed::Read { from: From::Version(writer), .. } => Some(writer),
        _ => None,
    });
    let passing = read.filter(|_| lets_pass).and_then(|writer| schedule.versions[key].next_since(schedule, writer));
    passing.map_or(release, |place| release.min(2 * place - 1))
}

/// Modes, each with or without a change.
const KINDS: usize = 2 * Mode::ALL.len();

fn kind(lock: &Lock) -> usize {
    2 * lock.mode as usize + usize::from(lock.changes)
}

/// A lock of each kind.
fn kinds() -> impl Iterator<Item = Lock> {
    Mode::ALL.into_iter().flat_map(|mode| [false, true].map(|changes| Lock { mode, moment: 0, changes }))
}

/// The last two, of different transactions, who let something go: where, and who.
#[derive(Clone, Copy, Default)]
struct LastReleases([Option<(usize, usize)>; 2]);

impl LastReleases {
    fn add(&mut self, place: usize, transaction: usize) {
        let [last, other] = self.0;
        let new = Some((place, transaction));
        self.0 = match last {
            Some((_, known)) if known == transaction => [last.max(new), other],
            _ if new > last => [new, last],
            _ => [last, other.max(new)],
        };
    }

    /// Where the last one stands that is another transaction.
    fn by_others(&self, transaction: usize) -> Option<usize> {
        self.0.into_iter().flatten().find(|&(_, known)| known != transaction).map(|(place, _)| place)
    }
}

/// Everybody who has had the key so far.
struct LockQueue<'a, 'h> {
    schedule: &'a WalkedSchedule<'h>,
    /// Per kind of lock.
    released: [LastReleases; KINDS],
    /// The same of those who changed the key for others.
    changed: [LastReleases; KINDS],
    /// Who changed the key for others, in order.
    changers: Vec<usize>,
}

impl LockQueue<'_, '_> {
    fn push(&mut self, holder: &Holder) {
        let release = self.schedule.at(holder.release);
        let changes = holder.changes(&self.schedule.story);
        for lock in &holder.locks {
            self.released[kind(lock)].add(release, holder.transaction);
            if changes {
                self.changed[kind(lock)].add(release, holder.transaction);
            }
        }
        self.changers.extend(changes.then_some(holder.transaction));
    }

    /// Whether a holder can be the next one.
    fn may_stand_here(&self, holder: &Holder) -> bool {
        let was_free = |lock: &Lock| {
            let place = self.schedule.at(lock.moment);
            kinds().filter(|other| lock.conflicts(other)).all(|other| {
                let released = self.released[kind(&other)].by_others(holder.transaction);
                released.is_none_or(|released| released < place)
            })
        };
        holder.locks.iter().all(was_free) && self.locks_last_version(holder) && self.is_not_refused(holder)
    }

    /// What is locked is the last version before the lock.
    fn locks_last_version(&self, holder: &Holder) -> bool {
        holder.locks_version(self.changers.iter().rev().copied().find(|&one| one != holder.transaction))
    }

    /// Who locks what changed since its snapshot is refused.
    fn is_not_refused(&self, holder: &Holder) -> bool {
        let teller = &self.schedule.story.transactions[holder.transaction];
        let Some(first) = holder.locks.first() else { return false };
        let all_before = |moment: usize, matters: &dyn Fn(&Lock) -> bool| {
            let place = self.schedule.at(moment);
            kinds().filter(matters).all(|lock| {
                let changed = self.changed[kind(&lock)].by_others(holder.transaction);
                changed.is_none_or(|changed| changed < place)
            })
        };
        match teller.level {
            EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable => {
                let is_upsert = holder.touches[0].kind == StatementKind::Upsert;
                let updates = first.mode != Mode::Insertion && (!holder.is_glance || is_upsert);
                !updates || all_before(teller.begin, &|lock| lock.changes && holder.conflicts(lock))
            }
            EngineLevel::MysqlSnapshotIsolation => {
                let is_after = |plain: &usize| holder.locks.iter().any(|lock| lock.moment > *plain);
                teller.first_plain_read.filter(is_after).is_none_or(|plain| all_before(plain, &|_| true))
            }
            _ => true,
        }
    }

    /// InnoDB's read committed keeps the lock of a row that does not qualify only if it was waited for: somebody held it until then, and nobody
    /// overtakes.
    fn has_waited(&self, earlier: &[&Holder], holder: &Holder) -> bool {
        let level = self.schedule.story.transactions[holder.transaction].level;
        let says_so = |touch: &&&Touch| matches!(touch.deed, Deed::Read { passed: true, waited: true, .. });
        let mut waits = holder.touches.iter().filter(says_so).peekable();
        if level != EngineLevel::MysqlReadCommitted || waits.peek().is_none() {
            return true;
        }
        let others = earlier.iter().filter(|one| one.transaction != holder.transaction);
        let conflicting: Vec<&&Holder> = others.filter(|one| holder.first_conflict(one).is_some()).collect();
        let locks = conflicting.iter().flat_map(|one| one.new_locks().map(move |lock| (one, lock)));
        let asked = locks.filter(|(_, lock)| lock.mode != Mode::Gap);
        let asked = asked.map(|(one, lock)| self.schedule.at(one.asked_after(lock))).max();
        let kept = conflicting.iter().filter(|one| !one.is_glance);
        let until = kept.map(|one| self.schedule.at(one.release)).max();
        until.is_some_and(|until| {
            asked.is_none_or(|asked| asked < until) && waits.all(|touch| self.schedule.at(touch.moment - 1) < until)
        })
    }
}

/// After an own INSERT, PostgreSQL's repeatable read still looks at the snapshot: it has no row, unless it was returned, too.
fn has_no_row_beside(schedule: &WalkedSchedule<'_>, key: usize) -> bool {
    let story = &schedule.story;
    let repeatable = [EngineLevel::PostgresRepeatableRead, EngineLevel::PostgresSerializable];
    let inserts = |touch: &Touch| matches!(touch.kind, StatementKind::Insert | StatementKind::Upsert);
    if !story.touches_of(key).any(|touch| inserts(touch) && matches!(touch.deed, Deed::Change { .. })) {
        return true;
    }
    let touches: Vec<&Touch> = story.touches_of(key).collect();
    let mut groups = touches.chunk_by(|one, other| one.transaction == other.transaction);
    groups.all(|own| {
        let teller = &story.transactions[own[0].transaction];
        !repeatable.contains(&teller.level)
            || !looks_beside_own_row(story, own)
            || schedule.versions[key].is_absent(schedule, teller.begin)
    })
}
