//! CREATE FUNCTION and CREATE PROCEDURE up to the body, and DO.
//!
//! ```text
//!   CREATE OR REPLACE FUNCTION shop.buy(IN item int, n int = 1, OUT left int) RETURNS … LANGUAGE plpgsql STABLE AS $$ … $$
//!                              ^^^^^^^^ ^^^^^^^^^^^ parameters                  attributes, in any order
//! ```

use super::body::{AboutBody, Body};
use crate::file_parser::Parser;
use crate::source::{Piece, Spot};
use crate::syntax::*;
use skew_value::{Dialect, SqlError};
use sqlparser::tokenizer::Token;

/// Words that follow the parameters of a function, each with how many tokens belong to it behind it.
const ATTRIBUTES: [(&str, usize); 14] = [
    ("immutable", 0),
    ("stable", 0),
    ("volatile", 0),
    ("leakproof", 0),
    ("not", 1),
    ("strict", 0),
    ("called", 4),
    ("external", 2),
    ("security", 1),
    ("parallel", 1),
    ("cost", 1),
    ("rows", 1),
    ("support", 1),
    ("window", 0),
];

/// Types of two words: `double precision` is no parameter called double.
const TYPES_OF_WORDS: [(&str, &str); 7] = [
    ("double", "precision"),
    ("character", "varying"),
    ("bit", "varying"),
    ("timestamp", "with"),
    ("timestamp", "without"),
    ("time", "with"),
    ("time", "without"),
];

/// What is known before the body is read.
#[derive(Default)]
struct Header {
    language: Option<String>,
    returns: Returns,
    body: Option<BodyPlace>,
}

/// What a function gives back.
#[derive(Default)]
enum Returns {
    /// Nothing, or its OUT parameters.
    #[default]
    Nothing,
    /// A value of a type.
    Value(Piece),
    /// Rows; with the variables that TABLE (…) declares.
    Rows(Vec<ParameterText>),
}

/// Where a body stands.
enum BodyPlace {
    /// Between dollars: its token.
    Dollars(usize),
    /// `BEGIN ATOMIC … END` or `RETURN …`: its first token.
    Inline(usize),
}

/// Reads a function, a procedure with AS, or DO.
pub(crate) fn definition(parser: &mut Parser<'_>) -> Result<ProcedureText, SqlError> {
    if parser.is_word("do") {
        return block(parser);
    }
    let replaces = parser.ahead(1).is_word("or");
    while !parser.accept_word("procedure") && !parser.accept_word("function") {
        parser.advance();
    }
    let name = qualified(parser, "the name of the function")?;
    let mut parameters = parameters(parser)?;
    let header = attributes(parser)?;
    let texts = parameters.iter().map(|one| parser.source.text_of(&one.sql_type).to_lowercase());
    let signature = texts.collect::<Vec<String>>().join(", ");
    let given = parameters.iter().map(|parameter| parameter.name.text.clone()).collect();
    let result = result(parser, &header.returns, &mut parameters);
    let columns = match header.returns {
        Returns::Rows(columns) => columns,
        _ => Vec::new(),
    };
    let about = AboutBody { result, columns, given };
    let language = header.language.unwrap_or_else(|| "sql".to_owned());
    let body = match header.body {
        None => return Err(parser.expected("AS $$ … $$")),
        Some(BodyPlace::Inline(first)) => {
            parser.next = first;
            Body::new(parser, about).inline()?
        }
        Some(BodyPlace::Dollars(spot)) => inside(parser, spot, &language, about)?,
    };
    parser.accept(&Token::SemiColon);
    Ok(ProcedureText { name, parameters, body, language: Language::Postgres { replaces, signature } })
}

/// `DO $$ … $$`, which has no name: do_1, do_2, …
fn block(parser: &mut Parser<'_>) -> Result<ProcedureText, SqlError> {
    let place = parser.place();
    parser.blocks += 1;
    let name = Name { text: format!("do_{}", parser.blocks), place };
    parser.advance();
    let header = attributes_until_body(parser)?;
    let language = header.language.unwrap_or_else(|| "plpgsql".to_owned());
    let Some(BodyPlace::Dollars(spot)) = header.body else { return Err(parser.expected("$$ … $$")) };
    let body = inside(parser, spot, &language, AboutBody::default())?;
    parser.accept(&Token::SemiColon);
    let language = Language::Postgres { replaces: false, signature: String::new() };
    Ok(ProcedureText { name, parameters: Vec::new(), body, language })
}

fn attributes_until_body(parser: &mut Parser<'_>) -> Result<Header, SqlError> {
    let mut header = Header::default();
    while parser.spot().token != Token::SemiColon && !parser.is_at_end() {
        match parser.accept_word("language") {
            true => header.language = Some(language(parser)?),
            false => header.body = Some(body_at(parser)?),
        }
    }
    Ok(header)
}

/// Reads the body that a token is, and goes on behind that token.
fn inside(parser: &mut Parser<'_>, spot: usize, language: &str, about: AboutBody) -> Result<Statement, SqlError> {
    let after = parser.next;
    let place = parser.source.spots[spot].place;
    parser.next = match parser.source.bodies.get(&spot) {
        Some(Ok(first)) => *first,
        Some(Err(error)) => return Err(error.clone()),
        None => return Err(SqlError::unsupported("a body that is no text between dollars").at(place)),
    };
    let mut body = Body::new(parser, about);
    let statement = match language {
        "plpgsql" => body.outermost(),
        "sql" => body.statements_of_sql(),
        other => Err(SqlError::unsupported(format!("LANGUAGE {other}")).at(place)),
    };
    parser.next = after;
    statement
}

/// The name of the value that is returned, which becomes an OUT parameter.
fn result(parser: &Parser<'_>, returns: &Returns, parameters: &mut Vec<ParameterText>) -> Option<String> {
    let Returns::Value(sql_type) = returns else { return None };
    let is_void = parser.source.text_of(sql_type).trim().eq_ignore_ascii_case("void");
    if is_void || parameters.iter().any(|one| one.mode != ParameterMode::In) {
        return None;
    }
    let is_taken = |name: &&str| parser.source.spots.iter().any(|spot| spot.name().as_deref() == Some(name));
    let text = ["result", "returned", "returned_value"].into_iter().find(|name| !is_taken(name))?.to_owned();
    let name = Name { text: text.clone(), place: parser.source.place_of(sql_type) };
    parameters.push(ParameterText { mode: ParameterMode::Out, name, sql_type: sql_type.clone(), default: None });
    Some(text)
}

/// A name, perhaps with that of its schema before it.
fn qualified(parser: &mut Parser<'_>, what: &str) -> Result<Name, SqlError> {
    let mut name = parser.name(what)?;
    while parser.accept(&Token::Period) {
        name = parser.name(what)?;
    }
    Ok(name)
}

fn parameters(parser: &mut Parser<'_>) -> Result<Vec<ParameterText>, SqlError> {
    let mut parameters: Vec<ParameterText> = Vec::new();
    parser.expect(&Token::LParen)?;
    while !parser.accept(&Token::RParen) {
        let mode = mode(parser)?;
        let name = match has_name(parser) {
            true => parser.name("the name of a parameter")?,
            // A dot that nobody types: it is used as $1.
            false => Name { text: format!("given·{}", parameters.len() + 1), place: parser.place() },
        };
        let sql_type = parser.piece("the type of the parameter", ends_type)?;
        let has_default =
            parser.accept_word("default") || parser.accept(&Token::Eq) || parser.accept(&Token::Assignment);
        let ends = |spot: &Spot| matches!(spot.token, Token::Comma | Token::RParen);
        let default = has_default.then(|| parser.piece("a value", ends)).transpose()?;
        parameters.push(ParameterText { mode, name, sql_type, default });
        if !parser.accept(&Token::Comma) && parser.spot().token != Token::RParen {
            return Err(parser.expected(", or )"));
        }
    }
    Ok(parameters)
}

fn ends_type(spot: &Spot) -> bool {
    matches!(spot.token, Token::Comma | Token::RParen | Token::Eq | Token::Assignment) || spot.is_word("default")
}

fn mode(parser: &mut Parser<'_>) -> Result<ParameterMode, SqlError> {
    if parser.is_word("variadic") {
        return Err(SqlError::unsupported("VARIADIC").at(parser.place()));
    }
    for (word, mode) in [("in", ParameterMode::In), ("out", ParameterMode::Out), ("inout", ParameterMode::InOut)] {
        if parser.accept_word(word) {
            return Ok(mode);
        }
    }
    Ok(ParameterMode::In)
}

/// Whether a parameter has a name, rather than only a type.
fn has_name(parser: &Parser<'_>) -> bool {
    let next = parser.ahead(1);
    let is_type = TYPES_OF_WORDS.iter().any(|(one, other)| parser.is_word(one) && next.is_word(other));
    matches!(next.token, Token::Word(_)) && !next.is_word("default") && !is_type
}

/// What stands between the parameters and the end of the statement.
fn attributes(parser: &mut Parser<'_>) -> Result<Header, SqlError> {
    let mut header = Header::default();
    while parser.spot().token != Token::SemiColon && !parser.is_at_end() {
        if parser.accept_word("language") {
            header.language = Some(language(parser)?);
        } else if parser.accept_word("as") {
            header.body = Some(body_at(parser)?);
        } else if parser.is_word("returns") {
            returns(parser, &mut header)?;
        } else if parser.is_word("begin") || parser.is_word("return") {
            header.body = Some(BodyPlace::Inline(parser.next));
            return Ok(header);
        } else if parser.is_word("set") {
            parser.piece("a setting", |spot| is_attribute(spot) && !spot.is_word("set"))?;
        } else {
            attribute(parser)?;
        }
    }
    Ok(header)
}

fn attribute(parser: &mut Parser<'_>) -> Result<(), SqlError> {
    let known = ATTRIBUTES.iter().find(|(word, _)| parser.is_word(word));
    let (_, more) = known.ok_or_else(|| parser.expected("LANGUAGE, AS or an attribute of the function"))?;
    (0..=*more).for_each(|_| parser.advance());
    Ok(())
}

fn is_attribute(spot: &Spot) -> bool {
    let others = ["language", "as", "returns", "begin", "return", "set"];
    others.iter().chain(ATTRIBUTES.iter().map(|(word, _)| word)).any(|word| spot.is_word(word))
}

fn language(parser: &mut Parser<'_>) -> Result<String, SqlError> {
    if let Token::SingleQuotedString(text) = &parser.spot().token {
        parser.advance();
        return Ok(text.to_lowercase());
    }
    Ok(parser.name("the name of a language")?.text)
}

fn body_at(parser: &mut Parser<'_>) -> Result<BodyPlace, SqlError> {
    let at = parser.next;
    match &parser.spot().token {
        Token::DollarQuotedString(_) => parser.advance(),
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) => {
            let error = SqlError::unsupported("a body in single quotes").at(parser.place());
            return Err(error.with_hint("write it between dollars: AS $$ … $$"));
        }
        _ => return Err(parser.expected("$$")),
    }
    Ok(BodyPlace::Dollars(at))
}

/// RETURNS type, SETOF type, TABLE (…), and NULL ON NULL INPUT, which is an attribute.
fn returns(parser: &mut Parser<'_>, header: &mut Header) -> Result<(), SqlError> {
    parser.advance();
    if parser.is_word("null") {
        (0..4).for_each(|_| parser.advance());
        return Ok(());
    }
    if parser.accept_word("table") {
        let mut columns = parameters(parser)?;
        columns.iter_mut().for_each(|column| column.mode = ParameterMode::Out);
        header.returns = Returns::Rows(columns);
        return Ok(());
    }
    let is_set = parser.accept_word("setof");
    let sql_type = parser.piece("a type", is_attribute)?;
    let text = parser.source.text_of(&sql_type).trim().to_lowercase();
    if ["trigger", "event_trigger"].contains(&text.as_str()) {
        return Err(SqlError::unsupported("a function for a trigger").at(parser.source.place_of(&sql_type)));
    }
    header.returns = match is_set {
        true => Returns::Rows(Vec::new()),
        false => Returns::Value(sql_type),
    };
    Ok(())
}

impl Parser<'_> {
    /// Whether a definition is written as PostgreSQL has it: a function, DO, or a procedure with AS or BEGIN ATOMIC.
    pub(crate) fn is_of_postgres(&self) -> bool {
        if self.source.dialect != Dialect::Postgres {
            return false;
        }
        let does = self.is_word("do")
            && (self.source.bodies.contains_key(&(self.next + 1)) || self.ahead(1).is_word("language"));
        let after = if self.ahead(1).is_word("or") { 3 } else { 1 };
        let is_function = self.is_word("create") && self.ahead(after).is_word("function");
        does || is_function || (self.creates("procedure") && self.has_body_of_postgres())
    }

    fn has_body_of_postgres(&self) -> bool {
        let spots = &self.source.spots[self.next..];
        let open = spots.iter().position(|spot| spot.token == Token::LParen).unwrap_or_default();
        let mut depth = 0_usize;
        let close = spots[open..].iter().position(|spot| {
            match spot.token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        });
        let rest = &spots[(open + close.unwrap_or_default() + 1).min(spots.len())..];
        let ends = |spot: &&Spot| !spot.is_word("begin") && !matches!(spot.token, Token::SemiColon | Token::EOF);
        let head: Vec<&Spot> = rest.iter().take_while(ends).collect();
        let languages = head.windows(2).any(|two| two[0].is_word("language") && !two[1].is_word("sql"));
        let is_atomic = rest.get(head.len() + 1).is_some_and(|spot| spot.is_word("atomic"));
        languages || is_atomic || head.iter().any(|spot| spot.is_word("as"))
    }
}
