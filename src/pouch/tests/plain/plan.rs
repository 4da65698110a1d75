//! `pouch plan`, and `--dry-run` of the commands that publish: what they say is what happens, and they do nothing.

use crate::support::fleet::{CANARY, Fleet, Ran};
use crate::support::origin::Origin;

/// A recipient that the fleet did not have.
const ESCROW: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";

/// What a run that did it would have said on standard output.
fn done(planned: &str) -> String {
    let words = [("would be published", "published"), ("would be withdrawn", "withdrawn"), ("would be held", "held")];
    let word = |line: &str| match words.iter().find(|(would, _)| line.contains(would)) {
        // An outcome has nine columns, if it is not longer.
        Some((would, word)) => line.replacen(would, &format!("{word:9}"), 1),
        None => line.to_owned(),
    };
    let is_of_a_plan = |line: &&str| line.starts_with("the fleet's file") || line.starts_with("    ");
    planned.lines().filter(|line| !is_of_a_plan(line)).map(|line| word(line) + "\n").collect()
}

/// Findings, without what is said of the run as a whole.
fn findings(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| line.starts_with("error[") || line.starts_with("warning[")).collect()
}

/// Changes a fleet bit by bit: what is planned happens when it is `publish`ed, nothing happens before, and afterwards
/// nothing more is planned.
fn every_step(fleet: &Fleet, plans: &[&[&str]], publish: &[&str], state: &dyn Fn() -> String) {
    let steps: [&dyn Fn(); 7] = [
        &|| {},
        &|| fleet.secret("eu", "c0", "value: changed"),
        &|| fleet.delete("us", "c3"),
        &|| fleet.credential("eu", "late", "late"),
        // Broken, which carries, in two ways.
        &|| fleet.edit("manifests/eu-c1.yaml", "region: eu", "region: nowhere"),
        &|| fleet.edit("manifests/eu-c2.yaml", "kind: Secret", "kind: Sekret"),
        &|| fleet.configure("regions:", "limits: {deletions: {claimants: 2}}\nregions:"),
    ];
    for (at, step) in steps.iter().enumerate() {
        step();
        let before = state();
        let (first, rest) = plans.split_first().unwrap();
        let planned = fleet.run(first).ends(0);
        for other in rest {
            let other = fleet.run(other).ends(0);
            assert_eq!((&other.stdout, findings(&other)), (&planned.stdout, findings(&planned)), "step {at}");
        }
        let detailed = fleet.run(&[first, &["--detailed-exitcode"][..]].concat());
        assert_eq!(state(), before, "step {at}: something was done");

        let published = fleet.run(publish);
        assert!([0, 3].contains(&published.code), "step {at}: {published:?}");
        assert_eq!(done(&planned.stdout), published.stdout, "step {at}");
        assert_eq!(findings(&planned), findings(&published), "step {at}");
        let changed = state() != before;
        assert_eq!(detailed.code, if changed { 2 } else { 0 }, "step {at}");
        assert_eq!(changed, at < 6, "step {at}: {published:?}");
        let again = fleet.run(&[first, &["--detailed-exitcode"][..]].concat()).ends(0);
        assert!(!again.stdout.contains("would"), "step {at}: {}", again.stdout);
    }
}

#[test]
fn what_is_planned_for_a_folder_is_what_happens_there() {
    let fleet = Fleet::with_credentials(4);
    let state = || if fleet.has("bundles") { format!("{:?}", fleet.stamps("bundles")) } else { String::new() };
    every_step(&fleet, &[&["plan"], &["render", "--dry-run"]], &["render"], &state);
    // Another folder is looked at, and not made.
    fleet.run(&["render", "--dry-run", "--output-dir", "elsewhere"]).ends(0).outcome("eu", "would");
    assert!(!fleet.has("elsewhere"));
}

#[test]
fn what_is_planned_for_a_branch_is_what_happens_there() {
    let fleet = Fleet::with_credentials(4);
    let origin = Origin::new(&fleet, "");
    // A stamp moves also where nothing is published.
    let state = || origin.git(&["for-each-ref", "refs/heads"]);
    let references = || origin.git(&["for-each-ref"]);
    let none = references();
    fleet.run(&["plan"]).ends(0).says("first-publication").says("will want --first");
    assert_eq!(references(), none);
    every_step(&fleet, &[&["plan"], &["publish", "--dry-run"]], &["publish", "--first"], &state);
    let all = references();
    fleet.secret("eu", "c0", "value: changed again");
    fleet.run(&["plan", "--detailed-exitcode"]).ends(2);
    assert_eq!(references(), all);
    assert!(!fleet.has("bundles"));
}

#[test]
fn what_is_planned_for_every_place_is_what_happens_there() {
    let fleet = Fleet::with_credentials(4);
    let origin = Origin::new(&fleet, "");
    fleet.configure("branch: main", "branch: 'regions/{region}'");
    let state = || origin.git(&["for-each-ref", "refs/heads"]);
    every_step(&fleet, &[&["plan"], &["publish", "--dry-run"]], &["publish", "--first"], &state);
}

/// The command that lets through what a plan says would be held is one that publishes.
#[test]
fn a_plan_holds_what_a_publish_would_and_says_how_to_go_on() {
    for (output, command) in [("folder", "render"), ("branch", "publish")] {
        let fleet = Fleet::with_credentials(8);
        let origin = (output == "branch").then(|| Origin::new(&fleet, ""));
        fleet.run(if origin.is_some() { &["publish", "--first"] } else { &["render"] }).ends(0);
        (0..8).step_by(2).for_each(|nth| fleet.delete("eu", &format!("c{nth}")));
        fleet.configure("regions:", "limits: {deletions: {claimants: 0, percent: 1}}\nregions:");
        std::fs::copy(fleet.path("pouch.yaml"), fleet.path("plan")).unwrap();
        let ran = fleet.run(&["-f", "plan", "plan", "--detailed-exitcode", "--summary", "summary.json"]).ends(2);
        let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
        assert_eq!((&summary["command"], &summary["exitCode"]), (&"plan".into(), &2.into()));
        let go_on = summary["acceptCommand"].as_str().unwrap();
        let start = format!("pouch -f plan {command} --summary summary.json --accept-deletions eu/");
        assert!(go_on.starts_with(&start), "{go_on}");
        assert!(ran.stderr.contains(go_on), "{}", ran.stderr);
        // It is written down that they are kept, and then nothing changes any more.
        fleet.run(&[command]).ends(4);
        // What is held still waits for someone, although nothing would change.
        let held = fleet.run(&["plan", "--detailed-exitcode", "-o", "json"]).ends(2);
        let held: serde_json::Value = serde_json::from_str(&held.stdout).unwrap();
        let eu = &held["regions"][0];
        assert_eq!(
            (&eu["outcome"], &eu["holds"][0]["code"]),
            (&"unchanged".into(), &"deletions-held".into()),
            "{held:#}"
        );
        assert!(held["acceptCommand"].as_str().unwrap().contains(" --accept-deletions eu/"), "{held:#}");
        fleet.run(&["plan"]).ends(0).says(&format!("pouch {command} --accept-deletions"));
        let words: Vec<&str> = go_on.split(' ').skip(1).collect();
        let ran = fleet.run(&words).ends(0);
        assert!(ran.stdout.contains("withdrawn"), "{}", ran.stdout);
        fleet.run(&["plan", "--detailed-exitcode"]).ends(0);
    }
}

/// `render` takes a folder where `publish` takes Credentials, so the line for either has a flag.
#[test]
fn the_command_that_lets_through_is_about_the_same_credentials() {
    for (output, command) in [("folder", "render"), ("branch", "publish")] {
        let fleet = Fleet::with_credentials(2);
        let origin = (output == "branch").then(|| Origin::new(&fleet, ""));
        fleet.run(if origin.is_some() { &["publish", "--first"] } else { &["render"] }).ends(0);
        fleet.configure("output:", &format!("escrowRecipients: [{ESCROW}]\noutput:"));
        fleet.secret("eu", "c0", "value: changed");
        fleet.secret("eu", "c1", "value: changed");
        let flags = ["-vf", "pouch.yaml", "plan", "eu-team/c0", "--summary", "summary.json"];
        fleet.run(&flags).ends(0).outcome("eu", "would");
        let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
        let go_on = summary["acceptCommand"].as_str().unwrap();
        let start = format!("pouch -vf pouch.yaml {command} eu-team/c0 --summary summary.json --accept-rec");
        assert!(go_on.starts_with(&start), "{go_on}");
        let ran = fleet.run(&go_on.split(' ').skip(1).collect::<Vec<_>>()).ends(0).outcome("eu", "published");
        assert!(ran.stdout.contains("eu-team/c0 [value]") && !ran.stdout.contains("eu-team/c1 ["), "{}", ran.stdout);
        assert!(!fleet.has("eu-team"));
    }
}

#[test]
fn a_first_publication_is_planned_with_or_without_the_flag() {
    let fleet = Fleet::with_credentials(1);
    let _origin = Origin::new(&fleet, "");
    let ran = fleet.run(&["publish", "--dry-run", "--first"]).ends(0).outcome("eu", "would");
    assert!(!ran.stderr.contains("first-publication"), "{}", ran.stderr);
    fleet.run(&["publish", "--dry-run"]).ends(0).outcome("eu", "would").says("first-publication");
}

#[test]
fn a_file_of_the_whole_fleet_is_planned_too() {
    let path = ".gitattributes";
    for output in ["folder", "branch"] {
        let fleet = Fleet::with_credentials(1);
        let origin = (output == "branch").then(|| Origin::new(&fleet, ""));
        fleet.run(if origin.is_some() { &["publish", "--first"] } else { &["render"] }).ends(0);
        match &origin {
            Some(origin) => origin.commit_beside(&format!("echo x > bundles/{path}")),
            None => fleet.write("bundles/.gitattributes", "x"),
        }
        let says = format!("the fleet's file {path} would change\n");
        let ran = fleet.run(&["plan", "--detailed-exitcode"]).ends(2);
        assert!(ran.stdout.ends_with(&says), "{}", ran.stdout);
        fleet.run(if origin.is_some() { &["publish"] } else { &["render"] }).ends(0);
        let ran = fleet.run(&["plan", "--detailed-exitcode"]).ends(0);
        assert!(!ran.stdout.contains(path), "{}", ran.stdout);
        // So is one that must not be executable, and one that is too large to be read.
        let Some(origin) = &origin else { continue };
        for spoil in ["chmod +x bundles/.gitattributes", "head -c 70000000 /dev/zero > bundles/.gitattributes"] {
            origin.commit_beside(spoil);
            fleet.run(&["plan", "--detailed-exitcode"]).ends(2).says("resolved");
            let tip = origin.tip();
            fleet.run(&["publish"]);
            assert_ne!(origin.tip(), tip, "{spoil}");
        }
    }
}

#[test]
fn what_cannot_be_read_ends_a_plan_as_it_ends_a_publish() {
    let fleet = Fleet::with_credentials(1);
    let _origin = Origin::new(&fleet, "");
    fleet.run(&["publish", "--first"]).ends(0);
    fleet.run(&["plan", "--metrics", "metrics.txt"]).ends(64).says("--metrics");
    fleet.run(&["plan", "--region", "nowhere"]).ends(64).says("nowhere");
    fleet.run(&["plan", "--accept-deletions", "eu=0123456789abcdef"]).ends(0).says("let nothing through");
    std::fs::rename(fleet.path("manifests"), fleet.path("away")).unwrap();
    for command in [&["plan"][..], &["publish", "--dry-run"], &["publish"]] {
        fleet.run(command).ends(5);
    }
    std::fs::rename(fleet.path("away"), fleet.path("manifests")).unwrap();
    std::fs::rename(fleet.path("repo.git"), fleet.path("away.git")).unwrap();
    for command in [&["plan", "--detailed-exitcode"][..], &["publish", "--dry-run"], &["publish"]] {
        fleet.run(command).ends(5).says("repo.git");
    }
}

/// A plan asks for what a publish asks for: it may publish an older state no more than it may plan one.
#[test]
fn an_older_source_is_told_by_a_plan() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.commit_beside(&format!("cp -r '{}' manifests", fleet.path("manifests").display()));
    let older = origin.tip().unwrap();
    let git = "git: {repository: repo.git, ref: sources, path: manifests}";
    origin.git(&["branch", "sources", "main"]);
    fleet.configure(
        "directory: {path: manifests}",
        &format!("{git}, provides: {{namespaces: ['*'], clusterScoped: true}}"),
    );
    origin.publish(&[]).ends(0);
    origin.git(&["branch", "-f", "sources", &format!("{older}~0")]);
    let newer = origin.git(&["commit-tree", "-p", &older, "-m", "newer", &format!("{older}^{{tree}}")]);
    origin.git(&["branch", "-f", "sources", &newer]);
    origin.publish(&[]).ends(0);
    origin.git(&["branch", "-f", "sources", &older]);
    for command in [&["plan"][..], &["publish", "--dry-run"], &["publish"]] {
        fleet.run(command).ends(5).says("--accept-older");
    }
    let accept = format!("manifests={older}");
    fleet.run(&["plan", "--accept-older", &accept]).ends(0);
    // To plan with it is not to use it.
    fleet.run(&["plan"]).ends(5);
}

/// The quickstart, rendered; and then with an identity open to one namespace more, a Secret with another value, and
/// something broken.
fn changed_quickstart() -> Fleet {
    let fleet = Fleet::rendered_quickstart();
    fleet.edit("manifests/aws.yaml", "    list: [team-a]", "    list: [team-a, 'team`b']");
    fleet.edit("manifests/aws.yaml", "AccessKeyID: EXAMPLE", "AccessKeyID: OTHER");
    fleet.edit("manifests/azure.yaml", "    name: azure-main-secret", "    name: '<b>@me`'");
    fleet
}

#[test]
fn fields_of_open_objects_are_told_from_what_to_what() {
    let fleet = changed_quickstart();
    let ran = fleet.run(&["plan"]).ends(0);
    let field = "    AWSClusterRoleIdentity aws-sandbox spec.allowedNamespaces.list[1]: nothing becomes \"team`b\"";
    assert!(ran.stdout.lines().any(|line| line == field), "{}", ran.stdout);
    assert!(ran.stdout.contains("AWSClusterRoleIdentity aws-sandbox [spec.allowedNamespaces.list[1]]"), "{ran:?}");
    // What publishes says which fields, and not what stands in them; but whom it gives a privilege.
    let done = fleet.run(&["render"]).ends(3);
    assert!(done.stdout.contains("AWSClusterRoleIdentity aws-sandbox [spec.allowedNamespaces.list[1]]"), "{done:?}");
    let opened = "  opened     Credential team-a/aws-sandbox: 1 text that cannot name a namespace may now use \
                  AWSClusterRoleIdentity aws-sandbox\n";
    assert!(!done.stdout.contains("team`b") && done.stdout.contains(opened), "{done:?}");
}

#[test]
fn a_plan_for_programs_is_its_summary() {
    let fleet = changed_quickstart();
    let ran = fleet.run(&["plan", "-o", "json", "--summary", "summary.json"]).ends(0);
    assert_eq!(ran.stdout, fleet.read("summary.json"));
    let plan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let schema = include_str!("../../../../schemas/summary.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    assert!(schema.is_valid(&plan), "{plan:#}");
    let changes = plan["regions"][1]["changes"].as_array().unwrap();
    let role = changes.iter().find(|change| change["object"]["name"] == "aws-sandbox").unwrap();
    let field = serde_json::json!([{"path": "spec.allowedNamespaces.list[1]", "after": "\"team`b\""}]);
    assert_eq!(role["fields"], field);
    fleet.run(&["plan", "-o", "json", "--detailed-exitcode"]).ends(2);
}

/// Who writes much pushes nothing out of sight of what others would lose.
#[test]
fn a_flood_in_one_region_leaves_what_is_held_in_another_in_sight() {
    let fleet = Fleet::with_credentials(20);
    fleet.run(&["render"]).ends(0);
    for n in 0..20 {
        fleet.delete("us", &format!("c{n}"));
        let entries: Vec<String> = (0..10).map(|nth| format!("{}-{nth}: x", "n".repeat(240))).collect();
        fleet.secret("eu", &format!("c{n}"), &format!("value: {CANARY}-eu-{n}, {}", entries.join(", ")));
    }
    let comment = fleet.run(&["plan", "-o", "markdown"]).ends(0).stdout;
    assert!(comment.chars().count() <= 65_536);
    for text in ["- `us` would be ", "**held:** `deletions-held`", "--accept-deletions", "they stand at the end."] {
        assert!(comment.contains(text), "{text}: {}", &comment[..2000]);
    }
    let flood = comment.find("nnnn").unwrap_or_else(|| panic!("{comment}"));
    assert!(comment.find("- `us` would be ").unwrap() < flood);
}

#[test]
fn a_plan_for_a_comment_has_every_name_in_a_code_span() {
    let fleet = changed_quickstart();
    let comment = fleet.run(&["plan", "-o", "markdown"]).ends(0).stdout;
    assert!(comment.starts_with("### pouch plan for fleet `quickstart`\n"), "{comment}");
    for line in [
        "- `us-east` would be published, 6 objects, 2 changed",
        "  - ``AWSClusterRoleIdentity aws-sandbox spec.allowedNamespaces.list[1]: nothing becomes \"team`b\"``",
    ] {
        assert!(comment.lines().any(|said| said == line), "{line}\n{comment}");
    }
    // Outside of code spans stand no words of a manifest.
    let mut outside = String::new();
    for line in comment.lines() {
        let mut rest = line;
        while let Some(at) = rest.find('`') {
            outside.push_str(&rest[..at]);
            let fence = rest[at..].chars().take_while(|char| *char == '`').count();
            let body = &rest[at + fence..];
            let mut end = None;
            let mut from = 0;
            while let Some(next) = body[from..].find('`') {
                let run = body[from + next..].chars().take_while(|char| *char == '`').count();
                if run == fence {
                    end = Some(from + next);
                    break;
                }
                from += next + run;
            }
            rest = &body[end.unwrap_or_else(|| panic!("{line}")) + fence..];
        }
        outside.push_str(rest);
        outside.push('\n');
    }
    assert!(!comment.contains("<b>"), "{comment}");
    for word in ["team-a", "aws-sandbox", "manifests"] {
        assert!(comment.contains(word) && !outside.contains(word), "{word}\n{outside}");
    }
    fleet.edit("manifests/azure.yaml", "    name: '<b>@me`'", "    name: azure-main-secret");
    fleet.run(&["render"]).ends(0);
    let none = fleet.run(&["plan", "-o", "markdown"]).ends(0).stdout;
    assert_eq!(none, "### pouch plan for fleet `quickstart`\n\nNothing would change.\n\n");
}

#[test]
fn how_a_plan_is_written_is_no_part_of_the_line_that_publishes() {
    let fleet = Fleet::with_credentials(8);
    fleet.run(&["render"]).ends(0);
    (0..8).for_each(|n| fleet.delete("eu", &format!("c{n}")));
    let ran = fleet.run(&["plan", "-o", "markdown"]).ends(0).says("pouch render --accept-deletions eu/eu-team=");
    assert!(
        ran.stdout.contains("\nTo let through all that is held: `pouch render --accept-deletions eu/eu-team="),
        "{ran:?}"
    );
    fleet.run(&["plan", "--output=json"]).ends(0).says(": pouch render --accept-deletions eu/eu-team=");
}
