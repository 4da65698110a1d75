//! Apply: brings a region what its bundle holds, and takes away what left the bundle.
//!
//! What is sent, and what may go, is the core's to decide. Here it is asked, sent and deleted in that order: Namespaces,
//! the inventory, ConfigMaps, Secrets, identities kind by kind, and last what left. What one object is refused concerns
//! that object alone; a killed run leaves nothing that the next one does not know.

mod read;
mod replace;
mod terms;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::deliver::beside::beside;
use pouch_core::deliver::inventory::Inventory;
use pouch_core::deliver::plan::{self, Answers, Goner, Let, Plan, Sending, plan};
use pouch_core::deliver::release::{Pointers, after, may_go};
use pouch_core::deliver::whose::{called, misplaced};
use pouch_core::deliver::{Bundle, Live, Meta, fields_named, is_alike};
use pouch_core::name::{GroupKind, ObjectKey};
use pouch_core::region::accounts::Whose;
use pouch_core::region::change::Action;

use self::read::Known;
pub use self::terms::{Applying, Outcome, kept};
pub use self::told::{record, told};
use crate::cluster::request::{Portion, Resource, Trial};
use crate::cluster::write::{Applied, Deleted, Outcomes, Refusal, Written};
use crate::cluster::{Broken, Cluster, Created, Got, core_resource};
use crate::error::Failure;
use crate::session::Session;

/// The deed that is done with an object, as [`Run::broken`] says it.
const WRITTEN: &str = "written to";
const DELETED: &str = "deleted on";

/// A run under way.
struct Run<'a> {
    subject: &'a Applying<'a>,
    cluster: &'a Cluster,
    session: &'a Session,
    bundle: &'a Bundle<'a>,
    known: Known,
    outcome: Outcome,
    /// Objects that the region took, each with its resourceVersion since.
    sent: BTreeMap<ObjectKey, String>,
    /// Objects that are not as the bundle says.
    failed: BTreeSet<ObjectKey>,
    /// Objects that were taken away.
    gone: BTreeSet<ObjectKey>,
    lets: Let<'a>,
    /// What was brought before this run.
    inventory: &'a Inventory,
    /// Whether the cluster names this bundle among those that were applied to it.
    is_named: bool,
    /// Those of whose objects too many would be made anew.
    holds: BTreeSet<Whose>,
}

/// Brings the region up to date.
///
/// # Errors
/// Where nothing was changed.
pub fn apply(subject: &Applying<'_>, cluster: &Cluster, session: &Session) -> Result<Outcome, Failure> {
    let bundle = Bundle::new(subject.unpacked).map_err(|error| Failure::bug(error.to_string()))?;
    read::hold_to_cluster(subject, cluster)?;
    let (inventory, over) = read::inventory(subject, cluster)?;
    // Where there is no inventory, nothing was applied that could be newer.
    if over.is_some() {
        (subject.follows)(inventory.revision.as_deref())?;
    }
    let named = read::bundles(subject, cluster)?;
    let questions = bundle.questions(&inventory);
    let mut outcome = Outcome { objects: bundle.objects(), ..Outcome::default() };
    let known = read::answers(cluster, session, questions, (&inventory, &bundle.manager), &mut outcome.troubles)?;
    if let (None, Some(why)) = (&over, misplaced(&bundle, &named, &known.live, subject.beginning)) {
        return Err(told::misplaced(&why, subject, cluster));
    }
    let answers = Answers {
        served: &known.versions,
        called: &known.called,
        undefined: &known.undefined,
        silent: &known.silent,
        live: &known.live,
    };
    let lets = Let { region: subject.region, budget: subject.budget, accepted: subject.accepted };
    let plan = plan(&bundle, &inventory, subject.revision, &answers, &lets);
    let mut run = Run {
        subject,
        cluster,
        session,
        bundle: &bundle,
        known,
        outcome,
        sent: BTreeMap::new(),
        failed: BTreeSet::new(),
        gone: BTreeSet::new(),
        lets,
        inventory: &inventory,
        is_named: named.contains(called(&bundle.manager)),
        holds: BTreeSet::new(),
    };
    run.outcome.unchanged = plan.same.len();
    run.outcome.findings.extend(told::lacking(&plan, &run.known.versions, subject.region));
    run.outcome.findings.extend(plan.held.as_ref().map(|held| held.finding.clone()));
    run.outcome.is_held = plan.held.is_some();
    run.outcome.notes.extend(plan.given_up.iter().map(|(key, why)| told::stays(key, *why)));
    run.outcome.notes.extend(told::unseen(&plan, &run.known.versions));
    run.failed.extend(plan.lacking.iter().chain(&plan.silent).map(|key| (*key).clone()));
    for key in &plan.same {
        run.outcome.findings.extend(run.known.beside.remove(*key).unwrap_or_default());
    }
    for (key, manager) in &plan.of_others {
        run.fail(key, told::of_another(key, manager));
    }
    if let Err(failure) = run.all(&plan, over.as_deref()) {
        run.outcome.ended_by = Some(failure);
    }
    let refused = run.outcome.troubles.iter().filter_map(|(key, _)| key.as_ref());
    let failed: BTreeSet<&ObjectKey> = run.failed.iter().chain(refused).collect();
    run.outcome.failed = failed.iter().filter(|key| !key.kind.is_namespace()).count();
    Ok(run.outcome)
}

impl<'a> Run<'a> {
    fn all(&mut self, plan: &Plan<'_>, over: Option<&str>) -> Result<(), Failure> {
        if !self.is_dry() {
            // From here on the run ends between two requests, and says what it did.
            self.session.stop.begin_publishing()?;
        }
        let over = self.noted(plan, over)?;
        let done = self.brought(plan);
        let is_told = done.is_ok() || self.session.stop.is_asked();
        let after = after(self.bundle, plan, &self.sent, &self.gone, &self.holds);
        if is_told && over.is_some() && after != plan.before && !self.is_dry() {
            read::keep(self.subject, self.cluster, &after, over.as_deref())?;
        }
        done
    }

    /// Sends what is to be sent, and takes away what left.
    fn brought(&mut self, plan: &Plan<'_>) -> Result<(), Failure> {
        for phase in &plan.send {
            self.phase(plan, phase)?;
        }
        self.withdraw(plan)
    }

    /// Ends the run where the user asked for it.
    fn go_on(&self) -> Result<(), Failure> {
        match self.session.stop.check() {
            Err(_) if self.session.stop.is_publishing() => {
                let message = "stopped: what was sent until then is applied, and the rest is as it was";
                Err(Failure::failed(message, "Run this again: it goes on."))
            }
            other => Ok(other?),
        }
    }

    /// Makes Namespaces, and writes down what is going to be sent; returns the inventory's resourceVersion.
    ///
    /// What cannot be written down is known before anything is made.
    fn noted(&mut self, plan: &Plan<'_>, over: Option<&str>) -> Result<Option<String>, Failure> {
        if over.is_some() {
            let kept = match plan.before == *self.inventory {
                true => over.map(str::to_owned),
                false => Some(read::keep(self.subject, self.cluster, &plan.before, over)?),
            };
            self.namespaces(plan)?;
            self.named()?;
            return Ok(kept);
        }
        let is_new = !(plan.before.objects.is_empty() && plan.goners.is_empty());
        let home = ObjectKey::namespace(self.subject.kept_in);
        if is_new
            && !read::rehearse(self.subject, self.cluster, &plan.before)?
            && !plan.make.iter().any(|sending| *sending.key == home)
        {
            return Err(read::nowhere(self.subject));
        }
        self.namespaces(plan)?;
        if !is_new || self.is_dry() {
            return Ok(None);
        }
        self.named()?;
        read::keep(self.subject, self.cluster, &plan.before, None).map(Some)
    }

    /// Sees to it that the cluster names the bundle, so that others are not applied to it by mistake.
    fn named(&self) -> Result<(), Failure> {
        if self.is_named || self.is_dry() {
            return Ok(());
        }
        read::settle(self.subject, self.cluster, self.bundle)
    }

    fn is_dry(&self) -> bool {
        self.subject.trial == Trial::Dry
    }

    /// Makes Namespaces, and keeps their labels up.
    fn namespaces(&mut self, plan: &Plan<'_>) -> Result<(), Failure> {
        let resource = Resource::namespaces();
        for sending in &plan.make {
            self.go_on()?;
            match self.cluster.create(&resource, sending.key, sending.text, self.subject.trial) {
                Ok(Created::Made) => self.outcome.changes.push((Action::Added, sending.key.clone())),
                // Somebody was faster, and it is his.
                Ok(Created::There) => {}
                Ok(Created::Forbidden | Created::NoNamespace) => {
                    let refusal = Refusal { status: 403, reason: "Forbidden".to_owned(), ..Refusal::default() };
                    self.refused(sending, &refusal);
                }
                Err(broken) => self.broken(sending.key, WRITTEN, &broken),
            }
        }
        let whole: Vec<&Sending<'_>> = plan.label.iter().collect();
        self.send(&whole, &|_| resource.clone())
    }

    /// Sends the objects of one kind.
    fn phase(&mut self, plan: &Plan<'_>, phase: &[Sending<'_>]) -> Result<(), Failure> {
        let Some(first) = phase.first() else { return Ok(()) };
        let Some(resource) = self.known.resource(&first.key.kind) else { return Ok(()) };
        let broken = plan::Broken::of(self.bundle, &self.failed);
        let mut ready = Vec::new();
        for sending in phase {
            if let Some(pointed) = sending.points_to(self.bundle, &broken) {
                let message = format!("{} waits for {pointed}, which it may point to and which failed", sending.key);
                self.fail(
                    sending.key,
                    Failure::failed(message, "It stays as it is; run this again once that is cured."),
                );
            } else if self.is_dry() && self.is_to_be_made(sending.key) {
                self.outcome.changes.push((Action::Added, sending.key.clone()));
            } else {
                ready.push(sending);
            }
        }
        let of = |sending: &Sending<'_>| Resource { version: sending.version.into(), ..resource.clone() };
        self.send(&ready, &of)?;
        self.replace(plan, &ready, &resource)
    }

    /// Whether an object's namespace would be made by a run that only looks.
    fn is_to_be_made(&self, key: &ObjectKey) -> bool {
        let Some(namespace) = &key.namespace else { return false };
        self.known.live.get(&ObjectKey::namespace(namespace)) == Some(&Live::Absent)
    }

    fn send(&mut self, ready: &[&Sending<'_>], resource: &dyn Fn(&Sending<'_>) -> Resource) -> Result<(), Failure> {
        self.go_on()?;
        if ready.is_empty() {
            return Ok(());
        }
        let live = if self.is_dry() { self.whole(ready, resource)? } else { BTreeMap::new() };
        let form = if self.is_dry() { Portion::Whole } else { Portion::Metadata };
        let applied: Vec<Applied<'_>> = ready
            .iter()
            .map(|sending| Applied {
                resource: resource(sending),
                key: sending.key,
                manager: &self.bundle.manager,
                text: sending.text,
            })
            .collect();
        let progress = self.session.ui.progress("applying", u64::try_from(ready.len()).unwrap_or_default());
        let seen = || progress.step();
        let (mut outcomes, broken) = self.cluster.apply(&applied, self.subject.trial, form, &seen);
        outcomes.sort_by_key(|(index, _)| *index);
        for (index, written) in outcomes {
            let Some(sending) = ready.get(index) else { continue };
            match written {
                Written::Done { is_new, answer } => {
                    let now = Meta::of(&answer);
                    let is_same = match (live.get(sending.key), self.known.live.get(sending.key)) {
                        (Some(was), _) => is_alike(was, &answer),
                        (None, Some(Live::Here(was))) => was.version == now.version,
                        _ => false,
                    };
                    if now.is_going {
                        self.going(sending.key);
                        continue;
                    }
                    self.sent.insert(sending.key.clone(), now.version);
                    self.outcome.findings.extend(beside(sending.key, &answer, &self.bundle.manager));
                    match (is_new, is_same) {
                        (true, _) => self.outcome.changes.push((Action::Added, sending.key.clone())),
                        (false, true) if sending.key.kind.is_namespace() => {}
                        (false, true) => self.outcome.unchanged += 1,
                        (false, false) => self.outcome.changes.push((Action::Changed, sending.key.clone())),
                    }
                }
                Written::Refused(refusal) => self.refused(sending, &refusal),
                Written::Failed(broken) => self.broken(sending.key, WRITTEN, &broken),
            }
        }
        self.ended(broken)
    }

    /// What is there of some objects, as a whole, for a run that only looks.
    fn whole(
        &self,
        ready: &[&Sending<'_>],
        resource: &dyn Fn(&Sending<'_>) -> Resource,
    ) -> Result<BTreeMap<ObjectKey, pouch_core::node::Node>, Failure> {
        let Some(first) = ready.first() else { return Ok(BTreeMap::new()) };
        let keys = ready.iter().map(|sending| sending.key.clone()).collect();
        let got = self.cluster.get(&resource(first), keys, Portion::Whole, &|| {});
        let got = got.map_err(|broken| self.unreachable(&broken))?;
        let found = got.into_iter().filter_map(|(key, got)| match got {
            Got::Found(node, _) => Some((key, node)),
            _ => None,
        });
        Ok(found.collect())
    }

    /// Takes away what left the bundle, first what points to others.
    fn withdraw(&mut self, plan: &Plan<'_>) -> Result<(), Failure> {
        let (others, pointing): (Vec<&Goner>, Vec<&Goner>) = plan.going().partition(|goner| goner.is_pointed_to());
        if others.is_empty() && pointing.is_empty() {
            return Ok(());
        }
        let mut stale: Vec<ObjectKey> = self.failed.iter().filter(|key| is_identity(&key.kind)).cloned().collect();
        stale.extend(plan.staying().cloned());
        let going = |goner: &&Goner| goner.meta.is_going && is_identity(&goner.key.kind);
        stale.extend(pointing.iter().copied().filter(going).map(|goner| goner.key.clone()));
        let mut pointers = Pointers::default();
        self.point(&mut pointers, stale)?;
        let left = self.take(plan, &pointing, &pointers)?;
        self.point(&mut pointers, left)?;
        self.take(plan, &others, &pointers)?;
        Ok(())
    }

    /// Reads what identities point to that are not as the bundle says.
    fn point(&self, pointers: &mut Pointers, keys: Vec<ObjectKey>) -> Result<(), Failure> {
        let mut kinds: BTreeMap<GroupKind, Vec<ObjectKey>> = BTreeMap::new();
        keys.into_iter().for_each(|key| kinds.entry(key.kind.clone()).or_default().push(key));
        for (kind, keys) in kinds {
            let Some(resource) = self.known.resource(&kind) else {
                // Of a kind that is not defined there is nothing; of one that is not served just now nobody knows.
                if !self.known.undefined.contains(&kind) {
                    pointers.anything();
                }
                continue;
            };
            let got = read::surely(self.cluster, &resource, keys, Portion::Whole, &|| {});
            for (key, got) in got.map_err(|broken| self.unreachable(&broken))? {
                match got {
                    Got::Found(node, _) => pointers.live(&key, &node),
                    Got::Absent => {}
                    Got::Forbidden | Got::Failed(_) => pointers.anything(),
                }
            }
        }
        Ok(())
    }

    /// Deletes what may go; returns the identities that are still there.
    fn take(&mut self, plan: &Plan<'_>, goners: &[&Goner], pointers: &Pointers) -> Result<Vec<ObjectKey>, Failure> {
        self.go_on()?;
        let mut left = Vec::new();
        let mut deleted: Vec<Deleted<'_>> = Vec::new();
        for goner in goners {
            if goner.meta.is_going {
                let waits = goner.meta.finalizers.join(", ");
                self.outcome.notes.push(format!("{} left the bundle, and waits for {waits} to let it go", goner.key));
            } else if !may_go(plan, goner, pointers, &self.failed) {
                self.outcome.findings.push(told::kept(&goner.key));
                left.push(goner.key.clone());
            } else if let Some(resource) = self.known.resource(&goner.key.kind) {
                let Meta { uid, version, .. } = &goner.meta;
                deleted.push(Deleted { resource, key: &goner.key, uid, version });
            }
        }
        if deleted.is_empty() {
            return Ok(left);
        }
        let (outcomes, broken): Outcomes = self.cluster.delete(&deleted, self.subject.trial, &|| {});
        let mut outcomes: Vec<_> = outcomes;
        outcomes.sort_by_key(|(index, _)| *index);
        for (index, written) in outcomes {
            let Some(Deleted { key, .. }) = deleted.get(index) else { continue };
            match written {
                Written::Done { answer, .. } => {
                    self.outcome.changes.push((Action::Withdrawn, (*key).clone()));
                    // A server answers with the object where finalizers keep it.
                    let Meta { is_going, finalizers, .. } = Meta::of(&answer);
                    if is_going && !finalizers.is_empty() {
                        let waits = finalizers.join(", ");
                        self.outcome.notes.push(format!("{key} waits for {waits} to let it go"));
                        left.push((*key).clone());
                    } else {
                        self.gone.insert((*key).clone());
                    }
                }
                // It stays in the inventory: the next run looks whether it is really gone.
                Written::Refused(Refusal { status: 404, .. }) => left.push((*key).clone()),
                Written::Refused(refusal) => {
                    left.push((*key).clone());
                    self.outcome.troubles.push((Some((*key).clone()), told::not_taken(key, &refusal)));
                }
                Written::Failed(broken) => {
                    left.push((*key).clone());
                    self.broken(key, DELETED, &broken);
                }
            }
        }
        self.ended(broken)?;
        Ok(left)
    }

    fn fail(&mut self, key: &ObjectKey, trouble: Failure) {
        self.failed.insert(key.clone());
        self.outcome.troubles.push((Some(key.clone()), trouble));
    }

    fn going(&mut self, key: &ObjectKey) {
        let message = format!("{key} is being deleted on the region");
        let help = "Find out who deletes it there, and which finalizers it waits for. Once it is gone, run this again.";
        self.fail(key, Failure::failed(message, help));
    }

    fn refused(&mut self, sending: &Sending<'_>, refusal: &Refusal) {
        let fields = fields_named(sending.text, &refusal.fields);
        if refusal.status == 422 && !is_identity(&sending.key.kind) {
            let is_type = fields.iter().any(|field| field == "type");
            self.known.unchangeable.insert(sending.key.clone(), is_type);
        }
        self.fail(sending.key, told::refused(sending.key, refusal, &fields));
    }

    /// Notes that the region did not do something with an object, or did not say that it did.
    fn broken(&mut self, key: &ObjectKey, what: &str, broken: &Broken) {
        let message = format!("{key} cannot be {what} the region: {}", broken.what());
        self.fail(key, Failure::unavailable(message, broken.help()));
    }

    /// Ends the run where the server or the user does.
    fn ended(&self, broken: Option<Broken>) -> Result<(), Failure> {
        self.go_on()?;
        broken.map_or(Ok(()), |broken| Err(self.unreachable(&broken)))
    }

    fn unreachable(&self, broken: &Broken) -> Failure {
        let message = format!(
            "cluster {} at {} cannot be asked any more: {}",
            self.cluster.context,
            self.cluster.server,
            broken.what()
        );
        Failure::unavailable(message, format!("{} Run this again: it goes on.", broken.help()))
    }
}

/// Whether objects of a kind point to others.
fn is_identity(kind: &GroupKind) -> bool {
    core_resource(kind).is_none()
}
