//! The codec against age's and SOPS's own vectors, files of the sops of today, and Go's AES-GCM.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch::age::{self, AgeError, Identities, IdentityError, OtherKey};
use pouch_core::ciphertext::{Ciphertext, ciphertext};
use pouch_core::json;
use pouch_core::node::{Interner, Node};
use pouch_core::recipient::Recipient;
use pouch_core::sops::cipher::Cipher;
use pouch_core::sops::{self, Ingredients, OpenError, Sealed};
use pouch_core::yaml::emit::Tree;
use pouch_core::yaml::read::{documents, read, read_ordered};

use crate::support::{Age, Sops, printed, root, run, shared, tool_on_path};

/// Numbers that look random and are the same every time (xorshift64*).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u64) -> usize {
        usize::try_from((self.next() >> 16) % bound).unwrap()
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.below(most + 1);
        (0..length).map(|_| self.next().to_le_bytes()[3]).collect()
    }

    fn array(&mut self) -> [u8; 32] {
        std::array::from_fn(|_| self.next().to_le_bytes()[3])
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

fn ordered(text: &str, is_json: bool) -> Vec<Node> {
    let mut interner = Interner::new();
    if is_json {
        return vec![json::read_ordered(text, &mut interner).unwrap_or_else(|flaw| panic!("{flaw}"))];
    }
    let one = |document| read_ordered(&document, &mut interner).unwrap_or_else(|flaw| panic!("{flaw}"));
    documents(text).map(one).collect()
}

/// A file opened with the identities of another.
fn open(file: &Path, identities: &Path) -> Result<Vec<Node>, OpenError> {
    let text = fs::read_to_string(file).unwrap();
    let is_json = text.trim_start().starts_with('{');
    let sealed = Sealed::new(ordered(&text, is_json))?;
    let identities = Identities::parse(&fs::read_to_string(identities).unwrap())
        .unwrap_or_else(|(line, error)| panic!("{line}: {error}"));
    let data_key = identities.unwrap(sealed.stanzas()).expect("a stanza that opens");
    sealed.open(&data_key)
}

fn plain(text: &str) -> Vec<Node> {
    let mut interner = Interner::new();
    documents(text).map(|document| read(&document, &mut interner).unwrap_or_else(|flaw| panic!("{flaw}"))).collect()
}

/// All vectors of C2SP's test kit that are here: what should open does, and nothing else.
#[test]
fn age_s_own_vectors_pass_and_fail_as_each_says() {
    let Some(folder) = shared("data/sops/age-testkit") else { return };
    let (mut passed, mut failed, mut refused, mut skipped) = (0, 0, 0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&path).unwrap();
        let end = bytes.windows(2).position(|pair| pair == b"\n\n").expect("a header");
        let header = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let body = &bytes[end + 2..];
        let all = |key: &str| {
            header.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).collect::<Vec<_>>()
        };
        let is_post_quantum = |identity: &str| identity.starts_with("AGE-SECRET-KEY-PQ-");
        if !all("identity").is_empty() && all("identity").iter().all(|identity| is_post_quantum(identity)) {
            let error = Identities::parse(all("identity")[0]).err().expect("refused");
            assert_eq!(error, (0, IdentityError::Others(1, OtherKey::PostQuantum)), "{name}");
            refused += 1;
            continue;
        }
        let body = match all("compressed")[..] {
            [] => body.to_vec(),
            [how] => {
                assert_eq!(how, "zlib", "{name}");
                let Some(python) = tool_on_path("python3") else {
                    skipped += 1;
                    continue;
                };
                let script = "import sys, zlib; raw = open(sys.argv[1], 'rb').read()\n\
                              sys.stdout.buffer.write(zlib.decompress(raw.split(b'\\n\\n', 1)[1]))";
                let arguments = ["-I".as_ref(), "-c".as_ref(), OsStr::new(script), path.as_os_str()];
                printed(&python, &run(&python, arguments, &[]))
            }
            _ => panic!("{name}"),
        };
        let armored = match all("armored").is_empty() {
            false => String::from_utf8(body),
            true => {
                let mut text = "-----BEGIN AGE ENCRYPTED FILE-----\n".to_owned();
                for line in STANDARD.encode(&body).as_bytes().chunks(64) {
                    text.push_str(std::str::from_utf8(line).unwrap());
                    text.push('\n');
                }
                Ok(text + "-----END AGE ENCRYPTED FILE-----\n")
            }
        };
        let opens = armored.is_ok_and(|armored| {
            let tries = all("identity").into_iter().filter(|identity| identity.starts_with("AGE-SECRET-KEY-1"));
            // What is in these files is no data key, so opening ends with the length of what came out.
            tries
                .map(|identity| age::unwrap(&armored, identity))
                .any(|result| matches!(result, Ok(_) | Err(AgeError::Length)))
        });
        let wanted = all("expect") == ["success"] && !all("identity").is_empty();
        assert_eq!(opens, wanted, "{name}: {header}");
        *(if opens { &mut passed } else { &mut failed }) += 1;
    }
    println!("{passed} open, {failed} do not, {refused} are post-quantum, {skipped} are left out");
    // As many as the kit has of each; none may get lost unseen.
    assert_eq!(passed + failed + refused + skipped, 60);
    assert!(skipped > 0 || (passed, failed, refused) == (7, 35, 18), "{passed} {failed} {refused}");
}

#[test]
fn files_of_an_older_sops_open_or_are_refused_by_name() {
    let Some(folder) = shared("data/sops/sops-cli-3.11.0") else { return };
    let file = |name: &str| folder.join(name);
    let key = file("key1.txt");
    for name in [
        "k8s-secret.enc.yaml",
        "k8s-secret.two-recipients.enc.yaml",
        "k8s-secret.mac-only.enc.yaml",
        "k8s-secret.enc.json",
    ] {
        let opened = open(&file(name), &key).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(opened == plain(&fs::read_to_string(file("k8s-secret.plain.yaml")).unwrap()), "{name}");
    }
    assert!(open(&file("k8s-secret.two-recipients.enc.yaml"), &file("key2.txt")).is_ok());
    for name in ["multidoc", "regex-trap", "comments"] {
        let opened = open(&file(&format!("{name}.enc.yaml")), &key).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(opened == plain(&fs::read_to_string(file(&format!("{name}.plain.yaml"))).unwrap()), "{name}");
    }
    // A date is a time to SOPS, and it gives it back as one; a key `y` is text to it, and none to kubectl.
    let mut whole = fs::read_to_string(file("all-types.plain.yaml")).unwrap();
    for (from, to) in [("\ndate: 2024-01-02\n", "\ndate: 2024-01-02T00:00:00Z\n"), ("{y: ", "{\"y\": ")] {
        assert!(whole.contains(from), "{from}");
        whole = whole.replace(from, to);
    }
    let (opened, whole) = (open(&file("all-types.enc.yaml"), &key).unwrap(), plain(&whole));
    for (key, value) in whole[0].entries() {
        assert!(opened[0].get(key) == Some(value), "all-types: {key}");
    }
    assert!(opened == whole, "all-types");
    for (name, expect) in [
        ("bad.tampered-name.enc.yaml", OpenError::Mac),
        ("bad.blanked-value.enc.yaml", OpenError::Mac),
        ("bad.no-version.enc.yaml", OpenError::NoVersion),
        ("k8s-secret.key-groups.enc.yaml", OpenError::KeyGroups),
    ] {
        assert_eq!(open(&file(name), &key).err(), Some(expect), "{name}");
    }
}

/// What one of Flux's own fixtures is to the codec.
#[derive(Clone, Copy)]
enum Fixture {
    /// It opens with the identities of a file, and this stands at a path. Flux itself asks for no MAC; these have
    /// one that fits.
    Opens(&'static str, &'static [&'static str], &'static str),
    /// It is for a post-quantum recipient, so that no identity of ours opens it.
    Locked,
    /// It has no `sops` block.
    Clear,
    /// A manifest in clear, of which one entry is itself a sealed file.
    Within(&'static [&'static str]),
    /// A sealed file that is no document.
    Flat,
    /// A file of identities that can be used.
    Identities,
    /// A file of identities that is refused.
    PostQuantum,
}

fn fixture(name: &str) -> Option<Fixture> {
    const KEY: &[&str] = &["stringData", "key"];
    const AGE: &str = "keys/age.txt";
    Some(match name {
        "algorithms/age.yaml" => Fixture::Opens(AGE, KEY, "value"),
        "patches/merge1.yaml" => Fixture::Opens(AGE, KEY, "merge1"),
        "patches/merge2.yaml" => Fixture::Opens(AGE, &["stringData", "merge2"], "merge2"),
        "global/secret.yaml" => Fixture::Opens("keys/age-global.txt", KEY, "global-value"),
        "files/file.txt" => Fixture::Opens(AGE, &["data"], "value"),
        "algorithms/age-pq.yaml" => Fixture::Locked,
        "inside/secret.yaml" => Fixture::Within(&["data", "key"]),
        "component/env.env" | "envs/env.env" | "remote/env.env" => Fixture::Flat,
        "keys/age.txt" | "keys/age-global.txt" => Fixture::Identities,
        "keys/age-pq.txt" => Fixture::PostQuantum,
        _ if name == ".sops.yaml" || name.ends_with("kustomization.yaml") => Fixture::Clear,
        _ => return None,
    })
}

#[test]
fn flux_s_own_files_open() {
    let Some(folder) = shared("data/sops/flux") else { return };
    let Ok(own) = Identities::parse(&fs::read_to_string(folder.join("keys/age.txt")).unwrap()) else { panic!("keys") };
    let mut opened_files = 0;
    for entry in walkdir::WalkDir::new(&folder).into_iter().map(Result::unwrap).filter(|e| e.file_type().is_file()) {
        let name = entry.path().strip_prefix(&folder).unwrap().to_str().unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        match fixture(name).unwrap_or_else(|| panic!("nothing is expected of {name}")) {
            Fixture::Opens(keys, path, value) => {
                let opened = open(entry.path(), &folder.join(keys)).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(opened[0].str_at(path), Some(value), "{name}");
                assert_eq!(ciphertext(text.as_bytes()), Some(Ciphertext::SopsFile), "{name}");
                opened_files += 1;
            }
            Fixture::Locked => {
                let sealed = Sealed::new(ordered(&text, false)).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(matches!(own.unwrap(sealed.stanzas()), Err(AgeError::Unwrap)), "{name}");
            }
            Fixture::Clear => {
                assert!(plain(&text)[0].get("sops").is_none() && ciphertext(text.as_bytes()).is_none(), "{name}");
            }
            Fixture::Within(path) => {
                assert!(ciphertext(text.as_bytes()).is_none(), "{name}");
                let inner = STANDARD.decode(plain(&text)[0].str_at(path).unwrap()).unwrap();
                assert_eq!(ciphertext(&inner), Some(Ciphertext::SopsFile), "{name}");
                let inner = Sealed::new(ordered(std::str::from_utf8(&inner).unwrap(), true)).unwrap();
                let data_key = own.unwrap(inner.stanzas()).expect("a stanza that opens");
                assert_eq!(inner.open(&data_key).unwrap()[0].str_at(&["data"]), Some("value"), "{name}");
                opened_files += 1;
            }
            Fixture::Flat => {
                assert_eq!(ciphertext(text.as_bytes()), Some(Ciphertext::SopsFile), "{name}");
            }
            Fixture::Identities => assert!(Identities::parse(&text).is_ok(), "{name}"),
            Fixture::PostQuantum => {
                let (line, error) = Identities::parse(&text).err().expect("refused");
                let is_expected = matches!(error, IdentityError::Others(_, OtherKey::PostQuantum));
                assert!(line == 0 && is_expected, "{name}: {error}");
            }
        }
    }
    assert_eq!(opened_files, 6, "of Flux's sealed documents");
}

/// Shapes under every rule, as YAML and as JSON: what sops seals pouch opens, to what sops itself opens.
#[test]
fn whatever_the_sops_of_today_writes_is_read_as_it_reads_it() {
    const SHAPES: &str = "# head\nz: text\na:  # inline\n  data: {b: value, a: other}\n  data_x: [one, {two: 2}, [3, 4.50]]\n\
        m: |\n  lines\n  of text\nyes: no\n\
        int: 12\nneg: -7\nfloat: 1.50\nbig: 1e21\nsmall: 1.0e-7\nbool: true\nold: on\noct: 017\nunder: 1_000\n\
        date: 2024-01-02\ntime: 2024-01-02T03:04:05.120+02:00\nspace: 2024-01-02 03:04:05\nquoted: \"2024-01-02\"\n\
        nothing: ~\nempty: \"\"\nmap: {}\nlist: []\n\
        # sops:enc\nafter: comment\nitems:\n# in a list\n- x\n- y # behind\n\
        \"key: odd\": v\n\"\u{e9}\": \"\u{1f511} \\u2028\"\n";
    let (Some(sops), Some(age)) = (Sops::find(), Age::find()) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let key = scratch.path().join("key.txt");
    let recipient = age.keygen(&key);
    let source = scratch.path().join("plain.yaml");
    // Keys that another reader takes for no text are no manifest's.
    fs::write(&source, SHAPES.replace("yes: no\n", "\"yes\": no\n")).unwrap();
    let stream = scratch.path().join("stream.yaml");
    fs::write(&stream, "a: 1\nb: x\n---\n# only a comment\nb: x\na: 2024-01-02\n---\nc: []\n").unwrap();
    for rule in [
        "",
        "--unencrypted-suffix=_x",
        "--encrypted-suffix=ata",
        "--unencrypted-regex=^(a|int)$",
        "--encrypted-regex=dat",
        "--encrypted-regex=(?i)^DATA$",
        "encrypted_comment_regex: sops:enc",
        "unencrypted_comment_regex: head|inline",
        "mac_only_encrypted: true",
    ] {
        for (source, form) in [(&source, "yaml"), (&source, "json"), (&stream, "yaml")] {
            if form == "json" && rule.contains("comment") {
                // JSON loses the comments, and sops cannot read such a file of its own.
                continue;
            }
            let sealed = scratch.path().join("sealed").with_extension(form);
            // Some rules have no flag.
            let config = scratch.path().join("config.yaml");
            fs::write(&config, format!("creation_rules: [{{age: {recipient}, {rule}}}]\n")).unwrap();
            let by_flag = rule.is_empty() || rule.starts_with("--");
            let settings = (!by_flag).then(|| format!("--config={}", config.display()));
            let flags = ["encrypt", "--input-type=yaml", &format!("--output-type={form}")].map(str::to_owned);
            let recipient = by_flag.then(|| format!("--age={recipient}"));
            let flag = Some(rule.to_owned()).filter(|_| by_flag && !rule.is_empty());
            let flags = settings.into_iter().chain(flags).chain(recipient).chain(flag);
            let flags: Vec<_> = flags.map(Into::into).chain([source.as_os_str().to_owned()]).collect();
            fs::write(&sealed, printed(sops.path(), &run(sops.path(), flags, &[]))).unwrap();
            let theirs = ["decrypt", &format!("--input-type={form}"), "--output-type=yaml", sealed.to_str().unwrap()]
                .map(str::to_owned);
            let theirs = printed(sops.path(), &run(sops.path(), theirs, &[("SOPS_AGE_KEY_FILE", key.as_os_str())]));
            let theirs = plain(&String::from_utf8(theirs).unwrap());
            let ours = open(&sealed, &key).unwrap_or_else(|error| panic!("{rule} {form}: {error}"));
            assert!(ours == theirs, "{rule} {form}: other values than sops has");
        }
    }
}

/// The cipher with nonces of 32 bytes, which few libraries have, against Go's.
#[test]
fn ten_thousand_random_values_are_sealed_as_go_seals_them() {
    const CASES: usize = 10_000;
    let Some(go) = tool_on_path("go") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let mut dice = Dice(5);
    let (mut lines, mut ours) = (String::new(), Vec::new());
    for _ in 0..CASES {
        let (key, iv, mut text) = (dice.array(), dice.array(), dice.bytes(200));
        text.push(1);
        let place: String = dice.bytes(60).iter().map(|byte| char::from(byte % 95 + 32)).collect();
        writeln!(lines, "{},{},{},{}", hex(&key), hex(&iv), hex(place.as_bytes()), hex(&text)).unwrap();
        let cipher = Cipher::new(&key);
        let sealed = cipher.seal(&text, &iv, &place).unwrap();
        assert_eq!(cipher.open(&sealed, &place).unwrap().0.as_slice(), text);
        let part = |name: &str| {
            let (_, rest) = sealed.split_once(name).unwrap();
            STANDARD.decode(rest.split([',', ']']).next().unwrap()).unwrap()
        };
        ours.push(hex(&[part("data:"), part("tag:")].concat()));
    }
    let file = scratch.path().join("cases");
    fs::write(&file, lines).unwrap();
    let program = root().join("src/pouch/tests/plain/encrypted/gcm.go");
    let cache = scratch.path().join("cache");
    let settings =
        [("GOCACHE", cache.as_os_str()), ("GOTOOLCHAIN", OsStr::new("local")), ("GO111MODULE", OsStr::new("off"))];
    let arguments = [OsStr::new("run"), program.as_os_str(), file.as_os_str()];
    let theirs = String::from_utf8(printed(&go, &run(&go, arguments, &settings))).unwrap();
    assert_eq!(theirs.lines().count(), CASES);
    assert!(theirs.lines().eq(ours.iter().map(String::as_str)), "Go seals otherwise");
}

const SECRETS: usize = 2_000;

/// Secrets with random names and values, in the form that manifests have.
fn random_secrets(dice: &mut Dice) -> Vec<Vec<(String, Vec<u8>)>> {
    let name = |dice: &mut Dice| -> String {
        let length = 1 + dice.below(12);
        (0..length).map(|_| char::from(b"abcxyzABC0189._-"[dice.below(16)])).collect()
    };
    (0..SECRETS)
        .map(|_| {
            let count = dice.below(4);
            let mut entries: Vec<_> = (0..count).map(|_| (name(dice), dice.bytes(60))).collect();
            entries.sort();
            entries.dedup_by(|a, b| a.0 == b.0);
            entries
        })
        .collect()
}

/// Runs `each` on everything in two threads, as the machine has two cores.
fn in_two_threads<T: Sync>(all: &[T], each: impl Fn(usize, &T) + Sync) {
    let (first, second) = all.split_at(all.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| first.iter().enumerate().for_each(|(n, one)| each(n, one)));
        second.iter().enumerate().for_each(|(n, one)| each(first.len() + n, one));
    });
}

/// Two thousand random Secrets, each sealed by pouch in a file of its own and opened by sops.
#[test]
fn random_secrets_survive_from_pouch_to_sops() {
    let (Some(sops), Some(age)) = (Sops::find(), Age::find()) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let key = scratch.path().join("key.txt");
    let recipients = [Recipient::parse(&age.keygen(&key)).unwrap()];
    let prepared = age::prepare(&recipients).unwrap();
    in_two_threads(&random_secrets(&mut Dice(77)), |number, entries| {
        let data = entries.iter().map(|(name, value)| (name.clone(), Tree::text(STANDARD.encode(value))));
        let name = format!("s{number}");
        let document = Tree::map([
            ("apiVersion", Tree::text("v1")),
            ("kind", Tree::text("Secret")),
            ("metadata", Tree::map([("name", Tree::text(&*name))])),
            ("data", Tree::map(data)),
        ]);
        let mut dice = Dice(u64::try_from(number).unwrap() + 1);
        let data_key = dice.array();
        let stanzas = age::stanzas(&data_key, &prepared).unwrap();
        let mut ivs = std::iter::from_fn(|| Some(dice.array()));
        let ingredients = Ingredients {
            data_key: &data_key,
            ivs: &mut ivs,
            last_modified: "2026-11-21T07:51:52Z",
            recipients: &recipients,
            stanzas: &stanzas,
        };
        let file = scratch.path().join(format!("{name}.sops.yaml"));
        fs::write(&file, sops::seal(document, ingredients).unwrap().text).unwrap();
        let theirs: serde_json::Value = serde_json::from_slice(&sops.opened_as_json(&file, &key)).unwrap();
        assert_eq!(theirs["metadata"]["name"], *name);
        let found: Vec<_> = theirs["data"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), STANDARD.decode(value.as_str().unwrap()).unwrap()))
            .collect();
        assert_eq!(&found, entries, "{name}");
    });
}

/// The other way: each sealed by sops in a file of its own and opened by pouch.
#[test]
fn random_secrets_survive_from_sops_to_pouch() {
    let (Some(sops), Some(age)) = (Sops::find(), Age::find()) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let key = scratch.path().join("key.txt");
    let recipient = age.keygen(&key);
    in_two_threads(&random_secrets(&mut Dice(78)), |number, entries| {
        let mut text = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s{number}}}\ndata:");
        text.push_str(if entries.is_empty() { " {}\n" } else { "\n" });
        for (name, value) in entries {
            writeln!(text, "  {name:?}: {:?}", STANDARD.encode(value)).unwrap();
        }
        // The same bytes as text, as far as they are some: JSON's quotes are YAML's, but for what YAML has no
        // character for.
        let printable = |value: &[u8]| -> String {
            String::from_utf8_lossy(value).chars().filter(|c| !('\u{7f}'..='\u{9f}').contains(c)).collect()
        };
        let words: BTreeMap<_, _> = entries.iter().map(|(name, value)| (name, printable(value))).collect();
        writeln!(text, "stringData: {}", serde_json::to_string(&words).unwrap()).unwrap();
        let plain_file = scratch.path().join(format!("s{number}.yaml"));
        fs::write(&plain_file, &text).unwrap();
        let sealed = scratch.path().join(format!("s{number}.sops.yaml"));
        fs::write(&sealed, sops.sealed(&plain_file, &recipient)).unwrap();
        assert!(open(&sealed, &key).unwrap() == plain(&text), "s{number}");
    });
}

/// And all of them under one MAC: as one List from pouch to sops, and as one stream back.
#[test]
fn many_secrets_in_one_file_survive_both_ways() {
    let (Some(sops), Some(age)) = (Sops::find(), Age::find()) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let key = scratch.path().join("key.txt");
    let recipient = Recipient::parse(&age.keygen(&key)).unwrap();
    let mut dice = Dice(77);
    let secrets = random_secrets(&mut dice);

    let item = |entries: &Vec<(String, Vec<u8>)>| {
        let data = entries.iter().map(|(name, value)| (name.clone(), Tree::text(STANDARD.encode(value))));
        Tree::map([("kind", Tree::text("Secret")), ("data", Tree::map(data))])
    };
    let list = Tree::map([("kind", Tree::text("List")), ("items", Tree::List(secrets.iter().map(item).collect()))]);
    let data_key = dice.array();
    let recipients = [recipient.clone()];
    let stanzas = age::stanzas(&data_key, &age::prepare(&recipients).unwrap()).unwrap();
    let mut ivs = std::iter::from_fn(|| Some(dice.array()));
    let ingredients = Ingredients {
        data_key: &data_key,
        ivs: &mut ivs,
        last_modified: "2026-11-21T07:51:52Z",
        recipients: &recipients,
        stanzas: &stanzas,
    };
    let file = scratch.path().join("list.yaml");
    fs::write(&file, sops::seal(list, ingredients).unwrap().text).unwrap();
    let theirs: serde_json::Value = serde_json::from_slice(&sops.opened_as_json(&file, &key)).unwrap();
    let items = theirs["items"].as_array().unwrap();
    assert_eq!(items.len(), SECRETS);
    for (item, entries) in items.iter().zip(&secrets) {
        let data = item["data"].as_object().unwrap();
        let found: Vec<_> = data
            .iter()
            .map(|(name, value)| (name.clone(), STANDARD.decode(value.as_str().unwrap()).unwrap()))
            .collect();
        assert_eq!(&found, entries);
    }
    let ours = open(&file, &key).unwrap();
    assert_eq!(ours[0].get("items").unwrap().items().len(), SECRETS);

    let mut stream = String::new();
    for entries in &secrets {
        stream.push_str("---\nkind: Secret\ndata:");
        stream.push_str(if entries.is_empty() { " {}\n" } else { "\n" });
        for (name, value) in entries {
            writeln!(stream, "  {name:?}: {:?}", STANDARD.encode(value)).unwrap();
        }
    }
    let source = scratch.path().join("stream.yaml");
    fs::write(&source, &stream).unwrap();
    let sealed = scratch.path().join("sealed.yaml");
    fs::write(&sealed, sops.sealed(&source, recipient.as_str())).unwrap();
    let opened = open(&sealed, &key).unwrap();
    assert!(opened.len() == SECRETS && opened == plain(&stream));
}
