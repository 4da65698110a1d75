//! What stops something: one canary at a time in a document, a configuration, a key, a kubeconfig or an answer that
//! is not as it should be, and nothing of it in what is said.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::stage::Stage;
use crate::support::spoilt::RECIPIENT;

/// A place that is not as it should be: its name, which is the canary's too, and the text around `@`, the canary
/// (`@64` is the same in base64, and `§` an at sign).
type Row = (&'static str, &'static str);

/// Documents of a source, each in a file of its own beside the good ones.
const YAML: &[Row] = &[
    // The syntax around a value.
    ("an open quote", "kind: Secret\nstringData: {a: \"@"),
    ("an open quote over lines", "stringData:\n  a: '@\n  b: c\n"),
    ("an open map", "kind: Secret\nstringData: {a: @\n"),
    ("an open list", "stringData: [@\n"),
    ("a closed list too many", "stringData: @]\n"),
    ("an indentation", "stringData:\n   a: @\n  b: @\n"),
    ("a tab", "stringData:\n\ta: @\n"),
    ("a colon in a plain value", "stringData:\n  a: @: b: c\n"),
    ("two values on a line", "stringData: {a: \"@\" \"@\"}\n"),
    ("an unknown escape", "stringData: {a: \"@\\q\"}\n"),
    ("an escape that is cut short", "stringData: {a: \"@\\u12\"}\n"),
    ("an alias that is nowhere", "stringData: {a: *@}\n"),
    ("an anchor without a value", "stringData: {a: &@ , b: *@, c: *x}\n"),
    ("a tag", "stringData: {a: !@ x}\n"),
    ("a tag with a value", "stringData: {a: !secret @}\n"),
    ("a tag of another type", "stringData: {a: !!int @}\n"),
    ("a tag of a float", "stringData: {a: !!float @}\n"),
    ("a tag of binary", "stringData: {a: !!binary @!}\n"),
    ("a merge key", "stringData: {<<: @}\n"),
    ("a list merged", "stringData: {<<: [@]}\n"),
    ("a key twice", "stringData: {a: @, a: @}\n"),
    ("a key twice, which is it", "stringData: {@: a, @: b}\n"),
    ("a key that is a list", "stringData: {[@]: a}\n"),
    ("a key that is a map", "? {a: @}\n: b\n"),
    ("a key that is null", "stringData: {~: @, null: @}\n"),
    ("a directive", "%YAML @\n---\na: b\n"),
    ("a second document", "a: b\n--- @\n--- {x: @\n"),
    ("a block without a head", "stringData:\n  a: |x@\n    @\n"),
    ("a block cut short", "stringData:\n  a: |2\n @\n"),
    ("a reserved character", "stringData: {a: `@`}\n"),
    ("a percent sign", "stringData: {a: %@}\n"),
    ("a NUL", "stringData: {a: @\0@}\n"),
    ("a control character", "stringData: {a: \"@\u{7}\"}\n"),
    ("a comment that ends nothing", "stringData: {a: '# @\n"),
    ("a document that is text", "@\n"),
    ("a document that is a list", "[@, @]\n"),
    ("no kind", "apiVersion: v1\nstringData: {a: @}\n"),
    ("no name", "apiVersion: v1\nkind: Secret\nmetadata: {namespace: team-a}\nstringData: {a: @}\n"),
    ("a list of what is none", "apiVersion: v1\nkind: List\nitems: [@, {a: @}, [@]]\n"),
    ("a list of wrong items", "apiVersion: v1\nkind: List\nitems: @\n"),
    ("a template", "stringData: {a: {{ @ }}}\n"),
    ("a number out of range", "stringData: {a: 1e999, b: @}\nx: [\n"),
];

/// The same in JSON.
const JSON: &[Row] = &[
    ("JSON: an open text", "{\"kind\":\"Secret\",\"data\":{\"a\":\"@64"),
    ("JSON: an open map", "{\"data\":{\"a\":\"@64\""),
    ("JSON: a comma too many", "{\"data\":{\"a\":\"@64\",}}"),
    ("JSON: no comma", "{\"data\":{\"a\":\"@64\" \"b\":\"@\"}}"),
    ("JSON: no colon", "{\"data\":{\"a\" \"@64\"}}"),
    ("JSON: no quotes", "{\"data\":{\"a\":@64}}"),
    ("JSON: single quotes", "{'data':{'a':'@64'}}"),
    ("JSON: an unknown escape", "{\"data\":{\"a\":\"@\\q\"}}"),
    ("JSON: half a surrogate", "{\"data\":{\"a\":\"@\\ud800\"}}"),
    ("JSON: a line feed", "{\"data\":{\"a\":\"@\n\"}}"),
    ("JSON: a comment", "{\"data\":{\"a\":\"b\" /* @ */}}"),
    ("JSON: a key twice", "{\"data\":{\"a\":\"@\",\"a\":\"@64\"}}"),
    ("JSON: a key twice, which is it", "{\"data\":{\"@\":\"a\",\"@\":\"b\"}}"),
    ("JSON: no number", "{\"data\":{\"a\":NaN,\"b\":\"@\"}}"),
    ("JSON: a number out of range", "{\"data\":{\"a\":1e999,\"b\":\"@\"}}"),
    ("JSON: something behind", "{\"kind\":\"Secret\"} @"),
    ("JSON: text", "\"@\""),
];

/// A Credential's Secret: what stands behind its metadata.
const SECRET: &[Row] = &[
    ("data that is text", "data: @\n"),
    ("data that is encoded text", "data: @64\n"),
    ("data that is a list", "data: [@64, @]\n"),
    ("data that is a number", "data: 5\nstringData: @\n"),
    ("no base64", "data: {a: \"@!\"}\n"),
    ("base64 without padding", "data: {a: \"@64=\"}\n"),
    ("base64 with blanks", "data: {a: \"@64 @64\"}\n"),
    ("base64 of a URL", "data: {a: \"@64_-_-\"}\n"),
    ("a value in the clear under data", "data: {a: @.@}\n"),
    ("a value that is a map", "data: {a: {b: @64}}\n"),
    ("a value that is a map with it as its key", "data: {a: {@: b}}\n"),
    ("a value that is a list", "data: {a: [@64]}\n"),
    ("a value that is a number", "data: {a: 7, b: @64}\n"),
    ("a value that is true", "data: {a: true, b: @64}\n"),
    ("stringData that is text", "stringData: @\n"),
    ("stringData that is a list", "stringData: [@]\n"),
    ("stringData: a value that is a map", "stringData: {a: {b: @}}\n"),
    ("stringData: a value that is a list", "stringData: {a: [@]}\n"),
    ("stringData: a number beside", "stringData: {a: 5, b: @}\n"),
    ("an entry's name", "stringData: {\"password=@\": \"\"}\n"),
    ("an entry's name with a blank", "stringData: {\"@ \": x}\n"),
    ("an entry's name that is too long", "stringData: {\"LONG@\": x}\n"),
    ("an entry's name with a slash", "data: {\"@/@\": eA==}\n"),
    ("an age key as a value", "stringData: {a: \"AGE-SECRET-KEY-1@\"}\n"),
    ("a reuse key as a value", "stringData: {a: \"x POUCH-REUSE-KEY-1@\"}\n"),
    ("a Secret's type that is a map", "type: {a: @}\nstringData: {a: @}\n"),
    ("fields that no Secret has", "remarks: {a: @}\nspec: {a: @}\nstringData: {a: @}\n"),
    ("a field's name that no Secret has", "@: a\nstringData: {a: @}\n"),
    ("a status that no Secret has", "status: @\nstringData: {a: @}\n"),
    ("a TLS Secret without its key", "type: kubernetes.io/tls\nstringData: {tls.crt: @}\n"),
    (
        "a registry's login that is not JSON",
        "type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '{\"auths\": @'}\n",
    ),
    ("a login without a user", "type: kubernetes.io/basic-auth\nstringData: {pass: @}\n"),
    ("a service account's token", "type: kubernetes.io/service-account-token\nstringData: {token: @}\n"),
    ("a bootstrap token", "type: bootstrap.kubernetes.io/token\nstringData: {token-secret: @}\n"),
    ("a Helm release", "type: helm.sh/release.v1\nstringData: {release: @}\n"),
    ("a cluster's kubeconfig", "type: cluster.x-k8s.io/secret\nstringData: {value: @}\n"),
    // Ciphertext that cannot be opened here, and what stands beside it in the clear.
    (
        "undecryptable: a value beside",
        "data: {a: 'ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]', b: @64}\nsops: {mac: m}\n",
    ),
    ("undecryptable: a block without ciphertext", "stringData: {a: @}\nsops: {mac: m}\n"),
    ("undecryptable: ciphertext without a block", "stringData: {a: 'ENC[AES256_GCM,data:@,iv:@,tag:@,type:str]'}\n"),
    ("undecryptable: a type", "stringData: {a: 'ENC[AES256_GCM,data:x,iv:y,tag:z,type:@]'}\nsops: {mac: @}\n"),
    (
        "undecryptable: a MAC",
        "data: {a: eA==}\nsops: {mac: '@', lastmodified: '@', version: '@', age: [{recipient: '@', enc: '@'}]}\n",
    ),
    (
        "undecryptable: an age identity in its block",
        "data: {a: eA==}\nsops: {age: [{recipient: AGE-SECRET-KEY-1@, enc: x}]}\n",
    ),
    ("undecryptable: a block that is text", "data: {a: eA==}\nsops: @\n"),
];

/// Another object of a Credential: the Credential itself, its identity, its companion, a definition.
const OBJECTS: &[Row] = &[
    ("a spec that is text", "CREDENTIAL\nspec: @\n"),
    ("a spec that is a list", "CREDENTIAL\nspec: [@]\n"),
    ("an identityRef that is text", "CREDENTIAL\nspec: {region: eu-west, identityRef: @}\n"),
    (
        "a reference's name that is a map",
        "CREDENTIAL\nspec: {region: eu-west, identityRef: {apiVersion: v1, kind: Secret, name: {a: @}, namespace: team-a}}\n",
    ),
    (
        "a reference's kind that is a list",
        "CREDENTIAL\nspec: {region: eu-west, identityRef: {apiVersion: v1, kind: [@], name: bad, namespace: team-a}}\n",
    ),
    (
        "an unknown field of a Credential",
        "CREDENTIAL\nspec: {region: eu-west, password: @, identityRef: {apiVersion: v1, kind: Secret, name: bad}}\n",
    ),
    (
        "a field of a Credential beside its spec",
        "CREDENTIAL\nstray: @\nspec: {region: eu-west, identityRef: {apiVersion: v1, kind: Secret, name: bad}}\n",
    ),
    (
        "an unknown field of metadata",
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: bad, namespace: team-a, unheardOf: {a: [@]}}\nspec: {region: eu-west}\n",
    ),
    (
        "fields that no ConfigMap has",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good-aws-resource-template, namespace: kcm-system}\ndata: {a: b}\nstatus: @\nstringData: {a: @}\n",
    ),
    (
        "a region that is a map",
        "CREDENTIAL\nspec: {region: {a: @}, identityRef: {apiVersion: v1, kind: Secret, name: bad}}\n",
    ),
    (
        "labels that are text",
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: bad, namespace: team-a, labels: @}\nspec: {region: eu-west}\n",
    ),
    (
        "a label that is a map",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: bad, namespace: team-a, labels: {a: {b: @}}}\n",
    ),
    ("metadata that is text", "apiVersion: v1\nkind: Secret\nmetadata: @\n"),
    ("a name that is a map", "apiVersion: v1\nkind: Secret\nmetadata: {name: {a: @}, namespace: team-a}\n"),
    ("a kind that is a map", "apiVersion: v1\nkind: {a: @}\nmetadata: {name: x}\n"),
    ("an apiVersion that is a list", "apiVersion: [@]\nkind: Secret\nmetadata: {name: x}\n"),
    ("a password in an identity", "IDENTITY\nspec: {type: ServicePrincipal, password: @}\n"),
    (
        "a client secret as text",
        "IDENTITY\nspec: {type: ServicePrincipal, tenantID: t, clientID: c, clientSecret: @}\n",
    ),
    (
        "a private key in an identity",
        "IDENTITY\nspec: {type: ServicePrincipal, tenantID: '-----BEGIN RSA PRIVATE KEY----- @'}\n",
    ),
    (
        "a wrong type in an identity",
        "IDENTITY\nspec: {type: [@], tenantID: {a: @}, clientID: c, allowedNamespaces: {list: @}}\n",
    ),
    ("an identity's spec that is text", "IDENTITY\nspec: @\n"),
    ("a token in a list of an identity", "IDENTITY\nspec: {type: ServicePrincipal, env: [{name: TOKEN, value: @}]}\n"),
    (
        "an encrypted identity",
        "IDENTITY\nspec: {type: ServicePrincipal, tenantID: 'ENC[AES256_GCM,data:@,iv:y,tag:z,type:str]', clientID: c}\nsops: {mac: @}\n",
    ),
    (
        "a private key in a companion",
        "COMPANION\ndata: {a: \"-----BEGIN PRIVATE KEY-----\\n@64\\n-----END PRIVATE KEY-----\"}\n",
    ),
    ("a companion's data that is text", "COMPANION\ndata: @\n"),
    ("a companion's value that is a map", "COMPANION\ndata: {a: {b: @}}\n"),
    ("a companion's binary data that is none", "COMPANION\nbinaryData: {a: '@!'}\n"),
    ("a companion's entry name", "COMPANION\ndata: {'a @': b}\n"),
    (
        "a definition that is none",
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: own}\nspec: {clusterIdentities: [{group: @.@, kind: {a: @}, references: @}]}\n",
    ),
    (
        "a rule that is none",
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: AccessManagement\nmetadata: {name: kcm}\nspec: {accessRules: [@, {credentials: @}]}\n",
    ),
    (
        "a Region that is none",
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Region\nmetadata: {name: eu-west}\nspec: {kubeConfig: @, providers: @}\n",
    ),
];

/// The forms of what is said.
const FORMATS: &[&str] = &["text", "json"];

/// Runs pouch in both forms, as loud as can be, and listens.
#[track_caller]
fn silent(stage: &mut Stage, name: &str, commands: &[&[&str]]) -> Vec<Option<i32>> {
    silent_as(FORMATS, stage, name, commands)
}

#[track_caller]
fn silent_as(formats: &[&str], stage: &mut Stage, name: &str, commands: &[&[&str]]) -> Vec<Option<i32>> {
    stage.begin();
    let ear = stage.choir.ear();
    let mut codes = Vec::new();
    for command in commands {
        for format in formats {
            let loud = ["--log-level", "trace", "--log-format", format, "-v"];
            let ran = stage.run(&[command, &loud[..]].concat());
            stage.is_silent(&ear, name, &ran);
            codes.push(ran.code);
        }
    }
    codes
}

const RENDER: &[&str] = &["render", "--summary", "summary.json", "--metrics", "metrics.prom"];
const PUBLISH: &[&str] = &["publish", "--first", "--summary", "summary.json", "--metrics", "metrics.prom"];

/// The text of a row with its markers.
fn marked(name: &str, text: &str) -> String {
    text.replace("@64", &format!("«64:{name}»"))
        .replace('@', &format!("«{name}»"))
        .replace('§', "@")
        .replace("LONG", &"x".repeat(250))
}

#[track_caller]
fn documents(rows: &[Row], file: &str, text: impl Fn(&str) -> String) {
    for (name, row) in rows {
        let mut stage = Stage::new();
        stage.write(file, &text(&marked(name, row)));
        let codes = silent(&mut stage, name, &[RENDER]);
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 3))), "{name}: {codes:?}");
    }
}

/// A Credential in team-a that wants the Secret `bad`.
const WANTS: &str = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: bad, namespace: team-a}\n\
    spec: {region: eu-west, identityRef: {apiVersion: v1, kind: Secret, name: bad, namespace: team-a}}\n---\n";

#[test]
fn of_documents_that_do_not_parse() {
    documents(YAML, "manifests/bad.yaml", str::to_owned);
    documents(JSON, "manifests/bad.json", str::to_owned);
    // Neither is of the form that texts are.
    let mut stage = Stage::new();
    let canary = stage.choir.voice("bytes that are no text");
    stage.fleet.write("manifests/bad.yaml", [b"a: \xff", canary.as_bytes(), b"\xff\n"].concat());
    let utf16: Vec<u8> = format!("\u{feff}a: {canary}: b\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    stage.fleet.write("manifests/utf16.yaml", utf16);
    silent(&mut stage, "bytes that are no text", &[RENDER]);
}

#[test]
fn of_secrets_that_are_none() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: bad, namespace: team-a}\n";
    documents(SECRET, "manifests/bad.yaml", |row| format!("{WANTS}{secret}{row}"));
}

#[test]
fn of_other_objects_that_are_not_as_they_should_be() {
    let credential =
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: bad, namespace: team-a}";
    let azure = "infrastructure.cluster.x-k8s.io/v1beta1";
    let wants =
        WANTS.replace("apiVersion: v1, kind: Secret", &format!("apiVersion: {azure}, kind: AzureClusterIdentity"));
    let identity =
        format!("{wants}apiVersion: {azure}\nkind: AzureClusterIdentity\nmetadata: {{name: bad, namespace: team-a}}");
    let companion = format!(
        "{WANTS}apiVersion: v1\nkind: Secret\nmetadata: {{name: bad, namespace: team-a}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: bad-resource-template, namespace: team-a}}"
    );
    documents(OBJECTS, "manifests/bad.yaml", |row| {
        row.replace("CREDENTIAL", credential).replace("IDENTITY", &identity).replace("COMPANION", &companion)
    });
}

/// Edits of the configuration, each with a key of one's own or a password where something else was wanted.
const CONFIG: &[(&str, &str, &str)] = &[
    ("config: a recipient", "recipients: [", "recipients: [«KEY», "),
    ("config: a recipient in small letters", "recipients: [", "recipients: [«key», "),
    ("config: a recipient with a blank", "recipients: [", "recipients: [' «KEY» ', "),
    ("config: a recipient that is a map", "recipients: [", "recipients: [{a: «KEY»}, "),
    ("config: recipients that are a map", "recipients: [", "recipients: {a: [«KEY»]}\n    x: ["),
    ("config: recipients that are text", "recipients: [", "recipients: «KEY»\n    x: ["),
    ("config: a region's name", "  eu-west:", "  «KEY»:"),
    ("config: a region's folder", "    k0rdentPushDisabled: true", "    directory: «KEY»"),
    ("config: an unknown field", "    k0rdentPushDisabled: true", "    «KEY»: true"),
    ("config: the value of an unknown field", "    k0rdentPushDisabled: true", "    identity: «KEY»"),
    ("config: a wrong type", "k0rdentPushDisabled: true", "k0rdentPushDisabled: «KEY»"),
    ("config: the fleet's name", "{name: acme}", "{name: «KEY»}"),
    ("config: a source's name", "name: tenant", "name: «KEY»"),
    ("config: a path", "{path: tenant}", "{path: «KEY»}"),
    ("config: a pattern", "{path: tenant}", "{path: tenant, include: ['«KEY»']}"),
    ("config: the output", "output: {path: bundles", "output: {path: «KEY»"),
    ("config: a word of a list of words", "delivery: flux", "delivery: «KEY»"),
    ("config: an escrow recipient", "regions:\n", "escrowRecipients: [«KEY»]\nregions:\n"),
    ("config: a kept label", "regions:\n", "keepMetadata: {labels: ['«KEY»']}\nregions:\n"),
    ("config: a grant", "regions:\n", "grants: [{from: {namespace: «KEY»}, to: {kind: «KEY»}}]\nregions:\n"),
    ("config: a finding", "regions:\n", "findings: {«KEY»: off}\nregions:\n"),
    ("config: a limit", "regions:\n", "limits: {attempts: «KEY»}\nregions:\n"),
    ("config: a comment before a fault", "regions:\n", "# «KEY»\nzebra: 1 # «KEY»\nregions:\n"),
    ("config: the reuse key in its place", "{file: reuse.key}", "{file: «KEY»}"),
    ("config: the reuse key as a variable's name", "{file: reuse.key}", "{env: «KEY»}"),
    ("config: the reuse key as text", "{file: reuse.key}", "«KEY»"),
    ("config: a previous reuse key", "{file: reuse.key}", "{file: reuse.key, previous: [{env: «KEY»}]}"),
    ("config: a previous reuse key as text", "{file: reuse.key}", "{file: reuse.key, previous: [«KEY»]}"),
    ("config: a syntax error behind", "reuseKey:", "x: «KEY»: y\nreuseKey:"),
    ("config: a syntax error in it", "reuseKey:", "x: {a: «KEY»\nreuseKey:"),
    ("config: a key twice", "reuseKey:", "«KEY»: 1\n«KEY»: 1\nreuseKey:"),
    ("config: an author", "branch: main", "branch: main, author: {name: «KEY», email: a@example.com}"),
    ("config: an author's address", "branch: main", "branch: main, author: {name: a, email: '«KEY»'}"),
    ("config: a committer", "branch: main", "branch: main, committer: {name: «KEY», email: a@example.com}"),
    ("config: a message", "branch: main", "branch: main, message: 'render {{ fleet }} «KEY»'"),
    ("config: a message that is no template", "branch: main", "branch: main, message: '{{ «KEY»'"),
    ("config: a branch", "branch: main", "branch: «KEY»"),
    ("config: the delivery's source", "name: fleet}", "name: «KEY»}"),
    (
        "config: a password in the output's URL",
        "repository: origin.git",
        "repository: 'https://me:«URL»@127.0.0.1:1/x.git'",
    ),
    (
        "config: a token in the output's URL",
        "repository: origin.git",
        "repository: 'https://ghp_«URL»@127.0.0.1:1/x.git'",
    ),
    ("config: a password in an ssh URL", "repository: origin.git", "repository: 'ssh://me:«URL»@127.0.0.1:1/x.git'"),
    (
        "config: a password in a source's URL",
        "directory: {path: tenant}",
        "git: {repository: 'https://me:«URL»@127.0.0.1:1/x.git', ref: main}",
    ),
    (
        "config: a token in a source's URL",
        "directory: {path: tenant}",
        "git: {repository: 'https://ghp_«URL»@127.0.0.1:1/x.git', ref: main}",
    ),
    (
        "config: a password in a wrong URL",
        "directory: {path: tenant}",
        "git: {repository: 'ext::sh -c x https://me:«URL»@h', ref: main}",
    ),
    (
        "config: a password in Argo CD's URL",
        "  delivery:\n",
        "  delivery:\n    argocd: {repoURL: 'https://me:«URL»@example.com/x.git'}\n",
    ),
    (
        "config: a password in a reference",
        "directory: {path: tenant}",
        "git: {repository: origin.git, ref: 'https://me:«URL»@h'}",
    ),
];

/// A new key of age's, of its own for each place.
fn key(stage: &mut Stage, place: &str) -> String {
    let (key, _) = pouch::age::generate_identity().unwrap();
    stage.choir.add(place, key.trim_start_matches("AGE-SECRET-KEY-1"));
    key.to_string()
}

#[test]
fn of_configurations_with_a_key_where_none_belongs() {
    let mut taken = Vec::new();
    for (name, from, to) in CONFIG {
        let mut stage = Stage::new();
        let key = key(&mut stage, name);
        let to = to.replace("«KEY»", &key).replace("«key»", &key.to_lowercase());
        let to = if to.contains("«URL»") { to.replace("«URL»", &stage.choir.voice("a password")) } else { to };
        stage.fleet.configure(from, &to);
        let codes = silent(&mut stage, name, &[&["config"], RENDER, PUBLISH, &["rbac"]]);
        if codes.iter().any(|code| *code != Some(64)) {
            taken.push((*name, codes));
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
}

/// A file of age identities that a source names belongs here too.
#[test]
fn of_files_of_keys_and_recipients_that_are_not_as_they_should_be() {
    let files: &[Row] = &[
        ("a file with noise", "@\n"),
        ("a file with one and noise", "RECIPIENT\n@\n"),
        ("a file with an age key", "AGE-SECRET-KEY-1@\n"),
        ("a file with a comment", "# AGE-SECRET-KEY-1@\nRECIPIENT\n"),
        ("a file with a plugin's identity", "AGE-PLUGIN-YUBIKEY-1@\n"),
        ("a file with an SSH key", "-----BEGIN OPENSSH PRIVATE KEY-----\n@64\n-----END OPENSSH PRIVATE KEY-----\n"),
        ("a file with a reuse key", "POUCH-REUSE-KEY-1@\n"),
        ("a file with two", "POUCH-REUSE-KEY-1@\nPOUCH-REUSE-KEY-1@\n"),
        ("a file with a kubeconfig", "users: [{name: a, user: {token: @}}]\n"),
    ];
    let recipients = format!("recipients: [{RECIPIENT}]");
    for (name, text) in files {
        let text = marked(name, text).replace("RECIPIENT", RECIPIENT);
        let mut stage = Stage::new();
        stage.write("eu.txt", &text);
        stage.fleet.configure(&recipients, "recipientsFile: eu.txt");
        let codes = silent(&mut stage, name, &[RENDER, &["config"]]);
        assert!(codes.iter().all(|code| *code == Some(64)), "{name}, for recipients: {codes:?}");
        let mut stage = Stage::new();
        stage.write("reuse.key", &text);
        let codes = silent(&mut stage, name, &[RENDER, PUBLISH]);
        assert!(codes.iter().all(|code| *code == Some(64)), "{name}, for the reuse key: {codes:?}");
        let mut stage = Stage::new();
        stage.fleet.configure("{file: reuse.key}", "{env: FLEET_KEY}");
        stage.set("FLEET_KEY", &text);
        let codes = silent(&mut stage, name, &[RENDER, PUBLISH]);
        assert!(codes.iter().all(|code| *code == Some(64)), "{name}, in the environment: {codes:?}");
    }
    // A key that is one stays where it is too, under whatever name.
    let mut stage = Stage::new();
    stage.fleet.configure("{file: reuse.key}", "{env: FLEET_KEY}");
    stage.set("FLEET_KEY", crate::support::spoilt::KEY);
    let codes = silent(&mut stage, "a reuse key in the environment", &[RENDER, PUBLISH]);
    assert!(codes.iter().all(|code| *code == Some(0)), "{codes:?}");
}

#[test]
fn of_a_command_line_with_a_key_on_it() {
    let mut stage = Stage::new();
    let key = key(&mut stage, "the command line");
    let url = format!("https://me:{key}@example.com/x");
    for arguments in [
        vec!["init", "--region", &key],
        vec!["render", &key],
        vec!["render", "-f", &key],
        vec!["--unknown", &key],
        vec![key.as_str()],
        vec!["render", "--accept-source", &url],
        vec!["verify", "--live", "--context", &key],
    ] {
        let codes = silent(&mut stage, "the command line", &[&arguments]);
        assert!(codes.iter().all(|code| *code == Some(64)), "{codes:?}");
    }
}

/// What a user may have configured for git, and where it is said when git fails.
#[test]
fn of_credentials_that_git_knows() {
    let configs: &[Row] = &[
        (
            "git: a password behind insteadOf",
            "[url \"https://me:@§127.0.0.1:1/\"]\n\tinsteadOf = https://git.example.com/\n",
        ),
        ("git: a token behind insteadOf", "[url \"https://@§127.0.0.1:1/\"]\n\tinsteadOf = https://git.example.com/\n"),
        (
            "git: a header",
            "[url \"https://127.0.0.1:1/\"]\n\tinsteadOf = https://git.example.com/\n[http]\n\textraHeader = 'Authorization: bearer @'\n",
        ),
        ("git: a proxy's password", "[http]\n\tproxy = http://me:@§127.0.0.1:1\n"),
        (
            "git: a helper",
            "[url \"https://127.0.0.1:1/\"]\n\tinsteadOf = https://git.example.com/\n[credential]\n\thelper = \"!echo password=@ #\"\n",
        ),
    ];
    for (name, text) in configs {
        let mut stage = Stage::new();
        stage.write(".gitconfig", &marked(name, text));
        stage.fleet.configure("repository: origin.git", "repository: 'https://git.example.com/x.git'");
        let codes = silent(&mut stage, name, &[PUBLISH]);
        assert!(codes.iter().all(|code| matches!(code, Some(1 | 5))), "{name}: {codes:?}");
    }
    let mut stage = Stage::new();
    stage.set("https_proxy", "http://me:«handed on: a proxy's password»@127.0.0.1:1");
    stage.fleet.configure("repository: origin.git", "repository: 'https://git.example.com/x.git'");
    let codes = silent(&mut stage, "a proxy's password", &[PUBLISH]);
    assert!(codes.iter().all(|code| matches!(code, Some(1 | 5))), "{codes:?}");
}

/// A user of a kubeconfig, or the fields of its cluster behind `|`.
const KUBECONFIG: &[Row] = &[
    ("kubeconfig: a token", "token: @"),
    ("kubeconfig: a token with a line feed", "token: \"@\\n\""),
    ("kubeconfig: a token that is a list", "token: [@]"),
    ("kubeconfig: a token that is a map", "token: {@: @}"),
    ("kubeconfig: a token twice", "token: @, token: @"),
    ("kubeconfig: a token beside a file that is none", "token: @, tokenFile: nowhere"),
    ("kubeconfig: a token in a file", "tokenFile: token"),
    ("kubeconfig: a password", "username: me, password: @"),
    ("kubeconfig: a password that is a map", "username: me, password: {a: @}"),
    ("kubeconfig: a client's key that is none", "client-certificate-data: eA==, client-key-data: @64"),
    ("kubeconfig: a client's key that is no base64", "client-certificate-data: eA==, client-key-data: '@!'"),
    ("kubeconfig: a client's certificate that is none", "client-certificate-data: @64, client-key-data: eA=="),
    ("kubeconfig: an old plugin", "auth-provider: {name: gcp, config: {access-token: @}}"),
    (
        "kubeconfig: what a plugin prints",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, 'echo @'], interactiveMode: Never}",
    ),
    (
        "kubeconfig: what a plugin prints as JSON",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, 'echo {\\\"status\\\": {\\\"token\\\": \\\"@\\\"}}'], interactiveMode: Never}",
    ),
    (
        "kubeconfig: what a plugin complains",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, 'echo @ >&2; exit 1'], interactiveMode: Never}",
    ),
    (
        "kubeconfig: a plugin's argument",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: 'no-such-plugin', args: [@], interactiveMode: Never}",
    ),
    (
        "kubeconfig: a plugin's variable",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: 'no-such-plugin', env: [{name: A, value: @}], interactiveMode: Never}",
    ),
    ("kubeconfig: a plugin that is a list", "exec: [@]"),
    (
        "kubeconfig: a credential of a plugin that is used",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, 'cat credential'], interactiveMode: Never}",
    ),
    ("kubeconfig: a proxy's password", "token: x | proxy-url: 'http://me:@§127.0.0.1:1'"),
    ("kubeconfig: a proxy that is none", "token: x | proxy-url: 'me:@§::'"),
    ("kubeconfig: an https proxy's password", "token: x | proxy-url: 'https://me:@§127.0.0.1:1'"),
    ("kubeconfig: an authority that is none", "token: x | certificate-authority-data: @64"),
    ("kubeconfig: a syntax error behind", "token: @ ]"),
    ("kubeconfig: an alias", "token: *@"),
    ("kubeconfig: an unknown field", "secret: @"),
];

fn kubeconfig(user: &str, server: &str) -> String {
    let (user, cluster) = user.split_once(" | ").unwrap_or((user, "insecure-skip-tls-verify: false"));
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: mgmt\n\
         clusters: [{{name: c, cluster: {{server: '{server}', {cluster}}}}}]\n\
         contexts: [{{name: mgmt, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}

const CLUSTER: [&[&str]; 4] = [
    &["render", "--request-timeout", "1s", "--kubeconfig", "kubeconfig"],
    &["rbac", "--request-timeout", "1s", "--kubeconfig", "kubeconfig"],
    &[
        "verify",
        "--live",
        "--context",
        "mgmt",
        "--region",
        "eu-west",
        "--request-timeout",
        "1s",
        "--kubeconfig",
        "kubeconfig",
    ],
    &["init", "--context", "mgmt", "-f", "new/pouch.yaml", "--kubeconfig", "kubeconfig"],
];

/// A server that answers every request with all that it was sent, under each status in turn.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        // Others are asked again after a while: `live` has them all.
        let statuses = ["401 Unauthorized", "403 Forbidden", "200 OK"];
        for (stream, status) in listener.incoming().zip(statuses.iter().cycle()) {
            let mut stream = stream.unwrap();
            let mut request = [0_u8; 8192];
            let read = stream.read(&mut request).unwrap_or_default();
            let text = String::from_utf8_lossy(&request[..read]).into_owned();
            let word: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
            let body = serde_json::json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": text, "reason": word});
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nWarning: 299 - \"{word}\"\r\nLocation: /{word}\r\nConnection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn of_kubeconfigs_and_of_servers_that_repeat_what_they_are_sent() {
    let echo = echo();
    for (at, (name, user)) in KUBECONFIG.iter().enumerate() {
        let mut stage = Stage::new();
        stage.write("token", &format!("«{name}»\n"));
        stage.write(
            "credential",
            &format!(
                "{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"«{name}»\"}}}}"
            ),
        );
        stage.write("kubeconfig", &kubeconfig(&marked(name, user).replace("\\\"", "\""), &echo));
        stage.fleet.configure("directory: {path: manifests}", "cluster: {context: mgmt}");
        // Every command in one form, and every row in the other one than the row before.
        let codes = silent_as(&FORMATS[at % 2..][..1], &mut stage, name, &CLUSTER);
        assert!(codes.iter().all(|code| matches!(code, Some(1 | 5 | 8 | 64))), "{name}: {codes:?}");
    }
}

#[test]
fn the_tables_are_as_long_as_they_should_be() {
    let rows = YAML.len() + JSON.len() + SECRET.len() + OBJECTS.len() + CONFIG.len() + KUBECONFIG.len();
    assert!(rows >= 150, "{rows}");
    for (name, row) in [YAML, JSON, SECRET, OBJECTS, KUBECONFIG].concat() {
        assert!(
            row.contains('@') || row.contains("File: token") || row.contains("cat credential"),
            "{name} has no canary"
        );
    }
}
