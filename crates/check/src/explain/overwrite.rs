//! Whether an UPDATE builds on the row that it finds, or puts something else in its place.
//!
//! ```text
//!   UPDATE voucher SET used = used + 1 WHERE id = 7          builds: what others added meanwhile stays
//!   UPDATE account SET balance = bal - 60 WHERE id = 1       overwrites: what others did to the balance meanwhile is lost
//! ```
//!
//! A history has values, not where they come from; but it may have the text of the statement, and that says it: an UPDATE overwrites when no
//! column that it sets stands on the right of an `=`. This is about a name for people, never about a verdict, so words are enough; where
//! they are not (a subquery may read the row in other ways) nothing is claimed.

/// Whether the text of a statement is an UPDATE that puts something in the place of what it finds; false where that is not certain.
pub(super) fn overwrites(sql: &str) -> bool {
    let words = words(sql);
    let is = |place: usize, word: &str| words.get(place).is_some_and(|found| found == word);
    let Some(set) = words.iter().position(|word| word == "set").filter(|_| is(0, "update")) else { return false };
    let end = words.iter().skip(set).position(|word| word == "where" || word == "returning");
    let assigned = &words[set + 1..end.map_or(words.len(), |end| set + end)];
    if assigned.iter().any(|word| word == "select") {
        return false;
    }
    let mut depth = 0i32;
    let (mut columns, mut used, mut is_left) = (Vec::new(), Vec::new(), true);
    for word in assigned {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            "=" if depth == 0 && is_left => is_left = false,
            "," if depth == 0 => is_left = true,
            word if is_left => columns.push(word),
            word => used.push(word),
        }
    }
    !columns.is_empty() && !columns.iter().any(|column| used.contains(column))
}

/// The words and signs of a text in lower case, without what stands in quotes for a value; a name in quotes is a word.
fn words(sql: &str) -> Vec<String> {
    let (mut words, mut word, mut is_in_text) = (Vec::new(), String::new(), false);
    for letter in sql.chars() {
        if letter == '\'' {
            is_in_text = !is_in_text;
        }
        if !is_in_text && (letter.is_alphanumeric() || letter == '_') {
            word.extend(letter.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !is_in_text && "(),=".contains(letter) {
            words.push(letter.to_string());
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_overwrites_when_what_it_sets_is_nowhere_on_the_right() {
        for (sql, expected) in [
            ("UPDATE account SET balance = bal - amount WHERE id = acct", true),
            ("update account set balance = 40 where balance >= 60", true),
            ("UPDATE orders SET status = 'status, paid', at = now() WHERE id = 1", true),
            ("UPDATE voucher SET used = used + 1 WHERE id = 7", false),
            ("UPDATE t SET a = GREATEST(b, 1), b = 2", false),
            ("UPDATE t SET a = t.a + 1", false),
            ("UPDATE t SET \"a\" = \"a\" || 'x'", false),
            ("UPDATE t SET a = (SELECT max(n) FROM u)", false),
            ("DELETE FROM t WHERE id = 1", false),
            ("INSERT INTO t VALUES (1)", false),
            ("SET a = 1", false),
            ("", false),
            ("UPDATE t SET", false),
        ] {
            assert_eq!(overwrites(sql), expected, "{sql}");
        }
    }
}
