//! Objects that the API lets nobody change in place: Secrets of another type, and what somebody made immutable.
//!
//! They are deleted and made anew, if pouch brought them, no finalizer keeps them, and the region would make the new one:
//! it is asked to, under another name, before anything is deleted.

use pouch_core::deliver::on_trial;
use pouch_core::deliver::plan::{Plan, Sending, is_for_taking, replacing};
use pouch_core::deliver::{Live, Meta, fields_named};
use pouch_core::name::ObjectKey;
use pouch_core::region::change::Action;

use super::{DELETED, Run, WRITTEN, told};
use crate::cluster::Got;
use crate::cluster::request::{Portion, Resource, Trial};
use crate::cluster::write::{Applied, Deleted, Refusal, Written};
use crate::error::{Failure, Kind};

/// One that is to be made anew.
struct Anew<'s, 'u> {
    sending: &'s Sending<'u>,
    meta: Meta,
    /// What keeps it from being changed.
    why: &'static str,
}

impl Run<'_> {
    /// Makes anew what of these could not be changed.
    pub(super) fn replace(
        &mut self,
        plan: &Plan<'_>,
        ready: &[&Sending<'_>],
        resource: &Resource,
    ) -> Result<(), Failure> {
        let mut anew = Vec::new();
        for sending in ready.iter().copied() {
            let key = sending.key;
            let Some(why) = self.why(key, resource)? else { continue };
            let Some(Live::Here(meta)) = self.known.live.get(key).cloned() else { continue };
            self.outcome.troubles.retain(|(of, _)| of.as_ref() != Some(key));
            if !is_for_taking(self.bundle, self.inventory, key, &meta) {
                let message = format!("{key} {why} on the region, and pouch did not bring it there");
                let help = "Delete it there if nobody else needs it: the next run makes it anew.";
                self.fail(key, Failure::failed(message, help));
            } else if !meta.finalizers.is_empty() {
                let waits = meta.finalizers.join(", ");
                let message = format!("{key} {why} on the region, and {waits} keeps it from being made anew");
                let help = "Find out who set the finalizer, and remove it or the object there; it stays as it was until \
                            then.";
                self.fail(key, Failure::failed(message, help));
            } else {
                anew.push(Anew { sending, meta, why });
            }
        }
        let all: Vec<(&ObjectKey, &Meta)> = anew.iter().map(|one| (one.sending.key, &one.meta)).collect();
        if let Some((held, whose)) = replacing(plan, self.bundle, self.inventory, &self.lets, &all) {
            self.outcome.findings.push(held.finding);
            self.outcome.is_held = true;
            self.holds.extend(whose);
            return Ok(());
        }
        anew.iter().try_for_each(|one| self.anew(one, resource))
    }

    /// What keeps an object from being changed in place, if that is why it was refused.
    fn why(&self, key: &ObjectKey, resource: &Resource) -> Result<Option<&'static str>, Failure> {
        match self.known.unchangeable.get(key) {
            None => Ok(None),
            Some(true) => Ok(Some("has another type")),
            Some(false) => {
                let got = self.cluster.get(resource, vec![key.clone()], Portion::Whole, &|| {});
                let got = got.map_err(|broken| self.unreachable(&broken))?;
                let is_immutable = got.iter().any(|(_, got)| match got {
                    Got::Found(node, _) => {
                        node.get("immutable").and_then(pouch_core::node::Node::as_bool) == Some(true)
                    }
                    _ => false,
                });
                Ok(is_immutable.then_some("is immutable"))
            }
        }
    }

    /// Deletes one and makes it anew, if the region would make it.
    fn anew(&mut self, one: &Anew<'_, '_>, resource: &Resource) -> Result<(), Failure> {
        self.go_on()?;
        let Anew { sending, meta, why } = one;
        let key = sending.key;
        match self.rehearsed(sending, resource)? {
            Written::Done { .. } => {}
            Written::Refused(refusal) => {
                let fields = fields_named(sending.text, &refusal.fields);
                let told = told::refused(key, &refusal, &fields);
                let message = format!("{}; it {why} there, and stays as it was", told.message);
                self.fail(key, Failure::failed(message, told.help));
                return Ok(());
            }
            Written::Failed(broken) => {
                self.broken(key, WRITTEN, &broken);
                return Ok(());
            }
        }
        if self.is_dry() {
            self.failed.remove(key);
            self.outcome.changes.push((Action::Changed, key.clone()));
            return Ok(());
        }
        let goner = Deleted { resource: resource.clone(), key, uid: &meta.uid, version: &meta.version };
        let (outcomes, broken) = self.cluster.delete(&[goner], Trial::Real, &|| {});
        if outcomes.is_empty() {
            return self.ended(broken);
        }
        match outcomes.into_iter().next() {
            Some((_, Written::Done { .. } | Written::Refused(Refusal { status: 404, .. }))) => {
                self.failed.remove(key);
                let _ = self.known.live.insert(key.clone(), Live::Absent);
                let before = self.outcome.troubles.len();
                let sent = self.send(&[*sending], &|_| resource.clone());
                if !self.sent.contains_key(key) {
                    self.lost(key, before);
                }
                // It was there before.
                let made = |(action, of): &&mut (Action, ObjectKey)| *action == Action::Added && of == key;
                if let Some((action, _)) = self.outcome.changes.iter_mut().rev().find(made) {
                    *action = Action::Changed;
                }
                sent
            }
            Some((_, Written::Refused(refusal))) => {
                self.refused(sending, &refusal);
                Ok(())
            }
            Some((_, Written::Failed(broken))) => {
                self.broken(key, DELETED, &broken);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Asks the region whether it would make an object, by one of another name that is not really made.
    fn rehearsed(&self, sending: &Sending<'_>, resource: &Resource) -> Result<Written, Failure> {
        let Some((key, text)) = on_trial(sending.key, sending.text) else {
            return Err(Failure::bug(format!("{} cannot be read back", sending.key)));
        };
        let manager = &self.bundle.manager;
        let trial = Applied { resource: resource.clone(), key: &key, manager, text: &text };
        let (outcomes, broken) = self.cluster.apply(&[trial], Trial::Dry, Portion::Metadata, &|| {});
        match outcomes.into_iter().next() {
            Some((_, written)) => Ok(written),
            None => {
                self.ended(broken)?;
                Err(Failure::bug("a request has no outcome"))
            }
        }
    }

    /// Says of an object that was deleted, and is not there anew, that it is gone.
    fn lost(&mut self, key: &ObjectKey, before: usize) {
        let told = self.outcome.troubles.get(before).filter(|(of, _)| of.as_ref() == Some(key));
        let refusal = told.map(|(_, trouble)| trouble.clone()).filter(|trouble| trouble.kind == Kind::Failed);
        self.outcome.troubles.truncate(before);
        let help = "Whoever needs it fails until then. Cure that and run this again: the bundle still has it.";
        let failure = match refusal {
            Some(refusal) => {
                self.outcome.changes.push((Action::Withdrawn, key.clone()));
                let message = format!("{key} is gone: it was deleted to be made anew. {}", refusal.message);
                Failure::failed(message, help)
            }
            None => {
                let message = format!("{key} may be gone: it was deleted to be made anew, and the region fell silent");
                Failure::unavailable(message, help)
            }
        };
        self.fail(key, failure);
    }
}
