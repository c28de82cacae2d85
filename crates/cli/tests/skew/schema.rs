//! JSON Schema as far as the book uses it: a value is of a schema, or why not.

use serde_json::Value;
use std::path::Path;

/// The schema with this title, from the book's page on JSON.
pub(crate) fn of_the_book(title: &str) -> Value {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/json.md");
    let text = std::fs::read_to_string(page).unwrap();
    let blocks = text.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let schemas = blocks.filter_map(|block| serde_json::from_str::<Value>(block).ok());
    schemas.into_iter().find(|schema| schema["title"] == title).unwrap_or_else(|| panic!("no schema of {title}"))
}

/// What is wrong with a value, each with its place.
pub(crate) fn mistakes(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let target = root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{name} is not there"));
        return mistakes(root, target, value, place);
    }
    let mut found = Vec::new();
    let is_of = |types: &[&Value]| types.iter().any(|name| is_a(value, name.as_str().unwrap()));
    let types: Vec<&Value> = match &schema["type"] {
        Value::Array(several) => several.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    };
    if !types.is_empty() && !is_of(&types) {
        found.push(format!("{place}: {value} is no {}", schema["type"]));
    }
    let allowed = schema["enum"].as_array();
    if allowed.is_some_and(|allowed| !allowed.contains(value)) || schema.get("const").is_some_and(|only| only != value)
    {
        found.push(format!("{place}: {value} is not allowed"));
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let tried: Vec<Vec<String>> = any.iter().map(|one| mistakes(root, one, value, place)).collect();
        if tried.iter().all(|mistakes| !mistakes.is_empty()) {
            found.extend(tried.into_iter().flatten());
        }
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(mistakes(root, &schema["items"], item, &format!("{place}/{number}")));
    }
    let Some(members) = value.as_object() else { return found };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    found.extend(required.filter(|name| !members.contains_key(*name)).map(|name| format!("{place}: no {name}")));
    for (name, member) in members {
        let place = format!("{place}/{name}");
        match (schema["properties"].get(name), schema.get("additionalProperties")) {
            (Some(known), _) | (None, Some(known)) => found.extend(mistakes(root, known, member, &place)),
            // What the book does not mention has been forgotten there.
            (None, None) if schema.get("properties").is_some() => found.push(format!("{place}: not in the book")),
            (None, None) => {}
        }
    }
    found
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}

#[test]
fn a_schema_refuses_what_it_does_not_describe() {
    let schema = of_the_book("skew predict");
    let wrong = serde_json::json!({"skew": 2, "predictions": [{"file": 7}], "more": 1});
    let found = mistakes(&schema, &schema, &wrong, "");
    for expected in ["/skew: 2 is not allowed", "/predictions/0/file: 7 is no", "/more: not in the book", "no error"] {
        assert!(found.iter().any(|mistake| mistake.contains(expected)), "{expected}: {found:?}");
    }
}
