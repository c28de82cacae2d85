//! Calls by their names, as in `alice[1],bob[2]`: those that a program is explored without.
//!
//! ```text
//!   alice[1]  ──>  the first call of the session alice, as in assertions
//! ```

use super::ExploredProgram;
use crate::{Complaint, ProgramFile};
use skew_explore::Place;
use skew_program::{Program, Script};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A call as assertions name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallName {
    session: String,
    /// From 1.
    number: usize,
}

impl fmt::Display for CallName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}[{}]", self.session, self.number)
    }
}

impl FromStr for CallName {
    type Err = String;

    fn from_str(text: &str) -> Result<CallName, String> {
        let parts = text.trim().strip_suffix(']').and_then(|text| text.rsplit_once('['));
        let named = parts.and_then(|(session, number)| Some((session.to_owned(), number.parse().ok()?)));
        let (session, number) =
            named.filter(|(session, number)| !session.is_empty() && *number > 0).ok_or_else(|| {
                "a call is named like alice[1]: its session, and which of the session's calls it is".to_owned()
            })?;
        Ok(CallName { session, number })
    }
}

impl CallName {
    /// Where a program has the call, if it does.
    fn place(&self, program: &Program) -> Option<Place> {
        let named = |script: &Script| script.name.eq_ignore_ascii_case(&self.session);
        let session = program.scripts().iter().position(named)?;
        let place = Place { session, number: self.number - 1 };
        (place.number < program.scripts()[session].calls.len()).then_some(place)
    }

    /// The call at a place.
    pub(super) fn at(program: &Program, place: Place) -> CallName {
        CallName { session: program.scripts()[place.session].name.clone(), number: place.number + 1 }
    }

    /// Where a program has these calls. A name that no call has is a mistake, not nothing.
    pub fn places(names: &[CallName], file: &ProgramFile) -> Result<BTreeSet<Place>, Complaint> {
        let program = &file.program;
        let Some(call) = names.iter().find(|call| call.place(program).is_none()) else {
            return Ok(names.iter().filter_map(|call| call.place(program)).collect());
        };
        let message = format!("--without names {call}, and there is no such call");
        let known: Vec<String> = calls(program).map(|place| CallName::at(program, place).to_string()).collect();
        let advice = match known.len() {
            0..=12 => format!("the calls are {}", known.join(", ")),
            _ => format!("the calls are {}, …", known[..12].join(", ")),
        };
        Err(Complaint::new(&file.name, message, &advice))
    }
}

/// All calls of a program, in its order.
pub(super) fn calls(program: &Program) -> impl DoubleEndedIterator<Item = Place> {
    let scripts = program.scripts().iter().enumerate();
    scripts.flat_map(|(session, script)| (0..script.calls.len()).map(move |number| Place { session, number }))
}

/// What calls are called.
pub(super) fn names<'a>(program: &Program, places: impl IntoIterator<Item = &'a Place>) -> Vec<String> {
    places.into_iter().map(|&place| CallName::at(program, place).to_string()).collect()
}

impl ExploredProgram<'_> {
    /// Whether some assertion cannot be asked, because it speaks of a call that is left out.
    pub(super) fn has_unasked(&self) -> bool {
        let speaks = |(session, number): (usize, usize)| self.left_out.contains(&Place { session, number });
        self.program().assertions().iter().any(|assertion| assertion.calls().any(speaks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_named_as_in_assertions() {
        let name = |text: &str| text.parse::<CallName>().ok().map(|call| (call.session, call.number));
        assert_eq!(name("alice[1]"), Some(("alice".to_owned(), 1)));
        assert_eq!(name(" a[b][12] "), Some(("a[b]".to_owned(), 12)));
        for wrong in ["alice", "alice[0]", "[1]", "alice[x]", "alice[1", ""] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }
}
