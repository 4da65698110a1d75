//! Looks: regions' own clusters, read for what would be guessed without.
//!
//! What is read is what [`inquiry`] says and nothing else: the version, the UID of `kube-system`, ProviderInterfaces, which
//! kinds are served, and labels of the namespaces of claimants. Nothing is written. What was found is a document that a
//! source could have as well, so a run decides alike whichever of the two it has. A region that cannot be looked into
//! has a reason instead, and no other region waits for it or loses anything.
//!
//! Unlike a source a region is read once, and not looked at a second time. A source's objects are put together, so they
//! must have stood together. What is read here decides each by itself, and a change between two requests is the next
//! run's, like one a moment after the last request. Only that all answers come from one cluster must hold: its UID is
//! asked for first and last.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;
use std::sync::Mutex;

use pouch_core::claim::Claim;
use pouch_core::config::{Fleet, Look, RegionConfig, RegionState};
use pouch_core::finding::{Fault, Origin, Place};
use pouch_core::inquiry::{self, IDENTITY_NAMESPACE};
use pouch_core::inventory::document;
use pouch_core::inventory::looked::{Looked, SeenNamespaces, Served, is_uid};
use pouch_core::inventory::profile::Profile;
use pouch_core::inventory::providers::{self, ProviderFile, Way};
use pouch_core::k0rdent;
use pouch_core::listing::{beside_first, few};
use pouch_core::name::{Claimant, Name, Namespace, ObjectKey, Region};
use pouch_core::node::Node;
use pouch_core::snapshot::Reason;
use pouch_core::world::Facts;
use pouch_core::world::cluster::Tied;
use pouch_core::world::looks::Looks;

use super::shares::{AT_ONCE, Budget};
use crate::ambient::Ambient;
use crate::cluster::request::{Portion, Resource};
use crate::cluster::{Broken, Cluster, Got, ListError, Patience, Wanted};
use crate::error::{Failure, said};
use crate::session::Session;

/// The most bytes of a provider file.
const MOST_OF_FILE: u64 = 1 << 20;

/// How many namespaces a warning names.
const SHOWN: usize = 5;

/// What helps where a right is missing.
const GRANT: &str = "Grant it there: `pouch rbac --region NAME` prints the rights that looking takes.";

/// How a region's cluster is reached.
#[derive(Clone, PartialEq)]
pub enum Road {
    /// By a kubeconfig.
    Kubeconfig(Wanted),
    /// As its ClusterProfile says, with the credentials of a plugin.
    Plugin(Box<Way>),
}

/// A region that is to be looked into.
#[derive(PartialEq)]
pub struct Errand {
    /// The region.
    pub region: Region,
    /// How its cluster is reached, or why that is not known.
    pub road: Result<Road, Reason>,
    /// The namespaces whose labels are asked for.
    pub namespaces: BTreeSet<Namespace>,
    /// Whether all namespaces are listed, because templates may be for any.
    pub lists: bool,
}

/// What was found, and where; or why nobody could look.
pub type Found = Result<(Node, Origin), Reason>;

/// The provider files that were read so far, by path.
#[derive(Default)]
pub struct ProviderFiles(BTreeMap<String, Result<ProviderFile, Reason>>);

/// Errands that are done: a survey goes each at most once, however often its sources are read again.
#[derive(Default)]
pub struct Done(Vec<(Errand, Found)>);

/// The regions that could not be looked into in a run, each with the way that was tried, and why.
///
/// A publish that loses against another writer surveys anew, and does not try these again: one that hangs costs its time
/// once, and what the run said of it stays true to the end. What was seen of a region is never kept for a later survey:
/// it would be older than the sources beside it.
#[derive(Default)]
pub struct Unreached(Mutex<Vec<(Region, Road, Reason)>>);

impl Unreached {
    /// Why a region could not be looked into before, if it was tried in the same way.
    fn why(&self, errand: &Errand) -> Option<Reason> {
        let road = errand.road.as_ref().ok()?;
        let known = self.0.lock().ok()?;
        let found = known.iter().find(|(region, tried, _)| *region == errand.region && tried == road);
        found.map(|(.., reason)| reason.clone())
    }

    /// Notes a region that was tried; why no way to it is known hangs on the sources, and may differ the next time.
    fn note(&self, errand: &Errand, found: &Found) {
        if let (Ok(road), Err(reason), Ok(mut known)) = (&errand.road, found, self.0.lock()) {
            known.push((errand.region.clone(), road.clone(), reason.clone()));
        }
    }
}

impl Done {
    /// Does the errands that are not done yet, and gives what all of them found.
    ///
    /// # Errors
    /// Where the run should end.
    pub fn all<'d>(
        &'d mut self,
        (session, fleet): (&Session, &Fleet),
        (patience, unreached): (Patience, &Unreached),
        errands: Vec<Errand>,
    ) -> Result<Vec<(&'d Region, &'d Found)>, Failure> {
        let (known, new): (Vec<Errand>, Vec<Errand>) =
            errands.into_iter().partition(|errand| self.0.iter().any(|(done, _)| done == errand));
        self.0.retain(|(done, _)| known.contains(done));
        let (tried, new): (Vec<_>, Vec<_>) =
            new.into_iter().map(|errand| (unreached.why(&errand), errand)).partition(|(why, _)| why.is_some());
        for (errand, found) in look(session, fleet, patience, new.into_iter().map(|(_, errand)| errand).collect())? {
            unreached.note(&errand, &found);
            self.0.push((errand, found));
        }
        for (why, errand) in tried {
            session
                .ui
                .detail(&format!("region {} could not be looked into before, and is not tried again", errand.region));
            self.0.extend(why.map(|why| (errand, Err(why))));
        }
        self.0.sort_by(|a, b| a.0.region.cmp(&b.0.region));
        Ok(self.0.iter().map(|(errand, found)| (&errand.region, found)).collect())
    }
}

/// The regions to look into when bundles are made: those that are rendered, and of which the configuration says how.
pub fn regions(fleet: &Fleet) -> impl Iterator<Item = (&RegionConfig, &Look)> {
    compared(fleet).filter(|(region, _)| region.look().is_some())
}

/// The same, with those that are looked into only to be compared with their bundles.
pub fn compared(fleet: &Fleet) -> impl Iterator<Item = (&RegionConfig, &Look)> {
    let active = fleet.regions.values().filter(|region| region.state == RegionState::Active);
    active.filter_map(|region| Some((region, region.compared.as_ref()?)))
}

/// Looks where none may be had.
pub fn closed() -> Looks {
    Looks::closed(Reason::new(
        "no region is looked into with --config-from",
        "Nothing is run that a proposal could have changed. Keep what `pouch facts` prints in a source, or plan a checkout \
         that you trust without --config-from.",
    ))
}

/// The regions to look into, each with the namespaces of those who claim something there; where it is about one
/// claimant, only its own.
pub fn errands(
    session: &Session,
    (fleet, base): (&Fleet, &Path),
    facts: &Facts,
    only: Option<&Claimant>,
) -> Vec<Errand> {
    let mut claimants: BTreeMap<&Region, BTreeSet<Namespace>> = BTreeMap::new();
    // Whoever may not have anything there is not asked for.
    let is_allowed = |claim: &&Claim| {
        fleet
            .regions
            .get(claim.region())
            .is_some_and(|region| region.namespaces.allowed.matches(claim.by.namespace().as_str()))
    };
    let claims = facts.rendered(fleet).filter(is_allowed);
    for claim in claims.filter(|claim| only.is_none_or(|only| claim.by == *only)) {
        claimants.entry(claim.region()).or_default().insert(claim.by.namespace().clone());
    }
    // Whom a template selects hangs on the labels, so they are asked for of all that it may be for.
    let of_templates = |only: Option<&Claimant>| only.is_none_or(|only| only.template().is_some());
    for region in fleet.regions.values().filter(|_| of_templates(only)) {
        let asked = facts.asked_by_templates(region);
        let mut asked = asked.filter(|namespace| only.is_none_or(|only| only.namespace() == *namespace)).peekable();
        if asked.peek().is_some() {
            claimants.entry(&region.name).or_default().extend(asked.cloned());
        }
    }
    let mut files = ProviderFiles::default();
    let mut errands = Vec::new();
    for (region, look) in regions(fleet) {
        let namespaces = claimants.remove(&region.name);
        // Where it is about one claimant, the other regions decide nothing; a template may be for a namespace that only a
        // look names.
        let may_be_for =
            |only: &Claimant| only.template().is_some_and(|template| region.templates.matches(template.as_str()));
        if namespaces.is_none() && only.is_some_and(|only| !may_be_for(only)) {
            continue;
        }
        let road = road((&session.ambient, base), (region, look), Some(facts), &mut files);
        let lists = fleet.renders(region);
        errands.push(Errand { region: region.name.clone(), road, namespaces: namespaces.unwrap_or_default(), lists });
    }
    errands
}

/// Finds out how a region's cluster is reached.
///
/// # Errors
/// Where its ClusterProfile is not known, or it and the provider file do not say it together.
pub fn road(
    (ambient, base): (&Ambient, &Path),
    (region, look): (&RegionConfig, &Look),
    facts: Option<&Facts>,
    files: &mut ProviderFiles,
) -> Result<Road, Reason> {
    let file = match look {
        Look::Kubeconfig { kubeconfig, context, plugin_environment } => {
            let kubeconfig = kubeconfig.as_ref().map(|path| ambient.cwd().join(base).join(path));
            return Ok(Road::Kubeconfig(Wanted {
                kubeconfig,
                context: context.clone(),
                plugin_environment: plugin_environment.clone(),
                ..Wanted::default()
            }));
        }
        Look::Providers(file) => file,
    };
    let profile = profile(facts, &region.name)?;
    let shown = base.join(file);
    let read =
        files.0.entry(file.clone()).or_insert_with(|| provider_file(&ambient.cwd().join(base).join(file), &shown));
    let way = read.as_ref().map_err(Clone::clone)?.choose(profile);
    way.map(|way| Road::Plugin(Box::new(way))).map_err(|faults| reason("", &faults))
}

/// The ClusterProfile of a region.
fn profile<'f>(facts: Option<&'f Facts>, region: &Region) -> Result<&'f Profile, Reason> {
    let tied = facts.and_then(|facts| facts.clusters.get(region)).map(|cluster| &cluster.profile);
    match tied {
        Some(Tied::To(_, _, profile)) => Ok(profile),
        Some(Tied::Absent(why) | Tied::Unknown(why)) => {
            let help = "Correct `inventory.clusterProfile` of the region, or the source that should have it.";
            Err(Reason::new(why.as_str(), help))
        }
        Some(Tied::Untied) | None => {
            let help = "Tie the region to one with `inventory.clusterProfile`.";
            Err(Reason::new("the region has no ClusterProfile that would say where its cluster is", help))
        }
    }
}

fn provider_file(path: &Path, shown: &Path) -> Result<ProviderFile, Reason> {
    let shown = shown.display();
    let unread = |what: String| {
        let help = "Name a file of cluster-inventory-api with `cluster.providers`, relative to the configuration.";
        Reason::new(format!("the provider file {shown} cannot be read: {what}"), help)
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| unread(said(&error)))?;
    let read = file.take(MOST_OF_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| unread(said(&error)))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_OF_FILE {
        return Err(unread(format!("it is longer than {} KiB", MOST_OF_FILE >> 10)));
    }
    let text = String::from_utf8(bytes).map_err(|_| unread("it is not text".to_owned()))?;
    providers::read(&text).map_err(|faults| reason(&format!("the provider file {shown}: "), &faults))
}

/// The first of some faults, and how many more there are.
fn reason(before: &str, faults: &[Fault]) -> Reason {
    let Some(first) = faults.first() else { return Reason::new(format!("{before}it cannot be used"), "Correct it.") };
    let more = beside_first(faults.len());
    Reason::new(format!("{before}{}{more}", first.message), &*first.help)
}

/// Connects to a region's cluster.
///
/// # Errors
/// Where the kubeconfig or the plugin gives no way to it.
pub fn connect(session: &Session, region: &Region, road: &Road, patience: Patience) -> Result<Cluster, Failure> {
    let Session { ambient, stop, .. } = session;
    match road {
        Road::Kubeconfig(wanted) => Cluster::connect(wanted, patience, ambient, &stop.flag()),
        Road::Plugin(way) => Cluster::reach(way, region.as_str(), patience, ambient, &stop.flag()),
    }
}

/// What helps where a region's cluster cannot be reached: flags are for sources, and not for regions.
pub fn help_of(region: &Region, road: &Road, help: String) -> String {
    let is_of_flags = help.contains("--kubeconfig") || help.contains("--context");
    match road {
        Road::Kubeconfig(_) if is_of_flags => {
            format!("Correct `kubeconfig` or `context` of `regions.{region}.cluster`, or that kubeconfig.")
        }
        _ => help,
    }
}

/// The patience with one region: all of its requests together may take as long as one request of a source, so that a
/// cluster which hangs costs that once.
pub fn patience_of_one(patience: Patience) -> Patience {
    Patience { whole: patience.request, ..patience }
}

/// Does work for each of some things, a few at a time; each result stands where its thing stood.
pub fn each<T: Sync, R: Send>(things: &[T], work: &(dyn Fn(&T) -> R + Sync)) -> Vec<R> {
    let (waiting, done) = (Mutex::new(things.iter().enumerate()), Mutex::new(BTreeMap::new()));
    let turns = || {
        let next = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
        while let Some((index, thing)) = next() {
            let result = work(thing);
            if let Ok(mut done) = done.lock() {
                done.insert(index, result);
            }
        }
    };
    std::thread::scope(|scope| {
        // This thread works too: where the system gives no other, it does all of it.
        for _ in 1..things.len().min(AT_ONCE) {
            _ = std::thread::Builder::new().spawn_scoped(scope, turns);
        }
        turns();
    });
    done.into_inner().unwrap_or_default().into_values().collect()
}

fn look(
    session: &Session,
    fleet: &Fleet,
    patience: Patience,
    errands: Vec<Errand>,
) -> Result<Vec<(Errand, Found)>, Failure> {
    let ui = &session.ui;
    let progress = ui.progress("looking into regions", u64::try_from(errands.len()).unwrap_or_default());
    // Several are looked into at once.
    let memory = Budget::of(session, fleet).memory / AT_ONCE;
    let found = each(&errands, &|errand| {
        let found = one((session, fleet), patience_of_one(patience), memory, errand);
        progress.step();
        found
    });
    drop(progress);
    // A run that should end is no fault of a region.
    session.stop.check()?;
    let mut done = Vec::new();
    for (errand, Told { warnings, words, found }) in errands.into_iter().zip(found) {
        warnings.iter().for_each(|warning| ui.warn(&format!("region {}: {warning}", errand.region)));
        words.iter().for_each(|words| ui.detail(&format!("region {}: {words}", errand.region)));
        // Who needs what is unknown is told by findings; where nobody does, the region is away all the same.
        if let Err(Reason { why, help, .. }) = &found {
            ui.warn(&format!("region {} was not looked into: {why}. {help}", errand.region));
        }
        done.push((errand, found));
    }
    Ok(done)
}

/// What one look gave, and what is told of it when all are done.
struct Told {
    warnings: Vec<String>,
    words: Option<String>,
    found: Found,
}

fn one((session, fleet): (&Session, &Fleet), patience: Patience, memory: usize, errand: &Errand) -> Told {
    let mut told =
        Told { warnings: Vec::new(), words: None, found: Err(Reason::new("the run was ended", "Start pouch again.")) };
    if session.stop.is_asked() {
        return told;
    }
    let road = match &errand.road {
        Ok(road) => road,
        Err(reason) => return Told { found: Err(reason.clone()), ..told },
    };
    let cluster = match connect(session, &errand.region, road, patience) {
        Ok(cluster) => cluster,
        Err(failure) => {
            let help = help_of(&errand.region, road, failure.help);
            return Told { found: Err(Reason::new(failure.message, help)), ..told };
        }
    };
    cluster.set_room(memory);
    told.warnings.extend(cluster.warning());
    told.words = Some(format!("looked into cluster {} at {}", cluster.context, cluster.server));
    let found = seen(fleet, &cluster, errand);
    if let Ok((looked, _)) = &found
        && errand.lists
        && !looked.lists_namespaces
    {
        let refusal = cluster.refusal("list", &Resource::namespaces(), None, None);
        told.warnings
            .push(format!("{refusal}, so that templates are only for namespaces that somebody names. {GRANT}"));
    }
    if let Ok((_, withheld)) = &found
        && !withheld.is_empty()
    {
        let refusal = cluster.refusal("get", &Resource::namespaces(), None, None);
        let named = few(withheld, withheld.len(), SHOWN);
        told.warnings.push(format!("{refusal}, so that labels are unknown of {named}. {GRANT}"));
    }
    told.found = found.map(|(looked, _)| {
        let place = Place::Cluster { context: cluster.context.clone() };
        let origin = Origin { source: errand.region.as_str().into(), place };
        (document::write(&errand.region, &looked), origin)
    });
    told
}

/// Reads what is asked of a region's cluster; with it the namespaces that may not be read there.
fn seen(fleet: &Fleet, cluster: &Cluster, errand: &Errand) -> Result<(Looked, Vec<Name>), Reason> {
    let trouble = |what: &str, broken: &Broken| Reason::new(cluster.trouble(what, broken), broken.help());
    let uid = identity(cluster)?;
    let kubernetes = cluster.version().map_err(|broken| trouble("its version", &broken))?;
    let published = inquiry::published_there(fleet);
    let groups: BTreeSet<&str> = published.keys().map(|kind| kind.group.as_str()).chain([k0rdent::GROUP]).collect();
    let served = cluster.discover(groups).map_err(|broken| trouble("its API groups", &broken))?;
    if let Some((group, broken)) = served.unknown.first_key_value() {
        return Err(trouble(&format!("the API group {group}"), broken));
    }
    let kinds = published.into_iter().map(|(kind, scope)| {
        let found = served.kinds.get(&kind).map(|(resource, versions)| (resource.scope, versions.clone()));
        let (scope, versions) = found.unwrap_or((scope, Vec::new()));
        (kind, Served { scope, versions })
    });
    let interfaces = match served.resource(&document::interfaces()) {
        // Where the kind is not served, there is none.
        None => Vec::new(),
        Some(resource) => listed(cluster, &resource)?,
    };
    let mut looked = Looked {
        cluster: Some(uid),
        kubernetes: Some(kubernetes),
        namespaces: if errand.lists { listed_namespaces(cluster)? } else { None }.unwrap_or_default(),
        lists_namespaces: false,
        kinds: kinds.collect(),
        interfaces: Some(interfaces),
    };
    let resource = Resource::namespaces();
    looked.lists_namespaces = looked.is_whole_list();
    // Who filters the list may let them be read by name.
    let unlisted = errand.namespaces.iter().filter(|namespace| !looked.namespaces.contains_key(*namespace));
    let keys = unlisted.map(ObjectKey::namespace).collect();
    let got = cluster.get(&resource, keys, Portion::Metadata, &|| {});
    let mut withheld = Vec::new();
    for (key, got) in got.map_err(|broken| trouble("namespaces", &broken))? {
        // Who may not be looked at stays unknown alone.
        if matches!(got, Got::Forbidden) {
            withheld.push(key.name);
            continue;
        }
        let labels = found(cluster, &resource, &key, got)?.map(|node| labels(&node));
        looked.namespaces.insert(Namespace::new(key.name.shared()), labels);
    }
    if looked.cluster != Some(identity(cluster)?) {
        let message = format!("cluster {} is another one than a moment ago", cluster.context);
        return Err(Reason::new(message, "Check what is between pouch and the API server."));
    }
    Ok((looked, withheld))
}

/// Says so if a cluster is another one than that for which a bundle was made.
///
/// # Errors
/// Where the cluster does not say which one it is.
pub fn is_another(cluster: &Cluster, made_for: &str) -> Result<Option<String>, Reason> {
    let uid = identity(cluster)?;
    Ok((uid != *made_for).then(|| format!("this is cluster {uid}, and the bundle was made for cluster {made_for}")))
}

/// The UID of the cluster's `kube-system`.
///
/// # Errors
/// Where the cluster does not say it.
pub fn identity(cluster: &Cluster) -> Result<String, Reason> {
    let resource = Resource::namespaces();
    let keys = vec![ObjectKey::namespace(&Namespace::from(IDENTITY_NAMESPACE))];
    let got = cluster.get(&resource, keys, Portion::Metadata, &|| {});
    let got = got.map_err(|broken| Reason::new(cluster.trouble("namespaces", &broken), broken.help()))?;
    let mut uid = None;
    for (key, got) in got {
        let node = found(cluster, &resource, &key, got)?;
        uid = node.and_then(|node| node.str_at(&["metadata", "uid"]).filter(|uid| is_uid(uid)).map(str::to_owned));
    }
    uid.ok_or_else(|| {
        let message =
            format!("cluster {} has no namespace {IDENTITY_NAMESPACE}, by which it could be told", cluster.context);
        Reason::new(message, "Check that this is the API server of a cluster.")
    })
}

/// All ProviderInterfaces.
fn listed(cluster: &Cluster, resource: &Resource) -> Result<Vec<Node>, Reason> {
    let listing = cluster.list(resource, None, Portion::Whole, &|_| {}).map_err(|error| match error {
        ListError::Forbidden => refused(cluster.refusal("list", resource, None, None)),
        ListError::Broken(broken) => Reason::new(cluster.trouble(&resource.name(), &broken), broken.help()),
    })?;
    Ok(listing.items.into_iter().map(|(_, _, node)| node).collect())
}

/// All namespaces with their labels; none where they may not be listed.
fn listed_namespaces(cluster: &Cluster) -> Result<Option<SeenNamespaces>, Reason> {
    let resource = Resource::namespaces();
    match cluster.list(&resource, None, Portion::Metadata, &|_| {}) {
        Ok(listing) => {
            let labelled =
                |(key, _, node): (ObjectKey, _, Node)| (Namespace::new(key.name.shared()), Some(labels(&node)));
            Ok(Some(listing.items.into_iter().map(labelled).collect()))
        }
        Err(ListError::Forbidden) => Ok(None),
        Err(ListError::Broken(broken)) => Err(Reason::new(cluster.trouble("namespaces", &broken), broken.help())),
    }
}

/// The object that was asked for; none if it is absent.
fn found(cluster: &Cluster, resource: &Resource, key: &ObjectKey, got: Got) -> Result<Option<Node>, Reason> {
    match got {
        Got::Found(node, _) => Ok(Some(node)),
        Got::Absent => Ok(None),
        Got::Forbidden => {
            let name: Option<&Name> = Some(&key.name);
            Err(refused(cluster.refusal("get", resource, key.namespace.as_ref(), name)))
        }
        Got::Failed(broken) => Err(Reason::new(cluster.trouble(&resource.name(), &broken), broken.help())),
    }
}

fn refused(message: String) -> Reason {
    Reason::new(message, GRANT)
}

fn labels(namespace: &Node) -> BTreeMap<String, String> {
    let labels = namespace.at(&["metadata", "labels"]).map(Node::entries).unwrap_or_default();
    labels.iter().filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned()))).collect()
}
