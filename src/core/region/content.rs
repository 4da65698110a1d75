//! Content: what a file of a bundle will hold, before anything is sealed.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::claim::Edit;
use crate::closure::Member;
use crate::layout::path::BundlePath;
use crate::name::{ObjectKey, ReadAt, ReadFrom};
use crate::snapshot::Snapshot;

/// The content of one file.
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The bytes that are published under this path.
    Kept(BundlePath),
    /// A Secret that the shell has to seal.
    Seal(Box<Order>),
}

/// An object to be made: what is read, where it lands, and what is rewritten.
#[derive(Clone, Debug)]
pub struct Order {
    /// The object in the snapshot.
    pub read: ObjectKey,
    /// The object on the region.
    pub lands: ObjectKey,
    /// What is rewritten.
    pub edits: Vec<Edit>,
}

impl Order {
    /// What is ordered for a member of a closure.
    pub fn of(member: &Member) -> Self {
        Self { read: member.read.clone(), lands: member.lands.clone(), edits: member.edits.clone() }
    }

    /// Where the Secret was read, as the manifest records it; none of what pouch makes itself.
    pub(super) fn origin(&self) -> Option<ReadFrom> {
        let is_own = self.edits.iter().any(|edit| matches!(edit, Edit::Own(_)));
        (!is_own).then(|| ReadFrom::of(&self.read))
    }

    /// The file in which it was read, if it was in one.
    pub(super) fn read_at(&self, snapshot: &Snapshot) -> Option<ReadAt> {
        self.origin().and_then(|_| snapshot.read_at(&self.read))
    }
}
