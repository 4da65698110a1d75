//! The placeholders of k0rdent's samples, and made-up values for them.

/// What the samples leave open. Those in base64 spell `apiVersion: v1`, `{}` and the like.
const VALUES: &[(&str, &str)] = &[
    ("AWS_ACCESS_KEY_ID", "EXAMPLEACCESSKEYID00"),
    ("AWS_SECRET_ACCESS_KEY", "not/a/real/key/but/as/long/as/one/really+is"),
    // k0rdent's guide leaves it empty for a user's key.
    ("AWS_SESSION_TOKEN", ""),
    ("AZURE_CLIENT_ID", "11111111-2222-3333-4444-555555555555"),
    ("AZURE_CLIENT_SECRET", "not~a.real_client-secret"),
    ("AZURE_SUBSCRIPTION_ID", "99999999-8888-7777-6666-555555555555"),
    ("AZURE_TENANT_ID", "66666666-7777-8888-9999-000000000000"),
    ("GCP_B64ENCODED_CREDENTIALS", "eyJ0eXBlIjogInNlcnZpY2VfYWNjb3VudCJ9"),
    ("KUBECONFIG_DATA", "YXBpVmVyc2lvbjogdjEKa2luZDogQ29uZmlnCg=="),
    ("KUBEVIRT_INFRA_KUBECONFIG_BASE64", "YXBpVmVyc2lvbjogdjEKa2luZDogQ29uZmlnCiMga3ViZXZpcnQK"),
    ("OS_APPLICATION_CREDENTIAL_ID", "0123456789abcdef"),
    ("OS_APPLICATION_CREDENTIAL_SECRET", "not-a-real-application-credential"),
    ("OS_AUTH_TYPE", "v3applicationcredential"),
    ("OS_AUTH_URL", "https://keystone.example.com/v3"),
    ("OS_IDENTITY_API_VERSION", "3"),
    ("OS_INTERFACE", "public"),
    ("OS_REGION_NAME", "RegionOne"),
    ("PRIVATE_SSH_KEY_B64", "bm90IGEgcmVhbCBrZXkK"),
    ("VSPHERE_DATACENTER", "dc1"),
    ("VSPHERE_PASSWORD", "not-a-real-password"),
    ("VSPHERE_USER", "svc-k0rdent@vsphere.example"),
];

/// Fills placeholders as `envsubst` does in k0rdent's makefile, where `$$` is a plain `$`.
///
/// # Panics
/// If a placeholder has no value here.
pub fn filled(text: &str, namespace: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let (name, after) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).expect("a placeholder");
        let known = VALUES.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        out.push_str(
            known.or((name == "NAMESPACE").then_some(namespace)).unwrap_or_else(|| panic!("no value of {name}")),
        );
        rest = after;
    }
    out + rest
}
