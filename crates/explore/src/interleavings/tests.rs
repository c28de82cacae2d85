//! Small programs with threads, variables and locks: the walk reaches exactly what all interleavings reach.

use super::{Footprint, Interleavings, Route};
use std::collections::{BTreeMap, BTreeSet};

/// A step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Read(u8),
    /// Writes a number of its own.
    Write(u8),
    Lock(u8),
    Unlock(u8),
}

type Threads = Vec<Vec<Op>>;

/// Where a run is.
#[derive(Clone, Default)]
struct World {
    at: Vec<usize>,
    values: BTreeMap<u8, (usize, usize)>,
    owner: BTreeMap<u8, usize>,
    /// Who asked for a lock that another one has.
    waiting: Vec<(usize, u8)>,
    /// What was read, thread by thread.
    seen: Vec<Vec<(usize, usize)>>,
}

impl World {
    fn new(threads: &Threads) -> World {
        World { at: vec![0; threads.len()], seen: vec![Vec::new(); threads.len()], ..World::default() }
    }

    fn candidates(&self, threads: &Threads) -> Vec<usize> {
        let is_free = |thread: &usize| !self.waiting.iter().any(|waiting| waiting.0 == *thread);
        (0..threads.len()).filter(|thread| self.at[*thread] < threads[*thread].len()).filter(is_free).collect()
    }

    fn step(&mut self, threads: &Threads, thread: usize) -> Footprint {
        let mut touched = Footprint::default();
        let place = self.at[thread];
        self.at[thread] += 1;
        match threads[thread][place] {
            Op::Read(variable) => {
                touched.look_at(variable.into());
                self.seen[thread].push(self.values.get(&variable).copied().unwrap_or_default());
            }
            Op::Write(variable) => {
                touched.change(variable.into());
                self.values.insert(variable, (thread + 1, place));
            }
            Op::Lock(lock) => {
                touched.change(100 + u64::from(lock));
                match self.owner.get(&lock) {
                    Some(_) => self.waiting.push((thread, lock)),
                    None => drop(self.owner.insert(lock, thread)),
                }
            }
            Op::Unlock(lock) => {
                touched.change(100 + u64::from(lock));
                self.owner.remove(&lock);
                // Whoever came first gets it.
                if let Some(next) = self.waiting.iter().position(|waiting| waiting.1 == lock) {
                    let (next, _) = self.waiting.remove(next);
                    self.owner.insert(lock, next);
                }
            }
        }
        touched
    }

    /// What the threads could tell of the run.
    fn outcome(&self) -> Outcome {
        (self.seen.clone(), self.values.clone(), self.at.clone())
    }
}

type Outcome = (Vec<Vec<(usize, usize)>>, BTreeMap<u8, (usize, usize)>, Vec<usize>);

fn by_brute_force(threads: &Threads, world: &World, found: &mut BTreeSet<Outcome>) {
    let candidates = world.candidates(threads);
    if candidates.is_empty() {
        found.insert(world.outcome());
    }
    for thread in candidates {
        let mut next = world.clone();
        next.step(threads, thread);
        by_brute_force(threads, &next, found);
    }
}

fn name(world: &World, thread: usize) -> String {
    format!("{thread}.{}", world.at[thread])
}

fn run(threads: &Threads, route: &mut Route) -> Outcome {
    let mut world = World::new(threads);
    loop {
        let candidates: BTreeSet<String> =
            world.candidates(threads).into_iter().map(|thread| name(&world, thread)).collect();
        let Some(taken) = route.choose(&candidates) else { return world.outcome() };
        let thread = taken.split('.').next().unwrap().parse().unwrap();
        route.took(world.step(threads, thread));
    }
}

fn walk(threads: &Threads) -> (BTreeSet<Outcome>, Interleavings) {
    let (mut all, mut found) = (Interleavings::default(), BTreeSet::new());
    while let Some(mut route) = all.next_route() {
        let outcome = run(threads, &mut route);
        found.insert(outcome);
        all.made(route);
    }
    (found, all)
}

#[test]
fn two_increments_have_their_orders_and_no_more() {
    let increment = vec![Op::Read(0), Op::Write(0)];
    let (found, all) = walk(&vec![increment.clone(), increment]);
    // One after the other, twice; and both read first, with either write the last.
    assert_eq!((found.len(), all.runs()), (4, (4, 0)));
    assert_eq!((all.diverged(), all.late()), (0, 0));
}

#[test]
fn steps_that_do_not_meet_have_one_order() {
    let (found, all) = walk(&vec![vec![Op::Write(0); 4], vec![Op::Write(1); 4], vec![Op::Read(2); 4]]);
    assert_eq!(found.len(), 1);
    assert_eq!(all.runs().0 - all.runs().1, 1);
}

#[test]
fn a_lock_leaves_whole_orders() {
    let locked = vec![Op::Lock(0), Op::Read(0), Op::Write(0), Op::Unlock(0)];
    let (found, all) = walk(&vec![locked.clone(), locked]);
    assert_eq!(found.len(), 2);
    assert!(all.runs().0 < 10, "{:?}", all.runs());
}

/// Numbers by chance, the same every time.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn the_walk_reaches_what_all_interleavings_reach() {
    let mut state = 7;
    for _ in 0..300 {
        let threads: Threads = (0..2 + random(&mut state) % 2).map(|_| thread(&mut state)).collect();
        let mut expected = BTreeSet::new();
        by_brute_force(&threads, &World::new(&threads), &mut expected);
        let (found, all) = walk(&threads);
        assert_eq!(found, expected, "{threads:?}");
        assert!(all.runs().0 - all.runs().1 >= expected.len() as u64);
        assert_eq!(all.diverged() + all.late(), 0);
    }
}

/// Up to four steps, with or without a lock around them.
fn thread(state: &mut u64) -> Vec<Op> {
    let variable = |state: &mut u64| (random(state) % 2) as u8;
    let mut steps: Vec<Op> = (0..1 + random(state) % 3)
        .map(|_| if random(state).is_multiple_of(2) { Op::Read(variable(state)) } else { Op::Write(variable(state)) })
        .collect();
    if random(state).is_multiple_of(3) {
        let lock = variable(state);
        steps.insert(0, Op::Lock(lock));
        steps.push(Op::Unlock(lock));
    }
    steps
}

#[test]
fn a_run_that_was_written_down_is_made_again() {
    let increment = vec![Op::Read(0), Op::Write(0)];
    let threads = vec![increment.clone(), increment];
    let mut all = Interleavings::default();
    while let Some(mut route) = all.next_route() {
        let outcome = run(&threads, &mut route);
        let mut again = Route::again(route.steps().map(str::to_owned).collect());
        assert_eq!(run(&threads, &mut again), outcome);
        assert!(again.diverged().is_none());
        all.made(route);
    }
}

#[test]
fn a_step_that_never_comes_again_is_a_divergence() {
    let mut all = Interleavings::default();
    let candidates = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let mut first = all.next_route().unwrap();
    assert_eq!(first.choose(&candidates(&["a", "b"])).as_deref(), Some("a"));
    first.took(Footprint::default());
    all.made(first);
    let mut second = all.next_route().unwrap();
    assert_eq!(second.choose(&candidates(&["a"])).as_deref(), Some("a"));
    assert_eq!(second.diverged(), Some((0, "b")));
    second.took(Footprint::default());
    all.made(second);
    assert!(all.next_route().is_none());
    assert_eq!(all.diverged(), 1);
}

#[test]
fn a_late_step_is_taken_into_account() {
    let (mut all, mut made) = (Interleavings::default(), BTreeSet::new());
    while let Some(mut route) = all.next_route() {
        let mut left: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
        while !left.is_empty() {
            let mut candidates = left.clone();
            // In the first run `c` comes only when somebody else has been.
            if made.is_empty() && left.len() == 3 {
                candidates.remove("c");
            }
            let taken = route.choose(&candidates).unwrap();
            let mut touched = Footprint::default();
            touched.change(0);
            route.took(touched);
            left.remove(&taken);
        }
        made.insert(route.steps().collect::<Vec<_>>().join(""));
        all.made(route);
    }
    assert_eq!((made.len(), all.late()), (6, 1));
}
