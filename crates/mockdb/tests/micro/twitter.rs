//! Twitter: a tweet that somebody saw is not missing later.
//!
//! Three users, each at any session; in the beginning nobody has tweeted and nobody follows anybody. `follow`, `unfollow` and `tweet`
//! change a set, `timeline` shows a user's tweets, `newsfeed` those of all whom the viewer follows, in one transaction (MonkeyDB,
//! Fig. 12). Who tweets is shown the timeline with the new tweet.
//!
//! ```text
//!   s0: tweet(bob) {1}     s1: tweet(bob) {2}, because it did not see the first     s2: timeline(bob) {1}   follow(ann, bob)
//!                                                                                    s2: newsfeed(ann) {2}: where is 1?
//! ```
//!
//! What does *later* mean? A later operation of the same session, or the newsfeeds that are read at the end of the run, by a session
//! that has seen everything: no serial execution fails that. Merely to arrive later is not enough. Serializable executions may put a
//! newsfeed that arrived after a timeline before it, as long as the two are of different sessions; so that variant is
//! counted, but it is no invariant of a level that knows no real time. Stricter readings of *saw* and *later* are counted too.

use crate::harness::{
    Application, Assertion, Dice, Operation, Run, Status, Step, Words, in_transaction, read_words, write_words,
};
use skew_mockdb::kv::{KvSession, KvTransaction};
use skew_mockdb::{KvError, KvValue};
use std::collections::BTreeMap;

const USERS: [&str; 3] = ["ann", "bob", "cid"];
const FOLLOWING: [&str; 3] = ["following/ann", "following/bob", "following/cid"];
const TWEETS: [&str; 3] = ["tweets/ann", "tweets/bob", "tweets/cid"];

pub(crate) struct Twitter;

/// The tweets by author.
pub(crate) type Feed = BTreeMap<usize, Words>;

/// Users are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TwitterOperation {
    Follow(usize, usize),
    Unfollow(usize, usize),
    Tweet(usize, i64),
    Timeline(usize),
    Newsfeed(usize),
}

/// Adds a word to a set or takes it away; the set afterwards.
fn change(transaction: &mut KvTransaction<'_>, key: &str, word: &str, present: bool) -> Result<Words, KvError> {
    let mut words = read_words(transaction, key)?;
    let changed = if present { words.insert(word.to_owned()) } else { words.remove(word) };
    if changed {
        write_words(transaction, key, &words)?;
    }
    Ok(words)
}

fn newsfeed(transaction: &mut KvTransaction<'_>, viewer: usize) -> Result<Feed, KvError> {
    let following = read_words(transaction, FOLLOWING[viewer])?;
    let mut feed = Feed::new();
    for author in (0..USERS.len()).filter(|&author| following.contains(USERS[author])) {
        feed.insert(author, read_words(transaction, TWEETS[author])?);
    }
    Ok(feed)
}

fn timeline(author: usize, tweets: Words) -> Feed {
    Feed::from([(author, tweets)])
}

impl Operation for TwitterOperation {
    type Observed = Feed;

    fn transaction(&mut self, session: &KvSession) -> Result<Status<Feed>, KvError> {
        let operation = *self;
        let shown = in_transaction(session, |transaction| match operation {
            TwitterOperation::Follow(viewer, author) => {
                change(transaction, FOLLOWING[viewer], USERS[author], true).map(|_| Feed::new())
            }
            TwitterOperation::Unfollow(viewer, author) => {
                change(transaction, FOLLOWING[viewer], USERS[author], false).map(|_| Feed::new())
            }
            TwitterOperation::Tweet(author, number) => {
                Ok(timeline(author, change(transaction, TWEETS[author], &number.to_string(), true)?))
            }
            TwitterOperation::Timeline(author) => Ok(timeline(author, read_words(transaction, TWEETS[author])?)),
            TwitterOperation::Newsfeed(viewer) => newsfeed(transaction, viewer),
        })?;
        Ok(Status::Done(shown))
    }
}

/// Whether a feed lacks a tweet that a step showed in a timeline, of somebody the feed follows.
fn lacks(step: &Step<Twitter>, feed: &Feed) -> bool {
    let (TwitterOperation::Timeline(author) | TwitterOperation::Tweet(author, _)) = step.asked else { return false };
    let (seen, fed) = (step.observed.get(&author), feed.get(&author));
    matches!((seen, fed), (Some(seen), Some(fed)) if !seen.is_subset(fed))
}

fn is_timeline(step: &&Step<Twitter>) -> bool {
    matches!(step.asked, TwitterOperation::Timeline(_))
}

/// Whether the second is a newsfeed that lacks what the first showed.
fn misses(first: &Step<Twitter>, second: &Step<Twitter>) -> bool {
    matches!(second.asked, TwitterOperation::Newsfeed(_)) && lacks(first, &second.observed)
}

fn misses_in_session(steps: &[Step<Twitter>], shows: impl Fn(&&Step<Twitter>) -> bool) -> bool {
    let later = |place: usize| steps[place + 1..].iter().any(|second| misses(&steps[place], second));
    (0..steps.len()).any(|place| shows(&&steps[place]) && later(place))
}

impl Application for Twitter {
    type Operation = TwitterOperation;
    /// The newsfeed of each user.
    type Ending = Vec<Feed>;

    const NAME: &'static str = "twitter";
    const ASSERTIONS: &'static [Assertion] = &[
        Assertion::of_paper("missing tweets in feed", 6.3),
        Assertion { name: "… not seen while tweeting", paper: None, invariant: true },
        Assertion { name: "… and in the same session", paper: None, invariant: true },
        Assertion { name: "… or by order of arrival", paper: None, invariant: false },
    ];

    fn initial() -> Vec<(&'static str, KvValue)> {
        Vec::new()
    }

    fn draw(dice: &mut Dice, number: i64) -> TwitterOperation {
        let (kind, user) = (dice.below(5), dice.below(USERS.len()));
        let other = (user + 1 + dice.below(USERS.len() - 1)) % USERS.len();
        match kind {
            0 => TwitterOperation::Follow(user, other),
            1 => TwitterOperation::Unfollow(user, other),
            2 => TwitterOperation::Tweet(user, number),
            3 => TwitterOperation::Timeline(user),
            _ => TwitterOperation::Newsfeed(user),
        }
    }

    fn ending(transaction: &mut KvTransaction<'_>) -> Result<Vec<Feed>, KvError> {
        (0..USERS.len()).map(|viewer| newsfeed(transaction, viewer)).collect()
    }

    fn failures(run: &Run<Twitter>) -> Vec<bool> {
        let feeds: Vec<&Feed> = run.ending.iter().flatten().collect();
        let at_end = |step: &Step<Twitter>| feeds.iter().any(|feed| lacks(step, feed));
        let in_session = |steps: &Vec<Step<Twitter>>| misses_in_session(steps, |_| true);
        let missing = run.sessions.iter().any(in_session) || run.steps().any(at_end);
        let same_session = run.sessions.iter().any(|steps| misses_in_session(steps, is_timeline));
        let not_tweeting = same_session || run.steps().filter(is_timeline).any(at_end);
        let arrived = |first: &Step<Twitter>| run.steps().any(|second| first.at < second.at && misses(first, second));
        let by_arrival = not_tweeting || run.steps().filter(is_timeline).any(arrived);
        vec![missing, not_tweeting, same_session, by_arrival]
    }
}
