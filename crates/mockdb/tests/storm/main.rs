//! Temporary.
#![allow(dead_code)]
#[path = "../../../cli/tests/agree/mocked.rs"]
mod mocked;
#[path = "../../../cli/tests/agree/terrain.rs"]
mod terrain;
mod live {
    pub(crate) fn installed<T>(started: Result<T, skew_workload::servers::ServerError>) -> Option<T> {
        Some(started.unwrap())
    }
}
fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}
mod storm {
    use crate::terrain::{Sessions, as_typed};
    use skew_history::{Engine, IsolationLevel};
    use skew_workload::connection::level_name;
    use skew_workload::screenplay::{Cue, Screenplay};
    pub(crate) fn interleaved(
        sessions: &Sessions,
        level: IsolationLevel,
        engine: Engine,
        mut turn: impl FnMut() -> usize,
    ) -> Screenplay {
        let typed = |one: &Vec<String>| one.iter().map(|sql| as_typed(sql, engine)).collect::<Vec<String>>();
        let name = level_name(level).unwrap_or_default();
        let mut left: Vec<Vec<String>> = sessions
            .iter()
            .map(|one| [vec![format!("BEGIN ISOLATION LEVEL {name}")], typed(one), vec!["COMMIT".to_owned()]].concat())
            .collect();
        left.iter_mut().for_each(|one| one.reverse());
        let mut cues = Vec::new();
        while left.iter().any(|one| !one.is_empty()) {
            let session = turn();
            cues.extend(left[session].pop().map(|sql| Cue { session, name: None, sql }));
        }
        Screenplay { sessions: (0..sessions.len()).map(|number| format!("s{number}")).collect(), cues }
    }
}
