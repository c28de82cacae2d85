//! Transactions that are the same but for their values, as one template.
//!
//! ```text
//!   SELECT stock FROM product WHERE id = 1;   UPDATE product SET stock = 7 WHERE id = 1;        two instances
//!   SELECT stock FROM product WHERE id = 2;   UPDATE product SET stock = 7 WHERE id = 2;
//!                                        a                             b            c
//!   a and c are equal in both, and not the same twice: one parameter.   b is the same twice: it may be chance, a parameter of its own.
//! ```
//!
//! Two positions are one parameter only if they were equal in every instance and had at least two values; otherwise each is on its own, which
//! covers the case that they are equal, too. Uses of one `$1` in a statement are one parameter anyway.

use super::transactions::{LoggedStatement, written};
use skew_sql::{Lexeme, LexemeKind};
use std::collections::BTreeMap;

/// A template, and what its instances have shown.
pub(super) struct TemplateSeen {
    /// The first instance.
    pub(super) statements: Vec<LoggedStatement>,
    pub(super) count: usize,
    pub(super) positions: Vec<ValuePosition>,
}

/// A place in a template where instances have values.
pub(super) struct ValuePosition {
    /// Which statement.
    pub(super) statement: usize,
    /// The value of the first instance; nothing is NULL, or not known.
    pub(super) first: Option<String>,
    /// Whether some instance had another value.
    pub(super) varies: bool,
    /// The first position that had an equal value in every instance.
    class: usize,
    /// The first position of the same `$1` in the same statement.
    given: usize,
    /// Whether it says how many rows are wanted: that is a part of the statement, and no value of the application's.
    pub(super) counts: bool,
}

/// A statement without its values: equal for equal statements.
pub(super) fn shape(statement: &LoggedStatement) -> String {
    written(&statement.lexemes, |lexeme| match &lexeme.kind {
        LexemeKind::Literal(_) | LexemeKind::Placeholder(_) => "?".to_owned(),
        LexemeKind::Word if !lexeme.text.starts_with(['"', '`']) => lexeme.text.to_lowercase(),
        _ => lexeme.text.clone(),
    })
}

/// The lexemes of a statement that are values.
pub(super) fn is_value(lexeme: &Lexeme) -> bool {
    matches!(lexeme.kind, LexemeKind::Literal(_) | LexemeKind::Placeholder(_))
}

fn value(lexeme: &Lexeme, statement: &LoggedStatement) -> Option<String> {
    match &lexeme.kind {
        LexemeKind::Literal(value) => Some(value.clone()),
        LexemeKind::Placeholder(number) => statement.parameters.get(number.checked_sub(1)?)?.clone(),
        _ => None,
    }
}

/// The templates of transactions, in the order in which they were first seen; and for each transaction the number of its template.
pub(super) fn templates(transactions: &[Vec<LoggedStatement>]) -> (Vec<TemplateSeen>, Vec<usize>) {
    let mut known: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut seen: Vec<TemplateSeen> = Vec::new();
    let mut numbers = Vec::new();
    for transaction in transactions {
        let shapes: Vec<String> = transaction.iter().map(shape).collect();
        let number = *known.entry(shapes).or_insert(seen.len());
        numbers.push(number);
        match seen.get_mut(number) {
            Some(template) => template.also(transaction),
            None => seen.push(TemplateSeen::first(transaction.clone())),
        }
    }
    (seen, numbers)
}

impl TemplateSeen {
    pub(super) fn first(statements: Vec<LoggedStatement>) -> TemplateSeen {
        let mut positions: Vec<ValuePosition> = Vec::new();
        for (number, statement) in statements.iter().enumerate() {
            let mut places: BTreeMap<usize, usize> = BTreeMap::new();
            for (place, lexeme) in statement.lexemes.iter().enumerate().filter(|(_, lexeme)| is_value(lexeme)) {
                let here = positions.len();
                let before = place.checked_sub(1).and_then(|before| statement.lexemes.get(before));
                let counts = before.is_some_and(|word| word.is_word("limit") || word.is_word("offset"));
                let given = match lexeme.kind {
                    LexemeKind::Placeholder(given) if given > 0 => *places.entry(given).or_insert(here),
                    _ => here,
                };
                let first = value(lexeme, statement);
                let same = |one: &ValuePosition| one.first.is_some() && one.first == first;
                let class = positions.iter().position(same).unwrap_or(here);
                positions.push(ValuePosition { statement: number, first, varies: false, class, given, counts });
            }
        }
        TemplateSeen { statements, count: 1, positions }
    }

    /// One more instance: what is not equal in it is not one.
    pub(super) fn also(&mut self, transaction: &[LoggedStatement]) {
        self.count += 1;
        let lexemes = |statement: &LoggedStatement| -> Vec<Option<String>> {
            statement.lexemes.iter().filter(|one| is_value(one)).map(|one| value(one, statement)).collect()
        };
        let values: Vec<Option<String>> = transaction.iter().flat_map(lexemes).collect();
        let mut split: BTreeMap<(usize, &Option<String>), usize> = BTreeMap::new();
        for (number, (position, value)) in self.positions.iter_mut().zip(&values).enumerate() {
            position.varies |= position.first != *value;
            position.class = match value {
                Some(_) => *split.entry((position.class, value)).or_insert(number),
                None => number,
            };
        }
    }

    /// For each position the first one that is the same parameter.
    pub(super) fn parameters(&self) -> Vec<usize> {
        let mut parameters: Vec<usize> = Vec::new();
        for (number, position) in self.positions.iter().enumerate() {
            let joined = if position.varies { position.class } else { number };
            let given = parameters.get(position.given).copied().unwrap_or(number);
            parameters.push(match position.given == number {
                true => joined,
                false => given,
            });
        }
        parameters
    }
}
