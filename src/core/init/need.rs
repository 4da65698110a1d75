//! Why a draft has a grant, and how sure that is.

use alloc::string::String;

/// Why a grant is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Need {
    /// How sure that is.
    pub sure: Sure,
    /// How the Credential comes to need the object, as a clause.
    pub why: String,
}

/// How sure it is that a grant is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sure {
    /// It is: k0rdent itself reads the object for the Credential, and says that the Credential is ready.
    Certain,
    /// The Credential names it, and k0rdent does not say that the Credential is ready.
    NotReady,
    /// The Credential names it, and k0rdent, for which the Credential is ready, does not read it.
    NotRead,
    /// If the Secret that it names is there.
    IfThere,
    /// To propagate the credential, and not to publish it.
    Propagation,
}
