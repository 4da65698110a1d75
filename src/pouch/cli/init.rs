//! `pouch init`: a configuration to start from, with its keys.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use pouch_core::name::{is_directory, is_dns_label};
use pouch_core::recipient::Recipient;
use pouch_core::reuse::ReuseKey;
use zeroize::{Zeroize as _, Zeroizing};

use crate::age::{self, AgeError};
use crate::ambient::{Ambient, NoEntropy};

/// Write a commented pouch.yaml, a reuse key, and an age key pair per region.
///
/// Keys go to the folder keys/, which first gets a .gitignore that keeps all of it out of git. Nothing
/// that exists is overwritten.
#[derive(Args, Clone, Debug)]
pub struct InitArgs {
    /// A region, by the name that Credentials use; repeat it for each.
    #[arg(long = "region", value_name = "NAME", default_value = "region-1")]
    pub regions: Vec<String>,
    /// The fleet's name.
    #[arg(long, value_name = "NAME", default_value = "fleet")]
    pub fleet: String,
}

impl InitArgs {
    /// Arguments that name these regions.
    pub fn regions(names: &[&str]) -> Self {
        Self { regions: names.iter().map(|name| (*name).to_owned()).collect(), fleet: "fleet".to_owned() }
    }
}

/// Why nothing, or not everything, was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// A name cannot be used.
    #[error("{0:?} cannot name a {1}; use 1 to 40 of a-z, 0-9 and dashes, with a letter or digit at both ends")]
    Name(String, &'static str),
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
const REUSE_KEY: &str = "keys/reuse.key";

/// Writes the files beside the configuration `path` and makes what goes to standard output.
///
/// # Errors
/// Where a name is no name, a file is there already (then nothing is written), or one cannot be written.
pub fn run(args: &InitArgs, path: &Path, ambient: &Ambient) -> Result<String, InitError> {
    check_names(args)?;
    let config = ambient.cwd().join(path);
    let base = config.parent().unwrap_or(ambient.cwd()).to_owned();
    let shown = path.display().to_string();
    let key_files: Vec<String> = args.regions.iter().map(|region| key_file(region)).collect();
    let targets = key_files.iter().map(String::as_str).chain([REUSE_KEY]);
    let mut existing: Vec<String> = targets.filter(|file| is_there(&base.join(file))).map(str::to_owned).collect();
    if is_there(&config) {
        existing.insert(0, shown.clone());
    }
    if !existing.is_empty() {
        return Err(InitError::Exists(existing));
    }

    let mut out = String::new();
    let mut wrote = |file: &str, what: &str| {
        let _ = writeln!(out, "wrote {file}: {what}");
    };
    let keys = base.join(KEYS);
    make_folder(&keys).map_err(|error| InitError::Write { path: KEYS.into(), error })?;
    let ignore = format!("{KEYS}/.gitignore");
    match fs::read_to_string(base.join(&ignore)) {
        Ok(text) if text.lines().any(|line| line == "*") && !text.lines().any(|line| line.starts_with('!')) => {}
        Ok(_) => return Err(InitError::Ignored(ignore)),
        Err(_) => {
            write_new(&base, &ignore, b"*\n", 0o644)?;
            wrote(&ignore, "keeps the keys out of git");
        }
    }
    let mut bytes = Zeroizing::new([0_u8; 32]);
    ambient.fill(bytes.as_mut())?;
    let mut key = ReuseKey::to_text(&bytes);
    key.push('\n');
    write_new(&base, REUSE_KEY, key.as_bytes(), 0o600)?;
    key.zeroize();
    wrote(REUSE_KEY, "the reuse key; only where bundles are made is it needed");
    let mut recipients: Vec<(&str, Recipient)> = Vec::new();
    for (region, file) in args.regions.iter().zip(&key_files) {
        let (identity, recipient) = age::generate_identity()?;
        let text = Zeroizing::new(format!("# public key: {recipient}\n{}\n", *identity));
        write_new(&base, file, text.as_bytes(), 0o600)?;
        wrote(file, "opens the region's bundle; the region needs it, and you need a copy elsewhere");
        recipients.push((region, recipient));
    }
    // The configuration comes last: where it stands, all that it names stands too.
    let file_name = PathBuf::from(config.file_name().unwrap_or(path.as_os_str()));
    write_new(&base, &file_name.display().to_string(), template(&args.fleet, &recipients).as_bytes(), 0o644)?;
    wrote(&shown, "the configuration; every key is explained in it");
    next_steps(&mut out, args, &shown);
    Ok(out)
}

fn check_names(args: &InitArgs) -> Result<(), InitError> {
    if !is_dns_label(&args.fleet) {
        return Err(InitError::Name(args.fleet.clone(), "fleet"));
    }
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
fn key_file(region: &str) -> String {
    format!("{KEYS}/{region}.txt")
}

/// Whether anything has this name, a dangling link included.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn write_new(base: &Path, file: &str, bytes: &[u8], mode: u32) -> Result<(), InitError> {
    let fault = |error| InitError::Write { path: file.to_owned(), error };
    let mut options = OpenOptions::new();
    // Fails where anything stands there, a link included, also if it came in this moment.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let mut handle = options.open(base.join(file)).map_err(fault)?;
    handle.write_all(bytes).and_then(|()| handle.sync_all()).map_err(fault)
}

fn next_steps(out: &mut String, args: &InitArgs, config: &str) {
    let flag = if config == "pouch.yaml" { String::new() } else { format!(" -f {config}") };
    let _ = write!(
        out,
        "\nNext:\n  mkdir -p manifests    # and put Credentials, identities and Secrets there, or edit `sources`\n  pouch \
         render{flag}\n\nGive each region its key, once:\n"
    );
    for region in &args.regions {
        let _ = writeln!(
            out,
            "  kubectl --context {region} -n flux-system create secret generic sops-age \
             --from-file=age.agekey={}",
            key_file(region)
        );
    }
}

/// The commented configuration.
fn template(fleet: &str, regions: &[(&str, Recipient)]) -> String {
    let mut blocks = String::new();
    for (region, recipient) in regions {
        let _ = write!(
            blocks,
            "  \"{region}\":\n    # Who can open the region's bundle. Its secret half is in {}.\n    recipients:\n      - \
             {recipient}\n    # Whose Credentials may go there; globs.\n    namespaces:\n      allowed: [\"*\"]\n    # none, \
             flux or argocd.\n    delivery: none\n",
            key_file(region)
        );
    }
    TEMPLATE.replace("{fleet}", fleet).replace("{regions}", blocks.trim_end())
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
        let text = template("acme", &[(&name, recipient)]);
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
