//! Which requests are hit, what is recorded of them, and how messages and paths are read.

use std::io::BufReader;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::canned::{MAPS, NAMED, OBJECT, SECOND, canned, seen};
use crate::rig::fault::{Fault, Place};
use crate::rig::http::{Request, Response};
use crate::rig::proxy::{Proxy, When};

#[test]
fn a_handshake_fails_where_it_should() {
    for (fault, kind) in [(Fault::TlsClosed, "UnexpectedEof"), (Fault::TlsGarbage, "InvalidData")] {
        let proxy = Proxy::canned(canned);
        let ask = || seen(proxy.endpoint("pouch").get(NAMED));
        proxy.arm(fault, When::Once(0));
        assert_eq!([ask(), ask(), ask()], [kind, OBJECT, OBJECT], "{fault:?} at once");
        assert_eq!((proxy.injected(), proxy.requests().len()), (1, 2));
        proxy.arm(fault, When::Once(1));
        assert_eq!([ask(), ask(), ask(), ask()], [OBJECT, "UnexpectedEof", kind, OBJECT], "{fault:?} at the second");
        assert_eq!((proxy.injected(), proxy.requests().len()), (1, 3));
        proxy.arm(fault, When::From(1));
        assert_eq!([ask(), ask(), ask(), ask()], [OBJECT, "UnexpectedEof", kind, kind], "{fault:?} from the second on");
        proxy.arm(fault, When::From(0));
        assert_eq!([ask(), ask()], [kind, kind], "{fault:?} always");
        assert_eq!((proxy.injected(), proxy.requests().len()), (2, 0));
    }
}

#[test]
fn the_right_requests_are_hit() {
    let proxy = Proxy::canned(canned);
    #[track_caller]
    fn check(proxy: &Proxy, fault: Fault, when: When, targets: &[&str], expect: &str) {
        proxy.arm(fault, when.clone());
        let mut connection = proxy.endpoint("pouch").connect().unwrap();
        let right: Vec<String> = targets.iter().map(|target| seen(Ok(canned(&Request::get(target))))).collect();
        let hits: String = std::iter::zip(targets, right)
            .map(|(target, right)| if seen(connection.send(&Request::get(target))) == right { '.' } else { 'x' })
            .collect();
        assert_eq!(hits, expect, "{fault:?} {when:?}");
        assert_eq!(proxy.injected(), expect.matches('x').count());
    }
    let some = [MAPS, NAMED, "/version", NAMED];
    check(&proxy, Fault::Internal, When::Never, &some, "....");
    check(&proxy, Fault::Internal, When::Once(0), &some, "x...");
    check(&proxy, Fault::Internal, When::Once(2), &some, "..x.");
    check(&proxy, Fault::Internal, When::Once(4), &some, "....");
    check(&proxy, Fault::Internal, When::From(2), &some, "..xx");
    check(&proxy, Fault::Internal, When::Path(String::from("/configmaps/")), &some, ".x.x");
    check(&proxy, Fault::Internal, When::PathTimes(String::from("/configmaps/"), 1), &some, ".x..");
    check(&proxy, Fault::Internal, When::PathTimes(String::from("/n/"), 2), &some, "xx..");
    // The first that has a page to miss, not the first.
    check(
        &proxy,
        Fault::MissingPage,
        When::PathTimes(String::from("/n/configmaps"), 1),
        &[NAMED, SECOND, SECOND],
        ".x.",
    );
    check(&proxy, Fault::MissingPage, When::Once(0), &[NAMED, SECOND, SECOND], "...");
}

#[test]
fn requests_are_recorded() {
    let proxy = Proxy::canned(canned);
    let mut request = Request::get(SECOND);
    request.headers.push((String::from("Accept"), String::from("application/json")));
    request.headers.push((String::from("User-Agent"), String::from("me/1")));
    proxy.endpoint("pouch").ask(&request).unwrap();
    proxy.endpoint("pouch").ask(&Request { method: String::from("DELETE"), ..Request::get(NAMED) }).unwrap();
    assert_eq!(proxy.lines(), [format!("DELETE {NAMED}"), format!("GET {MAPS}")]);
    let first = &proxy.requests()[0];
    assert_eq!((first.accept.as_str(), first.agent.as_str()), ("application/json", "me/1"));
    assert_eq!(first.query, SECOND.split_once('?').unwrap().1);
    proxy.calm();
    assert!(proxy.requests().is_empty());
}

#[test]
fn a_change_can_be_made_in_the_midst_of_a_run() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = |what: &'static str| {
        let heard = Arc::clone(&heard);
        move |number: usize, request: &Request| {
            heard.lock().unwrap().push(format!("{what} {number} {}", request.path()))
        }
    };
    let answer = hear("answered");
    let proxy = Proxy::canned(move |request| {
        answer(0, request);
        canned(request)
    });
    proxy.before(hear("before"));
    proxy.endpoint("pouch").get(NAMED).unwrap();
    proxy.endpoint("pouch").get(MAPS).unwrap();
    proxy.calm();
    proxy.endpoint("pouch").get(NAMED).unwrap();
    let expect = [
        format!("before 0 {NAMED}"),
        format!("answered 0 {NAMED}"),
        format!("before 1 {MAPS}"),
        format!("answered 0 {MAPS}"),
        format!("answered 0 {NAMED}"),
    ];
    assert_eq!(*heard.lock().unwrap(), expect);
}

/// What hangs on a proxy is let go: by a new run and by its end, whoever stalls.
#[test]
fn nobody_waits_for_a_proxy_that_is_gone() {
    let proxy = Proxy::canned(canned);
    for end in ["arm", "drop"] {
        proxy.arm(Fault::Stall, When::From(0));
        let endpoint = proxy.endpoint("pouch");
        let began = Instant::now();
        let waiting = thread::spawn(move || seen(endpoint.get(NAMED)));
        while proxy.injected() == 0 {
            assert!(began.elapsed() < Duration::from_secs(10), "the request never came");
            thread::sleep(Duration::from_millis(5));
        }
        if end == "arm" {
            proxy.calm();
            assert_eq!(waiting.join().unwrap(), "UnexpectedEof");
            assert!(began.elapsed() < Duration::from_secs(10));
        } else {
            drop(proxy);
            assert_eq!(waiting.join().unwrap(), "UnexpectedEof");
            assert!(began.elapsed() < Duration::from_secs(10));
            break;
        }
    }
}

#[test]
fn paths_name_what_the_api_server_says_they_do() {
    #[track_caller]
    fn check(path: &str, expect: Option<(&str, Option<&str>, &str, Option<&str>)>) {
        let place = Place::of(path);
        let read = place.as_ref().map(|place| {
            (place.group.as_str(), place.namespace.as_deref(), place.resource.as_str(), place.name.as_deref())
        });
        assert_eq!(read, expect, "{path}");
    }
    check("/api/v1/namespaces", Some(("", None, "namespaces", None)));
    check("/api/v1/namespaces/kube-system", Some(("", None, "namespaces", Some("kube-system"))));
    check("/api/v1/namespaces/a/secrets/b", Some(("", Some("a"), "secrets", Some("b"))));
    check("/apis/x.example.com/v1/things", Some(("x.example.com", None, "things", None)));
    check("/apis/x.example.com/v1/namespaces/a/things/b", Some(("x.example.com", Some("a"), "things", Some("b"))));
    check("/apis/x.example.com/v1", None);
    check("/apis", None);
    check("/version", None);
}

#[test]
fn framing_is_read_and_written() {
    #[track_caller]
    fn check(wire: &str, expect: Option<&str>) {
        let read = Response::read(&mut BufReader::new(wire.as_bytes())).ok();
        assert_eq!(read.map(|response| String::from_utf8(response.body).unwrap()).as_deref(), expect, "{wire:?}");
    }
    check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", Some("ab"));
    check("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", None);
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n", Some("abc"));
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", None);
    check("HTTP/1.1 200 OK\r\n\r\nabc", Some("abc"));
    check("HTTP/1.1 204 No\r\n\r\nabc", Some(""));
    check("HTTP/1.1 200 OK\r\nContent-Le", None);
    check("", None);

    let wire = "PUT /x?a=b&c=d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
    let mut wire = BufReader::new(wire.as_bytes());
    let first = Request::read(&mut wire).unwrap().unwrap();
    assert_eq!((first.path(), first.parameter("c"), first.body.as_slice()), ("/x", Some("d"), &b"ab"[..]));
    let sent = String::from_utf8(first.bytes("other", Some("t"))).unwrap();
    assert_eq!(
        sent,
        "PUT /x?a=b&c=d HTTP/1.1\r\nHost: other\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\nab"
    );
    assert_eq!(Request::read(&mut wire).unwrap().unwrap().target, "/");
    assert!(Request::read(&mut wire).unwrap().is_none());
}

#[test]
fn many_clients_are_served_at_once() {
    let proxy = Proxy::canned(canned);
    proxy.arm(Fault::Internal, When::From(600));
    let right = thread::scope(|scope| {
        let clients: Vec<_> = (0..32)
            .map(|_| {
                let endpoint = proxy.endpoint("pouch");
                scope.spawn(move || {
                    let mut connection = endpoint.connect().unwrap();
                    (0..20).filter(|_| seen(connection.send(&Request::get(NAMED))) == OBJECT).count()
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum::<usize>()
    });
    assert_eq!((right, proxy.injected(), proxy.requests().len()), (600, 40, 640));
}
