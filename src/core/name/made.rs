//! Made: the keys of objects that stand in no source, because templates make them.
//!
//! Such an object is found in the namespace that it is made for, under a name that no API server would take: what stands
//! in a source cannot be taken for it. People never see that name: they are told the object, and the template.

use alloc::string::String;
use core::fmt;

use super::{Name, Namespace, ObjectKey};

/// What stands between the parts of such a name.
const BETWEEN: char = '@';

impl ObjectKey {
    /// The key under which an object is found that a template makes for a namespace. `whose` tells apart what the template
    /// makes for several places.
    pub fn of_made(lands: &ObjectKey, (template, namespace): (&Name, &Namespace), whose: &str) -> Self {
        let elsewhere = match lands.namespace.as_ref() == Some(namespace) {
            true => String::new(),
            false => format!("{}/", lands.namespace_text()),
        };
        let name = format!("{elsewhere}{}{BETWEEN}{template}{BETWEEN}{whose}", lands.name);
        Self::new(lands.kind.clone(), Some(namespace.clone()), Name::from(name.as_str()))
    }

    /// What the object of such a key is, and the template that makes it; none of any other key.
    pub fn made(&self) -> Option<(Self, Name)> {
        let (own, template) = parts(&self.name)?;
        let (namespace, name) = match own.split_once('/') {
            Some(("", name)) => (None, name),
            Some((namespace, name)) => (Some(Namespace::from(namespace)), name),
            None => (self.namespace.clone(), own),
        };
        Some((Self::new(self.kind.clone(), namespace, name.into()), template.into()))
    }
}

/// The template that makes an object, by the name under which that is found.
pub fn template_of(name: &Name) -> Option<Name> {
    parts(name).map(|(_, template)| template.into())
}

fn parts(name: &Name) -> Option<(&str, &str)> {
    let (own, rest) = name.as_str().split_once(BETWEEN)?;
    let (template, _) = rest.split_once(BETWEEN)?;
    Some((own, template))
}

/// `Kind.group namespace/name`, for people.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((own, template)) = self.made() {
            return write!(f, "{own} (made by ManagedResource {template})");
        }
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
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
            let key = ObjectKey::of_made(&lands, (&"login.x".into(), &"team-a".into()), "eu@guests");
            assert_eq!(key.namespace, Some("team-a".into()));
            assert_eq!(key.made(), Some((lands, "login.x".into())));
            assert_eq!(key.to_string(), shown);
        }
        let plain = ObjectKey::secret("a".into(), "b".into());
        assert_eq!((plain.made(), plain.to_string()), (None, "Secret a/b".into()));
        // One of a source that is called so strangely says nothing of a template.
        assert_eq!(ObjectKey::secret("a".into(), "b@c".into()).to_string(), "Secret a/b@c");
    }
}
