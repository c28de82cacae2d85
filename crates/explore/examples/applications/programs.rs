//! Three applications over keys and values: courseware, shopping cart, Twitter, with their clients read from files.
//!
//! A folder has `database/*.in`, a row per line with fields between `;`, and `caseN/threadM.in`, a session per file and a transaction
//! per line. A table is one key that holds the list of its rows' ids, and one key `TABLE:id` per row:
//!
//! ```text
//!   COURSE = [1, 2]      COURSE:1 = 1;Formal Methods;CS;open;1
//!   enroll 2 1           read STUDENT, STUDENT:2, COURSE, COURSE:1, ENROLLMENTS, ENROLLMENTS:1:4 …, write ENROLLMENTS
//! ```

use skew_explore::{Program, Transaction, TransactionStop};
use std::fs;
use std::path::Path;

/// What a line of a session calls.
struct Call {
    name: String,
    arguments: Vec<String>,
}

type Handle<'h, 'r, 'a> = &'h mut Transaction<'r, 'a>;

/// The client program of a folder such as `courseware/case1`.
pub(crate) fn load(folder: &Path) -> Result<Program, String> {
    let application = folder.parent().ok_or("a case lies in the folder of its application")?;
    let name = application.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut program = Program::new();
    let tables: &[(&str, &str, Id)] = match name {
        "courseware" => {
            &[("COURSE", "courses", Id::First), ("STUDENT", "students", Id::First), ("ENROLLMENTS", "", Id::First)]
        }
        "shoppingCart" => &[("STORE", "store", Id::First)],
        "twitter" => &[
            ("USERS", "users", Id::Second),
            ("TWEETS", "tweets", Id::Both),
            ("FOLLOWS", "follows", Id::Both),
            ("FOLLOWERS", "followers", Id::Both),
        ],
        other => return Err(format!("{other} is none of courseware, shoppingCart, twitter")),
    };
    for (table, file, id) in tables {
        let path = application.join("database").join(format!("{file}.in"));
        let text = if file.is_empty() { String::new() } else { read(&path)? };
        insert_table(&mut program, table, &text, *id);
    }
    for session in 1.. {
        let path = folder.join(format!("thread{session}.in"));
        if !path.exists() {
            break;
        }
        for line in read(&path)?.lines().filter(|line| !line.trim().is_empty()) {
            let call = parse(line)?;
            program.session(&session.to_string()).transaction(move |t| call.run(t));
        }
    }
    Ok(program)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Which fields of a row are its id.
#[derive(Clone, Copy)]
enum Id {
    First,
    Second,
    Both,
}

fn fields(row: &str) -> Vec<&str> {
    row.split(';').collect()
}

fn field(row: &str, number: usize) -> String {
    fields(row).get(number).map(|field| (*field).to_owned()).unwrap_or_default()
}

fn insert_table(program: &mut Program, table: &str, text: &str, id: Id) {
    let mut list = Vec::new();
    for row in text.lines().map(str::trim_end).filter(|row| !row.is_empty()) {
        let id = match id {
            Id::First => field(row, 0),
            Id::Second => field(row, 1),
            Id::Both => format!("{}:{}", field(row, 0), field(row, 1)),
        };
        program.initially(&format!("{table}:{id}"), row);
        list.push(id);
    }
    program.initially(table, list);
}

fn parse(line: &str) -> Result<Call, String> {
    const CALLS: [(&str, usize); 17] = [
        ("enroll", 2),
        ("getEnrollments", 0),
        ("openCourse", 1),
        ("closeCourse", 1),
        ("deleteCourse", 1),
        ("addItem", 1),
        ("addItemQuantity", 2),
        ("removeItem", 1),
        ("getItem", 1),
        ("getQuantity", 1),
        ("getList", 0),
        ("changeQuantity", 2),
        ("publishTweet", 1),
        ("getTimeline", 1),
        ("follow", 2),
        ("getFollowers", 1),
        ("getNewsfeed", 1),
    ];
    let mut words = line.split_whitespace().map(str::to_owned);
    let name = words.next().unwrap_or_default();
    let arguments: Vec<String> = words.collect();
    match CALLS.iter().find(|call| call.0 == name) {
        Some((_, count)) if *count == arguments.len() => Ok(Call { name, arguments }),
        Some((_, count)) => Err(format!("{name} takes {count} arguments: {line}")),
        None => Err(format!("no application has a transaction {name}")),
    }
}

impl Call {
    fn run(&self, t: Handle<'_, '_, '_>) -> Result<(), TransactionStop> {
        let argument = |number: usize| self.arguments[number].as_str();
        match self.name.as_str() {
            "enroll" => enroll(t, argument(0), argument(1)),
            "getEnrollments" => list(t, "ENROLLMENTS").map(drop),
            "openCourse" => set_course(t, argument(0), "open"),
            "closeCourse" => set_course(t, argument(0), "close"),
            "deleteCourse" => delete_course(t, argument(0)),
            "addItem" => add_item(t, argument(0), "1"),
            "addItemQuantity" => add_item(t, argument(0), argument(1)),
            "removeItem" => delete_row(t, "STORE", argument(0)),
            "getItem" | "getQuantity" => read_row(t, "STORE", argument(0)).map(drop),
            "getList" => read_if(t, "STORE", |_| true).map(drop),
            "changeQuantity" => change_quantity(t, argument(0), argument(1)),
            "publishTweet" => {
                let id = format!("{}:{}", field(argument(0), 0), field(argument(0), 1));
                insert_row(t, "TWEETS", &id, Some(argument(0)))
            }
            "getTimeline" => {
                let user = field(argument(0), 1);
                read_if(t, "TWEETS", |id| id.ends_with(&user)).map(drop)
            }
            "follow" => follow(t, &field(argument(0), 1), &field(argument(1), 1)),
            "getFollowers" => followers(t, &field(argument(0), 1)),
            "getNewsfeed" => newsfeed(t, &field(argument(0), 1)),
            other => Err(TransactionStop::failed(format!("no transaction {other}"))),
        }
    }
}

fn list(t: Handle<'_, '_, '_>, table: &str) -> Result<Vec<String>, TransactionStop> {
    t.read(table)
}

fn row(t: Handle<'_, '_, '_>, table: &str, id: &str) -> Result<Option<String>, TransactionStop> {
    t.read(&format!("{table}:{id}"))
}

fn read_row(t: Handle<'_, '_, '_>, table: &str, id: &str) -> Result<Option<String>, TransactionStop> {
    if list(t, table)?.iter().any(|listed| listed == id) { row(t, table, id) } else { Ok(None) }
}

fn insert_row(t: Handle<'_, '_, '_>, table: &str, id: &str, value: Option<&str>) -> Result<(), TransactionStop> {
    let mut ids = list(t, table)?;
    ids.push(id.to_owned());
    t.write(table, ids)?;
    match value {
        Some(value) => t.write(&format!("{table}:{id}"), value),
        None => Ok(()),
    }
}

fn delete_row(t: Handle<'_, '_, '_>, table: &str, id: &str) -> Result<(), TransactionStop> {
    let mut ids = list(t, table)?;
    if let Some(place) = ids.iter().position(|listed| listed == id) {
        ids.remove(place);
    }
    t.write(table, ids)
}

fn write_row(t: Handle<'_, '_, '_>, table: &str, id: &str, value: &str) -> Result<(), TransactionStop> {
    match list(t, table)?.iter().any(|listed| listed == id) {
        true => t.write(&format!("{table}:{id}"), value),
        false => Ok(()),
    }
}

/// The listed ids that satisfy a condition; their rows are read, in the order of the list.
fn read_if(t: Handle<'_, '_, '_>, table: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, TransactionStop> {
    let mut ids = list(t, table)?;
    ids.retain(|id| wanted(id));
    for id in &ids {
        row(t, table, id)?;
    }
    Ok(ids)
}

fn enroll(t: Handle<'_, '_, '_>, student: &str, course: &str) -> Result<(), TransactionStop> {
    let Some(student_row) = read_row(t, "STUDENT", student)? else { return t.abort() };
    let Some(course_row) = read_row(t, "COURSE", course)? else { return t.abort() };
    if field(&student_row, 2) == "true" || field(&course_row, 3) != "open" {
        return Ok(());
    }
    let enrolled = read_if(t, "ENROLLMENTS", |id| id.starts_with(course))?;
    let capacity: usize =
        field(&course_row, 4).parse().map_err(|_| TransactionStop::failed("a course without a capacity"))?;
    match enrolled.len() < capacity {
        true => insert_row(t, "ENROLLMENTS", &format!("{course}:{student}"), None),
        false => Ok(()),
    }
}

fn set_course(t: Handle<'_, '_, '_>, course: &str, state: &str) -> Result<(), TransactionStop> {
    let Some(row) = read_row(t, "COURSE", course)? else { return Ok(()) };
    let mut fields: Vec<&str> = fields(&row);
    if let Some(field) = fields.get_mut(3) {
        *field = state;
    }
    write_row(t, "COURSE", course, &fields.join(";"))
}

fn delete_course(t: Handle<'_, '_, '_>, course: &str) -> Result<(), TransactionStop> {
    set_course(t, course, "close")?;
    delete_row(t, "COURSE", course)?;
    for id in list(t, "ENROLLMENTS")?.iter().filter(|id| id.starts_with(course)) {
        delete_row(t, "ENROLLMENTS", id)?;
    }
    Ok(())
}

fn add_item(t: Handle<'_, '_, '_>, item: &str, quantity: &str) -> Result<(), TransactionStop> {
    insert_row(t, "STORE", &field(item, 0), Some(&format!("{item};{quantity}")))
}

fn change_quantity(t: Handle<'_, '_, '_>, item: &str, quantity: &str) -> Result<(), TransactionStop> {
    let Some(row) = read_row(t, "STORE", item)? else { return t.abort() };
    let first: Vec<&str> = fields(&row).into_iter().take(3).collect();
    write_row(t, "STORE", item, &format!("{};{quantity}", first.join(";")))
}

fn follow(t: Handle<'_, '_, '_>, one: &str, other: &str) -> Result<(), TransactionStop> {
    if one == other {
        return Ok(());
    }
    insert_row(t, "FOLLOWS", &format!("{one}:{other}"), None)?;
    insert_row(t, "FOLLOWERS", &format!("{other}:{one}"), None)
}

fn followers(t: Handle<'_, '_, '_>, user: &str) -> Result<(), TransactionStop> {
    let listed = list(t, "FOLLOWERS")?;
    read_if(t, "USERS", |follower| listed.iter().any(|id| *id == format!("{user}:{follower}"))).map(drop)
}

fn newsfeed(t: Handle<'_, '_, '_>, user: &str) -> Result<(), TransactionStop> {
    let prefix = format!("{user}:");
    for followed in list(t, "FOLLOWS")?.iter().filter_map(|id| id.strip_prefix(&prefix)) {
        read_if(t, "TWEETS", |id| id.ends_with(followed))?;
    }
    Ok(())
}
