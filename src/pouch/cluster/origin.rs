//! An origin: one server of HTTP that is no API server, such as a registry.
//!
//! A request goes out and an answer comes back, within bounds of time and size. No redirect is followed and no request
//! is sent again: what an answer means, and whom credentials are for, is not known here. What a library says of trouble
//! is dropped here, and bodies are never logged.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue, USER_AGENT};
use http_body_util::BodyExt as _;
use kube::client::Body;
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout, timeout_at};
use zeroize::Zeroizing;

use super::Background;
use super::kubeconfig::{proxy, shown};
use super::link::{AGENT, Broken, CUT, Patience, add, broken};
use crate::ambient::Ambient;
use crate::error::{Failure, said};

/// How slow a connection may be that sends or receives at all, in bytes a second.
const SLOWEST: u64 = 16 << 10;

/// How often an exchange looks whether it should end.
const GLANCE: Duration = Duration::from_millis(50);

/// One server.
pub struct Origin {
    // Dropped before the runtime, whose end stops what the client has under way.
    client: kube::Client,
    runtime: Background,
    request: Duration,
}

/// What is asked.
#[derive(Clone)]
pub struct Question<'a> {
    /// The method.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// Further headers; none of them is secret.
    pub headers: &'a [(&'static str, &'a str)],
    /// The header `Authorization`.
    pub authorization: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// What is answered.
pub struct Answered {
    /// The status.
    pub status: u16,
    headers: HeaderMap,
    /// The body.
    pub body: Zeroizing<Vec<u8>>,
}

impl Answered {
    /// The first header of a name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// All headers of a name that are text.
    pub fn headers(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok()).collect()
    }
}

impl Origin {
    /// Gets ready to ask a server by its scheme, host and port, such as `https://registry.example.com:5000`; the
    /// environment's proxy stands between where it says so. `request` is how long nothing may move.
    ///
    /// # Errors
    /// Where the URL, or the proxy's, cannot be used.
    pub fn new(url: &str, request: Duration, ambient: &Ambient) -> Result<Self, Failure> {
        let unusable = || Failure::usage(format!("{url} is no URL of a server"), "Correct the registry's name.");
        let server: http::Uri = url.parse().map_err(|_| unusable())?;
        let mut config = kube::Config::new(server);
        config.proxy_url = proxy(&config.cluster_url, ambient)?;
        if let Some(proxy) = config.proxy_url.as_ref().filter(|proxy| proxy.scheme_str() != Some("http")) {
            let message = format!("the proxy {} is not one that is reached by plain HTTP", shown(proxy));
            return Err(Failure::usage(message, "Use one such as http://proxy:3128; what goes through it is TLS."));
        }
        config.default_retry = false;
        config.connect_timeout = Some(request.min(Duration::from_secs(10)));
        // Whoever sends is at work, and so is whoever receives.
        config.read_timeout = Some(request);
        config.write_timeout = Some(request);
        config.reset_reader_on_write = true;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            Failure::unavailable(format!("the network cannot be used: {}", said(&error)), "See ulimit -n.")
        })?;
        let client = {
            let _inside = runtime.enter();
            kube::Client::try_from(config).map_err(|_| {
                Failure::unavailable(
                    "the authorities that this machine trusts cannot be read",
                    "Install the package ca-certificates, or name a file of certificates in SSL_CERT_FILE.",
                )
            })?
        };
        Ok(Self { client, runtime: Background(Some(runtime)), request })
    }

    /// Asks once; the body of the answer has at most so many bytes. Where `is_over` comes true meanwhile, it is
    /// [`Broken::Late`].
    ///
    /// # Errors
    /// Where there is no answer, none in time, or a longer one.
    pub fn ask(&self, question: &Question<'_>, most: usize, is_over: impl Fn() -> bool) -> Result<Answered, Broken> {
        let unwritable = || Broken::Garbled("the request cannot be written as HTTP");
        let Question { method, path, headers, authorization, body } = question;
        let mut request = http::Request::builder().method(*method).uri(path).header(USER_AGENT, AGENT);
        for (name, value) in *headers {
            request = request.header(HeaderName::from_static(name), *value);
        }
        if let Some(text) = authorization {
            let mut value = HeaderValue::from_str(text).map_err(|_| unwritable())?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(Body::from(body.to_vec())).map_err(|_| unwritable())?;
        let sending = self.request.saturating_add(at_slowest(body.len()));
        let client = self.client.clone();
        let exchange = async {
            let sent = timeout(sending, client.send(request)).await.map_err(|_| Broken::TimedOut)?;
            let (head, body) = sent.map_err(|error| broken(&error))?.into_parts();
            let body = Zeroizing::new(self.received(body, most).await?);
            Ok(Answered { status: head.status.as_u16(), headers: head.headers, body })
        };
        let over = async {
            while !is_over() {
                sleep(GLANCE).await;
            }
        };
        let first = async {
            match select(pin!(exchange), pin!(over)).await {
                Either::Left((done, _)) => done,
                Either::Right(_) => Err(Broken::Late { setting: Patience::default().setting, last: None }),
            }
        };
        self.runtime.block_on(first).map_err(|trouble| match trouble {
            Broken::Connection(what) if what.contains("kubeconfig") => {
                Broken::Connection("its certificate is signed by an authority that this machine does not trust")
            }
            // Nothing moved for that long, be it before the first byte or after.
            Broken::Connection(what) if what.contains("in time") => Broken::TimedOut,
            other => other,
        })
    }

    /// Reads a body to its end, unless it is too long. Whoever sends a byte now and then sends nothing: time is given
    /// for what came, and for no more than one silence ahead.
    async fn received(&self, mut body: Body, most: usize) -> Result<Vec<u8>, Broken> {
        let mut bytes = Vec::new();
        let ahead = || sleep(self.request).deadline();
        let mut until = ahead();
        while let Some(frame) = timeout_at(until, body.frame()).await.map_err(|_| Broken::TimedOut)? {
            let frame = frame.map_err(|_| CUT)?;
            let part: &[u8] = frame.data_ref().map(|data| &**data).unwrap_or_default();
            add(&mut bytes, part, most)?;
            until = until.checked_add(at_slowest(part.len())).map_or_else(ahead, |until| until.min(ahead()));
        }
        Ok(bytes)
    }
}

/// How long so many bytes take on a connection that is as slow as may be.
fn at_slowest(bytes: usize) -> Duration {
    Duration::from_millis(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(1000) / SLOWEST)
}
