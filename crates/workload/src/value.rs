//! What goes into a statement and what comes back.
//!
//! Three kinds are enough for every workload: absence, whole numbers and text. Money is in cents. What a server answers in
//! another type is turned into one of the three: a sum without a fraction is a number, a truth value 0 or 1.
//!
//! ```
//! use skew_workload::{Row, Value, Values};
//! assert_eq!((7, "ann").values(), [Value::Int(7), Value::Text("ann".to_owned())]);
//! let row = Row(vec![Value::Int(40), Value::Null]);
//! assert_eq!(row.int(0)?, 40);
//! assert!(row.is_null(1) && row.int(1).is_err());
//! # Ok::<(), skew_workload::Failure>(())
//! ```

use crate::Failure;
use std::fmt;

/// One value of a row, or one argument of a statement.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Value {
        value.clone()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => out.write_str("null"),
            Value::Int(number) => write!(out, "{number}"),
            Value::Text(text) => out.write_str(text),
        }
    }
}

/// Whatever can stand for a key or for the arguments of a statement: a number, a text, a tuple of them, a vector of values.
pub trait Values {
    /// The values, in order.
    fn values(self) -> Vec<Value>;
}

impl Values for () {
    fn values(self) -> Vec<Value> {
        Vec::new()
    }
}

impl Values for i64 {
    fn values(self) -> Vec<Value> {
        vec![Value::Int(self)]
    }
}

impl Values for &str {
    fn values(self) -> Vec<Value> {
        vec![self.into()]
    }
}

impl Values for String {
    fn values(self) -> Vec<Value> {
        vec![self.into()]
    }
}

impl Values for Value {
    fn values(self) -> Vec<Value> {
        vec![self]
    }
}

impl Values for Vec<Value> {
    fn values(self) -> Vec<Value> {
        self
    }
}

impl Values for &[Value] {
    fn values(self) -> Vec<Value> {
        self.to_vec()
    }
}

impl Values for &Vec<Value> {
    fn values(self) -> Vec<Value> {
        self.clone()
    }
}

impl<const LENGTH: usize> Values for [i64; LENGTH] {
    fn values(self) -> Vec<Value> {
        self.into_iter().map(Value::Int).collect()
    }
}

macro_rules! values_of_a_tuple {
    ($($kind:ident $place:tt),+) => {
        impl<$($kind: Into<Value>),+> Values for ($($kind,)+) {
            fn values(self) -> Vec<Value> {
                vec![$(self.$place.into()),+]
            }
        }
    };
}

values_of_a_tuple!(A 0);
values_of_a_tuple!(A 0, B 1);
values_of_a_tuple!(A 0, B 1, C 2);
values_of_a_tuple!(A 0, B 1, C 2, D 3);
values_of_a_tuple!(A 0, B 1, C 2, D 3, E 4);
values_of_a_tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
values_of_a_tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
values_of_a_tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// The columns that a statement asked for, in the order in which it named them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// The number in a column.
    pub fn int(&self, column: usize) -> Result<i64, Failure> {
        match self.0.get(column) {
            Some(Value::Int(number)) => Ok(*number),
            other => Err(unexpected(column, other, "a number")),
        }
    }

    /// The number in a column, or nothing for NULL.
    pub fn optional_int(&self, column: usize) -> Result<Option<i64>, Failure> {
        if self.is_null(column) { Ok(None) } else { self.int(column).map(Some) }
    }

    /// The text in a column.
    pub fn text(&self, column: usize) -> Result<&str, Failure> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(text),
            other => Err(unexpected(column, other, "text")),
        }
    }

    /// Whether the column is NULL.
    pub fn is_null(&self, column: usize) -> bool {
        self.0.get(column) == Some(&Value::Null)
    }
}

fn unexpected(column: usize, found: Option<&Value>, wanted: &str) -> Failure {
    let found = found.map_or("nothing".to_owned(), |value| format!("`{value}`"));
    Failure::Other(format!("column {column} of an answer is {found} and not {wanted}"))
}

/// A whole number where the text is one, else the text.
pub(crate) fn number_or_text(text: &str) -> Value {
    let whole = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        _ => text,
    };
    whole.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_arguments_are_written_as_one_likes() {
        assert_eq!(().values(), []);
        assert_eq!(3.values(), (3,).values());
        assert_eq!([1, 2].values(), (1, 2).values());
        assert_eq!((Some(1), None::<i64>).values(), [Value::Int(1), Value::Null]);
    }

    #[test]
    fn a_sum_without_a_fraction_is_a_number() {
        assert_eq!(number_or_text("-12.000"), Value::Int(-12));
        assert_eq!(number_or_text("1.5"), Value::Text("1.5".to_owned()));
        assert_eq!(number_or_text("x"), Value::Text("x".to_owned()));
    }
}
