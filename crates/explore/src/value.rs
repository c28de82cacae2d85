//! What Rust programs keep under their keys: numbers, truth values, texts, and lists of those.

use skew_value::Datum;
use std::sync::Arc;

/// What can be written under a key. `None` is the absence of the key.
pub trait ToValue {
    /// The value, or that the key goes.
    fn to_value(&self) -> Option<Datum>;
}

/// What can be read under a key. An absent key is read as an `Option`.
pub trait FromValue: Sized {
    /// The value, if it is of this type.
    fn from_value(value: Option<&Datum>) -> Option<Self>;
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl ToValue for $integer {
            fn to_value(&self) -> Option<Datum> {
                Some(Datum::Integer(i128::from(*self)))
            }
        }

        impl FromValue for $integer {
            fn from_value(value: Option<&Datum>) -> Option<$integer> {
                match value {
                    Some(Datum::Integer(number)) => (*number).try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

integers!(i32, i64, u32, u64);

impl ToValue for bool {
    fn to_value(&self) -> Option<Datum> {
        Some(Datum::Boolean(*self))
    }
}

impl FromValue for bool {
    fn from_value(value: Option<&Datum>) -> Option<bool> {
        match value {
            Some(Datum::Boolean(truth)) => Some(*truth),
            _ => None,
        }
    }
}

impl ToValue for &str {
    fn to_value(&self) -> Option<Datum> {
        Some(Datum::text(*self))
    }
}

impl ToValue for String {
    fn to_value(&self) -> Option<Datum> {
        Some(Datum::text(self.as_str()))
    }
}

impl FromValue for String {
    fn from_value(value: Option<&Datum>) -> Option<String> {
        match value {
            Some(Datum::Text(text)) => Some(text.to_string()),
            _ => None,
        }
    }
}

impl<T: ToValue> ToValue for Vec<T> {
    fn to_value(&self) -> Option<Datum> {
        let elements: Arc<[Datum]> = self.iter().map(|element| element.to_value().unwrap_or_default()).collect();
        Some(Datum::Array(elements))
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Option<&Datum>) -> Option<Vec<T>> {
        match value {
            Some(Datum::Array(elements)) => elements.iter().map(|element| T::from_value(Some(element))).collect(),
            _ => None,
        }
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Option<Datum> {
        self.as_ref().and_then(ToValue::to_value)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Option<&Datum>) -> Option<Option<T>> {
        match value {
            None => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_what_they_were() {
        let value = vec!["a".to_owned(), "b".to_owned()].to_value();
        assert_eq!(Vec::<String>::from_value(value.as_ref()), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(i64::from_value(7i64.to_value().as_ref()), Some(7));
        assert_eq!(u32::from_value((-1i64).to_value().as_ref()), None);
        assert_eq!(bool::from_value("yes".to_value().as_ref()), None);
        assert_eq!(Option::<i64>::from_value(None), Some(None));
        assert_eq!(i64::from_value(Option::<i64>::None.to_value().as_ref()), None);
    }
}
