//! HTTP/1.1 as far as the rig needs it: messages, their framing, and a client over TLS with keep-alive.
//!
//! Whole messages only, at most [`LIMIT`] bytes; no upgrades, no trailers, no answers to HEAD.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value;

/// The longest body that is taken.
pub const LIMIT: usize = 512 << 20;

/// The longest head that is taken.
const HEAD_LIMIT: u64 = 1 << 20;

/// How long a client usually waits for bytes.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Names and values of a message, in order.
pub type Headers = Vec<(String, String)>;

/// What was asked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Its headers.
    pub headers: Headers,
    /// Its body, unframed.
    pub body: Vec<u8>,
}

/// What was answered.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Its headers.
    pub headers: Headers,
    /// Its body, unframed.
    pub body: Vec<u8>,
}

fn header<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

impl Request {
    /// A request without body.
    pub fn get(target: &str) -> Self {
        Self { method: String::from("GET"), target: target.to_owned(), ..Self::default() }
    }

    /// A request with a JSON body of this media type.
    pub fn with_json(method: &str, target: &str, media: &str, body: &Value) -> Self {
        let headers = vec![(String::from("Content-Type"), media.to_owned())];
        Self { method: method.to_owned(), target: target.to_owned(), headers, body: body.to_string().into_bytes() }
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// What follows the question mark.
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// One parameter of the query, as it was sent (percent-encoded).
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query().split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, v)| v)
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Reads one; None where the peer closed instead.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let Some((line, headers)) = read_head(from)? else { return Ok(None) };
        let mut words = line.split(' ').map(String::from);
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Err(bad("a request line")) };
        let body = if header(&headers, "transfer-encoding").is_some() || header(&headers, "content-length").is_some() {
            read_body(from, &headers)?
        } else {
            Vec::new()
        };
        Ok(Some(Self { method, target, headers, body }))
    }

    /// It as it goes over the wire to this host, framed by `Content-Length`, with this token unless it has its own.
    pub fn bytes(&self, host: &str, token: Option<&str>) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n", self.method, self.target);
        if let (Some(token), None) = (token, self.header("authorization")) {
            text.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        framed(text, &self.headers, &self.body, self.method == "GET")
    }
}

impl Response {
    /// An answer of any type.
    pub fn new(status: u16, media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: vec![(String::from("Content-Type"), media.to_owned())], body: body.into() }
    }

    /// An answer in JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// The same with a further header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body as JSON, or null.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Reads one.
    pub fn read(from: &mut impl BufRead) -> io::Result<Self> {
        let Some((line, headers)) = read_head(from)? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(|| bad("a status line"))?;
        let body = if matches!(status, 204 | 304) { Vec::new() } else { read_body(from, &headers)? };
        Ok(Self { status, headers, body })
    }

    /// It as it goes over the wire, framed by `Content-Length`.
    pub fn bytes(&self) -> Vec<u8> {
        framed(format!("HTTP/1.1 {} rig\r\n", self.status), &self.headers, &self.body, false)
    }
}

/// A message from its first lines on; what framed it before is replaced by its length.
fn framed(mut head: String, headers: &Headers, body: &[u8], bodyless: bool) -> Vec<u8> {
    const HOPS: [&str; 5] = ["host", "connection", "keep-alive", "transfer-encoding", "content-length"];
    for (name, value) in headers {
        if !HOPS.contains(&name.to_ascii_lowercase().as_str()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    if !(bodyless && body.is_empty()) {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not {what}"))
}

fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.take(HEAD_LIMIT).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(text) => Ok(text.trim_end_matches('\r').to_owned()),
        None if line.is_empty() => Ok(line),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn read_head(from: &mut impl BufRead) -> io::Result<Option<(String, Headers)>> {
    if from.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let first = read_line(from)?;
    let mut headers = Headers::new();
    loop {
        if from.fill_buf()?.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = read_line(from)?;
        if line.is_empty() {
            return Ok(Some((first, headers)));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header"))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
        if headers.len() > 10_000 {
            return Err(bad("a head of sane length"));
        }
    }
}

fn read_body(from: &mut impl BufRead, headers: &Headers) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if header(headers, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        loop {
            let line = read_line(from)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| bad("the size of a chunk"))?;
            if size == 0 {
                while !read_line(from)?.is_empty() {}
                return Ok(body);
            }
            read_exactly(from, size, &mut body)?;
            read_line(from)?;
        }
    }
    match header(headers, "content-length") {
        Some(length) => read_exactly(from, length.parse().map_err(|_| bad("a length"))?, &mut body)?,
        None => {
            from.take(u64::try_from(LIMIT).unwrap() + 1).read_to_end(&mut body)?;
        }
    }
    if body.len() > LIMIT { Err(bad("a body of sane length")) } else { Ok(body) }
}

fn read_exactly(from: &mut impl BufRead, size: usize, body: &mut Vec<u8>) -> io::Result<()> {
    if body.len().saturating_add(size) > LIMIT {
        return Err(bad("a body of sane length"));
    }
    let wanted = body.len() + size;
    from.take(u64::try_from(size).unwrap()).read_to_end(body)?;
    if body.len() == wanted { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A server on loopback, whom to trust there, and who asks.
#[derive(Clone)]
pub struct Endpoint {
    /// Where it listens.
    pub address: SocketAddr,
    /// Whom to trust.
    pub tls: Arc<ClientConfig>,
    /// A bearer token, sent where a request has no authorization of its own.
    pub token: Option<String>,
    /// How long a connection waits for bytes.
    pub patience: Duration,
}

impl Endpoint {
    /// Opens a connection; the handshake comes with the first request.
    pub fn connect(&self) -> io::Result<Connection> {
        let socket = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        socket.set_read_timeout(Some(self.patience))?;
        socket.set_write_timeout(Some(self.patience))?;
        socket.set_nodelay(true)?;
        let name = ServerName::from(self.address.ip());
        let session = ClientConnection::new(Arc::clone(&self.tls), name).map_err(io::Error::other)?;
        let stream = BufReader::new(StreamOwned::new(session, socket));
        Ok(Connection { stream, host: self.address.to_string(), token: self.token.clone() })
    }

    /// Sends one request over a connection of its own.
    pub fn ask(&self, request: &Request) -> io::Result<Response> {
        self.connect()?.send(request)
    }

    /// [`Endpoint::ask`] for a GET.
    pub fn get(&self, target: &str) -> io::Result<Response> {
        self.ask(&Request::get(target))
    }
}

/// A connection that lives for many requests, one after the other.
pub struct Connection {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    host: String,
    token: Option<String>,
}

impl Connection {
    /// Sends a request and reads its answer.
    pub fn send(&mut self, request: &Request) -> io::Result<Response> {
        let bytes = request.bytes(&self.host, self.token.as_deref());
        self.stream.get_mut().write_all(&bytes)?;
        self.stream.get_mut().flush()?;
        Response::read(&mut self.stream)
    }

    /// Sends a request and takes what comes until it ends, fails, is `limit` bytes long or lasts for `time`.
    pub fn raw(&mut self, request: &Request, limit: usize, time: Duration) -> (Vec<u8>, Option<io::Error>) {
        let mut taken = Vec::new();
        let bytes = request.bytes(&self.host, self.token.as_deref());
        if let Err(error) = self.stream.get_mut().write_all(&bytes) {
            return (taken, Some(error));
        }
        let began = Instant::now();
        while taken.len() < limit && began.elapsed() < time {
            let length = match self.stream.fill_buf() {
                Ok([]) => return (taken, None),
                Ok(bytes) => {
                    taken.extend_from_slice(bytes);
                    bytes.len()
                }
                Err(error) => return (taken, Some(error)),
            };
            self.stream.consume(length);
        }
        (taken, None)
    }
}
