//! Fixes on a real server: the interleaving that goes wrong is forced there as it is, and once more with each fix that the analysis calls verified.
//!
//! ```text
//!   run that confirms a finding ── who sends when ──┬── the text as it is ───── the server shows it, too
//!                                                   └── the text with a fix ──┬── somebody is refused (40001, 40P01)
//!                                                                             ├── somebody waits until the other has ended
//!                                                                             └── all go through, and it is serializable
//! ```
//!
//! What the statements are is decided as the run goes: who reads something else writes something else. So the run with the fix is made on the model,
//! in the order of the run without it, and then forced on the server, where every answer has to be the one of the model.

use super::confirm::ConcreteRun;
use super::fix::FixChange;
use super::{Analyzed, AnsweredQuestion};
use crate::Complaint;
use crate::confirmed::{Confirmation, ConfirmationVerdict, LiveServers, Setting};
use crate::explored::compared;
use crate::said::SaidRun;
use crate::typed::{Typed, TypedMoment};
use skew_analyze::FindingStatus;
use skew_check::Budget;
use skew_explore::{Movable, Options, Playing, RunAnswer, SqlOptions, SqlProgram};
use skew_history::{EngineLevel, IsolationLevel};
use skew_program::Program;
use std::collections::{BTreeMap, VecDeque};

/// So many steps the checker may take.
const STEPS: u64 = 1_000_000;

/// A confirmed finding on a server, and what came of its fixes there.
pub struct FindingRehearsal {
    /// The level.
    pub level: EngineLevel,
    /// Its name.
    pub anomaly: String,
    /// What was not there as the run says; nothing if the server shows the anomaly.
    pub wrong: Vec<String>,
    /// The fixes: what to do, and what came of it.
    pub fixes: Vec<(String, FixEnding)>,
}

/// How a run with a fix ends on a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FixEnding {
    /// Somebody is refused, and would try again.
    Refused,
    /// Somebody waits for another one, and what comes of it is serializable.
    Waited,
    /// All go through at once, and what comes of it is serializable.
    Serializable,
    /// The fix does not do what was said of it, or the server does something else than the model.
    Wrong(Vec<String>),
}

impl FixEnding {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            FixEnding::Refused => "refused",
            FixEnding::Waited => "waits",
            FixEnding::Serializable => "serializable",
            FixEnding::Wrong(_) => "wrong",
        }
    }
}

impl Analyzed {
    /// Forces the runs of all confirmed findings at levels of engines on servers, as they are and with each fix.
    pub fn rehearse(&self, servers: &mut LiveServers) -> Result<Vec<FindingRehearsal>, Complaint> {
        let mut rehearsals = Vec::new();
        for (AnsweredQuestion { answer, .. }, finding, known) in self.findings() {
            let level = answer.level.parse::<IsolationLevel>().ok().and_then(IsolationLevel::of_engine);
            let (Some(level), Some(run)) = (level, &known.run) else { continue };
            let Some(typed) = run.typed.as_ref().filter(|_| finding.status == FindingStatus::Confirmed) else {
                continue;
            };
            let stage = Stage { analyzed: self, level, run, typed };
            let wrong = match stage.program(&run.text) {
                Err(why) => vec![why],
                Ok(program) => stage.force(typed, &program, servers)?.objections(),
            };
            let mut fixes = Vec::new();
            for (fix, change) in finding.fixes.iter().zip(&known.changes) {
                fixes.push((fix.sentence.clone(), stage.with_fix(change, servers)?));
            }
            rehearsals.push(FindingRehearsal { level, anomaly: finding.anomaly.clone(), wrong, fixes });
        }
        Ok(rehearsals)
    }
}

/// A run that goes wrong.
struct Stage<'a> {
    analyzed: &'a Analyzed,
    level: EngineLevel,
    run: &'a ConcreteRun,
    typed: &'a Typed,
}

impl Stage<'_> {
    fn program(&self, text: &str) -> Result<Program, String> {
        let program = Program::parse_in(text, skew_sql::by_place::EPOCH, self.analyzed.text.dialect);
        program.map_err(|error| error.message.clone())
    }

    fn force(&self, typed: &Typed, program: &Program, servers: &mut LiveServers) -> Result<Confirmation, Complaint> {
        let setting = Setting { level: self.level, schema: program.schema(), assertion: None };
        servers.of(self.level.engine())?.confirm(typed, &setting)
    }

    /// The program of the run with a change.
    fn changed(&self, change: &FixChange) -> String {
        let before = self.analyzed.text.text.trim_end();
        let tail = self.run.text.get(before.len()..).unwrap_or_default();
        match change {
            FixChange::Text(text, _) => format!("{}{tail}", text.trim_end()),
            FixChange::Levels(levels) => {
                let line = |line: &str| {
                    let call = line.strip_prefix("SESSION ").and_then(|rest| rest.split_once(": CALL "));
                    let own = call.and_then(|(_, call)| levels.iter().find(|(name, _)| is_call(call, name)));
                    match (own, line.strip_suffix(';')) {
                        (Some((_, level)), Some(call)) => format!("{call} AT {};\n", level.of_engine()),
                        _ => format!("{line}\n"),
                    }
                };
                format!("{before}{}", tail.split('\n').map(line).collect::<String>())
            }
        }
    }

    /// Whose statements are sent one after the other, and which of its statements each is: as in the run, with those that a change adds or drops.
    fn order(&self, change: &FixChange) -> VecDeque<(usize, usize)> {
        let more = match change {
            FixChange::Text(_, more) => &more[..],
            FixChange::Levels(_) => &[],
        };
        let statements = &self.typed.statements;
        let mut sent: BTreeMap<usize, usize> = BTreeMap::new();
        let mut order = VecDeque::new();
        for moment in self.typed.moments() {
            let TypedMoment::Sent(number) = moment else { continue };
            let session = statements[number].session;
            let is_opening =
                statements[number].place.is_none() && statements[number + 1..].iter().any(|one| one.session == session);
            let line = statements[number].place.map(|place| place.line);
            let more: i32 = more.iter().filter(|(at, _)| Some(*at) == line).map(|(_, more)| more).sum();
            let times = if is_opening { 0 } else { (1 + more).max(0) };
            for _ in 0..times {
                let sent = sent.entry(session).or_default();
                order.push_back((session, *sent));
                *sent += 1;
            }
        }
        order
    }

    /// The same order with a fix: on the model, then on the server.
    fn with_fix(&self, change: &FixChange, servers: &mut LiveServers) -> Result<FixEnding, Complaint> {
        let wrong = |why: String| Ok(FixEnding::Wrong(vec![why]));
        let program = match self.program(&self.changed(change)) {
            Ok(program) => program,
            Err(why) => return wrong(why),
        };
        let explorable = SqlProgram::new(program.clone(), SqlOptions::default()).remembering();
        let level = IsolationLevel::Engine(self.level);
        let mut playing = match Playing::new(&explorable, Options::new(level), 0) {
            Ok(playing) => playing,
            Err(error) => return wrong(error.to_string()),
        };
        let mut forcing = Forcing { order: self.order(change), ..Forcing::default() };
        let mut choose = |able: &[Movable]| forcing.choose(able);
        let (run, beats) = match playing.run_with_beats(&mut choose) {
            Ok(played) => played,
            Err(error) => return wrong(error.to_string()),
        };
        let is_broken = compared(&run, IsolationLevel::Serializable, Budget::steps(STEPS)) != RunAnswer::Holds;
        // What serializable transactions may not do together the model notices at the end: then the server has to refuse somebody.
        let is_excluded =
            is_broken && self.is_serializable(change) && run.answer(Budget::steps(STEPS)) == RunAnswer::Fails;
        if is_broken && !is_excluded {
            return wrong("it is still not serializable".to_owned());
        }
        let refusals: Vec<&str> = run.refusals().into_iter().map(|(_, code)| code).collect();
        let mut typed = match SaidRun::new(&run, &program, self.level, &beats, None) {
            Ok(said) => said.typed,
            Err(error) => return wrong(error.message.clone()),
        };
        forcing.earlier.iter().for_each(|(one, other)| typed.send_earlier(*one, *other));
        let confirmation = self.force(&typed, &program, servers)?;
        let ending = match (refusals.is_empty(), typed.waits()) {
            (false, _) => FixEnding::Refused,
            (true, true) => FixEnding::Waited,
            (true, false) => FixEnding::Serializable,
        };
        // Of a deadlock, and at serializable, whom the server refuses is for it to choose.
        let may_choose = |what: &String| {
            (what.contains("40P01") && refusals.contains(&"40P01"))
                || (what.contains("40001") && self.is_serializable(change))
        };
        Ok(match &confirmation.verdict {
            ConfirmationVerdict::Confirmed if is_excluded => {
                FixEnding::Wrong(vec!["the server lets it happen, and it is not serializable".to_owned()])
            }
            ConfirmationVerdict::Confirmed => ending,
            _ if confirmation.objections().iter().any(may_choose) => FixEnding::Refused,
            _ => FixEnding::Wrong(confirmation.objections()),
        })
    }

    fn is_serializable(&self, change: &FixChange) -> bool {
        match change {
            FixChange::Text(..) => self.level == EngineLevel::PostgresSerializable,
            FixChange::Levels(levels) => {
                levels.iter().any(|(_, level)| level.of_engine() == EngineLevel::PostgresSerializable)
            }
        }
    }
}

/// Whether a call is one of a procedure.
fn is_call(call: &str, procedure: &str) -> bool {
    call.strip_prefix(procedure).is_some_and(|rest| rest.starts_with('('))
}

/// Makes sessions send their statements in an order, as far as they can.
#[derive(Default)]
struct Forcing {
    /// Whose statement is next, and which of its statements it is.
    order: VecDeque<(usize, usize)>,
    /// Who was chosen last, unless in the middle of a statement, and with which statement.
    last: Option<(usize, usize)>,
    /// Who could not move in this turn.
    tried: Vec<usize>,
    /// Who waits, with which of its statements.
    waiting: BTreeMap<usize, usize>,
    /// Statements, as session and number, that begin to wait before the next one is sent.
    pending: Vec<(usize, usize)>,
    /// Statements that are sent before others, though they go on later.
    earlier: Vec<((usize, usize), (usize, usize))>,
}

impl Forcing {
    /// Who takes the next step: who is in the middle of a statement, who may have waited long enough, else whose turn it is.
    fn choose(&mut self, able: &[Movable]) -> usize {
        let place = |session: usize| able.iter().position(|one| one.session == session);
        let last = self.last.take();
        if let Some(within) = able.iter().position(|one| one.is_within_statement) {
            self.waiting.remove(&able[within].session);
            self.tried.clear();
            return within;
        }
        match last {
            // It waits, or it is over.
            Some((session, number)) if place(session).is_none() => {
                self.tried.push(session);
                if self.waiting.insert(session, number).is_none() {
                    self.pending.push((session, number));
                }
            }
            Some((session, _)) => {
                self.waiting.remove(&session);
                self.tried.clear();
            }
            None => self.tried.clear(),
        }
        let again = self.waiting.iter().find(|(one, _)| !self.tried.contains(one) && place(**one).is_some());
        if let Some((&session, &number)) = again {
            self.last = Some((session, number));
            return place(session).unwrap_or_default();
        }
        while let Some(&(session, number)) = self.order.front() {
            let is_next = |place: &usize| able[*place].said <= number && !self.waiting.contains_key(&session);
            let Some(place) = place(session).filter(is_next) else {
                self.order.pop_front();
                continue;
            };
            let next = (session, able[place].said);
            self.earlier.extend(self.pending.drain(..).map(|one| (one, next)));
            self.last = Some(next);
            return place;
        }
        0
    }
}
