//! Entries of an index, as sentences speak of them.
//!
//! A key `table@index/value` is an entry of an index. That is a good name in a file, and nothing that somebody who wrote `UNIQUE (name)`
//! has ever seen:
//!
//! ```text
//!   users@name/ann      entry 'ann' of index users.name
//!   item@price/30/7     entry (30, 7) of index item.price
//!   users@name/%null    entry NULL of index users.name
//! ```

/// The words for a key that is an entry of an index; nothing for any other key.
pub(crate) fn in_words(key: &str) -> Option<String> {
    let (space, values) = key.split_once('/')?;
    let (table, index) = space.split_once('@')?;
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    // A name of somebody else's that only looks a little like it, such as an address, stays what it is.
    if !table.split('.').all(is_name) || !is_name(index) {
        return None;
    }
    let values: Vec<String> = values.split('/').map(value).collect();
    let values = if let [one] = values.as_slice() { one.clone() } else { format!("({})", values.join(", ")) };
    Some(format!("entry {values} of index {table}.{index}"))
}

/// A part of a key as SQL writes it.
fn value(part: &str) -> String {
    if part == "%null" {
        return "NULL".to_owned();
    }
    if part.parse::<i128>().is_ok() {
        return part.to_owned();
    }
    // The letters that would divide a key are written by their codes; the percent sign last, or `%252f` would become `/`.
    let plain = part.replace("%2f", "/").replace("%23", "#").replace("%27", "''").replace("%25", "%");
    format!("'{plain}'")
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn an_entry_of_an_index_is_told_by_its_values() {
        assert_eq!(in_words("users@name/ann").as_deref(), Some("entry 'ann' of index users.name"));
        assert_eq!(in_words("item@price/30/7").as_deref(), Some("entry (30, 7) of index item.price"));
        assert_eq!(in_words("users@name/%null").as_deref(), Some("entry NULL of index users.name"));
        assert_eq!(in_words("t@path/a%2fb%252f").as_deref(), Some("entry 'a/b%2f' of index t.path"));
    }

    #[test]
    fn other_keys_keep_their_names() {
        for key in ["users/ann", "x", "ann@example.org/inbox", "@/", "a@b", "users/ann@home"] {
            assert_eq!(in_words(key), None, "{key}");
        }
    }
}
