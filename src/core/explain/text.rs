//! An explanation as people read it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::guests;
use super::record::{
    BundledRecord, ClaimRecord, DefinitionRecord, Explanation, FactRecord, Fate, Read, RegionRecord, RuleRecord,
    RuleSourceRecord, State, StepRecord, TemplateRecord, Why,
};
use crate::admission::Rule;
use crate::closure::Role;
use crate::finding::Severity;
use crate::judge::case::Verdict;
use crate::listing::{all, counted};
use crate::name::Claimant;
use crate::recipient::shown;
use crate::region::change::Action;
use crate::report::document::{Document, Text, Tone};
use crate::report::names::object as named;
use crate::report::summary::{FindingRecord, Outcome, SilencedRecord};
use crate::report::text::{Links, head, mark};
use crate::selector::Truth;

/// How a verdict is told in few words.
fn verdict(claim: &ClaimRecord, others: &[BundledRecord]) -> &'static str {
    // Who never had anything loses and keeps nothing.
    let has = claim.steps.iter().any(|step| step.state.is_some_and(|state| state != State::Changes(Action::Added)))
        || !claim.kept.is_empty()
        || !claim.withdrawn.is_empty()
        || !claim.published.is_empty()
        || others.iter().any(|object| object.credentials.contains(&claim.credential));
    // Where others were not asked, nobody knows who else needs it.
    let is_open = !claim.published.is_empty() || claim.steps.iter().any(|step| step.state == Some(State::Published));
    match claim.verdict {
        Fate::Judged(Verdict::Refused) if is_open => "refused: what it had may be withdrawn",
        Fate::Judged(Verdict::Refused) if has => "refused: what it had is withdrawn",
        Fate::Judged(Verdict::Broken) if has => "broken: what it had stays",
        Fate::Judged(Verdict::Refused) => "refused: nothing is published for it",
        Fate::Judged(Verdict::Broken) => "broken: nothing is published for it",
        Fate::Paused => "the region is paused, and what is published stays",
        Fate::Unpublished if claim.region.is_none() => {
            "not published: spec.region is not set, so it is for the management cluster, which is none of the configured \
             regions (`management: true` makes one of them that)"
        }
        Fate::Unpublished => "not published",
        Fate::Judged(Verdict::Admitted) => claim.verdict.word(),
    }
}

/// What becomes of a region, in a few words.
fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Unchanged => "up to date",
        Outcome::Published => "the next publish changes it",
        Outcome::Held => "held: what is published stays as it is",
        Outcome::Paused => "paused: what is published stays",
        Outcome::Withdrawn => "the next publish withdraws it",
    }
}

/// The text of an explanation. `brief` tells each Credential in one line.
pub fn text(explanation: &Explanation, brief: bool) -> Document {
    let mut out = Out(Document::default(), &explanation.recipient_names);
    let Explanation { regions, claims, objects, .. } = explanation;
    if let Some(rule) = &explanation.rule {
        out.rule(rule);
        // What is wrong with the rule as a whole.
        for finding in claims.iter().filter(|claim| claim.steps.is_empty()).flat_map(|claim| &claim.findings) {
            out.finding(finding, "= help:", &finding.help);
        }
    }
    if let Some(template) = &explanation.template {
        out.template(template);
    }
    let is_told = |claim: &&ClaimRecord| explanation.rule.is_some() && claim.steps.is_empty();
    if brief {
        for region in regions {
            out.region(region);
            let of_region = |claim: &&ClaimRecord| claim.region.as_deref() == Some(&region.name);
            let width = claims.iter().map(|claim| claim.credential.chars().count()).max().unwrap_or_default();
            for claim in claims.iter().filter(of_region).filter(|claim| !is_told(claim)) {
                out.brief(claim, width);
            }
            let mine: Vec<&BundledRecord> = objects.iter().filter(|object| object.region == region.name).collect();
            for object in mine {
                out.bundled(object, false);
            }
        }
        let known = |claim: &&ClaimRecord| regions.iter().any(|region| Some(&region.name) == claim.region.as_ref());
        for claim in claims.iter().filter(|claim| !known(claim) && !is_told(claim)) {
            out.claim(claim, None, objects);
        }
        return out.0;
    }
    let by_name: BTreeMap<&str, &RegionRecord> = regions.iter().map(|region| (&*region.name, region)).collect();
    for claim in claims {
        out.claim(claim, claim.region.as_deref().and_then(|region| by_name.get(region).copied()), objects);
    }
    if !objects.is_empty() {
        out.line(0, Text::of(Tone::Strong, "in bundles:"));
        for object in objects {
            out.bundled(object, true);
        }
    }
    out.0
}

/// The text, and the names of recipients.
struct Out<'e>(Document, &'e BTreeMap<String, String>);

impl Out<'_> {
    fn line(&mut self, depth: usize, text: impl Into<Text>) {
        self.0.item(depth, text);
    }

    fn rule(&mut self, rule: &RuleRecord) {
        let place = rule.place.as_ref().map(|place| format!(" at {}", place.text)).unwrap_or_default();
        self.line(0, format!("ResourceSyncRule {}{place}", rule.name));
        if let (Some(takes), Some(read)) = (&rule.takes, rule.read) {
            self.line(1, format!("takes  {takes}, or may take: {} of the {read} that were read", rule.taken));
        }
        for condition in &rule.conditions {
            self.line(1, format!("if     {condition}"));
        }
        for RuleSourceRecord { name, answer } in &rule.sources {
            let says = match answer {
                Truth::Yes => "has the ClusterFeatures that it asks for",
                Truth::No => "lacks a ClusterFeature that it asks for, so nothing is taken",
                Truth::Unknown => "may lack a ClusterFeature that it asks for: not all of them were read",
            };
            self.line(1, format!("from   source {name}, which {says}"));
        }
        if rule.regions.is_empty() && rule.groups.is_empty() {
            self.line(1, "to     nowhere: no region names it in its `syncRules`");
        }
        self.to(&rule.regions, "");
        self.by_groups(&rule.groups);
    }

    fn template(&mut self, template: &TemplateRecord) {
        let TemplateRecord { name, place, regions, namespaces, groups, unselected } = template;
        let place = place.as_ref().map(|place| format!(" at {}", place.text)).unwrap_or_default();
        self.line(0, format!("ManagedResource {name}{place}"));
        if regions.is_empty() && groups.is_empty() && unselected.is_empty() {
            self.line(1, "to     nowhere: no region names it in its `templates`");
        }
        let namespaces = counted(*namespaces, "namespace", "namespaces");
        self.to(regions, &format!(", for {namespaces}"));
        self.by_groups(groups);
        if !unselected.is_empty() {
            let whose = if unselected.len() == 1 { "its namespace" } else { "their namespaces" };
            self.line(1, format!("not    to those of {}: it does not select {whose}", guests::listed(unselected)));
        }
    }

    fn to(&mut self, regions: &[String], more: &str) {
        if !regions.is_empty() {
            let word = if regions.len() == 1 { "region" } else { "regions" };
            self.line(1, format!("to     {word} {}{more}", regions.join(", ")));
        }
    }

    fn by_groups(&mut self, groups: &[String]) {
        if !groups.is_empty() {
            self.line(1, format!("to     guest clusters, by {}", guests::listed(groups)));
        }
    }

    fn region(&mut self, region: &RegionRecord) {
        let outcome = region.outcome.map(|is| format!(": {}", outcome(is))).unwrap_or_default();
        self.line(0, format!("region {}{outcome}", region.name));
        self.line(1, self.readers(region));
        for held in &region.held {
            self.line(1, format!("held [{}]: {}", held.code.text(), held.message));
        }
        if !region.facts.is_empty() {
            self.line(1, Text::of(Tone::Strong, "its cluster:"));
        }
        for FactRecord { fact, from, decides, .. } in &region.facts {
            let decides = decides.as_ref().map(|decides| format!("; it decides {decides}")).unwrap_or_default();
            self.line(2, format!("{fact} (by {from}{decides})"));
        }
    }

    fn brief(&mut self, claim: &ClaimRecord, width: usize) {
        let root = claim.steps.first().map(|step| format!(", by {}", named(&step.object))).unwrap_or_default();
        let objects = claim.steps.iter().filter(|step| step.state.is_some()).count();
        let codes: Vec<&str> = stopping(claim).map(|finding| finding.code.text()).collect();
        let codes = if codes.is_empty() { String::new() } else { format!(": {}", codes.join(", ")) };
        let objects = counted(objects, "object", "objects");
        self.line(1, format!("{:width$}  {}{codes}, {objects}{root}", claim.credential, claim.verdict.word()));
    }

    fn claim(&mut self, claim: &ClaimRecord, region: Option<&RegionRecord>, others: &[BundledRecord]) {
        self.line(0, format!("{} at {}", Claimant::titled(&claim.credential), claim.place.text));
        match (&claim.region, region) {
            (_, Some(region)) => {
                self.line(1, format!("region {}: {}", region.name, verdict(claim, others)));
                let state = region.outcome.map(|is| format!("{}; ", outcome(is))).unwrap_or_default();
                self.line(1, format!("bundle {}: {state}{}", region.directory, self.readers(region)));
            }
            (Some(name), None) => self.line(1, format!("region {name}: {}", verdict(claim, others))),
            (None, None) => self.line(1, verdict(claim, others)),
        }
        for (at, step) in claim.steps.iter().enumerate().filter(|(_, step)| step.named_by.is_none()) {
            self.step(claim, (at, step), 1);
        }
        for object in &claim.kept {
            self.line(1, format!("{} stays published for it", named(object)));
        }
        for object in &claim.published {
            self.line(1, format!("{} is published for it, and it does not lead there now", named(object)));
        }
        for object in &claim.withdrawn {
            self.line(1, format!("{} is withdrawn", named(object)));
        }
        for finding in &claim.findings {
            self.finding(finding, "= help:", &finding.help);
        }
        for SilencedRecord { finding, reason } in &claim.silenced {
            self.finding(finding, "=", &format!("silenced: {reason}"));
        }
    }

    fn step(&mut self, claim: &ClaimRecord, (at, step): (usize, &StepRecord), depth: usize) {
        self.line(depth, named(&step.object));
        let below = depth.saturating_add(1);
        self.line(below, format!("named by   {}", by(step, &claim.credential)));
        self.line(below, format!("admitted   {}", admitted(step, &claim.credential)));
        self.line(below, format!("read       {}", read(step)));
        if let Some(definition) = &step.definition {
            self.line(below, format!("followed   {}", followed(definition)));
        }
        if step.in_place {
            self.line(below, "lands      nowhere: it stands there already");
        } else if let Some(lands) = lands(step) {
            self.line(below, format!("lands      {lands}"));
        }
        // A step is named by an earlier one, so this ends.
        let named_by = |(_, step): &(usize, &StepRecord)| step.named_by == Some(at);
        for next in claim.steps.iter().enumerate().filter(|(next, _)| *next > at).filter(named_by) {
            self.step(claim, next, below);
        }
    }

    fn bundled(&mut self, object: &BundledRecord, with_readers: bool) {
        let why = object.reason.as_ref().map(why).unwrap_or_default();
        let needed = match object.credentials.is_empty() {
            true => String::new(),
            false => format!(", needed by {}", object.credentials.join(", ")),
        };
        self.line(1, format!("{} in {}: {}{why}{needed}", named(&object.object), object.path, state(object.state)));
        if with_readers && !object.recipients.is_empty() {
            self.line(2, format!("readable by {}", self.called(&object.recipients)));
        }
    }

    /// Recipients as people read them.
    fn called(&self, recipients: &[String]) -> String {
        all(recipients.iter().map(|key| shown(self.1.get(key).map(String::as_str), key)))
    }

    fn readers(&self, region: &RegionRecord) -> String {
        let now = match region.recipients.is_empty() {
            true => String::from("readable by nobody"),
            false => format!("readable by {}", self.called(&region.recipients)),
        };
        match region.recipients_held.is_empty() {
            true => now,
            false => format!("{now}, and not yet by {}", self.called(&region.recipients_held)),
        }
    }

    /// A finding, and behind a mark what is to be said of it.
    fn finding(&mut self, finding: &FindingRecord, sign: &str, text: &str) {
        let head = head(finding.severity, finding.code, &Links::default());
        self.line(1, head.then(": ").and(Tone::Strong, &*finding.message));
        if let (Some(file), Some(line), Some(column)) = (&finding.file, finding.line, finding.column) {
            self.line(2, mark("-->", &format!("{file}:{line}:{column}")));
        }
        if !text.is_empty() {
            self.line(2, mark(sign, text));
        }
    }
}

/// The findings that stop a claim.
fn stopping(claim: &ClaimRecord) -> impl Iterator<Item = &FindingRecord> {
    let class = match claim.verdict {
        Fate::Judged(verdict) => verdict.class(),
        Fate::Unpublished | Fate::Paused => None,
    };
    claim.findings.iter().filter(move |it| it.severity == Severity::Error && Some(it.class) == class)
}

fn by(step: &StepRecord, claimant: &str) -> String {
    let field = step.field.as_deref().unwrap_or_default();
    match step.role {
        // Of a Cluster, the field says itself which object it stands in.
        Role::Root | Role::Reference
            if step.named_by.is_none() && Claimant::of_path(claimant).is_some_and(|by| by.is_credential()) =>
        {
            format!("{field} of the Credential")
        }
        Role::ResourceTemplate => String::from("its name: Sveltos reads it to propagate the credential"),
        Role::PropagationSecret => String::from("its name: Sveltos reads the Secret of this name"),
        Role::Root | Role::Reference | Role::Assumed => String::from(field),
    }
}

/// Why a claimant, by its path, may use a step, or may not.
pub fn admitted(step: &StepRecord, path: &str) -> String {
    let by = Claimant::of_path(path);
    let (kind, namespace) = by.as_ref().map(|by| (by.kind(), by.namespace().as_str())).unwrap_or_default();
    let is_group = by.as_ref().is_some_and(|by| by.group().is_some());
    let why = match (step.rule, step.role) {
        (_, Role::Assumed) => "without being read: the provider itself makes it on every region",
        (Some(Rule::OwnNamespace), _) if is_group => "because the rule or template that the group names may use it",
        (Some(Rule::Grant), _) if is_group && step.placement.is_none() => {
            "because the configuration names it, in the group or in a grant"
        }
        (Some(Rule::OwnNamespace), _) => return format!("because it stands in the {kind}'s namespace"),
        (Some(Rule::SystemClaimant), _) => return format!("because the {kind} stands in the system namespace"),
        (Some(Rule::Identity), _) => return format!("because it admits the {kind}'s namespace"),
        (Some(Rule::ThroughIdentity), _) => {
            return format!("because an identity names it that admits the {kind}'s namespace");
        }
        (Some(Rule::Managed), _) => "because AccessManagement hands out the Credential",
        (Some(Rule::Grant), _) => {
            let by = step.placement.as_ref().map(|placement| format!(", for the regions of placement {placement}"));
            return format!("because a grant of the configuration names it{}", by.unwrap_or_default());
        }
        (None, _) if step.placement.is_some() => {
            let placement = step.placement.as_deref().unwrap_or_default();
            return format!(
                "unknown: a grant opens it in the regions of placement {placement}, and which these are is unknown"
            );
        }
        (None, _) if matches!(step.read, Read::Absent | Read::Unknown) => "unknown: it was not read",
        _ => return format!("no: nothing opens it to {namespace}"),
    };
    String::from(why)
}

/// What becomes of an object, in the words of a plan.
pub fn state(state: State) -> &'static str {
    if state == State::Unseen { "not looked into" } else { state.word() }
}

/// Where a step was read, or why it was not.
pub fn read(step: &StepRecord) -> String {
    match (&step.place, step.read) {
        (Some(place), _) => place.text.clone(),
        (None, Read::Absent) => String::from("it is in no source"),
        (None, Read::NotTold) => String::from("not told, as it is not open to the claimant"),
        (None, Read::Found | Read::Unknown) if step.role == Role::Assumed => String::from("not at all"),
        (None, Read::Found | Read::Unknown) => String::from("it could not be read"),
    }
}

fn followed(definition: &DefinitionRecord) -> String {
    let DefinitionRecord { provider_interface, place, release } = definition;
    match (place, release) {
        (Some(place), _) => format!("as ProviderInterface {provider_interface} says, at {}", place.text),
        (None, Some(release)) => {
            format!("as ProviderInterface {provider_interface} of k0rdent {release} says (built in)")
        }
        (None, None) => format!("as ProviderInterface {provider_interface} says"),
    }
}

fn lands(step: &StepRecord) -> Option<String> {
    let state = state(step.state?);
    let moved = named(&step.lands) != named(&step.object);
    let to = if moved { format!("as {}, ", named(&step.lands)) } else { String::new() };
    let edits = match &*step.rewritten {
        [] => String::new(),
        fields => format!(", with {} rewritten", fields.join(" and ")),
    };
    let why = step.reason.as_ref().map(why).unwrap_or_default();
    Some(match &step.path {
        Some(path) => match &step.guest {
            Some(guest) => format!("{to}in {path}{edits}: {state}{why}; in guests as {}", named(guest)),
            None => format!("{to}in {path}{edits}: {state}{why}"),
        },
        None => format!("{to}{state}{why}"),
    })
}

/// The reason for which an object stays as it is or goes, behind what becomes of it.
fn why(reason: &Why) -> String {
    format!(" ({})", reason.shown())
}
