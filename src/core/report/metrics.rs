//! The metrics of a run: what `--metrics FILE` writes, in Prometheus' text format.
//!
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>
//!
//! The metrics are made from the same [`Summary`] as the JSON. Every metric is a gauge that says how the last run found
//! things; a run leaves nothing behind that could count. This module knows no clock: it is told the time. Metrics of a
//! run as a whole have the command as a label, and the region if the run was about one: what `verify` found must not
//! stand for what `publish` did.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use alloc::vec::Vec;

use super::compared::ComparedRegion;
use super::summary::{About, Outcome, Summary};
use crate::region::change::Action;

/// Which run it was.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// The command, such as `render`.
    pub command: &'a str,
    /// The fleet; unknown where the configuration could not be read.
    pub fleet: Option<&'a str>,
    /// What it was about.
    pub about: &'a About,
}

impl<'a> RunFacts<'a> {
    fn labels(self) -> Vec<(&'static str, &'a str)> {
        let Self { command, fleet, about } = self;
        let region = match about {
            About::Region(name) => Some(&**name),
            About::Fleet | About::OneRegion => None,
        };
        let labels = [("fleet", fleet), ("command", Some(command)), ("region", region)];
        labels.into_iter().filter_map(|(label, value)| Some((label, value?))).collect()
    }
}

/// What is known of a run's time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times<'a> {
    /// When it ended, in seconds since 1970.
    pub now: i64,
    /// How long its stages took, in milliseconds.
    pub stages: &'a [(&'a str, u128)],
    /// What stood in the file before.
    pub former: &'a str,
}

/// The exit codes of a run that published what may be published.
const SUCCESS: [u8; 3] = [0, 3, 4];

const LAST_SUCCESS: &str = "pouch_last_success_timestamp_seconds";

/// The metrics of a run that did its work.
pub fn text(summary: &Summary, times: &Times<'_>) -> String {
    let Summary { command, fleet, about, .. } = summary;
    let run = RunFacts { command, fleet: fleet.as_deref(), about };
    let mut out = ended(run, summary.exit_code, times);
    let fleet = ("fleet", summary.fleet.as_deref().unwrap_or_default());
    out.family("pouch_credentials", "Credentials, and Clusters without one, by how the last run found them.");
    // A run of `verify` or `deliver` on a region looks at no Credentials; nought would be an alarm.
    if let Some(credentials) = &summary.credentials {
        for (verdict, count) in [
            ("admitted", credentials.admitted),
            ("refused", credentials.refused),
            ("broken", credentials.broken),
            ("unpublished", credentials.unpublished),
            ("paused", credentials.paused),
        ] {
            out.sample("pouch_credentials", &[fleet, ("verdict", verdict)], count);
        }
    }
    let regions = summary.regions.as_deref().unwrap_or_default();
    out.family("pouch_region_outcome", "What became of the region in the last run: 1 for that, 0 for the rest.");
    for region in regions {
        for outcome in Outcome::ALL {
            let labels = [fleet, ("region", &*region.name), ("outcome", outcome.word())];
            out.sample("pouch_region_outcome", &labels, usize::from(region.outcome == outcome));
        }
    }
    type Count = fn(&super::summary::Region) -> usize;
    let counts: [(&str, &str, Count); 4] = [
        ("pouch_region_objects", "Objects in the region's bundle, Namespaces not counted.", |region| region.objects),
        ("pouch_region_sealed", "Secrets that the last run sealed.", |region| region.sealed),
        ("pouch_region_kept", "Secrets that kept their bytes.", |region| region.kept),
        ("pouch_region_carried", "Objects carried over for what is broken.", |region| region.carried),
    ];
    for (name, help, count) in counts {
        out.family(name, help);
        for region in regions {
            out.sample(name, &[fleet, ("region", &*region.name)], count(region));
        }
    }
    out.family(
        "pouch_region_credentials",
        "The region's Credentials, and Clusters without one, by how the last run found them.",
    );
    for (region, credentials) in regions.iter().filter_map(|region| Some((region, region.credentials?))) {
        for (verdict, count) in [
            ("admitted", credentials.admitted),
            ("refused", credentials.refused),
            ("broken", credentials.broken),
            ("paused", credentials.paused),
        ] {
            let labels = [fleet, ("region", &*region.name), ("verdict", verdict)];
            out.sample("pouch_region_credentials", &labels, count);
        }
    }
    out.family(
        "pouch_region_changes",
        "Objects that the last run published anew or withdrew, by what happened to them.",
    );
    for region in regions {
        let is_done = matches!(region.outcome, Outcome::Published | Outcome::Withdrawn);
        for action in Action::ALL {
            let count = if is_done { region.count(*action) } else { 0 };
            let labels = [fleet, ("region", &*region.name), ("action", action.word())];
            out.sample("pouch_region_changes", &labels, count);
        }
    }
    standing(&mut out, fleet, summary.compared.as_deref().unwrap_or_default());
    if let Some(applied) = &summary.applied {
        out.family("pouch_region_applied", "Objects of the region, by what the last apply did with them.");
        for (outcome, count) in applied.outcomes() {
            let labels = [fleet, ("region", &*applied.region), ("outcome", outcome)];
            out.sample("pouch_region_applied", &labels, count);
        }
    }
    let mut findings: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for ((code, severity), count) in &summary.counted {
        findings.insert((code.text(), severity.word()), *count);
    }
    for finding in &summary.findings {
        let count = findings.entry((finding.code.text(), finding.severity.word())).or_default();
        *count = count.saturating_add(finding.others.unwrap_or(1));
    }
    out.family("pouch_findings", "Findings of the last run, by code and severity.");
    for ((code, severity), count) in findings {
        let labels = [run.labels(), Vec::from([("code", code), ("severity", severity)])].concat();
        out.sample("pouch_findings", &labels, count);
    }
    out.0
}

/// What regions' clusters have of their bundles. Of a region that was not reached nothing else is said: nought would say
/// that nothing is missing.
fn standing(out: &mut Exposition, fleet: (&str, &str), compared: &[ComparedRegion]) {
    if compared.is_empty() {
        return;
    }
    out.family("pouch_region_reached", "Whether the region's cluster could be compared with its bundle: 1 or 0.");
    for region in compared {
        let labels = [fleet, ("region", &*region.name)];
        out.sample("pouch_region_reached", &labels, usize::from(region.counts.is_some()));
    }
    let known = || compared.iter().filter_map(|region| Some((&*region.name, region.counts?)));
    out.family("pouch_region_standing", "Objects of the region's bundle, by how they stand in its cluster.");
    for (region, counts) in known() {
        for (state, count) in [
            ("as-published", counts.as_published),
            ("missing", counts.missing),
            ("differing", counts.differing),
            ("left-behind", counts.left_behind),
        ] {
            out.sample("pouch_region_standing", &[fleet, ("region", region), ("state", state)], count);
        }
    }
    out.family(
        "pouch_region_in_force",
        "Credentials of the region's bundle, and Clusters without one, by whether all of it stands there.",
    );
    for (region, counts) in known() {
        for (in_force, count) in [("true", counts.in_force), ("false", counts.not_in_force)] {
            out.sample("pouch_region_in_force", &[fleet, ("region", region), ("in_force", in_force)], count);
        }
    }
}

/// The metrics of a run that ended without doing its work.
pub fn failed(run: RunFacts<'_>, exit_code: u8, times: &Times<'_>) -> String {
    ended(run, exit_code, times).0
}

/// The sample of the last success in the former text, labels and value; none if it is of another run.
fn former_success<'t>(run: RunFacts<'_>, times: &Times<'t>) -> Option<(&'t str, i64)> {
    // What a run did not get to know, only the file knows.
    let command = Exposition::labels(&[("command", run.command)]);
    let is_own = |labels: &str| {
        let Some((fleet, region)) = labels.split_once(&*command) else { return false };
        let is_fleet = match run.fleet {
            Some(name) => fleet.strip_suffix(',') == Some(&*Exposition::labels(&[("fleet", name)])),
            None => fleet.is_empty() || fleet.starts_with("fleet=\""),
        };
        let is_region = match run.about {
            About::Fleet => region.is_empty(),
            About::OneRegion => region.is_empty() || region.starts_with(",region=\""),
            About::Region(name) => region.strip_prefix(',') == Some(&*Exposition::labels(&[("region", name)])),
        };
        is_fleet && is_region
    };
    times.former.lines().find_map(|line| {
        let (labels, value) = line.strip_prefix(LAST_SUCCESS)?.strip_prefix('{')?.rsplit_once("} ")?;
        let value = value.parse().ok().filter(|value| (0..=times.now).contains(value))?;
        is_own(labels).then_some((labels, value))
    })
}

fn ended(run: RunFacts<'_>, exit_code: u8, times: &Times<'_>) -> Exposition {
    let time = times.now;
    let mut out = Exposition(String::new());
    for (name, help, value) in [
        (
            "pouch_last_run_exit_code",
            "How the last run ended; docs/exit-codes.md says what that means.",
            exit_code.into(),
        ),
        ("pouch_last_run_timestamp_seconds", "When the last run ended.", time),
    ] {
        out.family(name, help);
        out.sample(name, &run.labels(), value);
    }
    out.family(LAST_SUCCESS, "When a run last ended with exit code 0, 3 or 4.");
    if SUCCESS.contains(&exit_code) {
        out.sample(LAST_SUCCESS, &run.labels(), time);
    } else if let Some((labels, value)) = former_success(run, times) {
        let _ = writeln!(out.0, "{LAST_SUCCESS}{{{labels}}} {value}");
    }
    out.family("pouch_stage_seconds", "How long the stages of the last run took, all attempts together.");
    for (stage, milliseconds) in times.stages {
        let labels = [run.labels(), Vec::from([("stage", *stage)])].concat();
        let seconds = format!("{}.{:03}", milliseconds.wrapping_div(1000), milliseconds.wrapping_rem(1000));
        out.sample("pouch_stage_seconds", &labels, seconds);
    }
    out
}

struct Exposition(String);

impl Exposition {
    /// Begins a metric. `help` has neither a backslash nor a line feed.
    fn family(&mut self, name: &str, help: &str) {
        // Writing to a `String` does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl core::fmt::Display) {
        let labels = Self::labels(labels);
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn labels(labels: &[(&str, &str)]) -> String {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        labels.join(",")
    }
}

/// A label's value, with backslash, quote and line feed escaped as the format wants.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' | '"' => out.push_str(&format!("\\{c}")),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::applied::{AppliedRecord, AppliedRegion};
    use super::super::compared::ComparedCounts;
    use super::super::summary::{
        ChangeRecord, Credentials, FindingRecord, ObjectRecord, Region, RegionCredentials, Verified,
    };
    use super::*;
    use crate::finding::{Code, Counts, Finding, Severity};
    use alloc::string::ToString as _;
    use alloc::vec;

    fn summary() -> Summary {
        let region = |name: &str, outcome, objects| Region {
            objects,
            sealed: 1,
            kept: 2,
            unseen: 0,
            carried: 3,
            changes: vec![ChangeRecord {
                action: Action::Withdrawn,
                object: ObjectRecord {
                    group: "".into(),
                    kind: "Secret".into(),
                    namespace: None,
                    name: "x".into(),
                    made_by: None,
                },
                credentials: Vec::new(),
                why: None,
                within: None,
            }],
            credentials: (name == "us").then_some(RegionCredentials { broken: 1, ..Default::default() }),
            ..Region::new(&name.into(), &"d".into(), outcome)
        };
        let finding = |code| FindingRecord::from(&Finding::new(code, "x"));
        Summary {
            api_version: "pouch/v1alpha1",
            kind: "Summary",
            fleet: Some("acme".into()),
            command: "render",
            exit_code: 4,
            failure: None,
            commit: None,
            targets: None,
            artifacts: None,
            authors: Vec::new(),
            no_values: false,
            kustomize: None,
            credentials: Some(Credentials { admitted: 5, refused: 0, broken: 1, kept: 0, unpublished: 2, paused: 3 }),
            regions: Some(vec![region("eu \"x\"\\\n", Outcome::Held, 7), region("us", Outcome::Published, 8)]),
            verified: None,
            proved: None,
            compared: None,
            applied: None,
            accept_command: None,
            findings: vec![finding(Code::Unread), finding(Code::Unread), finding(Code::MissingCompanion)],
            since: None,
            silenced: Vec::new(),
            about: About::Fleet,
            counted: Counts::from([((Code::OpenToAll, Severity::Info), 80_000)]),
        }
    }

    /// A sample: the metric, its labels, its value.
    type Sample = (String, BTreeMap<String, String>, f64);

    /// Reads the format as promtool does: families in one piece, each with its help and type before
    /// its samples, no sample twice, labels quoted and escaped.
    fn parsed(text: &str) -> Vec<Sample> {
        let mut families: Vec<&str> = Vec::new();
        let (mut typed, mut samples) = (false, Vec::new());
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap();
                assert!(!families.contains(&name) && !help.is_empty(), "{line}");
                families.push(name);
                typed = false;
                continue;
            }
            let family = *families.last().unwrap();
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                assert_eq!(rest, alloc::format!("{family} gauge"));
                typed = true;
                continue;
            }
            let (name, mut rest) = line.split_at(line.find(['{', ' ']).unwrap());
            assert!(typed && name == family, "{line}");
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            let mut labels = BTreeMap::new();
            while let Some(inner) = rest.strip_prefix(['{', ',']) {
                let (label, quoted) = inner.split_once("=\"").unwrap();
                let (mut value, mut chars) = (String::new(), quoted.char_indices());
                let end = loop {
                    match chars.next().unwrap() {
                        (_, '\\') => value.push(match chars.next().unwrap().1 {
                            'n' => '\n',
                            c => c,
                        }),
                        (at, '"') => break at,
                        (_, c) => value.push(c),
                    }
                };
                assert!(labels.insert(label.to_string(), value).is_none(), "{line}");
                rest = quoted.get(end + 1..).unwrap();
            }
            let value = rest.strip_prefix('}').unwrap_or(rest).strip_prefix(' ').unwrap();
            assert!(!samples.iter().any(|(other, others, _)| other == name && *others == labels), "{line}");
            samples.push((name.to_string(), labels, value.parse().unwrap()));
        }
        samples
    }

    #[track_caller]
    fn check(samples: &[Sample], name: &str, labels: &[(&str, &str)], expect: f64) {
        let labels: BTreeMap<String, String> = labels.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let found: Vec<f64> = samples.iter().filter(|s| s.0 == name && s.1 == labels).map(|s| s.2).collect();
        assert_eq!(found, [expect], "{name} {labels:?}");
    }

    #[test]
    fn the_text_says_what_the_summary_says() {
        let times = Times { now: 1_772_366_400, stages: &[("survey", 1_250), ("render", 3)], former: "" };
        let samples = parsed(&text(&summary(), &times));
        let fleet = ("fleet", "acme");
        let render = ("command", "render");
        check(&samples, "pouch_last_run_exit_code", &[fleet, render], 4.0);
        check(&samples, "pouch_last_run_timestamp_seconds", &[fleet, render], 1_772_366_400.0);
        check(&samples, "pouch_credentials", &[fleet, ("verdict", "broken")], 1.0);
        let eu = ("region", "eu \"x\"\\\n");
        check(&samples, "pouch_region_outcome", &[fleet, eu, ("outcome", "held")], 1.0);
        check(&samples, "pouch_region_outcome", &[fleet, eu, ("outcome", "published")], 0.0);
        check(&samples, "pouch_region_outcome", &[fleet, ("region", "us"), ("outcome", "published")], 1.0);
        check(&samples, "pouch_region_objects", &[fleet, eu], 7.0);
        check(&samples, "pouch_region_carried", &[fleet, ("region", "us")], 3.0);
        check(&samples, "pouch_findings", &[fleet, render, ("code", "unread"), ("severity", "error")], 2.0);
        let counted = [fleet, render, ("code", "open-to-all"), ("severity", "info")];
        check(&samples, "pouch_findings", &counted, 80_000.0);
        check(&samples, "pouch_last_success_timestamp_seconds", &[fleet, render], 1_772_366_400.0);
        check(&samples, "pouch_stage_seconds", &[fleet, render, ("stage", "survey")], 1.25);
        check(&samples, "pouch_stage_seconds", &[fleet, render, ("stage", "render")], 0.003);
        check(&samples, "pouch_region_credentials", &[fleet, ("region", "us"), ("verdict", "broken")], 1.0);
        // What is held did not happen.
        check(&samples, "pouch_region_changes", &[fleet, eu, ("action", "withdrawn")], 0.0);
        check(&samples, "pouch_region_changes", &[fleet, ("region", "us"), ("action", "withdrawn")], 1.0);
        assert_eq!(samples.len(), 2 + 1 + 2 + 5 + 2 * 5 + 4 * 2 + 4 + 2 * 4 + 3);
    }

    /// Of a region that was only looked at nothing is said that an alarm on publishing listens to.
    #[test]
    fn verify_has_series_of_its_own() {
        let verified = Verified { region: "eu".into(), directory: "d".into(), objects: 7, values: true, faults: 2 };
        let of_region = Summary {
            command: "verify",
            exit_code: 8,
            credentials: None,
            regions: None,
            verified: Some(verified),
            proved: None,
            about: About::Region("eu".into()),
            ..summary()
        };
        let samples = parsed(&text(&of_region, &Times { now: 7, ..Times::default() }));
        let run = [("fleet", "acme"), ("command", "verify"), ("region", "eu")];
        check(&samples, "pouch_last_run_exit_code", &run, 8.0);
        check(&samples, "pouch_last_run_timestamp_seconds", &run, 7.0);
        let unread = [run.as_slice(), &[("code", "unread"), ("severity", "error")]].concat();
        check(&samples, "pouch_findings", &unread, 2.0);
        assert_eq!(samples.len(), 2 + 3);
    }

    #[test]
    fn apply_has_series_of_its_own() {
        let record = |action, kind: &str| AppliedRecord {
            action,
            object: ObjectRecord {
                group: "".into(),
                kind: kind.into(),
                namespace: None,
                name: "x".into(),
                made_by: None,
            },
        };
        let applied = AppliedRegion {
            region: "eu".into(),
            directory: "d".into(),
            objects: 9,
            unchanged: 5,
            failed: 1,
            held: true,
            changes: vec![
                record(Action::Added, "Namespace"),
                record(Action::Added, "Secret"),
                record(Action::Added, "Secret"),
                record(Action::Changed, "Secret"),
                record(Action::Withdrawn, "Secret"),
            ],
            troubles: Vec::new(),
        };
        let of_region = Summary {
            command: "deliver",
            credentials: None,
            regions: None,
            applied: Some(applied),
            about: About::Region("eu".into()),
            findings: Vec::new(),
            counted: Counts::default(),
            ..summary()
        };
        let samples = parsed(&text(&of_region, &Times { now: 7, ..Times::default() }));
        let run = [("fleet", "acme"), ("command", "deliver"), ("region", "eu")];
        check(&samples, "pouch_last_run_exit_code", &run, 4.0);
        check(&samples, LAST_SUCCESS, &run, 7.0);
        let outcomes = [("unchanged", 5.0), ("added", 2.0), ("changed", 1.0), ("withdrawn", 1.0), ("failed", 1.0)];
        for (outcome, count) in outcomes {
            check(
                &samples,
                "pouch_region_applied",
                &[("fleet", "acme"), ("region", "eu"), ("outcome", outcome)],
                count,
            );
        }
        assert_eq!(samples.len(), 3 + 5);
    }

    #[test]
    fn of_a_region_that_was_not_reached_nothing_is_nought() {
        let counts =
            ComparedCounts { as_published: 7, missing: 2, differing: 1, left_behind: 3, in_force: 4, not_in_force: 5 };
        let region = |name: &str, counts| ComparedRegion { name: name.into(), counts };
        let compared = Some(vec![region("away", None), region("eu", Some(counts))]);
        let summary = Summary {
            command: "verify",
            credentials: None,
            regions: None,
            compared,
            findings: Vec::new(),
            counted: Counts::default(),
            ..summary()
        };
        let samples = parsed(&text(&summary, &Times { now: 7, ..Times::default() }));
        let (fleet, eu) = (("fleet", "acme"), ("region", "eu"));
        check(&samples, "pouch_region_reached", &[fleet, ("region", "away")], 0.0);
        check(&samples, "pouch_region_reached", &[fleet, eu], 1.0);
        for (state, count) in [("as-published", 7.0), ("missing", 2.0), ("differing", 1.0), ("left-behind", 3.0)] {
            check(&samples, "pouch_region_standing", &[fleet, eu, ("state", state)], count);
        }
        check(&samples, "pouch_region_in_force", &[fleet, eu, ("in_force", "true")], 4.0);
        check(&samples, "pouch_region_in_force", &[fleet, eu, ("in_force", "false")], 5.0);
        let away: Vec<&Sample> =
            samples.iter().filter(|sample| sample.1.get("region").is_some_and(|it| it == "away")).collect();
        assert_eq!(away.len(), 1, "{away:?}");
    }

    #[test]
    fn a_failure_says_that_there_was_one() {
        let run = RunFacts { command: "render", fleet: Some("acme"), about: &About::Fleet };
        let times = Times { now: 7, ..Times::default() };
        let samples = parsed(&failed(run, 5, &times));
        check(&samples, "pouch_last_run_exit_code", &[("fleet", "acme"), ("command", "render")], 5.0);
        let nameless = RunFacts { fleet: None, ..run };
        check(&parsed(&failed(nameless, 64, &times)), "pouch_last_run_exit_code", &[("command", "render")], 64.0);
        assert_eq!(samples.len(), 2);
    }

    #[test]
    fn the_last_success_outlives_runs_that_fail_and_no_other_run() {
        let run = RunFacts { command: "render", fleet: Some("acme"), about: &About::Fleet };
        let success = |run, code, now, former: &str| {
            let samples = parsed(&failed(run, code, &Times { now, stages: &[], former }));
            samples.into_iter().find(|sample| sample.0 == LAST_SUCCESS).map(|sample| (sample.1, sample.2))
        };
        let labels = |labels: &[(&str, &str)]| -> BTreeMap<String, String> {
            labels.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
        };
        let own = labels(&[("fleet", "acme"), ("command", "render")]);
        let first = text(&summary(), &Times { now: 5, ..Times::default() });
        assert_eq!(success(run, 1, 9, &first), Some((own.clone(), 5.0)));
        // And the next one, and one that cannot even read its configuration.
        let second = failed(run, 1, &Times { now: 9, stages: &[], former: &first });
        assert_eq!(success(run, 5, 10, &second), Some((own.clone(), 5.0)));
        let nameless = RunFacts { fleet: None, ..run };
        assert_eq!(success(nameless, 64, 10, &second), Some((own.clone(), 5.0)));
        let eu = About::Region("eu".into());
        for other in [
            RunFacts { command: "publish", ..run },
            RunFacts { fleet: Some("other"), ..run },
            RunFacts { about: &eu, ..run },
            RunFacts { command: "publish", ..nameless },
        ] {
            assert_eq!(success(other, 1, 9, &first), None, "{other:?}");
        }
        // A run of a region that did not get to know which one, or of which fleet.
        let of_region = RunFacts { command: "deliver", fleet: Some("acme"), about: &eu };
        let former = failed(of_region, 0, &Times { now: 5, ..Times::default() });
        let whole = labels(&[("fleet", "acme"), ("command", "deliver"), ("region", "eu")]);
        let unknown = RunFacts { about: &About::OneRegion, ..of_region };
        for lost in [unknown, RunFacts { fleet: None, ..unknown }, RunFacts { fleet: None, ..of_region }] {
            assert_eq!(success(lost, 5, 9, &former), Some((whole.clone(), 5.0)), "{lost:?}");
        }
        for other in [RunFacts { fleet: Some("other"), ..unknown }, RunFacts { command: "verify", ..unknown }] {
            assert_eq!(success(other, 5, 9, &former), None, "{other:?}");
        }
        // A time to come, and words that are none of ours.
        for former in [
            "",
            "x",
            &format!("{LAST_SUCCESS}{{fleet=\"acme\",command=\"render\"}} 99\n"),
            &first.replace(" 5\n", " x\n"),
        ] {
            assert_eq!(success(run, 1, 9, former), None, "{former}");
        }
        assert_eq!(success(run, 4, 11, &first), Some((own, 11.0)));
    }
}
