//! Lock clauses that `sqlparser` does not read, in words that it reads.
//!
//! ```text
//!   FOR NO KEY UPDATE                 FOR UPDATE          the stronger of the two locks that there are
//!   FOR KEY SHARE                     FOR SHARE
//!   FOR UPDATE OF a, b SKIP LOCKED    FOR UPDATE OF a SKIP LOCKED FOR UPDATE OF b SKIP LOCKED
//! ```

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens with every lock clause in plain words.
pub(super) fn plain(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "for")) {
        return tokens;
    }
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let (places, words): (Vec<usize>, Vec<&TokenWithSpan>) =
        tokens.iter().enumerate().filter(|(_, token)| !is_blank(token)).unzip();
    let mut told = Vec::with_capacity(tokens.len());
    let (mut place, mut word) = (0, 0);
    while word < words.len() {
        let clause = Clause::read(&words[word..]);
        let end = word + clause.as_ref().map_or(1, |clause| clause.length);
        match clause {
            Some(clause) => clause.tell(&mut told),
            None => told.extend(tokens[place..=places[word]].iter().cloned()),
        }
        place = places[end - 1] + 1;
        word = end;
    }
    told
}

/// A lock clause.
struct Clause<'tokens> {
    /// FOR, and UPDATE or SHARE.
    words: [&'tokens TokenWithSpan; 2],
    /// OF.
    of: Option<&'tokens TokenWithSpan>,
    /// Its tables, each of one or more tokens.
    tables: Vec<&'tokens [&'tokens TokenWithSpan]>,
    /// NOWAIT, SKIP LOCKED.
    rest: &'tokens [&'tokens TokenWithSpan],
    length: usize,
}

impl Clause<'_> {
    /// The clause at the start of some tokens.
    fn read<'tokens>(tokens: &'tokens [&'tokens TokenWithSpan]) -> Option<Clause<'tokens>> {
        let starts = |words: &[&str]| {
            tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| is_word(token, word))
        };
        let forms: [&[&str]; 4] =
            [&["for", "no", "key", "update"], &["for", "key", "share"], &["for", "update"], &["for", "share"]];
        let form = forms.into_iter().find(|form| starts(form))?;
        let mut place = form.len();
        let words = [tokens[0], tokens[place - 1]];
        let of = tokens.get(place).copied().filter(|token| is_word(token, "of"));
        let mut tables = Vec::new();
        if of.is_some() {
            place += 1;
            loop {
                let length = name_length(&tokens[place..]);
                tables.push(&tokens[place..place + length]);
                place += length;
                if tokens.get(place).is_none_or(|token| token.token != Token::Comma) {
                    break;
                }
                place += 1;
            }
        }
        let rest = match &tokens[place..] {
            [skip, locked, ..] if is_word(skip, "skip") && is_word(locked, "locked") => 2,
            [nowait, ..] if is_word(nowait, "nowait") => 1,
            _ => 0,
        };
        Some(Clause { words, of, tables, rest: &tokens[place..place + rest], length: place + rest })
    }

    /// The same as one clause for each table.
    fn tell(&self, told: &mut Vec<TokenWithSpan>) {
        let Some(of) = self.of else {
            told.extend(self.words.into_iter().chain(self.rest.iter().copied()).cloned());
            return;
        };
        for table in &self.tables {
            let rest = table.iter().chain(self.rest).copied();
            told.extend(self.words.into_iter().chain([of]).chain(rest).cloned());
        }
    }
}

/// How many tokens a name takes: words with dots between them.
fn name_length(tokens: &[&TokenWithSpan]) -> usize {
    let is_name = |place: usize| matches!(tokens.get(place).map(|token| &token.token), Some(Token::Word(_)));
    let mut length = usize::from(is_name(0));
    while length > 0 && tokens.get(length).is_some_and(|token| token.token == Token::Period) && is_name(length + 1) {
        length += 2;
    }
    length
}

fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted),
        _ => false,
    }
}
