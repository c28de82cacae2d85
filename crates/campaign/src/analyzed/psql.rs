//! Lines of a file that are for psql and not for the server: `\ir more.sql`, `\set`, and the rows behind `COPY … FROM stdin;`.
//!
//! They become blank. What they read is not here, so it is named; settings of the client say nothing about rows.

/// A text without lines for psql, and what was named in them, by line.
pub(super) fn without_commands(text: &str) -> (String, Vec<(u32, String)>) {
    let (mut out, mut named) = (String::with_capacity(text.len()), Vec::new());
    let mut in_rows = false;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let command = words.first().filter(|word| word.starts_with('\\'));
        if let Some(command) = command.filter(|command| READING.contains(command) && !in_rows) {
            let what = format!("{command} {}", words[1..].join(" "));
            named.push((number as u32 + 1, format!("`{}`, which psql reads here,", what.trim_end())));
        }
        match in_rows || command.is_some() {
            true => out.extend(line.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' })),
            false => out.push_str(line),
        }
        in_rows = match in_rows {
            true => line.trim_end() != "\\.",
            false => begins_rows(line),
        };
    }
    (out, named)
}

/// Commands that bring in something from elsewhere.
const READING: [&str; 6] = ["\\i", "\\ir", "\\include", "\\include_relative", "\\copy", "\\gexec"];

fn begins_rows(line: &str) -> bool {
    let lower = line.trim().to_ascii_lowercase();
    lower.starts_with("copy ") && lower.contains(" from stdin") && lower.ends_with(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_psql_become_blank_and_what_they_read_is_named() {
        let text = "\\set x 1\nSELECT 1;\n\\ir more.sql\nCOPY t FROM stdin;\n1\tit's\n\\.\nSELECT 2;\n";
        let (out, named) = without_commands(text);
        let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
        assert_eq!(lines, ["", "SELECT 1;", "", "COPY t FROM stdin;", "", "", "SELECT 2;"]);
        assert_eq!(named, [(3, "`\\ir more.sql`, which psql reads here,".to_owned())]);
        assert_eq!(out.lines().count(), text.lines().count());
    }
}
