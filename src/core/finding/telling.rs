//! Telling: of which of very many objects findings speak.

use alloc::collections::BTreeSet;

use crate::name::{Namespace, ObjectKey};

/// How many objects are told of, whosever they are.
const MOST_TOLD: usize = 16;

/// Of how many namespaces one object is told beyond these.
const MOST_NAMESPACES: usize = 64;

/// What was told so far of one claim: a few objects, and one of each namespace, so that whoever has many hides nobody's.
#[derive(Clone, Default, Debug)]
pub struct Telling {
    told: usize,
    others: usize,
    namespaces: BTreeSet<Option<Namespace>>,
}

impl Telling {
    /// Whether a finding speaks of an object.
    pub fn tells(&mut self, object: &ObjectKey) -> bool {
        let is_first = !self.namespaces.contains(&object.namespace) && self.namespaces.len() < MOST_NAMESPACES;
        if self.told >= MOST_TOLD && !is_first {
            self.others += 1;
            return false;
        }
        self.told += 1;
        self.namespaces.insert(object.namespace.clone());
        true
    }

    /// How many others there are; none where all are told of.
    pub fn others(&self) -> Option<usize> {
        Some(self.others).filter(|others| *others > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn whoever_has_many_hides_nobodys() {
        let object = |namespace: &str, n: usize| ObjectKey::secret(namespace.into(), format!("s{n}").as_str().into());
        let mut telling = Telling::default();
        assert_eq!((0..100).filter(|n| telling.tells(&object("a-first", *n))).count(), MOST_TOLD);
        assert!(telling.tells(&object("team", 0)) && !telling.tells(&object("team", 1)));
        // However many namespaces somebody makes up, there is an end.
        let made = (0..1000).filter(|n| telling.tells(&object(&format!("x-{n}"), 0))).count();
        assert_eq!(made, MOST_NAMESPACES - 2);
        assert_eq!(telling.others(), Some(100 - MOST_TOLD + 1 + 1000 - made));
        assert_eq!(Telling::default().others(), None);
    }
}
