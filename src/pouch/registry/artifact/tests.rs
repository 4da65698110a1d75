use std::io::Read as _;

use flate2::read::GzDecoder;
use pouch_core::reuse::ReuseKey;

use super::*;

/// The entries of a tar: path, mode and bytes.
fn entries(gzip: &[u8]) -> Vec<(String, String, Vec<u8>)> {
    let mut tar = Vec::new();
    GzDecoder::new(gzip).read_to_end(&mut tar).unwrap();
    assert!(tar.len().is_multiple_of(BLOCK) && tar.ends_with(&[0; 2 * BLOCK]));
    let text = |bytes: &[u8]| String::from_utf8(bytes.iter().copied().take_while(|byte| *byte != 0).collect()).unwrap();
    let (mut at, mut found, mut long) = (0, Vec::new(), None);
    while tar[at] != 0 {
        let block = &tar[at..at + BLOCK];
        let number = |from: usize, to: usize| u64::from_str_radix(text(&block[from..to]).trim(), 8).unwrap();
        let sum: u64 =
            block.iter().enumerate().map(|(n, b)| if (148..156).contains(&n) { 32 } else { u64::from(*b) }).sum();
        assert_eq!(number(148, 156), sum);
        assert_eq!((number(108, 116), number(116, 124), number(136, 148)), (0, 0, 0), "owner, group and time");
        let size = usize::try_from(number(124, 136)).unwrap();
        let bytes = tar[at + BLOCK..at + BLOCK + size].to_vec();
        at += BLOCK + size.next_multiple_of(BLOCK);
        if block[156] == b'x' {
            let record = String::from_utf8(bytes).unwrap();
            let (length, path) = record.split_once(" path=").unwrap();
            assert_eq!(length.parse::<usize>().unwrap(), record.len());
            long = Some(path.trim_end().to_owned());
            continue;
        }
        let folder = text(&block[345..500]);
        let name = text(&block[..100]);
        let path = long.take().unwrap_or(if folder.is_empty() { name } else { format!("{folder}/{name}") });
        found.push((path, text(&block[100..108]), bytes));
    }
    found
}

#[test]
fn a_layer_holds_the_files_and_nothing_of_the_machine() {
    let folder = "regions/eu/core/secrets/".to_owned() + &"n".repeat(63);
    let paths = [
        "regions/eu/bundle.yaml".to_owned(),
        // As long as two fields take, and longer.
        format!("{folder}/{}", "s".repeat(100)),
        format!("{folder}/{}", "s".repeat(101)),
        format!("{folder}/{}.sops.yaml", "s".repeat(200)),
        "a".repeat(100),
    ];
    let contents: Vec<Vec<u8>> = [0, 1, 511, 512, 513].map(|length| vec![b'x'; length]).into();
    let files: BTreeMap<&str, &[u8]> =
        paths.iter().map(String::as_str).zip(contents.iter().map(Vec::as_slice)).collect();
    let packed = layer(&files).unwrap();
    let found = entries(&packed);
    assert!(found.is_sorted() && found.iter().all(|(_, mode, _)| mode == "0000644"));
    let read: BTreeMap<&str, &[u8]> = found.iter().map(|(path, _, bytes)| (path.as_str(), bytes.as_slice())).collect();
    assert_eq!(read, files);
    assert_eq!(layer(&files).unwrap(), packed);
    // No name, no time, and no system: <https://www.rfc-editor.org/rfc/rfc1952#section-2.3>.
    assert_eq!((packed[3], &packed[4..8], packed[9]), (0, &[0; 4][..], 255));
}

#[test]
fn a_manifest_is_believed_under_a_key_and_as_it_was_written() {
    let key = |byte| ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).unwrap();
    let (fleet, eu, us) = (FleetName::from("acme"), Directory::from("eu"), Directory::from("us"));
    let (mine, theirs) = (KeyRing::new(key(1), vec![]), KeyRing::new(key(2), vec![]));
    let of = Of { fleet: &fleet, directory: &eu, keys: &mine };
    let packed = Packed { bundle: "aa", layer: EMPTY_DIGEST, size: 7 };
    let manifest = of.manifest(packed).unwrap();
    let made = of.made(&manifest).unwrap();
    assert_eq!((made.bundle.as_str(), made.layer.as_str(), made.is_exact), ("aa", EMPTY_DIGEST, true));
    assert!(Of { keys: &theirs, ..of }.made(&manifest).is_none());
    assert!(Of { directory: &us, ..of }.made(&manifest).is_none());
    assert!(Of { keys: &KeyRing::blind(), ..of }.manifest(packed).is_none());
    let text = String::from_utf8(manifest).unwrap();
    for (from, to) in [
        ("\"aa\"", "\"ab\""),
        (EMPTY_DIGEST, "sha256:00"),
        ("\"size\":7", "\"size\":8"),
        ("\"layers\":[", "\"layers\":[{},"),
    ] {
        let other = text.replacen(from, to, if from == EMPTY_DIGEST { 9 } else { 1 });
        assert!(other != text && of.made(other.as_bytes()).is_none(), "{from}");
    }
    // What the seal does not cover is written anew, and was ours all the same.
    let other = text.replacen("acme/eu", "acme/xx", 1);
    assert!(of.made(other.as_bytes()).is_some_and(|made| !made.is_exact));
    let later = KeyRing::new(key(2), vec![key(1)]);
    assert!(Of { keys: &later, ..of }.made(text.as_bytes()).is_some_and(|made| !made.is_exact));
    for garbage in ["", "{}", "[]", "{\"layers\":[]}", "\u{0}"] {
        assert!(of.made(garbage.as_bytes()).is_none());
    }
    assert_eq!(digest_of(EMPTY), EMPTY_DIGEST);
}
