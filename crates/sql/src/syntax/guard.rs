//! What is too large or too deep is refused before it is parsed.
//!
//! The syntax of `1 + 1 + 1 …` is as deep as the chain is long, and so are `NOT NOT …` and `((…))`. Everything that handles syntax (the
//! parser, the binder, and dropping it) recurses, so depth is bounded here, by counting tokens:
//!
//! ```text
//!   a + (b * (c + d + e))      the outer group has 1 operator; the next 1; the innermost 2: 1 + 1 + 2 operators and 2 groups deep
//! ```
//!
//! A group's depth is the operators of its longest part (parts end at commas and at words that start a clause) and the depth of the
//! deepest group in it: more than the syntax can have, never less. AND and OR hold everything else, so of the operators between them
//! only the most count: `a = 1 OR a = 2 OR …` is as deep as its ORs are many, and one.

use skew_value::{SqlError, SqlState};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// How long a text may be.
const TEXT_LIMIT: usize = 64 << 20;
/// How many tokens a text may have, roughly.
const TOKEN_LIMIT: usize = 4_000_000;
/// How deep groups may be nested.
const GROUP_LIMIT: usize = 64;
/// How deep all may be, chains of operators included.
const DEPTH_LIMIT: usize = 1500;
/// How much deeper an operator is than AND and OR, which become flat lists when they are bound.
const OPERATOR_WEIGHT: usize = 5;
/// How much deeper a set operation is.
const UNION_WEIGHT: usize = 20;
/// How much deeper a query is, which becomes several operators of a plan.
const QUERY_WEIGHT: usize = 45;
/// How long a row of prefixes (`NOT`, `-`, words without anything between) may be that the parser follows one inside the other.
const PREFIX_LIMIT: usize = 40;

/// The statement is deeper than is handled.
pub(super) fn too_deep() -> SqlError {
    SqlError::new(SqlState::TOO_COMPLEX, "the statement is nested too deeply")
        .with_hint("write it as several statements, or use IN lists")
}

/// Refuses texts whose tokens would not fit into memory.
pub(super) fn check_size(text: &str) -> Result<(), SqlError> {
    let large = || {
        SqlError::new(SqlState::TOO_COMPLEX, "the statement is too large").with_hint("write it as several statements")
    };
    if text.len() > TEXT_LIMIT {
        return Err(large());
    }
    if text.len() < TOKEN_LIMIT {
        return Ok(());
    }
    // Tokens are at most as many as changes between kinds of characters, outside of quotes.
    let (mut count, mut before, mut quote) = (0usize, 0u8, None);
    for byte in text.bytes() {
        let kind = match byte {
            b'\'' | b'"' | b'`' if quote.is_none() => {
                quote = Some(byte);
                1
            }
            _ if quote == Some(byte) => {
                quote = None;
                1
            }
            _ if quote.is_some() => continue,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | 0x80.. => 2,
            b' ' | b'\n' | b'\t' | b'\r' => 3,
            _ => 4,
        };
        count += usize::from(kind != before || kind == 4);
        before = kind;
    }
    if count > TOKEN_LIMIT { Err(large()) } else { Ok(()) }
}

/// A group of tokens: what stands between parentheses, brackets, or CASE and END.
#[derive(Default)]
struct Group {
    /// Operators since the last comma, clause, AND or OR.
    operators: usize,
    /// The most operators of an operand of AND or OR, since the last comma or clause.
    widest: usize,
    /// AND and OR, and what may hold them in a chain, since the last comma or clause.
    junctions: usize,
    /// The most operators of a part so far.
    longest: usize,
    /// The deepest group in it.
    deepest: usize,
    /// UNION, EXCEPT and INTERSECT: they hold whole queries, and are not ended by the next SELECT.
    unions: usize,
    /// Whether it holds a query.
    query: bool,
}

impl Group {
    fn depth(&self) -> usize {
        self.longest.max(self.part())
            + self.deepest
            + UNION_WEIGHT * self.unions
            + if self.query { QUERY_WEIGHT } else { 0 }
    }

    /// The depth of the part so far: the chain of AND and OR, and the deepest of what it holds.
    fn part(&self) -> usize {
        self.junctions + self.widest.max(self.operators)
    }

    fn operand_ends(&mut self) {
        self.widest = self.widest.max(self.operators);
        self.operators = 0;
    }

    fn part_ends(&mut self) {
        self.longest = self.longest.max(self.part());
        (self.operators, self.widest, self.junctions) = (0, 0, 0);
    }
}

/// Refuses what is too deep.
pub(super) fn check_depth(tokens: &[TokenWithSpan]) -> Result<(), SqlError> {
    let mut groups = vec![Group::default()];
    let mut prefixes = 0usize;
    for token in tokens {
        let kind = kind_of(&token.token);
        prefixes = match kind {
            Kind::Operator | Kind::Prefix | Kind::Junction | Kind::Holder => prefixes + 1,
            Kind::Blank => prefixes,
            _ => 0,
        };
        match kind {
            Kind::Open => groups.push(Group::default()),
            Kind::Close if groups.len() > 1 => {
                if let Some(closed) = groups.pop()
                    && let Some(outer) = groups.last_mut()
                {
                    outer.deepest = outer.deepest.max(closed.depth() + OPERATOR_WEIGHT);
                }
            }
            Kind::End => groups = vec![Group::default()],
            _ => {}
        }
        if let Some(group) = groups.last_mut() {
            match kind {
                Kind::Operator | Kind::Prefix => group.operators += OPERATOR_WEIGHT,
                Kind::Junction => {
                    group.operand_ends();
                    group.junctions += 1;
                }
                Kind::Holder => group.junctions += OPERATOR_WEIGHT,
                Kind::Part => group.part_ends(),
                Kind::Query => {
                    group.part_ends();
                    group.query = true;
                }
                Kind::Union => group.unions += 1,
                _ => {}
            }
        }
        let open: usize = groups.last().map_or(0, Group::depth);
        if groups.len() > GROUP_LIMIT || open > DEPTH_LIMIT || prefixes > PREFIX_LIMIT {
            let place = super::place_of(token.span.start.line, token.span.start.column);
            return Err(too_deep().at(place));
        }
    }
    // The groups that are open hold one another.
    let total: usize = groups.iter().map(Group::depth).sum();
    if total > DEPTH_LIMIT { Err(too_deep()) } else { Ok(()) }
}

/// What a token does to the depth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Operand,
    /// AND, OR.
    Junction,
    /// BETWEEN, whose AND is its own, and XOR, which holds ANDs.
    Holder,
    Operator,
    /// A word that may stand before an operand, again and again.
    Prefix,
    Open,
    Close,
    /// A comma or a word that starts a clause.
    Part,
    /// SELECT.
    Query,
    Union,
    End,
}

fn kind_of(token: &Token) -> Kind {
    match token {
        Token::Whitespace(_) | Token::EOF => Kind::Blank,
        Token::LParen | Token::LBracket | Token::LBrace => Kind::Open,
        Token::RParen | Token::RBracket | Token::RBrace => Kind::Close,
        Token::Comma => Kind::Part,
        Token::SemiColon => Kind::End,
        Token::Word(word) => match word.keyword {
            Keyword::CASE => Kind::Open,
            Keyword::END => Kind::Close,
            Keyword::SELECT => Kind::Query,
            Keyword::FROM
            | Keyword::WHERE
            | Keyword::GROUP
            | Keyword::ORDER
            | Keyword::HAVING
            | Keyword::LIMIT
            | Keyword::ON
            | Keyword::SET
            | Keyword::WHEN
            | Keyword::THEN
            | Keyword::ELSE
            | Keyword::RETURNING => Kind::Part,
            Keyword::AND | Keyword::OR => Kind::Junction,
            Keyword::XOR | Keyword::BETWEEN => Kind::Holder,
            Keyword::IS | Keyword::LIKE | Keyword::ILIKE => Kind::Operator,
            Keyword::IN | Keyword::COLLATE | Keyword::AT | Keyword::DIV | Keyword::SIMILAR => Kind::Operator,
            Keyword::REGEXP | Keyword::RLIKE => Kind::Operator,
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => Kind::Union,
            Keyword::NOT | Keyword::INTERVAL | Keyword::EXPLAIN | Keyword::PRIOR | Keyword::JOIN => Kind::Prefix,
            _ => Kind::Operand,
        },
        Token::Number(..)
        | Token::Placeholder(_)
        | Token::Period
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::DollarQuotedString(_) => Kind::Operand,
        _ => Kind::Operator,
    }
}
