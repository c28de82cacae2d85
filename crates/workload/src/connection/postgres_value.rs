//! Values as PostgreSQL writes them: binary, and in the type that the server wants.

use crate::Value;
use crate::value::number_or_text;
use std::error::Error;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

impl ToSql for Value {
    fn to_sql(&self, wanted: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self, wanted) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Int(number), &Type::INT4) => i32::try_from(*number)?.to_sql(wanted, out),
            (Value::Int(number), &Type::INT2) => i16::try_from(*number)?.to_sql(wanted, out),
            (Value::Int(number), &Type::INT8) => number.to_sql(wanted, out),
            (Value::Int(number), _) => number.to_string().to_sql(&Type::TEXT, out),
            (Value::Text(text), _) => text.to_sql(&Type::TEXT, out),
        }
    }

    /// The types of arguments are ours, so what the server wants is what we said.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Value, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::INT2 => Value::Int(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Value::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Value::Int(i64::from_sql(kind, raw)?),
            Type::BOOL => Value::Int(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT4 => number_or_text(&f32::from_sql(kind, raw)?.to_string()),
            Type::FLOAT8 => number_or_text(&f64::from_sql(kind, raw)?.to_string()),
            Type::NUMERIC => number_or_text(&numeric(raw).ok_or("a number is cut off")?),
            _ => Value::Text(String::from_utf8(raw.to_vec())?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Value, Box<dyn Error + Sync + Send>> {
        Ok(Value::Null)
    }

    fn accepts(kind: &Type) -> bool {
        let numbers = [Type::INT2, Type::INT4, Type::INT8, Type::BOOL, Type::FLOAT4, Type::FLOAT8, Type::NUMERIC];
        let texts = [Type::TEXT, Type::VARCHAR, Type::BPCHAR, Type::NAME, Type::UNKNOWN];
        numbers.contains(kind) || texts.contains(kind)
    }
}

/// NUMERIC on the wire: how many groups of four digits, the power of 10,000 of the first, the sign, how many digits after the point;
/// then the groups. Sums of BIGINT come so.
fn numeric(raw: &[u8]) -> Option<String> {
    let word = |place: usize| Some(i16::from_be_bytes(raw.get(2 * place..2 * place + 2)?.try_into().ok()?));
    let (groups, first, sign, scale) = (word(0)?, word(1)?, word(2)? as u16, word(3)?);
    if sign & 0xC000 == 0xC000 {
        return Some("NaN".to_owned());
    }
    let group = |power: i16| -> Option<i16> {
        let place = i32::from(first) - i32::from(power);
        if (0..i32::from(groups)).contains(&place) { word(4 + place as usize) } else { Some(0) }
    };
    let mut text = if sign == 0x4000 { "-".to_owned() } else { String::new() };
    text.push_str(&group(first.max(0))?.to_string());
    for power in (0..first).rev() {
        text.push_str(&format!("{:04}", group(power)?));
    }
    if scale > 0 {
        let mut fraction = String::new();
        for power in 1..=(scale + 3) / 4 {
            fraction.push_str(&format!("{:04}", group(-power)?));
        }
        fraction.truncate(scale as usize);
        text = format!("{text}.{fraction}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(words: &[i16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn numbers_of_any_length_are_read() {
        assert_eq!(numeric(&wire(&[0, 0, 0, 0])).as_deref(), Some("0"));
        assert_eq!(numeric(&wire(&[2, 1, 0x4000, 0, 12, 34])).as_deref(), Some("-120034"));
        assert_eq!(numeric(&wire(&[1, 2, 0, 0, 7])).as_deref(), Some("700000000"));
        assert_eq!(numeric(&wire(&[2, 0, 0, 2, 3, 1400])).as_deref(), Some("3.14"));
        assert_eq!(numeric(&wire(&[1, -1, 0, 3, 50])).as_deref(), Some("0.005"));
        assert_eq!(numeric(&wire(&[1, 0, 0, 0])), None);
    }

    #[test]
    fn a_sum_is_a_number() {
        let sum = Value::from_sql(&Type::NUMERIC, &wire(&[2, 1, 0, 0, 1, 5]));
        assert_eq!(sum.expect("it is one"), Value::Int(10_005));
    }
}
