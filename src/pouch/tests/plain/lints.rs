//! What is worth knowing of objects that are fine: what expires, and what nobody uses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

use crate::support::fleet::{Fleet, Ran};

const A_DAY_OF_2023: &str = "1700000000";

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2024, 5, 1);
    params
}

/// An expired leaf and the authority that issued it, in PEM.
fn chain() -> String {
    let mut authority = named("authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let leaf = named("leaf").signed_by(&KeyPair::generate().unwrap(), &authority).unwrap();
    format!("{}{}", leaf.pem(), authority.pem())
}

fn check(fleet: &Fleet, arguments: &[&str]) -> String {
    fleet.run(&[&["check", "-v"], arguments].concat()).ends(0).stdout
}

#[test]
fn what_real_certificates_say_is_told_by_the_time_of_the_run_and_changes_nothing() {
    let fleet = Fleet::new();
    let pem = chain();
    let kubeconfig = format!("users:\n- user: {{client-certificate-data: {}}}\n", STANDARD.encode(&pem));
    let entries = format!("tls.crt: {pem:?}, kubeconfig: {kubeconfig:?}, other: x");
    fleet.credential("eu", "c0", "x");
    fleet.secret("eu", "c0", &entries);
    let told = check(&fleet, &[]);
    for words in [
        "warning[expired]: entry \"tls.crt\" holds a certificate that expired on 2024-05-01\n",
        "warning[expired]: entry \"kubeconfig\" holds a client certificate that expired on 2024-05-01\n",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let line = pem.lines().nth(2).unwrap();
    assert!(!told.contains(line) && told.matches("[expired]").count() == 2, "{told}");
    fleet.render(&[]).ends(0).says("warning[expired]");
    let before = fleet.stamps("bundles");
    // What is published does not depend on the time.
    let earlier = |arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        Ran::from(command.env("SOURCE_DATE_EPOCH", A_DAY_OF_2023).output().unwrap()).ends(0)
    };
    assert!(!earlier(&["check", "-v"]).stdout.contains("expire"));
    assert!(!earlier(&["render", "-v"]).stderr.contains("expire"));
    assert_eq!(before, fleet.stamps("bundles"));
    let wrong = fleet.command(&["check"]).env("SOURCE_DATE_EPOCH", "soon").output().unwrap();
    assert!(Ran::from(wrong).ends(0).stdout.contains("warning[expired]"));
}

fn role(name: &str, source: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterRoleIdentity\nmetadata: {{name: {name}}}\n\
         spec:\n  roleARN: arn\n  allowedNamespaces: {{list: [eu-team]}}\n  \
         sourceIdentityRef: {{kind: AWSClusterRoleIdentity, name: {source}}}\n"
    )
}

#[test]
fn identities_that_nobody_names_are_told_unless_somebody_may() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("path: manifests}}]", "path: manifests}, provides: {clusterScoped: true, namespaces: ['*']}}]");
    assert!(!check(&fleet, &[]).contains("unused-identity"));
    fleet.write("manifests/one.yaml", role("one", "two"));
    fleet.write("manifests/two.yaml", role("two", "default"));
    let told = check(&fleet, &[]);
    assert!(told.contains("info[unused-identity]: no Credential names AWSClusterRoleIdentity one"), "{told}");
    assert!(told.contains("--> manifests/one.yaml:1:1\n") && told.matches("[unused-identity]").count() == 1, "{told}");
    assert!(!fleet.run(&["check"]).ends(0).stdout.contains("unused-identity"));
    // A run about a part says nothing of the whole.
    let limited = fleet.run(&["plan", "-v", "-n", "eu-team"]).ends(0);
    assert!(!limited.stderr.contains("unused-identity"), "{limited:?}");
    // A Credential for the management cluster uses it too, and one that cannot be read may.
    let credential = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: x, namespace: eu-team}\n\
        spec: {identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterRoleIdentity, name: one}}\n";
    fleet.write("manifests/x.yaml", credential);
    assert!(!check(&fleet, &[]).contains("unused-identity"));
    fleet.write("manifests/x.yaml", credential.replace("name: one}", "name: [one}"));
    let unread = fleet.run(&["check", "-v"]).ends(7).stdout;
    assert!(unread.contains("error[unparsable-document]") && !unread.contains("unused-identity"), "{unread}");
    fleet.remove("manifests/x.yaml");
    assert!(check(&fleet, &[]).contains("unused-identity"));
}
