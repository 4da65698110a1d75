//! Names that something had before the first release, and the names in their place.
//!
//! The command line, the configuration and `pouch help` answer an old name with the new one, and the table of the
//! CHANGELOG is made of these.

use alloc::format;
use alloc::string::String;

/// A name that changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// The old name: a field's path with `*` for any name, or a flag behind its command.
    pub old: &'static str,
    /// The new name.
    pub new: &'static str,
    /// The advice where another name is not all; else empty.
    pub note: &'static str,
}

const fn to(old: &'static str, new: &'static str) -> Renamed {
    Renamed { old, new, note: "" }
}

const COUNTS: &str = "Remove it: it counted objects, and what is counted now are claimants, such as Credentials. The default \
                      suits most fleets.";

/// Commands.
pub const COMMANDS: [Renamed; 1] = [to("apply", "deliver")];

/// Flags and arguments of commands.
pub const FLAGS: [Renamed; 13] = [
    to("keygen --identity FILE", "keygen --write-identity FILE"),
    to("log --deny", "log --deny warning"),
    to("plan --adopt REGION", "plan --replace-unsigned REGION"),
    to("plan --credential NAMESPACE/NAME", "plan NAMESPACE/NAME"),
    to("publish --accept-source SOURCE=STATE", "publish --accept-older SOURCE=STATE"),
    to("publish --adopt REGION", "publish --replace-unsigned REGION"),
    to("publish --credential NAMESPACE/NAME", "publish NAMESPACE/NAME"),
    to("rbac --apply", "rbac --deliver"),
    to("rekey --accept-source SOURCE=STATE", "rekey --accept-older SOURCE=STATE"),
    to("render --adopt REGION", "render --replace-unsigned REGION"),
    to("render --credential NAMESPACE/NAME", "render NAMESPACE/NAME"),
    to("render DIR", "render --output-dir DIR"),
    to("verify --live CONTEXT", "verify --live --context CONTEXT"),
];

/// Fields of the configuration.
pub const KEYS: [Renamed; 8] = [
    Renamed {
        note: "Move it there. Every region that does not say otherwise is then delivered to as it says.",
        ..to("delivery", "regionDefaults.delivery")
    },
    to("keep", "keepMetadata"),
    Renamed { note: COUNTS, ..to("limits.deletions.free", "limits.deletions.claimants") },
    Renamed { note: COUNTS, ..to("limits.deletions.objects", "limits.deletions.most") },
    to("limits.handover", "limits.retainReplaced"),
    to("output.git.stamp", "output.git.recordSourceState"),
    to("regions.*.detached", "regions.*.k0rdentPushDisabled"),
    to("regions.*.gate", "regions.*.requireConditions"),
];

/// Codes of findings.
pub const CODES: [Renamed; 25] = [
    to("found-in-credential-namespace", "found-elsewhere"),
    to("found-in-system-namespace", "found-elsewhere"),
    to("invalid-access-management", "unreadable-object"),
    to("invalid-cluster", "invalid-object"),
    to("invalid-credential", "invalid-object"),
    to("invalid-definition", "invalid-object"),
    to("invalid-inventory", "unreadable-object"),
    to("invalid-reference", "invalid-object"),
    to("invalid-region-object", "unreadable-object"),
    to("invalid-resource-set", "invalid-object"),
    to("invalid-sync-rule", "invalid-object"),
    to("invalid-template", "invalid-object"),
    to("malformed-secret", "invalid-object"),
    to("missing-reference-namespace", "invalid-object"),
    to("namespace-missing-on-region", "missing-on-region"),
    to("placement-not-found", "unmatched-entry"),
    to("recipients-not-compared", "not-proved"),
    to("reserved-name", "forbidden-place"),
    to("secret-type-changed", "immutable-field"),
    to("tags-not-verified", "not-proved"),
    to("tampered-file", "not-as-published"),
    to("tie-not-found", "unmatched-entry"),
    to("untied-profile", "untied"),
    to("untied-region", "untied"),
    to("values-not-compared", "not-proved"),
];

impl Renamed {
    /// The last part of the new name, which is all that a field is renamed to.
    pub fn help(&self) -> String {
        match self.note {
            "" => format!("Write `{}`; it means the same.", self.new.rsplit('.').next().unwrap_or(self.new)),
            note => String::from(note),
        }
    }
}

/// The flag, with its command, in place of one that a command does not know.
pub fn flag(command: &str, flag: &str) -> Option<Renamed> {
    FLAGS.into_iter().find(|old| {
        let mut words = old.old.split(' ');
        words.next() == Some(command) && words.next() == Some(flag)
    })
}

/// The field that had this path.
pub fn key(path: &[&str]) -> Option<Renamed> {
    let is_it = |old: &Renamed| {
        let steps = || old.old.split('.');
        steps().count() == path.len() && steps().zip(path).all(|(step, typed)| step == "*" || step == *typed)
    };
    KEYS.into_iter().find(is_it)
}

/// The code that was called this.
pub fn code(text: &str) -> Option<Renamed> {
    CODES.into_iter().find(|renamed| renamed.old == text)
}
