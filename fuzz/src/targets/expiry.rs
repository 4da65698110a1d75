//! Certificates and tokens: whatever stands in a value, its last day alone is told.

use pouch_core::expiry::told;
use pouch_core::finding::Code;

/// A value of a Secret.
pub fn run(data: &[u8]) {
    let at = |now: i64| told("key", data, now);
    let Some(expired) = at(i64::MAX) else {
        assert!(at(0).is_none(), "what never expires expires soon");
        return;
    };
    assert_eq!(expired.code, Code::Expired);
    let last = expired.message.rsplit(' ').next().unwrap_or_default();
    let is_day = last.len() == 10 && last.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    assert!(is_day, "no day");
    let known =
        ["a certificate", "a client certificate", "a token"].map(|what| format!("entry \"key\" holds {what} that"));
    assert!(known.iter().any(|known| expired.message == format!("{known} expired on {last}")), "more is told");
    if let Some(sooner) = at(0).filter(|sooner| sooner.code == Code::ExpiresSoon) {
        assert!(known.iter().any(|known| sooner.message == format!("{known} expires on {last}")), "more is told");
    }
    assert!(at(i64::MIN).is_none_or(|fault| fault.code == Code::ExpiresSoon), "it has expired before all time");
}
