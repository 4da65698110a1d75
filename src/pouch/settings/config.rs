//! `pouch.yaml` and the files of recipients that it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pouch_core::config::error::{ConfigError, Spot, holds_secret, leaks};
use pouch_core::config::file::FleetFile;
use pouch_core::config::shape::{self, Typed, Unfit};
use pouch_core::config::written::{Position, Written};
use pouch_core::config::{EntryPlace, Fleet, resolve};
use pouch_core::finding::Place;
use pouch_core::inventory::providers;
use pouch_core::secret::holds_private_key;

use super::file::{FileFault, MAX_FILE_BYTES, read_text};
use super::problem::{Problem, SettingsError};
use super::revision::From;
use crate::ambient::Ambient;

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The fleet that it describes.
    pub fleet: Fleet,
    /// The folder of the file, which its paths are relative to.
    pub base: PathBuf,
}

/// What works out what a configuration means.
type Resolve = fn(&Typed, &BTreeMap<String, String>) -> Result<Fleet, Vec<ConfigError>>;

/// Reads and resolves the configuration at `path`, which is relative to the current folder.
pub fn load(path: &Path, ambient: &Ambient) -> Result<Settings, SettingsError> {
    load_from(From::Disk, path, ambient)
}

/// The same from elsewhere, with the files of recipients that it names. All other paths in it mean what stands there.
pub fn load_from(from: From<'_>, path: &Path, ambient: &Ambient) -> Result<Settings, SettingsError> {
    load_by(resolve::resolve, from, path, ambient)
}

/// The same as [`load`], as if the configuration were this text.
pub fn load_edited(text: &str, path: &Path, ambient: &Ambient) -> Result<Settings, SettingsError> {
    load_from(From::Edited(text), path, ambient)
}

/// The same as [`load`], of a configuration for which keys are to be made yet.
pub fn load_without_keys(path: &Path, ambient: &Ambient) -> Result<Settings, SettingsError> {
    load_by(resolve::resolve_without_keys, From::Disk, path, ambient)
}

fn load_by(resolve: Resolve, from: From<'_>, path: &Path, ambient: &Ambient) -> Result<Settings, SettingsError> {
    let shown = match from {
        From::Disk | From::Edited(_) => path.display().to_string(),
        From::Revision(revision) => revision.shown(path),
    };
    let whole = ambient.cwd().join(path);
    let read_text = |path: &Path, most| match from {
        From::Edited(text) if *path == whole => Ok(text.to_owned()),
        From::Disk | From::Edited(_) => read_text(path, most),
        From::Revision(revision) => revision.read(path, most),
    };
    let base = whole.parent().unwrap_or(ambient.cwd()).to_owned();
    let text = match read_text(&whole, MAX_FILE_BYTES) {
        Ok(text) => text,
        Err(fault) => {
            let help = match fault {
                FileFault::Absent if matches!(from, From::Revision(_)) => {
                    "Name a revision with --config-from that has it; -f says where it stands."
                }
                FileFault::Absent => "`pouch init` writes one to start from; -f names another file.",
                _ => "Name the configuration with -f.",
            };
            return Err(SettingsError::one(shown, fault.message("the configuration"), fault.help(help)));
        }
    };
    let typed = match shape::read(&text) {
        Ok(read) => read,
        Err(Unfit::Flawed(flaw)) => {
            let position = (flaw.line > 0).then_some(Position { line: flaw.line, column: flaw.column.max(1) });
            // What cannot be read is shown only if nothing in it is written in escapes, or over several lines.
            let is_open = !holds_private_key(text.as_bytes()) && !text.contains('\\');
            let line = position.filter(|_| is_open).and_then(|at| line_of(&text, at.line));
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
    for name in resolve::files_needed(&typed.file) {
        match read_text(&base.join(&name), MAX_FILE_BYTES) {
            Ok(text) => {
                texts.insert(name, text);
            }
            Err(fault) => {
                let (what, help) = match resolve::provider_files(&typed.file).contains(&name) {
                    true => ("the provider file", "Paths in the configuration are relative to it."),
                    false => (
                        "the file of recipients",
                        "Paths in the configuration are relative to it; write one recipient (`age1…`) per line.",
                    ),
                };
                let shown = if holds_secret(&name) { "a path that is not shown".to_owned() } else { name };
                problems.extend(SettingsError::one(shown, fault.message(what), fault.help(help)).problems);
            }
        }
    }
    problems.extend(faulty_providers(&typed.file, &texts));
    match resolve(&typed, &texts) {
        Ok(mut fleet) => {
            say_where(&mut fleet, &typed.written, &shown);
            let problems = with_exposed(problems, &text, &shown);
            if problems.is_empty() { Ok(Settings { fleet, base }) } else { Err(SettingsError { problems }) }
        }
        Err(errors) => {
            // A file that cannot be read is reported once, with the reason.
            let unread = |error: &ConfigError| error.message == resolve::NOT_READ && !problems.is_empty();
            let errors: Vec<ConfigError> = errors.into_iter().filter(|error| !unread(error)).collect();
            problems.extend(place(errors, &typed.written, &text, &shown));
            Err(SettingsError { problems: with_exposed(problems, &text, &shown) })
        }
    }
}

/// Says in which lines the entries of groups of guest clusters stand, so that what is found of one can be pointed at.
fn say_where(fleet: &mut Fleet, written: &Written, file: &str) {
    let path: Arc<str> = file.into();
    for EntryPlace { field, origin } in fleet.guests.values_mut().flat_map(|group| group.places.values_mut()) {
        if let Some(Position { line, column }) = written.position(field, Spot::Value) {
            origin.place = Place::File { path: path.clone(), line, column };
        }
    }
}

/// What is wrong with the provider files by which Argo CD gets to know clusters. They are read strictly, as this
/// configuration is.
fn faulty_providers(file: &FleetFile, texts: &BTreeMap<String, String>) -> Vec<Problem> {
    let faults = |name: &String| {
        let text = texts.get(name)?;
        let read = providers::read(text).err().unwrap_or_default();
        let faults = read.into_iter().map(|fault| Problem {
            file: name.clone(),
            position: None,
            message: fault.message,
            help: fault.help.into_owned(),
            line: None,
            is_leak: false,
        });
        Some(faults.chain(exposed(text, name)).collect::<Vec<_>>())
    };
    resolve::provider_files(file).into_iter().filter_map(faults).flatten().collect()
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

/// Adds the keys that lie open to the other problems: whatever else is wrong, they are leaked.
fn with_exposed(mut problems: Vec<Problem>, text: &str, file: &str) -> Vec<Problem> {
    // A problem that names the field, and what belongs there, says more.
    let lines = |problem: &Problem| problem.position.filter(|_| problem.is_leak).map(|at| at.line);
    let told: Vec<u32> = problems.iter().filter_map(lines).collect();
    problems.extend(exposed(text, file).into_iter().filter(|one| lines(one).is_none_or(|line| !told.contains(&line))));
    problems.sort_by_key(|problem| problem.position);
    problems
}

fn place(errors: Vec<ConfigError>, written: &Written, text: &str, file: &str) -> Vec<Problem> {
    // A key may be written in escapes, or over several lines.
    let is_open = !written.has_text(holds_secret) && !holds_private_key(text.as_bytes());
    let mut problems: Vec<Problem> = errors
        .into_iter()
        .map(|error| {
            let position = written.position(&error.field, error.spot);
            let line = position.filter(|_| is_open && !error.secret).and_then(|at| line_of(text, at.line));
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

#[cfg(test)]
mod tests {
    use std::fs::write;

    use pouch_core::reuse::ReuseKey;

    use super::super::sample::{RECIPIENT, config, loaded, region};
    use super::*;

    const SECRET: &str = "AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQS7KDVNN";

    #[test]
    fn faults_show_their_place_and_line() {
        let (_folder, _, result) = loaded(&format!("{}resolution: kcn\n", region(RECIPIENT)), &[]);
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
        // In escapes, over several lines, and where a path is wanted.
        for rest in [
            format!("{}zebra: \"\\x41{}\"\n", region(RECIPIENT), SECRET.strip_prefix('A').unwrap()),
            format!("{}a: |\n  -----BEGIN PRIVATE KEY-----\n  {SECRET}\nzebra: 1\n", region(RECIPIENT)),
            format!("{}a: \"\\x41{}\n", region(RECIPIENT), SECRET.strip_prefix('A').unwrap()),
            format!("regions: {{eu: {{recipientsFile: {SECRET}, namespaces: {{allowed: ['*']}}}}}}\n"),
        ] {
            let (_folder, _, result) = loaded(&rest, &[]);
            let shown = format!("{0} {0:?}", result.unwrap_err());
            assert!(!shown.contains("1QYQSZ"), "{shown}");
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
        for rest in [format!("# {SECRET}\n"), format!("keepMetadata: {{labels: [{SECRET}]}} # x\n")] {
            let (_folder, _, result) = loaded(&format!("{}{rest}", region(RECIPIENT)), &[]);
            let shown = result.unwrap_err().to_string();
            assert!(shown.contains("pouch.yaml:8:1") && shown.contains("must not be in the configuration"), "{shown}");
            assert!(!shown.contains("1QYQSZ"), "{shown}");
        }
    }

    #[test]
    fn a_key_in_place_of_its_file_is_called_leaked_beside_all_other_faults() {
        let (folder, ambient, _) = loaded(&region(RECIPIENT), &[]);
        let key = ReuseKey::to_text(&[7; 32]);
        let text = config(&format!("{}zebra: 1\n", region(RECIPIENT))).replace("{env: POUCH_REUSE_KEY}", &key);
        write(folder.path().join("pouch.yaml"), text).unwrap();
        let shown = load(Path::new("pouch.yaml"), &ambient).unwrap_err().to_string();
        assert!(shown.contains("pouch.yaml:6:1") && shown.contains("treat it as leaked"), "{shown}");
        assert!(shown.contains("zebra") && !shown.contains(key.get(20..40).unwrap()), "{shown}");
        write(folder.path().join("pouch.yaml"), format!("# -----BEGIN regions\n{}", config(&region(RECIPIENT))))
            .unwrap();
        assert!(load(Path::new("pouch.yaml"), &ambient).is_ok());
    }

    #[test]
    fn files_of_recipients_are_read_beside_the_configuration() {
        let (folder, ambient, result) =
            loaded("regions: {eu: {recipientsFile: eu.txt, namespaces: {allowed: ['*']}}}\n", &[]);
        let error = result.unwrap_err();
        assert_eq!(error.problems.len(), 1);
        assert!(error.to_string().contains("the file of recipients is not there"), "{error}");
        write(folder.path().join("eu.txt"), format!("# eu\n{RECIPIENT}\n")).unwrap();
        let settings = load(Path::new("pouch.yaml"), &ambient).unwrap();
        assert_eq!(settings.fleet.regions["eu"].recipients.len(), 1);
        assert_eq!(settings.base, folder.path());
        write(folder.path().join("eu.txt"), format!("{RECIPIENT}\nnonsense\n")).unwrap();
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
}
