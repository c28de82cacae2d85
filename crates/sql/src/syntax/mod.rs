//! From text to statements, through `sqlparser`, whose types never leave this crate.
//!
//! ```text
//!   text ── size ── tokens ── guard: depth ── split at semicolons ── parse ──> statements, each with its text and place
//! ```
//!
//! The parser and everything after it recurse over the syntax, so whatever is too deep is refused before it is parsed: a text can
//! exhaust no stack. Errors carry line and column.

mod copy;
mod guard;
mod lexemes;
mod locks;
mod place;
mod purpose;

pub use lexemes::{Lexeme, LexemeKind, lexemes};
pub use purpose::Purpose;

use place::Cursor;
use skew_value::{Dialect, Place, SqlError, SqlState};
use sqlparser::ast;
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use std::sync::{Arc, OnceLock};

/// How deep the parser itself may go; the guard refuses most of it before.
const PARSER_DEPTH: usize = 120;

/// A statement as it was written.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) ast: Arc<ast::Statement>,
    text: Arc<str>,
    place: Place,
    /// What PREPARE prepares, taken out of the syntax: that is not copied, because copying recurses as deep as it goes.
    prepared: Option<Arc<ast::Statement>>,
    /// Where its `?` stand, in order.
    placeholders: Arc<[(u64, u64)]>,
    /// Whether it seeks rows in one place, once somebody has asked.
    one_place: Arc<OnceLock<bool>>,
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

    /// What PREPARE prepares.
    pub(crate) fn prepared(&self) -> Option<Statement> {
        Some(Statement {
            ast: Arc::clone(self.prepared.as_ref()?),
            prepared: None,
            one_place: Arc::default(),
            ..self.clone()
        })
    }

    /// Where its `?` stand.
    pub(crate) fn placeholders(&self) -> &[(u64, u64)] {
        &self.placeholders
    }
}

/// The tokens of a text, none of them too deep.
fn tokens(dialect: Dialect, text: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    guard::check_size(text)?;
    let tokens = tokenized(dialect, text)?;
    guard::check_depth(&tokens)?;
    Ok(locks::plain(without_bare_from(tokens)))
}

/// The tokens of a text, however deep.
fn tokenized(dialect: Dialect, text: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    let result = match dialect {
        Dialect::Postgres => Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location(),
        Dialect::MySql => Tokenizer::new(&MySqlDialect {}, text).tokenize_with_location(),
    };
    result.map_err(|error| {
        let message = format!("syntax error: {}", error.message);
        SqlError::new(SqlState::SYNTAX_ERROR, message).at(place_of(error.location.line, error.location.column))
    })
}

/// `TRIM(BOTH FROM x)` is `TRIM(BOTH x)` to `sqlparser`, which expects characters before FROM.
fn without_bare_from(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let is_from = matches!(&token.token, Token::Word(word) if word.keyword == Keyword::FROM);
        if !is_from || !ends_with_side_of_trim(&kept) {
            kept.push(token);
        }
    }
    kept
}

fn ends_with_side_of_trim(tokens: &[TokenWithSpan]) -> bool {
    let mut words =
        tokens.iter().rev().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    let sides = [Keyword::BOTH, Keyword::LEADING, Keyword::TRAILING];
    matches!(words.next(), Some(Token::Word(word)) if sides.contains(&word.keyword))
        && matches!(words.next(), Some(Token::LParen))
        && matches!(words.next(), Some(Token::Word(word)) if word.keyword == Keyword::TRIM)
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
        let ast = match dialect {
            Dialect::Postgres => own_grammar(part)?,
            Dialect::MySql => None,
        };
        let ast = match ast {
            Some(ast) => ast,
            None => with_parser(dialect, part.to_vec(), |parser| parser.parse_statement())?,
        };
        let (ast, prepared) = taken_apart(ast);
        statements.push(Statement {
            ast: Arc::new(ast),
            text: slice.into(),
            place,
            prepared,
            placeholders,
            one_place: Arc::default(),
        });
    }
    Ok(statements)
}

/// PREPARE without what it prepares, and that.
fn taken_apart(statement: ast::Statement) -> (ast::Statement, Option<Arc<ast::Statement>>) {
    match statement {
        ast::Statement::Prepare { name, data_types, statement } => {
            let empty = ast::Statement::Prepare { name, data_types, statement: Box::new(vacuum()) };
            (empty, Some(Arc::new(*statement)))
        }
        other => (other, None),
    }
}

/// Statements of PostgreSQL that are read here, because the parser does not know them or takes them for another database's.
fn own_grammar(tokens: &[TokenWithSpan]) -> Result<Option<ast::Statement>, SqlError> {
    let words = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let word = |place: usize| match tokens.iter().filter(words).nth(place).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_lowercase(),
        _ => String::new(),
    };
    match (word(0).as_str(), word(1).as_str()) {
        ("vacuum", _) => Ok(Some(vacuum())),
        ("set", "constraints") => Ok(Some(constraints(tokens))),
        ("table", _) => table(tokens).map(Some),
        _ => copy::parse(tokens),
    }
}

/// The name of the setting that SET CONSTRAINTS is read as.
pub(crate) const CONSTRAINTS: &str = "constraints of the transaction";

/// SET CONSTRAINTS … IMMEDIATE or DEFERRED.
fn constraints(tokens: &[TokenWithSpan]) -> ast::Statement {
    let is_immediate = |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.value.eq_ignore_ascii_case("immediate"));
    let when = if tokens.iter().any(is_immediate) { "immediate" } else { "deferred" };
    ast::Statement::Set(ast::Set::SingleAssignment {
        scope: None,
        hivevar: false,
        variable: ast::ObjectName::from(vec![ast::Ident::new(CONSTRAINTS)]),
        values: vec![ast::Expr::Identifier(ast::Ident::new(when))],
    })
}

/// TABLE name: all of it.
fn table(tokens: &[TokenWithSpan]) -> Result<ast::Statement, SqlError> {
    let mut longer: Vec<TokenWithSpan> = self::tokens(Dialect::Postgres, "SELECT * FROM ")?;
    longer.retain(|token| token.token != Token::EOF);
    let name = tokens.iter().skip_while(|token| !matches!(token.token, Token::Word(_))).skip(1);
    longer.extend(name.cloned());
    with_parser(Dialect::Postgres, longer, |parser| parser.parse_statement())
}

/// VACUUM with whatever options and tables: it has no effect here.
fn vacuum() -> ast::Statement {
    ast::Statement::Vacuum(ast::VacuumStatement {
        full: false,
        sort_only: false,
        delete_only: false,
        reindex: false,
        recluster: false,
        table_name: None,
        threshold: None,
        boost: false,
    })
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
