//! Annotations that silence findings: what they hide, what they never hide, and that nothing published depends on them.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::fleet::{Fleet, Ran};
use crate::support::tool;

/// A fleet with one Credential whose Secret has this annotation and these entries.
fn annotated(annotation: &str, entries: &str) -> Fleet {
    let fleet = Fleet::with_credentials(1);
    write(&fleet, annotation, entries);
    fleet
}

fn write(fleet: &Fleet, annotation: &str, entries: &str) {
    let annotations = match annotation {
        "" => String::new(),
        text => format!(", annotations: {{pouch/silence: {}}}", serde_json::to_string(text).unwrap()),
    };
    let text = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: c0, namespace: eu-team{annotations}}}\nstringData: {{{entries}}}\n"
    );
    fleet.write("manifests/eu-c0-secret.yaml", text);
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran:?}"))
}

const MEANT: &str = "placeholder-value: a test account; null-entry: so is this";

#[test]
fn what_is_silenced_is_counted_and_told_with_its_reason() {
    let fleet = annotated("", "value: changeme, other: null");
    let told = fleet.run(&["check", "--deny", "warning"]).ends(7);
    assert!(told.stdout.ends_with("\n2 warnings\n") && !told.stderr.contains("silenced"), "{told:?}");
    fleet.render(&[]).ends(0).says("warning[placeholder-value]");
    let before = fleet.stamps("bundles");

    write(&fleet, MEANT, "value: changeme, other: null");
    let quiet = fleet.run(&["check", "--deny", "warning"]).ends(0);
    assert_eq!(quiet.stdout, "");
    let quiet = quiet.says("2 findings silenced by annotations; -v shows them\n").says("nothing found");
    assert!(!quiet.stderr.contains("placeholder"), "{quiet:?}");
    let all = fleet.run(&["check", "-v"]).ends(0).says("  = silenced: a test account\n");
    let all = all.says("  = silenced: so is this\n").says("warning[placeholder-value]: entry \"value\" holds");
    assert!(!all.stdout.contains("placeholder"), "{all:?}");
    assert_eq!(fleet.run(&["check", "-q"]).ends(0).stderr, "");
    // Nothing that is published depends on it.
    let rendered = fleet.render(&["--summary", "summary.json", "--metrics", "metrics.prom"]).ends(0);
    let rendered = rendered.says("2 findings silenced by annotations");
    assert!(!rendered.stderr.contains("warning["), "{rendered:?}");
    assert_eq!(before, fleet.stamps("bundles"));
    assert!(!fleet.read("metrics.prom").contains("placeholder-value"));

    let found = json(&fleet.run(&["check", "-o", "json"]).ends(0));
    let codes = |list: &str| -> Vec<String> {
        let codes = found[list].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap().to_owned());
        codes.filter(|code| code != "missing-companion").collect()
    };
    assert_eq!((codes("findings"), codes("silenced")), (vec![], vec!["placeholder-value".into(), "null-entry".into()]));
    assert_eq!(found["silenced"][0]["reason"].as_str(), Some("a test account"));
    let schema = include_str!("../../../../schemas/summary.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    assert!(schema.is_valid(&found));
    let lines = fleet.run(&["check", "-v", "--log-format", "json"]).ends(0).stderr;
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()) && lines.contains("a test account"));
    for format in ["github", "junit", "codequality"] {
        assert!(!fleet.run(&["check", "-v", "-o", format]).ends(0).stdout.contains("placeholder"), "{format}");
    }
}

/// Whoever reviews should see what somebody else left as it is.
#[test]
fn explanations_and_reviews_tell_what_is_silenced_apart() {
    let fleet = annotated(MEANT, "value: changeme, other: null");
    let told = fleet.run(&["explain", "eu-team/c0"]).ends(0).stdout;
    assert_eq!(told.matches("    = silenced: a test account\n").count(), 1, "{told}");
    assert_eq!(told.matches("warning[placeholder-value]").count(), 1, "{told}");
    assert!(told.contains("\n    --> manifests/eu-c0-secret.yaml:"), "{told}");
    let claim = &json(&fleet.run(&["explain", "eu-team/c0", "-o", "json"]).ends(0))["claims"][0];
    let codes = |list: &str| claim[list].to_string().matches("placeholder-value").count();
    assert_eq!((codes("findings"), codes("silenced")), (0, 1), "{claim}");
    assert_eq!(claim["silenced"][0]["reason"].as_str(), Some("a test account"));
    let comment = fleet.run(&["plan", "-o", "markdown"]).ends(0).stdout;
    assert!(comment.contains("#### 2 findings silenced by annotations"), "{comment}");
    assert!(comment.contains("  - silenced: `a test account`\n"), "{comment}");
    let place =
        "- **warning** `placeholder-value` for `Credential eu-team/c0, region eu` at `manifests/eu-c0-secret.yaml:";
    assert!(comment.contains(place), "{comment}");
    for command in [&["plan", "-o", "html"][..], &["explain", "eu-team/c0", "-o", "html"]] {
        let page = fleet.run(command).ends(0).stdout;
        assert!(page.contains("2 findings silenced by annotations</summary>"), "{command:?}");
        assert!(page.contains("<dd>placeholder-value, silenced: a test account</dd>"), "{command:?}");
    }
    // A reason is somebody's text.
    write(&fleet, "placeholder-value: <script>`x`\u{1b}[1m", "value: changeme");
    let page = fleet.run(&["plan", "-o", "html"]).ends(0).stdout;
    assert!(page.contains("silenced: &lt;script&gt;`x`") && !page.contains("<script"), "{page}");
    let comment = fleet.run(&["plan", "-o", "markdown"]).ends(0).stdout;
    assert!(comment.contains("  - silenced: ``<script>`x`"), "{comment}");
    assert!(!page.contains('\u{1b}') && !comment.contains('\u{1b}'));
}

#[test]
fn sarif_has_what_is_silenced_as_suppressed() {
    let fleet = annotated("placeholder-value: a \u{1b}[1mtest", "value: changeme, other: null");
    let ran = fleet.run(&["check", "-o", "sarif", "--deny", "none"]).ends(0);
    let log = json(&ran);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{log:#}");
    for result in results {
        let suppressions = result["suppressions"].as_array().unwrap();
        match result["ruleId"].as_str() {
            Some("placeholder-value") => {
                assert_eq!(suppressions[0]["kind"].as_str(), Some("inSource"));
                assert_eq!(suppressions[0]["justification"].as_str(), Some("a \\u{1b}[1mtest"));
            }
            _ => assert!(suppressions.is_empty(), "{result:#}"),
        }
    }
    let Some(checker) = tool("sarif-check") else { return };
    let mut child = Command::new(checker).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), ran.stdout.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_silence_hides_nothing_that_matters_to_others() {
    // Neither what is refused, broken or held, nor what the configuration makes an error.
    let all = "missing-reference: x\nnot-admitted: x\ndeletions-held: x\nunparsable-document: x\nplaintext-secret: x";
    let fleet = annotated(all, "value: fine");
    let told = fleet.run(&["check"]).ends(0).stdout;
    assert_eq!(told.matches("warning[invalid-silence]").count(), 5, "{told}");
    assert!(told.contains("names missing-reference, which no annotation silences"), "{told}");
    let fleet = annotated("missing-reference: x", "value: fine");
    let silent = "namespace: eu-team, annotations: {pouch/silence: 'missing-reference: x'}}";
    fleet.edit("manifests/eu-c0.yaml", "namespace: eu-team}", silent);
    fleet.edit("manifests/eu-c0.yaml", "kind: Secret, name: c0", "kind: Secret, name: gone");
    assert!(fleet.run(&["check"]).ends(7).stdout.contains("error[missing-reference]"));
    let fleet = annotated("placeholder-value: x", "value: changeme");
    fleet.configure("reuseKey:", "findings: {placeholder-value: error}\nreuseKey:");
    let told = fleet.run(&["check"]).ends(7).stdout;
    assert!(told.contains("error[placeholder-value]"), "{told}");
    assert!(told.contains("names placeholder-value, which the configuration makes an error"), "{told}");
    // Nor anything about another object, whether in the same file or of the same Credential.
    let fleet = annotated("", "value: changeme");
    let credential = fleet.read("manifests/eu-c0.yaml");
    let silent = ", annotations: {pouch/silence: 'placeholder-value: x'}}";
    let on_credential = credential.replacen("namespace: eu-team}", &format!("namespace: eu-team{silent}"), 1);
    assert_ne!(credential, on_credential);
    let secret = fleet.read("manifests/eu-c0-secret.yaml");
    fleet.write("manifests/eu-c0.yaml", format!("{on_credential}---\n{secret}"));
    fleet.remove("manifests/eu-c0-secret.yaml");
    let told = fleet.run(&["check", "-v"]).ends(0);
    assert!(told.stdout.contains("warning[placeholder-value]"), "{told:?}");
    assert!(told.stdout.contains("info[unused-silence]") && !told.stderr.contains("silenced"), "{told:?}");
}

#[test]
fn a_credential_silences_what_is_found_of_its_own_fields() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("delivery: flux}", "delivery: flux, state: retired}");
    let told = fleet.run(&["check", "-v"]).ends(0);
    assert!(told.stdout.contains("info[region-retired]"), "{told:?}");
    let silent = "namespace: eu-team, annotations: {pouch/silence: 'region-retired: it moves next week'}}";
    fleet.edit("manifests/eu-c0.yaml", "namespace: eu-team}", silent);
    let told = fleet.run(&["check", "-v"]).ends(0).says("  = silenced: it moves next week\n");
    assert!(!told.stdout.contains("info[region-retired]"), "{told:?}");
}

#[test]
fn a_credential_that_is_handed_out_silences_for_all_who_have_it() {
    let fleet = Fleet::new();
    fleet.write(
        "manifests/shared.yaml",
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: AccessManagement\nmetadata: {name: kcm}\n\
         spec: {accessRules: [{credentials: [aws], targetNamespaces: {list: [eu-team]}}]}\n---\n\
         apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n\
         metadata: {name: aws, namespace: kcm-system, annotations: {pouch/silence: 'missing-companion: none is wanted'}}\n\
         spec: {region: eu, identityRef: {apiVersion: v1, kind: Secret, name: aws, namespace: kcm-system}}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {name: aws, namespace: kcm-system}\nstringData: {value: x}\n",
    );
    let told = fleet.run(&["check", "-v"]).ends(0).says("= Credential eu-team/aws, region eu\n");
    assert!(told.stderr.contains("= Credential kcm-system/aws, region eu\n"), "{told:?}");
    assert!(!told.stdout.contains("missing-companion") && !told.stdout.contains("unused-silence"), "{told:?}");
}

#[test]
fn what_cannot_be_used_is_told_where_it_stands() {
    for (annotation, message, help) in [
        ("placeholder-value", "gives no reason for placeholder-value", "Write `placeholder-value: REASON`"),
        ("placeholder-valeu: x", "names placeholder-valeu, which is no code", "Did you mean placeholder-value?"),
        ("a \u{1b}[31mred: x", "has a part that does not begin with a code", "Write `CODE: REASON`"),
        (" ", "says nothing", "Write `CODE: REASON`"),
    ] {
        let fleet = annotated(annotation, "value: changeme");
        let told = fleet.run(&["check"]).ends(0).stdout;
        assert!(
            told.contains("warning[invalid-silence]: the annotation pouch/silence of Secret eu-team/c0 "),
            "{told}"
        );
        assert!(told.contains(message) && told.contains(help) && !told.contains('\u{1b}'), "{annotation}: {told}");
        assert!(told.contains("--> manifests/eu-c0-secret.yaml:1:1\n"), "{told}");
        assert!(told.contains("warning[placeholder-value]"), "{told}");
    }
    // What is no text says nothing, and breaks nothing.
    let fleet = Fleet::with_credentials(1);
    fleet.edit(
        "manifests/eu-c0-secret.yaml",
        "namespace: eu-team}",
        "namespace: eu-team, annotations: {pouch/silence: [x]}}",
    );
    assert!(fleet.run(&["check"]).ends(0).stdout.contains("c0 says nothing\n"));
}

#[test]
fn a_silence_without_use_is_told_by_check_alone() {
    let fleet = annotated(MEANT, "value: changeme");
    let told = fleet.run(&["check", "-v"]).ends(0).says("1 finding silenced by annotations\n");
    let words = "info[unused-silence]: the annotation pouch/silence of Secret eu-team/c0 names null-entry, and nothing";
    assert!(told.stdout.contains(words) && told.stdout.matches("[unused-silence]").count() == 1, "{told:?}");
    let blind = fleet.run(&["check", "-v", "--no-values"]).ends(0);
    assert!(!blind.stdout.contains("unused-silence"), "{blind:?}");
    let planned = fleet.run(&["plan", "-v"]).ends(0);
    assert!(!planned.stderr.contains("unused-silence"), "{planned:?}");
    fleet.configure("reuseKey:", "findings: {unused-silence: warning}\nreuseKey:");
    fleet.run(&["check", "--deny", "warning"]).ends(7);
}

#[test]
fn the_annotation_is_never_published() {
    let fleet = annotated("placeholder-value: nobody-reads-this", "value: changeme");
    fleet.configure("reuseKey:", "keepMetadata: {annotations: ['pouch/*', 'example.com/*']}\nreuseKey:");
    fleet.edit("manifests/eu-c0-secret.yaml", "{pouch/silence", "{example.com/kept: kept-one, pouch/silence");
    fleet.render(&[]).ends(0).says("1 finding silenced");
    let published: Vec<String> =
        fleet.tree("bundles").into_values().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    let has = |text: &str| published.iter().any(|file| file.contains(text));
    assert!(has("kept-one") && !has("nobody-reads-this") && !has("pouch/silence"));
    // Copies that differ in nothing else are one object.
    let text = fleet.read("manifests/eu-c0-secret.yaml").replace("nobody-reads-this", "something else");
    fleet.write("manifests/again.yaml", text);
    fleet.run(&["check"]).ends(0).says("1 finding silenced");
}
