//! The tags in front of sealed files and manifests.

use pouch_core::name::{Directory, FleetName, ObjectKey};
use pouch_core::node::Key;
use pouch_core::recipient::Recipient;
use pouch_core::reuse::{self, Context, EntryChange, KeyRing, ReuseKey, Under};
use pouch_core::secret::{Payload, SecretBytes};

use super::input::first_line;

const RECIPIENT: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";

/// A file; its first line also says which byte of what is made of the rest is changed, and to what.
pub fn run(data: &[u8]) {
    apart(data);
    let (choices, body) = first_line(data);
    let keys = KeyRing::new(key(7), vec![key(8)]);
    let (fleet, directory) = (FleetName::from("acme"), Directory::from("eu-west"));
    let landing = ObjectKey::secret("kcm-system".into(), "aws".into());
    let recipients = [Recipient::parse(RECIPIENT).expect("a recipient")];
    let context = Context { fleet: &fleet, directory: &directory, landing: &landing, recipients: &recipients };

    // A body never begins as a header does: sealed text begins with a key of YAML.
    if !body.starts_with(b"# pouch") {
        let payload = payload(choices);
        let leaves: Vec<(String, String)> = payload
            .entries()
            .iter()
            .map(|(name, value)| (name.to_string(), if value.is_empty() { "" } else { "ENC[x]" }.to_owned()))
            .collect();
        let entries = reuse::pair(&leaves, &payload).expect("made of each other");
        let header = reuse::header(keys.current().unwrap(), &context, choices, body, &entries);
        let file = [header.as_bytes(), body].concat();
        let tagged = apart(&file).expect("what is written comes apart");
        assert!(tagged.body == body && tagged.key_id == keys.current().unwrap().id());
        assert_eq!(reuse::verify(&keys, &context, choices, &file), Some(Under::Current));
        assert_eq!(reuse::verify(&keys, &context, b"another plaintext", &file), None);
        let changes = reuse::compare_entries(keys.current().unwrap(), &context, tagged.entry_lines, &leaves, &payload);
        assert!(changes.iter().all(|(_, change)| *change == EntryChange::Same) && changes.len() == leaves.len());
        let old = [reuse::header(&key(8), &context, choices, body, &entries).as_bytes(), body].concat();
        assert_eq!(reuse::verify(&keys, &context, choices, &old), Some(Under::Previous));
        assert_eq!(reuse::retag(&keys, &context, choices, &old, &entries).as_deref(), Some(&*file));
        for bent in bent(choices, &file) {
            assert_eq!(reuse::verify(&keys, &context, choices, &bent), None, "a changed file verifies");
        }
    }
    let manifest = [reuse::manifest_line(keys.current().unwrap(), &fleet, &directory, body).as_bytes(), body].concat();
    assert_eq!(reuse::manifest_verifies(&keys, &fleet, &directory, &manifest), Some(body));
    for bent in bent(choices, &manifest) {
        assert_eq!(reuse::manifest_verifies(&keys, &fleet, &directory, &bent), None, "a changed manifest verifies");
    }
    // Nobody but the key's holder makes a tag.
    assert_eq!(reuse::verify(&keys, &context, b"", data), None);
    assert_eq!(reuse::manifest_verifies(&keys, &fleet, &Directory::from("elsewhere"), &manifest), None);
    assert_eq!(reuse::manifest_verifies(&keys, &FleetName::from("other"), &directory, &manifest), None);
}

fn key(byte: u8) -> ReuseKey {
    ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).expect("a key's own text is taken")
}

/// Takes a file apart; what comes out is all of it, and only it.
fn apart(file: &[u8]) -> Option<reuse::Tagged<'_>> {
    let tagged = reuse::split(file);
    assert!(tagged.is_none() || !reuse::is_newer(file), "a file is of this format and of a later one");
    let tagged = tagged?;
    let head = format!("# pouch/v1 {} {}\n{}", tagged.key_id, tagged.file_tag, tagged.entry_lines);
    assert_eq!([head.as_bytes(), tagged.body].concat(), file, "a byte got lost");
    assert!(!tagged.body.starts_with(b"# pouch"));
    assert!(tagged.entry_lines.lines().all(|line| line.starts_with("# pouch")));
    Some(tagged)
}

/// A file with one byte changed, with one less and with one more.
fn bent(choices: &[u8], file: &[u8]) -> Vec<Vec<u8>> {
    let &[high, low, byte, ..] = choices else { return Vec::new() };
    let at = usize::from(u16::from_be_bytes([high, low])) % file.len();
    let (mut changed, mut shorter, mut longer) = (file.to_vec(), file.to_vec(), file.to_vec());
    changed[at] ^= byte.max(1);
    shorter.remove(at);
    longer.insert(at, byte);
    vec![changed, shorter, longer]
}

/// Some entries, whose lengths and bytes are the choices.
fn payload(choices: &[u8]) -> Payload {
    let entry = |(at, part): (usize, &[u8])| {
        let length = usize::from(part[0] % 40);
        (
            Key::from(format!("entry-{at}").as_str()),
            SecretBytes::new(part.iter().copied().cycle().take(length).collect()),
        )
    };
    Payload::new(choices.chunks(4).take(8).enumerate().map(entry).collect())
}
