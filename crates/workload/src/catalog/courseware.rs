//! Courseware: three students, two courses with one seat each.
//!
//! ```text
//!   enroll s c      s and c must be there, and the course not full; then (s, c) is added        (MonkeyDB, Fig. 12)
//!   deregister s    s is no student any more
//!   remove c        only a course that nobody is enrolled in
//!   list            who is enrolled where
//! ```
//!
//! Enrolments are never taken back. So in a serial run no more students succeed per course than there are seats, and none in a course
//! that somebody succeeded in removing: if the enrolment comes first the removal finds it, if the removal comes first the
//! enrolment finds no course. The state at the end is held to the same. Two who look at the same time can both find the last seat,
//! unless the database is serializable: each adds a row that the other has not looked at.

use super::shared::{all_rows, nothing_against, required};
use crate::load::Loader;
use crate::table::{Table, int, text};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Random, Transaction, Value};
use std::collections::{BTreeMap, BTreeSet};

const STUDENTS: Table = Table::new("students", &[int("id")], &[text("name"), int("registered")]);
const COURSES: Table = Table::new("courses", &[int("id")], &[text("name"), int("capacity"), int("active")]);
const ENROLLMENTS: Table = Table::new("enrollments", &[int("course"), int("student")], &[int("since")]);

/// The workload.
#[derive(Clone, Debug)]
pub struct Courseware {
    /// How many students there are.
    pub students: i64,
    /// How many courses there are.
    pub courses: i64,
    /// How many seats a course has.
    pub capacity: i64,
}

impl Default for Courseware {
    fn default() -> Courseware {
        Courseware { students: 3, courses: 2, capacity: 1 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CoursewareCall {
    Enroll(i64, i64),
    Deregister(i64),
    Remove(i64),
    List,
}

impl CoursewareCall {
    fn name(self) -> &'static str {
        match self {
            CoursewareCall::Enroll(..) => "enroll",
            CoursewareCall::Deregister(_) => "deregister",
            CoursewareCall::Remove(_) => "remove",
            CoursewareCall::List => "list",
        }
    }
}

impl Courseware {
    fn call(&self, random: &mut Random) -> CoursewareCall {
        let kind = random.below(4);
        let (student, course) = (random.between(1, self.students), random.between(1, self.courses));
        match kind {
            0 => CoursewareCall::Enroll(student, course),
            1 => CoursewareCall::Deregister(student),
            2 => CoursewareCall::Remove(course),
            _ => CoursewareCall::List,
        }
    }
}

/// Runs an operation: what it changed, as the assertions want to know it.
fn serve(transaction: &mut Transaction<'_>, call: CoursewareCall) -> Result<Vec<Value>, Failure> {
    match call {
        CoursewareCall::Enroll(student, course) => enroll(transaction, student, course),
        CoursewareCall::Deregister(student) => {
            let registered = required(transaction.select(&STUDENTS, student, &["registered"])?)?.int(0)?;
            if registered != 0 {
                transaction.overwrite(&STUDENTS, student, "registered = ?", 0)?;
            }
            Ok(Vec::new())
        }
        CoursewareCall::Remove(course) => {
            let active = required(transaction.select(&COURSES, course, &["active"])?)?.int(0)?;
            if active == 0 || !transaction.scan_prefix(&ENROLLMENTS, course, &[])?.is_empty() {
                return Ok(Vec::new());
            }
            transaction.overwrite(&COURSES, course, "active = ?", 0)?;
            Ok(vec![course.into()])
        }
        CoursewareCall::List => transaction.scan_prefix(&ENROLLMENTS, (), &[]).map(|_| Vec::new()),
    }
}

fn enroll(transaction: &mut Transaction<'_>, student: i64, course: i64) -> Result<Vec<Value>, Failure> {
    let registered = required(transaction.select(&STUDENTS, student, &["registered"])?)?.int(0)?;
    let found = required(transaction.select(&COURSES, course, &["active", "capacity"])?)?;
    if registered == 0 || found.int(0)? == 0 {
        return Ok(Vec::new());
    }
    let taken = transaction.scan_prefix(&ENROLLMENTS, course, &[])?;
    let is_in = taken.iter().any(|enrollment| enrollment.key.last() == Some(&student.into()));
    if is_in || taken.len() as i64 >= found.int(1)? {
        return Ok(Vec::new());
    }
    transaction.insert(&ENROLLMENTS, [course, student], 1)?;
    Ok(vec![course.into(), student.into()])
}

/// Who is or was in which course, and which courses are gone.
#[derive(Default)]
struct Seen {
    enrolled: BTreeMap<i64, BTreeSet<i64>>,
    removed: BTreeSet<i64>,
}

fn seen(end: &mut FinalState<'_>) -> Result<Seen, Failure> {
    let mut seen = Seen::default();
    for observation in end.observations() {
        match (observation.name, observation.values.as_slice()) {
            ("enroll", [Value::Int(course), Value::Int(student)]) => {
                seen.enrolled.entry(*course).or_default().insert(*student);
            }
            ("remove", [Value::Int(course)]) => drop(seen.removed.insert(*course)),
            _ => {}
        }
    }
    for row in all_rows(end, &ENROLLMENTS, &["course", "student"])? {
        seen.enrolled.entry(row.int(0)?).or_default().insert(row.int(1)?);
    }
    for row in all_rows(end, &COURSES, &["id", "active"])? {
        if row.int(1)? == 0 {
            seen.removed.insert(row.int(0)?);
        }
    }
    Ok(seen)
}

impl Workload for Courseware {
    fn name(&self) -> &'static str {
        "courseware"
    }

    fn tables(&self) -> &[Table] {
        &[STUDENTS, COURSES, ENROLLMENTS]
    }

    fn load(&self, loader: &mut Loader) {
        (1..=self.students).for_each(|id| loader.insert(&STUDENTS, id, (format!("student {id}"), 1)));
        (1..=self.courses).for_each(|id| loader.insert(&COURSES, id, (format!("course {id}"), self.capacity, 1)));
    }

    fn draw(&self, random: &mut Random, _session: usize, _number: u64) -> Operation {
        let call = self.call(random);
        Operation::observed(call.name(), move |transaction| serve(transaction, call))
    }

    /// What was seen counts also when the answer to a commit was lost: then there is only less of it.
    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        let Seen { enrolled, removed } = seen(end)?;
        let full = enrolled.iter().filter(|(_, students)| students.len() as i64 > self.capacity);
        let over: Vec<String> = full
            .map(|(course, students)| format!("course {course}: {} students, {} seats", students.len(), self.capacity))
            .collect();
        let gone = removed.iter().filter_map(|course| Some((course, enrolled.get(course)?.first()?)));
        let gone: Vec<String> = gone
            .map(|(course, student)| format!("student {student} is in course {course}, which is removed"))
            .collect();
        let (courses, removed) = (enrolled.len(), removed.len());
        Ok(vec![
            nothing_against("course capacity", &over, &format!("{courses} courses with students")),
            nothing_against("removed course", &gone, &format!("{removed} courses removed")),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls, end_after, end_of, observation};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let courseware = Courseware::default();
        let draw = |random: &mut Random, _, _| courseware.call(random);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        assert_shares(
            calls(1, draw).iter().map(|call| call.name()),
            &[("enroll", 0.25), ("deregister", 0.25), ("remove", 0.25), ("list", 0.25)],
        );
    }

    #[test]
    fn what_was_seen_and_what_is_there_count_alike() {
        let holds = |assertions: Vec<Assertion>| [assertions[0].holds, assertions[1].holds];
        let courseware = Courseware::default();
        let (one, two) = (observation(0, "enroll", &[1, 1]), observation(1, "enroll", &[1, 2]));
        assert_eq!(holds(end_of(&courseware, std::slice::from_ref(&one), true)), [true, true]);
        assert_eq!(holds(end_of(&courseware, &[one.clone(), two], true)), [false, true]);
        assert_eq!(
            holds(end_after(&courseware, std::slice::from_ref(&one), true, &[("enrollments", &[1, 3, 1])])),
            [false, true]
        );
        assert_eq!(holds(end_of(&courseware, &[one, observation(2, "remove", &[1])], true)), [true, false]);
    }
}
