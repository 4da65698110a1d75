//! `pouch init`: a configuration to start from, with its keys.
//!
//! What is written where nothing is known but names stands in [`names`]; what a management cluster tells,
//! `cluster` asks.

mod args;
mod cluster;
pub mod names;

pub use self::args::Args;
use crate::error::{Ended, Failure};
use crate::session::Session;

/// Writes what was asked for, and says what is next.
///
/// # Errors
/// Where a name is no name, a file is there already or the cluster cannot be read (then nothing is
/// written), or a file cannot be written.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let wanted = args.reach.reach(&session.ambient).wanted;
    let text = if wanted.context.is_some() || wanted.kubeconfig.is_some() {
        cluster::draft(session, args)?
    } else if wanted.as_user.is_some() {
        return Err(Failure::usage("--as is for a live cluster, and none is named", "Name one with --context."));
    } else {
        names::draft(args, &session.global.file, &session.ambient)?
    };
    session.ui.result(&text);
    Ok(Ended::Done)
}
