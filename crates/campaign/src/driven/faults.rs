//! What happened to servers during a run, told: `kill of node 2: after 57 transactions (0.2 s), healed after 61 transactions (1.4 s)`.

use serde_json::{Value, json};
use skew_workload::fault::{Injected, Moment};
use std::fmt::Write;

/// A line per fault: what happened, to whom and when.
pub(super) fn tell(faults: &[Injected], nodes: usize, text: &mut String) {
    for injected in faults {
        let _ = writeln!(text, "  {}", told(injected, nodes));
    }
}

fn told(injected: &Injected, nodes: usize) -> String {
    let planned = &injected.planned;
    let numbers: Vec<String> = planned.nodes.iter().map(|node| (node + 1).to_string()).collect();
    let whom = match numbers.as_slice() {
        _ if nodes == 1 => "the server".to_owned(),
        [one] => format!("node {one}"),
        several => format!("nodes {}", several.join(" and ")),
    };
    let moment =
        |moment: &Moment| format!("after {} transactions ({:.1} s)", moment.operations, moment.time.as_secs_f64());
    let began = injected.began.as_ref().map_or_else(|| "not injected, the run was over".to_owned(), moment);
    let ended = match (&injected.ended, &injected.problem) {
        (_, Some(problem)) => format!(", could not be healed: {}", problem.lines().next().unwrap_or_default()),
        (Some(ended), None) => format!(", healed {}", moment(ended)),
        (None, None) if injected.began.is_some() => ", never healed".to_owned(),
        (None, None) => String::new(),
    };
    format!("{} of {whom}: {began}{ended}", planned.fault)
}

/// Every fault as JSON.
pub(super) fn json(faults: &[Injected]) -> Value {
    let moment = |moment: &Moment| json!({"transactions": moment.operations, "seconds": moment.time.as_secs_f64()});
    let one = |injected: &Injected| {
        json!({
            "fault": injected.planned.fault.name(),
            "nodes": injected.planned.nodes.iter().map(|node| node + 1).collect::<Vec<_>>(),
            "began": injected.began.as_ref().map(moment),
            "healed": injected.ended.as_ref().map(moment),
            "problem": injected.problem,
        })
    };
    faults.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_workload::Fault;
    use skew_workload::fault::Planned;
    use std::time::Duration;

    #[test]
    fn a_fault_is_told_with_its_moments() {
        let planned = Planned { fault: Fault::Kill, nodes: vec![1], moment: 5, lasts: None };
        let moment = |operations| Some(Moment { operations, time: Duration::from_millis(1_230) });
        let mut injected = Injected { planned, began: moment(5), ended: None, problem: None };
        assert_eq!(told(&injected, 3), "kill of node 2: after 5 transactions (1.2 s), never healed");
        injected.ended = moment(9);
        assert_eq!(
            told(&injected, 1),
            "kill of the server: after 5 transactions (1.2 s), healed after 9 transactions (1.2 s)"
        );
        injected.problem = Some("mariadbd ended\nits log".to_owned());
        assert!(told(&injected, 1).ends_with(", could not be healed: mariadbd ended"));
        let never = Injected { began: None, ended: None, problem: None, ..injected };
        assert_eq!(told(&never, 3), "kill of node 2: not injected, the run was over");
    }
}
