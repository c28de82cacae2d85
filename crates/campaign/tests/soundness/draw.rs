//! Small programs by chance: tables with all kinds of keys, and procedures of a few statements.
//!
//! Every program is one that PostgreSQL would take. Keys, guards and values are drawn from few, so that transactions meet; a guard may match nothing.

use skew_chance::Random;

/// A program without sessions.
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) procedures: usize,
}

/// Whether statements are drawn that only some engines of the analysis understand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wealth {
    /// What all of them understand.
    Common,
    /// All.
    Rich,
}

fn pick<'a>(random: &mut Random, choices: &[&'a str]) -> &'a str {
    choices[random.index(choices.len())]
}

/// Four tables: a plain one, one with a unique column and a parent, one with a key of two columns, one whose rows nobody deletes.
fn tables(random: &mut Random, wealth: Wealth) -> String {
    let check = pick(random, &["", "", "", " CHECK (b >= 0)"]);
    let code = pick(random, &["code INT UNIQUE", "code INT NOT NULL UNIQUE", "code INT"]);
    let parent = pick(random, &["t INT REFERENCES t (id)", "t INT REFERENCES t (id)", "t INT"]);
    let parent = match wealth {
        Wealth::Rich if random.index(8) == 0 => "t INT REFERENCES t (id) DEFERRABLE INITIALLY DEFERRED",
        _ => parent,
    };
    let generated = match wealth {
        Wealth::Rich if random.index(8) == 0 => ", twice INT GENERATED ALWAYS AS (a + a) STORED",
        _ => "",
    };
    let partial = match wealth {
        Wealth::Rich if random.index(6) == 0 => "CREATE UNIQUE INDEX of_some ON u (t) WHERE a = 1;\n",
        _ => "",
    };
    let rows = if random.index(3) == 0 { "" } else { "INSERT INTO c VALUES (1, 1, 0), (1, 2, 1);\n" };
    format!(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL{generated}, b INT NOT NULL{check});
CREATE TABLE u (id INT PRIMARY KEY, {code}, {parent}, a INT NOT NULL);
CREATE TABLE c (t INT, n INT, a INT NOT NULL, PRIMARY KEY (t, n));
{partial}INSERT INTO t (id, a, b) VALUES (1, 0, 1), (2, 1, 0);
INSERT INTO u VALUES (1, 1, 1, 0), (2, 2, 2, 1);
{rows}"
    )
}

/// A statement of one of the kinds that all engines understand.
fn common(random: &mut Random) -> String {
    let table = pick(random, &["t", "t", "u", "c"]);
    let column = if table == "t" { pick(random, &["a", "b"]) } else { "a" };
    let other = if table == "t" { pick(random, &["a", "b"]) } else { "a" };
    let value = pick(random, &["0", "1", "z", "z + 1", "q"]);
    let number = pick(random, &["p", "q", "x", "1"]);
    let key = match table {
        "c" => format!("t = {number} AND n = {}", pick(random, &["p", "q", "1"])),
        "u" if random.index(4) == 0 => format!("code = {number}"),
        _ => format!("id = {number}"),
    };
    let lock = pick(random, &["FOR UPDATE", "FOR UPDATE", "FOR SHARE", "FOR NO KEY UPDATE"]);
    let id = if table == "c" { "n" } else { "id" };
    match random.index(22) {
        0 => format!("SELECT {column} INTO z FROM {table} WHERE {key};"),
        1 => format!("SELECT {column} INTO z FROM {table} WHERE {key} {lock};"),
        2 => format!("SELECT {column} INTO z FROM {table} WHERE {key} AND {other} = 1 {lock};"),
        3 => format!("SELECT {id} INTO x FROM {table} WHERE {other} = 1 ORDER BY {id} LIMIT 1;"),
        4 => format!("SELECT {}({id}) INTO x FROM {table} WHERE {other} = 1;", pick(random, &["MIN", "MAX"])),
        5 => format!("SELECT {} INTO z FROM {table} WHERE {other} = 1;", pick(random, &["COUNT(*)", "SUM(a)"])),
        6 => {
            let body = pick(random, &["SET z = z + one.id;", "UPDATE t SET a = 1 WHERE id = one.id;", "DELETE FROM u WHERE id = one.id;"]);
            let lock = pick(random, &["", " FOR UPDATE"]);
            format!("FOR one IN (SELECT {id} AS id FROM {table} WHERE {other} = 1{lock}) DO {body} END FOR;")
        }
        7 => format!("UPDATE {table} SET {column} = {column} + 1 WHERE {key};"),
        8 => format!("UPDATE {table} SET {column} = {value} WHERE {key};"),
        9 => format!("UPDATE {table} SET {column} = {value} WHERE {key} AND {other} = 1;"),
        10 => format!("UPDATE {table} SET {column} = {value} WHERE {other} = 1;"),
        11 => format!("UPDATE {table} SET {column} = {value} WHERE {id} IN (p, q) AND {other} = 0;"),
        12 => "DELETE FROM u WHERE id = p;".to_owned(),
        13 => format!("DELETE FROM {} WHERE {}", pick(random, &["u", "c"]), pick(random, &["a = 1;", "t = q;", "a = z AND t = p;"])),
        14 => "INSERT INTO u VALUES (q, p, 1, 0) ON CONFLICT DO NOTHING;".to_owned(),
        15 => "INSERT INTO u VALUES (2 + p, 2 + q, p, z);".to_owned(),
        16 => "INSERT INTO c VALUES (p, q, z) ON CONFLICT (t, n) DO UPDATE SET a = c.a + 1;".to_owned(),
        17 => format!("INSERT INTO c VALUES (p, {}, z);", pick(random, &["q", "3", "x"])),
        18 => "UPDATE t SET b = (SELECT SUM(u.a) FROM u) WHERE id = p;".to_owned(),
        19 => "INSERT INTO c VALUES (p, q, 1) ON CONFLICT DO NOTHING;".to_owned(),
        20 => format!("SELECT COUNT(*) INTO z FROM c WHERE t = {number};"),
        _ => "UPDATE u SET code = q WHERE id = p;".to_owned(),
    }
}

/// What only some understand, or what is rare.
fn rich(random: &mut Random) -> String {
    let number = pick(random, &["p", "q", "x"]);
    match random.index(15) {
        12 => format!("SELECT COUNT(*) INTO z FROM u WHERE code = {number};"),
        13 => format!("SELECT id INTO x FROM u WHERE code = {number};"),
        14 => format!("SELECT a INTO z FROM t WHERE id = {number} FOR KEY SHARE;"),
        0 => "INSERT INTO c SELECT t, 3, a FROM u WHERE u.id = p;".to_owned(),
        1 => "INSERT INTO u SELECT 2 + p, NULL, t.id, t.a FROM t WHERE t.id = q AND t.b = 1;".to_owned(),
        2 => format!("UPDATE t SET a = u.a FROM u WHERE u.id = {number} AND t.id = u.t;"),
        3 => format!("DELETE FROM u USING t WHERE t.id = u.t AND t.a = 1 AND u.id = {number};"),
        4 => format!("SELECT u.a INTO z FROM u JOIN t ON t.id = u.t WHERE u.id = {number};"),
        5 => format!("SELECT u.a INTO z FROM u JOIN t ON t.id = u.t WHERE u.id = {number} FOR UPDATE;"),
        6 => "INSERT INTO u SELECT q, 9, 1, 0 WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = q);".to_owned(),
        7 => "INSERT INTO u VALUES (q, p, 1, z) ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.a;".to_owned(),
        8 => "UPDATE t SET a = a + 1 WHERE EXISTS (SELECT 1 FROM u WHERE u.t = t.id AND u.a = 1);".to_owned(),
        9 => "DELETE FROM t WHERE id = q;".to_owned(),
        10 => "UPDATE u SET t = q WHERE id = p;".to_owned(),
        _ => "SELECT MAX(n) + 1 INTO x FROM c WHERE t = p;".to_owned(),
    }
}

fn statement(random: &mut Random, wealth: Wealth) -> String {
    match wealth {
        Wealth::Rich if random.index(3) == 0 => rich(random),
        _ => common(random),
    }
}

fn body(random: &mut Random, wealth: Wealth) -> String {
    let mut body = String::new();
    for _ in 0..1 + random.index(3) {
        let (one, other) = (statement(random, wealth), statement(random, wealth));
        body += &match random.index(20) {
            5 => format!("  {other} IF ROW_COUNT() = 0 THEN {one} END IF;\n"),
            6 => format!("  {other} IF ROW_COUNT() > 0 THEN {one} END IF;\n"),
            7 => format!("  {other} SET n = ROW_COUNT(); IF n = 0 THEN SIGNAL SQLSTATE '45000'; END IF; {one}\n"),
            8 => format!("  {one} IF z = 0 THEN SIGNAL SQLSTATE '45000'; END IF;\n"),
            0 => format!("  IF z = 1 THEN {one} END IF;\n"),
            1 => format!("  IF z > 0 THEN {one} ELSE {other} END IF;\n"),
            2 => format!("  IF EXISTS (SELECT 1 FROM u WHERE a = 1) THEN {one} END IF;\n"),
            3 => format!("  IF NOT EXISTS (SELECT 1 FROM c WHERE t = p AND n = q) THEN {one} END IF;\n"),
            4 => format!("  SET n = 1; WHILE n <= 2 DO SET x = n; {one} SET n = n + 1; END WHILE;\n"),
            _ => format!("  {one}\n"),
        };
    }
    body
}

/// A program.
pub(crate) fn program(random: &mut Random, wealth: Wealth) -> Drawn {
    let mut text = tables(random, wealth);
    let procedures = 1 + random.index(2);
    for number in 0..procedures {
        let body = body(random, wealth);
        text += &format!(
            "CREATE PROCEDURE p{number}(IN p INT, IN q INT, OUT z INT)\nBEGIN\n  DECLARE x, n INT DEFAULT 1;\n  SET z = 0;\n{body}END;\n"
        );
    }
    Drawn { text, procedures }
}

/// Two or three sessions with a call each, of some procedures.
pub(crate) fn calls(random: &mut Random, procedures: &[usize]) -> String {
    let mut text = String::new();
    for session in 0..2 + random.index(2) {
        let procedure = procedures[if session < procedures.len() { session } else { random.index(procedures.len()) }];
        let (p, q) = (1 + random.index(2), 1 + random.index(2));
        text += &format!("SESSION s{session}: CALL p{procedure}({p}, {q}, @z);\n");
    }
    text
}
