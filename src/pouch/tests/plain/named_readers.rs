//! Recipients with names: people are told the names, and nothing that is sealed, tagged or compared has one.

use crate::support::fleet::{EU, Fleet, Ran, US};
use crate::support::origin::Origin;

const ESCROW: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";

/// A fleet whose `eu` is readable by `alice`, published.
fn fleet() -> Fleet {
    let fleet = Fleet::with_credentials(2);
    fleet.configure(EU, &format!("{{key: {EU}, name: alice}}"));
    Origin::new(&fleet, "").publish(&[]).ends(0);
    fleet
}

/// A key as people read it.
fn shown(name: &str, key: &str) -> String {
    format!("{name} ({key})")
}

#[test]
fn giving_changing_and_removing_a_name_publishes_nothing() {
    let fleet = fleet();
    let origin = Origin::known(&fleet);
    let (tip, before) = (origin.tip(), format!("{{key: {EU}, name: alice}}"));
    for (from, to) in
        [(&*before, format!("{{key: {EU}, name: bob}}")), (&*format!("{{key: {EU}, name: bob}}"), EU.into())]
    {
        fleet.configure(from, &to);
        origin.publish(&[]).ends(0);
        assert_eq!(origin.tip(), tip, "{to}");
    }
    // Control: another key is published.
    fleet.run(&["init", "-f", "pair/pouch.yaml", "--region", "eu"]);
    let recipient = fleet.read("pair/keys/eu.txt").lines().next().unwrap().replace("# public key: ", "");
    fleet.configure(EU, &format!("{EU}, {{key: {recipient}, name: carol}}"));
    let plan = fleet.run(&["plan"]).stdout;
    let carol = shown("carol", &recipient);
    assert!(plan.contains(&carol), "{plan}");
    let markdown = fleet.run(&["plan", "-o", "markdown"]).stdout;
    assert!(markdown.contains(&carol), "{markdown}");
    let held = origin.publish(&["--summary", "summary.json"]).ends(4);
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    let region = summary["regions"].as_array().unwrap().iter().find(|region| region["name"] == "eu").unwrap();
    assert_eq!(region["recipientsAdded"][0], *recipient);
    assert_eq!(region["recipientNames"][&recipient], "carol");
    let held = held.says(&format!("region eu would become readable for {carol}"));
    let missing = format!("{carol} missing");
    fleet.run(&["verify"]).ends(8).says(&missing);
    let accepted = held.acceptance("--accept-recipients", "eu");
    origin.publish(&["--accept-recipients", &accepted]).ends(0);
    let explained = fleet.run(&["explain", "region", "eu"]).ends(0).stdout;
    assert!(explained.contains(&carol), "{explained}");
    let log = fleet.run(&["log", "region", "eu"]).ends(0).stdout;
    assert!(log.contains(&format!("now readable by {carol}")), "{log}");
    let message = origin.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.contains(&format!("recipient {carol}: ")), "{message}");
    // No file has a name.
    origin.commit_beside("! grep -rq 'carol\\|alice\\|bob' bundles; grep -rq recipient bundles; echo x > other");
}

#[test]
fn a_recipient_is_asked_for_by_name() {
    let fleet = fleet();
    let alice = shown("alice", EU);
    let told = fleet.run(&["exposure", "--recipient", "alice"]).ends(0).stdout;
    assert!(
        told.contains(&format!("\n{alice}  (eu)")) && told.contains("eu-team/c0") && !told.contains("us-team"),
        "{told}"
    );
    assert_eq!(told, fleet.run(&["exposure", "--recipient", EU]).ends(0).stdout);
    let json: serde_json::Value =
        serde_json::from_str(&fleet.run(&["exposure", "--recipient", "alice", "-o", "json"]).ends(0).stdout).unwrap();
    assert_eq!((&json["readers"][0]["recipient"], &json["readers"][0]["name"]), (&EU.into(), &"alice".into()));
    let by_name = fleet.run(&["explain", "recipient", "alice"]).ends(0).stdout;
    assert_eq!(by_name, fleet.run(&["explain", "recipient", EU]).ends(0).stdout);
    for words in [&["exposure", "--recipient", "alcie"][..], &["explain", "recipient", "alcie"]] {
        fleet
            .run(words)
            .ends(64)
            .says("no recipient of the configuration is called \"alcie\"")
            .says("Did you mean alice?");
    }
    // The keys of one person in two regions.
    fleet.configure(US, &format!("{{key: {US}, name: alice}}"));
    let both = fleet.run(&["exposure", "--recipient", "alice"]).ends(0).stdout;
    assert!(both.contains(&alice) && both.contains(&shown("alice", US)), "{both}");
    fleet.run(&["explain", "recipient", "alice"]).ends(64).says("alice is the name of 2 keys").says(US);
}

/// The day itself still counts, in UTC; nothing else follows from it.
#[test]
fn a_recipient_past_its_day_is_a_warning_and_changes_nothing() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure(EU, &format!("{{key: {EU}, name: alice, until: 2026-03-01}}"));
    let on = |time: &str, arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        command.env("SOURCE_DATE_EPOCH", time);
        Ran::from(command.output().unwrap())
    };
    // 2026-03-01T23:59:59Z, and a second later.
    let (last, after) = ("1772409599", "1772409600");
    let quiet = on(last, &["render"]).ends(0);
    assert!(!quiet.stderr.contains("recipient-outdated"), "{}", quiet.stderr);
    let files = fleet.stamps("bundles");
    let told = on(after, &["render"]).ends(0);
    let told = told.says(&format!("warning[recipient-outdated]: alice ({EU}) was to read region eu until 2026-03-01"));
    told.says("Take it out of `regions.eu.recipients`").says(&format!("pouch exposure --recipient {EU}"));
    assert_eq!(fleet.stamps("bundles"), files);
    on(after, &["check", "--deny", "warning"]).ends(7);
    on(last, &["check", "--deny", "warning"]).ends(0);
    // One for disasters is told once.
    fleet.configure(&format!("{{key: {EU}, name: alice, until: 2026-03-01}}"), EU);
    fleet.configure(
        "reuseKey:",
        &format!("escrowRecipients: [{{key: {ESCROW}, name: safe, until: 2025-12-31}}]\nreuseKey:"),
    );
    let told = on(last, &["check", "--deny", "none"]).ends(0);
    assert_eq!(told.stdout.matches("was to read").count(), 1, "{}", told.stdout);
    assert!(
        told.stdout.contains(&format!("safe ({ESCROW}) was to read every region until 2025-12-31")),
        "{}",
        told.stdout
    );
}
