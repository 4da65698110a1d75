//! How clusters are reached: the flags that kubectl has too.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use pouch_core::name::{Variables, variable_fault};

use crate::ambient::Ambient;
use crate::cluster::{Patience, Wanted};
use crate::survey::Reach;

/// What is said below the flags of commands that read sources, of which few are clusters.
pub const ONLY_FOR: &str = "\"Reaching a live cluster\" is needed only if a source, or a region, of the configuration is read from its cluster.";

/// The same below examples and exit codes.
pub fn below(examples: &str) -> String {
    format!("{examples}\n\n{ONLY_FOR}")
}

/// The shortest time that one request may be given.
const SHORTEST: Duration = Duration::from_millis(100);

/// The longest time that one request may be given.
const LONGEST: Duration = Duration::from_hours(1);

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

/// As whom a cluster is asked, and with what patience.
#[derive(Clone, Debug, Default, clap::Args)]
struct Asking {
    /// Act as this user
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// Act as a member of this group; may be given several times
    #[arg(long, value_name = "GROUP", requires = "as_user")]
    as_group: Vec<String>,
    /// Hand the kubeconfig's credential plugin this environment variable too: a name, or its beginning and *; may be
    /// given several times
    #[arg(long, value_name = "NAME", value_parser = variable)]
    plugin_env: Vec<String>,
    /// How long one request may take, such as 30s or 2m; all of a run together may take twenty times as long
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    request_timeout: Option<Duration>,
}

impl ReachArgs {
    /// The context that is named.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Whether a flag names a cluster, or who asks it.
    pub fn names_a_cluster(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some() || self.asking.is_changed()
    }

    /// What the flags mean; paths are relative to the current folder.
    pub fn reach(&self, ambient: &Ambient) -> Reach {
        self.asking.reach(self.kubeconfig.as_ref(), self.context.clone(), ambient)
    }
}

impl Asking {
    fn is_changed(&self) -> bool {
        self.as_user.is_some() || !self.as_group.is_empty() || !self.plugin_env.is_empty()
    }

    fn reach(&self, kubeconfig: Option<&PathBuf>, context: Option<String>, ambient: &Ambient) -> Reach {
        let wanted = Wanted {
            kubeconfig: kubeconfig.map(|path| ambient.cwd().join(path)),
            context,
            as_user: self.as_user.clone(),
            as_groups: self.as_group.clone(),
            plugin_environment: Variables::new(self.plugin_env.clone()),
            service_account: None,
        };
        let patience = self.request_timeout.map(Patience::with_request).unwrap_or_default();
        Reach { wanted, patience }
    }
}

/// A variable that a plugin can be handed.
fn variable(text: &str) -> Result<String, &'static str> {
    variable_fault(text).map_or_else(|| Ok(text.to_owned()), Err)
}

/// A duration as kubectl takes it: a whole number of seconds, or numbers with units, the largest unit first.
/// One request takes between a tenth of a second and an hour.
pub fn duration(text: &str) -> Result<Duration, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed: Result<SignedDuration, _> = if is_number { format!("{text}s").parse() } else { text.parse() };
    let parsed = parsed.map_err(|_| "write a number with a unit, such as 30s, 2m or 1m30s")?;
    let duration = Duration::try_from(parsed).ok().filter(|whole| (SHORTEST..=LONGEST).contains(whole));
    duration.ok_or_else(|| String::from("one request takes between 100ms and 1h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_kubectl() {
        let check = |text: &str, expect: f64| assert_eq!(duration(text).map(|d| d.as_secs_f64()), Ok(expect), "{text}");
        check("30s", 30.0);
        check("5", 5.0);
        check("0030", 30.0);
        check("2m", 120.0);
        check("1m30s", 90.0);
        check("0h1m", 60.0);
        check("1.5s", 1.5);
        check("500ms", 0.5);
        check("100ms", 0.1);
        check("1h", 3600.0);
        check("3600", 3600.0);
    }

    #[test]
    fn what_is_no_duration_is_told_from_one_out_of_bounds() {
        let check = |text: &str, expect: &str| {
            let error = duration(text).unwrap_err();
            assert!(error.contains(expect), "{text}: {error}");
        };
        for text in ["", " ", "s", "-", "1d", "1x", "30s later", "1m 30", "1e3", "１s", "99999999999999999999s"] {
            check(text, "a number with a unit");
        }
        for text in ["0", "0s", "99ms", "2h", "1h1ms", "3601", "-1s", "1s ago", "99999h"] {
            check(text, "between 100ms and 1h");
        }
    }
}
