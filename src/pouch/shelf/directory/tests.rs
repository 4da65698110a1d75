use super::*;

use pouch_core::layout::path::{self, BundlePath};
use pouch_core::name::{GroupKind, ObjectKey};

fn region() -> Directory {
    Directory::from("eu")
}

fn secret(name: &str) -> BundlePath {
    path::of_object(&region(), &ObjectKey::new(GroupKind::new("", "Secret"), Some("team".into()), name.into()))
}

fn bytes(files: &[(BundlePath, &str)]) -> NewFiles {
    files.iter().map(|(path, text)| (path.clone(), NewFile::Bytes(text.as_bytes().to_vec()))).collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    make_parent(&path).unwrap();
    fs::write(path, text).unwrap();
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn standing(shelf: &DirectoryShelf) -> Published {
    let (files, odd) = shelf.read(&region()).unwrap();
    Published::unexamined(files).with(odd)
}

/// A directory with the Secret `a` published.
fn published() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let shelf = DirectoryShelf::open(root.path()).unwrap();
    shelf.stage(&region(), bytes(&[(secret("a"), "old")]), &Published::nothing()).unwrap();
    assert_eq!(shelf.commit().unwrap(), Vec::<String>::new());
    assert!(!root.path().join(STAGING).exists());
    root
}

#[test]
fn what_appears_between_reading_and_exchanging_is_kept() {
    let root = published();
    for round in 1..=2 {
        let shelf = DirectoryShelf::open(root.path()).unwrap();
        let before = standing(&shelf);
        shelf.stage(&region(), bytes(&[(secret("a"), "new")]), &before).unwrap();
        write(root.path(), "regions/eu/mine.txt", "mine");
        let left = shelf.commit().unwrap();
        let place = format!("{STAGING}/left-{round}/regions/eu/mine.txt");
        assert_eq!(left, std::slice::from_ref(&place));
        assert_eq!(read(root.path(), &place), "mine");
        assert_eq!(read(root.path(), secret("a").as_str()), "new");
    }
    // And no later run takes it for a copy of its own.
    DirectoryShelf::open(root.path()).unwrap().commit().unwrap();
    assert_eq!(read(root.path(), &format!("{STAGING}/left-1/regions/eu/mine.txt")), "mine");
}

#[test]
fn a_file_that_is_kept_does_not_stay_executable() {
    let root = published();
    let path = secret("a");
    let mode = || fs::metadata(root.path().join(path.as_str())).unwrap().permissions().mode();
    fs::set_permissions(root.path().join(path.as_str()), fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(mode() & 0o111, 0);
    let shelf = DirectoryShelf::open(root.path()).unwrap();
    let before = standing(&shelf);
    let mut files = bytes(&[(secret("b"), "new")]);
    files.insert(path.clone(), NewFile::Kept(path.clone()));
    shelf.stage(&region(), files, &before).unwrap();
    shelf.commit().unwrap();
    assert_eq!(mode() & 0o111, 0);
}

#[test]
fn a_crash_after_the_exchange_loses_no_foreign_file_either() {
    let root = published();
    let shelf = DirectoryShelf::open(root.path()).unwrap();
    let before = standing(&shelf);
    shelf.stage(&region(), bytes(&[(secret("b"), "new")]), &before).unwrap();
    write(root.path(), "regions/eu/mine.txt", "mine");
    // As `commit` does, up to where it dies.
    let new = root.path().join(STAGING).join(NEW);
    let record = shelf.staged.lock().unwrap().to_bytes().unwrap();
    write(root.path(), &format!("{STAGING}/{RECORD}"), std::str::from_utf8(&record).unwrap());
    exchange(&root.path().join("regions/eu"), &new.join("regions/eu")).unwrap();
    // The next run tidies as the end of this one does.
    drop(shelf);
    assert_eq!(read(root.path(), &format!("{STAGING}/left-1/regions/eu/mine.txt")), "mine");
    assert!(!root.path().join(STAGING).join(NEW).exists());
    assert_eq!(read(root.path(), secret("b").as_str()), "new");
}

#[test]
fn a_folder_left_aside_is_put_back() {
    let root = published();
    let aside = root.path().join(STAGING).join(NEW).join("regions/eu.old");
    make_parent(&aside).unwrap();
    fs::rename(root.path().join("regions/eu"), &aside).unwrap();
    let shelf = DirectoryShelf::open(root.path()).unwrap();
    assert_eq!(standing(&shelf).files.len(), 1);
    assert!(!root.path().join(STAGING).exists());
}

/// Between two exchanges the manifest must never lack a file that stands there.
#[test]
fn delivery_files_come_after_the_manifest_and_go_before_it() {
    let root = tempfile::tempdir().unwrap();
    let paths = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let manifest = "regions/eu/bundle.yaml";
    let table: [(&[&str], &[&str]); 5] = [
        (&[], &["flux/eu/core.yaml"]),
        (&["flux/eu/core.yaml"], &[]),
        (&["flux/eu/core.yaml"], &["argocd/eu/application.yaml"]),
        (&["flux/eu/a.yaml"], &["flux/eu/a.yaml", "flux/eu/b.yaml"]),
        (&["flux/eu/a.yaml"], &["flux/eu/b.yaml"]),
    ];
    for (number, (before, after)) in table.into_iter().enumerate() {
        let (root, new) = (root.path().join(format!("{number}")), root.path().join(format!("{number}.new")));
        for path in before.iter().chain([&manifest]) {
            write(&root, path, "old");
        }
        for path in after.iter().chain([&manifest]) {
            write(&new, path, "new");
        }
        let region_files =
            Region { before: paths(&[before, &[manifest]].concat()), after: paths(&[after, &[manifest]].concat()) };
        exchange_region(&root, &new, &region(), &region_files).unwrap();
        for path in after {
            assert_eq!(read(&root, path), "new");
        }
        for path in before.iter().filter(|path| !after.contains(path)) {
            assert!(!root.join(path).exists(), "{number}: {path}");
        }
    }
}

#[test]
fn a_kept_file_that_was_replaced_meanwhile_is_written_as_it_was_read() {
    let root = published();
    let path = secret("a");
    for replacement in ["longer than before", "", "odd"] {
        let shelf = DirectoryShelf::open(root.path()).unwrap();
        let before = standing(&shelf);
        write(root.path(), path.as_str(), replacement);
        let kept = NewFiles::from([(path.clone(), NewFile::Kept(path.clone()))]);
        shelf.stage(&region(), kept, &before).unwrap();
        shelf.commit().unwrap();
        assert_eq!(read(root.path(), path.as_str()), "old");
    }
}

#[test]
fn a_run_that_ends_early_leaves_no_staging_folder() {
    let root = published();
    let shelf = DirectoryShelf::open(root.path()).unwrap();
    shelf.stage(&region(), bytes(&[(secret("a"), "new")]), &Published::nothing()).unwrap();
    assert!(root.path().join(STAGING).exists());
    drop(shelf);
    assert!(!root.path().join(STAGING).exists());
    assert_eq!(read(root.path(), secret("a").as_str()), "old");
}

#[test]
fn shared_files_of_others_are_not_replaced() {
    let root = tempfile::tempdir().unwrap();
    let shelf = DirectoryShelf::open(root.path()).unwrap();
    let stage = || shelf.stage_shared(".gitattributes", b"* -text\n");
    fs::create_dir(root.path().join(".git")).unwrap();
    let staged = || root.path().join(STAGING).exists();
    write(root.path(), ".gitattributes", "*.png binary\n* -text\n");
    stage().unwrap();
    assert!(!staged());
    write(root.path(), ".gitattributes", "* -text\n*.yaml text\n");
    assert!(matches!(stage(), Err(ShelfError::NotOurs(_))));
    fs::remove_dir(root.path().join(".git")).unwrap();
    stage().unwrap();
    assert!(staged());
    std::os::unix::fs::symlink("/dev/zero", root.path().join("x")).unwrap();
    shelf.stage_shared("x", b"new").unwrap();
    assert!(!root.path().join(STAGING).join(NEW).join("x").exists());
}
