//! Plugins as a kubeconfig names them: shell scripts that do what plugins do, and what they should not.

use super::*;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jiff::Timestamp;
use pouch_core::name::Variables;

fn ambient(vars: &[(&str, &str)]) -> Ambient {
    #[expect(clippy::disallowed_methods, reason = "a test has no other way to find sh")]
    let path = std::env::var("PATH").unwrap_or_default();
    let all: Vec<(&str, &str)> = vars.iter().copied().chain([("PATH", path.as_str())]).collect();
    Ambient::fixed(Path::new("/"), Timestamp::UNIX_EPOCH, &all)
}

fn plugin(script: &str, vars: &[(&str, &str)], change: impl FnOnce(&mut ExecConfig)) -> Result<Plugin, PluginError> {
    listing(&[], script, vars, change)
}

/// A plugin that is handed these variables as well.
fn listing(
    names: &[&str],
    script: &str,
    vars: &[(&str, &str)],
    change: impl FnOnce(&mut ExecConfig),
) -> Result<Plugin, PluginError> {
    let mut exec = ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".to_owned()),
        command: Some("sh".to_owned()),
        args: Some(vec!["-c".to_owned(), script.to_owned()]),
        ..ExecConfig::default()
    };
    change(&mut exec);
    let variables = Variables::new(names.iter().map(|name| (*name).to_owned()).collect());
    let inherited = Inherited { variables: &variables, listed: "under `x`".to_owned() };
    Plugin::new(exec, &inherited, &ambient(vars), &Arc::default())
}

fn credential(status: &str) -> String {
    format!(r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{status}}}"#)
}

#[track_caller]
fn says(script: &str, expect: &str) {
    let error = match plugin(script, &[], |_| {}).and_then(|plugin| plugin.run()) {
        Ok(_) => panic!("{script} gave credentials"),
        Err(error) => error,
    };
    assert_eq!(error.message, expect, "{script}");
    assert!(error.help.ends_with('.') && !error.help.contains("CANARY"), "{error:?}");
}

#[test]
fn credentials_reach_the_client() {
    let mut auth = AuthInfo::default();
    let script = format!("echo '{}'", credential(r#"{"token":"t0k","clientCertificateData":"C","clientKeyData":"K"}"#));
    plugin(&script, &[], |_| {}).unwrap().run().unwrap().fill(&mut auth);
    let filled = serde_json::to_value(&auth).unwrap();
    assert_eq!((filled["token"].as_str(), filled["client-certificate-data"].as_str()), (Some("t0k"), Some("Qw==")));
    assert_eq!(filled["client-key-data"], "Sw==");
}

#[test]
fn what_is_no_credential_is_said_and_never_quoted() {
    says("echo CANARY", "printed something that is not JSON");
    says("echo '{\"kind\":\"CANARY\"}'", "printed something other than an ExecCredential");
    says(&format!("echo '{}'", credential("{}")), "printed an ExecCredential without token and certificate");
    says(
        &format!("echo '{}'", credential(r#"{"clientKeyData":"CANARY"}"#)),
        "printed a certificate without its key, or a key without its certificate",
    );
    let old = credential(r#"{"token":"CANARY"}"#).replace("/v1\"", "/v1beta1\"");
    says(&format!("echo '{old}'"), "printed an ExecCredential of another version than the kubeconfig says");
    says(
        &format!("printf '%s' '{}'", credential(r#"{"token":"CAN\\u000aARY"}"#).replace("\\\\", "\\")),
        "printed a token with a control character in it",
    );
    says("echo CANARY >&2; exit 1", "failed: \"sh\" ended with an error");
    says("head -c 3000000 /dev/zero", "printed what cannot be read: \"sh\": it is more than 1024 KiB");
    says("printf '\\377'", "printed something that is not text");
}

#[test]
fn a_plugin_sees_neither_our_keys_nor_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let script =
        format!("env > {}; if read line; then exit 1; fi; echo '{}'", seen.display(), credential(r#"{"token":"t"}"#));
    let vars = [
        ("POUCH_REUSE_KEY", "CANARY"),
        ("SOPS_AGE_KEY", "CANARY"),
        ("FLEET_KEY", "POUCH-REUSE-KEY-1CANARY"),
        ("GITHUB_TOKEN", "CANARY"),
        ("AWS_ENDPOINT_URL_STS", "CANARY"),
        ("GOOGLE", "CANARY"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/key"),
        ("AWS_PROFILE", "prod"),
        ("HTTPS_PROXY", "http://proxy"),
        ("LC_ALL", "C.UTF-8"),
    ];
    let own = |exec: &mut ExecConfig| {
        exec.env = Some(vec![[("name".to_owned(), "EXTRA".to_owned()), ("value".to_owned(), "1".to_owned())].into()]);
    };
    let listed = ["AWS_PROFILE", "GOOGLE_*", "FLEET_*", "POUCH*", "S*"];
    listing(&listed, &script, &vars, own).unwrap().run().unwrap();
    let text = std::fs::read_to_string(&seen).unwrap();
    let env: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    assert!(!text.contains("CANARY"), "{text}");
    let seen = [
        ("AWS_PROFILE", "prod"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/key"),
        ("EXTRA", "1"),
        ("HTTPS_PROXY", "http://proxy"),
        ("LC_ALL", "C.UTF-8"),
    ];
    seen.iter().for_each(|(name, value)| assert_eq!(env.get(name), Some(value), "{name}"));
    let info: serde_json::Value = serde_json::from_str(env["KUBERNETES_EXEC_INFO"]).unwrap();
    assert_eq!((&info["kind"], &info["spec"]["interactive"]), (&"ExecCredential".into(), &false.into()));
}

/// Names, and no values; none of those that no list lets through.
#[test]
fn a_failed_plugin_says_what_it_was_not_handed() {
    let vars = [
        ("A", "CANARY"),
        ("AWS_PROFILE", "CANARY"),
        ("AWS_REGION", "CANARY"),
        ("FLEET_KEY", "POUCH-REUSE-KEY-1CANARY"),
        ("BASH_FUNC_x%%", "CANARY"),
        ("POUCH_REUSE_KEY", "CANARY"),
        ("TZ", "UTC"),
    ];
    for (listed, expect) in [
        (&[][..], " It was not handed AWS_PROFILE, AWS_REGION, A of this environment: list what it needs under `x`."),
        (&["AWS_*"], " It was not handed A of this environment: list what it needs under `x`."),
        (&["AWS_*", "A"], ""),
    ] {
        for (script, help) in [
            ("exit 1", "Check that \"sh\" works in a shell, without asking anything."),
            ("echo CANARY", "Run it by hand: it must print an ExecCredential with a status."),
        ] {
            let error = listing(listed, script, &vars, |_| {}).unwrap().run().err().unwrap();
            assert_eq!(error.help, format!("{help}{expect}"));
        }
    }
}

#[test]
fn a_plugin_that_hangs_is_ended_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let late = folder.path().join("late");
    let mut hangs = plugin(&format!("sleep 1; touch {}", late.display()), &[], |_| {}).unwrap();
    hangs.timeout = Duration::from_millis(300);
    let error = hangs.run().err().unwrap();
    assert_eq!(error.message, "took longer than 0 s and was ended: \"sh\"");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(!late.exists());
}

#[test]
fn what_cannot_be_started_is_said_with_the_kubeconfigs_own_hint() {
    let absent = |exec: &mut ExecConfig| {
        exec.command = Some("no-such-plugin".to_owned());
        exec.install_hint = Some("brew install it".to_owned());
    };
    let error = plugin("", &[], absent).unwrap().run().err().unwrap();
    assert_eq!(
        (&*error.message, &*error.help),
        ("is not installed: \"no-such-plugin\"", "Install it. brew install it")
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugin");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let error = plugin("", &[], |exec| exec.command = Some(file.display().to_string())).unwrap().run().err().unwrap();
    assert!(error.message.starts_with("cannot be started: "), "{error:?}");
    for (change, expect) in [
        (ExecConfig { command: None, ..ExecConfig::default() }, "names no program"),
        (
            ExecConfig {
                command: Some("x".to_owned()),
                interactive_mode: Some(ExecInteractiveMode::Always),
                ..ExecConfig::default()
            },
            "wants a terminal, which pouch never gives",
        ),
        (
            ExecConfig {
                command: Some("x".to_owned()),
                api_version: Some("client.authentication.k8s.io/v1alpha1".to_owned()),
                ..ExecConfig::default()
            },
            "speaks an API version that is unknown, or removed",
        ),
    ] {
        let error = plugin("", &[], |exec| *exec = change).err().unwrap();
        assert_eq!(error.message, expect);
    }
}
