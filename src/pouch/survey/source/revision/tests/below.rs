//! Tests of repositories elsewhere of which only the files at a path are fetched.

use super::older::environment;
use super::*;

/// Bytes that no compression makes smaller.
fn noise(length: usize) -> String {
    let mut state = 7_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(u8::try_from(33 + (state >> 33) % 90).unwrap())
    };
    (0..length).map(|_| letter()).collect()
}

/// Sets a repository up as its server has it. Gives the variables by which git asks in a version of its protocol.
fn serve(repository: &Repository, settings: &[(&str, bool)], version: &str) -> Vec<(OsString, OsString)> {
    let mut config = repository.config().unwrap();
    for key in [FILTERS, REFUSES, GIVES_ALL] {
        _ = config.remove(key);
    }
    settings.iter().for_each(|(key, value)| config.set_bool(key, *value).unwrap());
    let of = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "protocol.version"), ("GIT_CONFIG_VALUE_0", version)];
    environment().into_iter().chain(of.map(|(name, value)| (name.into(), value.into()))).collect()
}

const FILTERS: &str = "uploadpack.allowFilter";
const REFUSES: &str = "uploadpackfilter.allow";
const GIVES_ALL: &str = "uploadpack.allowAnySHA1InWant";

/// A summary of a reading, or the reason why there is none.
fn told(place: &str, (reference, path): (&str, &str), given: &Given<'_>) -> String {
    match read(&"s".into(), &wanted(place, reference, path, &manifests()), given, None) {
        Ok(reading) => format!("{}\n{}", reading.revision.as_deref().unwrap(), summary(&reading)),
        Err(error) => error.message.replace(&git::identity(place), "it"),
    }
}

/// The size of what is fetched, in bytes.
fn weight(place: &str, (reference, path): (&str, &str), given: &Given<'_>) -> u64 {
    let folder = fetch(&"s".into(), place, (reference, path), (&git_of(given), given.room), None).unwrap();
    let packs = std::fs::read_dir(folder.path().join("objects/pack")).unwrap();
    packs.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Whatever the server can do, the same is read; and where it can leave files out, no more comes than is wanted.
#[test]
fn of_a_path_the_same_is_read_whatever_its_server_leaves_out() {
    let (folder, repository) = repository();
    let (a, b, big) = (secret("a"), secret("b"), noise(1 << 20));
    let mut files = vec![
        ("big.bin", PLAIN, &*big),
        ("out.yaml", PLAIN, &*b),
        ("out/big.yaml", PLAIN, &big),
        ("out/link", LINK, "../in"),
        ("in/a.yaml", PLAIN, &a),
        ("in/b.txt", PLAIN, &b),
        ("in/b.yaml", LINK, "b.txt"),
        ("in/chain.yaml", LINK, "b.yaml"),
        ("in/far.yaml", LINK, "../out.yaml"),
        ("in/deep/er/c.yaml", PLAIN, &b),
        ("in/deep/er/module", SUBMODULE, ""),
        ("in/deep/again.yaml", PLAIN, &a),
    ];
    let first = commit(&repository, "main", &files);
    let object = repository.revparse_single(&first).unwrap();
    let who = Signature::new("a", "a@example.com", &Time::new(0, 0)).unwrap();
    let tag = repository.tag("v1", &object, &who, "x", false).unwrap().to_string();
    let new = secret("new");
    files.push(("in/new.yaml", PLAIN, &new));
    commit(&repository, "main", &files);
    let url = format!("file://{}", folder.path().join("r.git").display());
    let whole = given(folder.path());
    // By version 0 of git's protocol, a server gives only the objects that references name, unless it is told otherwise.
    for (settings, version, is_little) in [
        (&[(FILTERS, true)][..], "2", true),
        (&[(FILTERS, true), (GIVES_ALL, true)], "0", true),
        (&[], "2", false),
        (&[], "0", false),
        (&[(FILTERS, true), (REFUSES, false)], "2", false),
        (&[(FILTERS, true)], "0", false),
    ] {
        let environment = serve(&repository, settings, version);
        let given = Given { environment: &environment, ..given(Path::new("/nonexistent")) };
        for reference in ["main", "refs/tags/v1", &first, &tag] {
            for path in
                ["in", "in/deep", "./in/deep/er/", "in/a.yaml", "in/b.yaml", "out/link", "in/none", "out.yaml", ""]
            {
                let of = (reference, path);
                assert_eq!(told(&url, of, &given), told("r.git", of, &whole), "{settings:?} {of:?}");
            }
        }
        assert_eq!(weight(&url, ("main", "in"), &given) < 10_000, is_little, "{settings:?}");
        assert!(weight(&url, ("main", ""), &given) > 500_000);
        // The control: a reference that is not there is still told by its name.
        assert!(told(&url, ("mian", "in"), &given).contains("it has no refs/heads/mian"));
        assert!(told(&url, (&"0".repeat(40), "in"), &given).contains("it has no 000"));
    }
}

/// A server that gives no commit by its id gives no file so either, and sends all branches and tags.
#[test]
fn a_commit_without_a_reference_is_found_in_the_history() {
    let (folder, repository) = repository();
    let (a, big) = (secret("a"), noise(1 << 20));
    let old = commit(&repository, "main", &[("in/a.yaml", PLAIN, &a), ("big", PLAIN, &big)]);
    commit(&repository, "main", &[("in/a.yaml", PLAIN, "x: 1")]);
    let url = format!("file://{}", folder.path().join("r.git").display());
    let environment = serve(&repository, &[(FILTERS, true)], "0");
    let given = Given { environment: &environment, ..given(Path::new("/nonexistent")) };
    assert_eq!(told(&url, (&old, "in"), &given), format!("{old}\nSecret a {old}:in/a.yaml:1:1 in s\n"));
    assert!(weight(&url, (&old, "in"), &given) > 500_000);
    let environment = serve(&repository, &[(FILTERS, true), (GIVES_ALL, true)], "0");
    let given = Given { environment: &environment, ..given };
    assert!(weight(&url, (&old, "in"), &given) < 10_000);
}

/// A few folders that hold each other make up billions of paths.
#[test]
fn folders_in_a_million_places_are_asked_for_once() {
    let (folder, repository) = repository();
    let top = bomb(&repository);
    let mut root = repository.treebuilder(None).unwrap();
    root.insert("in", top, 0o040_000).unwrap();
    root.insert("big", repository.blob(noise(1 << 20).as_bytes()).unwrap(), PLAIN).unwrap();
    let tree = repository.find_tree(root.write().unwrap()).unwrap();
    let who = Signature::new("a", "a@example.com", &Time::new(0, 0)).unwrap();
    repository.commit(Some("refs/heads/main"), &who, &who, "x", &tree, &[]).unwrap();
    let url = format!("file://{}", folder.path().join("r.git").display());
    let environment = serve(&repository, &[(FILTERS, true)], "2");
    let of_url = Given { environment: &environment, ..given(Path::new("/nonexistent")) };
    let globs = Content::Files(FileGlobs { include: globs(&["none"]), exclude: globs(&[]) });
    let told = |place: &str, given: &Given<'_>| {
        summary(&read(&"s".into(), &wanted(place, "main", "in", &globs), given, None).unwrap())
    };
    assert_eq!(told(&url, &of_url), told("r.git", &given(folder.path())));
    assert!(weight(&url, ("main", "in"), &of_url) < 10_000);
}
