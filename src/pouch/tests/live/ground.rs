//! What a test stands on: an API server of its own, a folder with a configuration, and pouch, run as a program or
//! in this process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use pouch::ambient::Ambient;
use pouch::cluster::{Patience, Wanted};
use pouch::error::Failure;
use pouch::run::render::render;
use pouch::run::{Report, Run};
use pouch::session::{Global, Session};
use pouch::settings;
use pouch::shelf::directory::DirectoryShelf;
use pouch::stop::Stop;
use pouch::survey::source::live::Values;
use pouch::survey::{Reach, Surveyor, survey};
use pouch_core::finding::Code;
use pouch_core::name::Claimant;
use pouch_core::region::allowances::{Allowances, Selection};
use serde_json::Value;

use crate::objects::{SYSTEM, TENANT, namespace};
use crate::rig::apiserver::ApiServer;
use crate::rig::writer::write_all;
use crate::support::fleet::Fleet;
use crate::support::pouch::Answer;

/// The source that most tests use.
pub const CLUSTER: &str =
    "[{name: mgmt, cluster: {context: admin}, provides: {namespaces: ['*'], clusterScoped: true}}]";

pub struct Ground {
    pub server: ApiServer,
    fleet: Fleet,
    recipient: String,
}

/// How a run in this process ended.
pub struct Ended {
    pub code: u8,
    /// What it said, if it failed.
    pub message: String,
    pub report: Option<Report>,
}

impl Ended {
    /// The Credentials with an error.
    pub fn broken(&self) -> Vec<String> {
        let findings = self.report.iter().flat_map(|report| &report.findings);
        let errors = findings.filter(|finding| finding.severity == pouch_core::finding::Severity::Error);
        errors.filter_map(|finding| finding.claimant.as_ref()).map(Claimant::path).collect()
    }
}

impl Ended {
    /// Whether all Credentials with an error have one because of what changed.
    pub fn all_wait(&self) -> bool {
        let findings = self.report.iter().flat_map(|report| &report.findings);
        let changed = findings.filter(|finding| matches!(finding.code, Code::Changing | Code::Unread));
        let waiting: Vec<String> =
            changed.filter_map(|finding| finding.claimant.as_ref()).map(Claimant::path).collect();
        self.broken().iter().all(|path| waiting.contains(path))
    }

    /// The codes of the errors, each once.
    pub fn codes(&self) -> Vec<Code> {
        let findings = self.report.iter().flat_map(|report| &report.findings);
        let errors = findings.filter(|finding| finding.severity == pouch_core::finding::Severity::Error);
        errors.map(|finding| finding.code).collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }
}

/// Little patience, for tests that make a server fail on purpose.
pub fn hasty() -> Patience {
    Patience {
        request: Duration::from_secs(1),
        whole: Duration::from_secs(12),
        pause: Duration::from_millis(2),
        tries: 3,
        ..Patience::default()
    }
}

impl Ground {
    /// A server with the field's CRDs and two namespaces; none, after saying so, where something is absent.
    pub fn new() -> Option<Self> {
        let server = ApiServer::start()?;
        if !server.install_crds() {
            return None;
        }
        let (identity, recipient) = pouch::age::generate_identity().unwrap();
        let ground = Self { server, fleet: Fleet::empty(), recipient: recipient.to_string() };
        ground.write("eu.txt", &identity);
        ground.write("reuse.key", &pouch_core::reuse::ReuseKey::to_text(&[7; 32]));
        ground.server.kubeconfig(&ground.path("kubeconfig"), "admin");
        ground.apply(&[namespace(SYSTEM), namespace(TENANT)]);
        Some(ground)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.fleet.path(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        self.fleet.private(name, text);
        self.path(name)
    }

    /// The key that opens region `eu`.
    pub fn identity(&self) -> String {
        fs::read_to_string(self.path("eu.txt")).unwrap().trim().to_owned()
    }

    /// Makes objects so.
    #[track_caller]
    pub fn apply(&self, objects: &[Value]) {
        for object in objects {
            write_all(&self.server.endpoint("admin"), &[crate::objects::apply(object)]);
        }
    }

    /// A configuration with these sources (YAML in flow style), and further lines.
    pub fn config(&self, name: &str, sources: &str, more: &str) -> PathBuf {
        let recipient = &self.recipient;
        self.write(
            name,
            &format!(
                "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: live}}\nsources: {sources}\n\
                 providerInterfaces: {{builtin: v1.12}}\nregions:\n  eu:\n    recipients: [{recipient}]\n    \
                 namespaces: {{allowed: ['*']}}\n    delivery: flux\n\
                 regionDefaults: {{delivery: {{flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}}}}}\n\
                 reuseKey: {{file: reuse.key}}\n{more}"
            ),
        )
    }

    /// Runs the built program with a kubeconfig; `out` is a folder below the scratch folder.
    pub fn render(&self, config: &Path, kubeconfig: &Path, out: &str, flags: &[&str]) -> Answer {
        let kubeconfig = kubeconfig.to_str().unwrap();
        let flags: Vec<&str> = ["--kubeconfig", kubeconfig].into_iter().chain(flags.iter().copied()).collect();
        self.render_files(config, out, &flags)
    }

    /// Runs the built program on sources of which none is a cluster.
    pub fn render_files(&self, config: &Path, out: &str, flags: &[&str]) -> Answer {
        crate::support::pouch::render(config, &self.path(out), flags)
    }
}

/// Renders in this process.
pub fn run(config: &Path, kubeconfig: &Path, out: &Path, patience: Patience) -> Ended {
    let tried = try_run(config, kubeconfig, out, patience);
    match tried {
        Err(failure) => Ended { code: failure.kind.code(), message: failure.message, report: None },
        Ok(report) => {
            let code = if report.is_held() {
                4
            } else if report.is_partial() {
                3
            } else {
                0
            };
            Ended { code, message: String::new(), report: Some(report) }
        }
    }
}

fn try_run(config: &Path, kubeconfig: &Path, out: &Path, patience: Patience) -> Result<Report, Failure> {
    let base = config.parent().unwrap();
    let ambient = Ambient::fixed(base, jiff::Timestamp::UNIX_EPOCH, &[]);
    let session = Session::new(Global { quiet: true, ..Global::default() }, ambient, Stop::never());
    let settings = settings::load(config, &session.ambient)?;
    let (keys, _) = settings::reuse_keys(&settings, &session.ambient)?;
    let shelf = DirectoryShelf::open(out)?;
    let wanted = Wanted { kubeconfig: Some(kubeconfig.to_owned()), ..Wanted::default() };
    let reach = Reach { wanted, patience };
    let outputs = [out.to_owned()];
    let fleet = &settings.fleet;
    let surveyor = Surveyor::new(&session, fleet, base, (&outputs, &reach));
    let survey = survey(&surveyor, Values::Read)?;
    let (allowances, selection) = (Allowances::default(), Selection::default());
    let run = Run::new(&session, fleet, &keys, (&allowances, &selection));
    let report = render(&run, &survey, &shelf)?;
    shelf.commit()?;
    Ok(report)
}

/// Runs the built program with any arguments and environment, and gives exit code, standard output and error.
pub fn program(cwd: &Path, arguments: &[&str], vars: &[(&str, &str)]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pouch"))
        .args(arguments)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .env_clear()
        .envs(vars.iter().copied())
        .output()
        .expect("pouch can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("pouch ends by itself"), text(output.stdout), text(output.stderr))
}
