//! Courseware: three students, two courses with one seat each.
//!
//! ```text
//!   enroll s c      s and c must be there, and the course not full; then (s, c) is added        (MonkeyDB, Fig. 12)
//!   deregister s    s is no student any more
//!   remove c        only a course that nobody is enrolled in
//!   list            who is enrolled where
//! ```
//!
//! Enrolments are never taken back, so in a serial execution at most one student succeeds per course, and none in a course that
//! somebody succeeded in removing: if the enrolment comes first the removal finds it, if the removal comes first the enrolment finds no
//! course. The state at the end is held to the same: no course with more students than seats, no student in a course that is gone.

use crate::harness::{
    Application, Assertion, Dice, Operation, Run, Status, Words, in_transaction, read_words, write_words,
};
use skew_mockdb::kv::{KvSession, KvTransaction};
use skew_mockdb::{KvError, KvValue};
use std::collections::{BTreeMap, BTreeSet};

const STUDENTS: [&str; 3] = ["ann", "bob", "cid"];
const COURSES: [&str; 2] = ["art", "law"];
const CAPACITY: usize = 1;

pub(crate) struct Courseware;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Returned {
    Done,
    Invalid,
    Full,
    Occupied,
    Listed(Words),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CoursewareOperation {
    Enroll(&'static str, &'static str),
    Deregister(&'static str),
    Remove(&'static str),
    List,
}

fn seats_taken(enrollments: &Words, course: &str) -> usize {
    enrollments.iter().filter(|pair| pair.split_once(':').is_some_and(|pair| pair.1 == course)).count()
}

fn enroll(transaction: &mut KvTransaction<'_>, student: &str, course: &str) -> Result<Returned, KvError> {
    let students = read_words(transaction, "students")?;
    let courses = read_words(transaction, "courses")?;
    if !students.contains(student) || !courses.contains(course) {
        return Ok(Returned::Invalid);
    }
    let mut enrollments = read_words(transaction, "enrollments")?;
    if seats_taken(&enrollments, course) >= CAPACITY {
        return Ok(Returned::Full);
    }
    enrollments.insert(format!("{student}:{course}"));
    write_words(transaction, "enrollments", &enrollments)?;
    Ok(Returned::Done)
}

fn deregister(transaction: &mut KvTransaction<'_>, student: &str) -> Result<Returned, KvError> {
    let mut students = read_words(transaction, "students")?;
    if !students.remove(student) {
        return Ok(Returned::Invalid);
    }
    write_words(transaction, "students", &students)?;
    Ok(Returned::Done)
}

fn remove(transaction: &mut KvTransaction<'_>, course: &str) -> Result<Returned, KvError> {
    let mut courses = read_words(transaction, "courses")?;
    if !courses.remove(course) {
        return Ok(Returned::Invalid);
    }
    if seats_taken(&read_words(transaction, "enrollments")?, course) > 0 {
        return Ok(Returned::Occupied);
    }
    write_words(transaction, "courses", &courses)?;
    Ok(Returned::Done)
}

impl Operation for CoursewareOperation {
    type Observed = Returned;

    fn transaction(&mut self, session: &KvSession) -> Result<Status<Returned>, KvError> {
        let operation = *self;
        let returned = in_transaction(session, |transaction| match operation {
            CoursewareOperation::Enroll(student, course) => enroll(transaction, student, course),
            CoursewareOperation::Deregister(student) => deregister(transaction, student),
            CoursewareOperation::Remove(course) => remove(transaction, course),
            CoursewareOperation::List => read_words(transaction, "enrollments").map(Returned::Listed),
        })?;
        Ok(Status::Done(returned))
    }
}

impl Application for Courseware {
    type Operation = CoursewareOperation;
    /// Courses and enrolments.
    type Ending = (Words, Words);

    const NAME: &'static str = "courseware";
    const ASSERTIONS: &'static [Assertion] = &[
        Assertion::of_paper("course registration overflow", 10.6),
        Assertion::of_paper("removed course registration", 57.5),
    ];

    fn initial() -> Vec<(&'static str, KvValue)> {
        vec![("students", STUDENTS.join(" ").into()), ("courses", COURSES.join(" ").into()), ("enrollments", "".into())]
    }

    fn draw(dice: &mut Dice, _number: i64) -> CoursewareOperation {
        let kind = dice.below(4);
        let (student, course) = (STUDENTS[dice.below(STUDENTS.len())], COURSES[dice.below(COURSES.len())]);
        match kind {
            0 => CoursewareOperation::Enroll(student, course),
            1 => CoursewareOperation::Deregister(student),
            2 => CoursewareOperation::Remove(course),
            _ => CoursewareOperation::List,
        }
    }

    fn ending(transaction: &mut KvTransaction<'_>) -> Result<(Words, Words), KvError> {
        Ok((read_words(transaction, "courses")?, read_words(transaction, "enrollments")?))
    }

    fn failures(run: &Run<Courseware>) -> Vec<bool> {
        let mut enrolled: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut removed = BTreeSet::new();
        for step in run.steps().filter(|step| step.observed == Returned::Done) {
            match step.asked {
                CoursewareOperation::Enroll(student, course) => {
                    enrolled.entry(course).or_default().insert(student);
                }
                CoursewareOperation::Remove(course) => {
                    removed.insert(course);
                }
                _ => {}
            }
        }
        let seats = enrolled.values().any(|students| students.len() > CAPACITY);
        let gone = removed.iter().any(|course| enrolled.contains_key(course));
        let Some((courses, enrollments)) = &run.ending else { return vec![seats, gone] };
        let taken = |course: &&str| seats_taken(enrollments, course);
        let seats_at_end = COURSES.iter().any(|course| taken(course) > CAPACITY);
        let gone_at_end = COURSES.iter().any(|course| !courses.contains(*course) && taken(course) > 0);
        vec![seats || seats_at_end, gone || gone_at_end]
    }
}
