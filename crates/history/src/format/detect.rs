//! Which format is this? By what the file says first, and by its name where that decides.
//!
//! ```text
//!   T<n>.log · .bincode · .edn              the name is enough, and mistakes inside are told as mistakes of that format
//!   {"skew" … "session" … "ops"             native           [{"tid" … "sts"     TimeKiller
//!   {"value":[…]} alone                     Viper            [{"type" … "value"  Elle, JSON
//!   {"data" … "params"                      dbcop, JSON      {:type … [ ( # ;    Elle, EDN
//!   r(1,2,3,4) · r 1 2 · READ KEY[…]        Plume · AWDIT · IsoPredict; r(x,1) the notation
//! ```
//!
//! The file is looked at once; what the look means is for the formats, each in its module.

use super::known::{FileStart, FormatReader, Likeness, Look};
use super::{Format, ReadError, Source};
use crate::builder::{Place, Problem, Refusal};

/// The format of one history.
pub fn detect(files: &[Source<'_>]) -> Result<Format, ReadError> {
    let refuse = |problem| {
        let name = files.first().map_or("", |file| file.name);
        Err(ReadError::new(name, Refusal { place: Place::Whole, problem }))
    };
    if let Some(format) = files.iter().find_map(|file| by_folder(file.name)) {
        return Ok(format);
    }
    let [file] = files else {
        let what = "no log of a session among these files, and only Cobra's histories are several files";
        return refuse(Problem::malformed(what, "a Cobra history is a folder of files T0.log, T1.log, …"));
    };
    if file.bytes.is_empty() {
        return refuse(Problem::Empty);
    }
    match by_name(file.name).or_else(|| by_content(file.bytes)) {
        Some(format) => Ok(format),
        None if file.bytes.iter().all(u8::is_ascii_whitespace) => refuse(Problem::Empty),
        None => Err(ReadError::new(
            file.name,
            Refusal {
                place: first_line(file.bytes),
                problem: Problem::malformed(UNKNOWN, "name its format with `--from`"),
            },
        )),
    }
}

const UNKNOWN: &str = "the content looks like no history format that is known here";

/// The line on which something stands first.
fn first_line(bytes: &[u8]) -> Place {
    let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace());
    Place::Line(1 + blank.filter(|&&byte| byte == b'\n').count() as u64)
}

/// The format of which a file of this name is a part.
fn by_folder(name: &str) -> Option<Format> {
    Format::ALL.into_iter().find(|format| matches!(format.known().read, FormatReader::Folder { has, .. } if has(name)))
}

fn by_name(name: &str) -> Option<Format> {
    let extension = name.rsplit_once('.')?.1.to_ascii_lowercase();
    Format::ALL.into_iter().find(|format| format.known().extension == Some(&extension))
}

fn by_content(bytes: &[u8]) -> Option<Format> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let is_binary = bytes.iter().take(64).any(|&byte| byte == 0);
    let look = Look { bytes, is_binary, start: start(text)? };
    let likeness = |format: Format| (format.known().likeness)(&look);
    let found = |wanted| Format::ALL.into_iter().find(|&format| likeness(format) == wanted);
    found(Likeness::Strong).or_else(|| found(Likeness::Weak))
}

/// What a text begins with, if it is there.
fn start(text: &[u8]) -> Option<FileStart<'_>> {
    Some(match text.first()? {
        b'{' if is_json_object(text) => FileStart::Object(member_names(text)),
        b'{' | b'#' | b';' | b'(' => FileStart::Edn,
        b'[' => {
            let inside = text[1..].trim_ascii_start();
            match inside.first() {
                Some(b'{') if is_json_object(inside) => FileStart::ListOfObjects(member_names(inside)),
                Some(b'{' | b'#' | b';' | b'(') => FileStart::Edn,
                Some(b']') => FileStart::EmptyList,
                _ => FileStart::OtherList,
            }
        }
        _ => words(text),
    })
}

fn words(text: &[u8]) -> FileStart<'_> {
    const LONGEST: usize = 4096;
    let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    let shown = |end: usize| String::from_utf8_lossy(&text[..end.min(LONGEST)]).into_owned();
    FileStart::Words { line: shown(end).trim().to_owned(), text: shown(text.len()) }
}

fn is_json_object(text: &[u8]) -> bool {
    matches!(text[1..].trim_ascii_start().first(), Some(b'"' | b'}'))
}

/// The names of the members of the object that begins here; the object may be broken.
fn member_names(text: &[u8]) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut depth, mut at) = (0usize, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => break,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let start = at + 1;
                at = string_end(text, start);
                let is_name =
                    depth == 1 && text.get(at + 1..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"));
                names.extend(is_name.then(|| std::str::from_utf8(&text[start..at]).ok()).flatten());
            }
            _ => {}
        }
        at += 1;
    }
    names
}

/// The place of the quote that ends the text which begins at `at`, or the end of everything.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, content: &str) -> Option<Format> {
        detect(&[Source { name, bytes: content.as_bytes() }]).ok()
    }

    #[test]
    fn formats_are_known_by_what_they_say() {
        for (content, format) in [
            ("{\"skew\":1}", Format::Native),
            ("\u{feff}\n{\"id\":\"a\\\"b\",\"ops\":[],\"session\":1}", Format::Native),
            ("{\"sealed\":{}}", Format::Native),
            ("a: r(x,init) w(x,1)", Format::Notation),
            ("w(x,1); r(x,1)", Format::Notation),
            ("init(x,100)\na: r(x,init)", Format::Notation),
            ("a:\nb: r(x,init)", Format::Notation),
            ("w(1,1,1,1)\n", Format::Plume),
            ("w 0 0\n===\n", Format::Awdit),
            ("===\nw 0 0\n", Format::Awdit),
            ("READ KEY[x] Txn(1, 0) From(0, 0)", Format::IsoPredict),
            ("INSERT[x] to Set[t] Txn(1, 0)", Format::IsoPredict),
            ("{:type :ok}", Format::ElleEdn),
            ("[{:type :ok}]", Format::ElleEdn),
            ("; x\n#jepsen.history.Op{:type :ok}", Format::ElleEdn),
            ("[{\"type\":\"ok\",\"value\":[]}]", Format::ElleJson),
            ("[\n{ \"tid\":1}]", Format::TimeKiller),
            ("{\"value\":[[\"w\",1,1,true]]}", Format::Viper),
            ("{\"params\":{\"id\":0},\"data\":[]}", Format::DbcopJson),
            ("S\0\0\0\0\0\0\0\u{1}C\0\0\0\0\0\0\0\u{1}", Format::Cobra),
        ] {
            assert_eq!(found("file", content), Some(format), "{content}");
        }
        assert_eq!(found("d/T3.log", "?"), Some(Format::Cobra));
        assert_eq!(found("a.bincode", "?"), Some(Format::DbcopBincode));
    }

    #[test]
    fn what_is_not_known_is_refused_with_advice() {
        let error = detect(&[Source { name: "f", bytes: b"hello" }]).unwrap_err();
        assert_eq!(error.advice(), "name its format with `--from`");
        assert_eq!(detect(&[Source { name: "f", bytes: b"" }]).unwrap_err().problem, Problem::Empty);
        assert_eq!(detect(&[Source { name: "f", bytes: b" \n" }]).unwrap_err().problem, Problem::Empty);
        assert!(detect(&[]).is_err());
        assert_eq!(found("f", "{"), Some(Format::ElleEdn));
        assert_eq!(found("f", "{\"a\\"), None);
    }
}
