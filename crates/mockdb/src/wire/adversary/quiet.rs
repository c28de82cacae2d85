//! How long nobody may say anything before nobody is waited for any more.
//!
//! ```text
//!   answer ── the client thinks ── request          3 ms, 1 ms, 2 ms: the median is 2 ms, and after 4 × 2 ms without a byte all is quiet
//! ```
//!
//! Whoever is held waits for somebody who may come and may not: it waits for its own thread perhaps, or for the one that is held. Nothing that a
//! server sees tells these from one that is thinking; how long this application thinks does.

use std::time::Duration;

/// The limit before anybody has thought.
const FIRST: Duration = Duration::from_millis(5);
/// At most so long.
const LONGEST: Duration = Duration::from_millis(50);
/// So many times the median.
const TIMES: u32 = 4;
/// The median is of so many at least, and at most.
const FEWEST: usize = 5;
const MOST: usize = 256;

/// The think times of a run.
#[derive(Debug)]
pub(crate) struct Quiet {
    /// In order.
    times: Vec<Duration>,
    /// The one to be dropped next, by its place.
    next: usize,
    limit: Duration,
}

impl Quiet {
    /// A run after one whose median is known, perhaps.
    pub(crate) fn new(thinking: Option<u64>) -> Quiet {
        let limit = thinking.map_or(FIRST, |median| limit_of(Duration::from_micros(median)));
        Quiet { times: Vec::new(), next: 0, limit }
    }

    /// A client has thought for so long, between an answer and its next request.
    pub(crate) fn think(&mut self, time: Duration) {
        if self.times.len() == MOST {
            // Those that are dropped are spread over all, so that the median follows what is new.
            self.next = (self.next + 97) % MOST;
            self.times.remove(self.next);
        }
        let place = self.times.partition_point(|known| *known <= time);
        self.times.insert(place, time);
        if self.times.len() >= FEWEST {
            self.limit = limit_of(self.times[self.times.len() / 2]);
        }
    }

    /// The median, in microseconds.
    pub(crate) fn median(&self) -> Option<u64> {
        (self.times.len() >= FEWEST).then(|| self.times[self.times.len() / 2].as_micros() as u64)
    }

    /// After so long all is quiet.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }
}

fn limit_of(median: Duration) -> Duration {
    (median * TIMES).clamp(FIRST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_the_median() {
        let mut quiet = Quiet::new(None);
        assert_eq!(quiet.limit(), FIRST);
        (0..FEWEST).for_each(|_| quiet.think(Duration::from_millis(3)));
        assert_eq!((quiet.limit(), quiet.median()), (Duration::from_millis(12), Some(3000)));
        (0..10 * MOST).for_each(|_| quiet.think(Duration::from_millis(100)));
        assert_eq!(quiet.limit(), LONGEST);
        assert_eq!(Quiet::new(Some(10)).limit(), FIRST);
        assert_eq!(Quiet::new(Some(8000)).limit(), Duration::from_millis(32));
    }
}
