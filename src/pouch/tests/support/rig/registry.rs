//! A registry: the real program, with its store in a folder of its own.

use std::io::{BufReader, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::apiserver::free_ports;
use super::guarded::Guarded;
use super::http::{Request, Response};
use crate::support::tool;

/// Whom a registry lets in that asks who one is.
pub const LOGIN: (&str, &str) = ("reader", "let-me-read");

/// The same as htpasswd(1) keeps it, by bcrypt.
const HTPASSWD: &str = "reader:$2y$05$abcdefghijklmnopqrstuuY7egH1Tw2X85Ryf04zrsSFAC0TCa0hy\n";

/// The login as HTTP sends it.
fn basic() -> String {
    STANDARD.encode(format!("{}:{}", LOGIN.0, LOGIN.1))
}

/// A running registry.
pub struct Registry {
    process: Guarded,
    port: u16,
    asks: bool,
}

impl Registry {
    /// Starts one that lets everybody in; None, after saying so, where the program is absent.
    ///
    /// # Panics
    /// If it does not get ready, and where it is absent and `CI` is `true`.
    pub fn start() -> Option<Self> {
        Self::launch(false)
    }

    /// The same of one that lets nobody in but [`LOGIN`].
    ///
    /// # Panics
    /// As [`Registry::start`].
    pub fn start_asking() -> Option<Self> {
        Self::launch(true)
    }

    /// What docker's `config.json` says of it.
    pub fn docker_config(&self) -> String {
        serde_json::json!({"auths": {self.host(): {"auth": basic()}}}).to_string()
    }

    fn launch(asks: bool) -> Option<Self> {
        let program = tool("registry")?;
        let mut last = String::new();
        for _ in 0..3 {
            let [port] = free_ports();
            let process = Guarded::start("registry", &program, |folder| {
                let mut settings = serde_json::json!({
                    "version": "0.1",
                    "log": {"level": "warn"},
                    "storage": {"filesystem": {"rootdirectory": folder.join("store")}},
                    "http": {"addr": format!("127.0.0.1:{port}")},
                });
                if asks {
                    let path = folder.join("htpasswd");
                    std::fs::write(&path, HTPASSWD).expect("the scratch folder can be written");
                    settings["auth"] = serde_json::json!({"htpasswd": {"realm": "rig", "path": path}});
                }
                let file = folder.join("settings.yaml");
                std::fs::write(&file, settings.to_string()).expect("the scratch folder can be written");
                let arguments = vec![String::from("serve"), file.display().to_string()];
                (arguments, vec![("OTEL_TRACES_EXPORTER", "none".into())])
            });
            let ready = match asks {
                false => process.wait_until_ready(port, "/v2/"),
                true => process.wait_until(|| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()),
            };
            match ready {
                Ok(()) => return Some(Self { process, port, asks }),
                Err(why) if why.contains("address already in use") => last = why,
                Err(why) => panic!("no registry: {why}"),
            }
        }
        panic!("no registry: {last}");
    }

    /// Host and port.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How many requests came that would change something.
    pub fn writes(&self) -> usize {
        let log = self.process.log();
        log.lines().filter(|line| ["\"PUT ", "\"POST ", "\"PATCH "].iter().any(|method| line.contains(method))).count()
    }

    /// The manifest at a tag, and its digest.
    #[track_caller]
    pub fn manifest(&self, repository: &str, tag: &str) -> (Value, String) {
        let mut request = Request::get(&format!("/v2/{repository}/manifests/{tag}"));
        request.headers.push((String::from("Accept"), String::from("application/vnd.oci.image.manifest.v1+json")));
        if self.asks {
            request.headers.push((String::from("Authorization"), format!("Basic {}", basic())));
        }
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("the registry listens");
        stream.write_all(&request.bytes(&self.host(), None)).expect("the registry listens");
        let answer = Response::read(&mut BufReader::new(stream)).expect("the registry answers");
        assert_eq!(answer.status, 200);
        let digest = answer.header("docker-content-digest").expect("a digest").to_owned();
        (answer.value(), digest)
    }

    /// The file in which a blob is kept.
    pub fn blob(&self, digest: &str) -> PathBuf {
        let hex = digest.strip_prefix("sha256:").expect("a digest");
        let start = hex.get(..2).expect("hex digits");
        self.process.folder().join(format!("store/docker/registry/v2/blobs/sha256/{start}/{hex}/data"))
    }
}
