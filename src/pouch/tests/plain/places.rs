//! Regions with repositories or branches of their own: each place is published to by itself.

use std::process::Command;

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;

/// Runs git in a repository of the fleet, and gives what it prints.
#[track_caller]
fn git(fleet: &Fleet, repository: &str, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(fleet.path(repository)).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn tip(fleet: &Fleet, repository: &str, branch: &str) -> String {
    git(fleet, repository, &["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{branch}")])
}

fn files(fleet: &Fleet, repository: &str, branch: &str) -> Vec<String> {
    git(fleet, repository, &["ls-tree", "-r", "--name-only", branch]).lines().map(str::to_owned).collect()
}

/// A fleet that publishes by this `output.git`, with empty repositories of these names.
fn fleet(count: usize, git_field: &str, repositories: &[&str]) -> Fleet {
    let fleet = Fleet::with_credentials(count);
    fleet.configure("output: {path: bundles}", &format!("output: {{path: bundles, git: {{{git_field}}}}}"));
    for repository in repositories {
        std::fs::create_dir_all(fleet.path(repository)).unwrap();
        git(&fleet, repository, &["init", "--quiet", "--bare", "--initial-branch=main"]);
    }
    fleet
}

#[track_caller]
fn publish(fleet: &Fleet, more: &[&str]) -> Ran {
    let ran = fleet.run(&[&["publish", "--summary", "summary.json"], more].concat());
    assert!(fleet.tree("tmp").is_empty(), "left behind: {:?}", fleet.tree("tmp").keys());
    ran
}

/// What the summary says of the place that a region is published by.
fn target(fleet: &Fleet, region: &str) -> serde_json::Value {
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    let targets = summary["targets"].as_array().unwrap();
    let found = targets.iter().find(|target| target["regions"].as_array().unwrap().iter().any(|name| name == region));
    found.unwrap_or_else(|| panic!("{targets:?}")).clone()
}

#[test]
fn s22_each_region_has_a_repository_of_its_own_and_nothing_of_others_is_in_it() {
    let fleet = fleet(2, "repository: 'repo-{region}.git'", &["repo-eu.git", "repo-us.git"]);
    let ran = publish(&fleet, &["--first"]).ends(0).outcome("eu", "published").outcome("us", "published");
    ran.says("main of repo-eu.git is at ").says("4 Credentials resolved, 0 refused, 0 broken, 0 not for a region");
    for (region, other) in [("eu", "us"), ("us", "eu")] {
        let repository = format!("repo-{region}.git");
        let files = files(&fleet, &repository, "main");
        assert!(files.contains(&"bundles/.gitattributes".to_owned()), "{files:?}");
        assert!(files.contains(&format!("bundles/regions/{region}/bundle.yaml")), "{files:?}");
        // No name of the other region, of its namespaces or of what is in them: in no file, path or message.
        let all = git(&fleet, &repository, &["log", "-p", "--format=%B", "--all"]);
        assert!(!all.contains(&format!("{other}-team")) && !all.contains(&format!("regions/{other}")), "{region}");
        let trailers = git(&fleet, &repository, &["log", "-1", "--format=%B", "main"]);
        // A seal is random text, and holds any two letters now and then.
        let trailers = trailers.split("Pouch-Seal: ").next().unwrap();
        assert!(trailers.contains(&format!("Pouch-Regions: {region}\n")) && !trailers.contains(other), "{trailers}");
        assert_eq!(target(&fleet, region)["repository"], repository);
        assert_eq!(target(&fleet, region)["commit"], tip(&fleet, &repository, "main"));
    }
    publish(&fleet, &[]).ends(0).says("nothing changed at 2 places");
    fleet.run(&["verify"]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    let before = tip(&fleet, "repo-us.git", "main");
    publish(&fleet, &[]).ends(0).says("nothing changed at 1 place");
    assert_eq!(tip(&fleet, "repo-us.git", "main"), before);
    let commit: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    assert_eq!(commit["commit"], tip(&fleet, "repo-eu.git", "main"));
    // What knows one repository says which it wants; what knows one region finds its own.
    fleet.run(&["exposure"]).ends(64).says("the regions are published to 2 repositories");
    fleet.run(&["exposure", "repo-eu.git"]).ends(0);
    fleet.run(&["verify", "repo-eu.git", "--rev", "main"]).ends(0);
    fleet.run(&["verify", "--region", "us"]).ends(0);
    fleet.run(&["rekey", "--region", "eu"]).ends(0);
    assert_eq!(tip(&fleet, "repo-us.git", "main"), before);
    assert_eq!(git(&fleet, "repo-eu.git", &["rev-list", "--count", "main"]), "3");
    fleet.run(&["rekey", "--dry-run"]).ends(0);
    // A region that is in another's place is a fault there.
    let script = "cp -r bundles/regions/eu bundles/regions/us";
    let work = fleet.path("work").display().to_string();
    git(&fleet, "repo-eu.git", &["clone", "-q", ".", &work]);
    let script = format!(
        "cd '{work}' && {script} && git add -A && git -c user.name=o -c user.email=o@x commit -qm x && git push -q"
    );
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    fleet.run(&["verify"]).ends(8).says("region-not-configured");
}

#[test]
fn each_region_has_a_branch_of_its_own() {
    let fleet = fleet(1, "repository: repo.git, branch: 'live/{region}'", &["repo.git"]);
    let log = fleet.path("log");
    // The repository is fetched once, and each branch is pushed by itself.
    let script = format!("case \"$*\" in *' fetch '*|*' push '*) echo \"$*\" >> '{}';; esac", log.display());
    let origin = Origin::known(&fleet);
    publish(&fleet, &["--first"]).ends(0).says("live/eu of repo.git is at ").says("live/us of repo.git is at ");
    assert!(files(&fleet, "repo.git", "live/eu").iter().all(|path| !path.contains("/us/")));
    fleet.configure("branch: 'live/{region}'", "branch: 'live/{region}', cache: false");
    for region in ["eu", "us"] {
        fleet.secret(region, "c0", "value: changed");
    }
    Ran::from(origin.wrapped_run(&script, &["publish"]).output().unwrap()).ends(0);
    let calls = fleet.read("log");
    let count = |word: &str| calls.lines().filter(|line| line.contains(&format!(" {word} "))).count();
    assert_eq!((count("push"), calls.lines().filter(|line| line.contains("--depth=1")).count()), (2, 1), "{calls}");
    fleet.run(&["verify"]).ends(0);
    // A hook that lets one of them through stops no other.
    for region in ["eu", "us"] {
        fleet.secret(region, "c0", "value: once more");
    }
    origin.hook("update", "case \"$1\" in refs/heads/live/eu) echo not this one >&2; exit 1;; esac");
    let (eu, us) = (tip(&fleet, "repo.git", "live/eu"), tip(&fleet, "repo.git", "live/us"));
    let ran = publish(&fleet, &[]).ends(1).says("error: branch live/eu of repo.git: the push was refused");
    let ran = ran.says("not this one").says("live/us of repo.git is at ").outcome("us", "published");
    assert!(!ran.stdout.contains("eu "), "{}", ran.stdout);
    assert!(tip(&fleet, "repo.git", "live/eu") == eu && tip(&fleet, "repo.git", "live/us") != us);
    assert_eq!(
        (&target(&fleet, "eu")["state"], &target(&fleet, "us")["state"]),
        (&"failed".into(), &"published".into())
    );
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    assert_eq!(summary["exitCode"], 1);
    assert!(target(&fleet, "eu")["failure"]["message"].as_str().unwrap().contains("refused"));
    std::fs::remove_file(origin.path().join("hooks/update")).unwrap();
    publish(&fleet, &[]).ends(0).outcome("eu", "published").outcome("us", "unchanged");
}

#[test]
fn one_place_that_is_away_stops_no_other_and_the_worst_counts() {
    let fleet = fleet(1, "repository: 'repo-{region}.git'", &["repo-eu.git", "repo-us.git"]);
    publish(&fleet, &["--first"]).ends(0);
    for region in ["eu", "us"] {
        fleet.secret(region, "c0", "value: changed");
    }
    std::fs::rename(fleet.path("repo-eu.git"), fleet.path("away")).unwrap();
    let us = tip(&fleet, "repo-us.git", "main");
    let ran = publish(&fleet, &[]).ends(5).outcome("us", "published");
    let ran = ran.says("error: branch main of repo-eu.git: the output repository cannot be reached");
    ran.says("main of repo-us.git is at ");
    assert_ne!(tip(&fleet, "repo-us.git", "main"), us);
    fleet.run(&["verify"]).ends(5).says("cannot be fetched");
    // Where all of them fail, so does the run, with the worst code.
    std::fs::rename(fleet.path("repo-us.git"), fleet.path("away-too")).unwrap();
    publish(&fleet, &[]).ends(5).says("repo-us.git: the output");
    assert!(!fleet.read("summary.json").contains("targets"));
    for (from, to) in [("away", "repo-eu.git"), ("away-too", "repo-us.git")] {
        std::fs::rename(fleet.path(from), fleet.path(to)).unwrap();
    }
    publish(&fleet, &[]).ends(0).outcome("eu", "published").outcome("us", "unchanged");
    // A place that was never published to wants `--first`, and keeps no other from anything.
    git(&fleet, "repo-eu.git", &["update-ref", "-d", "refs/heads/main"]);
    fleet.secret("us", "c0", "value: once more");
    let ran = publish(&fleet, &[]).ends(64).outcome("us", "published");
    ran.says("branch main of repo-eu.git: first-publication");
}

#[test]
fn a_place_that_another_writer_was_faster_at_is_tried_again_alone() {
    let fleet = fleet(1, "repository: 'repo-{region}.git'", &["repo-eu.git", "repo-us.git"]);
    publish(&fleet, &["--first"]).ends(0);
    for region in ["eu", "us"] {
        fleet.secret(region, "c0", "value: changed");
    }
    let (flag, other) = (fleet.path("flag"), fleet.path("repo-us.git"));
    let script = format!(
        "case \"$*\" in *' push '*repo-us.git*) if mkdir '{flag}' 2>/dev/null; then \
         export GIT_INDEX_FILE='{flag}/index'; /usr/bin/env -u GIT_DIR git --git-dir='{other}' read-tree main; \
         file=$(echo x | git --git-dir='{other}' hash-object -w --stdin); \
         git --git-dir='{other}' update-index --add --cacheinfo 100644,$file,bundles/README.md; \
         t=$(GIT_AUTHOR_NAME=o GIT_AUTHOR_EMAIL=o@x GIT_COMMITTER_NAME=o GIT_COMMITTER_EMAIL=o@x \
         git --git-dir='{other}' commit-tree -p main -m other $(git --git-dir='{other}' write-tree)); unset GIT_INDEX_FILE; \
         git --git-dir='{other}' update-ref refs/heads/main $t; fi;; esac; echo \"$*\" >> '{log}'",
        flag = flag.display(),
        other = other.display(),
        log = fleet.path("log").display(),
    );
    let origin = Origin::known(&fleet);
    let ran = Ran::from(origin.wrapped_run(&script, &["publish"]).output().unwrap()).ends(0);
    ran.says("another writer was faster").says("repo-us.git is at").says("repo-eu.git is at");
    let pushes = fleet.read("log").lines().filter(|line| line.contains(" push ") && line.contains("repo-eu")).count();
    assert_eq!(pushes, 1, "the other one was pushed once");
    assert_eq!(git(&fleet, "repo-us.git", &["rev-list", "--count", "main"]), "3");
    publish(&fleet, &[]).ends(0).says("nothing changed at 2 places");
}

#[test]
fn each_region_proposes_by_itself() {
    let fleet = fleet(1, "repository: repo.git, base: main, branch: 'pouch/{region}'", &["repo.git"]);
    fleet.configure("delivery: argocd}", "delivery: {argocd: {kind: ApplicationSet}}}");
    let origin = Origin::known(&fleet);
    origin.commit_beside("echo theirs > README");
    let ran = publish(&fleet, &["--first"]).ends(0).says("pouch/eu of repo.git proposes");
    ran.says("pouch/us of repo.git proposes");
    for (region, other) in [("eu", "us"), ("us", "eu")] {
        let files = files(&fleet, "repo.git", &format!("pouch/{region}"));
        assert!(files.contains(&format!("bundles/regions/{region}/bundle.yaml")), "{files:?}");
        assert!(!files.iter().any(|path| path.contains(&format!("regions/{other}"))), "{files:?}");
        // What all regions of the base share is the same in each proposal, so they merge without a conflict.
        assert!(files.contains(&"bundles/argocd/acme-applicationset.yaml".to_owned()), "{files:?}");
        assert_eq!(target(&fleet, region)["branch"], format!("pouch/{region}"));
        assert!(target(&fleet, region)["proposal"]["title"].as_str().unwrap().starts_with(region));
    }
    publish(&fleet, &[]).ends(0).says("pouch/eu of repo.git proposes").says("already");
    // One is merged, and the other is made anew on the base that moved.
    origin.run_beside("git merge -q --no-ff -m merge origin/pouch/eu; git push -q origin HEAD:main");
    let ran = publish(&fleet, &[]).ends(0).outcome("eu", "unchanged").outcome("us", "published");
    ran.says("pouch/eu is removed").says("pouch/us of repo.git proposes");
    assert_eq!(git(&fleet, "repo.git", &["rev-parse", "pouch/us^"]), tip(&fleet, "repo.git", "main"));
    origin.run_beside("git merge -q --no-ff -m merge origin/pouch/us; git push -q origin HEAD:main");
    publish(&fleet, &[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged").says("pouch/us is removed");
    fleet.run(&["verify"]).ends(0);
    // A person's commit stops one of them.
    for region in ["eu", "us"] {
        fleet.secret(region, "c0", "value: changed");
    }
    publish(&fleet, &[]).ends(0);
    origin.run_beside(
        "git checkout -q pouch/eu; echo x > x; git add x; git commit -qm mine; git push -q origin HEAD:pouch/eu",
    );
    for region in ["eu", "us"] {
        fleet.secret(region, "c0", "value: once more");
    }
    let (eu, us) = (tip(&fleet, "repo.git", "pouch/eu"), tip(&fleet, "repo.git", "pouch/us"));
    publish(&fleet, &[]).ends(1).says("branch pouch/eu of repo.git: ").says("did not propose");
    assert!(tip(&fleet, "repo.git", "pouch/eu") == eu && tip(&fleet, "repo.git", "pouch/us") != us);
}

/// Somebody merges a proposal and its branch goes, after the server said that it is there and before it is fetched.
#[test]
fn a_branch_that_goes_meanwhile_stops_no_place() {
    let fleet = fleet(1, "repository: repo.git, base: main, branch: 'pouch/{region}', cache: false", &["repo.git"]);
    let origin = Origin::known(&fleet);
    origin.commit_beside("echo theirs > README");
    publish(&fleet, &["--first"]).ends(0);
    let script = |goes: &str| {
        format!(
            "case \" $* \" in *' fetch '*) {goes} && git --git-dir='{}' update-ref -d refs/heads/pouch/eu;; esac",
            origin.path().display()
        )
    };
    let once = script(&format!("mkdir '{}' 2> /dev/null", fleet.path("flag").display()));
    let ran = Ran::from(origin.wrapped_run(&once, &["publish", "--first"]).output().unwrap()).ends(0);
    ran.says("pouch/eu of repo.git proposes").says("pouch/us of repo.git proposes").says("already");
    // The control: one that comes and goes all the time.
    let always = script(&format!("git --git-dir='{}' update-ref refs/heads/pouch/eu main", origin.path().display()));
    let listed = format!(
        "case \" $* \" in *' ls-remote '*) git --git-dir='{}' update-ref refs/heads/pouch/eu main;; esac; {always}",
        origin.path().display()
    );
    Ran::from(origin.wrapped_run(&listed, &["publish", "--first"]).output().unwrap()).ends(5).says("cannot be reached");
}

#[test]
fn each_region_proposes_in_a_repository_of_its_own() {
    let field = "repository: 'repo-{region}.git', base: 'to/{region}', branch: pouch";
    let fleet = fleet(1, field, &["repo-eu.git", "repo-us.git"]);
    fleet.configure("delivery: argocd}", "delivery: {argocd: {kind: ApplicationSet}}}");
    for region in ["eu", "us"] {
        let repository = format!("repo-{region}.git");
        let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        git(&fleet, &repository, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
        let commit = ["-c", "user.name=o", "-c", "user.email=o@x", "commit-tree", "-m", "first", empty];
        let commit = git(&fleet, &repository, &commit);
        git(&fleet, &repository, &["update-ref", &format!("refs/heads/to/{region}"), &commit]);
    }
    publish(&fleet, &["--first"]).ends(0);
    let eu = files(&fleet, "repo-eu.git", "pouch");
    assert!(!eu.iter().any(|path| path.contains("applicationset") || path.contains("/us/")), "{eu:?}");
    let us = files(&fleet, "repo-us.git", "pouch");
    assert!(us.contains(&"bundles/argocd/acme-applicationset.yaml".to_owned()), "{us:?}");
    let set = git(&fleet, "repo-us.git", &["show", "pouch:bundles/argocd/acme-applicationset.yaml"]);
    assert!(set.contains("targetRevision: to/us"), "{set}");
    for region in ["eu", "us"] {
        let (repository, base) = (format!("repo-{region}.git"), format!("refs/heads/to/{region}"));
        git(&fleet, &repository, &["update-ref", &base, "refs/heads/pouch"]);
    }
    publish(&fleet, &[]).ends(0).says("and pouch is removed");
    assert_eq!(tip(&fleet, "repo-eu.git", "pouch"), "");
    fleet.run(&["verify"]).ends(0);
}

/// By links, two regions may have one repository: they share a place then, and neither loses anything.
#[test]
fn regions_that_meet_in_one_place_share_it() {
    let fleet = fleet(1, "repository: 'of/{region}'", &["repo.git"]);
    std::fs::create_dir(fleet.path("of")).unwrap();
    for region in ["eu", "us"] {
        std::os::unix::fs::symlink("../repo.git", fleet.path("of").join(region)).unwrap();
    }
    publish(&fleet, &["--first"]).ends(0).outcome("eu", "published").outcome("us", "published");
    assert_eq!(git(&fleet, "repo.git", &["rev-list", "--count", "main"]), "1");
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    assert_eq!(summary["targets"].as_array().unwrap().len(), 1);
    // And where they would follow different branches by one proposal, it is refused.
    fleet.configure("repository: 'of/{region}'", "repository: 'of/{region}', base: 'to/{region}', branch: pouch");
    let refused = publish(&fleet, &[]).ends(64).says("branch pouch of of/us would propose to to/us");
    refused.says("write `{region}` into `branch` too");
    fleet.configure("base: 'to/{region}', branch: pouch", "base: 'x{region}', branch: xus");
    publish(&fleet, &[]).ends(64);
}
