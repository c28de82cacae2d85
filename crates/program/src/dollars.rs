//! The body of a function between dollars, as tokens of the file.
//!
//! ```text
//!   CREATE FUNCTION f() … AS $body$ BEGIN RETURN 1; END $body$;      one token to SQL
//!                                   ^^^^^ ^^^^^^ …                   the tokens of the body, each where it stands in the file
//!   FOR i IN 1..10 LOOP                                              `1.` and `.10` to SQL; here 1, `..` and 10
//! ```

use crate::source::{Spot, tokens_of};
use skew_value::{Dialect, Place, SqlError};
use sqlparser::tokenizer::Token;

/// Whether a token is the body of a function or of DO, rather than a text.
pub(crate) fn is_body(spots: &[Spot], number: usize) -> bool {
    let is_word = |back: usize, word: &str| number >= back && spots[number - back].is_word(word);
    matches!(spots[number].token, Token::DollarQuotedString(_))
        && (is_word(1, "as") || is_word(1, "do") || is_word(2, "language"))
}

/// Whether a token is the `..` of a range.
pub(crate) fn is_range(spot: &Spot) -> bool {
    matches!(&spot.token, Token::CustomBinaryOperator(text) if text == "..")
}

/// The tokens of a body, at their places in the file; the last is its end.
pub(crate) fn body_tokens(text: &str, body: &Spot) -> Result<Vec<Spot>, SqlError> {
    let written = &text[body.bytes.clone()];
    let tag = written[1..].find('$').map_or(0, |end| end + 2);
    let inner = written.get(tag..written.len().saturating_sub(tag)).unwrap_or_default();
    let first = Place { column: body.place.column + written[..tag].chars().count() as u32, ..body.place };
    let shift = |place: Place| match place.line {
        1 => Place { line: first.line, column: first.column + place.column - 1 },
        line => Place { line: first.line + line - 1, ..place },
    };
    let tokens = tokens_of(inner, Dialect::Postgres)
        .map_err(|error| SqlError { place: Some(error.place.map_or(first, shift)), ..error })?;
    let start = body.bytes.start + tag;
    let spots = tokens.into_iter().map(|spot| Spot {
        token: spot.token,
        bytes: spot.bytes.start + start..spot.bytes.end + start,
        place: shift(spot.place),
    });
    Ok(with_ranges(spots.collect()))
}

/// `1.` and `.10` as 1, `..` and 10.
fn with_ranges(spots: Vec<Spot>) -> Vec<Spot> {
    let mut found: Vec<Spot> = Vec::with_capacity(spots.len());
    for spot in spots {
        let touches = |last: &Spot| last.bytes.end == spot.bytes.start && ends_with_dot(last);
        match found.pop_if(|last| begins_with_dot(&spot) && touches(last)) {
            Some(last) => split(last, spot, &mut found),
            None => found.push(spot),
        }
    }
    found
}

fn ends_with_dot(spot: &Spot) -> bool {
    spot.token == Token::Period || matches!(&spot.token, Token::Number(text, false) if text.ends_with('.'))
}

fn begins_with_dot(spot: &Spot) -> bool {
    spot.token == Token::Period || matches!(&spot.token, Token::Number(text, false) if text.starts_with('.'))
}

fn split(before: Spot, after: Spot, found: &mut Vec<Spot>) {
    let middle = before.bytes.end;
    let dots = Place { column: after.place.column.saturating_sub(1), ..after.place };
    if let Token::Number(text, long) = before.token {
        let token = Token::Number(text.trim_end_matches('.').to_owned(), long);
        found.push(Spot { token, bytes: before.bytes.start..middle - 1, place: before.place });
    }
    found.push(Spot {
        token: Token::CustomBinaryOperator("..".to_owned()),
        bytes: middle - 1..middle + 1,
        place: dots,
    });
    if let Token::Number(text, long) = after.token {
        let token = Token::Number(text.trim_start_matches('.').to_owned(), long);
        let place = Place { column: after.place.column + 1, ..after.place };
        found.push(Spot { token, bytes: middle + 1..after.bytes.end, place });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn a_body_has_tokens_at_their_places_in_the_file() {
        let text = "CREATE FUNCTION f() AS $b$ BEGIN\n  x := 1..20;\n  y := a.b..c; END $b$;";
        let source = Source::new(text, Dialect::Postgres).expect("tokens");
        let first = source.bodies.values().next().expect("a body").clone().expect("tokens");
        let told: Vec<(&str, Place)> =
            source.spots[first..].iter().map(|spot| (&text[spot.bytes.clone()], spot.place)).collect();
        let words: Vec<&str> = told.iter().map(|(word, _)| *word).collect();
        let expected = "BEGIN x := 1 .. 20 ; y := a . b .. c ; END";
        assert_eq!(words.join(" ").trim_end(), expected);
        assert_eq!(told[0].1, Place { line: 1, column: 28 });
        assert_eq!(told[4], ("..", Place { line: 2, column: 9 }));
        assert_eq!(told[5], ("20", Place { line: 2, column: 11 }));
    }

    #[test]
    fn a_text_between_dollars_is_no_body() {
        let source = Source::new("INSERT INTO t VALUES ($$it's$$);", Dialect::Postgres).expect("tokens");
        assert!(source.bodies.is_empty());
    }
}
