//! COPY, read by hand: `sqlparser` takes the words that PostgreSQL's clients send for another database's.
//!
//! ```text
//!   COPY item (id, name) FROM STDIN WITH (FORMAT csv, FREEZE on)
//!        └ source         └ direction     └ options: a name and perhaps a value each
//!   COPY item FROM STDIN CSV HEADER DELIMITER AS ';'              the old words for the same
//! ```

use super::{Dialect, with_parser};
use skew_value::{SqlError, SqlState};
use sqlparser::ast::{CopyOption, CopySource, CopyTarget, Ident, Statement};
use sqlparser::parser::IsOptional;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The statement, if it is a COPY.
pub(super) fn parse(tokens: &[TokenWithSpan]) -> Result<Option<Statement>, SqlError> {
    let words: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF)).collect();
    if !words.first().is_some_and(|first| is_word(&first.token, "copy")) {
        return Ok(None);
    }
    let binary = words.get(1).is_some_and(|second| is_word(&second.token, "binary"))
        && !words.get(2).is_some_and(|third| is_word(&third.token, "from") || is_word(&third.token, "to"));
    let start = if binary { 2 } else { 1 };
    let (at, to) = direction(&words[start..]).ok_or_else(|| wrong("FROM or TO is missing"))?;
    let source = source(&words[start..start + at], to)?;
    let rest = &words[start + at + 1..];
    let (target, used) = target(rest, to)?;
    let mut options = Options { words: &rest[used..], place: 0, found: Vec::new() };
    options.read()?;
    if binary {
        options.found.push(CopyOption::Format(Ident::new("binary")));
    }
    let options = options.found;
    Ok(Some(Statement::Copy { source, to, target, options, legacy_options: Vec::new(), values: Vec::new() }))
}

fn wrong(what: &str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, format!("syntax error in COPY: {what}"))
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

/// Where FROM or TO stands outside of parentheses, and whether it is TO.
fn direction(words: &[&TokenWithSpan]) -> Option<(usize, bool)> {
    let mut depth = 0usize;
    for (place, word) in words.iter().enumerate() {
        match &word.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            token if depth == 0 && is_word(token, "from") => return Some((place, false)),
            token if depth == 0 && is_word(token, "to") => return Some((place, true)),
            _ => {}
        }
    }
    None
}

/// A table with some of its columns, or a query in parentheses.
fn source(words: &[&TokenWithSpan], to: bool) -> Result<CopySource, SqlError> {
    let owned = |words: &[&TokenWithSpan]| words.iter().map(|word| (*word).clone()).collect::<Vec<TokenWithSpan>>();
    if let [first, inner @ .., last] = words
        && first.token == Token::LParen
        && last.token == Token::RParen
    {
        if !to {
            return Err(wrong("rows cannot be copied into a query"));
        }
        let query = with_parser(Dialect::Postgres, owned(inner), |parser| parser.parse_query())?;
        return Ok(CopySource::Query(query));
    }
    with_parser(Dialect::Postgres, owned(words), |parser| {
        let table_name = parser.parse_object_name(false)?;
        let columns = parser.parse_parenthesized_column_list(IsOptional::Optional, false)?;
        Ok(CopySource::Table { table_name, columns })
    })
}

/// STDIN or STDOUT; files and programs belong to a server that has some. PostgreSQL takes either word for the client.
fn target(words: &[&TokenWithSpan], to: bool) -> Result<(CopyTarget, usize), SqlError> {
    match words.first().map(|word| &word.token) {
        Some(token) if is_word(token, "stdin") || is_word(token, "stdout") => {
            Ok((if to { CopyTarget::Stdout } else { CopyTarget::Stdin }, 1))
        }
        Some(Token::SingleQuotedString(name)) => Ok((CopyTarget::File { filename: name.clone() }, 1)),
        Some(token) if is_word(token, "program") => Ok((CopyTarget::Program { command: String::new() }, 2)),
        _ => Err(wrong("STDIN or STDOUT is missing")),
    }
}

/// What stands behind the target.
struct Options<'words> {
    words: &'words [&'words TokenWithSpan],
    place: usize,
    found: Vec<CopyOption>,
}

impl Options<'_> {
    fn read(&mut self) -> Result<(), SqlError> {
        self.skip("with");
        let listed = self.skip_token(&Token::LParen);
        while self.place < self.words.len() {
            if self.skip_token(&Token::RParen) {
                break;
            }
            if self.skip("where") {
                return Err(SqlError::unsupported("COPY … WHERE"));
            }
            let name = self.word().ok_or_else(|| wrong("an option is no word"))?;
            let option = self.option(&name, listed)?;
            self.found.extend(option);
            self.skip_token(&Token::Comma);
        }
        match self.words.get(self.place) {
            None => Ok(()),
            Some(_) if self.skip("where") => Err(SqlError::unsupported("COPY … WHERE")),
            Some(other) => Err(wrong(&format!("\"{other}\" is not expected"))),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.words.get(self.place).map(|word| &word.token)
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| is_word(token, word));
        self.place += usize::from(found);
        found
    }

    fn skip_token(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.place += usize::from(found);
        found
    }

    fn word(&mut self) -> Option<String> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        let word = word.value.to_lowercase();
        self.place += 1;
        Some(word)
    }

    fn option(&mut self, name: &str, listed: bool) -> Result<Option<CopyOption>, SqlError> {
        Ok(Some(match name {
            "format" => CopyOption::Format(Ident::new(self.text(name)?)),
            "csv" | "binary" if !listed => CopyOption::Format(Ident::new(name)),
            "freeze" => CopyOption::Freeze(self.truth(listed)?),
            "header" => CopyOption::Header(self.truth(listed)?),
            "delimiter" | "delimiters" => CopyOption::Delimiter(self.letter("delimiter")?),
            "null" => CopyOption::Null(self.text(name)?),
            "quote" => CopyOption::Quote(self.letter(name)?),
            "escape" => CopyOption::Escape(self.letter(name)?),
            "encoding" => CopyOption::Encoding(self.text(name)?),
            "force_quote" => CopyOption::ForceQuote(self.columns()?),
            "force_not_null" => CopyOption::ForceNotNull(self.columns()?),
            "force_null" => CopyOption::ForceNull(self.columns()?),
            "force" if self.skip("quote") => CopyOption::ForceQuote(self.columns()?),
            "force" if self.skip("not") && self.skip("null") => CopyOption::ForceNotNull(self.columns()?),
            "force" if self.skip("null") => CopyOption::ForceNull(self.columns()?),
            other => return Err(wrong(&format!("option \"{other}\" not recognized"))),
        }))
    }

    /// The text of an option; the old words have an AS before it.
    fn text(&mut self, name: &str) -> Result<String, SqlError> {
        self.skip("as");
        let text = match self.peek() {
            Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => text.clone(),
            Some(Token::Word(word)) => word.value.clone(),
            _ => return Err(wrong(&format!("{name} requires a value"))),
        };
        self.place += 1;
        Ok(text)
    }

    fn letter(&mut self, name: &str) -> Result<char, SqlError> {
        let text = self.text(name)?;
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) if letter.is_ascii() => Ok(letter),
            _ => {
                let message = format!("COPY {name} must be a single one-byte character");
                Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
        }
    }

    /// ON, OFF and their kin; alone it is on. The old words have no value.
    fn truth(&mut self, listed: bool) -> Result<bool, SqlError> {
        let value = match self.peek().filter(|_| listed) {
            Some(Token::Word(word)) => word.value.to_lowercase(),
            Some(Token::SingleQuotedString(text)) => text.to_lowercase(),
            Some(Token::Number(number, _)) => number.clone(),
            _ => return Ok(true),
        };
        self.place += 1;
        match value.as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            "match" => Err(SqlError::unsupported("COPY with HEADER MATCH")),
            other => Err(wrong(&format!("\"{other}\" is neither true nor false"))),
        }
    }

    /// Columns in parentheses or, in the old words, without; `*` is all of them, told as none.
    fn columns(&mut self) -> Result<Vec<Ident>, SqlError> {
        if self.skip_token(&Token::Mul) {
            return Ok(Vec::new());
        }
        let grouped = self.skip_token(&Token::LParen);
        let mut columns = Vec::new();
        loop {
            let Some(Token::Word(word)) = self.peek() else { return Err(wrong("a column is missing")) };
            let ident = Ident {
                value: word.value.clone(),
                quote_style: word.quote_style,
                span: sqlparser::tokenizer::Span::empty(),
            };
            columns.push(ident);
            self.place += 1;
            if !self.skip_token(&Token::Comma) {
                break;
            }
        }
        if grouped && !self.skip_token(&Token::RParen) {
            return Err(wrong("a parenthesis is not closed"));
        }
        Ok(columns)
    }
}
