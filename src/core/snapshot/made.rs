//! Made: objects that stand in no source, because templates make them for claimants.
//!
//! They are found like what was read, under keys that say what makes them: what stands in sources cannot be taken for them.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::finding::Finding;
use crate::name::{Claimant, MadeBy, Name, Namespace, ObjectKey, Region};
use crate::object::Object;

/// What a claim's template made.
#[derive(Default)]
pub struct Made {
    /// The keys under which its objects are found, and those that they have.
    pub objects: Vec<(ObjectKey, ObjectKey)>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Whether these are all objects that it makes; if not, nothing follows from there being none.
    pub is_known: bool,
}

/// Who a template makes something for. What is for guest clusters of a namespace is another thing than what is for the
/// namespace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MadeFor {
    /// The region.
    pub region: Region,
    /// The claimant.
    pub by: Claimant,
    /// Whether it is for guest clusters.
    pub in_guests: bool,
}

/// What all templates made.
#[derive(Default)]
pub struct AllMade {
    /// By the region, the template, the namespace, and whether it is for guest clusters.
    by: BTreeMap<Region, BTreeMap<Name, OfTemplate>>,
    /// By their keys; those of a namespace in one piece.
    objects: BTreeMap<Option<Namespace>, Keyed>,
}

type OfTemplate = BTreeMap<(Namespace, bool), Made>;
type Keyed = BTreeMap<ObjectKey, Box<Object>>;

/// A part of it that is of no use any more.
#[derive(Default)]
#[expect(dead_code, reason = "it is only dropped")]
pub(super) struct Piece(BTreeMap<Name, OfTemplate>, Keyed);

impl AllMade {
    /// Adds what a claim's template made, with where each object lands.
    ///
    /// They are found by the region's `directory`, which stays when the region is renamed.
    pub fn add(&mut self, goal: MadeFor, directory: &str, made: Result<Vec<Object>, Vec<Finding>>) {
        let MadeFor { region, by, in_guests } = goal;
        let Claimant::Template { namespace, template } = by else { return };
        let found_as = |object: &ObjectKey| {
            let (template, lands) = (template.clone(), object.namespace.clone());
            ObjectKey::of_made(object, &namespace, MadeBy { template, lands, directory: directory.into(), in_guests })
        };
        let mut all = Made::default();
        match made {
            Ok(objects) => {
                all.is_known = true;
                for object in objects {
                    let (found, lands) = (found_as(&object.key), object.key.clone());
                    let keyed = self.objects.entry(found.namespace.clone()).or_default();
                    keyed.insert(found.clone(), Box::new(object));
                    all.objects.push((found, lands));
                }
            }
            Err(findings) => all.findings = findings,
        }
        self.by.entry(region).or_default().entry(template).or_default().insert((namespace, in_guests), all);
    }

    /// What a claim's template made; none as long as nobody has tried.
    pub fn of(&self, goal: &MadeFor) -> Option<&Made> {
        let MadeFor { region, by, in_guests } = goal;
        self.by.get(region)?.get(by.template()?)?.get(&(by.namespace().clone(), *in_guests))
    }

    /// Its pieces, each of which can be dropped by itself.
    pub(super) fn apart(self) -> impl Iterator<Item = Piece> {
        let by = self.by.into_values().map(|by| Piece(by, Keyed::default()));
        let objects = self.objects.into_values();
        by.chain(objects.map(|objects| Piece(BTreeMap::new(), objects)))
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Object> {
        key.made.as_ref()?;
        self.objects.get(&key.namespace)?.get(key).map(|object| &**object)
    }
}
