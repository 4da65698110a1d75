//! `pouch keygen`: an age key pair, and the Secret that a region's Flux or Argo CD wants; or a reuse key.

use std::path::PathBuf;

use super::reach::ReachArgs;
use crate::error::{Ended, Failure};
use crate::run::keygen::{self, Consumer, Order};
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch keygen eu-west
  pouch keygen eu-west --manifest secret.yaml
  pouch keygen --escrow
  pouch keygen --reuse-key

Exit codes: 0 made; 64 usage or configuration, or a file that would be written is there already.";

/// Make an age key pair for a region, and the Secret that its Flux or Argo CD wants
///
/// The identity goes to keys/REGION.txt beside the configuration, readable for its owner only, in a folder
/// that git ignores; the recipient, and nothing else, to stdout. Nothing that exists is overwritten, in no
/// folder and on no cluster, and pouch.yaml is not edited: what to write there is said. A run that makes no
/// key leaves nothing behind but the folder keys/ with its .gitignore. The region may be one that the
/// configuration does not have yet.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "pouch keygen [OPTIONS] REGION\n       pouch keygen [OPTIONS] --escrow\n       pouch keygen \
                            [OPTIONS] --reuse-key [FILE]"
)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The region, by the name that Credentials use
    #[arg(value_name = "REGION")]
    region: Option<String>,
    /// Make a pair for `escrowRecipients`, which opens every region's bundle, instead of one for a region
    #[arg(long, conflicts_with_all = ["region", "manifest", "context", "kubeconfig", "consumer"])]
    escrow: bool,
    /// Make a reuse key instead [default: keys/reuse.key beside the configuration]
    #[arg(long, value_name = "FILE", num_args = 0..=1,
          conflicts_with_all = ["region", "escrow", "write_identity", "manifest", "context", "kubeconfig", "consumer"])]
    reuse_key: Option<Option<PathBuf>>,
    /// Where the identity goes [default: keys/REGION.txt, with --escrow keys/escrow.txt, beside the configuration]
    #[arg(long, value_name = "FILE")]
    write_identity: Option<PathBuf>,
    /// Write the Secret as a manifest to FILE too, or with `-` to stdout in place of the recipient
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// What reads the Secret [default: what the configuration delivers the region with, else flux]
    #[arg(long = "for", id = "consumer", value_name = "WHOM")]
    consumer: Option<Consumer>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs the command.
///
/// # Errors
/// Where something is there already or git would take it (then at most `keys/.gitignore` is written), or a
/// file or the Secret cannot be made.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    if let Some(file) = &args.reuse_key {
        return keygen::reuse_key(session, file.as_deref());
    }
    let order = Order {
        region: args.region.as_deref(),
        is_escrow: args.escrow,
        identity: args.write_identity.as_deref(),
        manifest: args.manifest.as_deref(),
        consumer: args.consumer,
        reach: args.reach.reach(&session.ambient),
    };
    keygen::pair(session, &order)
}
