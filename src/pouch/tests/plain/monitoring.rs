//! `--metrics`, and the alert rules and the dashboard of `examples/monitoring`, held against each other and against the
//! real promtool.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;
use crate::support::{self, root};

fn example(name: &str) -> String {
    fs::read_to_string(root().join("examples/monitoring").join(name)).unwrap()
}

/// The names of pouch's metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_of_name(c)).filter(|word| word.starts_with("pouch_"));
    words.map(str::to_owned).collect()
}

/// The expressions of the dashboard's panels.
fn expressions() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&example("dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert!(ids.len() == panels.len() && panels.len() > 5);
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

fn metrics(fleet: &Fleet) -> String {
    fleet.read("pouch.prom")
}

/// The value of a sample.
#[track_caller]
fn value(text: &str, sample: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {sample} in\n{text}")).to_owned()
}

fn published() -> (Fleet, String) {
    let fleet = Fleet::with_credentials(3);
    let text = {
        let origin = Origin::new(&fleet, "");
        origin.publish(&[]).ends(0);
        fleet.secret("eu", "c0", "value: changed");
        fleet.remove("manifests/eu-c1-secret.yaml");
        fleet.delete("us", "c2");
        origin.publish(&["--metrics", "pouch.prom"]).ends(3);
        metrics(&fleet)
    };
    (fleet, text)
}

#[test]
fn the_file_says_what_happened_by_region_and_how_long_it_took() {
    let (fleet, text) = published();
    let eu = "fleet=\"acme\",region=\"eu\"";
    assert_eq!(value(&text, &format!("pouch_region_credentials{{{eu},verdict=\"broken\"}}")), "1");
    assert_eq!(value(&text, &format!("pouch_region_changes{{{eu},action=\"changed\"}}")), "1");
    assert_eq!(value(&text, "pouch_region_changes{fleet=\"acme\",region=\"us\",action=\"withdrawn\"}"), "1");
    for stage in ["fetch", "survey", "render", "publish"] {
        let sample = format!("pouch_stage_seconds{{fleet=\"acme\",command=\"publish\",stage=\"{stage}\"}}");
        let seconds: f64 = value(&text, &sample).parse().unwrap();
        assert!((0.0..600.0).contains(&seconds), "{stage} {seconds}");
    }
    let success = "pouch_last_success_timestamp_seconds{fleet=\"acme\",command=\"publish\"}";
    let then = value(&text, success);
    assert_eq!(then, value(&text, "pouch_last_run_timestamp_seconds{fleet=\"acme\",command=\"publish\"}"));
    // What failed since then does not take it away, whatever could be read.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    fs::rename(fleet.path("repo.git"), fleet.path("gone.git")).unwrap();
    let fails = |code| Ran::from(fleet.command(&["publish", "--metrics", "pouch.prom"]).output().unwrap()).ends(code);
    fails(5);
    assert_eq!(value(&metrics(&fleet), success), then);
    fleet.write("pouch.yaml", "kind: [");
    fails(64);
    assert_eq!(value(&metrics(&fleet), success), then);
    assert_ne!(value(&metrics(&fleet), "pouch_last_run_timestamp_seconds{command=\"publish\"}"), then);
}

/// What is counted where regions are compared, here one that cannot be reached.
fn compared() -> String {
    let fleet = Fleet::with_credentials(1);
    fleet.render(&[]).ends(0);
    fleet.configure(
        "k0rdentPushDisabled: true, delivery: flux",
        "k0rdentPushDisabled: true, cluster: {kubeconfig: none.yaml}, delivery: flux",
    );
    fleet.run(&["verify", "--live", "--all", "--metrics", "pouch.prom"]).ends(5);
    let text = metrics(&fleet);
    assert_eq!(value(&text, "pouch_region_reached{fleet=\"acme\",region=\"eu\"}"), "0");
    text
}

#[test]
fn rules_dashboard_and_documentation_name_metrics_that_there_are() {
    let (_, text) = published();
    let families = |text: &str| -> BTreeSet<String> {
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).map(str::to_owned).collect()
    };
    let mut all = families(&text);
    assert!(all.len() >= 12, "{all:?}");
    all.append(&mut families(&compared()));
    // `live` sees it written: `deliver` needs a region.
    const APPLIED: &str = "pouch_region_applied";
    all.insert(APPLIED.to_owned());
    let mut sampled = names(&text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"));
    sampled.insert(APPLIED.to_owned());
    for (what, text) in [
        ("the rules", example("alerts.yaml")),
        ("their test", example("alerts-test.yaml")),
        ("the dashboard", example("dashboard.json")),
    ] {
        let used = names(&text);
        assert!(used.len() > 5, "{what}");
        assert_eq!(used.difference(&sampled).collect::<Vec<_>>(), [&""; 0], "{what} names what no run writes");
    }
    let documented = names(&fs::read_to_string(root().join("docs/operations.md")).unwrap());
    assert_eq!(documented, all, "the table of metrics in docs/operations.md");
    // Labels by which anything is chosen or told apart are written too.
    for expression in expressions() {
        for label in ["fleet", "command", "region", "outcome", "verdict", "action", "stage", "code", "severity"] {
            let is_used = [format!("{label}="), format!("{label},"), format!("{label})")]
                .iter()
                .any(|use_| expression.contains(use_.as_str()));
            assert!(!is_used || text.contains(&format!("{label}=\"")), "{label} in {expression}");
        }
    }
}

fn promtool(program: &Path, arguments: &[&str], input: Option<&str>) {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(root().join("examples/monitoring"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.stdin(input.map_or(Stdio::null(), |path| fs::File::open(path).unwrap().into()));
    let output = command.output().unwrap();
    let words = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "promtool {arguments:?}:\n{words}");
}

#[test]
fn promtool_takes_the_metrics_the_rules_and_the_dashboard() {
    let Some(program) = support::tool("promtool") else { return };
    promtool(&program, &["check", "rules", "alerts.yaml"], None);
    promtool(&program, &["test", "rules", "alerts-test.yaml"], None);
    let (fleet, _) = published();
    promtool(&program, &["check", "metrics"], fleet.path("pouch.prom").to_str());
    // The dashboard's expressions, as rules that record them.
    let rules: Vec<Value> = expressions()
        .iter()
        .enumerate()
        .map(|(n, expression)| serde_json::json!({"record": format!("panel:{n}"), "expr": expression.replace("$fleet", ".*")}))
        .collect();
    let file = serde_json::json!({"groups": [{"name": "dashboard", "rules": rules}]});
    fleet.write("rules.yaml", file.to_string());
    promtool(&program, &["check", "rules", fleet.path("rules.yaml").to_str().unwrap()], None);
}

#[test]
fn the_steps_of_a_run_are_shown_with_counts_and_durations() {
    let fleet = Fleet::with_credentials(1);
    Origin::new(&fleet, "");
    let ran = fleet.run(&["publish", "--first", "--log-level", "info"]).ends(0);
    for step in [
        "info pouch::session: stage stage=\"survey\" took ",
        "info pouch::survey: source source=\"manifests\" took ",
        "info pouch::survey: read source=\"manifests\" documents=4 complete=true\n",
        "info pouch::run::render: region region=\"eu\" objects=1 sealed=1 took ",
        "info pouch::git::program: git command=\"push\" took ",
        "info pouch::shelf::rounds: push branch=\"main\" attempt=0 outcome=\"moved\" took ",
    ] {
        assert!(ran.stderr.contains(step), "{step}: {}", ran.stderr);
    }
    assert!(!fleet.run(&["publish", "--log-level", "warn"]).ends(0).stderr.contains(" took "));
}
