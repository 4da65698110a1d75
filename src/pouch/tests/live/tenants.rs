//! Clusters that are sources of one tenant: each takes of the run's time no more than its own, and others go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::ground::Ground;
use crate::objects::{apply, credential, namespace, reference, secret};
use crate::rig::fault::Fault;
use crate::rig::proxy::{Proxy, When};
use crate::rig::writer::write_all;

/// A platform in files, and two tenants with clusters of their own: two ways to one server.
struct Stage {
    ground: Ground,
    proxies: [Proxy; 2],
    sources: String,
}

impl Stage {
    fn new() -> Option<Self> {
        let ground = Ground::new()?;
        let of = |namespace: &str| {
            let made = secret(namespace, "own", &json!({"a": "b"}));
            [credential(namespace, "own", "eu", &reference(&made)), made]
        };
        for team in ["team-b", "team-c"] {
            ground.apply(&[namespace(team)]);
            ground.apply(&of(team));
        }
        let files = of("team-a").map(|object| object.to_string());
        std::fs::create_dir_all(ground.path("files")).unwrap();
        ground.write("files/all.yaml", &files.join("\n---\n"));
        let proxies = [(); 2].map(|()| Proxy::to(ground.server.endpoint("admin")));
        let mut sources = String::from(
            "[{name: platform, directory: {path: files}, provides: {namespaces: [team-a], clusterScoped: true}}",
        );
        for (proxy, team) in proxies.iter().zip(["team-b", "team-c"]) {
            proxy.kubeconfig(&ground.path(team), "admin");
            sources += &format!(
                ", {{name: {team}, cluster: {{context: admin, kubeconfig: {team}}}, provides: {{namespaces: [{team}]}}}}"
            );
        }
        Some(Self { ground, proxies, sources: sources + "]" })
    }

    /// Renders; gives what was said, and the teams of which something was written.
    fn render(&self, out: &str, time: &str, code: i32) -> (String, Vec<&'static str>) {
        let more = format!("limits: {{sources: {{time: {time}}}}}\n");
        let config = self.ground.config("pouch.yaml", &self.sources, &more);
        let said = self.ground.render_files(&config, out, &[]).exits(code).stderr;
        let has = |team: &&str| {
            let path = format!("{out}/regions/eu/core/secrets/{team}/own.sops.yaml");
            self.ground.path(&path).is_file()
        };
        (said, ["team-a", "team-b", "team-c"].into_iter().filter(has).collect())
    }
}

#[test]
fn a_tenant_s_cluster_has_a_time_of_its_own() {
    let Some(stage) = Stage::new() else { return };
    // The control: each answers, and what it says is published.
    let (said, teams) = stage.render("all", "60s", 0);
    assert_eq!(teams, ["team-a", "team-b", "team-c"], "{said}");
    // One that answers nothing, or asks for another hour, is left; one request alone may take longer.
    for fault in [Fault::Stall, Fault::TooManyRetryAfter] {
        stage.proxies[0].arm(fault, When::From(0));
        stage.proxies[1].calm();
        let began = Instant::now();
        let (said, teams) = stage.render(&format!("{fault:?}"), "2s", 3);
        assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
        assert_eq!(teams, ["team-a", "team-c"], "{said}");
        let told = "source team-b: cluster admin: it took longer than all requests together may (limits.sources.time)";
        assert!(said.contains(told) && said.contains("give it more time with limits.sources.time"), "{said}");
        assert_eq!(said.contains("and it answered 429 meanwhile"), fault == Fault::TooManyRetryAfter, "{said}");
    }
    // The time that another one takes is not counted.
    stage.proxies[0].calm();
    stage.proxies[1].calm();
    stage.proxies[1].before(|number, _| std::thread::sleep(Duration::from_millis(if number < 12 { 500 } else { 0 })));
    let (said, teams) = stage.render("slow", "3s", 3);
    assert_eq!(teams, ["team-a", "team-b"], "{said}");
}

#[test]
fn clusters_are_read_side_by_side() {
    let Some(stage) = Stage::new() else { return };
    // The first request to each waits until the other cluster is asked, too.
    let begun = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let alone = Arc::new(AtomicUsize::new(0));
    for (own, proxy) in stage.proxies.iter().enumerate() {
        proxy.calm();
        let (begun, alone) = (Arc::clone(&begun), Arc::clone(&alone));
        proxy.before(move |number, _| {
            begun[own].fetch_add(1, Ordering::SeqCst);
            let until = Instant::now() + Duration::from_secs(20);
            while number == 0 && begun[1 - own].load(Ordering::SeqCst) == 0 {
                if Instant::now() > until {
                    alone.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
    }
    let (said, teams) = stage.render("out", "60s", 0);
    assert_eq!((teams.len(), alone.load(Ordering::SeqCst)), (3, 0), "{said}");
}

/// A tenant who writes to his own cluster all the time makes others be read a second time, and no more.
#[test]
fn a_tenant_s_cluster_that_changes_makes_nothing_be_read_for_ever() {
    let Some(stage) = Stage::new() else { return };
    let lists = |proxy: &Proxy| proxy.requests().iter().filter(|asked| asked.path.ends_with("/credentials")).count();
    stage.proxies.iter().for_each(Proxy::calm);
    stage.render("calm", "60s", 0);
    assert_eq!(stage.proxies.each_ref().map(lists), [2, 2], "each is listed and looked at again");
    stage.proxies.iter().for_each(Proxy::calm);
    let (admin, writes) = (stage.ground.server.endpoint("admin"), AtomicUsize::new(0));
    stage.proxies[0].before(move |_, request| {
        if request.path().ends_with("/secrets/own") {
            let mut told = secret("team-b", "own", &json!({"a": "b"}));
            let number = writes.fetch_add(1, Ordering::SeqCst);
            told["metadata"]["annotations"] = json!({"example.com/seen": number.to_string()});
            write_all(&admin, &[apply(&told)]);
        }
    });
    let (said, teams) = stage.render("changing", "60s", 3);
    assert_eq!((teams, stage.proxies.each_ref().map(lists)), (vec!["team-a", "team-c"], [4, 4]), "{said}");
}
