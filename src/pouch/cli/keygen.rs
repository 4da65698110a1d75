//! `pouch keygen`: an age key pair, and the Secret that a region's Flux or Argo CD wants; or a reuse key.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use pouch_core::config::{Delivery, Fleet, RegionConfig, SourcePlace};
use pouch_core::name::{Name, ObjectKey, Scope, is_directory};
use pouch_core::recipient::Recipient;
use pouch_core::report::{escape, shell};
use pouch_core::yaml::emit::{Tree, emit};
use zeroize::Zeroizing;

use super::reach::ReachArgs;
use crate::ambient::Ambient;
use crate::cluster::request::{Resource, Trial};
use crate::cluster::{Cluster, Created};
use crate::error::{Ended, Failure};
use crate::git::ignored::{Care, care};
use crate::git::objects::{self, ObjectsError};
use crate::run::keyfiles::{
    ARGOCD_NAMESPACE, FLUX_SECRET, IGNORE_IS_FOR, KeyFolder, KeyPair, MakeError, REUSE_KEY, REUSE_KEY_IS_FOR,
    argocd_secret, entry, is_there, key_file, write_new, write_reuse_key,
};
use crate::session::Session;
use crate::settings::Opened;
use crate::survey::Reach;
use crate::ui::Ui;

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
pub struct Args {
    /// The region, by the name that Credentials use
    #[arg(value_name = "REGION")]
    region: Option<String>,
    /// Make a pair for `escrowRecipients`, which opens every region's bundle, instead of one for a region
    #[arg(long, conflicts_with_all = ["region", "manifest", "context", "kubeconfig", "consumer"])]
    escrow: bool,
    /// Make a reuse key instead [default: keys/reuse.key beside the configuration]
    #[arg(long, value_name = "FILE", num_args = 0..=1,
          conflicts_with_all = ["region", "escrow", "identity", "manifest", "context", "kubeconfig", "consumer"])]
    reuse_key: Option<Option<PathBuf>>,
    /// Where the identity goes [default: keys/REGION.txt, with --escrow keys/escrow.txt, beside the configuration]
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// Write the Secret as a manifest to FILE too, or with `-` to stdout in place of the recipient
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// What reads the Secret [default: what the configuration delivers the region with, else flux]
    #[arg(long = "for", id = "consumer", value_name = "WHOM")]
    consumer: Option<Consumer>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Who decrypts on the region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Consumer {
    /// Flux's kustomize-controller
    Flux,
    /// Argo CD's repo-server
    Argocd,
}

/// Runs the command.
///
/// # Errors
/// Where something is there already or git would take it (then at most `keys/.gitignore` is written), or a
/// file or the Secret cannot be made.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let Session { global, ambient, ui, .. } = session;
    // The first key may come before the configuration.
    let opened = Opened::open_if_there(session)?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let place = KeyFolder::new(&global.file, ambient);
    let output = fleet.map(|fleet| place.base.join(&fleet.output.path));
    if let Some(file) = &args.reuse_key {
        return reuse_key(session, file.as_deref(), &place, fleet, output.as_deref());
    }
    let subject = Subject::of(args, fleet)?;
    let file = match &args.identity {
        Some(path) => ambient.cwd().join(path),
        None => place.base.join(key_file(&subject.file)),
    };
    let manifest = args.manifest.as_ref().filter(|path| path.as_os_str() != "-").map(|path| ambient.cwd().join(path));
    let to_stdout = args.manifest.is_some() && manifest.is_none();
    if to_stdout && ambient.stdout_is_terminal() {
        return Err(Failure::usage(
            "--manifest - would show the identity on the terminal",
            "Pipe it to where it belongs, such as `kubectl apply --server-side -f -`, or name a file.",
        ));
    }

    // Everything that can go wrong without a key should, before there is one.
    let targets: Vec<&Path> = [Some(&file), manifest.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    let different: BTreeSet<&Path> = targets.iter().copied().collect();
    if different.len() < targets.len() {
        return Err(Failure::usage("the identity and the manifest would be one file", "Name two."));
    }
    let named = [(&Some(&file), &args.identity, "--identity"), (&manifest.as_ref(), &args.manifest, "--manifest")];
    for (path, typed, flag) in named {
        let Some(path) = path else { continue };
        refuse_taken(path, output.as_deref(), flag, ambient)?;
        if let (Some(_), Some(fleet)) = (typed, fleet) {
            refuse_source(path, &place.base, fleet)?;
        }
    }
    let secret = Wanted { entry: entry(&file, &subject.file), key: subject.secret(args.consumer, fleet) };
    let reach = args.reach.reach(ambient);
    let region = match reach.wanted.context.is_some() || reach.wanted.kubeconfig.is_some() {
        true => Some(Region::connect(session, &reach, &secret)?),
        false => None,
    };
    if args.identity.is_none() {
        guard(&place, ui)?;
    }
    for path in &targets {
        refuse_tracked(path)?;
    }

    let key = KeyPair::generate(subject.file.clone()).map_err(MakeError::from)?;
    write_new(&file, &file.display().to_string(), key.text.as_bytes(), 0o600)?;
    ui.note(&format!("wrote {}: {}", file.display(), subject.what()));
    let text = secret.manifest(&key);
    if let Some(path) = &manifest {
        write_new(path, &path.display().to_string(), text.as_bytes(), 0o600)?;
        ui.note(&format!(
            "wrote {}: {} with the identity in it; remove it once it is applied",
            path.display(),
            secret.key
        ));
    }
    if let Some(region) = region {
        region.make(&secret, &text, &file, ui)?;
    }
    ui.note(&subject.next(&key, fleet));
    match to_stdout {
        true => {
            ui.note(&format!("the recipient is {}", key.recipient));
            ui.result(&text);
        }
        false => ui.result(&format!("{}\n", key.recipient)),
    }
    Ok(Ended::Done)
}

/// Makes a reuse key, and says what to do with it.
fn reuse_key(
    session: &Session,
    file: Option<&Path>,
    place: &KeyFolder,
    fleet: Option<&Fleet>,
    output: Option<&Path>,
) -> Result<Ended, Failure> {
    let Session { ambient, ui, .. } = session;
    let path = file.map_or_else(|| place.base.join(REUSE_KEY), |file| ambient.cwd().join(file));
    refuse_taken(&path, output, "--reuse-key", ambient)?;
    if let (Some(_), Some(fleet)) = (file, fleet) {
        refuse_source(&path, &place.base, fleet)?;
    }
    if file.is_none() {
        guard(place, ui)?;
    }
    refuse_tracked(&path)?;
    let shown = path.display().to_string();
    write_reuse_key(&path, &shown, ambient)?;
    ui.note(&format!("wrote {shown}: {REUSE_KEY_IS_FOR}"));
    // As the configuration would name it.
    let named = path.strip_prefix(&place.base).unwrap_or(&path).display();
    ui.note(&match fleet {
        None => format!("when pouch.yaml is there, add:\n  reuseKey: {{file: {named}}}"),
        Some(_) => format!(
            "name it in pouch.yaml, and the key of what is published as `previous` for one run:\n  reuseKey: {{file: \
             {named}, previous: [{{file: OLD}}]}}\nif that is lost, leave `previous` out and run `pouch rekey \
             --new-reuse-key` once"
        ),
    });
    Ok(Ended::Done)
}

/// Keeps the folder of the keys out of git.
fn guard(place: &KeyFolder, ui: &Ui) -> Result<(), Failure> {
    if let Some(ignore) = place.guard_keys()? {
        ui.note(&format!("wrote {ignore}: {IGNORE_IS_FOR}"));
    }
    Ok(())
}

/// Refuses a file that is there, or would be published.
fn refuse_taken(path: &Path, output: Option<&Path>, flag: &str, ambient: &Ambient) -> Result<(), Failure> {
    let shown = path.display();
    if is_there(path) {
        let other = free_beside(path);
        let other = other.strip_prefix(ambient.cwd()).unwrap_or(&other).display().to_string();
        let help =
            format!("Name another file: `{flag} {}`; a key that is overwritten is lost for ever.", shell::word(&other));
        return Err(Failure::usage(format!("{shown} is there already, and nothing is overwritten"), help));
    }
    let folder = path.parent().map(real).unwrap_or_default();
    if output.is_some_and(|output| folder.starts_with(real(output)) || path.starts_with(output)) {
        let help = "Name a file outside of `output.path`: what is there is published.";
        return Err(Failure::usage(format!("{shown} is in the folder of the bundles"), help));
    }
    Ok(())
}

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A file beside one that is there, called alike with a number, that is not.
fn free_beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let end = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    let name = |number: u32| path.with_file_name(format!("{stem}-{number}{end}"));
    (2..u32::MAX).map(name).find(|path| !is_there(path)).unwrap_or_else(|| path.to_owned())
}

/// Refuses a file in the folder of a source: what stands there is read as manifests, and shared as such. A
/// source that has the configuration in it has the keys' folder too; of that, only files that it reads count.
fn refuse_source(path: &Path, base: &Path, fleet: &Fleet) -> Result<(), Failure> {
    let folder = path.parent().map(real).unwrap_or_default();
    let whole = path.file_name().map(|name| folder.join(name)).unwrap_or_default();
    for source in &fleet.sources {
        let SourcePlace::Directory { path: typed, files } = &source.place else { continue };
        let root = real(&base.join(typed));
        let Ok(below) = whole.strip_prefix(&root) else { continue };
        let below = below.to_string_lossy();
        let is_read = files.include.matches(&below) && !files.exclude.matches(&below);
        if is_read || !real(base).starts_with(&root) {
            return Err(Failure::usage(
                format!("{} is in the folder of source {}", path.display(), source.name),
                "Name a file outside of it: what is there is read as manifests, and kept where manifests are.",
            ));
        }
    }
    Ok(())
}

/// Refuses a file that git could take.
fn refuse_tracked(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let help =
        "Add it to .gitignore (and `git rm --cached` it, if git knows it), or name a file outside of the repository.";
    match care(path) {
        Care::Left => Ok(()),
        Care::Taken => Err(Failure::usage(format!("{shown} is in a git repository that does not ignore it"), help)),
        Care::Closed(error) => {
            let help = match &error {
                ObjectsError::Owner(top) => objects::trust(top),
                _ => "Check the repository with git fsck, or name a file outside of it.".to_owned(),
            };
            Err(Failure::usage(format!("git cannot be asked whether it would take {shown}: {error}"), help))
        }
        Care::Unknown if path.parent().is_some_and(Path::is_dir) => {
            Err(Failure::usage(format!("nobody can tell whether git would take {shown}"), help))
        }
        Care::Unknown => Err(Failure::usage(format!("the folder of {shown} is not there"), "Make it first.")),
    }
}

/// Whom the pair is for.
struct Subject<'f> {
    /// The region's name; none for escrow.
    region: Option<String>,
    config: Option<&'f RegionConfig>,
    /// What the identity's file is called.
    file: String,
}

impl<'f> Subject<'f> {
    fn of(args: &Args, fleet: Option<&'f Fleet>) -> Result<Self, Failure> {
        if args.escrow {
            return Ok(Self { region: None, config: None, file: "escrow".to_owned() });
        }
        let Some(name) = &args.region else {
            return Err(Failure::usage(
                "no region is named for this key",
                "Name a region: `pouch keygen REGION`; or pass --escrow for a pair that opens every region's bundle, \
                 or --reuse-key for a reuse key.",
            ));
        };
        let config = fleet.and_then(|fleet| fleet.regions.values().find(|region| region.name == **name));
        let file = config.map_or_else(|| name.clone(), |config| config.directory.to_string());
        if !is_directory(&file) {
            return Err(Failure::usage(
                MakeError::Name(name.clone(), "region").to_string(),
                "A region with another name needs a `directory`: add it to the configuration first.",
            ));
        }
        Ok(Self { region: Some(name.clone()), config, file })
    }

    fn what(&self) -> &'static str {
        match self.region {
            Some(_) => "opens the region's bundle; the region needs it, and you need a copy elsewhere",
            None => "opens every region's bundle; keep it offline, and nowhere else",
        }
    }

    /// The Secret that the region needs, by the region's own delivery, else as other regions have it.
    fn secret(&self, wanted: Option<Consumer>, fleet: Option<&Fleet>) -> ObjectKey {
        let own = self.config.map(|config| &config.delivery);
        let others = || fleet.into_iter().flat_map(|fleet| fleet.regions.values()).map(|region| &region.delivery);
        let consumer = wanted.unwrap_or(match own {
            Some(Delivery::ArgoCd(_)) => Consumer::Argocd,
            _ => Consumer::Flux,
        });
        let (namespace, name) = match consumer {
            Consumer::Flux => {
                let flux = own.into_iter().chain(others()).find_map(|delivery| match delivery {
                    Delivery::Flux(flux) => Some((flux.namespace.clone(), flux.decryption_secret.clone())),
                    _ => None,
                });
                let (namespace, name) = FLUX_SECRET;
                flux.unwrap_or_else(|| (namespace.into(), name.into()))
            }
            Consumer::Argocd => {
                let namespace = own.into_iter().chain(others()).find_map(|delivery| match delivery {
                    Delivery::ArgoCd(argo) => Some(argo.namespace.clone()),
                    _ => None,
                });
                (namespace.unwrap_or_else(|| ARGOCD_NAMESPACE.into()), Name::from(argocd_secret(&self.file).as_str()))
            }
        };
        ObjectKey::secret(namespace, name)
    }

    /// What to do with the recipient: what to write, as it stands there then, and what to run.
    fn next(&self, key: &KeyPair, fleet: Option<&Fleet>) -> String {
        let recipient = &key.recipient;
        let joined = |others: Vec<&Recipient>| {
            let all = others.iter().map(ToString::to_string).chain([recipient.to_string()]);
            all.collect::<Vec<_>>().join(", ")
        };
        match (&self.region, self.config) {
            (None, _) => {
                let others = fleet.map(|fleet| fleet.escrow.iter().collect()).unwrap_or_default();
                format!(
                    "write into pouch.yaml:\n  escrowRecipients: [{}]\nthen run `pouch rekey`, which each region holds \
                     until --accept-recipients",
                    joined(others)
                )
            }
            (Some(region), Some(config)) => {
                let is_own = |other: &&Recipient| fleet.is_none_or(|fleet| !fleet.escrow.contains(*other));
                let add = match &config.recipients_file {
                    Some(file) => {
                        format!("add a line to {}, the recipients of region {region}:\n  {recipient}", escape(file))
                    }
                    None => format!(
                        "write into pouch.yaml, for the recipients of region {region}:\n  recipients: [{}]",
                        joined(config.recipients.iter().filter(is_own).collect())
                    ),
                };
                let rekey = format!("pouch rekey --region {}", shell::word(region));
                format!("{add}\nthen run `{rekey}`, which is held until --accept-recipients")
            }
            (Some(region), None) => {
                let add =
                    if fleet.is_some() { "add the region to pouch.yaml" } else { "when pouch.yaml is there, add" };
                let system = fleet.map_or("kcm-system", |fleet| fleet.system_namespace.as_str());
                format!(
                    "{add}, with the namespaces whose Credentials may go there:\n  regions:\n    {region}:\n      \
                     recipients: [{recipient}]\n      namespaces: {{allowed: [{system}]}}"
                )
            }
        }
    }
}

/// The Secret that holds the identity on the region.
struct Wanted {
    key: ObjectKey,
    entry: String,
}

impl Wanted {
    fn manifest(&self, key: &KeyPair) -> Zeroizing<String> {
        self.with(Tree::Secret(key.text.clone()))
    }

    fn with(&self, identity: Tree<'_>) -> Zeroizing<String> {
        emit(&Tree::map([
            ("apiVersion", Tree::text("v1")),
            ("kind", Tree::text("Secret")),
            (
                "metadata",
                Tree::map([
                    ("name", Tree::text(self.key.name.as_str())),
                    ("namespace", Tree::text(self.key.namespace_text())),
                ]),
            ),
            ("stringData", Tree::map([(self.entry.as_str(), identity)])),
            ("type", Tree::text("Opaque")),
        ]))
    }
}

/// The region's cluster, on which the Secret can be made.
struct Region(Cluster);

impl Region {
    /// Connects, and has the server check everything but the key.
    fn connect(session: &Session, reach: &Reach, wanted: &Wanted) -> Result<Self, Failure> {
        let Session { ambient, ui, stop, .. } = session;
        let cluster = Cluster::connect(&reach.wanted, reach.patience, ambient, &stop.flag())?;
        if let Some(warning) = cluster.warning() {
            ui.warn(&warning);
        }
        let region = Self(cluster);
        region.create(wanted, &wanted.with(Tree::text("to be made")), Trial::Dry).map(|()| region)
    }

    /// Makes the Secret.
    fn make(&self, wanted: &Wanted, text: &str, file: &Path, ui: &Ui) -> Result<(), Failure> {
        self.create(wanted, text, Trial::Real).map_err(|failure| Failure {
            help: format!(
                "The identity is in {}. Once it is cured: kubectl -n {} create secret generic {} --from-file={}={}",
                file.display(),
                wanted.key.namespace_text(),
                wanted.key.name,
                wanted.entry,
                shell::word(&file.display().to_string())
            ),
            ..failure
        })?;
        let Self(cluster) = self;
        ui.note(&format!("made {} on cluster {} at {}", wanted.key, cluster.context, cluster.server));
        Ok(())
    }

    fn create(&self, wanted: &Wanted, text: &str, trial: Trial) -> Result<(), Failure> {
        let Self(cluster) = self;
        let key = &wanted.key;
        let secrets = Resource::core("Secret", "secrets", Scope::Namespaced);
        let created = cluster.create(&secrets, key, text, trial).map_err(|broken| {
            let message = match trial {
                Trial::Dry => cluster.trouble(&key.to_string(), &broken),
                Trial::Real => {
                    format!("cluster {} did not say whether it made {key}: {}", cluster.context, broken.what())
                }
            };
            Failure::unavailable(message, broken.help())
        })?;
        match created {
            Created::Made => Ok(()),
            Created::There => Err(Failure::usage(
                format!("cluster {} has {key} already, and nothing is overwritten", cluster.context),
                "To add an identity beside the old one, use --manifest FILE without a context, and then kubectl patch \
                 --patch-file FILE: the entry is called as the identity's file, so give that another name.",
            )),
            Created::Forbidden => Err(Failure::unavailable(
                cluster.refusal("create", &secrets, key.namespace.as_ref(), None),
                "Grant it there, or use a context or --as of somebody who may.",
            )),
            Created::NoNamespace => Err(Failure::usage(
                format!("cluster {} has no namespace {}", cluster.context, key.namespace_text()),
                "Install Flux or Argo CD there first, or choose the context of the region's cluster.",
            )),
        }
    }
}
