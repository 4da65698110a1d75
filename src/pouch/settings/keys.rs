//! The keys of a run: the reuse keys that what is published is tagged with, and age identities.
//!
//! Nothing of a key is ever shown, not even of an invalid one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pouch_core::config::{Decryption, KeyPlace};
use pouch_core::listing::few;
use pouch_core::report::shell;
use pouch_core::reuse::{KeyRing, ReuseKey};
use zeroize::Zeroizing;

use super::config::Settings;
use super::file::{MAX_FILE_BYTES, MAX_KEY_BYTES, is_open_to_all, read_text};
use super::problem::SettingsError;
use crate::age::{Identities, IdentityError};
use crate::ambient::Ambient;
use crate::session::Session;

/// The reuse keys of a run, with warnings about them.
///
/// # Errors
/// Where a key is missing or invalid; sealing without one would make every run change every file.
pub fn reuse_keys(settings: &Settings, ambient: &Ambient) -> Result<(KeyRing, Vec<String>), SettingsError> {
    let places = &settings.fleet.reuse_key;
    let mut warnings = Vec::new();
    let mut problems = Vec::new();
    let mut keys = Vec::new();
    let current = std::iter::once((&places.current, WhichKey::Current));
    for (place, which) in current.chain(places.previous.iter().map(|place| (place, WhichKey::Previous))) {
        match key_text(place, which, settings, ambient, &mut warnings) {
            Ok(text) => match ReuseKey::parse(&text) {
                Ok(key) => keys.push(key),
                Err(error) => {
                    problems.extend(SettingsError::one(named(place), error.to_string(), error.help()).problems)
                }
            },
            Err(error) => problems.extend(error.problems),
        }
    }
    let mut keys = keys.into_iter();
    match keys.next() {
        Some(current) if problems.is_empty() => Ok((KeyRing::new(current, keys.collect()), warnings)),
        _ => Err(SettingsError { problems }),
    }
}

/// As [`reuse_keys`], for a check that is worth having without them: none if the current key is simply missing.
/// An invalid key stays an error.
///
/// # Errors
/// Where a key is invalid, or cannot be read, or a previous one is missing beside the current one.
pub fn reuse_keys_at_hand(
    settings: &Settings,
    ambient: &Ambient,
) -> Result<Option<(KeyRing, Vec<String>)>, SettingsError> {
    let absent = match &settings.fleet.reuse_key.current {
        KeyPlace::Env(name) => ambient.var(name).is_none(),
        KeyPlace::File(path) => matches!(
            fs::symlink_metadata(settings.base.join(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound
        ),
    };
    if absent { Ok(None) } else { reuse_keys(settings, ambient).map(Some) }
}

fn named(place: &KeyPlace) -> String {
    match place {
        KeyPlace::Env(name) => format!("environment variable {name}"),
        KeyPlace::File(path) => path.clone(),
    }
}

/// Which of the reuse keys is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WhichKey {
    /// The one that headers are written under.
    Current,
    /// One under `reuseKey.previous`; what is published may still be written under it.
    Previous,
}

impl WhichKey {
    fn what(self) -> &'static str {
        match self {
            WhichKey::Current => "the reuse key",
            WhichKey::Previous => "the previous reuse key",
        }
    }

    /// What to do if its file is missing or invalid.
    fn help(self) -> &'static str {
        match self {
            WhichKey::Current => {
                "A published fleet needs the one that it was published with; a new fleet, or one that has lost it, \
                 gets one from `pouch keygen --reuse-key`, and what is published is then sealed anew with `pouch rekey \
                 --new-reuse-key`."
            }
            WhichKey::Previous => {
                "It stands under `reuseKey.previous`. Put it back as long as a bundle is published under it; after one \
                 run that published every region under the current key, leave it out there."
            }
        }
    }

    /// What to do if its variable is not set.
    fn help_to_set(self, variable: &str) -> String {
        let more = match self {
            WhichKey::Current => self.help(),
            WhichKey::Previous => {
                "It stands under `reuseKey.previous`, and can be left out there once every region is published under \
                 the current key."
            }
        };
        format!("Set {variable} to the text of the key (POUCH-REUSE-KEY-1…). {more}")
    }
}

fn key_text(
    place: &KeyPlace,
    which: WhichKey,
    settings: &Settings,
    ambient: &Ambient,
    warnings: &mut Vec<String>,
) -> Result<Zeroizing<String>, SettingsError> {
    match place {
        KeyPlace::Env(name) => match ambient.var(name).map(Zeroizing::new) {
            Some(text) => Ok(text),
            None => {
                let message = format!("the environment variable of {} is not set", which.what());
                Err(SettingsError::one(named(place), message, &which.help_to_set(name)))
            }
        },
        KeyPlace::File(path) => {
            let whole = settings.base.join(path);
            let text = read_text(&whole, MAX_KEY_BYTES).map(Zeroizing::new);
            let text = text.map_err(|fault| {
                SettingsError::one(named(place), fault.message(which.what()), fault.help(which.help()))
            })?;
            if is_open_to_all(&whole) {
                warnings.push(format!(
                    "everybody on this machine can read or write the reuse key in {}; `{}`, or set \
                     `defaultMode: 0400` on the volume",
                    ambient.from_here(&whole).display(),
                    closing(ambient.from_here(&whole))
                ));
            }
            Ok(text)
        }
    }
}

/// The command that closes a file to others, to be pasted where the path is named from.
fn closing(path: &Path) -> String {
    format!("chmod 600 {}", shell::word(&path.display().to_string()))
}

/// Why identities cannot be used; nothing of them is shown.
pub(super) fn unusable(what: &str, (line, error): &(usize, IdentityError)) -> String {
    match line {
        0 => format!("{what} cannot be used: {error}"),
        line => format!("line {line} of {what} cannot be used: {error}"),
    }
}

/// The identities of several files, as the user named them; warnings go to `ui`.
pub fn all_identities(files: &[PathBuf], session: &Session) -> Result<Identities, SettingsError> {
    let mut all = Identities::default();
    for file in files {
        let (found, warnings) = identities(&file.display().to_string(), &session.ambient.cwd().join(file))?;
        warnings.iter().for_each(|warning| session.ui.warn(warning));
        all.absorb(found);
    }
    Ok(all)
}

/// Reads a file of age identities; `typed` is its path from where the user stands, and `whole` where it lies. Returns
/// warnings as well.
///
/// # Errors
/// Where it cannot be read or holds something else; nothing of its content is shown.
pub fn identities(typed: &str, whole: &Path) -> Result<(Identities, Vec<String>), SettingsError> {
    const HELP: &str = "Name a file with one AGE-SECRET-KEY-1… to a line, as age-keygen and `pouch keygen` write it.";
    let text = read_text(whole, MAX_FILE_BYTES).map(Zeroizing::new);
    let text = text.map_err(|fault| {
        SettingsError::one(typed.to_owned(), fault.message("the file of identities"), fault.help(HELP))
    })?;
    let identities = Identities::parse(&text)
        .map_err(|fault| SettingsError::one(typed.to_owned(), unusable("the file of identities", &fault), HELP))?;
    let warning = is_open_to_all(whole).then(|| {
        format!(
            "everybody on this machine can read or write the identities in {typed}; `{}`",
            closing(Path::new(typed))
        )
    });
    let warnings = warning.into_iter().chain(passed_over(typed, &identities)).collect();
    Ok((identities, warnings))
}

/// Tells which lines were passed over, of the first few; nothing of them is shown.
pub(super) fn passed_over(what: &str, identities: &Identities) -> Option<String> {
    const TOLD: usize = 3;
    let others = identities.others();
    others.first()?;
    let named = few(others.iter().map(|(line, other)| format!("line {line} ({other})")), others.len(), TOLD);
    Some(format!("{what} has keys for other programs, which pouch passes over: {named}"))
}

/// The identities that open a source's encrypted files, with warnings about them.
///
/// # Errors
/// Where the configuration says that there are some and there are none, or one of them cannot be used.
pub fn source_identities(
    decryption: &Decryption,
    base: &Path,
    ambient: &Ambient,
) -> Result<(Identities, Vec<String>), SettingsError> {
    match decryption {
        Decryption::AgeIdentityFile(file) => {
            let whole = base.join(file);
            identities(&ambient.from_here(&whole).display().to_string(), &whole)
        }
        Decryption::Environment => environment_identities(ambient)?.ok_or_else(|| {
            let message = format!("neither {VARIABLE} nor {FILE} is set, and a source's `decryption` asks for them");
            let help = "Set one of them, or name a file: `decryption: {ageIdentityFile: PATH}`.";
            SettingsError::one("the environment".to_owned(), message, help)
        }),
    }
}

/// The variable of sops that holds identities.
const VARIABLE: &str = "SOPS_AGE_KEY";

/// The variable of sops that names a file of them.
const FILE: &str = "SOPS_AGE_KEY_FILE";

/// The identities that the variables of sops give, with warnings about them; none where neither is set.
///
/// # Errors
/// Where one of them cannot be used.
pub fn environment_identities(ambient: &Ambient) -> Result<Option<(Identities, Vec<String>)>, SettingsError> {
    let mut all = Identities::default();
    let mut warnings = Vec::new();
    let set = |name: &str| ambient.var(name).map(Zeroizing::new).filter(|text| !text.is_empty());
    let (text, path) = (set(VARIABLE), set(FILE));
    if text.is_none() && path.is_none() {
        return Ok(None);
    }
    if let Some(text) = text {
        let found = Identities::parse(&text).map_err(|fault| {
            let message = unusable("the list of identities", &fault);
            SettingsError::one(
                format!("environment variable {VARIABLE}"),
                message,
                "It holds one AGE-SECRET-KEY-1… to a line.",
            )
        })?;
        warnings.extend(passed_over(VARIABLE, &found));
        all.absorb(found);
    }
    if let Some(path) = path {
        let (found, told) = identities(&path, &ambient.cwd().join(&*path))?;
        all.absorb(found);
        warnings.extend(told);
    }
    Ok(Some((all, warnings)))
}

#[cfg(test)]
mod tests {
    use std::fs::write;

    use super::super::load;
    use super::super::sample::{RECIPIENT, config, loaded, region};
    use super::*;

    #[test]
    fn reuse_keys_are_all_there_or_refused() {
        let good = ReuseKey::to_text(&[7; 32]);
        let (_folder, ambient, result) = loaded(&region(RECIPIENT), &[("POUCH_REUSE_KEY", &good)]);
        assert!(reuse_keys(&result.unwrap(), &ambient).is_ok());
        let short = good.chars().take(40).collect::<String>();
        for vars in [vec![], vec![("POUCH_REUSE_KEY", "")], vec![("POUCH_REUSE_KEY", short.as_str())]] {
            let (_folder, ambient, result) = loaded(&region(RECIPIENT), &vars);
            let error = reuse_keys(&result.unwrap(), &ambient).err().unwrap().to_string();
            assert!(error.contains("environment variable POUCH_REUSE_KEY"), "{error}");
            assert!(!error.contains(&short), "{error}");
        }
    }

    #[test]
    fn help_fits_what_is_wrong_with_a_reuse_key() {
        let good = ReuseKey::to_text(&[7; 32]);
        let says = |place: &str, vars: &[(&str, &str)], expect: &[&str], never: &str| {
            let folder = tempfile::tempdir().unwrap();
            let text = config(&region(RECIPIENT)).replace("{env: POUCH_REUSE_KEY}", place);
            write(folder.path().join("pouch.yaml"), text).unwrap();
            let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, vars);
            let settings = load(Path::new("pouch.yaml"), &ambient).unwrap();
            let error = reuse_keys(&settings, &ambient).err().unwrap().to_string();
            for expect in expect {
                assert!(error.contains(expect), "{expect}: {error}");
            }
            assert!(!error.contains(never), "{error}");
        };
        let vars = [("KEY", good.as_str())];
        says("{env: KEY}", &[], &["of the reuse key is not set", "Set KEY to", "pouch keygen"], "previous");
        says("{file: none}", &[], &["the reuse key is not there", "--new-reuse-key"], "previous");
        let previous = ["the previous reuse key is not there", "leave it out"];
        says("{env: KEY, previous: [{file: none}]}", &vars, &previous, "pouch keygen");
        let previous = ["of the previous reuse key is not set", "Set OLD to", "can be left out"];
        says("{env: KEY, previous: [{env: OLD}]}", &vars, &previous, "pouch keygen");
    }

    #[cfg(unix)]
    #[test]
    fn identity_files_are_read_and_never_quoted() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("id.txt");
        let (identity, recipient) = crate::age::generate_identity().unwrap();
        write(&path, format!("# x\n{}\n", *identity)).unwrap();
        for (mode, warned) in [(0o600, false), (0o644, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let (identities, warnings) = identities("keys/id.txt", &path).unwrap();
            assert_eq!(identities.recipients().collect::<Vec<_>>(), [&recipient]);
            assert_eq!(!warnings.is_empty(), warned);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write(&path, format!("AGE-PLUGIN-YUBIKEY-1QQQ\n{}\nAGE-SECRET-KEY-PQ-1QQQ\n", *identity)).unwrap();
        let (found, warnings) = identities("keys/id.txt", &path).unwrap();
        assert_eq!(found.recipients().collect::<Vec<_>>(), [&recipient]);
        assert_eq!(
            warnings,
            ["keys/id.txt has keys for other programs, which pouch passes over: line 1 (a plugin's identity), \
              line 3 (a post-quantum identity)"]
        );
        write(&path, "AGE-PLUGIN-YUBIKEY-1QQQ\n").unwrap();
        let error = identities("keys/id.txt", &path).err().unwrap().to_string();
        assert!(error.contains("holds no identity that pouch opens files with: line 1 is a plugin's"), "{error}");
        assert!(!error.contains("QQQ"), "{error}");
        write(&path, format!("{}Q\n", *identity)).unwrap();
        let error = identities("keys/id.txt", &path).err().unwrap().to_string();
        assert!(error.contains("line 1") && error.contains("keys/id.txt"), "{error}");
        assert!(!error.contains(identity.get(20..40).unwrap()), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_everybody_can_read_is_a_warning() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let text = config(&region(RECIPIENT)).replace("{env: POUCH_REUSE_KEY}", "{file: key}");
        write(folder.path().join("pouch.yaml"), text).unwrap();
        write(folder.path().join("key"), format!("{}\n", *ReuseKey::to_text(&[7; 32]))).unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let settings = load(Path::new("pouch.yaml"), &ambient).unwrap();
        for (mode, warnings) in [(0o600, 0), (0o640, 0), (0o644, 1)] {
            fs::set_permissions(folder.path().join("key"), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(reuse_keys(&settings, &ambient).unwrap().1.len(), warnings, "{mode:o}");
        }
    }

    /// The command in a warning is pasted where the user stands, not where the configuration lies.
    #[cfg(unix)]
    #[test]
    fn the_chmod_that_is_told_works_where_the_user_stands() {
        use std::os::unix::fs::PermissionsExt as _;
        let told = |stands: &str, file: &str, key: &str| {
            let top = tempfile::tempdir().unwrap();
            let fleet = top.path().join("my fleet");
            fs::create_dir_all(fleet.join("below")).unwrap();
            let place = format!("{{file: {key}}}");
            let text = config(&region(RECIPIENT)).replace("{env: POUCH_REUSE_KEY}", &place);
            write(fleet.join("pouch.yaml"), text).unwrap();
            let whole = fleet.join(key);
            let (identity, _) = crate::age::generate_identity().unwrap();
            let id = fleet.join("id.txt");
            write(&id, format!("{}\n", *identity)).unwrap();
            write(&whole, format!("{}\n", *ReuseKey::to_text(&[7; 32]))).unwrap();
            for path in [&whole, &id] {
                fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
            }
            let cwd = top.path().join(stands);
            let ambient = Ambient::fixed(&cwd, jiff::Timestamp::UNIX_EPOCH, &[]);
            let settings = load(Path::new(file), &ambient).unwrap();
            let mut warnings = reuse_keys(&settings, &ambient).unwrap().1;
            let decryption = Decryption::AgeIdentityFile("id.txt".to_owned());
            warnings.extend(source_identities(&decryption, &settings.base, &ambient).unwrap().1);
            warnings.iter().map(|warning| warning.split('`').nth(1).unwrap().to_owned()).collect::<Vec<String>>()
        };
        assert_eq!(told("my fleet", "pouch.yaml", "key"), ["chmod 600 key", "chmod 600 id.txt"]);
        let above = ["chmod 600 'my fleet/key'", "chmod 600 'my fleet/id.txt'"];
        assert_eq!(told("", "my fleet/pouch.yaml", "key"), above);
        assert_eq!(told("my fleet/below", "../pouch.yaml", "key"), ["chmod 600 ../key", "chmod 600 ../id.txt"]);
    }
}
