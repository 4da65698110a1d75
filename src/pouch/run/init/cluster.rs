//! `pouch init --context`: what a management cluster says of the configuration to start from.
//!
//! Regions, the release and labels of namespaces come from [`Asker`]; Credentials and what they need are read
//! as a render reads them, but that no Secret is read. A draft is read anew and examined until it lacks
//! nothing that a configuration can give. What that is, the core knows; nothing is written before.

use core::slice::from_ref;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use pouch_core::config::{Fleet, Globs, resolve, shape};
use pouch_core::init::examine::{Examined, examine};
use pouch_core::init::inventory::describe;
use pouch_core::init::release::{Interfaces, choose};
use pouch_core::init::setup::Setup;
use pouch_core::init::{Draft, DraftRegion, directories};
use pouch_core::name::{GroupKind, Namespace, ObjectKey, Region};
use pouch_core::report::escape;

use super::asker::{Asker, RIGHTS};
use super::names::{Names, check_fleet, file_flag, filled, hand_over, told_of_path};
use super::told::{report, report_inventories};
use crate::cluster::core_resource;
use crate::error::Failure;
use crate::run::keyfiles::{KeyFolder, KeyPair, MakeError, key_file};
use crate::session::Session;
use crate::survey::source::live::Values;
use crate::survey::{Looking, Reach, Surveyor, survey};

/// How often a draft is examined. Each time cures what the one before showed: labels, the identity, what
/// that refers to, and so on down a chain that a closure follows for 16 hops.
const ROUNDS: usize = 24;

/// Reads the cluster, writes the files, and makes what goes to standard output.
///
/// # Errors
/// Where the cluster cannot be read or is none to start from, or a file is there already: then nothing
/// is written; or where a file cannot be written.
pub(super) fn draft(session: &Session, names: &Names, reach: &Reach) -> Result<String, Failure> {
    let Session { global, ambient, .. } = session;
    check_fleet(names)?;
    let place = KeyFolder::new(&global.file, ambient);
    // Before anything is asked that would be of no use.
    place.check(std::iter::empty())?;
    let signer = names.signer(&place, ambient)?;
    let kubeconfig = reach.wanted.kubeconfig.as_deref().map(|path| written(path, &place)).transpose()?;
    let asker = Asker::connect(session, reach)?;
    if asker.cluster.context.chars().any(char::is_control) {
        return Err(Failure::usage(
            format!("the context's name has a control character in it: {}", escape(&asker.cluster.context)),
            "Rename it with `kubectl config rename-context`: the configuration has to name it.",
        ));
    }
    let system_namespace = Namespace::from(names.system_namespace.as_str());
    asker.find_namespace(&system_namespace)?;
    let known = asker.regions()?;
    let (inventories, unseen) = asker.inventories();
    let described = describe(&known, &inventories);
    if described.regions.is_empty() {
        return Err(Failure::usage(
            format!("cluster {} has no Regions, so there is nobody to make bundles for", asker.cluster.context),
            "Make a Region there first, or name regions with --region instead of --context.",
        ));
    }
    let directories = directories(described.regions.keys());
    let files: BTreeMap<&Region, String> =
        directories.iter().map(|(region, directory)| (region, key_file(directory.as_str()))).collect();
    let setup = names.setup(
        names.with,
        directories.iter().map(|(region, directory)| (region.as_str(), directory.as_str())),
        &place,
        signer,
    );
    let setup_files = names.files(from_ref(&setup))?;
    place.check(files.values().chain(setup_files.iter().map(|file| &file.path)))?;
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
            described: described.regions.get(region).cloned().unwrap_or_default(),
            push_disabled: names.push_disabled,
        };
        regions.insert(region.clone(), drafted);
        keys.push(key);
    }
    let mut draft = Draft {
        context: asker.cluster.context.to_string(),
        kubeconfig,
        plugin_environment: reach.wanted.plugin_environment.clone(),
        system_namespace,
        builtin: choose(release, interfaces),
        regions,
        grants: BTreeMap::new(),
    };
    let drafter = Drafter { setup: &setup, session, reach, asker: &asker };
    let examined = drafter.complete(&mut draft)?;
    let text = filled(&draft.blocks(), from_ref(&setup));
    // What is written has to be what was examined.
    fleet_of(&text)?;
    let mut out = place.write(ambient, &keys, &setup_files, &text)?;
    report(&mut out, &draft, &examined);
    report_inventories(&mut out, &draft, &described.left_out, &unseen);
    let first = if setup.repository.is_some() { "publish --first" } else { "render" };
    let flag = file_flag(&place.shown);
    let _ = write!(out, "\nNext, once the grants are as you want them:\n  pouch {first}{flag}\n\n");
    hand_over(&mut out, names.with, &place, &setup);
    out.push_str(&told_of_path(from_ref(&setup)));
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
    let typed = shape::read(text).map_err(|_| bug(()))?;
    resolve::resolve(&typed, &BTreeMap::new()).map_err(|_| bug(()))
}

/// What brings a draft to its end.
struct Drafter<'a> {
    setup: &'a Setup,
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
        let mut fleet = fleet_of(&filled(&draft.in_force().blocks(), from_ref(self.setup)))?;
        for region in fleet.regions.values_mut() {
            // Which namespaces have Credentials is what is to be found out.
            region.namespaces.allowed = Globs::everything();
        }
        let base = session.global.file.parent().unwrap_or(Path::new(""));
        let surveyor =
            Surveyor { looking: Looking::AtSources, ..Surveyor::new(session, &fleet, base, (&[], self.reach)) };
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
