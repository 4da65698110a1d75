//! A flood of findings of one party is counted, ends the run as it did, and hides no finding of another.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::fleet::{EU, Fleet, Ran, credential, secret};
use crate::support::origin::Origin;
use crate::support::peak::peak;

/// The most findings of one account that are listed.
const MOST: usize = 2_000;

/// Two tenants, and the platform. Of the neighbour one Credential is good, and something is wrong of each kind that the other
/// tenant floods with.
fn two_tenants() -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources:\n\
         \x20 - {{name: platform, directory: {{path: platform}}, provides: {{namespaces: [kcm-system], clusterScoped: true}}}}\n\
         \x20 - {{name: flooding, directory: {{path: flooding}}, provides: {{namespaces: ['team-a*']}}}}\n\
         \x20 - {{name: neighbour, directory: {{path: neighbour}}, provides: {{namespaces: [team-b]}}}}\n\
         regions: {{eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}}}}}\n\
         output: {{path: bundles}}\nreuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("platform/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: kcm-system}\n");
    let of = |name: &str| credential("eu", "team-b", name, ["v1", "Secret", name]);
    let all = [
        of("good"),
        secret("team-b", "good", "value: good"),
        of("lacking"),
        of("without"),
        secret("team-b", "without", "value: "),
        of("misspelt").replace("identityRef", "identityReff"),
        secret("strangers", "strange", "value: x"),
    ];
    fleet.write("neighbour/b.yaml", all.join("---\n"));
    fleet.write("flooding/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: team-a}\n");
    fleet
}

fn findings(json: &str) -> Vec<Value> {
    serde_json::from_str::<Value>(json).unwrap()["findings"].as_array().unwrap().clone()
}

fn stands_for(finding: &Value) -> usize {
    finding["others"].as_u64().map_or(1, |others| usize::try_from(others).unwrap())
}

/// The findings of the neighbour.
fn neighbours(findings: &[Value]) -> Vec<&Value> {
    findings.iter().filter(|finding| finding["source"] == "neighbour").collect()
}

#[test]
fn a_flood_of_one_hides_nothing_of_another() {
    let fleet = two_tenants();
    let alone = findings(&fleet.run(&["check", "-o", "json"]).ends(7).stdout);
    let quiet = fleet.run(&["render", "--summary", "s.json"]);
    assert!(quiet.code == 3 && fleet.has("bundles/regions/eu/core/secrets/team-b/good.sops.yaml"), "{}", quiet.stderr);
    let many = |one: &dyn Fn(usize) -> String, count: usize| (0..count).map(one).collect::<Vec<_>>().join("---\n");
    let of = |namespace: &str, at: usize| credential("eu", namespace, &format!("c{at}"), ["v1", "Secret", "one"]);
    let nulls = (0..400).map(|at| format!("k{at}: ")).collect::<Vec<_>>().join(", ");
    for (code, count, flood) in [
        ("null-entry", 300 * 400, many(&|at| of("team-a", at), 300) + "---\n" + &secret("team-a", "one", &nulls)),
        ("missing-reference", 5_000, many(&|at| of(&format!("team-a{at}"), at), 5_000)),
        ("not-provided-here", 5_000, many(&|at| secret("team-b", &format!("s{at}"), "v: x"), 5_000)),
        ("mistyped", 5_000, many(&|at| of("team-a", at).replace("identityRef", "identityReff"), 5_000)),
    ] {
        fleet.write("flooding/flood.yaml", flood);
        std::fs::remove_dir_all(fleet.path("bundles")).unwrap();
        let (output, most) = peak(&mut fleet.command(&["check", "-o", "json"]));
        let flooded = findings(&Ran::from(output).ends(7).stdout);
        // All of the neighbour, one of each kind at least.
        assert_eq!(neighbours(&flooded), neighbours(&alone), "{code}");
        let told = neighbours(&flooded);
        let own = told.iter().find(|finding| finding["code"] == code).unwrap_or_else(|| panic!("no {code}"));
        // Of the flood so many, and the number of the others.
        assert!(flooded.len() <= MOST + alone.len() + 8, "{code}: {}", flooded.len());
        let of_code: Vec<&Value> = flooded.iter().filter(|finding| finding["code"] == code).collect();
        assert_eq!(of_code.iter().map(|it| stands_for(it)).sum::<usize>(), count + 1, "{code}");
        assert!(of_code.len() > MOST / 4, "{code}: {}", of_code.len());
        let rest = of_code.last().unwrap();
        let message = rest["message"].as_str().unwrap();
        assert!(message.starts_with("source flooding has ") && rest["source"] == "flooding", "{message}");
        assert!(most < 200 << 20, "{code}: {} MiB", most >> 20);
        // People are told of both, and how many more there are.
        let words = fleet.run(&["check"]).ends(7).stdout;
        assert!(words.contains(own["message"].as_str().unwrap()) && words.contains(message), "{code}:\n{words}");

        let ran = fleet.run(&["render", "--summary", "s.json", "--metrics", "m.prom"]);
        assert_eq!(ran.code, quiet.code, "{code}: {}", ran.stderr);
        let told = findings(&fleet.read("s.json"));
        assert_eq!(neighbours(&told).len(), neighbours(&alone).len(), "{code}");
        assert!(told.len() <= MOST + alone.len() + 8, "{code}: {}", told.len());
        let metrics = fleet.read("m.prom");
        let line = metrics.lines().find(|line| line.starts_with("pouch_findings{") && line.contains(code)).unwrap();
        assert_eq!(line.rsplit(' ').next().unwrap().parse::<usize>().unwrap(), count + 1, "{line}");
        assert!(fleet.has("bundles/regions/eu/core/secrets/team-b/good.sops.yaml"), "{code}");
    }
}

#[test]
fn a_bomb_in_a_region_is_counted_and_hides_no_other_fault() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    origin.commit_beside("echo 'kind: ConfigMap' > bundles/regions/us/core/other.yaml");
    fleet.run(&["verify"]).ends(8).says("regions/us/core/other.yaml is in the region's folders");
    let quiet = fleet.run(&["publish"]).ends(4).outcome("us", "held").outcome("eu", "unchanged");
    assert!(quiet.stderr.contains("regions/us/core/other.yaml is in"), "{}", quiet.stderr);
    _ = origin.bomb("bundles/regions/eu");
    for (command, code, kind) in [("verify", 8, "unlisted-file"), ("publish", 4, "foreign-file")] {
        let ran = fleet.run(&[command, "--summary", "s.json"]).ends(code);
        let ran = ran.says("regions/us/core/other.yaml is in the region's folders");
        assert!(ran.stderr.len() < 20_000, "{command}: {} bytes", ran.stderr.len());
        assert!(fleet.read("s.json").len() < 4 << 20, "{command}: {}", fleet.read("s.json").len());
        let told = findings(&fleet.read("s.json"));
        assert!(told.len() <= MOST + 8, "{command}: {}", told.len());
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for finding in &told {
            let of = (finding["code"].as_str().unwrap(), finding["region"].as_str().unwrap_or_default());
            *counts.entry(of).or_default() += stands_for(finding);
        }
        assert_eq!(counts[&(kind, "us")], 1, "{command}: {counts:?}");
        assert!(counts[&(kind, "eu")] > 10_000, "{command}: {counts:?}");
        ran.says("region eu has ").says("more of these, which are counted and not listed");
    }
    let verified = fleet.run(&["verify", "--summary", "s.json"]).ends(8);
    let faults: usize = findings(&fleet.read("s.json"))
        .iter()
        .filter(|finding| finding["region"] == "eu" && finding["class"] == "fault")
        .map(stands_for)
        .sum();
    assert!(verified.stdout.contains(&format!("{faults} faults")), "{faults}: {}", verified.stdout);
    // The writer of pouch removes it as before.
    fleet.run(&["publish", "--remove-foreign", "eu", "--remove-foreign", "us"]).ends(0);
    fleet.run(&["verify"]).ends(0);
}
