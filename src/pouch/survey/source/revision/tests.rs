//! Tests of `revision`.

mod below;
mod older;

use std::ffi::OsString;
use std::path::Path;

use git2::{Oid, Repository, Signature, Time};

use pouch_core::config::FileGlobs;

use super::*;
use crate::survey::source::tests::{default_globs, given, globs, secret, summary};

/// An entry of a tree that a test commits: path, mode, content.
type File<'a> = (&'a str, i32, &'a str);

const PLAIN: i32 = 0o100_644;
const LINK: i32 = 0o120_000;
const SUBMODULE: i32 = 0o160_000;

fn write_tree(repository: &Repository, files: &[File<'_>]) -> Oid {
    let mut builder = repository.treebuilder(None).unwrap();
    let mut folders: Vec<(&str, Vec<File<'_>>)> = Vec::new();
    for (path, mode, content) in files {
        match path.split_once('/') {
            None => {
                let id = match *mode {
                    SUBMODULE => Oid::from_str(&"1".repeat(40)).unwrap(),
                    _ => repository.blob(content.as_bytes()).unwrap(),
                };
                builder.insert(path, id, *mode).unwrap();
            }
            Some((folder, rest)) => match folders.iter_mut().find(|(name, _)| *name == folder) {
                Some((_, inside)) => inside.push((rest, *mode, content)),
                None => folders.push((folder, vec![(rest, *mode, content)])),
            },
        }
    }
    for (folder, inside) in folders {
        builder.insert(folder, write_tree(repository, &inside), 0o040_000).unwrap();
    }
    builder.write().unwrap()
}

fn commit(repository: &Repository, branch: &str, files: &[File<'_>]) -> String {
    let tree = repository.find_tree(write_tree(repository, files)).unwrap();
    let who = Signature::new("a", "a@example.com", &Time::new(0, 0)).unwrap();
    let branch = format!("refs/heads/{branch}");
    let parent = repository.find_reference(&branch).ok().map(|r| r.peel_to_commit().unwrap());
    let parents: Vec<_> = parent.iter().collect();
    repository.commit(Some(&branch), &who, &who, "x", &tree, &parents).unwrap().to_string()
}

fn repository() -> (tempfile::TempDir, Repository) {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::init_bare(folder.path().join("r.git")).unwrap();
    (folder, repository)
}

/// YAML and JSON files.
fn manifests() -> Content {
    Content::Files(default_globs())
}

fn wanted<'a>(repository: &'a str, reference: &'a str, path: &'a str, content: &'a Content) -> Wanted<'a> {
    Wanted { repository, reference, path, content, relabel: false, directory: None }
}

#[track_caller]
fn check(files: &[File<'_>], path: &str, content: &Content, expect: &str) {
    let (folder, repository) = repository();
    let id = commit(&repository, "main", files);
    let reading = read(&"s".into(), &wanted("r.git", "main", path, content), &given(folder.path()), None).unwrap();
    assert_eq!(summary(&reading), expect);
    assert_eq!((reading.identity.as_deref(), reading.revision), (Some("r.git"), Some(id)));
}

#[test]
fn a_tree_is_read_without_a_checkout() {
    let (a, b, j) = (secret("a"), secret("b"), r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"j"}}"#);
    let files = [
        ("a.yaml", PLAIN, &*a),
        ("team/b.yaml", 0o100_755, &b),
        ("team/deep/j.json", PLAIN, j),
        ("team/n.txt", PLAIN, "x"),
        (".github/x.yaml", PLAIN, &a),
    ];
    let team = "Secret b main:team/b.yaml:1:1 in s\nSecret j main:team/deep/j.json:1:1 in s\n";
    check(&files, "", &manifests(), &format!("Secret a main:a.yaml:1:1 in s\n{team}"));
    check(&files, "./team/", &manifests(), team);
    check(&files, "team/b.yaml", &manifests(), "Secret b main:team/b.yaml:1:1 in s\n");
    let exclude = Content::Files(FileGlobs { include: globs(&["*"]), exclude: globs(&["deep/**", "*.txt"]) });
    check(&files, "team", &exclude, "Secret b main:team/b.yaml:1:1 in s\n");
}

#[test]
fn links_stay_inside_and_submodules_are_refused() {
    let (a, b) = (secret("a"), secret("b"));
    let files = [
        ("in/a.yaml", PLAIN, &*a),
        ("in/b.txt", PLAIN, &b),
        ("in/again.yaml", LINK, "a.yaml"),
        ("in/b.yaml", LINK, "./b.txt"),
        ("in/chain.yaml", LINK, "b.yaml"),
        ("in/sub/b.yaml", LINK, "../../out.yaml"),
        ("in/abs.yaml", LINK, "/etc/passwd"),
        ("in/far.yaml", LINK, "../../../../etc/passwd"),
        ("in/folder", LINK, "sub"),
        ("in/loop.yaml", LINK, "loop.yaml"),
        ("in/none.yaml", LINK, "nothing.yaml"),
        ("in/through.yaml", LINK, "folder/b.yaml"),
        ("in/note.txt", LINK, "nothing.txt"),
        ("in/LICENSE", LINK, "../LICENSE"),
        ("in/module", SUBMODULE, ""),
        ("in/updir", LINK, ".."),
        ("LICENSE", PLAIN, "x"),
        ("out.yaml", PLAIN, &secret("out")),
    ];
    let expect = "\
Secret a main:in/a.yaml:1:1 in s
Secret b main:in/b.yaml:1:1 in s
refused-file main:in/module:1:1 in s
refused-file main:in/abs.yaml:1:1 in s
refused-file main:in/far.yaml:1:1 in s
refused-file main:in/folder:1:1 in s
unreadable-file main:in/loop.yaml:1:1 in s
unreadable-file main:in/none.yaml:1:1 in s
refused-file main:in/sub/b.yaml:1:1 in s
unreadable-file main:in/through.yaml:1:1 in s
refused-file main:in/updir:1:1 in s
incomplete
";
    check(&files, "in", &manifests(), expect);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    check(&[("a.yaml", PLAIN, pointer)], "", &manifests(), "refused-file main:a.yaml:1:1 in s\nincomplete\n");
}

#[test]
fn our_own_output_in_the_tree_is_passed_over() {
    let (folder, repository) = repository();
    let a = secret("a");
    let b = secret("b");
    let files = [
        ("x/a.yaml", PLAIN, &*a),
        ("x/bundles/regions/eu/a.yaml", PLAIN, &*a),
        // A folder of that name that holds no bundles is the source's own.
        ("x/y/bundles/b.yaml", PLAIN, &*b),
    ];
    commit(&repository, "main", &files);
    let skip = ["x/bundles/".to_owned()];
    let given = Given { skip_in_tree: &skip, ..given(folder.path()) };
    for path in ["", "x"] {
        let reading = read(&"s".into(), &wanted("r.git", "main", path, &manifests()), &given, None).unwrap();
        assert_eq!(summary(&reading), "Secret a main:x/a.yaml:1:1 in s\nSecret b main:x/y/bundles/b.yaml:1:1 in s\n");
    }
    let skip = ["x/y/bundles".to_owned()];
    let given = Given { skip_in_tree: &skip, ..given };
    let reading = read(&"s".into(), &wanted("r.git", "main", "x/y", &manifests()), &given, None).unwrap();
    assert_eq!(summary(&reading), "Secret b main:x/y/bundles/b.yaml:1:1 in s\n");
}

/// What a commit has in the place of a directory is called as there, and is no repository that a bundle knows again.
#[test]
fn a_directory_is_read_of_a_commit_as_itself() {
    let (folder, repository) = repository();
    let a = secret("a");
    let files = [("x/a.yaml", PLAIN, &*a), ("x/sub/b.yaml", PLAIN, &*a), ("x/out/regions/eu/a.yaml", PLAIN, &*a)];
    commit(&repository, "main", &files);
    let of = |path: &str, skip: &str, shown: &str| {
        let directory = AsCommitted { path: shown.to_owned(), skip: vec![skip.to_owned()] };
        let (content, given) = (manifests(), Given { base: folder.path(), ..given(Path::new("typed")) });
        let wanted = Wanted { directory: Some(&directory), ..wanted("r.git", "main", path, &content) };
        let reading = read(&"s".into(), &wanted, &given, None).unwrap();
        assert_eq!(reading.identity, None);
        let base = format!("{}/", folder.path().display());
        summary(&reading).replace(&base, "")
    };
    let both = |of: &str| format!("Secret a {of}/a.yaml:1:1\nSecret a {of}/sub/b.yaml:1:1\n");
    assert_eq!(of("x", "x/out", "m"), both("m"));
    assert_eq!(of("x", "x/out", "./m"), both("m"));
    assert_eq!(of("x/a.yaml", "x/out", "m/a.yaml"), "Secret a m/a.yaml:1:1\n");
    // The control: what is not passed over is read.
    assert_eq!(of("x", "", "m").lines().count(), 3);
}

#[test]
fn globs_that_let_nothing_count_prove_nothing() {
    let a = secret("a");
    check(
        &[("a.yml", PLAIN, &*a)],
        "",
        &Content::Files(FileGlobs { include: globs(&["*.yaml"]), exclude: globs(&[]) }),
        "unreadable-file source s\nincomplete\n",
    );
}

#[test]
fn a_missing_object_leaves_the_source_incomplete() {
    let (folder, repository) = repository();
    let a = secret("a");
    commit(&repository, "main", &[("a.yaml", PLAIN, &a), ("b.yaml", PLAIN, &secret("b"))]);
    let id = Oid::hash_object(git2::ObjectType::Blob, a.as_bytes()).unwrap().to_string();
    let (first, rest) = id.split_at(2);
    std::fs::remove_file(folder.path().join("r.git/objects").join(first).join(rest)).unwrap();
    let reading = read(&"s".into(), &wanted("r.git", "main", "", &manifests()), &given(folder.path()), None).unwrap();
    assert_eq!(summary(&reading), "Secret b main:b.yaml:1:1 in s\nunreadable-file main:a.yaml:1:1 in s\nincomplete\n");
}

/// A folder that holds another one sixteen times, which holds another one, and so on.
fn bomb(repository: &Repository) -> Oid {
    let mut below = (repository.blob(b"x").unwrap(), PLAIN);
    for _ in 0..9 {
        let mut builder = repository.treebuilder(None).unwrap();
        for name in 0..16 {
            builder.insert(format!("{name}.yaml"), below.0, below.1).unwrap();
        }
        below = (builder.write().unwrap(), 0o040_000);
    }
    below.0
}

#[test]
fn a_tree_that_grows_without_end_is_refused() {
    let (folder, repository) = repository();
    let who = Signature::new("a", "a@example.com", &Time::new(0, 0)).unwrap();
    let tree = repository.find_tree(bomb(&repository)).unwrap();
    repository.commit(Some("refs/heads/main"), &who, &who, "x", &tree, &[]).unwrap();
    let none = Content::Files(FileGlobs { include: globs(&["none"]), exclude: globs(&[]) });
    let reading = read(&"s".into(), &wanted("r.git", "main", "", &none), &given(folder.path()), None).unwrap();
    assert_eq!(summary(&reading), "refused-file source s\nunreadable-file source s\nincomplete\n");
}

#[test]
fn branches_commits_and_tags_that_are_called_so_are_revisions() {
    let (folder, repository) = repository();
    let old = commit(&repository, "main", &[("a.yaml", PLAIN, &secret("old"))]);
    let object = repository.revparse_single(&old).unwrap();
    let who = Signature::new("a", "a@example.com", &Time::new(0, 0)).unwrap();
    repository.tag("v1", &object, &who, "x", false).unwrap();
    commit(&repository, "main", &[("a.yaml", PLAIN, &secret("new"))]);
    for (reference, name) in [
        ("main", "new"),
        ("refs/heads/main", "new"),
        (&*old, "old"),
        (old.split_at(7).0, "old"),
        ("refs/tags/v1", "old"),
        ("HEAD", "new"),
    ] {
        repository.set_head("refs/heads/main").unwrap();
        let reading =
            read(&"s".into(), &wanted("r.git", reference, "", &manifests()), &given(folder.path()), None).unwrap();
        assert_eq!(summary(&reading), format!("Secret {name} {reference}:a.yaml:1:1 in s\n"));
    }
}

/// A branch `main` and beside it everything that git itself would take for it; the branch alone has `main`.
fn shadowed(repository: &Repository) -> Oid {
    let theirs = Oid::from_str(&commit(repository, "side", &[("a.yaml", PLAIN, &secret("theirs"))])).unwrap();
    let ours = Oid::from_str(&commit(repository, "main", &[("a.yaml", PLAIN, &secret("main"))])).unwrap();
    for shadow in ["tags/main", "notes/main", "main", "tags/refs/heads/main", "heads/refs/heads/main", "tags/HEAD"] {
        repository.reference(&format!("refs/{shadow}"), theirs, false, "x").unwrap();
    }
    repository.reference(&format!("refs/heads/{ours}"), theirs, false, "x").unwrap();
    repository.set_head("refs/heads/main").unwrap();
    assert_eq!(repository.revparse_single("main").unwrap().id(), theirs, "git itself takes another one");
    ours
}

#[test]
fn nothing_stands_for_a_branch_but_the_branch() {
    let (folder, repository) = repository();
    let ours = shadowed(&repository).to_string();
    for reference in ["main", "refs/heads/main", "HEAD", &ours] {
        let reading =
            read(&"s".into(), &wanted("r.git", reference, "", &manifests()), &given(folder.path()), None).unwrap();
        assert_eq!(summary(&reading), format!("Secret main {reference}:a.yaml:1:1 in s\n"));
    }
    repository.find_reference("refs/heads/main").unwrap().delete().unwrap();
    for reference in ["main", "refs/heads/main", "HEAD"] {
        let read = read(&"s".into(), &wanted("r.git", reference, "", &manifests()), &given(folder.path()), None);
        let error = read.err().unwrap();
        assert!(error.message.contains(&format!(" {reference}")) && error.help.contains("refs/tags/main"), "{error:?}");
    }
}

#[test]
fn what_cannot_be_reached_says_why() {
    let (folder, repository) = repository();
    commit(&repository, "main", &[("a/b.yaml", PLAIN, "x"), ("l", LINK, "a"), ("m", SUBMODULE, "")]);
    let table = [
        ("nowhere", "main", "", "there is no git repository"),
        ("r.git/objects", "main", "", "there is no git repository"),
        ("r.git", "mian", "", "there is no branch or commit mian"),
        ("r.git", "HEAD~1", "", "cannot name a branch, tag or commit"),
        ("r.git", "--output=x", "", "cannot name"),
        ("r.git", "main", "../x", "leads out of the repository"),
        ("r.git", "main", "a/nothing", "has nothing at path \"a/nothing\""),
        ("r.git", "main", "l", "is a symlink or a submodule"),
        ("r.git", "main", "l/b.yaml", "has nothing at path"),
        ("r.git", "main", "m", "is a symlink or a submodule"),
        ("ext::sh -c x", "main", "", "names a git transport"),
        ("-u", "main", "", "starts with a dash"),
        ("https://u:CANARY@h/r", "main", "", "has a password in it"),
    ];
    for (place, reference, path, expect) in table {
        let error = read(&"s".into(), &wanted(place, reference, path, &manifests()), &given(folder.path()), None).err();
        let error = error.unwrap_or_else(|| panic!("{place} {reference} {path}"));
        assert!(error.message.contains(expect) && !error.message.contains("CANARY"), "{error}");
        assert!(error.help.ends_with('.'), "{}", error.help);
        assert!(reference != "mian" || error.help.contains("main"), "{}", error.help);
    }
}

#[test]
fn a_url_is_fetched_by_the_git_program() {
    #[expect(clippy::disallowed_methods, reason = "a test has no other way to find git")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment = [(OsString::from("PATH"), path), (OsString::from("HOME"), OsString::from("/nonexistent"))];
    if program::git(&environment).run(None, "version", &[], &[]) == Err(program::GitError::Missing) {
        eprintln!("SKIPPED: the program git is not installed");
        #[expect(clippy::disallowed_methods, reason = "CI must not skip")]
        let in_ci = std::env::var_os("CI").is_some();
        assert!(!in_ci, "git must be installed in CI");
        return;
    }
    let (folder, repository) = repository();
    let old = commit(&repository, "main", &[("a.yaml", PLAIN, &secret("old"))]);
    let object = repository.revparse_single(&old).unwrap();
    repository.tag_lightweight("v1", &object, false).unwrap();
    commit(&repository, "main", &[("a.yaml", PLAIN, &secret("new"))]);
    commit(&repository, "side", &[("a.yaml", PLAIN, &secret("side"))]);
    let url = format!("file://{}", folder.path().join("r.git").display());
    let given = Given { environment: &environment, ..given(Path::new("/nonexistent")) };
    for (reference, name) in [("main", "new"), ("side", "side"), ("refs/tags/v1", "old"), (&*old, "old")] {
        let reading = read(&"s".into(), &wanted(&url, reference, "", &manifests()), &given, None).unwrap();
        assert_eq!(summary(&reading), format!("Secret {name} {reference}:a.yaml:1:1 in s\n"));
        assert_eq!(reading.identity.as_deref(), Some(&*url));
    }
    let error = read(&"s".into(), &wanted(&url, "mian", "", &manifests()), &given, None).err().unwrap();
    assert!(
        error.message.contains("has no refs/heads/mian") && error.help.contains("main, side, refs/tags/v1"),
        "{error:?}"
    );
    let error = read(&"s".into(), &wanted(&url, &"0".repeat(40), "", &manifests()), &given, None).err().unwrap();
    assert!(error.message.contains("has no 000"), "{error}");
    let error =
        read(&"s".into(), &wanted("file:///nonexistent", "main", "", &manifests()), &given, None).err().unwrap();
    assert!(error.message.contains("cannot be fetched"), "{error}");
    for old in ["main", "side", "HEAD"] {
        repository.find_reference(&format!("refs/heads/{old}")).and_then(|mut found| found.delete()).ok();
    }
    let ours = shadowed(&repository).to_string();
    for reference in ["main", "refs/heads/main", "HEAD", &ours] {
        let reading = read(&"s".into(), &wanted(&url, reference, "", &manifests()), &given, None).unwrap();
        assert_eq!(summary(&reading), format!("Secret main {reference}:a.yaml:1:1 in s\n"));
    }
    repository.find_reference("refs/heads/main").unwrap().delete().unwrap();
    for reference in ["main", "refs/heads/main", "HEAD"] {
        let error = read(&"s".into(), &wanted(&url, reference, "", &manifests()), &given, None).err().unwrap();
        assert!(error.message.contains(&format!("has no {}", git::full(reference))), "{error:?}");
    }
}

/// A folder of links is looked into once, however many lead to it, and what they lead to is not there.
#[test]
fn masses_of_links_are_followed_as_fast_as_files_are_read() {
    let made = tempfile::tempdir().unwrap();
    let repository = git2::Repository::init_bare(made.path()).unwrap();
    let (file, link, dangling) = (
        repository.blob(secret("one").as_bytes()).unwrap(),
        repository.blob(b"one.yaml").unwrap(),
        repository.blob(b"nothing.yaml").unwrap(),
    );
    let mut folder = repository.treebuilder(None).unwrap();
    folder.insert("one.yaml", file, 0o100_644).unwrap();
    for number in 0..1500 {
        folder.insert(format!("l{number:05}.yaml"), link, 0o120_000).unwrap();
        folder.insert(format!("d{number:05}.yaml"), dangling, 0o120_000).unwrap();
    }
    let tree = repository.find_tree(folder.write().unwrap()).unwrap();
    let author = git2::Signature::new("a", "a@b", &git2::Time::new(0, 0)).unwrap();
    repository.commit(Some("refs/heads/main"), &author, &author, "m", &tree, &[]).unwrap();
    let store = objects::open(made.path()).unwrap();
    let top = store.at(store.commit("main").unwrap(), "").unwrap().id;
    let mut folders = Folders::new(&store, 4000);
    for number in 0..1500 {
        assert_eq!(folders.find(top, &format!("l{number:05}.yaml")).unwrap().0, Kind::Link);
        assert!(folders.find(top, &format!("x{number:05}.yaml")).is_err());
    }
    assert_eq!(folders.read(), 1);
    // The control: with less room than the folder has entries it is not looked into.
    assert!(Folders::new(&store, 3000).find(top, "one.yaml").is_err());
    let files = manifests();
    let repository = made.path().to_str().unwrap();
    let wanted = Wanted { repository, reference: "main", path: "", content: &files, relabel: false, directory: None };
    let reading = read(&"s".into(), &wanted, &given(made.path()), None).unwrap();
    assert_eq!((reading.documents.len(), reading.complete), (1, false));
    // A thousand faults are told, and the others counted.
    assert!(reading.findings.len() <= 1001, "{}", reading.findings.len());
    assert!(
        reading.findings.iter().any(|finding| finding.help.starts_with("500 are left out")),
        "{:?}",
        reading.findings.last()
    );
}

#[test]
fn where_no_time_is_left_no_more_of_a_tree_is_looked_at() {
    let (folder, repository) = repository();
    let text = secret("a");
    let names: Vec<String> = (0..50).flat_map(|n| [format!("d{n}/a.yaml"), format!("d{n}/b.txt")]).collect();
    let links: Vec<String> = (0..50).map(|n| format!("l{n}.yaml")).collect();
    let targets: Vec<String> = (0..50).map(|n| format!("d{n}/b.txt")).collect();
    let mut files: Vec<File<'_>> = names.iter().map(|name| (&**name, PLAIN, &*text)).collect();
    files.extend(links.iter().zip(&targets).map(|(name, target)| (&**name, LINK, &**target)));
    commit(&repository, "main", &files);
    let read = |time: &crate::survey::time::Time| {
        let given = given(folder.path());
        let given = Given { means: Means { time, ..given.means }, ..given };
        let reading = read(&"s".into(), &wanted("r.git", "main", "", &manifests()), &given, None).unwrap();
        reading.documents.len()
    };
    let time = crate::survey::time::Time::of_seconds(0);
    assert_eq!((read(&time), time.is_over()), (0, true));
    assert_eq!(read(&crate::survey::time::Time::of_seconds(600)), 100);
}
