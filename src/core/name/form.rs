//! Form: the shapes that Kubernetes gives names.

/// Returns true if a text has a variable in it that was to be filled in: in the words of Helm, or of clusterctl and Flux.
pub fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("${")
}

/// Splits `apiVersion` into group and version: `v1` is the core group's.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Returns true if `text` is an RFC 1123 label: 1 to 63 of `[a-z0-9-]`, alphanumeric at both ends.
///
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_label_shaped(text)
}

/// Returns true if `text` can name an API version: an RFC 1123 label that begins with a letter.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/>
pub fn is_version(text: &str) -> bool {
    is_dns_label(text) && text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Returns true if `text` is an RFC 1123 subdomain: labels joined by dots, 1 to 253 bytes in all.
///
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label_shaped)
}

/// Returns true if `text` is a whole commit id, SHA-1 or SHA-256.
pub fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if `text` can name a region's folder: 1 to 40 of `[a-z0-9-]`, alphanumeric at both ends.
pub fn is_directory(text: &str) -> bool {
    text.len() <= 40 && is_label_shaped(text)
}

/// Returns true if `text` can be a key of a Secret's or ConfigMap's `data`: 1 to 253 of `[-._a-zA-Z0-9]`,
/// neither `.`, nor `..`, nor starting with `..`.
pub fn is_data_key(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && text != "."
        && !text.starts_with("..")
}

fn is_label_shaped(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}
