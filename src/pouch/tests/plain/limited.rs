//! `-n`, `-l`, `--region` and Credentials limit what is refreshed, never what exists.

use crate::support::fleet::Fleet;
use crate::support::origin::Origin;

/// A second namespace in region eu.
fn add_other_team(fleet: &Fleet) {
    for name in ["c0", "c1"] {
        let credential = crate::support::fleet::credential("eu", "other-team", name, ["v1", "Secret", name]);
        let secret = crate::support::fleet::secret("other-team", name, "value: one");
        fleet.write(&format!("manifests/other-{name}.yaml"), format!("{credential}---\n{secret}"));
    }
}

/// One value of each namespace changes, and one Credential of each goes.
fn change(fleet: &Fleet) {
    for region in ["eu", "us"] {
        fleet.secret(region, "c0", "value: another");
        fleet.delete(region, "c1");
    }
    fleet.edit("manifests/other-c0.yaml", "value: one", "value: another");
    fleet.remove("manifests/other-c1.yaml");
}

const SECRETS: [(&str, &str); 3] = [
    ("eu-team", "bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml"),
    ("other-team", "bundles/regions/eu/core/secrets/other-team/c0.sops.yaml"),
    ("us-team", "bundles/regions/us/core/secrets/us-team/c0.sops.yaml"),
];

#[test]
fn a_limited_publication_changes_what_is_selected_and_removes_nothing() {
    let fleet = Fleet::with_credentials(2);
    add_other_team(&fleet);
    // Of each region one value changes, which are all that it has left.
    fleet.configure("reuseKey", "limits: {reseal: {percent: 100}}\nreuseKey");
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let (start, before) = (origin.tip().unwrap(), origin.files());
    change(&fleet);
    for (arguments, refreshed) in [
        (&["-n", "eu-team"][..], &["eu-team"][..]),
        (&["--namespace", "eu-team", "-n", "us-team"], &["eu-team", "us-team"]),
        (&["--region", "eu"], &["eu-team", "other-team"]),
        (&["--region", "us", "-n", "eu-team"], &[]),
        (&["other-team/c0"], &["other-team"]),
        (&["other-team/c0", "us-team/c0", "guest/us-team/c1"], &["other-team", "us-team"]),
        (&["cluster/other-team/none"], &[]),
    ] {
        origin.git(&["update-ref", "refs/heads/main", &start]);
        let ran = origin.publish(arguments).ends(0);
        assert_eq!(origin.files(), before, "{arguments:?}");
        let diff = origin.git(&["diff", "--name-only", &start, "main"]);
        let expected: Vec<&str> =
            SECRETS.iter().filter(|(team, _)| refreshed.contains(team)).map(|(_, path)| *path).collect();
        let sealed: Vec<&str> = diff.lines().filter(|path| path.contains("/secrets/")).collect();
        assert_eq!(sealed, expected, "{arguments:?}\n{}", ran.stderr);
        // Nothing else but the manifest that has the hashes.
        assert!(diff.lines().all(|path| path.contains("/secrets/") || path.ends_with("/bundle.yaml")), "{diff}");
        if arguments.iter().any(|word| word.ends_with("/c1") || word.ends_with("/none")) {
            ran.says("so nothing of it is refreshed");
        }
        fleet.run(&["verify", "repo.git"]).ends(0);
        // A whole run afterwards finds all of it, and leaves alone what is new already.
        let limited = origin.tip().unwrap();
        origin.publish(&[]).ends(0);
        let after = origin.git(&["diff", "--name-only", &limited, "main"]);
        assert!(!origin.files().iter().any(|path| path.ends_with("/c1.sops.yaml")), "{arguments:?}");
        assert!(!expected.iter().any(|path| after.lines().any(|changed| changed == *path)), "{arguments:?}\n{after}");
    }
    // The last ones name nothing that is in the sources, with or without something in the bundle.
    for wrong in [
        &["--region", "nowhere"][..],
        &["c0"],
        &["a/b/c"],
        &["/c0"],
        &["eu-team/none"],
        &["other-team/c0", "other-team/c1"],
    ] {
        fleet.run(&[&["publish"], wrong].concat()).ends(64);
    }
}

/// A folder is no other matter. Recipients that change reach what is refreshed, and the manifest says who reads the rest.
#[test]
fn a_limited_render_tells_who_can_read_what_it_leaves_alone() {
    let fleet = Fleet::with_credentials(2);
    add_other_team(&fleet);
    fleet.configure(
        &format!("[{}]", crate::support::fleet::EU),
        &format!("[{}, age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph]", crate::support::fleet::EU),
    );
    fleet.render(&[]).ends(0);
    fleet.configure(", age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph]", "]");
    let secrets = "bundles/regions/eu/core/secrets";
    let before = fleet.tree(secrets);
    let ran = fleet.render(&["eu-team/c0"]).ends(3).outcome("eu", "published");
    ran.says("revocation-incomplete").says("Run again without the selection");
    let after = fleet.tree(secrets);
    let moved: Vec<&String> =
        before.iter().filter(|(path, bytes)| after.get(*path) != Some(bytes)).map(|(path, _)| path).collect();
    assert_eq!(moved, ["eu-team/c0.sops.yaml"]);
    fleet.run(&["verify"]).ends(0).says("can still be read by");
    let whole = fleet.render(&[]).ends(0);
    assert!(!whole.stderr.contains("revocation-incomplete"), "{}", whole.stderr);
    // What is retired goes with a whole run only.
    fleet.configure("  us: {", "  us: {state: retired, ");
    fleet.render(&["-n", "us-team"]).ends(0);
    assert!(fleet.has("bundles/regions/us/bundle.yaml"));
}

/// Labels of Credentials are read where a run selects by them, in any namespace, and stand in no bundle.
#[test]
fn a_run_may_be_limited_by_labels() {
    let fleet = Fleet::with_credentials(2);
    add_other_team(&fleet);
    let origin = Origin::new(&fleet, "");
    let label = |file: &str, labels: &str| {
        fleet.edit(&format!("manifests/{file}.yaml"), "-team}", &format!("-team, labels: {{{labels}}}}}"));
    };
    label("eu-c0", "team: a, env: prod");
    label("us-c0", "team: a, env: test");
    label("other-c0", "team: b, env: prod");
    origin.publish(&[]).ends(0);
    let (start, before) = (origin.tip().unwrap(), origin.files());
    change(&fleet);
    for (arguments, refreshed) in [
        (&["-l", "team=a"][..], &["eu-team", "us-team"][..]),
        (&["--selector", "env in (prod), team"], &["eu-team", "other-team"]),
        (&["-l", "!team"], &[]),
        (&["-l", "team=a", "--region", "us"], &["us-team"]),
        (&["-l", "env=prod", "-n", "other-team"], &["other-team"]),
        (&["-l", "team=a", "eu-team/c0", "other-team/c0"], &["eu-team"]),
        (&["-l", "team=nobody"], &[]),
    ] {
        origin.git(&["update-ref", "refs/heads/main", &start]);
        let planned = fleet.run(&[&["plan"], arguments].concat()).ends(0);
        let ran = origin.publish(arguments).ends(0);
        let expect: Vec<&str> =
            SECRETS.iter().filter(|(team, _)| refreshed.contains(team)).map(|(_, path)| *path).collect();
        let changed: Vec<String> = if refreshed.is_empty() { Vec::new() } else { origin.changed() };
        let changed: Vec<&String> = changed.iter().filter(|path| !path.ends_with("bundle.yaml")).collect();
        assert_eq!(changed, expect, "{arguments:?}: {}", ran.stderr);
        assert_eq!(origin.files(), before, "{arguments:?}");
        assert_eq!(planned.stdout.matches("changed ").count(), ran.stdout.matches("changed ").count(), "{arguments:?}");
        let warns = ran.stderr.contains("no Credential that was read has the labels of --selector");
        assert_eq!(warns, refreshed.is_empty(), "{arguments:?}: {}", ran.stderr);
    }
    for wrong in ["", "team=a,", "team in", "a b", "team>1"] {
        fleet.run(&["plan", "-l", wrong]).ends(64).says("is no label selector");
    }
    let bundle = origin.git(&["show", "main:bundles/regions/eu/bundle.yaml"]);
    assert!(!bundle.contains("prod"), "{bundle}");
}

/// k0rdent's own copies do not have the labels of what they were copied from; labels that nobody selects by change nothing.
#[test]
fn copies_are_selected_by_what_they_were_copied_from() {
    let fleet = Fleet::new();
    let credential = |namespace: &str, labels: &str| {
        format!(
            "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n\
             metadata: {{name: gold, namespace: {namespace}, labels: {{{labels}}}}}\n\
             spec: {{region: eu, identityRef: {{apiVersion: v1, kind: Secret, name: gold, namespace: {namespace}}}}}\n"
        )
    };
    fleet.write("manifests/gold.yaml", credential("kcm-system", "tier: gold"));
    fleet.write("manifests/secret.yaml", crate::support::fleet::secret("kcm-system", "gold", "value: of-the-first"));
    fleet.write(
        "manifests/rules.yaml",
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: AccessManagement\nmetadata: {name: kcm}\n\
         spec: {accessRules: [{credentials: [gold], targetNamespaces: {list: [team-b]}}]}\n",
    );
    let added = |selector: &str| {
        let ran = fleet.run(&["plan", "-l", selector]).ends(0);
        ran.stdout.lines().filter(|line| line.contains("added      Credential")).count()
    };
    let (all, none) = (added("tier=gold"), added("!tier"));
    assert!(all > 1 && none == 0, "{all} {none}");
    fleet.write("manifests/copy.yaml", credential("team-b", "k0rdent.mirantis.com/managed: 'true'"));
    assert_eq!((added("tier=gold"), added("!tier")), (all, 0));
    // One of its own in its place, with other labels twice: they do not differ where nobody selects by them.
    fleet.write("manifests/copy.yaml", credential("team-c", "tier: silver, a: '1'"));
    fleet.write("manifests/again.yaml", credential("team-c", "tier: silver, a: '2', b: 3"));
    fleet.write("manifests/own.yaml", crate::support::fleet::secret("team-c", "gold", "value: of-its-own"));
    assert_eq!(added("tier=silver"), 1);
}
