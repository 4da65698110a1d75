//! `pouch.yaml` and the files that it names.
//!
//! Reads the configuration, the files of recipients and, when asked, the reuse keys; what any of it
//! means is the core's business. Faults are shown with their place, those of `pouch.yaml` with their
//! line as well: it is the only file whose lines are ever shown, and not those that hold a secret.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use pouch_core::config::error::{ConfigError, holds_secret, leaks};
use pouch_core::config::shape::{self, Unfit};
use pouch_core::config::written::{Position, Written};
use pouch_core::config::{Decryption, Fleet, KeyPlace, resolve};
use pouch_core::report::escape;
use pouch_core::reuse::{KeyRing, ReuseKey};
use zeroize::Zeroizing;

use crate::age::{Identities, IdentityError};
use crate::ambient::Ambient;
use crate::ui::Ui;

/// The largest configuration and the largest file of recipients, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The largest file of a reuse key, in bytes; a key has 75.
const MAX_KEY_BYTES: u64 = 4 << 10;

/// The configuration of a run.
#[derive(Debug)]
pub struct Settings {
    /// What it means.
    pub fleet: Fleet,
    /// The folder of the file, which its paths are relative to.
    pub base: PathBuf,
}

/// One thing that is wrong with the configuration or with a file that it names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// The place in the file, if it is one of the configuration.
    pub position: Option<Position>,
    /// What is the matter, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// The line of the place, if it may be shown.
    line: Option<String>,
    /// Whether it says that a secret stands at the place.
    is_leak: bool,
}

/// Everything that is wrong with a configuration; exit code 64.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    /// The problems, in the order of the file; never empty.
    pub problems: Vec<Problem>,
}

impl std::error::Error for SettingsError {}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

/// As compilers show it: the message, the place, the line with a mark below, the help.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, help) = (escape(&self.message), escape(&self.help));
        if let (Some(at), Some(line)) = (self.position, &self.line) {
            let title = Level::ERROR.primary_title(message.as_str());
            let mark = AnnotationKind::Primary.span(marked(line, at.column));
            let number = usize::try_from(at.line).unwrap_or(0);
            let snippet = Snippet::source(line.as_str()).line_start(number).path(escape(&self.file)).annotation(mark);
            let report = [title.element(snippet).element(Level::HELP.message(help.as_str()))];
            return f.write_str(&Renderer::plain().render(&report));
        }
        let place = match self.position {
            Some(at) => format!("{}:{}:{}", self.file, at.line, at.column),
            None => self.file.clone(),
        };
        // Without a line to show, as findings are written.
        write!(f, "error: {message}\n  --> {}\n  = help: {help}", escape(&place))
    }
}

/// The bytes of the word that starts at a column.
fn marked(line: &str, column: u32) -> std::ops::Range<usize> {
    let before = usize::try_from(column).unwrap_or(1).saturating_sub(1);
    let start = line.char_indices().nth(before).map_or(line.len(), |(at, _)| at);
    let rest = line.get(start..).unwrap_or_default();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let length = match quote {
        Some(quote) => rest.get(1..).and_then(|inner| inner.find(quote)).map(|at| at.saturating_add(2)),
        None => rest.find([' ', ',', ']', '}', ':']).filter(|at| *at > 0),
    };
    start..start.saturating_add(length.unwrap_or(rest.len()))
}

/// Reads and resolves the configuration at `path`, which is relative to the current folder.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(path: &Path, ambient: &Ambient) -> Result<Settings, SettingsError> {
    let shown = path.display().to_string();
    let whole = ambient.cwd().join(path);
    let base = whole.parent().unwrap_or(ambient.cwd()).to_owned();
    let text = match read_text(&whole, MAX_FILE_BYTES) {
        Ok(text) => text,
        Err(fault) => {
            let help = match fault {
                FileFault::Absent => "`pouch init` writes one to start from; -f names another file.",
                _ => "Name the configuration with -f.",
            };
            return Err(one(shown, fault.message("the configuration"), fault.help(help)));
        }
    };
    let (file, written) = match shape::read(&text) {
        Ok(read) => read,
        Err(Unfit::Flawed(flaw)) => {
            let position = (flaw.line > 0).then_some(Position { line: flaw.line, column: flaw.column.max(1) });
            let line = position.and_then(|at| line_of(&text, at.line));
            let help = String::from("docs/configuration.md has examples; `pouch schema` lets an editor help.");
            let message = flaw.what.into_owned();
            let problems = vec![Problem { file: shown.clone(), position, message, help, line, is_leak: false }];
            return Err(SettingsError { problems: with_exposed(problems, &text, &shown) });
        }
        Err(Unfit::Misshapen(written, errors)) => {
            let problems = place(errors, &written, &text, &shown);
            return Err(SettingsError { problems: with_exposed(problems, &text, &shown) });
        }
    };

    let mut texts = BTreeMap::new();
    let mut problems = Vec::new();
    for name in resolve::files_needed(&file) {
        match read_text(&base.join(&name), MAX_FILE_BYTES) {
            Ok(text) => {
                texts.insert(name, text);
            }
            Err(fault) => {
                let help = "Paths in the configuration are relative to it; write one recipient (`age1…`) per line.";
                problems.extend(one(name, fault.message("the file of recipients"), fault.help(help)).problems);
            }
        }
    }
    match resolve::resolve(&file, &texts) {
        Ok(fleet) => {
            let problems = with_exposed(problems, &text, &shown);
            if problems.is_empty() { Ok(Settings { fleet, base }) } else { Err(SettingsError { problems }) }
        }
        Err(errors) => {
            // A file that cannot be read is said once, with the reason.
            let unread = |error: &ConfigError| error.message == resolve::NOT_READ && !problems.is_empty();
            let errors: Vec<ConfigError> = errors.into_iter().filter(|error| !unread(error)).collect();
            problems.extend(place(errors, &written, &text, &shown));
            Err(SettingsError { problems: with_exposed(problems, &text, &shown) })
        }
    }
}

/// The lines that hold a key or a password, in whatever field or comment: the file lies in a repository, and
/// `config`, bundles and commits repeat what it says.
fn exposed(text: &str, file: &str) -> Vec<Problem> {
    let problem = |(number, line): (u32, &str)| {
        let indent = line.chars().take_while(|c| c.is_whitespace()).count();
        let column = u32::try_from(indent).unwrap_or(0).saturating_add(1);
        let message = String::from("this line holds a key or a password, which must not be in the configuration");
        let help = String::from("Take it out and treat it as leaked; `reuseKey` says where a key is found.");
        let position = Some(Position { line: number, column });
        Problem { file: file.to_owned(), position, message, help, line: None, is_leak: true }
    };
    (1..).zip(text.lines()).filter(|(_, line)| leaks(line)).map(problem).collect()
}

/// The problems, and the keys that lie open beside them: what else is wrong makes no key less leaked.
fn with_exposed(mut problems: Vec<Problem>, text: &str, file: &str) -> Vec<Problem> {
    // What says which field it is, and what belongs there, says more.
    let lines = |problem: &Problem| problem.position.filter(|_| problem.is_leak).map(|at| at.line);
    let told: Vec<u32> = problems.iter().filter_map(lines).collect();
    problems.extend(exposed(text, file).into_iter().filter(|one| lines(one).is_none_or(|line| !told.contains(&line))));
    problems.sort_by_key(|problem| problem.position);
    problems
}

fn place(errors: Vec<ConfigError>, written: &Written, text: &str, file: &str) -> Vec<Problem> {
    let mut problems: Vec<Problem> = errors
        .into_iter()
        .map(|error| {
            let position = written.position(&error.field, error.spot);
            let line = position.filter(|_| !error.secret).and_then(|at| line_of(text, at.line));
            let message = error.to_string();
            Problem { file: file.to_owned(), position, message, help: error.help, line, is_leak: error.secret }
        })
        .collect();
    problems.sort_by_key(|problem| problem.position);
    problems
}

/// A line of the configuration, if it may be shown.
fn line_of(text: &str, number: u32) -> Option<String> {
    const MOST: usize = 400;
    let line = text.lines().nth(usize::try_from(number).ok()?.checked_sub(1)?)?;
    (!holds_secret(line) && line.len() <= MOST).then(|| line.to_owned())
}

fn one(file: String, message: String, help: &str) -> SettingsError {
    SettingsError {
        problems: vec![Problem { file, position: None, message, help: help.to_owned(), line: None, is_leak: false }],
    }
}

/// The reuse keys of a run, and what is worth a warning about them.
///
/// # Errors
/// Where a key is not there, or is no key; sealing without one would make every run change every file.
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
                Err(error) => problems.extend(one(named(place), error.to_string(), error.help()).problems),
            },
            Err(error) => problems.extend(error.problems),
        }
    }
    let mut keys = keys.into_iter();
    match keys.next() {
        Some(current) if problems.is_empty() => Ok((KeyRing { current, previous: keys.collect() }, warnings)),
        _ => Err(SettingsError { problems }),
    }
}

/// As [`reuse_keys`], where a check without them is worth having: none if the current key is simply not
/// there. One that is there and is no key stays an error.
///
/// # Errors
/// Where a key is no key, or cannot be read, or a previous one is missing beside the current one.
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

/// Why identities cannot be used; nothing of them is said.
fn unusable(what: &str, (line, error): &(usize, IdentityError)) -> String {
    match line {
        0 => format!("{what} cannot be used: {error}"),
        line => format!("line {line} of {what} cannot be used: {error}"),
    }
}

/// The identities of several files, as the user named them; warns of what is worth it.
///
/// # Errors
/// As [`identities`].
pub fn all_identities(files: &[PathBuf], ambient: &Ambient, ui: &Ui) -> Result<Identities, SettingsError> {
    let mut all = Identities::default();
    for file in files {
        let (found, warning) = identities(&file.display().to_string(), &ambient.cwd().join(file))?;
        warning.iter().for_each(|warning| ui.warn(warning));
        all.absorb(found);
    }
    Ok(all)
}

/// Reads a file of age identities; `typed` is how the user named it and `whole` where it lies. Gives what
/// is worth a warning as well.
///
/// # Errors
/// Where it cannot be read or holds something else; nothing of its content is said.
pub fn identities(typed: &str, whole: &Path) -> Result<(Identities, Option<String>), SettingsError> {
    const HELP: &str = "Name a file with one AGE-SECRET-KEY-1… to a line, as age-keygen and `pouch keygen` write it.";
    let text = read_text(whole, MAX_FILE_BYTES).map(Zeroizing::new);
    let text =
        text.map_err(|fault| one(typed.to_owned(), fault.message("the file of identities"), fault.help(HELP)))?;
    let identities = Identities::parse(&text)
        .map_err(|fault| one(typed.to_owned(), unusable("the file of identities", &fault), HELP))?;
    let warning = is_open_to_all(whole).then(|| {
        format!("everybody on this machine can read or write the identities in {typed}; `chmod 600` the file")
    });
    Ok((identities, warning))
}

/// The identities that open a source's encrypted files, and what is worth a warning about them.
///
/// # Errors
/// Where there are none where the configuration says, or one of them cannot be used.
pub fn source_identities(
    decryption: &Decryption,
    base: &Path,
    ambient: &Ambient,
) -> Result<(Identities, Vec<String>), SettingsError> {
    let (variable, file) = match decryption {
        Decryption::AgeIdentityFile(file) => {
            let (found, warning) = identities(file, &base.join(file))?;
            return Ok((found, warning.into_iter().collect()));
        }
        Decryption::Environment => ("SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE"),
    };
    let mut all = Identities::default();
    let mut warnings = Vec::new();
    let set = |name: &str| ambient.var(name).map(Zeroizing::new).filter(|text| !text.is_empty());
    let (text, path) = (set(variable), set(file));
    if text.is_none() && path.is_none() {
        let message = format!("neither {variable} nor {file} is set, and a source's `decryption` asks for them");
        let help = "Set one of them, or name a file: `decryption: {ageIdentityFile: PATH}`.";
        return Err(one("the environment".to_owned(), message, help));
    }
    if let Some(text) = text {
        all.absorb(Identities::parse(&text).map_err(|fault| {
            let message = unusable("the list of identities", &fault);
            one(format!("environment variable {variable}"), message, "It holds one AGE-SECRET-KEY-1… to a line.")
        })?);
    }
    if let Some(path) = path {
        let (found, warning) = identities(&path, &ambient.cwd().join(&*path))?;
        all.absorb(found);
        warnings.extend(warning);
    }
    Ok((all, warnings))
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
    /// One under `reuseKey.previous`, which what is published may still be written under.
    Previous,
}

impl WhichKey {
    fn what(self) -> &'static str {
        match self {
            WhichKey::Current => "the reuse key",
            WhichKey::Previous => "the previous reuse key",
        }
    }

    /// What to do where its file is not there, or is none.
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

    /// What to do where its variable is not set.
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
                Err(one(named(place), message, &which.help_to_set(name)))
            }
        },
        KeyPlace::File(path) => {
            let whole = settings.base.join(path);
            let text = read_text(&whole, MAX_KEY_BYTES).map(Zeroizing::new);
            let text =
                text.map_err(|fault| one(named(place), fault.message(which.what()), fault.help(which.help())))?;
            if is_open_to_all(&whole) {
                warnings.push(format!(
                    "everybody on this machine can read or write the reuse key in {path}; `chmod 600` it, or set \
                     `defaultMode: 0400` on the volume"
                ));
            }
            Ok(text)
        }
    }
}

#[cfg(unix)]
fn is_open_to_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o007 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}

enum FileFault {
    Absent,
    NoFile,
    TooLarge(u64),
    NotText,
    Unreadable(io::ErrorKind),
}

impl FileFault {
    fn message(&self, what: &str) -> String {
        match self {
            FileFault::Absent => format!("{what} is not there"),
            FileFault::NoFile => format!("{what} is no plain file"),
            FileFault::TooLarge(most) => format!("{what} is larger than {most} bytes"),
            FileFault::NotText => format!("{what} is not UTF-8"),
            FileFault::Unreadable(kind) => format!("{what} cannot be read: {kind}"),
        }
    }

    /// What to do about it: where the file is there and closed, nothing but that, else `otherwise`.
    fn help<'a>(&self, otherwise: &'a str) -> &'a str {
        match self {
            FileFault::Unreadable(io::ErrorKind::PermissionDenied) => {
                "Check the permissions of the file and of its folders: this user may not read it."
            }
            _ => otherwise,
        }
    }
}

fn read_text(path: &Path, most: u64) -> Result<String, FileFault> {
    let fault = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => FileFault::Absent,
        kind => FileFault::Unreadable(kind),
    };
    // Looked at before it is opened: opening a pipe would wait for a writer.
    if !fs::metadata(path).map_err(fault)?.is_file() {
        return Err(FileFault::NoFile);
    }
    let mut bytes = Zeroizing::new(Vec::new());
    File::open(path).map_err(fault)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(fault)?;
    if u64::try_from(bytes.len()).map_or(true, |length| length > most) {
        return Err(FileFault::TooLarge(most));
    }
    std::str::from_utf8(&bytes).map(str::to_owned).map_err(|_| FileFault::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::write;

    const A: &str = "age1e2tczyk2rw7u47kzxxee5g7ufkncdmlcz37yuu4espmcttlwfqaspg5uc4";
    const SECRET: &str = "AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQS7KDVNN";

    fn config(rest: &str) -> String {
        format!(
            "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\nsources:\n  - {{name: a, directory: {{path: \
             m}}}}\nreuseKey: {{env: POUCH_REUSE_KEY}}\n{rest}"
        )
    }

    fn loaded(rest: &str, vars: &[(&str, &str)]) -> (tempfile::TempDir, Ambient, Result<Settings, SettingsError>) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("pouch.yaml"), config(rest)).unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, vars);
        let result = load(Path::new("pouch.yaml"), &ambient);
        (folder, ambient, result)
    }

    fn region(recipient: &str) -> String {
        format!("regions: {{eu: {{recipients: [{recipient}], namespaces: {{allowed: ['*']}}}}}}\n")
    }

    #[test]
    fn faults_show_their_place_and_line() {
        let (_folder, _, result) = loaded(&format!("{}resolution: kcn\n", region(A)), &[]);
        let expect = "error: resolution: \"kcn\" is not a valid value for this field\n --> pouch.yaml:8:13\n  |\n8 | \
                      resolution: kcn\n  |             ^^^\n  |\n  = help: Did you mean \"kcm\"?";
        assert_eq!(result.unwrap_err().to_string(), expect);
    }

    #[test]
    fn lines_with_secrets_are_not_shown() {
        for text in [SECRET, &SECRET.to_lowercase()] {
            let (_folder, _, result) = loaded(&region(text), &[]);
            let shown = result.unwrap_err().to_string();
            assert!(shown.contains("pouch.yaml:7:") && shown.contains("secret key"), "{shown}");
            assert!(!shown.to_lowercase().contains("1qyqsz"), "{shown}");
        }
        // Another fault on the same line, and a fault of the syntax.
        for rest in [
            format!("regions: {{eu: {{recipients: [{SECRET}], zebra: 1, namespaces: {{allowed: ['*']}}}}}}\n"),
            format!("regions: {{eu: {{recipients: [{SECRET}]\n"),
            format!("regions: {{eu: {{recipients: {{{SECRET}: 1}}, namespaces: {{allowed: ['*']}}}}}}\n"),
            "output: {git: {repository: 'https://me:hunter2@example.com/x', zebra: 1}}\n".to_owned(),
        ] {
            let (_folder, _, result) = loaded(&rest, &[]);
            let shown = format!("{0} {0:?}", result.unwrap_err());
            assert!(!shown.contains("1QYQSZ") && !shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn a_key_is_refused_in_every_field_and_comment() {
        for rest in [format!("# {SECRET}\n"), format!("keep: {{labels: [{SECRET}]}} # x\n")] {
            let (_folder, _, result) = loaded(&format!("{}{rest}", region(A)), &[]);
            let shown = result.unwrap_err().to_string();
            assert!(shown.contains("pouch.yaml:8:1") && shown.contains("must not be in the configuration"), "{shown}");
            assert!(!shown.contains("1QYQSZ"), "{shown}");
        }
    }

    #[test]
    fn a_key_in_place_of_its_file_is_called_leaked_beside_all_other_faults() {
        let (folder, ambient, _) = loaded(&region(A), &[]);
        let key = ReuseKey::to_text(&[7; 32]);
        let text = config(&format!("{}zebra: 1\n", region(A))).replace("{env: POUCH_REUSE_KEY}", &key);
        write(folder.path().join("pouch.yaml"), text).unwrap();
        let shown = load(Path::new("pouch.yaml"), &ambient).unwrap_err().to_string();
        assert!(shown.contains("pouch.yaml:6:1") && shown.contains("treat it as leaked"), "{shown}");
        assert!(shown.contains("zebra") && !shown.contains(key.get(20..40).unwrap()), "{shown}");
        write(folder.path().join("pouch.yaml"), format!("# -----BEGIN regions\n{}", config(&region(A)))).unwrap();
        assert!(load(Path::new("pouch.yaml"), &ambient).is_ok());
    }

    #[test]
    fn files_of_recipients_are_read_beside_the_configuration() {
        let (folder, ambient, result) =
            loaded("regions: {eu: {recipientsFile: eu.txt, namespaces: {allowed: ['*']}}}\n", &[]);
        let error = result.unwrap_err();
        assert_eq!(error.problems.len(), 1);
        assert!(error.to_string().contains("the file of recipients is not there"), "{error}");
        write(folder.path().join("eu.txt"), format!("# eu\n{A}\n")).unwrap();
        let settings = load(Path::new("pouch.yaml"), &ambient).unwrap();
        assert_eq!(settings.fleet.regions["eu"].recipients.len(), 1);
        assert_eq!(settings.base, folder.path());
        write(folder.path().join("eu.txt"), format!("{A}\nnonsense\n")).unwrap();
        let error = load(Path::new("pouch.yaml"), &ambient).unwrap_err().to_string();
        assert!(error.contains("line 2 of \"eu.txt\"") && !error.contains("nonsense"), "{error}");
        write(folder.path().join("eu.txt"), [0xff, 0xfe]).unwrap();
        assert!(load(Path::new("pouch.yaml"), &ambient).unwrap_err().to_string().contains("not UTF-8"));
    }

    #[test]
    fn a_configuration_that_is_not_there_names_init() {
        let folder = tempfile::tempdir().unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        assert!(load(Path::new("pouch.yaml"), &ambient).unwrap_err().to_string().contains("pouch init"));
        let folder_instead = load(Path::new("."), &ambient).unwrap_err().to_string();
        assert!(folder_instead.contains("no plain file"), "{folder_instead}");
    }

    #[test]
    fn reuse_keys_are_all_there_or_refused() {
        let good = ReuseKey::to_text(&[7; 32]);
        let (_folder, ambient, result) = loaded(&region(A), &[("POUCH_REUSE_KEY", &good)]);
        assert!(reuse_keys(&result.unwrap(), &ambient).is_ok());
        let short = good.chars().take(40).collect::<String>();
        for vars in [vec![], vec![("POUCH_REUSE_KEY", "")], vec![("POUCH_REUSE_KEY", short.as_str())]] {
            let (_folder, ambient, result) = loaded(&region(A), &vars);
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
            let text = config(&region(A)).replace("{env: POUCH_REUSE_KEY}", place);
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

    /// Whoever may not read a file needs no other file and no other key. (Root may read all.)
    #[cfg(unix)]
    #[test]
    fn a_file_that_is_closed_is_told_to_be_opened() {
        for what in ["the configuration", "the reuse key", "the file of recipients"] {
            let closed = FileFault::Unreadable(io::ErrorKind::PermissionDenied);
            assert_eq!(closed.message(what), format!("{what} cannot be read: permission denied"));
            assert!(closed.help("Make another.").starts_with("Check the permissions"));
            assert_eq!(FileFault::Absent.help("Make another."), "Make another.");
        }
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
            let (identities, warning) = identities("keys/id.txt", &path).unwrap();
            assert_eq!(identities.recipients().collect::<Vec<_>>(), [&recipient]);
            assert_eq!(warning.is_some(), warned);
        }
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
        let text = config(&region(A)).replace("{env: POUCH_REUSE_KEY}", "{file: key}");
        write(folder.path().join("pouch.yaml"), text).unwrap();
        write(folder.path().join("key"), format!("{}\n", *ReuseKey::to_text(&[7; 32]))).unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let settings = load(Path::new("pouch.yaml"), &ambient).unwrap();
        for (mode, warnings) in [(0o600, 0), (0o640, 0), (0o644, 1)] {
            fs::set_permissions(folder.path().join("key"), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(reuse_keys(&settings, &ambient).unwrap().1.len(), warnings, "{mode:o}");
        }
    }
}
