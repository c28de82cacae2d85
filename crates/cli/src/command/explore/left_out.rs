//! Calls by their names, as in `--without 'alice[1],bob[2]'`: those that a program is explored without.
//!
//! ```text
//!   alice[1]  ──>  the first call of the session alice, as in assertions
//! ```

use super::Arguments;
use crate::input::Complaint;
use skew_campaign::ProgramFile;
use skew_explore::Place;
use skew_program::Program;
use std::collections::BTreeSet;
use std::str::FromStr;

/// A call as assertions name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CallName {
    session: String,
    /// From 1.
    number: usize,
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
    fn place(&self, program: &Program) -> Option<Place> {
        let named = |script: &skew_program::Script| script.name.eq_ignore_ascii_case(&self.session);
        let session = program.scripts().iter().position(named)?;
        let place = Place { session, number: self.number - 1 };
        (place.number < program.scripts()[session].calls.len()).then_some(place)
    }
}

/// All calls of a program, in its order.
pub(super) fn calls(program: &Program) -> impl DoubleEndedIterator<Item = Place> {
    let scripts = program.scripts().iter().enumerate();
    scripts.flat_map(|(session, script)| (0..script.calls.len()).map(move |number| Place { session, number }))
}

/// What a call is called.
pub(super) fn name(program: &Program, place: Place) -> String {
    format!("{}[{}]", program.scripts()[place.session].name, place.number + 1)
}

/// What calls are called.
pub(super) fn names<'a>(program: &Program, places: impl IntoIterator<Item = &'a Place>) -> Vec<String> {
    places.into_iter().map(|&place| name(program, place)).collect()
}

impl Arguments {
    /// The calls of `--without`.
    pub(super) fn left_out(&self, program: &Program) -> BTreeSet<Place> {
        self.without.iter().filter_map(|call| call.place(program)).collect()
    }

    /// A name that no call has is a mistake, not nothing.
    pub(super) fn refuse_unknown_calls(&self, file: &ProgramFile) -> Result<(), Complaint> {
        let Some(CallName { session, number }) = self.without.iter().find(|call| call.place(&file.program).is_none())
        else {
            return Ok(());
        };
        let message = format!("--without names {session}[{number}], and there is no such call");
        let known: Vec<String> = calls(&file.program).map(|place| name(&file.program, place)).collect();
        let advice = match known.len() {
            0..=12 => format!("the calls are {}", known.join(", ")),
            _ => format!("the calls are {}, …", known[..12].join(", ")),
        };
        Err(Complaint::new(&file.name, message, &advice))
    }

    /// Whether some assertion cannot be asked, because it speaks of a call that is left out.
    pub(super) fn has_unasked(&self, file: &ProgramFile) -> bool {
        let left_out = self.left_out(&file.program);
        let speaks = |(session, number): (usize, usize)| left_out.contains(&Place { session, number });
        file.program.assertions().iter().any(|assertion| assertion.calls().any(speaks))
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
