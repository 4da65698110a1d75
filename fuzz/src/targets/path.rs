//! Names that become parts of paths: harmless on every file system, and never two for one.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pouch_core::layout::path::{component, delivery_name, of_object};
use pouch_core::layout::{BundlePath, Leaf};
use pouch_core::name::{Directory, GroupKind, ObjectKey, is_dns_subdomain};

/// Paths that were made are kept up to here, so that one meets the names of many inputs.
const KEPT: usize = 100_000;

thread_local! {
    static SEEN: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
}

/// The lines are a name, a namespace, a kind and a group.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut fields = text.splitn(4, '\n').chain(std::iter::repeat(""));
    let mut next = || fields.next().unwrap_or_default();
    let (name, namespace, kind, group) = (next(), next(), next(), next());
    for text in [name, namespace, kind, group] {
        harmless(&component(text));
        different(format!("component/{}", component(text)), text);
        let delivery = delivery_name(text);
        assert!(is_dns_subdomain(&delivery) && delivery.len() <= 63, "{delivery} is no name for an API");
        assert!(!is_dns_subdomain(text) || text.len() > 63 || delivery == text, "a good name was changed");
    }
    // A name that another one is written as must not meet it.
    for near in [component(name), format!("{name}."), format!(".{name}"), format!("{name}_"), name.replace('.', "_2e")]
    {
        different(format!("component/{}", component(&near)), &near);
    }
    let directory = Directory::from("eu-west");
    let keys = [
        ObjectKey::secret(namespace.into(), name.into()),
        ObjectKey::config_map(namespace.into(), name.into()),
        ObjectKey::namespace(&name.into()),
        ObjectKey::new(GroupKind::new(group, kind), Some(namespace.into()), name.into()),
        ObjectKey::new(GroupKind::new(group, kind), None, name.into()),
    ];
    for key in keys {
        // Namespaces in paths: none is the same as the empty one, and no API has an empty one.
        if key.namespace.as_ref().is_some_and(|namespace| namespace.as_str().is_empty()) {
            continue;
        }
        let path = of_object(&directory, &key);
        assert_eq!(BundlePath::parse(path.as_str()).as_ref(), Some(&path), "our own path is refused");
        path.as_str().split('/').for_each(harmless);
        let kind = key.kind.kind.as_str().to_ascii_lowercase();
        let group = key.kind.group.as_str();
        // `Secret` and `secret` differ in case alone, and no API serves both.
        if group.is_empty() && matches!(kind.as_str(), "secret" | "configmap" | "namespace") {
            continue;
        }
        different(path.to_string(), &format!("{group:?} {kind:?} {:?} {:?}", key.namespace, key.name));
        if let Some(leaf) = Leaf::of_path(&directory, path.as_str()) {
            assert_eq!(leaf, Leaf::of(&key.kind));
        }
    }
}

/// One part of a path, for every file system and every git.
fn harmless(part: &str) {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
    assert!((1..=255).contains(&part.len()) && part.bytes().all(plain), "{part:?}");
    assert!(!part.starts_with('.') && !part.ends_with('.'), "{part:?}");
    let stem = part.split('.').next().unwrap_or_default();
    let numbered = |start: &str| {
        stem.strip_prefix(start).is_some_and(|n| n.len() == 1 && n != "0" && n.as_bytes()[0].is_ascii_digit())
    };
    assert!(
        !matches!(stem, "con" | "prn" | "aux" | "nul") && !numbered("com") && !numbered("lpt"),
        "{part:?} is reserved"
    );
}

/// What was made of one thing must not be made of another, nor differ from it in case alone.
fn different(made: String, of: &str) {
    assert_eq!(made, made.to_lowercase());
    SEEN.with_borrow_mut(|seen| {
        if let Some(earlier) = seen.get(&made) {
            assert_eq!(earlier, of, "both are written as {made}");
        } else if seen.len() < KEPT {
            seen.insert(made, of.to_owned());
        }
    });
}
