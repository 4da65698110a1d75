//! Memory and space, which sources share: one that wants more than its part waits, and no other does.

use std::fmt::Write as _;

use super::Teams;
use crate::support::fleet::{Ran, credential};
use crate::support::githttp::GitServer;
use crate::support::group::Group;
use crate::support::peak::peak;

/// Two sources, each on a server, with these limits.
fn served(limits: &str) -> (Teams, GitServer) {
    let teams = Teams::new("");
    let server = GitServer::new(&teams.fleet.path(""));
    for name in ["team", "platform"] {
        let url = server.url(&format!("{name}.git"));
        teams.fleet.configure(&format!("repository: {name}.git"), &format!("repository: '{url}'"));
    }
    teams.fleet.configure("reuseKey", &format!("limits: {{{limits}}}\nreuseKey"));
    (teams, server)
}

/// Both say something new.
fn change(teams: &Teams, value: &str) {
    teams.set("team", "eu", value);
    teams.set("platform", "us", value);
}

/// Publishes what the platform says, and nothing of the team, which is told.
#[track_caller]
fn waits(teams: &Teams, said: &[&str]) {
    let ran = teams.publish(&[]).0.ends(3).outcome("us", "published");
    assert!(ran.stdout.contains("carried    Credential eu-team/c"), "{}", ran.stdout);
    said.iter().fold(ran, |ran, said| ran.says(said));
}

#[test]
fn a_repository_larger_than_its_part_of_the_space_stops_no_other() {
    let (teams, _server) = served("space: 4Mi");
    teams.settle();
    // More than its half, and no more than the other one leaves.
    teams.script("team", "head -c 3000000 /dev/urandom > beside");
    change(&teams, "second");
    teams.publish(&[]).0.ends(0).outcome("eu", "published").outcome("us", "published");
    teams.script("team", "head -c 6000000 /dev/urandom > beside");
    change(&teams, "third");
    waits(
        &teams,
        &[
            "unavailable-source",
            "team.git is too large to be fetched",
            "What is fetched of it may take 3 MiB of `limits.space`",
        ],
    );
    // The control: with more space it is fetched.
    teams.fleet.configure("space: 4Mi", "space: 40Mi");
    teams.publish(&[]).0.ends(0).outcome("eu", "published");
    // One that others depend on ends the run, and says why.
    teams.fleet.configure("space: 40Mi", "space: 4Mi");
    teams.script("platform", "head -c 6000000 /dev/urandom > beside");
    change(&teams, "fourth");
    teams.publish(&[]).0.ends(1).says("`limits.space`");
}

#[test]
fn a_repository_that_git_needs_too_much_memory_for_stops_no_other() {
    let (teams, _server) = served("memory: 80Mi");
    teams.settle();
    // Two large files of which one is written as what differs from the other: git makes the second in memory.
    let bomb = "head -c 100000000 /dev/zero > one; (cat one; echo end) > two; git add -A; git commit -qm bomb; \
                git push -q -f o HEAD:main; cd ../team.git; \
                git -c core.bigFileThreshold=1g -c pack.threads=1 repack -qadf --window=10; git verify-pack -v objects/pack/*.idx | grep -q ' 1 '; rm ../team/one ../team/two";
    teams.script("team", bomb);
    teams.set("platform", "us", "second");
    waits(&teams, &["unavailable-source", "Git may take 80 MiB of memory for it"]);
    // The control: with more memory it is fetched.
    teams.fleet.configure("memory: 80Mi", "memory: 2Gi");
    teams.publish(&[]).0.ends(0);
}

#[test]
fn files_that_take_more_memory_than_their_source_may_stop_no_other() {
    let (teams, _server) = served("memory: 16Mi");
    teams.settle();
    let mut many = String::new();
    for number in 0..4000 {
        let name = format!("n{number}");
        writeln!(many, "{}---", credential("eu", "eu-flood", &name, ["v1", "Secret", &name])).unwrap();
    }
    teams.fleet.write("team/many.yaml", many);
    change(&teams, "second");
    let ran = teams.publish(&[]).0.ends(3).outcome("us", "published").outcome("eu", "published");
    ran.says("error[refused-file]: HEAD:many.yaml costs more than a source may: its part of limits.memory is 15 MiB");
    // The control: with more memory it is read, and beyond what one namespace may have nothing is looked at.
    teams.fleet.configure("memory: 16Mi", "memory: 160Mi");
    let ran = teams.publish(&[]).0.ends(3);
    assert!(!ran.stderr.contains("refused-file"), "{}", ran.stderr);
}

/// Attacks of a tenant with 64 KiB on the memory of a run.
#[test]
fn a_tenant_of_64_kib_takes_no_memory_that_is_not_his() {
    const HEAD: &str = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n";
    let credentials = |repeat: &str| {
        format!("for n in $(seq {repeat}); do printf -- '---\\n{HEAD}metadata: {{name: n'$n', namespace: eu-flood}}\\nspec: {{}}\\n'; done")
            .replace('\n', "\\n")
    };
    let attacks = [
        ("many of what is kept whole", format!("{} > many.yaml", credentials("60000"))),
        ("many that have no name", "yes -- '---\napiVersion: v1\nkind: Secret\nmetadata: {nmae: x}' | head -n 800000 > many.yaml".to_owned()),
        ("many that are broken", "yes -- '---\na: b: c' | head -n 1200000 > many.yaml".to_owned()),
        ("one of many values", "(echo 'apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: eu-team}\nx: ['; yes 1, | head -n 4000000; echo 1]) > many.yaml".to_owned()),
        ("the same in JSON", "(echo '{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"x\": ['; yes 1, | head -n 4000000; echo 1]}) > many.json".to_owned()),
        ("a long text", "(echo 'apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: eu-team}\nstringData:\n  x: |'; yes '    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' | head -c 40000000) > many.yaml".to_owned()),
        ("a file in many places", format!("{} > 0; for d in $(seq 40); do mkdir d$d; for n in $(seq 50); do cp 0 d$d/$n.yaml; done; done", credentials("500"))),
        ("many words", "(echo 'a: b: c'; seq 200000) > many.yaml".to_owned()),
    ];
    // As much as the container of the example has, of which the sources share half.
    let group = Group::new(512 << 20);
    let (teams, _server) = served(if group.is_some() { "attempts: 5" } else { "memory: 256Mi" });
    let run = || {
        let command = teams.origin().wrapped("", &[]);
        let inside = group.as_ref().map(|group| group.holding(&command));
        peak(&mut inside.unwrap_or(command))
    };
    teams.settle();
    let plain = run().1;
    let first = teams.script("team", "git rev-parse HEAD");
    for (number, (what, script)) in attacks.into_iter().enumerate() {
        teams.script("team", &format!("git reset -q --hard {first}; git clean -qfd"));
        teams.script("team", &script);
        teams.commit("team");
        let packed = teams.script("team", "git repack -qad --window=50; du -sk .git/objects/pack | cut -f1");
        assert!(packed.parse::<usize>().unwrap() < 2000, "{what}: {packed} KiB");
        teams.set("platform", "us", &format!("of-{number}"));
        let (output, most) = run();
        let ran = Ran::from(output);
        let more = most.saturating_sub(plain) >> 20;
        eprintln!("{what}: {packed} KiB, {} MiB and {more} MiB more, ends {}", plain >> 20, ran.code);
        ran.outcome("us", "published");
        assert!(more < 200, "{what} takes {more} MiB");
    }
}
