//! Sources of which only the files at a path are fetched: what comes over, and what is kept of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::Teams;
use crate::support::fleet::{CANARY, Ran, secret};
use crate::support::githttp::GitServer;

/// The sizes of what stands beside the path, and what stands below it and counts for nothing, in bytes.
const BESIDE: usize = 4_000_000;
const BELOW: usize = 300_000;

/// Two teams, one with a large repository behind a server of which a folder is its source.
struct Large {
    teams: Teams,
    server: GitServer,
}

impl Large {
    fn new() -> Self {
        let teams = Teams::new("");
        let server = GitServer::new(&teams.fleet.path(""));
        let source = format!("repository: '{}', path: in/here", server.url("team.git"));
        teams.fleet.configure("repository: team.git", &source);
        let script = format!(
            "mkdir -p in/here/deep; git mv *.yaml in/here; head -c {BESIDE} /dev/urandom > in/large; \
             head -c {BELOW} /dev/urandom > in/here/deep/notes"
        );
        teams.script("team", &script);
        teams.commit("team");
        Self { teams, server }
    }

    fn serve(&self, key: &str, value: &str) {
        self.teams.script("team", &format!("git -C ../team.git config {key} {value}"));
    }

    fn set(&self, value: &str) {
        self.teams.fleet.write("team/in/here/secret.yaml", secret("eu-team", "c", &format!("value: {CANARY}-{value}")));
        self.teams.commit("team");
    }

    /// Publishes. Gives how many bytes the server sent, too.
    #[track_caller]
    fn publish(&self) -> (Ran, usize) {
        self.server.sent();
        let ran = self.teams.publish(&[]).0.ends(0);
        assert!(!ran.stderr.contains("warning") && !ran.stderr.contains("error"), "{}", ran.stderr);
        (ran, self.server.sent())
    }

    /// The folders in which something is kept.
    fn kept(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.teams.fleet.path("home/.cache/pouch/git"));
        folders.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }

    /// The packs that are kept of the large repository.
    fn packs(&self) -> Vec<PathBuf> {
        let files = self.kept().into_iter().flat_map(|kept| fs::read_dir(kept.join("objects/pack")).unwrap());
        let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        let is_part = |path: &PathBuf| {
            path.extension().is_some_and(|of| of == "pack") && path.with_extension("promisor").exists()
        };
        files.into_iter().filter(is_part).collect()
    }

    fn forget(&self) {
        fs::remove_dir_all(self.teams.fleet.path("home/.cache/pouch/git")).unwrap();
    }
}

/// Of a large repository comes what the source names, and nothing else differs.
#[test]
fn no_more_of_a_repository_comes_than_a_source_names() {
    let large = Large::new();
    let check = |what: &str, value: &str, is_little: bool| {
        large.set(value);
        let (ran, sent) = large.publish();
        ran.outcome("eu", "published");
        assert!(sent > BELOW && (sent < BELOW + 50_000) == is_little, "{what}: {sent}");
        // Whatever was fetched before, all of it: the same is read.
        large.forget();
        large.teams.script("team", &format!("echo {value} > README"));
        large.teams.commit("team");
        let (ran, sent) = large.publish();
        ran.outcome("eu", "unchanged").outcome("us", "unchanged");
        assert!(sent > BELOW && (sent < BELOW + 50_000) == is_little, "{what}: {sent}");
        large.forget();
    };
    // The controls: servers that leave nothing out, say so, or send only what their references lead to.
    check("no filter", "one", false);
    large.serve("uploadpack.allowFilter", "true");
    check("a filter", "two", true);
    large.serve("uploadpackfilter.blob:none.allow", "false");
    check("a filter that is refused", "three", false);
    large.serve("uploadpackfilter.blob:none.allow", "true");
    let old =
        |version: &str| large.teams.fleet.write("home/.gitconfig", format!("[protocol]\n\tversion = {version}\n"));
    old("0");
    check("an old protocol", "four", false);
    old("2");
    check("a new one", "five", true);
}

/// Objects that are kept of a path save fetches. They are never more than they should be, and whatever is wrong with them, the
/// same is published.
#[test]
fn what_is_kept_of_a_path_is_not_fetched_again() {
    let large = Large::new();
    large.serve("uploadpack.allowFilter", "true");
    large.publish();
    // Another run borrows it for a while.
    let folder = large.packs()[0].ancestors().nth(3).unwrap().to_owned();
    let lock = fs::File::open(folder.join("lock")).unwrap();
    lock.lock_shared().unwrap();
    let mut again = Vec::new();
    for round in 0..18 {
        if round == 14 {
            assert!(large.packs().len() > 25);
            lock.unlock().unwrap();
        }
        large.set(&round.to_string());
        let (ran, sent) = large.publish();
        ran.outcome("eu", "published");
        assert!(sent < BELOW + 50_000, "{round}: {sent}");
        again.extend((sent > 20_000).then_some(round));
    }
    assert!(again == [14] && large.packs().len() < 12, "{again:?}");
    // Nothing is fetched of what did not change.
    large.publish();
    let before = large.server.asked().len();
    let (_, sent) = large.publish();
    let asked: Vec<_> = large.server.asked().into_iter().skip(before).map(|asked| asked.line).collect();
    assert!(sent < 2000 && asked.iter().all(|line| !line.contains("fetch")) && asked.len() <= 2, "{sent} {asked:?}");
    let ways: [fn(&mut Vec<u8>); 3] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        Vec::clear,
        |bytes| bytes.iter_mut().skip(12).step_by(50).for_each(|byte| *byte ^= 1),
    ];
    for (round, spoil) in ways.iter().enumerate() {
        for pack in large.packs() {
            let mut bytes = fs::read(&pack).unwrap();
            spoil(&mut bytes);
            fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).unwrap();
            fs::write(&pack, bytes).unwrap();
        }
        large.set(&format!("spoilt-{round}"));
        large.publish().0.outcome("eu", "published");
    }
    // A server that sends no more than what is new, as if all else were here, is asked for what is not.
    large.forget();
    large.set("before");
    large.publish();
    large.serve("uploadpack.allowFilter", "false");
    large.teams.script("team", "cp in/large in/here/deep/large.bin; git mv in/large in/larger");
    large.set("after");
    large.publish().0.outcome("eu", "published");
}
