use super::*;
use crate::survey::source::tests::{all, summary};

fn parse(form: Form, bytes: &[u8]) -> Reading {
    let meter = Meter::new(all());
    read(&Text::new((&"s".into(), &Arc::from("f")), (form, bytes), &meter), &mut Reader::new())
}

#[track_caller]
fn check(input: &str, expect: &str) {
    assert_eq!(summary(&parse(Form::Yaml, input.as_bytes())), expect, "{input}");
}

#[test]
fn objects_are_taken_and_the_rest_is_passed_over_or_refused() {
    for empty in ["", "\0", "\0\0\0"] {
        check(empty, "unparsable-document f:1:1\nincomplete\n");
    }
    check("# nothing\n---\n", "");
    check("replicas: 1\n---\nkind: DaemonSet\n---\n- a\n", "skipped 3\n");
    check("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n", "skipped 1\n");
    check("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n", "Kustomization - f:1:1\n");
    check("apiVersion: pouch/v1alpha1\nkind: Fleet\n", "skipped 1\n");
    check("apiVersion: fleet.cattle.io/v1\nkind: Fleet\n", "Fleet - f:1:1\n");
    check("kind: true\n", "skipped 1\n");
    let broken = [
        "apiVersion: v1\nkind: 1\n",
        "apiVersion: 1\nkind: Secret\n",
        "kind: Secret\nmetadata: {name: CANARY}\n",
        "apiVersion: v1\nkind: null\nmetadata: {name: CANARY}\n",
        "- {apiVersion: v1, kind: Secret, data: CANARY}\n",
        "CANARY was not found\n",
        "<html>CANARY</html>\n",
    ];
    for broken in broken {
        check(broken, "unparsable-document f:1:1\nincomplete\n");
    }
}

/// One person's file must not keep everybody's run: for each of these, all lines of the file were counted.
#[test]
fn tens_of_thousands_of_broken_documents_are_no_trouble() {
    let text = "kind: A\nn: {a: 1, a: 2}\n---\n".repeat(40_000);
    let reading = parse(Form::Yaml, text.as_bytes());
    assert_eq!((reading.findings.len(), reading.documents.len(), reading.unread_words.len()), (1_001, 0, 40_000));
    assert_eq!(reading.findings[1_000].message, "f has more faults than are told");
    assert!(reading.findings[1_000].help.starts_with("39000 faults are left out."), "{:?}", reading.findings[1_000]);
    let is_last =
        |finding: &Finding| finding.origin.as_ref().and_then(Origin::position).is_some_and(|at| at.1 > 119_990);
    assert!(is_last(&reading.findings[999]), "{:?}", reading.findings[999]);
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{}", "- {metadata: 1}\n".repeat(4_000));
    let reading = parse(Form::Yaml, list.as_bytes());
    assert_eq!((reading.findings.len(), reading.unread_words.len()), (1_001, 4_000));
}

#[test]
fn what_does_not_parse_is_reported_where_it_stands_and_not_quoted() {
    let first = "apiVersion: v1\nkind: A\n---\n";
    for bad in ["a: 1\na: CANARY\n", "a: [CANARY\n", "\tx: CANARY: y: [\n"] {
        let reading = parse(Form::Yaml, format!("{first}{bad}---\napiVersion: v1\nkind: B\n").as_bytes());
        let text = summary(&reading);
        assert!(
            text.ends_with("incomplete\n") && reading.documents.len() == 2 && text.contains("unparsable-document f:"),
            "{text}"
        );
        assert!(!text.contains("unparsable-document f:1:"), "{text}");
    }
    for bytes in [&b"a: \xff\n"[..], b"a: \0\n", b"\xfe\xff\0a"] {
        let reading = parse(Form::Yaml, bytes);
        assert!(reading.torn.contains("f") && reading.findings.len() == 1 && reading.documents.is_empty());
    }
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    assert_eq!(summary(&parse(Form::Yaml, pointer)), "refused-file f:1:1\nincomplete\n");
}

/// The finding in a text, with its place; and the place that is noted for a fault of an object in it.
fn told(text: &str) -> String {
    let reading = parse(Form::Yaml, text.as_bytes());
    let found = reading.findings.iter().map(|finding| {
        let (_, line, column) = finding.origin.as_ref().and_then(Origin::position).unwrap();
        format!("{line}:{column} {}", finding.message)
    });
    let noted = reading.lines.values().map(|note| format!("{}:{} {}", note.line, note.column, note.message));
    found.chain(noted).collect::<Vec<_>>().join("; ")
}

/// Nobody sees it, and to YAML it is a letter.
#[test]
fn a_no_break_space_is_called_that_where_it_stands() {
    const BLANK: &str = "there is a no-break space (U+00A0) where a blank should be";
    let credential = "# head\napiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata:\n  name: web\n  \
                      namespace: team-a\nspec:\n  region: eu\n  identityRef:\n    name: web\n";
    assert_eq!(told(credential), "");
    for (from, to, expect) in [
        // The document cannot be read.
        ("kind: C", "kind:\u{a0}C", format!("3:6 {BLANK}")),
        ("  name: web\n  n", "\u{a0}\u{a0}name: web\n  n", format!("5:1 {BLANK}")),
        ("namespace: t", "namespace:\u{a0}t", format!("6:13 {BLANK}")),
        ("spec:", "spec:\u{a0}", format!("7:6 {BLANK}")),
        // It can, and is no object.
        ("  name: web\n  namespace", "\u{a0}\u{a0}name: web\n\u{a0} namespace", format!("5:1 {BLANK}")),
        ("kind: C", "kind\u{a0}: C", format!("3:5 {BLANK}")),
        // It is one, and a field is unknown.
        ("region: eu", "region\u{a0}: eu", format!("8:9 {BLANK}")),
        (
            "    name",
            "\u{a0}\u{a0}  name",
            format!("10:1 the Credential has no field \"\\u{{a0}}\\u{{a0}}  name\": {BLANK}"),
        ),
        // Another fault, and one that stands before it.
        ("kind: C", "kind: C: d", "3:8 a colon is not allowed here; text that contains `: ` needs quotes".into()),
        (
            "web\n  namespace: t",
            "w: eb\n  namespace:\u{a0}t",
            "5:10 a colon is not allowed here; text that contains `: ` needs quotes".into(),
        ),
        // It does no harm.
        ("# head", "# he\u{a0}ad", String::new()),
    ] {
        assert!(credential.contains(from), "{from}");
        let said = told(&credential.replacen(from, to, 1));
        assert!(said.starts_with(&expect) && (said.is_empty() == expect.is_empty()), "{to:?}: {said}");
    }
    // Its fault is told in the object itself, in these words.
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData:\n  a:\u{a0}b\n";
    assert_eq!(told(secret), format!("5:5 {BLANK}"));
}

#[test]
fn lists_are_taken_apart() {
    let list =
        |metadata: &str, items: &str| format!("apiVersion: v1\nkind: List\nmetadata: {metadata}\nitems: {items}\n");
    let item = "{apiVersion: v1, kind: Secret, metadata: {name: a}}";
    check(&list("{}", "[]"), "");
    check(&list("{}", "null"), "");
    check(
        &list("{resourceVersion: \"\", continue: \"\"}", &format!("[{item}, {item}]")),
        "Secret a f:1:1\nSecret a f:1:1\n",
    );
    check(&list("{continue: CANARY}", &format!("[{item}]")), "Secret a f:1:1\nunparsable-document f:1:1\nincomplete\n");
    check(&list("{remainingItemCount: 3}", "[]"), "unparsable-document f:1:1\nincomplete\n");
    check(&list("{}", &format!("[{{apiVersion: v1, kind: List, items: [{item}]}}]")), "Secret a f:1:1\n");
    check(
        "apiVersion: v1\nkind: SecretList\nitems: [{metadata: {name: a}}, {kind: null, metadata: {name: b}}]\n",
        "Secret a f:1:1\nSecret b f:1:1\n",
    );
    check("apiVersion: a.b/v1\nkind: AllowList\nmetadata: {name: x}\nitems: [1]\n", "AllowList x f:1:1\n");
    check("apiVersion: a.b/v1\nkind: AllowList\nspec: {}\n", "AllowList - f:1:1\n");
    for broken in [
        "items: {}",
        "x: 1",
        "items: [CANARY]",
        "items: [{metadata: {name: CANARY}}]",
        "items: [{apiVersion: [], kind: x}]",
    ] {
        check(&format!("apiVersion: v1\nkind: List\n{broken}\n"), "unparsable-document f:1:1\nincomplete\n");
    }
    check(
        &format!(
            "apiVersion: v1\nkind: List\nitems:\n- {item}\n- apiVersion: v1\n  kind: Secret\n  metadata: {{name: b}}\n- x\n"
        ),
        "Secret a f:4:1\nSecret b f:5:1\nunparsable-document f:8:1\nincomplete\n",
    );
    for nested in [item.to_owned(), format!("{{apiVersion: v1, kind: List, x: 1, items: [{item}]}}")] {
        let x = if nested == item { "x: 1\n" } else { "" };
        let list = format!("apiVersion: v1\nkind: List\nitems: [{nested}]\n{x}");
        check(&list, &format!("unparsable-document f:{}:1\nincomplete\n", if x.is_empty() { 1 } else { 4 }));
    }
    let deep = (0..9).fold(item.to_owned(), |inner, _| format!("{{apiVersion: v1, kind: List, items: [{inner}]}}"));
    check(&deep, "unparsable-document f:1:1\nincomplete\n");
}

#[test]
fn json_values_stand_one_after_the_other() {
    let table = [
        ("", "unparsable-document f:1:1\nincomplete\n"),
        ("{\"a\":1}", "skipped 1\n"),
        ("\u{feff}{\"apiVersion\":\"v1\",\"kind\":\"A\"}", "A - f:1:2\n"),
        ("{} {\"apiVersion\":\"v1\",\"kind\":\"A\"}\n{\"x\":\"}\\\"{\"}", "A - f:1:1\nskipped 2\n"),
    ];
    for (input, expect) in table {
        let expect = expect.replace("f:1:2", "f:1:1");
        assert_eq!(summary(&parse(Form::Json, input.as_bytes())), expect, "{input}");
    }
    for bad in ["{\"a\": CANARY}", "{\"a\":1,\"a\":2}", "}{", "{é", "{\"a\": [}"] {
        let text = summary(&parse(Form::Json, bad.as_bytes()));
        assert!(text.ends_with("incomplete\n") && text.contains("unparsable-document f:1:"), "{bad}");
    }
    let placed: Vec<(u32, u32)> = values("{}\n  [1] {\n}").iter().map(|v| (v.line, v.column)).collect();
    assert_eq!(placed, [(1, 1), (2, 3), (2, 7)]);
    let flaw = |line, column| Flaw { line, column, what: Default::default() };
    let value = Value { text: "", start: 0, line: 2, column: 7 };
    assert_eq!((value.place(flaw(1, 1)), value.place(flaw(2, 1))), (flaw(2, 7), flaw(3, 1)));
}

#[test]
fn long_files_keep_their_order() {
    let many: Vec<String> = (0..5000).map(|n| format!("apiVersion: v1\nkind: K{n}\n")).collect();
    let reading = parse(Form::Yaml, many.join("---\n").as_bytes());
    let kinds: Vec<_> = reading.documents.iter().map(|(node, _)| node.str_at(&["kind"]).unwrap().to_owned()).collect();
    assert_eq!(kinds, (0..5000).map(|n| format!("K{n}")).collect::<Vec<_>>());
    assert_eq!(reading.documents.last().unwrap().1.to_string(), format!("f:{}:1", 4999 * 3 + 1));
    assert!(reading.complete);
}

#[test]
fn a_conflict_that_was_not_resolved_is_called_that() {
    let conflict = "<<<<<<< HEAD\n  name: a\n=======\n  name: b\n>>>>>>> theirs\n";
    let text = format!("apiVersion: v1\nkind: Secret\nmetadata:\n  namespace: x\n{conflict}");
    let of = |text: &str| parse(Form::Yaml, text.as_bytes()).findings.remove(0);
    let found = of(&format!("---\n# one\n---\n{text}type: Opaque\n"));
    assert!(found.message.starts_with("there is a merge conflict here"), "{found:?}");
    assert!(found.origin.unwrap().to_string().starts_with("f:8:1"), "at its first line");
    // The control: what is broken by something else.
    let found = of(&text.replace("<<<<<<< HEAD", "<<<< HEAD").replace(">>>>>>> theirs", ""));
    assert!(!found.message.contains("conflict"), "{found:?}");
}
