//! Claims that AccessManagement makes: a Credential of the system namespace, handed to a namespace.
//!
//! A *managed* claim comes from the rule and its source Credential, whether or not k0rdent's copy is in
//! the sources. The label on a copy proves nothing. A rule decides yes, no or unknown: only a certain yes makes a
//! claim, and only after a certain no is a copy forged or gone.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::Asked;
use super::credential::{ask, handed_over};
use crate::config::Fleet;
use crate::finding::{Cause, Code, Finding};
use crate::k0rdent::access::{self, Labels, NAME, Rule, Targets};
use crate::k0rdent::{self, credential};
use crate::name::step::Step;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey};
use crate::object::{Object, finding_of};
use crate::selector::{Label, NAME_LABEL, Selector, Truth};
use crate::snapshot::{Lookup, Snapshot};

/// The rules of AccessManagement, as they were read.
pub struct Rules {
    rules: Vec<Rule>,
    /// Why nothing is known of the rules, if so.
    unknown: Option<String>,
    /// Whether the sources have Namespaces at all.
    has_namespaces: bool,
}

/// The rules, and what is needed to decide them.
pub struct Access<'a> {
    fleet: &'a Fleet,
    snapshot: &'a Snapshot,
    rules: &'a Rules,
}

/// The minor release since which a rule without targets is for all namespaces.
const UNSTATED_IS_ALL_SINCE: u8 = 10;

fn pairs_of(object: &Object) -> BTreeMap<&str, &str> {
    object.labels.iter().map(|(key, value)| (&**key, &**value)).collect()
}

fn access_management() -> GroupKind {
    GroupKind::new(k0rdent::GROUP, "AccessManagement")
}

/// The kind of Credentials.
pub(super) fn credential_kind() -> GroupKind {
    GroupKind::new(k0rdent::GROUP, "Credential")
}

/// The key of a Credential.
pub fn credential_key(namespace: &Namespace, name: &Name) -> ObjectKey {
    ObjectKey::new(credential_kind(), Some(namespace.clone()), name.clone())
}

impl Rules {
    /// Reads the AccessManagement of the snapshot.
    pub fn read(snapshot: &Snapshot) -> (Self, Vec<Finding>) {
        let has_namespaces = snapshot.all(&GroupKind::new("", "Namespace")).next().is_some();
        let mut access = Self { rules: Vec::new(), unknown: None, has_namespaces };
        let mut findings = Vec::new();
        let key = ObjectKey::new(access_management(), None, NAME.into());
        for other in snapshot.all(&access_management()).filter(|object| object.key != key) {
            let message = format!("{} is ignored: k0rdent uses only the one named {NAME}", other.key);
            let finding = Finding::new(Code::UnreadableObject, message).about(&other.key).at(&other.origin);
            findings.push(finding.help(format!("Move its rules into {key}.")));
        }
        match snapshot.look_up(&key) {
            Lookup::Absent => {}
            Lookup::Found(object) => {
                let (rules, mut faults) = access::read(object);
                access.rules = rules;
                if !object.faults.is_empty() {
                    access.unknown = Some(format!("{key} cannot be used"));
                    faults.extend(object.faults.iter().cloned());
                }
                findings.extend(faults.into_iter().map(|mut fault| {
                    if fault.code != Code::Mistyped {
                        fault.code = Code::UnreadableObject;
                    }
                    finding_of(&fault, object)
                }));
            }
            Lookup::Unread(unread) => access.unknown = Some(unread.why()),
            Lookup::Unasked => access.unknown = Some(format!("no source was asked for {key}")),
        }
        (access, findings)
    }

    /// The rules, ready to be asked.
    pub fn in_force<'a>(&'a self, fleet: &'a Fleet, snapshot: &'a Snapshot) -> Access<'a> {
        Access { fleet, snapshot, rules: self }
    }
}

impl<'a> Access<'a> {
    /// The configuration.
    pub(super) fn fleet(&self) -> &'a Fleet {
        self.fleet
    }

    /// Whether the rules make a Credential; its source Credential has to be there.
    pub fn makes(&self, by: &Claimant) -> Truth {
        let system = &self.fleet.system_namespace;
        let Claimant::Credential { namespace, name } = by else { return Truth::No };
        if namespace == system {
            return Truth::No;
        }
        let source = match self.snapshot.look_up(&credential_key(system, name)) {
            Lookup::Absent => return Truth::No,
            Lookup::Found(source) => Some(source),
            Lookup::Unread(_) | Lookup::Unasked => None,
        };
        let certain = if source.is_some() { Truth::Yes } else { Truth::Unknown };
        if self.rules.unknown.is_some() {
            return Truth::Unknown;
        }
        let one = |rule: &Rule| self.hands_out(rule, name, source).and(self.targets(rule, namespace));
        self.rules.rules.iter().map(one).fold(Truth::No, Truth::or).and(certain)
    }

    /// Whether the labels of a claimant's Credential satisfy a selector: its own, or those of what a rule makes it from.
    pub fn selects(&self, by: &Claimant, selector: &Selector) -> Truth {
        // Only labels of Credentials are read.
        let Claimant::Credential { namespace, name } = by else { return Truth::No };
        let found = |namespace: &Namespace| match self.snapshot.look_up(&credential_key(namespace, name)) {
            Lookup::Found(object) => Some(object),
            _ => None,
        };
        let own = found(namespace);
        // What k0rdent copied, or will, has the labels of its own that do not count.
        let is_copy =
            own.is_none_or(|own| own.label(k0rdent::MANAGED_LABEL) == Some("true")) && self.makes(by) == Truth::Yes;
        let object = if is_copy { found(&self.fleet.system_namespace) } else { own };
        let Some(object) = object else { return Truth::Unknown };
        selector.matches(|key| object.label(key).map_or(Label::Absent, Label::Is))
    }

    fn hands_out(&self, rule: &Rule, name: &Name, source: Option<&Object>) -> Truth {
        let labels = source.filter(|source| source.faults.is_empty()).map(pairs_of);
        rule.hands_out(&credential_kind(), name, labels.as_ref())
    }

    /// Returns true unless the rules certainly copy no object of the system namespace to where this one stands. Labels of
    /// such objects are not read, so a selector by labels may choose any of them.
    pub fn may_copy(&self, lands: &ObjectKey) -> bool {
        let is_copied = lands.kind.is_secret() || lands.kind.is_config_map();
        let Some(namespace) = lands.namespace.as_ref().filter(|_| is_copied) else { return false };
        let one = |rule: &Rule| rule.hands_out(&lands.kind, &lands.name, None).and(self.targets(rule, namespace));
        *namespace != self.fleet.system_namespace
            && (self.rules.unknown.is_some() || self.rules.rules.iter().any(|rule| one(rule) != Truth::No))
    }

    fn targets(&self, rule: &Rule, namespace: &Namespace) -> Truth {
        let everything = Selector::everything();
        let selector = match &rule.targets {
            Targets::List(names) if names.contains(namespace) => return Truth::Yes,
            Targets::List(_) => return Truth::No,
            Targets::Unknown => return Truth::Unknown,
            Targets::Unstated if self.unstated_is_all() => &everything,
            Targets::Unstated => return Truth::No,
            Targets::By(selector) => selector,
        };
        let matches = |labels: Labels<'_>| {
            selector.matches(|key| match labels {
                // The API server sets this label, and nobody can change it.
                _ if key == NAME_LABEL => Label::Is(namespace.as_str()),
                None => Label::Unknown,
                Some(labels) => labels.get(key).map_or(Label::Absent, |value| Label::Is(value)),
            })
        };
        match self.snapshot.look_up(&ObjectKey::namespace(namespace)) {
            Lookup::Found(object) if object.faults.is_empty() => matches(Some(&pairs_of(object))),
            Lookup::Absent if self.rules.has_namespaces => Truth::No,
            _ => matches(None).and(Truth::Unknown),
        }
    }

    fn unstated_is_all(&self) -> bool {
        self.fleet.builtin.is_none_or(|release| release.minor >= UNSTATED_IS_ALL_SINCE)
    }

    /// The Credentials that the rules certainly make, each with its source Credential.
    pub(super) fn made(&self) -> BTreeMap<Claimant, &'a Object> {
        let mut made = BTreeMap::new();
        if self.rules.unknown.is_some() || self.rules.rules.is_empty() {
            return made;
        }
        let system = &self.fleet.system_namespace;
        let sources: Vec<&Object> =
            self.snapshot.all(&credential_kind()).filter(|c| c.key.namespace.as_ref() == Some(system)).collect();
        let all: Vec<Namespace> = self
            .snapshot
            .all(&GroupKind::new("", "Namespace"))
            .map(|object| Namespace::new(object.key.name.shared()))
            .collect();
        for rule in &self.rules.rules {
            let namespaces: Vec<&Namespace> = match &rule.targets {
                Targets::List(names) => names.iter().collect(),
                _ => all.iter().filter(|namespace| self.targets(rule, namespace) == Truth::Yes).collect(),
            };
            for source in &sources {
                if self.hands_out(rule, &source.key.name, Some(source)) != Truth::Yes {
                    continue;
                }
                for namespace in namespaces.iter().filter(|namespace| **namespace != system) {
                    let by = Claimant::credential((*namespace).clone(), source.key.name.clone());
                    made.insert(by, *source);
                }
            }
        }
        made
    }

    /// Why it is unknown what the rules decide.
    fn why_unknown(&self, by: &Claimant) -> String {
        if let Some(why) = &self.rules.unknown {
            return why.clone();
        }
        if let Lookup::Unread(unread) =
            self.snapshot.look_up(&credential_key(&self.fleet.system_namespace, &Name::from(&*by.name())))
        {
            return unread.why();
        }
        let kind = credential_kind();
        let is_unclear = |rule: &Rule| {
            rule.targets == Targets::Unknown || rule.resources.iter().any(|handed| handed.leaves_open(&kind))
        };
        let namespaces = GroupKind::new("", "Namespace");
        match self.snapshot.unread_in(&namespaces, None) {
            _ if self.rules.rules.iter().any(is_unclear) => "a rule cannot be understood".to_owned(),
            Some(source) => format!("source {source} was not read completely"),
            None if !self.rules.has_namespaces => "a rule selects namespaces, and no source has Namespaces".to_owned(),
            None => "a rule's selector cannot be understood".to_owned(),
        }
    }
}

/// The claim that a rule makes for `by` from `source`; `copy` is k0rdent's copy, if the sources have one.
pub(super) fn managed(access: &Access<'_>, by: Claimant, source: &Object, copy: Option<&Object>) -> Asked {
    let key = credential_key(by.namespace(), &source.key.name);
    let mut asked = ask(access.fleet, access.snapshot, source, by, Some(Step::AccessRule(NAME.into())));
    if let Lookup::Unread(unread) = access.snapshot.look_up(&key) {
        let message =
            format!("whether {key} is a Credential of its own, which no rule replaces, is unknown: {}", unread.why());
        let mut finding = Finding::new(Code::Unread, message).about(&key).at(&asked.origin);
        finding.because = unread.reason.is_none().then(|| Cause::Source(unread.source.clone()));
        asked.findings.push(finding.help("Correct the source: its own findings say what is wrong."));
    }
    asked.findings.extend(copy.and_then(|copy| outdated(&asked.by, source, copy)));
    asked.settle();
    asked
}

/// The finding for a copy of k0rdent's that differs from what the rule would make now.
fn outdated(by: &Claimant, source: &Object, copy: &Object) -> Option<Finding> {
    let source = credential::read(source).ok()?;
    let differs = match credential::read(copy) {
        Err(_) => "spec",
        Ok(copy) if copy.region != source.region => "spec.region",
        Ok(copy) if copy.identity != handed_over(source.identity, by.namespace()) => "spec.identityRef",
        Ok(copy) if copy.projection != source.projection => "spec.projectionConfig",
        Ok(_) => return None,
    };
    let message =
        format!("k0rdent's copy differs in {differs} from what its rule makes now; pouch uses what the rule makes");
    Some(
        Finding::new(Code::ManagedCopyOutdated, message)
            .about(&copy.key)
            .at(&copy.origin)
            .help("Delete the copy: k0rdent then makes a new one. It never updates its copies."),
    )
}

/// A Credential with k0rdent's label that no rule certainly makes.
pub(super) fn unexplained(access: &Access<'_>, by: Claimant, copy: &Object) -> Asked {
    if access.makes(&by) == Truth::No {
        return forged(access, by, copy);
    }
    let region = credential::read(copy).ok().and_then(|spec| spec.region);
    let why = access.why_unknown(&by);
    let message = format!("whether an AccessManagement rule makes this Credential is unknown: {why}");
    let unread = Finding::new(Code::Unread, message).about(&copy.key).at(&copy.origin).help(
        "Correct the AccessManagement or its source: their own findings say what is wrong. Rules that select \
         namespaces need the Namespaces in a source with clusterScoped: true.",
    );
    let mut asked = Asked { by, origin: copy.origin.clone(), region, claim: None, findings: [unread].into() };
    asked.settle();
    asked
}

fn forged(access: &Access<'_>, by: Claimant, copy: &Object) -> Asked {
    let mut asked = ask(access.fleet, access.snapshot, copy, by, None);
    // A Credential without a region claims nothing, forged or not.
    if asked.region.is_some() {
        let message = "the label says that an AccessManagement rule made this Credential, but none did";
        asked.findings.push(Finding::new(Code::ForgedManagedLabel, message).about(&copy.key).at(&copy.origin).help(
            "Remove the label; or, if k0rdent left this copy behind, remove the Credential. A rule hands out \
             Credentials of the system namespace, which must be in the sources too.",
        ));
    }
    asked.settle();
    asked
}

/// Warns of a Credential that already has the name of one that a rule would hand out.
pub(super) fn not_applied(asked: &mut Asked, own: &Object, source: &Object) {
    let message =
        format!("an AccessManagement rule hands out {} here, but this Credential already has its name", source.key);
    asked.findings.push(Finding::new(Code::RuleNotApplied, message).about(&own.key).at(&own.origin).help(
        "If this is unintended, rename or delete this Credential. k0rdent replaces no Credential except its own \
         copies.",
    ));
    asked.settle();
}
