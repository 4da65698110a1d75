//! `pouch init`: a configuration to start from, with its keys.

use std::path::PathBuf;

use clap::ValueEnum;
use pouch_core::config::ArgoMode;
use pouch_core::init::SYSTEM_NAMESPACE;
use pouch_core::init::setup::{Consumer, is_plain_context};
use pouch_core::nearest::did_you_mean;

use super::reach::ReachArgs;
use crate::error::{Ended, Failure};
use crate::run::init::names::{NamedRegion, Names};
use crate::run::init::{add, draft};
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch init --fleet acme --region eu-west --region us-east
  pouch init --region eu-west=flux --region us-east=argocd --region ap-south=none --repository URL
  pouch init --context mgmt                   drafted from what a management cluster has
  pouch init --add-region ap-south=flux       to the configuration that is there
  pouch init --with flux --repository https://git.example.com/acme/fleet.git --region eu-west
  pouch init --with flux --hub hub --repository https://git.example.com/acme/fleet.git
  pouch init --with flux --repository https://git.example.com/fleet.git --signing-key keys/signer

Exit codes: 0 written; 5 the cluster cannot be read; 64 usage, or something that would be written is there \
already.";

/// Write a commented pouch.yaml, a reuse key, and an age key pair per region.
///
/// With --context, or --kubeconfig, the regions are those of a k0rdent management cluster, and what its
/// Credentials need today is granted, each use by itself and with the Credential's name. ClusterProfiles and
/// the cluster registry's Clusters are regions as well, if it has some and lets them be listed. Secrets are not
/// read. Keys go to the folder keys/, which first gets a .gitignore that keeps all of it out of git.
/// With --with, the folder setup/ gets what Flux, Argo CD or `pouch deliver` needs beside the bundles, without any
/// key, and the configuration delivers by it. Nothing that exists is overwritten.
#[derive(clap::Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A region, by the name that Credentials use, and who applies its bundle if that is another one than --with says
    /// (flux, argocd, none); repeat it for each.
    #[arg(long = "region", value_name = "NAME[=CONSUMER]", default_value = "region-1", conflicts_with_all = ["context", "kubeconfig"])]
    regions: Vec<String>,
    /// Add a region to the configuration that is there: a key pair, and an entry after those of the others; repeat it for
    /// each. Nothing else of the file changes
    #[arg(long, value_name = "NAME[=CONSUMER]", conflicts_with_all = ["context", "kubeconfig", "regions", "fleet", "system_namespace", "hub", "repository", "signing_key"])]
    add_region: Vec<String>,
    /// The fleet's name.
    #[arg(long, value_name = "NAME", default_value = "fleet")]
    fleet: String,
    /// The namespace that k0rdent runs in.
    #[arg(long, value_name = "NAME", default_value = SYSTEM_NAMESPACE)]
    system_namespace: String,
    /// Who applies the bundles: writes to setup/ what that needs beside them
    #[arg(long, value_name = "CONSUMER")]
    with: Option<ConsumerWord>,
    /// k0rdent itself distributes nothing to the regions: their own ProviderInterfaces keep it from that
    #[arg(long)]
    k0rdent_push_disabled: bool,
    /// With Flux: one of them, on the cluster of this context of your kubeconfig, applies all regions
    #[arg(long, value_name = "CONTEXT")]
    hub: Option<String>,
    /// How Argo CD opens the bundles
    #[arg(long, value_name = "MODE", default_value = "plugin")]
    mode: ModeWord,
    /// The repository that bundles are published to, by the URL that clusters read it by
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
    /// Sign commits with the SSH key of this file, and have pouch, Flux and Argo CD's plugin refuse what nobody signed;
    /// only its public half is read, FILE.pub
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Who applies the bundles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ConsumerWord {
    /// Flux, on each region, or with --hub one for all
    Flux,
    /// Argo CD, one for all regions
    Argocd,
    /// Neither: `pouch deliver`, by hand, in CI or in a CronJob
    None,
}

/// How Argo CD opens the bundles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ModeWord {
    /// A plugin runs `pouch unpack`
    Plugin,
    /// KSOPS, run by kustomize
    Ksops,
}

/// Runs the command.
///
/// # Errors
/// Where a name is no name, a file is there already or the cluster cannot be read (then nothing is
/// written), or a file cannot be written.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let Args { regions, fleet, system_namespace, with, hub, mode, repository, signing_key, reach, .. } = args;
    let typed = if args.add_region.is_empty() { regions } else { &args.add_region };
    let regions: Vec<NamedRegion> = typed.iter().map(|typed| args.region(typed)).collect::<Result<_, _>>()?;
    let with = with.map(|word| args.consumer(word));
    let is_used = |is_it: fn(Consumer) -> bool| regions.iter().filter_map(|it| it.with).chain(with).any(is_it);
    if hub.is_some() && !is_used(|consumer| consumer == Consumer::Flux) {
        return Err(Failure::usage("--hub is for Flux only", "Leave it out, or pass --with flux."));
    }
    if hub.as_deref().is_some_and(|hub| !is_plain_context(hub)) {
        let help = "It stands in commands to be typed: give the context a name of letters, digits and @:/._+=- first.";
        return Err(Failure::usage("--hub names a context that a shell would take for something else", help));
    }
    if *mode == ModeWord::Ksops && !is_used(|consumer| matches!(consumer, Consumer::ArgoCd(_))) {
        return Err(Failure::usage("--mode is for Argo CD only", "Leave it out, or pass --with argocd."));
    }
    if signing_key.is_some() && repository.is_none() {
        let help = "Name the repository that bundles are published to with --repository, or leave the key out.";
        return Err(Failure::usage("--signing-key signs commits, and without a repository there are none", help));
    }
    if signing_key.is_some() && is_used(|consumer| consumer == Consumer::ArgoCd(ArgoMode::Ksops)) {
        let help = "Pass --mode plugin, whose pouch looks who signed; or leave the key out, and sign with GnuPG: \
                    docs/operations.md, \"Signed commits with Argo CD\".";
        return Err(Failure::usage("with --mode ksops nobody looks at signatures of SSH", help));
    }
    let names = Names {
        regions,
        fleet: fleet.clone(),
        system_namespace: system_namespace.clone(),
        with,
        push_disabled: args.k0rdent_push_disabled,
        repository: repository.clone(),
        hub: hub.clone(),
        signing_key: signing_key.clone(),
    };
    let told = match args.add_region.is_empty() {
        true => draft(session, &names, &reach.reach(&session.ambient))?,
        false => add(session, &names)?,
    };
    if !session.ui.is_quiet() {
        session.ui.result(&told);
    }
    Ok(Ended::Done)
}

impl Args {
    /// A region as it is typed, with its consumer if one is named.
    fn region(&self, typed: &str) -> Result<NamedRegion, Failure> {
        let Some((name, word)) = typed.split_once('=') else {
            return Ok(NamedRegion { name: typed.to_owned(), with: None });
        };
        let word = ConsumerWord::from_str(word, false).map_err(|_| {
            let words = ConsumerWord::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let words: Vec<String> = words.map(|word| word.get_name().to_owned()).collect();
            let near = did_you_mean(word, words.iter().map(String::as_str));
            let help = format!("{near}Write one of: {}.", words.join(", "));
            Failure::usage(format!("--region {typed}: nothing that applies bundles is called {word:?}"), help)
        })?;
        Ok(NamedRegion { name: name.to_owned(), with: Some(self.consumer(word)) })
    }

    /// The consumer that a word names.
    fn consumer(&self, word: ConsumerWord) -> Consumer {
        match (word, self.mode) {
            (ConsumerWord::Argocd, ModeWord::Plugin) => Consumer::ArgoCd(ArgoMode::Plugin),
            (ConsumerWord::Argocd, ModeWord::Ksops) => Consumer::ArgoCd(ArgoMode::Ksops),
            (ConsumerWord::Flux, _) => Consumer::Flux,
            (ConsumerWord::None, _) => Consumer::None,
        }
    }
}
