//! A region that neither Flux nor Argo CD brings anything: `pouch deliver`, against a real API server.

mod anew;
mod broken;
mod brought;
mod canned;
mod costs;
mod faults;
mod fleets;
mod own;
mod recorded;
mod rights;
mod table;

use serde_json::Value;

use crate::delivered::Delivered;
use crate::rig::http::Request;
use crate::support::fleet::Ran;

/// Where the inventory is, in a namespace that [`Delivered`] does not look at.
const INVENTORY: &str = "/api/v1/namespaces/default/configmaps/pouch.acme.eu";

/// A region without a consumer.
fn region() -> Option<Delivered> {
    let region = Delivered::new("none", "")?;
    // What is exchanged would stay for an hour otherwise; here it is apply that waits for nobody else.
    region.fleet.configure("limits: {deletions", "limits: {retainReplaced: 0s, deletions");
    region.fleet.private("eu.agekey", Delivered::identity());
    Some(region)
}

/// The flags of every run.
fn flags(region: &Delivered) -> Vec<String> {
    let origin = region.origin().path();
    let words = [
        "deliver",
        origin.to_str().unwrap(),
        "--rev=main",
        "--region=eu",
        "--identity=eu.agekey",
        "--kubeconfig=kubeconfig",
        "--context=admin",
        "--inventory-namespace=default",
    ];
    words.map(str::to_owned).into()
}

fn apply(region: &Delivered, more: &[&str]) -> Ran {
    let fixed = flags(region);
    let all: Vec<&str> = fixed.iter().map(String::as_str).chain(more.iter().copied()).collect();
    region.fleet.run(&all)
}

/// Brings everything to the region, whatever has to be accepted for that.
fn apply_all(region: &Delivered) -> Ran {
    let mut ran = apply(region, &[]);
    while ran.code == 4 {
        let digest = ran.acceptance("--accept-deletions", "eu");
        ran = apply(region, &["--accept-deletions", &digest]);
    }
    ran.ends(0)
}

/// What a run changed: the lines below the one of the region, without blanks.
fn changes(ran: &Ran) -> Vec<String> {
    ran.stdout.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Changes an object of the region as its administrator.
#[track_caller]
fn patch(region: &Delivered, target: &str, body: &Value) {
    let request = Request::with_json("PATCH", target, "application/merge-patch+json", body);
    let answer = region.server.endpoint("admin").ask(&request).expect("the API server answers");
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

/// The lines of the inventory, each with its kind.
fn inventory(region: &Delivered) -> Vec<String> {
    let data = region.get(INVENTORY)["data"].clone();
    let mut lines = Vec::new();
    for (key, text) in data.as_object().into_iter().flatten().filter(|(key, _)| key.starts_with("objects.")) {
        let kind = key.trim_start_matches("objects.");
        lines.extend(text.as_str().unwrap().lines().map(|line| format!("{kind} {}", line.split(' ').next().unwrap())));
    }
    lines
}
