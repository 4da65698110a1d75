//! Pages to review: whole, still, and safe to look at, whatever stands in a manifest.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::support::chromium::{Chromium, Listener};
use crate::support::fleet::{CANARY, Fleet, credential};
use crate::support::origin::Origin;

/// Every tag that a page has, as it begins.
const TAGS: [&str; 34] = [
    "a", "b", "body", "code", "dd", "details", "div", "dl", "dt", "h1", "h2", "h3", "h4", "head", "html", "li", "meta",
    "nav", "p", "path", "rect", "span", "style", "summary", "svg", "table", "tbody", "td", "text", "th", "title", "tr",
    "ul", "!doctype",
];

/// Fails unless each `<` begins a tag of ours, with attributes of ours, and nothing leads out of the page.
fn is_ours(page: &str) {
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let tag = &rest[..rest.find('>').expect("a tag ends")];
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        assert!(TAGS.contains(&name), "<{tag}>");
        // Quotes within a value are written otherwise, so they come in pairs.
        let mut parts = tag.split('"');
        let mut names = BTreeSet::new();
        while let Some(between) = parts.next() {
            let attribute = between.split_whitespace().last().unwrap_or_default();
            names.extend(attribute.strip_suffix('='));
            let Some(value) = parts.next() else { break };
            assert!(attribute != "href=" || value.starts_with('#'), "<{tag}>");
        }
        let known =
            "aria-label charset class content d height href http-equiv id lang name role rx title viewBox width x y";
        assert!(names.iter().all(|name| known.split(' ').any(|it| it == *name)), "<{tag}>");
    }
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    assert!(!style.contains("url(") && !style.contains('@') | style.contains("@media"));
    let hash = STANDARD.encode(Sha256::digest(style));
    let policy =
        format!("content=\"default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\"");
    // The policy stands before anything that it is about.
    assert!(page.find(&policy).unwrap() < page.find("<title>").unwrap());
}

fn page(fleet: &Fleet, words: &[&str]) -> String {
    let ran = fleet.run(&[words, &["-o", "html"]].concat()).ends(0);
    is_ours(&ran.stdout);
    assert!(!ran.stdout.contains(CANARY));
    ran.stdout
}

/// Who can read the Secrets of a Credential of region eu.
fn row<'p>(page: &'p str, name: &str) -> &'p str {
    let row = page.split(&format!("<tr><td>eu-team/{name}")).nth(1).and_then(|rest| rest.split("</tr>").next());
    row.unwrap_or_else(|| panic!("no row of {name} in {page}"))
}

#[test]
fn a_plan_stands_on_a_page_with_chains_readers_and_findings() {
    let fleet = Fleet::with_credentials(6);
    let first = page(&fleet, &["plan"]);
    assert!(first.contains("2 regions would change") && first.matches("<svg ").count() == 12, "{first}");
    fleet.run(&["render"]).ends(0);
    let quiet = page(&fleet, &["plan"]);
    assert!(quiet.contains("Nothing would change") && !quiet.contains("<svg "), "{quiet}");
    fleet.secret("eu", "c0", "value: another");
    fleet.delete("eu", "c1");
    fleet.credential("eu", "late", "late");
    fleet.edit("manifests/eu-c2.yaml", "kind: Secret, name: c2", "kind: Secret, name: nothing");
    let changed = page(&fleet, &["plan"]);
    for text in [
        "<span class=\"changed\">changed</span> Secret eu-team/c0 [value]",
        "<span class=\"withdrawn\">withdrawn</span> Secret eu-team/c1",
        "1 region would change",
        "missing-reference",
        "<rect class=\"missing\"",
    ] {
        assert!(changed.contains(text), "{text}: {changed}");
    }
    // Who can read the Secrets of a Credential that comes could not before, and of one that goes cannot any more.
    for (credential, mark) in [("late", " withdrawn\">+"), ("c0", "\">●"), ("c1", " dim\">−")] {
        let row = row(&changed, credential);
        assert!(row.contains(&format!("<td class=\"c{mark}")), "{credential}: {row}");
    }
    // What is told of readers is what a region has.
    let escrow = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";
    fleet.configure("regions:\n", &format!("escrowRecipients: [{escrow}]\nregions:\n"));
    let accept = fleet.run(&["plan"]).ends(0);
    let held = page(&fleet, &["plan"]);
    assert!(
        accept.stdout.contains("would be held") && held.contains("can read it from now on"),
        "{} {held}",
        accept.stdout
    );
    assert!(held.contains("--accept-recipients eu="), "{held}");
    // Who reviews it sees in the row of each Credential that would be sealed for the new one.
    let row = row(&held, "c0");
    assert!(row.contains("withdrawn\">held"), "{row}");
    assert!(held.contains("held: cannot now, and could once what is held is let through"), "{held}");
    let unseen = page(&fleet, &["plan", "--no-values"]);
    assert!(unseen.contains("No Secret was looked into"), "{unseen}");
}

#[test]
fn an_explanation_stands_on_a_page() {
    let fleet = Fleet::with_credentials(2);
    fleet.run(&["render"]).ends(0);
    for (words, text) in [
        (&["explain", "eu-team/c0"][..], "Credential eu-team/c0"),
        (&["explain", "region", "us"], "us-team/c1"),
        (&["explain", "secret", "eu-team/c0"], "eu-team/c0"),
    ] {
        let shown = page(&fleet, words);
        assert!(shown.contains(text) && shown.contains("<svg "), "{words:?}: {shown}");
    }
}

/// Where a history is at hand, the page tells how old values are and what happened last.
#[test]
fn a_page_tells_what_happened_before() {
    let fleet = Fleet::with_credentials(3);
    let origin = Origin::new(&fleet, "");
    assert!(page(&fleet, &["plan"]).contains("Nothing is known of what was published before."));
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: a-second-value-that-is-long-enough");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c1", "value: another");
    let plan = page(&fleet, &["plan"]);
    assert!(plan.contains("Secret c1: first published on 20"), "{plan}");
    assert_eq!(plan.split_once("id=\"timeline\"").unwrap().1.matches("<details>").count(), 2, "{plan}");
    let explained = page(&fleet, &["explain", "eu-team/c0"]);
    assert!(explained.contains("Secret c0: a value was last known to change on 20"), "{explained}");
    let timeline = explained.split_once("id=\"timeline\"").unwrap().1;
    assert!(timeline.matches("<details>").count() == 2 && !timeline.contains("eu-team/c1"), "{timeline}");
}

/// Text that would do something if a page took it for more than text.
fn hostile(port: u16) -> String {
    let at = format!("http://127.0.0.1:{port}");
    format!(
        "\"'></title></style></svg></code><img src={at}/i onerror=\"fetch('{at}/e')\"><script>fetch('{at}/s')</script>\
         <style>*{{background:url({at}/c)}}</style><link rel=stylesheet href={at}/l><iframe src={at}/f></iframe>\
         <meta http-equiv=refresh content=\"0;url={at}/m\"><svg onload=fetch('{at}/v')><base href={at}/>"
    )
}

/// A fleet in which everything that the author of a manifest writes would like to be more than text.
fn attacked(port: u16) -> Fleet {
    let fleet = Fleet::with_credentials(2);
    let text = hostile(port);
    let quoted = serde_json::to_string(&text).unwrap();
    let role = |arn: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterRoleIdentity\nmetadata: {{name: role}}\n\
             spec: {{roleARN: {arn}, sourceIdentityRef: {{kind: AWSClusterControllerIdentity, name: default}}, \
             allowedNamespaces: {{}}}}\n"
        )
    };
    let version = "infrastructure.cluster.x-k8s.io/v1beta2";
    fleet.write("manifests/role.yaml", role("arn:aws:iam::1:role/a"));
    fleet
        .write("manifests/uses.yaml", credential("eu", "eu-team", "role", [version, "AWSClusterRoleIdentity", "role"]));
    fleet.run(&["render"]);
    fleet.write("manifests/role.yaml", role(&quoted));
    let file = |nth: usize, name: &str, namespace: &str, region: &str, reference: &str| {
        let metadata = format!("metadata: {{name: {name}, namespace: {namespace}}}");
        fleet.write(
            &format!("manifests/\"><script>alert({nth})<&-{nth}.yaml"),
            format!(
                "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n{metadata}\nspec: {{region: {region}, \
                 identityRef: {reference}}}\n"
            ),
        );
    };
    let reference = |version: &str, kind: &str, name: &str, namespace: &str| {
        format!("{{apiVersion: {version}, kind: {kind}, name: {name}, namespace: {namespace}}}")
    };
    let good = reference("v1", "Secret", "c0", "eu-team");
    file(0, &quoted, "eu-team", "eu", &good);
    file(1, "one", &quoted, "eu", &good);
    file(2, "two", "eu-team", &quoted, &good);
    file(3, "three", "eu-team", "eu", &reference(&quoted, "Secret", "c0", "eu-team"));
    file(4, "four", "eu-team", "eu", &reference("v1", &quoted, "c0", "eu-team"));
    file(5, "five", "eu-team", "eu", &reference("v1", "Secret", &quoted, "eu-team"));
    file(6, "six", "eu-team", "eu", &reference("v1", "Secret", "c0", &quoted));
    fleet.write(
        "manifests/odd.yaml",
        format!("apiVersion: v1\nkind: {quoted}\nmetadata: {{name: {quoted}}}\n{quoted}: 1\n"),
    );
    fleet.edit(
        "manifests/eu-c1.yaml",
        "spec:
",
        &format!(
            "spec:
  {quoted}: x
"
        ),
    );
    fleet
}

#[test]
fn whatever_an_author_writes_is_text() {
    let fleet = attacked(1);
    for words in [&["plan", "-v"][..], &["explain", "region", "eu"], &["explain", "eu-team/five"]] {
        let shown = page(&fleet, words);
        assert!(shown.contains("&lt;img src=") || words[0] == "explain", "{words:?}: {shown}");
    }
    // As a finding, as a name in a chain, and as a field that changes.
    let plan = page(&fleet, &["plan"]);
    assert!(plan.matches("&lt;script&gt;").count() > 4 && plan.contains("spec.roleARN"), "{plan}");
}

fn file(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// In the real browser: nothing runs, nothing is asked for, and there is something to see at every width.
#[test]
fn a_browser_shows_a_page_and_asks_nobody() {
    let Some(chromium) = Chromium::find() else { return };
    let (listener, folder) = (Listener::new(), tempfile::tempdir().unwrap());
    let fleet = attacked(listener.port);
    for (name, words) in [("plan.html", &["plan", "-v"][..]), ("explain.html", &["explain", "region", "eu"])] {
        let shown = file(folder.path(), name, &page(&fleet, words));
        let dom = chromium.dom(&shown);
        for tag in ["<script", "<img", "<iframe", "<link", "<base", "<object", "http-equiv=\"refresh\""] {
            assert!(!dom.contains(tag), "{name}: {tag}");
        }
        assert!(dom.contains("&lt;script&gt;") || words[0] == "explain", "{name}");
        assert!(dom.contains("</svg>"), "{name}");
        let mut sizes = BTreeSet::new();
        for width in [390, 800, 1280] {
            let picture = folder.path().join(format!("{width}.png"));
            chromium.picture(&shown, width, &picture);
            sizes.insert(fs::metadata(&picture).unwrap().len());
        }
        // One colour all over takes a few kilobytes.
        assert!(sizes.len() == 3 && sizes.iter().all(|size| *size > 20_000), "{name}: {sizes:?}");
        assert_eq!(listener.came(), 0, "{name}");
    }
    // The policy holds alone, should text ever become more than that; and what is listened for is heard without.
    let good = page(&fleet, &["plan"]);
    let broken = good.replace("<body>", &format!("<body>{}", hostile(listener.port)));
    let heard = |name: &str, text: &str| {
        // Before it knows of a policy, the browser may knock at a door.
        let before = listener.asked();
        chromium.dom(&file(folder.path(), name, text));
        listener.asked() - before
    };
    let without_refresh = broken.replace("http-equiv=refresh", "name=refresh");
    assert_eq!(heard("policy.html", &without_refresh), 0);
    let (head, tail) = without_refresh.split_once("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let open = format!("{head}{}", tail.split_once('>').unwrap().1);
    assert!(heard("open.html", &open) > 0);
}

/// Two thousand Credentials change, on a phone and on a desk, by day and by night.
#[test]
fn a_browser_shows_a_large_page_at_every_width_by_day_and_by_night() {
    let Some(chromium) = Chromium::find() else { return };
    let fleet = Fleet::with_credentials(1000);
    fleet.configure("regions:\n", "limits: {credentialsPerNamespace: 1000, objectsPerNamespace: 2000}\nregions:\n");
    fleet.run(&["render", "-q"]).ends(0);
    for region in ["eu", "us"] {
        (0..1000).for_each(|n| fleet.secret(region, &format!("c{n}"), &format!("value: another-one-of-{region}-{n}")));
    }
    let folder = tempfile::tempdir().unwrap();
    let shown = file(folder.path(), "plan.html", &page(&fleet, &["plan"]));
    assert!(fs::metadata(&shown).unwrap().len() < 5_000_000);
    let [day, night] = [false, true].map(|is_dark| chromium.looked_at(&shown, is_dark));
    for (seen, is_dark) in [(&day, false), (&night, true)] {
        assert_eq!(seen.len(), 3);
        for seen in seen {
            assert_eq!(seen["dark"].as_bool(), Some(is_dark), "{seen}");
            // Nothing is as wide as to be scrolled to.
            assert!(seen["takes"].as_u64().unwrap() <= seen["room"].as_u64().unwrap(), "{seen}");
            assert!(seen["texts"].as_u64().unwrap() > 2000, "{seen}");
            // https://www.w3.org/TR/WCAG22/#contrast-minimum
            assert!(seen["contrast"].as_f64().unwrap() >= 4.5, "{seen}");
        }
    }
    assert!(day[0]["text"] != night[0]["text"] && day[0]["ground"] != night[0]["ground"], "{} {}", day[0], night[0]);
}
