//! Silence: findings that somebody means to leave as they are, and says why.
//!
//! An annotation silences findings about the very object that carries it, and about a Credential what is found of its own
//! fields. It changes nothing of what is published, and nothing that does can be silenced: who writes an object must not
//! hide from others what is refused, broken or held. What is silenced is still counted, and told with its reason where
//! somebody asks. This room knows nothing of regions and claims beyond the names in findings.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::{Fleet, LevelWord};
use crate::finding::{Class, Code, Finding, Origin, Place, Severity};
use crate::kinds::K0RDENT;
use crate::name::{Claimant, GroupKind, Namespace, ObjectKey};
use crate::nearest::suggested;
use crate::object::{Object, SILENCE_ANNOTATION};
use crate::snapshot::Snapshot;

/// How many bytes an annotation has at most that is read.
const MOST_BYTES: usize = 4096;

/// How many parts an annotation has at most that is read: each may make a finding.
const MOST_PARTS: usize = 32;

/// The longest word that could be a code.
const LONGEST_WORD: usize = 40;

/// A finding that is silenced, and why.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Silenced {
    /// The finding.
    pub finding: Finding,
    /// Why, as the annotation says.
    pub reason: String,
}

/// What the annotations of a snapshot silence.
pub struct Silences<'a> {
    snapshot: &'a Snapshot,
    system_namespace: &'a Namespace,
    reasons: BTreeMap<(&'a ObjectKey, Code), &'a str>,
    /// What is wrong with the annotations.
    pub findings: Vec<Finding>,
}

/// Findings, told apart by whether annotations silence them.
#[derive(Default)]
pub struct Heard {
    /// Those that are not silenced.
    pub told: Vec<Finding>,
    /// Those that are.
    pub silenced: Vec<Silenced>,
    /// A finding for each part of an annotation that silences nothing.
    pub unused: BTreeSet<Finding>,
}

impl<'a> Silences<'a> {
    /// Reads the annotations of all objects that were read.
    pub fn read(fleet: &'a Fleet, snapshot: &'a Snapshot) -> Self {
        let system_namespace = &fleet.system_namespace;
        let mut silences = Self { snapshot, system_namespace, reasons: BTreeMap::new(), findings: Vec::new() };
        for object in snapshot.objects() {
            let Some(text) = &object.silence else { continue };
            for part in parts(text) {
                let read = part.and_then(|(code, reason)| match fleet.severities.get(&code) {
                    Some(LevelWord::Error) => Err(Flaw {
                        what: format!("names {}, which the configuration makes an error", code.text()),
                        help: String::from("Correct what is found, or ask whoever writes the configuration."),
                    }),
                    _ => Ok((code, reason)),
                });
                match read {
                    Ok((code, reason)) => _ = silences.reasons.entry((&object.key, code)).or_insert(reason),
                    Err(flaw) => silences.findings.push(about(object, Code::InvalidSilence, &flaw.what, &flaw.help)),
                }
            }
        }
        silences
    }

    /// Tells apart what is silenced; severities are those of the configuration already.
    pub fn hear(&self, findings: Vec<Finding>) -> Heard {
        if self.reasons.is_empty() {
            return Heard { told: findings, ..Heard::default() };
        }
        let mut heard = Heard::default();
        let mut used = BTreeSet::new();
        for finding in findings {
            match self.reason(&finding) {
                Some((place, reason)) => {
                    used.insert(place);
                    heard.silenced.push(Silenced { finding, reason: String::from(reason) });
                }
                None => heard.told.push(finding),
            }
        }
        // What is counted and not listed may be such a finding.
        let counted: BTreeSet<Code> = heard.told.iter().filter(|it| it.others > 0).map(|it| it.code).collect();
        let unused = self.reasons.keys().filter(|place| !used.contains(place) && !counted.contains(&place.1));
        heard.unused = unused.filter_map(|(key, code)| self.unused(key, *code)).collect();
        heard
    }

    /// The annotation that silences a finding, by its object and code, and the reason that it gives.
    pub fn reason(&self, finding: &Finding) -> Option<((&'a ObjectKey, Code), &'a str)> {
        let place = self.of(finding).map(|object| (&object.key, finding.code))?;
        self.reasons.get(&place).map(|reason| (place, *reason))
    }

    fn unused(&self, key: &ObjectKey, code: Code) -> Option<Finding> {
        let what = format!("names {}, and nothing of that kind is found", code.text());
        let help = "Remove that part of the annotation, or keep it for what comes and goes.";
        Some(about(self.snapshot.get(key)?, Code::UnusedSilence, &what, help))
    }

    /// The object whose annotation may silence a finding: the one that it is about, at its own place; or the Credential, if
    /// that is the place.
    fn of(&self, finding: &Finding) -> Option<&'a Object> {
        if self.reasons.is_empty() || !may_be_silenced(finding.code) || finding.severity == Severity::Error {
            return None;
        }
        let origin = finding.origin.as_ref()?;
        let object = finding.object.as_ref().and_then(|key| self.snapshot.get(key));
        if let Some(object) = object.filter(|object| is_same_document(&object.origin, origin)) {
            return Some(object);
        }
        let Some(Claimant::Credential { namespace: own, name }) = &finding.claimant else { return None };
        let credential = |namespace: &Namespace| {
            let kind = GroupKind::new(K0RDENT, "Credential");
            let credential = self.snapshot.get(&ObjectKey::new(kind, Some(namespace.clone()), name.clone()));
            credential.filter(|credential| credential.origin == *origin)
        };
        match origin.place {
            // All objects of a cluster have one place, which says nothing of which one is meant.
            Place::Cluster { .. } if object.is_some() => None,
            Place::Cluster { .. } => credential(own),
            // What AccessManagement makes of a Credential stands where that one does.
            _ => credential(own).or_else(|| credential(self.system_namespace)),
        }
    }
}

/// Whether a code may be silenced: nothing that is published depends on it, and it does not tell of silences.
pub fn may_be_silenced(code: Code) -> bool {
    // What is withdrawn may be another one's than the object's that is to blame.
    let never = [Code::InvalidSilence, Code::UnusedSilence, Code::Withdrawn];
    code.class() == Class::Notice && !never.contains(&code)
}

/// Whether a finding stands where an object stands; in a file perhaps some lines below.
fn is_same_document(object: &Origin, finding: &Origin) -> bool {
    let is_there = match (&object.place, &finding.place) {
        (Place::File { path, line, .. }, Place::File { path: other, line: below, .. }) => {
            path == other && line <= below
        }
        (Place::Cluster { context }, Place::Cluster { context: other }) => context == other,
        _ => false,
    };
    object.source == finding.source && is_there
}

fn about(object: &Object, code: Code, what: &str, help: &str) -> Finding {
    let message = format!("the annotation {SILENCE_ANNOTATION} of {} {what}", object.key);
    Finding::new(code, message).about(&object.key).at(&object.origin).help(String::from(help))
}

/// What is wrong with a part of an annotation.
#[derive(PartialEq, Eq, Debug)]
struct Flaw {
    what: String,
    help: String,
}

/// The parts of an annotation: a code, a colon and a reason, apart by line feeds or semicolons.
fn parts(text: &str) -> Vec<Result<(Code, &str), Flaw>> {
    let flaw = |what: &str| {
        let help = "Write `CODE: REASON`, several apart by line feeds or semicolons.";
        Vec::from([Err(Flaw { what: String::from(what), help: String::from(help) })])
    };
    if text.len() > MOST_BYTES {
        return flaw("is longer than 4096 bytes, and silences nothing");
    }
    let parts: Vec<&str> = text.split(['\n', ';']).map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return flaw("says nothing");
    }
    if parts.len() > MOST_PARTS {
        return flaw("has more than 32 parts, and silences nothing");
    }
    parts.into_iter().map(part).collect()
}

fn part(part: &str) -> Result<(Code, &str), Flaw> {
    let (word, reason) = part.split_once(':').unwrap_or((part, ""));
    let (word, reason) = (word.trim(), reason.trim());
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if word.is_empty() || word.len() > LONGEST_WORD || !word.bytes().all(is_word) {
        return Err(Flaw {
            what: String::from("has a part that does not begin with a code"),
            help: String::from("Write `CODE: REASON`, several apart by line feeds or semicolons."),
        });
    }
    let Some(code) = Code::parse(word) else {
        let codes = Code::ALL.iter().filter(|code| may_be_silenced(**code)).map(|code| code.text());
        let help = match suggested(word, codes) {
            Some(code) => format!("Did you mean {code}?"),
            None => String::from("Write the word in brackets after `warning` or `info`; a semicolon ends a reason."),
        };
        return Err(Flaw { what: format!("names {word}, which is no code"), help });
    };
    if !may_be_silenced(code) {
        return Err(Flaw {
            what: format!("names {word}, which no annotation silences"),
            help: String::from("Correct what is found: only findings of class notice can be silenced."),
        });
    }
    if reason.is_empty() {
        return Err(Flaw {
            what: format!("gives no reason for {word}"),
            help: format!("Write `{word}: REASON`; nothing is silenced without one."),
        });
    }
    Ok((code, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::renamed;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let say = |part: Result<(Code, &str), Flaw>| match part {
            Ok((code, reason)) => format!("{} = {reason}", code.text()),
            Err(flaw) => flaw.what,
        };
        let said: Vec<String> = parts(text).into_iter().map(say).collect();
        assert_eq!(said, expect, "{text:?}");
    }

    #[test]
    fn an_annotation_has_a_reason_for_each_code() {
        check("placeholder-value: a test", &["placeholder-value = a test"]);
        let several = "placeholder-value : a: b ;expired:  renewed on use\n\n null-entry:x;";
        check(several, &["placeholder-value = a: b", "expired = renewed on use", "null-entry = x"]);
        check("placeholder-value", &["gives no reason for placeholder-value"]);
        check("placeholder-value: ; expired: x", &["gives no reason for placeholder-value", "expired = x"]);
        check("placeholder-valeu: x", &["names placeholder-valeu, which is no code"]);
        check("missing-reference: x", &["names missing-reference, which no annotation silences"]);
        check("invalid-silence: x", &["names invalid-silence, which no annotation silences"]);
        check("expired: a; then b", &["expired = a", "has a part that does not begin with a code"]);
        for text in ["", " \n;; "] {
            check(text, &["says nothing"]);
        }
        for text in ["Expired: x", "*: x", ": x", "\u{1b}[1m: x", &"x".repeat(41)] {
            check(text, &["has a part that does not begin with a code"]);
        }
        check(&"expired: x;".repeat(33), &["has more than 32 parts, and silences nothing"]);
        check(&"expired: x;".repeat(400), &["is longer than 4096 bytes, and silences nothing"]);
        assert_eq!(
            part("placeholder-valeu: x").err().map(|flaw| flaw.help).as_deref(),
            Some("Did you mean placeholder-value?")
        );
    }

    #[test]
    fn only_what_changes_nothing_can_be_silenced() {
        for code in Code::ALL.iter().filter(|code| may_be_silenced(**code)) {
            assert_eq!(code.class(), Class::Notice);
            assert!(code.text().len() <= LONGEST_WORD && code.severity() < Severity::Error, "{}", code.text());
        }
        for renamed in renamed::CODES {
            let silenced = part(&format!("{}: x", renamed.old)).map(|(code, _)| code.text());
            let is_notice = Code::parse(renamed.new).is_some_and(may_be_silenced);
            assert_eq!(silenced.ok(), is_notice.then_some(renamed.new));
        }
    }
}
