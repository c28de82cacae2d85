//! Records of comma-separated values, as PostgreSQL writes them: quoted fields may have commas, line breaks and doubled quotes in them.

/// A record, and the line on which it begins.
pub(super) struct CsvRecord {
    pub(super) line: u32,
    pub(super) fields: Vec<String>,
    /// Whether the text ended inside quotes.
    pub(super) open: bool,
}

/// All records of a text; empty lines are none.
pub(super) fn records(text: &str) -> CsvRecords<'_> {
    CsvRecords { rest: text.chars().peekable(), line: 1 }
}

pub(super) struct CsvRecords<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: u32,
}

impl Iterator for CsvRecords<'_> {
    type Item = CsvRecord;

    fn next(&mut self) -> Option<CsvRecord> {
        while matches!(self.rest.peek(), Some('\n' | '\r')) {
            self.line += u32::from(self.rest.next() == Some('\n'));
        }
        self.rest.peek()?;
        let mut record = CsvRecord { line: self.line, fields: vec![String::new()], open: false };
        while let Some(letter) = self.rest.next() {
            match letter {
                '\n' => {
                    self.line += 1;
                    break;
                }
                '\r' if self.rest.peek() == Some(&'\n') => {}
                ',' => record.fields.push(String::new()),
                '"' => record.open = !self.quoted(&mut record),
                other => record.push(other),
            }
        }
        Some(record)
    }
}

impl CsvRecords<'_> {
    /// Reads up to the closing quote, and says whether there is one.
    fn quoted(&mut self, record: &mut CsvRecord) -> bool {
        while let Some(letter) = self.rest.next() {
            match letter {
                '"' if self.rest.peek() == Some(&'"') => {
                    self.rest.next();
                    record.push('"');
                }
                '"' => return true,
                other => {
                    self.line += u32::from(other == '\n');
                    record.push(other);
                }
            }
        }
        false
    }
}

impl CsvRecord {
    fn push(&mut self, letter: char) {
        if let Some(field) = self.fields.last_mut() {
            field.push(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(u32, Vec<String>, bool)> {
        records(text).map(|record| (record.line, record.fields, record.open)).collect()
    }

    #[test]
    fn quotes_hold_commas_lines_and_quotes() {
        let text = "a,\"b,\n\"\"c\"\"\",d\r\n\ne";
        let first: Vec<String> = ["a", "b,\n\"c\"", "d"].map(str::to_owned).to_vec();
        assert_eq!(told(text), [(1, first, false), (4, vec!["e".to_owned()], false)]);
    }

    #[test]
    fn an_open_quote_is_told() {
        assert_eq!(told("a,\"b"), [(1, vec!["a".to_owned(), "b".to_owned()], true)]);
        assert!(told("\n\n").is_empty());
    }
}
