//! Unsigned: what stands in a region's folders whose manifest nobody vouches for.
//!
//! A manifest that anybody can have written may leave out what would go. So the files are counted
//! beside it: what lies where the layout has objects counts as one, whatever it holds. It can hold a
//! region and show what would go; nothing is carried over or written by it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::labels::{self, SEALED};
use super::published::{Published, document};
use crate::config::RegionConfig;
use crate::layout::path;
use crate::layout::split::{Part, Splits};
use crate::name::{Directory, GroupKind, ObjectKey, split_api_version};
use crate::node::Node;
use crate::recipient::Recipient;

/// What an unsigned region seems to have published.
pub(super) struct Evidence {
    /// Every object that the manifest claims or a file stands for, by path.
    objects: BTreeMap<path::BundlePath, ObjectKey>,
    /// Whether the manifest claims every object that stands there.
    pub(super) is_whole: bool,
}

impl Evidence {
    /// Looks at what stands there.
    pub(super) fn of(published: &Published, directory: &Directory) -> Self {
        let claimed = published.claimed().map(|manifest| &*manifest.objects).unwrap_or_default();
        let mut objects: BTreeMap<_, _> =
            claimed.iter().map(|object| (object.path.clone(), object.key.clone())).collect();
        let mut is_whole = published.claimed().is_some();
        for (standing, bytes) in &published.files {
            let Some(told) = told(directory, standing) else { continue };
            let supposed = Splits::supposed(directory, [standing.as_str()].into_iter());
            let key = own_key(bytes).filter(|key| supposed.of_object(directory, key).as_str() == standing);
            let key = key.unwrap_or(told);
            let place = path::BundlePath::parse(standing).unwrap_or_else(|| path::of_object(directory, &key));
            objects.entry(place).or_insert_with(|| {
                is_whole = false;
                key
            });
        }
        Self { objects, is_whole }
    }

    /// The file that stands for an object.
    pub(super) fn file(&self, key: &ObjectKey) -> Option<&path::BundlePath> {
        self.objects.iter().find(|(_, other)| *other == key).map(|(path, _)| path)
    }

    /// Its objects.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.objects.values()
    }

    /// What would be withdrawn if only the objects with these keys were left.
    pub(super) fn gone<'k>(&self, directory: &Directory, left: impl Iterator<Item = &'k ObjectKey>) -> Vec<ObjectKey> {
        let splits = Splits::supposed(directory, self.objects.keys().map(path::BundlePath::as_str));
        let places = |key| [path::of_object(directory, key), splits.of_object(directory, key)];
        let left: BTreeSet<_> = left.flat_map(places).collect();
        self.objects.iter().filter(|(path, _)| !left.contains(*path)).map(|(_, key)| key.clone()).collect()
    }
}

/// The region's recipients that the manifest, or the stanzas of a sealed file, do not name.
pub(super) fn added_recipients(published: &Published, region: &RegionConfig) -> Vec<Recipient> {
    let claimed = published.claimed().map(|manifest| &*manifest.recipients).unwrap_or_default();
    let sealed = published.files.iter().filter(|(path, _)| path.ends_with(SEALED));
    let labels: Vec<Vec<&str>> =
        sealed.map(|(_, bytes)| labels::labels(bytes)).filter(|labels| !labels.is_empty()).collect();
    let lacks = |recipient: &&Recipient| {
        let unclaimed = !claimed.is_empty() && !claimed.contains(recipient);
        unclaimed || labels.iter().any(|labels| !labels.contains(&recipient.as_str()))
    };
    region.recipients.iter().filter(lacks).cloned().collect()
}

/// The object that a file says it is.
fn own_key(bytes: &[u8]) -> Option<ObjectKey> {
    let document = document(bytes)?;
    let text = |path: &[&str]| document.str_at(path);
    let (group, _) = split_api_version(text(&["apiVersion"])?);
    let namespace = document.at(&["metadata", "namespace"]).and_then(Node::as_str);
    let key = ObjectKey::new(
        GroupKind::new(group, text(&["kind"])?),
        namespace.map(Into::into),
        text(&["metadata", "name"])?.into(),
    );
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
    // The key goes into lines that are digested: it must not make two lines of one.
    (plain(key.name.as_str()) && plain(key.namespace_text()) && plain(group) && plain(key.kind.kind.as_str()))
        .then_some(key)
}

/// The object that belongs at a path, as far as the path tells; none where the layout has no objects.
pub(super) fn told(directory: &Directory, standing: &str) -> Option<ObjectKey> {
    let rest = standing.strip_prefix(path::region(directory).as_str())?.strip_prefix('/')?;
    let file = standing.rsplit('/').next().unwrap_or_default();
    if file == crate::layout::kustomization::FILE {
        return None;
    }
    let whole = rest.strip_prefix("parts/").and_then(Part::parse).map(|(part, rest)| match part.leaf {
        leaf if leaf.is_of_kind() => format!("identities/{leaf}/{rest}"),
        leaf => format!("{leaf}/{rest}"),
    });
    let rest = whole.as_deref().unwrap_or(rest);
    let (kind, rest) = if let Some(rest) = rest.strip_prefix("core/secrets/") {
        (GroupKind::new("", "Secret"), rest)
    } else if let Some(rest) = rest.strip_prefix("core/configmaps/") {
        (GroupKind::new("", "ConfigMap"), rest)
    } else {
        let (leaf, rest) = rest.strip_prefix("identities/")?.split_once('/')?;
        let (kind, group) = leaf.split_once('.').unwrap_or((leaf, ""));
        (GroupKind::new(&path::component(group), &path::component(kind)), rest)
    };
    let name = rest.strip_suffix(SEALED).or_else(|| rest.strip_suffix(".yaml")).unwrap_or(rest);
    // A name that no layout would have written is made harmless; any other stays as it is.
    let plain = |text: &str| match path::BundlePath::parse(text) {
        Some(_) if !text.contains('/') => text.into(),
        _ => path::component(text),
    };
    let (namespace, name) = match name.split_once('/') {
        Some((namespace, name)) => (Some(plain(namespace).as_str().into()), plain(name)),
        None => (None, plain(name)),
    };
    Some(ObjectKey::new(kind, namespace, name.as_str().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[track_caller]
    fn check(path: &str, expect: &str) {
        let directory = Directory::from("eu");
        let key = told(&directory, path).map(|key| format!("{key}"));
        assert_eq!(key.as_deref().unwrap_or("none"), expect, "{path}");
    }

    #[test]
    fn a_path_tells_which_object_would_go() {
        check("regions/eu/core/secrets/team/db.sops.yaml", "Secret team/db");
        check("regions/eu/core/configmaps/team/db.yaml", "ConfigMap team/db");
        check("regions/eu/identities/awsidentity.infra.x/a.yaml", "awsidentity.infra.x a");
        check("regions/eu/identities/awsidentity.infra.x/n/a.yaml", "awsidentity.infra.x n/a");
        for none in
            ["regions/eu/core/secrets/kustomization.yaml", "regions/eu/bundle.yaml", "regions/us/core/secrets/a/b"]
        {
            check(none, "none");
        }
        check("regions/eu/core/namespaces/team.yaml", "none");
        check("regions/eu/core/secrets/a\nb/c d", "Secret a_0ab/c_20d");
        check("regions/eu/parts/core/of-4/3/secrets/team/db.sops.yaml", "Secret team/db");
        check("regions/eu/parts/awsidentity.infra.x/of-2/0/n/a.yaml", "awsidentity.infra.x n/a");
        for none in ["parts/namespaces/of-1/0/team.yaml", "parts/core/of-3/0/secrets/a/b.sops.yaml"] {
            check(&format!("regions/eu/{none}"), "none");
        }
    }

    #[test]
    fn a_manifest_that_leaves_files_out_is_not_believed() {
        let directory = Directory::from("eu");
        let file = |name: &str| {
            let path = format!("regions/eu/core/secrets/team/{name}.sops.yaml");
            let text = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: team}}\n");
            (path, text.into_bytes())
        };
        let mut files: BTreeMap<String, Vec<u8>> = [file("a"), file("b")].into_iter().collect();
        // What says to be another object counts as the one that belongs there.
        files.insert("regions/eu/core/secrets/team/c.sops.yaml".into(), file("a").1);
        let evidence = Evidence::of(&Published::unexamined(files), &directory);
        assert!(!evidence.is_whole);
        let secret = |name: &str| ObjectKey::secret("team".into(), name.into());
        assert_eq!(evidence.gone(&directory, [secret("a")].iter()), [secret("b"), secret("c")]);
    }
}
