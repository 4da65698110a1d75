//! Lines of a recipients file that are none: each is refused with its number and the reason, and not repeated.

use crate::support::spoilt::{Fleet, OTHER, RECIPIENT};

const IDENTITY: &str = "AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQS7KDVNN";

/// The points of low order and other spellings of good ones, as bech32 writes them.
const POINTS: [&str; 7] = [
    "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
    "age1qyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
    "age1alllllllllllllllllllllllllllllllllllllllllllllllllllllllll",
    "age1lllllllllllllllllllllllllllllllllllllllllllllllllllllllllll",
    "age1uyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqs7kdvnnx",
    "age1pppppppppppppppppppppppppppppppppppppppppppppppppppppppppp",
    "age1zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
];

fn encoded(prefix: &str, bytes: &[u8]) -> String {
    let prefix = bech32::Hrp::parse(prefix).unwrap();
    bech32::encode::<bech32::Bech32>(prefix, bytes).unwrap()
}

/// At least 120 of them.
fn lines() -> Vec<String> {
    let mut lines: Vec<String> = POINTS.map(str::to_owned).to_vec();
    // Low order, in words that pass the checksum: 0, 1, p - 1, p and p + 1; above p; with the top bit set.
    let point = |first: u8, middle: u8, last: u8| {
        let mut bytes = [middle; 32];
        (bytes[0], bytes[31]) = (first, last);
        encoded("age", &bytes)
    };
    for (first, middle, last) in [
        (0, 0, 0),
        (1, 0, 0),
        (0xec, 0xff, 0x7f),
        (0xed, 0xff, 0x7f),
        (0xee, 0xff, 0x7f),
        (0xef, 0xff, 0x7f),
        (0xff, 0xff, 0x7f),
        (9, 9, 0x89),
        (0, 0, 0x80),
    ] {
        lines.push(point(first, middle, last));
    }
    // Of other lengths and other kinds.
    for length in [0, 1, 16, 31, 33, 34, 64, 200] {
        lines.push(encoded("age", &vec![9; length]));
    }
    for prefix in [
        "age1pq",
        "age1tag",
        "age1tagpq",
        "age1yubikey",
        "age1se",
        "age1tpm",
        "age1fido2-hmac",
        "agf",
        "bc",
        "age-secret-key-",
        "age-plugin-yubikey-",
    ] {
        lines.push(encoded(prefix, &[9; 32]));
    }
    for text in [
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN alice@example.com",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDKv0nHpFqlYnEJ9rUSBTMI",
        "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHQq",
        "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t",
        "FBC7B9E2A4F9289AC0C1D4843D16CEE4A27381B4",
        "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
        "projects/acme/locations/global/keyRings/sops/cryptoKeys/sops-key-of-acme",
        "https://vault.example.com/v1/sops/keys/firstkeyofacme",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "age-encryption.org/v1",
        "age1",
        "age",
        "null",
        "recipient",
        "[]",
        "- item",
        "\u{feff}# comment behind a byte order mark",
        "CaNaRy-5e1f-sings",
    ] {
        lines.push(text.to_owned());
    }
    // A secret key, in every dress.
    for text in [
        IDENTITY.to_owned(),
        IDENTITY.to_lowercase(),
        format!("public key: {IDENTITY}"),
        format!("\"{IDENTITY}\""),
        format!("{RECIPIENT},{IDENTITY}"),
        format!("{RECIPIENT} {IDENTITY}"),
        format!("{IDENTITY}\r"),
        format!("export SOPS_AGE_KEY={IDENTITY}"),
        "AGE-PLUGIN-YUBIKEY-1QQQQQQQQQQQQQQQQQQQQ".to_owned(),
        "POUCH-REUSE-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ".to_owned(),
        "AGE-SECRET-KEY-PQ-1QQQQQQQQQQQQQQQQQQQQQQ".to_owned(),
    ] {
        lines.push(text);
    }
    // A good one, spoilt.
    for text in [
        format!("{RECIPIENT}{OTHER}"),
        format!("{RECIPIENT} {OTHER}"),
        format!("{RECIPIENT},{OTHER}"),
        format!("{RECIPIENT} # ours"),
        format!("\"{RECIPIENT}\""),
        format!("'{RECIPIENT}'"),
        format!("- {RECIPIENT}"),
        format!("age: {RECIPIENT}"),
        format!("\u{200b}{RECIPIENT}"),
        format!("{RECIPIENT}\u{200b}"),
        format!("{RECIPIENT}\0"),
        format!("{RECIPIENT}\u{1b}[2J"),
        format!("\u{202e}{RECIPIENT}"),
        RECIPIENT.to_uppercase(),
        RECIPIENT.replace("age1", "Age1"),
        RECIPIENT.replace("age1", "AGE1"),
        RECIPIENT.replace("age1", "age2"),
        RECIPIENT.replace('a', "\u{430}"),
        RECIPIENT.replace('7', "b"),
    ] {
        lines.push(text);
    }
    // One character less, or another one, at places throughout.
    for at in (4..RECIPIENT.len()).step_by(2) {
        let mut text = RECIPIENT.to_owned();
        let other = if text.get(at..=at) == Some("q") { "p" } else { "q" };
        text.replace_range(at..=at, other);
        lines.push(text);
    }
    for at in (4..RECIPIENT.len()).step_by(7) {
        let mut text = RECIPIENT.to_owned();
        text.remove(at);
        lines.push(text);
    }
    lines
}

#[test]
fn s05_lines_that_are_no_recipient_are_named_by_number_and_not_repeated() {
    let lines = lines();
    assert!(lines.len() >= 120, "{}", lines.len());
    let fleet = Fleet::new();
    fleet.configure(&format!("recipients: [{RECIPIENT}]"), "recipientsFile: eu.txt");
    for line in &lines {
        fleet.write("eu.txt", format!("# ours\n{OTHER}\n{line}\n"));
        let ran = fleet.run(&["config"]);
        ran.ended(64).helps();
        assert!(
            ran.out.is_empty()
                && (ran.err.contains("line 3 of \"eu.txt\"") || ran.err.contains("a comment in the file")),
            "{line:?}: {}",
            ran.shown()
        );
        // Words such as `ssh-ed25519` may be said again; what could be key material may not.
        let said = ran.err.to_lowercase();
        for word in line.to_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() >= 16) {
            for piece in word.as_bytes().windows(12) {
                let piece = std::str::from_utf8(piece).unwrap();
                assert!(!said.contains(piece), "{line:?}: {}", ran.shown());
            }
        }
    }
    // The control: the same file without the line is good, so it was the line each time.
    fleet.write("eu.txt", format!("# ours\n{OTHER}\n"));
    fleet.run(&["config"]).ended(0);
}

#[test]
fn s05_sets_of_recipients_that_make_no_sense_are_refused() {
    let said = |from: &str, to: &str, words: &[&str]| {
        let fleet = Fleet::new();
        fleet.configure(from, to);
        fleet.render().ended(64).says(words).helps();
        assert!(fleet.published().is_empty());
    };
    let one = format!("recipients: [{RECIPIENT}]");
    said(&one, "recipients: []", &["no key of the region's own"]);
    said(&one, &format!("recipients: [{RECIPIENT}, {RECIPIENT}]"), &["pouch.yaml:13:"]);
    said(&format!("    {one}\n"), "", &["recipients"]);
    let second = format!("regions:\n  us-east: {{recipients: [{RECIPIENT}], namespaces: {{allowed: ['*']}}}}\n");
    said("regions:\n", &second, &["eu-west", "us-east"]);
    for (recipient, words) in [
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW", &["SSH", "age-keygen"][..]),
        (&encoded("age1yubikey", &[2; 33]), &["plugin", "age-keygen"]),
        (IDENTITY, &["secret key"]),
        (&encoded("age", &[0; 32]), &["low order", "Make a new key pair"]),
    ] {
        said(&one, &format!("recipients: [{recipient}]"), words);
    }
}
