//! Tests of what is refused because an earlier run read something newer.

use pouch_core::stamp::Stamp;

use super::*;
use crate::ambient::Ambient;
use crate::cache::cache;
use crate::survey::last::Last;

/// The word for what came of reading `main` after a run that read `before` of it.
fn reads(base: &Path, place: &str, before: &str, reference: &str) -> String {
    reads_with(base, (place, reference), before, (&environment(), &|_| None))
}

type Around<'a> = (&'a [(OsString, OsString)], &'a (dyn Fn(&str) -> Option<Kept> + Sync));

fn reads_with(base: &Path, (place, reference): (&str, &str), before: &str, (environment, kept): Around<'_>) -> String {
    let stamp = SourceStamp::of_repository("s", (&git::identity(place), "refs/heads/main"), before);
    let last = Last { stamps: vec![Stamp { sources: vec![stamp], ..Stamp::default() }], ..Last::default() };
    let given = Given { environment, kept, last: Some(&last), ..given(base) };
    match read(&"s".into(), &wanted(place, reference, "", &manifests()), &given, None) {
        Ok(reading) => {
            let commit = reading.revision.unwrap();
            // Whatever is refused can be accepted.
            assert!(!commit.is_empty());
            "read".to_owned()
        }
        Err(error) => {
            if let Some((_, flag)) = error.help.split_once("pass --accept-older ") {
                let accepted = flag.strip_suffix(" once.").unwrap().split_once('=').unwrap();
                let accepted = [(accepted.0.to_owned(), accepted.1.to_owned())].into();
                let last = Last { accepted, ..last.clone() };
                let given = Given { last: Some(&last), ..given };
                assert!(read(&"s".into(), &wanted(place, reference, "", &manifests()), &given, None).is_ok());
                return "stale".to_owned();
            }
            error.to_string()
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no other way to find git")]
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    vec![("PATH".into(), path), ("HOME".into(), "/nonexistent".into())]
}

/// `count` commits of `main`, from the oldest.
fn history(repository: &Repository, count: usize) -> Vec<String> {
    (0..count).map(|n| commit(repository, "main", &[("a.yaml", PLAIN, &secret(&format!("s{n}")))])).collect()
}

fn set(repository: &Repository, commit: &str) {
    repository.reference("refs/heads/main", Oid::from_str(commit).unwrap(), true, "x").unwrap();
}

/// Shallow, full of history, through git and without it.
#[test]
fn an_older_commit_is_refused_and_a_newer_one_is_not() {
    let (folder, repository) = repository();
    let commits = history(&repository, 150);
    let elsewhere = commit(&repository, "elsewhere", &[("a.yaml", PLAIN, &secret("x"))]);
    let url = format!("file://{}", folder.path().join("r.git").display());
    for place in ["r.git", &*url] {
        let check = |at: &str, before: &str, expect: &str| {
            set(&repository, at);
            assert_eq!(reads(folder.path(), place, before, "main"), expect, "{place} {at} after {before}");
        };
        check(&commits[149], &commits[149], "read");
        check(&commits[149], &commits[148], "read");
        // Further back than is fetched at first.
        check(&commits[149], &commits[3], "read");
        check(&commits[3], &commits[149], "stale");
        check(&commits[148], &commits[149], "stale");
        check(&elsewhere, &commits[149], "stale");
        check(&commits[149], &elsewhere, "stale");
        check(&commits[149], &"1".repeat(40), "stale");
        // Another reference is the user's choice.
        assert_eq!(reads(folder.path(), place, &commits[149], &commits[3]), "read");
        assert_eq!(reads(folder.path(), place, &commits[149], "elsewhere"), "read");
    }
}

/// What comes by a merge comes after both.
#[test]
fn a_merge_comes_after_all_that_it_merges() {
    let (folder, repository) = repository();
    let old = history(&repository, 3);
    let side = commit(&repository, "side", &[("b.yaml", PLAIN, &secret("side"))]);
    let find = |id: &str| repository.find_commit(Oid::from_str(id).unwrap()).unwrap();
    let (one, other) = (find(&old[2]), find(&side));
    let who = Signature::new("a", "a@example.com", &Time::new(0, 0)).unwrap();
    let merge = repository.commit(None, &who, &who, "x", &one.tree().unwrap(), &[&one, &other]).unwrap();
    set(&repository, &merge.to_string());
    let url = format!("file://{}", folder.path().join("r.git").display());
    for place in ["r.git", &*url] {
        for before in [&old[0], &old[2], &side] {
            assert_eq!(reads(folder.path(), place, before, "main"), "read");
        }
    }
}

/// A clone without history cannot tell, unless what it has is enough.
#[test]
fn a_clone_without_history_says_what_it_lacks() {
    let (folder, repository) = repository();
    let commits = history(&repository, 10);
    let git = program::git(&environment());
    let url = format!("file://{}", folder.path().join("r.git").display());
    let clone = folder.path().join("clone.git");
    git.run(None, "clone", &["--quiet", "--bare", "--depth=3", "--branch=main"], &[url.as_ref(), clone.as_os_str()])
        .unwrap();
    let reads = |before: &str| reads(folder.path(), "clone.git", before, "main");
    assert_eq!(reads(&commits[9]), "read");
    assert_eq!(reads(&commits[7]), "read");
    let said = reads(&commits[5]);
    assert!(said.contains("was cloned without the history that leads from commit"), "{said}");
}

/// What is kept of a repository makes the proof cheap, and never wrong.
#[test]
fn what_is_kept_proves_the_same() {
    let (folder, repository) = repository();
    let commits = history(&repository, 80);
    let url = format!("file://{}", folder.path().join("r.git").display());
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let (environment, cached) = (environment(), [("XDG_CACHE_HOME", home.to_str().unwrap())]);
    let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &cached);
    let kept = |remote: &str| Kept::of(&cache(&ambient).ok()?, remote);
    let check = |at: usize, before: usize, expect: &str| {
        set(&repository, &commits[at]);
        let said = reads_with(folder.path(), (&url, "main"), &commits[before], (&environment, &kept));
        assert_eq!(said, expect, "{at} after {before}");
    };
    check(10, 5, "read");
    check(70, 10, "read");
    // What is kept ends at commits that do not lead back to this one.
    check(79, 2, "read");
    check(60, 70, "stale");
    check(79, 60, "read");
}
