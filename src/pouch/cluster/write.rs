//! Objects that are applied to a cluster, and taken away from it.
//!
//! Both may be sent twice: a manifest that is applied again changes nothing, and a deletion names the very state that
//! it is for. Of a refusal only its reason and the fields that it names are kept, because its message may quote values.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use http::Method;
use pouch_core::name::ObjectKey;
use pouch_core::node::Node;
use pouch_core::yaml::emit::{Tree, emit};

use super::link::{Answered, Parcel};
use super::request::{Garbled, Portion, Resource, Trial, object, unstamped};
use super::{Broken, Cluster, FAILURES, Fate, IN_FLIGHT};

/// The media type of a manifest that is applied on the server's side.
const APPLY: &str = "application/apply-patch+yaml";

/// The reasons that Kubernetes gives: a webhook may write there what it likes, values too.
/// <https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go>
const REASONS: [&str; 19] = [
    "AlreadyExists",
    "BadRequest",
    "Conflict",
    "Expired",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "RequestEntityTooLarge",
    "ServerTimeout",
    "ServiceUnavailable",
    "StoreReadError",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
];

/// The cause that an API server gives where the namespace of a new object is being deleted.
const TERMINATING: &str = "NamespaceTerminating";

/// How long requests that are under way are waited for where the run is to end.
const GRACE: Duration = Duration::from_secs(10);

/// How often it is looked whether the run is to end.
const GLANCE: Duration = Duration::from_millis(100);

/// The most fields of a refusal that are kept.
const MOST_FIELDS: usize = 8;

/// A manifest to apply.
pub struct Applied<'a> {
    /// Its resource, in the version that it is written in.
    pub resource: Resource,
    /// What it is.
    pub key: &'a ObjectKey,
    /// Who it is applied as.
    pub manager: &'a str,
    /// The manifest.
    pub text: &'a str,
}

/// An object to delete, in the very state that it was found in.
pub struct Deleted<'a> {
    /// Its resource.
    pub resource: Resource,
    /// What it is.
    pub key: &'a ObjectKey,
    /// Its UID.
    pub uid: &'a str,
    /// Its resourceVersion.
    pub version: &'a str,
}

/// What came of one object.
pub enum Written {
    /// The server did it: whether the object was made, and what it answered.
    Done {
        /// Whether the object was not there before.
        is_new: bool,
        /// The object, or its metadata; a `Status` where it is gone.
        answer: Node,
    },
    /// The server will not.
    Refused(Refusal),
    /// The server fails to answer.
    Failed(Broken),
}

/// Why a server will not do something.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// Kubernetes' word for it, such as `Invalid`; empty where there is none.
    pub reason: String,
    /// The paths of the fields that it is about, as the server wrote them.
    pub fields: Vec<String>,
    /// Whether the object's namespace is being deleted.
    pub is_terminating: bool,
}

impl Refusal {
    fn of(answered: &Answered) -> Self {
        let is_known = |text: &&str| REASONS.contains(text);
        let causes = answered.node.at(&["details", "causes"]).map(Node::items).unwrap_or_default();
        let fields = causes.iter().filter_map(|cause| cause.str_at(&["field"])).map(str::to_owned);
        Self {
            status: answered.status,
            reason: answered.node.str_at(&["reason"]).filter(is_known).unwrap_or_default().to_owned(),
            fields: fields.take(MOST_FIELDS).collect(),
            is_terminating: causes.iter().any(|cause| cause.str_at(&["reason"]) == Some(TERMINATING)),
        }
    }
}

/// What came of several objects, by their place in what was asked for, and the trouble that ended it early.
pub type Outcomes = (Vec<(usize, Written)>, Option<Broken>);

impl Cluster {
    /// Applies manifests, many at a time. `seen` is told of each answer.
    pub fn apply(&self, applied: &[Applied<'_>], trial: Trial, form: Portion, seen: &dyn Fn()) -> Outcomes {
        let fate = Fate::default();
        let work = applied.iter().map(|one| {
            let fate = &fate;
            async move {
                let path = one.resource.apply_path(one.key, one.manager, trial);
                let (method, accept) = (Method::PATCH, form.of_object());
                let parcel =
                    Parcel { method, path: &path, accept, content: APPLY, body: one.text, conflicts_pass: true };
                self.written(&parcel, fate, |answered| match answered.status {
                    200 | 201 => {
                        let is_new = answered.status == 201;
                        let answer = match trial {
                            Trial::Real => object(answered.node, &one.resource, one.key, form)?.0,
                            Trial::Dry => unstamped(answered.node, &one.resource, one.key, form)?,
                        };
                        Ok(Written::Done { is_new, answer })
                    }
                    _ => Ok(Written::Refused(Refusal::of(&answered))),
                })
                .await
            }
        });
        self.together(work, seen)
    }

    /// Applies one manifest that names the version it is written over: a conflict is an answer.
    pub fn replace(&self, one: &Applied<'_>) -> Written {
        self.overwrite(one, Trial::Real)
    }

    /// As [`Cluster::replace`], or only asks whether the server would.
    pub fn overwrite(&self, one: &Applied<'_>, trial: Trial) -> Written {
        let path = one.resource.apply_path(one.key, one.manager, trial);
        let accept = Portion::Metadata.of_object();
        let parcel = Parcel {
            method: Method::PATCH,
            path: &path,
            accept,
            content: APPLY,
            body: one.text,
            conflicts_pass: false,
        };
        let fate = Fate::default();
        let work = self.written(&parcel, &fate, |answered| match answered.status {
            200 | 201 => {
                let is_new = answered.status == 201;
                let (answer, _) = object(answered.node, &one.resource, one.key, Portion::Metadata)?;
                Ok(Written::Done { is_new, answer })
            }
            _ => Ok(Written::Refused(Refusal::of(&answered))),
        });
        self.runtime.block_on(self.link.in_time(work)).unwrap_or_else(Written::Failed)
    }

    /// Deletes objects, many at a time. One that somebody wrote to since is refused with 409, and one that is gone
    /// already with 404.
    pub fn delete(&self, deleted: &[Deleted<'_>], trial: Trial, seen: &dyn Fn()) -> Outcomes {
        let fate = Fate::default();
        let work = deleted.iter().map(|one| {
            let fate = &fate;
            async move {
                let (path, body) = (one.resource.path(one.key), options(one, trial));
                let parcel = Parcel {
                    method: Method::DELETE,
                    path: &path,
                    accept: Portion::Metadata.of_object(),
                    content: "application/yaml",
                    body: &body,
                    conflicts_pass: false,
                };
                self.written(&parcel, fate, |answered| match answered.status {
                    200 | 202 => Ok(Written::Done { is_new: false, answer: answered.node }),
                    _ => Ok(Written::Refused(Refusal::of(&answered))),
                })
                .await
            }
        });
        self.together(work, seen)
    }

    async fn written(
        &self,
        parcel: &Parcel<'_>,
        fate: &Fate,
        meant: impl Fn(Answered) -> Result<Written, Garbled>,
    ) -> Result<Written, Broken> {
        if !fate.answered.get() && fate.failures.get() >= FAILURES {
            return Ok(Written::Failed(Broken::Garbled("it failed at other objects of the kind")));
        }
        match self.link.send(parcel).await.and_then(|answered| Ok(meant(answered)?)) {
            Ok(written) => {
                fate.answered.set(true);
                Ok(written)
            }
            Err(broken) if broken.is_of_server() => Err(broken),
            Err(broken) => {
                fate.failures.update(|failures| failures + 1);
                Ok(Written::Failed(broken))
            }
        }
    }

    /// Does work for many objects at once. If the run is to end, nothing more is begun, and what is under way is waited
    /// for: what became of it would not be known.
    fn together<W: Future<Output = Result<Written, Broken>>>(
        &self,
        work: impl Iterator<Item = W>,
        seen: &dyn Fn(),
    ) -> Outcomes {
        let mut outcomes = Vec::new();
        let is_to_end = || self.stop.load(Ordering::SeqCst);
        let going = work.enumerate().take_while(|_| !is_to_end());
        let numbered = going.map(|(index, work)| async move { (index, work.await) });
        let gathered = async {
            let mut asked = std::pin::pin!(futures_util::stream::iter(numbered).buffer_unordered(IN_FLIGHT));
            let mut waited = Duration::ZERO;
            loop {
                match tokio::time::timeout(GLANCE, asked.next()).await {
                    Ok(Some((index, written))) => {
                        outcomes.push((index, written?));
                        seen();
                    }
                    Ok(None) => return Ok(()),
                    Err(_) if is_to_end() && waited >= GRACE => return Ok(()),
                    Err(_) if is_to_end() => waited = waited.saturating_add(GLANCE),
                    Err(_) => {}
                }
            }
        };
        let broken = self.runtime.block_on(self.link.in_time(gathered)).err();
        (outcomes, broken)
    }
}

/// The conditions of a deletion.
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/>
fn options(one: &Deleted<'_>, trial: Trial) -> String {
    let conditions = [("resourceVersion", Tree::text(one.version)), ("uid", Tree::text(one.uid))];
    let dry = (trial == Trial::Dry).then(|| ("dryRun", Tree::List(vec![Tree::text("All")])));
    let fields = [
        ("apiVersion", Tree::text("v1")),
        ("kind", Tree::text("DeleteOptions")),
        ("preconditions", Tree::map(conditions)),
        ("propagationPolicy", Tree::text("Background")),
    ];
    emit(&Tree::map(fields.into_iter().chain(dry))).to_string()
}

#[cfg(test)]
mod tests {
    use pouch_core::node::Interner;

    use super::*;
    use crate::cluster::request::parse;

    #[test]
    fn a_refusal_has_reasons_of_kubernetes_alone() {
        let check = |status: &str, reason: &str, is_terminating: bool| {
            let node = parse(status.as_bytes(), &mut Interner::new()).ok().unwrap();
            let refusal = Refusal::of(&Answered { status: 403, node });
            assert_eq!((refusal.reason.as_str(), refusal.is_terminating), (reason, is_terminating), "{status}");
        };
        check(r#"{"reason": "Invalid"}"#, "Invalid", false);
        check(r#"{"reason": "SecretValueInReason"}"#, "", false);
        check(r#"{"reason": "invalid"}"#, "", false);
        check("{}", "", false);
        let causes =
            r#"{"reason": "Forbidden", "details": {"causes": [{"reason": "NamespaceTerminating", "field": "x"}]}}"#;
        check(causes, "Forbidden", true);
    }
}
