//! The cache folder: found where it can be trusted, or not at all.
//!
//! Nothing in it is needed, so a run without one goes on. What others could have put there is not used: the folder
//! is this user's own and nobody else may enter it, and nobody else may put another in its place. What is kept in it
//! is not known here.
//!
//! <https://specifications.freedesktop.org/basedir-spec/latest/>

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::ambient::Ambient;
use crate::error::said;

/// A folder that only this user can enter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache(PathBuf);

/// Why there is no cache.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoCache {
    /// No variable names a place.
    #[error("XDG_CACHE_HOME is no absolute path, and HOME is no folder")]
    Nowhere,
    /// It cannot be made or looked at.
    #[error("{} cannot be used: {why}", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// Something else stands there.
    #[error("{} is no folder, or a link", .0.display())]
    NoFolder(PathBuf),
    /// It belongs to somebody else.
    #[error("{} belongs to another user", .0.display())]
    NotOurs(PathBuf),
    /// Others can change it.
    #[error("others can write to {}", .0.display())]
    Open(PathBuf),
}

/// The folder `pouch` in `XDG_CACHE_HOME`, or in `.cache` of `HOME`; made where it is not there.
///
/// As the specification asks, a path that is not absolute counts as none.
///
/// # Errors
/// Where there is no such folder that can be trusted.
pub fn cache(ambient: &Ambient) -> Result<Cache, NoCache> {
    let absolute = |name: &str| ambient.var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // Accounts of services have a home folder that is not meant to be made, such as `/nonexistent`.
    let home = || absolute("HOME").filter(|home| home.is_dir()).map(|home| home.join(".cache"));
    let above = absolute("XDG_CACHE_HOME").or_else(home).ok_or(NoCache::Nowhere)?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&above);
    // The user may have linked it elsewhere; from there on no link is followed.
    let above = made.and_then(|()| fs::canonicalize(&above)).map_err(|error| unusable(&above, &error))?;
    let found = fs::metadata(&above).map_err(|error| unusable(&above, &error))?;
    // Whoever can rename in the folder above can put another cache in place, unless the folder is sticky.
    if found.uid() != geteuid().as_raw() && found.uid() != 0 {
        return Err(NoCache::NotOurs(above));
    }
    if found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0 {
        return Err(NoCache::Open(above));
    }
    private(above.join("pouch")).map(Cache)
}

impl Cache {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder `name` in it, made where it is not there.
    ///
    /// # Errors
    /// Where something else stands there, or somebody else's folder.
    pub fn folder(&self, name: &str) -> Result<Cache, NoCache> {
        private(self.0.join(name)).map(Cache)
    }
}

/// Makes a folder that only this user can enter, or makes sure that it is one.
fn private(path: PathBuf) -> Result<PathBuf, NoCache> {
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unusable(&path, &error)),
        _ => {}
    }
    let found = fs::symlink_metadata(&path).map_err(|error| unusable(&path, &error))?;
    if !found.is_dir() {
        return Err(NoCache::NoFolder(path));
    }
    if found.uid() != geteuid().as_raw() {
        return Err(NoCache::NotOurs(path));
    }
    // What stands in it may be anybody's.
    if found.mode() & 0o022 != 0 {
        return Err(NoCache::Open(path));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).map_err(|error| unusable(&path, &error))?;
    }
    Ok(path)
}

fn unusable(path: &Path, error: &std::io::Error) -> NoCache {
    NoCache::Unusable { path: path.to_owned(), why: said(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ambient(vars: &[(&str, &Path)]) -> Ambient {
        let vars: Vec<(&str, &str)> = vars.iter().map(|(name, path)| (*name, path.to_str().unwrap())).collect();
        Ambient::fixed(Path::new("/"), jiff::Timestamp::UNIX_EPOCH, &vars)
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The mode of the cache folder that was found, or why there is none, without the path.
    #[track_caller]
    fn check(vars: &[(&str, &Path)], expect: &str) {
        let said = match cache(&ambient(vars)) {
            Ok(cache) => {
                assert!(cache.path().ends_with("pouch") && cache.path().is_dir());
                format!("{:o}", fs::metadata(cache.path()).unwrap().mode() & 0o7777)
            }
            Err(error) => error.to_string(),
        };
        assert!(said.contains(expect), "{said}");
    }

    #[test]
    fn the_place_is_absolute_and_named_by_the_environment() {
        let tree = tempfile::tempdir().unwrap();
        let (xdg, home) = (tree.path().join("xdg"), tree.path().join("home"));
        check(&[], "HOME is no folder");
        check(&[("XDG_CACHE_HOME", Path::new("relative")), ("HOME", Path::new(""))], "HOME is no folder");
        check(&[("XDG_CACHE_HOME", &xdg), ("HOME", &home)], "700");
        assert!(xdg.join("pouch").is_dir() && !home.exists());
        check(&[("HOME", &home)], "HOME is no folder");
        assert!(!home.exists());
        fs::create_dir(&home).unwrap();
        check(&[("XDG_CACHE_HOME", Path::new("relative")), ("HOME", &home)], "700");
        assert!(home.join(".cache/pouch").is_dir());
        assert_eq!(fs::metadata(home.join(".cache")).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_others_can_change_is_not_used() {
        let tree = tempfile::tempdir().unwrap();
        let (above, pouch) = (tree.path().join("xdg"), tree.path().join("xdg/pouch"));
        fs::create_dir_all(&pouch).unwrap();
        let vars: &[(&str, &Path)] = &[("XDG_CACHE_HOME", &above)];
        mode(&pouch, 0o755);
        check(vars, "700");
        mode(&pouch, 0o770);
        check(vars, "others can write");
        mode(&pouch, 0o700);
        mode(&above, 0o777);
        check(vars, "others can write");
        mode(&above, 0o1777);
        check(vars, "700");
        fs::remove_dir(&pouch).unwrap();
        std::os::unix::fs::symlink(tree.path(), &pouch).unwrap();
        check(vars, "a link");
        fs::remove_file(&pouch).unwrap();
        fs::write(&pouch, "").unwrap();
        check(vars, "no folder");
        fs::remove_dir_all(&above).unwrap();
        fs::write(&above, "").unwrap();
        check(vars, "cannot be used");
    }

    #[test]
    fn a_folder_of_somebody_else_is_not_used() {
        if !geteuid().is_root() {
            eprintln!("SKIPPED: only root can give a folder away");
            return;
        }
        let tree = tempfile::tempdir().unwrap();
        let (above, pouch) = (tree.path().join("xdg"), tree.path().join("xdg/pouch"));
        fs::create_dir_all(&pouch).unwrap();
        let vars: &[(&str, &Path)] = &[("XDG_CACHE_HOME", &above)];
        for given in [&pouch, &above] {
            std::os::unix::fs::chown(given, Some(12_345), None).unwrap();
            check(vars, "another user");
            std::os::unix::fs::chown(given, Some(0), None).unwrap();
        }
        check(vars, "700");
    }

    #[test]
    fn folders_in_it_are_private_too() {
        let tree = tempfile::tempdir().unwrap();
        let found = cache(&ambient(&[("XDG_CACHE_HOME", tree.path())])).unwrap();
        let locks = found.folder("locks").unwrap();
        assert_eq!(fs::metadata(locks.path()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(found.folder("locks"), Ok(locks.clone()));
        fs::write(locks.path().join("file"), "").unwrap();
        assert!(matches!(locks.folder("file"), Err(NoCache::NoFolder(_))));
    }
}
