//! What can go wrong with one request, and what an answer looks like when it does.
//!
//! Here answers are made and changed; faults of the connection itself are carried out by
//! [`super::proxy`]. The shapes of errors are those of kube-apiserver and of what stands before it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::http::{Request, Response};

/// Declares the faults, so that the list of all of them cannot miss one.
macro_rules! faults {
    ($($(#[$what:meta])* $name:ident,)*) => {
        /// A fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault {
            $($(#[$what])* $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

faults! {
    /// The connection is reset instead of an answer.
    ResetBeforeHeaders,
    /// The connection is reset after the answer's head.
    ResetAfterHeaders,
    /// The connection is closed in the middle of the body, without TLS's own farewell.
    CutBody,
    /// Nothing is said.
    Stall,
    /// Head and half of the body, then nothing more.
    StallInBody,
    /// The right answer, a byte at a time, for its first second a millisecond apart.
    Drip,
    /// The right answer, a byte every 100 milliseconds: never silent for long, and not done for minutes.
    Trickle,
    /// 401 with a Status.
    Unauthorized,
    /// 403 with a Status that says who may not do what.
    Forbidden,
    /// 404 in plain text, as of a path that nobody serves.
    NotFoundText,
    /// 404 with a Status that names nothing.
    NotFoundBare,
    /// 404 with the Status of an object that is not there, in every detail.
    NotFoundNamed,
    /// 409 with a Status.
    Conflict,
    /// 410 of an expired continue token.
    Gone,
    /// 410 of an expired continue token, with a token that goes on with the present state.
    GoneFresh,
    /// 429 that says when to come back: in a second.
    TooManyRetryAfter,
    /// 429 that does not.
    TooMany,
    /// 500 with a Status.
    Internal,
    /// 502 with a page in HTML.
    BadGateway,
    /// 503 in plain text, as of an aggregated API that is down.
    Unavailable,
    /// 504 with a Status.
    GatewayTimeout,
    /// 302 to a page where a person could sign in.
    Redirect,
    /// 200 without a body.
    Empty,
    /// The first half of the right body, as if that were all.
    TruncatedJson,
    /// The right body, a byte of which is no UTF-8.
    InvalidUtf8,
    /// The right body, in which a second `metadata` names another object.
    DuplicateKeys,
    /// The right body, but a list's items are an object, and an object's version is a number.
    WrongShape,
    /// 200 with a page in HTML.
    WrongType,
    /// A body without end.
    EndlessBody,
    /// A head without end.
    EndlessHeaders,
    /// 200,000 brackets, one in the other.
    DeepJson,
    /// The list's items twice.
    DuplicatePage,
    /// The page before instead of this one.
    RepeatedPage,
    /// The next page instead of this one.
    MissingPage,
    /// This page as if it were the last.
    EarlyEnd,
    /// An object by another name; instead of a list, an empty one of another kind.
    OtherObject,
    /// A list whose items are null.
    NullItems,
    /// 200 with a Status that tells of a failure.
    StatusAsSuccess,
    /// Bytes that are said to be compressed and are none.
    GarbageGzip,
    /// The connection is closed, and in the next one the handshake too.
    TlsClosed,
    /// The connection is closed, and in the next one plain text answers the handshake.
    TlsGarbage,
    /// A fatal alert in the middle of the body.
    TlsAlert,
}

impl Fault {
    /// Whether it is no more than a delay: the answer that comes is the right one.
    pub fn is_harmless(self) -> bool {
        self == Self::Drip
    }

    /// Whether it lasts until the client gives up.
    pub fn is_patient(self) -> bool {
        matches!(self, Self::Stall | Self::StallInBody | Self::Trickle | Self::EndlessBody | Self::EndlessHeaders)
    }

    /// Whether it is made of the right answer, if that allows it.
    pub fn is_of_the_answer(self) -> bool {
        use Fault::{DuplicateKeys, DuplicatePage, EarlyEnd, GoneFresh, InvalidUtf8, MissingPage, NullItems};
        use Fault::{OtherObject, RepeatedPage, TruncatedJson, WrongShape};
        let page = matches!(self, DuplicatePage | RepeatedPage | MissingPage | EarlyEnd | NullItems | GoneFresh);
        page || matches!(self, DuplicateKeys | InvalidUtf8 | OtherObject | TruncatedJson | WrongShape)
    }

    /// Whether it needs a body to happen in.
    pub fn is_of_the_body(self) -> bool {
        matches!(self, Self::CutBody | Self::StallInBody | Self::TlsAlert)
    }

    /// Whether the handshake of a connection is what it spoils.
    pub fn is_of_the_handshake(self) -> bool {
        matches!(self, Self::TlsClosed | Self::TlsGarbage)
    }
}

/// What a path names, as the API server reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The group; empty for the core.
    pub group: String,
    /// The namespace, if it names one.
    pub namespace: Option<String>,
    /// The kind's plural.
    pub resource: String,
    /// The object; none for a list.
    pub name: Option<String>,
}

impl Place {
    /// Reads a path; None for what is no object or list, such as `/version` or a discovery document.
    pub fn of(path: &str) -> Option<Self> {
        let mut words = path.split('/').filter(|word| !word.is_empty()).map(String::from);
        let group = match words.next()?.as_str() {
            "api" => String::new(),
            "apis" => words.next()?,
            _ => return None,
        };
        words.next()?;
        let rest: Vec<String> = words.collect();
        let (namespace, rest) = match rest.as_slice() {
            [word, namespace, rest @ ..] if word == "namespaces" && !rest.is_empty() => (Some(namespace.clone()), rest),
            all => (None, all),
        };
        Some(Self { group, namespace, resource: rest.first()?.clone(), name: rest.get(1).cloned() })
    }

    /// `secrets` or `credentials.k0rdent.mirantis.com`, as messages have it.
    fn qualified(&self) -> String {
        if self.group.is_empty() { self.resource.clone() } else { format!("{}.{}", self.resource, self.group) }
    }

    fn details(&self) -> Value {
        let mut details = json!({"kind": self.resource});
        if !self.group.is_empty() {
            details["group"] = json!(self.group);
        }
        if let Some(name) = &self.name {
            details["name"] = json!(name);
        }
        details
    }
}

fn status(code: u16, reason: &str, message: &str, details: &Value) -> Response {
    let mut body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    if !details.is_null() {
        body["details"] = details.clone();
    }
    Response::json(code, &body)
}

/// The answer that needs no right answer to be made from; None for every other fault.
pub fn made(fault: Fault, request: &Request) -> Option<Response> {
    const PAGE: &str =
        "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in.</body></html>\n";
    let place = Place::of(request.path()).unwrap_or_default();
    let (what, name) = (place.qualified(), place.name.clone().unwrap_or_default());
    let none = Value::Null;
    Some(match fault {
        Fault::Unauthorized => status(401, "Unauthorized", "Unauthorized", &none),
        Fault::Forbidden => {
            let verb = if place.name.is_some() { "get" } else { "list" };
            let scope = match &place.namespace {
                Some(namespace) => format!("in the namespace \"{namespace}\""),
                None => String::from("at the cluster scope"),
            };
            let (resource, group) = (&place.resource, &place.group);
            let subject = if name.is_empty() { what } else { format!("{what} \"{name}\"") };
            let message = format!(
                "{subject} is forbidden: User \"pouch\" cannot {verb} resource \"{resource}\" in API group \"{group}\" {scope}"
            );
            status(403, "Forbidden", &message, &place.details())
        }
        Fault::NotFoundText => Response::new(404, "text/plain; charset=utf-8", "404 page not found\n"),
        Fault::NotFoundBare => status(404, "NotFound", "the server could not find the requested resource", &none),
        Fault::NotFoundNamed => status(404, "NotFound", &format!("{what} \"{name}\" not found"), &place.details()),
        Fault::Conflict => {
            let message = format!(
                "Operation cannot be fulfilled on {what} \"{name}\": the object has been modified; please apply \
                 your changes to the latest version and try again"
            );
            status(409, "Conflict", &message, &place.details())
        }
        Fault::Gone => status(410, "Expired", EXPIRED, &none),
        Fault::GoneFresh => {
            let mut gone = status(410, "Expired", EXPIRED, &none);
            let mut body = gone.value();
            body["metadata"]["continue"] = json!(fresh_token(request.parameter("continue")?)?);
            gone.body = body.to_string().into_bytes();
            gone
        }
        Fault::TooManyRetryAfter => too_many().with("Retry-After", "1"),
        Fault::TooMany => too_many(),
        Fault::Internal => {
            let details = json!({"causes": [{"message": "etcdserver: leader changed"}]});
            status(500, "InternalError", "Internal error occurred: etcdserver: leader changed", &details)
        }
        Fault::BadGateway => Response::new(502, "text/html", "<html><body><h1>502 Bad Gateway</h1></body></html>\n"),
        Fault::Unavailable => Response::new(503, "text/plain; charset=utf-8", "service unavailable\n"),
        Fault::GatewayTimeout => {
            let message = "Timeout: request did not complete within the allotted timeout";
            status(504, "Timeout", message, &json!({}))
        }
        Fault::Redirect => Response::new(302, "text/html", PAGE).with("Location", "https://sign-in.example.com/"),
        Fault::Empty => Response::new(200, "application/json", ""),
        Fault::WrongType => Response::new(200, "text/html; charset=utf-8", PAGE),
        Fault::DeepJson => Response::new(200, "application/json", ["[".repeat(200_000), "]".repeat(200_000)].concat()),
        Fault::StatusAsSuccess => {
            let mut response = status(500, "InternalError", "Internal error occurred", &none);
            response.status = 200;
            response
        }
        Fault::GarbageGzip => {
            let garbage: Vec<u8> = [0x1f, 0x8b, 8, 0].into_iter().chain((0..200).map(|n: u8| n ^ 0x5a)).collect();
            Response::new(200, "application/json", garbage).with("Content-Encoding", "gzip")
        }
        _ => return None,
    })
}

/// What kube-apiserver says of a continue token that etcd has compacted away.
const EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start \
     a new list without the continue parameter, or use the continue token in this response to retrieve the remainder \
     of the results. Continuing with the provided token results in an inconsistent list - objects that were created, \
     modified, or deleted between the time the first chunk was returned and now may show up in the list.";

fn too_many() -> Response {
    Response::new(429, "text/plain; charset=utf-8", "Too many requests, please try again later.\n")
}

/// A continue token that goes on at the same place in whatever the present state is.
///
/// A token is the unpadded base64 of `{"v": "meta.k8s.io/v1", "rv": N, "start": key}`; an N of -1 asks for that:
/// <https://github.com/kubernetes/apiserver/blob/master/pkg/storage/continue.go>.
pub fn fresh_token(token: &str) -> Option<String> {
    let token = token.trim_end_matches("%3D").trim_end_matches('=');
    let mut value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    value.get("rv")?;
    value["rv"] = json!(-1);
    Some(URL_SAFE_NO_PAD.encode(value.to_string()))
}

/// Where a changed answer gets what the right one does not hold.
pub trait Pages {
    /// The page of this list that was answered before.
    fn before(&mut self) -> Option<Response>;
    /// The answer to another target, from the API itself.
    fn fetch(&mut self, target: &str) -> Option<Response>;
}

/// The right answer made wrong; None where this fault cannot be made of this answer, or is no such fault.
pub fn changed(fault: Fault, request: &Request, right: &Response, pages: &mut impl Pages) -> Option<Response> {
    if right.status != 200 {
        return None;
    }
    let mut body = right.value();
    let next = body["metadata"]["continue"].as_str().filter(|token| !token.is_empty()).map(String::from);
    let has_items = body["items"].as_array().is_some_and(|items| !items.is_empty());
    match fault {
        Fault::TruncatedJson => {
            let half = right.body.get(..right.body.len() / 2)?;
            return Some(Response { body: half.to_vec(), ..right.clone() });
        }
        Fault::InvalidUtf8 => {
            let mut bytes = right.body.clone();
            bytes.insert(bytes.iter().rposition(|byte| *byte == b'"')?, 0xff);
            return Some(Response { body: bytes, ..right.clone() });
        }
        Fault::DuplicateKeys => {
            let text = std::str::from_utf8(&right.body).ok()?.trim_end().strip_suffix('}')?;
            let body = format!(r#"{text},"metadata":{{"name":"not-this","resourceVersion":"1"}}}}"#).into_bytes();
            return Some(Response { body, ..right.clone() });
        }
        Fault::RepeatedPage => return request.parameter("continue").and_then(|_| pages.before()),
        Fault::MissingPage => {
            let token = next?;
            let others = request.query().split('&').filter(|pair| !pair.starts_with("continue="));
            // The bytes of a token are those of unpadded base64 for URLs.
            let own = format!("continue={token}");
            let query: Vec<&str> = others.filter(|pair| !pair.is_empty()).chain([own.as_str()]).collect();
            return pages.fetch(&format!("{}?{}", request.path(), query.join("&")));
        }
        Fault::DuplicatePage if has_items => {
            let items = body["items"].as_array_mut()?;
            items.extend_from_within(..);
        }
        Fault::EarlyEnd => {
            next?;
            let metadata = body["metadata"].as_object_mut()?;
            metadata.remove("continue");
            metadata.remove("remainingItemCount");
        }
        Fault::NullItems if has_items => {
            body["items"] = Value::Null;
            body["metadata"] = json!({"resourceVersion": body["metadata"]["resourceVersion"]});
        }
        Fault::WrongShape if body.get("items").is_some() => body["items"] = json!({"0": body["items"]}),
        Fault::WrongShape if body["metadata"].is_object() => body["metadata"]["resourceVersion"] = json!(1),
        Fault::OtherObject if body.get("items").is_some() => {
            let version = body["metadata"]["resourceVersion"].clone();
            body =
                json!({"kind": "LeaseList", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": []});
        }
        Fault::OtherObject if body["metadata"]["name"].is_string() => {
            let name = format!("not-{}", body["metadata"]["name"].as_str()?);
            body["metadata"]["name"] = json!(name);
            body["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000");
        }
        _ => return None,
    }
    Some(Response { body: body.to_string().into_bytes(), ..right.clone() })
}
