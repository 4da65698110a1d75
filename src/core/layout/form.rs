//! What can stand at a path where bundles are.

/// The largest file that is read, in bytes.
pub const MOST_BYTES: u64 = 64 << 20;

/// What a path of the tree is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Form {
    /// A plain file.
    Plain,
    /// A file that git marks as executable.
    Executable,
    /// A symlink.
    Link,
    /// A submodule: another repository.
    Submodule,
    /// A device, a pipe or the like, or a name that is no text.
    Special,
    /// A file of more than [`MOST_BYTES`].
    Large,
    /// A folder that stands in many places of the tree, and is not looked into again.
    Repeated,
}

impl Form {
    /// Words that follow a path.
    pub fn words(self) -> &'static str {
        match self {
            Form::Plain => "is a plain file",
            Form::Executable => "is marked as executable",
            Form::Link => "is a symlink",
            Form::Submodule => "is a submodule",
            Form::Special => "is no plain file",
            Form::Large => "is larger than 64 MiB",
            Form::Repeated => "is a folder that stands in too many places",
        }
    }
}
