//! The numbers of histories of some programs, at five levels, without and with refusals.

use crate::program::Program;
use crate::{candidates, simulate};
use skew_history::EngineLevel::{self, *};

/// The levels of the columns.
const LEVELS: [EngineLevel; 5] =
    [PostgresReadCommitted, PostgresRepeatableRead, MysqlReadCommitted, MysqlRepeatableRead, MysqlSerializable];

/// Programs, the histories in which nobody is refused, and those in which somebody is.
const TABLE: [(&str, [usize; 5], [usize; 5]); 15] = [
    ("select x; update x || select x; update x", [4, 2, 4, 4, 2], [0, 2, 0, 0, 2]),
    ("update x || update x", [2, 2, 2, 2, 2], [0, 2, 0, 0, 0]),
    ("for-update x; select y; update y || for-update x; select y; update y", [2, 2, 2, 2, 2], [0, 2, 0, 0, 0]),
    ("select x; select y; update x || select x; select y; update y", [3, 3, 3, 3, 2], [0, 0, 0, 0, 2]),
    ("select x y || update x; update y", [2, 2, 2, 2, 2], [0, 0, 0, 0, 0]),
    ("select x; select y || update x; update y", [3, 2, 3, 2, 2], [0, 0, 0, 0, 0]),
    ("absent x: update x; insert x || update x; insert x", [4, 4, 4, 2, 2], [0, 0, 0, 2, 2]),
    ("absent x: select x; insert x || select x; insert x", [4, 4, 4, 4, 2], [0, 0, 0, 0, 2]),
    ("absent x: for-update x; insert x || for-update x; insert x", [4, 4, 4, 2, 2], [0, 0, 0, 2, 2]),
    ("update x; select x", [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
    ("update x || select x || select x; select x", [6, 4, 6, 4, 4], [0, 0, 0, 0, 0]),
    ("delete x; insert x || update x", [3, 2, 2, 2, 2], [0, 2, 0, 0, 0]),
    ("absent x: insert x; select x || insert x; select x", [2, 4, 2, 2, 2], [0, 0, 0, 0, 0]),
    (
        "absent y: for-update x; select y; insert y || for-update x; select y; insert y",
        [2, 4, 2, 2, 2],
        [0, 0, 0, 0, 0],
    ),
    ("absent x: insert x; select z || update z || select z; update x", [8, 7, 7, 7, 6], [0, 0, 0, 0, 3]),
];

#[test]
fn simulators_show_as_many_histories_as_the_table_says() {
    for (text, allowed, refused) in TABLE {
        let program = Program::parse(text);
        let runs = LEVELS.map(|level| simulate(&program, &vec![level; program.scripts().count()]));
        let count =
            |is_refused| runs.each_ref().map(|runs| runs.iter().filter(|run| run.is_refused() == is_refused).count());
        assert_eq!((count(false), count(true)), (allowed, refused), "{text}");
    }
}

#[test]
fn the_definition_allows_as_many_histories_as_the_table_says() {
    for (text, allowed, refused) in TABLE {
        let program = Program::parse(text);
        let runs = LEVELS.map(|level| {
            let levels = vec![level; program.scripts().count()];
            candidates::allowed_runs(&program, &levels, true, usize::MAX).expect("no limit")
        });
        let count =
            |is_refused| runs.each_ref().map(|runs| runs.iter().filter(|run| run.is_refused() == is_refused).count());
        assert_eq!((count(false), count(true)), (allowed, refused), "{text}");
    }
}
