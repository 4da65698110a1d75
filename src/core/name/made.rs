//! Made: the keys of objects that stand in no source, because templates make them.
//!
//! Such an object is found in the namespace that it is made for, and its key says what makes it: what stands in a source
//! cannot be taken for it.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use super::{MadeBy, Name, Namespace, ObjectKey};

impl ObjectKey {
    /// The key under which an object is found that a template makes for a namespace.
    pub fn of_made(kind_and_name: &Self, namespace: &Namespace, by: MadeBy) -> Self {
        Self { namespace: Some(namespace.clone()), made: Some(Arc::new(by)), ..kind_and_name.clone() }
    }

    /// What the object of such a key is, and the template that makes it; none of any other key.
    pub fn made(&self) -> Option<(Self, &Name)> {
        let by = self.made.as_ref()?;
        Some((Self::new(self.kind.clone(), by.lands.clone(), self.name.clone()), &by.template))
    }
}

/// `Kind.group namespace/name`, for people.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &self.kind)
    }
}

impl ObjectKey {
    /// The key with the group of every kind: what is compared with what another release wrote.
    pub fn qualified(&self) -> String {
        let mut text = String::new();
        // Writing to a text never fails.
        _ = self.write(&mut text, &self.kind.qualified());
        text
    }

    fn write(&self, f: &mut impl fmt::Write, kind: &impl fmt::Display) -> fmt::Result {
        let namespace = self.made.as_ref().map_or(&self.namespace, |by| &by.lands);
        match namespace {
            Some(namespace) => write!(f, "{kind} {namespace}/{}", self.name)?,
            None => write!(f, "{kind} {}", self.name)?,
        }
        match &self.made {
            Some(by) => write!(f, " (made by ManagedResource {})", by.template),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn what_a_template_makes_is_shown_as_what_it_is() {
        let cluster_scoped = ObjectKey::new(super::super::GroupKind::new("x.io", "Thing"), None, "a".into());
        for (lands, shown) in [
            (ObjectKey::secret("team-a".into(), "a.b".into()), "Secret team-a/a.b (made by ManagedResource login.x)"),
            (ObjectKey::secret("other".into(), "a".into()), "Secret other/a (made by ManagedResource login.x)"),
            (cluster_scoped, "Thing.x.io a (made by ManagedResource login.x)"),
        ] {
            let by = |in_guests| MadeBy {
                template: "login.x".into(),
                lands: lands.namespace.clone(),
                directory: "eu".into(),
                in_guests,
            };
            let key = ObjectKey::of_made(&lands, &"team-a".into(), by(true));
            assert_eq!(key.namespace, Some("team-a".into()));
            assert_eq!(key.made(), Some((lands.clone(), &"login.x".into())));
            assert_eq!(key.to_string(), shown);
            // It is no other thing of that name, wherever that stands.
            assert_ne!(key, ObjectKey::of_made(&lands, &"team-a".into(), by(false)));
            assert_ne!(key, ObjectKey::new(lands.kind.clone(), key.namespace.clone(), lands.name.clone()));
        }
        let plain = ObjectKey::secret("a".into(), "b".into());
        assert_eq!((plain.made(), plain.to_string()), (None, "Secret a/b".into()));
        assert_eq!(ObjectKey::secret("a".into(), "b@c".into()).to_string(), "Secret a/b@c");
    }
}
