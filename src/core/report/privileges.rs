//! Privileges that a change of the configuration gives and takes: what sources may say, what regions take, and who may use what.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::Value;

use super::summary::{PrivilegeRecord, Summary};
use crate::config::{Fleet, Globs, GrantRegions, Granted, Grantee, RegionConfig, Source, show};
use crate::json;
use crate::listing::{cut, few};
use crate::name::{GroupKind, Region, SourceName};

/// The most names that are told of what is given or taken at once.
const MOST: usize = 5;

/// The number of fields that are told one by one, beside those that have words of their own.
const MOST_FIELDS: usize = 20;

/// The number of characters of a field, or of what it says, that are shown.
const MOST_CHARACTERS: usize = 80;

/// The privileges that a configuration gives and another one, before it, did not, and the other way round; those that are
/// given come first.
pub fn between(before: &Fleet, after: &Fleet) -> Vec<PrivilegeRecord> {
    let mut changes = Changes::default();
    changes.of_grants(&granted(before), &granted(after));
    let sources = |fleet: &Fleet| fleet.sources.iter().map(|source| source.name.clone()).collect::<BTreeSet<_>>();
    for name in sources(before).union(&sources(after)) {
        changes.of_source(name, [before, after].map(|fleet| fleet.source(name)));
    }
    let regions: BTreeSet<&Region> = before.regions.keys().chain(after.regions.keys()).collect();
    for name in regions {
        changes.of_region(name, [before, after].map(|fleet| fleet.regions.get(name)));
    }
    let kinds = |fleet: &Fleet| fleet.kinds.keys().map(GroupKind::qualified).collect::<BTreeSet<String>>();
    changes.of_names(
        [&kinds(before), &kinds(after)],
        |kinds| format!("objects of kind {kinds} may now be published"),
        |kinds| format!("objects of kind {kinds} may no longer be published"),
    );
    changes.of_fields([before, after].map(fields));
    changes.0.sort_by(|one, other| (!one.opens, &one.words).cmp(&(!other.opens, &other.words)));
    changes.0
}

/// All privileges that a plan gives and takes: those of the configuration, and those of objects with the regions where they
/// change; those that are given come first.
pub fn of_plan(summary: &Summary) -> Vec<PrivilegeRecord> {
    let mut of_objects: BTreeMap<&PrivilegeRecord, BTreeSet<&str>> = BTreeMap::new();
    for region in summary.regions.iter().flatten() {
        for privilege in region.changes.iter().flat_map(|change| change.privileges()) {
            of_objects.entry(privilege).or_default().insert(&region.name);
        }
    }
    let mut all: Vec<PrivilegeRecord> =
        summary.since.iter().flat_map(|since| since.privileges.iter().cloned()).collect();
    all.extend(of_objects.into_iter().map(|(PrivilegeRecord { opens, words }, regions)| {
        let word = if regions.len() == 1 { "region" } else { "regions" };
        let words = format!("{words}, in {word} {}", few(&regions, regions.len(), MOST));
        PrivilegeRecord { opens: *opens, words }
    }));
    // Stable: within each half, the configuration's stay first.
    all.sort_by_key(|privilege| !privilege.opens);
    all
}

/// Fields by their paths, with what they say.
type AllFields = BTreeMap<Vec<String>, String>;

/// The fields that begin with a path.
fn below<'f>(all: &'f AllFields, start: &'f [String]) -> impl Iterator<Item = &'f Vec<String>> {
    all.range(start.to_vec()..).map(|(path, _)| path).take_while(move |path| path.starts_with(start))
}

/// The fields of a configuration, with their values as one line; of lists, each item by its name, its text or its number.
fn fields(fleet: &Fleet) -> AllFields {
    let mut all = BTreeMap::new();
    collect(&mut all, &mut Vec::new(), &json::value(&show::tree(fleet)));
    all
}

fn collect(all: &mut AllFields, at: &mut Vec<String>, value: &Value) {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            let name = |(number, item): (usize, &Value)| match (item, item.get("name")) {
                (Value::String(text), _) | (_, Some(Value::String(text))) => text.clone(),
                _ => number.to_string(),
            };
            items.iter().enumerate().map(|(number, item)| (name((number, item)), item)).collect()
        }
        Value::String(text) => {
            all.insert(at.clone(), text.clone());
            return;
        }
        other => {
            all.insert(at.clone(), other.to_string());
            return;
        }
    };
    for (key, value) in parts {
        at.push(key);
        collect(all, at, value);
        let _ = at.pop();
    }
}

/// Returns true for a field that is told in words of its own.
fn is_worded(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(
        &*path,
        ["grants", ..]
            | ["sources", _, "provides" | "overrides", ..]
            | ["regions", _, "namespaces", "allowed", ..]
            | ["regions", _, "syncRules" | "resourceSets" | "templates", ..]
            | ["regions", _, "clusters", _]
            | ["regions", _, "clusters", _, "name"]
            | ["regions", _, "recipients", _]
            | ["regions", _, "recipients", _, "key"]
            | ["kinds", _, "kind" | "group"]
    )
}

/// Where a grant holds: in every region, and in these.
type Held = (bool, BTreeSet<String>);

/// Where each thing is granted, by whom it is granted to and what it is.
fn granted(fleet: &Fleet) -> BTreeMap<(&Grantee, &Granted), Held> {
    let mut all: BTreeMap<(&Grantee, &Granted), Held> = BTreeMap::new();
    for grant in &fleet.grants {
        let (everywhere, named) = all.entry((&grant.from, &grant.to)).or_default();
        match &grant.regions {
            GrantRegions::All => *everywhere = true,
            GrantRegions::These { regions, placements } => {
                named.extend(regions.iter().map(|region| format!("region {region}")));
                named.extend(placements.iter().map(|placement| format!("the regions of placement {placement}")));
            }
        }
    }
    all
}

/// A yes or no of a source.
type Flag = fn(&Source) -> bool;

/// Names that a region lists.
type Names = fn(&RegionConfig) -> BTreeSet<String>;

/// The privileges that changed.
#[derive(Default)]
struct Changes(Vec<PrivilegeRecord>);

impl Changes {
    fn add(&mut self, opens: bool, words: String) {
        self.0.push(PrivilegeRecord { opens, words });
    }

    /// Adds what is among the latter names alone, and what is among the former alone.
    fn of_names(
        &mut self,
        [before, after]: [&BTreeSet<String>; 2],
        given: impl Fn(&str) -> String,
        taken: impl Fn(&str) -> String,
    ) {
        for (opens, names) in [(true, after.difference(before)), (false, before.difference(after))] {
            let names: Vec<&String> = names.collect();
            if !names.is_empty() {
                let names = few(&names, names.len(), MOST);
                self.add(opens, if opens { given(&names) } else { taken(&names) });
            }
        }
    }

    fn of_grants(
        &mut self,
        before: &BTreeMap<(&Grantee, &Granted), Held>,
        after: &BTreeMap<(&Grantee, &Granted), Held>,
    ) {
        let none = Held::default();
        let pairs: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for pair in pairs {
            let (was, is) = (before.get(pair).unwrap_or(&none), after.get(pair).unwrap_or(&none));
            let (from, what) = (called(pair.0), used(pair.1));
            match (was.0, is.0) {
                (false, true) => self.add(true, format!("{from} may now {what}, in every region")),
                (true, true) => {}
                (true, false) if is.1.is_empty() => self.add(false, format!("{from} may no longer {what}")),
                (true, false) => {
                    let left = few(&is.1, is.1.len(), MOST);
                    self.add(false, format!("{from} may no longer {what}, but in {left}"));
                }
                (false, false) => self.of_names(
                    [&was.1, &is.1],
                    |regions| format!("{from} may now {what}, in {regions}"),
                    |regions| format!("{from} may no longer {what}, in {regions}"),
                ),
            }
        }
    }

    /// Adds what else changes, field by field: the reader has to tell what that opens.
    fn of_fields(&mut self, [before, after]: [AllFields; 2]) {
        let paths: BTreeSet<&Vec<String>> = before.keys().chain(after.keys()).filter(|path| !is_worded(path)).collect();
        let changed: Vec<&Vec<String>> =
            paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).collect();
        // What is there as a whole now, or is gone, is one change.
        let is_below = |all: &AllFields, start: &[String]| below(all, start).next().is_some();
        let mut told: BTreeSet<Vec<String>> = BTreeSet::new();
        let mut lines = Vec::new();
        for path in changed {
            let (was, is) = (before.get(path), after.get(path));
            let whole = (1..=path.len()).filter_map(|length| path.get(..length)).find(|start| {
                (was.is_none() && !is_below(&before, start)) || (is.is_none() && !is_below(&after, start))
            });
            // Of one field alone, its value is told.
            let several = |start: &&[String]| [&before, &after].iter().any(|all| below(all, start).nth(1).is_some());
            let start = whole.filter(several).unwrap_or(path);
            if !told.insert(start.to_vec()) {
                continue;
            }
            let field = cut(&start.join("."), MOST_CHARACTERS);
            lines.push(match (was, is) {
                (Some(was), Some(is)) => format!(
                    "the configuration changes {field} from {} to {}",
                    cut(was, MOST_CHARACTERS),
                    cut(is, MOST_CHARACTERS)
                ),
                (None, Some(is)) if start.len() == path.len() => {
                    format!("the configuration now has {field}: {}", cut(is, MOST_CHARACTERS))
                }
                (None, _) => format!("the configuration now has {field}"),
                (Some(was), None) if start.len() == path.len() => {
                    format!("the configuration has {field} no more, which was {}", cut(was, MOST_CHARACTERS))
                }
                (Some(_), None) => format!("the configuration has {field} no more"),
            });
        }
        let more = lines.len().saturating_sub(MOST_FIELDS);
        lines.truncate(MOST_FIELDS);
        lines.into_iter().for_each(|line| self.add(true, line));
        if more > 0 {
            self.add(true, format!("the configuration changes {more} more fields"));
        }
    }

    fn of_source(&mut self, name: &SourceName, [before, after]: [Option<&Source>; 2]) {
        let globs = |of: Option<&Source>| of.map(|source| patterns(&source.provides.namespaces)).unwrap_or_default();
        self.of_names(
            [&globs(before), &globs(after)],
            |globs| format!("source {name} may now provide objects of namespaces {globs}"),
            |globs| format!("source {name} may no longer provide objects of namespaces {globs}"),
        );
        let objects = |of: Option<&Source>| {
            let objects = of.into_iter().flat_map(|source| &source.provides.objects);
            let shown = objects.map(|it| match &it.namespace {
                Some(namespace) => format!("{} {namespace}/{}", it.kind.qualified(), it.glob()),
                None => format!("{} {}", it.kind.qualified(), it.glob()),
            });
            shown.collect::<BTreeSet<String>>()
        };
        self.of_names(
            [&objects(before), &objects(after)],
            |objects| format!("source {name} may now provide {objects}"),
            |objects| format!("source {name} may no longer provide {objects}"),
        );
        let is = |of: Option<&Source>, what: fn(&Source) -> bool| of.is_some_and(what);
        let flags: [(Flag, &str); 2] = [
            (|source| source.provides.cluster_scoped, "provide cluster-scoped objects, and those that belong to all"),
            (|source| source.overrides, "say something else of objects that earlier sources have"),
        ];
        for (flag, what) in flags {
            match (is(before, flag), is(after, flag)) {
                (false, true) => self.add(true, format!("source {name} may now {what}")),
                (true, false) => self.add(false, format!("source {name} may no longer {what}")),
                (false, false) | (true, true) => {}
            }
        }
    }

    fn of_region(&mut self, name: &Region, [before, after]: [Option<&RegionConfig>; 2]) {
        let readers = |of: Option<&RegionConfig>| {
            let all = of.into_iter().flat_map(|region| &region.recipients);
            all.map(|reader| reader.to_string()).collect::<BTreeSet<String>>()
        };
        self.of_names(
            [&readers(before), &readers(after)],
            |keys| format!("the bundle of region {name} can now be opened by {keys}"),
            |keys| format!("the bundle of region {name} can no longer be opened by {keys}"),
        );
        let taken: [(Names, &str); 5] = [
            (|region| patterns(&region.namespaces.allowed), "Credentials of namespaces"),
            (|region| region.clusters.iter().map(|it| it.glob().to_string()).collect(), "Clusters"),
            (|region| patterns(&region.sync_rules), "ResourceSyncRules"),
            (|region| patterns(&region.resource_sets), "ClusterResourceSets"),
            (|region| patterns(&region.templates), "ManagedResources"),
        ];
        for (of, what) in taken {
            self.of_names(
                [&before.map(of).unwrap_or_default(), &after.map(of).unwrap_or_default()],
                |names| format!("region {name} now takes {what} {names}"),
                |names| format!("region {name} no longer takes {what} {names}"),
            );
        }
    }
}

fn patterns(globs: &Globs) -> BTreeSet<String> {
    globs.patterns().iter().cloned().collect()
}

/// Who is meant.
fn called(from: &Grantee) -> String {
    match from {
        Grantee::Namespace(namespace) => format!("namespace {namespace}"),
        Grantee::Claimant(claimant) => claimant.to_string(),
        Grantee::SyncRule(rule) => format!("whatever ResourceSyncRule {rule} takes"),
        Grantee::Template(template) => format!("ManagedResource {template}"),
    }
}

/// What may be done.
fn used(to: &Granted) -> String {
    match to {
        Granted::Object(key) => format!("use {key}"),
        Granted::Made(key) => format!("make {key}"),
        Granted::Closure => String::from("use whatever it refers to"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::case::fleet;
    use crate::testing::yaml;

    #[track_caller]
    fn check(before: &str, after: &str, expect: &[&str]) {
        let told = between(&fleet(&yaml(before)), &fleet(&yaml(after)));
        let told: Vec<String> =
            told.iter().map(|it| format!("{}{}", if it.opens { "+ " } else { "- " }, it.words)).collect();
        assert_eq!(told, expect, "{before}\n{after}");
    }

    #[test]
    fn what_changes_hands_is_told_as_what_it_means() {
        let grant = |regions: &str| {
            format!(
                "{{regions: {{eu: {{}}, us: {{}}}}, grants: [{{from: {{namespace: a}}, to: {{namespace: s, kind: Secret, name: dns}}, regions: {regions}}}]}}"
            )
        };
        let none = "{regions: {eu: {}, us: {}}}";
        check(none, none, &[]);
        check(none, &grant("[eu]"), &["+ namespace a may now use Secret s/dns, in region eu"]);
        check(&grant("[eu]"), &grant("[eu, us]"), &["+ namespace a may now use Secret s/dns, in region us"]);
        check(&grant("[eu]"), &grant("['*']"), &["+ namespace a may now use Secret s/dns, in every region"]);
        check(&grant("['*']"), &grant("[eu]"), &["- namespace a may no longer use Secret s/dns, but in region eu"]);
        check(&grant("['*']"), none, &["- namespace a may no longer use Secret s/dns"]);
        let source =
            |provides: &str| format!("{{sources: [{{name: t, directory: {{path: t}}, provides: {provides}}}]}}");
        check(
            &source("{namespaces: [a, b]}"),
            &source(
                "{namespaces: [b, c], clusterScoped: true, objects: [{group: '', kind: Secret, namespace: kcm-system, name: t-*}]}",
            ),
            &[
                "+ source t may now provide Secret kcm-system/t-*",
                "+ source t may now provide cluster-scoped objects, and those that belong to all",
                "+ source t may now provide objects of namespaces c",
                "- source t may no longer provide objects of namespaces a",
            ],
        );
        let region = |says: &str| format!("{{regions: {{eu: {{namespaces: {{allowed: [a]}}, {says}}}}}}}");
        check(
            &region("syncRules: [x]"),
            &region("syncRules: ['*'], clusters: ['a/*']"),
            &[
                "+ region eu now takes Clusters a/*",
                "+ region eu now takes ResourceSyncRules *",
                "- region eu no longer takes ResourceSyncRules x",
            ],
        );
    }

    #[test]
    fn readers_of_a_bundle_are_told_by_their_keys() {
        const ONE: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";
        const TWO: &str = "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa";
        let of = |reader: &str| format!("{{regions: {{eu: {{recipients: [{reader}]}}}}}}");
        check(
            &of(ONE),
            &of(TWO),
            &[
                &format!("+ the bundle of region eu can now be opened by {TWO}"),
                &format!("- the bundle of region eu can no longer be opened by {ONE}"),
            ],
        );
    }

    /// Fields without words of their own are told one by one, so that the list is never silent.
    #[test]
    fn every_other_field_that_changes_is_told() {
        let of = |says: &str| format!("{{regions: {{eu: {{}}}}, {says}}}");
        check(
            &of("sources: [{name: t, directory: {path: m}}]"),
            &of("sources: [{name: t, directory: {path: elsewhere}}], systemNamespace: team-a"),
            &[
                "+ the configuration changes sources.t.directory.path from m to elsewhere",
                "+ the configuration changes systemNamespace from kcm-system to team-a",
            ],
        );
        let kind = |allowed: &str| {
            of(&format!(
                "kinds: [{{group: x.example.com, kind: Own, scope: Namespaced, allowedNamespaces: {allowed}}}]"
            ))
        };
        let told = between(&fleet(&yaml(&kind("none"))), &fleet(&yaml(&kind("aws"))));
        assert!(told.len() == 1 && told[0].words.ends_with("allowedNamespaces from none to aws"), "{told:?}");
        let eu = |says: &str| format!("{{regions: {{eu: {{namespaces: {{allowed: [a], {says}}}}}}}}}");
        check(
            &eu("labels: {}"),
            &eu("labels: {x: {cloud: 'yes'}}"),
            &["+ the configuration now has regions.eu.namespaces.labels.x.cloud: yes"],
        );
        let taken = |name: &str| {
            let identity = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereClusterIdentity, name: ";
            format!("{{regions: {{eu: {{clusters: [{{name: b/*, identityRef: {{{identity}{name}}}}}]}}}}}}")
        };
        check(
            &taken("dev"),
            &taken("prod"),
            &["+ the configuration changes regions.eu.clusters.b/*.identityRef.name from dev to prod"],
        );
        // Many changes are a few lines and a number.
        let many = |says: &str| {
            let labels: Vec<String> = (0..50).map(|it| format!("n{it}: {{a: {says}}}")).collect();
            eu(&format!("labels: {{{}}}", labels.join(", ")))
        };
        let told = between(&fleet(&yaml(&many("x"))), &fleet(&yaml(&many("w"))));
        assert_eq!((told.len(), told[0].words.as_str()), (21, "the configuration changes 30 more fields"));
    }
}
