//! Each fault of the proxy, one by one, as a client of ours sees it.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::canned::{MAPS, NAMED, OBJECT, PAGE_0, PAGE_1, SECOND, canned, page_token, seen};
use crate::rig::fault::{Fault, fresh_token};
use crate::rig::http::{Endpoint, Request};
use crate::rig::proxy::{Proxy, When};

/// The faults whose answers are whole messages: what comes instead, and that the connection lives on.
#[test]
fn each_wrong_answer_is_what_it_says() {
    let proxy = Proxy::canned(canned);
    #[track_caller]
    fn check(proxy: &Proxy, fault: Fault, target: &str, expect: &str) {
        proxy.arm(fault, When::Once(0));
        let mut connection = proxy.endpoint("pouch").connect().unwrap();
        assert_eq!(seen(connection.send(&Request::get(target))), expect, "{fault:?}");
        assert_eq!(
            seen(connection.send(&Request::get(NAMED))),
            OBJECT,
            "{fault:?}: the next request of the connection"
        );
        let right = seen(Ok(canned(&Request::get(target)))) == expect;
        assert_eq!(proxy.injected(), usize::from(!right || fault.is_harmless()), "{fault:?} was counted wrongly");
    }
    assert_eq!(SECOND, format!("{MAPS}?limit=2&continue={}", page_token(1)));
    let named = r#"{"kind":"configmaps","name":"m0"}"#;
    let list = r#"{"kind":"configmaps"}"#;
    let say =
        |status: u16, reason: &str, details: &str| format!("{status} application/json \"{reason}\" {status} {details}");
    check(&proxy, Fault::Drip, NAMED, OBJECT);
    check(&proxy, Fault::Unauthorized, NAMED, &say(401, "Unauthorized", "null"));
    check(&proxy, Fault::Forbidden, NAMED, &say(403, "Forbidden", named));
    check(&proxy, Fault::Forbidden, MAPS, &say(403, "Forbidden", list));
    check(&proxy, Fault::NotFoundText, NAMED, r#"404 text/plain 19 bytes "404 page not fo""#);
    check(&proxy, Fault::NotFoundBare, NAMED, &say(404, "NotFound", "null"));
    check(&proxy, Fault::NotFoundNamed, NAMED, &say(404, "NotFound", named));
    check(&proxy, Fault::Conflict, NAMED, &say(409, "Conflict", named));
    check(&proxy, Fault::Gone, SECOND, &say(410, "Expired", "null"));
    check(&proxy, Fault::GoneFresh, SECOND, &say(410, "Expired", "null"));
    check(&proxy, Fault::GoneFresh, MAPS, PAGE_0);
    check(&proxy, Fault::TooMany, MAPS, r#"429 text/plain 43 bytes "Too many reques""#);
    check(&proxy, Fault::TooManyRetryAfter, MAPS, r#"429 text/plain 43 bytes "Too many reques""#);
    let causes = r#"{"causes":[{"message":"etcdserver: leader changed"}]}"#;
    check(&proxy, Fault::Internal, NAMED, &say(500, "InternalError", causes));
    check(&proxy, Fault::BadGateway, NAMED, r#"502 text/html 51 bytes "<html><body><h1""#);
    check(&proxy, Fault::Unavailable, NAMED, r#"503 text/plain 20 bytes "service unavail""#);
    check(&proxy, Fault::GatewayTimeout, NAMED, &say(504, "Timeout", "{}"));
    check(&proxy, Fault::Redirect, NAMED, r#"302 text/html 93 bytes "<!DOCTYPE html>""#);
    check(&proxy, Fault::Empty, NAMED, r#"200 application/json 0 bytes """#);
    check(&proxy, Fault::TruncatedJson, NAMED, r#"200 application/json 48 bytes "{\"apiVersion\":\"""#);
    check(&proxy, Fault::InvalidUtf8, NAMED, r#"200 application/json 97 bytes "{\"apiVersion\":\"""#);
    check(&proxy, Fault::DuplicateKeys, NAMED, r#"200 application/json "ConfigMap" "not-this" null"#);
    check(&proxy, Fault::WrongShape, NAMED, r#"200 application/json "ConfigMap" "m0" null version 1"#);
    check(&proxy, Fault::WrongType, NAMED, r#"200 text/html 93 bytes "<!DOCTYPE html>""#);
    check(&proxy, Fault::DeepJson, NAMED, r#"200 application/json 400000 bytes "[[[[[[[[[[[[[[[""#);
    check(&proxy, Fault::DuplicatePage, MAPS, r#"200 application/json "ConfigMapList" m0 m1 m0 m1 next Some(1)"#);
    check(&proxy, Fault::DuplicatePage, NAMED, OBJECT);
    check(&proxy, Fault::RepeatedPage, MAPS, PAGE_0);
    check(&proxy, Fault::MissingPage, MAPS, PAGE_1);
    check(&proxy, Fault::MissingPage, SECOND, r#"200 application/json "ConfigMapList" m4 m5 next None"#);
    check(&proxy, Fault::EarlyEnd, SECOND, r#"200 application/json "ConfigMapList" m2 m3 next None"#);
    check(&proxy, Fault::OtherObject, NAMED, r#"200 application/json "ConfigMap" "not-m0" null"#);
    check(&proxy, Fault::OtherObject, MAPS, r#"200 application/json "LeaseList"  next None"#);
    check(&proxy, Fault::NullItems, MAPS, r#"200 application/json "ConfigMapList" null null"#);
    check(&proxy, Fault::NullItems, NAMED, OBJECT);
    check(&proxy, Fault::StatusAsSuccess, NAMED, r#"200 application/json "InternalError" 500 null"#);
    check(
        &proxy,
        Fault::GarbageGzip,
        NAMED,
        "200 application/json 204 bytes \"\\u{1f}\u{fffd}\\u{8}\\0Z[XY^_\\\\]RSP\"",
    );
}

#[test]
fn headers_and_tokens_of_wrong_answers_are_as_the_real_ones() {
    let proxy = Proxy::canned(canned);
    let ask = |fault, target: &str| {
        proxy.arm(fault, When::Once(0));
        proxy.endpoint("pouch").get(target).unwrap()
    };
    assert_eq!(ask(Fault::TooManyRetryAfter, MAPS).header("retry-after"), Some("1"));
    assert_eq!(ask(Fault::TooMany, MAPS).header("retry-after"), None);
    assert_eq!(ask(Fault::GarbageGzip, MAPS).header("content-encoding"), Some("gzip"));
    assert_eq!(ask(Fault::Gone, SECOND).value()["metadata"]["continue"], Value::Null);
    let fresh = ask(Fault::GoneFresh, SECOND).value()["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_eq!(fresh_token(&fresh), Some(fresh.clone()), "it is one already");
    assert_ne!(fresh, page_token(1));
}

/// The page before this one, which only a client that reads page after page can meet.
#[test]
fn a_page_can_come_again() {
    let proxy = Proxy::canned(canned);
    proxy.arm(Fault::RepeatedPage, When::Once(1));
    let mut connection = proxy.endpoint("pouch").connect().unwrap();
    for expect in [PAGE_0, PAGE_0, PAGE_1] {
        let target = if proxy.requests().is_empty() { MAPS } else { SECOND };
        assert_eq!(seen(connection.send(&Request::get(target))), expect);
    }
    assert_eq!(proxy.injected(), 1);
}

/// The faults of the wire: what arrives at all, and how it ends.
#[test]
fn each_fault_of_the_wire_is_what_it_says() {
    let proxy = Proxy::canned(canned);
    let right = canned(&Request::get(NAMED));
    let whole = right.bytes().len();
    let head = whole - right.body.len();
    let half = head + right.body.len() / 2;
    let cases: [(Fault, RangeInclusive<usize>, &str); 9] = [
        (Fault::ResetBeforeHeaders, 0..=0, "ConnectionReset"),
        (Fault::ResetAfterHeaders, head..=head, "ConnectionReset"),
        (Fault::CutBody, half..=half, "UnexpectedEof"),
        (Fault::Stall, 0..=0, "WouldBlock"),
        (Fault::StallInBody, half..=half, "WouldBlock"),
        (Fault::Trickle, 3..=8, "-"),
        (Fault::EndlessBody, 3_000_000..=4_000_000, "-"),
        (Fault::EndlessHeaders, 3_000_000..=4_000_000, "-"),
        (Fault::TlsAlert, half..=half, "InvalidData"),
    ];
    for (fault, expect, end) in cases {
        // Where it ends, and after how much, is also a matter of time: on a busy machine the end may overtake.
        let mut tries = 0;
        let (taken, error, lasted) = loop {
            proxy.arm(fault, When::Once(0));
            let endpoint = Endpoint { patience: Duration::from_millis(400), ..proxy.endpoint("pouch") };
            let began = Instant::now();
            let mut connection = endpoint.connect().unwrap();
            let (taken, error) = connection.raw(&Request::get(NAMED), 3_000_000, Duration::from_millis(600));
            let ended = error.as_ref().map_or(String::from("-"), |error| format!("{:?}", error.kind()));
            if expect.contains(&taken.len()) && ended == end {
                break (taken, error, began.elapsed());
            }
            tries += 1;
            assert!(tries < 6, "{fault:?}: {} bytes, then {error:?}", taken.len());
        };
        assert_eq!(proxy.injected(), 1, "{fault:?}");
        if fault == Fault::TlsAlert {
            assert!(error.unwrap().to_string().contains("alert"), "it was no alert");
        }
        if matches!(fault, Fault::Stall | Fault::StallInBody) {
            assert!(lasted >= Duration::from_millis(400), "{fault:?} ended by itself");
        }
        if fault == Fault::EndlessHeaders {
            assert!(!taken.windows(4).any(|window| window == b"\r\n\r\n"), "the head came to an end");
        }
        assert_eq!(proxy.flooded() > 2_000_000, fault == Fault::EndlessBody || fault == Fault::EndlessHeaders);
        assert_eq!(seen(proxy.endpoint("pouch").get(NAMED)), OBJECT, "{fault:?} came twice");
        assert_eq!(proxy.lines(), vec![format!("GET {NAMED}"); 2]);
    }
}
