//! Cases: one claim with its closure, judged by itself, and what the region rules on it.
//!
//! A case never changes. What its region adds, from other claims and from what is published, stands beside it in a
//! [`Ruling`]; so a region is closed and judged once, whatever is found to be published.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::claim::Claim;
use crate::closure::{Closure, Member};
use crate::finding::telling::Telling;
use crate::finding::{Class, Code, Finding, Severity};
use crate::name::{ObjectKey, spelt};

/// What becomes of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// It is resolved: its closure is published.
    Admitted,
    /// It is not allowed: what it published is withdrawn, under the brake.
    Refused,
    /// It cannot be resolved now: what it published is carried over, but for identities whose new text fits.
    Broken,
}

spelt!(Verdict { Admitted "admitted", Refused "refused", Broken "broken" });

impl Verdict {
    /// The class of the findings that stop the claim, if it is stopped.
    pub fn class(self) -> Option<Class> {
        match self {
            Verdict::Admitted => None,
            Verdict::Refused => Some(Class::Refused),
            Verdict::Broken => Some(Class::Broken),
        }
    }
}

/// One claim, judged by itself.
#[derive(Debug)]
pub struct Case {
    /// The claim.
    pub claim: Arc<Claim>,
    /// What it needs.
    pub closure: Closure,
    /// What is wrong or worth knowing, of every stage so far.
    pub findings: Vec<Finding>,
    /// What becomes of the claim by itself.
    pub verdict: Verdict,
}

impl Case {
    /// Makes a case of a claim and all that was found about it.
    pub fn new(claim: Arc<Claim>, closure: Closure, findings: Vec<Finding>) -> Self {
        let verdict = verdict(findings.iter());
        Self { claim, closure, findings, verdict }
    }

    /// The members that are published.
    pub fn published_members(&self) -> impl Iterator<Item = &Member> {
        self.closure.members.iter().filter(|member| member.is_published())
    }

    /// The code that makes the claim broken by itself, if one does.
    pub fn broken_by(&self) -> Option<Code> {
        broken_by(self.findings.iter())
    }
}

/// What a region rules on one of its cases.
#[derive(Debug)]
pub struct Ruling<'c> {
    /// The case.
    pub case: &'c Case,
    /// The findings that the region adds.
    pub added: Vec<Finding>,
    /// What becomes of the claim.
    pub verdict: Verdict,
    /// Single objects that wait by what is published, beside those of the [closure](Closure::waiting), and why.
    pub waiting: BTreeMap<ObjectKey, Code>,
    /// Of which of these findings speak.
    telling: Telling,
}

impl<'c> Ruling<'c> {
    /// The rulings on cases to which nothing is added yet.
    pub fn of(cases: &'c [Case]) -> Vec<Self> {
        let ruling = |case: &'c Case| Self {
            case,
            added: Vec::new(),
            verdict: case.verdict,
            waiting: BTreeMap::new(),
            telling: Telling::default(),
        };
        cases.iter().map(ruling).collect()
    }

    /// Adds a finding and decides the verdict again.
    pub fn find(&mut self, finding: Finding) {
        let claim = &self.case.claim;
        self.added.push(finding.claimed_by(&claim.by).in_region(claim.region()));
        self.verdict = verdict(self.findings());
    }

    /// Whether an object is not published because its type would change.
    pub fn waits_for_type(&self, member: &Member) -> bool {
        let is_it =
            |finding: &Finding| finding.code == Code::ImmutableField && finding.object.as_ref() == Some(&member.read);
        // Of a Secret nothing but its type is immutable.
        let waits = self.added.iter().any(is_it) || self.waiting.get(&member.read) == Some(&Code::ImmutableField);
        waits && member.read.kind.is_secret()
    }

    /// Lets one object of the claim wait, of which nothing new is published, and goes on with the others.
    pub fn let_wait(&mut self, read: &ObjectKey, why: &Finding) -> bool {
        if self.waiting.contains_key(read) {
            return false;
        }
        let claim = &self.case.claim;
        if self.telling.tells(read) {
            let message = match claim.rendered() {
                Some(_) => format!("of {}, {read} waits, and what is published of it stays: {}", claim.by, why.message),
                None => format!("{read} waits, and what is published of it stays: {}", why.message),
            };
            let finding = Finding { message, ..why.clone().severity(Severity::Warning) };
            self.added.push(finding.claimed_by(&claim.by).in_region(claim.region()));
        }
        self.waiting.insert(read.clone(), why.code);
        true
    }

    /// Whether a member waits by what is published.
    pub fn holds(&self, member: &Member) -> bool {
        member.rule.is_some() && self.waiting.contains_key(&member.read)
    }

    /// Whether the claim is resolved.
    pub fn is_admitted(&self) -> bool {
        self.verdict == Verdict::Admitted
    }

    /// All findings about the claim.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> + Clone {
        self.case.findings.iter().chain(&self.added)
    }

    /// The code that made the claim broken, if it is; always of the class broken, the only one that carries over.
    pub fn broken_by(&self) -> Option<Code> {
        broken_by(self.findings())
    }
}

fn broken_by<'f>(mut findings: impl Iterator<Item = &'f Finding>) -> Option<Code> {
    let breaks = |finding: &&Finding| finding.stops_claim() && finding.code.class() == Class::Broken;
    findings.find(breaks).map(|finding| finding.code)
}

/// The verdict that a claim's findings make: refused before broken, broken before resolved.
///
/// A refusal withdraws, so it needs every input of its rule. If an input is the object's own content, and a later
/// source might have another content, or the content cannot be believed because it is sealed and does not open, then
/// the claim counts as broken and what it published stays. A namespaced object is out of reach whatever it holds.
/// Anything else that was not read changes nothing: otherwise a tenant could keep what is taken from it by breaking a
/// file of its own, or by reaching for what pouch itself may not read.
pub(super) fn verdict<'f>(findings: impl Iterator<Item = &'f Finding> + Clone) -> Verdict {
    let stops = |class| findings.clone().filter(move |finding| finding.stops_claim() && finding.code.class() == class);
    let is_unread = |refusal: &Finding| {
        let by_content = match (refusal.code, &refusal.object) {
            (Code::NotAdmitted, Some(object)) => object.namespace.is_none(),
            (_, object) => object.is_some(),
        };
        by_content && findings.clone().any(|f| f.code.is_doubt() && f.object == refusal.object)
    };
    if stops(Class::Refused).any(|refusal| !is_unread(refusal)) {
        Verdict::Refused
    } else if findings.clone().any(Finding::stops_claim) {
        Verdict::Broken
    } else {
        Verdict::Admitted
    }
}
