//! Registries: each region's bundle as an OCI artifact, pushed to where consumers look for it.
//!
//! What is published, and whether it may be, is decided before: this room packs files, asks a registry what stands at a
//! tag, and moves the tag when everything that it names is there. Credentials are docker's and are shown to nobody but
//! the registry and the token service that it names. Nothing that a registry says is quoted.
//!
//! <https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md>

pub mod artifact;
mod challenge;
mod docker;
mod exchange;
mod trouble;

use pouch_core::config::ArtifactPlace;

use self::artifact::{EMPTY, EMPTY_DIGEST, MANIFEST_TYPE, digest_of};
pub use self::docker::Credentials;
pub use self::exchange::Means;
use self::exchange::{Exchange, Wanted};
pub use self::trouble::{Health, RegistryError};

/// The most bytes of a manifest, as registries have it.
const MOST_OF_MANIFEST: usize = 4 << 20;

/// What stands at a tag.
pub struct Standing {
    /// Its digest.
    pub digest: String,
    /// Its manifest.
    pub manifest: Vec<u8>,
}

/// One repository of a registry.
pub struct Repository<'a> {
    exchange: Exchange<'a>,
    place: &'a ArtifactPlace,
}

impl<'a> Repository<'a> {
    /// The repository of a place; nothing is sent yet.
    pub fn new(means: Means<'a>, place: &'a ArtifactPlace) -> Self {
        Self { exchange: Exchange::new(means, place), place }
    }

    /// What stands at the tag, if there is one.
    ///
    /// # Errors
    /// Where the registry does not say, or says something that cannot be.
    pub fn standing(&self) -> Result<Option<Standing>, RegistryError> {
        let headers = &[("accept", ACCEPTED)];
        let wanted = Wanted { headers, most: MOST_OF_MANIFEST, ..Wanted::get(self.manifest(&self.place.tag)) };
        let answer = self.exchange.ask(&wanted)?;
        match answer.status {
            200 => {}
            404 => return Ok(None),
            _ => return Err(self.exchange.refused("reading the tag", &answer)),
        }
        if !answer.header("content-type").is_some_and(|kind| kind.starts_with("application/") && kind.contains("json"))
        {
            return Err(self.exchange.no_registry());
        }
        let digest = digest_of(&answer.body);
        if answer.header("docker-content-digest").is_some_and(|said| said.starts_with("sha256:") && said != digest) {
            return Err(RegistryError::new(
                format!("{} answers with a manifest of another digest than it says", self.place.registry),
                "Find out what is between pouch and the registry, or who changed what it stores.",
            ));
        }
        Ok(Some(Standing { digest, manifest: answer.body.to_vec() }))
    }

    /// Whether a blob is there.
    ///
    /// # Errors
    /// Where the registry does not say.
    pub fn has(&self, digest: &str) -> Result<bool, RegistryError> {
        let answer = self.exchange.ask(&Wanted { method: "HEAD", ..Wanted::get(self.blob(digest)) })?;
        match answer.status {
            // One that keeps blobs elsewhere says where.
            200 | 307 | 308 => Ok(true),
            404 => Ok(false),
            _ => Err(self.exchange.refused("looking for a blob", &answer)),
        }
    }

    /// Pushes an artifact: layer and configuration, then its manifest by digest, and only then the tag is moved to it.
    /// Gives the digest.
    ///
    /// # Errors
    /// Where something is not taken; until the last step the tag stays where it is.
    pub fn push(&self, layer: &[u8], manifest: &[u8]) -> Result<String, RegistryError> {
        self.upload(&digest_of(layer), layer)?;
        self.upload(EMPTY_DIGEST, EMPTY)?;
        let digest = digest_of(manifest);
        for reference in [&digest, &self.place.tag] {
            let headers = &[("content-type", MANIFEST_TYPE)];
            let wanted = Wanted { method: "PUT", headers, body: manifest, ..Wanted::get(self.manifest(reference)) };
            let answer = self.exchange.ask(&wanted)?;
            if answer.status != 201 {
                return Err(self.exchange.refused("pushing the manifest", &answer));
            }
        }
        // What says yes to everything is no registry.
        match self.standing()? {
            Some(standing) if standing.digest == digest => Ok(digest),
            _ => Err(RegistryError::new(
                format!("{} took the artifact, and the tag is at another one", self.place.registry),
                "Another program moves the tag, or the registry does not let it be moved: allow tags to be overwritten, \
                 and let one job at a time publish.",
            )),
        }
    }

    fn upload(&self, digest: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        if self.has(digest)? {
            return Ok(());
        }
        let uploads = format!("/v2/{}/blobs/uploads/", self.place.repository);
        let answer = self.exchange.ask(&Wanted { method: "POST", ..Wanted::get(uploads) })?;
        if answer.status != 202 {
            return Err(self.exchange.refused("beginning an upload", &answer));
        }
        // Nobody sends what stands behind a `#`.
        let location = answer.header("location").and_then(|text| text.split('#').next()).unwrap_or_default();
        let gap = if location.contains('?') { '&' } else { '?' };
        let url = format!("{location}{gap}digest={}", digest.replace(':', "%3A"));
        let headers = &[("content-type", "application/octet-stream")];
        let wanted = Wanted { method: "PUT", headers, body: bytes, ..Wanted::get(url) };
        let answer = self.exchange.ask_located(&wanted)?;
        match answer.status {
            201 => Ok(()),
            _ => Err(self.exchange.refused("uploading a blob", &answer)),
        }
    }

    fn manifest(&self, reference: &str) -> String {
        format!("/v2/{}/manifests/{reference}", self.place.repository)
    }

    fn blob(&self, digest: &str) -> String {
        format!("/v2/{}/blobs/{digest}", self.place.repository)
    }
}

/// The kinds of manifests that may stand at a tag: what is not ours is seen too.
const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                        application/vnd.docker.distribution.manifest.v2+json, \
                        application/vnd.docker.distribution.manifest.list.v2+json";
