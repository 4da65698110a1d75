//! The proxy before the real API server.

use std::fs;

use serde_json::json;

use super::canned::names;
use crate::rig::apiserver::ApiServer;
use crate::rig::fault::Fault;
use crate::rig::http::{Endpoint, Request};
use crate::rig::proxy::{Proxy, When};
use crate::rig::tunnel::Tunnel;

/// Reads a list page by page; an expired token is exchanged for the one that came with it.
fn read_pages(endpoint: &Endpoint, target: &str) -> Vec<String> {
    let mut connection = endpoint.connect().unwrap();
    let (mut all, mut token) = (Vec::new(), String::new());
    for _ in 0..20 {
        let more = if token.is_empty() { String::new() } else { format!("&continue={token}") };
        let body = connection.send(&Request::get(&format!("{target}?limit=10{more}"))).unwrap().value();
        all.extend(names(&body).into_iter().map(String::from));
        match body["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) {
            Some(next) => token = next.to_owned(),
            None => return all,
        }
    }
    panic!("the list has no end")
}

#[test]
fn pages_of_the_real_server_go_astray() {
    let Some(server) = ApiServer::shared() else { return };
    let namespace = server.namespace("pages");
    let target = format!("/api/v1/namespaces/{namespace}/configmaps");
    let mut admin = server.endpoint("admin").connect().unwrap();
    let expect: Vec<String> = (0..35).map(|n| format!("map-{n:02}")).collect();
    for name in &expect {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"filler": "x".repeat(5000)}});
        let made = admin.send(&Request::with_json("POST", &target, "application/json", &body)).unwrap();
        assert_eq!(made.status, 201);
    }
    let proxy = Proxy::to(server.endpoint("pouch"));
    let through = proxy.endpoint("admin");
    let direct = admin.send(&Request::get(&target)).unwrap();
    assert!(direct.body.len() > 150_000 && direct.header("transfer-encoding") == Some("chunked"));
    let passed = through.get(&target).unwrap();
    assert_eq!(names(&passed.value()), names(&direct.value()));
    assert_eq!(passed.header("content-type"), direct.header("content-type"));
    assert_eq!(proxy.endpoint("nobody").get(&target).unwrap().status, 403, "the proxy lent out its own right");

    let check = |fault, when, lost: &[usize], twice: &[usize]| {
        proxy.arm(fault, when);
        let mut wanted: Vec<&String> =
            expect.iter().enumerate().filter(|(n, _)| !lost.contains(n)).map(|(_, name)| name).collect();
        wanted.extend(twice.iter().map(|n| &expect[*n]));
        wanted.sort();
        let mut all = read_pages(&through, &target);
        all.sort();
        assert_eq!(all.iter().collect::<Vec<_>>(), wanted, "{fault:?}");
    };
    let range = |from: usize, to: usize| (from..to).collect::<Vec<_>>();
    check(Fault::Stall, When::Never, &[], &[]);
    check(Fault::MissingPage, When::Once(0), &range(0, 10), &[]);
    check(Fault::MissingPage, When::Once(1), &range(10, 20), &[]);
    check(Fault::MissingPage, When::Once(3), &[], &[]);
    check(Fault::DuplicatePage, When::Once(3), &[], &range(30, 35));
    check(Fault::RepeatedPage, When::Once(1), &[], &range(0, 10));
    check(Fault::EarlyEnd, When::Once(2), &range(30, 35), &[]);
    check(Fault::NullItems, When::Once(0), &range(0, 35), &[]);
    // The server takes the token for a fresh one.
    check(Fault::GoneFresh, When::Once(2), &[], &[]);
    assert_eq!(proxy.injected(), 1);
}

/// kubectl, which is nobody's idea of a mock, goes through the proxy and meets its faults.
#[test]
fn kubectl_goes_through_the_proxy() {
    let Some(server) = ApiServer::shared() else { return };
    let namespace = server.namespace("kubectl");
    let proxy = Proxy::to(server.endpoint("pouch"));
    let scratch = tempfile::tempdir().unwrap();
    let config = scratch.path().join("kubeconfig");
    proxy.kubeconfig(&config, "admin");
    let file = format!("--kubeconfig={}", config.display());
    let get = || server.kubectl([file.as_str(), "get", "--raw", &format!("/api/v1/namespaces/{namespace}")], "");
    assert!(get().status.success());
    assert_eq!(proxy.lines(), [format!("GET /api/v1/namespaces/{namespace}")]);

    let tunnel = Tunnel::new();
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("    server:", &format!("    proxy-url: {}\n    server:", tunnel.url()))).unwrap();
    proxy.arm(Fault::NotFoundNamed, When::Once(0));
    let told = String::from_utf8(get().stderr).unwrap();
    assert!(told.contains(&format!("namespaces \"{namespace}\" not found")), "{told}");
    assert_eq!(tunnel.targets(), [proxy.url().trim_start_matches("https://")]);
}
