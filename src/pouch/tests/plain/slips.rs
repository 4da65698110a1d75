//! Slips of the hand: whatever one character does to a manifest, nothing published is withdrawn without a finding that
//! names the document (DESIGN §2.6).
//!
//! `POUCH_SLIPS` says how many slips each fleet suffers, and `POUCH_SEED` where they begin.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pouch::ambient::Ambient;
use pouch::run::Run;
use pouch::run::render::render;
use pouch::session::{Global, Session};
use pouch::settings;
use pouch::stop::Stop;
use pouch::survey::source::live::Values;
use pouch::survey::{Reach, Surveyor, survey};
use pouch_core::finding::{Finding, Place};
use pouch_core::region::allowances::{Allowances, Selection};
use pouch_core::region::published::Files;

use super::churn_laws::Memory;
use crate::support::fleet::{EU, Fleet, US};
use crate::support::placeholders::filled;
use crate::support::{self, root};

/// How many slips each fleet suffers where nobody says otherwise.
const SLIPS: u64 = 120;

/// What a hand may type in place of something else, or beside it.
const TYPED: &[u8] = b"abcdeginorstz012 \n#:-\"'{}[],.|&*!%@`/_\t=~";

/// A generator of numbers: the same seed gives the same slips everywhere (splitmix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(below).unwrap()).unwrap()
    }

    /// The text with one character replaced, inserted, left out or swapped with the next, and the line where.
    pub(super) fn slip(&mut self, text: &str) -> (String, usize) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        // Lines of values are long, and most of what they say is nobody's concern.
        let line = self.roll(lines.len());
        let before: usize = lines[..line].iter().map(|line| line.len()).sum();
        let mut bytes = text.as_bytes().to_vec();
        let at = before + self.roll(lines[line].len().min(60));
        let typed = TYPED[self.roll(TYPED.len())];
        match self.roll(4) {
            0 => bytes[at] = typed,
            1 => bytes.insert(at, typed),
            2 => _ = bytes.remove(at),
            _ if at + 1 < bytes.len() => bytes.swap(at, at + 1),
            _ => {}
        }
        (String::from_utf8(bytes).expect("the manifests are ASCII"), line + 1)
    }
}

/// A fleet on disk, and its bundles in memory.
pub(super) struct Desk {
    pub(super) fleet: Fleet,
    pub(super) shelf: Memory,
    pub(super) published: Files,
}

impl Desk {
    pub(super) fn new(config: &str, manifests: &[(String, String)]) -> Self {
        let fleet = Fleet::in_memory();
        // Nothing that the brake holds would be withdrawn.
        let limits = "limits: {deletions: {claimants: 1000, most: 1000}, reseal: {percent: 100}}\n";
        fleet.configured(&format!("{config}{limits}"));
        for (name, text) in manifests {
            assert!(text.is_ascii(), "{name}");
            fleet.write(&format!("manifests/{name}"), text);
        }
        let desk = Self { fleet, shelf: Memory::default(), published: Files::new() };
        desk.render();
        let published = desk.shelf.0.lock().unwrap().clone();
        Self { published, ..desk }
    }

    /// Renders over what is published, and gives what was found.
    pub(super) fn render(&self) -> Vec<Finding> {
        self.shelf.0.lock().unwrap().clone_from(&self.published);
        let folder = &*self.fleet.path("");
        let ambient = Ambient::fixed(folder, jiff::Timestamp::UNIX_EPOCH, &[]);
        let settings = settings::load(Path::new("pouch.yaml"), &ambient).unwrap();
        let (keys, _) = settings::reuse_keys(&settings, &ambient).unwrap();
        let (session, reach) =
            (Session::new(Global { quiet: true, ..Global::default() }, ambient, Stop::never()), Reach::default());
        let (fleet, allowances, selection) = (&settings.fleet, Allowances::default(), Selection::default());
        let run = Run::new(&session, fleet, &keys, (&allowances, &selection));
        let surveyor = Surveyor::new(&session, fleet, folder, (&[], &reach));
        let survey = survey(&surveyor, Values::Read).unwrap_or_else(|failure| panic!("{}", failure.message));
        render(&run, &survey, &self.shelf).unwrap_or_else(|failure| panic!("{}", failure.message)).findings
    }
}

/// The files of objects that are not pouch's own.
pub(super) fn objects(files: &Files) -> BTreeSet<&str> {
    let is_object = |path: &&str| {
        path.starts_with("regions/")
            && !path.ends_with("/kustomization.yaml")
            && !path.contains("/namespaces/")
            && (path.contains("/core/") || path.contains("/identities/"))
    };
    files.keys().map(String::as_str).filter(is_object).collect()
}

/// The entries of sealed Secrets, each with the path of its file.
pub(super) fn entries(files: &Files) -> BTreeSet<String> {
    let sealed = files.iter().filter(|(path, _)| path.ends_with(".sops.yaml"));
    let lines = sealed.flat_map(|(path, file)| {
        let text = String::from_utf8(file.clone()).unwrap();
        let entries: Vec<String> = text
            .lines()
            .filter(|line| line.contains(": ENC["))
            .map(|line| format!("{path} {}", line.split(':').next().unwrap().trim()))
            .collect();
        entries
    });
    lines.filter(|line| !line.ends_with(" mac")).collect()
}

/// The lines of the document around a line, both ends included.
pub(super) fn document_around(text: &str, line: usize) -> (usize, usize) {
    let marks: Vec<usize> =
        (1..).zip(text.lines()).filter(|(_, text)| text.starts_with("---")).map(|(number, _)| number).collect();
    let start = marks.iter().rev().find(|mark| **mark < line).map_or(1, |mark| mark + 1);
    (start, marks.iter().find(|mark| **mark >= line).map_or(usize::MAX, |mark| *mark))
}

/// Whether a finding names a place within these lines of a file.
pub(super) fn names(finding: &Finding, file: &str, (first, last): (usize, usize)) -> bool {
    let within = |line: usize| (first..=last).contains(&line);
    let own = match finding.origin.as_ref().map(|origin| &origin.place) {
        Some(Place::File { path, line, .. }) => path.ends_with(file) && within(usize::try_from(*line).unwrap()),
        _ => false,
    };
    let text = format!("{}\n{}", finding.message, finding.help);
    let place = format!("{file}:");
    let mut told = text.split(&*place).skip(1);
    own || told.any(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().is_ok_and(within))
}

/// How many slips withdrew something. Fails where one did so silently.
fn suffer(name: &str, config: &str, manifests: &[(String, String)]) -> usize {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let mut dice = Dice(number("POUCH_SEED").unwrap_or(20_261_122));
    let desk = Desk::new(config, manifests);
    let before = objects(&desk.published);
    assert!(before.len() > 4, "{before:?}");
    let (mut silent, mut withdrawn) = (String::new(), 0);
    for _ in 0..number("POUCH_SLIPS").unwrap_or(SLIPS) {
        let (file, text) = &manifests[dice.roll(manifests.len())];
        let (slipped, line) = dice.slip(text);
        desk.fleet.write(&format!("manifests/{file}"), &slipped);
        let findings = desk.render();
        let after = desk.shelf.0.lock().unwrap().clone();
        let lost: Vec<&&str> = before.iter().filter(|path| !after.contains_key(**path)).collect();
        withdrawn += usize::from(!lost.is_empty());
        let lines = document_around(&slipped, line);
        // A line break that slips in, or a document that begins in this line, moves the end by one.
        let lines = (lines.0.saturating_sub(1), lines.1);
        if !lost.is_empty() && !findings.iter().any(|finding| names(finding, file, lines)) {
            let (old, new) = (text.lines().nth(line - 1), slipped.lines().skip(line - 1).take(2).collect::<Vec<_>>());
            _ = writeln!(silent, "{file}:{line}: {old:?} became {new:?}\n  lost {lost:?}");
            for finding in findings {
                _ = writeln!(silent, "  {} {}", finding.code.text(), finding.message);
            }
        }
        desk.fleet.write(&format!("manifests/{file}"), text);
    }
    assert!(silent.is_empty(), "{name}: withdrawn without a word\n{silent}");
    withdrawn
}

#[test]
fn no_slip_withdraws_silently_from_the_quickstart() {
    let folder = root().join("testdata/quickstart");
    let config = fs::read_to_string(folder.join("pouch.yaml")).unwrap();
    let manifests = fs::read_dir(folder.join("manifests")).unwrap().map(|entry| entry.unwrap().path());
    let mut manifests: Vec<_> = manifests
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect();
    manifests.sort();
    assert!(suffer("quickstart", &config, &manifests) > 0, "no slip withdrew anything, so this proves nothing");
}

#[test]
fn no_slip_withdraws_silently_from_the_samples() {
    let Some(samples) = support::shared("data/samples") else { return };
    let mut manifests = Vec::new();
    for entry in fs::read_dir(samples).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.ends_with("-credentials.yaml") {
            continue;
        }
        let text = filled(&fs::read_to_string(&path).unwrap(), "kcm-system");
        let text = text.replace("\n  identityRef:", "\n  region: eu\n  identityRef:");
        manifests.push((name, text.chars().filter(char::is_ascii).collect()));
    }
    manifests.sort();
    let config = format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: samples}}\n\
         sources: [{{name: samples, directory: {{path: manifests}}}}]\n\
         regions: {{eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}}}}}\nreuseKey: {{file: reuse.key}}\n"
    );
    assert!(suffer("samples", &config, &manifests) > 0, "no slip withdrew anything, so this proves nothing");
}

/// Everything that decides something beside a Credential: rules, definitions, labels, deployments, a list.
const RULES: &str = r#"apiVersion: k0rdent.mirantis.com/v1beta1
kind: AccessManagement
metadata:
  name: kcm
spec:
  accessRules:
  - credentials: [shared]
    targetNamespaces:
      list: [team-a]
  - resources:
    - kind: Credential
      selector: {matchLabels: {tier: gold}}
    targetNamespaces:
      selector: {matchLabels: {env: prod}}
---
apiVersion: v1
kind: Namespace
metadata:
  name: team-b
  labels:
    env: prod
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata:
  name: shared
  namespace: kcm-system
spec:
  region: eu
  identityRef: {apiVersion: v1, kind: Secret, name: shared, namespace: kcm-system}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata:
  name: gold
  namespace: kcm-system
  labels:
    tier: gold
spec:
  region: eu
  identityRef: {apiVersion: v1, kind: Secret, name: gold, namespace: kcm-system}
---
apiVersion: v1
kind: Secret
metadata: {name: shared, namespace: kcm-system}
stringData:
  password: of-the-shared-one
---
apiVersion: v1
kind: Secret
metadata: {name: gold, namespace: kcm-system}
stringData:
  password: of-the-golden-one
"#;

const DEFINED: &str = r#"apiVersion: k0rdent.mirantis.com/v1beta1
kind: ProviderInterface
metadata:
  name: acme
spec:
  clusterIdentities:
  - group: acme.example.com
    version: v1
    kind: AcmeIdentity
    references:
    - group: ""
      version: v1
      kind: Secret
      nameFieldPath: spec.secret.name
      namespaceFieldPath: spec.secret.namespace
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: acmeidentities.acme.example.com}
spec:
  group: acme.example.com
  names: {kind: AcmeIdentity, plural: acmeidentities}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata:
  name: acme
  namespace: team-c
spec:
  region: eu
  identityRef:
    apiVersion: acme.example.com/v1
    kind: AcmeIdentity
    name: acme
    namespace: team-c
---
apiVersion: acme.example.com/v1
kind: AcmeIdentity
metadata:
  name: acme
  namespace: team-c
spec:
  secret:
    name: acme
    namespace: team-c
---
apiVersion: v1
kind: Secret
metadata:
  name: acme
  namespace: team-c
stringData:
  password: of-acme
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: acme-resource-template
  namespace: team-c
  annotations:
    projectsveltos.io/template: "true"
data:
  template: "{}"
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: ClusterDeployment
metadata: {name: one, namespace: team-c}
spec:
  credential: acme
---
apiVersion: v1
kind: List
items:
- apiVersion: k0rdent.mirantis.com/v1beta1
  kind: Credential
  metadata:
    name: plain
    namespace: team-d
  spec:
    region: us
    identityRef:
      apiVersion: v1
      kind: Secret
      name: plain
      namespace: team-d
- apiVersion: v1
  kind: Secret
  metadata:
    name: plain
    namespace: team-d
  stringData:
    password: of-plain
"#;

#[test]
fn no_slip_withdraws_silently_where_rules_and_definitions_decide() {
    let config = format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: rules}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\n\
         kinds: [{{group: acme.example.com, kind: AcmeIdentity, scope: Namespaced}}]\nregions:\n\
         \x20 eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true}}\n\
         \x20 us: {{recipients: [{US}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true}}\nreuseKey: {{file: reuse.key}}\n"
    );
    let manifests = [("rules.yaml", RULES), ("defined.yaml", DEFINED)];
    let manifests = manifests.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert!(suffer("rules", &config, &manifests) > 0, "no slip withdrew anything, so this proves nothing");
}

/// Without findings every one of these withdrawals would be silent, and the check would say so.
#[test]
fn a_finding_about_another_document_does_not_count() {
    let text = "a\n---\nb\nc\n---\nd\n";
    assert_eq!(document_around(text, 1), (1, 2));
    assert_eq!(document_around(text, 4), (3, 5));
    assert_eq!(document_around(text, 6), (6, usize::MAX));
    let finding = |message: &str| Finding::new(pouch_core::finding::Code::Withdrawn, message);
    assert!(names(&finding("see manifests/x.yaml:4:1"), "x.yaml", (3, 5)));
    assert!(!names(&finding("see manifests/x.yaml:6:1"), "x.yaml", (3, 5)));
    assert!(!names(&finding("see manifests/y.yaml:4:1"), "x.yaml", (3, 5)));
}
