//! What an object takes where the API server keeps it: etcd refuses a request that is too large.
//!
//! The server adds `managedFields`, which name every entry once more, so a Secret with many long names can be too large
//! though its values are few. Source: `DefaultMaxRequestBytes` in `server/embed` of <https://github.com/etcd-io/etcd>.

use alloc::vec::Vec;

use crate::finding::{Code, Fault};
use crate::node::Node;
use crate::object::Object;

/// The most bytes of one request to etcd.
const MOST_OF_REQUEST: usize = 1536 * 1024;

/// What surrounds the entries: keys and ids, what pouch and a consumer add, and the fields of metadata.
const AROUND: usize = 2048;

/// What surrounds an entry's name in `managedFields`: `"f:":{},`.
const AROUND_NAME: usize = 8;

/// The fault of a Secret or ConfigMap that etcd would refuse, with what the API server adds.
pub fn check(object: &Object) -> Option<Fault> {
    let sizes = entries(object);
    if sizes.is_empty() {
        return None;
    }
    let entry = |(name, value): &(usize, usize)| in_protobuf(*name, *value) + *name + AROUND_NAME;
    let kind = object.body.str_at(&["type"]).map(str::len).unwrap_or_default();
    let pairs = object.labels.iter().chain(&*object.annotations);
    let marks = pairs.map(|(key, value)| key.len() * 2 + value.len());
    let sum = sizes.iter().map(entry).chain(marks).sum::<usize>() + AROUND + kind;
    (sum > MOST_OF_REQUEST).then(|| {
        let message = format!(
            "with the names of its {} entries once more, as the API server keeps them, the object has {sum} bytes; etcd \
             takes {MOST_OF_REQUEST}",
            sizes.len()
        );
        Fault::new(Code::TooLarge, message, "Split it, or use fewer or shorter names.")
    })
}

/// How many bytes an entry takes in the object, which is kept as protobuf: a tag and a length before name, value and
/// both together.
fn in_protobuf(name: usize, value: usize) -> usize {
    let counted = |length: usize| {
        let digits = [1_usize << 7, 1 << 14, 1 << 21].into_iter().filter(|bound| length >= *bound).count();
        length + digits + 2
    };
    counted(counted(name) + counted(value))
}

/// The lengths of name and value of each entry of a Secret or ConfigMap.
pub(super) fn entries(object: &Object) -> Vec<(usize, usize)> {
    if let Some(payload) = &object.payload {
        return payload.entries().iter().map(|(name, bytes)| (name.len(), bytes.len())).collect();
    }
    let of = |field: &'static str| {
        let entries = object.at(&[field]).map(Node::entries).unwrap_or_default();
        entries.iter().map(move |(name, node)| {
            let text = node.as_str().unwrap_or_default();
            (name.len(), if field == "data" { text.len() } else { decoded(text) })
        })
    };
    if object.key.kind.is_config_map() { of("data").chain(of("binaryData")).collect() } else { Vec::new() }
}

/// How many bytes a base64 text decodes to.
fn decoded(text: &str) -> usize {
    let digits = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | b'=')).count();
    digits * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    #[test]
    fn names_count_twice() {
        let of = |kind: &str, field: &str, count: usize, length: usize| {
            let name = |n: usize| format!("{n:0length$}");
            let entries: alloc::string::String = (0..count).map(|n| format!("  {:?}: eA==\n", name(n))).collect();
            object(&format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: a, namespace: b}}\n{field}:\n{entries}"))
        };
        let is_large = |kind, field, count| check(&of(kind, field, count, 253)).is_some();
        for (kind, field) in
            [("Secret", "data"), ("Secret", "stringData"), ("ConfigMap", "data"), ("ConfigMap", "binaryData")]
        {
            assert!(!is_large(kind, field, 2_900) && is_large(kind, field, 3_010), "{kind} {field}");
        }
        assert!(check(&of("Secret", "data", 3_010, 100)).is_none());
    }
}
