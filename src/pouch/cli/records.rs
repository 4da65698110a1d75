//! Whether the files of `--summary` and `--metrics` can be written, found out before a run begins.
//!
//! A run that cannot be told of is not begun, and a summary of an earlier run does not outlive the begin
//! of a new one: where there is one, the run that was asked for wrote it. What stands in these files is
//! not known here.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, value_parser};

use crate::error::Failure;
use crate::scratch;
use crate::session::{Global, Tolerate};

/// The flags of both files for a command that refuses them: its help does not offer them, and who gives one all the
/// same is told by [`refuse`] why not. Clap takes these for the global ones, which have the same names.
pub fn refused() -> [Arg; 2] {
    ["summary", "metrics"]
        .map(|name| Arg::new(name).long(name).value_parser(value_parser!(PathBuf)).global(true).hide(true))
}

/// The flags that do nothing for a command that publishes nothing and is recorded nowhere.
pub fn only_answers() -> [Arg; 3] {
    let [summary, metrics] = refused();
    let [tolerate] = only_proves();
    [summary, metrics, tolerate]
}

/// The flags that do nothing for a command that says what would be published: it never ends as what they are for.
pub fn only_plans() -> [Arg; 2] {
    let ([_, metrics], [tolerate]) = (refused(), only_proves());
    [metrics, tolerate]
}

/// The flag that does nothing for a command that never ends with 3 or 4; it is taken, since a job may give it to all.
pub fn only_proves() -> [Arg; 1] {
    let tolerate = Arg::new("tolerate").long("tolerate").value_parser(value_parser!(Tolerate));
    [tolerate.value_delimiter(',').action(ArgAction::Append).global(true).hide(true)]
}

/// Refuses the flags of a command that writes neither file: a job that waits for one would never see it.
pub fn refuse(global: &Global) -> Result<(), Failure> {
    let flag = match (&global.summary, &global.metrics) {
        (Some(_), _) => "--summary",
        (None, Some(_)) => "--metrics",
        (None, None) => return Ok(()),
    };
    Err(Failure::usage(
        format!("this command has nothing to write to the file of {flag}"),
        "Only `render`, `publish`, `rekey`, `verify` and `deliver` write a summary and metrics, and `plan` a summary. Leave the \
         flag out.",
    ))
}

/// Refuses metrics of a run that only looks: who watches them would take it for one that published.
pub fn refuse_metrics(global: &Global) -> Result<(), Failure> {
    match &global.metrics {
        None => Ok(()),
        Some(_) => Err(Failure::usage(
            "there is nothing to write to the file of --metrics where a run only says what it would do",
            "Leave the flag out; --summary says what would happen.",
        )),
    }
}

/// Looks whether both files can be written, and removes the summary of an earlier run.
pub fn prepare(global: &Global) -> Result<(), Failure> {
    let refused = |what: &str, path: &Path, why: &str| {
        Failure::usage(
            format!("cannot write the {what} to {}: {why}", path.display()),
            "Nothing was read or published. Name a file in a folder that is there and that pouch may write to.",
        )
    };
    for (what, path) in [("summary", &global.summary), ("metrics", &global.metrics)] {
        let Some(path) = path else { continue };
        if is_same(path, &global.file) {
            return Err(refused(what, path, "this is the configuration"));
        }
    }
    if let Some(path) = &global.metrics {
        writable(path).map_err(|error| refused("metrics", path, &error.to_string()))?;
    }
    if let Some(path) = &global.summary {
        remove(path).map_err(|error| refused("summary", path, &error.to_string()))?;
    }
    Ok(())
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Removes a file, after which another can be made there. What is no file of its own, such as a pipe or a
/// link, stays: to remove `/dev/stdout` is nobody's wish.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if there.is_file() => match fs::remove_file(path) {
            Ok(()) => writable(path),
            // A file in a folder that nobody may change, such as one that is mounted: it gets empty.
            Err(_) => OpenOptions::new().write(true).truncate(true).open(path).map(drop),
        },
        Ok(_) if fs::metadata(path).is_ok_and(|there| there.is_dir()) => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(()),
        Err(_) => writable(path),
    }
}

/// Makes a file beside this one, and takes it away again.
fn writable(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| there.is_dir()) || path.file_name().is_none() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    scratch::file_in(folder, 0o600)?.close()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn help_offers_these_files_where_a_command_writes_them() {
        let mut cli = Cli::command();
        cli.build();
        for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
            for (name, writers) in [
                ("summary", &["plan", "render", "publish", "rekey", "verify", "deliver"][..]),
                ("metrics", &["render", "publish", "rekey", "verify", "deliver"]),
                ("tolerate", &["render", "publish", "rekey", "deliver"]),
            ] {
                let writes = writers.contains(&command.get_name());
                let flag = command.get_arguments().find(|flag| flag.get_id() == name).unwrap();
                assert_eq!(flag.is_hide_set(), !writes, "{} --{name}", command.get_name());
            }
        }
        // Hidden or not, and on either side of the command, the flag is the same one.
        for words in [["pouch", "keygen", "--summary", "x"], ["pouch", "--summary", "x", "man"]] {
            let global = Cli::try_parse_from(words).unwrap().global;
            assert_eq!(global.summary.as_deref(), Some(Path::new("x")), "{words:?}");
            assert!(refuse(&global).is_err());
        }
    }

    #[test]
    fn a_summary_of_an_earlier_run_goes_and_what_is_no_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old.json"), "{}").unwrap();
        fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("kept"), at("link")).unwrap();
        fs::write(at("kept"), "kept").unwrap();
        for (name, fine) in
            [("old.json", true), ("new.json", true), ("link", true), ("folder", false), ("none/new.json", false)]
        {
            assert_eq!(remove(&at(name)).is_ok(), fine, "{name}");
        }
        assert!(!at("old.json").exists() && at("link").exists());
        assert_eq!(fs::read_to_string(at("kept")).unwrap(), "kept");
        assert!(remove(Path::new("/dev/full")).is_ok() && Path::new("/dev/full").exists());
        // Nothing stays behind.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
