//! Tests of `directory`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rustix::fs::OFlags;

use super::*;
use crate::survey::source::MAX_FILE_BYTES;
use crate::survey::source::tests::{default_globs, given, globs, secret, summary};
use crate::survey::time::Time;

/// A folder `src` in a temporary one; beside it lies a file that no reading may reach.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Tree(tempfile::tempdir().unwrap());
        fs::create_dir(tree.root()).unwrap();
        fs::create_dir(tree.root().join("../outside")).unwrap();
        fs::write(tree.root().join("../outside/secret.yaml"), secret("outside")).unwrap();
        tree
    }

    fn base(&self) -> &Path {
        self.0.path()
    }

    fn root(&self) -> PathBuf {
        self.base().join("src")
    }

    fn file(&self, path: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        fs::write(&path, secret(&name)).unwrap();
        path
    }

    fn link(&self, target: &str, path: &str) {
        symlink(target, self.root().join(path)).unwrap();
    }

    /// What reading `src` gives, with the temporary folder's name dropped.
    fn read(&self) -> String {
        self.read_with("src", &default_globs())
    }

    fn read_with(&self, path: &str, files: &FileGlobs) -> String {
        let reading = read(&"s".into(), path, files, &given(self.base())).unwrap();
        assert!(reading.identity.is_none() && reading.revision.is_none());
        let text = summary(&reading).replace(&format!("{}/", self.base().display()), "");
        assert!(!text.contains("Secret outside") && !text.contains("Secret secret"), "{text}");
        text
    }
}

#[test]
fn files_are_read_at_any_depth_in_the_order_of_their_paths() {
    let tree = Tree::new();
    for path in ["b.yaml", "a/z.yml", "a.yaml", "a-b.json", "a/deep/er/x.yaml", "note.txt"] {
        tree.file(path);
    }
    fs::write(tree.root().join("a-b.json"), r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"j"}}"#).unwrap();
    let expect = "Secret j src/a-b.json:1:1\nSecret a src/a.yaml:1:1\nSecret x src/a/deep/er/x.yaml:1:1\n\
                  Secret z src/a/z.yml:1:1\nSecret b src/b.yaml:1:1\n";
    assert_eq!(tree.read(), expect);
    assert_eq!(tree.read_with("src/../src/./", &default_globs()), expect.replace("src/", "src/../src/"));
    assert_eq!(tree.read_with("src/note.txt", &default_globs()), "Secret note src/note.txt:1:1\n");
    let some = FileGlobs { include: globs(&["*.y*ml"]), exclude: globs(&["a/**", "b.yaml"]) };
    assert_eq!(tree.read_with("src", &some), "Secret a src/a.yaml:1:1\n");
}

#[test]
fn links_that_lead_out_are_refused_by_name() {
    let tree = Tree::new();
    tree.link("../outside/secret.yaml", "a.yaml");
    tree.link(&tree.base().join("outside/secret.yaml").display().to_string(), "b.yaml");
    tree.link("../outside", "c");
    tree.link("/dev/zero", "d.yaml");
    tree.link("e.yaml", "e.yaml");
    tree.link("nowhere", "f.yaml");
    tree.link("..", "g");
    tree.link("/etc/passwd", "h.txt");
    let text = tree.read();
    let refused: Vec<&str> = text.lines().collect();
    let mut sorted = refused.clone();
    sorted.sort_unstable();
    let expect = [
        "incomplete",
        "refused-file src/a.yaml:1:1",
        "refused-file src/b.yaml:1:1",
        "refused-file src/c:1:1",
        "refused-file src/d.yaml:1:1",
        "refused-file src/g:1:1",
        "unreadable-file src/e.yaml:1:1",
        "unreadable-file src/f.yaml:1:1",
    ];
    assert_eq!(sorted, expect);
    let none = FileGlobs { include: globs(&["*.yaml"]), exclude: globs(&["?.yaml", "c", "g"]) };
    assert_eq!(tree.read_with("src", &none), "");
}

#[test]
fn links_to_files_inside_are_that_file_once() {
    let tree = Tree::new();
    tree.file("real/a.yaml");
    tree.file("real/b.txt");
    tree.link("real/a.yaml", "again.yaml");
    tree.link("real/b.txt", "b.yaml");
    tree.link("b.yaml", "c.yaml");
    assert_eq!(tree.read(), "Secret b src/b.yaml:1:1\nSecret a src/real/a.yaml:1:1\n");
    tree.link("real", "loop");
    tree.link("../..", "real/up");
    let text = tree.read();
    assert!(text.contains("refused-file src/loop:1:1\n") && text.contains("refused-file src/real/up:1:1\n"), "{text}");
}

#[test]
fn a_mounted_config_map_is_read_once() {
    let tree = Tree::new();
    tree.file("..2026_01_01/a.yaml");
    tree.link("..2026_01_01", "..data");
    tree.link("..data/a.yaml", "a.yaml");
    assert_eq!(tree.read(), "Secret a src/a.yaml:1:1\n");
}

#[test]
fn fifos_sockets_and_devices_are_refused_without_opening_them() {
    let tree = Tree::new();
    rustix::fs::mkfifoat(CWD, tree.root().join("fifo.yaml"), Mode::from_raw_mode(0o600)).unwrap();
    rustix::fs::mkfifoat(CWD, tree.root().join("fifo.txt"), Mode::from_raw_mode(0o600)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.root().join("socket.yaml")).unwrap();
    tree.link("fifo.yaml", "link.yaml");
    let mut lines: Vec<String> = tree.read().lines().map(str::to_owned).collect();
    lines.sort();
    let expect = [
        "incomplete",
        "refused-file src/fifo.yaml:1:1",
        "refused-file src/link.yaml:1:1",
        "refused-file src/socket.yaml:1:1",
    ];
    assert_eq!(lines, expect);
    let error = read(&"s".into(), "src/fifo.yaml", &default_globs(), &given(tree.base())).err().unwrap();
    assert!(error.message.contains("neither a folder nor a plain file"), "{error}");
    assert!(read(&"s".into(), "/dev/null", &default_globs(), &given(tree.base())).is_err());
}

#[test]
fn a_swapped_path_is_not_followed() {
    let tree = Tree::new();
    tree.file("in/a.yaml");
    fs::rename(tree.root().join("in"), tree.root().join("was")).unwrap();
    tree.link("../outside", "in");
    tree.link("../outside/secret.yaml", "was/b.yaml");
    let root = openat(CWD, tree.root(), FOLDER, Mode::empty()).unwrap();
    for path in ["in/secret.yaml", "was/b.yaml", "../outside/secret.yaml", "/etc/passwd"] {
        assert!(open_beneath(&root, Path::new(path), OFlags::RDONLY).is_err(), "{path}");
    }
    assert!(open_beneath(&root, Path::new("was/a.yaml"), OFlags::RDONLY).is_ok());
}

#[test]
fn what_cannot_be_read_leaves_the_source_incomplete() {
    let tree = Tree::new();
    tree.file("open.yaml");
    let file = fs::File::create(tree.root().join("huge.yaml")).unwrap();
    file.set_len(MAX_FILE_BYTES + 1).unwrap();
    assert_eq!(tree.read(), "Secret open src/open.yaml:1:1\nrefused-file src/huge.yaml:1:1\nincomplete\n");
    fs::remove_file(tree.root().join("huge.yaml")).unwrap();
    if rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: root can read everything");
        return;
    }
    fs::set_permissions(tree.file("closed.yaml"), fs::Permissions::from_mode(0o000)).unwrap();
    tree.file("folder/a.yaml");
    fs::set_permissions(tree.root().join("folder"), fs::Permissions::from_mode(0o000)).unwrap();
    let text = tree.read();
    fs::set_permissions(tree.root().join("folder"), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(
        text.contains("unreadable-file src/closed.yaml:1:1\n") && text.contains("unreadable-file src/folder:1:1\n")
    );
}

#[test]
fn what_is_not_there_is_unreachable_and_an_empty_folder_proves_nothing() {
    let tree = Tree::new();
    for path in ["nowhere", "src/nowhere.yaml", "src/\0"] {
        assert!(read(&"s".into(), path, &default_globs(), &given(tree.base())).is_err(), "{path:?}");
    }
    assert_eq!(tree.read(), "unreadable-file source s\nincomplete\n");
    fs::write(tree.root().join(".gitkeep"), "").unwrap();
    assert_eq!(tree.read(), "");
}

#[test]
fn names_are_bytes() {
    let tree = Tree::new();
    fs::write(tree.root().join(OsStr::from_bytes(b"\xff.yaml")), secret("bytes")).unwrap();
    fs::write(tree.root().join("new\nline.yaml"), secret("line")).unwrap();
    fs::write(tree.root().join("...yaml"), secret("hidden")).unwrap();
    fs::write(tree.root().join("a..b.yaml"), secret("dots")).unwrap();
    let expect =
        "Secret dots src/a..b.yaml:1:1\nSecret line src/new\nline.yaml:1:1\nSecret bytes src/\u{fffd}.yaml:1:1\n";
    assert_eq!(tree.read(), expect);
}

#[test]
fn our_own_output_and_hidden_names_are_passed_over() {
    let tree = Tree::new();
    for path in ["a.yaml", "bundles/eu/b.yaml", ".github/c.yaml", ".git/d.yaml", ".sops.yaml"] {
        tree.file(path);
    }
    let skip = [tree.root().join("bundles"), tree.root().join("nowhere")];
    let given = Given { skip: &skip, ..given(tree.base()) };
    let reading = read(&"s".into(), "src", &default_globs(), &given).unwrap();
    assert_eq!(reading.documents.len(), 1);
    assert!(reading.complete && reading.findings.is_empty());
    let hidden = FileGlobs { include: globs(&["a.yaml", ".github/*.yaml", "*/d.yaml"]), exclude: globs(&[]) };
    let text = tree.read_with("src", &hidden);
    assert_eq!(text, "Secret c src/.github/c.yaml:1:1\nSecret a src/a.yaml:1:1\n");
}

#[test]
fn a_sparse_checkout_and_a_submodule_leave_the_source_incomplete() {
    let tree = Tree::new();
    let repository = git2::Repository::init(tree.root()).unwrap();
    tree.file("team/a.yaml");
    tree.file("team/sub/x.yaml");
    let mut index = repository.index().unwrap();
    index.add_path(Path::new("team/a.yaml")).unwrap();
    index.write().unwrap();
    let both = "Secret a src/team/a.yaml:1:1\nSecret x src/team/sub/x.yaml:1:1\n";
    assert_eq!(tree.read(), both);

    let entry = index.get_path(Path::new("team/a.yaml"), 0).unwrap();
    let skip = git2::IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
    for name in ["team/b.txt", "team/b.yaml"] {
        let path = name.as_bytes().to_vec();
        index.add(&git2::IndexEntry { path, flags_extended: skip, ..copy(&entry) }).unwrap();
        index.write().unwrap();
        let lacks = if name.ends_with(".yaml") { "unreadable-file source s\nincomplete\n" } else { "" };
        assert_eq!(tree.read(), format!("{both}{lacks}"), "{name}");
    }
    index.remove_path(Path::new("team/b.yaml")).unwrap();
    index.add(&git2::IndexEntry { path: b"team/sub".to_vec(), mode: 0o160_000, ..copy(&entry) }).unwrap();
    index.write().unwrap();
    assert_eq!(tree.read(), "Secret a src/team/a.yaml:1:1\nrefused-file src/team/sub:1:1\nincomplete\n");
    let text = tree.read_with("src/team", &default_globs());
    assert!(text.contains("refused-file src/team/sub:1:1"), "{text}");
}

fn copy(entry: &git2::IndexEntry) -> git2::IndexEntry {
    git2::IndexEntry { path: entry.path.clone(), ..*entry }
}

#[test]
fn where_no_time_is_left_no_more_is_looked_at() {
    let tree = Tree::new();
    for number in 0..100 {
        tree.file(&format!("{number}.yaml"));
    }
    let read = |time: &Time| {
        let given = given(tree.base());
        let given = Given { means: Means { time, ..given.means }, ..given };
        read(&"s".into(), "src", &default_globs(), &given).unwrap().documents.len()
    };
    let time = Time::of_seconds(0);
    assert_eq!((read(&time), time.is_over()), (0, true));
    assert_eq!(read(&Time::of_seconds(600)), 100);
}

#[test]
fn of_masses_of_refused_paths_the_first_are_told() {
    let tree = Tree::new();
    tree.file("a.yaml");
    for number in 0..1500 {
        tree.link("../../outside/secret.yaml", &format!("l{number}.yaml"));
    }
    let reading = read(&"s".into(), "src", &default_globs(), &given(tree.base())).unwrap();
    let last = reading.findings.last().unwrap();
    assert_eq!((reading.findings.len(), reading.documents.len()), (MOST_OF_FILE + 1, 1));
    assert!(last.message.ends_with("has more paths that are not read than are told"), "{last:?}");
    assert!(last.help.starts_with("500 are left out."), "{last:?}");
}
