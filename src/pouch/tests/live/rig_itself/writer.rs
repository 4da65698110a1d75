//! The writer against the real API server.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use serde_json::json;

use crate::rig::apiserver::ApiServer;
use crate::rig::writer::{Write, Writer, write_all};

#[test]
fn a_writer_knows_every_state() {
    let Some(server) = ApiServer::shared() else { return };
    let namespace = server.namespace("writer");
    let all = format!("/api/v1/namespaces/{namespace}/configmaps");
    let map = |name: &str, n: u64| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": n.to_string()}});
    let (kept, passing) = (format!("{all}/kept"), format!("{all}/passing"));
    let step = {
        let (all, kept, passing) = (all.clone(), kept.clone(), passing.clone());
        move |n: u64| {
            let last = if n.is_multiple_of(2) {
                Write::Create(all.clone(), map("passing", n))
            } else {
                Write::Delete(passing.clone())
            };
            let first = if n % 3 == 1 { Write::Replace } else { Write::Apply };
            vec![first(kept.clone(), map("kept", n)), last]
        }
    };
    let writer = Writer::start(server.endpoint("admin"), Duration::from_millis(2), step);
    writer.wait_for(40);
    let log = writer.stop();
    assert!(log.len() >= 40);
    let versions: Vec<u64> = log.iter().filter_map(|entry| entry.version.as_ref()?.parse().ok()).collect();
    assert!(versions.len() > log.len() / 2 && versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    let last = log.iter().rfind(|entry| entry.what.ends_with("/kept")).unwrap();
    let object = server.endpoint("admin").get(&kept).unwrap().value();
    assert_eq!(object["data"]["n"].as_str().unwrap(), last.sequence.to_string());
    assert_eq!(object["metadata"]["resourceVersion"].as_str(), last.version.as_deref());
    let there = log.iter().rfind(|entry| !entry.what.ends_with("/kept")).unwrap().sequence.is_multiple_of(2);
    assert_eq!(server.endpoint("admin").get(&passing).unwrap().status == 200, there);

    let writer =
        Writer::start(server.endpoint("nobody"), Duration::ZERO, move |n| vec![Write::Delete(format!("{all}/{n}"))]);
    writer.wait_for(1);
    let refused = std::panic::catch_unwind(AssertUnwindSafe(|| drop(writer.stop())));
    assert!(refused.is_err(), "a writer whose changes are refused ended well");
}

#[test]
fn many_changes_are_made_at_once() {
    let Some(server) = ApiServer::shared() else { return };
    let namespace = server.namespace("many");
    let all = format!("/api/v1/namespaces/{namespace}/configmaps");
    let map = |n: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{n}")}});
    let writes: Vec<Write> = (0..101).map(|n| Write::Create(all.clone(), map(n))).collect();
    let admin = server.endpoint("admin");
    write_all(&admin, &writes);
    assert_eq!(admin.get(&all).unwrap().value()["items"].as_array().map(Vec::len), Some(101));
    write_all(&admin, &[]);
    let again = std::panic::catch_unwind(AssertUnwindSafe(|| write_all(&admin, &writes[..1])));
    assert!(again.is_err(), "what is there was made again");
}
