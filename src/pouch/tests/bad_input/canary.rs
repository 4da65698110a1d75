//! A canary in every place where a careless writer puts a secret, and a search of every byte that comes out.

use crate::fleet::{CANARY, Fleet, base64, plain, sings};

const OPEN: &str = "11111111-2222-3333-4444-555555555555";

/// Where a canary is planted: what to replace in the manifests of the good fleet, and with what.
fn places() -> Vec<(&'static str, String, String)> {
    let mut places = Vec::new();
    let meta = |name: &str| format!("metadata: {{name: {name}");
    for (what, object) in [
        ("the Credential", "good-azure, namespace: team-a}\nspec:\n  region"),
        ("the identity", "good-azure, namespace: team-a}\nspec:\n  type"),
        ("the Secret", "good-azure-secret, namespace: team-a}"),
        ("the cluster-scoped identity", "good-aws}"),
        ("the Secret in the system namespace", "good-aws-secret, namespace: kcm-system}"),
    ] {
        let from = format!("metadata: {{name: {object}");
        let into = |more: &str| from.replacen('}', &format!(", {more}}}"), 1);
        for more in [
            format!("labels: {{note: {CANARY}}}"),
            format!("annotations: {{note: {CANARY}}}"),
            format!(
                "annotations: {{kubectl.kubernetes.io/last-applied-configuration: '{{\"data\":{{\"v\":\"{}\"}}}}'}}",
                base64(CANARY.as_bytes())
            ),
            format!("annotations: {{kapp.k14s.io/original: '{CANARY}'}}"),
            format!("annotations: {{argocd.argoproj.io/tracking-id: '{CANARY}'}}"),
            format!("managedFields: [{{manager: {CANARY}, fieldsV1: {{'f:{CANARY}': {{}}}}}}]"),
            format!("ownerReferences: [{{name: {CANARY}, uid: {CANARY}}}]"),
            format!("finalizers: [{CANARY}]"),
            format!("generateName: {CANARY}"),
            format!("uid: {CANARY}"),
            format!("resourceVersion: '{CANARY}'"),
            format!("selfLink: {CANARY}"),
            format!("unheardOf: {{a: [{CANARY}]}}"),
        ] {
            let word = more.split(':').next().unwrap_or_default().to_owned();
            places.push((what, format!("{word} of {}", meta(object)), into(&more)));
            let last = places.len() - 1;
            places[last].1 = from.clone();
        }
    }
    let mut add = |what: &'static str, from: &str, to: String| places.push((what, from.to_owned(), to));
    add("a comment", "spec:\n  region", format!("# {CANARY}\nspec:\n  region"));
    add("a comment behind", "kind: Secret\n", format!("kind: Secret # {CANARY}\n"));
    add("a Credential's description", "  region: eu-west\n", format!("  region: eu-west\n  description: {CANARY}\n"));
    add("a Credential's unknown field", "  region: eu-west\n", format!("  region: eu-west\n  password: {CANARY}\n"));
    add(
        "a Credential's status",
        "spec:\n  region",
        format!("status: {{conditions: [{{message: {CANARY}}}]}}\nspec:\n  region"),
    );
    add("a Credential's top level", "spec:\n  region", format!("stray: {CANARY}\nspec:\n  region"));
    add("an identity's status", "spec:\n  type", format!("status: {{message: {CANARY}}}\nspec:\n  type"));
    add("an identity's top level", "spec:\n  type", format!("data: {{v: {CANARY}}}\nspec:\n  type"));
    add("identityRef", "namespace: team-a}\n---", format!("namespace: team-a, uid: {CANARY}}}\n---"));
    add(
        "a reference",
        "{name: good-azure-secret, namespace: team-a}",
        format!("{{name: good-azure-secret, namespace: team-a, uid: {CANARY}}}"),
    );
    add("stringData", "stringData: {clientSecret:", format!("stringData: {{more: '{CANARY}', clientSecret:"));
    add(
        "data",
        "stringData: {clientSecret:",
        format!("data: {{more: {}}}\nstringData: {{clientSecret:", base64(CANARY.as_bytes())),
    );
    add(
        "binary data",
        "stringData: {clientSecret:",
        format!("data: {{more: {}}}\nstringData: {{clientSecret:", base64(&[b"\xff\x00", CANARY.as_bytes()].concat())),
    );
    add(
        "a JSON value",
        "stringData: {clientSecret:",
        format!("stringData: {{more: '{{\"a\": \"{CANARY}\"}}', clientSecret:"),
    );
    add(
        "a multi-line value",
        "stringData: {clientSecret:",
        format!("stringData: {{more: \"a\\n{CANARY}\\n\", clientSecret:"),
    );
    add("a Secret's status", "stringData: {clientSecret:", format!("status: {CANARY}\nstringData: {{clientSecret:"));
    add("a Secret's spec", "stringData: {clientSecret:", format!("spec: {{a: {CANARY}}}\nstringData: {{clientSecret:"));
    add(
        "a Secret's unknown field",
        "stringData: {clientSecret:",
        format!("stringdata: {{a: {CANARY}}}\nstringData: {{clientSecret:"),
    );
    places
}

#[test]
fn no_canary_sings_wherever_it_is_planted() {
    let places = places();
    assert!(places.len() >= 60, "{}", places.len());
    let sources = ["manifests/good-azure.yaml", "manifests/good-aws.yaml"];
    for (what, from, to) in &places {
        let fleet = Fleet::new();
        let mut planted = 0;
        for path in sources {
            let text = std::fs::read_to_string(fleet.path(path)).unwrap();
            planted += text.matches(from.as_str()).count();
            fleet.write(path, text.replace(from.as_str(), to));
        }
        assert!(planted > 0, "{what}: {from} is nowhere");
        // Every run is searched by the harness: files and their names, both streams, the summary.
        let ran = fleet.render_json();
        assert!(matches!(ran.code, Some(0 | 3)), "{what}: {}", ran.shown());
        assert!(ran.summary.is_some(), "{what}");
        let published: Vec<u8> = fleet.published().into_values().flatten().collect();
        // What the code is, is the code's business; but a mistake in the plants would show as nothing published.
        assert!(published.len() > 1000, "{what}: {}", ran.shown());
    }
}

#[test]
fn all_of_them_at_once_are_silent_and_open_fields_are_found() {
    let fleet = Fleet::new();
    fleet.write("manifests/more.yaml", plain("team-b", "more"));
    for path in ["manifests/good-azure.yaml", "manifests/good-aws.yaml", "manifests/good-plain.yaml"] {
        let mut text = std::fs::read_to_string(fleet.path(path)).unwrap();
        text = text.replace("metadata: {", &format!("status: {{a: {CANARY}}}\nmetadata: {{annotations: {{note: {CANARY}}}, labels: {{note: {CANARY}}}, managedFields: [{{manager: {CANARY}}}], "));
        fleet.write(path, text);
    }
    fleet.render_json().ended(0);
    fleet.render_coloured().ended(0);
    fleet.run(&["config"]).ended(0);
    // The search finds what is there: a field that is published in the open.
    let found =
        fleet.published().values().filter(|bytes| bytes.windows(OPEN.len()).any(|w| w == OPEN.as_bytes())).count();
    assert_eq!(found, 1);
    assert_eq!(sings(format!("clientID: {CANARY}").as_bytes()), Some("clear"));
}
