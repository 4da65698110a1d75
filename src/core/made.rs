//! What templates make: each is rendered with its data, and once more with stand-ins for the values of Secrets.
//!
//! Both must give the same documents, but for what stands below `data` and `stringData` of Secrets. So no value shapes a
//! document, and none stands in plain sight. What is made is admitted as if a source had it, so that every rule for
//! objects holds for it.

mod values;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::claim::Claim;
use crate::claim::template::TemplateSpec;
use crate::closure::template_data;
use crate::config::{Delivery, Grant};
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::Name;
use crate::node::{Interner, Key, Node};
use crate::object::{Object, Refusal, admit, kind_of};
use crate::snapshot::AllMade;
use crate::template::{Refused, Template};
use crate::world::{Granting, World};
use crate::yaml;
use values::Values;

/// The most documents of one template, as in KubeNSync.
const MOST_DOCUMENTS: usize = 1024;

/// A template that is ready to be rendered.
struct Ready<'a> {
    spec: &'a TemplateSpec,
    template: Template,
}

/// What is made of one template for one namespace.
pub type One = Result<Vec<Object>, Vec<Finding>>;

/// All templates, each parsed once, and who asks for what they make.
pub struct Templates<'a> {
    world: World<'a>,
    ready: BTreeMap<Name, Result<Ready<'a>, Vec<Finding>>>,
    /// The claims, sorted by claimant.
    pub claims: Vec<&'a Claim>,
}

impl<'a> Templates<'a> {
    /// Parses the templates that somebody asks for.
    pub fn of(world: &World<'a>) -> Self {
        let claims = world.facts.rendered(world.fleet).filter(|claim| claim.by.is_managed_resource());
        let claims: Vec<&Claim> = claims.collect();
        let mut ready = BTreeMap::new();
        for claim in &claims {
            ready.entry(claim.by.name.clone()).or_insert_with(|| prepare(world, claim));
        }
        Self { world: *world, ready, claims }
    }

    /// Renders a claim's template.
    pub fn make(&self, claim: &Claim) -> One {
        match self.ready.get(&claim.by.name) {
            Some(Ok(ready)) => make(&self.world, claim, ready),
            Some(Err(findings)) => Err(findings.clone()),
            None => Err(Vec::new()),
        }
    }

    /// What was made of all claims, in their order.
    pub fn together(&self, made: impl IntoIterator<Item = One>) -> AllMade {
        let mut all = AllMade::default();
        self.claims.iter().zip(made).for_each(|(claim, made)| all.add(claim.region(), &claim.by, made));
        all
    }
}

/// Renders all templates for all namespaces that select them, one after the other.
pub fn all(world: &World<'_>) -> AllMade {
    let templates = Templates::of(world);
    templates.together(templates.claims.iter().map(|claim| templates.make(claim)))
}

fn prepare<'a>(world: &World<'a>, claim: &Claim) -> Result<Ready<'a>, Vec<Finding>> {
    // The closure says why there is none.
    let spec = world.facts.templates.get(&claim.by.name).ok_or_else(Vec::new)?;
    let template = Template::parse(&spec.literal).map_err(|refused| vec![of_template(claim, &refused)])?;
    Ok(Ready { spec, template })
}

fn make(world: &World<'_>, claim: &Claim, ready: &Ready<'_>) -> Result<Vec<Object>, Vec<Finding>> {
    let data = template_data(world, claim, ready.spec);
    if !data.findings.is_empty() || !data.wanted.is_empty() {
        // The closure tells them.
        return Err(Vec::new());
    }
    let one = |finding: Finding| vec![finding.at(&claim.origin)];
    let known = Values::of(world, claim, &data.found).map_err(|finding| one(*finding))?;
    let read = |text: &str| documents(text).map_err(|why| one(invalid(claim, &why, CORRECT)));
    let documents = match &known.values {
        // Nobody looked at the values.
        None => {
            let text = ready.template.render(&known.stand_ins);
            read(&text.map_err(|refused| vec![of_template(claim, &refused)])?)?
        }
        Some(values) => {
            let text = ready.template.render(values).map_err(|refused| vec![of_template(claim, &refused)])?;
            let shown = ready.template.render(&known.stand_ins);
            let shown = read(&shown.map_err(|refused| vec![with_stand_ins(claim, &refused)])?)?;
            let documents = read(&text)?;
            if let Some(why) = differ(&shown, &documents) {
                let help = "Let values of Secrets stand only below `data` or `stringData` of Secrets, a text of several \
                            lines behind `indent`, and nothing hang on them.";
                return Err(one(invalid(claim, &why, help)));
            }
            documents
        }
    };
    let is_seen = known.values.is_some();
    let mut objects: Vec<Object> = Vec::new();
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
                finding.message = format!("document {}: {}", at.saturating_add(1), finding.message);
                findings.push((*finding).at(&claim.origin));
            }
        }
    }
    if findings.is_empty() { Ok(objects) } else { Err(findings) }
}

const CORRECT: &str = "Correct the template.";

/// A document as an object that the claim may make.
fn object(world: &World<'_>, claim: &Claim, ready: &Ready<'_>, document: Node) -> Result<Object, Box<Finding>> {
    if !document.is_map() || document.at(&["kind"]).is_none() || document.at(&["apiVersion"]).is_none() {
        return Err(Box::new(invalid(claim, "it has no apiVersion or no kind", CORRECT)));
    }
    let kind = kind_of(&document);
    let namespace = &claim.by.namespace;
    let admitted = admit(document, claim.origin.clone(), &world.snapshot.scopes, Some(namespace), world.fleet);
    let mut object = admitted.map_err(|unusable| {
        Box::new(match unusable.why {
            Refusal::Unusable(why) => invalid(claim, &why, CORRECT),
            Refusal::NamespaceMissing(..) => invalid(claim, "it has no namespace", CORRECT),
        })
    })?;
    if ready.spec.create_only {
        let to = Destination::of(world.fleet, &claim.to);
        if !to.is_some_and(|to| matches!(to.delivery(), Delivery::Flux(_))) {
            let why = "avoidResourceUpdate is set, and only Flux can leave alone what is there";
            return Err(Box::new(invalid(claim, why, "Remove the field, or deliver to the region with Flux.")));
        }
        object.create_only = true;
    }
    let key = &object.key;
    // A kind that nothing may publish is told as such.
    if key.namespace.as_ref() == Some(namespace) || !world.fleet.publishes(&kind) {
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
        Grant::least(&claim.by, claim.region(), key)
    );
    Err(Box::new(Finding::new(Code::NotAdmitted, message).about(key).help(help)))
}

/// The documents of a rendering.
fn documents(text: &str) -> Result<Vec<Node>, String> {
    let mut interner = Interner::new();
    let mut documents = Vec::new();
    for document in yaml::stream::documents(text) {
        if documents.len() >= MOST_DOCUMENTS {
            return Err(format!("the template makes more than {MOST_DOCUMENTS} documents"));
        }
        match yaml::read::read(&document, &mut interner) {
            Ok(Node::Null) => {}
            Ok(node) => documents.push(node),
            Err(flaw) => {
                return Err(format!("what the template makes is no YAML at its line {}: {}", flaw.line, flaw.what));
            }
        }
    }
    Ok(documents)
}

/// How documents with values differ from those with stand-ins, but for the values of Secrets.
fn differ(shown: &[Node], documents: &[Node]) -> Option<String> {
    if shown.len() != documents.len() {
        return Some("how many documents the template makes hangs on the value of a Secret".into());
    }
    let at = shown.iter().zip(documents).position(|(shown, document)| !alike(shown, document))?;
    let place = at.saturating_add(1);
    Some(format!(
        "document {place} differs by the value of a Secret: it would shape the document, or stand in plain sight"
    ))
}

fn alike(shown: &Node, document: &Node) -> bool {
    if !kind_of(shown).is_secret() || !shown.is_map() {
        return shown == document;
    }
    let (shown, document) = (shown.entries(), document.entries());
    let same = |((key, a), (other, b)): (&(Key, Node), &(Key, Node))| {
        key == other && (a == b || (matches!(&**key, "data" | "stringData") && same_entries(a, b)))
    };
    shown.len() == document.len() && shown.iter().zip(document).all(same)
}

/// Whether two maps have the same keys, with a scalar behind each.
fn same_entries(a: &Node, b: &Node) -> bool {
    let is_scalar = |node: &Node| !matches!(node, Node::Map(_) | Node::List(_));
    let (a, b) = (a.entries(), b.entries());
    !a.is_empty()
        && a.len() == b.len()
        && a.iter().zip(b).all(|((key, a), (other, b))| key == other && is_scalar(a) && is_scalar(b))
}

fn invalid(claim: &Claim, why: &str, help: impl Into<Cow<'static, str>>) -> Finding {
    let finding = Finding::new(Code::InvalidTemplate, String::from(why)).help(help);
    match kinds::claimant(&claim.by) {
        Some(key) => finding.about(&key),
        None => finding,
    }
}

fn of_template(claim: &Claim, refused: &Refused) -> Finding {
    invalid(claim, &format!("spec.template.literal, {}", refused.message), refused.help.clone()).at(&claim.origin)
}

fn with_stand_ins(claim: &Claim, refused: &Refused) -> Finding {
    let message = format!("spec.template.literal, with stand-ins for the values of Secrets, {}", refused.message);
    let help = format!(
        "{} A template may encode and place values of Secrets, and not compute with what is in them.",
        refused.help
    );
    invalid(claim, &message, help).at(&claim.origin)
}
