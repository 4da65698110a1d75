//! Tests of `sops`.

extern crate std;

use super::*;
use crate::testing::{self, json_of, node};
use alloc::string::ToString as _;

const ONE: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";
const TWO: &str = "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa";
const TIME: &str = "2026-11-21T07:51:52Z";
const DATA_KEY: [u8; 32] = [b'f'; 32];
const ARMOR: &str = "-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5cHRpb24=\n-----END AGE ENCRYPTED FILE-----\n";

fn recipient(text: &str) -> Recipient {
    Recipient::parse(text).unwrap()
}

fn yaml(text: &str) -> Node {
    node(&testing::yaml(text))
}

fn shared(path: &str) -> Option<String> {
    testing::shared_text(&format!("data/sops/{path}"))
}

/// What a document is sealed with, at a fixed time and with a fixed data key.
fn ingredients<'a>(
    ivs: &'a mut dyn Iterator<Item = [u8; 32]>,
    recipients: &'a [Recipient],
    stanzas: &'a [(Recipient, String)],
) -> Ingredients<'a> {
    Ingredients { data_key: &DATA_KEY, ivs, last_modified: TIME, recipients, stanzas }
}

fn secret(text: &str) -> Tree<'static> {
    Tree::Secret(zeroize::Zeroizing::new(text.to_owned()))
}

fn text(text: &'static str) -> Tree<'static> {
    Tree::text(text)
}

fn with_data(data: Vec<(&'static str, Tree<'static>)>) -> Tree<'static> {
    let annotations = Tree::map([("data", text("trap")), ("n", text("42"))]);
    let metadata = vec![("annotations", annotations), ("name", text("aws")), ("namespace", text("kcm-system"))];
    Tree::map([
        ("apiVersion", text("v1")),
        ("data", Tree::map(data)),
        ("kind", text("Secret")),
        ("metadata", Tree::map(metadata)),
        ("type", text("Opaque")),
    ])
}

fn sample() -> Tree<'static> {
    with_data(vec![
        ("empty", secret("")),
        ("SecretAccessKey", secret("dGVzdC9zZWNyZXQrdmFsdWU9")),
        ("AccessKeyID", secret("QUtJQVRFU1Q=")),
    ])
}

fn seal_with(document: Tree<'_>, change: impl FnOnce(&mut Ingredients<'_>)) -> Result<SealedText, SealError> {
    let recipients = [recipient(ONE)];
    let stanzas = [(recipient(ONE), ARMOR.to_owned())];
    let mut ivs = (1..=u8::MAX).map(|n| [n; 32]);
    let mut ingredients = ingredients(&mut ivs, &recipients, &stanzas);
    change(&mut ingredients);
    seal(document, ingredients)
}

fn sealed(document: Tree<'_>) -> SealedText {
    let recipients = [recipient(ONE)];
    let stanzas = [(recipient(ONE), ARMOR.to_owned())];
    let mut ivs = (1..=u8::MAX).map(|n| [n; 32]);
    let ingredients = ingredients(&mut ivs, &recipients, &stanzas);
    let (tree, leaves) = seal_tree(document, ingredients).unwrap();
    SealedText { text: json_of(&tree).to_string(), leaves }
}

// Made by another implementation of AES-GCM and SHA-512 from the format's description.
const LEAVES: [(&str, &str); 3] = [
    (
        "data:AccessKeyID:",
        "ENC[AES256_GCM,data:GzZ0VAMtqQpWowxW,iv:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=,tag:5lpx4J5I89824A2ULfZRyw==,type:str]",
    ),
    (
        "data:SecretAccessKey:",
        "ENC[AES256_GCM,data:4oOOgwnI5kAOKIOnBkKUD3oc8TvKyHa6,iv:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=,tag:hTMsaFOCeY36qFbKuCuiuQ==,type:str]",
    ),
    (
        "metadata:annotations:data:",
        "ENC[AES256_GCM,data:Aez6TQ==,iv:AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=,tag:0wE5f1dN/gHBcVGab6zi+w==,type:str]",
    ),
];
const MAC: &str = "ENC[AES256_GCM,data:eN/We3MLuiH8SXxlIzIaMJ51kbjh0YKDlc6+GGWjwoMYFJ1/YrYu7crIDCpWtK2L7BO5192nI0rXWGeHPt/QWdKMyAidGYks+apy/eGKJONpCS1uNS8c180bQP/div8U8oZxj55NUqyoO0lzU8GnSZVV2kFX3O3RYhbNhOA85r4=,iv:BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=,tag:MYQxsWvNEn/tmvTrc7/2zA==,type:str]";

#[test]
fn the_whole_file_is_the_documented_one() {
    let SealedText { text, leaves } = sealed(sample());
    let document = yaml(&text);
    let [access, secret, trap] = LEAVES.map(|(_, leaf)| leaf);
    assert_eq!(document.str_at(&["data", "AccessKeyID"]), Some(access));
    assert_eq!(document.str_at(&["data", "SecretAccessKey"]), Some(secret));
    assert_eq!(document.str_at(&["data", "empty"]), Some(""));
    assert_eq!(document.str_at(&["metadata", "annotations", "data"]), Some(trap));
    assert_eq!(document.str_at(&["metadata", "annotations", "n"]), Some("42"));
    assert_eq!(document.str_at(&["metadata", "name"]), Some("aws"));
    assert_eq!(document.str_at(&["type"]), Some("Opaque"));
    let block = document.get("sops").unwrap();
    let keys: Vec<_> = block.entries().iter().map(|(key, _)| &**key).collect();
    assert_eq!(keys, ["age", "encrypted_regex", "lastmodified", "mac", "version"]);
    assert_eq!(block.str_at(&["mac"]), Some(MAC));
    assert_eq!(block.str_at(&["lastmodified"]), Some(TIME));
    assert_eq!(block.str_at(&["encrypted_regex"]), Some("^(data|stringData)$"));
    assert_eq!(block.str_at(&["version"]), Some("3.9.0"));
    assert_eq!(stanzas(&document), [(ONE.to_owned(), ARMOR.to_owned())]);
    let named = |name: &str, leaf: &str| (name.to_owned(), leaf.to_owned());
    assert_eq!(leaves, [named("AccessKeyID", access), named("SecretAccessKey", secret), named("empty", "")]);
}

#[test]
fn the_text_is_what_consumers_search() {
    let SealedText { text, leaves } = seal_with(sample(), |_| ()).unwrap();
    // Flux looks for these bytes, without quotes around the value.
    assert!(text.lines().any(|line| line.trim_start().replace('"', "").starts_with("mac: ENC[AES256_GCM,")));
    for (_, leaf) in LEAVES {
        assert!(text.lines().any(|line| line.ends_with(&format!(": {leaf}"))), "{leaf}");
    }
    assert_eq!(leaves, sealed(sample()).leaves);
}

#[test]
fn what_is_sealed_opens_and_s03_nothing_readable_is_left() {
    let names = ["x_unencrypted", "data", "sops", "_unencrypted", "stringData", "clouds.yaml", ".a"];
    let document = with_data(names.iter().map(|name| (*name, secret("Y2FuYXJ5LWNhbmFyeQ=="))).collect());
    let text = sealed(document).text;
    assert!(!text.contains("Y2FuYXJ5") && !text.contains("canary"), "{text}");
    let opened = open(&yaml(&text), &DATA_KEY).unwrap();
    assert_eq!(opened.len(), names.len());
    assert!(opened.iter().all(|(_, value)| value.expose() == b"canary-canary"));
}

#[test]
fn values_of_other_types_are_counted_as_yaml_reads_them() {
    let items = vec![Tree::Bool(true), Tree::Int(-7), Tree::Float(1.5), Tree::Null, text("1.50"), text("a\nb\n")];
    let document = Tree::map([("data", Tree::map([("k", secret("YQ=="))])), ("list", Tree::List(items))]);
    let node = yaml(&sealed(document).text);
    let opened = decrypt(&node, &DATA_KEY).ok().unwrap();
    assert_eq!(opened.str_at(&["data", "k"]), Some("YQ=="));
    assert!(opened.get("sops").is_none());
}

#[test]
fn lists_below_data_are_sealed_by_the_path_of_keys() {
    let list = Tree::List(vec![text("a"), Tree::List(vec![text("b"), Tree::map([("c", text("d"))])])]);
    let text = sealed(Tree::map([("data", Tree::map([("list", list)]))])).text;
    let node = yaml(&text);
    let items = node.at(&["data", "list"]).unwrap().items();
    let cipher = Cipher::new(&DATA_KEY);
    assert_eq!(cipher.open(items[0].as_str().unwrap(), "data:list:").unwrap().0.as_slice(), b"a");
    let inner = items[1].items();
    assert_eq!(cipher.open(inner[0].as_str().unwrap(), "data:list:").unwrap().0.as_slice(), b"b");
    assert_eq!(cipher.open(inner[1].str_at(&["c"]).unwrap(), "data:list:c:").unwrap().0.as_slice(), b"d");
    assert!(decrypt(&node, &DATA_KEY).is_ok());
}

#[test]
fn what_must_not_be_sealed_is_refused() {
    #[track_caller]
    fn check(document: Tree<'_>, expect: SealError) {
        assert_eq!(seal_with(document, |_| ()), Err(expect));
    }
    check(text("x"), SealError::NotMap);
    check(Tree::List(vec![]), SealError::NotMap);
    check(Tree::map([("sops", Tree::Null)]), SealError::Sealed);
    check(Tree::map([("x", Tree::Plain("ENC[AES256_GCM,…]".into()))]), SealError::Sealed);
    check(Tree::map([("x", text("ENC[AES256_GCM,…]"))]), SealError::LooksSealed);
    check(Tree::map([("x", secret("YQ=="))]), SealError::Exposed);
    check(Tree::map([("x", Tree::List(vec![secret("")]))]), SealError::Exposed);
    check(Tree::map([("Data", Tree::map([("k", secret("YQ=="))]))]), SealError::Exposed);
    check(with_data(vec![("k", Tree::Int(1))]), SealError::NotText);
    check(with_data(vec![("k", Tree::Bool(true))]), SealError::NotText);
    check(with_data(vec![("k", Tree::Plain("x".into()))]), SealError::NotText);
    check(Tree::map([("x", Tree::Uint(u64::MAX))]), SealError::Number);
    check(Tree::map([("x", Tree::Float(f64::NAN))]), SealError::Number);
    check(Tree::map([("x", Tree::Float(f64::INFINITY))]), SealError::Number);
    assert!(seal_with(with_data(vec![("k", Tree::Null)]), |_| ()).is_ok());
    assert!(seal_with(with_data(vec![]), |_| ()).is_ok());
}

#[test]
fn ingredients_are_judged() {
    #[track_caller]
    fn check(expect: SealError, change: impl FnOnce(&mut Ingredients<'_>)) {
        assert_eq!(seal_with(sample(), change), Err(expect));
    }
    check(SealError::Time, |i| i.last_modified = "2026-11-21T07:51:52+00:00");
    check(SealError::Time, |i| i.last_modified = "");
    check(SealError::Stanzas, |i| i.recipients = &[]);
    check(SealError::Stanzas, |i| i.stanzas = &[]);
    check(SealError::Stanzas, |i| (i.recipients, i.stanzas) = (&[], &[]));
    let stanza = |text: &str| (recipient(text), ARMOR.to_owned());
    let [both, swapped] = [[recipient(ONE), recipient(TWO)], [recipient(TWO), recipient(ONE)]];
    let (stanzas, other) = ([stanza(ONE), stanza(TWO)], [stanza(TWO)]);
    let turned = [stanza(TWO), stanza(ONE)];
    let repeated = [recipient(ONE), recipient(ONE)];
    let repeated_stanzas = [stanza(ONE), stanza(ONE)];
    let empty = [(recipient(ONE), String::new())];
    assert!(recipient(ONE) < recipient(TWO));
    fn change<'a>(
        recipients: Option<&'a [Recipient]>,
        stanzas: &'a [(Recipient, String)],
    ) -> Result<SealedText, SealError> {
        let mut ivs = (1..=u8::MAX).map(|n| [n; 32]);
        let one = [recipient(ONE)];
        let recipients = recipients.unwrap_or(&one);
        seal(sample(), ingredients(&mut ivs, recipients, stanzas))
    }
    assert!(change(Some(&both), &stanzas).is_ok());
    for result in [
        change(None, &stanzas),
        change(None, &other),
        change(None, &empty),
        change(Some(&both), &stanzas[..1]),
        change(Some(&both), &turned),
        change(Some(&swapped), &turned),
        change(Some(&repeated), &repeated_stanzas),
    ] {
        assert_eq!(result, Err(SealError::Stanzas));
    }
    // Two values and an annotation, and the MAC: four IVs.
    for (most, expect) in [(3, false), (4, true)] {
        let mut ivs = (1..=most).map(|n| [n; 32]);
        let (recipients, stanzas) = ([recipient(ONE)], [stanza(ONE)]);
        let ingredients = ingredients(&mut ivs, &recipients, &stanzas);
        assert_eq!(seal(sample(), ingredients).err(), (!expect).then_some(SealError::Ivs));
    }
    let mut stuck = core::iter::repeat([4; 32]);
    let (recipients, stanzas) = ([recipient(ONE)], [stanza(ONE)]);
    let ingredients = ingredients(&mut stuck, &recipients, &stanzas);
    assert_eq!(seal(sample(), ingredients), Err(SealError::Ivs), "S20: an IV must never come twice");
}

#[test]
fn the_check_of_the_result_sees_what_sealing_should_not_leave() {
    let leaf = LEAVES[0].1;
    assert!(judge_sealed(&with_data(vec![])).is_err(), "the annotation `data` is still readable");
    let with = |value: Tree<'static>| Tree::map([("data", Tree::map([("k", value)]))]);
    assert_eq!(judge_sealed(&with(Tree::Plain(leaf.into()))).unwrap(), [("k".to_owned(), leaf.to_owned())]);
    for bad in [text("YQ=="), secret("YQ=="), secret(""), Tree::Plain("YQ==".into()), Tree::Int(1)] {
        assert_eq!(judge_sealed(&with(bad)), Err(SealError::SelfCheck));
    }
    for bad in [secret("YQ=="), Tree::Plain(leaf.into())] {
        assert_eq!(judge_sealed(&Tree::map([("x", bad)])), Err(SealError::SelfCheck));
    }
}

#[test]
fn a_changed_file_does_not_open() {
    let text = sealed(sample()).text;
    #[track_caller]
    fn check(text: &str, expect: OpenError) {
        let error = open(&yaml(text), &DATA_KEY).err().unwrap();
        assert_eq!(error, expect);
        assert!(!format!("{error} {error:?}").contains("QUtJ"));
    }
    let good = yaml(&text);
    assert!(open(&good, &DATA_KEY).is_ok());
    assert_eq!(
        open(&good, &[1; 32]).err().unwrap(),
        OpenError::Value("data:AccessKeyID:".into(), CipherError::Mismatch)
    );
    let [access, other, _] = LEAVES.map(|(_, leaf)| leaf);
    check(&text.replace("aws", "gcp"), OpenError::Mac);
    check(&text.replace(access, ""), OpenError::Mac);
    check(&text.replace(access, "QUtJQVRFU1Q="), OpenError::NotSealed("data:AccessKeyID:".into()));
    check(&text.replace(&format!("\"{access}\""), "1"), OpenError::NotSealed("data:AccessKeyID:".into()));
    check(&text.replace(access, other), OpenError::Value("data:AccessKeyID:".into(), CipherError::Mismatch));
    check(
        &text.replace("AccessKeyID", "AccessKeyIE"),
        OpenError::Value("data:AccessKeyIE:".into(), CipherError::Mismatch),
    );
    check(&text.replace(TIME, "2026-11-21T07:51:53Z"), OpenError::SealedMac(CipherError::Mismatch));
    check(&text.replace(TIME, "2026-11-21"), OpenError::Time);
    check(&text.replace("3.9.0", ""), OpenError::NoVersion);
    check(&text.replace("^(data|stringData)$", "^data$"), OpenError::Rule);
    check(&text.replace("encrypted_regex", "unencrypted_regex"), OpenError::Rule);
    check(&text.replace(MAC, ""), OpenError::NoMac);
    check(&text.replace(MAC, "ENC[]"), OpenError::SealedMac(CipherError::Form));
    check("data: {}\n", OpenError::NoBlock);
    check("data: {}\nsops: 1\n", OpenError::NoBlock);
}

#[test]
fn an_open_document_that_is_no_secret_is_named() {
    let text = sealed(Tree::map([("data", Tree::map([("k", text("not base64!"))]))])).text;
    assert_eq!(open(&yaml(&text), &DATA_KEY).err().unwrap(), OpenError::NotBase64("k".into()));
}

#[test]
fn files_of_the_sops_command_open_or_are_refused_by_name() {
    // The data keys that age gives for the throw-away identity beside the files.
    #[track_caller]
    fn check(file: &str, data_key: &str, expect: Result<usize, OpenError>) {
        let Some(text) = shared(&format!("sops-cli-3.11.0/{file}")) else { return };
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(data_key.get(2 * at..2 * at + 2).unwrap(), 16).unwrap();
        }
        let opened = open(&yaml(&text), &bytes);
        if file.starts_with("k8s-secret.enc")
            && let Ok(entries) = &opened
        {
            let values: Vec<_> = entries.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
            assert_eq!(values[0], ("AccessKeyID", b"AKIATEST".as_slice()));
            assert_eq!(values[1], ("SecretAccessKey", b"test/secret+value=".as_slice()));
            assert_eq!(values[3], ("empty", b"".as_slice()));
        }
        assert_eq!(opened.map(|entries| entries.len()), expect, "{file}");
    }
    let key = "7d52a44b1885a6d7e603db7fe3ab634d5cb146a375dac5f7587302d58f436e54";
    check("k8s-secret.enc.yaml", key, Ok(7));
    check("bad.tampered-name.enc.yaml", key, Err(OpenError::Mac));
    check("bad.blanked-value.enc.yaml", key, Err(OpenError::Mac));
    check("bad.no-version.enc.yaml", key, Err(OpenError::NoVersion));
    check("k8s-secret.two-recipients.enc.yaml", TWO_RECIPIENTS, Ok(7));
    check("k8s-secret.mac-only.enc.yaml", key, Err(OpenError::MacOnlyEncrypted));
    check("k8s-secret.key-groups.enc.yaml", key, Err(OpenError::KeyGroups));
    check("all-types.enc.yaml", key, Err(OpenError::Rule));
    check("regex-trap.enc.yaml", "d44088196a8d11401069a1d8177c81de85b0d53fb87731ecd241fb443758ba8c", Ok(1));
}

const TWO_RECIPIENTS: &str = "ce15c6c99ccb5fb666a484a541e787a4c266f184f5854f74f390bb004b08cae7";

proptest::proptest! {
    #[test]
    fn whatever_is_sealed_opens(values in proptest::collection::btree_map("[-._a-zA-Z0-9]{1,12}", proptest::collection::vec(0_u8.., 0..40), 0..6)) {
        let encoded: Vec<_> = values.iter().map(|(name, value)| (name.clone(), secret(&STANDARD.encode(value)))).collect();
        let document = Tree::map([("data", Tree::map(encoded)), ("kind", text("Secret"))]);
        let sealed = sealed(document);
        let opened = open(&yaml(&sealed.text), &DATA_KEY).unwrap();
        let opened: Vec<_> = opened.iter().map(|(name, value)| (name.clone(), value.expose().to_vec())).collect();
        assert_eq!(opened, values.into_iter().collect::<Vec<_>>());
    }
}
