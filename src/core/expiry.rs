//! Certificates and tokens in Secrets, and when they expire.
//!
//! Nothing is verified here: no chain, no signature. The clock is the caller's. Only the date is told, never a part of
//! the value.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use der::{Decode as _, Reader as _, SliceReader, Tag, Tagged as _};
use zeroize::Zeroizing;

use crate::finding::{Code, Fault, crowd};
use crate::json;
use crate::node::{Interner, Node};
use crate::object::Object;
use crate::secret::from_base64;

/// How many bytes a value has at most that is looked at.
const MOST_LOOKED_AT: usize = 64 * 1024;

/// How long before its end something counts as expiring soon, in seconds.
const SOON: i64 = 14 * 24 * 60 * 60;

/// What lives shorter is renewed by a program: it counts as expiring soon in the last of so many equal parts of its life.
const LAST_PART: i64 = 3;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// The field of a kubeconfig that holds a client's certificate, as base64 of PEM.
const CLIENT_CERTIFICATE: &str = "client-certificate-data";

/// The field of a kubeconfig that holds a user's bearer token.
const TOKEN: &str = "token";

/// From when until when something counts, in seconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Life {
    /// When it begins, if that is known.
    begins: Option<i64>,
    ends: i64,
}

/// What in a Secret has expired, or expires soon.
pub fn check(object: &Object, now: i64) -> Vec<Fault> {
    let entries = object.payload.iter().flat_map(|payload| payload.entries());
    let mut faults = entries.filter_map(|(name, value)| told(name, value.expose(), now)).collect();
    crowd::few(&mut faults);
    faults
}

/// What is told of one entry.
pub fn told(name: &str, value: &[u8], now: i64) -> Option<Fault> {
    let (what, life) = found(value)?;
    let date = day(life.ends)?;
    if life.ends <= now {
        let message = format!("entry {name:?} holds {what} that expired on {date}");
        return Some(Fault::new(Code::Expired, message, "Renew it: whoever it is shown to refuses it."));
    }
    let left = life.ends.saturating_sub(now);
    let whole = life.begins.map(|begins| life.ends.saturating_sub(begins));
    if left > whole.map_or(SOON, |whole| SOON.min(whole / LAST_PART)) {
        return None;
    }
    let message = format!("entry {name:?} holds {what} that expires on {date}");
    Some(Fault::new(Code::ExpiresSoon, message, "Renew it, or see that what renews it by itself still does."))
}

/// What stands in a value that expires, and when.
fn found(value: &[u8]) -> Option<(&'static str, Life)> {
    if value.len() > MOST_LOOKED_AT {
        return None;
    }
    let text = core::str::from_utf8(value).ok()?.trim_ascii();
    if let Some(life) = token(text) {
        return Some(("a token", life));
    }
    if text.contains(BEGIN) {
        return certificate(text).map(|life| ("a certificate", life));
    }
    // Of what has a token beside other things, only a kubeconfig is known to mean such a one.
    let is_kubeconfig = text.contains("clusters") && text.contains("users");
    if is_kubeconfig || text.contains(CLIENT_CERTIFICATE) { user(text) } else { None }
}

/// The life of a JSON Web Token: three parts in base64url, of which the second one may say when it expires.
///
/// <https://www.rfc-editor.org/rfc/rfc7519#section-4.1.4>
fn token(text: &str) -> Option<Life> {
    // `{"` in base64url.
    let rest = text.strip_prefix("eyJ")?;
    let mut parts = rest.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let claims = Zeroizing::new(URL_SAFE_NO_PAD.decode(claims).ok()?);
    let claims = json::read(core::str::from_utf8(&claims).ok()?, &mut Interner::new()).ok()?;
    let seconds = |claim: &str| match claims.at(&[claim]) {
        Some(Node::Int(seconds)) => Some(*seconds),
        // A NumericDate may have a fraction (<https://www.rfc-editor.org/rfc/rfc7519#section-2>).
        Some(Node::Float(seconds)) => format!("{seconds:.3}").split_once('.')?.0.parse().ok(),
        _ => None,
    };
    Some(Life { begins: seconds("nbf").or_else(|| seconds("iat")), ends: seconds("exp")? })
}

/// The life of the certificate in PEM that stands first, if it is alone or the next one issued it.
///
/// What else stands together is a bundle of authorities, of which some have always expired, and nobody minds.
fn certificate(text: &str) -> Option<Life> {
    let mut found = text.split(BEGIN).skip(1).map(|rest| rest.split_once(END).map(|(body, _)| body));
    let first = Certificate::read(found.next()??)?;
    if let Some(next) = found.next() {
        let next = Certificate::read(next?)?;
        if first.issuer == first.subject || first.issuer != next.subject {
            return None;
        }
    }
    Some(first.life)
}

/// The longest life of the client certificates and tokens in a kubeconfig: which of its users is meant is not known.
///
/// It is searched as text, YAML or JSON: the rest of it is not needed, and has keys in it.
fn user(text: &str) -> Option<(&'static str, Life)> {
    let certificates = values(text, CLIENT_CERTIFICATE).map(|value| {
        let pem = Zeroizing::new(from_base64(value)?);
        Some(("a client certificate", certificate(core::str::from_utf8(&pem).ok()?)?))
    });
    let tokens = values(text, TOKEN).map(|value| Some(("a user's token", token(value)?)));
    // One that cannot be read may live longer than the others.
    let lives: Option<Vec<(&str, Life)>> = certificates.chain(tokens).collect();
    lives?.into_iter().max_by_key(|(_, life)| life.ends)
}

/// The values of a field in a kubeconfig. A longer name that ends or begins like the field's is another field.
fn values<'t>(text: &'t str, field: &'static str) -> impl Iterator<Item = &'t str> {
    let is_value = |char: char| char.is_ascii_alphanumeric() || "+/=-_.".contains(char);
    text.match_indices(field).filter_map(move |(at, _)| {
        let (before, rest) = (text.get(..at)?, text.get(at..)?.strip_prefix(field)?);
        if before.ends_with(is_value) {
            return None;
        }
        let rest = rest.trim_start_matches(['"', '\'']).trim_ascii_start().strip_prefix(':')?;
        rest.trim_start_matches(['"', '\'', ' ', '\t', '\r', '\n']).split(|char| !is_value(char)).next()
    })
}

/// What is read of an X.509 certificate.
///
/// <https://www.rfc-editor.org/rfc/rfc5280#section-4.1>
struct Certificate {
    issuer: Vec<u8>,
    subject: Vec<u8>,
    life: Life,
}

impl Certificate {
    /// Reads what stands between the lines that begin and end a certificate in PEM.
    fn read(body: &str) -> Option<Self> {
        let lines: String = body.split_ascii_whitespace().collect();
        let bytes = from_base64(&lines)?;
        let mut certificate = SliceReader::new(sequence(&mut SliceReader::new(&bytes).ok()?)?).ok()?;
        let mut fields = SliceReader::new(sequence(&mut certificate)?).ok()?;
        // The version may be left out: then the serial number comes first.
        if !matches!(fields.peek_byte()?, 0x02) {
            AnyRef::decode(&mut fields).ok()?;
        }
        let _serial_number = AnyRef::decode(&mut fields).ok()?;
        let _algorithm = AnyRef::decode(&mut fields).ok()?;
        let issuer = sequence(&mut fields)?.to_vec();
        let mut validity = SliceReader::new(sequence(&mut fields)?).ok()?;
        let subject = sequence(&mut fields)?.to_vec();
        let (begins, ends) = (time(&mut validity), time(&mut validity)?);
        Some(Self { issuer, subject, life: Life { begins, ends } })
    }
}

/// The content of a sequence.
fn sequence<'a>(reader: &mut SliceReader<'a>) -> Option<&'a [u8]> {
    let any = AnyRef::decode(reader).ok()?;
    (any.tag() == Tag::Sequence).then(|| any.value())
}

/// A time, in seconds since 1970.
fn time(reader: &mut SliceReader<'_>) -> Option<i64> {
    let any = AnyRef::decode(reader).ok()?;
    let time = match any.tag() {
        Tag::UtcTime => any.decode_as::<UtcTime>().ok()?.to_unix_duration(),
        Tag::GeneralizedTime => any.decode_as::<GeneralizedTime>().ok()?.to_unix_duration(),
        _ => return None,
    };
    i64::try_from(time.as_secs()).ok()
}

/// The day of a time in UTC, such as `2026-03-01`; none before 1970, or beyond the year 9999.
///
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>
#[expect(clippy::arithmetic_side_effects, reason = "the seconds of year 9999 are far within 64 bits")]
pub fn day(seconds: i64) -> Option<String> {
    const END_OF_9999: i64 = 253_402_300_799;
    if !(0..=END_OF_9999).contains(&seconds) {
        return None;
    }
    // Years begin in March here, so that a leap day is the last of its year, and eras have 400 years.
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    Some(format!("{:04}-{month:02}-{day:02}", year + era * 400 + later))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    /// 2026-03-01.
    const NOW: i64 = 1_772_323_200;
    const DAY: i64 = 24 * 60 * 60;

    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let length = match u16::try_from(content.len()).unwrap().to_be_bytes() {
            [0, length @ ..0x80] => [length].to_vec(),
            [0, length] => [0x81, length].to_vec(),
            [high, low] => [0x82, high, low].to_vec(),
        };
        [&[tag][..], &length, &content].concat()
    }

    fn utc(seconds: i64) -> Vec<u8> {
        let time = seconds % DAY;
        let time = format!("{:02}{:02}{:02}Z", time / 3600, time / 60 % 60, time % 60);
        let digits = day(seconds).unwrap().replace('-', "") + &time;
        [&[0x17, 13], &digits.as_bytes()[2..]].concat()
    }

    /// A certificate without what is not read; `version` says whether it states its version.
    fn pem(version: bool, (issuer, subject): (&str, &str), validity: &[Vec<u8>]) -> String {
        let name = |name: &str| der(0x30, &[&der(0x0c, &[name.as_bytes()])]);
        let validity: Vec<&[u8]> = validity.iter().map(Vec::as_slice).collect();
        let version = if version { der(0xa0, &[&der(0x02, &[&[2]])]) } else { Vec::new() };
        let [serial, algorithm, issuer, validity, subject] =
            [der(0x02, &[&[7]]), der(0x30, &[]), name(issuer), der(0x30, &validity), name(subject)];
        let fields = der(0x30, &[&version, &serial, &algorithm, &issuer, &validity, &subject]);
        let whole = der(0x30, &[&fields, &der(0x30, &[]), &der(0x03, &[&[0]])]);
        format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(whole).replacen('M', "M\n", 1))
    }

    fn leaf(begins: i64, ends: i64) -> String {
        pem(true, ("authority", "leaf"), &[utc(begins), utc(ends)])
    }

    fn jwt(claims: &str) -> String {
        format!("{}.{}.sig", URL_SAFE_NO_PAD.encode("{\"alg\":\"none\"}"), URL_SAFE_NO_PAD.encode(claims))
    }

    #[track_caller]
    fn check(value: &str, expect: Option<(Code, &str)>) {
        let said = told("key", value.as_bytes(), NOW);
        assert_eq!(said.as_ref().map(|fault| (fault.code, &*fault.message)), expect, "{value}");
    }

    fn expired(what: &str) -> String {
        format!("entry \"key\" holds {what} that expired on 2026-02-28")
    }

    #[test]
    fn certificates_are_told_by_their_last_day() {
        let soon = "entry \"key\" holds a certificate that expires on 2026-03-02";
        check(&leaf(NOW - 400 * DAY, NOW - DAY), Some((Code::Expired, &expired("a certificate"))));
        check(&leaf(NOW - 400 * DAY, NOW + DAY), Some((Code::ExpiresSoon, soon)));
        check(&leaf(NOW - 400 * DAY, NOW + 15 * DAY), None);
        check(&leaf(NOW, NOW + 400 * DAY), None);
        // Of a day's life the last third is soon, of a certificate that states no version as well.
        check(&leaf(NOW - DAY / 2, NOW + DAY / 2), None);
        check(&leaf(NOW - DAY / 2, NOW + DAY / 5), Some((Code::ExpiresSoon, &soon.replace("03-02", "03-01"))));
        let old = pem(false, ("a", "b"), &[utc(NOW - 9 * DAY), utc(NOW - DAY)]);
        check(&old, Some((Code::Expired, &expired("a certificate"))));
        // Words around it, as openssl writes them, and a time of four digits' years.
        check(&format!("Bag Attributes: x\r\n{old}"), Some((Code::Expired, &expired("a certificate"))));
        let far = [&[0x18, 15], &b"99991231235959Z"[..]].concat();
        check(&pem(true, ("a", "b"), &[utc(0), far]), None);
    }

    #[test]
    fn a_chain_is_told_by_its_leaf_and_a_bundle_of_authorities_not_at_all() {
        let (old, new) = ([utc(0), utc(NOW - DAY)], [utc(0), utc(NOW + 900 * DAY)]);
        let authority = |validity| pem(true, ("root", "authority"), validity);
        let root = |validity| pem(true, ("root", "root"), validity);
        let said = expired("a certificate");
        check(&format!("{}{}", leaf(0, NOW - DAY), authority(&new)), Some((Code::Expired, &said)));
        check(&format!("{}{}", leaf(0, NOW + 900 * DAY), authority(&old)), None);
        check(&format!("{}{}", root(&old), authority(&new)), None);
        check(&format!("{}{}", authority(&old), pem(true, ("x", "x"), &new)), None);
        check(&root(&old), Some((Code::Expired, &said)));
    }

    #[test]
    fn tokens_are_told_by_what_they_say() {
        let at = |seconds: i64| jwt(&format!("{{\"exp\":{seconds},\"iat\":{}}}", NOW - 90 * DAY));
        check(&at(NOW - DAY), Some((Code::Expired, &expired("a token"))));
        check(&format!("{}\n", at(NOW - DAY)), Some((Code::Expired, &expired("a token"))));
        check(&at(NOW + DAY), Some((Code::ExpiresSoon, "entry \"key\" holds a token that expires on 2026-03-02")));
        check(&at(NOW + 30 * DAY), None);
        check(&jwt(&format!("{{\"exp\":{}.75}}", NOW - DAY)), Some((Code::Expired, &expired("a token"))));
        for claims in ["{}", "{\"exp\":\"soon\"}", "{\"exp\":-1}", "{\"exp\":1e300}", "[]", "", "{\"exp\":1,\"exp\":2}"]
        {
            check(&jwt(claims), None);
        }
        for value in ["eyJ", "eyJ.", "eyJ.e30", "eyJ..", "eyJ.e30.x.y", "eyJ.%%.x"] {
            check(value, None);
        }
    }

    #[test]
    fn a_kubeconfig_is_told_by_the_token_that_lives_longest() {
        let yaml = |users: &[(&str, &str)]| {
            let users = users.iter().map(|(field, value)| format!("- name: x\n  user:\n    {field}: {value}\n"));
            format!("apiVersion: v1\nkind: Config\nclusters: []\nusers:\n{}", users.collect::<String>())
        };
        let at = |seconds: i64| jwt(&format!("{{\"exp\":{seconds}}}"));
        let (old, new, said) = (at(NOW - DAY), at(NOW + 900 * DAY), expired("a user's token"));
        let (dead, soon) =
            (STANDARD.encode(leaf(0, NOW - 2 * DAY)), "entry \"key\" holds a user's token that expires on 2026-03-02");
        check(&yaml(&[("token", &old)]), Some((Code::Expired, &said)));
        check(&yaml(&[("\"token\"", &format!("'{old}'"))]), Some((Code::Expired, &said)));
        check(&yaml(&[("token", &at(NOW + DAY))]), Some((Code::ExpiresSoon, soon)));
        check(&yaml(&[("token", &old), ("token", &new)]), None);
        check(&yaml(&[("token", &old), ("token", "opaque")]), None);
        check(&yaml(&[("token", &old), ("client-certificate-data", &dead)]), Some((Code::Expired, &said)));
        check(&yaml(&[("token", "opaque"), ("client-certificate-data", &dead)]), None);
        for field in ["tokenFile", "id-token", "refresh_token", "tokens"] {
            check(&yaml(&[(field, &old)]), None);
            check(&yaml(&[("token", &old), (field, &new)]), Some((Code::Expired, &said)));
        }
        let json = format!("{{\"clusters\":[],\"users\":[{{\"user\":{{\"token\":\"{old}\"}}}}]}}");
        check(&json, Some((Code::Expired, &said)));
        check(&format!("token: {old}"), None);
        check("clusters users token", None);
    }

    #[test]
    fn a_kubeconfig_is_told_by_the_certificate_that_lives_longest() {
        let field = |ends: i64| STANDARD.encode(leaf(0, ends));
        let yaml = |values: &[String]| {
            let users = values.iter().map(|value| format!("- user:\n    client-certificate-data: {value}\n"));
            format!("apiVersion: v1\nkind: Config\nusers:\n{}", users.collect::<String>())
        };
        let said = expired("a client certificate");
        let (old, older, new) = (field(NOW - DAY), field(NOW - 9 * DAY), field(NOW + 900 * DAY));
        check(&yaml(&[old.clone(), older.clone()]), Some((Code::Expired, &said)));
        check(&yaml(&[old.clone(), new]), None);
        check(&yaml(&[old.clone(), "unreadable".into()]), None);
        check(&format!("{{\"user\":{{\"client-certificate-data\":\"{old}\"}}}}"), Some((Code::Expired, &said)));
        check("client-certificate-data", None);
    }

    #[test]
    fn whatever_else_stands_there_says_nothing() {
        let whole = leaf(0, NOW - DAY);
        for end in 0..whole.len() - END.len() - 1 {
            check(whole.get(..end).unwrap(), None);
        }
        check(&format!("{BEGIN}{END}"), None);
        check(&format!("{BEGIN}MAA={END}"), None);
        check(&pem(true, ("a", "b"), &[]), None);
        check(&pem(true, ("a", "b"), &[utc(0)]), None);
        assert!(told("key", &[0xff; 9], NOW).is_none());
        let padded = |length: usize| format!("{}{whole}", " x".repeat((length - whole.len()) / 2));
        assert!(told("key", padded(MOST_LOOKED_AT).as_bytes(), NOW).is_some());
        assert!(told("key", padded(MOST_LOOKED_AT + 2).as_bytes(), NOW).is_none());
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expect) in [
            (0, Some("1970-01-01")),
            (951_782_400, Some("2000-02-29")),
            (951_868_800, Some("2000-03-01")),
            (1_709_164_800, Some("2024-02-29")),
            (1_735_689_599, Some("2024-12-31")),
            (1_735_689_600, Some("2025-01-01")),
            (4_107_542_400, Some("2100-03-01")),
            (253_402_300_799, Some("9999-12-31")),
            (253_402_300_800, None),
            (-1, None),
        ] {
            assert_eq!(day(seconds).as_deref(), expect, "{seconds}");
        }
        // As the library counts, which reads certificates.
        for days in (0..2_000).map(|n| n * 1_000) {
            let time = i64::from(days) * DAY;
            let text = day(time).map(|day| day.replace('-', "") + "000000Z");
            let read = text
                .and_then(|text| super::time(&mut SliceReader::new(&[&[0x18, 15], text.as_bytes()].concat()).ok()?));
            assert_eq!(read, Some(time));
        }
    }
}
