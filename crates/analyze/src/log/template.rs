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

/// All templates that were seen, in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct TemplatesSeen {
    pub(super) all: Vec<TemplateSeen>,
    numbers: BTreeMap<Vec<String>, usize>,
}

/// A template, and what its instances have shown.
#[derive(Clone, Debug)]
pub(super) struct TemplateSeen {
    /// The first instance.
    pub(super) statements: Vec<LoggedStatement>,
    pub(super) count: usize,
    pub(super) positions: Vec<ValuePosition>,
}

/// A place in a template where instances have values.
#[derive(Clone, Debug)]
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

impl TemplatesSeen {
    /// One more transaction: the number of its template.
    pub(super) fn add(&mut self, transaction: Vec<LoggedStatement>) -> usize {
        let shapes: Vec<String> = transaction.iter().map(shape).collect();
        let number = *self.numbers.entry(shapes).or_insert(self.all.len());
        match self.all.get_mut(number) {
            Some(template) => template.also(&values(&transaction)),
            None => self.all.push(TemplateSeen::first(transaction)),
        }
        number
    }

    /// The templates of other transactions, too.
    pub(super) fn join(&mut self, others: TemplatesSeen) {
        let mut all: Vec<Option<TemplateSeen>> = others.all.into_iter().map(Some).collect();
        let mut numbers: Vec<(usize, Vec<String>)> =
            others.numbers.into_iter().map(|(shapes, number)| (number, shapes)).collect();
        numbers.sort();
        for (number, shapes) in numbers {
            let Some(other) = all.get_mut(number).and_then(Option::take) else { continue };
            let number = *self.numbers.entry(shapes).or_insert(self.all.len());
            match self.all.get_mut(number) {
                Some(template) => template.join(&other),
                None => self.all.push(other),
            }
        }
    }
}

/// The values of a transaction, in the order in which they stand there.
pub(super) fn values(transaction: &[LoggedStatement]) -> Vec<Option<String>> {
    let of = |statement: &LoggedStatement| -> Vec<Option<String>> {
        statement.lexemes.iter().filter(|one| is_value(one)).map(|one| value(one, statement)).collect()
    };
    transaction.iter().flat_map(of).collect()
}

impl TemplateSeen {
    fn first(statements: Vec<LoggedStatement>) -> TemplateSeen {
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
                let class = class_of(&positions, &first);
                positions.push(ValuePosition { statement: number, first, varies: false, class, given, counts });
            }
        }
        TemplateSeen { statements, count: 1, positions }
    }

    /// Transactions with these templates, one after the other, as one: so much of it as tells which values are one.
    pub(super) fn in_turn(templates: &[&TemplateSeen], values: &[Option<String>]) -> TemplateSeen {
        let mut positions: Vec<ValuePosition> = Vec::new();
        let mut values = values.iter();
        for template in templates {
            let before = positions.len();
            for (position, first) in template.positions.iter().zip(values.by_ref()) {
                let class = class_of(&positions, first);
                let (first, given) = (first.clone(), before + position.given);
                positions.push(ValuePosition { first, varies: false, class, given, ..position.clone() });
            }
        }
        TemplateSeen { statements: Vec::new(), count: 1, positions }
    }

    /// One more instance, of which only the values count: what is not equal in it is not one.
    pub(super) fn also(&mut self, values: &[Option<String>]) {
        self.count += 1;
        let mut split: BTreeMap<(usize, &Option<String>), usize> = BTreeMap::new();
        for (number, (position, value)) in self.positions.iter_mut().zip(values).enumerate() {
            position.varies |= position.first != *value;
            position.class = match value {
                Some(_) => *split.entry((position.class, value)).or_insert(number),
                None => number,
            };
        }
    }

    /// The instances of another template of the same shape: what is not equal in all of both is not one.
    fn join(&mut self, other: &TemplateSeen) {
        self.count += other.count;
        let mut split: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (number, (position, also)) in self.positions.iter_mut().zip(&other.positions).enumerate() {
            position.varies |= also.varies || position.first != also.first;
            position.class = *split.entry((position.class, also.class)).or_insert(number);
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

/// The first of some positions with the same value, or the one behind them. NULL is like nothing.
fn class_of(positions: &[ValuePosition], value: &Option<String>) -> usize {
    let same = |one: &ValuePosition| one.first.is_some() && one.first == *value;
    positions.iter().position(same).unwrap_or(positions.len())
}
