//! Whose cue is next: a statement is sent when everybody before it has answered or is known to wait.
//!
//! ```text
//!   free ── its cue ──> asked ── an answer ──> free
//!                         │  ▲
//!       the observer sees │  │ somebody else was answered: it may have been let go
//!                         ▼  │
//!                        waiting
//! ```
//!
//! The next statement is sent when nobody is *asked*. Two things are waited for besides: a cycle of waits, which the server breaks by refusing
//! one of them, and waits for somebody who does not take part. When nobody is free and nothing of that is left, the rest waits for
//! sessions that have said all they had to say: it never ends, and so the performance does.

use super::actor::{Actor, Said};
use super::observer::Observer;
use super::{AfterRefusal, CueEnd, Happening, Screenplay, Staging, Transcript};
use crate::connection::Settings;
use crate::{Failure, Objection, Url};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long an answer is waited for before the observer looks; then twice as long, and so on.
const GLANCE: Duration = Duration::from_millis(2);

/// The longest of these.
const LONGEST_GLANCE: Duration = Duration::from_millis(50);

/// After which silence a session is taken to wait, where waits cannot be seen.
const SILENCE: Duration = Duration::from_secs(1);

/// Performs a screenplay on a server. A performance in which connections are lost or nobody answers is one, too; it fails only where it cannot begin
/// or the observer cannot go on.
pub fn perform(url: &Url, screenplay: &Screenplay, staging: Staging) -> Result<Transcript, Failure> {
    let mut director = Director::new(url, screenplay, staging)?;
    let performed = director.direct();
    director.clear_the_stage();
    performed.map(|()| director.transcript)
}

/// What a session does at the moment.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Doing {
    /// It could say something.
    Free,
    /// It said this and has no answer.
    Asked(usize),
    /// It said this and waits for these sessions; for somebody unknown, if there are none.
    Waiting(usize, Vec<usize>),
    /// It rolls back, and so many answers are still to come.
    Leaving(usize),
    /// It says nothing any more.
    Gone,
}

impl Doing {
    /// Whether this is a wait for nobody but these. It goes on, and whoever came later is not what it waits for.
    fn waits_for_some_of(&self, holders: &[usize]) -> bool {
        matches!(self, Doing::Waiting(_, known) if known.iter().all(|holder| holders.contains(holder)))
    }
}

struct Director {
    staging: Staging,
    observer: Observer,
    actors: Vec<Actor>,
    answers: Receiver<Said>,
    doing: Vec<Doing>,
    /// What is still to be said, by place.
    left: Vec<usize>,
    /// The cues that ended since the last one was sent.
    ended: Vec<usize>,
    transcript: Transcript,
}

impl Director {
    fn new(url: &Url, screenplay: &Screenplay, staging: Staging) -> Result<Director, Failure> {
        // The server itself gives up a lock after half of it: later than we do.
        let settings = |name: &str| Settings { name: format!("skew {name}"), timeout: staging.patience * 4 };
        let observer = Observer::new(url, &settings("observer"))?;
        let (sender, answers) = channel();
        let enter = |(number, name): (usize, &String)| Actor::enter(url, &settings(name), number, sender.clone());
        let actors = screenplay.sessions.iter().enumerate().map(enter).collect::<Result<Vec<Actor>, Failure>>()?;
        let transcript = Transcript::new(screenplay.clone());
        let (doing, left) = (vec![Doing::Free; actors.len()], (0..screenplay.cues.len()).collect());
        Ok(Director { staging, observer, actors, answers, doing, left, ended: Vec::new(), transcript })
    }

    fn direct(&mut self) -> Result<(), Failure> {
        while let Some(cue) = self.next_cue() {
            let session = self.transcript.screenplay.cues[cue].session;
            self.transcript.happenings.push(Happening::Sent(cue));
            self.actors[session].say(&self.transcript.screenplay.cues[cue].sql);
            self.doing[session] = Doing::Asked(cue);
            self.go_on(Some(cue))?;
            while let Some(refused) = self.first_refused() {
                self.transcript.happenings.push(Happening::RolledBack(refused));
                self.actors[refused].say("ROLLBACK");
                self.doing[refused] = Doing::Leaving(1);
                self.go_on(None)?;
            }
        }
        Ok(())
    }

    /// The first statement whose session is free. What sessions that are gone had to say falls away.
    fn next_cue(&mut self) -> Option<usize> {
        let (doing, cues) = (&self.doing, &self.transcript.screenplay.cues);
        self.left.retain(|cue| doing[cues[*cue].session] != Doing::Gone);
        let place = self.left.iter().position(|cue| doing[cues[*cue].session] == Doing::Free)?;
        Some(self.left.remove(place))
    }

    /// A session that was refused and has to roll back, if they do.
    fn first_refused(&self) -> Option<usize> {
        let rolls_back = self.staging.after_refusal == AfterRefusal::RollBack;
        let sessions = self.transcript.refusals().map(|(cue, _)| self.transcript.screenplay.cues[cue].session);
        sessions.filter(|session| rolls_back && self.doing[*session] == Doing::Free).min()
    }

    /// Lets happen what follows from the last statement, and writes it down in an order that does not depend on threads.
    fn go_on(&mut self, sent: Option<usize>) -> Result<(), Failure> {
        let before = self.doing.clone();
        self.settle()?;
        let mut ended = std::mem::take(&mut self.ended);
        ended.sort_unstable();
        let (own, others): (Vec<usize>, Vec<usize>) = ended.into_iter().partition(|cue| Some(*cue) == sent);
        let happenings = &mut self.transcript.happenings;
        happenings.extend(own.into_iter().map(Happening::Ended));
        for (doing, before) in self.doing.iter().zip(&before) {
            if let Doing::Waiting(cue, holders) = doing
                && !before.waits_for_some_of(holders)
            {
                happenings.push(Happening::Waits(*cue, holders.clone()));
            }
        }
        happenings.extend(others.into_iter().map(Happening::Ended));
        Ok(())
    }

    /// Waits until everybody has answered or is known to wait.
    fn settle(&mut self) -> Result<(), Failure> {
        let (mut quiet, mut glance) = (Instant::now(), GLANCE);
        while !self.is_settled() {
            if self.hear(glance) {
                self.ask_again();
                (quiet, glance) = (Instant::now(), GLANCE);
                continue;
            }
            glance = (glance * 2).min(LONGEST_GLANCE);
            self.look()?;
            let is_blind = self.observer.blindness().is_some();
            if is_blind && quiet.elapsed() >= SILENCE && self.somebody_is_free() {
                self.guess();
                break;
            }
            if quiet.elapsed() >= self.staging.patience {
                self.doubt();
                break;
            }
        }
        Ok(())
    }

    fn is_settled(&self) -> bool {
        let is_open = |doing: &Doing| matches!(doing, Doing::Asked(_) | Doing::Leaving(_));
        !self.doing.iter().any(is_open) && !self.has_cycle()
    }

    /// Takes an answer, if one comes in time.
    fn hear(&mut self, time: Duration) -> bool {
        let Ok(Said { session, answer }) = self.answers.recv_timeout(time) else { return false };
        let cue = match self.doing[session] {
            Doing::Asked(cue) | Doing::Waiting(cue, _) => cue,
            Doing::Leaving(more) if more > 1 => {
                self.doing[session] = Doing::Leaving(more - 1);
                return true;
            }
            _ => {
                self.doing[session] = Doing::Gone;
                return true;
            }
        };
        self.doing[session] = if let Err(Objection::Lost(_)) = answer { Doing::Gone } else { Doing::Free };
        self.transcript.ends[cue] = match answer {
            Ok(answer) => CueEnd::Answered(answer),
            Err(Objection::Refused { code, message }) => CueEnd::Refused { code, message },
            Err(Objection::Lost(why)) => CueEnd::Lost(why),
        };
        self.ended.push(cue);
        true
    }

    /// Whoever waited may have been let go by what was just answered. For those who are in doubt nobody waits twice.
    fn ask_again(&mut self) {
        let is_blind = self.observer.blindness().is_some();
        for doing in &mut self.doing {
            match doing {
                Doing::Waiting(cue, holders) if is_blind || !holders.is_empty() => *doing = Doing::Asked(*cue),
                _ => {}
            }
        }
    }

    /// Asks the observer who waits. A wait for somebody who takes no part says nothing about this screenplay: it is waited out.
    fn look(&mut self) -> Result<(), Failure> {
        let is_open = |doing: &Doing| matches!(doing, Doing::Asked(_) | Doing::Waiting(..));
        let open = self.actors.iter().zip(&self.doing).filter(|(_, doing)| is_open(doing));
        let ids: Vec<i64> = open.map(|(actor, _)| actor.id).collect();
        let waiting = self.observer.look(&ids)?;
        for session in 0..self.actors.len() {
            let cue = match &self.doing[session] {
                Doing::Asked(cue) => *cue,
                Doing::Waiting(cue, known) if !known.is_empty() => *cue,
                _ => continue,
            };
            let holders = waiting.get(&self.actors[session].id).map_or(&[][..], Vec::as_slice);
            let takes_part =
                |other: &usize| holders.contains(&self.actors[*other].id) && self.doing[*other] != Doing::Gone;
            let known: Vec<usize> = (0..self.actors.len()).filter(takes_part).collect();
            self.doing[session] = if known.is_empty() { Doing::Asked(cue) } else { Doing::Waiting(cue, known) };
        }
        Ok(())
    }

    /// Whether sessions wait for each other: the server is about to refuse one of them.
    fn has_cycle(&self) -> bool {
        let mut sessions = 0..self.doing.len();
        self.observer.sees_cycles()
            && sessions.any(|start| {
                let (mut seen, mut open) = (vec![false; self.doing.len()], vec![start]);
                while let Some(session) = open.pop() {
                    let Doing::Waiting(_, holders) = &self.doing[session] else { continue };
                    if holders.contains(&start) {
                        return true;
                    }
                    open.extend(holders.iter().copied().filter(|holder| !std::mem::replace(&mut seen[*holder], true)));
                }
                false
            })
    }

    /// Whether anything can be said before somebody has an answer.
    fn somebody_is_free(&self) -> bool {
        let cues = &self.transcript.screenplay.cues;
        self.left.iter().any(|cue| self.doing[cues[*cue].session] == Doing::Free)
    }

    /// Without an observer, whoever is silent is taken to wait. It may also be slow.
    fn guess(&mut self) {
        let doubt =
            self.observer.blindness().map(|why| format!("a wait was guessed, because it cannot be seen here: {why}"));
        self.transcript.doubts.extend(doubt.filter(|doubt| !self.transcript.doubts.contains(doubt)));
        self.suppose_waits();
    }

    /// Whoever is silent waits for somebody, as far as one can tell.
    fn suppose_waits(&mut self) {
        for doing in &mut self.doing {
            match doing {
                Doing::Asked(cue) => *doing = Doing::Waiting(*cue, Vec::new()),
                Doing::Leaving(_) => *doing = Doing::Gone,
                _ => {}
            }
        }
    }

    /// Time is over for those who neither answered nor are known to wait.
    fn doubt(&mut self) {
        let patience = self.staging.patience.as_secs_f64();
        for (session, doing) in self.doing.iter().enumerate() {
            let (Doing::Asked(cue) | Doing::Waiting(cue, _)) = doing else { continue };
            let Transcript { screenplay, doubts, .. } = &mut self.transcript;
            let (name, sql) = (&screenplay.sessions[session], &screenplay.cues[*cue].sql);
            doubts.push(format!(
                "session {name} had no answer within {patience} s, and nobody here could give it one: {sql}"
            ));
        }
        self.suppose_waits();
    }

    /// Ends what is still waited for and every transaction, so that nothing holds a lock when the connections end.
    fn clear_the_stage(&mut self) {
        for session in 0..self.actors.len() {
            let answers = match self.doing[session] {
                Doing::Asked(cue) | Doing::Waiting(cue, _) => {
                    self.transcript.ends[cue] = CueEnd::StillWaiting;
                    self.observer.interrupt(self.actors[session].id);
                    2
                }
                Doing::Free => 1,
                Doing::Leaving(_) | Doing::Gone => continue,
            };
            self.actors[session].say("ROLLBACK");
            self.doing[session] = Doing::Leaving(answers);
        }
        let began = Instant::now();
        while began.elapsed() < self.staging.patience && !self.is_settled() {
            self.hear(LONGEST_GLANCE);
        }
    }
}
