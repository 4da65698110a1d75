//! Documents that are read and mean something impossible, hostile, or wrong.

use crate::support::spoilt::{CANARY, Fleet, base64, check, credential, each, plain};

/// Writes manifests of the team whose source may provide anything, and checks.
#[track_caller]
fn object(name: &str, text: &str, words: &[&str]) {
    check(name, |fleet| fleet.write("manifests/bad.yaml", text), 3, words);
}

const AZURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

fn azure(spec: &str) -> String {
    format!(
        "{}---\napiVersion: {AZURE}\nkind: AzureClusterIdentity\nmetadata: {{name: bad, namespace: team-b}}\nspec: {spec}\n",
        credential("team-b", "bad", AZURE, "AzureClusterIdentity")
    )
}

const SPEC: &str = "{type: ServicePrincipal, clientID: a, tenantID: b, clientSecret: {name: bad-secret, namespace: team-b}, allowedNamespaces: {list: [team-b]}}";

fn azure_secret(rest: &str) -> String {
    format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: bad-secret, namespace: team-b}}\n{rest}\n")
}

fn good_secret() -> String {
    azure_secret(&format!("stringData: {{clientSecret: {CANARY}}}"))
}

#[test]
fn wrong_types_in_a_credential() {
    let bad = plain("team-b", "bad");
    let with = |from: &str, to: &str| {
        assert!(bad.contains(from), "{from}");
        bad.replacen(from, to, 1)
    };
    let identity = "{apiVersion: v1, kind: Secret, name: bad, namespace: team-b}";
    let invalid = "error[invalid-object]";
    each(
        [
            ("region is a number", with("region: eu-west", "region: 7"), &[invalid, "spec.region"][..]),
            ("region is a list", with("region: eu-west", &format!("region: [{CANARY}]")), &[invalid, "spec.region"]),
            ("region leads out", with("region: eu-west", "region: ../x"), &[invalid, "spec.region"]),
            ("region is a path", with("region: eu-west", "region: /etc"), &[invalid, "spec.region"]),
            (
                "a region that is not",
                with("region: eu-west", "region: eu-wets"),
                &["error[unknown-region]", "eu-wets", "eu-west"],
            ),
            ("region in capitals", with("region: eu-west", "region: EU-WEST"), &[invalid, "spec.region"]),
            (
                "region with a line feed",
                with("region: eu-west", "region: \"eu-west\\n::error::x\""),
                &[invalid, "spec.region"],
            ),
            (
                "no spec",
                bad.split("spec:").next().unwrap().to_owned() + "spec: {region: eu-west}\n",
                &[invalid, "identityRef"],
            ),
            ("identityRef is text", with(identity, CANARY), &[invalid, "identityRef"]),
            ("identityRef without kind", with("kind: Secret, ", ""), &[invalid, "kind"]),
            (
                "identityRef without name",
                with("name: bad, namespace: team-b}\n---", "namespace: team-b}\n---"),
                &[invalid, "name"],
            ),
            (
                "identityRef's name is a number",
                with("name: bad, namespace: team-b}\n---", "name: 7, namespace: team-b}\n---"),
                &[invalid, "name"],
            ),
            (
                "an unknown kind",
                with("kind: Secret, name", "kind: Sekret, name"),
                &["error[unknown-identity-kind]", "Sekret"],
            ),
            ("a Pod", with("kind: Secret, name", "kind: Pod, name"), &["error[unknown-identity-kind]", "Pod"]),
            (
                "nobody of that name",
                with("name: bad, namespace: team-b}\n---", "name: nobody, namespace: team-b}\n---"),
                &["error[missing-reference]", "team-b/nobody"],
            ),
            (
                "another team's Secret",
                with("name: bad, namespace: team-b}\n---", "name: good-azure-secret, namespace: team-a}\n---"),
                &["error[not-admitted]", "team-a/good-azure-secret"],
            ),
            (
                "the managed label",
                with(
                    "{name: bad, namespace: team-b}",
                    "{name: bad, namespace: team-b, labels: {k0rdent.mirantis.com/managed: 'true'}}",
                ),
                &["error[forged-managed-label]"],
            ),
            (
                "labels are text",
                with(
                    "{name: bad, namespace: team-b}\nspec",
                    &format!("{{name: bad, namespace: team-b, labels: {CANARY}}}\nspec"),
                ),
                &["error[invalid-", "metadata.labels"],
            ),
        ],
        |(name, text, words)| {
            object(name, &text, &[words, &["team-b/bad", "manifests/bad.yaml:1:1"]].concat());
        },
    );
}

#[test]
fn names_that_no_api_takes() {
    let long = "n".repeat(300);
    each(
        [
            "a/b",
            "..",
            "../../x",
            "a\\nb",
            "a\\e[31mb",
            "a\\u202Eb",
            "A",
            "-a",
            "a b",
            "",
            "a\\0b",
            "é",
            "a%b",
            "/",
            ".",
            "a..b",
            "\\n::error::x",
            "~",
            "$(id)",
            "`id`",
            "a'b",
            "con\\r",
            &long,
        ],
        |name| {
            let quoted = format!("\"{name}\"");
            // As the name of everything, and as the name of what is referred to.
            let bad = plain("team-b", "bad").replace("name: bad", &format!("name: {quoted}"));
            check(
                &format!("name {name}"),
                |fleet| fleet.write("manifests/bad.yaml", &bad),
                3,
                &["error[", "bad.yaml:"],
            );
            let text = azure(&SPEC.replace("bad-secret", &quoted)) + &good_secret().replace("bad-secret", &quoted);
            check(
                &format!("reference {name}"),
                |fleet| fleet.write("manifests/bad.yaml", &text),
                3,
                &["error[", "bad.yaml:"],
            );
        },
    );
    each(["a/b", "..", "a\\nb", "A", "a.b", "\\e[2Jx", "a\\u2066b", &"n".repeat(64)], |namespace| {
        let bad = plain("team-b", "bad").replace("team-b", &format!("\"{namespace}\""));
        let spoil = |fleet: &Fleet| {
            fleet.configure("[kcm-system, team-a, team-b]", "['*']");
            fleet.write("manifests/bad.yaml", &bad);
        };
        check(&format!("namespace {namespace}"), spoil, 3, &["error[", "bad.yaml:"]);
    });
}

#[test]
fn places_that_no_bundle_touches() {
    each(
        [
            ("kube-system", "forbidden-place"),
            ("kube-x", "forbidden-place"),
            ("flux-system", "forbidden-place"),
            ("argocd", "forbidden-place"),
        ],
        |(namespace, code)| {
            let bad = plain(namespace, "bad");
            let spoil = |fleet: &Fleet| {
                fleet.configure("[kcm-system, team-a, team-b]", "['*']");
                fleet.write("manifests/bad.yaml", &bad);
            };
            check(namespace, spoil, 3, &[&format!("error[{code}]"), namespace, "help: Move"]);
        },
    );
    let spoil = |fleet: &Fleet| {
        fleet.configure("['*']", "[kcm-system, team-a, team-b]");
        fleet.configure("[team-x]", "[team-x, team-y]");
        fleet.write("tenant/bad.yaml", plain("team-y", "bad"));
    };
    check(
        "a namespace that the region does not take",
        spoil,
        3,
        &["error[namespace-not-allowed]", "team-y", "tenant/bad.yaml:1:1"],
    );
}

#[test]
fn secrets_that_are_none() {
    let bad = |rest: &str| {
        format!(
            "{}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: bad, namespace: team-b}}\n{rest}\n",
            credential("team-b", "bad", "v1", "Secret")
        )
    };
    let malformed = "error[invalid-object]";
    let at = "manifests/bad.yaml:8:1";
    let encoded = base64(CANARY.as_bytes());
    each(
        [
            ("data is clear text", format!("data: {{v: {CANARY}}}"), &[malformed, "\"v\"", "base64"][..]),
            ("data is half encoded", format!("data: {{v: {encoded}=}}"), &[malformed, "\"v\"", "base64"]),
            ("data in the URL's alphabet", "data: {v: _-_-}".to_owned(), &[malformed, "\"v\"", "base64"]),
            ("data with spaces", format!("data: {{v: '{encoded} {encoded}'}}"), &[malformed, "\"v\""]),
            ("data is text", format!("data: {CANARY}"), &[malformed, "data is text, not a map"]),
            ("data is a list", format!("data: [{CANARY}]"), &[malformed, "data is a"]),
            ("a number", "stringData: {v: 7}".to_owned(), &[malformed, "\"v\"", "is an integer, not text"]),
            ("a truth", "stringData: {v: true}".to_owned(), &[malformed, "\"v\"", "not text"]),
            ("a map", format!("stringData: {{v: {{a: {CANARY}}}}}"), &[malformed, "\"v\"", "not text"]),
            ("a name with a slash", format!("stringData: {{\"{CANARY}/b\": ''}}"), &[malformed, "whose name"]),
            (
                "a name that steers",
                format!("stringData: {{\"a\\e[2J\\n::error::\": {CANARY}}}"),
                &[malformed, "whose name"],
            ),
            ("an empty name", format!("stringData: {{'': {CANARY}}}"), &[malformed, "of 0 bytes"]),
            ("dots for a name", format!("stringData: {{'..': {CANARY}}}"), &[malformed, "of 2 bytes"]),
            ("type is an integer", format!("type: 7\nstringData: {{v: {CANARY}}}"), &[malformed, "type is an integer"]),
            (
                "a megabyte",
                format!("stringData: {{v: \"{CANARY}{}\"}}", "x".repeat(1 << 20)),
                &["error[too-large]", "1048576"],
            ),
            (
                "a token",
                format!("type: kubernetes.io/service-account-token\nstringData: {{v: {CANARY}}}"),
                &["error[forbidden-type]"],
            ),
            (
                "an age key",
                format!(
                    "stringData: {{v: \"# {CANARY}\\nAGE-SECRET-KEY-1QQPQYPQXPQCRSSZG2PVXQ6RS0ZQG3YYC5Z5TPWXQERGD3C8G7RUSQJZCSR2\"}}"
                ),
                &["error[forbidden-type]"],
            ),
            (
                "our own reuse key",
                format!("stringData: {{v: \"{}\"}}", crate::support::spoilt::KEY),
                &["error[forbidden-type]"],
            ),
            (
                "a typed one without its keys",
                format!("type: kubernetes.io/tls\nstringData: {{tls.crt: {CANARY}}}"),
                &[malformed, "tls.key"],
            ),
        ],
        |(name, rest, words)| {
            let ran = check(name, |fleet| fleet.write("manifests/bad.yaml", bad(&rest)), 3, words);
            ran.says(&["team-b/bad", at]).keeps_quiet_about(&["AGE-SECRET-KEY-1QQ", "POUCH-REUSE-KEY-1MN"]);
        },
    );
}

#[test]
fn identities_that_a_region_would_refuse() {
    let broken = |spec: &str| azure(spec) + &good_secret();
    each(
        [
            ("spec is text", CANARY.to_owned(), &["error[", "spec"][..]),
            ("spec is a list", format!("[{CANARY}]"), &["error[", "spec"]),
            (
                "a reference is a number",
                SPEC.replace("name: bad-secret", "name: 7"),
                &["error[invalid-", "spec.clientSecret.name"],
            ),
            (
                "a reference is a list",
                SPEC.replace("name: bad-secret", &format!("name: [{CANARY}]")),
                &["error[invalid-", "spec.clientSecret.name"],
            ),
            (
                "a reference is text",
                SPEC.replace("{name: bad-secret, namespace: team-b}", CANARY),
                &["error[invalid-", "spec.clientSecret"],
            ),
            ("nobody", SPEC.replace("bad-secret", "nobody"), &["error[missing-reference]", "team-b/nobody"]),
            (
                "no namespace",
                SPEC.replace(", namespace: team-b}", "}"),
                &["error[invalid-object]", "spec.clientSecret"],
            ),
            (
                "another team",
                SPEC.replace("bad-secret, namespace: team-b", "good-azure-secret, namespace: team-a"),
                &["error[not-admitted]", "team-a/good-azure-secret"],
            ),
            (
                "a field too many",
                SPEC.replace("tenantID", "tenantId"),
                &["error[invalid-object]", "tenantId", "tenantID"],
            ),
            (
                "a password in plain sight",
                SPEC.replace("tenantID: b", &format!("tenantID: b, password: {CANARY}")),
                &["error[in", "password"],
            ),
        ],
        |(name, spec, words)| {
            object(name, &broken(&spec), &[words, &["team-b/bad", "bad.yaml:"]].concat());
        },
    );
    let deep = format!("{}x{}", "{a: ".repeat(60), "}".repeat(60));
    object(
        "a deep spec",
        &broken(&SPEC.replace("tenantID: b", &format!("tenantID: {deep}"))),
        &["error[", "team-b/bad"],
    );
}

fn provider(name: &str, kind: &str, paths: &str) -> String {
    format!(
        "---\napiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {{name: {name}}}\nspec:\n  \
         clusterGVKs: []\n  clusterIdentities:\n  - {{group: example.com, version: v1, kind: {kind}, references: [{paths}]}}\n"
    )
}

/// An identity of a kind that only the case's own ProviderInterface defines.
fn own_kind(kind: &str, spec: &str) -> String {
    format!(
        "{}---\napiVersion: example.com/v1\nkind: {kind}\nmetadata: {{name: bad, namespace: team-b}}\nspec: {spec}\n",
        credential("team-b", "bad", "example.com/v1", kind)
    )
}

#[test]
fn provider_interfaces_that_lead_astray() {
    let secret = |path: &str| format!("{{version: v1, kind: Secret, nameFieldPath: {path}}}");
    let spoil = |text: String, kinds: &'static str| {
        move |fleet: &Fleet| {
            fleet.write("manifests/bad.yaml", &text);
            fleet.configure("regions:\n", &format!("{kinds}regions:\n"));
        }
    };
    let kinds = "kinds: [{group: example.com, kind: OwnIdentity, scope: Namespaced, allowedNamespaces: all}]\n";
    each(
        [
            ("a path to a number", secret("spec.number"), &["error[invalid-object]", "spec.number", "number"][..]),
            ("a path to a map", secret("spec"), &["error[invalid-object]", "spec"]),
            ("a path through text", secret("spec.text.a"), &["error[invalid-object]", "spec.text.a"]),
            ("a name that leads out", secret("spec.out"), &["error[invalid-object]", "spec.out"]),
            (
                "a Pod",
                "{version: v1, kind: Pod, nameFieldPath: spec.pod}".to_owned(),
                &["error[forbidden-kind]", "Pod"],
            ),
            (
                "a path that is a number",
                "{version: v1, kind: Secret, nameFieldPath: 7}".to_owned(),
                &["error[invalid-object]"],
            ),
            ("a path that is no path", secret("'spec..a['"), &["error[invalid-object]"]),
            ("no kind", "{version: v1, nameFieldPath: spec.pod}".to_owned(), &["error[invalid-object]"]),
            ("text for a reference", CANARY.to_owned(), &["error[invalid-object]"]),
        ],
        |(name, paths, words)| {
            let text = own_kind("OwnIdentity", &format!("{{number: 7, text: {CANARY}, out: ../../x, pod: web}}"))
                + &provider("bad", "OwnIdentity", &paths)
                + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: kcm-system}\n";
            check(name, spoil(text, kinds), 3, &[words, &["team-b/bad"]].concat());
        },
    );
    let twice = own_kind("OwnIdentity", "{a: x}")
        + &provider("bad", "OwnIdentity", &secret("spec.a"))
        + &provider("worse", "OwnIdentity", &secret("spec.b"));
    check("contradiction", spoil(twice, kinds), 3, &["error[conflicting-definitions]", "bad", "worse", "team-b/bad"]);
    let circle = own_kind("OwnIdentity", "{a: bad, namespace: team-b}")
        + &provider(
            "bad",
            "OwnIdentity",
            "{group: example.com, version: v1, kind: OwnIdentity, nameFieldPath: spec.a, namespaceFieldPath: spec.nowhere}",
        );
    check("no namespace on the way", spoil(circle, kinds), 3, &["error[invalid-object]", "team-b/bad"]);
    let kind = own_kind("OwnIdentity", "{a: x}") + &provider("bad", "OwnIdentity", "");
    check(
        "a kind that is not published",
        |fleet| fleet.write("manifests/bad.yaml", &kind),
        3,
        &["error[forbidden-kind]", "OwnIdentity"],
    );
    // A ProviderInterface from a source that may not give any changes nothing.
    let spoil = |fleet: &Fleet| {
        fleet.write(
            "tenant/bad.yaml",
            provider("azure", "x", "")
                .replace("example.com", "infrastructure.cluster.x-k8s.io")
                .replace("kind: x", "kind: AzureClusterIdentity"),
        );
    };
    check(
        "one that is not provided here",
        spoil,
        0,
        &["warning[not-provided-here]", "ProviderInterface", "tenant/bad.yaml"],
    );
}

#[test]
fn sources_that_contradict_each_other() {
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: good-plain, namespace: team-b}}\nstringData: {{value: {CANARY}-other}}\n"
    );
    let spoil = |fleet: &Fleet| fleet.write("tenant/bad.yaml", &secret);
    check(
        "not provided here",
        spoil,
        0,
        &["warning[not-provided-here]", "Secret team-b/good-plain", "tenant/bad.yaml:1:1", "help"],
    );

    // Both may provide it and it concerns one Credential, which stays as it was published.
    let fleet = Fleet::new();
    let good = fleet.rendered();
    for (name, path) in [("shadowed", "tenant/bad.yaml"), ("duplicate-object", "manifests/bad.yaml")] {
        fleet.configure("[team-x]", "[team-x, team-b]");
        fleet.write(path, &secret);
        let ran = fleet.render();
        ran.ended(3)
            .says(&[
                &format!("error[{name}]"),
                "Secret team-b/good-plain",
                "Credential team-b/good-plain",
                "good-plain.yaml:",
                "bad.yaml:",
            ])
            .helps();
        assert_eq!(
            crate::support::spoilt::differing(&fleet.published(), &good),
            ["regions/eu-west/bundle.yaml"],
            "{}",
            ran.shown()
        );
        fleet.restore();
        assert_eq!(crate::support::spoilt::differing(&fleet.rendered(), &good), crate::support::spoilt::none());
    }
    // Said to be meant, it goes through.
    fleet
        .configure("provides: {namespaces: [team-x]}", "provides: {namespaces: [team-x, team-b]}\n    overrides: true");
    fleet.write("tenant/bad.yaml", &secret);
    fleet.render().ended(0).keeps_quiet_about(&["shadowed"]);
    assert_ne!(crate::support::spoilt::differing(&fleet.published(), &good), crate::support::spoilt::none());
}

/// Names that differ in case only cannot both be valid; what the layout derives from valid ones is apart.
#[test]
fn paths_do_not_collide_where_case_is_ignored() {
    let fleet = Fleet::new();
    let twins = ["con", "kustomization", "bundle", "aux.x", "nul"];
    for name in twins {
        fleet.write(&format!("manifests/{name}.yaml"), plain("team-b", name));
    }
    fleet.write("manifests/caps.yaml", plain("team-b", "CON"));
    fleet.write("manifests/long1.yaml", plain("team-b", &format!("{}1", "l".repeat(252))));
    fleet.write("manifests/long2.yaml", plain("team-b", &format!("{}2", "l".repeat(252))));
    fleet.render().ended(3).says(&["team-b/CON", "caps.yaml:1:1"]);
    let tree = fleet.published();
    let folded: std::collections::BTreeSet<String> = tree.keys().map(|path| path.to_lowercase()).collect();
    assert_eq!(folded.len(), tree.len());
    assert_eq!(
        tree.keys().filter(|path| path.contains("secrets/team-b/") && path.ends_with(".sops.yaml")).count(),
        1 + twins.len() + 2,
        "{:?}",
        tree.keys()
    );
    for path in tree.keys() {
        for part in path.split('/') {
            assert!(part.len() <= 255 - ".sops.yaml".len(), "{path}");
            let stem = part.split('.').next().unwrap();
            assert!(!["con", "aux", "nul"].contains(&stem), "{path}");
        }
    }
}

/// The API tells kinds apart by case; folders on some disks do not.
#[test]
fn kinds_that_differ_in_case_only_do_not_overwrite_each_other() {
    let kind = |kind: &str| format!("{{group: example.com, kind: {kind}, scope: Namespaced, allowedNamespaces: all}}");
    let kinds = format!("kinds: [{}, {}]\nregions:\n", kind("OwnIdentity"), kind("OWNIdentity"));
    let spoil = |fleet: &Fleet| {
        fleet.configure("regions:\n", &kinds);
        for (at, kind) in ["OwnIdentity", "OWNIdentity"].into_iter().enumerate() {
            let text = own_kind(kind, "{a: x}") + &provider(&format!("bad{at}"), kind, "");
            let claim = format!("kind: Credential\nmetadata: {{name: bad{at}");
            fleet.write(
                &format!("manifests/bad{at}.yaml"),
                text.replace("kind: Credential\nmetadata: {name: bad", &claim),
            );
        }
    };
    check("kinds in two cases", spoil, 3, &["error[", "Credential team-b/bad0", "Credential team-b/bad1"]);
}
