//! All of a small model: one object with up to two who needed it.

extern crate std;

use alloc::string::String;

use super::*;
use crate::finding::Code;
use crate::layout::manifest::ObjectState;
use crate::layout::path::BundlePath;
use crate::name::{Claimant, GroupKind, Name, Namespace, ReadFrom};

/// The disposition that one claim of the object asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Says {
    /// It needs the object, which can be made.
    Needs,
    /// It has another.
    Left,
    /// It is broken.
    Broken,
    /// It is gone.
    Gone,
}

const ALL: [Says; 4] = [Says::Needs, Says::Left, Says::Broken, Says::Gone];

/// One who needed the object.
#[derive(Clone, Copy, Debug)]
struct Who {
    says: Says,
    is_selected: bool,
    is_revoked: bool,
}

/// One state of the model.
#[derive(Clone, Debug)]
struct Case {
    is_retired: bool,
    is_limited: bool,
    who: Vec<Who>,
    /// Set if a claim reads the object where it would be deleted.
    is_read: bool,
    /// Set if there is room to hand things over.
    has_room: bool,
    brake: Brake,
}

/// The brake's hold on the first claimant of the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Brake {
    Nothing,
    Deletions,
    Values,
}

impl Case {
    fn all() -> impl Iterator<Item = Case> {
        let flags = |bits: usize, at: usize| bits >> at & 1 == 1;
        let one =
            move |bits: usize| Who { says: ALL[bits & 3], is_selected: flags(bits, 2), is_revoked: flags(bits, 3) };
        let whos = (0..16).map(move |first| vec![one(first)]);
        let both = (0..256).map(move |both| vec![one(both & 15), one(both >> 4)]);
        whos.chain(both).flat_map(move |who| {
            let brakes = [Brake::Nothing, Brake::Deletions, Brake::Values];
            let all = (0..16).flat_map(move |bits| brakes.map(|brake| (bits, brake)));
            let who = who.clone();
            all.map(move |(bits, brake)| Case {
                brake,
                is_retired: flags(bits, 0),
                is_limited: flags(bits, 1),
                who: who.clone(),
                is_read: flags(bits, 2),
                has_room: flags(bits, 3),
            })
        })
    }

    /// Set if the object is made again for a claimant, but for the brake.
    fn makes(&self, who: Who) -> bool {
        !self.is_retired && who.says == Says::Needs && (who.is_selected || !self.is_limited)
    }

    fn is_made(&self) -> bool {
        self.who.iter().any(|who| self.makes(*who))
    }

    /// The same with what the brake holds.
    fn expects_of(&self, at: usize) -> Disposition {
        match (self.expects(self.who[at]), self.brake) {
            (it, Brake::Nothing) => it,
            (it, _) if at > 0 => it,
            (it @ (Disposition::NotSelected | Disposition::Withdrawn(Gone::Retired)), _) => it,
            // Of what it keeps already, nothing goes.
            (it @ (Disposition::Fresh | Disposition::Kept(BROKEN | Reason::OwnOutput)), Brake::Deletions) => it,
            (it @ Disposition::Kept(BROKEN | Reason::OwnOutput), Brake::Values) => it,
            (_, Brake::Deletions) => Disposition::Kept(Reason::HeldDeletion),
            (_, Brake::Values) => Disposition::Kept(Reason::HeldValue),
        }
    }

    /// The table of precedence, said once more: for one row, from what is true of all.
    fn expects(&self, who: Who) -> Disposition {
        let keeps = |who: &Who| who.says == Says::Broken && !who.is_revoked;
        let stays = self.is_made() || self.who.iter().any(keeps);
        match who.says {
            _ if self.is_retired => Disposition::Withdrawn(Gone::Retired),
            _ if self.makes(who) => Disposition::Fresh,
            _ if self.is_limited => Disposition::NotSelected,
            _ if keeps(&who) => Disposition::Kept(BROKEN),
            _ if self.is_read && !stays => Disposition::Kept(Reason::OwnOutput),
            Says::Gone => Disposition::Withdrawn(Gone::Gone),
            _ if who.is_revoked => Disposition::Withdrawn(Gone::Revoked),
            Says::Left if self.has_room && !stays => Disposition::Kept(Reason::HandedOver),
            Says::Needs | Says::Left | Says::Broken => Disposition::Withdrawn(Gone::Unneeded),
        }
    }
}

const BROKEN: Reason = Reason::Broken(Code::MissingReference);

fn claimant(at: usize) -> Claimant {
    Claimant::Credential { namespace: "team".into(), name: Name::from(["a", "b"][at]) }
}

fn object(name: &str, needed_by: Vec<NeededBy>) -> ManifestObject {
    let namespace = Some(Namespace::from("team"));
    ManifestObject {
        read_at: None,
        key: ObjectKey::new(GroupKind::new("", "Secret"), namespace.clone(), name.into()),
        from: Some(ReadFrom { namespace, name: name.into(), made: None }),
        guest: None,
        path: BundlePath::parse("regions/eu/core/secrets/team/x.sops.yaml").unwrap(),
        sha256: String::new(),
        state: ObjectState::Current,
        recipients: Vec::new(),
        needed_by,
    }
}

/// Answers as a case has it.
struct Told<'c> {
    case: &'c Case,
}

impl Told<'_> {
    fn who(&self, row: &Row<'_>) -> Who {
        self.case.who[usize::from(row.needed_by.by == claimant(1))]
    }
}

impl<'m> Judge<'m> for Told<'_> {
    fn is_retired(&self) -> bool {
        self.case.is_retired
    }

    fn is_limited(&self) -> bool {
        self.case.is_limited
    }

    fn is_fresh(&self, _: &ObjectKey) -> bool {
        self.case.is_made()
    }

    fn is_fresh_for(&self, row: &Row<'m>) -> bool {
        self.case.makes(self.who(row))
    }

    fn claimed(&mut self, row: &Row<'m>) -> Disposition {
        match self.who(row).says {
            Says::Needs if self.is_fresh_for(row) => Disposition::Fresh,
            Says::Needs | Says::Left => Disposition::Left,
            Says::Broken => Disposition::Kept(BROKEN),
            Says::Gone => Disposition::Withdrawn(Gone::Gone),
        }
    }

    fn is_revoked(&mut self, row: &Row<'m>) -> bool {
        self.who(row).is_revoked
    }

    fn note_kept(&mut self, _: &Row<'m>) {}

    fn brake(&mut self) {}

    fn held(&self, row: &Row<'m>) -> Option<Reason> {
        let is_first = row.needed_by.by == claimant(0);
        let goes = matches!(row.becomes, Disposition::Kept(Reason::HandedOver) | Disposition::Withdrawn(_));
        match self.case.brake {
            Brake::Deletions => (is_first && goes).then_some(Reason::HeldDeletion),
            Brake::Values => is_first.then_some(Reason::HeldValue),
            Brake::Nothing => None,
        }
    }

    fn own_output(&mut self, leaving: &[&'m ManifestObject]) -> BTreeSet<&'m ObjectKey> {
        let read = leaving.iter().filter(|_| self.case.is_read);
        read.map(|object| &object.key).collect()
    }

    fn handed_over(&mut self, exchanged: Exchanged<'m>, _: &[Row<'m>]) -> Exchanged<'m> {
        if self.case.has_room { exchanged } else { Vec::new() }
    }
}

fn folded(case: &Case, steps: &[Step]) -> Vec<Disposition> {
    let needed_by = |at: usize| NeededBy { by: claimant(at), through: Vec::new() };
    let object = object("x", (0..case.who.len()).map(needed_by).collect());
    let of = |needed_by| Row { object: &object, needed_by, becomes: Disposition::Open };
    let mut rows: Vec<Row<'_>> = object.needed_by.iter().map(of).collect();
    fold(&mut rows, steps, &mut Told { case });
    rows.iter().map(|row| row.becomes).collect()
}

#[test]
fn the_fold_does_what_the_table_says_everywhere() {
    let (mut cases, mut seen) = (0, Vec::new());
    for case in Case::all() {
        let expected: Vec<Disposition> = (0..case.who.len()).map(|at| case.expects_of(at)).collect();
        let told = folded(&case, &STEPS);
        assert_eq!(told, expected, "{case:?}");
        cases += 1;
        for disposition in told {
            if !seen.contains(&disposition) {
                seen.push(disposition);
            }
        }
    }
    // Nothing is left open, and each way to end is there.
    assert_eq!((cases, seen.len()), (13_056, 11), "{seen:?}");
}

#[test]
fn the_order_of_any_two_steps_matters() {
    let all: Vec<Case> = Case::all().collect();
    let right: Vec<Vec<Disposition>> = all.iter().map(|case| folded(case, &STEPS)).collect();
    let mut same = Vec::new();
    for (one, first) in STEPS.iter().enumerate() {
        for (other, second) in STEPS.iter().enumerate().skip(one + 1) {
            let mut steps = STEPS;
            steps.swap(one, other);
            if all.iter().zip(&right).all(|(case, right)| folded(case, &steps) == *right) {
                same.push((first, second));
            }
        }
    }
    assert_eq!(same, []);
}
