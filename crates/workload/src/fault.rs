//! Faults in the middle of a run: a server is killed, stands still, or is cut off from the others, and after a while all is well again.
//!
//! ```text
//!   operations done   0 ─────── 57 ─────────────────── 103 ──────────────────── 300
//!                               │ kill of node 2       │
//!                               └── for 1.2 s ─────────┴── started again
//! ```
//!
//! Seed and length of the run decide what happens to whom, after how many operations, and for how long. How far the run gets
//! meanwhile is up to the servers, and is in the report.

use crate::Random;
use crate::servers::ServerError;
use std::fmt;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

/// What can be done to servers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// A server ends at once, as by `kill -9`, and is started again.
    Kill,
    /// A server stands still, and goes on.
    Pause,
    /// The smaller half of a cluster hears nothing of the other half.
    Partition,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 3] = [Fault::Kill, Fault::Pause, Fault::Partition];

    /// As arguments and reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::Pause => "pause",
            Fault::Partition => "partition",
        }
    }

    /// Between how many milliseconds it lasts. A cluster takes two seconds to notice that somebody is silent.
    fn span(self) -> (i64, i64) {
        match self {
            Fault::Kill => (300, 1_500),
            Fault::Pause => (300, 3_000),
            Fault::Partition => (4_000, 7_000),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let found = Fault::ALL.into_iter().find(|fault| fault.name() == text);
        found.ok_or_else(|| format!("`{text}` is not a fault; use kill, pause or partition"))
    }
}

/// How long faults last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lasting {
    /// Each as long as the seed says.
    BySeed,
    /// All so long.
    For(Duration),
    /// Until the servers are stopped.
    Forever,
}

/// A fault that is to come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// What.
    pub fault: Fault,
    /// To whom, counted from 0; of a partition, the smaller half.
    pub nodes: Vec<usize>,
    /// After how many operations of all sessions.
    pub moment: u64,
    /// For how long; nothing is forever.
    pub lasts: Option<Duration>,
}

/// What is to happen during a run of so many operations on so many nodes. The faults come in the order in which they are given, each in a part
/// of the run of its own.
pub fn plan(faults: &[Fault], lasting: Lasting, seed: u64, operations: u64, nodes: usize) -> Vec<Planned> {
    let part = operations / (faults.len() as u64).max(1);
    let one = |(number, fault): (u64, &Fault)| {
        // No session has this number.
        let mut random = Random::of_operation(seed, usize::MAX, number);
        // Neither before the first transaction of a part nor just before its end.
        let moment = part * number + part / 10 + random.below(part / 2 + 1);
        let (low, high) = fault.span();
        let milliseconds = random.between(low, high).unsigned_abs();
        let lasts = match lasting {
            Lasting::BySeed => Some(Duration::from_millis(milliseconds)),
            Lasting::For(time) => Some(time),
            Lasting::Forever => None,
        };
        let count = if *fault == Fault::Partition { (nodes / 2).max(1) } else { 1 };
        let first = random.index(nodes);
        let mut chosen: Vec<usize> = (0..count).map(|next| (first + next) % nodes.max(1)).collect();
        chosen.sort_unstable();
        Planned { fault: *fault, nodes: chosen, moment: moment.max(1), lasts }
    };
    (0..).zip(faults).map(one).collect()
}

/// Servers to which something can be done.
pub trait Breakable: Sync {
    /// How many there are.
    fn nodes(&self) -> usize;

    /// Lets a fault happen.
    fn inject(&self, planned: &Planned);

    /// Takes it back.
    fn heal(&self, planned: &Planned) -> Result<(), ServerError>;

    /// Waits until all servers take statements again.
    fn settle(&self) -> Result<(), ServerError>;
}

/// What is to happen, and to whom.
#[derive(Clone, Copy)]
pub struct Faults<'a> {
    /// What, in order.
    pub planned: &'a [Planned],
    /// To whom.
    pub servers: &'a dyn Breakable,
}

/// A moment of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// How many operations were done.
    pub operations: u64,
    /// How long the run had lasted.
    pub time: Duration,
}

/// A fault that was planned, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Injected {
    /// What was planned.
    pub planned: Planned,
    /// When it happened; nothing when the run was over before.
    pub began: Option<Moment>,
    /// When it was taken back; nothing when that never happened.
    pub ended: Option<Moment>,
    /// Why it could not be taken back.
    pub problem: Option<String>,
}

/// How often somebody looks whether it is time.
const GLANCE: Duration = Duration::from_micros(500);

/// Lets everything that is planned happen in its time, until the run is over. Afterwards the servers are well, as far as they ever will be.
pub(crate) fn inject(faults: Faults<'_>, done: impl Fn() -> u64, is_over: impl Fn() -> bool) -> Vec<Injected> {
    let start = Instant::now();
    let now = || Moment { operations: done(), time: start.elapsed() };
    let mut all = Vec::new();
    for planned in faults.planned {
        let mut injected = Injected { planned: planned.clone(), began: None, ended: None, problem: None };
        while done() < planned.moment && !is_over() {
            thread::sleep(GLANCE);
        }
        if !is_over() {
            injected.began = Some(now());
            faults.servers.inject(planned);
        }
        if let (Some(began), Some(lasts)) = (injected.began, planned.lasts) {
            while start.elapsed() < began.time + lasts && !is_over() {
                thread::sleep(GLANCE);
            }
            let healed = faults.servers.heal(planned);
            injected.ended = healed.is_ok().then(now);
            // The next one should find whole servers.
            injected.problem = healed.and_then(|()| faults.servers.settle()).err().map(|error| error.to_string());
        }
        all.push(injected);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_seed_plans_the_same_faults_in_parts_of_the_run() {
        let faults = [Fault::Kill, Fault::Pause, Fault::Partition, Fault::Kill];
        let planned = |seed| plan(&faults, Lasting::BySeed, seed, 400, 5);
        assert_eq!(planned(7), planned(7));
        assert_ne!(planned(7), planned(8));
        for seed in 0..200 {
            for (number, one) in (0..).zip(planned(seed)) {
                assert!((number * 100..number * 100 + 70).contains(&one.moment), "{one:?}");
                assert_eq!(one.nodes.len(), if one.fault == Fault::Partition { 2 } else { 1 });
                assert!(one.nodes.iter().all(|node| *node < 5) && one.nodes.is_sorted());
            }
        }
        let forever = plan(&faults[..1], Lasting::Forever, 1, 3, 1);
        assert_eq!((forever[0].lasts, forever[0].moment.clamp(1, 2)), (None, forever[0].moment));
    }

    /// Servers that write down what was done to them.
    #[derive(Default)]
    struct Diary(Mutex<Vec<String>>);

    impl Diary {
        fn note(&self, what: String) {
            self.0.lock().expect("nobody panics").push(what);
        }
    }

    impl Breakable for Diary {
        fn nodes(&self) -> usize {
            1
        }

        fn inject(&self, planned: &Planned) {
            self.note(planned.fault.to_string());
        }

        fn heal(&self, planned: &Planned) -> Result<(), ServerError> {
            self.note(format!("end of {}", planned.fault));
            Ok(())
        }

        fn settle(&self) -> Result<(), ServerError> {
            self.note("well".to_owned());
            Ok(())
        }
    }

    #[test]
    fn faults_come_one_after_the_other_and_are_over_when_the_run_is() {
        let (diary, done) = (Diary::default(), AtomicU64::new(0));
        let planned = plan(&Fault::ALL, Lasting::For(Duration::from_secs(3600)), 1, 30, 1);
        // Every look is progress; it is over in the middle of the second one, whose hour nobody waits for.
        let look = || done.fetch_add(1, Ordering::Relaxed);
        let begun = || diary.0.lock().expect("nobody panics").len();
        let is_over = || begun() == 1 || begun() >= 4;
        let first = inject(Faults { planned: &planned[..1], servers: &diary }, look, is_over);
        assert_eq!(*diary.0.lock().expect("nobody panics"), ["kill", "end of kill", "well"]);
        assert!(first[0].began.is_some() && first[0].ended.is_some() && first[0].problem.is_none());
        let rest = inject(Faults { planned: &planned[1..], servers: &diary }, look, is_over);
        assert!(rest[0].ended.is_some() && rest[1].began.is_none(), "{rest:?}");
    }

    #[test]
    fn names_are_read_back() {
        assert!(Fault::ALL.iter().all(|fault| fault.name().parse() == Ok(*fault)));
        assert!("fire".parse::<Fault>().is_err_and(|words| words.contains("kill, pause or partition")));
    }
}
