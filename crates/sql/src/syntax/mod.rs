//! From text to statements, through `sqlparser`, whose types never leave this crate.
//!
//! ```text
//!   text ── size ── tokens ── guard: depth ── split at semicolons ── parse ──> statements, each with its text and place
//! ```
//!
//! The parser and everything after it recurse over the syntax, so whatever is too deep is refused before it is parsed: a text can
//! exhaust no stack. Errors carry line and column.

mod guard;
mod place;

use crate::dialect::Dialect;
use crate::error::{Place, SqlError, SqlState};
use place::Cursor;
use sqlparser::ast;
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use std::sync::Arc;

/// How deep the parser itself may go; the guard refuses most of it before.
const PARSER_DEPTH: usize = 120;

/// A statement as it was written.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) ast: Arc<ast::Statement>,
    text: Arc<str>,
    place: Place,
    /// Where its `?` stand, in order.
    placeholders: Arc<[(u64, u64)]>,
}

impl Statement {
    /// Its text, without the semicolon.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it starts in the text that was parsed.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Where its `?` stand.
    pub(crate) fn placeholders(&self) -> &[(u64, u64)] {
        &self.placeholders
    }
}

/// The tokens of a text, none of them too deep.
fn tokens(dialect: Dialect, text: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    guard::check_size(text)?;
    let result = match dialect {
        Dialect::Postgres => Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location(),
        Dialect::MySql => Tokenizer::new(&MySqlDialect {}, text).tokenize_with_location(),
    };
    let tokens = result.map_err(|error| {
        let message = format!("syntax error: {}", error.message);
        SqlError::new(SqlState::SYNTAX_ERROR, message).at(place_of(error.location.line, error.location.column))
    })?;
    guard::check_depth(&tokens)?;
    Ok(tokens)
}

fn place_of(line: u64, column: u64) -> Place {
    Place { line: u32::try_from(line).unwrap_or(u32::MAX), column: u32::try_from(column).unwrap_or(u32::MAX) }
}

fn with_parser<T>(
    dialect: Dialect,
    tokens: Vec<TokenWithSpan>,
    parse: impl FnOnce(&mut Parser<'_>) -> Result<T, ParserError>,
) -> Result<T, SqlError> {
    let postgres = PostgreSqlDialect {};
    let mysql = MySqlDialect {};
    let parser = match dialect {
        Dialect::Postgres => Parser::new(&postgres),
        Dialect::MySql => Parser::new(&mysql),
    };
    let mut parser = parser.with_recursion_limit(PARSER_DEPTH).with_tokens_with_locations(tokens);
    let parsed = parse(&mut parser).and_then(|parsed| match parser.peek_token().token {
        Token::EOF => Ok(parsed),
        _ => parser.expected("end of statement", parser.peek_token()),
    });
    parsed.map_err(syntax_error)
}

/// `sqlparser` tells the place at the end of its message.
fn syntax_error(error: ParserError) -> SqlError {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => return guard::too_deep(),
    };
    let Some((text, place)) = message.rsplit_once(" at Line: ") else {
        return SqlError::new(SqlState::SYNTAX_ERROR, format!("syntax error: {message}"));
    };
    let error = SqlError::new(SqlState::SYNTAX_ERROR, format!("syntax error: {}", text.replace('\n', " ")));
    match place.split_once(", Column: ").map(|(line, column)| (line.parse(), column.trim().parse())) {
        Some((Ok(line), Ok(column))) => error.at(place_of(line, column)),
        _ => error,
    }
}

/// The statements of a text, which may hold several, separated by semicolons.
pub(crate) fn parse(dialect: Dialect, text: &str) -> Result<Vec<Statement>, SqlError> {
    let tokens = tokens(dialect, text)?;
    let mut cursor = Cursor::new(text);
    let mut statements = Vec::new();
    for part in tokens.split(|token| token.token == Token::SemiColon) {
        let words = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
        let (Some(first), Some(last)) = (part.iter().find(words), part.iter().rev().find(words)) else { continue };
        let (start, end) = (first.span.start, last.span.end);
        let place = place_of(start.line, start.column);
        let slice = cursor.slice((start.line, start.column), (end.line, end.column));
        let placeholders = part
            .iter()
            .filter(|token| matches!(&token.token, Token::Placeholder(name) if name == "?"))
            .map(|token| (token.span.start.line, token.span.start.column))
            .collect();
        let ast = with_parser(dialect, part.to_vec(), |parser| parser.parse_statement())?;
        statements.push(Statement { ast: Arc::new(ast), text: slice.into(), place, placeholders });
    }
    Ok(statements)
}

/// A single query: the text of a view.
pub(crate) fn parse_query(dialect: Dialect, text: &str) -> Result<ast::Query, SqlError> {
    let query = with_parser(dialect, tokens(dialect, text)?, |parser| parser.parse_query())?;
    Ok(*query)
}

/// A single expression: the text of a default or a check.
pub(crate) fn parse_expression(dialect: Dialect, text: &str) -> Result<ast::Expr, SqlError> {
    with_parser(dialect, tokens(dialect, text)?, |parser| parser.parse_expr())
}
