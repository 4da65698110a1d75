//! Recipients with names: what may be called how.

use alloc::string::String;

use super::super::super::show;
use super::{A, EU, edited, fleet, load};
use crate::recipient;
use crate::yaml::emit::emit;

/// What `eu-west` says of its recipients, and what is said of that.
const WRONG: &[(&str, &str)] = &[
    ("{key: <A>, name: \"al\\u202eice\"}", "10:94 regions.eu-west.recipients[0].name: "),
    ("{key: <A>, name: age1alice}", "10:94 regions.eu-west.recipients[0].name: "),
    ("{key: <A>, name: \"\"}", "10:94 regions.eu-west.recipients[0].name: "),
    ("{key: <A>, name: alice}, {key: <B>, name: alice}", "name: another key of the list is called \"alice\" too"),
    ("{key: <A>, name: alice, until: tomorrow}", "recipients[0].until: \"tomorrow\" is no day"),
    ("{key: <A>, name: alice, until: 2027-02-30}", "recipients[0].until: \"2027-02-30\" is no day"),
    ("{key: <A>}", "name: the field is missing"),
    ("{key: <A>, name: alice, unti: x}", "unknown field \"unti\""),
    (
        "{key: age1e2tczyk2, name: alice}",
        "regions.eu-west.recipients[0].key: the recipient has 12 characters instead of 62",
    ),
    ("{key: <SECRET>, name: alice}", "recipients[0].key: this is a secret key; a recipient belongs here"),
    ("{key: <A>, name: <SECRET>}", "recipients[0].name: this is a secret key; a name belongs here"),
    ("{key: <A>, name: alice}, {key: <A>, name: alice}", "recipients[1].key: the recipient is here twice"),
    ("7", "recipients[0]: the value is a number; it must be text or a map"),
];

#[test]
fn names_that_mislead_are_refused_where_they_stand() {
    for (typed, expect) in WRONG {
        let found = load(&edited(EU, &format!("    recipients: [{typed}]"))).err().unwrap_or_default();
        assert!(found.contains(expect), "{typed}: {found}");
        assert!(found.starts_with("10:"), "{typed}: {found}");
    }
    let typed = "    recipients: [{key: <A>, name: alice}]";
    let escrow = |name: &str| {
        edited(EU, typed).replace("escrowRecipients: [", &format!("escrowRecipients: [{{key: {A}, name: {name}}}, "))
    };
    let found = load(&escrow("bob")).err().unwrap_or_default();
    assert!(found.contains("escrowRecipients[0].name: the same key is called \"alice\" elsewhere"), "{found}");
    let found = load(&escrow("alice")).err().unwrap_or_default();
    assert!(!found.contains("is called"), "{found}");
}

#[test]
fn a_name_is_shown_and_stands_for_all_its_keys() {
    let fleet = fleet("[<A>]", "[{key: <A>, name: alice}]");
    assert_eq!(recipient::shown(fleet.readers.name(A), A), format!("alice ({A})"));
    assert_eq!(recipient::shown(fleet.readers.name("age1other"), "age1other"), "age1other");
    assert!(fleet.readers.called("alice").unwrap().map(|key| key.as_str()).eq([A]));
    assert_eq!(fleet.readers.called("alcie").err(), Some(String::from("Did you mean alice? ")));
    let shown = emit(&show::tree(&fleet));
    assert!(shown.contains("name: alice"), "{}", &*shown);
    assert_eq!(load(&shown).unwrap().readers, fleet.readers, "what is shown says the same");
}
