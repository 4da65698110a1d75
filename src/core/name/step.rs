//! Steps: the chain that leads from a claimant to an object, as data.

use alloc::string::{String, ToString as _};
use core::fmt;

use super::{Name, ObjectKey};

/// One step of a chain.
///
/// Nothing is read back from what it shows of itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// An object, or the configuration, names the next in a field.
    Field {
        /// The ProviderInterface that defines the reference; none where pouch itself knows it.
        interface: Option<Name>,
        /// The path of the field, such as `spec.secretRef`, or what a companion is.
        field: String,
    },
    /// A rule of this AccessManagement makes the claimant, and hands out a Credential of the system namespace.
    AccessRule(Name),
    /// A ResourceSyncRule takes the object.
    Rule(Name),
    /// A ManagedResource makes it.
    Template(Name),
    /// An object that the template before it was given.
    Data(ObjectKey),
    /// A step that this release does not know: one of another release, or the words of an earlier format.
    Opaque(String),
}

impl Step {
    /// A field that no ProviderInterface defines.
    pub fn field(field: impl Into<String>) -> Self {
        Self::Field { interface: None, field: field.into() }
    }

    /// The path of the field, if it is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Field { field, .. } => Some(field),
            Self::AccessRule(_) | Self::Rule(_) | Self::Template(_) | Self::Data(_) | Self::Opaque(_) => None,
        }
    }

    /// The ProviderInterface that defines it, if one does.
    pub fn interface(&self) -> Option<&Name> {
        match self {
            Self::Field { interface, .. } => interface.as_ref(),
            Self::AccessRule(_) | Self::Rule(_) | Self::Template(_) | Self::Data(_) | Self::Opaque(_) => None,
        }
    }

    /// The ResourceSyncRule, if one takes the object.
    pub fn rule(&self) -> Option<&Name> {
        match self {
            Self::Rule(rule) => Some(rule),
            Self::Field { .. } | Self::AccessRule(_) | Self::Template(_) | Self::Data(_) | Self::Opaque(_) => None,
        }
    }

    /// The ManagedResource, if one makes the object.
    pub fn template(&self) -> Option<&Name> {
        match self {
            Self::Template(template) => Some(template),
            Self::Field { .. } | Self::AccessRule(_) | Self::Rule(_) | Self::Data(_) | Self::Opaque(_) => None,
        }
    }

    /// The object that a template was given, if it is one.
    pub fn data(&self) -> Option<&ObjectKey> {
        match self {
            Self::Data(key) => Some(key),
            Self::Field { .. } | Self::AccessRule(_) | Self::Rule(_) | Self::Template(_) | Self::Opaque(_) => None,
        }
    }
}

/// For people: a field as it is, and who else leads on with the kind.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { field: text, .. } | Self::Opaque(text) => f.write_str(text),
            Self::AccessRule(name) => write!(f, "AccessManagement {name}"),
            Self::Rule(rule) => write!(f, "ResourceSyncRule {rule}"),
            Self::Template(template) => write!(f, "ManagedResource {template}"),
            Self::Data(key) => key.fmt(f),
        }
    }
}

/// A chain without the rule that makes the claimant: whoever makes a claimant, the same steps lead on from it.
pub fn behind_claimant(chain: &[Step]) -> &[Step] {
    match chain {
        [Step::AccessRule(_), rest @ ..] => rest,
        _ => chain,
    }
}

/// Returns true if a rule of an AccessManagement makes the claimant of a chain.
pub fn is_handed_out(chain: &[Step]) -> bool {
    matches!(chain, [Step::AccessRule(_), ..])
}

/// The end of a chain for people: the last step, and a template with all that it was given. None of a chain without steps.
pub fn shown(chain: &[Step]) -> Option<String> {
    let chain = behind_claimant(chain);
    let at = chain.iter().rposition(|step| step.data().is_none())?;
    let (last, given) = chain.get(at..)?.split_first()?;
    let mut text = last.to_string();
    for (at, key) in given.iter().enumerate() {
        text.push_str(if at == 0 { " with " } else { ", " });
        text.push_str(&key.to_string());
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_chain_is_shown_with_what_a_template_was_given() {
        let data = |name: &str| Step::Data(ObjectKey::secret("registry".into(), name.into()));
        for (chain, expect) in [
            (&[][..], None),
            (&[Step::field("a"), Step::field("spec.secretRef")], Some("spec.secretRef")),
            (&[Step::Rule("pull".into())], Some("ResourceSyncRule pull")),
            (&[Step::Template("login".into())], Some("ManagedResource login")),
            (
                &[Step::Template("login".into()), data("a"), data("b")],
                Some("ManagedResource login with Secret registry/a, Secret registry/b"),
            ),
            (&[Step::Opaque("guests.a: of another format".into())], Some("guests.a: of another format")),
            (&[data("a")], None),
        ] {
            assert_eq!(shown(chain).as_deref(), expect);
        }
    }
}
