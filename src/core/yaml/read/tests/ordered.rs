//! Documents that SOPS sealed, in their order.

use super::*;
use core::fmt::Write as _;

fn show(value: &Node, out: &mut String) {
    match value {
        Node::Null => out.push('~'),
        Node::Bool(value) => _ = write!(out, "{value}"),
        Node::Int(value) => _ = write!(out, "{value}"),
        Node::Uint(value) => _ = write!(out, "u{value}"),
        Node::Float(value) => _ = write!(out, "f{value}"),
        Node::Time(value) => _ = write!(out, "@{value}"),
        Node::Text(text) => _ = write!(out, "{text:?}"),
        Node::List(items) => {
            out.push('[');
            for item in items {
                show(item, out);
                out.push(' ');
            }
            out.push(']');
        }
        Node::Map(_) => out.push_str("a sorted map"),
        Node::InOrder(entries) => {
            out.push('{');
            for (key, value) in entries {
                _ = write!(out, "{key}:");
                show(value, out);
                out.push(' ');
            }
            out.push('}');
        }
    }
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let mut shown = String::new();
    match read_ordered(&Document::whole(text), &mut Interner::new()) {
        Ok(value) => show(&value, &mut shown),
        Err(flaw) => {
            assert!(!flaw.what.contains("CANARY"));
            _ = write!(shown, "{}:{} {}", flaw.line, flaw.column, flaw.what);
        }
    }
    assert_eq!(shown, expect, "{text}");
}

#[test]
fn order_and_types_are_those_of_sops() {
    check("", "~");
    check("b: 1\na: {z: ~, y: }\n", "{b:1 a:{z:~ y:~ } }");
    check("[yes, no, on, True, FALSE, y]", r#"["yes" "no" "on" true false "y" ]"#);
    check("[017, 0o17, 1_000, -0x1f, 08]", "[15 15 1000 -31 f8 ]");
    check("[1.50, .5, .5_0, 1e3, 18446744073709551615]", r#"[f1.5 f0.5 ".5_0" f1000 u18446744073709551615 ]"#);
    check("[2024-01-02, \"2024-01-02\", 'yes', ! 1]", r#"[@2024-01-02T00:00:00Z "2024-01-02" "yes" "1" ]"#);
    check("a: |\n  x\n  y\nb: >-\n  x\n  y\n", r#"{a:"x\ny\n" b:"x y" }"#);
    check("# no\na: 1 # no\n", "{a:1 }");
    check("\"<<\": 1\nyes: 2\n", "{<<:1 yes:2 }");
}

#[test]
fn what_sops_does_not_write_is_refused() {
    for (text, expect) in [
        ("a: &x CANARY\nb: *x\n", "1:7 there is an alias, an anchor or a tag here, which SOPS does not write"),
        ("a: !!str 1\n", "1:10 there is an alias, an anchor or a tag here, which SOPS does not write"),
        ("a: CANARY\na: 2\n", "2:1 this key is here for the second time"),
        ("x: {a: CANARY, a: 2}\n", "1:16 this key is here for the second time"),
        ("<<: {a: 1}\n", "1:1 there is a merge key here, which SOPS does not write"),
        ("a: .inf\n", "1:4 a number must be finite; put it in quotes if it is text"),
        ("2024-01-02: CANARY\n", "1:1 a key must be text; put it in quotes"),
        ("1: CANARY\n", "1:1 a key must be text; put it in quotes"),
        ("? [a]\n: CANARY\n", "1:3 a key must be text; put it in quotes"),
    ] {
        check(text, expect);
    }
    check(&"[".repeat(1000), "1:130 lists and maps are nested too deeply here");
}
