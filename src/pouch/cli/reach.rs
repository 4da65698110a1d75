//! How clusters are reached: the flags that kubectl has too.

use std::path::PathBuf;
use std::time::Duration;

use crate::ambient::Ambient;
use crate::cluster::{Absence, Manner, Patience, Wanted};
use crate::pipeline::survey::Reach;

/// What is said below the flags of commands that read sources, of which few are clusters.
pub const ONLY_FOR: &str = "\"Reaching a live cluster\" matters only where a source is a `cluster`.";

/// Flags of every command that reads a live cluster; they win over the configuration.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Reaching a live cluster")]
pub struct ReachArgs {
    /// The kubeconfig; by default that of the configuration, then KUBECONFIG, then ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    #[command(flatten)]
    asking: Asking,
}

/// Flags that say which region's cluster is looked at, and how.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Reaching a live cluster")]
pub struct RegionReach {
    /// The kubeconfig; by default KUBECONFIG, then ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    asking: Asking,
}

/// As whom a cluster is asked, and with what patience.
#[derive(Clone, Debug, Default, clap::Args)]
struct Asking {
    /// Act as this user
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// Act as a member of this group; may be given several times
    #[arg(long, value_name = "GROUP", requires = "as_user")]
    as_group: Vec<String>,
    /// How long one request may take, such as 30s or 2m; all of a run together may take twenty times as long
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    request_timeout: Option<Duration>,
}

impl ReachArgs {
    /// What the flags mean; paths are relative to the current folder.
    pub fn reach(&self, ambient: &Ambient) -> Reach {
        self.asking.reach(self.kubeconfig.as_ref(), self.context.clone(), ambient)
    }
}

impl RegionReach {
    /// What the flags mean for the cluster of this context.
    pub fn reach(&self, context: &str, ambient: &Ambient) -> Reach {
        self.asking.reach(self.kubeconfig.as_ref(), Some(context.to_owned()), ambient)
    }
}

impl Asking {
    fn reach(&self, kubeconfig: Option<&PathBuf>, context: Option<String>, ambient: &Ambient) -> Reach {
        let wanted = Wanted {
            kubeconfig: kubeconfig.map(|path| ambient.cwd().join(path)),
            context,
            as_user: self.as_user.clone(),
            as_groups: self.as_group.clone(),
            service_account: None,
        };
        let patience = self.request_timeout.map(Patience::with_request).unwrap_or_default();
        Reach { wanted, manner: Manner { patience, absence: Absence::Proved } }
    }
}

/// A duration as kubectl takes it: a whole number of seconds, or numbers with the units ms, s, m and h.
/// One request takes between a tenth of a second and an hour.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || String::from("write a number with a unit, such as 30s, 2m or 1m30s");
    let mut whole = Duration::ZERO;
    let mut rest = text;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters).ok_or_else(wrong)?;
        let part = match unit {
            "ms" => Duration::from_millis(number),
            "" | "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(number.saturating_mul(60)),
            "h" => Duration::from_secs(number.saturating_mul(3600)),
            _ => return Err(wrong()),
        };
        whole = whole.saturating_add(part);
        rest = after;
    }
    if whole < Duration::from_millis(100) || whole > Duration::from_secs(3600) {
        return Err(String::from("one request takes between 100ms and 1h"));
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_kubectl() {
        let seconds = |text: &str| duration(text).map(|d| d.as_secs_f64());
        for (text, expect) in
            [("30s", 30.0), ("5", 5.0), ("2m", 120.0), ("1m30s", 90.0), ("500ms", 0.5), ("1h", 3600.0)]
        {
            assert_eq!(seconds(text), Ok(expect), "{text}");
        }
        for text in ["", "s", "-1s", "1.5s", "1d", "0", "0s", "99ms", "2h", "1 s", "99999999999999999999s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
