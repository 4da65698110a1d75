//! Whether a run waits for others on this machine that publish to the same branch.

use std::time::Duration;

use super::reach::duration;

/// How long a run waits unless it is told otherwise.
const USUAL: Duration = Duration::from_mins(30);

/// Flags of commands that push to a branch.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Waiting for another run")]
pub struct TurnArgs {
    /// End at once where another pouch on this machine publishes to the same branch (exit 1), instead of waiting for it
    #[arg(long, conflicts_with = "wait")]
    no_wait: bool,
    /// How long to wait for another pouch on this machine that publishes to the same branch, such as 30s or 10m [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = time)]
    wait: Option<Duration>,
}

fn time(text: &str) -> Result<Duration, String> {
    duration(text)
        .map_err(|_| String::from("write a time from 100ms to 1h, such as 30s; --no-wait does not wait at all"))
}

impl TurnArgs {
    /// How long to wait.
    pub fn most(&self) -> Duration {
        if self.no_wait { Duration::ZERO } else { self.wait.unwrap_or(USUAL) }
    }
}
