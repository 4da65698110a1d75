//! `pouch unpack`: a region's bundle in clear, for whoever applies it without Flux or KSOPS.

use pouch_core::listing::counted;

use super::bundle::{BundleArgs, InClear};
use crate::error::{Ended, Failure};
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch unpack . --region eu-west --identity keys/eu-west.txt | kubectl apply --server-side -f -
  pouch unpack bundles/regions/eu-west --identity-command ./print-identity
  pouch unpack /srv/fleet.git --rev main --region eu-west --allowed-signers signers

Exit codes: 0 all of it was printed; 8 something is wrong with the bundle, and nothing was printed; 5 it cannot be \
read; 64 usage, or an identity that does not open it.";

/// Print a region's bundle in clear, as manifests in the order to apply them
///
/// Nothing is printed unless all of it is right: the manifest lists every file, every file is what the
/// manifest says, every Secret opens and its MAC holds. Nothing is written to disk. It is what a plugin of
/// Argo CD runs, what a region without Flux or Argo CD applies, and what is left when all else is lost.
///
/// Beside PATH no configuration is looked for, as whoever writes there could have put one there: name it with
/// -f to have the reuse key vouch for the bundle as well.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    bundle: BundleArgs,
    /// Print to a terminal
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let Session { ui, ambient, .. } = session;
    if ambient.stdout_is_terminal() && !args.force {
        return Err(Failure::usage(
            "this prints Secrets in clear, and standard output is a terminal",
            "Pipe it to what applies it, such as `kubectl apply --server-side -f -`; --force prints it here.",
        ));
    }
    let InClear { region, unpacked, .. } = args.bundle.open(session, &|_, _| {})?;
    let Some(unpacked) = unpacked else {
        ui.error("nothing was printed, because something is wrong with the bundle", "");
        return Ok(Ended::Fault);
    };
    ui.hand_out(&unpacked.text);
    ui.detail(&format!("region {region}: {}", counted(unpacked.objects(), "object", "objects")));
    Ok(Ended::Done)
}
