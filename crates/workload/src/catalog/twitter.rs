//! Twitter: a tweet that somebody saw is not missing later.
//!
//! Three users, each at any session; in the beginning nobody has tweeted and nobody follows anybody. `follow`, `unfollow` and `tweet`
//! change a set, `timeline` shows a user's tweets, `newsfeed` those of all whom the viewer follows, in one transaction (MonkeyDB,
//! Fig. 12). Who tweets is shown the timeline with the new tweet. A set is one row: numbers, separated by blanks.
//!
//! ```text
//!   s1: tweet(2) {a}     s2: tweet(2) {b}, because it did not see the first     s3: timeline(2) {a}   follow(1, 2)
//!                                                                                s3: newsfeed(1) {b}: where is a?
//! ```
//!
//! What does *later* mean? A later operation of the same session, or the newsfeeds at the end of the run: no serial run that keeps the
//! order of each session fails that. The second assertion is the narrower one: a timeline and then a newsfeed, both in one session.

use super::shared::{fresh, nothing_against, two_of};
use crate::load::Loader;
use crate::table::{Table, int, long_text};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Observation, Random, Transaction, Value};
use std::collections::{BTreeMap, BTreeSet};

const TWEETS: Table = Table::new("tweets", &[int("author")], &[long_text("numbers")]);
const FOLLOWING: Table = Table::new("following", &[int("viewer")], &[long_text("numbers")]);

/// The workload.
#[derive(Clone, Debug)]
pub struct Twitter {
    /// How many users there are, at least two.
    pub users: i64,
}

impl Default for Twitter {
    fn default() -> Twitter {
        Twitter { users: 3 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TwitterCall {
    Follow(i64, i64),
    Unfollow(i64, i64),
    Tweet(i64, i64),
    Timeline(i64),
    Newsfeed(i64),
}

impl TwitterCall {
    fn name(self) -> &'static str {
        match self {
            TwitterCall::Follow(..) => "follow",
            TwitterCall::Unfollow(..) => "unfollow",
            TwitterCall::Tweet(..) => "tweet",
            TwitterCall::Timeline(_) => "timeline",
            TwitterCall::Newsfeed(_) => "newsfeed",
        }
    }
}

type NumberSet = BTreeSet<i64>;
/// Tweets by author.
type Feed = BTreeMap<i64, NumberSet>;

impl Twitter {
    fn call(&self, random: &mut Random, session: usize, number: u64) -> TwitterCall {
        let kind = random.below(5);
        let (user, other) = two_of(random, self.users.max(2));
        match kind {
            0 => TwitterCall::Follow(user, other),
            1 => TwitterCall::Unfollow(user, other),
            2 => TwitterCall::Tweet(user, fresh(session, number)),
            3 => TwitterCall::Timeline(user),
            _ => TwitterCall::Newsfeed(user),
        }
    }
}

fn parse(text: &str) -> NumberSet {
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

fn read(transaction: &mut Transaction<'_>, table: &Table, user: i64) -> Result<NumberSet, Failure> {
    let row = transaction.select(table, user, &["numbers"])?;
    row.map_or(Ok(NumberSet::new()), |row| row.text(0).map(parse))
}

/// Adds a number to a set or takes it away; the set afterwards.
fn change(
    transaction: &mut Transaction<'_>,
    table: &Table,
    user: i64,
    number: i64,
    present: bool,
) -> Result<NumberSet, Failure> {
    let mut set = read(transaction, table, user)?;
    if if present { set.insert(number) } else { set.remove(&number) } {
        let words: Vec<String> = set.iter().map(i64::to_string).collect();
        transaction.overwrite(table, user, "numbers = ?", words.join(" "))?;
    }
    Ok(set)
}

fn serve(transaction: &mut Transaction<'_>, call: TwitterCall) -> Result<Feed, Failure> {
    Ok(match call {
        TwitterCall::Follow(viewer, author) => {
            change(transaction, &FOLLOWING, viewer, author, true)?;
            Feed::new()
        }
        TwitterCall::Unfollow(viewer, author) => {
            change(transaction, &FOLLOWING, viewer, author, false)?;
            Feed::new()
        }
        TwitterCall::Tweet(author, number) => {
            Feed::from([(author, change(transaction, &TWEETS, author, number, true)?)])
        }
        TwitterCall::Timeline(author) => Feed::from([(author, read(transaction, &TWEETS, author)?)]),
        TwitterCall::Newsfeed(viewer) => {
            let mut feed = Feed::new();
            for author in read(transaction, &FOLLOWING, viewer)? {
                feed.insert(author, read(transaction, &TWEETS, author)?);
            }
            feed
        }
    })
}

/// A feed as a list of numbers: each author, how many tweets, the tweets.
fn flat(feed: &Feed) -> Vec<Value> {
    let of = |(author, tweets): (&i64, &NumberSet)| {
        [*author, tweets.len() as i64].into_iter().chain(tweets.clone()).collect()
    };
    feed.iter().flat_map(|part| -> Vec<i64> { of(part) }).map(Value::Int).collect()
}

fn feed_of(observation: &Observation) -> Feed {
    let mut numbers = observation.values.iter().filter_map(|value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    });
    let mut feed = Feed::new();
    while let (Some(author), Some(count)) = (numbers.next(), numbers.next()) {
        let tweets = numbers.by_ref().take(count.max(0) as usize).collect();
        feed.insert(author, tweets);
    }
    feed
}

/// What a newsfeed lacks of what was shown, of somebody it follows.
fn lacking(shown: &Feed, newsfeed: &Feed) -> Option<String> {
    shown.iter().find_map(|(author, tweets)| {
        let missing = tweets.difference(newsfeed.get(author)?).next()?;
        Some(format!("tweet {missing} of user {author} was seen and is missing"))
    })
}

/// What is missing in a later newsfeed of the same session.
fn missing_in_session(observations: &[Observation], shows: &[&str]) -> Vec<String> {
    let mut missing = Vec::new();
    for (place, first) in observations.iter().enumerate().filter(|(_, first)| shows.contains(&first.name)) {
        let later = observations[place + 1..].iter();
        let later = later.filter(|later| later.session == first.session && later.name == "newsfeed");
        missing.extend(later.filter_map(|later| lacking(&feed_of(first), &feed_of(later))));
    }
    missing
}

/// The newsfeeds of all users at the end.
fn last_feeds(end: &mut FinalState<'_>) -> Result<Vec<Feed>, Failure> {
    let mut sets = |table: &str, key: &str| -> Result<Feed, Failure> {
        let rows = end.query(&format!("SELECT {key}, numbers FROM {{{table}}}"), ())?;
        rows.iter().map(|row| Ok((row.int(0)?, parse(row.text(1)?)))).collect()
    };
    let (tweets, following) = (sets("tweets", "author")?, sets("following", "viewer")?);
    let feed = |authors: &NumberSet| {
        authors.iter().map(|author| (*author, tweets.get(author).cloned().unwrap_or_default())).collect()
    };
    Ok(following.values().map(feed).collect())
}

impl Workload for Twitter {
    fn name(&self) -> &'static str {
        "twitter"
    }

    fn tables(&self) -> &[Table] {
        &[TWEETS, FOLLOWING]
    }

    fn load(&self, loader: &mut Loader) {
        for table in [TWEETS, FOLLOWING] {
            (1..=self.users.max(2)).for_each(|user| loader.insert(&table, user, ""));
        }
    }

    fn draw(&self, random: &mut Random, session: usize, number: u64) -> Operation {
        let call = self.call(random, session, number);
        Operation::observed(call.name(), move |transaction| serve(transaction, call).map(|feed| flat(&feed)))
    }

    /// What was seen counts also when the answer to a commit was lost: tweets are never taken back.
    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        let feeds = last_feeds(end)?;
        let all = end.observations();
        let in_session = missing_in_session(all, &["timeline"]);
        let mut missing = missing_in_session(all, &["timeline", "tweet"]);
        for shown in all.iter().filter(|seen| ["timeline", "tweet"].contains(&seen.name)).map(feed_of) {
            missing.extend(feeds.iter().filter_map(|feed| lacking(&shown, feed)));
        }
        let newsfeeds = all.iter().filter(|seen| seen.name == "newsfeed").count();
        let otherwise = format!("{newsfeeds} newsfeeds were read");
        Ok(vec![
            nothing_against("no missing tweets", &missing, &otherwise),
            nothing_against("no missing tweets in a session", &in_session, &otherwise),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls, end_of, observation};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let twitter = Twitter::default();
        let draw = |random: &mut Random, session, number| twitter.call(random, session, number);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        assert_shares(
            calls(1, draw).iter().map(|call| call.name()),
            &[("follow", 0.2), ("unfollow", 0.2), ("tweet", 0.2), ("timeline", 0.2), ("newsfeed", 0.2)],
        );
    }

    #[test]
    fn a_feed_is_the_same_after_it_was_written_down() {
        let feed = Feed::from([(1, NumberSet::from([7, 8])), (2, NumberSet::new()), (3, NumberSet::from([9]))]);
        let written = Observation { session: 0, name: "newsfeed", values: flat(&feed) };
        assert_eq!(feed_of(&written), feed);
    }

    #[test]
    fn a_newsfeed_has_what_its_session_saw_before() {
        let holds = |seen: &[Observation]| {
            let assertions = end_of(&Twitter::default(), seen, true);
            [assertions[0].holds, assertions[1].holds]
        };
        let timeline = observation(0, "timeline", &[2, 1, 55]);
        let (with, without) = (observation(0, "newsfeed", &[2, 1, 55]), observation(0, "newsfeed", &[2, 0]));
        assert_eq!(holds(&[timeline.clone(), with]), [true, true]);
        assert_eq!(holds(&[without.clone(), timeline.clone()]), [true, true], "earlier, not later");
        assert_eq!(holds(&[timeline.clone(), observation(1, "newsfeed", &[2, 0])]), [true, true], "another session");
        assert_eq!(holds(&[timeline.clone(), observation(0, "newsfeed", &[3, 0])]), [true, true], "follows another");
        assert_eq!(holds(&[timeline, without.clone()]), [false, false]);
        assert_eq!(holds(&[observation(0, "tweet", &[2, 1, 55]), without]), [false, true]);
    }
}
