//! A file that is analysed: SQL, or the log of a server, told by what it begins with.
//!
//! SQL has to be UTF-8 and of a reasonable size. A log may be large, and a byte in it may be anything: somebody's client sent it. Such a byte becomes
//! U+FFFD, and the statement that it stands in is not understood.

use super::logs;
use crate::Complaint;
use skew_analyze::log::LogFormat;
use skew_value::Dialect;

/// The largest file of SQL, and the largest log.
const LARGEST_PROGRAM: usize = 16 << 20;
const LARGEST_LOG: usize = 1 << 30;

/// A file.
#[derive(Clone, Debug)]
pub struct AnalyzedFile {
    pub(super) name: String,
    pub(super) text: String,
    /// What kind of log it is, if it is one.
    pub(super) log: Option<LogFormat>,
    /// Whether some bytes were no UTF-8.
    pub(super) is_repaired: bool,
}

impl AnalyzedFile {
    /// So many bytes are worth reading of a file.
    pub const WORTH_READING: u64 = LARGEST_LOG as u64 + 1;

    /// The bytes of a file.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<AnalyzedFile, Complaint> {
        let size = bytes.len();
        let (text, broken) = match String::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
                (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(line))
            }
        };
        let text = without_mark(text);
        let log = logs::format_of(&text);
        let complain = |message: String, advice: &str| Err(Complaint::new(name, message, advice));
        match (log, broken) {
            (Some(_), _) if size > LARGEST_LOG => {
                complain(format!("the log has more than {} GiB", LARGEST_LOG >> 30), "analyse a part of it")
            }
            (None, _) if size > LARGEST_PROGRAM => {
                let advice = "is it the right file? a log is told by its first lines";
                complain(format!("the file has more than {} MiB, and is no log", LARGEST_PROGRAM >> 20), advice)
            }
            (None, Some(line)) => complain(format!("line {line}: the file is not UTF-8"), "convert it to UTF-8"),
            _ => Ok(AnalyzedFile { name: name.to_owned(), text, log, is_repaired: broken.is_some() }),
        }
    }

    /// A text that is there already.
    pub(super) fn of_text((name, text): &(String, String)) -> AnalyzedFile {
        let text = without_mark(text.clone());
        let log = logs::format_of(&text);
        AnalyzedFile { name: name.clone(), text, log, is_repaired: false }
    }

    /// The dialect of a log.
    pub(super) fn dialect(&self) -> Option<Dialect> {
        self.log.map(LogFormat::dialect)
    }

    /// Why there may be nothing in some files, and in which of them.
    pub(super) fn nothing_in(files: &[AnalyzedFile]) -> Complaint {
        if let Some(empty) = files.iter().find(|file| file.text.trim().is_empty()) {
            return Complaint::new(&empty.name, "the file is empty".to_owned(), "name another one, or leave it out");
        }
        if let Some(log) = files.iter().find(|file| file.log.is_some()) {
            let advice = "have the server log statements: log_statement = 'all', or general_log = ON";
            return Complaint::new(&log.name, "the log has no transaction that touches a table".to_owned(), advice);
        }
        let advice = "write CREATE PROCEDURE or CREATE FUNCTION, or plain statements between BEGIN and COMMIT or behind `-- name: …`";
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        Complaint::new(&names.join(", "), "there is no transaction in it".to_owned(), advice)
    }
}

/// A text without the mark that some editors begin files with.
fn without_mark(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_no_utf8_is_named_with_its_line() {
        let complaint = AnalyzedFile::new("a.sql", b"SELECT 1;\n-- caf\xe9\n".to_vec()).expect_err("no UTF-8");
        assert_eq!((complaint.message.as_str(), complaint.file.as_str()), ("line 2: the file is not UTF-8", "a.sql"));
    }

    #[test]
    fn a_mark_at_the_beginning_is_passed_over() {
        let bytes = "\u{feff}SELECT 1;\n".as_bytes().to_vec();
        assert_eq!(AnalyzedFile::new("a.sql", bytes).expect("a file").text, "SELECT 1;\n");
    }

    #[test]
    fn a_large_file_that_is_no_log_is_refused_and_a_large_log_is_not() {
        let program = vec![b' '; LARGEST_PROGRAM + 1];
        let complaint = AnalyzedFile::new("a.sql", program).expect_err("too large");
        assert!(complaint.message.contains("more than 16 MiB"), "{}", complaint.message);
        let line = "\t\t    4 Query\tSELECT stock FROM product WHERE id = 1\n";
        let log = line.repeat(LARGEST_PROGRAM / line.len() + 2).into_bytes();
        assert!(AnalyzedFile::new("general.log", log).expect("a log").log.is_some());
    }
}
