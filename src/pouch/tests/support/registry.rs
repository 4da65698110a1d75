//! A registry on loopback that keeps everything in memory, and can spoil what it answers.
//!
//! One connection, one request. It takes what the specification of OCI takes in one piece, and remembers what came. It is
//! no measure of how real registries behave: `live/registry` has one.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pouch_core::hash::sha256_hex;
use serde_json::Value;

/// What is done instead of a plain answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Answers this status, with these headers, and does nothing.
    Status(u16, String),
    /// Answers 200 with a page for people.
    Page,
    /// Closes the connection and does nothing.
    Close,
    /// Says nothing for a while.
    Hang(Duration),
    /// Sends a byte of a long answer now and then, for as long as somebody listens, or a minute.
    Drip,
    /// Says yes, and does nothing.
    Yes,
    /// Answers with another digest than that of the content.
    Digest,
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Method and target.
    pub line: String,
    /// The header `Authorization`.
    pub authorization: Option<String>,
}

#[derive(Default)]
struct Inner {
    blobs: Mutex<BTreeMap<String, Vec<u8>>>,
    /// By repository and reference.
    manifests: Mutex<BTreeMap<String, Vec<u8>>>,
    asked: Mutex<Vec<Asked>>,
    faults: Mutex<Vec<(String, Fault)>>,
    /// What must come along, and what is said to who lacks it.
    wants: Mutex<Option<(String, String)>>,
    over: AtomicBool,
}

/// The registry; it ends with this value.
pub struct Registry {
    inner: Arc<Inner>,
    address: SocketAddr,
}

impl Registry {
    pub fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::<Inner>::default();
        let served = inner.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if served.over.load(Ordering::SeqCst) {
                    return;
                }
                let served = served.clone();
                thread::spawn(move || served.serve(stream));
            }
        });
        Self { inner, address }
    }

    /// Host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Spoils the answers to requests whose method and target hold `part`.
    pub fn spoil(&self, part: &str, fault: Fault) {
        self.inner.faults.lock().unwrap().push((part.to_owned(), fault));
    }

    /// Spoils nothing any more.
    pub fn heal(&self) {
        self.inner.faults.lock().unwrap().clear();
    }

    /// Wants this `Authorization` from now on, and answers who lacks it with this challenge.
    pub fn demand(&self, authorization: &str, challenge: &str) {
        *self.inner.wants.lock().unwrap() = Some((authorization.to_owned(), challenge.to_owned()));
    }

    /// What came since the last time.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.inner.asked.lock().unwrap())
    }

    /// What came since the last time and would change something.
    pub fn sent(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).filter(|line| !line.starts_with(['G', 'H'])).collect()
    }

    /// The manifest at a tag, if there is one.
    pub fn manifest(&self, repository: &str, tag: &str) -> Option<Value> {
        let all = self.inner.manifests.lock().unwrap();
        all.get(&format!("{repository}/{tag}")).map(|bytes| serde_json::from_slice(bytes).unwrap())
    }

    /// Puts a manifest at a tag.
    pub fn put(&self, repository: &str, tag: &str, manifest: &Value) {
        let bytes = manifest.to_string().into_bytes();
        self.inner.manifests.lock().unwrap().insert(format!("{repository}/{tag}"), bytes);
    }

    /// Forgets a blob.
    pub fn forget(&self, digest: &str) {
        self.inner.blobs.lock().unwrap().remove(digest).unwrap();
    }

    /// The layer at a tag.
    #[track_caller]
    pub fn layer(&self, repository: &str, tag: &str) -> Vec<u8> {
        let manifest = self.manifest(repository, tag).expect("a manifest");
        let digest = manifest["layers"][0]["digest"].as_str().unwrap();
        let layer = self.inner.blobs.lock().unwrap()[digest].clone();
        assert_eq!(manifest["layers"][0]["size"], layer.len());
        layer
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.inner.over.store(true, Ordering::SeqCst);
        _ = TcpStream::connect(self.address);
    }
}

/// A status, headers and a body.
type Answer = (u16, String, Vec<u8>);

fn plain(status: u16) -> Answer {
    (status, String::new(), Vec::new())
}

fn drip(stream: &mut TcpStream) {
    let head = "HTTP/1.1 200 x\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n";
    _ = stream.write_all(head.as_bytes());
    for _ in 0..300 {
        if stream.write_all(b" ").is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(200));
    }
}

impl Inner {
    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut line, mut length, mut authorization) = (String::new(), 0_usize, None);
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        let line = line.rsplit_once(' ').map_or("", |(line, _)| line).to_owned();
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or_default() == 0 || header.trim().is_empty() {
                break;
            }
            let (name, value) = header.trim().split_once(": ").unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "authorization" => authorization = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let fault =
            self.faults.lock().unwrap().iter().find(|(part, _)| line.contains(part)).map(|(_, fault)| fault.clone());
        self.asked.lock().unwrap().push(Asked { line: line.clone(), authorization: authorization.clone() });
        let (method, target) = line.split_once(' ').unwrap_or_default();
        let wants = self.wants.lock().unwrap().clone();
        let refused =
            wants.filter(|(wanted, _)| !target.starts_with("/token") && authorization.as_ref() != Some(wanted));
        let (status, headers, body) = match (fault, refused) {
            (Some(Fault::Status(status, headers)), _) => (status, headers, Vec::new()),
            (Some(Fault::Page), _) => (200, "Content-Type: text/html\r\n".to_owned(), b"<h1>Log in</h1>".to_vec()),
            (Some(Fault::Close), _) => return,
            (Some(Fault::Hang(time)), _) => return thread::sleep(time),
            (Some(Fault::Drip), _) => return drip(&mut stream),
            (Some(Fault::Yes), _) => {
                (if method == "POST" { 202 } else { 201 }, "Location: /v2/x/blobs/uploads/1\r\n".to_owned(), Vec::new())
            }
            (_, Some((_, challenge))) => (401, format!("WWW-Authenticate: {challenge}\r\n"), Vec::new()),
            (fault, None) => {
                let (status, headers, out) = self.answer(method, target, body);
                let headers = match fault {
                    Some(Fault::Digest) => headers.replace("Digest: sha256:", "Digest: sha256:0"),
                    _ => headers,
                };
                (status, headers, out)
            }
        };
        let body = if method == "HEAD" { Vec::new() } else { body };
        let head =
            format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        _ = stream.write_all(&[head.into_bytes(), body].concat());
    }

    fn answer(&self, method: &str, target: &str, body: Vec<u8>) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let rest = path.strip_prefix("/v2/").unwrap_or_default();
        if path == "/token" {
            return (200, String::new(), b"{\"token\": \"given\"}".to_vec());
        }
        if let Some((repository, _)) = rest.split_once("/blobs/uploads/") {
            if method == "POST" {
                return (202, format!("Location: /v2/{repository}/blobs/uploads/1?_state=x\r\n"), Vec::new());
            }
            let digest = query.split_once("digest=").unwrap().1.replace("%3A", ":");
            assert_eq!(digest, format!("sha256:{}", sha256_hex(&body)));
            self.blobs.lock().unwrap().insert(digest, body);
            return plain(201);
        }
        if let Some((_, digest)) = rest.split_once("/blobs/") {
            return plain(if self.blobs.lock().unwrap().contains_key(digest) { 200 } else { 404 });
        }
        let Some((repository, reference)) = rest.split_once("/manifests/") else { return plain(404) };
        let mut manifests = self.manifests.lock().unwrap();
        let key = format!("{repository}/{reference}");
        if method == "PUT" {
            let manifest: Value = serde_json::from_slice(&body).unwrap();
            let blobs = self.blobs.lock().unwrap();
            let all = manifest["layers"].as_array().unwrap().iter().chain([&manifest["config"]]);
            if !all.map(|one| one["digest"].as_str().unwrap()).all(|digest| blobs.contains_key(digest)) {
                return plain(400);
            }
            let digest = format!("sha256:{}", sha256_hex(&body));
            manifests.insert(format!("{repository}/{digest}"), body.clone());
            manifests.insert(key, body);
            return plain(201);
        }
        let Some(found) = manifests.get(&key) else { return plain(404) };
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let digest = sha256_hex(found);
        (200, format!("Content-Type: {kind}\r\nDocker-Content-Digest: sha256:{digest}\r\n"), found.clone())
    }
}
