//! JSON, element by element.
//!
//! Strict where leniency would be a guess: a member that appears twice, a number of more than 64 bits, text after the end and
//! half of a surrogate pair are refused. Nesting is bounded. A file that is one long array is read element by element, so that
//! it is never in memory as a whole.

use super::datum::{DEEPEST, Datum, DatumKind, MOST_AT_A_TIME, TOO_MANY_ADVICE};
use super::text::{BEYOND, Lines, NotAnInteger, excerpt, integer};
use crate::builder::Refusal;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

pub(super) struct Json<'a> {
    text: &'a str,
    at: usize,
    lines: Lines<'a>,
    /// How many values the current one holds so far.
    taken: usize,
}

const ADVICE: &str = "check that the file is complete and is JSON";

impl<'a> Json<'a> {
    pub(super) fn new(text: &'a str, first_line: u64) -> Json<'a> {
        Json { text, at: 0, lines: Lines::new(text, first_line), taken: 0 }
    }

    /// Whether nothing but blanks is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.at == self.text.len()
    }

    pub(super) fn value(&mut self) -> Result<Datum<'a>, Refusal> {
        self.taken = 0;
        self.nested(0)
    }

    /// Refuses anything but blanks.
    pub(super) fn end(&mut self) -> Result<(), Refusal> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected("the end of the input")) }
    }

    /// Whether the next thing is an array; then its elements are next.
    pub(super) fn enters_array(&mut self) -> bool {
        self.skip_blanks();
        self.skip(b'[')
    }

    /// The next element of an array that was entered; nothing after its end. `first` is whether none was taken yet.
    pub(super) fn element(&mut self, first: bool) -> Result<Option<Datum<'a>>, Refusal> {
        self.skip_blanks();
        if self.skip(b']') {
            return Ok(None);
        }
        if !first {
            if !self.skip(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
            self.skip_blanks();
        }
        self.taken = 0;
        self.nested(1).map(Some)
    }

    fn nested(&mut self, depth: usize) -> Result<Datum<'a>, Refusal> {
        self.skip_blanks();
        let at = self.at;
        if depth > DEEPEST {
            return Err(self.lines.refuse(at, format!("brackets are nested more than {DEEPEST} deep"), ADVICE));
        }
        self.taken += 1;
        if self.taken > MOST_AT_A_TIME {
            return Err(self.lines.refuse(at, format!("more than {MOST_AT_A_TIME} values in one"), TOO_MANY_ADVICE));
        }
        let kind = match self.peek() {
            Some(b'"') => DatumKind::Text(self.string()?),
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ if self.skip_word("null") => DatumKind::Nil,
            _ if self.skip_word("true") => DatumKind::Boolean(true),
            _ if self.skip_word("false") => DatumKind::Boolean(false),
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Datum { at, end: self.at, kind })
    }

    fn list(&mut self, depth: usize) -> Result<DatumKind<'a>, Refusal> {
        let open = self.at;
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.skip_blanks();
            if self.skip(b']') {
                return Ok(DatumKind::List(elements));
            }
            self.refuse_end(open)?;
            if !elements.is_empty() && !self.skip(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
            elements.push(self.nested(depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<DatumKind<'a>, Refusal> {
        let open = self.at;
        self.at += 1;
        let mut members: Vec<(Datum<'a>, Datum<'a>)> = Vec::new();
        loop {
            self.skip_blanks();
            if self.skip(b'}') {
                break;
            }
            self.refuse_end(open)?;
            if !members.is_empty() && !self.skip(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
            self.skip_blanks();
            let at = self.at;
            let name = DatumKind::Text(self.string()?);
            let name = Datum { at, end: self.at, kind: name };
            self.skip_blanks();
            if !self.skip(b':') {
                return Err(self.unexpected("`:`"));
            }
            members.push((name, self.nested(depth + 1)?));
        }
        self.refuse_repeated(&members)?;
        Ok(DatumKind::Map(members))
    }

    /// One meaning per member: whoever reads `{"v":1,"v":2}` guesses.
    fn refuse_repeated(&self, members: &[(Datum<'a>, Datum<'a>)]) -> Result<(), Refusal> {
        let mut seen = FxHashSet::default();
        for (place, (name, _)) in members.iter().enumerate() {
            let word = name.word().unwrap_or_default();
            // Most maps have a handful of members, which are quicker to compare than to hash.
            let repeated = if members.len() <= 8 {
                members[..place].iter().any(|(earlier, _)| earlier.word() == Some(word))
            } else {
                !seen.insert(word)
            };
            if repeated {
                let what = format!("the member {:?} appears twice in one object", excerpt(word));
                return Err(self.lines.refuse(name.at, what, "give every member once"));
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Refusal> {
        let open = self.at;
        if !self.skip(b'"') {
            return Err(self.unexpected("`\"`"));
        }
        let start = self.at;
        let plain = self.plain_run();
        if self.skip(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut string = self.text[start..self.at].to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(string));
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(_) => {
                    let what = "a control character inside a text";
                    return Err(self.lines.refuse(self.at, what, "write it as an escape, like \\n"));
                }
                None => return Err(self.lines.refuse(open, "a text that begins here does not end", ADVICE)),
            }
            string.push_str(self.plain_run());
        }
    }

    /// Text up to a quote, an escape, a control character or the end.
    fn plain_run(&mut self) -> &'a str {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20).unwrap_or(rest.len());
        let run = &self.text[self.at..self.at + length];
        self.at += length;
        run
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        let at = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += usize::from(letter.is_some_and(|letter| letter.is_ascii()));
        let character = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(at),
            _ => return Err(self.lines.refuse(at, "an escape that JSON does not have", ADVICE)),
        };
        Ok(character)
    }

    fn unicode_escape(&mut self, at: usize) -> Result<char, Refusal> {
        let bad = |json: &Json<'a>| json.lines.refuse(at, "an escape \\u without a character", ADVICE);
        let high = self.four_digits().ok_or_else(|| bad(self))?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| bad(self));
        }
        let low = if self.skip_word("\\u") { self.four_digits() } else { None };
        match low {
            Some(low @ 0xdc00..=0xdfff) => {
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).ok_or_else(|| bad(self))
            }
            _ => Err(bad(self)),
        }
    }

    fn four_digits(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn number(&mut self) -> Result<DatumKind<'a>, Refusal> {
        let rest = &self.text[self.at..];
        let end = rest.find(|letter: char| !matches!(letter, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let digits = &rest[..end.unwrap_or(rest.len())];
        let at = self.at;
        self.at += digits.len();
        let leads_with_zero = matches!(digits.trim_start_matches('-').as_bytes(), [b'0', b'0'..=b'9', ..]);
        match integer(digits) {
            Ok(number) if !leads_with_zero => Ok(DatumKind::Integer(number)),
            Err(NotAnInteger::Size) => {
                Err(self.lines.refuse(at, format!("the number {} has more than 64 bits", excerpt(digits)), BEYOND))
            }
            _ => match digits.parse::<f64>() {
                Ok(number) if number.is_finite() && !leads_with_zero => Ok(DatumKind::Real(number)),
                _ => Err(self.lines.refuse(at, format!("`{}` is not a number", excerpt(digits)), ADVICE)),
            },
        }
    }

    fn refuse_end(&self, open: usize) -> Result<(), Refusal> {
        if self.at < self.text.len() {
            return Ok(());
        }
        Err(self.lines.refuse(open, "a bracket that opens here is never closed", ADVICE))
    }

    fn unexpected(&self, expected: &str) -> Refusal {
        let rest = &self.text[self.at..];
        let found = if rest.is_empty() { "the end of the input".to_owned() } else { format!("`{}`", excerpt(rest)) };
        self.lines.refuse(self.at, format!("expected {expected}, found {found}"), ADVICE)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let found = self.text[self.at..].starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }
}

/// Every object of a file that is one array of them, or one after another; each is given to `take`.
pub(super) fn each_object<'a>(
    text: &'a str,
    mut take: impl FnMut(Datum<'a>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut json = Json::new(text, 1);
    let is_array = json.enters_array();
    let mut first = true;
    loop {
        let next = if is_array {
            json.element(first)?
        } else if json.at_end() {
            None
        } else {
            Some(json.value()?)
        };
        let Some(datum) = next else { break };
        if !datum.is_map() {
            let what = format!("{} where an object should be", datum.noun());
            return Err(json.lines.refuse(datum.at, what, "the file is one array of objects, or one object per line"));
        }
        take(datum)?;
        first = false;
    }
    json.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> String {
        let mut json = Json::new(text, 1);
        json.value().and_then(|_| json.end()).unwrap_err().to_string()
    }

    #[test]
    fn texts_keep_their_characters() {
        let datum = Json::new(r#""a\n\u00e9\ud83d\ude00é""#, 1).value().unwrap();
        assert_eq!(datum.word(), Some("a\né😀é"));
    }

    #[test]
    fn numbers_are_integers_where_they_can_be() {
        assert!(matches!(Json::new("-7", 1).value().unwrap().kind, DatumKind::Integer(-7)));
        assert!(matches!(Json::new("1.5e1", 1).value().unwrap().kind, DatumKind::Real(number) if number == 15.0));
        assert!(mistake("99999999999999999999").contains("more than 64 bits"));
        assert!(mistake("1e999").contains("not a number"));
        assert!(mistake("1-2").contains("not a number"));
        assert!(mistake("-07").contains("not a number"));
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(mistake("{\n\"a\":1,\n\"a\":2}"), "line 3: the member \"a\" appears twice in one object");
        assert_eq!(mistake("[\n[1,\n2"), "line 2: a bracket that opens here is never closed");
        assert!(mistake("\"abc").contains("does not end"));
        assert!(mistake("\"\\ud800\"").contains("without a character"));
        assert!(mistake("\"a\u{0}\"").contains("control character"));
        assert!(mistake("{} x").contains("the end of the input"));
        assert!(mistake(&"[".repeat(100_000)).contains("nested"));
        assert!(mistake("\"\\é\"").contains("escape"));
    }
}
