//! The arguments of `pouch init`.

use pouch_core::init::SYSTEM_NAMESPACE;

use crate::cli::reach::ReachArgs;

/// Write a commented pouch.yaml, a reuse key, and an age key pair per region.
///
/// With --context, or --kubeconfig, the regions are those of a k0rdent management cluster, and what its
/// Credentials need today is granted, each use by itself and with the Credential's name. Secrets are not
/// read. Keys go to the folder keys/, which first gets a .gitignore that keeps all of it out of git.
/// Nothing that exists is overwritten.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// A region, by the name that Credentials use; repeat it for each.
    #[arg(long = "region", value_name = "NAME", default_value = "region-1", conflicts_with_all = ["context", "kubeconfig"])]
    pub regions: Vec<String>,
    /// The fleet's name.
    #[arg(long, value_name = "NAME", default_value = "fleet")]
    pub fleet: String,
    /// The namespace that k0rdent runs in.
    #[arg(long, value_name = "NAME", default_value = SYSTEM_NAMESPACE)]
    pub system_namespace: String,
    /// How the management cluster is reached.
    #[command(flatten)]
    pub reach: ReachArgs,
}

impl Args {
    /// Arguments that name these regions.
    pub fn regions(names: &[&str]) -> Self {
        Self {
            regions: names.iter().map(|name| (*name).to_owned()).collect(),
            fleet: "fleet".to_owned(),
            system_namespace: SYSTEM_NAMESPACE.to_owned(),
            reach: ReachArgs::default(),
        }
    }
}
