//! Keys and the files that they go to, beside the configuration, and what the Secret that holds one is called.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use pouch_core::init::setup::{RepositoryFault, SetupFile, is_local};
use pouch_core::name::is_data_key;
use pouch_core::recipient::Recipient;
use pouch_core::reuse::ReuseKey;
use zeroize::{Zeroize as _, Zeroizing};

use crate::age::{self, AgeError};
use crate::ambient::{Ambient, NoEntropy};
use crate::error::{Failure, said};

/// Why nothing, or not everything, was written.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A name cannot be used.
    #[error("{0:?} cannot name a {1}; use 1 to 40 of a-z, 0-9 and dashes, with a letter or digit at both ends")]
    Name(String, &'static str),
    /// The system namespace has no name of a namespace.
    #[error("{0:?} cannot name a namespace; use 1 to 63 of a-z, 0-9 and dashes, with a letter or digit at both ends")]
    Namespace(String),
    /// A region was named twice.
    #[error("the region {0} was named twice")]
    Twice(String),
    /// It is said of some regions who applies their bundles, and not of this one.
    #[error("who applies the bundle of region {0} is not said")]
    Undecided(String),
    /// Two files of consumers would be called alike.
    #[error("{0} would be written for a region and for Argo CD")]
    Clash(String),
    /// A consumer cannot read the repository.
    #[error("{}", .0.told().0)]
    Repository(RepositoryFault),
    /// Nobody says what the consumer is to read.
    #[error("delivery by {0} needs the repository that the bundles are published to")]
    NoRepository(&'static str),
    /// The key that is to sign commits cannot be used.
    #[error("{message}")]
    Signer {
        /// Why.
        message: String,
        /// What to do about it.
        help: &'static str,
    },
    /// Files are there already.
    #[error("nothing is overwritten, and these are there already: {}", .0.join(", "))]
    Exists(Vec<String>),
    /// The folder of the keys has a `.gitignore` that lets something through.
    #[error("{0} is there and does not say `*`; keys in that folder could end up in git")]
    Ignored(String),
    /// A file could not be written.
    #[error("{path} cannot be written: {}", said(.error))]
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

impl MakeError {
    /// Whether the arguments or what is there already are at fault.
    pub fn is_usage(&self) -> bool {
        !matches!(self, MakeError::Write { .. } | MakeError::Entropy(_) | MakeError::Age(_))
    }
}

impl From<MakeError> for Failure {
    fn from(error: MakeError) -> Self {
        let help = match &error {
            MakeError::Repository(fault) => fault.told().1,
            MakeError::NoRepository(_) => {
                "Name it by the URL that clusters read it by: --repository https://git.example.com/acme/fleet.git."
            }
            MakeError::Undecided(_) => {
                "Say it of each region (--region NAME=flux, =argocd or =none), or with --with of all others."
            }
            MakeError::Clash(_) => {
                "Give the region another name in the configuration, and its folder with `directory`."
            }
            MakeError::Signer { help, .. } => help,
            _ => "",
        };
        if error.is_usage() { Failure::usage(error.to_string(), help) } else { Failure::failed(error.to_string(), "") }
    }
}

/// The folder of the keys, from the configuration's folder.
const KEYS: &str = "keys";
const IGNORE: &str = "keys/.gitignore";

/// Where a reuse key goes, from the configuration's folder.
pub const REUSE_KEY: &str = "keys/reuse.key";

/// Where the files go.
pub struct KeyFolder {
    config: PathBuf,
    /// The folder of the configuration.
    pub base: PathBuf,
    /// The configuration as the user wrote it.
    pub shown: String,
    /// The folder of the configuration as a path from the current folder, as the user wrote it.
    typed: PathBuf,
    /// The current folder.
    current: PathBuf,
}

/// A key pair, not written yet.
pub struct KeyPair {
    /// The name of the identity file.
    pub file: String,
    /// The identity file.
    pub text: Zeroizing<String>,
    /// Its public half.
    pub recipient: Recipient,
}

impl KeyPair {
    /// Makes a pair for an identity file of this name.
    pub fn generate(file: String) -> Result<Self, AgeError> {
        let (identity, recipient) = age::generate_identity()?;
        let text = Zeroizing::new(format!("# public key: {recipient}\n{}\n", *identity));
        Ok(Self { file, text, recipient })
    }
}

impl KeyFolder {
    /// Beside the configuration of this path.
    pub fn new(path: &Path, ambient: &Ambient) -> Self {
        let config = ambient.cwd().join(path);
        let base = config.parent().unwrap_or(ambient.cwd()).to_owned();
        let typed = path.parent().unwrap_or(Path::new("")).to_owned();
        let current = ambient.cwd().to_owned();
        Self { config, base, shown: path.display().to_string(), typed, current }
    }

    /// A repository as the configuration names it: a path that is relative to another folder would be another one there.
    pub fn repository(&self, typed: &str) -> String {
        match is_local(typed) && !typed.contains("://") && self.base != self.current {
            true => self.current.join(typed).display().to_string(),
            false => typed.to_owned(),
        }
    }

    /// What the configuration is called in its folder.
    pub fn name(&self) -> String {
        self.config.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// A file beside the configuration, as it is reached from the current folder.
    pub fn shown(&self, file: &str) -> String {
        self.typed.join(file).display().to_string()
    }

    /// Looks whether the files can be new.
    pub fn check<'a>(&self, files: impl Iterator<Item = &'a String>) -> Result<(), MakeError> {
        let targets: Vec<&str> = files.map(String::as_str).chain([REUSE_KEY]).collect();
        let is_taken = |file: &&&str| is_there(&self.base.join(file));
        // No folder can be made where something else stands.
        let folders: BTreeSet<&str> = targets.iter().filter_map(|file| Some(file.split_once('/')?.0)).collect();
        let blocked = folders.iter().filter(|folder| is_taken(folder) && !self.base.join(folder).is_dir());
        let mut existing: Vec<String> =
            blocked.chain(targets.iter().filter(is_taken)).map(|file| self.shown(file)).collect();
        if is_there(&self.config) {
            existing.insert(0, self.shown.clone());
        }
        if existing.is_empty() { Ok(()) } else { Err(MakeError::Exists(existing)) }
    }

    /// Looks whether files can be new beside a configuration that is there.
    pub fn check_new<'a>(&self, files: impl Iterator<Item = &'a String>) -> Result<(), MakeError> {
        let existing: Vec<String> =
            files.filter(|file| is_there(&self.base.join(file))).map(|file| self.shown(file)).collect();
        if existing.is_empty() { Ok(()) } else { Err(MakeError::Exists(existing)) }
    }

    /// Makes the folder of the keys, with a `.gitignore` that keeps all of it out of git; that file's name,
    /// if it was written.
    ///
    /// # Errors
    /// Where one is there that lets something through, or one cannot be written.
    pub fn guard_keys(&self) -> Result<Option<String>, MakeError> {
        make_folder(&self.base.join(KEYS), 0o700)
            .map_err(|error| MakeError::Write { path: self.shown(KEYS), error })?;
        let (path, shown) = (self.base.join(IGNORE), self.shown(IGNORE));
        match fs::read_to_string(&path) {
            Ok(text) if text.lines().any(|line| line == "*") && !text.lines().any(|line| line.starts_with('!')) => {
                Ok(None)
            }
            Ok(_) => Err(MakeError::Ignored(shown)),
            Err(_) => write_new(&path, &shown, b"*\n", 0o644).map(|()| Some(shown)),
        }
    }

    /// Makes the folder of the keys, and says what was written for that.
    fn guarded(&self) -> Result<String, MakeError> {
        let ignore = self.guard_keys()?;
        Ok(ignore.map(|ignore| format!("wrote {ignore}: {IGNORE_IS_FOR}\n")).unwrap_or_default())
    }

    /// Writes the keys of regions to be added, and says what.
    pub fn add_keys(&self, keys: &[KeyPair]) -> Result<String, MakeError> {
        Ok(self.guarded()? + &self.write_keys(keys)?)
    }

    fn write_keys(&self, keys: &[KeyPair]) -> Result<String, MakeError> {
        let mut out = String::new();
        for key in keys {
            let shown = self.shown(&key.file);
            write_new(&self.base.join(&key.file), &shown, key.text.as_bytes(), 0o600)?;
            let _ = writeln!(out, "wrote {shown}: {REGION_KEY_IS_FOR}");
        }
        Ok(out)
    }

    /// Writes the files of consumers, and says what.
    pub fn write_files(&self, files: &[SetupFile]) -> Result<String, MakeError> {
        let mut out = String::new();
        for file in files {
            let (path, shown) = (self.base.join(&file.path), self.shown(&file.path));
            let fault = |error| MakeError::Write { path: shown.clone(), error };
            path.parent().map_or(Ok(()), |folder| make_folder(folder, 0o755)).map_err(fault)?;
            write_new(&path, &shown, file.text.as_bytes(), 0o644)?;
            let _ = writeln!(out, "wrote {shown}: {}", file.is_for);
        }
        Ok(out)
    }

    /// Writes everything, and says what.
    pub fn write(
        &self,
        ambient: &Ambient,
        keys: &[KeyPair],
        files: &[SetupFile],
        text: &str,
    ) -> Result<String, MakeError> {
        let mut out = self.guarded()?;
        let reuse_key = self.shown(REUSE_KEY);
        write_reuse_key(&self.base.join(REUSE_KEY), &reuse_key, ambient)?;
        let _ = writeln!(out, "wrote {reuse_key}: {REUSE_KEY_IS_FOR}");
        out.push_str(&self.write_keys(keys)?);
        out.push_str(&self.write_files(files)?);
        // The configuration comes last: where it stands, all that it names stands too.
        write_new(&self.config, &self.shown, text.as_bytes(), 0o644)?;
        let _ = writeln!(out, "wrote {}: {CONFIG_IS_FOR}", self.shown);
        Ok(out)
    }
}

/// What the reuse key is, for whoever sees it written.
pub const REUSE_KEY_IS_FOR: &str = "the reuse key; needed only where bundles are made";

/// The same for the key of a region.
const REGION_KEY_IS_FOR: &str = "opens the region's bundle; the region needs it, and you need a copy elsewhere";

/// The same for the configuration.
const CONFIG_IS_FOR: &str = "the configuration; it explains the usual keys, and docs/configuration.md explains all";

/// The same for the `.gitignore` of the keys.
pub const IGNORE_IS_FOR: &str = "keeps the keys out of git";

/// Makes a reuse key and writes it for its owner only; messages call the file `shown`.
pub fn write_reuse_key(path: &Path, shown: &str, ambient: &Ambient) -> Result<(), MakeError> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    ambient.fill(bytes.as_mut())?;
    let mut key = ReuseKey::to_text(&bytes);
    key.push('\n');
    let written = write_new(path, shown, key.as_bytes(), 0o600);
    key.zeroize();
    written
}

/// `keys/<region>.txt`; never the reuse key's, whose ending differs.
pub fn key_file(region: &str) -> String {
    format!("{KEYS}/{region}.txt")
}

/// Whether anything has this name, a dangling link included.
pub fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
    builder.create(path)
}

/// Writes a file that must not be there yet; messages call it `shown`.
pub fn write_new(path: &Path, shown: &str, bytes: &[u8], mode: u32) -> Result<(), MakeError> {
    let fault = |error| MakeError::Write { path: shown.to_owned(), error };
    let mut options = OpenOptions::new();
    // Fails where anything stands there, a link included, also if it came in this moment.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let mut handle = options.open(path).map_err(fault)?;
    handle.write_all(bytes).and_then(|()| handle.sync_all()).map_err(fault)
}

/// The namespace and name of the Secret that Flux reads where nothing else is said.
pub const FLUX_SECRET: (&str, &str) = ("flux-system", "sops-age");

/// The namespace of Argo CD where nothing else is said.
pub const ARGOCD_NAMESPACE: &str = "argocd";

/// The name of a region's Secret for Argo CD, of which one may decrypt for several regions: each has a Secret
/// of its own.
pub fn argocd_secret(directory: &str) -> String {
    format!("sops-age-{directory}")
}

/// The Secret's entry: called as the identity's file, so that an old and a new one have place in it. Flux
/// takes each whose name ends so.
pub fn entry(file: &Path, otherwise: &str) -> String {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or(otherwise);
    let entry = format!("{stem}.agekey");
    if is_data_key(&entry) { entry } else { format!("{otherwise}.agekey") }
}
