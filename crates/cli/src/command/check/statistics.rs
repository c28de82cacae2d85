//! `--stats` for people: a table of what each level came across, then time and memory.
//!
//! ```text
//!                   constraints        unknown dependencies
//!   level           before  after      before  after      rounds  decisions  conflicts
//!   snapshot          4980     12       19920     40           4         12          0
//!   time: read 0.012 s, resolve 0.001 s; 0.034 s in all
//!   memory: 12.3 MB at most
//! ```

use skew_check::LevelReport;
use skew_view::report::RunStatistics;

/// The numbers as text.
pub(super) fn human(levels: &[LevelReport], run: &RunStatistics) -> String {
    let heads = ["constraints", "after pruning", "unknown deps", "after pruning", "rounds", "decisions", "conflicts"];
    let widest = levels.iter().map(|report| report.level.name().len()).max().unwrap_or(0).max(5);
    let mut out = format!("  {:widest$}", "level");
    for head in heads {
        out.push_str(&format!("  {head:>13}"));
    }
    out.push('\n');
    for LevelReport { level, statistics, .. } in levels {
        let numbers = [
            statistics.constraints_before,
            statistics.constraints_after,
            statistics.unknown_dependencies_before,
            statistics.unknown_dependencies_after,
            statistics.rounds,
            statistics.decisions,
            statistics.conflicts,
        ];
        out.push_str(&format!("  {level:widest$}"));
        for number in numbers {
            out.push_str(&format!("  {number:>13}"));
        }
        out.push('\n');
    }
    out + &cost(run)
}

fn cost(run: &RunStatistics) -> String {
    let phases: Vec<String> = run.phases.iter().map(|time| format!("{} {:.3} s", time.phase, time.seconds)).collect();
    let memory = match run.peak_memory {
        Some(bytes) => format!("  memory: {:.1} MB at most\n", bytes as f64 / 1e6),
        None => String::new(),
    };
    format!("  time: {}; {:.3} s in all\n{memory}", phases.join(", "), run.seconds)
}
