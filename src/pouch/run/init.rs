//! Init: drafts a configuration, and makes the keys that it names.
//!
//! What is written where nothing is known but names stands in [`names`]; what a management cluster tells,
//! `asker` asks and `cluster` drafts from; `add` adds regions to a configuration that is there; what is said of that draft stands in `told`. The key that signs commits is named
//! to `signer`.

mod add;
mod asker;
mod cluster;
pub mod names;
mod signer;
mod told;

pub use self::add::add;
use self::names::Names;
use crate::error::Failure;
use crate::session::Session;
use crate::survey::Reach;

/// Writes what was asked for, and makes what goes to standard output. A cluster is asked where a context or a
/// kubeconfig is named.
///
/// # Errors
/// Where a name is no name, a file is there already or the cluster cannot be read (then nothing is
/// written), or a file cannot be written.
pub fn draft(session: &Session, names: &Names, reach: &Reach) -> Result<String, Failure> {
    let wanted = &reach.wanted;
    if wanted.context.is_some() || wanted.kubeconfig.is_some() {
        cluster::draft(session, names, reach)
    } else if wanted.as_user.is_some() {
        Err(Failure::usage("--as is for a live cluster, and none is named", "Name one with --context."))
    } else {
        Ok(names::draft(names, &session.global.file, &session.ambient)?)
    }
}
