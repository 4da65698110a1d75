//! What templates make: each is rendered with its data, and once more with stand-ins for the values of Secrets.
//!
//! Both must give the same documents, but for what stands below `data` and `stringData` of Secrets. So no value shapes a
//! document, and none stands in plain sight. What is made is admitted as if a source had it, so that every rule for
//! objects holds for it.

mod bounds;
mod rendered;
mod values;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::ptr;

use crate::capi;
use crate::claim::Claim;
use crate::claim::template::{Datum, TemplateSpec};
use crate::closure::{names, template_data};
use crate::config::{Delivery, Fleet, Grant, Resolution};
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::{Name, ObjectKey};
use crate::node::{Key, Node};
use crate::object::{Object, Refusal, TEMPLATE_ANNOTATION, admit, kind_of};
use crate::snapshot::{AllMade, nearly};
use crate::template::{Refused, Template};
use crate::world::definition::Defined;
use crate::world::{Granting, World};
use crate::yaml::alike::Reader;
pub use bounds::{MOST, Make, One, Weighed};
use rendered::{Keep, documents};
use values::{Given, Pairs};

/// A template that is ready to be rendered.
struct Ready<'a> {
    spec: &'a TemplateSpec,
    template: Template,
    /// Whether it may ask for labels of its namespace.
    uses_labels: bool,
}

/// All templates, each parsed once, and who asks for what they make.
pub struct Templates<'a> {
    world: World<'a>,
    ready: BTreeMap<Name, Result<Ready<'a>, Vec<Finding>>>,
    /// The claims, those of one template in a row.
    pub claims: Vec<&'a Claim>,
}

/// What is kept from one claim to the next: most that come in a row are of one template, with the same data.
#[derive(Default)]
struct Kept<'a> {
    given: Option<(Of<'a>, Result<Given<'a>, Box<Finding>>)>,
    /// What texts were like.
    reader: Reader,
}

/// A template, and the objects that are its data.
type Of<'a> = (&'a TemplateSpec, Vec<&'a Object>);

impl<'a> Kept<'a> {
    /// What a template is given of its data, and what reads its renderings.
    fn given(
        &mut self,
        fleet: &Fleet,
        spec: &'a TemplateSpec,
        data: &[(&Datum, &'a Object)],
    ) -> Result<(&Given<'a>, &mut Reader), &Finding> {
        let is_same = |(of, objects): &Of<'a>| {
            let mut pairs = objects.iter().zip(data);
            ptr::eq(*of, spec) && objects.len() == data.len() && pairs.all(|(kept, (_, found))| ptr::eq(*kept, *found))
        };
        let kept = self.given.take().filter(|(of, _)| is_same(of));
        let new = || ((spec, data.iter().map(|(_, object)| *object).collect()), Given::of(fleet, (spec, data)));
        let (_, given) = self.given.insert(kept.unwrap_or_else(new));
        match given {
            Ok(given) => Ok((given, &mut self.reader)),
            Err(finding) => Err(finding),
        }
    }
}

impl<'a> Templates<'a> {
    /// Parses the templates that somebody asks for.
    pub fn of(world: &World<'a>) -> Self {
        let rendered = || world.facts.rendered(world.fleet);
        let for_guests = rendered().filter_map(|claim| claim.rendered()?.as_deref().ok());
        let mut by_name: BTreeMap<&Name, Vec<&'a Claim>> = BTreeMap::new();
        // Two groups may name one template.
        let mut once = BTreeSet::new();
        let for_guests = for_guests.filter(|claim| once.insert(claim.made_for()));
        let all = rendered().chain(for_guests);
        for (template, claim) in all.filter_map(|claim| Some((claim.by.template()?, claim))) {
            by_name.entry(template).or_default().push(claim);
        }
        let first = by_name.iter().filter_map(|(template, claims)| Some((*template, claims.first()?)));
        let ready = first.map(|(template, claim)| (template.clone(), prepare(world, claim))).collect();
        Self { world: *world, ready, claims: by_name.into_values().flatten().collect() }
    }

    /// Renders a claim's template.
    fn make(&self, kept: &mut Kept<'a>, claim: &Claim) -> One {
        match claim.by.template().and_then(|template| self.ready.get(template)) {
            Some(Ok(ready)) => make(&self.world, kept, claim, ready),
            Some(Err(findings)) => Err(findings.clone()),
            None => Err(Vec::new()),
        }
    }

    /// Makes what all claims ask for, within `most` bytes. `run` makes it, in the order of the claims, and may do so on
    /// several threads; what it fails with ends all.
    ///
    /// # Errors
    /// With what `run` fails.
    pub fn all<E>(&self, most: usize, run: impl Fn(Make<'_>) -> Result<Vec<Weighed>, E>) -> Result<AllMade, E> {
        let lost = |claim: &Claim| {
            let message = format!(
                "all templates together make more than {} MiB, and it makes the most for region {}",
                most >> 20,
                claim.region()
            );
            let help = "Let it select fewer namespaces, or make less; what is published stays.";
            invalid(claim, &message, help).at(&claim.origin)
        };
        let made = bounds::within(
            &self.claims,
            most,
            (|kept: &mut Kept<'a>, claim: &Claim| self.make(kept, claim), lost),
            run,
        )?;
        Ok(self.together(made))
    }

    /// What was made of all claims, in their order.
    fn together(&self, made: impl IntoIterator<Item = One>) -> AllMade {
        let mut all = AllMade::default();
        for (claim, made) in self.claims.iter().zip(made) {
            let region = claim.region();
            let directory = self.world.fleet.regions.get(region).map_or(region.as_str(), |it| it.directory.as_str());
            all.add(claim.made_for(), directory, made);
        }
        all
    }
}

/// Renders all templates for all namespaces that select them, one after the other.
pub fn all(world: &World<'_>) -> AllMade {
    let templates = Templates::of(world);
    let run = |make: Make<'_>| Ok::<_, Infallible>(make(&templates.claims));
    match templates.all(MOST, run) {
        Ok(all) => all,
        Err(never) => match never {},
    }
}

fn prepare<'a>(world: &World<'a>, claim: &Claim) -> Result<Ready<'a>, Vec<Finding>> {
    // The closure says why there is none.
    let spec = world.facts.templates.spec_of(&claim.by).ok_or_else(Vec::new)?;
    let template = Template::parse(&spec.literal).map_err(|refused| vec![of_template(claim, &refused)])?;
    let uses_labels = spec.literal.contains("Labels");
    Ok(Ready { spec, template, uses_labels })
}

fn make<'a>(world: &World<'a>, kept: &mut Kept<'a>, claim: &Claim, ready: &Ready<'a>) -> One {
    let data = template_data(world, claim, ready.spec);
    if !data.is_known() {
        // The closure tells them.
        return Err(Vec::new());
    }
    let one = |finding: Finding| vec![finding.at(&claim.origin)];
    if ready.uses_labels && !labels_known(world, claim) {
        let message =
            format!("the labels of namespace {} are unknown, and the template uses them", claim.by.namespace());
        let finding = invalid(claim, "", "Correct what keeps the region, or its Namespaces, from being read.");
        return Err(one(Finding { code: Code::Unread, message, ..finding }));
    }
    let (known, reader) = kept.given(world.fleet, ready.spec, &data.found).map_err(|finding| one(finding.clone()))?;
    let namespace = values::namespace(world, claim);
    // The stand-ins come first: what is told of them tells nothing of the values.
    let text = ready.template.render(&values::root(&namespace, &known.stand_ins));
    let text = text.map_err(|refused| vec![with_stand_ins(claim, known.has_secrets, &refused)])?;
    let shown = documents(&text, reader, Keep::Forms).map_err(|why| one(invalid(claim, &why, CORRECT)))?;
    let strange = shown.iter().enumerate().filter_map(|(at, document)| {
        let finding = of_no_kind(world, claim, document)?.at(&claim.origin);
        let message = format!("document {}: {}", at + 1, finding.message);
        Some(Finding { message, ..finding })
    });
    let strange: Vec<Finding> = strange.collect();
    if !strange.is_empty() {
        return Err(the_first(strange));
    }
    let documents = match &known.values {
        // Nobody looked at the values.
        None => shown,
        Some(values) => {
            let made = ready.template.render(&values::root(&namespace, values)).ok();
            let made = made.and_then(|text| documents(&text, reader, Keep::Nothing).ok());
            let made = made.filter(|made| same(&shown, made, &known.pairs));
            // Where and how they differ would tell something of the values.
            made.ok_or_else(|| one(invalid(claim, WITH_VALUES, WITH_VALUES_HELP)))?
        }
    };
    let is_seen = known.values.is_some();
    let mut objects: Vec<Object> = Vec::with_capacity(documents.len());
    let mut findings = Vec::new();
    for (at, document) in documents.into_iter().enumerate() {
        match object(world, claim, ready, document) {
            Ok(made) => {
                let made = if is_seen { made } else { made.unseen() };
                match objects.iter().find(|other| other.key == made.key) {
                    Some(other) if other.same_content(&made) => {}
                    Some(_) => {
                        let message = format!("the template makes {} twice, with different content", made.key);
                        let finding = Finding::new(Code::ConflictingContent, message).about(&made.key);
                        findings.push(finding.at(&claim.origin).help("Rename one of the two, or leave it away."));
                    }
                    None => objects.push(made),
                }
            }
            Err(mut finding) => {
                finding.message = format!("document {}: {}", at + 1, finding.message);
                findings.push((*finding).at(&claim.origin));
            }
        }
    }
    // Of equal documents there is one object, and room for all.
    objects.shrink_to_fit();
    if findings.is_empty() { Ok(objects) } else { Err(the_first(findings)) }
}

/// A few of the findings about one rendering: a slip in a loop is told for each round, and again for each namespace.
fn the_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    const TOLD: usize = 3;
    let more = findings.len().saturating_sub(TOLD);
    findings.truncate(TOLD);
    if let Some(last) = findings.last_mut().filter(|_| more > 0) {
        last.message = format!("{} (and {more} more like this)", last.message);
    }
    findings
}

const CORRECT: &str = "Correct the template.";

/// Why a document is of no kind that a template may make, if it is not. Its text is no rule that takes something away: it
/// may be mistyped.
fn of_no_kind(world: &World<'_>, claim: &Claim, document: &Node) -> Option<Finding> {
    let (api_version, kind) = (document.str_at(&["apiVersion"]), document.at(&["kind"]));
    if !document.is_map() || kind.is_none() || document.at(&["apiVersion"]).is_none() {
        return Some(invalid(claim, "it has no apiVersion or no kind", CORRECT));
    }
    let kind = kind_of(document);
    let publishes = match claim.is_for_guests() {
        true => world.fleet.publishes(&kind),
        false => world.fleet.publishes_for(&claim.by, claim.region(), &kind),
    };
    if !publishes {
        let declared = world.snapshot.definitions.keys().cloned().collect();
        if let Some(meant) = nearly(world.fleet, &declared, document) {
            let meant = meant.map(|meant| format!("Did you mean {}? ", meant.qualified()));
            let did_you_mean = meant.unwrap_or_default();
            return Some(invalid(
                claim,
                &format!("there is no kind {}", kind.qualified()),
                format!("{did_you_mean}{CORRECT}"),
            ));
        }
        let help = match kinds::is_kubernetes_own(kind.group.as_str()) {
            true => {
                "Of Kubernetes' own kinds pouch publishes Secrets and ConfigMaps alone: make others in another way."
            }
            false => "Let it make other objects, or declare the kind in `kinds`.",
        };
        return Some(invalid(claim, &format!("pouch does not publish objects of kind {}", kind.qualified()), help));
    }
    let is_other = kind.group == "" && api_version != Some("v1");
    is_other.then(|| invalid(claim, &format!("the apiVersion of a {} is v1", kind.kind), CORRECT))
}

/// A document as an object that the claim may make.
fn object(world: &World<'_>, claim: &Claim, ready: &Ready<'_>, document: Node) -> Result<Object, Box<Finding>> {
    let namespace = claim.by.namespace();
    let admitted = admit(document, claim.origin.clone(), &world.snapshot.scopes, Some(namespace), world.fleet);
    let mut object = admitted.map_err(|unusable| {
        Box::new(match unusable.why {
            Refusal::Unusable(why) => invalid(claim, &why, CORRECT),
            Refusal::NamespaceMissing(..) => invalid(claim, "it has no namespace", CORRECT),
        })
    })?;
    // Nothing that is made silences what is said of it.
    object.silence = None;
    // What Sveltos would render is none of a Credential's templates.
    object.annotations = object.annotations.into_iter().filter(|(key, _)| **key != *TEMPLATE_ANNOTATION).collect();
    if ready.spec.create_only && claim.is_for_guests() {
        let why = "avoidResourceUpdate is set, and into guest clusters each change is written";
        return Err(Box::new(invalid(claim, why, "Remove the field, or take the template out of the group.")));
    }
    if ready.spec.create_only {
        let to = Destination::of(world.fleet, &claim.at);
        if !to.is_some_and(|to| matches!(to.delivery(), Delivery::Flux(_))) {
            let why = "avoidResourceUpdate is set, and only Flux can leave alone what is there";
            return Err(Box::new(invalid(claim, why, "Remove the field, or deliver to the region with Flux.")));
        }
        object.create_only = true;
    }
    let key = &object.key;
    if let Some(finding) = reaches(world, claim, &object) {
        return Err(Box::new(finding));
    }
    // Where something lands in guests is no concern of anybody else on the region.
    if key.namespace.as_ref() == Some(namespace) || claim.is_for_guests() {
        return Ok(object);
    }
    match world.lets_make(&claim.by, claim.region(), key) {
        Granting::Yes(_) => return Ok(object),
        Granting::Unknown(placement, why) => {
            let message = format!(
                "whether the template may make {key} is unknown: a grant says so in the regions of placement {placement}, \
                 and which these are is unknown: {why}"
            );
            let help = "Correct what keeps the placement from being known, or name the region in the grant.";
            return Err(Box::new(Finding::new(Code::Unread, message).about(key).help(help)));
        }
        Granting::No => {}
    }
    let message = format!("it makes {key}, and a template makes objects in namespace {namespace} only");
    let help = format!(
        "Leave the namespace away; or, to let the template make it, add to `grants`: `- {}`.",
        Grant::least(&claim.by, claim.region(), key).to_make()
    );
    Err(Box::new(invalid(claim, &message, help)))
}

/// Why an identity that a template makes may not refer to what it does, if it may not. It could name what others keep in
/// their namespaces, and nobody would ask them.
fn reaches(world: &World<'_>, claim: &Claim, object: &Object) -> Option<Finding> {
    let key = &object.key;
    if key.kind.is_secret() || key.kind.is_config_map() {
        return None;
    }
    let is_identity = capi::rules(&key.kind).is_some()
        || !matches!(world.facts.definitions.find(&key.kind, &object.version), Defined::Unknown);
    let Some((names, _)) = names(world, &claim.by, Resolution::AsWritten, key, object) else {
        let help = "Correct the references in it.";
        return is_identity.then(|| invalid(claim, &format!("what {key} refers to cannot be told"), help));
    };
    let is_open = |name: &&ObjectKey| {
        name.namespace.as_ref() == Some(claim.by.namespace()) || world.grants(&claim.by, claim.region(), name)
    };
    let name = names.iter().find(|name| !is_open(name))?;
    let message =
        format!("it makes {key}, which refers to {name}, and that is not in namespace {}", claim.by.namespace());
    let help = format!(
        "Refer to what the namespace has; or, if the template may refer to it, add to `grants`: `- {}`.",
        Grant::least(&claim.by, claim.region(), name)
    );
    Some(invalid(claim, &message, help))
}

/// Whether documents with values are those with stand-ins, but for the values of Secrets.
fn same(shown: &[Node], made: &[Node], pairs: &Pairs<'_>) -> bool {
    shown.len() == made.len() && shown.iter().zip(made).all(|(shown, made)| alike(shown, made, pairs))
}

fn alike(shown: &Node, made: &Node, pairs: &Pairs<'_>) -> bool {
    if !kind_of(shown).is_secret() || !shown.is_map() {
        return shown == made;
    }
    let (shown, made) = (shown.entries(), made.entries());
    let same = |((key, a), (other, b)): (&(Key, Node), &(Key, Node))| {
        key == other && (a == b || (matches!(&**key, "data" | "stringData") && same_entries(a, b, pairs)))
    };
    shown.len() == made.len() && shown.iter().zip(made).all(same)
}

/// Whether two maps have the same keys, and behind each a text that is the same but for the values.
fn same_entries(a: &Node, b: &Node, pairs: &Pairs<'_>) -> bool {
    let (a, b) = (a.entries(), b.entries());
    let same = |((key, a), (other, b)): (&(Key, Node), &(Key, Node))| {
        let texts = || matches!((a, b), (Node::Text(shown), Node::Text(made)) if is_placed(shown, made, pairs));
        key == other && (a == b || texts())
    };
    !a.is_empty() && a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Whether a text has the very values where its other half has stand-ins as they are: YAML may read a value as another
/// one, and a part of it as a comment. At its end, line breaks are as the style of the text wants them. What was encoded
/// or cut before is not known. Both are walked side by side, whatever a text with all values in place would be.
fn is_placed(shown: &str, made: &str, pairs: &Pairs<'_>) -> bool {
    let (mut shown, mut made, mut found) = (shown, made, false);
    while let Some((before, stand_in, behind)) = pairs.next(shown) {
        let Some(value) = stand_in else { return false };
        found = true;
        let Some(rest) = made.strip_prefix(before) else { return false };
        made = match rest.strip_prefix(value) {
            Some(rest) => rest,
            // Its own line breaks may be those at the end.
            None if without_end(behind).is_empty() => return without_end(rest) == without_end(value),
            None => return false,
        };
        shown = behind;
    }
    !found || without_end(shown) == without_end(made)
}

fn without_end(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

const WITH_VALUES: &str = "with the values of Secrets the template fails, or makes other documents than with stand-ins, or a \
                           value would be read as another one";

const WITH_VALUES_HELP: &str = "Let values of Secrets stand only below `data` or `stringData` of Secrets, encoded or in \
                                quotes, a text of several lines behind `nindent`, and nothing hang on them.";

/// Whether nobody may know of further labels of a claim's namespace.
fn labels_known(world: &World<'_>, claim: &Claim) -> bool {
    let known = world.namespaces(claim.region()).and_then(|known| known.known.get(claim.by.namespace()));
    known.is_some_and(|labels| labels.complete)
}

fn invalid(claim: &Claim, why: &str, help: impl Into<Cow<'static, str>>) -> Finding {
    let finding = Finding::new(Code::InvalidObject, String::from(why)).help(help);
    match kinds::claimant(&claim.by) {
        Some(key) => finding.about(&key),
        None => finding,
    }
}

fn of_template(claim: &Claim, refused: &Refused) -> Finding {
    invalid(claim, &format!("spec.template.literal, {}", refused.message), refused.help.clone()).at(&claim.origin)
}

fn with_stand_ins(claim: &Claim, has_secrets: bool, refused: &Refused) -> Finding {
    if !has_secrets {
        return of_template(claim, refused);
    }
    let message = format!("spec.template.literal, with stand-ins for the values of Secrets, {}", refused.message);
    let help = format!(
        "{} A template may encode and place values of Secrets, and not compute with what is in them.",
        refused.help
    );
    invalid(claim, &message, help).at(&claim.origin)
}

#[cfg(test)]
mod tests;
