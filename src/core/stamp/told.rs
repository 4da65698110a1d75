//! What a run told, in a form that can be written down and told again.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::finding::{Cause, Code, Counts, Finding, Origin, Place, Severity};
use crate::name::{Claimant, Group, GroupKind, Kind, MadeBy, Name, Namespace, ObjectKey};
use crate::report::summary::{Credentials, Region, is_zero};
use crate::silence::Silenced;

/// The most findings that are written down where all are; of more of them, only what matters is.
pub const MOST_FINDINGS: usize = 2_000;

/// The most warnings and errors that are written down; who finds more looks each time.
const MOST_BRIEF: usize = 20_000;

/// What a run told that changed nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToldStamp {
    /// What was published then, by the ids of git's trees and files.
    pub standing: String,
    /// Digest of what else decides ([`super::inputs`]).
    pub inputs: String,
    /// How the Credentials fared.
    pub credentials: Credentials,
    /// What became of the regions.
    pub regions: Vec<Region>,
    findings: Vec<Told>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    silenced: Vec<(Told, String)>,
    /// How many pieces of information there are of each code, where these, and what is silenced, are too many to be written
    /// down; absent where nothing is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    information: Option<Vec<(String, usize)>>,
}

impl PartialEq for ToldStamp {
    fn eq(&self, other: &Self) -> bool {
        serde_json::to_value(self).ok() == serde_json::to_value(other).ok()
    }
}

impl Eq for ToldStamp {}

impl ToldStamp {
    /// Writes down what was told; none if that is too much.
    ///
    /// Where it is long, pieces of information are counted, and what is silenced is left out: a run shows neither unless
    /// it is asked to.
    pub fn new(
        (standing, inputs): (String, String),
        credentials: Credentials,
        regions: Vec<Region>,
        (findings, counted, silenced): (&[Finding], &Counts, &[Silenced]),
    ) -> Option<Self> {
        if counted.is_empty() && findings.len() + silenced.len() <= MOST_FINDINGS {
            let findings = findings.iter().map(Told::from).collect();
            let silenced = silenced.iter().map(|it| (Told::from(&it.finding), it.reason.clone())).collect();
            return Some(Self { standing, inputs, credentials, regions, findings, silenced, information: None });
        }
        let mut information: BTreeMap<Code, usize> = counted.iter().map(|((code, _), count)| (*code, *count)).collect();
        for finding in findings.iter().filter(|finding| finding.severity == Severity::Info) {
            *information.entry(finding.code).or_default() += finding.count();
        }
        let matters = || findings.iter().filter(|finding| finding.severity > Severity::Info);
        if matters().nth(MOST_BRIEF).is_some() {
            return None;
        }
        let (findings, silenced) = (matters().map(Told::from).collect(), Vec::new());
        let information = Some(information.into_iter().map(|(code, count)| (code.text().to_string(), count)).collect());
        Some(Self { standing, inputs, credentials, regions, findings, silenced, information })
    }

    /// Whether pieces of information are only counted, and what is silenced is left out.
    pub fn is_brief(&self) -> bool {
        self.information.is_some()
    }

    /// How many findings there are that are only counted; none where this program knows no such finding.
    pub fn counted(&self) -> Option<Counts> {
        let count = |(code, count): &(String, usize)| Some(((Code::parse(code)?, Severity::Info), *count));
        self.information.iter().flatten().map(count).collect()
    }

    /// What was found; none where this program knows no such finding.
    pub fn findings(&self) -> Option<Vec<Finding>> {
        self.findings.iter().map(Told::finding).collect()
    }

    /// What was found and silenced; none where this program knows no such finding.
    pub fn silenced(&self) -> Option<Vec<Silenced>> {
        let silenced =
            |(told, reason): &(Told, String)| Some(Silenced { finding: told.finding()?, reason: reason.clone() });
        self.silenced.iter().map(silenced).collect()
    }
}

/// A finding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Told {
    severity: String,
    code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimant: Option<(String, String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<ToldKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<(String, ToldPlace)>,
    message: String,
    help: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    because_region: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    others: usize,
}

/// An object's key as it is kept, and not as people are told it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToldKey {
    group: Group,
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<Namespace>,
    name: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<MadeBy>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ToldPlace {
    File(String, u32, u32),
    Cluster(String),
    Whole,
}

impl From<&Finding> for Told {
    fn from(finding: &Finding) -> Self {
        let Finding { severity, code, region, claimant, object, origin, message, help, because, others } = finding;
        let place = |place: &Place| match place {
            Place::File { path, line, column } => ToldPlace::File(path.to_string(), *line, *column),
            Place::Cluster { context } => ToldPlace::Cluster(context.to_string()),
            Place::Whole => ToldPlace::Whole,
        };
        let claimant = claimant.as_ref();
        Self {
            severity: severity.word().to_string(),
            code: code.text().to_string(),
            region: region.as_ref().map(|region| region.to_string()),
            claimant: claimant.map(|by| (by.kind().to_string(), by.namespace().to_string(), by.name().to_string())),
            object: object.as_ref().map(|ObjectKey { kind, namespace, name, made }| ToldKey {
                group: kind.group.clone(),
                kind: kind.kind.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
                made: made.as_deref().cloned(),
            }),
            origin: origin.as_ref().map(|origin| (origin.source.to_string(), place(&origin.place))),
            message: message.clone(),
            help: help.to_string(),
            because: because.as_ref().and_then(Cause::source).map(String::from),
            because_region: because.as_ref().and_then(Cause::region).map(String::from),
            others: *others,
        }
    }
}

impl Told {
    fn finding(&self) -> Option<Finding> {
        let Self { severity, code, region, claimant, object, origin, message, help, because, because_region, others } =
            self;
        let of_source = because.as_deref().map(|source| Cause::Source(source.into()));
        let of_region = because_region.as_deref().map(|region| Cause::Region(region.into()));
        let place = |place: &ToldPlace| match place {
            ToldPlace::File(path, line, column) => Place::File { path: (&**path).into(), line: *line, column: *column },
            ToldPlace::Cluster(context) => Place::Cluster { context: (&**context).into() },
            ToldPlace::Whole => Place::Whole,
        };
        let severities = [Severity::Info, Severity::Warning, Severity::Error];
        Some(Finding {
            severity: severities.into_iter().find(|known| known.word() == severity)?,
            code: Code::parse(code)?,
            region: region.as_deref().map(Into::into),
            claimant: claimant.as_ref().map(|(kind, namespace, name)| Claimant::new(kind, (&**namespace).into(), name)),
            object: object.as_ref().map(|ToldKey { group, kind, namespace, name, made }| ObjectKey {
                kind: GroupKind { group: group.clone(), kind: kind.clone() },
                namespace: namespace.clone(),
                name: name.clone(),
                made: made.clone().map(Arc::new),
            }),
            origin: origin.as_ref().map(|(source, at)| Origin { source: (&**source).into(), place: place(at) }),
            message: message.clone(),
            help: help.clone().into(),
            because: of_source.or(of_region),
            others: *others,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_again_as_it_was() {
        let source = |place| Origin { source: "team".into(), place };
        let plain = Finding::new(Code::Unread, "it is not read").help("Read it.");
        let by = Claimant::new("Rule", "a".into(), "b");
        let keys = [
            ObjectKey::new(GroupKind::new("g", "K"), None, "n".into()),
            ObjectKey::new(GroupKind::new("", "Secret"), Some("ns".into()), "n".into()),
            ObjectKey::of_made(
                &ObjectKey::secret("b".into(), "n".into()),
                &"a".into(),
                MadeBy { template: "login".into(), lands: Some("b".into()), directory: "eu".into(), in_guests: true },
            ),
        ];
        let places = [
            Place::File { path: "a.yaml".into(), line: 3, column: 5 },
            Place::Cluster { context: "x".into() },
            Place::Whole,
        ];
        let mut findings = alloc::vec![plain.clone()];
        for place in places {
            findings.push(plain.clone().at(&source(place)));
        }
        for key in &keys {
            findings.push(Finding { severity: Severity::Info, ..plain.clone().about(key).because(&"team".into()) });
        }
        findings.push(Finding { region: Some("eu".into()), claimant: Some(by), ..plain.clone() });
        findings.push(plain.clone().without_facts_of(&"eu".into()));
        let silenced = [Silenced { finding: plain, reason: "It is meant.".into() }];
        let told = ToldStamp::new(
            (String::new(), String::new()),
            Credentials::default(),
            Vec::new(),
            (&findings, &Counts::new(), &silenced),
        );
        let told = told.unwrap();
        assert!(!told.is_brief() && told.counted().unwrap().is_empty());
        let text = serde_json::to_string(&told).unwrap();
        let again: ToldStamp = serde_json::from_str(&text).unwrap();
        assert_eq!(again.findings().unwrap(), findings);
        assert_eq!(again.silenced().unwrap(), silenced);
        assert_eq!(
            serde_json::from_str::<ToldStamp>(&text.replace("\"unread\"", "\"unheard-of\"")).unwrap().findings(),
            None
        );
    }

    #[test]
    fn what_is_long_is_told_without_what_nobody_is_shown() {
        let of = |severity, code, count: usize| {
            (0..count).map(move |at| Finding { severity, ..Finding::new(code, format!("it is so at {at}")) })
        };
        let told = |infos, warnings, silenced: usize| {
            let infos = of(Severity::Info, Code::OpenToAll, infos).chain(of(Severity::Info, Code::MissingCompanion, 2));
            let findings: Vec<Finding> = infos.chain(of(Severity::Warning, Code::MissingCompanion, warnings)).collect();
            let silenced = of(Severity::Warning, Code::Unread, silenced);
            let silenced: Vec<Silenced> =
                silenced.map(|finding| Silenced { finding, reason: String::from("It is meant.") }).collect();
            let write = |findings: &[Finding], counted: &Counts| {
                let of_run = (String::new(), String::new());
                ToldStamp::new(of_run, Credentials::default(), Vec::new(), (findings, counted, &silenced))
            };
            let told = write(&findings, &Counts::new())?;
            if told.is_brief() {
                // A run that only counted them writes down the same.
                let (counted, kept): (Vec<Finding>, _) =
                    findings.into_iter().partition(|finding| finding.severity == Severity::Info);
                let mut counts = Counts::new();
                counted.iter().for_each(|it| *counts.entry((it.code, it.severity)).or_default() += 1);
                assert_eq!(write(&kept, &counts).as_ref(), Some(&told));
            }
            let again: ToldStamp = serde_json::from_str(&serde_json::to_string(&told).unwrap()).unwrap();
            assert_eq!(again, told);
            let (findings, silenced) = (again.findings()?.len(), again.silenced()?.len());
            Some((again.is_brief(), findings, silenced, again.counted()?.into_values().collect::<Vec<usize>>()))
        };
        assert_eq!(told(1_000, 500, 498), Some((false, 1_502, 498, Vec::new())));
        assert_eq!(told(1_000, 500, 499), Some((true, 500, 0, Vec::from([2, 1_000]))));
        assert_eq!(told(100_000, 0, 0), Some((true, 0, 0, Vec::from([2, 100_000]))));
        assert_eq!(told(0, MOST_BRIEF, 0).map(|told| told.1), Some(MOST_BRIEF));
        assert_eq!(told(0, MOST_BRIEF + 1, 0), None);
    }
}
