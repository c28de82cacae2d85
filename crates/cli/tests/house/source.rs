//! Rust as the tests of the house read it: code without comments, texts and tests, and the paths that it names.
//!
//! ```text
//!   use crate::{store::Store, wire::{desk, Hall}};     crate::store::Store  crate::wire::desk  crate::wire::Hall
//!   let now = std::time::Instant::now();               std::time::Instant::now
//! ```
//!
//! No parser is needed for that: paths and trees of `use` look the same wherever they stand.

/// The code without comments, without what stands in quotes, and without what only tests see. Lines stay where they are.
pub(crate) fn code(text: &str) -> String {
    without_tests(&without_comments_and_texts(text))
}

fn without_comments_and_texts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = comment(rest).or_else(|| quoted(rest, out.chars().last())).unwrap_or(0);
        if length == 0 {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
        } else {
            let (gone, after) = rest.split_at(length);
            out.extend(gone.chars().filter(|letter| *letter == '\n'));
            out.push(' ');
            rest = after;
        }
    }
    out
}

/// The length of the comment that begins here.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.starts_with("/*").then(|| text.find("*/").map_or(text.len(), |end| end + 2))
}

/// The length of the text or letter that begins here. A name right before it would make a quote part of something else.
fn quoted(text: &str, before: Option<char>) -> Option<usize> {
    let starts = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - starts.len();
    if before.is_some_and(is_of_name) || prefix > 1 {
        return None;
    }
    if let Some(raw) = starts.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(prefix + 2 + hashes + body.find(&end).map_or(body.len(), |place| place + end.len()));
    }
    if let Some(body) = starts.strip_prefix('"') {
        return Some(prefix + 1 + end_of_text(body, '"'));
    }
    // A letter in quotes; a lifetime has no second quote there.
    let body = starts.strip_prefix('\'')?;
    let letter = body.chars().next()?;
    let is_letter = letter == '\\' || body[letter.len_utf8()..].starts_with('\'');
    is_letter.then(|| prefix + 1 + end_of_text(body, '\''))
}

/// How far it is to behind the closing quote, over what is escaped.
fn end_of_text(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (place, letter) in body.char_indices() {
        if letter == quote && !escaped {
            return place + 1;
        }
        escaped = letter == '\\' && !escaped;
    }
    body.len()
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(place) = rest.find(MARK) {
        out.push_str(&rest[..place]);
        let item = &rest[place + MARK.len()..];
        let (gone, after) = item.split_at(end_of_item(item));
        out.extend(gone.chars().filter(|letter| *letter == '\n'));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where an item ends: at a semicolon or after its braces.
fn end_of_item(code: &str) -> usize {
    let mut depth = 0;
    for (place, letter) in code.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth <= 1 => return place + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return place + 1,
            _ => {}
        }
    }
    code.len()
}

/// A path, and the line on which it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) line: usize,
    pub(crate) path: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'a> {
    Word(&'a str),
    Colons,
    Other(char),
}

/// All paths of at least two names in code that `code` has made, trees of `use` taken apart.
pub(crate) fn paths(code: &str) -> Vec<Named> {
    let tokens = tokens(code);
    let mut reader = Reader { tokens: &tokens, at: 0, found: Vec::new() };
    while reader.at < tokens.len() {
        match (tokens[reader.at].1, reader.token(1)) {
            (Token::Word(_), Some(Token::Colons)) => reader.tree(&mut Vec::new()),
            _ => reader.at += 1,
        }
    }
    reader.found.retain(|named| named.path.len() > 1);
    reader.found
}

fn tokens(code: &str) -> Vec<(usize, Token<'_>)> {
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line;
        while let Some(letter) = rest.chars().next() {
            let word = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
            let (token, length) = if word > 0 {
                (Token::Word(&rest[..word]), word)
            } else if rest.starts_with("::") {
                (Token::Colons, 2)
            } else {
                (Token::Other(letter), letter.len_utf8())
            };
            if token != Token::Other(' ') {
                found.push((number + 1, token));
            }
            rest = &rest[length..];
        }
    }
    found
}

struct Reader<'a> {
    tokens: &'a [(usize, Token<'a>)],
    at: usize,
    found: Vec<Named>,
}

impl<'a> Reader<'a> {
    fn token(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).map(|(_, token)| *token)
    }

    /// Reads a path from its next name on, with the branches of a tree if it ends with one.
    fn tree(&mut self, path: &mut Vec<String>) {
        let (depth, line) = (path.len(), self.tokens[self.at].0);
        loop {
            match self.token(0) {
                Some(Token::Word(word)) => path.push(word.to_owned()),
                Some(Token::Other('{')) => {
                    self.branches(path);
                    break;
                }
                // Everything of a module, or generic arguments, in which further paths may stand.
                _ => {
                    self.found.push(Named { line, path: path.clone() });
                    break;
                }
            }
            self.at += 1;
            if self.token(0) != Some(Token::Colons) {
                self.found.push(Named { line, path: path.clone() });
                break;
            }
            self.at += 1;
        }
        path.truncate(depth);
    }

    fn branches(&mut self, path: &mut Vec<String>) {
        self.at += 1;
        while let Some(token) = self.token(0) {
            match token {
                Token::Other('}') => {
                    self.at += 1;
                    return;
                }
                Token::Word("as") => self.at += 2,
                Token::Word(_) => self.tree(path),
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        paths(&code(text)).iter().map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn trees_are_taken_apart() {
        let text = "use crate::{store::Store, wire::{desk, Hall as H}, kv};\nuse super::*;";
        assert_eq!(shown(text), ["crate::store::Store", "crate::wire::desk", "crate::wire::Hall", "crate::kv"]);
        assert_eq!(shown("fn f(a: Vec<crate::a::B>) -> std::time::Instant { x::y::<z::Z>() }").len(), 4);
    }

    #[test]
    fn comments_texts_and_tests_are_no_code() {
        let text =
            "/// a::b\nconst A: &str = \"c::d \\\" e::f\"; // g::h\nlet b = r#\"i::j\"#; '\"'; &'a k::l; b'\\'';\n";
        assert_eq!(shown(text), ["k::l"]);
        let text = "#[cfg(test)]\nuse a::b;\nuse c::d;\n#[cfg(test)]\nmod tests { fn f() { g::h } }\nuse i::j;";
        assert_eq!(shown(text), ["c::d", "i::j"]);
        assert_eq!(paths(&code(text))[1].line, 6);
    }
}
