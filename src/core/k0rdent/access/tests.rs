//! Which Credentials and namespaces rules choose, and what of a rule is not understood.

extern crate std;

use super::*;
use crate::testing::object;
use alloc::string::ToString as _;

fn word(truth: Truth) -> &'static str {
    match truth {
        Truth::Yes => "yes",
        Truth::No => "no",
        Truth::Unknown => "unknown",
    }
}

fn rules(spec: &str) -> (Vec<Rule>, String) {
    let head = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: AccessManagement\nmetadata: {name: kcm}\n";
    let (rules, faults) = read(&object(&format!("{head}spec: {spec}\n")));
    assert!(
        faults
            .iter()
            .all(|fault| matches!(fault.code, Code::UnreadableObject | Code::Mistyped) && !fault.help.is_empty())
    );
    (rules, faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>().join("; "))
}

/// Whether the only rule hands out Credential `aws` with the label `tier: gold`.
#[track_caller]
fn hands_out(rule: &str, expect: &str) {
    let (rules, said) = rules(&format!("{{accessRules: [{rule}]}}"));
    let [rule] = &*rules else { panic!("{rules:?}") };
    let labels = [("tier", "gold")].into();
    let truth = word(rule.hands_out(&GroupKind::new(GROUP, "Credential"), &"aws".into(), Some(&labels)));
    assert_eq!(if said.is_empty() { truth.to_string() } else { format!("{truth}: {said}") }, expect, "{rule:?}");
}

#[test]
fn resources_win_over_the_older_list() {
    hands_out("{}", "no");
    hands_out("{credentials: []}", "no");
    hands_out("{credentials: [aws]}", "yes");
    hands_out("{credentials: [azure]}", "no");
    hands_out("{credentials: [aws], resources: []}", "yes");
    hands_out("{credentials: [aws], resources: null}", "yes");
    hands_out("{credentials: [aws], resources: [{kind: Credential, names: [azure]}]}", "no");
    hands_out("{credentials: [aws], resources: [{kind: DataSource}]}", "no");
    hands_out("{credentials: [azure], resources: [{kind: Credential, names: [aws]}]}", "yes");
}

#[test]
fn entries_are_for_credentials_of_k0rdent() {
    hands_out("{resources: [{kind: Credential}]}", "yes");
    hands_out("{resources: [{kind: Credential, apiGroup: ''}]}", "yes");
    hands_out("{resources: [{kind: Credential, apiGroup: k0rdent.mirantis.com}]}", "yes");
    hands_out("{resources: [{kind: Credential, apiGroup: example.com}]}", "no");
    let mistyped = "unknown: spec.accessRules[0].resources[0] selects a kind that k0rdent does not have";
    hands_out("{resources: [{kind: credential}]}", mistyped);
    hands_out("{resources: [{kind: Credentail, apiGroup: k0rdent.mirantis.com}]}", mistyped);
    hands_out("{resources: [{kind: Credentail, apiGroup: example.com}]}", "no");
    // No API server takes one without a kind.
    hands_out("{resources: [{apiGroup: ''}]}", "unknown: spec.accessRules[0].resources[0].kind is missing");
    hands_out("{resources: [{kind: DataSource, later: 1}]}", "no");
    hands_out("{resources: [{kind: DataSource}, {kind: Credential, names: [aws]}]}", "yes");
    hands_out("{resources: [{kind: Credential, names: [azure]}, {kind: Credential, names: [aws]}]}", "yes");
}

#[test]
fn secrets_and_config_maps_are_handed_out_each_by_itself() {
    let at = "spec.accessRules[0].resources[0]";
    for (resource, expect) in [
        ("{kind: Secret, names: [aws]}", "yes no no"),
        ("{kind: Secret, apiGroup: ''}", "yes no no"),
        ("{kind: ConfigMap, names: [aws]}", "no yes no"),
        ("{kind: Credential, names: [aws]}", "no no yes"),
        ("{kind: Secret, names: [other]}", "no no no"),
        ("{kind: Secret, stringSelector: 'tier=gold'}", "unknown no no"),
        ("{kind: Secret, apiGroup: example.com}", "no no no"),
        ("{kind: Secret, apiGroup: v1}", &format!("unknown no no: {at}.apiGroup is no group that has Secret")),
        ("{kind: ConfigMap, apiGroup: core}", &format!("no unknown no: {at}.apiGroup is no group that has ConfigMap")),
        (
            "{kind: Secret, apiGroup: k0rdent.mirantis.com}",
            &format!("unknown no no: {at}.apiGroup is no group that has Secret"),
        ),
        ("{kind: RBACPolicy, later: 1}", "no no no"),
        ("{kind: Service}", "no no no"),
        ("{kind: Widget, apiGroup: example.com, later: 1}", "no no no"),
        ("{kind: Secret, name: aws}", &format!("unknown no no: {at} has no field \"name\"")),
        ("{kind: secret}", &format!("unknown no no: {at} selects a kind that Kubernetes does not have")),
        ("{kind: ConfigMaps}", &format!("no unknown no: {at} selects a kind that Kubernetes does not have")),
        ("{kind: Credentail}", &format!("no no unknown: {at} selects a kind that k0rdent does not have")),
        ("{apiGroup: ''}", &format!("unknown unknown unknown: {at}.kind is missing")),
    ] {
        let (rules, said) = rules(&format!("{{accessRules: [{{resources: [{resource}]}}]}}"));
        let [rule] = &*rules else { panic!("{rules:?}") };
        let kinds = [("", "Secret"), ("", "ConfigMap"), (GROUP, "Credential")];
        let truths = kinds.map(|(group, kind)| word(rule.hands_out(&GroupKind::new(group, kind), &"aws".into(), None)));
        let truths = truths.join(" ");
        assert_eq!(if said.is_empty() { truths } else { format!("{truths}: {said}") }, expect, "{resource}");
    }
}

#[test]
fn names_win_over_selectors_and_none_selects_all() {
    hands_out("{resources: [{kind: Credential, names: []}]}", "no");
    hands_out("{resources: [{kind: Credential, names: null}]}", "yes");
    hands_out("{resources: [{kind: Credential, names: [], selector: {}}]}", "no");
    hands_out("{resources: [{kind: Credential, selector: {}}]}", "yes");
    hands_out("{resources: [{kind: Credential, selector: {matchLabels: {tier: gold}}}]}", "yes");
    hands_out("{resources: [{kind: Credential, selector: {matchLabels: {tier: tin}}}]}", "no");
    hands_out("{resources: [{kind: Credential, stringSelector: ''}]}", "yes");
    hands_out("{resources: [{kind: Credential, stringSelector: 'tier in (gold)'}]}", "yes");
    hands_out("{resources: [{kind: Credential, stringSelector: 'tier!=gold'}]}", "no");
}

#[test]
fn what_is_not_understood_leaves_its_part_unknown() {
    let at = "spec.accessRules[0]";
    hands_out("{credentials: aws}", &format!("unknown: {at}.credentials is text, not a list"));
    hands_out("{credentials: [1]}", &format!("unknown: {at}.credentials[0] is an integer, not text"));
    hands_out("{resources: {}}", &format!("unknown: {at}.resources is a map, not a list"));
    hands_out("{resources: [Credential]}", &format!("unknown: {at}.resources[0] is text, not a map"));
    hands_out("rule", &format!("unknown: {at} is text, not a map"));
    hands_out(
        "{resources: [{kind: Credential, name: aws}]}",
        &format!("unknown: {at}.resources[0] has no field \"name\""),
    );
    hands_out("{credentails: [aws]}", &format!("unknown: {at} has no field \"credentails\""));
    hands_out(
        "{resources: [{kind: Credential, other: aws}]}",
        &format!(
            "unknown: {at}.resources[0] has a field other than `apiGroup`, `kind`, `names`, `selector`, \
             `stringSelector`"
        ),
    );
    hands_out(
        "{resources: [{kind: Credential, stringSelector: 'a in b'}]}",
        &format!("unknown: {at}.resources[0].stringSelector cannot be used: the text is not a selector"),
    );
    hands_out(
        "{resources: [{kind: Credential, names: [aws]}, {kind: Credential, selector: []}]}",
        &format!("yes: {at}.resources[1].selector cannot be used: a selector is not a map"),
    );
    assert_eq!(rules("{accessRules: {}}").1, "spec.accessRules is a map, not a list");
    assert_eq!(rules("{accesRules: []}").1, "spec has no field \"accesRules\"");
    assert_eq!(rules("[]").1, "spec is a list, not a map");
    for none in ["{}", "null", "{accessRules: null}", "{accessRules: []}", "{later: 1}"] {
        assert_eq!(rules(none), (Vec::new(), String::new()), "{none}");
    }
}

#[test]
fn without_labels_a_selector_is_unknown() {
    let (rules, _) =
        rules("{accessRules: [{resources: [{kind: Credential, stringSelector: tier}]}, {credentials: [aws]}]}");
    let kind = GroupKind::new(GROUP, "Credential");
    let said: Vec<&str> = rules.iter().map(|rule| word(rule.hands_out(&kind, &"aws".into(), None))).collect();
    assert_eq!(said, ["unknown", "yes"]);
}

#[test]
fn targets_are_a_list_a_selector_or_unstated() {
    for (targets, expect) in [
        ("null", "unstated"),
        ("{}", "unstated"),
        ("{list: []}", "unstated"),
        ("{list: [a, b]}", "list a b"),
        ("{list: [a], selector: {}}", "list a"),
        ("{selector: {}}", "by"),
        ("{stringSelector: ''}", "unstated"),
        ("{stringSelector: a=b}", "by"),
        ("{list: [], stringSelector: a=b}", "by"),
        ("{list: [../a]}", "unknown"),
        ("{list: [1]}", "unknown"),
        ("{list: a}", "unknown"),
        ("{selectr: {}}", "unknown"),
        ("{selector: {matchlabels: {}}}", "unknown"),
        ("[a]", "unknown"),
    ] {
        let (rules, said) = rules(&format!("{{accessRules: [{{targetNamespaces: {targets}}}]}}"));
        let shown = match &rules.first().unwrap().targets {
            Targets::List(names) => {
                format!("list {}", names.iter().map(Namespace::as_str).collect::<Vec<_>>().join(" "))
            }
            Targets::By(_) => "by".to_string(),
            Targets::Unstated => "unstated".to_string(),
            Targets::Unknown => "unknown".to_string(),
        };
        assert_eq!((&*shown, said.is_empty()), (expect, expect != "unknown"), "{targets}");
    }
}
