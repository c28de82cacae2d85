//! Why a database refuses a transaction, and whether it had reason to.
//!
//! | code | reason |
//! |---|---|
//! | 40001 at repeatable read | some b changed what is wanted: S → C_b → A |
//! | 1020 | some b changed what is wanted after the first plain read: P → C_b → A |
//! | 40P01, 1213 | everybody in a cycle waits for a lock that the next one holds, or has asked for before; any of them is refused |
//!
//! ```text
//!   t1:  locks x ─────────── wants y ──> A1                   t1 is refused; it waited for t2, which had y
//!   t2:        locks y ── wants x ─────────── gets x          t2 had begun to wait before A1, and got x after
//! ```
//!
//! What a refused statement wanted is not in the history: who asks has to know.

use super::lock_order::{self, Holder};
use super::locks::{Lock, Mode};
use super::order::{MomentOrder, MomentPair, StoryMoment};
use super::story::{Deed, From, Story, Touch};
use crate::spec::WantedLock;
use skew_history::{Engine, EngineLevel, StatementKind, TransactionId};

/// Whether every refusal has a reason, with what is known of the order of moments.
pub(super) fn are_explained(story: &Story, wanted: &[WantedLock], order: &MomentOrder) -> bool {
    let reasons = Reasons { story, wanted, holders: story.keys().map(|key| lock_order::holders(story, key)).collect() };
    let mut refused: Vec<TransactionId> = wanted.iter().map(|wanted| wanted.transaction).collect();
    refused.dedup();
    reasons.explain(&refused, order)
}

struct Reasons<'a> {
    story: &'a Story<'a>,
    wanted: &'a [WantedLock],
    /// Per key.
    holders: Vec<Vec<Holder<'a>>>,
}

/// Somebody waits, or may have.
#[derive(Clone, Copy)]
struct Wait {
    transaction: usize,
    key: usize,
    kind: StatementKind,
    /// It waits for changes only.
    only_looks: bool,
    /// The last thing it did before.
    before: StoryMoment,
    /// When it went on.
    after: StoryMoment,
    /// Who then had deleted the row: nobody waits for those who lock another row with its key.
    deleted_by: Option<usize>,
}

/// Why somebody waits for somebody else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// It has a lock on the row.
    Row,
    /// It has a lock on the gap where a row is to be inserted; maybe since this transaction rolled back what it had inserted there, and all
    /// who waited for it got the gap.
    Gap(Option<usize>),
    /// It has asked before.
    Request,
}

/// Each can have asked before the next one, but not all the way round; and who waits for a gap keeps nobody.
fn can_have_come_about(links: &[Link]) -> bool {
    let mut pairs = links.iter().zip(links.iter().skip(1).chain(&links[..1]));
    links.iter().any(|link| *link != Link::Request) && !pairs.any(|pair| matches!(pair, (Link::Request, Link::Gap(_))))
}

/// All ways to take one of each.
fn all_choices(links: &[Vec<Link>]) -> Vec<Vec<Link>> {
    links.iter().fold(vec![Vec::new()], |known, links| {
        known.iter().flat_map(|known| links.iter().map(|link| [&known[..], &[*link]].concat())).collect()
    })
}

impl Reasons<'_> {
    /// Whether each of these has a reason, by one of the locks that it wanted.
    fn explain(&self, refused: &[TransactionId], order: &MomentOrder) -> bool {
        let Some((&first, rest)) = refused.split_first() else { return true };
        let mut wanted = self.wanted.iter().filter(|wanted| wanted.transaction == first);
        let holds = |edges: &Vec<MomentPair>| order.clone().with(edges).is_some_and(|order| self.explain(rest, &order));
        wanted.any(|wanted| self.reasons(wanted, order).iter().any(holds))
    }

    /// All reasons to refuse a lock.
    fn reasons(&self, wanted: &WantedLock, order: &MomentOrder) -> Vec<Vec<MomentPair>> {
        let transactions = &self.story.transactions;
        match self.story.history.refusal(wanted.transaction).map(|refusal| refusal.error) {
            Some("40001") => self.changed_since(wanted, |one| Some(transactions[one].begin)),
            Some("1020") => self.changed_since(wanted, |one| transactions[one].first_plain_read),
            Some("40P01" | "1213") => self.cycles(wanted, order),
            _ => vec![Vec::new()],
        }
    }

    fn number(&self, wanted: &WantedLock) -> usize {
        let mut transactions = self.story.transactions.iter();
        transactions.position(|one| one.id == wanted.transaction).expect("a refused transaction counts")
    }

    fn end(&self, transaction: usize) -> StoryMoment {
        self.story.transactions[transaction].end
    }

    /// Somebody else changed the key after a moment, and before the refusal.
    fn changed_since(
        &self,
        wanted: &WantedLock,
        moment: impl Fn(usize) -> Option<StoryMoment>,
    ) -> Vec<Vec<MomentPair>> {
        let refused = self.number(wanted);
        let Some(moment) = moment(refused) else { return Vec::new() };
        let changed = self.holders[wanted.key.index()].iter().filter(|one| one.changes(self.story));
        let found = self.found_by_upsert(refused, wanted);
        let others =
            changed.map(|one| one.transaction).filter(|&one| one != refused && found.is_none_or(|found| found == one));
        others.map(|one| vec![(moment, self.end(one)), (self.end(one), self.end(refused))]).collect()
    }

    /// Whose row a refused upsert has found, where its last event says so: it is that row that the snapshot does not have.
    fn found_by_upsert(&self, refused: usize, wanted: &WantedLock) -> Option<usize> {
        let last = self.story.touches.iter().rfind(|touch| touch.transaction == refused)?;
        let is_evidence = last.key == wanted.key.index() && last.moment + 2 == self.end(refused);
        match last.deed {
            Deed::Read { from: From::Version(writer), .. } if is_evidence && wanted.kind == StatementKind::Upsert => {
                writer
            }
            _ => None,
        }
    }

    /// All cycles of transactions that wait for each other when one is refused.
    fn cycles(&self, wanted: &WantedLock, order: &MomentOrder) -> Vec<Vec<MomentPair>> {
        let wait = self.wait_of_refused(wanted, order);
        let mut cycles = Vec::new();
        if !self.has_enough(&wait) {
            self.follow(&mut vec![wait], wait.transaction, order, &mut cycles);
        }
        cycles
    }

    /// Who has what is wanted does not wait.
    fn has_enough(&self, wait: &Wait) -> bool {
        let own =
            self.holders[wait.key].iter().filter(|holder| holder.transaction == wait.transaction && !holder.is_glance);
        let wanted = wanted_mode(wait.kind);
        own.flat_map(|holder| &holder.locks).any(|lock| lock.moment <= wait.before && lock.is_enough(wanted))
    }

    /// Goes on from who waits to who may hold what is wanted, or has asked for it.
    fn follow(&self, waits: &mut Vec<Wait>, refused: usize, order: &MomentOrder, cycles: &mut Vec<Vec<MomentPair>>) {
        let last = waits[waits.len() - 1];
        let keeps = |wait: &Wait| !self.links(&last, wait).is_empty();
        for next in (0..self.story.transactions.len()).filter(|&next| next != last.transaction) {
            if next == refused {
                let round = waits.iter().zip(waits.iter().skip(1).chain(&waits[..1]));
                let links: Vec<Vec<Link>> = round.map(|(one, next)| self.links(one, next)).collect();
                let all = all_choices(&links).into_iter().filter(|links| can_have_come_about(links));
                cycles.extend(all.map(|links| self.edges(waits, &links, order)));
            } else if !waits.iter().any(|wait| wait.transaction == next) {
                for wait in self.waits_of(next, order).into_iter().filter(keeps) {
                    waits.push(wait);
                    self.follow(waits, refused, order, cycles);
                    waits.pop();
                }
            }
        }
    }

    /// Why one who waits may wait for another who does.
    fn links(&self, one: &Wait, next: &Wait) -> Vec<Link> {
        let is_insert = matches!(one.kind, StatementKind::Insert | StatementKind::Upsert);
        let holders = self.holders[one.key].iter().filter(|holder| holder.transaction == next.transaction);
        // PostgreSQL's statements do not see, and do not wait for, a row that is being inserted.
        let is_postgres = self.story.transactions[one.transaction].level.engine() == Engine::Postgres;
        let sees = |lock: &&Lock| !is_postgres || is_insert || lock.mode != Mode::Insertion;
        let locks = holders.filter(|holder| !holder.is_glance).flat_map(|holder| holder.locks.iter().take_while(sees));
        let keeping: Vec<&Lock> = locks.filter(|lock| lock.moment <= next.before && self.blocks(one, lock)).collect();
        let is_gap = |lock: &&&Lock| is_insert && lock.mode == Mode::Gap;
        let for_gap = keeping.iter().any(|lock| is_gap(&lock)).then_some(Link::Gap(None));
        let for_row = keeping.iter().any(|lock| !is_gap(&lock)).then_some(Link::Row);
        let behind = self.is_behind(one, next).then_some(Link::Request);
        let inherited = self.inherited_from(one, next).into_iter().map(|from| Link::Gap(Some(from)));
        [for_gap, for_row, behind].into_iter().flatten().chain(inherited).collect()
    }

    /// Whose row two INSERTs may have waited for until there was none, so that both had the gap.
    fn inherited_from(&self, one: &Wait, next: &Wait) -> Vec<usize> {
        let is_insert = |wait: &Wait| matches!(wait.kind, StatementKind::Insert | StatementKind::Upsert);
        let is_innodb = self.story.transactions[one.transaction].level.engine() == Engine::Mysql;
        if !is_innodb || one.key != next.key || !is_insert(one) || !is_insert(next) {
            return Vec::new();
        }
        let both = [one.transaction, next.transaction];
        let others = self.holders[one.key].iter().filter(|holder| !both.contains(&holder.transaction));
        let leaves_none = |holder: &&Holder| match self.story.transactions[holder.transaction].committed {
            false => holder.locks.iter().any(|lock| lock.mode == Mode::Insertion),
            true => holder.touches.iter().rev().find_map(|touch| touch.left()).is_some_and(|absent| absent),
        };
        others.filter(leaves_none).map(|holder| holder.transaction).collect()
    }

    /// Whether one of two who wait for the same row waits for the other, which has asked before.
    fn is_behind(&self, one: &Wait, other: &Wait) -> bool {
        if self.story.transactions[one.transaction].level.engine() == Engine::Postgres {
            return self.is_queued(one, other);
        }
        let both_share = [one, other].iter().all(|wait| wanted_mode(wait.kind) == Mode::Share);
        one.key == other.key && !both_share
    }

    /// The same at PostgreSQL: whoever comes first keeps the row behind it if it has nothing of it yet. Who checks that a key is free waits for
    /// a transaction, and is in no queue.
    fn is_queued(&self, one: &Wait, other: &Wait) -> bool {
        let is_of_row = |wait: &Wait| !matches!(wait.kind, StatementKind::Insert | StatementKind::Upsert);
        let has_some = |wait: &Wait| {
            let own = self.holders[wait.key].iter().filter(|holder| holder.transaction == wait.transaction);
            own.flat_map(|holder| &holder.locks).any(|lock| lock.moment <= wait.before)
        };
        let mode = |wait: &Wait| Reasons::mode_at_postgres(wait, false);
        let conflict = || {
            Lock { mode: mode(one), moment: one.after, changes: false }.conflicts(&Lock {
                mode: mode(other),
                moment: other.after,
                changes: false,
            })
        };
        let both_new = [one, other].iter().all(|wait| is_of_row(wait) && !has_some(wait));
        one.key == other.key && both_new && conflict()
    }

    /// Everybody waits before the refusal, and goes on after the next one's end. Who is behind one that is behind a third is behind that
    /// one, too.
    fn edges(&self, waits: &[Wait], links: &[Link], order: &MomentOrder) -> Vec<MomentPair> {
        let end = self.end(waits[0].transaction);
        let mut edges = Vec::new();
        for (place, link) in links.iter().enumerate() {
            if let Link::Gap(Some(from)) = link {
                let next = &waits[(place + 1) % waits.len()];
                edges.extend([(next.before, self.end(*from)), (self.end(*from), end)]);
            }
        }
        for (place, wait) in waits.iter().enumerate().skip(1) {
            edges.extend([(wait.before, end), (end, wait.after)]);
            if !matches!(links[place], Link::Gap(_)) {
                edges.extend(self.nobody_overtakes(wait, order).into_iter().map(|moment| (moment, end)));
            }
            if self.is_deadlocked(wait.transaction) {
                continue;
            }
            let round = (place..).take(waits.len() - 1).map(|place| (place % waits.len(), (place + 1) % waits.len()));
            for (one, next) in round {
                let next = &waits[next];
                if one == place || self.is_behind(wait, next) {
                    edges.push((self.end(next.transaction), wait.after));
                }
                if let Some(by) = wait.deleted_by.filter(|&by| one == place && by != next.transaction) {
                    edges.push((self.end(next.transaction), self.end(by)));
                }
                if links[one] != Link::Request {
                    break;
                }
            }
        }
        edges
    }

    /// Who got a lock before somebody who waits has asked for it before: the last thing each did before it asked. InnoDB is fair, also to
    /// those who wait beside the cycle.
    fn nobody_overtakes(&self, wait: &Wait, order: &MomentOrder) -> Vec<StoryMoment> {
        if self.story.transactions[wait.transaction].level.engine() != Engine::Mysql {
            return Vec::new();
        }
        let (mut asked, mut open) = (Vec::new(), vec![*wait]);
        while let Some(wait) = open.pop() {
            let others = self.holders[wait.key].iter().filter(|one| one.transaction != wait.transaction);
            for one in others.filter(|one| order.has((one.release, wait.after))) {
                let may_overtake =
                    |lock: &Lock| lock.mode == Mode::Gap || lock.mode == Mode::Insertion && self.may_vanish(&wait);
                let locks = one.new_locks().zip(&one.touches).filter(|(lock, _)| !may_overtake(lock));
                for (lock, touch) in locks.filter(|(lock, _)| self.blocks(&wait, lock)) {
                    if !asked.contains(&one.asked_after(lock)) {
                        asked.push(one.asked_after(lock));
                        open.push(self.wait_at(touch));
                    }
                }
            }
        }
        asked
    }

    /// Whether somebody at read committed waits for a row that was inserted and rolled back: nothing is left of it to hold on to.
    fn may_vanish(&self, wait: &Wait) -> bool {
        let mut inserted =
            self.holders[wait.key].iter().filter(|one| one.locks.iter().any(|lock| lock.mode == Mode::Insertion));
        let at_read_committed = self.story.transactions[wait.transaction].level == EngineLevel::MysqlReadCommitted;
        at_read_committed && inserted.any(|one| !self.story.transactions[one.transaction].committed)
    }

    /// Whether a transaction is refused while it waits, maybe in another cycle.
    fn is_deadlocked(&self, transaction: usize) -> bool {
        let refusal = self.story.history.refusal(self.story.transactions[transaction].id);
        refusal.is_some_and(|refusal| matches!(refusal.error, "40P01" | "1213"))
    }

    fn wait_of_refused(&self, wanted: &WantedLock, order: &MomentOrder) -> Wait {
        let transaction = self.number(wanted);
        let end = self.end(transaction);
        let WantedLock { key, kind, only_looks, .. } = *wanted;
        Wait {
            transaction,
            key: key.index(),
            kind,
            only_looks,
            before: end - 1,
            after: end,
            deleted_by: self.first_deleter_since(wanted, order),
        }
    }

    /// Who deleted the row of the snapshot for which somebody waited before it was refused with 40001.
    fn first_deleter_since(&self, wanted: &WantedLock, order: &MomentOrder) -> Option<usize> {
        let refusal = self.story.history.refusal(wanted.transaction)?;
        let begin = self.story.transactions[self.number(wanted)].begin;
        let holders = self.holders[wanted.key.index()].iter().filter(|one| one.changes(self.story));
        let deletes = holders.filter(|one| one.touches.iter().any(|touch| touch.left() == Some(true)));
        let ends = deletes.map(|one| one.transaction).filter(|&one| order.has((begin, self.end(one))));
        let mut since: Vec<usize> = ends.filter(|_| refusal.error == "40001").collect();
        let is_first = |one: usize| !since.iter().any(|&other| order.has((self.end(other), self.end(one))));
        let first = since.iter().position(|&one| is_first(one))?;
        Some(since.swap_remove(first))
    }

    /// When a transaction may have waited.
    fn waits_of(&self, transaction: usize, order: &MomentOrder) -> Vec<Wait> {
        let refused = self.wanted.iter().filter(|wanted| self.number(wanted) == transaction);
        let own = self.story.touches.iter().filter(|touch| touch.transaction == transaction);
        let waiting = own.filter(|touch| self.may_have_waited(touch, order));
        let waits =
            refused.map(|wanted| self.wait_of_refused(wanted, order)).chain(waiting.map(|touch| self.wait_at(touch)));
        waits.filter(|wait| !self.has_enough(wait)).collect()
    }

    fn wait_at(&self, touch: &Touch) -> Wait {
        Wait {
            transaction: touch.transaction,
            key: touch.key,
            kind: touch.kind,
            only_looks: !touch.changes_it,
            before: touch.moment - 1,
            after: touch.moment,
            deleted_by: self.deleter_of(touch),
        }
    }

    /// Who deleted the row that a statement of PostgreSQL has waited for.
    fn deleter_of(&self, touch: &Touch) -> Option<usize> {
        let is_postgres = self.story.transactions[touch.transaction].level.engine() == Engine::Postgres;
        let is_insert = matches!(touch.kind, StatementKind::Insert | StatementKind::Upsert);
        match touch.deed {
            Deed::Read { from: From::Gone(by), .. } => Some(by),
            Deed::Read { from: From::Version(by), absent: true, .. } if is_postgres && !is_insert => by,
            _ => None,
        }
    }

    fn may_have_waited(&self, touch: &Touch, order: &MomentOrder) -> bool {
        let level = self.story.transactions[touch.transaction].level;
        let Deed::Read { from, absent, passed, waited } = touch.deed else { return false };
        let locks = touch.kind != StatementKind::Select || level == EngineLevel::MysqlSerializable;
        let is_insert = matches!(touch.kind, StatementKind::Insert | StatementKind::Upsert);
        if !locks || passed && !waited && matches!(level.engine(), Engine::Postgres) {
            return false;
        }
        if passed && !waited && level == EngineLevel::MysqlReadCommitted {
            return !matches!(touch.kind, StatementKind::Update | StatementKind::Delete);
        }
        if level.engine() == Engine::Postgres && absent && !is_insert {
            // It waited if the row was there when the statement began.
            return match from {
                From::Gone(_) => true,
                From::Version(Some(writer)) => order.has((touch.start, self.end(writer))),
                From::Own | From::Version(None) => false,
            };
        }
        true
    }

    /// Whether a lock keeps somebody from going on.
    fn blocks(&self, wait: &Wait, held: &Lock) -> bool {
        let mode = match (self.story.transactions[wait.transaction].level.engine(), wait.kind) {
            (Engine::Postgres, _) => Reasons::mode_at_postgres(wait, held.changes),
            (Engine::Mysql, StatementKind::Insert) => return held.mode != Mode::Share,
            (Engine::Mysql, StatementKind::Upsert) => Mode::Insertion,
            (Engine::Mysql, kind) => wanted_mode(kind),
        };
        Lock { mode, moment: wait.after, changes: false }.conflicts(held)
    }

    /// The lock that PostgreSQL wants of a row that somebody else is about to change, or not.
    fn mode_at_postgres(wait: &Wait, is_changing: bool) -> Mode {
        use StatementKind::{ForKeyShare, ForNoKeyUpdate, ForShare, ForeignKey, Insert, Update, Upsert};
        match wait.kind {
            Insert => Mode::Look,
            Upsert if wait.only_looks || is_changing => Mode::Look,
            Update | Upsert | ForNoKeyUpdate => Mode::NoKeyUpdate,
            ForKeyShare | ForeignKey => Mode::KeyShare,
            ForShare => Mode::Share,
            _ => Mode::Exclusive,
        }
    }
}

/// The lock that InnoDB wants of a row.
fn wanted_mode(kind: StatementKind) -> Mode {
    match kind {
        StatementKind::Insert
        | StatementKind::Select
        | StatementKind::ForShare
        | StatementKind::ForKeyShare
        | StatementKind::ForeignKey => Mode::Share,
        _ => Mode::Exclusive,
    }
}

impl Touch {
    /// Whether a change leaves no row.
    fn left(&self) -> Option<bool> {
        if let Deed::Change { absent } = self.deed { Some(absent) } else { None }
    }
}
