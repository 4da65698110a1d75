//! What commits say, when they were made and who signed them, through the built program and the real git, ssh-keygen
//! and gpg.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;
use crate::support::{self, printed};

/// The body of the last commit, without title and trailers.
fn body(origin: &Origin<'_>) -> String {
    let message = origin.git(&["log", "-1", "--format=%B", "main"]);
    let (_, rest) = message.split_once("\n\n").unwrap();
    rest.rsplit_once("\n\n").map_or(String::new(), |(body, _)| body.to_owned())
}

fn trailer(origin: &Origin<'_>, key: &str) -> String {
    origin.git(&["log", "-1", &format!("--format=%(trailers:key={key},valueonly)"), "main"])
}

#[test]
fn a_commit_says_by_name_what_it_changes_and_never_a_value() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    assert_eq!((&*trailer(&origin, "Pouch-Regions"), &*trailer(&origin, "Pouch-Release")), ("eu us", "v1.11"));
    fleet.secret("eu", "c1", "value: canary-of-another-value-here");
    fleet.remove("manifests/eu-c0-secret.yaml");
    fleet.credential("eu", "c7", "value");
    origin.publish(&[]).ends(3);
    assert_eq!(
        body(&origin),
        "- eu: published, 1 added, 1 changed\n  \
         carried    Credential eu-team/c0: Secret eu-team/c0 (missing-reference)\n  \
         added      Credential eu-team/c7: Secret eu-team/c7\n  \
         changed    Credential eu-team/c1: Secret eu-team/c1 [value]"
    );
    assert_eq!(trailer(&origin, "Pouch-Regions"), "eu");
    assert_eq!(trailer(&origin, "Pouch-Failed"), "eu eu-team/c0 broken missing-reference");
    assert!(!origin.git(&["log", "--format=%B", "main"]).contains("canary"));
}

#[test]
fn a_template_makes_the_body_and_no_trailer() {
    let template = "message: {title: 'creds: {{ changes }}', body: \"{% for r in details %}{{ r.name }}: \
                    {% for c in r.changes %}{{ c.action }} {{ c.object.kind }} {{ c.object.name }}; {% endfor %}\\n{% endfor %}\
                    \\nPouch-Accepted: deletions eu=0123456789abcdef\\n---\\nrelease {{ release }}\\n\\n{{ report }}\"}";
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, &format!(", {template}"));
    origin.publish(&[]).ends(0);
    assert_eq!(origin.git(&["log", "-1", "--format=%s", "main"]), "creds: 4");
    let body = body(&origin);
    assert!(body.starts_with("eu: added Namespace eu-team; added Secret c0;"), "{body}");
    assert!(
        body.contains("\n  Pouch-Accepted: deletions") && body.contains("\nrelease v1.11\n\n- eu: published, 2 added"),
        "{body}"
    );
    assert_eq!(trailer(&origin, "Pouch-Accepted"), "");
    let keys = origin.git(&["log", "-1", "--format=%(trailers:only,unfold,keyonly)", "main"]);
    assert_eq!(keys, "Pouch-Fleet\nPouch-Version\nPouch-Release\nPouch-Regions\nPouch-Seal");
    fleet.configure("{{ release }}", "{{ realese }}");
    origin.publish(&[]).ends(64).says("output.git.message.body is no usable template");
}

#[test]
fn the_time_of_a_commit_can_be_given_and_is_never_to_come() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let publish = |epoch: &str, more: &[&str]| {
        Ran::from(fleet.command(&[&["publish"], more].concat()).env("SOURCE_DATE_EPOCH", epoch).output().unwrap())
    };
    let times = || origin.git(&["log", "-1", "--format=%at %ct", "main"]);
    publish("1700000000", &["--first"]).ends(0);
    assert_eq!(times(), "1700000000 1700000000");
    fleet.secret("eu", "c0", "value: another");
    // Never before its parent.
    publish("1600000000", &[]).ends(0);
    assert_eq!(times(), "1700000000 1700000000");
    fleet.secret("eu", "c0", "value: a third one");
    publish("9999999999", &[]).ends(0);
    let seconds: u64 = times().split(' ').next().unwrap().parse().unwrap();
    assert!(seconds < 9_000_000_000, "{seconds}");
    for wrong in ["yesterday", "-1", "1.5", "99999999999999999999"] {
        let tip = origin.tip();
        fleet.secret("eu", "c0", &format!("value: {}", wrong.len()));
        publish(wrong, &[]).ends(64).says("SOURCE_DATE_EPOCH");
        assert_eq!(origin.tip(), tip);
    }
}

/// Else all commits after it would be of that year, and no window of the brake would ever end.
#[test]
fn a_commit_of_a_year_to_come_is_not_followed() {
    let fleet = Fleet::with_credentials(8);
    fleet.configure("reuseKey", "limits: {deletions: {claimants: 2, keep: 0, window: 1s}}\nreuseKey");
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    origin.commit_beside("export GIT_COMMITTER_DATE='2099-01-01T00:00:00Z'; echo x > other");
    for round in 0..3 {
        (0..2).for_each(|n| fleet.delete("eu", &format!("c{}", round * 2 + n)));
        origin.publish(&[]).ends(0);
        let seconds: u64 = origin.git(&["log", "-1", "--format=%ct", "main"]).parse().unwrap();
        assert!(seconds < 4_000_000_000, "{seconds}");
        std::thread::sleep(std::time::Duration::from_secs(2));
    }
}

/// What only `SOURCE_DATE_EPOCH` makes newer begins no new window of the brake.
#[test]
fn a_given_time_renews_no_budget() {
    let fleet = Fleet::with_credentials(30);
    let _origin = Origin::new(&fleet, "");
    let publish = |epoch: &str, more: &[&str]| {
        Ran::from(fleet.command(&[&["publish"], more].concat()).env("SOURCE_DATE_EPOCH", epoch).output().unwrap())
    };
    publish("1700000000", &["--first"]).ends(0);
    for (n, epoch) in [(0, "1700000100"), (3, "1700000200")] {
        for n in n..n + 3 {
            fleet.delete("eu", &format!("c{n}"));
        }
        publish(epoch, &[]).ends(0);
    }
    for n in 6..9 {
        fleet.delete("eu", &format!("c{n}"));
    }
    publish("1700000300", &[]).ends(4).says("after 6 that lost something before");
}

/// Makes two SSH keys, and a file that allows the first; false where there is no ssh-keygen.
fn ssh_keys(fleet: &Fleet) -> bool {
    let Some(keygen) = support::tool_on_path("ssh-keygen") else { return false };
    fs::create_dir_all(fleet.path("keys")).unwrap();
    for who in ["bot", "other"] {
        let path = fleet.path(&format!("keys/{who}"));
        let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", who, "-f", path.to_str().unwrap()];
        printed(&keygen, &support::run(&keygen, arguments, &[]));
    }
    fleet.write("allowed", format!("bot@example.com {}", fleet.read("keys/bot.pub")));
    true
}

#[test]
fn ssh_signs_every_commit_and_nothing_is_built_on_others() {
    let fleet = Fleet::with_credentials(1);
    if !ssh_keys(&fleet) {
        return;
    }
    let origin = Origin::new(&fleet, ", sign: ssh, key: keys/bot, allowedSigners: allowed");
    origin.publish(&[]).ends(0);
    let first = origin.tip().unwrap();
    let proof = ["verify", "--allowed-signers", "allowed", "--rev", "main", "repo.git"];
    fleet.run(&proof).ends(0);
    // What is signed is what pouch made: the next run knows it as its own.
    assert_eq!(trailer(&origin, "Pouch-Seal").lines().count(), 1);
    fleet.secret("eu", "c0", "value: changed");
    origin.publish(&[]).ends(0);
    fleet.run(&proof).ends(0);
    fleet.delete("us", "c0");
    let held = origin.publish(&[]).ends(4);
    assert!(!held.stderr.contains("not-as-published"), "{}", held.stderr);
    fleet.credential("us", "c0", "value");

    // Somebody else's commit, and one that is signed by another key.
    let good = origin.tip().unwrap();
    let script =
        |signed: &str| format!("echo x > README; git add -A; git {signed} -qm x; git push -q origin HEAD:main");
    for signed in ["commit", "-c gpg.format=ssh -c user.signingKey=../keys/other commit -S"] {
        origin.run_beside(&script(signed));
        let tip = origin.tip().unwrap();
        assert_ne!(tip, good);
        fleet.secret("eu", "c0", &format!("value: '{}'", signed.len()));
        origin.publish(&[]).ends(5).says("unsigned-tip").says("branch main").says(&tip).says("put the branch back");
        assert_eq!(origin.tip().unwrap(), tip);
        origin.git(&["update-ref", "refs/heads/main", &good]);
    }
    // Whoever is allowed may vouch for what others did.
    origin.run_beside(&script("commit"));
    origin.run_beside(
        "git -c gpg.format=ssh -c user.signingKey=../keys/bot commit --allow-empty -S -qm vouched; git push -q origin HEAD:main",
    );
    origin.publish(&[]).ends(0);
    fleet.run(&proof).ends(0);
    assert_ne!(origin.tip().unwrap(), first);
}

/// Pull requests are planned where no key is, so that it is missing fails nothing.
#[test]
fn a_plan_says_that_the_key_which_signs_is_missing() {
    let fleet = Fleet::with_credentials(1);
    fleet.write("keys/bot", "a plan does not read it");
    let _origin = Origin::new(&fleet, ", sign: ssh, key: keys/none");
    let note = "is not there: `pouch publish` could commit nothing here";
    let told = |arguments: &[&str]| fleet.run(arguments).ends(0).stderr;
    let plan = told(&["plan"]);
    assert!(
        plan.contains("the key that signs commits, keys/none (`output.git.key`), ") && plan.contains(note),
        "{plan}"
    );
    assert!(told(&["publish", "--first", "--dry-run"]).contains(note));
    assert!(!told(&["plan", "-q"]).contains(note));
    let config = fleet.read("pouch.yaml");
    for fine in [
        "sign: ssh, key: keys/bot",
        "sign: ssh",
        "sign: ssh, key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ bot'",
        "sign: none",
        "sign: gpg, key: ABCDEF01",
    ] {
        fleet.write("pouch.yaml", config.replace("sign: ssh, key: keys/none", fine));
        let plan = told(&["plan"]);
        assert!(!plan.contains(note), "{fine}: {plan}");
    }
}

#[test]
fn a_key_that_is_not_allowed_or_does_not_sign_publishes_nothing() {
    let fleet = Fleet::with_credentials(1);
    if !ssh_keys(&fleet) {
        return;
    }
    let origin = Origin::new(&fleet, ", sign: ssh, key: keys/other, allowedSigners: allowed");
    origin.publish(&[]).ends(1).says("would not be signed by a key in allowed");
    fleet.configure("key: keys/other", "key: keys/none");
    origin.publish(&[]).ends(1).says("the commit cannot be signed");
    // A passphrase is never asked for.
    let keygen = support::tool_on_path("ssh-keygen").unwrap();
    let locked = fleet.path("keys/locked");
    let arguments = ["-q", "-t", "ed25519", "-N", "passphrase", "-f", locked.to_str().unwrap()];
    printed(&keygen, &support::run(&keygen, arguments, &[]));
    fleet.configure("key: keys/none", "key: keys/locked");
    origin.publish(&[]).ends(1).says("the commit cannot be signed");
    fleet.configure("sign: ssh, key: keys/locked, ", "");
    origin.publish(&[]).ends(1).says("would not be signed by a key in allowed");
    assert_eq!(origin.tip(), None);
    for (wrong, says) in [
        ("sign: none, allowedSigners: allowed", "signed by nobody who is allowed"),
        ("sign: gpg, allowedSigners: allowed", "allowed signers have SSH keys"),
        ("key: keys/bot", "a key signs nothing without `sign`"),
        ("sign: pgp", "pgp"),
        ("sign: ssh, key: bundles/key", "among bundles"),
        ("sign: ssh, key: '-----BEGIN OPENSSH PRIVATE KEY-----'", "this is a key"),
    ] {
        fleet.configure("allowedSigners: allowed", wrong);
        let ran = origin.publish(&[]).ends(64);
        assert!(ran.stderr.contains(says) || wrong.contains("bundles/"), "{wrong}: {}", ran.stderr);
        fleet.configure(wrong, "allowedSigners: allowed");
    }
}

#[test]
fn git_s_own_configuration_signs_unless_ours_says_no() {
    let fleet = Fleet::with_credentials(1);
    if !ssh_keys(&fleet) {
        return;
    }
    let config = format!(
        "[commit]\n\tgpgSign = yes\n[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = {}\n[i18n]\n\tcommitEncoding = ISO-8859-1\n",
        fleet.path("keys/bot").display()
    );
    fleet.write("home/.gitconfig", config);
    let origin = Origin::new(&fleet, ", author: 'Zoë <z@example.com>'");
    origin.publish(&[]).ends(0);
    fleet.run(&["verify", "--allowed-signers", "allowed", "--rev", "main", "repo.git"]).ends(0);
    let raw = origin.git(&["cat-file", "commit", "main"]);
    assert!(raw.contains("author Zoë <z@example.com>") && !raw.contains("\nencoding "), "{raw}");
    fleet.secret("eu", "c0", "value: changed");
    fleet.configure(", author: 'Zoë <z@example.com>'", ", sign: none");
    origin.publish(&[]).ends(0);
    assert!(!origin.git(&["cat-file", "commit", "main"]).contains("gpgsig"));
}

#[test]
fn gnupg_signs_too() {
    let Some(gpg) = support::tool_on_path("gpg") else { return };
    let fleet = Fleet::with_credentials(1);
    let home = fleet.path("home/.gnupg");
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let settings = [("GNUPGHOME", home.as_os_str())];
    let make = [
        "--batch",
        "--quiet",
        "--passphrase",
        "",
        "--quick-generate-key",
        "Bot <bot@example.com>",
        "ed25519",
        "sign",
        "never",
    ];
    printed(&gpg, &support::run(&gpg, make, &settings));
    let origin = Origin::new(&fleet, ", sign: gpg, key: bot@example.com");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    origin.publish(&[]).ends(0);
    let mut verify = Command::new("git");
    verify.arg("-C").arg(origin.path()).args(["verify-commit", "--raw", "main", "main~1"]).env_clear();
    verify.envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("GNUPGHOME", &home);
    let answer = verify.output().unwrap();
    let words = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success() && words.matches("GOODSIG").count() == 2, "{words}");
    fleet.configure("key: bot@example.com", "key: nobody@example.com");
    fleet.secret("eu", "c0", "value: again");
    let tip = origin.tip();
    origin.publish(&[]).ends(1).says("the commit cannot be signed");
    assert_eq!(origin.tip(), tip);
    if let Some(gpgconf) = support::find("gpgconf", &std::env::var_os("PATH").unwrap_or_default()) {
        support::run(&gpgconf, ["--kill", "gpg-agent"], &settings);
    }
}
