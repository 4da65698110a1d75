//! What is said of a configuration that was drafted from a cluster.

use std::fmt::Write as _;

use pouch_core::init::examine::Examined;
use pouch_core::init::inventory::TiedTo;
use pouch_core::init::{Draft, Sure};
use pouch_core::report::escape;

/// What is worth knowing of what was written.
pub(super) fn report(out: &mut String, draft: &Draft, examined: &Examined) {
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

/// What became of ClusterProfiles and of Clusters of the registry, and what nobody could see of them.
pub(super) fn report_inventories(
    out: &mut String,
    draft: &Draft,
    left_out: &[(TiedTo, &'static str)],
    unseen: &[String],
) {
    for (name, region) in &draft.regions {
        for tie in &region.described.ties {
            let what = match (region.described.is_known, tie.sure) {
                (_, false) => "may describe its cluster, by the name alone: its tie is not in force (#@)",
                (true, true) => "describes its cluster",
                (false, true) => "is a region of the draft, and no Region of k0rdent's has its name",
            };
            let _ = writeln!(out, "{}", escape(&format!("Region {name}: {} {what}", tie.to)));
        }
    }
    for (object, why) in left_out {
        let _ = writeln!(out, "{}", escape(&format!("{object} is no region of the draft: {why}")));
    }
    for why in unseen {
        let _ = writeln!(out, "Other objects that describe clusters were not seen: {}", escape(why));
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
