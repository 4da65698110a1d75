//! The link to one API server: a GET goes out, or rarely a request that writes, an answer comes back, within bounds.
//!
//! Every request is bounded in time and size, trouble of every kind is tried again with growing pauses, and all
//! requests together are bounded in time too. Bodies are never logged and never part of an error: what a
//! library says about them is dropped here. What an answer means is not known here.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use pouch_core::node::{Interner, Node, VALUE_BYTES, values_at_most};
use tracing::{debug, warn};

use super::kubeconfig::Access;
use super::request::{self, Garbled};
use crate::ambient::Timer;
use crate::error::Failure;

/// The most bytes of one page of a list.
const MOST_OF_LIST: usize = 64 << 20;

/// The most bytes of another answer: the API takes no object larger than 3 MiB, and many are under way at
/// once. <https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/server/config.go>
const MOST_OF_OBJECT: usize = 8 << 20;

/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How often a request looks whether another one has renewed the credentials.
const GLANCE: Duration = Duration::from_millis(20);

/// The user agent, as the API server's audit log shows it.
pub(super) const AGENT: &str = concat!("pouch/", env!("CARGO_PKG_VERSION"));

/// How patient a link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// How long one request may take, from the first byte sent to the last one read.
    pub request: Duration,
    /// How long all requests of a run may take together.
    pub whole: Duration,
    /// The setting that says so.
    pub setting: &'static str,
    /// The first pause before a request is made again; the next ones are twice as long each.
    pub pause: Duration,
    /// How often a request is made at most.
    pub tries: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            whole: Duration::from_secs(600),
            setting: "--request-timeout",
            pause: Duration::from_millis(200),
            tries: 5,
        }
    }
}

impl Patience {
    /// Patience with this much time for one request, and twenty times as much for all.
    pub fn with_request(request: Duration) -> Self {
        Self { request, whole: request.saturating_mul(20), ..Self::default() }
    }
}

/// What an API server answers.
pub enum Reply {
    /// What was asked for.
    Found(Node),
    /// 404, with whatever it says.
    NotFound(Option<Node>),
    /// 403.
    Forbidden,
    /// 410: a list's state is too old to go on with.
    Gone,
}

impl Reply {
    /// The node that was asked for; none if it is not there.
    pub(super) fn found(self) -> Result<Option<Node>, Broken> {
        match self {
            Reply::Found(node) => Ok(Some(node)),
            Reply::NotFound(_) => Ok(None),
            Reply::Forbidden => Err(Broken::Status(403)),
            Reply::Gone => Err(Broken::Status(410)),
        }
    }
}

/// What is asked for, which decides how long an answer may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// One object, or what a server serves.
    Object,
    /// A page of a list.
    List,
    /// A page of a list of what says which objects have arrived in guest clusters.
    Arrivals,
    /// A page of a list of objects that describe clusters.
    Inventory,
    /// A page of a list of ClusterResourceSets.
    ResourceSets,
}

/// A request that may be sent twice.
pub(super) struct Parcel<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) accept: &'static str,
    pub(super) content: &'static str,
    pub(super) body: &'a str,
    /// Whether a conflict is one of two writers at once, which passes.
    pub(super) conflicts_pass: bool,
}

/// An answer, whatever it says.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) node: Node,
}

/// Why there is no answer, after all attempts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// The server cannot be reached, or the connection was lost.
    Connection(&'static str),
    /// It did not answer in time.
    TimedOut,
    /// It answered with an error of its own.
    Status(u16),
    /// It answered something that cannot be used.
    Garbled(&'static str),
    /// Its answer is too long.
    TooLong,
    /// More memory is needed for what it holds than there is for it.
    NoRoom {
        /// The bytes that there are.
        bytes: usize,
        /// True if they are its part of `limits.memory`. Otherwise they are all that the run may take.
        is_part: bool,
    },
    /// It does not accept the credentials.
    Unauthorized,
    /// All requests together took longer than they may.
    Late {
        /// The setting that bounds them.
        setting: &'static str,
        /// The last answer that was none.
        last: Option<u16>,
    },
    /// The credentials cannot be renewed.
    Access(Failure),
}

impl From<Garbled> for Broken {
    fn from(garbled: Garbled) -> Self {
        Broken::Garbled(garbled.0)
    }
}

/// One API server.
pub struct Link {
    access: Access,
    client: RefCell<kube::Client>,
    /// How many times the credentials were renewed.
    renewed: Cell<usize>,
    /// Whether they are being renewed.
    renewing: Cell<bool>,
    patience: Patience,
    /// The time that all requests took so far: that of other sources does not count.
    spent: Cell<Duration>,
    /// The last status that was no answer.
    last: Cell<Option<u16>>,
    interner: RefCell<Interner>,
    random: Cell<u64>,
    requests: Cell<usize>,
    /// The bytes of memory that answers may take.
    room: Cell<usize>,
    /// The bytes of answers that are being read.
    under_way: Cell<usize>,
}

impl Link {
    /// Makes a link; nothing is sent yet. Must be called inside a runtime.
    pub(super) fn new(access: Access, patience: Patience, seed: u64) -> Result<Self, Failure> {
        let client = access.client()?;
        Ok(Self {
            access,
            client: RefCell::new(client),
            renewed: Cell::new(0),
            renewing: Cell::new(false),
            patience,
            spent: Cell::new(Duration::ZERO),
            last: Cell::new(None),
            interner: RefCell::new(Interner::new()),
            random: Cell::new(seed),
            requests: Cell::new(0),
            room: Cell::new(usize::MAX),
            under_way: Cell::new(0),
        })
    }

    /// Sets how many bytes of memory answers may take from now on.
    pub(super) fn set_room(&self, bytes: usize) {
        self.room.set(bytes);
    }

    /// The bytes of memory that answers may take.
    pub(super) fn room(&self) -> usize {
        self.room.get()
    }

    /// How many requests went out.
    pub(super) fn requests(&self) -> usize {
        self.requests.get()
    }

    /// Does some work, unless the time for all requests ends first.
    ///
    /// # Errors
    /// [`Broken::Late`], or what the work says.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = Result<T, Broken>>) -> Result<T, Broken> {
        let left = self.patience.whole.saturating_sub(self.spent.get());
        let timer = Timer::start();
        let done = tokio::time::timeout(left, work).await;
        self.spent.set(self.spent.get().saturating_add(timer.elapsed()));
        done.unwrap_or_else(|_| Err(Broken::Late { setting: self.patience.setting, last: self.last.get() }))
    }

    /// Notes trouble that may be tried again.
    fn tell(&self, path: &str, tried: u32, trouble: &Broken) {
        if let Broken::Status(status) = trouble {
            self.last.set(Some(*status));
        }
        warn!(path, tried, "no answer: {}", trouble.what());
    }

    /// GETs a path, and tries again after trouble; `meant` decides whether a reply is an answer.
    pub(super) async fn get<T>(
        &self,
        path: &str,
        accept: &str,
        ask: Ask,
        meant: impl Fn(Reply) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        let mut tried = 0_u32;
        loop {
            tried = tried.saturating_add(1);
            let renewed = self.renewed.get();
            let (trouble, wait) = match self.once(path, accept, ask).await {
                Ok(reply) => match meant(reply) {
                    Ok(answer) => {
                        debug!(path, tried, "answered");
                        return Ok(answer);
                    }
                    Err(trouble) => (trouble, None),
                },
                Err(trouble) => trouble,
            };
            self.tell(path, tried, &trouble);
            match trouble {
                // Another request may have renewed them already.
                Broken::Unauthorized if renewed < self.renewed.get() => {}
                Broken::Unauthorized if renewed < 2 => self.renew().await?,
                // Asking again makes nobody allowed; a list that is too long is asked for in smaller pages.
                Broken::TooLong if ask != Ask::Object => return Err(trouble),
                Broken::Unauthorized | Broken::Status(403) | Broken::Access(_) | Broken::Late { .. } => {
                    return Err(trouble);
                }
                _ => {}
            }
            if tried >= self.patience.tries {
                return Err(trouble);
            }
            self.pause(tried, wait).await;
        }
    }

    /// POSTs a YAML document once, and returns the answer's status; the answer's body is not read. The request
    /// is never sent again by itself: nobody knows whether a request without an answer was obeyed.
    pub(super) async fn post(&self, path: &str, document: &str) -> Result<u16, Broken> {
        self.requests.update(|requests| requests + 1);
        let request = http::Request::post(path)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/yaml")
            .header(USER_AGENT, AGENT)
            .body(Body::from(document.as_bytes().to_vec()))
            .map_err(|_| Broken::Garbled("the request cannot be written as HTTP"))?;
        let client = self.client.borrow().clone();
        let answer = tokio::time::timeout(self.patience.request, client.send(request)).await;
        let answer = answer.map_err(|_| Broken::TimedOut)?.map_err(|error| broken(&error))?;
        debug!(path, "answered");
        match answer.status() {
            StatusCode::UNAUTHORIZED => Err(Broken::Unauthorized),
            status => Ok(status.as_u16()),
        }
    }

    /// Sends what may be sent twice, and tries again after trouble. Every answer but 401, 429 and the server's own faults
    /// counts, refusals too.
    pub(super) async fn send(&self, parcel: &Parcel<'_>) -> Result<Answered, Broken> {
        let mut tried = 0_u32;
        loop {
            tried = tried.saturating_add(1);
            let renewed = self.renewed.get();
            let (trouble, wait) = match self.send_once(parcel).await {
                Ok(answered) if answered.status == 409 && parcel.conflicts_pass && tried < self.patience.tries => {
                    (Broken::Status(409), None)
                }
                Ok(answered) => {
                    debug!(path = parcel.path, tried, "answered");
                    return Ok(answered);
                }
                Err(trouble) => trouble,
            };
            self.tell(parcel.path, tried, &trouble);
            match trouble {
                Broken::Unauthorized if renewed < self.renewed.get() => {}
                Broken::Unauthorized if renewed < 2 => self.renew().await?,
                Broken::Unauthorized | Broken::Access(_) | Broken::Late { .. } | Broken::TooLong => {
                    return Err(trouble);
                }
                _ => {}
            }
            if tried >= self.patience.tries {
                return Err(trouble);
            }
            self.pause(tried, wait).await;
        }
    }

    /// Sends it once; trouble comes with the wait that the server asks for, if any.
    async fn send_once(&self, parcel: &Parcel<'_>) -> Result<Answered, (Broken, Option<Duration>)> {
        self.requests.update(|requests| requests + 1);
        let plain = |trouble| (trouble, None);
        let request = http::Request::builder()
            .method(parcel.method.clone())
            .uri(parcel.path)
            .header(ACCEPT, parcel.accept)
            .header(CONTENT_TYPE, parcel.content)
            .header(USER_AGENT, AGENT)
            .body(Body::from(parcel.body.as_bytes().to_vec()));
        let request = request.map_err(|_| plain(Broken::Garbled("the request cannot be written as HTTP")))?;
        let client = self.client.borrow().clone();
        let exchange = async {
            let response = client.send(request).await.map_err(|error| plain(broken(&error)))?;
            let (head, body) = response.into_parts();
            let status = head.status;
            if status == StatusCode::UNAUTHORIZED {
                return Err(plain(Broken::Unauthorized));
            }
            if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
                let wait = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                return Err((Broken::Status(status.as_u16()), wait.map(Duration::from_secs)));
            }
            let is_json =
                head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
            let is_plain = head.headers.get(CONTENT_ENCODING).is_none_or(|how| how == "identity");
            if !is_json || !is_plain {
                return Err(plain(Broken::Garbled(
                    "the answer is not JSON; something other than an API server answers",
                )));
            }
            let answer = self.collected(body, MOST_OF_OBJECT).await.map_err(plain)?;
            let node = request::parse(&answer.bytes, &mut self.interner.borrow_mut());
            Ok(Answered { status: status.as_u16(), node: node.map_err(|garbled| plain(garbled.into()))? })
        };
        tokio::time::timeout(self.patience.request, exchange).await.unwrap_or(Err(plain(Broken::TimedOut)))
    }

    /// Reads a body to its end, unless it is too long: by itself, or with others that are read, or for what its text may
    /// become.
    async fn collected(&self, mut body: Body, most: usize) -> Result<Answer<'_>, Broken> {
        let mut answer = Answer { bytes: Vec::new(), under_way: &self.under_way };
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| CUT)?;
            let data = frame.data_ref().map(|data| &**data).unwrap_or_default();
            add(&mut answer.bytes, data, most)?;
            self.under_way.set(self.under_way.get().saturating_add(data.len()));
            if self.under_way.get() > self.room.get() / 2 {
                return Err(Broken::TooLong);
            }
        }
        let is_sure = answer.bytes.len().saturating_mul(VALUE_BYTES) <= self.room.get();
        match is_sure || values_at_most(&answer.bytes).saturating_mul(VALUE_BYTES) <= self.room.get() {
            true => Ok(answer),
            false => Err(Broken::TooLong),
        }
    }

    /// Asks for the credentials anew: a token that expired, a plugin that gives another one.
    ///
    /// A plugin takes its time, so it runs beside the other requests, and once for all of them.
    async fn renew(&self) -> Result<(), Broken> {
        if self.renewing.replace(true) {
            while self.renewing.get() {
                tokio::time::sleep(GLANCE).await;
            }
            return Ok(());
        }
        let access = self.access.clone();
        let renewed = tokio::task::spawn_blocking(move || access.renewed()).await;
        self.renewing.set(false);
        let access = renewed.map_err(|_| Broken::Connection("its credentials could not be renewed"))?;
        *self.client.borrow_mut() = access.and_then(|access| access.client()).map_err(Broken::Access)?;
        self.renewed.update(|renewed| renewed + 1);
        Ok(())
    }

    /// Pauses after so many tries, each time twice as long; after the wait that the server asks for, if it does.
    async fn pause(&self, tried: u32, wait: Option<Duration>) {
        let times = 2_u32.saturating_pow(tried.saturating_sub(1));
        // Some by chance in any case: many were told to wait as long.
        let pause = self.around(self.patience.pause.saturating_mul(times));
        let wait = wait.unwrap_or_default().min(LONGEST_WAIT);
        tokio::time::sleep(wait.saturating_add(pause)).await;
    }

    /// A pause, half of it by chance, so that clients that failed together do not return together.
    fn around(&self, pause: Duration) -> Duration {
        // <https://prng.di.unimi.it/splitmix64.c>; what is random here decides only when.
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let half = pause / 2;
        let share = u32::try_from(mixed >> 40).unwrap_or(0) % 1000;
        half.saturating_add(half.saturating_mul(share) / 1000)
    }

    /// Makes the request once; trouble comes with the wait that the server asks for, if any.
    async fn once(&self, path: &str, accept: &str, ask: Ask) -> Result<Reply, (Broken, Option<Duration>)> {
        self.requests.update(|requests| requests + 1);
        let plain = |trouble| (trouble, None);
        let request = http::Request::get(path).header(ACCEPT, accept).header(USER_AGENT, AGENT).body(Body::empty());
        let request = request.map_err(|_| plain(Broken::Garbled("the request cannot be written as HTTP")))?;
        let client = self.client.borrow().clone();
        let exchange = async {
            let response = client.send(request).await.map_err(|error| plain(broken(&error)))?;
            let (head, body) = response.into_parts();
            let status = head.status;
            if status == StatusCode::UNAUTHORIZED {
                return Err(plain(Broken::Unauthorized));
            }
            if status == StatusCode::FORBIDDEN {
                return Ok(Reply::Forbidden);
            }
            if status == StatusCode::GONE {
                return Ok(Reply::Gone);
            }
            if status != StatusCode::OK && status != StatusCode::NOT_FOUND {
                let wait = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                return Err((Broken::Status(status.as_u16()), wait.map(Duration::from_secs)));
            }
            let is_json =
                head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
            let is_plain = head.headers.get(CONTENT_ENCODING).is_none_or(|how| how == "identity");
            if !is_json || !is_plain {
                return match status {
                    StatusCode::NOT_FOUND => Ok(Reply::NotFound(None)),
                    _ => Err(plain(Broken::Garbled(
                        "the answer is not JSON; something other than an API server answers",
                    ))),
                };
            }
            let most = match ask {
                Ask::Object => MOST_OF_OBJECT,
                Ask::List | Ask::Arrivals | Ask::Inventory | Ask::ResourceSets => MOST_OF_LIST,
            };
            let answer = self.collected(body, most).await.map_err(plain)?;
            let bytes = &answer.bytes;
            let node = match ask {
                Ask::Object => request::parse(bytes, &mut self.interner.borrow_mut()),
                Ask::List => request::parse_list(bytes, &mut self.interner.borrow_mut()),
                Ask::Arrivals => request::parse_arrivals(bytes, &mut self.interner.borrow_mut()),
                Ask::Inventory => request::parse_inventory(bytes, &mut self.interner.borrow_mut()),
                Ask::ResourceSets => request::parse_resource_sets(bytes, &mut self.interner.borrow_mut()),
            };
            match (node, status) {
                (Ok(node), StatusCode::OK) => Ok(Reply::Found(node)),
                (node, StatusCode::NOT_FOUND) => Ok(Reply::NotFound(node.ok())),
                (Err(garbled), _) => Err(plain(garbled.into())),
                (Ok(_), status) => Err(plain(Broken::Status(status.as_u16()))),
            }
        };
        tokio::time::timeout(self.patience.request, exchange).await.unwrap_or(Err(plain(Broken::TimedOut)))
    }
}

/// An answer that is being read.
struct Answer<'l> {
    bytes: Vec<u8>,
    under_way: &'l Cell<usize>,
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        self.under_way.set(self.under_way.get().saturating_sub(self.bytes.len()));
    }
}

/// The connection ended before the answer did.
pub(super) const CUT: Broken = Broken::Connection("the connection was lost in the middle of an answer");

/// Adds a part of an answer, unless that makes it too long.
pub(super) fn add(bytes: &mut Vec<u8>, part: &[u8], most: usize) -> Result<(), Broken> {
    if bytes.len() + part.len() > most {
        return Err(Broken::TooLong);
    }
    bytes.extend_from_slice(part);
    Ok(())
}

/// What an error of the client means. Its own words may hold what a server sent, and are dropped.
pub(super) fn broken(error: &kube::Error) -> Broken {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>()
            && let Some(what) = of_io(error)
        {
            return Broken::Connection(what);
        }
        cause = error.source();
    }
    Broken::Connection("the connection was lost")
}

/// What an input or output error means; none where a cause below it says more.
fn of_io(error: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind;
    // rustls hands its errors on inside of these; their words are its own, and name no peer's bytes.
    let words = error.get_ref().map(ToString::to_string).unwrap_or_default();
    for (mark, what) in [
        ("UnknownIssuer", "the server's certificate is signed by an authority that the kubeconfig does not name"),
        ("not valid for name", "the server's certificate is made out to another name"),
        ("NotValidForName", "the server's certificate is made out to another name"),
        ("Expired", "the server's certificate is expired"),
        ("expired", "the server's certificate is expired"),
        ("invalid peer certificate", "the server's certificate cannot be trusted"),
        ("BadCertificate", "the server refuses the client certificate"),
        ("CertificateRequired", "the server wants a client certificate"),
        ("received fatal alert", "the server ended the TLS handshake"),
        ("failed to lookup address", "the server's name cannot be resolved"),
        ("corrupt message", "the server does not speak TLS as it should"),
    ] {
        if words.contains(mark) {
            return Some(what);
        }
    }
    match error.kind() {
        ErrorKind::ConnectionRefused => Some("the connection was refused: nothing listens there"),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            Some("the connection was reset")
        }
        ErrorKind::UnexpectedEof => Some("the connection was closed too early"),
        ErrorKind::TimedOut => Some("the connection could not be made in time"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some("there is no way to the server"),
        _ => None,
    }
}
