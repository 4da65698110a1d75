//! Documents that cannot be read, and files that are none.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::spoilt::{CANARY, CONFIG, Fleet, GOOD, Tree, base64, check, differing, each, none, plain};

/// A Secret with `value` in it, after which the document goes on with `rest`.
fn secret(rest: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: bad, namespace: team-x}}\nstringData: {{v: {CANARY}}}\n{rest}"
    )
}

#[track_caller]
fn file(name: &str, bytes: impl AsRef<[u8]>, words: &[&str]) {
    let bytes = bytes.as_ref();
    check(name, |fleet| fleet.write("tenant/bad.yaml", bytes), 3, words);
}

const UNPARSABLE: &str = "error[unparsable-document]";

#[test]
fn broken_documents_are_placed_and_spoil_only_themselves() {
    let cases: &[(&str, String, &[&str])] = &[
        ("a bracket", secret("data: {a: [\n"), &["bad.yaml:5:"]),
        ("a tab", secret("data:\n\ta: b\n"), &["bad.yaml:6:"]),
        ("a colon", secret(&format!("data: a: {CANARY}\n")), &["bad.yaml:5:"]),
        ("a quote", secret(&format!("data: {{a: \"{CANARY}}}\n")), &["bad.yaml:"]),
        ("indentation", secret(&format!("data:\n    a: {CANARY}\n  b: c\n")), &["bad.yaml:7:"]),
        ("a duplicate key", secret(&format!("stringData: {{v: {CANARY}}}\n")), &["bad.yaml:5:", "second time"]),
        ("a duplicate key within", secret(&format!("data: {{a: {CANARY}, a: x}}\n")), &["bad.yaml:5:", "second time"]),
        ("an unknown alias", secret("data: *nowhere\n"), &["bad.yaml:5:"]),
        ("a tag", secret(&format!("data: !!python/object:os.system {CANARY}\n")), &["bad.yaml:5:"]),
        ("a key that is a map", secret(&format!("? {{a: {CANARY}}}\n: b\n")), &["bad.yaml:5:"]),
        ("a key that is a number", secret("1: b\n"), &["bad.yaml:5:"]),
        ("no number", secret("spec: .nan\n"), &["bad.yaml:5:"]),
        ("an endless number", secret("spec: .inf\n"), &["bad.yaml:5:"]),
        ("NUL", secret("data: {a: \"\0\"}\n"), &["bad.yaml:5:"]),
        ("a control character", secret("data: {a: \u{1b}[31m}\n"), &["bad.yaml:5:"]),
        ("a sequence", format!("- {}", secret("").replace('\n', "\n  ")), &["bad.yaml:1:1"]),
        ("a document that starts well", format!("{}---\n}}\n", secret("")), &["bad.yaml:6:"]),
        ("no kind", secret("").replace("kind: Secret", "kin: Secret"), &["kind is missing"]),
        ("kind is a map", secret("").replace("kind: Secret", "kind: {a: b}"), &["kind is a map, not text"]),
        (
            "metadata is text",
            secret("").replace("{name: bad, namespace: team-x}", CANARY),
            &["metadata is text, not a map"],
        ),
        (
            "metadata is missing",
            secret("").replace("metadata: {name: bad, namespace: team-x}\n", ""),
            &["metadata is missing"],
        ),
        ("name is a number", secret("").replace("name: bad", "name: 7"), &["metadata.name is an integer, not text"]),
        (
            "name is a map",
            secret("").replace("name: bad", &format!("name: {{a: {CANARY}}}")),
            &["metadata.name is a map"],
        ),
        (
            "namespace is a list",
            secret("").replace("namespace: team-x", "namespace: [team-x]"),
            &["metadata.namespace is a"],
        ),
        (
            "a page of a List",
            format!("apiVersion: v1\nkind: List\nmetadata: {{continue: {CANARY}}}\nitems: []\n"),
            &["one page of several"],
        ),
        ("a List without items", "apiVersion: v1\nkind: List\n".to_owned(), &["items of List"]),
        ("a List of text", format!("apiVersion: v1\nkind: List\nitems: [{CANARY}]\n"), &["item 0 of the List"]),
        ("conflict marks", format!("<<<<<<< HEAD\n{}=======\n>>>>>>> x\n", secret("")), &["bad.yaml:"]),
    ];
    each(cases, |(name, text, words)| file(name, text, &[&[UNPARSABLE], *words].concat()));
    file(
        "Latin-1",
        secret("data: {a: \u{e4}}\n")
            .replace('\u{e4}', "?")
            .into_bytes()
            .iter()
            .map(|b| if *b == b'?' { 0xe4 } else { *b })
            .collect::<Vec<u8>>(),
        &[UNPARSABLE, "UTF-8", "bad.yaml:5:"],
    );
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(secret("").bytes().flat_map(|b| [b, 0])).collect();
    file("UTF-16", utf16, &[UNPARSABLE, "bad.yaml:1:1"]);
    file("random bytes", [0x80, 0xff, 0x00, 0x1f, 0x8b, 0x08].repeat(100), &[UNPARSABLE, "bad.yaml:1:"]);
}

#[test]
fn json_is_as_strict() {
    let object = |rest: &str| {
        format!("{{\"apiVersion\": \"v1\", \"kind\": \"Secret\",\n \"stringData\": {{\"v\": \"{CANARY}\"}}{rest}")
    };
    each(
        [
            ("cut short", object("")),
            ("a duplicate key", object(", \"kind\": \"Secret\"}")),
            ("a trailing comma", object(",}")),
            ("no number", object(", \"a\": NaN}")),
            ("a huge number", object(", \"a\": 1e999}")),
            ("words after it", object("} {]")),
            ("half a pair", object(", \"a\": \"\\ud800\"}")),
        ],
        |(name, text)| {
            let spoil = |fleet: &Fleet| fleet.write("tenant/bad.json", &text);
            check(name, spoil, 3, &[UNPARSABLE, "bad.json:"]);
        },
    );
}

/// Expansion, depth and size are bounded; nothing takes minutes or gigabytes.
#[test]
fn bombs_do_not_go_off() {
    let mut laughs = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..12 {
        let before = format!("*a{},", level - 1).repeat(9);
        laughs.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    file("aliases", secret(&laughs), &[UNPARSABLE, "bad.yaml:"]);
    file("sequences in sequences", secret(&format!("spec: {}\n", "[".repeat(100_000))), &[UNPARSABLE, "bad.yaml:"]);
    file(
        "maps in maps",
        secret(&format!("spec: {}x{}\n", "{a: ".repeat(5_000), "}".repeat(5_000))),
        &[UNPARSABLE, "bad.yaml:"],
    );
    let spoil = |fleet: &Fleet| fleet.write("tenant/bad.json", "[".repeat(1_000_000));
    check("JSON in JSON", spoil, 3, &[UNPARSABLE, "bad.json:"]);
}

/// Each of 150 files unfolds to some 20,000 values, which no bound on a single document stops: 41 KiB in all.
#[test]
fn aliases_that_unfold_have_their_room() {
    let fleet = crate::support::fleet::Fleet::with_credentials(1);
    let eight = |name: &str| [name; 8].join(", ");
    for number in 0..150 {
        let text = format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity\n\
             metadata: {{name: n{number}}}\nspec:\n a: &a [{}]\n b: &b [{}]\n c: &c [{}]\n d: &d [{}]\n e: [{}]\n",
            eight("x"),
            eight("*a"),
            eight("*b"),
            eight("*c"),
            ["*d"; 4].join(", ")
        );
        fleet.write(&format!("manifests/n{number}.yaml"), text);
    }
    let within = |kilobytes: usize| {
        let script = format!("ulimit -v {kilobytes}; exec \"$0\" render --output-dir out");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_pouch")]).current_dir(fleet.path(".")).env_clear();
        // What threads and arenas reserve is not what is meant.
        command.envs([("RAYON_NUM_THREADS", "2"), ("MALLOC_ARENA_MAX", "2")]).stdin(Stdio::null());
        crate::support::fleet::Ran::from(command.output().unwrap())
    };
    within(768 << 10).ends(0).outcome("eu", "published");
    // The control: they do unfold, and the bound on memory is one.
    assert_ne!(within(192 << 10).code, 0);
}

#[test]
fn a_document_of_100_megabytes_gets_an_answer() {
    let fleet = Fleet::new();
    let good = fleet.rendered();
    let disk = tempfile::tempdir().unwrap();
    fleet.configure("{path: tenant}", &format!("{{path: {}}}", disk.path().display()));
    let mut out = std::io::BufWriter::new(File::create(disk.path().join("bad.yaml")).unwrap());
    out.write_all(plain("team-x", "bad").trim_end().trim_end_matches('}').as_bytes()).unwrap();
    let line = format!(", more: \"{}", CANARY.repeat(60_000));
    out.write_all(line.as_bytes()).unwrap();
    for _ in 0..100 {
        out.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    out.write_all(b"\"}\n").unwrap();
    drop(out);
    fleet.render().ended(3).says(&["bad"]).helps();
    assert_eq!(differing(&fleet.published(), &good), none());
}

#[test]
fn what_is_no_plain_file_is_refused_by_name() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("stolen.yaml"), plain("team-x", "bad")).unwrap();
    let stolen = outside.path().join("stolen.yaml");
    let refused = &["error[refused-file]", "bad.yaml"];
    check("a link out of the source", |fleet| fleet.link(&stolen, "tenant/bad.yaml"), 3, refused);
    check(
        "a link to a folder outside",
        |fleet| fleet.link(outside.path(), "tenant/bad"),
        3,
        &["error[refused-file]", "tenant/bad"],
    );
    check("a link up", |fleet| fleet.link("../reuse.key", "tenant/bad.yaml"), 3, refused);
    check("a link to itself", |fleet| fleet.link("bad.yaml", "tenant/bad.yaml"), 3, &["bad.yaml"]);
    check("a link to nowhere", |fleet| fleet.link("nowhere", "tenant/bad.yaml"), 3, &["bad.yaml"]);
    check("a link to a device", |fleet| fleet.link("/dev/zero", "tenant/bad.yaml"), 3, refused);
    let node =
        |kind| move |fleet: &Fleet| mknodat(CWD, fleet.path("tenant/bad.yaml"), kind, Mode::RUSR, 0x0105).unwrap();
    check("a FIFO", node(FileType::Fifo), 3, refused);
    check(
        "a socket",
        |fleet| drop(std::os::unix::net::UnixListener::bind(fleet.path("tenant/bad.yaml")).unwrap()),
        3,
        refused,
    );
    if rustix::process::geteuid().is_root() {
        check("a device", node(FileType::CharacterDevice), 3, refused);
    } else {
        let spoil = |fleet: &Fleet| {
            fleet.write("tenant/bad.yaml", plain("team-x", "bad"));
            std::fs::set_permissions(fleet.path("tenant/bad.yaml"), std::fs::Permissions::from_mode(0o000)).unwrap();
        };
        check("a locked file", spoil, 3, &["error[unreadable-file]", "bad.yaml"]);
    }
    check(
        "a git-lfs pointer",
        |fleet| fleet.write("tenant/bad.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
        3,
        refused,
    );
    let odd = std::ffi::OsStr::from_bytes(b"bad\xff\x1b[2J\n::error::.yaml");
    let spoil = |fleet: &Fleet| std::fs::write(fleet.path("tenant").join(odd), "kind: {").unwrap();
    check("a name that is not text", spoil, 3, &[UNPARSABLE, "tenant/bad\u{fffd}\\u{1b}[2J\\u{a}::error::.yaml:1:"]);
}

#[test]
fn a_source_that_is_not_there_publishes_nothing_of_its_own() {
    check("no folder", |fleet| fleet.remove("manifests"), 5, &["source platform", "manifests"]);
    check(
        "a device",
        |fleet| fleet.configure("path: tenant", "path: /dev/zero"),
        3,
        &["error[unavailable-source]", "neither a folder nor a plain file"],
    );
    check(
        "no tenant",
        |fleet| fleet.configure("directory: {path: tenant}", "directory: {path: nowhere}"),
        3,
        &["error[unavailable-source]", "source tenant", "nowhere"],
    );
}

/// An empty folder is what a failed mount or checkout leaves: it must not withdraw everything.
#[test]
fn an_empty_source_withdraws_nothing() {
    let fleet = Fleet::new();
    let good = fleet.rendered();
    fleet.remove("manifests");
    std::fs::create_dir(fleet.path("manifests")).unwrap();
    fleet.render().ended(3).says(&["error[unreadable-file]", "empty"]).helps();
    assert_eq!(differing(&fleet.published(), &good), only_the_manifest());
}

/// A Credential that is carried over keeps its bytes, and the manifest says `carried`.
fn only_the_manifest() -> Vec<String> {
    vec!["regions/eu-west/bundle.yaml".to_owned()]
}

/// A document that breaks off at the end of its file is in doubt, and so is what was published from that; nothing of it was.
#[test]
fn with_one_source_a_broken_file_keeps_what_is_published() {
    let fleet = Fleet::new();
    let good = fleet.rendered();
    fleet.write("manifests/bad.yaml", secret("data: {"));
    fleet.render().ended(3).says(&[UNPARSABLE]).helps();
    assert_eq!(differing(&fleet.published(), &good), none());
    fleet.restore();
    assert_eq!(differing(&fleet.rendered(), &good), none());
}

/// A document that is broken in itself casts doubt only on objects whose kind and name stand in it.
#[test]
fn with_one_source_a_broken_document_stops_only_what_it_might_hold() {
    let fleet = Fleet::new();
    let good = fleet.rendered();
    fleet.write("manifests/bad.yaml", secret("data: [}\n---\n# the end\n---\na: b\n\n\n"));
    fleet.write("manifests/new.yaml", plain("team-b", "newcomer"));
    fleet.render().ended(3).says(&[UNPARSABLE]).helps();
    assert!(fleet.published().contains_key("regions/eu-west/core/secrets/team-b/newcomer.sops.yaml"));
    fleet.restore();
    fleet.remove("manifests/new.yaml");
    assert_eq!(differing(&fleet.rendered(), &good), none());
}

#[test]
fn standard_input_that_was_cut_short_withdraws_nothing() {
    let all: String = crate::support::spoilt::manifests().iter().map(|(_, text)| format!("---\n{text}")).collect();
    let fleet = Fleet::new();
    fleet.write("pouch.yaml", CONFIG.replace("directory: {path: manifests}", "stdin: {}"));
    let feed = |text: &str| {
        fleet.write("stream", text);
        fleet.run_with(&["render"], Stdio::from(File::open(fleet.path("stream")).unwrap()))
    };
    feed(&all).ended(0);
    let good = fleet.published();
    assert!(GOOD.iter().all(|path| good.contains_key(*path)));
    let cut: String = all.chars().take(all.chars().count() - 10).collect();
    let json = format!("{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{{\"a\": \"{CANARY}");
    for (text, word) in [("", "empty"), ("\n\n", "empty"), (&*cut, "cut short"), (&*json, "<stdin>:1:")] {
        let ran = feed(text);
        ran.ended(3).says(&["error[unparsable-document]", word]).helps();
        assert_eq!(differing(&fleet.published(), &good), only_the_manifest(), "{}", ran.shown());
    }
    feed(&all).ended(0);
}

#[test]
fn a_sealed_secret_is_never_published_as_a_credential() {
    let bad = plain("team-x", "bad");
    let sealed = format!("ENC[AES256_GCM,data:{},iv:AAAA,tag:BBBB,type:str]", base64(CANARY.as_bytes()));
    each(
        [
            ("a sops block", format!("{bad}sops: {{mac: x, version: 3.9.0}}\n")),
            ("a value alone", bad.replace(&format!("{CANARY}-bad"), &format!("'{sealed}'"))),
            ("in data", bad.replace("stringData", "data").replace(&format!("{CANARY}-bad"), &format!("'{sealed}'"))),
            (
                "in data, encoded",
                bad.replace("stringData", "data").replace(&format!("{CANARY}-bad"), &base64(sealed.as_bytes())),
            ),
        ],
        |(name, text)| {
            file(name, text, &["error[undecryptable-source]", "Credential team-x/bad", "bad.yaml:8:1"]);
        },
    );
}

#[test]
fn a_git_source_is_not_left() {
    let spoil = |entries: &'static [(&'static str, i32, &'static [u8])]| {
        move |fleet: &Fleet| {
            let repository = git2::Repository::init(fleet.path("repository")).unwrap();
            let mut index = repository.index().unwrap();
            for (path, text) in crate::support::spoilt::manifests() {
                crate::support::spoilt::add(&mut index, &repository, path, 0o100_644, text.as_bytes());
            }
            for (path, mode, bytes) in entries {
                crate::support::spoilt::add(&mut index, &repository, path, *mode, bytes);
            }
            let tree = repository.find_tree(index.write_tree_to(&repository).unwrap()).unwrap();
            let who = git2::Signature::new("a", "a@example.com", &git2::Time::new(0, 0)).unwrap();
            repository.commit(Some("refs/heads/main"), &who, &who, "x", &tree, &[]).unwrap();
            fleet.configure("directory: {path: tenant}", "git: {repository: ./repository, ref: main, path: tenant}");
        }
    };
    let fleet = Fleet::new();
    spoil(&[])(&fleet);
    fleet.render().ended(0);
    let refused = "error[refused-file]";
    check("a link out", spoil(&[("tenant/bad.yaml", 0o120_000, b"../../../etc/passwd")]), 3, &[refused, "bad.yaml"]);
    check("a link to root", spoil(&[("tenant/bad.yaml", 0o120_000, b"/etc/passwd")]), 3, &[refused, "bad.yaml"]);
    check(
        "a link out of the path",
        spoil(&[("tenant/bad.yaml", 0o120_000, b"../other/x.yaml"), ("other/x.yaml", 0o100_644, b"a: b")]),
        3,
        &[refused, "bad.yaml"],
    );
    check("a submodule", spoil(&[("tenant/bad", 0o160_000, b"")]), 3, &["tenant/bad", "submodule"]);
    check("a broken document", spoil(&[("tenant/bad.yaml", 0o100_644, b"kind: {")]), 3, &[UNPARSABLE, "bad.yaml:1:"]);
}

/// The tree of the harness itself: a check that cannot fail proves nothing.
#[test]
fn the_harness_sees_what_is_wrong() {
    assert_eq!(crate::support::spoilt::sings(CANARY.as_bytes()), Some("clear"));
    for offset in 0..4 {
        let text = base64(format!("{}{CANARY}tail", "y".repeat(offset)).as_bytes());
        assert_eq!(crate::support::spoilt::sings(text.as_bytes()), Some("base64"), "{text}");
    }
    assert_eq!(base64(b"hello"), "aGVsbG8=");
    assert_eq!(crate::support::spoilt::sings(b"nothing"), None);
    assert_ne!(differing(&Fleet::new().rendered(), &Tree::new()), none());
}

/// What was cut to nothing, or anywhere within JSON, is no sign that its objects were deleted.
#[test]
fn what_is_cut_short_proves_nothing() {
    for (name, bytes) in [("bad.yaml", &b""[..]), ("bad.json", b""), ("bad.yml", b"\0"), ("bad.yaml", &[0; 4096])] {
        let spoil = |fleet: &Fleet| fleet.write(&format!("tenant/{name}"), bytes);
        check(name, spoil, 3, &[UNPARSABLE, &format!("{name}:1:1"), "the file is empty, which does not prove"]);
    }
    let whole =
        format!("{{\"apiVersion\": \"v1\",\n\"kind\": \"Secret\", \"stringData\": {{\"v\": \"{CANARY}\"}}, \"n\": 1}}");
    for end in [1, 2, 18, 20, 22, 40, whole.len() - 9, whole.len() - 2, whole.len() - 1] {
        let spoil = |fleet: &Fleet| fleet.write("tenant/bad.json", whole.get(..end).unwrap());
        check(&format!("{end} bytes"), spoil, 3, &[UNPARSABLE, "bad.json:"]);
    }
}
