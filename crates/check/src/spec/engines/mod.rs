//! The levels of the engines by brute force: some lock orders leave the moments of a history without a cycle.
//!
//! ```text
//!   History ── for some reading ──> Story: moments ── for some lock order of every key ──> what must be earlier than what ──> a cycle?
//!              who counts, who      S → 1 → 1′ → … → C      who locked before whom         locks, reads, what levels add
//!              wrote what was read
//! ```
//!
//! A worked example, `SELECT x; UPDATE x` twice at PostgreSQL's repeatable read, both SELECTs from the initial state. Somebody locked x
//! first, say t1. The level says that who locks what changed since its snapshot is refused: C1 → S2. But t2 read x in its snapshot, before
//! t1 changed it: S2 → C1. At read committed the first edge goes to the second statement of t2 and the second leaves its first: no cycle.
//!
//! | module | holds |
//! |---|---|
//! | `story` | a history as moments |
//! | `locks` | which event takes which lock, for how long; which locks conflict |
//! | `lock_order` | who may have locked a key in which order |
//! | `edges` | what follows for moments from reads and from levels |
//! | `refusals` | whether a refusal has a reason |
//! | `serial`, `least` | the other half of PostgreSQL's serializable; what of it is certain to be noticed |
//! | `order` | moments in a partial order |
//! | `schedule` | the same with all moments in a row, at any size |
//! | `latest`, `queue` | a key along a schedule: its versions, and who locks it |

mod edges;
mod latest;
mod least;
mod lock_order;
mod locks;
mod order;
mod queue;
mod refusals;
mod schedule;
mod serial;
mod story;

use super::choices::{LevelFamily, some_choices};
use super::{Attention, WantedLock};
use edges::Ordered;
use order::MomentOrder;
use skew_history::{EngineLevel, EventId, History, TransactionId, Writer};
use story::Story;

/// Decides by the definition whether an engine can show a history, its transactions each at the level that stands at its number in `levels`.
///
/// What refused transactions `wanted` is known as far as it stands there, and only then is a reason asked for.
pub(super) fn allows(
    history: &History,
    levels: &[EngineLevel],
    real_time: bool,
    wanted: &[WantedLock],
    attention: Attention,
) -> bool {
    assert_eq!(levels.len(), history.transaction_count(), "a level for every transaction");
    some_choices(history, LevelFamily::Engines, &mut |choices| {
        let story = Story::new(history, choices, levels, real_time, wanted);
        story.order().is_some_and(|order| {
            some_orders(&story, attention, &mut Vec::new(), &order, &mut |order| {
                refusals::are_explained(&story, wanted, order)
            })
        })
    })
}

/// A schedule of a history that an engine can show, by the definition; nothing when there is none.
pub(super) fn some_schedule(
    history: &History,
    levels: &[EngineLevel],
    attention: Attention,
) -> Option<Vec<TransactionId>> {
    let mut found = None;
    some_choices(history, LevelFamily::Engines, &mut |choices| {
        let story = Story::new(history, choices, levels, true, &[]);
        story.order().is_some_and(|order| {
            some_orders(&story, attention, &mut Vec::new(), &order, &mut |order| {
                let tellers = || story.transactions.iter();
                let teller = |moment: usize| tellers().find(|one| moment <= one.end).map(|one| one.id);
                found = Some(order.in_a_row().into_iter().filter_map(teller).collect());
                true
            })
        })
    });
    found
}

/// Decides by the definition whether a history came about in these steps, each a moment of its transaction.
pub(super) fn came_about(
    history: &History,
    levels: &[EngineLevel],
    steps: &[TransactionId],
    given: &[(EventId, Writer)],
    attention: Attention,
) -> bool {
    levels.len() == history.transaction_count() && schedule::went(history, levels, steps, given, attention)
}

/// Whether `test` accepts what is left of the moments by some lock orders of the keys that are not decided yet.
fn some_orders(
    story: &Story,
    attention: Attention,
    versions: &mut Vec<Vec<usize>>,
    order: &MomentOrder,
    test: &mut dyn FnMut(&MomentOrder) -> bool,
) -> bool {
    let key = versions.len();
    if key == story.history.key_count() {
        return serial::is_serializable(story, versions, attention) && test(order);
    }
    let holders = lock_order::holders(story, key);
    lock_order::some_lock_order(&holders, order, &mut |placed, order| {
        let ordered = Ordered::new(story, key, &holders, placed);
        ordered.some_way(order, &mut |order| {
            versions.push(ordered.versions.clone());
            let found = some_orders(story, attention, versions, order, test);
            versions.pop();
            found
        })
    })
}
