//! How a push ended.
//!
//! A push that fails may still have moved the branch, or may yet: the server can go on after the connection is gone. So
//! only two things count as proof: a status that the server itself reported for the branch, and the branch. Where neither
//! tells, the branch is looked at again for a while, and then the outcome is unknown and said to be.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::ShelfError;
use crate::git::program::{Answer, Git, GitError};
use crate::stop::Stop;

/// How a push ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pushed {
    /// The branch is where it was to go, or was and went on from there.
    Moved,
    /// Another writer was faster.
    Lost,
    /// The branch is where it was, and the server could not move it now: another push may be under way. Holds
    /// the server's words.
    Contended(String),
    /// Nothing is moved, because the server cannot move several references at once. Holds git's words.
    Aside(String),
}

/// A reference, and what a push does with it.
#[derive(Clone, Copy)]
pub(super) struct Move<'a> {
    /// Its full name.
    pub reference: &'a str,
    /// The commit that it is at; none where there is no such reference.
    pub from: Option<&'a str>,
    /// The commit that it is moved to; none where it is removed.
    pub to: Option<&'a str>,
}

/// What a push needs.
pub(super) struct Push<'a> {
    /// The program; nothing but its own deadlines ends it once the push has begun.
    pub git: &'a Git,
    /// The repository that holds the commits.
    pub folder: &'a Path,
    /// Where to.
    pub remote: &'a str,
    /// The branch, by which the outcome is judged.
    pub branch: Move<'a>,
    /// What is moved with it, all or nothing.
    pub beside: &'a [Move<'a>],
    /// What the server is told.
    pub options: &'a [String],
}

/// How long to look for the outcome of a push, and how to wait.
pub struct Watch<'a> {
    /// All pauses together.
    pub settle: Duration,
    /// Waits for about that long; says whether the run may go on.
    pub pause: &'a dyn Fn(Duration) -> bool,
}

/// How often a branch is looked at after a push whose outcome is unknown; each pause is twice as long as the one before.
const LOOKS: u32 = 6;

/// The sum of these pauses, in the first of them.
const PAUSES: u32 = 2_u32.pow(LOOKS) - 1;

/// What a failed push proves by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Said {
    /// The server reported that it moved everything.
    Moved,
    /// Git saw that the branch is not where it was read, and sent nothing.
    Stale,
    /// The server reported that it did not move the branch, and why.
    Rejected(String),
    /// Git sent nothing, because the server does not let this user write.
    Denied,
    /// Git sent nothing for another reason.
    Unsent,
    /// Nothing.
    Unknown,
}

/// What the branch shows.
enum Seen {
    /// The commit, at its tip or below.
    Ours,
    /// What it was before the push.
    Before,
    /// Something else.
    Other,
}

/// Moves references with a lease on where each was read.
///
/// # Errors
/// Where the server refuses, cannot be reached, or nobody can say whether the commit is published.
pub(super) fn push(push: &Push<'_>, watch: &Watch<'_>, stop: &Stop) -> Result<Pushed, ShelfError> {
    let Push { git, folder, remote, branch, beside, options: told } = *push;
    let moves: Vec<Move<'_>> = [branch].into_iter().chain(beside.iter().copied()).collect();
    let leases = moves.iter().map(|one| lease(one.reference, one.from));
    let leases: Vec<String> = leases.chain((moves.len() > 1).then(|| "--atomic".to_owned())).collect();
    let options = ["--porcelain", "--progress", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"];
    let told: Vec<String> = told.iter().map(|option| format!("--push-option={option}")).collect();
    let more = leases.iter().chain(&told).map(String::as_str);
    let options: Vec<&str> = options.into_iter().chain(more).collect();
    let specs: Vec<String> =
        moves.iter().map(|one| format!("{}:{}", one.to.unwrap_or_default(), one.reference)).collect();
    let operands: Vec<&OsStr> =
        std::iter::once(remote).chain(specs.iter().map(String::as_str)).map(OsStr::new).collect();
    stop.begin_publishing().map_err(|_| ShelfError::Git("stopped before the push".to_owned()))?;
    // A push cut in two has an unknown outcome.
    let git = &git.clone().stopped_by(Arc::default());
    let (said, words) = match git.ask(Some(folder), "push", &options, &operands) {
        Ok(answer) if answer.well => return Ok(Pushed::Moved),
        Ok(answer) if is_aside(&answer, git) => {
            stop.resume();
            return Ok(Pushed::Aside(words_of(&answer, git)));
        }
        Ok(answer) if is_gone(&answer, git, folder) => {
            return Err(ShelfError::Unreachable {
                message: format!("nothing was pushed, and nothing is published: {} is gone", folder.display()),
                help: "Run pouch again, and find out what removes temporary files while it runs.".to_owned(),
            });
        }
        Ok(answer) => (said(&answer, git, &moves), words_of(&answer, git)),
        Err(error @ (GitError::Missing | GitError::Start(_))) => (Said::Unsent, error.to_string()),
        Err(error) => (Said::Unknown, error.to_string()),
    };
    let judged = Push { git, ..*push }.judge(&said, &words, watch);
    if matches!(judged, Ok(Pushed::Lost | Pushed::Contended(_))) {
        stop.resume();
    }
    judged
}

/// The lease of one reference.
pub(super) fn lease(reference: &str, from: Option<&str>) -> String {
    format!("--force-with-lease={reference}:{}", from.unwrap_or_default())
}

impl Push<'_> {
    /// What became of a push that failed.
    fn judge(&self, said: &Said, words: &str, watch: &Watch<'_>) -> Result<Pushed, ShelfError> {
        let Move { reference, from, to } = self.branch;
        let refused = |why: &str| Err(ShelfError::Git(format!("the push was refused: {why}")));
        let unsent = |error: Option<GitError>| {
            let more = error.map(|error| format!("; and then {error}")).unwrap_or_default();
            Err(ShelfError::Unreachable {
                message: format!("nothing could be pushed, and nothing is published: {words}{more}"),
                help: "Try again later, or check that `git push` works from here.".to_owned(),
            })
        };
        let last = Cell::new(None);
        for looked in 0.. {
            let seen = self.look();
            match (seen, said) {
                (Ok(Seen::Ours), _) => return Ok(Pushed::Moved),
                (Ok(Seen::Before) | Err(_), Said::Rejected(why)) if is_contended(why, words) => {
                    return match self.in_the_way() {
                        Some(other) => refused(&format!("the branch cannot be made beside branch {other}; {words}")),
                        None => Ok(Pushed::Contended(words.to_owned())),
                    };
                }
                (Ok(Seen::Other), Said::Rejected(why)) if !is_policy(why) => return Ok(Pushed::Lost),
                (Err(error), Said::Denied | Said::Unsent) => return unsent(Some(error)),
                (_, Said::Rejected(_) | Said::Denied) => return refused(words),
                (_, Said::Stale) | (Ok(Seen::Other), _) => return Ok(Pushed::Lost),
                (Ok(Seen::Before), Said::Unsent) => return unsent(None),
                (Ok(Seen::Before), Said::Moved | Said::Unknown) => last.set(None),
                (Err(error), Said::Moved | Said::Unknown) => last.set(Some(error)),
            }
            let share = watch.settle.saturating_mul(2_u32.saturating_pow(looked));
            if looked == LOOKS || !(watch.pause)(share / PAUSES) {
                break;
            }
        }
        let now = match last.take() {
            Some(error) => format!("the branch could not be looked at: {error}"),
            None if from.is_some() => "the branch had not moved when it was last looked at".to_owned(),
            None => "there was no such branch yet when it was last looked for".to_owned(),
        };
        let what = to.map_or_else(
            || format!("whether {} is removed", crate::git::short(reference)),
            |to| format!("whether commit {to} is published"),
        );
        Err(ShelfError::Unreachable {
            message: format!("{what} is unknown: {words}; {now}"),
            help: format!(
                "The server may still move the branch. `git ls-remote` with the repository and {reference} shows \
                 whether it did; then run pouch again, which publishes nothing twice."
            ),
        })
    }

    /// Looks at the branch.
    fn look(&self) -> Result<Seen, GitError> {
        let Move { reference, from, to } = self.branch;
        let tip = tip_of(self.git, self.remote, reference)?;
        match (tip.as_deref(), to) {
            (tip, to) if tip == to => Ok(Seen::Ours),
            (tip, _) if tip == from => Ok(Seen::Before),
            (Some(_), Some(to)) if self.is_below_tip(reference, to)? => Ok(Seen::Ours),
            _ => Ok(Seen::Other),
        }
    }

    /// Whether a reference of the remote repository has the commit among its ancestors: somebody published on top.
    fn is_below_tip(&self, reference: &str, commit: &str) -> Result<bool, GitError> {
        const OURS: &str = "refs/pouch/pushed";
        let folder = Some(self.folder);
        // By a reference of ours the server knows that we have the commit, and sends what came after it.
        self.git.run(folder, "update-ref", &[], &[OURS.as_ref(), commit.as_ref()])?;
        // What is further down counts as lost, and the next attempt finds it.
        crate::git::fetch_on(self.git, self.remote, reference, self.folder)?;
        let base = self.git.ask(folder, "merge-base", &[], &[OURS.as_ref(), crate::git::FETCHED_ON.as_ref()])?;
        Ok(base.well && String::from_utf8_lossy(&base.out).trim() == commit)
    }

    /// A branch whose name leaves no room for the new one: git keeps references as files and folders.
    fn in_the_way(&self) -> Option<String> {
        let Move { reference, from: None, .. } = self.branch else { return None };
        let all = self.git.run(None, "ls-remote", &["--quiet", "--refs"], &[OsStr::new(self.remote)]).ok()?;
        let text = String::from_utf8_lossy(&all);
        let names = text.lines().filter_map(|line| line.split_once('\t').map(|(_, name)| name));
        let below = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('/'));
        let mut clash = names.filter(|name| below(name, reference) || below(reference, name));
        clash.next().map(|name| crate::git::short(name).to_owned())
    }
}

/// Returns true if nothing was sent because the server cannot move several references at once.
fn is_aside(answer: &Answer, git: &Git) -> bool {
    git.words(answer).own().any(|line| line.contains("does not support --atomic"))
}

/// Returns true if nothing was sent because the repository with the commits is not there any more. Git says only that,
/// before it asks any server; a part of it that runs later never speaks alone.
fn is_gone(answer: &Answer, git: &Git, folder: &Path) -> bool {
    let words = git.words(answer);
    let said: Vec<&str> = words.own().collect();
    said == [format!("fatal: not a git repository: '{}'", folder.display())]
}

/// Whether a reference was not moved because another one of the same push was not: in the words of git, its servers and
/// JGit.
fn is_atomic(why: &str) -> bool {
    ["atomic push failed", "atomic push failure", "transaction aborted"].contains(&why)
}

/// What the lines of `--porcelain` say of one reference, if they do.
///
/// <https://git-scm.com/docs/git-push#_output>
fn status(text: &str, one: &Move<'_>) -> Option<Said> {
    let ending = format!(":{}", one.reference);
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, '\t');
        let (flag, spec, summary) = (parts.next()?, parts.next()?, parts.next().unwrap_or_default());
        spec.ends_with(&ending).then(|| of_status(flag, summary))
    })
}

/// What a failed push proves: by the lines of `--porcelain`, and where there is none, by git's own words.
fn said(answer: &Answer, git: &Git, moves: &[Move<'_>]) -> Said {
    let text = String::from_utf8_lossy(&answer.out);
    let mut all: Vec<Said> = moves.iter().map(|one| status(&text, one).unwrap_or(Said::Unknown)).collect();
    all.dedup();
    let worst = all.into_iter().max_by_key(|said| match said {
        Said::Moved => 0,
        // Of an atomic push, one reference says what was wrong, and the others that they were not moved either.
        Said::Rejected(why) if is_atomic(why) => 1,
        Said::Rejected(_) => 2,
        Said::Stale => 3,
        Said::Denied | Said::Unsent | Said::Unknown => 4,
    });
    match worst {
        Some(Said::Unknown) | None => before_sending(&git.words(answer).own().collect::<Vec<_>>()),
        Some(said) => said,
    }
}

/// What the flag and the summary of one line of `--porcelain` say.
fn of_status(flag: &str, summary: &str) -> Said {
    let reason =
        |kind: &str| Some(summary.strip_prefix(kind)?.trim().trim_start_matches('(').trim_end_matches(')').to_owned());
    match flag {
        " " | "+" | "-" | "*" | "=" => Said::Moved,
        _ => match (reason("[remote rejected]"), reason("[rejected]")) {
            (Some(why), _) => Said::Rejected(why),
            // This one comes from the server too, for commits whose parents it lacks.
            (_, Some(why)) if why.contains("shallow") => Said::Rejected(why),
            (_, Some(_)) => Said::Stale,
            // `[remote failure] (remote failed to report status)`, and what nobody knows.
            _ => Said::Unknown,
        },
    }
}

/// What git's own words prove of a push that has no status: that it ended before anything was sent, or that what was
/// sent was answered by a status of HTTP that leaves no doubt.
fn before_sending(own: &[&str]) -> Said {
    const DENIED: [&str; 4] =
        ["could not read Username", "could not read Password", "Authentication failed", "Host key verification failed"];
    const UNSENT: [&str; 7] = [
        "unable to access '",
        "Could not read from remote repository",
        "hung up upon initial contact",
        "the receiving end does not support",
        "not valid: is this a git repository?",
        "Repository not found",
        "does not appear to be a git repository",
    ];
    // The request itself was not taken: who is not let in, what is not there or too large.
    const FINAL: [&str; 7] = ["400", "401", "403", "404", "405", "411", "413"];
    let says = |words: &[&str]| own.iter().any(|line| words.iter().any(|known| line.contains(known)));
    let code = own.iter().find_map(|line| {
        let rest = line.split_once("returned error: ")?.1;
        Some(rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default())
    });
    let is_begun = own.iter().any(|line| line.starts_with("Writing objects: "));
    match code {
        Some(code) if FINAL.contains(&code) => return Said::Denied,
        Some(_) if is_begun => return Said::Unknown,
        _ => {}
    }
    match (says(&DENIED), is_begun) {
        (true, _) => Said::Denied,
        // Whoever can be read from and hangs up at the first word of a push does not let this user push.
        (false, false) if code.is_none() && says(&["Could not read from remote repository"]) => Said::Denied,
        (false, false) if says(&UNSENT) => Said::Unsent,
        _ => Said::Unknown,
    }
}

/// What a failed push says: the server's status and first lines, else the end of git's words.
fn words_of(answer: &Answer, git: &Git) -> String {
    let words = git.words(answer);
    let out = String::from_utf8_lossy(&answer.out);
    let statuses = out.lines().filter_map(|line| {
        let (_, rest) = line.split_once("\t[remote rejected] ").filter(|_| line.starts_with('!'))?;
        Some(rest.trim().trim_start_matches('(').trim_end_matches(')').to_owned())
    });
    // Of an atomic push, one reference says what was wrong.
    let status = statuses.min_by_key(|status| is_atomic(status));
    let server = words.of_server();
    match (status, server.is_empty()) {
        (Some(status), true) => status,
        (Some(status), false) => format!("{status}; the server says: {server}"),
        (None, _) if words.own().any(|line| line.contains("hash algorithm")) => GitError::Sha256.to_string(),
        (None, _) => words.end(),
    }
}

/// Whether a server may have rejected a push because another one was under way. These are words of servers in use; a
/// branch `main/x` beside `main` gets the same, so they are not believed for ever.
fn is_contended(why: &str, words: &str) -> bool {
    const WORDS: [&str; 6] = [
        "failed to update ref",
        "incorrect old value",
        "cannot lock ref",
        "lock failure",
        "failed to lock",
        "atomic transaction failed",
    ];
    WORDS.iter().any(|known| why.contains(known) || words.starts_with(known))
}

/// Whether a server rejected a push by a rule, whatever the branch does meanwhile.
fn is_policy(why: &str) -> bool {
    ["declined", "prohibited", "protected", "denied", "not allowed", "checked out", "hook"]
        .iter()
        .any(|known| why.contains(known))
}

/// References of a remote repository.
#[derive(Default)]
pub(super) struct Tips {
    /// Those that are there, with the commits that they are at.
    pub(super) found: Vec<(String, String)>,
    /// Those of them that only name another one: what is pushed to one of them, or removed there, is the other one.
    pub(super) symbolic: BTreeSet<String>,
}

/// The commit at a reference of a remote repository.
pub(super) fn tip_of(git: &Git, remote: &str, reference: &str) -> Result<Option<String>, GitError> {
    Ok(tips_of(git, remote, &[reference.to_owned()])?.found.pop().map(|(_, id)| id))
}

/// Looks which of these references a remote repository has. Servers before git 2.18 do not say which are symbolic.
pub(super) fn tips_of(git: &Git, remote: &str, references: &[String]) -> Result<Tips, GitError> {
    let operands: Vec<&OsStr> =
        [remote].into_iter().chain(references.iter().map(String::as_str)).map(OsStr::new).collect();
    let out = git.run(None, "ls-remote", &["--quiet", "--symref"], &operands)?;
    let text = String::from_utf8_lossy(&out);
    let mut tips = Tips::default();
    // Git takes a name for the end of others too.
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    for (at, reference) in lines.filter(|(_, name)| references.iter().any(|known| known == name)) {
        match at.strip_prefix("ref: ") {
            Some(_) => _ = tips.symbolic.insert(reference.to_owned()),
            None => tips.found.push((reference.to_owned(), at.to_owned())),
        }
    }
    match tips.found.first() {
        None => git.expects_git(remote).map(|()| tips),
        Some((_, long)) if long.len() > 40 => Err(GitError::Sha256),
        Some(_) => Ok(tips),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: Move<'static> = Move { reference: "refs/heads/main", from: Some("a"), to: Some("b") };
    const STAMP: Move<'static> = Move { reference: "refs/pouch/acme", from: None, to: Some("c") };

    #[track_caller]
    fn check(moves: &[Move<'_>], out: &str, words: &str, expect: &Said) {
        let answer = Answer { well: false, out: out.as_bytes().to_vec(), words: words.to_owned() };
        assert_eq!(&said(&answer, &crate::git::program::git(&[]), moves), expect, "{out:?} {words:?}");
    }

    #[test]
    fn lines_of_status_count_before_words() {
        let line = |flag: &str, summary: &str| format!("To x\n{flag}\tb:refs/heads/main\t{summary}\nDone\n");
        for (flag, summary, expect) in [
            (" ", "a..b", Said::Moved),
            ("*", "[new branch]", Said::Moved),
            ("=", "[up to date]", Said::Moved),
            ("!", "[rejected] (stale info)", Said::Stale),
            ("!", "[rejected] (fetch first)", Said::Stale),
            ("!", "[remote rejected] (pre-receive hook declined)", Said::Rejected("pre-receive hook declined".into())),
            ("!", "[remote rejected] (unpacker error)", Said::Rejected("unpacker error".into())),
            ("!", "[remote failure] (remote failed to report status)", Said::Unknown),
        ] {
            check(
                &[MAIN],
                &line(flag, summary),
                "fatal: unable to access 'x'",
                &match expect {
                    // Without a status of the server its words count.
                    Said::Unknown => Said::Unsent,
                    expect => expect,
                },
            );
        }
        check(&[MAIN], "Done\n", "Writing objects: 100% (1/1), done.\nfatal: the remote end hung up", &Said::Unknown);
        // A status of another reference is none of this one.
        check(&[MAIN], "!\tb:refs/heads/x\t[remote rejected] (no)\n", "", &Said::Unknown);
    }

    #[test]
    fn of_an_atomic_push_the_reason_counts() {
        let both = |one: &str, other: &str| format!("!\tb:refs/heads/main\t{one}\n!\tc:refs/pouch/acme\t{other}\n");
        let (atomic, hook) = ("[remote rejected] (atomic push failed)", "[remote rejected] (hook declined)");
        check(&[MAIN, STAMP], &both(atomic, hook), "", &Said::Rejected("hook declined".into()));
        check(&[MAIN, STAMP], &both(hook, atomic), "", &Said::Rejected("hook declined".into()));
        let stale = "[rejected] (stale info)";
        check(&[MAIN, STAMP], &both("[rejected] (atomic push failed)", stale), "", &Said::Stale);
        let moved = " \tb:refs/heads/main\ta..b\n*\tc:refs/pouch/acme\t[new reference]\n";
        check(&[MAIN, STAMP], moved, "", &Said::Moved);
        check(&[MAIN, STAMP], " \tb:refs/heads/main\ta..b\n", "", &Said::Unknown);
    }

    #[test]
    fn words_prove_that_nothing_was_sent_or_nothing() {
        let url = "fatal: unable to access 'http://h/r/': The requested URL returned error: ";
        let rpc =
            "Writing objects: 100% (1/1), done.\nerror: RPC failed; HTTP 5 curl 22 The requested URL returned error: ";
        for (words, expect) in [
            (format!("{url}403"), Said::Denied),
            (format!("{url}401"), Said::Denied),
            (format!("{url}503"), Said::Unsent),
            (format!("{rpc}403"), Said::Denied),
            (format!("{rpc}413"), Said::Denied),
            (format!("{rpc}504"), Said::Unknown),
            (format!("{rpc}408"), Said::Unknown),
            ("fatal: could not read Username for 'x': terminal prompts disabled".to_owned(), Said::Denied),
            ("fatal: unable to access 'x': Could not resolve host: h".to_owned(), Said::Unsent),
            ("fatal: Could not read from remote repository.".to_owned(), Said::Denied),
            ("remote: unable to access 'x'\nfatal: the remote end hung up unexpectedly".to_owned(), Said::Unknown),
            ("Writing objects: 1% (1/9)\nfatal: Could not read from remote repository.".to_owned(), Said::Unknown),
            (String::new(), Said::Unknown),
        ] {
            check(&[MAIN], "", &words, &expect);
        }
    }
}
