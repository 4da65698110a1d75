//! Certificates and TLS settings for servers on loopback. Knows nothing of HTTP and of who speaks.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// A certificate authority of its own and one server certificate that it signed for loopback.
pub struct Authority {
    /// The authority's certificate, PEM.
    pub ca: String,
    /// The server's certificate, PEM.
    pub certificate: String,
    /// The server's key, PEM.
    pub key: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes both, valid for longer than any test runs.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no name is a fine list of names");
        params.distinguished_name.push(DnType::CommonName, "pouch test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a key can be made");
        let ca = params.self_signed(&key).expect("an authority signs itself").pem();
        let issuer = Issuer::new(params, key);

        let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(String::from);
        let mut params = CertificateParams::new(names).expect("these are names");
        params.distinguished_name.push(DnType::CommonName, "pouch test server");
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.signed_by(&key, &issuer).expect("the authority signs").pem();
        Self { ca, certificate, key: key.serialize_pem(), issuer }
    }

    /// A certificate and its key (PEM) by which a user shows who it is, with its groups.
    pub fn client(&self, user: &str, groups: &[&str]) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).expect("no name is a fine list of names");
        // A new name, without the one that the library would give.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.signed_by(&key, &self.issuer).expect("the authority signs");
        (certificate.pem(), key.serialize_pem())
    }

    /// The server's side. HTTP/1.1 is all that it offers.
    pub fn server(&self) -> Arc<ServerConfig> {
        let chain = vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).expect("our own PEM")];
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).expect("our own PEM");
        let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has all versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("the key belongs to the certificate");
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// A client that trusts this authority (PEM) alone.
pub fn client(ca: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("a PEM certificate")).expect("an authority");
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has all versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A pair of private and public key in PEM, for signing tokens.
pub fn signing_key() -> (String, String) {
    let key = KeyPair::generate().expect("a key can be made");
    (key.serialize_pem(), key.public_key_pem())
}
