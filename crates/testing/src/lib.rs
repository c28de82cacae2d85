//! What the tests of all crates share. The program of this package is the runner behind `./test`.

use std::io::Write as _;

/// Says that something could not be tested here, and why: what nobody sees missing is soon missing everywhere. This is the only place
/// that writes such a line.
///
/// ```
/// skew_testing::skipped("this example has nothing to test");
/// ```
pub fn skipped(what: &str) {
    say(&format!("skipped: {what}"));
}

/// Says something that is seen also when the test passes. Not by `eprintln!`, which is kept from view then.
pub fn say(line: &str) {
    // Nobody is there to read the line when it cannot be written.
    let _ = writeln!(std::io::stderr(), "{line}");
}
