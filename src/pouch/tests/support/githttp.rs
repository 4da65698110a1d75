//! A git server on loopback: `git http-backend` behind HTTP/1.1, with TLS or without, which can spoil what it answers.
//!
//! One connection, one request. Everything that came is remembered, headers included.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, Stream};

/// What the server does instead of a plain answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Answers this status, and these words as text, and does nothing.
    Status(u16, &'static str),
    /// Answers 200 with a page of this type.
    Page(&'static str, &'static str),
    /// Closes the connection and does nothing.
    Close,
    /// Does what was asked, and closes the connection.
    CloseAfter,
    /// Does what was asked, and answers this status.
    StatusAfter(u16),
    /// Answers 504, and does what was asked after a while.
    Later(Duration),
    /// Says nothing until the client goes, and does nothing.
    Hang,
    /// Takes the request with a pause after each so many bytes.
    Slow(usize, Duration),
    /// Takes so many bytes of the request, and then no more.
    Stall(usize),
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Method and target.
    pub line: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
}

impl Asked {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

struct Inner {
    root: PathBuf,
    faults: Mutex<Vec<(String, Fault)>>,
    asked: Mutex<Vec<Asked>>,
    credentials: Mutex<Option<String>>,
    sent: AtomicUsize,
    over: AtomicBool,
}

/// A connection, with TLS or without.
struct Wire {
    tcp: TcpStream,
    tls: Option<Mutex<ServerConnection>>,
}

impl Wire {
    fn new(tcp: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Self {
        let tls = tls.map(|config| Mutex::new(ServerConnection::new(config.clone()).unwrap()));
        Self { tcp, tls }
    }

    fn shutdown(&self) -> std::io::Result<()> {
        if let Some(tls) = &self.tls {
            let mut tls = tls.lock().unwrap();
            tls.send_close_notify();
            let _ = tls.write_tls(&mut &self.tcp);
        }
        self.tcp.shutdown(Shutdown::Both)
    }
}

impl Read for &Wire {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match &self.tls {
            Some(tls) => Stream::new(&mut *tls.lock().unwrap(), &mut &self.tcp).read(bytes),
            None => (&self.tcp).read(bytes),
        }
    }
}

impl Write for &Wire {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &self.tls {
            Some(tls) => Stream::new(&mut *tls.lock().unwrap(), &mut &self.tcp).write(bytes),
            None => (&self.tcp).write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &self.tls {
            Some(tls) => Stream::new(&mut *tls.lock().unwrap(), &mut &self.tcp).flush(),
            None => (&self.tcp).flush(),
        }
    }
}

/// The server; it ends with this value.
pub struct GitServer {
    inner: Arc<Inner>,
    scheme: &'static str,
    address: SocketAddr,
    listens: Option<JoinHandle<()>>,
}

impl GitServer {
    /// Serves the repositories below a folder.
    pub fn new(root: &Path) -> Self {
        Self::start(root, None)
    }

    /// Serves them by TLS.
    pub fn with_tls(root: &Path, config: Arc<ServerConfig>) -> Self {
        Self::start(root, Some(config))
    }

    fn start(root: &Path, tls: Option<Arc<ServerConfig>>) -> Self {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::new(Inner {
            root: root.to_owned(),
            faults: Mutex::default(),
            asked: Mutex::default(),
            credentials: Mutex::default(),
            sent: AtomicUsize::default(),
            over: AtomicBool::new(false),
        });
        let served = inner.clone();
        let listens = thread::spawn(move || {
            for stream in listener.incoming() {
                if served.over.load(Ordering::SeqCst) {
                    return;
                }
                let (wire, served) = (Wire::new(stream.unwrap(), tls.as_ref()), served.clone());
                thread::spawn(move || {
                    // A client that goes away is no failure of the test.
                    let _ = served.serve(&wire);
                    let _ = wire.shutdown();
                });
            }
        });
        Self { inner, scheme, address, listens: Some(listens) }
    }

    /// The URL of a repository.
    pub fn url(&self, repository: &str) -> String {
        format!("{}://{}/{repository}", self.scheme, self.address)
    }

    /// Lets only who sends these in, as `user:password`.
    pub fn demand(&self, credentials: &str) {
        *self.inner.credentials.lock().unwrap() = Some(credentials.to_owned());
    }

    /// Spoils the answers to requests whose method and target hold `part`; `receive-pack` is a push, `POST` its pack.
    pub fn spoil(&self, part: &str, fault: Fault) {
        let mut faults = self.inner.faults.lock().unwrap();
        faults.retain(|(known, _)| known != part);
        faults.push((part.to_owned(), fault));
    }

    /// Spoils nothing any more.
    pub fn heal(&self) {
        self.inner.faults.lock().unwrap().clear();
    }

    /// What came so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.inner.asked.lock().unwrap().clone()
    }

    /// The bytes that git answered since this was last asked for.
    pub fn sent(&self) -> usize {
        self.inner.sent.swap(0, Ordering::SeqCst)
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.inner.over.store(true, Ordering::SeqCst);
        // So that the listener looks up.
        drop(TcpStream::connect(self.address));
        if let Some(listens) = self.listens.take() {
            let _ = listens.join();
        }
    }
}

impl Inner {
    fn serve(&self, stream: &Wire) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let (mut line, mut headers) = (String::new(), Vec::new());
        reader.read_line(&mut line)?;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let line = line.trim().trim_end_matches(" HTTP/1.1").to_owned();
        // A client that was killed says nothing, or only half of it.
        if line.split_once(' ').is_none() {
            return Ok(());
        }
        let asked = Asked { line: line.clone(), headers };
        self.asked.lock().unwrap().push(asked.clone());
        let fault = self.faults.lock().unwrap().iter().find(|(part, _)| line.contains(part.as_str())).cloned();
        let fault = fault.map_or(Fault::None, |(_, fault)| fault);
        if asked.header("expect").is_some() {
            (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let mut body = Body { reader, fault: fault.clone(), over: &self.over, taken: Vec::new() };
        body.read(&asked)?;
        let body = body.taken;
        if let Some(wanted) = &*self.credentials.lock().unwrap() {
            let given = asked.header("authorization").and_then(|value| value.strip_prefix("Basic "));
            if given != Some(&base64(wanted)) {
                let head = "HTTP/1.1 401 no\r\nWWW-Authenticate: Basic realm=\"git\"\r\nConnection: close\r\n";
                return (&*stream).write_all(format!("{head}Content-Length: 0\r\n\r\n").as_bytes());
            }
        }
        match fault {
            Fault::Status(code, words) => answer(stream, code, "text/plain", words.as_bytes()),
            Fault::Page(kind, page) => answer(stream, 200, kind, page.as_bytes()),
            Fault::Close => Ok(()),
            Fault::CloseAfter => {
                self.backend(&asked, &body);
                Ok(())
            }
            Fault::StatusAfter(code) => {
                self.backend(&asked, &body);
                answer(stream, code, "text/plain", b"")
            }
            Fault::Later(time) => {
                answer(stream, 504, "text/plain", b"")?;
                stream.shutdown()?;
                thread::sleep(time);
                self.backend(&asked, &body);
                Ok(())
            }
            Fault::Hang | Fault::Stall(_) => std::io::copy(&mut &*stream, &mut std::io::sink()).map(|_| ()),
            Fault::None | Fault::Slow(..) => {
                let out = self.backend(&asked, &body);
                let at = out.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(0);
                let (head, rest) = (String::from_utf8_lossy(&out[..at]).into_owned(), &out[(at + 4).min(out.len())..]);
                let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
                let head: String = head
                    .lines()
                    .filter(|line| !line.starts_with("Status: "))
                    .map(|line| format!("{line}\r\n"))
                    .collect();
                let length = rest.len();
                self.sent.fetch_add(length, Ordering::SeqCst);
                let first = format!("HTTP/1.1 {status}\r\n{head}Connection: close\r\nContent-Length: {length}\r\n\r\n");
                (&*stream).write_all(first.as_bytes())?;
                (&*stream).write_all(rest)
            }
        }
    }

    /// Has git answer, <https://git-scm.com/docs/git-http-backend>.
    fn backend(&self, asked: &Asked, body: &[u8]) -> Vec<u8> {
        let (method, target) = asked.line.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut command = Command::new("git");
        command.arg("http-backend").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_PROJECT_ROOT", &self.root).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_USER", "test");
        command.env("REMOTE_ADDR", "127.0.0.1").env("REQUEST_METHOD", method);
        command.env("PATH_INFO", path).env("QUERY_STRING", query).env("CONTENT_LENGTH", body.len().to_string());
        for (variable, name) in [
            ("CONTENT_TYPE", "content-type"),
            ("GIT_PROTOCOL", "git-protocol"),
            ("HTTP_CONTENT_ENCODING", "content-encoding"),
        ] {
            command.envs(asked.header(name).map(|value| (variable, value.to_owned())));
        }
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let body = body.to_owned();
        let writes = thread::spawn(move || {
            let _ = input.write_all(&body);
        });
        let output = child.wait_with_output().unwrap().stdout;
        let _ = writes.join();
        output
    }
}

fn answer(mut stream: &Wire, code: u16, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {code} x\r\nContent-Type: {kind}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

/// What is taken of a request.
struct Body<'a> {
    reader: BufReader<&'a Wire>,
    fault: Fault,
    over: &'a AtomicBool,
    taken: Vec<u8>,
}

impl Body<'_> {
    fn read(&mut self, asked: &Asked) -> std::io::Result<()> {
        if let Some(length) = asked.header("content-length") {
            return self.take(length.parse().unwrap());
        }
        if asked.header("transfer-encoding") != Some("chunked") {
            return Ok(());
        }
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            self.take(size)?;
            self.reader.read_line(&mut line)?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn take(&mut self, mut length: usize) -> std::io::Result<()> {
        while length > 0 {
            let most = match self.fault {
                Fault::Slow(bytes, pause) => {
                    let next = bytes - self.taken.len() % bytes;
                    if next == bytes {
                        thread::sleep(pause);
                    }
                    next
                }
                Fault::Stall(bytes) if self.taken.len() >= bytes => {
                    while !self.over.load(Ordering::SeqCst) {
                        thread::sleep(Duration::from_millis(50));
                    }
                    return Err(std::io::ErrorKind::Other.into());
                }
                _ => 64 << 10,
            };
            let mut piece = vec![0; length.min(most)];
            self.reader.read_exact(&mut piece)?;
            length -= piece.len();
            self.taken.extend(piece);
        }
        Ok(())
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}
