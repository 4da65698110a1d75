//! What stands beside the folders of the configuration's regions, for who publishes: named as `verify` names it, and
//! no reason to stop.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::book::{Book, FORM_HELP, sets};
use super::delivery::steered;
use super::measure::Measure;
use super::other::other;
use super::region::judged;
use super::tree::{BundleTree, folders};
use crate::destination;
use crate::finding::{Code, Finding};
use crate::layout::form::Form;
use crate::listing::few;

/// How many paths of one folder a finding names.
const MOST_NAMED: usize = 3;

/// Findings about a tree without the folders of the configuration's regions, as `verify` has them.
///
/// Bytes are needed of manifests, and of files that steer git or Flux.
pub fn beside(measure: &Measure<'_>, tree: &BundleTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut others = BTreeMap::new();
    let known = measure.fleet.into_iter().flat_map(destination::all);
    let mut taken: BTreeSet<String> = known.map(|to| String::from(to.directory().as_str())).collect();
    for folder in folders(tree).filter(|folder| !measure.knows(folder)) {
        match measure.fleet.and_then(|fleet| other(fleet, tree, folder)) {
            Some(other) => _ = others.insert(String::from(folder), other),
            None => {
                taken.insert(String::from(folder));
                findings.extend(judged(measure, tree, folder, None).1);
            }
        }
    }
    let fleets = others.values().map(|other| &other.fleet);
    let sets = sets(fleets.chain(measure.fleet.map(|fleet| &fleet.name)));
    let book = Book { measure, regions: BTreeMap::new(), owners: BTreeMap::new(), taken, others, sets };
    let mut strays: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, standing) in tree {
        let is_stray = book.is_stray(path) || book.is_another_spelling(path);
        let is_plain = matches!(standing.form, Form::Plain | Form::Executable);
        if is_stray && is_plain {
            strays.entry(path.split('/').take(2).collect::<Vec<_>>().join("/")).or_default().push(path);
        } else if !is_plain && (is_stray || !path.contains('/') || book.sets.keys().any(|set| set.as_str() == path)) {
            let message = format!("{path} {}", standing.form.words());
            findings.push(measure.find(Code::NotPlainFile, path, 1, message).help(FORM_HELP));
        }
    }
    for (folder, paths) in strays {
        let first = paths.first().copied().unwrap_or(&folder);
        let message =
            format!("{}: among the bundles, but of no region that has a bundle", few(&paths, paths.len(), MOST_NAMED));
        findings.push(
            measure
                .find(Code::UnlistedFile, first, 1, message)
                .help("Find out who put it there and who applies it, and remove it."),
        );
    }
    findings.extend(steered(measure, tree));
    findings
}
