//! Groups: what is told once of many findings, in every format.
//!
//! Findings that say the same of the same object differ in whom they concern alone, and are told as one. A source that
//! could not be read leaves doubts about whatever it may hold: those follow from the source's own findings, and are told
//! below the first of them. Causes so come before consequences, and a list that is cut short loses none. A region whose
//! facts are unknown leaves doubts as well, and has no finding of its own: its doubts are told below the first of them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::summary::{FindingRecord, ObjectRecord, SilencedRecord};
use crate::finding::{Code, Finding, Origin, Severity};
use crate::listing::{counted, few};
use crate::name::{Claimant, ObjectKey};

/// Whom a finding concerns: its claimant and its region.
pub type Whom = (Option<String>, Option<String>);

/// What is told in groups.
pub trait Tell {
    /// What findings that are told as one have in common.
    type Alike<'f>: Ord
    where
        Self: 'f;

    /// What this one has in common with those that are told with it.
    fn alike(&self) -> Self::Alike<'_>;
    /// Whom it concerns.
    fn whom(&self) -> Whom;
    /// The severity; the most severe comes first.
    fn severity(&self) -> Severity;
    /// The code.
    fn code(&self) -> Code;
    /// The source in which it stands.
    fn source(&self) -> Option<&str>;
    /// What it follows from.
    fn because(&self) -> Option<Because<'_>>;
    /// The number of others that are not listed and that it stands for.
    fn others(&self) -> usize;
}

/// What something follows from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Because<'f> {
    /// The findings of a source that was not read completely.
    Source(&'f str),
    /// That the facts of a region's cluster are unknown.
    Region(&'f str),
}

impl<'f> Because<'f> {
    fn of(source: Option<&'f str>, region: Option<&'f str>) -> Option<Self> {
        source.map(Self::Source).or(region.map(Self::Region))
    }
}

impl Tell for Finding {
    // What is about no object is about its place.
    type Alike<'f> = (Severity, Code, &'f str, Option<&'f ObjectKey>, Option<&'f Origin>, &'f str, Option<Because<'f>>);

    fn alike(&self) -> Self::Alike<'_> {
        let origin = self.origin.as_ref().filter(|_| self.object.is_none());
        (self.severity, self.code, &self.message, self.object.as_ref(), origin, &self.help, Tell::because(self))
    }

    fn whom(&self) -> Whom {
        (self.claimant.as_ref().map(ToString::to_string), self.region.as_ref().map(ToString::to_string))
    }

    fn severity(&self) -> Severity {
        self.severity
    }

    fn code(&self) -> Code {
        self.code
    }

    fn source(&self) -> Option<&str> {
        self.origin.as_ref().map(|origin| origin.source.as_str())
    }

    fn because(&self) -> Option<Because<'_>> {
        let cause = self.because.as_ref()?;
        Because::of(cause.source(), cause.region())
    }

    fn others(&self) -> usize {
        self.others
    }
}

/// Where a record stands: source, file, line and column.
type Stands<'f> = (Option<&'f str>, Option<&'f str>, Option<u32>, Option<u32>);

impl Tell for FindingRecord {
    type Alike<'f> =
        (Severity, Code, &'f str, Option<&'f ObjectRecord>, Option<Stands<'f>>, &'f str, Option<Because<'f>>);

    fn alike(&self) -> Self::Alike<'_> {
        let stands = (self.source.as_deref(), self.file.as_deref(), self.line, self.column);
        let stands = self.object.is_none().then_some(stands);
        (self.severity, self.code, &self.message, self.object.as_ref(), stands, &self.help, self.because())
    }

    fn whom(&self) -> Whom {
        (self.credential.as_ref().map(|credential| Claimant::titled(credential)), self.region.clone())
    }

    fn severity(&self) -> Severity {
        self.severity
    }

    fn code(&self) -> Code {
        self.code
    }

    fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    fn because(&self) -> Option<Because<'_>> {
        Because::of(self.because.as_deref(), self.because_region.as_deref())
    }

    fn others(&self) -> usize {
        self.others.unwrap_or_default()
    }
}

/// What is silenced is told by itself: nothing follows from it.
impl Tell for SilencedRecord {
    type Alike<'f> = (<FindingRecord as Tell>::Alike<'f>, &'f str);

    fn alike(&self) -> Self::Alike<'_> {
        (self.finding.alike(), &self.reason)
    }

    fn whom(&self) -> Whom {
        self.finding.whom()
    }

    fn severity(&self) -> Severity {
        self.finding.severity
    }

    fn code(&self) -> Code {
        self.finding.code
    }

    fn source(&self) -> Option<&str> {
        None
    }

    fn because(&self) -> Option<Because<'_>> {
        None
    }

    fn others(&self) -> usize {
        self.finding.others()
    }
}

/// Findings by what a change has to do with them: those that it brings, or all where nothing tells which, and those that the
/// base has too.
pub fn by_news<'f>(
    findings: impl Iterator<Item = &'f FindingRecord>,
) -> (Vec<Group<'f, FindingRecord>>, Vec<Group<'f, FindingRecord>>) {
    let (old, new): (Vec<&FindingRecord>, Vec<&FindingRecord>) =
        findings.partition(|finding| finding.is_new == Some(false));
    (groups(new), groups(old))
}

/// `FILE:LINE` of a finding, as far as that is known.
pub fn place(finding: &FindingRecord) -> Option<String> {
    match (&finding.file, finding.line) {
        (Some(file), Some(line)) => Some(format!("{file}:{line}")),
        (file, _) => file.clone(),
    }
}

/// Findings that are told as one.
pub struct Group<'f, T> {
    /// The first of them.
    pub first: &'f T,
    /// All of them.
    pub all: Vec<&'f T>,
    /// What follows from it.
    pub consequences: Vec<Group<'f, T>>,
}

impl<'f, T: Tell> Group<'f, T> {
    /// Whom they concern, each once.
    pub fn whose(&self) -> BTreeSet<Whom> {
        whose(self.all.iter().copied())
    }

    /// How many other places there are than that of the first.
    pub fn places<P: Ord>(&self, place: impl Fn(&'f T) -> Option<P>) -> usize {
        let places: BTreeSet<P> = self.all.iter().filter_map(|finding| place(finding)).collect();
        places.iter().skip(1).count()
    }

    /// How many findings these are, with those that follow from them.
    pub fn count(&self) -> usize {
        let all = self.all.iter().map(|finding| finding.others().max(1));
        self.consequences.iter().map(Group::count).chain(all).fold(0, usize::saturating_add)
    }

    /// Who keeps what is published because of it, so many of them by name; none where nothing follows.
    pub fn consequence(&self, most: usize) -> Option<String> {
        let because = self.consequences.first().and_then(|group| group.first.because())?;
        let below = self.consequences.iter().flat_map(|group| group.all.iter().copied());
        let (whose, because) = match because {
            // What is mistyped was read; only which object it should be is open.
            Because::Source(source) if self.first.code() == Code::Mistyped => {
                (whose(below), format!("a document in source {source} is mistyped"))
            }
            Because::Source(source) => (whose(below), format!("source {source} was not read completely")),
            // The first of them is no other thing than the rest.
            Because::Region(region) => {
                (whose(self.all.iter().copied().chain(below)), format!("the facts of region {region} are unknown"))
            }
        };
        let Concerned { who, is_one, names, .. } = Concerned::of(&whose, most)?;
        let keep = if is_one { "keeps what it has" } else { "keep what they have" };
        let names = names.map(|names| format!(": {names}")).unwrap_or_default();
        Some(format!("{who} {keep}, because {because}{names}"))
    }
}

fn whose<'f, T: Tell + 'f>(findings: impl Iterator<Item = &'f T>) -> BTreeSet<Whom> {
    findings.map(Tell::whom).filter(|(claimant, region)| claimant.is_some() || region.is_some()).collect()
}

/// Groups of findings, in the order of their first ones, but for what follows from others.
pub fn groups<'f, T: Tell>(findings: impl IntoIterator<Item = &'f T>) -> Vec<Group<'f, T>> {
    let mut places: BTreeMap<T::Alike<'f>, usize> = BTreeMap::new();
    let mut groups: Vec<Group<'f, T>> = Vec::new();
    for finding in findings {
        let alike = finding.alike();
        match places.get(&alike).and_then(|at| groups.get_mut(*at)) {
            Some(group) => group.all.push(finding),
            None => {
                places.insert(alike, groups.len());
                groups.push(Group { first: finding, all: [finding].into(), consequences: Vec::new() });
            }
        }
    }
    let (consequences, mut causes): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|group| group.first.because().is_some());
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, group) in causes.iter().enumerate() {
        // What concerns a claimant is what becomes of an object that was read.
        if let Some(source) = group.first.source().filter(|_| group.first.whom().0.is_none()) {
            first.entry(source).or_insert(at);
        }
    }
    let mut alone: Vec<Group<'f, T>> = Vec::new();
    let mut of_region: BTreeMap<&str, usize> = BTreeMap::new();
    for group in consequences {
        let because = group.first.because();
        let cause = match because {
            Some(Because::Source(source)) => first.get(source).and_then(|at| causes.get_mut(*at)),
            Some(Because::Region(region)) => of_region.get(region).and_then(|at| alone.get_mut(*at)),
            None => None,
        };
        // What ends a run stands where it is looked for, so an error is told of below no warning.
        match cause.filter(|cause| cause.first.severity() >= group.first.severity()) {
            Some(cause) => cause.consequences.push(group),
            None => {
                if let Some(Because::Region(region)) = because {
                    of_region.insert(region, alone.len());
                }
                alone.push(group);
            }
        }
    }
    causes.extend(alone);
    causes.sort_by_key(|group| Reverse(group.first.severity()));
    causes
}

/// Whom something concerns, in words.
struct Concerned {
    /// `Credential a/b`, `36 Credentials`, `region eu`.
    who: String,
    /// Whether that is one alone.
    is_one: bool,
    /// The regions, where claimants are named.
    regions: Option<String>,
    /// The claimants by name, where there are several.
    names: Option<String>,
}

impl Concerned {
    fn of(whose: &BTreeSet<Whom>, most: usize) -> Option<Self> {
        let claimants: BTreeSet<&str> = whose.iter().filter_map(|(claimant, _)| claimant.as_deref()).collect();
        let regions: BTreeSet<&str> = whose.iter().filter_map(|(_, region)| region.as_deref()).collect();
        let is_one_region = regions.len() == 1;
        let regions = (!regions.is_empty()).then(|| {
            let noun = if is_one_region { "region" } else { "regions" };
            format!("{noun} {}", few(&regions, regions.len(), most))
        });
        let Some(first) = claimants.first() else {
            return Some(Self { who: regions?, is_one: is_one_region, regions: None, names: None });
        };
        if claimants.len() == 1 {
            return Some(Self { who: String::from(*first), is_one: true, regions, names: None });
        }
        let kinds: BTreeSet<&str> = claimants.iter().filter_map(|claimant| claimant.split(' ').next()).collect();
        let kind = kinds.first().filter(|_| kinds.len() == 1);
        let bare = |claimant: &&str| match kind {
            Some(kind) => claimant.strip_prefix(*kind).unwrap_or(claimant).trim_start().to_string(),
            None => claimant.to_string(),
        };
        let names = few(claimants.iter().map(bare), claimants.len(), most);
        let who = format!("{} {}s", claimants.len(), kind.unwrap_or(&"claimant"));
        Some(Self { who, is_one: false, regions, names: Some(names) })
    }
}

/// `36 Credentials, regions eu, us: a/b, c/d and 34 more`: whom something concerns, so many of them by name; none where
/// nobody is concerned.
pub fn concerned(whose: &BTreeSet<Whom>, most: usize) -> Option<String> {
    let Concerned { who, regions, names, .. } = Concerned::of(whose, most)?;
    let regions = regions.map(|regions| format!(", {regions}")).unwrap_or_default();
    let names = names.map(|names| format!(": {names}")).unwrap_or_default();
    Some(format!("{who}{regions}{names}"))
}

/// `3 errors, 2 warnings`: how many there are of each severity; empty if there are none.
pub fn amounts(severities: impl Iterator<Item = Severity> + Clone) -> String {
    let words = [
        (Severity::Error, "error", "errors"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Info, "piece of information", "pieces of information"),
    ];
    let count = |(severity, one, many)| {
        let count = severities.clone().filter(|it| *it == severity).count();
        (count > 0).then(|| counted(count, one, many))
    };
    words.into_iter().filter_map(count).collect::<Vec<String>>().join(", ")
}

/// How many errors, warnings and pieces of information are told, and how many findings these are if more:
/// `3 errors, 1 warning (76 findings, counted by Credential and region)`; by claimant, if some are no Credentials. Empty if there
/// are none.
pub fn counts<T: Tell>(groups: &[Group<'_, T>]) -> String {
    let parts = amounts(groups.iter().map(|group| group.first.severity()));
    let all: usize = groups.iter().map(Group::count).sum();
    let are_credentials = groups
        .iter()
        .flat_map(Group::whose)
        .all(|(who, _)| who.as_ref().is_none_or(|who| who.starts_with("Credential ")));
    let by = if are_credentials { "Credential" } else { "claimant" };
    match all > groups.len() {
        true => format!("{parts} ({all} findings, counted by {by} and region)"),
        false => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;
    use crate::name::Claimant;

    fn at(source: &str, line: u32) -> Origin {
        Origin { source: source.into(), place: Place::File { path: "a.yaml".into(), line, column: 1 } }
    }

    fn of(name: &str, code: Code, message: &str) -> Finding {
        Finding::new(code, message)
            .claimed_by(&Claimant::credential("team-a".into(), name.into()))
            .in_region(&"eu".into())
    }

    #[test]
    fn what_follows_stands_below_its_cause_in_findings_and_records() {
        let mut all = Vec::from([
            Finding::new(Code::UnparsableDocument, "it does not parse").at(&at("s", 1)),
            Finding::new(Code::UnparsableDocument, "it does not parse either").at(&at("s", 9)),
            of("other", Code::MissingReference, "it is nowhere"),
            of("elsewhere", Code::Unread, "nobody knows").because(&"t".into()),
        ]);
        all.extend(
            (0..8).map(|n| of(&format!("c{n}"), Code::Unread, &format!("is x{} there?", n % 2)).because(&"s".into())),
        );
        let records: Vec<FindingRecord> = all.iter().map(FindingRecord::from).collect();
        fn check<T: Tell>(all: &[T], message: fn(&T) -> &str) {
            let groups = groups(all);
            let told: Vec<&str> = groups.iter().map(|group| message(group.first)).collect();
            assert_eq!(told, ["it does not parse", "it does not parse either", "it is nowhere", "nobody knows"]);
            assert_eq!(groups[0].consequences.len(), 2);
            let says = "8 Credentials keep what they have, because source s was not read completely: \
                        team-a/c0, team-a/c1 and 6 more";
            assert_eq!(groups[0].consequence(2).as_deref(), Some(says));
            assert_eq!(groups[1].consequence(2), None);
            assert_eq!(counts(&groups), "4 errors (12 findings, counted by Credential and region)");
        }
        check(&all, |finding| &finding.message);
        check(&records, |record| &record.message);
    }

    #[test]
    fn a_source_with_a_mistyped_document_was_read_all_the_same() {
        for (code, says) in [
            (Code::Mistyped, "Credential team-a/c keeps what it has, because a document in source s is mistyped"),
            (
                Code::UnparsableDocument,
                "Credential team-a/c keeps what it has, because source s was not read completely",
            ),
        ] {
            let all = [Finding::new(code, "it").at(&at("s", 1)), of("c", Code::Unread, "unknown").because(&"s".into())];
            assert_eq!(groups(&all)[0].consequence(2).as_deref(), Some(says));
        }
    }

    #[test]
    fn a_region_whose_facts_are_unknown_is_told_of_once() {
        let unseen = |region: &str, n: usize| {
            let region = region.into();
            of(&format!("c{n}"), Code::Unread, &format!("is x{n} open?")).in_region(&region).without_facts_of(&region)
        };
        let mut all: Vec<Finding> = (0..7).map(|n| unseen("eu", n)).collect();
        all.push(unseen("us", 0));
        all.push(of("other", Code::Unread, "nobody knows").because(&"eu".into()));
        let records: Vec<FindingRecord> = all.iter().map(FindingRecord::from).collect();
        fn check<T: Tell>(all: &[T], message: fn(&T) -> &str) {
            let groups = groups(all);
            let told: Vec<&str> = groups.iter().map(|group| message(group.first)).collect();
            assert_eq!(told, ["is x0 open?", "is x0 open?", "nobody knows"]);
            let says = "7 Credentials keep what they have, because the facts of region eu are unknown: \
                        team-a/c0, team-a/c1 and 5 more";
            assert_eq!(groups[0].consequence(2).as_deref(), Some(says));
            assert_eq!(groups[1].consequence(2), None);
            assert_eq!(counts(&groups), "3 errors (9 findings, counted by Credential and region)");
        }
        check(&all, |finding| &finding.message);
        check(&records, |record| &record.message);
    }

    #[test]
    fn one_object_is_told_of_once_wherever_those_stand_who_need_it() {
        let key = ObjectKey::new(crate::name::GroupKind::new("", "Secret"), Some("a".into()), "b".into());
        let one =
            |n: u32| of(&format!("c{n}"), Code::MissingReference, "b is in no source").about(&key).at(&at("s", n));
        let mut all: Vec<Finding> = (0..7).map(one).collect();
        all.push(one(0).in_region(&"us".into()));
        let told = groups(&all);
        assert_eq!(told.len(), 1);
        let says = "7 Credentials, regions eu, us: team-a/c0, team-a/c1 and 5 more";
        assert_eq!(concerned(&told[0].whose(), 2).as_deref(), Some(says));
        assert_eq!(told[0].places(|finding| finding.origin.as_ref()), 6);
        // What is about no object is about its place.
        all.iter_mut().for_each(|finding| finding.object = None);
        assert_eq!(groups(&all).len(), 7);
    }

    #[test]
    fn one_alone_is_named() {
        let whom =
            |claimant: Option<&str>, region: Option<&str>| (claimant.map(String::from), region.map(String::from));
        for (whose, expect) in [
            (&[whom(Some("Credential a/b"), Some("eu"))][..], Some("Credential a/b, region eu")),
            (
                &[whom(Some("Credential a/b"), Some("eu")), whom(Some("Credential a/b"), Some("us"))],
                Some("Credential a/b, regions eu, us"),
            ),
            (&[whom(None, Some("eu"))], Some("region eu")),
            (
                &[whom(Some("Credential a/b"), None), whom(Some("Grant a/b"), None)],
                Some("2 claimants: Credential a/b, Grant a/b"),
            ),
            (&[], None),
        ] {
            assert_eq!(concerned(&whose.iter().cloned().collect(), 5).as_deref(), expect);
        }
    }
}
