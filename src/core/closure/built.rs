//! Built: names that kustomize changed, and a reference that still has the old one.
//!
//! kustomize puts a hash behind the name of what it generates, and a prefix before all names, and changes the references that
//! it knows: those of Kubernetes' own kinds, and none of an identity.

use alloc::format;
use alloc::string::String;

use crate::name::ObjectKey;
use crate::world::World;

/// Says how kustomize is told of a reference, to stand behind other help, where a build has the object under a longer name.
pub(super) fn renamed(world: &World<'_>, wanted: &ObjectKey) -> Option<String> {
    let built = || world.fleet.sources.iter().filter(|source| source.place.is_built()).map(|source| &source.name);
    // Nothing is looked through where nothing is built.
    built().next()?;
    let is_longer = |key: &ObjectKey| {
        key.namespace == wanted.namespace && key.name != wanted.name && key.name.as_str().contains(wanted.name.as_str())
    };
    let mut objects = world.snapshot.all(&wanted.kind);
    let found = objects.find(|object| is_longer(&object.key) && built().any(|name| *name == object.origin.source))?;
    Some(format!(
        " kustomize built {}: if that is the one, set `generatorOptions: {{disableNameSuffixHash: true}}`, or let `nameReference` \
         in a file of `configurations` name the field.",
        found.key
    ))
}
