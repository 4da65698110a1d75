//! A source of a tenant that is slow to read is unread once its time is over, and holds up no run.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::fleet::{EU, Fleet, credential, secret};

/// The number of blobs that are each written as what differs from the one before: to read one, all before it are read.
const DEEP: usize = 8_000;

/// A repository with so many manifests in one chain of deltas, none of which is read in the order of the chain.
fn deep(fleet: &Fleet, name: &str, count: usize) {
    let place = fleet.path(name);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git
    };
    let place = place.to_str().unwrap();
    assert!(git(&["init", "-q", "--bare", "-b", "main", place]).status().unwrap().success());
    let import = ["-C", place, "fast-import", "--quiet", "--depth=8000"];
    let mut import = git(&import).stdin(Stdio::piped()).spawn().unwrap();
    let mut stream = Vec::new();
    let filler = "0123456789abcdefghijklmnopqrstuvwxyz".repeat(60);
    for number in 0..count {
        let of = |name: &str| {
            format!(
                "{}---\n{}",
                credential("eu", "team", name, ["v1", "Secret", name]),
                secret("team", name, "value: own")
            )
        };
        let text = match number {
            0 => format!("{}# {filler}\n", of("own")),
            _ => {
                format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}, namespace: team}}\n# {filler}\n")
            }
        };
        writeln!(stream, "blob\nmark :{}\ndata {}\n{text}", number + 1, text.len()).unwrap();
    }
    writeln!(stream, "commit refs/heads/main\ncommitter a <a@example.com> 1 +0000\ndata 1\nx").unwrap();
    for number in 0..count {
        writeln!(stream, "M 644 :{} f{:05}.yaml", number + 1, number * 7919 % count).unwrap();
    }
    import.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(import.wait().unwrap().success());
}

#[test]
fn a_tenant_whose_repository_is_slow_to_read_is_unread_and_keeps_what_he_has() {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources:\n\
         \x20 - {{name: platform, directory: {{path: platform}}, provides: {{namespaces: [kcm-system], clusterScoped: true}}}}\n\
         \x20 - {{name: team, git: {{repository: ./team.git}}, provides: {{namespaces: [team]}}}}\n\
         regions: {{eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}}}}}\n\
         limits: {{sources: {{time: 1s}}}}\n\
         output: {{path: bundles}}\nreuseKey: {{file: reuse.key}}\n"
    ));
    let platform = |value: &str| {
        let of = ["eu", "kcm-system", "aws"].map(str::to_owned);
        let credential = credential(&of[0], &of[1], &of[2], ["v1", "Secret", "aws"]);
        fleet.write(
            "platform/a.yaml",
            format!("{credential}---\n{}", secret("kcm-system", "aws", &format!("value: {value}"))),
        );
    };
    platform("one");
    // The control: what is read within that time is published.
    deep(&fleet, "team.git", 100);
    deep(&fleet, "deep", DEEP);
    let file = |name: &str| format!("bundles/regions/eu/core/secrets/{name}.sops.yaml");
    let ran = fleet.run(&["render"]).ends(0);
    assert!(fleet.has(&file("team/own")) && fleet.has(&file("kcm-system/aws")), "{}", ran.stderr);
    let (own, aws) = (fleet.read(&file("team/own")), fleet.read(&file("kcm-system/aws")));
    std::fs::remove_dir_all(fleet.path("team.git")).unwrap();
    std::fs::rename(fleet.path("deep"), fleet.path("team.git")).unwrap();
    platform("two");
    let ran = fleet.run(&["render"]).ends(3);
    ran.says("error[unavailable-source]: source team: reading it takes longer than limits.sources.time allows (1s)");
    assert_eq!(fleet.read(&file("team/own")), own, "what he has stays");
    assert!(fleet.read(&file("kcm-system/aws")) != aws, "what others have is published");
}
