//! What is kept of the output repository from run to run: it saves fetches, and whatever is wrong with it, the same is
//! published.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;

/// The folder in which something of the one repository is kept.
fn kept(fleet: &Fleet) -> PathBuf {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(fleet.path("home/.cache/pouch/git")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}

fn packs(kept: &Path) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(kept.join("objects/pack")) else { return Vec::new() };
    let packs = files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "pack"));
    packs.collect()
}

/// Publishes with a `git` in front of the real one that notes what it is asked to do; gives the subcommands too.
fn publish_watched(fleet: &Fleet, arguments: &[&str]) -> (Ran, Vec<String>) {
    let real = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&real).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do case $word in fetch|push|ls-remote|repack) echo $word >> '{}';; esac; done\nexec '{}' \"$@\"\n",
        fleet.path("asked").display(),
        real.display()
    );
    fleet.write("bin/git", &script);
    fs::set_permissions(fleet.path("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
    fleet.write("asked", "");
    let path = format!("{}:{}", fleet.path("bin").display(), std::env::var("PATH").unwrap());
    let mut command = fleet.command(&[&["publish"], arguments].concat());
    let ran = Ran::from(command.env("PATH", path).output().unwrap());
    (ran, fleet.read("asked").lines().map(str::to_owned).collect())
}

#[test]
fn what_is_kept_is_not_fetched_again() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    let (ran, asked) = publish_watched(&fleet, &["--first"]);
    ran.ends(0);
    assert_eq!(asked, ["ls-remote", "push"]);
    // What was published is kept, so that nothing is fetched where nobody else wrote.
    let (ran, asked) = publish_watched(&fleet, &[]);
    ran.ends(0).outcome("eu", "unchanged");
    assert_eq!(asked, ["ls-remote"]);
    fleet.secret("eu", "c0", "value: changed");
    let (ran, asked) = publish_watched(&fleet, &[]);
    ran.ends(0).outcome("eu", "published");
    assert_eq!(asked.iter().filter(|word| *word == "push").count(), 1);
    // What somebody else wrote is fetched once, and is little.
    origin.commit_beside("echo a > README");
    let before: u64 = packs(&kept(&fleet)).iter().map(|pack| pack.metadata().unwrap().len()).sum();
    let (ran, asked) = publish_watched(&fleet, &[]);
    ran.ends(0).outcome("eu", "unchanged");
    assert_eq!(asked, ["ls-remote", "fetch"]);
    let after: u64 = packs(&kept(&fleet)).iter().map(|pack| pack.metadata().unwrap().len()).sum();
    assert!(after > before && after - before < 1000, "{before} {after}");
    assert_eq!(publish_watched(&fleet, &[]).1, ["ls-remote"]);
    origin.check();
}

#[test]
fn nothing_is_kept_where_the_configuration_says_so() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, ", cache: false");
    origin.publish(&[]).ends(0);
    let (ran, asked) = publish_watched(&fleet, &[]);
    ran.ends(0);
    assert_eq!(asked, ["ls-remote", "fetch"]);
    assert!(!fleet.has("home/.cache/pouch/git"));
}

#[test]
fn other_users_cannot_read_what_is_kept() {
    let fleet = Fleet::with_credentials(1);
    Origin::new(&fleet, "").publish(&[]).ends(0);
    for folder in [kept(&fleet), fleet.path("home/.cache/pouch/git"), fleet.path("home/.cache/pouch")] {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o077, 0, "{}", folder.display());
    }
}

#[test]
fn packs_are_put_together_before_they_are_many() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    // What killed runs left goes with it.
    fs::create_dir(kept(&fleet).join("again-killed")).unwrap();
    fs::write(kept(&fleet).join(".new-killed"), "x").unwrap();
    let mut most = 0;
    for round in 0..40 {
        fleet.secret("eu", "c0", &format!("value: changed-{round}"));
        origin.publish(&[]).ends(0).outcome("eu", "published");
        most = most.max(packs(&kept(&fleet)).len());
    }
    assert!((20..=25).contains(&most) && packs(&kept(&fleet)).len() < 20, "{most}");
    let left = fs::read_dir(kept(&fleet)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.collect();
    left.sort();
    assert_eq!(left, ["lock", "objects", "shallow", "tips", "writing"]);
    assert_eq!(publish_watched(&fleet, &[]).1, ["ls-remote"]);
    origin.check();
}

/// A run puts the packs together that it borrows, and forgets an end of history that nothing leads to any more: then it
/// must not tell the server of it.
#[test]
fn a_run_that_puts_packs_together_still_fetches_history() {
    let fleet = Fleet::with_credentials(3);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    origin.commit_beside("echo a > README");
    origin.publish(&[]).ends(0);
    let kept = kept(&fleet);
    let end = origin.tip().unwrap();
    assert!(fs::read_to_string(kept.join("shallow")).unwrap().contains(&end));
    origin.commit_beside("echo b > README");
    let pack =
        "for n in $(seq 30); do echo $n | git hash-object -w --stdin | git pack-objects -q $1/objects/pack/pack; done";
    let script = format!("set -- '{}'; {pack} > /dev/null", kept.display());
    origin.run_beside(&script);
    assert!(packs(&kept).len() > 25);

    fleet.delete("eu", "c0");
    let (ran, asked) = publish_watched(&fleet, &[]);
    ran.ends(0).outcome("eu", "published");
    assert!(asked.contains(&"repack".to_owned()) && packs(&kept).len() < 10, "{asked:?}");
    assert!(asked.iter().filter(|word| *word == "fetch").count() > 1, "history was fetched: {asked:?}");
    origin.check();
}

/// Spoils what is kept in one way.
type Spoil = fn(&Path);

fn each_pack(kept: &Path, change: impl Fn(&mut Vec<u8>)) {
    for pack in packs(kept) {
        let mut bytes = fs::read(&pack).unwrap();
        change(&mut bytes);
        fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&pack, bytes).unwrap();
    }
}

#[test]
fn whatever_is_wrong_with_what_is_kept_the_same_is_published() {
    let ways: &[(&str, Spoil)] = &[
        ("no pack", |kept| fs::remove_dir_all(kept.join("objects/pack")).unwrap()),
        ("no objects", |kept| fs::remove_dir_all(kept.join("objects")).unwrap()),
        ("no tips", |kept| fs::remove_file(kept.join("tips")).unwrap()),
        ("no shallow", |kept| _ = fs::remove_file(kept.join("shallow"))),
        ("half a pack", |kept| each_pack(kept, |bytes| bytes.truncate(bytes.len() / 2))),
        ("an empty pack", |kept| each_pack(kept, Vec::clear)),
        ("a bit early", |kept| each_pack(kept, |bytes| bytes[40] ^= 1)),
        ("a bit later", |kept| {
            each_pack(kept, |bytes| {
                let at = bytes.len() / 2;
                bytes[at] ^= 1
            })
        }),
        ("bits everywhere", |kept| {
            each_pack(kept, |bytes| bytes.iter_mut().skip(12).step_by(50).for_each(|byte| *byte ^= 1))
        }),
        ("the tip of another", |kept| {
            let text = fs::read_to_string(kept.join("tips")).unwrap();
            fs::write(kept.join("tips"), text.replace(|c: char| c.is_ascii_digit(), "0")).unwrap();
        }),
        ("no text", |kept| fs::write(kept.join("tips"), [0xff, 0xfe, 0]).unwrap()),
        ("a strange boundary", |kept| fs::write(kept.join("shallow"), "x\n--upload-pack=touch\n").unwrap()),
        ("no boundary", |kept| fs::write(kept.join("shallow"), "").unwrap()),
        ("a boundary elsewhere", |kept| fs::write(kept.join("shallow"), "1".repeat(40) + "\n").unwrap()),
        ("another store", |kept| {
            fs::create_dir_all(kept.join("objects/info")).unwrap();
            fs::write(kept.join("objects/info/alternates"), "/nonexistent\n").unwrap();
        }),
        ("a link", |kept| {
            fs::rename(kept.join("tips"), kept.join("away")).unwrap();
            symlink(kept.join("away"), kept.join("tips")).unwrap();
        }),
        ("others' folder", |kept| fs::set_permissions(kept, fs::Permissions::from_mode(0o777)).unwrap()),
    ];
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    for (round, (name, spoil)) in ways.iter().enumerate() {
        let before = origin.commits();
        spoil(&kept(&fleet));
        // Nothing is withdrawn, held or found: it is as if nothing had been kept.
        let (ran, asked) = publish_watched(&fleet, &[]);
        let ran = ran.ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
        assert!(!ran.stderr.contains("warning") && !ran.stderr.contains("error"), "{name}: {}", ran.stderr);
        let is_missed = ["no pack", "no objects", "no tips", "half a pack", "bits everywhere"].contains(name);
        assert!(!is_missed || asked.contains(&"fetch".to_owned()), "{name}: {asked:?}");
        fleet.secret("eu", "c0", &format!("value: changed-{round}"));
        spoil_again(&fleet, *spoil);
        origin.publish(&[]).ends(0).outcome("eu", "published").outcome("us", "unchanged");
        assert_eq!((origin.commits(), origin.changed().len()), (before + 1, 2), "{name}");
        _ = fs::set_permissions(kept(&fleet), fs::Permissions::from_mode(0o700));
        origin.check();
    }
}

/// What a run borrows stays there for it, also where nothing more can be kept.
#[test]
fn what_cannot_be_kept_any_more_can_still_be_read() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fs::remove_file(kept(&fleet).join("writing")).unwrap();
    fs::create_dir(kept(&fleet).join("writing")).unwrap();
    for round in 0..3 {
        origin.commit_beside(&format!("echo {round} > other"));
        fleet.secret("eu", "c0", &format!("value: changed-{round}"));
        let ran = origin.publish(&[]).ends(0).outcome("eu", "published").outcome("us", "unchanged");
        assert!(!ran.stderr.contains("damaged"), "{}", ran.stderr);
    }
}

fn spoil_again(fleet: &Fleet, spoil: Spoil) {
    let kept = kept(fleet);
    if kept.join("tips").is_file() && !kept.join("tips").is_symlink() && kept.join("objects/pack").is_dir() {
        spoil(&kept);
    }
}
