//! A small good fleet in a folder of its own, the real pouch run on it, and the promises that every run keeps.
//!
//! Three Credentials (two teams and the system namespace) are published for one region; every Secret
//! in it holds [`CANARY`]. They stand in a source of their own: one that was not read completely proves
//! no absence, so it stops newcomers among its own (DESIGN §2.6), and those of no other source. A test spoils one thing and says what pouch must answer; [`Ran`] is checked
//! for what holds whatever the input: the canary is nowhere, and nothing steers a terminal.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::fleet;

/// Stands in every Secret and in every bad spot, and must never be seen again.
pub const CANARY: &str = "CaNaRy-5e1f-sings";

/// What a Secret's field says in the manifests of the fleet.
pub const KEY: &str = "POUCH-REUSE-KEY-1MNHU20VPW6ZWJDHHEKYA2DETSGKP0QXN2Z9U7FHS8MNK07959FSQRJD897";

/// The region's recipient; its identity stands in `testdata/quickstart/keys/eu-west.txt`.
pub const RECIPIENT: &str = fleet::EU;
/// Another recipient.
pub const OTHER: &str = fleet::US;

/// The configuration of the good fleet.
pub const CONFIG: &str = "\
apiVersion: pouch/v1alpha1
kind: Fleet
metadata: {name: acme}
sources:
  - name: platform
    directory: {path: manifests}
    provides: {namespaces: [kcm-system, team-a, team-b], clusterScoped: true}
  - name: tenant
    directory: {path: tenant}
    provides: {namespaces: [team-x]}
regions:
  eu-west:
    recipients: [age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q]
    namespaces: {allowed: ['*']}
    k0rdentPushDisabled: true
    delivery: flux
output: {path: bundles}
regionDefaults:
  delivery:
    flux:
      sourceRef: {kind: GitRepository, name: fleet}
reuseKey: {file: reuse.key}
";

/// A Credential whose identity is a Secret with one entry, in the manifests' words.
pub fn plain(namespace: &str, name: &str) -> String {
    let secret = fleet::secret(namespace, name, &format!("value: {CANARY}-{name}"));
    format!("{}---\n{secret}", credential(namespace, name, "v1", "Secret"))
}

/// A Credential for `eu-west` whose identity has its own name.
pub fn credential(namespace: &str, name: &str, version: &str, kind: &str) -> String {
    fleet::credential("eu-west", namespace, name, [version, kind, name])
}

/// The good manifests.
pub fn manifests() -> [(&'static str, String); 4] {
    let azure = format!(
        "{}---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\n\
         metadata: {{name: good-azure, namespace: team-a}}\nspec:\n  type: ServicePrincipal\n  \
         clientID: 11111111-2222-3333-4444-555555555555\n  tenantID: 66666666-7777-8888-9999-000000000000\n  \
         clientSecret: {{name: good-azure-secret, namespace: team-a}}\n  allowedNamespaces: {{list: [team-a]}}\n\
         ---\napiVersion: v1\nkind: Secret\nmetadata: {{name: good-azure-secret, namespace: team-a}}\n\
         stringData: {{clientSecret: {CANARY}-azure}}\n",
        credential("team-a", "good-azure", "infrastructure.cluster.x-k8s.io/v1beta1", "AzureClusterIdentity")
    );
    let aws = format!(
        "{}---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity\n\
         metadata: {{name: good-aws}}\nspec: {{secretRef: good-aws-secret, allowedNamespaces: {{}}}}\n\
         ---\napiVersion: v1\nkind: Secret\nmetadata: {{name: good-aws-secret, namespace: kcm-system}}\n\
         stringData: {{AccessKeyID: EXAMPLEACCESSKEYID00, SecretAccessKey: {CANARY}-aws}}\n",
        credential("kcm-system", "good-aws", "infrastructure.cluster.x-k8s.io/v1beta2", "AWSClusterStaticIdentity")
    );
    [
        ("manifests/good-azure.yaml", azure),
        ("manifests/good-plain.yaml", plain("team-b", "good-plain")),
        ("manifests/good-aws.yaml", aws),
        (
            "tenant/notes.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes, namespace: team-x}\n".to_owned(),
        ),
    ]
}

/// The Secrets of the good Credentials, below `bundles`.
pub const GOOD: [&str; 3] = [
    "regions/eu-west/core/secrets/kcm-system/good-aws-secret.sops.yaml",
    "regions/eu-west/core/secrets/team-a/good-azure-secret.sops.yaml",
    "regions/eu-west/core/secrets/team-b/good-plain.sops.yaml",
];

/// A good fleet in a folder that goes with it.
pub struct Fleet(fleet::Fleet);

/// Every file below a folder, and what it holds; a link is `-> target`.
pub type Tree = BTreeMap<String, Vec<u8>>;

impl Deref for Fleet {
    type Target = fleet::Fleet;

    fn deref(&self) -> &fleet::Fleet {
        &self.0
    }
}

impl Default for Fleet {
    fn default() -> Self {
        Self::new()
    }
}

impl Fleet {
    /// Writes it; nothing is published yet.
    pub fn new() -> Self {
        let fleet = Self(fleet::Fleet::in_memory());
        fleet.restore();
        fleet
    }

    /// Puts sources, configuration and key back as they were; what is published stays.
    pub fn restore(&self) {
        for entry in fs::read_dir(self.path("")).unwrap().flatten() {
            if entry.file_name() != "bundles" {
                self.remove(entry.file_name().to_str().unwrap());
            }
        }
        self.configured(CONFIG);
        for (path, text) in manifests() {
            self.write(path, text);
        }
    }

    /// Makes a link.
    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        symlink(target, self.path(path)).unwrap();
    }

    /// Removes a file or a whole folder, if it is there.
    pub fn remove(&self, path: &str) {
        let path = self.path(path);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
            Ok(_) => fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
    }

    /// What is published.
    pub fn published(&self) -> Tree {
        tree(&self.path("bundles"))
    }

    /// Runs pouch in the fleet's folder.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, Stdio::null())
    }

    /// Runs pouch in the fleet's folder, reading from `stdin`.
    pub fn run_with(&self, arguments: &[&str], stdin: Stdio) -> Ran {
        self.run_in(arguments, stdin, &[])
    }

    /// The same with more variables in its environment.
    pub fn run_in(&self, arguments: &[&str], stdin: Stdio, vars: &[(String, String)]) -> Ran {
        self.remove("summary.json");
        let answer = Command::new(env!("CARGO_BIN_EXE_pouch"))
            .args(arguments)
            .current_dir(self.path(""))
            .stdin(stdin)
            .env_clear()
            .env("HOME", self.path(""))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(vars.iter().map(|(name, value)| (name, value)))
            .output()
            .expect("pouch starts");
        let ran = Ran {
            arguments: arguments.join(" "),
            code: answer.status.code(),
            out: String::from_utf8(answer.stdout).expect("stdout is UTF-8"),
            err: String::from_utf8(answer.stderr).expect("stderr is UTF-8"),
            summary: fs::read_to_string(self.path("summary.json")).ok(),
        };
        ran.is_decent();
        no_canary(&self.published(), "the bundles");
        ran
    }

    /// `pouch render`, for people.
    pub fn render(&self) -> Ran {
        self.run(&["render", "--summary", "summary.json"])
    }

    /// `pouch render` as verbose as can be, for machines.
    pub fn render_json(&self) -> Ran {
        self.run(&["render", "--summary", "summary.json", "-v", "--log-format", "json"])
    }

    /// `pouch render`, verbose and in colours.
    pub fn render_coloured(&self) -> Ran {
        self.run(&["render", "--summary", "summary.json", "-v", "--color", "always"])
    }

    /// Renders the fleet as it is, which must go well.
    #[track_caller]
    pub fn rendered(&self) -> Tree {
        self.render().ended(0);
        self.published()
    }
}

/// Every file below a folder.
pub fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    for entry in walkdir::WalkDir::new(folder).into_iter().flatten() {
        let name = entry.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        if entry.file_type().is_file() {
            found.insert(name, fs::read(entry.path()).unwrap());
        } else if entry.file_type().is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            found.insert(name, format!("-> {}", target.display()).into_bytes());
        }
    }
    found
}

/// What pouch answered.
pub struct Ran {
    /// How it was called.
    pub arguments: String,
    /// The exit code; none after a signal.
    pub code: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it said.
    pub err: String,
    /// Its summary, if it wrote one.
    pub summary: Option<String>,
}

impl Ran {
    /// All of it, for the message of a failed test.
    pub fn shown(&self) -> String {
        format!("pouch {}\nexit {:?}\n{}{}", self.arguments, self.code, self.out, self.err)
    }

    /// It ended with this code.
    #[track_caller]
    pub fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}", self.shown());
        self
    }

    /// It said all of this on stderr.
    #[track_caller]
    pub fn says(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in\n{}", self.shown());
        }
        self
    }

    /// It said nothing of this on stderr.
    #[track_caller]
    pub fn keeps_quiet_about(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(!self.err.contains(word), "{word:?} is in\n{}", self.shown());
        }
        self
    }

    /// It said what to do.
    #[track_caller]
    pub fn helps(&self) -> &Self {
        let helps =
            self.err.contains("help: ") || self.err.contains("\"help\":") || self.err.contains("For more information");
        assert!(helps, "no help in\n{}", self.shown());
        self
    }

    /// What holds for every run: no panic, no canary, nothing that steers a terminal or a CI system.
    #[track_caller]
    pub fn is_decent(&self) {
        assert!(self.code.is_some_and(|code| code != 70 && code != 101), "{}", self.shown());
        let summary = self.summary.as_deref().unwrap_or_default();
        for (what, text) in [("stdout", &*self.out), ("stderr", &*self.err), ("summary", summary)] {
            assert_eq!(sings(text.as_bytes()), None, "the canary sings in {what}:\n{}", self.shown());
            let coloured = self.arguments.contains("--color always") && what != "summary";
            let text = if coloured { without_sgr(text) } else { text.to_owned() };
            let steers = text.chars().find(|c| (c.is_control() && *c != '\n') || is_invisible(*c));
            assert_eq!(steers, None, "{what} holds a control character:\n{:?}", self.shown());
            let command = text.lines().find(|line| line.starts_with("::") || line.starts_with("##["));
            assert_eq!(command, None, "{what} commands a CI system");
        }
    }
}

/// Bidirectional controls, line separators, zero-width characters, the byte order mark.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Takes colours (ECMA-48, SGR) out; any other escape sequence stays and is found.
fn without_sgr(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('m') {
            Some((code, rest)) if code.bytes().all(|b| b.is_ascii_digit() || b == b';') => out.push_str(rest),
            _ => {
                out.push('\u{1b}');
                out.push_str(part);
            }
        }
    }
    out
}

/// In which form the canary stands in `bytes`, if it does.
pub fn sings(bytes: &[u8]) -> Option<&'static str> {
    let hex: String = CANARY.bytes().map(|b| format!("{b:02x}")).collect();
    let mut forms = vec![("clear", CANARY.to_owned()), ("hex", hex.clone()), ("HEX", hex.to_uppercase())];
    // Encoded at each of the three offsets; the characters at the ends depend on the neighbours.
    for (offset, skip) in [(0, 0), (1, 2), (2, 3)] {
        let text = base64(format!("{}{CANARY}", "x".repeat(offset)).as_bytes());
        forms.push(("base64", text.chars().skip(skip).take(20).collect()));
    }
    forms.into_iter().find(|(_, form)| bytes.windows(form.len()).any(|w| w == form.as_bytes())).map(|(what, _)| what)
}

/// Base64 with padding (RFC 4648 §4).
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let index = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap();
            out.push(if at > chunk.len() { '=' } else { char::from(ALPHABET[index]) });
        }
    }
    out
}

/// The canary is in no file and no file's name.
#[track_caller]
pub fn no_canary(tree: &Tree, what: &str) {
    for (path, bytes) in tree {
        assert_eq!(sings(bytes), None, "the canary sings in {path} of {what}");
        assert_eq!(sings(path.as_bytes()), None, "the canary sings in the name {path} of {what}");
    }
}

/// The paths at which two trees differ.
pub fn differing(a: &Tree, b: &Tree) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    all.into_iter().filter(|path| a.get(*path) != b.get(*path)).cloned().collect()
}

/// Adds a file, link or submodule to an index.
pub fn add(index: &mut git2::Index, repository: &git2::Repository, path: &str, mode: i32, bytes: &[u8]) {
    let id = match mode {
        0o160_000 => git2::Oid::from_str("1234567890123456789012345678901234567890").unwrap(),
        _ => repository.blob(bytes).unwrap(),
    };
    let time = git2::IndexTime::new(0, 0);
    let entry = git2::IndexEntry {
        ctime: time,
        mtime: time,
        dev: 0,
        ino: 0,
        mode: u32::try_from(mode).unwrap(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    };
    index.add(&entry).unwrap();
}

/// No paths.
pub fn none() -> Vec<String> {
    Vec::new()
}

/// Goes through all cases, also where some fail, and then fails with their names.
#[track_caller]
pub fn each<T>(cases: impl IntoIterator<Item = T>, test: impl Fn(T)) {
    let fails = |case| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(case))).is_err();
    let failed = cases.into_iter().filter_map(|case| fails(case).then_some(())).count();
    assert_eq!(failed, 0, "{failed} cases failed, see above");
}

/// Spoils a good fleet, cures it, and spoils it again; gives what pouch said of the bad one at first.
///
/// Spoilt, published or not: exit `code`, all of `words` on stderr, a help line; the good Credentials
/// are published, and nothing else is in the bundle. Cured: exit 0.
#[track_caller]
pub fn check(name: &str, spoil: impl Fn(&Fleet), code: i32, words: &[&str]) -> Ran {
    let fleet = Fleet::new();
    spoil(&fleet);
    let first = fleet.render();
    eprintln!("--- {name}\n{}", first.err);
    first.ended(code).says(words);
    if code != 0 {
        first.helps();
    }
    let bad = fleet.published();
    fleet.restore();
    let good = fleet.rendered();
    static WANTED: OnceLock<Vec<String>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| Fleet::new().rendered().into_keys().collect());
    assert!(good.keys().eq(wanted), "{name}: the cured fleet has other files: {:?}", good.keys());
    if matches!(code, 0 | 3) {
        for path in GOOD {
            assert!(bad.contains_key(path), "{name}: {path} is not published\n{}", first.shown());
            assert_eq!(bad.get(path), good.get(path), "{name}: {path} is not kept");
        }
        let more: Vec<&String> = bad.keys().filter(|path| !good.contains_key(*path)).collect();
        assert!(more.is_empty(), "{name}: published as well: {more:?}");
    } else {
        assert_eq!(differing(&bad, &Tree::new()), none(), "{name}: something is published");
    }
    spoil(&fleet);
    let again = fleet.render_json();
    again.ended(code);
    let mut changed = differing(&good, &fleet.published());
    // A source that is a repository now is another one than before, and the manifest says so.
    changed.retain(|path| !(path.ends_with("bundle.yaml") && fleet.path("repository").exists()));
    assert_eq!(changed, none(), "{name}: has changed\n{}", again.shown());
    first
}
