//! `pouch explain` of one Credential on a live cluster: what it asks for, and what it does not say of others.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::ground::{CLUSTER, Ground};
use crate::objects::{SYSTEM, TENANT, aws, azure, credential, path, reference, secret, store};
use crate::requests::{are_harmless, lines};
use crate::rig::proxy::Proxy;
use crate::rig::writer::{Write, write_all};

/// What `pouch explain` says of a Credential, in words or as JSON that keeps its schema, and on stderr.
#[track_caller]
fn explain(config: &Path, kubeconfig: &Path, what: &str, format: &str) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
    command.args([
        "explain".as_ref(),
        "-f".as_ref(),
        config.as_os_str(),
        what.as_ref(),
        "-o".as_ref(),
        format.as_ref(),
    ]);
    command.args([OsStr::new("--kubeconfig"), kubeconfig.as_os_str()]).stdin(Stdio::null()).env_clear();
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    (out, err)
}

#[track_caller]
fn record(config: &Path, kubeconfig: &Path, what: &str) -> Value {
    let (out, _) = explain(config, kubeconfig, what, "json");
    let answer: Value = serde_json::from_str(&out).unwrap();
    let schema = include_str!("../../../../schemas/explanation.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let faults: Vec<String> = schema.iter_errors(&answer).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}\n{answer:#}");
    assert_eq!((&answer["closureOnly"], answer["claims"].as_array().unwrap().len()), (&Value::Bool(true), 1));
    answer
}

#[test]
fn one_credential_asks_for_its_own_closure() {
    let Some(ground) = Ground::new() else { return };
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let kubeconfig = ground.path("kubeconfig-proxy");
    proxy.kubeconfig(&kubeconfig, "admin");
    let config = ground.config("pouch.yaml", CLUSTER, "output: {path: out}\n");
    let asked = |what| {
        proxy.calm();
        explain(&config, &kubeconfig, what, "text");
        let requests = proxy.requests();
        are_harmless(&requests);
        lines(&requests)
    };
    ground.apply(&azure("azure", 1));
    let alone = asked("team-a/azure");
    // Others come, and one more object that the same identity could have named: nothing more is asked.
    let mut others: Vec<Value> = aws("aws", 1).into();
    others.extend(store("store", 1));
    others.extend(azure("other", 1));
    ground.apply(&others);
    assert_eq!(asked("team-a/azure"), alone);
    assert!(alone.contains("secrets/azure-secret") && asked("kcm-system/aws").contains("secrets/aws-secret"));
    // What nobody has asks for no object of anybody's.
    let gone = {
        proxy.calm();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
        command.args([
            "explain".as_ref(),
            "-f".as_ref(),
            config.as_os_str(),
            OsStr::new("team-a/none"),
            "--kubeconfig".as_ref(),
        ]);
        let output = command.arg(&kubeconfig).env_clear().output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        lines(&proxy.requests())
    };
    assert!(!gone.contains("/secrets/") && !gone.contains("identities/"), "{gone}");
}

#[test]
fn what_others_decide_is_not_told() {
    let Some(ground) = Ground::new() else { return };
    let kubeconfig = ground.path("kubeconfig");
    let config = ground.config("pouch.yaml", CLUSTER, "output: {path: out}\n");
    let mut objects: Vec<Value> = azure("azure", 1).into();
    objects.extend(store("store", 1));
    objects.extend(aws("aws", 1));
    ground.apply(&objects);
    let states = |what: &str| {
        let answer = record(&config, &kubeconfig, what);
        let claim = &answer["claims"][0];
        let states: Vec<String> = claim["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["state"].as_str().unwrap_or("-").into())
            .collect();
        let published = claim["published"].as_array().map_or(0, Vec::len);
        assert!(claim.get("kept").is_none() && claim.get("withdrawn").is_none(), "{claim:#}");
        (claim["verdict"].as_str().unwrap().to_owned(), states.join(" "), published, answer["regions"][0].clone())
    };
    let (verdict, first, published, region) = states("team-a/azure");
    assert_eq!((&*verdict, &*first, published), ("admitted", "added added added", 0));
    assert!(region.get("outcome").is_none(), "{region:#}");
    ground.render(&config, &kubeconfig, "out", &[]).exits(0);
    assert_eq!(states("team-a/azure").1, "unchanged unchanged unchanged");

    // Others change, and one is withdrawn: nothing of that is said, and nothing of the region.
    ground.apply(&store("store", 2));
    write_all(&ground.server.endpoint("admin"), &[Write::Delete(path(&aws("aws", 1)[2]))]);
    let (text, err) = explain(&config, &kubeconfig, "team-a/azure", "text");
    assert!(err.contains("only what it needs itself was asked of the cluster"), "{err}");
    for wrong in ["stays", "withdrawn", "up to date", "the next publish", "aws", "store"] {
        assert!(!text.contains(wrong), "{wrong}: {text}");
    }
    ground.apply(&azure("azure", 2));
    assert_eq!(states("team-a/azure").1, "changed changed changed");

    // It leads elsewhere now. What it had goes, unless others need it: that is not told either.
    let plain = secret(TENANT, "plain", &serde_json::json!({"value": "x"}));
    ground.apply(&[plain.clone(), credential(TENANT, "azure", "eu", &reference(&plain))]);
    let (verdict, steps, published, _) = states("team-a/azure");
    assert_eq!((&*verdict, published), ("admitted", 3), "{steps}");
    let (text, _) = explain(&config, &kubeconfig, "team-a/azure", "text");
    assert!(text.contains("Secret team-a/azure-secret is published for it, and it does not lead there now"), "{text}");
    assert!(!text.contains("stays published") && !text.contains("is withdrawn"), "{text}");

    // Broken and refused: what it had is only said to be published.
    let nothing = secret(TENANT, "nothing", &serde_json::json!({}));
    ground.apply(&[credential(TENANT, "store", "eu", &reference(&nothing))]);
    let (verdict, steps, published, _) = states("team-a/store");
    assert!(verdict == "broken" && !steps.contains("unchanged") && published == 2, "{steps} {published}");
    let shut = secret(SYSTEM, "shut", &serde_json::json!({"value": "x"}));
    ground.apply(&[shut.clone(), credential(TENANT, "store", "eu", &reference(&shut))]);
    let (verdict, _, published, _) = states("team-a/store");
    assert_eq!((&*verdict, published), ("refused", 2));
    let (text, _) = explain(&config, &kubeconfig, "team-a/store", "text");
    assert!(text.contains("refused: what it had may be withdrawn"), "{text}");

    // A Credential that is gone: its objects are in bundles, and the word for them says no more.
    let (text, _) = explain(&config, &kubeconfig, "kcm-system/aws", "text");
    assert!(text.contains("in bundles:") && text.contains(": published, needed by kcm-system/aws"), "{text}");
    assert!(!text.contains("withdrawn") && !text.contains("unchanged"), "{text}");
}
