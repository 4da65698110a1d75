//! What stays on a region that its bundle does not have.

use super::*;

fn marked(namespace: &str, name: &str, metadata: Value) -> (ObjectKey, Node) {
    (ObjectKey::secret(namespace.into(), name.into()), node(&json!({"metadata": metadata})))
}

#[test]
fn copies_that_no_bundle_has_are_left_over() {
    let shelf = Shelf::new(&[&secret("stringData: {}")]);
    let copy = |namespace: &str, name: &str, label: &str| {
        marked(namespace, name, json!({"labels": {"k0rdent.mirantis.com/managed": label}}))
    };
    let found = shelf.against(Some(&ring(1)), &[&secret("type: Opaque")], |answers| {
        answers.copies = vec![
            copy("team-a", "s", "true"),
            copy("team-a", "old", "true"),
            copy("team-a", "ours", "false"),
            copy("kcm-system", "cluster-api-provider-aws-variables", "true"),
            copy("team-a", "x-variables", "true"),
        ];
        answers.unlisted.insert("secrets".into());
    });
    assert_eq!(
        found,
        "k0rdent-leftover: Secret team-a/old is a copy of k0rdent's that the bundle does not have\n\
         k0rdent-leftover: Secret team-a/x-variables is a copy of k0rdent's that the bundle does not have\n\
         leftovers-unchecked: whether anything of these kinds was left behind was not checked, they cannot be \
         listed: secrets"
    );
}

#[test]
fn what_has_pouch_s_label_and_left_the_bundle_is_left_behind() {
    let shelf = Shelf::new(&[&secret("stringData: {}")]);
    let ours = || json!({"labels": {"app.kubernetes.io/managed-by": "pouch"}});
    let found = shelf.against(Some(&ring(1)), &[&secret("type: Opaque")], |answers| {
        let mut going = ours();
        going["deletionTimestamp"] = json!("2026-11-23T00:00:00Z");
        answers.ours = vec![
            marked("team-a", "s", ours()),
            marked("team-a", "withdrawn", ours()),
            marked("team-a", "going", going),
        ];
    });
    assert_eq!(
        found,
        "left-behind: Secret team-a/going left the bundle, and is still being deleted on the region\n\
         left-behind: Secret team-a/withdrawn is on the region with pouch's label, and not in the bundle"
    );
    let found = shelf.against(Some(&ring(1)), &[&secret("type: Opaque")], |answers| {
        answers.ours = (0..130).map(|n| marked("team-a", &alloc::format!("s{n:03}"), ours())).collect();
    });
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 101);
    let more = "left-behind: 30 more Secret objects are on the region with pouch's label, and not in the bundle";
    assert!(lines.contains(&more), "{found}");
    assert_eq!(lines.iter().filter(|line| line.contains("team-a/s099 ")).count(), 1);
    assert!(!found.contains("s100"));
}

#[test]
fn a_copy_in_clear_is_told_and_not_shown() {
    let shelf = Shelf::new(&[&secret("stringData: {}")]);
    let live = secret("type: Opaque").replacen(
        "metadata: {",
        "metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: 'old-value'}, ",
        1,
    );
    let found = shelf.against(Some(&ring(1)), &[&live], |_| {});
    let told = "cleartext-copy: Secret team-a/s has a copy of itself in clear on the region, in the annotation \
                kubectl.kubernetes.io/last-applied-configuration";
    assert!(found.lines().any(|line| line == told) && !found.contains("old-value"), "{found}");
}
