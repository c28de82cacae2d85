//! What a session asks about itself, and texts in other codings.
//!
//! `version()` and the settings say what clients want to hear; what needs the catalog (`format_type`, `obj_description`, …) is not here.

use super::arguments::{Evaluated, answer, boolean, bytes, decimal, integer, invalid, text};
use super::signature::{SignatureRow, TypePattern::*, row};
use super::{Invocation, SetByFunction};
use crate::Dialect;
use crate::text::{from_hex, to_hex};
use crate::{Datum, number};
use crate::{SqlError, SqlState};
use md5::{Digest, Md5};
use std::sync::Arc;

pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("version", &[], Text, version),
    row("current_database", &[], Text, database).postgres(),
    row("current_catalog", &[], Text, database).postgres(),
    row("database", &[], Text, database).mysql(),
    row("schema", &[], Text, database).mysql(),
    row("current_schema", &[], Text, schema).postgres(),
    row("current_schemas", &[Boolean], TextArray, schemas).postgres(),
    row("current_user", &[], Text, user),
    row("session_user", &[], Text, user),
    row("user", &[], Text, user),
    row("current_role", &[], Text, user).postgres(),
    row("connection_id", &[], Big, connection).mysql(),
    row("pg_backend_pid", &[], Integer, connection).postgres(),
    row("pg_notify", &[Text, Text], Text, nothing).postgres(),
    row("current_setting", &[Text], Text, setting).postgres(),
    row("current_setting", &[Text, Boolean], Text, setting).postgres(),
    row("set_config", &[Text, Text, Boolean], Text, set_setting).volatile().postgres(),
    row("gen_random_uuid", &[], Uuid, random_uuid).volatile().postgres(),
    row("uuid_generate_v4", &[], Uuid, random_uuid).volatile().postgres(),
    row("uuid", &[], Text, random_uuid_text).volatile().mysql(),
    row("md5", &[Text], Text, digest),
    row("md5", &[Bytes], Text, digest),
    row("encode", &[Bytes, Text], Text, encode).postgres(),
    row("decode", &[Text, Text], Bytes, decode).postgres(),
    row("hex", &[Text], Text, hex).mysql(),
    row("hex", &[Bytes], Text, hex).mysql(),
    row("hex", &[Number], Text, hex_number).mysql(),
    row("unhex", &[Text], Bytes, unhex).mysql(),
    row("to_hex", &[Integer], Text, to_hex_number).postgres(),
    row("to_hex", &[Big], Text, to_hex_number).postgres(),
    row("quote_ident", &[Text], Text, quote_identifier).postgres(),
    row("quote_literal", &[Text], Text, quote_literal).postgres(),
    row("quote_literal", &[Any], Text, quote_any).postgres(),
    row("quote_nullable", &[Any], Text, quote_nullable).lenient().postgres(),
    row("format", &[Text, Any], Text, format_text).variadic().lenient().postgres(),
];

fn version(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    answer(match call.environment.dialect {
        Dialect::Postgres => "PostgreSQL 15.0 (Skew)",
        Dialect::MySql => "8.0.36",
    })
}

fn database(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    answer(call.environment.database.as_str())
}

fn schema(_: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer("public")
}

fn schemas(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let all: &[&str] = if boolean(arguments, 0)? { &["pg_catalog", "public"] } else { &["public"] };
    Ok(Datum::Array(all.iter().map(|name| Datum::text(*name)).collect()))
}

fn user(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    answer(match call.environment.dialect {
        Dialect::Postgres => call.environment.user.clone(),
        Dialect::MySql => format!("{}@localhost", call.environment.user),
    })
}

fn connection(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(call.environment.connection.into()))
}

/// Nobody listens: done at once.
fn nothing(_: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer("")
}

fn setting(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let name = text(arguments, 0)?.to_ascii_lowercase();
    match call.environment.settings.borrow().get(&name) {
        Some(value) => answer(value.as_str()),
        None if arguments.len() > 1 && boolean(arguments, 1)? => Ok(Datum::Null),
        None => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
        }
    }
}

fn set_setting(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (name, value) = (text(arguments, 0)?.to_ascii_lowercase(), text(arguments, 1)?);
    check_setting(&name, value)?;
    let kept = match (&*name, call.environment.dialect) {
        ("timezone", Dialect::Postgres) => call.environment.set_zone(value)?,
        _ => value.to_owned(),
    };
    let set = SetByFunction { name: name.clone(), value: kept.clone(), local: boolean(arguments, 2)? };
    call.environment.set.borrow_mut().push(set);
    Arc::make_mut(&mut call.environment.settings.borrow_mut()).insert(name, kept.clone());
    answer(kept)
}

/// Refuses what would mean something else than it says: names without a namespace are always looked for in `public`.
pub fn check_setting(name: &str, value: &str) -> Result<(), SqlError> {
    let searched = ["", "$user", "public", "pg_catalog", "pg_temp"];
    let is_known = |word: &str| searched.contains(&word.trim().trim_matches(['"', '\'']));
    match name == "search_path" && !value.split(',').all(is_known) {
        true => Err(SqlError::unsupported(format!("the search_path {value}"))
            .with_hint("write the namespace before the names of its tables")),
        false => Ok(()),
    }
}

/// Version 4, variant 1, the rest random.
fn uuid_of(call: Invocation<'_>) -> u128 {
    let bits = (u128::from(call.environment.random()) << 64) | u128::from(call.environment.random());
    (bits & !(0xF << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62)
}

fn random_uuid(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Uuid(uuid_of(call)))
}

fn random_uuid_text(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    let uuid = Datum::Uuid(uuid_of(call));
    answer(crate::output(&uuid, &crate::SqlType::Uuid, call.environment.dialect))
}

fn digest(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(to_hex(Md5::digest(bytes(arguments, 0)?).as_slice()))
}

fn unknown_coding(name: &str) -> SqlError {
    invalid(format!("unrecognized encoding: \"{name}\""))
}

fn encode(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let bytes = bytes(arguments, 0)?;
    match text(arguments, 1)?.to_ascii_lowercase().as_str() {
        "hex" => answer(to_hex(bytes)),
        "base64" => answer(to_base64(bytes)),
        "escape" => answer(bytes.iter().map(|byte| escaped(*byte)).collect::<String>()),
        other => Err(unknown_coding(other)),
    }
}

fn escaped(byte: u8) -> String {
    match byte {
        b'\\' => "\\\\".to_owned(),
        0 | 128.. => format!("\\{byte:03o}"),
        other => (other as char).to_string(),
    }
}

fn decode(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let coded = text(arguments, 0)?;
    let decoded = match text(arguments, 1)?.to_ascii_lowercase().as_str() {
        "hex" => from_hex(coded),
        "base64" => from_base64(coded),
        "escape" => return crate::input(coded, &crate::SqlType::Bytes, call.environment.dialect),
        other => return Err(unknown_coding(other)),
    };
    Ok(Datum::Bytes(decoded.ok_or_else(|| invalid("invalid symbol found while decoding"))?.into()))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A line has 76 letters, as in mail.
fn to_base64(bytes: &[u8]) -> String {
    let mut coded = String::new();
    for (place, group) in bytes.chunks(3).enumerate() {
        if place > 0 && place % 19 == 0 {
            coded.push('\n');
        }
        let bits = group.iter().fold(0u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - group.len()));
        for letter in 0..4 {
            let is_padding = letter > group.len();
            coded.push(if is_padding { '=' } else { BASE64[(bits >> (18 - 6 * letter)) as usize & 63] as char });
        }
    }
    coded
}

fn from_base64(coded: &str) -> Option<Vec<u8>> {
    let letters: Vec<u8> = coded.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let plain = letters.strip_suffix(b"==").or(letters.strip_suffix(b"=")).unwrap_or(&letters);
    if !letters.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::new();
    for group in plain.chunks(4) {
        let mut bits = 0u32;
        for letter in group {
            bits = (bits << 6) | BASE64.iter().position(|one| one == letter)? as u32;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

fn hex(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(to_hex(bytes(arguments, 0)?).to_ascii_uppercase())
}

fn hex_number(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let rounded = number::integer_of_decimal(&decimal(arguments, 0)?).ok_or_else(|| number::out_of_range("bigint"))?;
    answer(format!("{:X}", rounded as u64))
}

fn unhex(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let digits = text(arguments, 0)?;
    let padded = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
    Ok(from_hex(&padded).map_or(Datum::Null, |bytes| Datum::Bytes(bytes.into())))
}

fn to_hex_number(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let value = integer(arguments, 0)?;
    let is_narrow = call.parameters.first() == Some(&crate::SqlType::INTEGER);
    answer(if is_narrow { format!("{:x}", value as u32) } else { format!("{:x}", value as u64) })
}

/// Words that an identifier in quotes must not be mistaken for.
const RESERVED: [&str; 24] = [
    "all", "and", "as", "case", "check", "column", "create", "default", "desc", "from", "group", "in", "limit", "not",
    "null", "or", "order", "select", "table", "to", "union", "user", "when", "where",
];

fn quoted_identifier(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    if starts_well && name.chars().all(plain) && !RESERVED.contains(&name) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted_literal(value: &str) -> String {
    let quoted = value.replace('\'', "''");
    if value.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

fn quote_identifier(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(quoted_identifier(text(arguments, 0)?))
}

fn quote_literal(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(quoted_literal(text(arguments, 0)?))
}

fn quote_any(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    answer(quoted_literal(&super::strings::printed(arguments, call, 0)))
}

fn quote_nullable(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match arguments.first() {
        None | Some(Datum::Null) => answer("NULL"),
        Some(_) => quote_any(arguments, call),
    }
}

/// `%s`, `%I`, `%L`, `%%` and places like `%1$s`; widths are refused.
fn format_text(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    if arguments.first().is_none_or(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let mut printed = String::new();
    let mut next = 1;
    let mut rest = text(arguments, 0)?;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        if letter != '%' {
            printed.push(letter);
            continue;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && rest[digits..].starts_with('$') {
            next = rest[..digits].parse().map_err(|_| invalid("format specifies a wrong argument"))?;
            rest = &rest[digits + 1..];
        }
        let form = rest.chars().next().ok_or_else(|| invalid("unterminated format() type specifier"))?;
        rest = &rest[form.len_utf8()..];
        if form == '%' {
            printed.push('%');
            continue;
        }
        if next == 0 || next >= arguments.len() {
            return Err(invalid("too few arguments for format()"));
        }
        printed.push_str(&formatted(form, arguments, call, next)?);
        next += 1;
    }
    answer(printed)
}

fn formatted(form: char, arguments: &[Datum], call: Invocation<'_>, place: usize) -> Result<String, SqlError> {
    let is_null = arguments[place].is_null();
    let value = super::strings::printed(arguments, call, place);
    match form {
        's' => Ok(value),
        'I' if is_null => Err(invalid("null values cannot be formatted as an SQL identifier")),
        'I' => Ok(quoted_identifier(&value)),
        'L' if is_null => Ok("NULL".to_owned()),
        'L' => Ok(quoted_literal(&value)),
        other => Err(invalid(format!("unrecognized format() type specifier \"{other}\""))),
    }
}
