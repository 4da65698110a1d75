//! `pouch init --context`: what a management cluster says of the configuration to start from.
//!
//! Regions, the release and labels of namespaces are asked here; Credentials and what they need are read
//! as a render reads them, but that no Secret is read. A draft is read anew and examined until it lacks
//! nothing that a configuration can give. What that is, the core knows; nothing is written before.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use pouch_core::config::{Fleet, Globs, resolve, shape};
use pouch_core::init::examine::{Examined, examine};
use pouch_core::init::release::{Interfaces, Numbers, choose};
use pouch_core::init::{Draft, DraftRegion, Sure, directories};
use pouch_core::name::{GroupKind, Namespace, ObjectKey, Region, is_dns_subdomain};
use pouch_core::node::Node;
use pouch_core::report::escape;
use pouch_core::{inquiry, k0rdent};

use super::args::Args;
use super::names::{check_fleet, file_flag, filled, hand_over};
use crate::ambient::Ambient;
use crate::cluster::request::{Portion, Resource};
use crate::cluster::{Broken, Cluster, Got, ListError, Listing, Served, core_resource};
use crate::error::Failure;
use crate::run::keyfiles::{KeyFolder, KeyPair, MakeError, key_file};
use crate::session::Session;
use crate::stop::Stop;
use crate::survey::source::live::Values;
use crate::survey::{Reach, Surveyor, survey};

/// How often a draft is examined. Each time cures what the one before showed: labels, the identity, what
/// that refers to, and so on down a chain that a closure follows for 16 hops.
const ROUNDS: usize = 24;

/// The one Management that k0rdent knows.
const MANAGEMENT: &str = "kcm";

/// What to do about a right that is missing.
const RIGHTS: &str = "Nothing is written unless everything can be read. Grant this user the right, or act as another \
                      user with --as. Secrets are not read.";

/// Reads the cluster, writes the files, and makes what goes to standard output.
///
/// # Errors
/// Where the cluster cannot be read or is none to start from, or a file is there already: then nothing
/// is written; or where a file cannot be written.
pub(super) fn draft(session: &Session, args: &Args) -> Result<String, Failure> {
    let Session { global, ambient, stop, .. } = session;
    check_fleet(args)?;
    let place = KeyFolder::new(&global.file, ambient);
    // Before anything is asked that would be of no use.
    place.check(&[])?;
    let reach = args.reach.reach(ambient);
    let kubeconfig = reach.wanted.kubeconfig.as_deref().map(|path| written(path, &place)).transpose()?;
    let asker = Asker::connect(&reach, ambient, stop)?;
    if asker.cluster.context.chars().any(char::is_control) {
        return Err(Failure::usage(
            format!("the context's name has a control character in it: {}", escape(&asker.cluster.context)),
            "Rename it with `kubectl config rename-context`: the configuration has to name it.",
        ));
    }
    let system_namespace = Namespace::from(args.system_namespace.as_str());
    asker.find_namespace(&system_namespace)?;
    let names = asker.regions()?;
    let directories = directories(names.iter());
    let files: BTreeMap<&Region, String> =
        directories.iter().map(|(region, directory)| (region, key_file(directory.as_str()))).collect();
    place.check(&files.values().cloned().collect::<Vec<_>>())?;
    let release = asker.release()?;
    let interfaces = if release.is_none() { asker.interfaces()? } else { Interfaces::None };
    let mut keys = Vec::new();
    let mut regions = BTreeMap::new();
    for (region, directory) in &directories {
        let Some(file) = files.get(region) else { continue };
        let key = KeyPair::generate(file.clone()).map_err(MakeError::from)?;
        let drafted = DraftRegion {
            directory: directory.clone(),
            recipient: key.recipient.clone(),
            key_file: file.clone(),
            claimants: BTreeMap::new(),
            labels: BTreeMap::new(),
        };
        regions.insert(region.clone(), drafted);
        keys.push(key);
    }
    let mut draft = Draft {
        context: asker.cluster.context.to_string(),
        kubeconfig,
        system_namespace,
        builtin: choose(release, interfaces),
        regions,
        grants: BTreeMap::new(),
    };
    let drafter = Drafter { args, session, reach: &reach, asker: &asker };
    let examined = drafter.complete(&mut draft)?;
    let text = filled(&args.fleet, &draft.blocks());
    // What is written has to be what was examined.
    fleet_of(&text)?;
    let mut out = place.write(ambient, &keys, &text)?;
    report(&mut out, &draft, &examined);
    let _ = write!(out, "\nNext, once the grants are as you want them:\n  pouch render{}\n\n", file_flag(&place.shown));
    hand_over(&mut out, &place, files.iter().map(|(region, file)| (region.as_str(), file.clone())));
    Ok(out)
}

/// A path as the configuration writes it: from its folder, where it is below that.
fn written(path: &Path, place: &KeyFolder) -> Result<String, Failure> {
    let below = path.strip_prefix(&place.base).unwrap_or(path);
    match below.to_str() {
        Some(text) if !text.chars().any(char::is_control) => Ok(text.to_owned()),
        _ => Err(Failure::usage(
            "the path of the kubeconfig cannot be written into a configuration",
            "Give it another name, or let KUBECONFIG name it.",
        )),
    }
}

/// A text that pouch wrote itself, as a configuration.
fn fleet_of(text: &str) -> Result<Fleet, Failure> {
    let bug = |_| Failure::bug("the configuration that was drafted cannot be read");
    let (file, _) = shape::read(text).map_err(|_| bug(()))?;
    resolve::resolve(&file, &BTreeMap::new()).map_err(|_| bug(()))
}

/// What brings a draft to its end.
struct Drafter<'a> {
    args: &'a Args,
    session: &'a Session,
    reach: &'a Reach,
    asker: &'a Asker,
}

impl Drafter<'_> {
    /// Examines the draft and adds what it lacks, until that is nothing; then removes what does not help.
    fn complete(&self, draft: &mut Draft) -> Result<Examined, Failure> {
        let quiet = self.session.quiet();
        let mut absent: BTreeSet<ObjectKey> = BTreeSet::new();
        let mut labels: BTreeMap<Namespace, BTreeMap<String, String>> = BTreeMap::new();
        let mut round = 0;
        loop {
            let session = if round == 0 { self.session } else { &quiet };
            let examined = self.look(session, draft, &absent)?;
            for (name, region) in &mut draft.regions {
                region.claimants = examined.claimants.get(name).cloned().unwrap_or_default();
            }
            round += 1;
            let settled =
                examined.selected.is_empty() && examined.lacking.is_empty() && examined.elsewhere.is_subset(&absent);
            if settled || round >= ROUNDS {
                return self.finish(&quiet, draft, examined, &absent);
            }
            self.learn_labels(draft, &examined, &mut labels)?;
            // Who is admitted by a label needs no grant: that shows in the next round.
            if examined.selected.is_empty() && examined.elsewhere.is_subset(&absent) {
                draft.grants.extend(examined.lacking);
            }
            absent.extend(examined.elsewhere);
        }
    }

    /// Removes grants that help nobody. What one Credential no longer gets may be what stopped another, so
    /// who is stopped is seen after that, and why before.
    fn finish(
        &self,
        session: &Session,
        draft: &mut Draft,
        mut examined: Examined,
        absent: &BTreeSet<ObjectKey>,
    ) -> Result<Examined, Failure> {
        let before = draft.grants.len();
        draft.prune(&examined);
        if draft.grants.len() < before {
            let mut last = self.look(session, draft, absent)?;
            for (credential, finding) in &mut last.stopped {
                if let Some(first) = examined.stopped.remove(credential) {
                    *finding = first;
                }
            }
            return Ok(last);
        }
        Ok(examined)
    }

    fn look(&self, session: &Session, draft: &Draft, absent: &BTreeSet<ObjectKey>) -> Result<Examined, Failure> {
        let mut fleet = fleet_of(&filled(&self.args.fleet, &draft.in_force().blocks()))?;
        for region in fleet.regions.values_mut() {
            // Which namespaces have Credentials is what is to be found out.
            region.allowed = Globs::everything();
        }
        let base = session.global.file.parent().unwrap_or(Path::new(""));
        let surveyor = Surveyor { session, fleet: &fleet, base, outputs: &[], reach: self.reach };
        let survey = survey(&surveyor, Values::Presume { absent: Arc::new(absent.clone()) });
        // There is no configuration yet that could be asked for rights.
        let survey = survey.map_err(|failure| match failure.help.contains("`pouch rbac`") {
            true => Failure { help: RIGHTS.to_owned(), ..failure },
            false => failure,
        })?;
        let examined = examine(&fleet, &survey.snapshot);
        if examined.unread.is_empty() {
            return Ok(examined);
        }
        self.asker.check_groups(&fleet)?;
        let served: BTreeSet<&GroupKind> =
            survey.asked.values().flat_map(|(_, kinds)| kinds).map(|it| &it.kind).collect();
        // A kind that is not served has no objects; whatever else was not told is trouble.
        let is_trouble = |key: &&ObjectKey| core_resource(&key.kind).is_some() || served.contains(&key.kind);
        let mut troubles = examined.unread.iter().filter(|(key, _)| is_trouble(key)).map(|(_, finding)| finding);
        let Some(first) = troubles.next() else { return Ok(examined) };
        let more = match troubles.count() {
            0 => String::new(),
            count => format!(" (and {count} more such)"),
        };
        Err(Failure::unavailable(format!("{}{more}", first.message), RIGHTS))
    }

    /// Adds the labels that identities select by, of the namespaces that need them.
    fn learn_labels(
        &self,
        draft: &mut Draft,
        examined: &Examined,
        known: &mut BTreeMap<Namespace, BTreeMap<String, String>>,
    ) -> Result<(), Failure> {
        for (name, namespaces) in &examined.selected {
            let Some(region) = draft.regions.get_mut(name) else { continue };
            for (namespace, keys) in namespaces {
                if !known.contains_key(namespace) {
                    known.insert(namespace.clone(), self.asker.labels(namespace)?);
                }
                let all = known.get(namespace).into_iter().flatten();
                let used = all.filter(|(key, _)| keys.contains(*key)).map(|(key, value)| (key.clone(), value.clone()));
                region.labels.insert(namespace.clone(), used.collect());
            }
        }
        Ok(())
    }
}

/// What is worth knowing of what was written.
fn report(out: &mut String, draft: &Draft, examined: &Examined) {
    out.push('\n');
    for (name, region) in draft.regions.iter().filter(|(name, region)| region.directory != *name.as_str()) {
        let _ = writeln!(out, "Region {name} cannot name a folder; it gets {}", region.directory);
    }
    let _ = writeln!(out, "providerInterfaces: {}. {}", draft.builtin.builtin, escape(&draft.builtin.why));
    for region in draft.regions.iter().filter(|(_, region)| region.claimants.is_empty()).map(|(name, _)| name) {
        let _ = writeln!(out, "Region {region} has no Credentials today: no namespace is allowed there");
    }
    report_grants(out, draft);
    out.push_str("No Secret was read: whether one is missing or malformed, `pouch render` says\n");
    if !examined.stopped.is_empty() {
        out.push_str("\nNot published, which no grant cures:\n");
    }
    for (credential, finding) in &examined.stopped {
        let region = finding.region.as_ref().map(|region| format!(" in {region}")).unwrap_or_default();
        let line = format!("  {}{region}: {}: {}", credential.path(), finding.code.text(), finding.message);
        let _ = writeln!(out, "{}", escape(&line));
    }
}

/// Every grant, one line each: those that came into force without anybody having asked for them above all.
fn report_grants(out: &mut String, draft: &Draft) {
    let kinds = [
        ("Grants in force, since k0rdent makes these uses today; read each of them", Sure::Certain),
        (
            "Grants not in force (#@), since k0rdent does not say that the Credential is ready; it is refused without",
            Sure::NotReady,
        ),
        (
            "Grants not in force (#@), since k0rdent does not read the object; the Credential is refused without",
            Sure::NotRead,
        ),
        ("Grants not in force (#@), needed if the Secret is there", Sure::IfThere),
        ("Grants not in force (#@), which only credential propagation needs", Sure::Propagation),
    ];
    if draft.grants.is_empty() {
        out.push_str("Today's Credentials need no grants\n");
    }
    for (what, sure) in kinds {
        let mut grants = draft.grants.iter().filter(|(_, need)| need.sure == sure).map(|(grant, _)| grant).peekable();
        if grants.peek().is_some() {
            let _ = writeln!(out, "{what}:");
        }
        for grant in grants {
            let _ = writeln!(out, "  - {}", escape(&grant.to_string()));
        }
    }
}

/// The cluster, asked for what is not part of a survey.
struct Asker {
    cluster: Cluster,
    served: Served,
}

impl Asker {
    fn connect(reach: &Reach, ambient: &Ambient, stop: &Stop) -> Result<Self, Failure> {
        let cluster = Cluster::connect(&reach.wanted, reach.patience, ambient, &stop.flag())?;
        let served = cluster.discover([k0rdent::GROUP]);
        let served = served.map_err(|broken| unavailable(&cluster, "its API groups", &broken))?;
        if let Some(broken) = served.unknown.values().next() {
            return Err(unavailable(&cluster, "k0rdent's API group", broken));
        }
        Ok(Self { cluster, served })
    }

    /// Looks whether the groups of identities can be asked: of one in trouble nobody knows what it serves.
    fn check_groups(&self, fleet: &Fleet) -> Result<(), Failure> {
        let served = self.cluster.discover(inquiry::groups(fleet));
        let served = served.map_err(|broken| unavailable(&self.cluster, "its API groups", &broken))?;
        match served.unknown.iter().next() {
            Some((group, broken)) => Err(unavailable(&self.cluster, &format!("the API group {group}"), broken)),
            None => Ok(()),
        }
    }

    fn resource(&self, kind: &str) -> Option<&Resource> {
        self.served.kinds.get(&GroupKind::new(k0rdent::GROUP, kind)).map(|(resource, _)| resource)
    }

    /// Lists a kind of k0rdent's; none where it is not served.
    fn list(&self, kind: &str) -> Result<Option<Listing>, Failure> {
        let Some(resource) = self.resource(kind) else { return Ok(None) };
        match self.cluster.list(resource, None, Portion::Whole, &|_| {}) {
            Ok(listing) => Ok(Some(listing)),
            Err(ListError::Forbidden) => Err(self.refused("list", resource, None)),
            Err(ListError::Broken(broken)) => Err(unavailable(&self.cluster, &resource.name(), &broken)),
        }
    }

    fn get(&self, resource: &Resource, key: &ObjectKey, form: Portion) -> Result<Got, Failure> {
        let got = self.cluster.get(resource, vec![key.clone()], form, &|| {});
        let mut got = got.map_err(|broken| unavailable(&self.cluster, &resource.name(), &broken))?;
        match got.pop() {
            Some((_, Got::Failed(broken))) => Err(unavailable(&self.cluster, &resource.name(), &broken)),
            Some((_, got)) => Ok(got),
            None => Err(Failure::bug("nothing came of asking for an object")),
        }
    }

    fn find_namespace(&self, name: &Namespace) -> Result<(), Failure> {
        match self.namespace(name)? {
            Got::Absent => Err(Failure::usage(
                format!("cluster {} has no namespace {name}", self.cluster.context),
                "Check that this is k0rdent's management cluster. If k0rdent runs in another namespace there, name it \
                 with --system-namespace NAME.",
            )),
            _ => Ok(()),
        }
    }

    fn namespace(&self, name: &Namespace) -> Result<Got, Failure> {
        let key = ObjectKey::namespace(name);
        let Some(resource) = core_resource(&key.kind) else { return Err(Failure::bug("Namespaces are not known")) };
        match self.get(&resource, &key, Portion::Metadata)? {
            Got::Forbidden => Err(self.refused("get", &resource, Some(&key))),
            got => Ok(got),
        }
    }

    /// A namespace's labels; none where it is not there.
    fn labels(&self, name: &Namespace) -> Result<BTreeMap<String, String>, Failure> {
        let Got::Found(node, _) = self.namespace(name)? else { return Ok(BTreeMap::new()) };
        let entries = node.at(&["metadata", "labels"]).map(Node::entries).unwrap_or_default();
        let text = |(key, value): &(pouch_core::node::Key, Node)| Some((key.to_string(), value.as_str()?.to_owned()));
        Ok(entries.iter().filter_map(text).collect())
    }

    fn regions(&self) -> Result<Vec<Region>, Failure> {
        let context = &self.cluster.context;
        let Some(listing) = self.list("Region")? else {
            return Err(Failure::unavailable(
                format!("cluster {context} serves no Region.{}", k0rdent::GROUP),
                "Check that the context is that of k0rdent's management cluster, and that k0rdent is 1.4 or newer.",
            ));
        };
        if listing.is_empty() {
            return Err(Failure::usage(
                format!("cluster {context} has no Regions, so there is nobody to make bundles for"),
                "Make a Region there first, or name regions with --region instead of --context.",
            ));
        }
        let names: Vec<Region> = listing.into_iter().map(|(key, _, _)| Region::new(key.name.shared())).collect();
        match names.iter().find(|name| !is_dns_subdomain(name.as_str())) {
            Some(name) => Err(Failure::unavailable(
                format!("cluster {context} has a Region that no configuration can name: {name}"),
                "Kubernetes takes no such name; find out what is between pouch and the API server.",
            )),
            None => Ok(names),
        }
    }

    /// The release that runs. None only where there is no Management, or it names none that tells.
    ///
    /// # Errors
    /// Where the Management or its Release may be there and cannot be read.
    fn release(&self) -> Result<Option<Numbers>, Failure> {
        let Some(management) = self.object("Management", MANAGEMENT)? else { return Ok(None) };
        let Some(name) = management.str_at(&["spec", "release"]).filter(|name| is_dns_subdomain(name)) else {
            return Ok(None);
        };
        let release = self.object("Release", name)?;
        let told = release.as_ref().and_then(|release| release.str_at(&["spec", "version"]));
        Ok(told.and_then(Numbers::of_version).or_else(|| Numbers::of_name(name)))
    }

    /// A cluster-scoped object of k0rdent's; none where its kind is not served, or the server says that
    /// there is none.
    fn object(&self, kind: &str, name: &str) -> Result<Option<Node>, Failure> {
        let Some(resource) = self.resource(kind) else { return Ok(None) };
        let key = ObjectKey::new(GroupKind::new(k0rdent::GROUP, kind), None, name.into());
        match self.get(resource, &key, Portion::Whole)? {
            Got::Found(node, _) => Ok(Some(node)),
            Got::Absent => Ok(None),
            Got::Forbidden => Err(self.refused("get", resource, Some(&key))),
            Got::Failed(broken) => Err(unavailable(&self.cluster, &resource.name(), &broken)),
        }
    }

    fn interfaces(&self) -> Result<Interfaces, Failure> {
        let listing = self.list("ProviderInterface")?;
        Ok(if listing.is_some_and(|listing| !listing.is_empty()) { Interfaces::Some } else { Interfaces::None })
    }

    fn refused(&self, verb: &str, resource: &Resource, key: Option<&ObjectKey>) -> Failure {
        let place = key.and_then(|key| key.namespace.as_ref());
        Failure::unavailable(self.cluster.refusal(verb, resource, place, key.map(|key| &key.name)), RIGHTS)
    }
}

fn unavailable(cluster: &Cluster, what: &str, broken: &Broken) -> Failure {
    Failure::unavailable(cluster.trouble(what, broken), broken.help())
}
