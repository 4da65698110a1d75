//! `pouch init`: a configuration to start from, with its keys.

use pouch_core::init::SYSTEM_NAMESPACE;

use super::reach::ReachArgs;
use crate::error::{Ended, Failure};
use crate::run::init::draft;
use crate::run::init::names::Names;
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch init --fleet acme --region eu-west --region us-east
  pouch init --context mgmt                   drafted from what a management cluster has

Exit codes: 0 written; 5 the cluster cannot be read; 64 usage, or something that would be written is there
already.";

/// Write a commented pouch.yaml, a reuse key, and an age key pair per region.
///
/// With --context, or --kubeconfig, the regions are those of a k0rdent management cluster, and what its
/// Credentials need today is granted, each use by itself and with the Credential's name. Secrets are not
/// read. Keys go to the folder keys/, which first gets a .gitignore that keeps all of it out of git.
/// Nothing that exists is overwritten.
#[derive(clap::Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A region, by the name that Credentials use; repeat it for each.
    #[arg(long = "region", value_name = "NAME", default_value = "region-1", conflicts_with_all = ["context", "kubeconfig"])]
    regions: Vec<String>,
    /// The fleet's name.
    #[arg(long, value_name = "NAME", default_value = "fleet")]
    fleet: String,
    /// The namespace that k0rdent runs in.
    #[arg(long, value_name = "NAME", default_value = SYSTEM_NAMESPACE)]
    system_namespace: String,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs the command.
///
/// # Errors
/// Where a name is no name, a file is there already or the cluster cannot be read (then nothing is
/// written), or a file cannot be written.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let Args { regions, fleet, system_namespace, reach } = args;
    let names = Names { regions: regions.clone(), fleet: fleet.clone(), system_namespace: system_namespace.clone() };
    session.ui.result(&draft(session, &names, &reach.reach(&session.ambient))?);
    Ok(Ended::Done)
}
