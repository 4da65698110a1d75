//! A proxy on loopback that ends TLS, forwards HTTP/1.1 to an API, and spoils one answer, or all from one on.
//!
//! The API is a real server or a function. Answers are read whole and sent on with their length, so
//! no watch passes; compression is never asked for. What a fault is, and what a spoilt answer looks
//! like, stands in [`super::fault`]; here is the wire. Every wait ends with the proxy and with
//! [`Proxy::arm`], which starts a new run.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::apiserver::ApiServer;
use super::fault::{self, Fault, Pages};
use super::http::{self, Connection, Endpoint, Request, Response};
use super::tls::{self, Authority};
use super::{token, write_kubeconfig};

/// How long the proxy waits for its client to read or to go on.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between part of an answer and a reset or an alert, which overtake what the client has not read yet.
const BREATH: Duration = Duration::from_millis(50);

/// Where an endless answer ends after all.
const FLOOD_BYTES: usize = 2 << 30;
const FLOOD_TIME: Duration = Duration::from_secs(30);

/// Which requests are spoilt. They are counted from 0 in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// None.
    Never,
    /// The one with this number.
    Once(usize),
    /// The one with this number and all after it.
    From(usize),
    /// The first few whose path contains this and whose answer the fault can be made of.
    PathTimes(String, usize),
    /// Every one whose path contains this.
    Path(String),
}

/// A request that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query, as sent.
    pub query: String,
    /// What it accepts.
    pub accept: String,
    /// Who it says asks.
    pub agent: String,
}

/// An API in this process.
type Canned = Box<dyn Fn(&Request) -> Response + Send + Sync>;

enum Api {
    Server(Endpoint),
    Canned(Canned),
}

type Stream = BufReader<StreamOwned<ServerConnection, TcpStream>>;

/// What happened since [`Proxy::arm`].
struct Run {
    number: u64,
    fault: Fault,
    when: When,
    seen: Vec<Recorded>,
    injected: usize,
    /// How often the fault may still happen.
    left: usize,
    /// Handshakes that are still to be spoilt.
    handshakes: usize,
    /// The last right answer for each path.
    pages: BTreeMap<String, Response>,
    /// What is called before a request goes on to the API.
    before: Option<Before>,
}

impl Run {
    fn new(number: u64, fault: Fault, when: When) -> Self {
        let left = match &when {
            When::Never => 0,
            When::Once(_) => 1,
            When::PathTimes(_, times) => *times,
            When::From(_) | When::Path(_) => usize::MAX,
        };
        // No request comes before the first handshake, so a fault there cannot wait for one.
        let at_once = fault.is_of_the_handshake() && matches!(when, When::Once(0) | When::From(0));
        let (left, handshakes) = if at_once { (0, left) } else { (left, 0) };
        let (seen, pages) = (Vec::new(), BTreeMap::new());
        Self { number, fault, when, seen, injected: 0, left, handshakes, pages, before: None }
    }
}

/// Takes a request and its number.
type Before = Arc<dyn Fn(usize, &Request) + Send + Sync>;

struct Shared {
    api: Api,
    tls: Arc<ServerConfig>,
    stop: AtomicBool,
    /// The number of the run, which threads of an older one look at to end.
    current: AtomicU64,
    run: Mutex<Run>,
    sockets: Mutex<BTreeMap<u64, TcpStream>>,
    flooded: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The proxy. It ends when this is dropped.
pub struct Proxy {
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    address: SocketAddr,
    ca: String,
}

impl Proxy {
    /// A proxy before a server, to which requests go with the authorization that they came with.
    pub fn to(server: Endpoint) -> Self {
        Self::new(Api::Server(Endpoint { token: None, ..server }))
    }

    /// A proxy before a function.
    pub fn canned(api: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self::new(Api::Canned(Box::new(api)))
    }

    fn new(api: Api) -> Self {
        let authority = Authority::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let address = listener.local_addr().expect("a bound socket has an address");
        let run = Run::new(0, Fault::Stall, When::Never);
        let shared = Arc::new(Shared {
            api,
            tls: authority.server(),
            stop: AtomicBool::new(false),
            current: AtomicU64::new(0),
            run: Mutex::new(run),
            sockets: Mutex::new(BTreeMap::new()),
            flooded: AtomicUsize::new(0),
        });
        let all = Arc::clone(&shared);
        let acceptor = Some(thread::spawn(move || accept(&all, &listener)));
        Self { shared, acceptor, address, ca: authority.ca }
    }

    /// Starts a new run: closes what is open, forgets what was recorded, counts from 0.
    ///
    /// A fault of the handshake that begins with request 0 spoils the very first one.
    pub fn arm(&self, fault: Fault, when: When) {
        let mut run = lock(&self.shared.run);
        let number = run.number + 1;
        *run = Run::new(number, fault, when);
        self.shared.current.store(number, Ordering::SeqCst);
        self.shared.flooded.store(0, Ordering::SeqCst);
        drop(run);
        self.shared.hang_up();
    }

    /// Calls this with each request and its number before it goes on to the API, until the next [`Proxy::arm`].
    ///
    /// What it changes there is seen by this request and by those after it: a change in the midst of a run.
    pub fn before(&self, call: impl Fn(usize, &Request) + Send + Sync + 'static) {
        lock(&self.shared.run).before = Some(Arc::new(call));
    }

    /// [`Proxy::arm`] without a fault.
    pub fn calm(&self) {
        self.arm(Fault::Stall, When::Never);
    }

    /// The requests of this run, in order of arrival. A request that met a spoilt handshake never arrived.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.run).seen.clone()
    }

    /// The requests of this run as sorted lines `GET /api/v1/…`, queries left out.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.requests().iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect();
        lines.sort();
        lines
    }

    /// How often the fault has been injected in this run. 0 where it could not be made of the answer.
    ///
    /// Of a fault of the handshake the spoilt handshakes are counted, not the requests that were cut off for it: a
    /// client that has other connections open may never meet one.
    pub fn injected(&self) -> usize {
        lock(&self.shared.run).injected
    }

    /// How many bytes of endless answers were taken in this run.
    pub fn flooded(&self) -> usize {
        self.shared.flooded.load(Ordering::SeqCst)
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The certificate (PEM) of its authority.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// It for requests of our own, as this user.
    pub fn endpoint(&self, user: &str) -> Endpoint {
        Endpoint {
            address: self.address,
            tls: tls::client(&self.ca),
            token: Some(token(user)),
            patience: http::PATIENCE,
        }
    }

    /// Writes a kubeconfig with a context per user that leads through it.
    ///
    /// # Panics
    /// If it cannot be written.
    #[track_caller]
    pub fn kubeconfig(&self, path: &Path, user: &str) {
        write_kubeconfig(path, user, &self.url(), &self.ca);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        self.shared.hang_up();
        self.acceptor.take().map(JoinHandle::join);
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for number in 0.. {
        let Ok((socket, _)) = listener.accept() else { continue };
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        let Ok(copy) = socket.try_clone() else { continue };
        let run = shared.current.load(Ordering::SeqCst);
        lock(&shared.sockets).insert(number, copy);
        let all = Arc::clone(shared);
        threads.push(thread::spawn(move || {
            // How a client ends a connection is its own business, and nothing to tell anybody.
            let _ = all.serve(socket, run);
            // The last handle of the socket: only now is it closed, or reset.
            lock(&all.sockets).remove(&number);
        }));
    }
    shared.hang_up();
    for thread in threads {
        let _ = thread.join();
    }
}

impl Shared {
    fn hang_up(&self) {
        for socket in lock(&self.sockets).values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn is_over(&self, run: u64) -> bool {
        self.stop.load(Ordering::SeqCst) || self.current.load(Ordering::SeqCst) != run
    }

    /// What is to become of this handshake.
    fn handshake(&self) -> Option<Fault> {
        let mut run = lock(&self.run);
        run.handshakes = run.handshakes.checked_sub(1)?;
        run.injected += 1;
        // From one on: so are all that follow.
        if matches!(run.when, When::From(_)) {
            run.handshakes = usize::MAX;
        }
        Some(run.fault)
    }

    /// Counts a request, and says what is to become of it.
    fn arrived(&self, request: &Request) -> (Option<Fault>, usize, Option<Before>) {
        let text = |name| request.header(name).unwrap_or_default().to_owned();
        let recorded = Recorded {
            method: request.method.clone(),
            path: request.path().to_owned(),
            query: request.query().to_owned(),
            accept: text("accept"),
            agent: text("user-agent"),
        };
        let mut run = lock(&self.run);
        let number = run.seen.len();
        run.seen.push(recorded);
        let hit = run.left > 0
            && match &run.when {
                When::Never => false,
                When::Once(wanted) => number == *wanted,
                When::From(first) => number >= *first,
                When::PathTimes(part, _) | When::Path(part) => request.path().contains(part.as_str()),
            };
        run.left -= usize::from(hit);
        (hit.then_some(run.fault), number, run.before.clone())
    }

    fn serve(&self, socket: TcpStream, run: u64) -> io::Result<()> {
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        match self.handshake() {
            Some(Fault::TlsGarbage) => {
                // After its greeting, or else the kernel would answer with a reset.
                let _ = (&socket).read(&mut [0; 4096])?;
                (&socket).write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nThis port speaks no TLS.\n")?;
                return Ok(());
            }
            Some(_) => {
                let _ = (&socket).read(&mut [0; 4096])?;
                return Ok(());
            }
            None => {}
        }
        let session = ServerConnection::new(Arc::clone(&self.tls)).map_err(io::Error::other)?;
        let mut stream = BufReader::new(StreamOwned::new(session, socket));
        let mut upstream = None;
        while let Some(mut request) = Request::read(&mut stream)? {
            if self.is_over(run) {
                return Ok(());
            }
            let (fault, number, before) = self.arrived(&request);
            if let Some(before) = before {
                before(number, &request);
            }
            request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("accept-encoding"));
            let right = match &self.api {
                Api::Canned(api) => api(&request),
                Api::Server(server) => forward(server, &mut upstream, &request)?,
            };
            let goes_on = match fault {
                None => {
                    send(&mut stream, &right.bytes())?;
                    true
                }
                Some(fault) => self.spoil(fault, &request, &right, &mut stream, &mut upstream, run)?,
            };
            if right.status == 200 && !self.is_over(run) {
                lock(&self.run).pages.insert(request.path().to_owned(), right);
            }
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    fn injected(&self) {
        lock(&self.run).injected += 1;
    }

    /// Answers wrongly. Says whether the connection can be used further.
    fn spoil(
        &self,
        fault: Fault,
        request: &Request,
        right: &Response,
        stream: &mut Stream,
        upstream: &mut Option<Connection>,
        run: u64,
    ) -> io::Result<bool> {
        let mut pages = Known { shared: self, request, upstream };
        let made = fault::made(fault, request).or_else(|| fault::changed(fault, request, right, &mut pages));
        if let Some(made) = made {
            self.injected();
            send(stream, &made.bytes())?;
            return Ok(true);
        }
        let bytes = right.bytes();
        let (head, rest) = bytes.split_at(bytes.len() - right.body.len());
        let half = &bytes[..head.len() + rest.len() / 2];
        let socket = stream.get_ref().sock.try_clone()?;
        if fault.is_of_the_handshake() {
            // What counts as the fault is the handshake that it spoils.
            // One that was spoilt meanwhile, on another connection, may have made it all of them already.
            let mut run = lock(&self.run);
            run.handshakes = run.handshakes.saturating_add(1);
            return Ok(false);
        }
        if fault.is_of_the_answer() || (fault.is_of_the_body() && rest.is_empty()) {
            // This answer does not allow it: it stays the right one, and the next may be spoilt.
            let mut run = lock(&self.run);
            run.left = run.left.saturating_add(usize::from(!matches!(run.when, When::Once(_))));
            drop(run);
            send(stream, &bytes)?;
            return Ok(true);
        }
        self.injected();
        match fault {
            Fault::ResetBeforeHeaders => reset(&socket)?,
            Fault::ResetAfterHeaders => {
                send(stream, head)?;
                thread::sleep(BREATH);
                reset(&socket)?;
            }
            Fault::CutBody => send(stream, half)?,
            Fault::Stall => self.wait_for_the_end(&socket, run)?,
            Fault::StallInBody => {
                send(stream, half)?;
                self.wait_for_the_end(&socket, run)?;
            }
            Fault::Drip => {
                for (number, byte) in bytes.iter().enumerate() {
                    send(stream, &[*byte])?;
                    if number < 1000 {
                        thread::sleep(Duration::from_millis(1));
                    }
                }
                return Ok(true);
            }
            Fault::Trickle => {
                for byte in &bytes {
                    send(stream, &[*byte])?;
                    thread::sleep(Duration::from_millis(100));
                    if self.is_over(run) {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            Fault::TlsAlert => {
                send(stream, half)?;
                thread::sleep(BREATH);
                alert(stream)?;
            }
            _ => self.flood(fault, stream, run)?,
        }
        Ok(false)
    }

    /// Says nothing until the client goes away or the run is over.
    fn wait_for_the_end(&self, mut socket: &TcpStream, run: u64) -> io::Result<()> {
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let began = Instant::now();
        while !self.is_over(run) && began.elapsed() < 5 * PATIENCE {
            if matches!(socket.read(&mut [0; 4096]), Ok(0)) {
                break;
            }
        }
        Ok(())
    }

    fn flood(&self, fault: Fault, stream: &mut Stream, run: u64) -> io::Result<()> {
        let (start, piece) = if fault == Fault::EndlessHeaders {
            (String::from("HTTP/1.1 200 OK\r\n"), format!("X-More: {}\r\n", "x".repeat(1000)))
        } else {
            let item = r#"{"metadata":{"name":"a","namespace":"a","uid":"a","resourceVersion":"1"}},"#.repeat(800);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
            let body = r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":["#;
            let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
            (format!("{head}{}", chunk(body)), chunk(&item))
        };
        send(stream, start.as_bytes())?;
        let began = Instant::now();
        let mut sent = 0;
        while sent < FLOOD_BYTES && began.elapsed() < FLOOD_TIME && !self.is_over(run) {
            send(stream, piece.as_bytes())?;
            sent += piece.len();
            self.flooded.fetch_add(piece.len(), Ordering::SeqCst);
        }
        Ok(())
    }
}

/// Sends all of it now.
fn send(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    stream.get_mut().write_all(bytes)?;
    stream.get_mut().flush()
}

/// Lets the socket's end be a reset instead of a farewell.
fn reset(socket: &TcpStream) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// Sends the alert with which TLS answers a record that cannot be decrypted; it is fatal.
fn alert(stream: &mut Stream) -> io::Result<()> {
    let StreamOwned { conn, sock } = stream.get_mut();
    let mut record = vec![0x17, 3, 3, 0, 64];
    record.extend([0x5a; 64]);
    conn.read_tls(&mut record.as_slice())?;
    if conn.process_new_packets().is_ok() {
        return Err(io::Error::other("garbage was taken for a record"));
    }
    while conn.wants_write() {
        conn.write_tls(sock)?;
    }
    Ok(())
}

/// Asks the server; once more over a new connection, as it may have closed the old one while that was idle.
fn forward(server: &Endpoint, upstream: &mut Option<Connection>, request: &Request) -> io::Result<Response> {
    if let Some(mut connection) = upstream.take()
        && let Ok(response) = connection.send(request)
    {
        return Ok(keep(upstream, connection, response));
    }
    let mut connection = server.connect()?;
    let response = connection.send(request)?;
    Ok(keep(upstream, connection, response))
}

fn keep(upstream: &mut Option<Connection>, connection: Connection, response: Response) -> Response {
    if !response.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
        *upstream = Some(connection);
    }
    response
}

struct Known<'a> {
    shared: &'a Shared,
    request: &'a Request,
    upstream: &'a mut Option<Connection>,
}

impl Pages for Known<'_> {
    fn before(&mut self) -> Option<Response> {
        lock(&self.shared.run).pages.get(self.request.path()).cloned()
    }

    fn fetch(&mut self, target: &str) -> Option<Response> {
        let request = Request { target: target.to_owned(), ..self.request.clone() };
        let response = match &self.shared.api {
            Api::Canned(api) => api(&request),
            Api::Server(server) => forward(server, self.upstream, &request).ok()?,
        };
        (response.status == 200).then_some(response)
    }
}

/// The UID of a cluster.
pub fn uid_of(server: &ApiServer) -> String {
    let answer = server.endpoint("admin").get("/api/v1/namespaces/kube-system").unwrap();
    answer.value()["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// The same cluster, which says that it has another UID.
pub fn standing_in(server: &ApiServer, other: &str) -> Proxy {
    let (real, uid, other) = (server.endpoint("admin"), uid_of(server), other.to_owned());
    Proxy::canned(move |request: &Request| {
        let mut answer = real.ask(request).expect("the API server answers");
        if request.path() == "/api/v1/namespaces/kube-system" {
            answer.body = String::from_utf8(answer.body).unwrap().replace(&uid, &other).into_bytes();
        }
        answer
    })
}
