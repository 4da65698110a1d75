use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jiff::Timestamp;
use tempfile::TempDir;

use super::*;

/// Who logs in where, with this `config.json` and these variables, in words.
fn asked(config: &str, vars: &[(&str, &str)], registry: &str) -> String {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join(".docker")).unwrap();
    fs::write(folder.path().join(".docker/config.json"), config).unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    asked_in(folder.path(), &[&[("HOME", home.as_str())], vars].concat(), registry)
}

fn asked_in(folder: &Path, vars: &[(&str, &str)], registry: &str) -> String {
    let ambient = Ambient::fixed(folder, Timestamp::UNIX_EPOCH, vars);
    let login = Credentials::open(&ambient, &Arc::default()).and_then(|all| all.of(registry, "fleet/eu"));
    match login {
        Ok(Login::Nobody) => "nobody".to_owned(),
        Ok(Login::Password(user, password)) => format!("{} {}", *user, *password),
        Ok(Login::Identity(token)) => format!("identity {}", *token),
        Ok(Login::Token(token)) => format!("token {}", *token),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn logins_are_found_where_docker_keeps_them() {
    let auth = |user: &str| STANDARD.encode(user);
    let one = format!("{{\"auths\": {{\"r.example.com\": {{\"auth\": \"{}\"}}}}}}", auth("me:p:w"));
    for (config, registry, expect) in [
        (one.as_str(), "r.example.com", "me p:w"),
        (&one, "r.example.com:5000", "nobody"),
        (&one, "r.example.co", "nobody"),
        ("{}", "r.example.com", "nobody"),
        (
            "{\"auths\": {\"https://r.example.com/\": {\"username\": \"a\", \"password\": \"b\"}}}",
            "r.example.com",
            "a b",
        ),
        (
            "{\"auths\": {\"r.example.com\": {\"auth\": \"YTpi\", \"identitytoken\": \"t\"}}}",
            "r.example.com",
            "identity t",
        ),
        ("{\"auths\": {\"r.example.com\": {\"registrytoken\": \"t\"}}}", "r.example.com", "token t"),
        ("{\"auths\": {\"r.example.com\": {}}}", "r.example.com", "nobody"),
        ("{\"auths\": {\"https://index.docker.io/v1/\": {\"auth\": \"YTpi\"}}}", "docker.io", "a b"),
        // The one that names most of the repository.
        (
            "{\"auths\": {\"r.example.com\": {\"auth\": \"YTpi\"}, \"r.example.com/fleet\": {\"auth\": \"Yzpk\"}, \"r.example.com/fle\": {\"auth\": \"eA==\"}}}",
            "r.example.com",
            "c d",
        ),
        (
            "{\"auths\": {\"r.example.com\": {\"auth\": \"!\"}}}",
            "r.example.com",
            "error: docker's credentials for r.example.com are no user and password",
        ),
        (
            "{\"auths\": {\"r.example.com\": {\"auth\": \"YWI=\"}}}",
            "r.example.com",
            "error: docker's credentials for r.example.com are no user and password",
        ),
    ] {
        assert_eq!(asked(config, &[], registry), expect, "{config}");
    }
    for broken in ["", "[]", "{\"auths\"", "{\"a\":1,\"a\":2}"] {
        let error = asked(broken, &[], "r.example.com");
        assert!(error.ends_with("config.json is not JSON as docker writes it"), "{error}");
    }
    // The variable wins, where it knows the registry.
    let vars = [("DOCKER_AUTH_CONFIG", "{\"auths\": {\"r.example.com\": {\"auth\": \"YTpi\"}}}")];
    assert_eq!(asked(&one, &vars, "r.example.com"), "a b");
    let vars = [("DOCKER_AUTH_CONFIG", "{\"auths\": {\"x.example.com\": {\"auth\": \"YTpi\"}}}")];
    assert_eq!(asked(&one, &vars, "r.example.com"), "me p:w");
    assert!(
        asked(&one, &[("DOCKER_AUTH_CONFIG", "hunter2")], "r.example.com")
            .starts_with("error: DOCKER_AUTH_CONFIG is not")
    );
    assert_eq!(asked(&one, &[("DOCKER_CONFIG", "elsewhere")], "r.example.com"), "nobody");
}

#[test]
fn helpers_are_asked_and_what_they_print_is_not_shown() {
    let folder = TempDir::new().unwrap();
    let path = std::env::split_paths(&folder.path().display().to_string()).next().unwrap();
    let with = |script: &str, registry: &str| {
        let program = folder.path().join("docker-credential-x");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let vars = [
            ("PATH", &*format!("{}:/usr/bin:/bin", path.display())),
            ("POUCH_REUSE_KEY", "hidden"),
            ("DOCKER_CONFIG", "."),
            ("SEEN", "seen"),
        ];
        fs::write(folder.path().join("config.json"), "{\"credHelpers\": {\"r.example.com\": \"x\", \"n.example.com\": \"none\", \"b.example.com\": \"../x\"}, \"auths\": {\"r.example.com\": {\"auth\": \"YTpi\"}}}").unwrap();
        asked_in(folder.path(), &vars, registry)
    };
    let echo = "read server; printf '{\"ServerURL\": \"\", \"Username\": \"%s\", \"Secret\": \"%s\"}' \"$server-$1\" \"$SEEN$POUCH_REUSE_KEY\"";
    assert_eq!(with(echo, "r.example.com"), "r.example.com-get seen");
    assert_eq!(with("echo '{\"Username\": \"<token>\", \"Secret\": \"t\"}'", "r.example.com"), "identity t");
    // What a helper does not know, the file may.
    assert_eq!(with("echo credentials not found in native keychain; exit 1", "r.example.com"), "a b");
    for (script, expect) in [
        ("echo hunter2; exit 1", "failed"),
        ("echo hunter2", "printed something other than a user and a secret"),
        ("echo '{\"Username\": \"hunter2\"}'", "printed something other than a user and a secret"),
    ] {
        let error = with(script, "r.example.com");
        assert!(error.contains(expect) && !error.contains("hunter2"), "{error}");
    }
    assert!(with(echo, "n.example.com").contains("is not installed: docker-credential-none"));
    assert!(with(echo, "b.example.com").contains("has a name that no program has"));
}
