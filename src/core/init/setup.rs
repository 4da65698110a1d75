//! What a consumer needs beside a bundle, as manifests that are applied once, and the parts of `pouch.yaml` that go
//! with them.
//!
//! No file here has a secret key or a password: where one is needed, the head of the file says by which command it gets to
//! its cluster. Names and URLs were checked before; URLs are written by the YAML emitter all the same.

mod argocd;
mod file;
mod signing;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

pub use self::file::{FOLDER, SetupFile};
pub use self::signing::{PublicKey, Signer};
use super::scalar::scalar;
use crate::config::ArgoMode;
use crate::config::repository::{UrlFault, check_url};
use crate::kinds;
use crate::layout::path::delivery_name;
use crate::name::{GroupKind, Scope};

/// Where the bundles are, from the repository's top.
pub const OUTPUT: &str = "bundles";

/// The branch that consumers follow.
const BRANCH: &str = "main";

/// The Secret and its entry that hold the identities for Argo CD: one process reads one file.
const ARGOCD_KEYS: (&str, &str) = ("sops-age", "regions.agekey");

/// What the file for a hub is called.
pub const HUB: &str = "hub";

/// Who applies the bundles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consumer {
    /// Flux, on each region or on a hub.
    Flux,
    /// One Argo CD for all regions.
    ArgoCd(ArgoMode),
    /// Neither; `pouch deliver` does.
    None,
}

/// The name and password of who reads a repository, from the surroundings of whoever runs the command.
const READER: &str = "--from-literal=username=\"$READER\" --from-literal=password=\"$READER_PASSWORD\"";

impl Consumer {
    /// How a region's `delivery` names it.
    pub fn word(self) -> &'static str {
        match self {
            Consumer::Flux => "flux",
            Consumer::ArgoCd(_) => "argocd",
            Consumer::None => "none",
        }
    }
}

/// One region, as far as its consumer knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetupRegion {
    /// The context of its cluster, as far as that can be guessed: its name.
    pub context: String,
    /// Its folder.
    pub directory: String,
    /// The file of its identity, from the configuration's folder.
    pub key_file: String,
    /// What that is called in the region's Secret.
    pub entry: String,
}

/// What is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// Who applies the bundles.
    pub consumer: Consumer,
    /// The fleet's name.
    pub fleet: String,
    /// The repository of the bundles; always there with a consumer that reads it.
    pub repository: Option<String>,
    /// The context of the cluster whose Flux applies all regions; none where each region has its own.
    pub hub: Option<String>,
    /// The regions.
    pub regions: Vec<SetupRegion>,
    /// The key that signs what is published; none where nobody does.
    pub signer: Option<Signer>,
    /// The flag that names the configuration from its own folder, with a space before it; empty where it has its usual name.
    pub flag: String,
}

/// Whether a command can name this context as it stands.
pub fn is_plain_context(text: &str) -> bool {
    let is_fit = |b: u8| b.is_ascii_alphanumeric() || b"@:/._+=-".contains(&b);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_fit)
}

/// Why a repository cannot be what consumers read; no message quotes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepositoryFault {
    /// As in the configuration.
    Url(UrlFault),
    /// It has a scheme that Flux does not read.
    Scheme,
}

impl RepositoryFault {
    /// What is wrong, and what to do about it.
    pub fn told(self) -> (&'static str, &'static str) {
        match self {
            RepositoryFault::Url(fault) => (fault.message(), fault.help()),
            RepositoryFault::Scheme => {
                ("Flux does not read the scheme of --repository", "Name it by https://, http:// or ssh://.")
            }
        }
    }
}

/// Looks whether a consumer can read a repository by this URL.
///
/// # Errors
/// What is wrong with it.
pub fn check_repository(url: &str, consumer: Consumer) -> Result<(), RepositoryFault> {
    check_url(url).map_err(RepositoryFault::Url)?;
    match (consumer, url.split_once("://")) {
        (Consumer::None, _) => Ok(()),
        (Consumer::Flux, Some((scheme, _))) if !is_local(url) && !["https", "http", "ssh"].contains(&scheme) => {
            Err(RepositoryFault::Scheme)
        }
        _ => Ok(()),
    }
}

/// The host and the path of ssh's short form, `user@host:path`; a host in brackets is an address of IPv6.
///
/// A drive of Windows is no host, and git has no backslash in this form.
fn scp(url: &str) -> Option<(&str, &str)> {
    let at = url.find('@').map_or(0, |at| at + 1);
    let end = match url.get(at..)?.starts_with('[') {
        true => url.find("]:")? + 1,
        false => url.find(':')?,
    };
    let (host, path) = (url.get(..end)?, url.get(end..)?.strip_prefix(':')?);
    let is_drive = host.len() == 1 && path.starts_with('/');
    let is_ssh = !host.contains('/') && !path.is_empty() && !url.contains("://") && !url.contains('\\') && !is_drive;
    is_ssh.then_some((host, path))
}

/// Returns true for a repository that is a path, which only this machine knows.
pub fn is_local(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => scheme == "file",
        None => scp(url).is_none(),
    }
}

/// The URL as Flux takes it: it knows no short form of ssh's.
fn for_flux(url: &str) -> Cow<'_, str> {
    match scp(url) {
        Some((host, path)) => {
            // git takes a port in brackets too, which no URL does.
            let of_port = |(user, name): (&str, &str)| {
                let name = name.strip_prefix('[')?.strip_suffix(']')?;
                (name.matches(':').count() == 1).then(|| format!("{user}{name}"))
            };
            let split = host.split_at(host.find('@').map_or(0, |at| at + 1));
            let host = of_port(split).unwrap_or_else(|| host.to_string());
            Cow::Owned(format!("ssh://{host}/{}", path.trim_start_matches('/')))
        }
        None => Cow::Borrowed(url),
    }
}

impl Setup {
    /// The URL by which clusters read the repository. Where only a path is known, one that never leads anywhere (RFC 2606)
    /// stands for it.
    pub fn url(&self) -> String {
        match self.repository.as_deref() {
            Some(path) if is_local(path) => format!("https://repository.invalid/{}.git", self.fleet),
            url => url.unwrap_or_default().to_string(),
        }
    }

    /// The same as Flux takes it.
    fn url_for_flux(&self) -> String {
        for_flux(&self.url()).into_owned()
    }

    /// `output` of the configuration, without the last line feed.
    pub fn output(&self) -> String {
        match &self.repository {
            None => OUTPUT_ONLY.to_string(),
            Some(url) => format!(
                "output:\n  path: {OUTPUT}\n  # Where `pouch publish` commits to, and consumers read. Your git has to be able to push there.\n  \
                 git:\n    repository: {}\n    branch: {BRANCH}\n    #@ author: \"pouch <pouch@example.com>\"{}",
                scalar(url),
                self.signer.as_ref().map(Signer::output).unwrap_or_default()
            ),
        }
    }

    /// The fields of the consumer in `delivery` of `regionDefaults`, as an entry of a map; none where its word says all.
    fn delivery(&self) -> Option<String> {
        let url = scalar(&self.url());
        // A name may look like a number.
        let name = scalar(&self.fleet);
        let own = match (self.consumer, &self.hub) {
            (Consumer::None | Consumer::Flux, None) | (Consumer::None, Some(_)) => return None,
            (Consumer::Flux, Some(_)) => {
                let (key, reaches) = self.on_hub("{region}");
                let (key, reaches) = (scalar(&key), scalar(&reaches));
                format!(
                    "flux:\n      # The Secret with the region's age identity.\n      decryption:\n        secretRef: {key}\n      # How \
                     Flux gets to the region from the hub.\n      kubeConfig:\n        secretRef: {reaches}"
                )
            }
            (Consumer::ArgoCd(mode), _) => format!(
                "argocd:\n      # The AppProject in {FOLDER}/argocd.yaml.\n      project: {name}\n      # As Argo CD reads the \
                 repository.\n      repoURL: {url}\n      # The cluster's name in Argo CD; where Argo CD runs on the region itself, that \
                 is in-cluster.\n      destination:\n        name: \"{{region}}\"\n      mode: {}",
                match mode {
                    ArgoMode::Plugin => "plugin",
                    ArgoMode::Ksops => "ksops",
                }
            ),
        };
        Some(own)
    }

    /// The files of the consumer.
    pub fn files(&self) -> Vec<SetupFile> {
        match self.consumer {
            Consumer::Flux => match &self.hub {
                Some(hub) => [self.hub(hub)].into(),
                None => self.regions.iter().map(|region| self.flux(region)).collect(),
            },
            Consumer::None => self.regions.iter().map(|region| self.by_hand(region)).collect(),
            Consumer::ArgoCd(mode) => self.argocd(mode),
        }
    }

    /// The file that says whose signature pouch demands, where commits are signed.
    pub fn signers(&self) -> Option<SetupFile> {
        self.signer.as_ref().map(Signer::file)
    }

    /// `findings` of the configuration, where it differs from the template's.
    pub fn findings(&self) -> Option<&'static str> {
        let is_plugin = self.consumer == Consumer::ArgoCd(ArgoMode::Plugin);
        (is_plugin && self.signer.is_some()).then(Signer::findings)
    }

    /// The command that gives a region, or Argo CD, the identity; `shown` makes a path for whoever types it, and
    /// `indent` starts its further lines.
    pub fn key_command(&self, region: &SetupRegion, indent: &str, shown: &dyn Fn(&str) -> String) -> String {
        match self.consumer {
            Consumer::ArgoCd(_) => {
                let (name, entry) = ARGOCD_KEYS;
                let files: Vec<String> = self.regions.iter().map(|region| shown(&region.key_file)).collect();
                format!(
                    "cat {} | kubectl --context argocd -n argocd create secret generic {name} \\\n{indent}  \
                     --from-file={entry}=/dev/stdin",
                    files.join(" ")
                )
            }
            Consumer::Flux | Consumer::None => {
                let (context, secret) = match &self.hub {
                    Some(hub) => (hub, self.on_hub(&region.directory).0),
                    None => (&region.context, "sops-age".to_string()),
                };
                let (entry, file) = (&region.entry, shown(&region.key_file));
                format!(
                    "kubectl --context {context} -n flux-system create secret generic {secret} --from-file={entry}={file}"
                )
            }
        }
    }

    /// What a region's two Secrets on a hub are called: with its identity, and with its kubeconfig. Fleets share a hub, and no
    /// fleet's name has a dot in it.
    fn on_hub(&self, directory: &str) -> (String, String) {
        (format!("{}.{directory}.age", self.fleet), format!("{}.{directory}.kubeconfig", self.fleet))
    }

    /// Everything to type once there is something to deliver, in order: of the first region, where each has its own.
    /// `flag` names the configuration for whoever types it.
    pub fn next(&self, shown: &dyn Fn(&str) -> String, flag: &str) -> Vec<String> {
        let Some(region) = self.regions.first() else { return Vec::new() };
        let SetupRegion { context, directory, key_file, .. } = region;
        let of = |name: &str| shown(&format!("{FOLDER}/{name}.yaml"));
        let apply = |context: &str, file: &str| format!("kubectl --context {context} apply --server-side -f {file}");
        let url = self.url_for_flux();
        let key = self.key_command(region, "  ", shown);
        match self.consumer {
            Consumer::Flux => match &self.hub {
                Some(hub) => {
                    vec![key, self.reaches(hub, region, "  "), self.reads(hub, &url, "  "), apply(hub, &of(HUB))]
                }
                None => vec![key, self.reads(context, &url, "  "), apply(context, &of(directory))],
            },
            Consumer::ArgoCd(mode) => {
                let (note, more) = self.opened_by(mode, shown);
                let patch = of("repo-server-patch");
                [key, apply("argocd", &of("argocd")), self.login("  ")]
                    .into_iter()
                    .chain([format!("# each region's cluster, as the head of {} says", of("clusters"))])
                    .chain(note)
                    .chain([
                        more,
                        format!("kubectl --context argocd -n argocd patch deployment argocd-repo-server --patch-file {patch}"),
                        format!("# from a clone of the repository: {}", apply("argocd", &application(directory))),
                    ])
                    .collect()
            }
            Consumer::None => vec![
                apply(context, &of(directory)),
                self.rights(context, flag, "  "),
                self.applies(context, &shown(key_file), flag, "  "),
            ],
        }
    }

    /// The command that gives a hub's Flux the way to a region; `indent` starts its further lines.
    fn reaches(&self, hub: &str, region: &SetupRegion, indent: &str) -> String {
        let SetupRegion { context, directory, .. } = region;
        format!(
            "kubectl config view --raw --flatten --minify --context {context} \\\n{indent}  | kubectl --context {hub} -n \
             flux-system create secret generic {} --from-file=value=/dev/stdin",
            self.on_hub(directory).1
        )
    }

    /// The command that gives a region's Flux the right to read the repository; `indent` starts its further lines.
    fn reads(&self, context: &str, url: &str, indent: &str) -> String {
        let name = format!("{}-read", self.fleet);
        let create = format!("kubectl --context {context} -n flux-system create secret generic {name}");
        let from = match url.starts_with("ssh://") {
            true => "--from-file=identity=DEPLOY_KEY --from-file=known_hosts=KNOWN_HOSTS",
            false => READER,
        };
        format!("{create} \\\n{indent}  {from}")
    }

    /// The command that gives the region's ServiceAccount the rights that the bundle takes.
    fn rights(&self, region: &str, flag: &str, indent: &str) -> String {
        format!(
            "pouch rbac --deliver --region {region} --service-account pouch/{}{flag} \\\n{indent}  | kubectl --context \
             {region} apply --server-side -f -",
            self.fleet
        )
    }

    /// The command that applies a bundle as that ServiceAccount.
    fn applies(&self, region: &str, key_file: &str, flag: &str, indent: &str) -> String {
        format!(
            "pouch deliver --region {region} --identity {key_file} --context {region} \\\n{indent}  --as \
             system:serviceaccount:pouch:{}{flag}",
            self.fleet
        )
    }

    fn flux(&self, region: &SetupRegion) -> SetupFile {
        let SetupRegion { context, directory, .. } = region;
        let path = format!("{FOLDER}/{directory}.yaml");
        let url = self.url_for_flux();
        let plain = |file: &str| file.to_string();
        let text = format!(
            "# What Flux needs on region {context} beside the bundle. Flux itself is there (`flux install`), and so is k0rdent's
# namespace, which no bundle makes. There is no secret in this file: commit it where you like.
#
# Once, from the folder of pouch.yaml. The key that opens the bundle:
#   {key}
# The right to read the repository (leave it out for a public one, and `secretRef` below):
#   {read}
# And what stands below:
#   kubectl --context {context} apply --server-side -f {path}
{source}---
# Brings the Kustomizations that pouch writes for the region: one for the core, one for each kind of identity.
{brings}",
            key = self.key_command(region, "#   ", &plain),
            read = self.reads(context, &url, "#   "),
            source = self.source(&url),
            brings = self.brings(&self.fleet, directory),
        );
        SetupFile { path, text, is_for: format!("what Flux needs on {context}; its head says how") }
    }

    fn hub(&self, hub: &str) -> SetupFile {
        let path = format!("{FOLDER}/{HUB}.yaml");
        let url = self.url_for_flux();
        let plain = |file: &str| file.to_string();
        let mut text = format!(
            "# What the Flux on the hub needs beside the bundles; {hub} is the context of its cluster. Flux itself is there
# (`flux install`), and k0rdent's namespace, which no bundle makes, is on each region. There is no secret in this file:
# commit it where you like. That Flux holds the keys of all regions: let nobody else read Secrets of its namespace.
#
# Once, from the folder of pouch.yaml. For each region, the key that opens its bundle, and the way to its cluster by a
# kubeconfig that names neither files nor programs, which Flux refuses:
"
        );
        for region in &self.regions {
            let _ = writeln!(text, "#   {}", self.key_command(region, "#   ", &plain));
            let _ = writeln!(text, "#   {}", self.reaches(hub, region, "#   "));
        }
        let _ = write!(
            text,
            "# The right to read the repository (leave it out for a public one, and `secretRef` below):
#   {}
# And what stands below:
#   kubectl --context {hub} apply --server-side -f {path}
{}",
            self.reads(hub, &url, "#   "),
            self.source(&url),
        );
        for SetupRegion { context, directory, .. } in &self.regions {
            // Beside what pouch writes, whose names end in a leaf's.
            let name = delivery_name(&format!("{}.{directory}.bundle", self.fleet));
            let _ = write!(
                text,
                "---\n# Brings the Kustomizations that pouch writes for {context}.\n{}",
                self.brings(&name, directory)
            );
        }
        SetupFile { path, text, is_for: "what Flux needs on the hub; its head says how, step by step".to_string() }
    }

    /// The repository as Flux reads it.
    fn source(&self, url: &str) -> String {
        let fleet = &self.fleet;
        let signers = format!("{fleet}-signers");
        let (before, verify) = match &self.signer {
            Some(signer) => (
                signer.for_flux(&signers),
                format!(
                    "  # Nothing is applied of a commit that no key of this Secret signed.
  verify:
    mode: HEAD
    secretRef:
      name: {signers}
"
                ),
            ),
            None => (
                String::new(),
                format!(
                    "  # Flux checks no MAC: who may write to the branch may change what is sealed. Where commits are signed
  # (`output.git.sign`), this holds everybody else; {signers} has the public keys, in entries *.sshpub or *.asc.
  # `pouch init --signing-key` writes it in force.
  # verify:
  #   mode: HEAD
  #   secretRef:
  #     name: {signers}
"
                ),
            ),
        };
        format!(
            "{before}apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 1m
  url: {url}
  ref:
    branch: {BRANCH}
  secretRef:
    name: {fleet}-read
{verify}",
            url = scalar(url),
            name = scalar(fleet),
        )
    }

    /// What brings the Kustomizations of a region's folder.
    fn brings(&self, name: &str, directory: &str) -> String {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {}
  namespace: flux-system
spec:
  interval: 10m
  retryInterval: 1m
  path: ./{OUTPUT}/flux/{directory}
  prune: true
  # Whoever deletes this object leaves what it brought.
  deletionPolicy: Orphan
  sourceRef:
    kind: GitRepository
    name: {}
",
            scalar(name),
            scalar(&self.fleet),
        )
    }

    fn by_hand(&self, region: &SetupRegion) -> SetupFile {
        let SetupRegion { context, directory, key_file, .. } = region;
        let name = scalar(&self.fleet);
        let path = format!("{FOLDER}/{directory}.yaml");
        let text = format!(
            "# As whom bundles are applied on region {context}. k0rdent's namespace, which no bundle makes, is there already.
# There is no key in this file: commit it where you like.
#
# Once, from the folder of pouch.yaml, and once there is a bundle the rights that it takes, and no others:
#   kubectl --context {context} apply --server-side -f {path}
#   {rights}
# Then, as often as you publish, from here, from CI, or from a CronJob on the region (examples/deliver-cronjob.yaml):
#   {applies}
apiVersion: v1
kind: Namespace
metadata:
  name: pouch
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {name}
  namespace: pouch
# A Job that applies bundles asks for its token; nothing else that runs here gets it.
automountServiceAccountToken: false
",
            rights = self.rights(context, &self.flag, "#   "),
            applies = self.applies(context, key_file, &self.flag, "#   "),
        );
        SetupFile { path, text, is_for: format!("as whom bundles are applied on {context}; its head says how") }
    }
}

/// `delivery` of `regionDefaults`, without the last line feed. Where there are several consumers, each region names its own.
pub fn deliveries(setups: &[Setup]) -> String {
    let own: Vec<String> = setups.iter().filter_map(Setup::delivery).collect();
    match (&*own, setups) {
        ([], [only]) => format!("  delivery: {}", only.consumer.word()),
        ([], _) => String::from("  #@ delivery: none"),
        (own, _) => format!("  delivery:\n    {}", own.join("\n    ")),
    }
}

/// Where a region's Application stands in a clone.
fn application(directory: &str) -> String {
    format!("{OUTPUT}/argocd/{directory}/application.yaml")
}

/// `output` without a repository.
pub const OUTPUT_ONLY: &str = "\
output:
  path: bundles
  #@ git: {repository: \"git@git.example.com:fleet.git\", branch: main, author: \"pouch <pouch@example.com>\"}";

/// What bundles can hold, and its scope.
fn published() -> impl Iterator<Item = (GroupKind, Scope)> {
    let all = core::iter::once(GroupKind::new("", "Namespace")).chain(kinds::published());
    all.filter_map(|kind| kinds::Scopes::new().of(&kind).map(|scope| (kind, scope)))
}

#[cfg(test)]
mod tests;
