//! The table of which module may name what.
//!
//! A place is a path without `.rs`: `src/pouch/git` is `git.rs` and everything under `git/`. Places
//! that are not written yet may stand here. What a module *is* stands in its own first lines; here
//! stands only what it must not know.

/// A word that only certain places may use.
pub struct Only {
    /// The words, each as it would stand in code.
    pub words: &'static [&'static str],
    /// Where the rule holds.
    pub within: &'static str,
    /// The places that may use them.
    pub homes: &'static [&'static str],
    /// What to do instead.
    pub why: &'static str,
}

/// What a place must not use.
pub struct Never {
    /// The places.
    pub places: &'static [&'static str],
    /// Words, each as it would stand in code.
    pub words: &'static [&'static str],
    /// Our own modules, as part of a path; a function may well have a module's name.
    pub modules: &'static [&'static str],
    /// Why not.
    pub why: &'static str,
}

/// Who alone may name a library or touch a part of the outside world.
pub const ONLY: &[Only] = &[
    Only {
        words: &["serde_yaml", "serde_saphyr", "granit_parser"],
        within: "src",
        homes: &["src/core/yaml/read"],
        why: "YAML is read by yaml::read alone, whose errors quote nothing",
    },
    Only {
        words: &["git2", "libgit2_sys"],
        within: "src",
        homes: &["src/pouch/git"],
        why: "repositories are git's business",
    },
    Only {
        words: &["Command::new", "process::Command"],
        within: "src",
        homes: &["src/pouch/git", "src/pouch/child", "src/pouch/cluster/exec"],
        why: "git and credential plugins are the only programs, started with a cleaned environment",
    },
    Only {
        words: &["tera"],
        within: "src",
        homes: &["src/pouch/text"],
        why: "templates make text for people; YAML comes from the emitter",
    },
    Only {
        words: &["println!", "eprintln!", "print!", "eprint!", "indicatif"],
        within: "src",
        homes: &["src/pouch/ui"],
        why: "ui is the only printer; it escapes what it prints",
    },
    Only {
        words: &["io::stdout", "io::stderr"],
        within: "src",
        homes: &["src/pouch/ui", "src/pouch/ambient"],
        why: "ui writes to them and ambient knows whether they are a terminal",
    },
    Only {
        words: &[
            "env::var",
            "env::var_os",
            "env::vars",
            "env::vars_os",
            "env::args",
            "env::args_os",
            "env::current_dir",
            "env::home_dir",
            "SystemTime",
            "Instant",
            "Zoned::now",
            "Timestamp::now",
            "getrandom",
            "OsRng",
        ],
        within: "src",
        homes: &["src/pouch/ambient"],
        why: "ambient is the only reader of environment, clock, current folder and entropy",
    },
    Only {
        words: &["kube::", "k8s_openapi", "tokio", "http::", "http_body_util", "hyper_util", "futures_util"],
        within: "src",
        homes: &["src/pouch/cluster"],
        why: "clusters are reached through cluster",
    },
    Only {
        words: &["rayon"],
        within: "src",
        homes: &["src/pouch/pipeline", "src/pouch/source"],
        why: "threads parse files and map over regions, nowhere else",
    },
    Only {
        words: &["process::exit", "ExitCode"],
        within: "src",
        homes: &["src/pouch/main", "src/pouch/cli/error"],
        why: "main ends the process and cli::error alone knows exit codes",
    },
    Only { words: &["aes_gcm"], within: "src", homes: &["src/core/sops"], why: "ciphers are used by sops alone" },
    Only {
        words: &["regex_automata"],
        within: "src",
        homes: &["src/core/sops/rule"],
        why: "patterns come from files of others: one place bounds them",
    },
    Only {
        words: &["tracing_subscriber"],
        within: "src",
        homes: &["src/pouch/telemetry"],
        why: "telemetry decides where spans go",
    },
    Only {
        words: &["zeroizing_alloc", "global_allocator"],
        within: "src",
        homes: &["src/pouch/main"],
        why: "the binary chooses the allocator",
    },
];

/// The core's stages: what each must not know, which keeps the pipeline one-way.
pub const NEVER: &[Never] = &[
    Never {
        places: &["src/core"],
        words: &["std", "core::time", "core::net"],
        modules: &[],
        why: "the core is no_std: it sees no file, network, environment, clock or thread",
    },
    Never { places: &["src"], words: &["unsafe"], modules: &[], why: "no unsafe code" },
    Never {
        places: &["src"],
        words: &["HashMap", "HashSet"],
        modules: &[],
        why: "their order changes from run to run; use BTreeMap and BTreeSet",
    },
    Never {
        places: &["src/core/name", "src/core/node", "src/core/secret", "src/core/scope"],
        words: &[],
        modules: &["yaml", "json", "config", "claim", "closure", "judge", "bundle", "change", "sops", "report"],
        why: "words know no stage and no format",
    },
    Never {
        places: &["src/core/finding"],
        words: &[],
        modules: &[
            "yaml", "json", "config", "claim", "closure", "judge", "bundle", "change", "sops", "secret", "report",
        ],
        why: "a finding names an object and holds no value, and how it is shown is report's business",
    },
    Never {
        places: &["src/core/object"],
        words: &[],
        modules: &["yaml", "json", "config", "claim", "closure", "judge", "bundle", "change", "sops", "report"],
        why: "an object does not know where it came from or what becomes of it",
    },
    Never {
        places: &["src/core/ciphertext"],
        words: &[],
        modules: &[
            "object", "config", "k0rdent", "capi", "claim", "closure", "judge", "bundle", "change", "sops", "report",
        ],
        why: "ciphertext is known by its form, wherever it stands and whoever opens it",
    },
    Never {
        places: &["src/core/yaml", "src/core/json"],
        words: &[],
        modules: &["config", "k0rdent", "capi", "claim", "closure", "judge", "bundle", "change", "sops", "report"],
        why: "the doors know formats only",
    },
    Never {
        places: &["src/core/capi"],
        words: &[],
        modules: &["yaml", "json", "claim", "closure", "judge", "bundle", "change", "sops", "report"],
        why: "a provider's file states facts about its kinds",
    },
    Never {
        places: &["src/core/claim"],
        words: &[],
        modules: &["yaml", "json", "closure", "judge", "bundle", "change", "sops", "reuse", "report"],
        why: "a claim says what is asked for, before anything is looked up",
    },
    Never {
        places: &["src/core/closure"],
        words: &[],
        modules: &["yaml", "json", "judge", "bundle", "change", "sops", "reuse", "report"],
        why: "closure knows nothing of formats, verdicts and sealing",
    },
    Never {
        places: &["src/core/place"],
        words: &[],
        modules: &["yaml", "json", "claim", "closure", "judge", "bundle", "change", "sops", "reuse", "report"],
        why: "where nothing lands follows from names and the delivery alone",
    },
    Never {
        places: &["src/core/inline"],
        words: &[],
        modules: &["yaml", "json", "claim", "closure", "judge", "change", "sops", "reuse", "report"],
        why: "what looks like a secret follows from an object alone",
    },
    Never {
        places: &["src/core/judge"],
        words: &[],
        modules: &["yaml", "json", "bundle", "change", "sops", "reuse", "report"],
        why: "a verdict depends on objects and configuration, not on how they are written or sealed",
    },
    Never {
        places: &["src/core/rbac"],
        words: &[],
        modules: &["json", "judge", "bundle", "change", "sops", "reuse"],
        why: "rights follow from what is asked, whatever becomes of the answer",
    },
    Never {
        places: &["src/core/sops", "src/core/reuse"],
        words: &[],
        modules: &["config", "k0rdent", "capi", "claim", "closure", "judge", "bundle", "change", "report"],
        why: "sealing knows one document, its recipients and its key",
    },
    Never {
        places: &["src/core/change"],
        words: &[],
        modules: &["k0rdent", "capi", "closure", "judge", "report"],
        why: "what changed is seen on bundles, whatever made them",
    },
    Never {
        places: &["src/core/verify"],
        words: &[],
        modules: &["yaml", "json", "claim", "closure", "change", "sops", "report"],
        why: "verify compares what is published with what is there: it decides nothing and opens nothing",
    },
    Never {
        places: &["src/core/exposure"],
        words: &[],
        modules: &["json", "k0rdent", "capi", "claim", "closure", "judge", "change", "report"],
        why: "exposure looks at sealed files and manifests from outside: it opens nothing and decides nothing",
    },
    Never {
        places: &["src/core/proof"],
        words: &[],
        modules: &["json", "claim", "closure", "judge", "change", "report"],
        why: "a proof looks at bundles as they stand, whatever made them",
    },
    Never {
        places: &["src/core/report"],
        words: &[],
        modules: &["sops", "reuse"],
        why: "a report shows names and findings, never sealed or unsealed bytes",
    },
];

/// What the core must never come to depend on, not even through somebody else's default features.
pub const NOT_IN_CORE: &[&str] = &[
    "age",
    "anyhow",
    "chrono",
    "clap",
    "clap_builder",
    "crossterm",
    "getrandom",
    "git2",
    "hyper",
    "jiff",
    "kube",
    "mio",
    "rand",
    "rayon",
    "reqwest",
    "rustix",
    "socket2",
    "tempfile",
    "tera",
    "time",
    "tokio",
    "tracing",
    "walkdir",
];
