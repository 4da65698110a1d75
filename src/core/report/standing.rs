//! Standing: what every region has of what is published for it, as a table and as JSON.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::compared::{ComparedCounts, ComparedRegion};
use super::document::Document;
use super::summary::FindingRecord;
use crate::listing::counted;

/// The JSON Schema of the answer.
pub fn schema() -> Schema {
    // As it is written: what is left out when empty is not required.
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<Standing>()
}

/// What the regions' clusters have of what is published for them. Values never stand in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Always `pouch/v1alpha1`.
    pub api_version: &'static str,
    /// Always `Standing`.
    pub kind: &'static str,
    /// The fleet.
    pub fleet: String,
    /// Whether values of Secrets were compared, by the reuse key.
    pub values: bool,
    /// The regions that can be looked into, sorted by name.
    pub regions: Vec<RegionStanding>,
}

/// What one region has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegionStanding {
    /// The region.
    pub name: String,
    /// Its folder.
    pub directory: String,
    /// The commit that made its bundle what it is; absent where bundles are in a folder, or that was too long ago to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why nothing is known of it; absent where it was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<UnreadRecord>,
    /// What was compared; absent where nothing could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<ComparedRecord>,
    /// Everything found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingRecord>,
}

/// Why a region could not be compared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadRecord {
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// How much of a bundle stands on its region. Namespaces are not counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedRecord {
    /// How many objects the bundle has.
    pub objects: usize,
    /// How many of them stand there as published.
    pub as_published: usize,
    /// How many do not stand there, or are being deleted.
    pub missing: usize,
    /// How many stand there otherwise.
    pub differing: usize,
    /// How many objects stand there that left the bundle, or are k0rdent's copies.
    pub left_behind: usize,
    /// The kinds of which nobody knows whether anything was left behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<String>,
    /// Whose objects the bundle has, sorted.
    pub claimants: Vec<InForce>,
}

/// Whether all that is published for a claimant stands on the region as published.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InForce {
    /// Its kind, such as `Credential`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it is in force there.
    pub in_force: bool,
}

/// How many names of what is not in force a region is followed by.
const MOST: usize = 20;

/// How many letters of a commit's id are shown.
const SHORT: usize = 12;

impl Standing {
    /// How much of each region's bundle stands there, for the summary and the metrics.
    pub fn counted(&self) -> Vec<ComparedRegion> {
        let counts = |compared: &ComparedRecord| {
            let count = |in_force| compared.claimants.iter().filter(|claimant| claimant.in_force == in_force).count();
            ComparedCounts {
                as_published: compared.as_published,
                missing: compared.missing,
                differing: compared.differing,
                left_behind: compared.left_behind,
                in_force: count(true),
                not_in_force: count(false),
            }
        };
        let of = |region: &RegionStanding| ComparedRegion {
            name: region.name.clone(),
            counts: region.compared.as_ref().map(counts),
        };
        self.regions.iter().map(of).collect()
    }

    /// One table, and below it what is not in force.
    pub fn text(&self, is_whole: bool) -> Document {
        const HEAD: [&str; 7] = ["REGION", "SINCE", "AS PUBLISHED", "MISSING", "DIFFERING", "LEFT BEHIND", "IN FORCE"];
        let head = HEAD.map(String::from).to_vec();
        let rows: Vec<Vec<String>> =
            core::iter::once(head).chain(self.regions.iter().map(RegionStanding::row)).collect();
        let width = |column: usize| {
            // What could not be compared is said in one cell, which is as long as it is.
            let cells = rows.iter().filter(|row| row.len() == HEAD.len()).filter_map(|row| row.get(column));
            let names = rows.iter().filter(|_| column < 2).filter_map(|row| row.get(column));
            cells.chain(names).map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        let mut text = Document::default();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:width$}  "));
            }
            text.item(0, line.trim_end());
        }
        for region in &self.regions {
            let claimants = region.compared.iter().flat_map(|compared| &compared.claimants);
            let lost: Vec<&InForce> = claimants.filter(|claimant| !claimant.in_force).collect();
            let most = if is_whole { usize::MAX } else { MOST };
            for claimant in lost.iter().take(most) {
                let InForce { kind, namespace, name, .. } = claimant;
                text.item(0, format!("not in force in {}: {kind} {namespace}/{name}", region.name));
            }
            if let more @ 1.. = lost.iter().skip(most).count() {
                text.item(0, format!("not in force in {}: {more} more", region.name));
            }
        }
        text
    }
}

impl RegionStanding {
    /// The beginning of its commit's id.
    pub fn since(&self) -> Option<String> {
        self.commit.as_ref().map(|id| id.chars().take(SHORT).collect())
    }

    fn row(&self) -> Vec<String> {
        let commit = self.since().unwrap_or_else(|| String::from("-"));
        let Some(compared) = &self.compared else {
            let why = self.unread.as_ref().map_or("nothing to compare with", |unread| &unread.message);
            return vec![self.name.clone(), commit, format!("not compared: {why}")];
        };
        let in_force = compared.claimants.iter().filter(|claimant| claimant.in_force).count();
        let are_credentials = compared.claimants.iter().all(|claimant| claimant.kind == "Credential");
        let (one, many) = if are_credentials { ("Credential", "Credentials") } else { ("claimant", "claimants") };
        let all = counted(compared.claimants.len(), one, many);
        let left = match compared.unlisted.is_empty() {
            true => compared.left_behind.to_string(),
            false => format!("{} or more", compared.left_behind),
        };
        vec![
            self.name.clone(),
            commit,
            format!("{} of {}", compared.as_published, compared.objects),
            compared.missing.to_string(),
            compared.differing.to_string(),
            left,
            format!("{in_force} of {all}"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::terminal::{Paint, terminal};
    use super::*;

    fn region(name: &str, compared: Option<ComparedRecord>, commit: Option<&str>) -> RegionStanding {
        let unread =
            compared.is_none().then(|| UnreadRecord { message: "a\u{7}b is away".into(), help: String::new() });
        let commit = commit.map(String::from);
        RegionStanding { name: name.into(), directory: name.into(), commit, unread, compared, findings: Vec::new() }
    }

    #[test]
    fn the_table_says_what_is_where() {
        let claimant = |name: &str, in_force| InForce {
            kind: "Credential".into(),
            namespace: "a".into(),
            name: name.into(),
            in_force,
        };
        let compared = ComparedRecord {
            objects: 12,
            as_published: 9,
            missing: 2,
            differing: 1,
            left_behind: 3,
            unlisted: Vec::new(),
            claimants: vec![claimant("x", true), claimant("y", false)],
        };
        let unlisted = ComparedRecord { unlisted: vec!["secrets".into()], claimants: Vec::new(), ..compared.clone() };
        let regions = vec![
            region("eu-west", Some(compared), Some("0123456789abcdef")),
            region("us", Some(unlisted), None),
            region("away", None, Some("0123456789abcdef")),
        ];
        let standing = Standing { api_version: "", kind: "", fleet: String::new(), values: true, regions };
        let expect = "\
REGION   SINCE         AS PUBLISHED  MISSING  DIFFERING  LEFT BEHIND  IN FORCE
eu-west  0123456789ab  9 of 12       2        1          3            1 of 2 Credentials
us       -             9 of 12       2        1          3 or more    0 of 0 Credentials
away     0123456789ab  not compared: a\\u{7}b is away
not in force in eu-west: Credential a/y
";
        assert_eq!(terminal(&standing.text(false), Paint::Plain), expect);
    }
}
