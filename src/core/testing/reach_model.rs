//! A model of reach: who may have what, by what each source may reach, written down a second time.
//!
//! Chains of up to four hops lead through objects of three sources: the platform, team A, and team B, of which each team may
//! bring identities and Secrets by their names. Grants open single objects or whole closures. pouch must refuse each chain
//! that the model refuses, and admit each that it admits.

extern crate std;

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::case::{Document, Scene};
use super::node;
use super::stages::Desk;
use super::tenants::Dice;
use crate::judge::case::Verdict;

const SYSTEM: &str = "kcm-system";
const SOURCES: [&str; 3] = ["platform", "a", "b"];
const NAMESPACES: [&str; 4] = [SYSTEM, "team-a", "team-b", "shared"];
const REGIONS: [&str; 2] = ["eu", "us"];
const CHAINS: usize = 12;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    /// A cluster-scoped identity.
    Wide,
    /// An identity with a namespace.
    Local,
    Secret,
}

/// The namespaces that a cluster-scoped identity admits.
#[derive(Clone, PartialEq, Debug)]
enum Admits {
    All,
    These(Vec<&'static str>),
}

/// One object of a chain.
#[derive(Clone, PartialEq, Debug)]
struct Thing {
    kind: Kind,
    namespace: Option<&'static str>,
    name: String,
    admits: Admits,
    /// The sources that have it, equally.
    sources: Vec<&'static str>,
}

#[derive(Clone, Debug)]
enum From {
    Namespace(&'static str),
    Credential(&'static str, String),
}

#[derive(Clone, Debug)]
struct Grant {
    from: From,
    /// The object; none for the whole closure.
    to: Option<Thing>,
    region: &'static str,
}

/// One claim: a Credential, or what a rule makes of it, and the objects of its chain.
#[derive(Clone, Debug)]
struct Chain {
    namespace: &'static str,
    name: String,
    sources: Vec<&'static str>,
    /// Whether a rule hands the Credential of the system namespace to team-a.
    is_managed: bool,
    region: &'static str,
    things: Vec<Thing>,
}

/// One fleet with many chains.
struct Fleet {
    /// Whether the platform may provide all namespaces, or none of the teams'.
    is_platform_wide: bool,
    chains: Vec<Chain>,
    grants: Vec<Grant>,
}

// The model.

impl Fleet {
    fn has_namespace(&self, source: &str, namespace: &str) -> bool {
        match (source, namespace) {
            ("platform", SYSTEM) => true,
            ("platform", namespace) => self.is_platform_wide || namespace == "shared",
            ("a", "team-a") | ("b", "team-b") => true,
            _ => false,
        }
    }

    fn may_provide(&self, source: &str, thing: &Thing) -> bool {
        let by_name = thing.name.starts_with(&format!("{source}-"));
        match (thing.kind, thing.namespace) {
            (Kind::Wide, _) => source == "platform" || by_name,
            (Kind::Secret, Some(SYSTEM)) => source == "platform" || by_name,
            (_, Some(namespace)) => self.has_namespace(source, namespace),
            _ => false,
        }
    }

    /// Whether a grant to somebody whom `is_for` knows names a thing.
    fn names(&self, chain: &Chain, thing: &Thing, is_for: impl Fn(&From) -> bool) -> bool {
        let opens = |grant: &Grant| grant.to.as_ref() == Some(thing) && grant.region == chain.region;
        self.grants.iter().any(|grant| opens(grant) && is_for(&grant.from))
    }

    fn is_granted(&self, chain: &Chain, thing: &Thing) -> bool {
        self.names(chain, thing, |from| match from {
            From::Namespace(namespace) => *namespace == chain.claimant(),
            From::Credential(namespace, name) => *namespace == chain.claimant() && *name == chain.name,
        })
    }

    fn has_closure(&self, chain: &Chain) -> bool {
        let is_its = |from: &From| matches!(from, From::Credential(namespace, name) if *namespace == chain.claimant() && *name == chain.name);
        self.grants.iter().any(|it| it.to.is_none() && it.region == chain.region && is_its(&it.from))
    }

    fn reaches(&self, source: &str, chain: &Chain, thing: &Thing) -> bool {
        let is_own = |namespace: &str| self.has_namespace(source, namespace);
        let is_admitted = thing.kind == Kind::Wide
            && match &thing.admits {
                Admits::All => true,
                Admits::These(namespaces) => namespaces.iter().any(|namespace| is_own(namespace)),
            };
        let to_own = |from: &From| match from {
            From::Namespace(namespace) | From::Credential(namespace, _) => is_own(namespace),
        };
        self.may_provide(source, thing)
            || is_admitted
            || self.names(chain, thing, to_own)
            || self.is_granted(chain, thing)
            || (self.has_closure(chain) && chain.sources.contains(&source))
    }

    /// Whether the claimant's namespace is admitted to a thing, whatever leads there.
    fn is_open(&self, chain: &Chain, before: Option<&Thing>, thing: &Thing) -> bool {
        let by = chain.claimant();
        let by_rule = match (thing.kind, thing.namespace) {
            (Kind::Wide, _) if by == SYSTEM => true,
            (Kind::Wide, _) => match &thing.admits {
                Admits::All => true,
                Admits::These(namespaces) => namespaces.contains(&by),
            },
            (_, Some(namespace)) if namespace == by => true,
            (kind, Some(SYSTEM)) => {
                chain.is_managed || (kind == Kind::Secret && before.is_some_and(|it| it.kind == Kind::Wide))
            }
            _ => false,
        };
        by_rule || self.is_granted(chain, thing) || self.has_closure(chain)
    }

    fn is_right(&self, chain: &Chain) -> bool {
        (0..chain.things.len()).all(|at| {
            let before = at.checked_sub(1).map(|before| &chain.things[before]);
            let sources = before.map_or(&chain.sources, |before| &before.sources);
            let thing = &chain.things[at];
            self.is_open(chain, before, thing) && sources.iter().any(|source| self.reaches(source, chain, thing))
        })
    }

    /// Whether nothing but the bound stands in the way.
    fn is_open_throughout(&self, chain: &Chain) -> bool {
        let before = |at: usize| at.checked_sub(1).map(|before| &chain.things[before]);
        (0..chain.things.len()).all(|at| self.is_open(chain, before(at), &chain.things[at]))
    }
}

impl Chain {
    /// The namespace of the claim.
    fn claimant(&self) -> &'static str {
        if self.is_managed { "team-a" } else { self.namespace }
    }

    fn path(&self) -> String {
        format!("{}/{}", self.claimant(), self.name)
    }
}

// Worlds.

fn draw(dice: &mut Dice) -> Fleet {
    let mut fleet = Fleet { is_platform_wide: dice.next(2) == 0, chains: Vec::new(), grants: Vec::new() };
    for number in 0..CHAINS {
        let chain = draw_chain(&fleet, dice, number);
        for _ in 0..dice.next(3) {
            let from = match dice.next(3) {
                0 => From::Namespace(dice.pick::<&str>(&NAMESPACES)),
                1 => From::Credential("team-b", "anybody".to_string()),
                _ => From::Credential(chain.claimant(), chain.name.clone()),
            };
            let is_whole = matches!(from, From::Credential(..)) && dice.next(2) == 0;
            let to = (!is_whole).then(|| dice.pick(&chain.things).clone());
            fleet.grants.push(Grant { from, to, region: dice.pick::<&str>(&["eu", "eu", "us"]) });
        }
        fleet.chains.push(chain);
    }
    fleet
}

fn draw_chain(fleet: &Fleet, dice: &mut Dice, number: usize) -> Chain {
    let homes = [(SYSTEM, "platform"), (SYSTEM, "platform"), ("team-a", "a"), ("team-b", "b"), ("team-a", "platform")];
    let (namespace, home) = *dice.pick(&homes);
    let home = if fleet.has_namespace(home, namespace) { home } else { "a" };
    let mut sources = vec![home];
    if home == "a" && fleet.is_platform_wide && dice.next(4) == 0 {
        sources.insert(0, "platform");
    }
    let hops = 1 + dice.next(4);
    let things = (0..hops).map(|hop| draw_thing(fleet, dice, (number, hop), hop + 1 == hops)).collect();
    Chain {
        namespace,
        name: format!("c{number}"),
        sources,
        is_managed: namespace == SYSTEM && dice.next(3) == 0,
        region: dice.pick::<&str>(&REGIONS),
        things,
    }
}

fn draw_thing(fleet: &Fleet, dice: &mut Dice, (number, hop): (usize, usize), is_last: bool) -> Thing {
    let kind = match is_last {
        true => *dice.pick(&[Kind::Secret, Kind::Secret, Kind::Wide]),
        false => *dice.pick(&[Kind::Wide, Kind::Wide, Kind::Local]),
    };
    let namespace = match kind {
        Kind::Wide => None,
        _ => Some(*dice.pick::<&str>(&[SYSTEM, SYSTEM, "team-a", "team-b", "shared"])),
    };
    let admits = [
        Admits::All,
        Admits::These(vec![]),
        Admits::These(vec!["team-a"]),
        Admits::These(vec!["team-b"]),
        Admits::These(vec!["team-a", "team-b"]),
        Admits::These(vec!["shared"]),
    ];
    let prefix = *dice.pick(&["platform", "platform", "a", "b"]);
    let name = format!("{prefix}-{number}-{hop}");
    let mut thing = Thing { kind, namespace, name, admits: dice.pick(&admits).clone(), sources: Vec::new() };
    let able: Vec<&str> = SOURCES.into_iter().filter(|source| fleet.may_provide(source, &thing)).collect();
    thing.sources = match able.len() {
        // Now and then several have it.
        several if several > 1 && dice.next(4) == 0 => able,
        _ if dice.next(3) > 0 => able.last().into_iter().copied().collect(),
        _ => able.first().into_iter().copied().collect(),
    };
    // Nobody but a platform that may provide everything can have what stands there.
    if thing.sources.is_empty() { draw_thing(fleet, dice, (number, hop), is_last) } else { thing }
}

const GROUP: &str = "chains.example";

fn kind_of(kind: Kind) -> (&'static str, &'static str, &'static str) {
    match kind {
        Kind::Wide => (GROUP, "Wide", "chains.example/v1"),
        Kind::Local => (GROUP, "Local", "chains.example/v1"),
        Kind::Secret => ("", "Secret", "v1"),
    }
}

fn document(thing: &Thing, next: Option<&Thing>) -> Value {
    let (_, kind, version) = kind_of(thing.kind);
    let mut metadata = json!({"name": thing.name});
    if let Some(namespace) = thing.namespace {
        metadata["namespace"] = json!(namespace);
    }
    let head = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
    let mut document = head;
    if thing.kind == Kind::Secret {
        document["stringData"] = json!({"key": "value"});
        return document;
    }
    document["spec"] = json!({});
    if thing.kind == Kind::Wide {
        document["spec"]["allowedNamespaces"] = match &thing.admits {
            Admits::All => json!({}),
            Admits::These(list) if list.is_empty() => json!({"list": ["nobody"]}),
            Admits::These(list) => json!({ "list": list }),
        };
    }
    if let Some(next) = next {
        let (_, kind, _) = kind_of(next.kind);
        let field = if next.kind == Kind::Wide { "wide" } else { "local" };
        let field = if next.kind == Kind::Secret { "secret" } else { field };
        document["spec"][field] = json!({"kind": kind, "name": next.name});
        if let Some(namespace) = next.namespace {
            document["spec"][field]["namespace"] = json!(namespace);
        }
    }
    document
}

fn scene(fleet: &Fleet) -> Scene {
    let by_name = |source: &str| {
        json!([{"group": GROUP, "kind": "Wide", "name": format!("{source}-*")},
               {"kind": "Secret", "namespace": SYSTEM, "name": format!("{source}-*")}])
    };
    let platform = if fleet.is_platform_wide { json!(["*"]) } else { json!([SYSTEM, "shared"]) };
    let config = json!({
        "sources": [
            {"name": "platform", "provides": {"namespaces": platform, "clusterScoped": true}},
            {"name": "a", "provides": {"namespaces": ["team-a"], "objects": by_name("a")}},
            {"name": "b", "provides": {"namespaces": ["team-b"], "objects": by_name("b")}},
        ],
        "regions": {"eu": {}, "us": {}},
        "kinds": [
            {"group": GROUP, "kind": "Wide", "scope": "Cluster", "allowedNamespaces": "aws"},
            {"group": GROUP, "kind": "Local", "scope": "Namespaced"},
        ],
        "grants": fleet.grants.iter().map(grant).collect::<Vec<_>>(),
    });
    let reference = |group: &str, kind: &str, field: &str, is_local: bool| {
        let mut path = json!({"group": group, "version": "v1", "kind": kind,
                              "nameFieldPath": format!("spec.{field}.name")});
        if is_local {
            path["namespaceFieldPath"] = json!(format!("spec.{field}.namespace"));
        }
        path
    };
    let references = json!([
        reference(GROUP, "Wide", "wide", false),
        reference(GROUP, "Local", "local", true),
        reference("", "Secret", "secret", true),
    ]);
    let identity = |kind: &str| json!({"group": GROUP, "version": "v1", "kind": kind, "references": references});
    let interface = json!({"apiVersion": "k0rdent.mirantis.com/v1beta1", "kind": "ProviderInterface",
                           "metadata": {"name": "chains"},
                           "spec": {"clusterIdentities": [identity("Wide"), identity("Local"),
                                                          {"group": "", "version": "v1", "kind": "Secret"}]}});
    let managed: Vec<&str> = fleet.chains.iter().filter(|it| it.is_managed).map(|it| &*it.name).collect();
    let rules = json!({"apiVersion": "k0rdent.mirantis.com/v1beta1", "kind": "AccessManagement",
                       "metadata": {"name": "kcm"},
                       "spec": {"accessRules": [{"credentials": managed, "targetNamespaces": {"list": ["team-a"]}}]}});
    let mut all = vec![("platform", interface), ("platform", rules)];
    for chain in &fleet.chains {
        let root = &chain.things[0];
        let (_, kind, version) = kind_of(root.kind);
        let mut identity = json!({"apiVersion": version, "kind": kind, "name": root.name});
        if let Some(namespace) = root.namespace {
            identity["namespace"] = json!(namespace);
        }
        let credential = json!({"apiVersion": "k0rdent.mirantis.com/v1beta1", "kind": "Credential",
                                "metadata": {"name": chain.name, "namespace": chain.namespace},
                                "spec": {"region": chain.region, "identityRef": identity}});
        all.extend(chain.sources.iter().map(|source| (*source, credential.clone())));
        for (at, thing) in chain.things.iter().enumerate() {
            let document = document(thing, chain.things.get(at + 1));
            all.extend(thing.sources.iter().map(|source| (*source, document.clone())));
        }
    }
    let document = |((source, value), line): ((&str, Value), u32)| Document {
        source: source.to_string(),
        node: node(&value),
        line,
    };
    let documents = all.into_iter().zip(1_u32..).map(document).collect();
    Scene { config, documents, incomplete: Vec::new(), run: json!({}) }
}

fn grant(grant: &Grant) -> Value {
    let from = match &grant.from {
        From::Namespace(namespace) => json!({ "namespace": namespace }),
        From::Credential(namespace, name) => json!({"credential": format!("{namespace}/{name}")}),
    };
    let mut value = json!({"from": from, "regions": [grant.region]});
    if let Some(thing) = &grant.to {
        let (group, kind, _) = kind_of(thing.kind);
        value["to"] = json!({"group": group, "kind": kind, "name": thing.name});
        if let Some(namespace) = thing.namespace {
            value["to"]["namespace"] = json!(namespace);
        }
    }
    value
}

/// How often what happened.
#[derive(Default, Debug)]
struct Counts {
    chains: [usize; 5],
    admitted: usize,
    /// Refused by the bound alone: of Credentials of the system namespace, of those with a closure granted, of others.
    stopped: [usize; 3],
    /// Admitted through objects of several sources.
    mixed: usize,
}

fn play(seeds: core::ops::Range<u64>) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        let fleet = draw(&mut Dice::of(seed));
        let desk = Desk::new(&scene(&fleet));
        let cases: Vec<_> = REGIONS.iter().flat_map(|region| desk.heard(&(*region).into())).collect();
        for chain in &fleet.chains {
            // k0rdent reads the root of what it hands out in the system namespace, and what it does not hand out is no claim.
            if chain.is_managed && chain.things[0].namespace.is_some_and(|namespace| namespace != SYSTEM) {
                continue;
            }
            let path = chain.path();
            let case = cases
                .iter()
                .find(|case| case.claim.by.path() == path && case.claim.is_handed_out() == chain.is_managed);
            let case = case.unwrap_or_else(|| panic!("{seed}: no case of {path}"));
            let is_right = fleet.is_right(chain);
            let expect = if is_right { Verdict::Admitted } else { Verdict::Refused };
            assert_eq!(case.verdict, expect, "{seed}: {chain:#?} {:#?} {:#?}", fleet.grants, case.findings);
            counts.chains[chain.things.len()] += 1;
            if is_right {
                let sources = chain.things.iter().map(|thing| &thing.sources);
                counts.admitted += 1;
                counts.mixed += usize::from(sources.clone().any(|it| Some(it) != sources.clone().next()));
            } else if fleet.is_open_throughout(chain) {
                let who = if chain.claimant() == SYSTEM { 0 } else { 2 - usize::from(fleet.has_closure(chain)) };
                counts.stopped[who] += 1;
            }
        }
    }
    counts
}

/// In both directions: nothing beyond what the model says, and nothing short of it.
#[test]
fn an_object_leads_as_far_as_its_source_reaches_and_no_further() {
    let counts = play(0..500);
    assert!(counts.chains[1..].iter().all(|count| *count > 500), "{counts:?}");
    assert!(counts.admitted > 1000 && counts.mixed > 100, "{counts:?}");
    assert!(counts.stopped.iter().all(|count| *count > 50), "{counts:?}");
}
