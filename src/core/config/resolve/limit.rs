//! Bounds of one run, acceptances, and the severities of findings.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, quoted, suggest};
use super::super::file::{AcceptFile, LevelWord, LimitsFile};
use super::super::{Accept, Acceptance, Deletions, GitLimits, Limits, RegionConfig, SourceLimits, is_digest};
use crate::finding::{Class, Code, Severity};
use crate::name::Region;
use crate::nearest::suggested;

/// Resolves `limits`.
pub(super) fn resolve(typed: &LimitsFile, regions: &BTreeMap<Region, RegionConfig>, faults: &mut Faults) -> Limits {
    let at = FieldPath::root().key("limits");
    let mut number = |value: u32, least: u32, most: u32, path: FieldPath| {
        if value < least || value > most {
            let help = format!("Write a number from {least} to {most}.");
            faults.add(&path, format!("{value} is out of range"), help);
        }
        usize::try_from(value).unwrap_or(usize::MAX)
    };
    let (deletions, sources) = (at.key("deletions"), at.key("sources"));
    let sealed = typed.sealed_bytes_per_namespace.bytes().filter(|bytes| *bytes > 0);
    let mut limits = Limits {
        deletions: Deletions {
            claimants: number(typed.deletions.claimants, 0, u32::MAX, deletions.key("claimants")),
            percent: number(typed.deletions.percent, 0, 100, deletions.key("percent")),
            most: number(typed.deletions.most, 0, u32::MAX, deletions.key("most")),
            keep: number(typed.deletions.keep, 0, 100, deletions.key("keep")),
            window: 0,
        },
        handover: 0,
        reseal_percent: number(typed.reseal.percent, 0, 100, at.key("reseal").key("percent")),
        accept: Vec::new(),
        sources: SourceLimits {
            documents: number(typed.sources.documents, 1, u32::MAX, sources.key("documents")),
            nodes: number(typed.sources.nodes, 1, u32::MAX, sources.key("nodes")),
            bytes: number(typed.sources.bytes, 1, u32::MAX, sources.key("bytes")),
            copied_bytes: number(typed.sources.copied_bytes, 0, u32::MAX, sources.key("copiedBytes")),
        },
        git: GitLimits { idle: 0, total: 0, settle: 0 },
        attempts: number(typed.attempts, 1, 100, at.key("attempts")),
        objects_per_region: typed.objects_per_region.map(|most| number(most, 1, u32::MAX, at.key("objectsPerRegion"))),
        objects_per_leaf: typed.objects_per_leaf.map(|most| number(most, 1, u32::MAX, at.key("objectsPerLeaf"))),
        objects_per_namespace: number(typed.objects_per_namespace, 1, u32::MAX, at.key("objectsPerNamespace")),
        credentials_per_namespace: number(
            typed.credentials_per_namespace,
            1,
            u32::MAX,
            at.key("credentialsPerNamespace"),
        ),
        sealed_bytes_per_namespace: sealed.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX),
    };
    if sealed.is_none() {
        let help = "Write a number of bytes above 0, such as 16Mi; units are Ki, Mi and Gi.";
        faults.add(&at.key("sealedBytesPerNamespace"), "this is no number of bytes", help);
    }
    if limits.deletions.most < limits.deletions.claimants {
        let help = "Raise `most`, or lower `claimants`: it is the most in any case.";
        faults.add(&deletions.key("most"), "this is less than `claimants`", help);
    }
    let git = at.key("git");
    for (text, path, least, example, into) in [
        (&typed.deletions.window, deletions.key("window"), 0, "24h", &mut limits.deletions.window),
        (&typed.handover, at.key("handover"), 0, "1h", &mut limits.handover),
        (&typed.git.idle, git.key("idle"), 1, "2m", &mut limits.git.idle),
        (&typed.git.total, git.key("total"), 1, "1h", &mut limits.git.total),
        (&typed.git.settle, git.key("settle"), 0, "30s", &mut limits.git.settle),
    ] {
        match seconds(text).filter(|seconds| *seconds >= least) {
            Some(seconds) => *into = seconds,
            None => {
                let message = format!("{} is not a duration", quoted(text));
                let least = if least > 0 { " above 0" } else { "" };
                let help = format!("Write a number{least} with s, m, h or d, such as `{example}`.");
                faults.add(&path, message, help);
            }
        }
    }
    for (index, typed) in typed.accept.iter().enumerate() {
        limits.accept.extend(acceptance(typed, &at.key("accept").index(index), regions, faults));
    }
    limits
}

/// The seconds of a duration such as `24h`; none if it is not one.
fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return None,
    };
    let plain = number.bytes().all(|b| b.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| plain)?.checked_mul(unit)
}

fn acceptance(
    typed: &AcceptFile,
    path: &FieldPath,
    regions: &BTreeMap<Region, RegionConfig>,
    faults: &mut Faults,
) -> Option<Acceptance> {
    if !regions.contains_key(typed.region.as_str()) {
        let message = format!("there is no region {}", quoted(&typed.region));
        let known: Vec<&str> = regions.keys().map(Region::as_str).collect();
        faults.add(&path.key("region"), message, suggest(&typed.region, known));
    }
    let (what, field, digest) = match (&typed.deletions, &typed.recipients, &typed.reseal) {
        (Some(digest), None, None) => (Accept::Deletions, "deletions", digest),
        (None, Some(digest), None) => (Accept::Recipients, "recipients", digest),
        (None, None, Some(digest)) => (Accept::Reseal, "reseal", digest),
        _ => {
            let help = "Write one of `deletions`, `recipients` and `reseal`; add an entry for each further one.";
            faults.add(path, "an acceptance lets exactly one thing through", help);
            return None;
        }
    };
    if !is_digest(digest) {
        let help = "Copy the 16 hex digits that the finding's help line prints for the region.";
        faults.add(&path.key(field), format!("{} is not a digest", quoted(digest)), help);
    }
    if typed.namespace.is_some() && !what.is_by_namespace() {
        let help = "Remove it: recipients and values are a region's.";
        faults.add(&path.key("namespace"), String::from("this acceptance is for a whole region"), help);
    }
    let namespace = typed.namespace.as_deref().map(Into::into);
    Some(Acceptance { region: Region::from(typed.region.as_str()), namespace, what, digest: digest.clone() })
}

/// Resolves `findings`.
pub(super) fn severities(typed: &BTreeMap<String, LevelWord>, faults: &mut Faults) -> BTreeMap<Code, Option<Severity>> {
    let at = FieldPath::root().key("findings");
    let mut severities = BTreeMap::new();
    for (text, level) in typed {
        let path = at.key(text);
        let Some(code) = Code::parse(text) else {
            let help = match suggested(text, Code::ALL.iter().map(|code| code.text())) {
                Some(code) => format!("Did you mean {code:?}?"),
                None => String::from("docs/findings.md lists all codes."),
            };
            faults.add_at_key(&path, format!("there is no finding {}", quoted(text)), help);
            continue;
        };
        let severity = match level {
            LevelWord::Error => Some(Severity::Error),
            LevelWord::Warning => Some(Severity::Warning),
            LevelWord::Info => Some(Severity::Info),
            LevelWord::Off => None,
        };
        // The class decides what is published, or whether a bundle passes `verify`; a milder word would only hide that.
        let stops = matches!(code.class(), Class::Refused | Class::Broken | Class::Held | Class::Fault);
        if stops && severity != Some(Severity::Error) {
            let message = format!("findings of the class {} cannot be lowered", code.class().word());
            let help = match code.class() {
                Class::Fault => "Remove the entry, and cure the finding.",
                _ => "Remove the entry; cure the finding, or pass the flag in its help line.",
            };
            faults.add(&path, message, help);
            continue;
        }
        severities.insert(code, severity);
    }
    severities
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::GitLimitsFile;

    #[test]
    fn git_may_take_any_time_but_none() {
        let resolved = |git: GitLimitsFile| {
            let mut faults = Faults::default();
            let git = resolve(&LimitsFile { git, ..LimitsFile::default() }, &BTreeMap::new(), &mut faults).git;
            (git, faults.into_errors())
        };
        let (git, faults) = resolved(GitLimitsFile::default());
        assert_eq!((git.idle, git.total, git.settle, faults.is_empty()), (120, 3600, 30, true));
        let (git, faults) = resolved(GitLimitsFile { settle: "0s".into(), ..GitLimitsFile::default() });
        assert!(git.settle == 0 && faults.is_empty());
        for idle in ["0s", "1w", "", "-1s", "1.5m", "s"] {
            assert!(!resolved(GitLimitsFile { idle: idle.into(), ..GitLimitsFile::default() }).1.is_empty(), "{idle}");
        }
    }
}
