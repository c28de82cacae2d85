//! Courseware, shopping cart and Twitter: numbers of runs on which two other programs agree.

#[path = "../../examples/applications/programs.rs"]
mod programs;

use crate::script::search;
use skew_explore::IsolationLevel::{self, *};
use skew_explore::Options;
use std::path::PathBuf;

/// The folder of the client programs: `SKEW_SHARED`, or one beside the repository.
fn folder() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SKEW_SHARED").map_or(beside, PathBuf::from);
    Some(shared.join("explore-programs")).filter(|folder| folder.is_dir())
}

#[allow(clippy::print_stderr)]
fn check(case: &str, counts: &[(IsolationLevel, usize)]) {
    let Some(folder) = folder() else {
        eprintln!("{case} is left out: SKEW_SHARED names no folder with explore-programs");
        return;
    };
    let program = programs::load(&folder.join(case)).unwrap();
    for &(level, count) in counts {
        let found = search(&program, Options::new(level)).unwrap();
        assert_eq!(found.runs.len(), count, "{case} at {level}");
        assert_eq!(found.blocked, 0, "{case} at {level}");
    }
}

#[test]
fn courseware_case_1() {
    check(
        "courseware/case1",
        &[(Causal, 216), (Serializable, 72), (Snapshot, 138), (ReadAtomic, 893), (ReadCommitted, 11751)],
    );
}

#[test]
fn courseware_case_2() {
    check(
        "courseware/case2",
        &[(Causal, 46), (Serializable, 34), (Snapshot, 45), (ReadAtomic, 106), (ReadCommitted, 588)],
    );
}

#[test]
fn courseware_case_3() {
    check("courseware/case3", &[(Causal, 12790), (Serializable, 960), (Snapshot, 960)]);
}

#[test]
fn shopping_cart_case_1() {
    check("shoppingCart/case1", &[(Causal, 444), (Serializable, 81), (Snapshot, 114)]);
}

#[test]
fn shopping_cart_case_2() {
    check("shoppingCart/case2", &[(Causal, 2934), (Serializable, 480), (Snapshot, 605)]);
}

#[test]
fn shopping_cart_case_5() {
    check("shoppingCart/case5", &[(Causal, 4686), (Serializable, 780), (Snapshot, 780)]);
}

#[test]
fn twitter_case_1() {
    check("twitter/case1", &[(Causal, 36), (Serializable, 18), (Snapshot, 18), (ReadAtomic, 44)]);
}

#[test]
fn twitter_case_2() {
    check("twitter/case2", &[(Causal, 876), (Serializable, 122), (Snapshot, 122), (ReadAtomic, 2917)]);
}
