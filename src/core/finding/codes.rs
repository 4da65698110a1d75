//! The table of finding codes: one line each, with class, severity and meaning.
//!
//! The pages in `docs/findings` explain each with an example and the cure; a test keeps them equal.

use super::severity::Severity;
use crate::name::spelt;
use crate::renamed;

/// What happens to the claims that a finding concerns (DESIGN §2.7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// The claim is not allowed: what it published is withdrawn, under the brake.
    Refused,
    /// The claim cannot be resolved now: what it published is carried over, bytes and all.
    Broken,
    /// The region stays exactly as published until somebody accepts.
    Held,
    /// A part of a source could not be read or is ignored; it affects only claims that miss something.
    Source,
    /// `verify` found a difference from what a bundle says; nothing published changes.
    Fault,
    /// Nothing stops.
    Notice,
}

spelt!(Class { Refused "refused", Broken "broken", Held "held", Source "source", Fault "fault", Notice "notice" });

macro_rules! codes {
    ($($name:ident $text:literal $class:ident $severity:ident $meaning:literal $($other:ident $when:literal)?;)*) => {
        /// The kind of a finding. The text form is stable; scripts match on it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Code {
            $(#[doc = $meaning] $name,)*
        }

        impl Code {
            /// Every code, sorted by class as in the table.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The stable text form.
            pub fn text(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// The class.
            pub fn class(self) -> Class {
                match self { $(Code::$name => Class::$class,)* }
            }

            /// The severity, unless it is the [other](Code::otherwise) or the configuration says another.
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity,)* }
            }

            /// The other severity that it has in some case, and which case that is.
            pub fn otherwise(self) -> Option<(Severity, &'static str)> {
                match self { $($(Code::$name => Some((Severity::$other, $when)),)?)* _ => None }
            }

            /// The meaning, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning,)* }
            }

            /// The code with this text form, or with the one that it had before the first release.
            pub fn parse(text: &str) -> Option<Code> {
                match renamed::code(text).map_or(text, |renamed| renamed.new) {
                    $($text => Some(Code::$name),)*
                    _ => None,
                }
            }
        }
    };
}

spelt!(Code by text read parse);

codes! {
    ForbiddenKind "forbidden-kind" Refused Error "A claim needs an object of a kind that pouch does not publish.";
    ForbiddenType "forbidden-type" Refused Error "A claim needs a Secret of a type or content that never leaves its cluster.";
    ForbiddenPlace "forbidden-place" Refused Error "An object would land in a namespace, or under a name, that a bundle must not touch or that k0rdent itself writes.";
    NotAdmitted "not-admitted" Refused Error "A claim uses an object that its namespace is not admitted to.";
    NamespaceNotAllowed "namespace-not-allowed" Refused Error "The region does not take Credentials of this namespace." Info "where a template selects others too, which the region takes";
    ForgedManagedLabel "forged-managed-label" Refused Error "A Credential carries k0rdent's managed label, but no rule made it.";

    Mistyped "mistyped" Broken Error "A kind, a group or a field is unknown, and nearly one that pouch reads." Warning "where the field can only mean what the source says anyway";
    UnrenderedTemplate "unrendered-template" Broken Error "A document has an unrendered template where a kind, version, name or namespace should be.";
    UnknownRegion "unknown-region" Broken Error "A Credential names a region that the configuration does not know.";
    UnknownIdentityKind "unknown-identity-kind" Broken Error "No ProviderInterface defines the kind that a Credential's identityRef names.";
    SeveralRegions "several-regions" Broken Error "More than one region takes a Cluster or a ClusterResourceSet, or a Credential is for another region than its source describes.";
    ClusterIdentityUnknown "cluster-identity-unknown" Broken Error "The sources do not tell which identity a Cluster uses.";
    MachinesWait "machines-wait" Broken Error "What the machines of a Cluster name is unknown, absent or not open to it, and waits without stopping the Cluster." Warning "where only its name says that something may be meant for the Cluster";
    ConflictingDefinitions "conflicting-definitions" Broken Error "Two ProviderInterfaces in the sources define one kind differently.";
    MissingReference "missing-reference" Broken Error "A claim needs an object that is proved absent.";
    Unread "unread" Broken Error "A claim needs an object whose absence is not proved, because a source was not read completely." Info "where only whether a template is for a namespace is unknown";
    Changing "changing" Broken Error "An object changed each time while its cluster was read.";
    TooManyHops "too-many-hops" Broken Error "A claim's chain of references is longer than 16 hops.";
    TooManyObjects "too-many-objects" Broken Error "A claim, a namespace or a region needs more than the limit.";
    VersionNotServed "version-not-served" Broken Error "An object is written in a version that the region does not serve.";
    ScopeDiffers "scope-differs" Broken Error "A kind is cluster-scoped on the region and its object is in a namespace, or the other way round.";
    ProviderNotEnabled "provider-not-enabled" Broken Error "The Region object does not list the provider that the identity needs." Warning "for a Credential that is published already";
    Shadowed "shadowed" Broken Error "Two sources hold one object with different content.";
    DuplicateObject "duplicate-object" Broken Error "One source holds one object twice.";
    NamespaceMissing "namespace-missing" Broken Error "A namespaced object names no namespace, and its source has no default.";
    InlineSecret "inline-secret" Broken Error "What is published unsealed holds a value of a Secret, or what looks like a secret." Warning "for a label or an annotation of the Secret itself, which is left out";
    UndecryptableSource "undecryptable-source" Broken Error "An object in a source is encrypted and cannot be opened.";
    MixedSealing "mixed-sealing" Broken Error "A build put a readable value where the sealed document that it was built of seals all values.";
    CopiedCiphertext "copied-ciphertext" Broken Error "A sealed value of one document in the sources is in another document too.";
    InvalidObject "invalid-object" Broken Error "An object cannot be used as it is written.";
    ImmutableField "immutable-field" Broken Error "A field differs from the published one, and the region's API does not let it change.";
    ConflictingContent "conflicting-content" Broken Error "Two claims need one object on a region with different content.";
    Occupied "occupied" Broken Error "On the management cluster somebody else's object stands where pouch would publish one, or has published it.";
    TooLarge "too-large" Broken Error "An object is larger than a consumer accepts.";
    RevocationIncomplete "revocation-incomplete" Broken Error "A removed recipient can still read a Secret that is carried over.";

    ContradictoryTies "contradictory-ties" Held Error "The objects that describe a region's cluster contradict each other, or describe another region's.";
    WrongCluster "wrong-cluster" Held Error "A region's cluster is another one than the published bundle says.";
    RegionGated "region-gated" Held Error "A region's cluster is not in the state that the configuration requires.";
    ForeignFile "foreign-file" Held Error "A region's folders hold a file that pouch did not write.";
    UnsignedBundle "unsigned-bundle" Held Error "A region has files and no manifest that the reuse key authenticates.";
    DeletionsHeld "deletions-held" Held Error "More would be withdrawn than the limits allow, so it stays published.";
    RecipientAdded "recipient-added" Held Error "A recipient would be added to a published region.";
    ResealHeld "reseal-held" Held Error "More Secrets would be sealed anew, or more values replaced, than the limits allow.";
    SourceChanged "source-changed" Held Error "A source is a different cluster or repository than the published bundle says.";
    CarryImpossible "carry-impossible" Held Error "An object must be carried over, but its published bytes cannot be used.";
    RekeyImpossible "rekey-impossible" Held Error "A region cannot be sealed anew as a whole, so it stays as it is.";
    BundleTooLarge "bundle-too-large" Held Error "A region's new bundle would be larger than pouch can read back.";
    UnreadableBundle "unreadable-bundle" Held Error "What is published of a region cannot be read.";
    NewerFormat "newer-format" Held Error "The published bundle is written in a format newer than this pouch knows.";

    UnparsableDocument "unparsable-document" Source Error "A document cannot be read, so what it might hold counts as unread.";
    UnknownKind "unknown-kind" Source Error "A document is of no kind that k0rdent's API group is known to have.";
    UnreadableFile "unreadable-file" Source Error "A file cannot be read; its source counts as incomplete.";
    RefusedFile "refused-file" Source Error "A path is not a plain file inside the source; it is not read, and its source counts as incomplete.";
    StaleSource "stale-source" Source Error "A source shows an older state than an earlier run read, so whatever it may provide counts as unread.";
    UnavailableSource "unavailable-source" Source Error "A source cannot be reached or read at all, so whatever it may provide counts as unread.";
    UnreadableObject "unreadable-object" Source Warning "A Region, an AccessManagement or an object that describes a cluster cannot be read, or not all of it, so what it says is unknown.";
    NotProvidedHere "not-provided-here" Source Warning "A source holds an object that its `provides` does not admit; the object is ignored.";

    UntrustedBundle "untrusted-bundle" Fault Error "A bundle, or a file of it, is missing or cannot be believed.";
    UnlistedFile "unlisted-file" Fault Error "A file among the bundles is listed by no manifest, or the layout has no such file.";
    NotPlainFile "not-plain-file" Fault Error "A symlink, a submodule, an executable or a special file is where bundles have plain files only.";
    PlaintextSecret "plaintext-secret" Fault Error "A file holds a Secret, or a key that opens bundles, in clear.";
    NotReadable "not-readable" Fault Error "A YAML or JSON file beside the bundles cannot be read completely, so a Secret in it could go unseen.";
    NotSealed "not-sealed" Fault Error "A sealed file is not sealed as pouch seals it, so something in it is readable or may become readable.";
    WrongRecipients "wrong-recipients" Fault Error "A bundle or a file is not sealed to exactly the recipients that it should be.";
    ForeignRecipient "foreign-recipient" Fault Error "A recipient of one region can open a file of another.";
    RepeatedCiphertext "repeated-ciphertext" Fault Error "The same ciphertext is in two places, so one of them is a copy.";
    BrokenSeal "broken-seal" Fault Error "A file cannot be opened completely with the key that it is sealed to.";
    NotBuildable "not-buildable" Fault Error "A kustomization does not list exactly what is below it.";
    UnsafeDelivery "unsafe-delivery" Fault Error "The files or marks that tell a consumer how to apply the bundle are not as pouch writes them.";
    RegionNotConfigured "region-not-configured" Fault Error "There is a bundle whose region is not in the configuration, or is retired.";
    UntrustedCommit "untrusted-commit" Fault Error "No allowed signer has signed the bundles as they are now.";
    MissingOnRegion "missing-on-region" Fault Error "The region lacks an object of its bundle, or a namespace that the bundle needs.";
    LeftBehind "left-behind" Fault Error "The region has an object with pouch's label that its bundle does not have.";
    DiffersOnRegion "differs-on-region" Fault Error "An object on the region is not as its bundle says.";
    NotTakenOver "not-taken-over" Fault Error "An object of the bundle still carries k0rdent's managed label on the region.";
    StaleEntry "stale-entry" Fault Error "A Secret or ConfigMap on the region has an entry that its bundle does not have.";
    NamespaceLabelsDiffer "namespace-labels-differ" Fault Error "A namespace on the region lacks labels that the configuration says it has.";
    NotInGuest "not-in-guest" Fault Error "A guest cluster has not got what the bundle delivers to it." Warning "as long as the infrastructure of the Cluster is not provisioned";
    KindNotOnRegion "kind-not-on-region" Fault Error "The region does not serve a kind of the bundle, or not in the bundle's version.";

    UnbuiltKustomization "unbuilt-kustomization" Notice Warning "A source has a kustomization that changes what its files say, and the files are read as they are.";
    NotAsPublished "not-as-published" Notice Warning "What stands in a region's folders, or in a file there, is not what pouch published last.";
    ArgocdTooOld "argocd-too-old" Notice Warning "A region's cluster needs what the configured release of Argo CD does not know, so its cluster Secret is not written.";
    ClusterRedirected "cluster-redirected" Notice Warning "Argo CD is told something else of a region's cluster than before.";
    TwoWriters "two-writers" Notice Warning "Somebody else writes an object too: the cluster Secret of Argo CD that pouch writes, or what another ClusterResourceSet or group of guests delivers.";
    RotationNeverArrives "rotation-never-arrives" Notice Warning "A ClusterResourceSet delivers its payloads once, so that no change of them reaches a guest cluster.";
    SessionKept "session-kept" Notice Warning "A Secret gets a new value, and its provider's controllers go on with the old one in sessions that they keep.";
    NothingDelivered "nothing-delivered" Notice Warning "A ClusterResourceSet delivers nothing, or nothing of a payload, and Cluster API hardly says so.";
    DeprecatedVersion "deprecated-version" Notice Info "An object is written in a version that a coming release does not serve any more." Warning "where Cluster API does not serve the version any more";
    Untied "untied" Notice Info "A region is tied to no ClusterProfile while others are, or a ClusterProfile to no region.";
    UnmatchedEntry "unmatched-entry" Notice Warning "The configuration names or selects an object that is not there, or not known.";
    FactDiffers "fact-differs" Notice Warning "Two places say different things of a region's cluster.";
    RegionRetired "region-retired" Notice Info "A Credential names a retired region.";
    OverridesBuiltin "overrides-builtin" Notice Info "A ProviderInterface in the sources differs from the built-in one for the same kind.";
    VersionMismatch "version-mismatch" Notice Warning "A reference names a version that no definition has; the newest defined one is used.";
    NewerRelease "newer-release" Notice Warning "The configured k0rdent release is newer than the newest whose ProviderInterfaces are known." Info "where pouch knows the release by its name";
    NewerField "newer-field" Notice Info "A field belongs to a newer release of k0rdent than the configured one.";
    OwnOutput "own-output" Notice Warning "An object on the management cluster is there because pouch published it, so it is not a source." Info "where another source has the object";
    ManagedCopyOutdated "managed-copy-outdated" Notice Info "K0rdent's copy of a Credential differs from what its AccessManagement rule makes now.";
    RuleNotApplied "rule-not-applied" Notice Info "An AccessManagement rule hands out a Credential to a namespace that already has one of that name.";
    Assumed "assumed" Notice Info "An object is assumed to exist on every region, because the provider itself makes it.";
    AssumedWider "assumed-wider" Notice Warning "An object that the provider itself makes admits fewer namespaces in the sources than on the region.";
    ControllerPrincipal "controller-principal" Notice Info "A role's chain ends in the controller's own identity, which differs from region to region.";
    MissingCompanion "missing-companion" Notice Info "An object without which credential propagation does not work is absent." Warning "where a ClusterDeployment with the Credential propagates";
    UnusableInNamespace "unusable-in-namespace" Notice Warning "An identity does not admit the namespace of a Credential that may use it anyway.";
    CredentialNeverReady "credential-never-ready" Notice Warning "K0rdent's own controller would not find what pouch publishes, so the Credential never becomes ready.";
    ResolvedAsKcm "resolved-as-kcm" Notice Info "An identity that is absent where its Credential says is read from the system namespace, as a grant allows.";
    FoundElsewhere "found-elsewhere" Notice Info "An absent object exists under the same name in the system namespace, or in the namespace of who needs it.";
    SealedElsewhere "sealed-elsewhere" Notice Warning "A controller would make an absent Secret, from something that pouch cannot read.";
    MissingEntry "missing-entry" Notice Warning "A Secret lacks an entry that the identity's provider reads.";
    PlaceholderValue "placeholder-value" Notice Warning "A value of a Secret is a placeholder.";
    EncodedTwice "encoded-twice" Notice Warning "A value of a Secret is base64 of base64.";
    TrailingLineFeed "trailing-line-feed" Notice Warning "A value of a Secret is one line and ends in a line feed.";
    Expired "expired" Notice Warning "A certificate or token in a Secret has expired.";
    ExpiresSoon "expires-soon" Notice Info "A certificate or token in a Secret expires within 14 days.";
    OpenToAll "open-to-all" Notice Info "An identity admits every namespace.";
    PlumbingRule "plumbing-rule" Notice Info "A ResourceSyncRule takes what the cluster registry itself works with, so pouch does not follow it.";
    UnknownField "unknown-field" Notice Warning "A ResourceSyncRule has a field that no release knows, and is followed without it.";
    NoClusterIdentity "no-cluster-identity" Notice Info "The objects behind a Cluster name no identity, so nothing is published for it.";
    SharedIdentity "shared-identity" Notice Info "Credentials of several namespaces name one identity.";
    UnusedIdentity "unused-identity" Notice Info "No Credential names an identity that stands in a file.";
    NameTooLong "name-too-long" Notice Warning "A name is too long for a label that k0rdent makes of it.";
    NullEntry "null-entry" Notice Warning "An entry of a Secret has no value, and is published as an empty one.";
    InvalidSilence "invalid-silence" Notice Warning "An annotation that silences findings cannot be used as it is.";
    UnusedSilence "unused-silence" Notice Info "An annotation silences a code, and nothing of that kind is found.";
    Withdrawn "withdrawn" Notice Info "Something is withdrawn from a region because of what a document in the sources says now." Warning "where it may be a slip: a name is nearly the same, a field is gone, or what takes many objects changed";
    Handover "handover" Notice Info "An object that a Credential exchanged for another stays published until consumers have followed.";
    NoHandover "no-handover" Notice Warning "An object that a Credential exchanged for another goes at once, because there is no room for a hand-over.";
    CrowdedRegion "crowded-region" Notice Warning "A region holds more objects than its limit, or than its consumer takes.";
    CrowdedPart "crowded-part" Notice Warning "A part of a leaf holds more objects than it should, because of their names.";
    CredentialInUse "credential-in-use" Notice Warning "A Credential is gone while a ClusterDeployment still names it.";
    DeletionUnproved "deletion-unproved" Notice Warning "A Credential is gone, and whether a ClusterDeployment still names it is unknown.";
    SignatureNotVerified "signature-not-verified" Notice Warning "Commits are signed in a way that a region's consumer cannot verify.";
    RecipientOutdated "recipient-outdated" Notice Warning "A recipient is past the day until which the configuration lets it read.";
    SharedDecryptor "shared-decryptor" Notice Info "One repo-server of Argo CD, or one Flux on a hub, decrypts for several regions and so holds all their keys.";
    SharedSourceIdentity "shared-source-identity" Notice Warning "Two sources that may provide different objects open files with one identity.";
    CleartextCopy "cleartext-copy" Notice Warning "A Secret on the region has a copy of itself in clear in an annotation.";
    K0rdentLeftover "k0rdent-leftover" Notice Warning "The region has a copy that k0rdent made and that no bundle takes over.";
    LeftoversUnchecked "leftovers-unchecked" Notice Info "Whether anything was left behind on the region was not checked.";
    NotProved "not-proved" Notice Warning "Something of the bundles is not proved, because the reuse key or the configuration is not at hand.";
    RegionNotPublished "region-not-published" Notice Warning "A paused region has no bundle, and whether it ever had one is unknown.";
    OtherFleet "other-fleet" Notice Warning "There are bundles of another fleet, which were not proved.";
    NotSearched "not-searched" Notice Warning "A file was not searched for Secrets or keys, or not completely.";
}

impl Code {
    /// Whether it says that an object stands several times and the documents need not agree, and not that one is wrong.
    pub fn is_of_copies(self) -> bool {
        matches!(self, Code::Shadowed | Code::DuplicateObject)
    }

    /// Returns true if a stage may find it with this severity. If only one of many objects waits or is left out, what would stop
    /// its claim is a warning.
    #[cfg(test)]
    pub fn may_be(self, severity: Severity) -> bool {
        let waits = severity == Severity::Warning && matches!(self.class(), Class::Refused | Class::Broken);
        waits || severity == self.severity() || self.otherwise().is_some_and(|(other, _)| other == severity)
    }

    /// Whether it says that an object's content is not known.
    pub fn is_doubt(self) -> bool {
        matches!(self, Code::Unread | Code::Changing | Code::UndecryptableSource | Code::CopiedCiphertext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_stable_unique_and_found_again() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.text()), Some(*code));
            assert!(code.text().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
            assert!(code.meaning().ends_with('.'));
        }
        assert_eq!(Code::parse("no-such-code"), None);
        // In JSON as in texts: a stamp that an earlier program wrote is read as a whole or not at all.
        for renamed in renamed::CODES {
            let read: Code = serde_json::from_value(renamed.old.into()).unwrap();
            assert_eq!((read.text(), serde_json::to_value(read).unwrap()), (renamed.new, renamed.new.into()));
        }
        assert!(serde_json::from_str::<Code>("\"no-such-code\"").is_err());
    }
}
