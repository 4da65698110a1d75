//! Rights that are printed, and what is said once a server has noticed that some of them are gone.

use std::thread;
use std::time::{Duration, Instant};

use pouch_core::yaml::read;
use serde_json::{Value, json};

use crate::support::fleet::{Fleet, Ran};

/// How long the server may take to notice that a role changed.
const NOTICED: Duration = Duration::from_secs(60);

/// The rules that pouch prints, without those on a resource.
pub fn rules(fleet: &Fleet, without: &str) -> String {
    let printed = fleet.run(&["rbac", "--context=admin", "--user=pouch"]).stdout;
    let mut items: Vec<Value> = read::documents(&printed).map(|document| read::typed(document.text).unwrap()).collect();
    for rules in items.iter_mut().filter_map(|item| item.get_mut("rules")?.as_array_mut()) {
        rules.retain(|rule| rule["resources"] != json!([without]));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// Renders as pouch until these words are said, as they must be once the server has noticed.
#[track_caller]
pub fn says(fleet: &Fleet, code: i32, words: &str) -> Ran {
    let began = Instant::now();
    loop {
        let ran = fleet.render(&["--context=pouch"]);
        if ran.code == code && ran.stderr.contains(words) || began.elapsed() > NOTICED {
            return ran.ends(code).says(words);
        }
        thread::sleep(Duration::from_millis(50));
    }
}
