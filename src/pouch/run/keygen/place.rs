//! Where a key must not go: over what is there, to what is published or read as a source, into git.

use std::path::{Path, PathBuf};

use pouch_core::config::{Fleet, SourcePlace};
use pouch_core::report::shell;

use crate::ambient::Ambient;
use crate::error::Failure;
use crate::git::ignored::{Care, care};
use crate::git::objects::{self, ObjectsError};
use crate::run::keyfiles::{KeyFolder, is_there};

/// Refuses a file that a key must not go to, but for what git says of it. A file that the user named must not be a
/// source's either.
pub(super) fn check(
    path: &Path,
    (flag, is_named): (&str, bool),
    place: &KeyFolder,
    fleet: Option<&Fleet>,
    ambient: &Ambient,
) -> Result<(), Failure> {
    let output = fleet.map(|fleet| place.base.join(&fleet.output.path));
    refuse_taken(path, output.as_deref(), flag, ambient)?;
    match fleet.filter(|_| is_named) {
        Some(fleet) => refuse_source(path, &place.base, fleet),
        None => Ok(()),
    }
}

/// Refuses a file that is there, or would be published.
fn refuse_taken(path: &Path, output: Option<&Path>, flag: &str, ambient: &Ambient) -> Result<(), Failure> {
    let shown = path.display();
    if is_there(path) {
        let other = free_beside(path);
        let other = ambient.from_here(&other).display().to_string();
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
        let SourcePlace::Directory { path: typed, content } = &source.place else { continue };
        let root = real(&base.join(typed));
        let Ok(below) = whole.strip_prefix(&root) else { continue };
        let below = below.to_string_lossy();
        if content.reads(&below) || !real(base).starts_with(&root) {
            return Err(Failure::usage(
                format!("{} is in the folder of source {}", path.display(), source.name),
                "Name a file outside of it: what is there is read as manifests, and kept where manifests are.",
            ));
        }
    }
    Ok(())
}

/// Refuses a file that git could take.
pub(super) fn refuse_tracked(path: &Path) -> Result<(), Failure> {
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
