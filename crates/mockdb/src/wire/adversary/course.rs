//! The order of a run that is repeated: who goes next says a log, not a clock.
//!
//! ```text
//!   the log     t1 SELECT x    t2 SELECT x    t1 UPDATE x    t2 UPDATE x
//!   waiting     ann: SELECT x                  ann is t1
//!   waiting     bob: SELECT x, ann: UPDATE x   bob is t2, and ann waits for t2's SELECT
//! ```
//!
//! A transaction is recognised by what it asks, not by its connection: a pool gives its connections to whoever comes. Values that are not the same in
//! every run, such as times, do not matter where the rest does not leave it open. Of several that begin alike it is the one whose client was free since
//! about the same place of the log: a thread that asks twice connects a second time when its first transaction is over, and who was there from the
//! beginning is not taken for it, however late it asks. Two may turn out to be each other all the same; then they change places, which is no difference as long as nobody else
//! came between their steps.
//!
//! A step also waits for the requests that were there in the log when it was taken, so that the same ones are there when who is who is decided.
//!
//! Whoever asks for what the log does not have goes on at once, and whoever does not come is waited for no longer than some patience. Both are
//! told: from there on the run is another one.

use crate::log::LoggedStep;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Requests are looked for among so many steps.
const MOST_AHEAD: usize = 1_000;

/// What a log says about those who wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// This client goes.
    Go(i32),
    /// Somebody else is next and has not come.
    Wait,
}

/// A log that is followed.
#[derive(Debug)]
pub(crate) struct Course {
    /// What is to come, with places in the log.
    steps: VecDeque<(usize, LoggedStep)>,
    /// What was taken, by its transaction: places and shapes.
    past: BTreeMap<u32, Vec<(usize, String)>>,
    /// Which transaction of the log a client's is.
    bound: BTreeMap<i32, u32>,
    /// Which client of the log a client was.
    clients: BTreeMap<i32, u32>,
    taken: BTreeSet<u32>,
    /// The places of requests that are not waited for any more before it is their turn.
    late: BTreeSet<usize>,
    divergences: u64,
    first: Option<String>,
}

impl Course {
    pub(crate) fn new(steps: &[LoggedStep]) -> Course {
        Course {
            steps: steps.iter().cloned().enumerate().collect(),
            past: BTreeMap::new(),
            bound: BTreeMap::new(),
            clients: BTreeMap::new(),
            taken: BTreeSet::new(),
            late: BTreeSet::new(),
            divergences: 0,
            first: None,
        }
    }

    /// How often the run was not as the log says, and the first time in words.
    pub(crate) fn divergences(&self) -> (u64, Option<&str>) {
        (self.divergences, self.first.as_deref())
    }

    /// What of the log is left when the run is over was waited for in vain.
    pub(crate) fn left(&self) -> Option<String> {
        self.steps.front().map(|(place, step)| format!("step {}: nobody asked for {}", place + 1, step.asks))
    }

    fn differ(&mut self, place: usize, what: &str) {
        self.divergences += 1;
        self.first.get_or_insert_with(|| format!("step {}: {what}", place + 1));
    }

    /// Where the log is.
    fn place(&self) -> usize {
        self.steps.front().map_or(self.past.values().map(Vec::len).sum(), |(place, _)| *place)
    }

    /// A client asks for something: whoever begins a transaction is one of the log. It was free since so many steps had been taken.
    pub(crate) fn arrive(&mut self, client: i32, since: u32, asks: &str) {
        if self.bound.contains_key(&client) {
            return;
        }
        let (shape, now, was) = (shape(asks), self.place(), self.clients.get(&client));
        let first = |(place, step): &&(usize, LoggedStep)| self.is_first(*place, step.transaction);
        let like = self.steps.iter().filter(first).filter(|(_, step)| self::shape(&step.asks) == shape);
        let rank = |(place, step): &&(usize, LoggedStep)| {
            // In the log it came so much later, perhaps because its thread was slow.
            let later = (step.after as usize).saturating_sub(now);
            (step.asks != asks, later, step.since.abs_diff(since), was != Some(&step.client), *place)
        };
        if let Some(transaction) = like.min_by_key(rank).map(|(_, step)| step.transaction) {
            self.bound.insert(client, transaction);
            self.taken.insert(transaction);
        }
    }

    /// Who goes next of those who wait, in the order in which they came, each with what it asks.
    pub(crate) fn next(&mut self, waiting: &[(i32, &str)]) -> Next {
        for (client, asks) in waiting {
            if !self.expects(*client, asks) {
                self.differ(self.place(), &format!("the log has nobody who asks for {asks}"));
                return Next::Go(*client);
            }
        }
        let Some((_, step)) = self.steps.front() else { return Next::Wait };
        if self.missing(waiting).is_some() {
            return Next::Wait;
        }
        let is_next = |client: &i32| self.bound.get(client) == Some(&step.transaction);
        let Some(client) = waiting.iter().map(|(client, _)| *client).find(is_next) else { return Next::Wait };
        self.take(client);
        Next::Go(client)
    }

    /// A request that had come before the next step was taken, and is not here: waiting for it makes the same requests be there at the same steps, so
    /// that who is who is as clear as it was.
    fn missing(&self, waiting: &[(i32, &str)]) -> Option<usize> {
        let (now, _) = self.steps.front()?;
        let is_here = |transaction: &u32| waiting.iter().any(|(client, _)| self.bound.get(client) == Some(transaction));
        let was_here = |(place, step): &&(usize, LoggedStep)| step.after as usize <= *now && !self.late.contains(place);
        let mut came = self.steps.iter().take(MOST_AHEAD).filter(was_here);
        came.find(|(_, step)| !is_here(&step.transaction)).map(|(place, _)| *place)
    }

    /// Whether a client asks for what the log has, which may be that of another one with the same past.
    fn expects(&mut self, client: i32, asks: &str) -> bool {
        let Some(own) = self.bound.get(&client).copied() else { return false };
        let shape = shape(asks);
        let exact = self.following(own).is_some_and(|step| step.asks == asks);
        if exact {
            return true;
        }
        let other = self.bound.iter().find(|(_, other)| self.is_like(own, **other, asks)).map(|(client, _)| *client);
        if let Some(other) = other {
            self.change_places(client, other);
            return true;
        }
        self.following(own).is_some_and(|step| self::shape(&step.asks) == shape)
    }

    /// The next step of a transaction.
    fn following(&self, transaction: u32) -> Option<&LoggedStep> {
        self.steps.iter().map(|(_, step)| step).find(|step| step.transaction == transaction)
    }

    /// Whether this is the first step of a transaction that nobody is yet.
    fn is_first(&self, place: usize, transaction: u32) -> bool {
        let first = self.steps.iter().find(|(_, step)| step.transaction == transaction);
        !self.taken.contains(&transaction) && first.is_some_and(|(first, _)| *first == place)
    }

    /// Whether another transaction has the same past, and goes on with exactly this.
    fn is_like(&self, own: u32, other: u32, asks: &str) -> bool {
        let shapes = |transaction: u32| {
            let past = self.past.get(&transaction).map_or(&[][..], Vec::as_slice);
            past.iter().map(|(_, shape)| shape.as_str()).collect::<Vec<_>>()
        };
        own != other && shapes(own) == shapes(other) && self.following(other).is_some_and(|step| step.asks == asks)
    }

    /// Two transactions that began alike were taken for each other.
    fn change_places(&mut self, one: i32, other: i32) {
        let (Some(mine), Some(theirs)) = (self.bound.get(&one).copied(), self.bound.get(&other).copied()) else {
            return;
        };
        self.bound.extend([(one, theirs), (other, mine)]);
        let places = |transaction: u32| self.past.get(&transaction).into_iter().flatten().map(|(place, _)| *place);
        let both: BTreeSet<usize> = places(mine).chain(places(theirs)).collect();
        let span = both.first().zip(both.last()).map_or(0, |(first, last)| last - first + 1);
        if span > both.len() {
            self.differ(self.place(), "two that began alike came in the other order");
        }
    }

    /// A client takes the next step.
    fn take(&mut self, client: i32) {
        let Some((place, step)) = self.steps.pop_front() else { return };
        self.bound.insert(client, step.transaction);
        self.clients.insert(client, step.client);
        self.taken.insert(step.transaction);
        self.past.entry(step.transaction).or_default().push((place, shape(&step.asks)));
    }

    /// Nothing happens: a request that is missing is not waited for before it is its turn; then somebody who begins alike is taken for who is next; then
    /// the rest of its transaction is not waited for.
    pub(crate) fn give_up(&mut self, waiting: &[(i32, &str)]) {
        let Some((place, step)) = self.steps.front() else { return };
        let (place, transaction, what) = (*place, step.transaction, format!("nobody asked for {}", step.asks));
        if let Some(missing) = self.missing(waiting) {
            self.late.insert(missing);
        } else if !self.stand_in() {
            self.differ(place, &what);
            self.drop_rest(transaction);
        }
    }

    /// Takes somebody who waits and begins alike for who is next and does not come; whether there is one.
    fn stand_in(&mut self) -> bool {
        let Some((place, step)) = self.steps.front() else { return false };
        let transaction = step.transaction;
        let alike = self.is_first(*place, transaction).then(|| self.alike(&shape(&step.asks))).flatten();
        let Some((client, other)) = alike else { return false };
        self.taken.remove(&other);
        self.taken.insert(transaction);
        self.bound.insert(client, transaction);
        true
    }

    /// A client that begins alike, later in the log, and its transaction.
    fn alike(&self, shape: &str) -> Option<(i32, u32)> {
        let begins = |transaction: &u32| {
            let is_alike = self.following(*transaction).is_some_and(|step| self::shape(&step.asks) == shape);
            !self.past.contains_key(transaction) && is_alike
        };
        self.bound.iter().find(|(_, transaction)| begins(transaction)).map(|(client, other)| (*client, *other))
    }

    fn drop_rest(&mut self, transaction: u32) {
        self.taken.insert(transaction);
        self.steps.retain(|(_, step)| step.transaction != transaction);
        self.bound.retain(|_, bound| *bound != transaction);
    }

    /// The transaction of a client is over; what the log has of it besides is not waited for.
    pub(crate) fn end(&mut self, client: i32) {
        let Some(transaction) = self.bound.remove(&client) else { return };
        if !self.past.contains_key(&transaction) {
            // It has not begun: somebody else may be it.
            self.taken.remove(&transaction);
            return;
        }
        let left = self.steps.iter().find(|(_, step)| step.transaction == transaction).map(|(place, _)| *place);
        if let Some(place) = left {
            self.differ(place, "its transaction is over before");
        }
        self.drop_rest(transaction);
    }
}

/// A statement without its values: what is quoted, and numbers.
fn shape(asks: &str) -> String {
    let (mut shape, mut quoted, mut letters) = (String::with_capacity(asks.len()), false, asks.chars().peekable());
    while let Some(letter) = letters.next() {
        let within_name = shape.chars().next_back().is_some_and(|last| last.is_alphanumeric() || "_$".contains(last));
        match letter {
            '\'' => {
                quoted = !quoted;
                shape.push(letter);
            }
            _ if quoted => {}
            digit if digit.is_ascii_digit() && !within_name => {
                while letters.next_if(|next| next.is_ascii_alphanumeric() || *next == '.').is_some() {}
                shape.push('0');
            }
            letter => shape.push(letter),
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `1a:x` is a step x of transaction a of client 1.
    fn course(words: &str) -> Course {
        let step = |(place, word): (usize, &str)| LoggedStep {
            client: u32::from(word.as_bytes()[0] - b'0'),
            transaction: u32::from(word.as_bytes()[1]),
            since: 0,
            after: place as u32,
            asks: word[3..].to_owned(),
            by_time: false,
        };
        Course::new(&words.split(' ').enumerate().map(step).collect::<Vec<_>>())
    }

    fn run(course: &mut Course, asked: &[(i32, &str)]) -> Vec<i32> {
        let (mut waiting, mut gone) = (asked.to_vec(), Vec::new());
        waiting.iter().for_each(|(client, asks)| course.arrive(*client, 0, asks));
        while let Next::Go(client) = course.next(&waiting) {
            gone.push(client);
            let place = waiting.iter().position(|(other, _)| *other == client).unwrap();
            waiting.remove(place);
        }
        gone
    }

    #[test]
    fn who_goes_next_says_the_log() {
        let mut course = course("1a:read 2b:see 1a:write 2b:change");
        assert_eq!(run(&mut course, &[(8, "see")]), [] as [i32; 0]);
        assert_eq!(run(&mut course, &[(8, "see"), (9, "read")]), [9, 8]);
        assert_eq!(course.next(&[(8, "change")]), Next::Wait);
        assert_eq!(run(&mut course, &[(8, "change"), (9, "write")]), [9, 8]);
        assert_eq!((course.divergences(), course.left()), ((0, None), None));
    }

    #[test]
    fn a_connection_that_comes_back_is_another_transaction() {
        let mut course = course("1a:x 2b:y 1c:z");
        assert_eq!(run(&mut course, &[(1, "x")]), [1]);
        course.end(1);
        assert_eq!(run(&mut course, &[(1, "y")]), [1]);
        course.end(1);
        assert_eq!(run(&mut course, &[(1, "z")]), [1]);
        assert_eq!(course.divergences().0, 0);
    }

    #[test]
    fn values_matter_where_the_rest_leaves_it_open() {
        let mut course = course("1a:f('ann',1) 2b:f('bob',2)");
        assert_eq!(run(&mut course, &[(7, "f('bob',9)"), (8, "f('ann',1)")]), [8, 7]);
        assert_eq!(course.divergences().0, 0);
        assert_eq!(
            shape("SELECT t1.a2, $3 FROM t WHERE a = 'it''s 5' AND b > 1.5e3"),
            "SELECT t1.a2, $3 FROM t WHERE a = '''' AND b > 0"
        );
    }

    #[test]
    fn who_began_alike_may_turn_out_to_be_each_other() {
        let mut alike = course("1a:x 2b:x 1a:p(1) 2b:p(2)");
        assert_eq!(run(&mut alike, &[(7, "x"), (8, "x")]), [7, 8]);
        assert_eq!(run(&mut alike, &[(7, "p(2)"), (8, "p(1)")]), [8, 7]);
        assert_eq!(alike.divergences().0, 0);
        // Somebody came between them: what they have seen is not the same.
        let mut between = course("1a:x 3c:z 2b:x 1a:p(1) 2b:p(2)");
        assert_eq!(run(&mut between, &[(7, "x"), (8, "x"), (9, "z")]), [7, 9, 8]);
        assert_eq!(run(&mut between, &[(7, "p(2)"), (8, "p(1)")]), [8, 7]);
        assert_eq!(between.divergences(), (1, Some("step 4: two that began alike came in the other order")));
    }

    #[test]
    fn who_was_there_from_the_beginning_is_not_taken_for_who_came_later() {
        let mut course = course("1a:x 3c:x 2b:x");
        course.steps[1].1.since = 1;
        course.steps[2].1.after = 0;
        // The third one of the log came when the first was over; here it is late.
        assert_eq!(run(&mut course, &[(7, "x"), (8, "x")]), [7]);
        course.end(7);
        assert_eq!(run(&mut course, &[(8, "x"), (9, "x")]), [9, 8]);
        assert_eq!(course.divergences().0, 0);
    }

    #[test]
    fn who_waits_may_be_taken_for_who_does_not_come() {
        let mut course = course("1a:x 2b:x");
        course.arrive(7, 0, "x");
        course.arrive(8, 0, "x");
        course.end(7);
        assert_eq!(course.next(&[(8, "x")]), Next::Wait);
        course.give_up(&[(8, "x")]);
        assert_eq!(course.next(&[(8, "x")]), Next::Wait);
        course.give_up(&[(8, "x")]);
        assert_eq!((course.next(&[(8, "x")]), course.divergences().0), (Next::Go(8), 0));
    }

    #[test]
    fn what_the_log_does_not_have_goes_on_and_is_told() {
        let mut course = course("1a:x 1a:y");
        assert_eq!(run(&mut course, &[(5, "unknown"), (6, "x")]), [5, 6]);
        assert_eq!(course.divergences(), (1, Some("step 1: the log has nobody who asks for unknown")));
        course.end(6);
        assert_eq!(course.divergences().0, 2);
        assert_eq!(course.left(), None);
    }

    #[test]
    fn who_does_not_come_is_given_up() {
        let mut course = course("1a:x 2b:y 1a:z");
        assert_eq!(run(&mut course, &[(5, "y")]), [] as [i32; 0]);
        // First because it was there before, then because it is its turn.
        course.give_up(&[(5, "y")]);
        course.give_up(&[(5, "y")]);
        assert_eq!(run(&mut course, &[(5, "y")]), [5]);
        assert_eq!((course.divergences(), course.left()), ((1, Some("step 1: nobody asked for x")), None));
    }
}
