//! Absent: the help where nothing has a key that is referred to.

use alloc::format;
use alloc::string::String;

use super::Snapshot;
use crate::finding::Origin;
use crate::name::ObjectKey;

impl Snapshot {
    /// The place of an object that is ignored, because its own source may not provide it.
    pub fn ignored(&self, key: &ObjectKey) -> Option<&Origin> {
        self.ignored.get(key)
    }

    /// `Did you mean KEY? `, to stand before more help, where nothing has a key; empty where none is near.
    pub fn did_you_mean(&self, key: &ObjectKey, in_any_namespace: bool) -> String {
        let near = self.objects.near(key, in_any_namespace).map(|held| &held.object.key);
        near.map(|near| format!("Did you mean {near}? ")).unwrap_or_default()
    }

    /// The cure where nothing has a key that is referred to. Other namespaces are looked through if `in_any_namespace`.
    pub fn cure_of_absence(&self, key: &ObjectKey, in_any_namespace: bool) -> String {
        match self.ignored(key) {
            Some(origin) => format!(
                "It stands at {origin}, in a source that may not provide it: move it to one that may, or widen `provides` \
                 if you trust everybody who writes that source."
            ),
            None => {
                let meant = self.did_you_mean(key, in_any_namespace);
                format!("{meant}Add the object, or correct the reference.")
            }
        }
    }
}
