//! What others keep in an object beside what was applied: server-side apply leaves it there.
//!
//! Who owns which field stands in an object's metadata, so no value is read. Only entries of Secrets and ConfigMaps count,
//! and who may use an identity: a withdrawn entry would live on, and more would be let in than the bundle says.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::{Code, Finding};
use crate::listing::counted;
use crate::name::ObjectKey;
use crate::node::Node;
use crate::verify::live::stale;

/// The fields that are looked at, as the API server notes them.
const FIELDS: [&[&str]; 4] =
    [&["f:data"], &["f:binaryData"], &["f:spec", "f:allowedNamespaces"], &["f:spec", "f:namespaceSelector"]];

/// How many entries of one object are named; the rest are counted.
const MOST_NAMED: usize = 20;

/// How many entries of `managedFields`, and fields of each, are read.
const MOST_READ: usize = 1_000;

/// How deep fields are read: a label selector has its expressions four levels below the field.
const DEEPEST: usize = 8;

/// Findings about what field managers other than `manager` keep in an object that it has applied.
pub fn beside(key: &ObjectKey, object: &Node, manager: &str) -> Vec<Finding> {
    let managers = object.at(&["metadata", "managedFields"]).map(Node::items).unwrap_or_default();
    let (mut own, mut others): (BTreeSet<String>, BTreeMap<String, BTreeSet<&str>>) = Default::default();
    let mut is_applied = false;
    for entry in managers.iter().take(MOST_READ) {
        let Some((name, fields)) = entry.str_at(&["manager"]).zip(entry.get("fieldsV1")) else { continue };
        let is_own = name == manager && entry.str_at(&["operation"]) == Some("Apply");
        is_applied |= is_own;
        for path in paths(fields) {
            if is_own {
                own.insert(path);
            } else {
                others.entry(path).or_default().insert(name);
            }
        }
    }
    if !is_applied {
        return Vec::new();
    }
    // What is owned as a whole has nothing below it, whoever else names some; but a field that is empty has nothing yet.
    let is_within = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
    let is_empty = |path: &str| path.matches('.').count() < 2;
    let is_whole = |ours: &str, path: &str| !is_empty(ours) && is_within(path, ours);
    let is_ours = |path: &str| own.iter().any(|ours| ours == path || is_whole(ours, path) || is_within(ours, path));
    others.retain(|path, _| !is_ours(path));
    let more = others.len().saturating_sub(MOST_NAMED);
    let finding = |(path, owners): (&String, &BTreeSet<&str>)| {
        let managers = if owners.len() == 1 { "field manager" } else { "field managers" };
        let owners = stale::told(owners);
        let message =
            format!("{key} has {path} on the region, which the bundle does not have; {managers} {owners} set it");
        Finding::new(Code::StaleEntry, message)
            .about(key)
            .help("Remove it there by hand: applying the bundle leaves what another field manager owns.")
    };
    let mut findings: Vec<Finding> = others.iter().take(MOST_NAMED).map(finding).collect();
    if more > 0 {
        let message = format!("{key} has {} on the region too", counted(more, "more such entry", "more such entries"));
        findings.push(Finding::new(Code::StaleEntry, message).about(key).help("Look at who writes the object there."));
    }
    findings
}

/// The paths that end below the fields, without the marks of the API server.
fn paths(fields: &Node) -> Vec<String> {
    let mut found = Vec::new();
    for field in FIELDS {
        let Some(node) = fields.at(field) else { continue };
        let start = field.iter().map(|part| part.trim_start_matches("f:")).collect::<Vec<_>>().join(".");
        let mut left = Vec::from([(start, node, 0)]);
        while let Some((path, node, depth)) = left.pop() {
            let below: Vec<_> = node.entries().iter().filter(|(name, _)| **name != *".").collect();
            if below.is_empty() || depth >= DEEPEST {
                // An empty map is no entry.
                if depth > 0 || field.len() > 1 {
                    found.push(path);
                }
            } else if found.len() < MOST_READ {
                left.extend(
                    below
                        .into_iter()
                        .map(|(name, node)| (format!("{path}.{}", name.trim_start_matches("f:")), node, depth + 1)),
                );
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Interner;
    use crate::yaml::read::{Document, read};

    #[test]
    fn what_others_keep_is_told_by_who_keeps_it() {
        let check = |own: &str, other: &str, expect: &[&str]| {
            let text = format!(
                "{{metadata: {{managedFields: [{{manager: pouch.a.b, operation: Apply, fieldsV1: {own}}}, {{manager: kcm, \
                 operation: Update, fieldsV1: {other}}}]}}}}"
            );
            let node = read(&Document::whole(&text), &mut Interner::new()).unwrap();
            let key = ObjectKey::secret("n".into(), "s".into());
            let told: Vec<String> =
                beside(&key, &node, "pouch.a.b").into_iter().map(|finding| finding.message).collect();
            let whole = |path: &&str| {
                format!("Secret n/s has {path} on the region, which the bundle does not have; field manager kcm set it")
            };
            assert_eq!(told, expect.iter().map(whole).collect::<Vec<_>>(), "{own}, {other}");
        };
        let data = "{'f:data': {'.': {}, 'f:a': {}}}";
        check(
            data,
            "{'f:data': {'.': {}, 'f:a': {}, 'f:b': {}}, 'f:metadata': {'f:labels': {'f:x': {}}}}",
            &["data.b"],
        );
        check(data, "{'f:data': {'f:a': {}}}", &[]);
        check(data, "{'f:data': {'.': {}}, 'f:binaryData': {'f:c.d': {}}}", &["binaryData.c.d"]);
        check("{'f:type': {}}", "{'f:data': {'f:b': {}}}", &["data.b"]);
        let who = |below: &str| format!("{{'f:spec': {{'f:allowedNamespaces': {below}, 'f:x': {{}}}}}}");
        check(
            &who("{'f:selector': {'f:matchLabels': {'f:a': {}}}}"),
            &who("{'f:list': {}}"),
            &["spec.allowedNamespaces.list"],
        );
        check(&who("{'f:list': {}}"), &who("{'.': {}, 'f:list': {}}"), &[]);
        check(&who("{'f:selector': {}}"), &who("{'f:selector': {'f:matchLabels': {}}}"), &[]);
        check(&who("{}"), &who("{'f:list': {}}"), &["spec.allowedNamespaces.list"]);
        // What pouch has not applied, it says nothing of.
        let key = ObjectKey::secret("n".into(), "s".into());
        let text = format!("{{metadata: {{managedFields: [{{manager: kcm, operation: Update, fieldsV1: {data}}}]}}}}");
        assert!(beside(&key, &read(&Document::whole(&text), &mut Interner::new()).unwrap(), "pouch.a.b").is_empty());
    }
}
