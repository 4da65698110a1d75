//! The exact set of requests of a run, as committed under `testdata/live`, and what is in none.
//!
//! `POUCH_REWRITE=1` writes the lists anew; then read what changed as carefully as a change of rights.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::ground::{CLUSTER, Ground};
use crate::objects::{aws, azure, credential, fleet, namespace, path, reference, secret};
use crate::rig::proxy::{Proxy, Recorded};
use crate::rig::writer::{Write, write_all};
use crate::support::pouch::plan;
use crate::support::root;

/// What was asked, with how often: `2 GET /path?query whole`, continue tokens as `…`.
pub fn lines(requests: &[Recorded]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for asked in requests {
        let form = match asked.accept.as_str() {
            "application/json" => "whole",
            accept if accept.contains("as=PartialObjectMetadata") => "metadata",
            other => panic!("accepts {other}"),
        };
        let query: Vec<&str> = asked
            .query
            .split('&')
            .map(|pair| if pair.starts_with("continue=") { "continue=…" } else { pair })
            .collect();
        let query = if asked.query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        *counts.entry(format!("{} {}{query} {form}", asked.method, asked.path)).or_default() += 1;
    }
    counts.into_iter().map(|(line, count)| format!("{count} {line}\n")).collect()
}

/// Whatever the scenario: no request changes anything, waits for changes, or lists what must not be listed.
#[track_caller]
pub fn are_harmless(requests: &[Recorded]) {
    assert!(!requests.is_empty());
    for asked in requests {
        let line = format!("{} {}?{}", asked.method, asked.path, asked.query);
        assert_eq!(asked.method, "GET", "{line}");
        assert!(!asked.query.contains("watch") && !asked.path.contains("/watch/"), "{line}");
        let last = asked.path.rsplit('/').next().unwrap_or_default();
        assert!(!["secrets", "configmaps", "serviceaccounts"].contains(&last), "{line}");
        assert!(asked.agent.starts_with("pouch/"), "it says that it is {:?}", asked.agent);
    }
}

#[track_caller]
fn check(ground: &Ground, proxy: &Proxy, name: &str, config: &Path, code: i32, out: &str) {
    let kubeconfig = ground.path("kubeconfig-proxy");
    proxy.kubeconfig(&kubeconfig, "admin");
    proxy.calm();
    let answer = ground.render(config, &kubeconfig, out, &[]).exits(code);
    let requests = proxy.requests();
    are_harmless(&requests);
    let found = lines(&requests);
    let file = root().join(format!("testdata/live/{name}.requests"));
    if std::env::var_os("POUCH_REWRITE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &found).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, expected, "{name}; {}", answer.stderr);
}

#[test]
fn nothing_else_is_asked() {
    let Some(ground) = Ground::new() else { return };
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    ground.apply(&[namespace("team-b")]);
    let whole = ground.config("whole.yaml", CLUSTER, "");
    check(&ground, &proxy, "empty", &whole, 0, "empty");

    // What no Credential needs stands beside what is needed, and is never asked for.
    ground.apply(&[secret("team-b", "bystander", &serde_json::json!({"a": "b"}))]);
    ground.apply(&aws("unused", 1)[..2]);
    let mut objects = azure("azure", 1).to_vec();
    objects.extend(aws("aws", 1));
    ground.apply(&objects);
    check(&ground, &proxy, "named", &whole, 0, "named");
    // A run that changes nothing asks the same: only so it knows that nothing changed.
    check(&ground, &proxy, "named", &whole, 0, "named");
    looks_into_no_secret(&ground, &proxy, &whole);

    let one = "[{name: mgmt, cluster: {context: admin}, provides: {namespaces: [team-a]}}]";
    let of_one = ground.config("one.yaml", one, "");
    check(&ground, &proxy, "one-namespace", &of_one, 0, "one-namespace");

    let paused = fs::read_to_string(&whole).unwrap().replace("delivery: flux\n", "delivery: flux\n    state: paused\n");
    let paused = ground.write("paused.yaml", &paused);
    check(&ground, &proxy, "paused", &paused, 0, "paused");

    // What is for a region that the configuration does not have asks for nothing.
    let elsewhere = secret("team-b", "of-mars", &serde_json::json!({"a": "b"}));
    let of_mars = credential("team-b", "mars", "mars", &reference(&elsewhere));
    ground.apply(std::slice::from_ref(&of_mars));
    check(&ground, &proxy, "unknown-region", &whole, 3, "unknown");
    write_all(&ground.server.endpoint("admin"), &[Write::Delete(path(&of_mars))]);

    // A rule that selects namespaces is what makes them listed; Credentials without a region ask for nothing.
    ground.apply(&fleet(1));
    let bystander = secret("team-b", "bystander", &serde_json::Value::Object(Default::default()));
    ground.apply(&[credential("team-b", "of-no-region", "", &reference(&bystander))]);
    check(&ground, &proxy, "selecting-rule", &whole, 0, "selecting");
}

/// With `--no-values` the same is asked but for Secrets, and the reuse key need not be there.
fn looks_into_no_secret(ground: &Ground, proxy: &Proxy, whole: &Path) {
    let config = fs::read_to_string(whole).unwrap() + "output: {path: looked}\n";
    let kubeconfig = ground.path("kubeconfig-proxy");
    ground.render(&ground.write("with.yaml", &config), &kubeconfig, "looked", &[]).exits(0);
    let without = ground.write("without.yaml", &config.replace("reuse.key", "not-there.key"));
    proxy.calm();
    let flags = ["--no-values", "--detailed-exitcode", "--kubeconfig", kubeconfig.to_str().unwrap()];
    let told = plan(&without, &flags).exits(0);
    let requests = proxy.requests();
    are_harmless(&requests);
    let asked: Vec<&Recorded> = requests.iter().filter(|asked| asked.path.contains("/secrets/")).collect();
    assert!(asked.is_empty() && requests.iter().any(|asked| asked.path.contains("identit")), "{}", lines(&requests));
    assert_eq!(told.outcomes(), [("eu", "unchanged")]);
    assert_eq!(told.summary["regions"][0]["unseen"], 2, "{}", told.summary);
}

/// Names in references are anybody's text. None of them may lead a request elsewhere.
#[test]
fn no_name_leads_a_request_astray() {
    let Some(ground) = Ground::new() else { return };
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let kubeconfig = ground.path("kubeconfig-proxy");
    proxy.kubeconfig(&kubeconfig, "admin");
    let names = [
        "",
        ".",
        "..",
        "/",
        "a/b",
        "../../kcm-system/secrets/x",
        "..%2f..%2fx",
        "x?watch=true",
        "x#y",
        "x y",
        "x\ny",
        "%2e%2e",
        "x/status",
        "X",
        "\u{e9}",
        "x\u{0}",
    ];
    let mut count = 0;
    for (number, name) in names.iter().enumerate() {
        let identity = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "name": name, "namespace": "team-a"});
        let in_place = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": name});
        for (what, identity) in [("name", identity), ("namespace", in_place)] {
            let hostile = credential("team-a", &format!("{what}-{number}"), "eu", &identity);
            // What the API server itself refuses is no danger.
            let body = hostile.to_string();
            let out = ground.server.kubectl(["create", "--validate=false", "-f", "-"], &body);
            count += usize::from(out.status.success());
        }
    }
    assert!(count > 10, "{count} were accepted");
    let config = ground.config("pouch.yaml", CLUSTER, "");
    proxy.calm();
    let answer = ground.render(&config, &kubeconfig, "hostile", &[]).exits(3);
    let requests = proxy.requests();
    are_harmless(&requests);
    for asked in &requests {
        let own = asked.path.strip_prefix("/api/v1/namespaces/team-a/secrets/");
        if let Some(name) = own {
            let is_name = !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.');
            assert!(is_name && !name.starts_with('.'), "{} was asked for", asked.path);
        }
        assert!(
            !asked.path.contains('%') && !asked.path.contains("//") && !asked.path.contains(".."),
            "{} was asked for",
            asked.path
        );
    }
    assert!(answer.stderr.contains("team-a/name-"), "{}", answer.stderr);
}

/// An API server and those before it are shared: however much is to be read, 32 requests are open at most.
#[test]
fn no_more_than_32_requests_are_open() {
    let Some(ground) = Ground::new() else { return };
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let kubeconfig = ground.path("kubeconfig-proxy");
    proxy.kubeconfig(&kubeconfig, "admin");
    let objects: Vec<_> = (0..40).flat_map(|number| aws(&format!("aws-{number}"), 1)).collect();
    ground.apply(&objects);
    let config = ground.config("pouch.yaml", CLUSTER, "");
    proxy.calm();
    let open = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let counted = Arc::clone(&open);
    proxy.before(move |_, _| {
        let (now, most) = &*counted;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(30));
        now.fetch_sub(1, Ordering::SeqCst);
    });
    ground.render(&config, &kubeconfig, "many", &[]).exits(0);
    let most = open.1.load(Ordering::SeqCst);
    assert!((17..=32).contains(&most), "{most} requests were open at once");

    // The log says what was read: how much of which kind, and how long it took.
    let said = ground.render(&config, &kubeconfig, "many", &["-v", "--log-format", "json"]).exits(0).stderr;
    let events: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let read: BTreeMap<&str, &serde_json::Value> =
        events.iter().filter_map(|event| Some((event["kind"].as_str()?, event))).collect();
    for (kind, count) in [("Credential", 40), ("Secret", 40)] {
        let event = read.get(kind).unwrap_or_else(|| panic!("nothing is said of {kind}:\n{said}"));
        assert_eq!((event["source"].as_str(), event["count"].as_u64()), (Some("mgmt"), Some(count)), "{event}");
        assert!(event["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{event}");
    }
}

/// A cluster may hold whatever its writers like; what it takes of a run's memory has a bound, and others go on.
#[test]
fn a_cluster_that_holds_more_than_there_is_memory_for_is_unread() {
    let Some(ground) = Ground::new() else { return };
    let many: Vec<_> = (0..40)
        .map(|n| secret("team-b", &format!("s{n}"), &serde_json::json!({"a": "x".repeat(4000)})))
        .flat_map(|made| {
            [credential("team-b", made["metadata"]["name"].as_str().unwrap(), "eu", &reference(&made)), made]
        })
        .collect();
    ground.apply(&[namespace("team-b")]);
    ground.apply(&many);
    let other = [secret("team-a", "own", &serde_json::json!({"a": "b"}))];
    let own = credential("team-a", "own", "eu", &reference(&other[0]));
    let files: Vec<String> = other.iter().chain([&own]).map(ToString::to_string).collect();
    fs::create_dir_all(ground.path("files")).unwrap();
    ground.write("files/all.yaml", &files.join("\n---\n"));
    let sources = "[{name: platform, directory: {path: files}, provides: {namespaces: [team-a], clusterScoped: true}}, \
                   {name: mgmt, cluster: {context: admin}, provides: {namespaces: [team-b]}}]";
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let kubeconfig = ground.path("kubeconfig-proxy");
    proxy.kubeconfig(&kubeconfig, "admin");
    let render = |memory: &str, code: i32| {
        let config = ground.config("pouch.yaml", sources, &format!("limits: {{memory: {memory}}}\n"));
        ground.render(&config, &kubeconfig, "out", &[]).exits(code)
    };
    // Credentials that are listed alone, then Secrets that are asked for by name.
    for memory in ["64Ki", "256Ki"] {
        let said = render(memory, 3).stderr;
        assert!(said.contains("takes more memory than its part of limits.memory"), "{memory}: {said}");
        assert!(ground.path("out/regions/eu/core/secrets/team-a/own.sops.yaml").is_file(), "{memory}");
        assert!(!ground.path("out/regions/eu/core/secrets/team-b").exists(), "{memory}");
    }
    // The control: with more memory all of it is read.
    render("64Mi", 0);
    assert!(ground.path("out/regions/eu/core/secrets/team-b/s39.sops.yaml").is_file());
}
