use skew_analyze::Transactions;
use skew_analyze::anode::*;
use skew_program::Program;
use std::time::Instant;
fn main_one(file: &str, spec: &str, text: &str) {
    let program = Program::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    let analysis = BoundedAnalysis::new(Transactions::of(&program), Specification::parse(spec, text).unwrap()).unwrap();
    let name = |p: &usize| program.procedures()[*p].name.clone();
    let show = |label: &str, q: &Question| {
        let t = Instant::now();
        let out = analysis.ask(q, skew_check::Budget::steps(200_000_000));
        let told = match &out {
            QuestionOutcome::Found(f) => format!(
                "FOUND {:?} order {:?} {}",
                f.procedures.iter().map(name).collect::<Vec<_>>(),
                f.order,
                f.edges
                    .iter()
                    .map(|e| format!("[{}.{} -{:?} {}-> {}.{}]", e.from.0, e.from.1, e.kind, e.table, e.to.0, e.to.1))
                    .collect::<String>()
            ),
            other => format!("{other:?}"),
        };
        println!("{spec:10} {label:12} {:6}ms {told}", t.elapsed().as_millis());
    };
    let all = analysis.everything();
    let upto: usize = std::env::var("UPTO").ok().and_then(|s| s.parse().ok()).unwrap_or(4);
    for k in 2..=upto {
        show(&format!("cycle {k}"), &Question::Cycle(vec![all.clone(); k]));
    }
    show("triple", &Question::Triple(all.clone()));
    if let Ok(p) = std::env::var("PATHS") {
        for k in p.split(',') {
            show(&format!("path {k}"), &Question::Path(k.parse().unwrap(), all.clone()));
        }
    }
    for p in &all {
        show(&format!("against {}", name(p)), &Question::Against(vec![*p], all.clone()));
    }
}
#[test]
fn scratch() {
    let file = std::env::var("FILE").unwrap();
    for level in std::env::var("LEVELS").unwrap().split(';') {
        main_one(&file, level, &level.replace(',', "\n").replace('/', ","));
    }
}
