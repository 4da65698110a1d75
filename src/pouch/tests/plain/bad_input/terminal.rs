//! Strings that would steer a terminal, forge a line or command a CI system, wherever somebody may write them.
//!
//! That no output holds a control character is checked with every run; here stand the places that
//! need a case of their own. A GitHub workflow command is a line that starts with `::`.
//! <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>

use crate::support::spoilt::{CANARY, Fleet, base64, each, plain};

/// Escape, bidirectional override, line feed and command, C1, zero width: as YAML and as JSON write them.
const HOSTILE: &str = "\\u001b[2J\\u202e\\n::error::x\\u009b\\u200b\\r";

#[track_caller]
fn run(name: &str, spoil: impl Fn(&Fleet)) {
    let fleet = Fleet::new();
    spoil(&fleet);
    let ran = fleet.render();
    eprintln!("--- {name}\n{}", ran.err);
    assert!(matches!(ran.code, Some(0 | 3 | 5 | 64)), "{}", ran.shown());
    assert_eq!(fleet.render_json().code, ran.code);
    assert_eq!(fleet.render_coloured().code, ran.code);
    for (path, bytes) in fleet.published() {
        let text = String::from_utf8(bytes).unwrap();
        let steers = text.chars().find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{200b}'..='\u{202e}'));
        assert_eq!(steers, None, "{name}: {path}");
        assert!(path.chars().all(|c| c.is_ascii_graphic()), "{name}: {path}");
        assert!(!text.contains("\n::"), "{name}: {path}");
    }
}

#[test]
fn hostile_words_in_objects() {
    let azure = |fleet: &Fleet, from: &str, to: &str| {
        let text = std::fs::read_to_string(fleet.path("manifests/good-azure.yaml")).unwrap();
        assert!(text.contains(from), "{from}");
        fleet.write("manifests/good-azure.yaml", text.replace(from, to));
    };
    let keep =
        |fleet: &Fleet| fleet.configure("regions:\n", "keepMetadata: {labels: ['*'], annotations: ['x*']}\nregions:\n");
    each(
        [
            ("a label's key", "namespace: team-a}\n", format!("namespace: team-a, labels: {{\"x{HOSTILE}\": a}}}}\n")),
            ("a label's value", "namespace: team-a}\n", format!("namespace: team-a, labels: {{x: \"{HOSTILE}\"}}}}\n")),
            (
                "a label of a wrong type",
                "namespace: team-a}\n",
                format!("namespace: team-a, labels: {{\"x{HOSTILE}\": 7}}}}\n"),
            ),
            (
                "an annotation's key",
                "namespace: team-a}\n",
                format!("namespace: team-a, annotations: {{\"x{HOSTILE}\": a}}}}\n"),
            ),
            (
                "an annotation's value",
                "namespace: team-a}\n",
                format!("namespace: team-a, annotations: {{x: \"{HOSTILE}\"}}}}\n"),
            ),
            (
                "an annotation of a wrong type",
                "namespace: team-a}\n",
                format!("namespace: team-a, annotations: {{\"x{HOSTILE}\": [7]}}}}\n"),
            ),
            ("a field", "clientID: 11111111-2222-3333-4444-555555555555", format!("clientID: \"{HOSTILE}\"")),
            ("an unknown field", "  tenantID:", format!("  \"{HOSTILE}\": a\n  tenantID:")),
            ("a namespace in a list", "list: [team-a]", format!("list: [team-a, \"{HOSTILE}\"]")),
            ("an entry's name", "stringData: {", format!("stringData: {{\"{HOSTILE}\": {CANARY}, ")),
            ("a Secret's type", "stringData: {", format!("type: \"{HOSTILE}\"\nstringData: {{")),
            ("a kind", "kind: AzureClusterIdentity\nmeta", format!("kind: \"{HOSTILE}\"\nmeta")),
            ("the kind of a reference", "kind: AzureClusterIdentity, ", format!("kind: \"{HOSTILE}\", ")),
            (
                "an apiVersion",
                "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind",
                format!("apiVersion: \"{HOSTILE}/{HOSTILE}\"\nkind"),
            ),
            (
                "the version of a reference",
                "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, ",
                format!("apiVersion: \"infrastructure.cluster.x-k8s.io/{HOSTILE}\", "),
            ),
            ("a region", "region: eu-west", format!("region: \"{HOSTILE}\"")),
            ("a name", "good-azure", format!("\"{HOSTILE}\"")),
            ("a namespace", "team-a", format!("\"{HOSTILE}\"")),
        ],
        |(name, from, to)| {
            run(name, |fleet| {
                keep(fleet);
                azure(fleet, from, &to);
            });
        },
    );
    let interface = format!(
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {{name: \"{HOSTILE}\"}}\nspec:\n  clusterIdentities:\n  - \
         {{group: infrastructure.cluster.x-k8s.io, version: \"{HOSTILE}\", kind: AzureClusterIdentity, references: [{{version: v1, kind: \"{HOSTILE}\", nameFieldPath: \"spec.{HOSTILE}\"}}]}}\n"
    );
    run("a ProviderInterface", |fleet| fleet.write("manifests/interface.yaml", &interface));
    let region = format!(
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Region\nmetadata: {{name: eu-west}}\nspec: {{providers: [{{name: \"{HOSTILE}\"}}]}}\nstatus: \"{HOSTILE}\"\n"
    );
    run("a Region", |fleet| fleet.write("manifests/region.yaml", &region));
    let token = format!("{}type: \"{HOSTILE}\"\ndata: {{a: {}}}\n", plain("team-b", "bad"), base64(b"x"));
    run("a second type", |fleet| fleet.write("manifests/bad.yaml", &token));
}

#[test]
fn hostile_words_in_the_configuration() {
    each(
        [
            ("the fleet", "{name: acme}", format!("{{name: \"{HOSTILE}\"}}")),
            ("a source", "name: tenant", format!("name: \"{HOSTILE}\"")),
            ("a path", "{path: tenant}", format!("{{path: \"{HOSTILE}\"}}")),
            ("a pattern", "{path: tenant}", format!("{{path: tenant, include: [\"{HOSTILE}\"]}}")),
            ("a region", "  eu-west:", format!("  \"{HOSTILE}\":")),
            ("a field", "    k0rdentPushDisabled: true", format!("    \"{HOSTILE}\": true")),
            ("a folder", "    k0rdentPushDisabled: true", format!("    directory: \"{HOSTILE}\"")),
            ("a recipient", "recipients: [", format!("recipients: [\"{HOSTILE}\", ")),
            (
                "a namespace",
                "{allowed: ['*']}",
                format!("{{allowed: ['*'], labels: {{team-a: {{\"{HOSTILE}\": \"{HOSTILE}\"}}}}}}"),
            ),
            ("a namespace's name", "{allowed: ['*']}", format!("{{allowed: [\"{HOSTILE}\"]}}")),
            ("the output", "{path: bundles}", format!("{{path: \"{HOSTILE}\"}}")),
            ("the reuse key's file", "{file: reuse.key}", format!("{{file: \"{HOSTILE}\"}}")),
            ("the reuse key's variable", "{file: reuse.key}", format!("{{env: \"{HOSTILE}\"}}")),
            (
                "the recipients' file",
                "recipients: [age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q]",
                format!("recipientsFile: \"{HOSTILE}\""),
            ),
            (
                "the delivery",
                "sourceRef: {kind: GitRepository, name: fleet}",
                format!("sourceRef: {{kind: GitRepository, name: \"{HOSTILE}\"}}"),
            ),
            ("a finding", "regions:\n", format!("findings: {{\"{HOSTILE}\": off}}\nregions:\n")),
            (
                "a repository",
                "directory: {path: tenant}",
                format!("git: {{repository: \"./{HOSTILE}\", ref: \"{HOSTILE}\"}}"),
            ),
        ],
        |(name, from, to)| {
            run(name, |fleet| fleet.configure(from, &to));
            let fleet = Fleet::new();
            fleet.configure(from, &to);
            assert!(matches!(fleet.run(&["config"]).code, Some(0 | 64)));
        },
    );
}
