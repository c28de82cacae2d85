//! The words of a statement, for whoever compares texts rather than runs them: which statements are the same but for their values.
//!
//! ```text
//!   UPDATE t SET n = -5 /* a note */ WHERE id = 'x'
//!   word   word word word symbol literal comment word word symbol literal
//! ```
//!
//! A sign before a number, and the type before a typed text (`DATE '2024-01-01'`), belong to the literal.

use super::place::Cursor;
use super::{Token, TokenWithSpan, guard, tokenized};
use skew_value::{Dialect, SqlError};
use sqlparser::tokenizer::Whitespace;

/// A word, value or sign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lexeme {
    /// What it is.
    pub kind: LexemeKind,
    /// As it stands in the text.
    pub text: String,
    /// Whether there is a blank or a comment before it.
    pub apart: bool,
}

/// What a lexeme is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LexemeKind {
    /// A keyword or a name, quoted ones included.
    Word,
    /// A number or a text, and what it says.
    Literal(String),
    /// `$3`, by its number; a `?` has the number 0.
    Placeholder(usize),
    /// Anything else.
    Symbol,
    /// A comment, without its marks.
    Comment(String),
}

impl Lexeme {
    /// Whether it is this word, in any case of letters.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == LexemeKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this sign.
    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == LexemeKind::Symbol && self.text == symbol
    }

    /// Whether it is a comment.
    pub fn is_comment(&self) -> bool {
        matches!(self.kind, LexemeKind::Comment(_))
    }
}

/// The lexemes of a text.
pub fn lexemes(dialect: Dialect, text: &str) -> Result<Vec<Lexeme>, SqlError> {
    guard::check_size(text)?;
    let mut cursor = Cursor::new(text);
    let mut found: Vec<Lexeme> = Vec::new();
    let mut apart = false;
    for token in tokenized(dialect, text)? {
        let (start, end) = (token.span.start, token.span.end);
        let slice = cursor.slice((start.line, start.column), (end.line, end.column));
        let Some(kind) = kind(&token) else {
            apart = true;
            continue;
        };
        let is_comment = matches!(kind, LexemeKind::Comment(_));
        found.push(Lexeme { kind, text: slice.to_owned(), apart });
        apart = is_comment;
        join(&mut found);
    }
    Ok(found)
}

fn kind(token: &TokenWithSpan) -> Option<LexemeKind> {
    Some(match &token.token {
        Token::Whitespace(Whitespace::SingleLineComment { comment, .. } | Whitespace::MultiLineComment(comment)) => {
            LexemeKind::Comment(comment.trim().to_owned())
        }
        Token::Whitespace(_) | Token::EOF => return None,
        Token::Word(_) => LexemeKind::Word,
        Token::Number(number, _) => LexemeKind::Literal(number.clone()),
        Token::SingleQuotedString(text)
        | Token::DoubleQuotedString(text)
        | Token::NationalStringLiteral(text)
        | Token::EscapedStringLiteral(text) => LexemeKind::Literal(text.clone()),
        Token::DollarQuotedString(quoted) => LexemeKind::Literal(quoted.value.clone()),
        Token::Placeholder(name) => {
            LexemeKind::Placeholder(name.get(1..).and_then(|number| number.parse().ok()).unwrap_or(0))
        }
        _ => LexemeKind::Symbol,
    })
}

/// Makes one literal of the last lexemes where they are one: a sign and a number, a type and a text.
fn join(found: &mut Vec<Lexeme>) {
    let [.., before, last] = found.as_slice() else { return };
    let LexemeKind::Literal(value) = &last.kind else { return };
    let is_number = last.text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.');
    let joined = match is_number {
        true if before.is_symbol("-") && !last.apart && begins_value(&found[..found.len() - 2]) => format!("-{value}"),
        false if TYPES.iter().any(|name| before.is_word(name)) => value.clone(),
        _ => return,
    };
    let text = format!("{}{}{}", before.text, if last.apart { " " } else { "" }, last.text);
    let apart = before.apart;
    found.truncate(found.len() - 2);
    found.push(Lexeme { kind: LexemeKind::Literal(joined), text, apart });
}

/// Types that stand before a text.
const TYPES: [&str; 5] = ["date", "time", "timestamp", "timestamptz", "interval"];

/// Whether a value comes next, so that a minus is its sign: after an operator, a comma, a parenthesis or a keyword that wants one.
fn begins_value(before: &[Lexeme]) -> bool {
    match before.iter().rev().find(|lexeme| !lexeme.is_comment()) {
        None => true,
        Some(last) => match last.kind {
            LexemeKind::Symbol => ![")", "]"].contains(&last.text.as_str()),
            LexemeKind::Word => ["values", "and", "or", "then", "else", "when", "in", "select", "limit", "between"]
                .iter()
                .any(|word| last.is_word(word)),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(dialect: Dialect, text: &str) -> String {
        let one = |lexeme: &Lexeme| match &lexeme.kind {
            LexemeKind::Literal(value) => format!("<{value}>"),
            LexemeKind::Placeholder(number) => format!("${number}"),
            LexemeKind::Comment(text) => format!("#{text}"),
            _ => lexeme.text.clone(),
        };
        lexemes(dialect, text).unwrap().iter().map(one).collect::<Vec<String>>().join(" ")
    }

    #[test]
    fn values_are_told_from_words() {
        let told_postgres = |text: &str| told(Dialect::Postgres, text);
        assert_eq!(
            told_postgres("UPDATE t SET n = -5 /* a note */ WHERE \"Id\" = 'it''s'"),
            "UPDATE t SET n = <-5> #a note WHERE \"Id\" = <it's>"
        );
        assert_eq!(told_postgres("SELECT n -5, n - 5, (n)-5, -5"), "SELECT n - <5> , n - <5> , ( n ) - <5> , <-5>");
        assert_eq!(told_postgres("x > DATE '2024-01-01' AND y = $2"), "x > <2024-01-01> AND y = $2");
        assert_eq!(told(Dialect::MySql, "a = \"b\" -- c\nAND d = ?"), "a = <b> #c AND d = $0");
    }

    #[test]
    fn what_is_no_text_of_statements_is_an_error_with_a_place() {
        let error = lexemes(Dialect::Postgres, "SELECT 'open").unwrap_err();
        assert!(error.place.is_some());
    }
}
