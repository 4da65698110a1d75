//! What sealing cannot be faster than, for `scripts/bench/run`: age's own wrapping of data keys, on all
//! cores and with nothing around it; and how many files a second are recognised as unchanged.
//!
//! ```text
//! bare wraps COUNT RECIPIENT...    wraps a fresh data key for each recipient, COUNT times
//! bare reuse COUNT                 verifies COUNT file tags; prints files a second
//! ```
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a benchmark that fails should say so")]

use pouch::age::{prepare, stanzas};
use pouch::ambient::Ambient;
use pouch_core::name::ObjectKey;
use pouch_core::recipient::Recipient;
use pouch_core::reuse::{Context, KeyRing, ReuseKey, Under, header, verify};
use rayon::prelude::*;

fn main() {
    let ambient = Ambient::of_process().expect("a current folder");
    let words: Vec<&str> = ambient.arguments().iter().skip(1).map(|word| word.to_str().expect("UTF-8")).collect();
    match *words {
        ["wraps", count, ref recipients @ ..] => wraps(&ambient, number(count), recipients),
        ["reuse", count] => reuse(&ambient, number(count)),
        _ => panic!("bare wraps COUNT RECIPIENT... | bare reuse COUNT"),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn wraps(ambient: &Ambient, count: usize, recipients: &[&str]) {
    let recipients: Vec<Recipient> =
        recipients.iter().map(|text| Recipient::parse(text).expect("a recipient")).collect();
    let prepared = prepare(&recipients).expect("recipients that age takes");
    let timer = ambient.timer();
    let bytes: usize = (0..count)
        .into_par_iter()
        .map(|_| {
            let mut data_key = [0; 32];
            ambient.fill(&mut data_key).expect("entropy");
            stanzas(&data_key, &prepared).expect("stanzas").iter().map(|(_, text)| text.len()).sum::<usize>()
        })
        .sum();
    assert!(bytes > 300 * count * recipients.len());
    println!("{:.6}", timer.elapsed().as_secs_f64());
}

/// Files of the size that a Secret of two entries has; each is another object's, and so has its own context.
fn reuse(ambient: &Ambient, count: usize) {
    let mut bytes = [0; 32];
    ambient.fill(&mut bytes).expect("entropy");
    let key = ReuseKey::parse(&ReuseKey::to_text(&bytes)).expect("a key");
    let keys = KeyRing::new(key, Vec::new());
    let recipients = [pouch::age::generate_identity().expect("an identity").1];
    let plain = "apiVersion: v1\ndata:\n  credentials: ".to_owned() + &"QUJD".repeat(27) + "\n" + &"x".repeat(250);
    let body = "apiVersion: v1\ndata:\n  credentials: ENC[AES256_GCM,data:".to_owned() + &"QUJD".repeat(400) + "\n";
    let distinct: Vec<(ObjectKey, Vec<u8>)> = (0..count.min(10_000))
        .map(|n| {
            let lands = ObjectKey::secret("team".into(), format!("s{n}").as_str().into());
            let context = context(&lands, &recipients);
            let mut file =
                header(keys.current().expect("a key"), &context, plain.as_bytes(), body.as_bytes(), &[]).into_bytes();
            file.extend_from_slice(body.as_bytes());
            (lands, file)
        })
        .collect();
    let timer = ambient.timer();
    let fit = (0..count)
        .into_par_iter()
        .filter(|n| {
            let (lands, file) = distinct.get(n % distinct.len()).expect("a file");
            verify(&keys, &context(lands, &recipients), plain.as_bytes(), file) == Some(Under::Current)
        })
        .count();
    assert_eq!(fit, count);
    #[allow(clippy::as_conversions, clippy::cast_precision_loss, reason = "a figure for people")]
    let each_second = count as f64 / timer.elapsed().as_secs_f64();
    println!("{each_second:.0}");
}

fn context<'a>(landing: &'a ObjectKey, recipients: &'a [Recipient]) -> Context<'a> {
    // The fleet and the folder are the same for all files of a region.
    static NAMES: std::sync::OnceLock<(pouch_core::name::FleetName, pouch_core::name::Directory)> =
        std::sync::OnceLock::new();
    let (fleet, directory) = NAMES.get_or_init(|| ("bench".into(), "region-000".into()));
    Context { fleet, directory, landing, recipients }
}
