//! The numbers of histories of some programs, at five levels, without and with refusals: the table of the definition.

use crate::program::Program;
use crate::scripted::explored;
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
fn as_many_histories_are_explored_as_the_table_says() {
    for (text, allowed, refused) in TABLE {
        let program = Program::parse(text);
        let runs = LEVELS.map(|level| explored(&program, &vec![level; program.scripts().count()], |_| {}));
        let count = |is_refused: bool| {
            runs.each_ref().map(|runs| runs.iter().filter(|run| run.contains(":refused(") == is_refused).count())
        };
        assert_eq!((count(false), count(true)), (allowed, refused), "{text}");
    }
}

#[test]
fn one_session_alone_is_never_refused_and_has_one_history() {
    let text = "absent y: select x y; update x; insert y; delete x; insert x | for-update x y; update y; select x y";
    let program = Program::parse(text);
    for level in EngineLevel::ALL {
        let runs = explored(&program, &[level, level], |_| {});
        assert!(runs.len() == 1 && !runs.iter().any(|run| run.contains(":refused(")), "{level}: {runs:#?}");
    }
}
