//! `pouch init`: a configuration to start from, with its keys.
//!
//! Here stands how files are written, and what is written where nothing is known but names; what a
//! management cluster tells, its file `cluster.rs` asks.

mod cluster;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use pouch_core::init::{Blocks, SYSTEM_NAMESPACE};
use pouch_core::name::{is_directory, is_dns_label};
use pouch_core::recipient::Recipient;
use pouch_core::report::shell;
use pouch_core::reuse::ReuseKey;
use zeroize::{Zeroize as _, Zeroizing};

use super::reach::ReachArgs;
use super::{Global, keygen};
use crate::age::{self, AgeError};
use crate::ambient::{Ambient, NoEntropy};
use crate::error::Failure;
use crate::stop::Stop;
use crate::ui::Ui;

/// Write a commented pouch.yaml, a reuse key, and an age key pair per region.
///
/// With --context, or --kubeconfig, the regions are those of a k0rdent management cluster, and what its
/// Credentials need today is granted, each use by itself and with the Credential's name. Secrets are not
/// read. Keys go to the folder keys/, which first gets a .gitignore that keeps all of it out of git.
/// Nothing that exists is overwritten.
#[derive(Args, Clone, Debug)]
pub struct InitArgs {
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

impl InitArgs {
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

/// Why nothing, or not everything, was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// A name cannot be used.
    #[error("{0:?} cannot name a {1}; use 1 to 40 of a-z, 0-9 and dashes, with a letter or digit at both ends")]
    Name(String, &'static str),
    /// The system namespace has no name of a namespace.
    #[error("{0:?} cannot name a namespace; use 1 to 63 of a-z, 0-9 and dashes, with a letter or digit at both ends")]
    Namespace(String),
    /// A region was named twice.
    #[error("the region {0} was named twice")]
    Twice(String),
    /// Files are there already.
    #[error("nothing is overwritten, and these are there already: {}", .0.join(", "))]
    Exists(Vec<String>),
    /// The folder of the keys has a `.gitignore` that lets something through.
    #[error("{0} is there and does not say `*`; keys in that folder could end up in git")]
    Ignored(String),
    /// A file could not be written.
    #[error("{path} cannot be written: {}", .error.kind())]
    Write {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// No key could be made.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// No key could be made.
    #[error(transparent)]
    Age(#[from] AgeError),
}

impl InitError {
    /// Whether the arguments or what is there already are at fault: exit code 64, else 1.
    pub fn is_usage(&self) -> bool {
        !matches!(self, InitError::Write { .. } | InitError::Entropy(_) | InitError::Age(_))
    }
}

const KEYS: &str = "keys";
const IGNORE: &str = "keys/.gitignore";

/// Where a reuse key goes, from the configuration's folder.
pub(super) const REUSE_KEY: &str = "keys/reuse.key";

/// Writes what was asked for, and makes what goes to standard output.
///
/// # Errors
/// Where a name is no name, a file is there already or the cluster cannot be read (then nothing is
/// written), or a file cannot be written.
pub fn start(args: &InitArgs, global: &Global, ambient: &Ambient, ui: &Ui, stop: &Stop) -> Result<String, Failure> {
    let wanted = args.reach.reach(ambient).wanted;
    if wanted.context.is_some() || wanted.kubeconfig.is_some() {
        return cluster::run(args, global, ambient, ui, stop);
    }
    if wanted.as_user.is_some() {
        return Err(Failure::usage("--as is for a live cluster, and none is named", "Name one with --context."));
    }
    Ok(run(args, &global.file, ambient)?)
}

/// Writes the files beside the configuration `path` and makes what goes to standard output.
///
/// # Errors
/// Where a name is no name, a file is there already (then nothing is written), or one cannot be written.
pub fn run(args: &InitArgs, path: &Path, ambient: &Ambient) -> Result<String, InitError> {
    check_names(args)?;
    let place = Place::new(path, ambient);
    let files: Vec<String> = args.regions.iter().map(|region| key_file(region)).collect();
    place.check(&files)?;
    let keys: Vec<Key> = files.into_iter().map(Key::generate).collect::<Result<_, _>>()?;
    let recipients: Vec<(&str, Recipient)> =
        args.regions.iter().zip(&keys).map(|(region, key)| (region.as_str(), key.recipient.clone())).collect();
    let mut blocks = blocks(&recipients);
    if args.system_namespace != SYSTEM_NAMESPACE {
        blocks.system_namespace = format!("systemNamespace: {:?}", args.system_namespace);
    }
    let mut out = place.write(ambient, &keys, &filled(&args.fleet, &blocks))?;
    next_steps(&mut out, args, &place);
    Ok(out)
}

/// Where the files go.
pub(super) struct Place {
    config: PathBuf,
    /// The folder of the configuration.
    pub(super) base: PathBuf,
    shown: String,
    /// The folder of the configuration as a path from the current folder, as the user wrote it.
    typed: PathBuf,
}

/// A key pair, not written yet.
pub(super) struct Key {
    file: String,
    /// The identity file.
    pub(super) text: Zeroizing<String>,
    /// Its public half.
    pub(super) recipient: Recipient,
}

impl Key {
    /// Makes a pair for an identity file of this name.
    pub(super) fn generate(file: String) -> Result<Self, AgeError> {
        let (identity, recipient) = age::generate_identity()?;
        let text = Zeroizing::new(format!("# public key: {recipient}\n{}\n", *identity));
        Ok(Self { file, text, recipient })
    }
}

impl Place {
    /// Beside the configuration of this path.
    pub(super) fn new(path: &Path, ambient: &Ambient) -> Self {
        let config = ambient.cwd().join(path);
        let base = config.parent().unwrap_or(ambient.cwd()).to_owned();
        let typed = path.parent().unwrap_or(Path::new("")).to_owned();
        Self { config, base, shown: path.display().to_string(), typed }
    }

    /// A file beside the configuration, as it is reached from the current folder.
    fn shown(&self, file: &str) -> String {
        self.typed.join(file).display().to_string()
    }

    /// Looks whether the files can be new.
    fn check(&self, key_files: &[String]) -> Result<(), InitError> {
        let targets = key_files.iter().map(String::as_str).chain([REUSE_KEY]);
        let mut existing: Vec<String> =
            targets.filter(|file| is_there(&self.base.join(file))).map(|file| self.shown(file)).collect();
        if is_there(&self.config) {
            existing.insert(0, self.shown.clone());
        }
        if existing.is_empty() { Ok(()) } else { Err(InitError::Exists(existing)) }
    }

    /// Makes the folder of the keys, with a `.gitignore` that keeps all of it out of git; that file's name,
    /// if it was written.
    pub(super) fn guard_keys(&self) -> Result<Option<String>, InitError> {
        make_folder(&self.base.join(KEYS)).map_err(|error| InitError::Write { path: self.shown(KEYS), error })?;
        let (path, shown) = (self.base.join(IGNORE), self.shown(IGNORE));
        match fs::read_to_string(&path) {
            Ok(text) if text.lines().any(|line| line == "*") && !text.lines().any(|line| line.starts_with('!')) => {
                Ok(None)
            }
            Ok(_) => Err(InitError::Ignored(shown)),
            Err(_) => write_new(&path, &shown, b"*\n", 0o644).map(|()| Some(shown)),
        }
    }

    /// Writes everything, and says what.
    fn write(&self, ambient: &Ambient, keys: &[Key], text: &str) -> Result<String, InitError> {
        let mut out = String::new();
        let mut wrote = |file: &str, what: &str| {
            let _ = writeln!(out, "wrote {file}: {what}");
        };
        if let Some(ignore) = self.guard_keys()? {
            wrote(&ignore, IGNORE_IS_FOR);
        }
        let reuse_key = self.shown(REUSE_KEY);
        write_reuse_key(&self.base.join(REUSE_KEY), &reuse_key, ambient)?;
        wrote(&reuse_key, REUSE_KEY_IS_FOR);
        for key in keys {
            let shown = self.shown(&key.file);
            write_new(&self.base.join(&key.file), &shown, key.text.as_bytes(), 0o600)?;
            wrote(&shown, "opens the region's bundle; the region needs it, and you need a copy elsewhere");
        }
        // The configuration comes last: where it stands, all that it names stands too.
        write_new(&self.config, &self.shown, text.as_bytes(), 0o644)?;
        wrote(&self.shown, "the configuration; it explains the usual keys, and docs/configuration.md explains all");
        Ok(out)
    }
}

/// What the reuse key is, for whoever sees it written.
pub(super) const REUSE_KEY_IS_FOR: &str = "the reuse key; needed only where bundles are made";

/// The same for the `.gitignore` of the keys.
pub(super) const IGNORE_IS_FOR: &str = "keeps the keys out of git";

/// Makes a reuse key and writes it for its owner only; messages call the file `shown`.
pub(super) fn write_reuse_key(path: &Path, shown: &str, ambient: &Ambient) -> Result<(), InitError> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    ambient.fill(bytes.as_mut())?;
    let mut key = ReuseKey::to_text(&bytes);
    key.push('\n');
    let written = write_new(path, shown, key.as_bytes(), 0o600);
    key.zeroize();
    written
}

fn check_fleet(args: &InitArgs) -> Result<(), InitError> {
    if !is_dns_label(&args.fleet) {
        return Err(InitError::Name(args.fleet.clone(), "fleet"));
    }
    if !is_dns_label(&args.system_namespace) {
        return Err(InitError::Namespace(args.system_namespace.clone()));
    }
    Ok(())
}

fn check_names(args: &InitArgs) -> Result<(), InitError> {
    check_fleet(args)?;
    let mut seen = BTreeSet::new();
    for region in &args.regions {
        if !is_directory(region) {
            return Err(InitError::Name(region.clone(), "region"));
        }
        if !seen.insert(region) {
            return Err(InitError::Twice(region.clone()));
        }
    }
    Ok(())
}

/// `keys/<region>.txt`; never the reuse key's, whose ending differs.
pub(super) fn key_file(region: &str) -> String {
    format!("{KEYS}/{region}.txt")
}

/// Whether anything has this name, a dangling link included.
pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a file that must not be there yet; messages call it `shown`.
pub(super) fn write_new(path: &Path, shown: &str, bytes: &[u8], mode: u32) -> Result<(), InitError> {
    let fault = |error| InitError::Write { path: shown.to_owned(), error };
    let mut options = OpenOptions::new();
    // Fails where anything stands there, a link included, also if it came in this moment.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let mut handle = options.open(path).map_err(fault)?;
    handle.write_all(bytes).and_then(|()| handle.sync_all()).map_err(fault)
}

fn next_steps(out: &mut String, args: &InitArgs, place: &Place) {
    let (flag, sources) = (file_flag(&place.shown), shell::word(&place.shown("manifests")));
    let _ = write!(
        out,
        "\nNext:\n  mkdir -p {sources}    # and put Credentials, identities and Secrets there, or edit `sources`\n  pouch \
         render{flag}\n\n"
    );
    hand_over(out, place, args.regions.iter().map(|region| (region.as_str(), key_file(region))));
}

fn file_flag(config: &str) -> String {
    if config == "pouch.yaml" { String::new() } else { format!(" -f {}", shell::word(config)) }
}

/// How each region gets its key: in the Secret that `pouch keygen` would make for it. Who delivers there is
/// not decided yet, so it is said for both.
fn hand_over<'a>(out: &mut String, place: &Place, regions: impl Iterator<Item = (&'a str, String)>) {
    let (mut flux, mut argocd) = (String::new(), String::new());
    for (region, file) in regions {
        let entry = keygen::entry(Path::new(&file), region);
        let from = shell::word(&format!("{entry}={}", place.shown(&file)));
        let (namespace, name) = keygen::FLUX_SECRET;
        let create = "create secret generic";
        let _ = writeln!(flux, "  kubectl --context {region} -n {namespace} {create} {name} --from-file={from}");
        let (namespace, name) = (keygen::ARGOCD_NAMESPACE, keygen::argocd_secret(region));
        let _ = writeln!(argocd, "  kubectl -n {namespace} {create} {name} --from-file={from}");
    }
    let _ = write!(
        out,
        "Give each region its key, once. Where Flux applies its bundle (`delivery: flux`):\n{flux}Where Argo CD does \
         (`delivery: argocd`), on the cluster that Argo CD runs on:\n{argocd}"
    );
}

/// What stands in the template's blanks where no cluster says anything.
fn blocks(regions: &[(&str, Recipient)]) -> Blocks {
    let entry = |(region, recipient): &(&str, Recipient)| {
        format!(
            "  \"{region}\":\n    # Who can open the region's bundle. Its secret half is in {}.\n    recipients:\n      - \
             {recipient}\n    # Whose Credentials may go there; globs.\n    namespaces:\n      allowed: [\"*\"]\n    # none, \
             flux or argocd.\n    delivery: none",
            key_file(region)
        )
    };
    Blocks {
        source: "  - name: platform\n    directory:\n      path: manifests\n      #@ exclude: [\"drafts/**\"]"
            .to_owned(),
        system_namespace: format!("#@ systemNamespace: {SYSTEM_NAMESPACE}"),
        provider_interfaces: "#@ providerInterfaces: {builtin: v1.11}".to_owned(),
        regions: regions.iter().map(entry).collect::<Vec<_>>().join("\n"),
        grants: GRANTS.to_owned(),
    }
}

const GRANTS: &str = "\
# What Credentials may use although nothing else admits it: one object, or without `to` all that one
# Credential needs. A refused use says which grant would admit it.
#@ grants:
#@   - {from: {namespace: team-a}, to: {namespace: shared, kind: Secret, name: dns}, regions: [\"*\"]}";

/// The commented configuration. Each blank is a line of its own and is filled once, so that nothing that
/// is filled in can look like a blank.
fn filled(fleet: &str, blocks: &Blocks) -> String {
    let mut out = String::new();
    for line in TEMPLATE.lines() {
        match line {
            "{source}" => out.push_str(&blocks.source),
            "{systemNamespace}" => out.push_str(&blocks.system_namespace),
            "{providerInterfaces}" => out.push_str(&blocks.provider_interfaces),
            "{regions}" => out.push_str(&blocks.regions),
            "{grants}" => out.push_str(&blocks.grants),
            "  name: {fleet}" => _ = write!(out, "  name: {fleet}"),
            line => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// What stands after `#@ ` is not in force and could be; a test takes it at its word.
const TEMPLATE: &str = include_str!("init/pouch.yaml");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings;

    fn started(args: &InitArgs) -> (tempfile::TempDir, Ambient, Result<String, InitError>) {
        let folder = tempfile::tempdir().unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let result = run(args, Path::new("pouch.yaml"), &ambient);
        (folder, ambient, result)
    }

    #[test]
    fn what_is_written_loads_with_its_keys() {
        let (folder, ambient, out) = started(&InitArgs::regions(&["eu-west", "no", "123"]));
        let out = out.unwrap();
        assert!(
            out.contains("pouch render") && out.contains("keys/eu-west.txt") && !out.contains("SECRET-KEY"),
            "{out}"
        );
        let settings = settings::load(Path::new("pouch.yaml"), &ambient).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            settings.fleet.regions.keys().map(|name| name.as_str()).collect::<Vec<_>>(),
            ["123", "eu-west", "no"]
        );
        assert!(settings::reuse_keys(&settings, &ambient).unwrap().1.is_empty());
        let key = fs::read_to_string(folder.path().join("keys/no.txt")).unwrap();
        let recipient = settings.fleet.regions["no"].recipients.first().unwrap().to_string();
        assert!(key.contains(&recipient) && key.contains("\nAGE-SECRET-KEY-1"), "{recipient}");
        assert_eq!(fs::read_to_string(folder.path().join("keys/.gitignore")).unwrap(), "*\n");
    }

    #[cfg(unix)]
    #[test]
    fn keys_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let (folder, _, out) = started(&InitArgs::regions(&["eu"]));
        out.unwrap();
        for (file, mode) in [("keys", 0o700), ("keys/eu.txt", 0o600), ("keys/reuse.key", 0o600)] {
            let found = fs::metadata(folder.path().join(file)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{file} has {found:o}");
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let (folder, ambient, out) = started(&InitArgs::regions(&["eu"]));
        out.unwrap();
        let before = fs::read(folder.path().join("pouch.yaml")).unwrap();
        let again = run(&InitArgs::regions(&["us"]), Path::new("pouch.yaml"), &ambient).unwrap_err();
        assert!(again.is_usage() && again.to_string().ends_with("pouch.yaml, keys/reuse.key"), "{again}");
        assert!(!folder.path().join("keys/us.txt").exists());
        assert_eq!(fs::read(folder.path().join("pouch.yaml")).unwrap(), before);
        fs::remove_file(folder.path().join("pouch.yaml")).unwrap();
        fs::remove_file(folder.path().join("keys/reuse.key")).unwrap();
        let error = run(&InitArgs::regions(&["eu"]), Path::new("pouch.yaml"), &ambient).unwrap_err();
        assert!(error.to_string().ends_with("keys/eu.txt"), "{error}");
    }

    #[test]
    fn a_folder_that_git_would_take_gets_no_key() {
        for text in ["*.txt\n", "*\n!reuse.key\n"] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("keys")).unwrap();
            fs::write(folder.path().join("keys/.gitignore"), text).unwrap();
            let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
            let error = run(&InitArgs::regions(&["eu"]), Path::new("pouch.yaml"), &ambient).unwrap_err();
            assert!(matches!(error, InitError::Ignored(_)), "{error}");
            assert!(!folder.path().join("keys/reuse.key").exists());
        }
    }

    #[test]
    fn what_is_said_holds_from_the_current_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let out = run(&InitArgs::regions(&["eu"]), Path::new("sub/p.yaml"), &ambient).unwrap();
        for line in [
            "wrote sub/keys/.gitignore: ",
            "wrote sub/keys/reuse.key: ",
            "wrote sub/p.yaml: ",
            "  mkdir -p sub/manifests ",
            "  pouch render -f sub/p.yaml\n",
            " create secret generic sops-age --from-file=eu.agekey=sub/keys/eu.txt\n",
        ] {
            assert!(out.contains(line), "{line} is not in\n{out}");
        }
        let again = run(&InitArgs::regions(&["eu"]), Path::new("sub/p.yaml"), &ambient).unwrap_err();
        assert!(again.to_string().ends_with("sub/p.yaml, sub/keys/eu.txt, sub/keys/reuse.key"), "{again}");
    }

    #[test]
    fn bad_names_write_nothing() {
        for names in [&["../x"][..], &["Eu"], &["a", "a"], &[""]] {
            let (folder, _, out) = started(&InitArgs::regions(names));
            assert!(out.unwrap_err().is_usage());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{names:?}");
        }
    }

    #[test]
    fn what_is_commented_out_is_right_too() {
        let recipient = |seed: &str| (seed.to_owned(), age::generate_identity().unwrap().1);
        let (name, recipient) = recipient("eu-west");
        let text = filled("acme", &blocks(&[(&name, recipient)]));
        let all: String = text.lines().map(|line| line.replacen("#@ ", "", 1) + "\n").collect();
        assert_ne!(all, text);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("pouch.yaml"), &all).unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        settings::load(Path::new("pouch.yaml"), &ambient).unwrap_or_else(|error| panic!("{error}\n{all}"));
        let schema = pouch_core::config::file::schema().to_value();
        for key in schema["properties"].as_object().unwrap().keys() {
            assert!(all.lines().any(|line| line.starts_with(&format!("{key}:"))), "{key} is not in the template");
        }
    }
}
