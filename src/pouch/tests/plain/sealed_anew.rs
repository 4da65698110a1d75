//! What is told of Secrets that are sealed anew: whether a value changes and why, and for whom.

use serde_json::{Value, json};

use crate::support::fleet::{EU, Fleet, US};
use crate::support::origin::Origin;

const ESCROW: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";
const OTHER: &str = "age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph";

fn plan(fleet: &Fleet) -> Value {
    serde_json::from_str(&fleet.run(&["plan", "-o", "json"]).ends(0).stdout).unwrap()
}

/// The change of a Secret of `eu`.
fn change(plan: &Value, name: &str) -> Value {
    let changes = plan["regions"][0]["changes"].as_array().unwrap();
    changes.iter().find(|it| it["object"]["name"] == name && it["object"]["kind"] == "Secret").unwrap().clone()
}

#[test]
fn another_delivery_is_told_from_another_value() {
    let fleet = Fleet::with_credentials(2);
    fleet.run(&["render"]).ends(0);
    fleet.configure("delivery: flux", "delivery: argocd");
    fleet.secret("eu", "c1", "value: changed");
    let why = "resealed   Credential eu-team/c0: Secret eu-team/c0 (because the delivery changed; values unchanged)";
    let text = fleet.run(&["plan"]).ends(0).stdout;
    assert!(text.contains(&format!("  {why}\n")), "{text}");
    assert!(
        text.contains("  changed    Credential eu-team/c1: Secret eu-team/c1 [value, metadata.annotations"),
        "{text}"
    );
    for format in ["markdown", "html"] {
        let text = fleet.run(&["plan", "-o", format]).ends(0).stdout;
        assert!(text.contains("(because the delivery changed; values unchanged)"), "{text}");
    }
    let plan = plan(&fleet);
    let (same, other) = (change(&plan, "c0"), change(&plan, "c1"));
    assert_eq!(
        [&same["action"], &same["values"], &same["reasons"]],
        [&json!("resealed"), &json!("same"), &json!(["delivery"])]
    );
    assert_eq!([&other["action"], &other["values"]], [&json!("changed"), &json!("changed")]);
    assert_eq!(other["entries"], json!([{"name": "value", "change": "changed"}]));
    assert!(fleet.run(&["render"]).ends(0).stdout.contains(why));
    let again = fleet.run(&["plan"]).ends(0).stdout;
    assert!(!again.contains("would"), "{again}");
}

#[test]
fn what_cannot_be_compared_is_said_to_be_so() {
    let fleet = Fleet::with_credentials(2);
    fleet.run(&["render"]).ends(0);
    let path = fleet.tree("bundles").keys().find(|path| path.contains("eu-team/c0.")).unwrap().clone();
    let file = format!("bundles/{path}");
    let text: String = fleet
        .read(&file)
        .lines()
        .filter(|line| !line.contains("pouch/v1 entr"))
        .map(|line| line.to_owned() + "\n")
        .collect();
    fleet.write(&file, text);
    fleet.secret("eu", "c0", "value: changed");
    let text = fleet.run(&["plan"]).ends(0).stdout;
    assert!(text.contains("Secret eu-team/c0 [cannot tell which entries change, if any: its file is"), "{text}");
    let change = change(&plan(&fleet), "c0");
    assert_eq!([&change["values"], &change["reasons"]], [&json!("unknown"), &json!(["file"])]);
}

#[test]
fn recipients_are_named_with_what_they_can_read() {
    let fleet = Fleet::with_credentials(30);
    fleet.run(&["render"]).ends(0);
    fleet.configure(EU, OTHER);
    let held = fleet.run(&["plan"]).ends(0);
    let adds = format!("  adds       recipient {OTHER}: could read it, if what is held were let through\n");
    let removes = format!("  removes    recipient {EU}: could not read what is new");
    assert!(held.stdout.contains(&adds) && held.stdout.contains(&removes), "{}", held.stdout);
    let digest = held.acceptance("--accept-recipients", "eu");
    let flags = ["--accept-recipients", &*digest];
    let accepted = fleet.run(&[&["plan"], &flags[..]].concat()).ends(0).stdout;
    for text in [
        &*format!("  adds       recipient {OTHER}: can read it from now on\n"),
        &format!("  removes    recipient {EU}: cannot read what is new\n"),
        "  readable   by who is added: Secret eu-team/c0\n",
        "  and 10 more readable\n",
        "Secret eu-team/c0 (because the recipients changed; values unchanged)\n",
    ] {
        assert!(accepted.contains(text), "{text}: {accepted}");
    }
    assert_eq!(accepted.matches("  readable ").count(), 20);
    let all = fleet.run(&[&["plan", "-v"], &flags[..]].concat()).ends(0).stdout;
    assert_eq!(all.matches("  readable ").count(), 30);
    let region = &plan(&fleet)["regions"][0];
    assert_eq!([&region["recipientsAdded"], &region["recipientsRemoved"]], [&json!([OTHER]), &json!([EU])]);
    assert_eq!(region["readableByAdded"].as_array().unwrap().len(), 30);
    let comment = fleet.run(&["plan", "-o", "markdown"]).ends(0).stdout;
    assert!(comment.contains("- `readable   by who is added: Secret eu-team/c0`"), "{comment}");
}

/// A line that is pasted does what it says.
#[test]
fn an_acceptance_is_not_offered_where_the_region_stays_held() {
    let fleet = Fleet::with_credentials(8);
    fleet.run(&["render"]).ends(0);
    fleet.edit("manifests/eu-c0.yaml", "region: eu", "regoin: eu");
    fleet.run(&["render"]).ends(3);
    fleet.configure(EU, OTHER);
    let ran = fleet.run(&["plan"]).ends(0).says("carry-impossible").says("no acceptance lets region eu through");
    assert!(!ran.stderr.contains("to let through"), "{}", ran.stderr);
    let comment = fleet.run(&["plan", "-o", "markdown"]).ends(0).stdout;
    assert!(comment.contains("lets it through, and the rest still holds the region"), "{comment}");
    // What another region waits for is still offered.
    fleet.configure(US, &format!("{US}, {ESCROW}"));
    fleet
        .run(&["plan"])
        .ends(0)
        .says("all that is held but region eu, which no acceptance lets through: pouch render --accept-recipients us=");
}

#[test]
fn a_region_that_only_keeps_withdrawals_stands_with_what_is_held() {
    let fleet = Fleet::with_credentials(8);
    fleet.configure("regions:", "limits: {deletions: {claimants: 0, percent: 1}}\nregions:");
    fleet.run(&["render"]).ends(0);
    (0..4).for_each(|n| fleet.delete("us", &format!("c{n}")));
    fleet.run(&["render"]).ends(4);
    let comment = fleet.run(&["plan", "-o", "markdown"]).ends(0).stdout;
    let head = "- `us` unchanged (partly held), 8 objects, 4 carried over\n  - **held:** `deletions-held`; `--accept-deletions us/";
    assert!(comment.contains(head) && comment.contains("\nUnchanged: `eu`\n"), "{comment}");
}

#[test]
fn a_commit_without_a_change_says_what_it_is_about() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    let title = || origin.git(&["log", "-1", "--format=%s", "main"]).trim().to_owned();
    origin.publish(&[]).ends(0);
    origin.commit_beside("rm \"$(find bundles/regions/us -name kustomization.yaml | head -1)\"");
    let planned = fleet.run(&["plan"]).ends(0).stdout;
    assert!(planned.contains("  restored   1 file put back as published\n"), "{planned}");
    origin.publish(&[]).ends(0);
    assert_eq!(title(), "us: 1 file put back");
    fleet.edit("manifests/us-c1.yaml", "kind: Secret, name: c1", "kind: Secret, name: nothing");
    origin.publish(&[]).ends(3);
    assert_eq!(title(), "us: 1 Credential carried over");
}
