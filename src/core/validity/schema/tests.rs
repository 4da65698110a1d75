//! Tests of schemas.

use alloc::string::ToString as _;

use super::*;
use crate::finding::Fault;
use crate::testing::{node, object, yaml};

fn schema(of_spec: &str) -> Schema {
    let text = format!("{{schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {of_spec}}}}}}}}}");
    Schema::read(&node(&yaml(&text))).unwrap()
}

fn said(schema: &Schema, fields: &str) -> Vec<alloc::string::String> {
    let object = object(&format!("{{apiVersion: x.io/v1, kind: AcmeIdentity, metadata: {{name: a}}, {fields}}}"));
    let faults: Vec<Fault> = schema.check(&object);
    faults.into_iter().map(|fault| fault.message.to_string()).collect()
}

/// Holds the field `f` of a `spec` to its schema.
#[track_caller]
fn check(of_field: &str, value: &str, expect: &[&str]) {
    let schema = schema(&format!("{{type: object, properties: {{f: {of_field}}}}}"));
    assert_eq!(said(&schema, &format!("spec: {{f: {value}}}")), expect, "{of_field}: {value}");
}

#[test]
fn types_are_told_apart() {
    for (of, good, bad) in [
        (
            "string",
            vec!["x", "''"],
            vec![("1", "an integer"), ("{}", "a map"), ("[]", "a list"), ("true", "a boolean")],
        ),
        ("integer", vec!["1", "-1", "9223372036854775807", "2.0", "1e10"], vec![("'1'", "text"), ("1.5", "a number")]),
        ("number", vec!["1", "1.5"], vec![("'1'", "text"), ("false", "a boolean")]),
        ("boolean", vec!["true"], vec![("'true'", "text"), ("1", "an integer")]),
        ("object", vec!["{}", "{a: b}"], vec![("[]", "a list"), ("x", "text")]),
        ("array", vec!["[]", "[1]"], vec![("{}", "a map"), ("x", "text")]),
    ] {
        let wanted = schema(&format!("{{type: {of}}}")).field("spec").map(|schema| schema.of).unwrap();
        let wanted = match wanted {
            Type::Map => "a map",
            Type::List => "a list",
            Type::Text => "text",
            Type::Int { .. } => "an integer",
            Type::Number => "a number",
            Type::Bool => "a boolean",
            Type::Any | Type::IntOrText => "",
        };
        for value in good {
            check(&format!("{{type: {of}}}"), value, &[]);
        }
        for (value, is) in bad {
            check(&format!("{{type: {of}}}"), value, &[&format!("spec.f is {is}, not {wanted}")]);
        }
    }
    check("{x-kubernetes-int-or-string: true}", "5", &[]);
    check("{x-kubernetes-int-or-string: true}", "50%", &[]);
    check("{x-kubernetes-int-or-string: true}", "[]", &["spec.f is a list, not an integer or text"]);
}

#[test]
fn maps_have_the_fields_that_they_have() {
    let of = "{type: object, required: [name], properties: {name: {type: string}, other: {type: integer}}}";
    check(of, "{name: a}", &[]);
    check(of, "{}", &["spec.f.name is missing"]);
    check(of, "{name: null}", &["spec.f.name is missing"]);
    check(of, "{name: a, other: null}", &[]);
    check(of, "{nam: a}", &["spec.f has no field \"nam\" in AcmeIdentity", "spec.f.name is missing"]);
    check(of, "{name: a, unknown: null}", &[]);
    let open = "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {name: {type: string}}}";
    check(open, "{any: {thing: 1}}", &[]);
    check(open, "{name: 1}", &["spec.f.name is an integer, not text"]);
    check("{type: object, additionalProperties: {type: string}}", "{a.b/c: d, e: null}", &[]);
    check(
        "{type: object, additionalProperties: {type: string}}",
        "{a.b/c: 1}",
        &["spec.f.\"a.b/c\" is an integer, not text"],
    );
    check("{type: object, additionalProperties: true}", "{a: [1]}", &[]);
    check("{type: object}", "{a: [1]}", &[]);
    check("{type: object, minProperties: 1}", "{a: null}", &["spec.f has fewer than 1 field"]);
    check("{type: object, maxProperties: 1}", "{a: 1, b: 2}", &["spec.f has more than 1 field"]);
    let filled = "{type: object, required: [a], properties: {a: {type: string, default: x}}}";
    check(filled, "{}", &[]);
}

#[test]
fn values_are_within_their_bounds() {
    check("{type: string, minLength: 1}", "''", &["spec.f is empty"]);
    check("{type: string, minLength: 2}", "é", &["spec.f has fewer than 2 characters"]);
    check("{type: string, maxLength: 2}", "éé", &[]);
    check("{type: string, maxLength: 2}", "abc", &["spec.f has more than 2 characters"]);
    check("{type: string, enum: [a, b]}", "a", &[]);
    check("{type: string, enum: [a, b]}", "CANARY", &["spec.f is not one of a, b"]);
    check("{type: string, pattern: '^[a-z]+$'}", "abc", &[]);
    check(
        "{type: string, pattern: '^[a-z]+$'}",
        "CANARY",
        &["spec.f is not of the form that its CustomResourceDefinition wants"],
    );
    check("{type: integer, minimum: 900, maximum: 43200}", "900", &[]);
    let beyond = &["spec.f is a number beyond the bounds of the field"][..];
    for (of, value, expect) in [
        ("{type: integer, minimum: 900}", "899", beyond),
        ("{type: integer, maximum: 43200}", "43201", beyond),
        ("{type: number, maximum: 43200}", "18446744073709551615", beyond),
        ("{type: integer, minimum: 1, exclusiveMinimum: true}", "1", beyond),
        ("{type: integer, minimum: 1, exclusiveMinimum: true}", "2", &[]),
        ("{type: number, maximum: 1.5}", "1.5", &[]),
        ("{type: number, maximum: 1.5}", "2", beyond),
        ("{type: number, minimum: -1}", "-1.5", beyond),
        ("{type: integer, format: int32}", "2147483647", &[]),
        ("{type: integer, format: int32}", "2147483648", beyond),
        ("{type: integer, format: int32}", "1e10", beyond),
        ("{type: integer}", "1e19", beyond),
        ("{type: integer}", "18446744073709551615", beyond),
        ("{type: integer, format: int32}", "-3e9", beyond),
        ("{type: integer, format: int64}", "2147483648", &[]),
    ] {
        check(of, value, expect);
    }
}

#[test]
fn lists_have_the_items_that_they_have() {
    let of = "{type: array, minItems: 1, maxItems: 2, items: {type: string}}";
    check(of, "[a]", &[]);
    check(of, "[]", &["spec.f has fewer than 1 item"]);
    check(of, "[a, b, c]", &["spec.f has more than 2 items"]);
    check(of, "[a, null]", &["spec.f[1] is null, not text"]);
    check(of, "[a, 1]", &["spec.f[1] is an integer, not text"]);
    check("{type: array, items: {type: string, nullable: true}}", "[a, null]", &[]);
    check(
        "{type: array, x-kubernetes-list-type: set, items: {type: string}}",
        "[a, b, a]",
        &["spec.f[2] is there already"],
    );
    check("{type: array, x-kubernetes-list-type: atomic, items: {type: string}}", "[a, b, a]", &[]);
    let by_name = "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, \
                   properties: {name: {type: string}, x: {type: string}}}}";
    check(by_name, "[{name: a, x: b}, {name: b, x: b}]", &[]);
    check(by_name, "[{name: a}, {name: a, x: b}]", &["spec.f[1] is there already"]);
}

#[test]
fn an_object_has_the_spec_that_its_kind_has() {
    let read = |root: &str| Schema::read(&node(&yaml(&format!("{{schema: {{openAPIV3Schema: {root}}}}}")))).unwrap();
    let needed = read("{type: object, required: [spec, metadata, kind], properties: {spec: {type: object}}}");
    assert_eq!(said(&needed, "spec: {}"), [""; 0]);
    assert_eq!(said(&needed, "status: {}"), ["spec is missing"]);
    assert_eq!(said(&needed, "spec: null"), ["spec is missing"]);
    let other = read("{type: object, required: [data], properties: {data: {type: object}}}");
    assert_eq!(said(&other, "data: {}"), ["data is missing"]);
    assert_eq!(said(&other, "spec: {}"), ["AcmeIdentity has no field spec", "data is missing"]);
    assert_eq!(said(&read("{type: object}"), "spec: {a: 1}"), [""; 0]);
    assert!(Schema::read(&node(&yaml("{name: v1}"))).is_none());
}

/// What is not read of a schema refuses nothing, however much else a server makes of it.
#[test]
fn unknown_words_of_a_schema_refuse_nothing() {
    for of in [
        "{}",
        "{type: string, format: date-time}",
        "{type: string, pattern: '(?=a)'}",
        "{type: string, minLength: many, maxLength: -1}",
        "{type: string, x-kubernetes-validations: [{rule: 'false'}]}",
        "{type: string, oneOf: [{pattern: '^a$'}, {pattern: '^b$'}], not: {enum: [x]}}",
        "{type: thing, properties: [], required: x, enum: {}, items: 1}",
    ] {
        check(of, "x", &[]);
    }
}
