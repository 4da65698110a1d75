//! The published tree is untrusted: whatever a writer of the branch does to one region, the other one is published byte for
//! byte as without him, and what ends well is a tree that `verify` proves.

use std::collections::BTreeMap;

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;

const LINKED: &str = "a link for the region";

/// A name, and what is done to region `eu` in a clone of the branch; `$OLD` is an older commit of pouch's own, and
/// `$OTHER` one of another fleet.
const SPOILT: &[(&str, &str)] = &[
    ("nothing", "true"),
    ("a changed Secret", "echo >> bundles/regions/eu/core/secrets/eu-team/c1.sops.yaml"),
    ("a changed kustomization", "echo '# x' >> bundles/regions/eu/core/kustomization.yaml"),
    ("a changed delivery object", "sed -i s/prune/prone/ bundles/flux/eu/*.yaml"),
    ("a Secret in another's place", "cd bundles/regions/eu/core/secrets/eu-team; cp c1.sops.yaml c2.sops.yaml"),
    ("a missing Secret", "rm bundles/regions/eu/core/secrets/eu-team/c1.sops.yaml"),
    ("a missing delivery folder", "rm -r bundles/flux/eu"),
    ("a missing region", "rm -r bundles/regions/eu bundles/flux/eu"),
    ("a missing manifest", "rm bundles/regions/eu/bundle.yaml"),
    ("a changed manifest", "sed -i s/c1/c7/g bundles/regions/eu/bundle.yaml"),
    ("an empty manifest", ": > bundles/regions/eu/bundle.yaml"),
    ("a manifest of the other region", "cp bundles/regions/us/bundle.yaml bundles/regions/eu/bundle.yaml"),
    ("the other region's files", "rm -r bundles/regions/eu; cp -r bundles/regions/us bundles/regions/eu"),
    ("an older manifest", "git checkout -q $OLD -- bundles/regions/eu/bundle.yaml"),
    ("an older state", "rm -r bundles/regions/eu; git checkout -q $OLD -- bundles/regions/eu"),
    ("another fleet's region", "rm -r bundles/regions/eu; git checkout -q $OTHER -- bundles/regions/eu"),
    ("a newer format", "sed -i 's,pouch/v1,pouch/v2,' bundles/regions/eu/bundle.yaml"),
    ("a foreign file", "echo 'kind: ConfigMap' > bundles/regions/eu/core/extra.yaml"),
    ("a foreign delivery object", "echo 'kind: ConfigMap' > bundles/flux/eu/extra.yaml"),
    ("a hidden file", "echo x > bundles/regions/eu/.sourceignore"),
    ("attributes of its own", "echo '* text eol=crlf' > bundles/regions/eu/.gitattributes"),
    ("an executable Secret", "chmod +x bundles/regions/eu/core/secrets/eu-team/c1.sops.yaml"),
    ("a link for a Secret", "ln -sf c2.sops.yaml bundles/regions/eu/core/secrets/eu-team/c1.sops.yaml"),
    (LINKED, "rm -r bundles/regions/eu; ln -s us bundles/regions/eu"),
    ("a link for its delivery", "rm -r bundles/flux/eu; ln -s ../regions/eu bundles/flux/eu"),
    ("a link for the manifest", "ln -sf ../us/bundle.yaml bundles/regions/eu/bundle.yaml"),
    (
        "a submodule in it",
        "git update-index --add --cacheinfo 160000,$OLD,bundles/regions/eu/core/sub; touch keep-index",
    ),
    (
        "a submodule for it",
        "git rm -rqf --cached bundles/regions/eu; rm -r bundles/regions/eu; \
                            git update-index --add --cacheinfo 160000,$OLD,bundles/regions/eu; touch keep-index",
    ),
    ("a file for the region", "rm -r bundles/regions/eu; echo x > bundles/regions/eu"),
    ("a file for a folder", "rm -r bundles/regions/eu/core; echo x > bundles/regions/eu/core"),
    ("a folder for a file", "cd bundles/regions/eu; rm bundle.yaml; mkdir bundle.yaml; echo x > bundle.yaml/x"),
    (
        "a deep path",
        "deep=bundles/regions/eu; for n in $(seq 70); do deep=$deep/d; done; mkdir -p $deep; echo x > $deep/x",
    ),
    ("many files", "for n in $(seq 300); do echo x > bundles/regions/eu/core/x$n.yaml; done"),
    ("a name in upper case", "mv bundles/regions/eu/core bundles/regions/eu/CORE"),
    ("a region in upper case", "cp -r bundles/regions/eu bundles/regions/EU"),
    ("a strange name", "printf x > \"bundles/regions/eu/core/$(printf 'a\\nb \\033[31m\\377')\""),
    (
        "another fleet's bundle beside",
        "git checkout -q $OTHER -- bundles/regions/eu; mv bundles/regions/eu bundles/regions/zz; \
                                      git checkout -q HEAD -- bundles/regions/eu",
    ),
    ("a region that nobody vouches for", "cp -r bundles/regions/eu bundles/regions/zz"),
    ("ignored by Flux", "printf 'regions/eu\\nflux\\n' > bundles/.sourceignore"),
    ("attributes for all", "echo '* text eol=crlf' > bundles/.gitattributes"),
    ("attributes further up", "echo '* text eol=crlf' > .gitattributes"),
];

/// How the branch's history is left.
const HISTORIES: &[(&str, &str)] = &[
    ("", "git commit -q --allow-empty -m other"),
    ("rewritten", "git checkout -q --orphan fresh; git commit -q --allow-empty -m 'all of it'"),
    (
        "merged",
        "git commit -q --allow-empty -m other; git checkout -q -f -b side $OLD; git commit -q --allow-empty -m side; \
               git checkout -q main; git merge -q -s ours side -m merge",
    ),
    ("forged", "git commit -q --allow-empty -m \"$(git log -1 --format=%B HEAD)\""),
];

/// A fleet of two regions that publishes to a branch, and what each run starts from.
struct Stage<'a> {
    fleet: &'a Fleet,
    origin: Origin<'a>,
    start: String,
    older: String,
    other: String,
    /// What region `us` becomes where nobody does anything.
    expected: Vec<String>,
}

impl<'a> Stage<'a> {
    fn new(fleet: &'a Fleet) -> Self {
        let origin = Origin::new(fleet, "");
        fleet.configure("{name: acme}", "{name: other}");
        origin.publish(&[]).ends(0);
        let other = origin.tip().unwrap();
        origin.git(&["update-ref", "refs/heads/other", &other]);
        origin.git(&["update-ref", "-d", "refs/heads/main"]);
        fleet.configure("{name: other}", "{name: acme}");
        origin.publish(&[]).ends(0);
        let older = origin.tip().unwrap();
        fleet.secret("eu", "c1", "value: another-of-these-values");
        fleet.delete("eu", "c3");
        origin.publish(&[]).ends(0);
        let start = origin.tip().unwrap();
        // What is due in the other region is made of bytes that stand there, so that they can be compared.
        fleet.delete("us", "c3");
        let mut stage = Self { fleet, origin, start, older, other, expected: Vec::new() };
        stage.fleet.run(&["publish"]).ends(0).outcome("us", "published");
        stage.expected = stage.of_us();
        assert!(!stage.expected.is_empty());
        stage
    }

    /// The trees of region `us`.
    fn of_us(&self) -> Vec<String> {
        let folders = ["regions/us", "argocd/us"].map(|folder| format!("bundles/{folder}"));
        let arguments = ["ls-tree", "main", &folders[0], &folders[1]];
        self.origin.git(&arguments).lines().map(str::to_owned).collect()
    }

    /// Puts the branch back to where each run starts, as somebody left it.
    fn spoil(&self, scripts: &[&str], history: &str) {
        self.origin.git(&["update-ref", "refs/heads/main", &self.start]);
        // The first may have taken away what the second changes.
        let scripts: Vec<String> = scripts.iter().map(|script| format!("( {script} ) || true")).collect();
        let script = format!(
            "export OLD={} OTHER={}; git config core.autocrlf false; {} ; \
             if [ -e keep-index ]; then rm keep-index; else git add -A -f; fi; {history}; git push -q -f origin HEAD:main",
            self.older,
            self.other,
            scripts.join("; ")
        );
        self.origin.run_beside(&script);
    }

    /// Publishes, and says how it ended: `us` is as it would be anyway, and what ends well is proved.
    fn ends(&self, what: &str) -> Result<i32, String> {
        let ran = self.fleet.run(&["publish"]);
        let said = |why: &str, ran: &Ran| Err(format!("{what}: {why}\n{}{}", ran.stdout, ran.stderr));
        if ![0, 4, 8].contains(&ran.code) {
            return said(&format!("exit {}", ran.code), &ran);
        }
        if self.of_us() != self.expected {
            return said("us is not what it would be", &ran);
        }
        if ran.code == 0 {
            let proof = self.fleet.run(&["verify", "repo.git"]);
            if proof.code != 0 {
                return said(&format!("published, and verify ends with {}:\n{}", proof.code, proof.stderr), &ran);
            }
        }
        // A second run has nothing to add, and says the same.
        let again = self.fleet.run(&["publish"]);
        if again.code != ran.code || self.of_us() != self.expected {
            return said(&format!("a second run ends with {}\n{}", again.code, again.stderr), &ran);
        }
        Ok(ran.code)
    }
}

fn all(cases: impl Iterator<Item = (String, Vec<&'static str>, &'static str)>) -> BTreeMap<String, i32> {
    let fleet = Fleet::with_credentials(4);
    let stage = Stage::new(&fleet);
    let (mut ended, mut wrong) = (BTreeMap::new(), Vec::new());
    for (what, scripts, history) in cases {
        stage.spoil(&scripts, history);
        match stage.ends(&what) {
            Ok(code) => _ = ended.insert(what, code),
            Err(why) => wrong.push(why),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ended.len() + wrong.len(), wrong.join("\n\n"));
    ended
}

#[test]
fn whatever_is_done_to_one_region_the_other_is_published() {
    let ended = all(SPOILT.iter().map(|(what, script)| ((*what).to_owned(), vec![*script], HISTORIES[0].1)));
    assert_eq!(ended["nothing"], 0);
    let healed = ended.values().filter(|code| **code == 0).count();
    // Some heal and some hold: the test sees both.
    assert!(healed > 15 && healed < ended.len() - 10, "{ended:?}");
}

/// Every pair of them, each with one of the histories.
fn pairs() -> impl Iterator<Item = (String, Vec<&'static str>, &'static str)> {
    let pairs = SPOILT.iter().enumerate().flat_map(|(at, one)| SPOILT[at..].iter().map(move |other| (one, other)));
    pairs.zip(HISTORIES.iter().cycle()).map(|((one, other), (history, script))| {
        // Through a link to the other region, the second would change that one.
        let (one, other) = if one.0 == LINKED { (other, one) } else { (one, other) };
        (format!("{} and {} {history}", one.0, other.0), vec![one.1, other.1], *script)
    })
}

#[test]
fn two_of_them_at_once_and_other_histories_are_no_worse() {
    let ended = all(pairs().skip(7).step_by(43));
    assert_eq!(ended.len(), 20);
}

#[test]
#[ignore = "all 861 pairs: about half an hour"]
fn all_pairs_of_them_and_other_histories_are_no_worse() {
    all(pairs());
}

/// Ten folders in each of eight levels, which are nine folders in all, are a hundred million paths.
#[test]
fn a_folder_in_a_million_places_is_told_and_hides_no_other_region() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    for (path, is_in_eu) in [("bundles/regions/eu", true), ("bundles", false)] {
        let was = origin.bomb(path);
        let ran = fleet.run(&["verify"]);
        assert!(ran.stdout.contains("us  proved"), "{}", ran.stdout);
        assert_eq!(ran.stderr.contains("is a folder that stands in too many places"), is_in_eu, "{}", ran.stderr);
        fleet.secret("us", "c0", &format!("value: changed {is_in_eu}"));
        let ran = fleet
            .run(&["publish"])
            .outcome("us", "published")
            .outcome("eu", if is_in_eu { "held" } else { "unchanged" });
        assert_eq!(ran.code, if is_in_eu { 4 } else { 0 }, "{}", ran.stderr);
        if is_in_eu {
            let told = fleet.run(&["exposure", "-o", "json"]).ends(0).stdout;
            assert!(told.contains("the same folders stand in too many places"), "{told}");
            fleet.run(&["publish", "--remove-foreign", "eu"]).ends(0).outcome("eu", "published");
            fleet.run(&["verify"]).ends(0);
        }
        origin.git(&["update-ref", "refs/heads/main", &was]);
    }
}
