//! What a transaction saw that was rolled back is no finding by itself, in every command; behind a failure it is told.

use crate::Folder;

/// Two people want one name, which UNIQUE gives to one of them.
const UNIQUE: &str = "CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE);
CREATE PROCEDURE register(IN me INT, IN wanted VARCHAR(20))
BEGIN
  DECLARE found INT;
  SELECT COUNT(*) INTO found FROM users WHERE name = wanted;
  IF found = 0 THEN
    INSERT INTO users VALUES (me, wanted);
  END IF;
END;
SESSION alice: CALL register(1, 'ann');
SESSION bob: CALL register(2, 'ann');
";

/// One transfers, the other looks and rolls back.
const LOOK: &str = "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 0);
CREATE PROCEDURE transfer()
BEGIN
  UPDATE account SET balance = balance - 60 WHERE id = 1;
  UPDATE account SET balance = balance + 60 WHERE id = 2;
END;
CREATE PROCEDURE look(OUT total INT)
BEGIN
  DECLARE one INT;
  SELECT balance INTO one FROM account WHERE id = 1;
  SELECT balance INTO total FROM account WHERE id = 2;
  SET total = total + one;
  ROLLBACK;
END;
SESSION alice: CALL transfer();
SESSION bob: CALL look(@total);
";

#[test]
fn a_unique_key_that_refuses_the_second_is_no_finding() {
    let folder = Folder::new("rolled-back-unique");
    folder.write("unique.sql", UNIQUE);
    let ran = folder.skew(&["explore", "unique.sql", "--against", "serializable"]).expect(0);
    assert!(ran.out.contains("aborted in ") && ran.out.contains("duplicate key value"), "{}", ran.out);
    assert!(!ran.out.contains("not serializable") && !ran.out.contains("--replay"), "{}", ran.out);
    folder.skew(&["play", "unique.sql", "--level", "rc", "--against", "serializable"]).expect(0);
}

#[test]
fn without_the_unique_key_the_second_is_a_finding() {
    let folder = Folder::new("rolled-back-race");
    folder.write("race.sql", UNIQUE.replace(" UNIQUE", ""));
    let ran = folder.skew(&["explore", "race.sql", "--level", "rc", "--against", "serializable"]).expect(1);
    assert!(ran.out.contains("not serializable") && ran.out.contains("--replay"), "{}", ran.out);
}

#[test]
fn what_a_rolled_back_transaction_saw_is_no_finding_by_itself() {
    let folder = Folder::new("rolled-back-look");
    folder.write("look.sql", LOOK);
    let explored = folder.skew(&["explore", "look.sql", "--level", "rc", "--against", "serializable"]).expect(0);
    assert!(!explored.out.contains("not serializable"), "{}", explored.out);
    let played = folder.skew(&["play", "look.sql", "--level", "rc", "--against", "serializable"]).expect(0);
    assert!(played.out.contains("every run is serializable"), "{}", played.out);
}

#[test]
fn what_a_rolled_back_transaction_saw_is_told_behind_a_failure() {
    let folder = Folder::new("rolled-back-failure");
    folder.write("look.sql", format!("{LOOK}ASSERT 'no money is missing': bob[1].total = 100;\n"));
    let played = folder.skew(&["play", "look.sql", "--level", "rc"]).expect(1);
    assert!(played.out.contains(", seen by a transaction that was rolled back"), "{}", played.out);
    assert!(played.out.contains("bob") && played.out.contains("(rolled back)"), "{}", played.out);
    let explored = folder.skew(&["explore", "look.sql", "--level", "rc"]).expect(1);
    assert!(explored.out.contains("(rolled back)"), "{}", explored.out);
}

#[test]
fn an_entry_of_an_index_is_shown_in_words() {
    let folder = Folder::new("rolled-back-words");
    folder.write("unique.sql", format!("{UNIQUE}ASSERT 'both are there': (SELECT COUNT(*) FROM users) = 2;\n"));
    let ran = folder.skew(&["explore", "unique.sql", "--level", "rc"]).expect(1);
    let replay = ran.out.lines().last().unwrap().to_owned();
    assert!(replay.starts_with("skew explore unique.sql --level read-committed"), "{}", ran.out);
    folder.write(
        "history.jsonl",
        "{\"skew\":1}\n{\"session\":\"a\",\"ops\":[{\"r\":\"users@name/ann\",\"v\":null},{\"w\":\"users@name/ann\",\"v\":1}]}\n\
         {\"session\":\"b\",\"ops\":[{\"r\":\"users@name/ann\",\"v\":null},{\"w\":\"users@name/ann\",\"v\":2}]}\n",
    );
    let checked = folder.skew(&["check", "history.jsonl", "--level", "serializable"]).expect(1);
    assert!(checked.out.contains("read entry 'ann' of index users.name = nil (initial)"), "{}", checked.out);
    assert!(!checked.out.contains("users@name"), "{}", checked.out);
}
