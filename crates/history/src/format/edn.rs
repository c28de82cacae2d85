//! EDN, as far as Jepsen's histories use it.
//!
//! ```text
//!   {:type :ok, :f :txn, :value [[:r 11 [1 2]] [:append 9 1]], :process 18}   ; a comment
//!   #jepsen.history.Op{:index 0, …}     a tag is skipped: what follows is what it says
//!   #_ {:skipped true}                  a discarded form
//! ```
//!
//! Maps, vectors, lists, sets, keywords, strings, characters, symbols, numbers, `nil`, `true`, `false`; commas are blanks.
//! Vectors, lists and sets are all lists here. Nesting is bounded.

use super::datum::{DEEPEST, Datum, DatumKind, MOST_AT_A_TIME, TOO_MANY_ADVICE};
use super::text::{BEYOND, Lines, NotAnInteger, excerpt, integer};
use crate::builder::Refusal;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

const ADVICE: &str = "check that the file is complete and is EDN";

pub(super) struct Edn<'a> {
    text: &'a str,
    at: usize,
    lines: Lines<'a>,
    /// How many forms the current one holds so far.
    taken: usize,
}

impl<'a> Edn<'a> {
    pub(super) fn new(text: &'a str) -> Edn<'a> {
        Edn { text, at: 0, lines: Lines::new(text, 1), taken: 0 }
    }

    /// The next form, or nothing at the end.
    pub(super) fn form(&mut self) -> Result<Option<Datum<'a>>, Refusal> {
        self.skip_ignored(0)?;
        if self.at == self.text.len() {
            return Ok(None);
        }
        self.taken = 0;
        self.nested(0).map(Some)
    }

    fn nested(&mut self, depth: usize) -> Result<Datum<'a>, Refusal> {
        if depth > DEEPEST {
            return Err(self.lines.refuse(self.at, format!("forms are nested more than {DEEPEST} deep"), ADVICE));
        }
        self.skip_ignored(depth)?;
        let at = self.at;
        self.taken += 1;
        if self.taken > MOST_AT_A_TIME {
            return Err(self.lines.refuse(at, format!("more than {MOST_AT_A_TIME} forms in one"), TOO_MANY_ADVICE));
        }
        let kind = match self.peek() {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => DatumKind::List(self.sequence(depth, b']')?),
            Some(b'(') => DatumKind::List(self.sequence(depth, b')')?),
            Some(b'"') => DatumKind::Text(self.string()?),
            Some(b'#') => return self.dispatch(depth),
            Some(b'\\') => self.character()?,
            Some(b']' | b')' | b'}') => return Err(self.lines.refuse(at, "a bracket that closes nothing", ADVICE)),
            Some(_) => self.atom()?,
            None => return Err(self.lines.refuse(at, "the end of the input where a form should be", ADVICE)),
        };
        Ok(Datum { at, end: self.at, kind })
    }

    fn sequence(&mut self, depth: usize, close: u8) -> Result<Vec<Datum<'a>>, Refusal> {
        let open = self.at;
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.skip_ignored(depth)?;
            match self.peek() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(elements);
                }
                Some(byte @ (b']' | b')' | b'}')) => return Err(self.unbalanced(open, byte)),
                None => return Err(self.lines.refuse(open, "a bracket that opens here is never closed", ADVICE)),
                Some(_) => elements.push(self.nested(depth + 1)?),
            }
        }
    }

    fn unbalanced(&self, open: usize, close: u8) -> Refusal {
        let opened = char::from(self.text.as_bytes()[open]);
        let closed = char::from(close);
        let there = self.lines.place(self.at);
        let what = format!("the bracket `{opened}` that opens here is closed by `{closed}` at {there}");
        self.lines.refuse(open, what, ADVICE)
    }

    fn map(&mut self, depth: usize) -> Result<DatumKind<'a>, Refusal> {
        let open = self.at;
        let mut forms = self.sequence(depth, b'}')?.into_iter();
        let mut members: Vec<(Datum<'a>, Datum<'a>)> = Vec::with_capacity(forms.len() / 2);
        let mut seen = FxHashSet::default();
        while let Some(key) = forms.next() {
            let Some(value) = forms.next() else {
                return Err(self.lines.refuse(open, "a map with a key that has no value", ADVICE));
            };
            if matches!(key.kind, DatumKind::Keyword(keyword) if is_repeated(keyword, &members, &mut seen)) {
                let what = format!("the key :{} appears twice in one map", excerpt(key.word().unwrap_or_default()));
                return Err(self.lines.refuse(key.at, what, "give every key once"));
            }
            members.push((key, value));
        }
        Ok(DatumKind::Map(members))
    }

    /// `#{…}`, `#"…"`, `##Inf` and tags.
    fn dispatch(&mut self, depth: usize) -> Result<Datum<'a>, Refusal> {
        let at = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'{') => {
                let elements = self.sequence(depth, b'}')?;
                Ok(Datum { at, end: self.at, kind: DatumKind::List(elements) })
            }
            Some(b'"') => {
                let text = self.string()?;
                Ok(Datum { at, end: self.at, kind: DatumKind::Text(text) })
            }
            _ => {
                let tag = self.word();
                if tag.is_empty() {
                    return Err(self.lines.refuse(at, "a `#` without a tag", ADVICE));
                }
                self.nested(depth + 1)
            }
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Refusal> {
        let open = self.at;
        self.at += 1;
        let rest = &self.text[self.at..];
        let plain = rest.find(['"', '\\']).map(|length| &rest[..length]);
        if let Some(plain) = plain.filter(|plain| rest.as_bytes()[plain.len()] == b'"') {
            self.at += plain.len() + 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut string = String::new();
        let mut letters = rest.char_indices();
        while let Some((place, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += place + 1;
                    return Ok(Cow::Owned(string));
                }
                '\\' => match letters.next().map(|(_, letter)| letter) {
                    Some('n') => string.push('\n'),
                    Some('t') => string.push('\t'),
                    Some('r') => string.push('\r'),
                    // What an escape means beyond these matters to nobody here, only that texts that differ stay different.
                    Some(letter @ ('"' | '\\')) => string.push(letter),
                    Some(letter) => string.extend(['\\', letter]),
                    None => break,
                },
                letter => string.push(letter),
            }
        }
        Err(self.lines.refuse(open, "a text that begins here does not end", ADVICE))
    }

    fn character(&mut self) -> Result<DatumKind<'a>, Refusal> {
        let at = self.at;
        self.at += 1;
        let first = self.text[self.at..].chars().next();
        let Some(first) = first else {
            return Err(self.lines.refuse(at, "a `\\` without a character", ADVICE));
        };
        self.at += first.len_utf8();
        self.word();
        Ok(DatumKind::Text(Cow::Borrowed(&self.text[at..self.at])))
    }

    fn atom(&mut self) -> Result<DatumKind<'a>, Refusal> {
        let at = self.at;
        let word = self.word();
        if word.is_empty() {
            let shown = excerpt(&self.text[at..]);
            return Err(self.lines.refuse(at, format!("expected a form, found `{shown}`"), ADVICE));
        }
        if let Some(keyword) = word.strip_prefix(':') {
            return Ok(DatumKind::Keyword(keyword));
        }
        Ok(match word {
            "nil" => DatumKind::Nil,
            "true" => DatumKind::Boolean(true),
            "false" => DatumKind::Boolean(false),
            _ if is_number(word) => self.number(at, word)?,
            _ => DatumKind::Text(Cow::Borrowed(word)),
        })
    }

    fn number(&self, at: usize, word: &str) -> Result<DatumKind<'a>, Refusal> {
        match integer(word.strip_suffix('N').unwrap_or(word)) {
            Ok(number) => return Ok(DatumKind::Integer(number)),
            Err(NotAnInteger::Size) => {
                let what = format!("the number {} has more than 64 bits", excerpt(word));
                return Err(self.lines.refuse(at, what, BEYOND));
            }
            Err(NotAnInteger::Shape) => {}
        }
        match word.strip_suffix('M').unwrap_or(word).parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(DatumKind::Real(number)),
            _ => Err(self.lines.refuse(at, format!("`{}` is not a number", excerpt(word)), ADVICE)),
        }
    }

    /// Letters up to a blank, a bracket, a quote or a comment.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let is_end = |letter: char| letter.is_whitespace() || ",()[]{}\";".contains(letter);
        let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    /// Blanks, commas, comments and discarded forms.
    fn skip_ignored(&mut self, depth: usize) -> Result<(), Refusal> {
        loop {
            let rest = &self.text[self.at..];
            let solid = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ',');
            self.at += rest.len() - solid.len();
            if solid.starts_with(';') {
                self.at += solid.find('\n').unwrap_or(solid.len());
            } else if solid.starts_with("#_") {
                self.at += 2;
                self.nested(depth + 1)?;
            } else {
                return Ok(());
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// Most maps have a handful of members, which are quicker to compare than to hash.
fn is_repeated<'a>(keyword: &'a str, members: &[(Datum<'a>, Datum<'a>)], seen: &mut FxHashSet<&'a str>) -> bool {
    let keywords = members.iter().filter_map(|(key, _)| match key.kind {
        DatumKind::Keyword(keyword) => Some(keyword),
        _ => None,
    });
    if members.len() < 8 {
        return keywords.into_iter().any(|earlier| earlier == keyword);
    }
    if seen.is_empty() {
        seen.extend(keywords);
    }
    !seen.insert(keyword)
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    digits.starts_with(|letter: char| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(text: &str) -> Result<Vec<Datum<'_>>, Refusal> {
        let mut edn = Edn::new(text);
        let mut forms = Vec::new();
        while let Some(form) = edn.form()? {
            forms.push(form);
        }
        Ok(forms)
    }

    #[test]
    fn all_kinds_of_forms_read() {
        let text = "nil true, 12 -3N 1.5M :k \"a\\\"b\" \\newline sym #{1 2} (1) #inst \"2020\" #_ #_ {:a 1} 2 ; end\n#x.Y{:a 1}";
        let forms = forms(text).unwrap();
        assert_eq!(forms.len(), 13);
        assert!(matches!(forms[3].kind, DatumKind::Integer(-3)));
        assert!(matches!(forms[4].kind, DatumKind::Real(real) if real == 1.5));
        assert_eq!(forms[6].word(), Some("a\"b"));
        assert_eq!(forms[9].list().unwrap().len(), 2);
        assert!(forms[12].member("a").is_some());
    }

    #[test]
    fn unbalanced_brackets_name_the_line_of_the_opening_one() {
        for (text, expected) in [
            ("1\n{:a [1\n2\n", "line 2: a bracket that opens here is never closed"),
            ("1\n[1\n2}", "line 2: the bracket `[` that opens here is closed by `}` at line 3"),
            ("1\n]", "line 2: a bracket that closes nothing"),
            ("{:a}", "line 1: a map with a key that has no value"),
            ("{:a 1\n:a 2}", "line 2: the key :a appears twice in one map"),
            ("\n\"abc", "line 2: a text that begins here does not end"),
            ("99999999999999999999", "line 1: the number 99999999999999999999 has more than 64 bits"),
            ("1/2", "line 1: `1/2` is not a number"),
            ("#_", "line 1: the end of the input where a form should be"),
            ("\\", "line 1: a `\\` without a character"),
        ] {
            assert_eq!(forms(text).unwrap_err().to_string(), expected);
        }
        assert!(forms(&"[".repeat(100_000)).unwrap_err().to_string().contains("nested"));
        assert!(forms(&"#_".repeat(100_000)).unwrap_err().to_string().contains("nested"));
        assert!(forms(&"#a ".repeat(100_000)).unwrap_err().to_string().contains("nested"));
    }
}
