//! What the files of one source may cost, and which of them are left out where they cost more.
//!
//! As long as all files together are within the limits, they are read on several threads and that is all. Beyond the
//! limits each file is measured by itself, and the costliest are left out: a file that grows when it is read stops
//! itself, and small ones beside it are read. The same files are left out in every run that has as much memory.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use pouch_core::finding::{Code, Finding};
use pouch_core::name::SourceName;
use pouch_core::node::{Node, Size, VALUE_BYTES, values_at_most};
use rayon::prelude::*;

use super::means::Means;
use super::reading::{Reading, start_of};
use crate::harden::wiped;

/// The setting for the memory that all sources share.
const MEMORY: &str = "limits.memory";

/// How many files are measured before it is asked whether to go on.
const MEASURED_AT_ONCE: usize = 256;

/// How often the limits may be spent on measuring; files after that are left out unmeasured.
const MOST_MEASURED: usize = 4;

/// Beyond so many files that are left out, what they might hold is not told apart.
const MOST_TOLD_APART: usize = 1000;

/// What a part of a source costs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Cost {
    documents: usize,
    nodes: usize,
    bytes: usize,
    /// Bytes of text that stand in the documents and not in the file: what aliases copied.
    copied: usize,
    /// Bytes of memory that are taken by what is kept of it, about.
    memory: usize,
}

impl Cost {
    fn plus(self, other: Self) -> Self {
        Self {
            documents: self.documents + other.documents,
            nodes: self.nodes + other.nodes,
            bytes: self.bytes + other.bytes,
            copied: self.copied + other.copied,
            memory: self.memory.saturating_add(other.memory),
        }
    }

    /// Each part of the cost, its limit, and what both are called.
    fn parts(self, means: Means<'_>) -> [(usize, usize, &'static str); 5] {
        let Means { limits, memory, .. } = means;
        [
            (self.documents, limits.documents, "limits.sources.documents"),
            (self.nodes, limits.nodes, "limits.sources.nodes"),
            (self.bytes, limits.bytes, "limits.sources.bytes"),
            (self.copied, limits.copied_bytes, "limits.sources.copiedBytes"),
            (self.memory, memory, MEMORY),
        ]
    }

    fn is_within(self, means: Means<'_>, times: usize) -> bool {
        self.parts(means).iter().all(|(cost, most, _)| *cost <= most.saturating_mul(times))
    }

    /// The largest part of its limit that the cost takes, in millionths.
    fn share(self, means: Means<'_>) -> u128 {
        let share = |(cost, most, _): &(usize, usize, &str)| {
            let (cost, most) = (u128::try_from(*cost), u128::try_from((*most).max(1)));
            cost.unwrap_or(u128::MAX).saturating_mul(1_000_000).checked_div(most.unwrap_or(1)).unwrap_or_default()
        };
        self.parts(means).iter().map(share).max().unwrap_or_default()
    }
}

/// What is done with documents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// They are kept, or measured and dropped.
    Reading,
    /// They are not looked at; only their words are.
    LeavingOut,
}

/// What was spent on a source so far, by all threads that read it.
pub(super) struct Meter<'l> {
    means: Means<'l>,
    purpose: Purpose,
    spent: Mutex<Cost>,
}

impl<'l> Meter<'l> {
    pub(super) fn new(means: Means<'l>) -> Self {
        Self { means, purpose: Purpose::Reading, spent: Mutex::default() }
    }

    /// The cost that reading the source may have.
    pub(super) fn means(&self) -> Means<'l> {
        self.means
    }

    /// Counts a file's bytes.
    pub(super) fn file(&self, bytes: usize) {
        self.spend(Cost { bytes, ..Cost::default() });
    }

    /// Counts a document that cannot be kept.
    pub(super) fn document(&self) {
        self.spend(Cost { documents: 1, ..Cost::default() });
    }

    /// Counts a document, and says whether it is to be kept.
    pub(super) fn keeps(&self, document: &Node, text: &str) -> bool {
        let Size { nodes, texts, .. } = document.size();
        let copied = texts.saturating_sub(text.len());
        self.spend(Cost { documents: 1, nodes, copied, ..Cost::default() }).is_within(self.means, 1)
    }

    /// Counts the memory that is taken by what was kept, and says whether all is within the limits.
    pub(super) fn holds(&self, memory: usize) -> bool {
        self.spend(Cost { memory, ..Cost::default() }).is_within(self.means, 1)
    }

    /// The most documents of one file that need to be looked at: with more the limit is passed in any case.
    pub(super) fn most_documents(&self) -> usize {
        self.means.limits.documents.saturating_add(2)
    }

    /// The bytes of memory that are taken so far.
    pub(super) fn held(&self) -> usize {
        self.spent().memory
    }

    /// Returns true if a text may take more memory than there is while it is parsed: then it is not.
    pub(super) fn is_too_much(&self, text: &str) -> bool {
        let most = self.means.memory / VALUE_BYTES;
        // Few texts need to be counted.
        text.len() > most && values_at_most(text.as_bytes()) > most
    }

    /// Whether only the words of a file are wanted.
    pub(super) fn leaves_out(&self) -> bool {
        self.purpose == Purpose::LeavingOut
    }

    /// Which limit was passed, and how it is called; none while all is within them.
    pub(super) fn passed(&self) -> Option<String> {
        let parts = self.spent().parts(self.means);
        let (_, most, name) = parts.iter().find(|(cost, most, _)| cost > most)?;
        Some(match *name {
            MEMORY => format!("its part of {MEMORY} is {} MiB", most >> 20),
            name => format!("{name} is {most}"),
        })
    }

    fn spent(&self) -> Cost {
        self.spend(Cost::default())
    }

    fn spend(&self, cost: Cost) -> Cost {
        // Nothing under the lock can panic.
        let mut spent = self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *spent = spent.plus(cost);
        *spent
    }
}

/// A file that counts.
pub(super) struct Found<T> {
    /// The name that it is shown by.
    pub(super) shown: Arc<str>,
    /// Where it is.
    pub(super) at: T,
}

/// Reads files, `at_once` of them by one task. Where the source has no time left, what is given is none of its state.
pub(super) fn read<T: Sync>(
    (source, means): (&SourceName, Means<'_>),
    files: &[Found<T>],
    at_once: usize,
    task: impl Fn(&[&Found<T>], &Meter<'_>) -> Reading + Sync,
) -> Reading {
    let merge = |parts: Vec<Reading>| {
        let mut reading = Reading::nothing();
        parts.into_iter().for_each(|part| reading.absorb(part));
        reading
    };
    let read = |files: &[&Found<T>], meter: &Meter<'_>| -> Vec<Reading> {
        files.par_chunks(at_once).map(|part| wiped(|| task(part, meter))).collect()
    };
    let all: Vec<&Found<T>> = files.iter().collect();
    let meter = Meter::new(means);
    let parts = read(&all, &meter);
    let Some(passed) = meter.passed() else {
        let mut reading = merge(parts);
        reading.held = meter.held();
        return reading;
    };
    drop(parts);

    let mut costs: Vec<Cost> = Vec::new();
    let mut sum = Cost::default();
    for part in all.chunks(MEASURED_AT_ONCE) {
        if !sum.is_within(means, MOST_MEASURED) {
            break;
        }
        let measure = |file: &&Found<T>| {
            let meter = Meter::new(means);
            drop(wiped(|| task(&[file], &meter)));
            meter.spent()
        };
        let measured: Vec<Cost> = part.par_iter().map(measure).collect();
        sum = measured.iter().fold(sum, |sum, cost| sum.plus(*cost));
        costs.extend(measured);
    }
    let mut cheapest: Vec<usize> = (0..costs.len()).collect();
    cheapest.sort_by_key(|at| (costs.get(*at).map(|cost| cost.share(means)), *at));
    let mut kept = BTreeSet::new();
    let mut sum = Cost::default();
    for at in cheapest {
        let next = sum.plus(costs.get(at).copied().unwrap_or_default());
        if next.is_within(means, 1) {
            sum = next;
            kept.insert(at);
        }
    }
    let (mut in_place, mut left_out) = (Vec::new(), Vec::new());
    for (at, file) in files.iter().enumerate() {
        if kept.contains(&at) { in_place.push(file) } else { left_out.push(file) }
    }
    let meter = Meter::new(means);
    let mut reading = merge(read(&in_place, &meter));
    if let Some(first) = left_out.first() {
        let what = match left_out.len() {
            1 => "costs more than a source may",
            count => &*format!("and {} more files cost more than a source may", count.saturating_sub(1)),
        };
        let comma = if left_out.len() > 1 { "," } else { "" };
        let left = if left_out.len() > 1 { "they are not read" } else { "it is not read" };
        let message = format!("{}{comma} {what}: {passed}; {left}", first.shown);
        let finding = Finding::new(Code::RefusedFile, message).at(&start_of(source, &first.shown));
        reading.findings.push(finding.help("Split the source, exclude what is no manifest, or raise the limit."));
    }
    if left_out.len() > MOST_TOLD_APART {
        reading.complete = false;
    } else {
        // Of their words as many are kept as there is room for.
        let words = Meter { purpose: Purpose::LeavingOut, spent: Mutex::new(meter.spent()), ..Meter::new(means) };
        for part in read(&left_out, &words) {
            reading.complete &= part.complete;
            reading.unread_words.extend(part.unread_words);
            reading.torn.extend(part.torn);
        }
    }
    reading.held = meter.held();
    reading
}

#[cfg(test)]
mod tests {
    use pouch_core::config::SourceLimits;
    use pouch_core::yaml::alike::Reader;

    use super::*;
    use crate::survey::source::document::{self, Form, Text};
    use crate::survey::source::tests::{means, summary};

    type Written = Found<String>;

    const LIMITS: SourceLimits =
        SourceLimits { documents: 20, nodes: 400, bytes: 20_000, copied_bytes: 2_000, ..SourceLimits::DEFAULT };

    fn secret(name: &str) -> String {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: a}}\ndata: {{key: dmFsdWU=}}\n")
    }

    fn written(name: &str, text: impl Into<String>) -> Written {
        Written { shown: Arc::from(name), at: text.into() }
    }

    fn read_all(limits: &SourceLimits, files: &[Written]) -> Reading {
        read_within(means(limits, usize::MAX), files)
    }

    fn read_within(means: Means<'_>, files: &[Written]) -> Reading {
        read((&"s".into(), means), files, 2, |files, meter| {
            let mut reading = Reading::nothing();
            for Written { shown: path, at: text } in files {
                let source = "s".into();
                let text = Text::new((&source, path), (Form::of(path), text.as_bytes()), meter);
                reading.absorb(document::read(&text, &mut Reader::new()));
            }
            reading
        })
    }

    #[test]
    fn the_costliest_files_are_left_out_and_the_rest_is_read() {
        // One text, and aliases that copy it.
        let copies = format!("{}one: &x {}\nall: [{}]\n", secret("bomb"), "v".repeat(300), vec!["*x"; 20].join(", "));
        let many = vec![secret("many"); 30].join("---\n");
        let long = format!("# {}\n{}", "-".repeat(30_000), secret("long"));
        let wide = format!("{}x: [{}]\n", secret("wide"), vec!["1"; 500].join(", "));
        let json = format!(
            "{{\"kind\": \"Secret\", \"metadata\": {{\"name\": \"json\"}}, \"x\": [{}]}}",
            vec!["1"; 900].join(",")
        );
        for (name, text, passed) in [
            ("bomb.yaml", copies, "limits.sources.copiedBytes is 2000"),
            ("many.yaml", many, "limits.sources.documents is 20"),
            ("long.yaml", long, "limits.sources.bytes is 20000"),
            ("wide.yaml", wide, "limits.sources.nodes is 400"),
        ] {
            let files = [written("a.yaml", secret("first")), written(name, &*text), written("z.yaml", secret("last"))];
            let reading = read_all(&LIMITS, &files);
            let expect =
                format!("Secret first a.yaml:1:1\nSecret last z.yaml:1:1\nrefused-file {name}:1:1\nincomplete\n");
            assert_eq!(summary(&reading), expect);
            assert!(reading.findings[0].message.contains(passed), "{}", reading.findings[0].message);
            assert!(reading.complete && reading.unread_words.len() == 1, "only what the file might hold is in doubt");
            // The control: with more room it is read.
            let room = SourceLimits { documents: 40, nodes: 9_000, bytes: 90_000, copied_bytes: 90_000, ..LIMITS };
            assert!(read_all(&room, &files).findings.is_empty(), "{name}");
        }
        let reading = read_all(&LIMITS, &[written("a.json", json), written("z.yaml", secret("last"))]);
        assert_eq!(summary(&reading), "Secret last z.yaml:1:1\nrefused-file a.json:1:1\nincomplete\n");
    }

    #[test]
    fn what_takes_more_memory_than_there_is_is_left_out() {
        let limits = &SourceLimits::DEFAULT;
        let of = |memory: usize, name: &str, text: &str| {
            let files = [written("a.yaml", secret("first")), written(name, text), written("z.yaml", secret("last"))];
            read_within(means(limits, memory), &files)
        };
        let left_out = "Secret first a.yaml:1:1\nSecret last z.yaml:1:1\n";
        // What is kept, what is said, and what an unread document might hold.
        let many = vec![secret("many"); 30].join("---\n");
        let broken = vec!["a: b: c\n"; 200].join("---\n");
        for (name, text) in [("many.yaml", many), ("broken.yaml", broken)] {
            let reading = of(60_000, name, &text);
            assert_eq!(summary(&reading), format!("{left_out}refused-file {name}:1:1\nincomplete\n"));
            let message = &reading.findings[0].message;
            assert!(message.contains("costs more than a source may: its part of limits.memory is 0 MiB"), "{message}");
            assert!(reading.held > 8000 && reading.held <= 60_000, "{}", reading.held);
            assert!(of(1 << 20, name, &text).held > 60_000, "the control takes more");
        }
        // What would take too much before it is known what it says.
        let wide = format!("{}x: [{}]\n", secret("wide"), vec!["1"; 2000].join(", "));
        let reading = of(60_000, "wide.yaml", &wide);
        assert_eq!(summary(&reading), format!("{left_out}unparsable-document wide.yaml:1:1\nincomplete\n"));
        assert!(reading.findings[0].help.contains("limits.memory"), "{:?}", reading.findings);
        assert!(of(1 << 20, "wide.yaml", &wide).findings.is_empty());
        // Of the words of what is left out as many are kept as fit.
        let words = (0..2000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        let reading = of(60_000, "words.yaml", &format!("{}# {words}\n", vec![secret("many"); 20].join("---\n")));
        assert!(!reading.complete && reading.unread_words.is_empty());
    }

    #[test]
    fn as_many_files_as_fit_are_read_and_always_the_same() {
        let files: Vec<Written> = (0..60).map(|n| written(&format!("{n:02}.yaml"), secret(&format!("s{n}")))).collect();
        let reading = read_all(&LIMITS, &files);
        assert_eq!(reading.documents.len(), 20);
        assert_eq!(reading.documents[0].1.to_string(), "00.yaml:1:1");
        assert!(reading.findings[0].message.starts_with("20.yaml, and 39 more files cost"), "{:?}", reading.findings);
        assert_eq!(summary(&read_all(&LIMITS, &files)), summary(&reading));
    }
}
