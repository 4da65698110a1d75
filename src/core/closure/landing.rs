//! Landing: where an object is read and where it goes, in both modes (DESIGN §2.3).

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};

use super::reference::NamespaceField;
use crate::claim::{Claim, Edit};
use crate::config::Resolution;
use crate::k0rdent::root::Root;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, Scope};
use crate::node::Key;
use crate::world::World;

/// Where an object is read and where it lands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The object that is read.
    pub read: ObjectKey,
    /// The object that it becomes.
    pub lands: ObjectKey,
}

impl Places {
    fn of(kind: GroupKind, name: Name, read: Option<Namespace>, lands: Option<Namespace>) -> Self {
        Self { read: ObjectKey::new(kind.clone(), read, name.clone()), lands: ObjectKey::new(kind, lands, name) }
    }
}

/// What a reference names.
pub struct Target {
    /// Group and kind.
    pub kind: GroupKind,
    /// The name.
    pub name: Name,
    /// What the namespace field says.
    pub namespace: NamespaceField,
}

/// Where a claim's root is read and lands.
pub fn of_root(world: &World<'_>, claim: &Claim, root: &Root, resolution: Resolution) -> Places {
    let (kind, name) = (root.kind.clone(), root.name.clone());
    if world.scope_of(&kind) == Some(Scope::Cluster) {
        return Places::of(kind, name, None, None);
    }
    match resolution {
        Resolution::AsWritten => {
            let namespace = root.namespace.clone().unwrap_or_else(|| claim.by.namespace().clone());
            Places::of(kind, name, Some(namespace.clone()), Some(namespace))
        }
        Resolution::Kcm => {
            let system = world.fleet.system_namespace.clone();
            Places::of(kind, name, Some(system), Some(claim.by.namespace().clone()))
        }
    }
}

/// Where a reference's target is read and lands, and what is rewritten in the object that names it.
///
/// # Errors
/// The namespace field, where the definition has one and the object lacks it.
pub fn of_reference(
    world: &World<'_>,
    by: &Claimant,
    resolution: Resolution,
    referrer: &ObjectKey,
    target: Target,
    namespace_path: Option<&[Key]>,
) -> Result<(Places, Option<Edit>), String> {
    let Target { kind, name, namespace } = target;
    if world.scope_of(&kind) == Some(Scope::Cluster) {
        return Ok((Places::of(kind, name, None, None), None));
    }
    let said = match namespace {
        NamespaceField::NotDefined => {
            let read = world.snapshot.controller_namespace(world.fleet, by, &referrer.kind, (&kind, &name));
            return Ok((Places::of(kind, name, Some(read.clone()), Some(read)), None));
        }
        NamespaceField::Missing(field) => return Err(field),
        NamespaceField::Says(namespace) => namespace,
    };
    // k0rdent rewrites the path also inside cluster-scoped identities, where two Credentials then fight
    // over it; there the object stays as it is written.
    let rewrites = resolution == Resolution::Kcm && referrer.namespace.is_some();
    if !rewrites {
        return Ok((Places::of(kind, name, Some(said.clone()), Some(said)), None));
    }
    let lands = by.namespace().clone();
    let path = namespace_path.unwrap_or_default().iter().map(|key| (**key).to_owned()).collect();
    let edit = (lands != said).then(|| Edit::Text { path, text: lands.to_string() });
    Ok((Places::of(kind, name, Some(said), Some(lands)), edit))
}
