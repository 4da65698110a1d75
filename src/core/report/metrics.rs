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

use super::summary::{Outcome, Summary};

/// Which run it was.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// The command, such as `render`.
    pub command: &'a str,
    /// The fleet; unknown where the configuration could not be read.
    pub fleet: Option<&'a str>,
    /// The region, where the run was about one.
    pub region: Option<&'a str>,
}

impl<'a> RunFacts<'a> {
    fn labels(self) -> Vec<(&'static str, &'a str)> {
        let Self { command, fleet, region } = self;
        let labels = [("fleet", fleet), ("command", Some(command)), ("region", region)];
        labels.into_iter().filter_map(|(label, value)| Some((label, value?))).collect()
    }
}

/// The metrics of a run that did its work; `time` is in seconds since 1970.
pub fn text(summary: &Summary, time: i64) -> String {
    let region = summary.verified.as_ref().map(|verified| &*verified.region);
    let run = RunFacts { command: summary.command, fleet: Some(&summary.fleet), region };
    let mut out = ended(run, summary.exit_code, time);
    let fleet = ("fleet", &*summary.fleet);
    out.family("pouch_credentials", "Credentials, by how the last run found them.");
    // A run of `verify` on a region looks at no Credentials; nought would be an alarm.
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
        ("pouch_region_carried", "Objects carried over for broken Credentials.", |region| region.carried),
    ];
    for (name, help, count) in counts {
        out.family(name, help);
        for region in regions {
            out.sample(name, &[fleet, ("region", &*region.name)], count(region));
        }
    }
    let mut findings: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in &summary.findings {
        let count = findings.entry((finding.code, finding.severity)).or_default();
        *count = count.saturating_add(1);
    }
    out.family("pouch_findings", "Findings of the last run, by code and severity.");
    for ((code, severity), count) in findings {
        let labels = [run.labels(), Vec::from([("code", code), ("severity", severity)])].concat();
        out.sample("pouch_findings", &labels, count);
    }
    out.0
}

/// The metrics of a run that ended without doing its work.
pub fn failed(run: RunFacts<'_>, exit_code: u8, time: i64) -> String {
    ended(run, exit_code, time).0
}

fn ended(run: RunFacts<'_>, exit_code: u8, time: i64) -> Exposition {
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
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{open}{label}=\"{}\"", escaped(value));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{close} {value}");
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
    use super::super::summary::{Credentials, FindingRecord, Region, Verified};
    use super::*;
    use crate::finding::{Code, Finding};
    use alloc::string::ToString as _;
    use alloc::vec;

    fn summary() -> Summary {
        let region = |name: &str, outcome, objects| Region {
            objects,
            sealed: 1,
            kept: 2,
            carried: 3,
            ..Region::new(&name.into(), &"d".into(), outcome)
        };
        let finding = |code| FindingRecord::from(&Finding::new(code, "x"));
        Summary {
            api_version: "pouch/v1alpha1",
            kind: "Summary",
            fleet: "acme".into(),
            command: "render",
            exit_code: 4,
            commit: None,
            credentials: Some(Credentials { admitted: 5, refused: 0, broken: 1, unpublished: 2, paused: 3 }),
            regions: Some(vec![region("eu \"x\"\\\n", Outcome::Held, 7), region("us", Outcome::Published, 8)]),
            verified: None,
            proved: None,
            accept_command: None,
            findings: vec![finding(Code::Unread), finding(Code::Unread), finding(Code::MissingCompanion)],
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
        let samples = parsed(&text(&summary(), 1_772_366_400));
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
        assert_eq!(samples.len(), 2 + 5 + 2 * 5 + 4 * 2 + 2);
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
            ..summary()
        };
        let samples = parsed(&text(&of_region, 7));
        let run = [("fleet", "acme"), ("command", "verify"), ("region", "eu")];
        check(&samples, "pouch_last_run_exit_code", &run, 8.0);
        check(&samples, "pouch_last_run_timestamp_seconds", &run, 7.0);
        let unread = [run.as_slice(), &[("code", "unread"), ("severity", "error")]].concat();
        check(&samples, "pouch_findings", &unread, 2.0);
        assert_eq!(samples.len(), 2 + 2);
    }

    #[test]
    fn a_failure_says_that_there_was_one() {
        let run = RunFacts { command: "render", fleet: Some("acme"), region: None };
        let samples = parsed(&failed(run, 5, 7));
        check(&samples, "pouch_last_run_exit_code", &[("fleet", "acme"), ("command", "render")], 5.0);
        let nameless = RunFacts { fleet: None, ..run };
        check(&parsed(&failed(nameless, 64, 7)), "pouch_last_run_exit_code", &[("command", "render")], 64.0);
        assert_eq!(samples.len(), 2);
    }
}
