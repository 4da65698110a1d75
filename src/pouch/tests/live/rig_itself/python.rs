//! Somebody else's TLS and HTTP meet the faults, so that rig and client cannot be wrong in the same way.

use std::fs;

use super::canned::{NAMED, canned};
use crate::rig::fault::Fault;
use crate::rig::http::Request;
use crate::rig::proxy::{Proxy, When};
use crate::support;

#[test]
fn python_sees_the_same_faults() {
    const SCRIPT: &str = "import gzip, http.client, json, ssl, sys\n\
        port, ca, path = sys.argv[1:]\n\
        tls = ssl.create_default_context(cafile=ca)\n\
        peer = http.client.HTTPSConnection('127.0.0.1', int(port), context=tls, timeout=2)\n\
        try:\n    peer.request('GET', path)\n    got = peer.getresponse()\n    body = got.read(5_000_000)\n    \
        if got.length: raise EOFError(got.length)\n    \
        if got.headers['Content-Encoding'] == 'gzip': body = gzip.decompress(body)\n    \
        print(got.status, got.headers.get_content_type(), len(body), end='')\n\
        except Exception as error:\n    print('error', type(error).__name__, end='')\n";
    let Some(python) = support::tool("python3") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let proxy = Proxy::canned(canned);
    let ca = scratch.path().join("ca.pem");
    fs::write(&ca, proxy.ca()).unwrap();
    let port = proxy.url().rsplit(':').next().unwrap().to_owned();
    let ask = || {
        let arguments = ["-I", "-c", SCRIPT, &port, ca.to_str().unwrap(), NAMED];
        String::from_utf8(support::run(&python, arguments, &[]).stdout).unwrap()
    };
    let length = canned(&Request::get(NAMED)).body.len();
    let right = format!("200 application/json {length}");
    // Of a trickle each byte comes in time for Python, which would wait for the last one.
    for fault in Fault::ALL.iter().copied().filter(|fault| *fault != Fault::Trickle) {
        proxy.arm(fault, When::Once(0));
        let told = ask();
        let expect = match fault {
            Fault::Unauthorized => "401 application/json ",
            Fault::Forbidden => "403 application/json ",
            Fault::NotFoundText => "404 text/plain 19",
            Fault::NotFoundBare | Fault::NotFoundNamed => "404 application/json ",
            Fault::Conflict => "409 application/json ",
            Fault::Gone => "410 application/json ",
            Fault::TooMany | Fault::TooManyRetryAfter => "429 text/plain ",
            Fault::Internal => "500 application/json ",
            Fault::BadGateway => "502 text/html ",
            Fault::Unavailable => "503 text/plain ",
            Fault::GatewayTimeout => "504 application/json ",
            Fault::Redirect => "302 text/html ",
            Fault::Empty => "200 application/json 0",
            Fault::TruncatedJson => &format!("200 application/json {}", length / 2),
            Fault::InvalidUtf8 => &format!("200 application/json {}", length + 1),
            Fault::DuplicateKeys | Fault::WrongShape => "200 application/json ",
            Fault::WrongType => "200 text/html ",
            Fault::EndlessBody => "200 application/json 5000000",
            Fault::DeepJson => "200 application/json 400000",
            Fault::OtherObject => "200 application/json ",
            Fault::StatusAsSuccess => "200 application/json ",
            // Of a list, which this is none.
            Fault::Drip | Fault::GoneFresh | Fault::DuplicatePage | Fault::RepeatedPage => &right,
            Fault::MissingPage | Fault::EarlyEnd | Fault::NullItems => &right,
            Fault::GarbageGzip => "error ",
            Fault::ResetBeforeHeaders | Fault::ResetAfterHeaders | Fault::CutBody | Fault::TlsAlert => "error ",
            Fault::Stall | Fault::StallInBody => "error TimeoutError",
            Fault::Trickle => "not asked",
            Fault::EndlessHeaders => "error HTTPException",
            Fault::TlsClosed | Fault::TlsGarbage => "error SSL",
        };
        assert!(told.starts_with(expect), "{fault:?}: Python sees {told}, not {expect}");
        if !expect.starts_with("200") {
            assert!(!told.starts_with("200"), "{fault:?}: Python sees {told}");
        }
    }
    proxy.calm();
    assert_eq!(ask(), right);
}
