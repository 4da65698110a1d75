//! Who may use what: words and crates, and what the order of the rooms alone would allow.
//!
//! A destination is a path without `.rs`: `src/pouch/git` is `git.rs` and everything under `git/`. Places
//! that are not written yet may stand here. What a module *is* stands in its own first lines; here
//! stands only what it must not know. Whom a room may name stands in `rooms.txt`.

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

/// What a destination must not use.
pub struct Never {
    /// The places.
    pub places: &'static [&'static str],
    /// Words, each as it would stand in code.
    pub words: &'static [&'static str],
    /// Why not.
    pub why: &'static str,
}

/// Rooms of the core that a destination must not name, though they stand above it.
pub struct Apart {
    /// The places.
    pub places: &'static [&'static str],
    /// The rooms.
    pub rooms: &'static [&'static str],
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
        homes: &[
            "src/pouch/git",
            "src/pouch/child",
            "src/pouch/cluster/exec",
            "src/pouch/registry/docker",
            "src/pouch/settings/identities",
            "src/pouch/survey/source/build/program",
        ],
        why: "git, kustomize, credential plugins, docker's credential helpers and what prints an identity are the only programs, started with a cleaned environment",
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
        words: &["flate2"],
        within: "src",
        homes: &["src/pouch/registry", "src/pouch/git/pack"],
        why: "artifacts and what git is to take are the only things that are packed",
    },
    Only {
        words: &["sha1"],
        within: "src",
        homes: &["src/pouch/git/pack"],
        why: "git names its objects so, and nothing else is proved by it",
    },
    Only {
        words: &["rayon"],
        within: "src",
        homes: &["src/pouch/run", "src/pouch/survey"],
        why: "threads parse files and map over regions, nowhere else",
    },
    Only {
        words: &["process::exit", "ExitCode"],
        within: "src",
        homes: &["src/pouch/main", "src/pouch/error"],
        why: "main ends the process and error alone knows exit codes",
    },
    Only { words: &["aes_gcm"], within: "src", homes: &["src/core/sops"], why: "ciphers are used by sops alone" },
    Only {
        words: &["regex_automata"],
        within: "src",
        homes: &["src/core/sops/rule", "src/core/template/regex"],
        why: "patterns come from files of others: each destination bounds them",
    },
    Only {
        words: &["tracing_subscriber"],
        within: "src",
        homes: &["src/pouch/telemetry"],
        why: "telemetry decides where spans go",
    },
    Only {
        words: &["zeroizing_alloc", "mimalloc", "global_allocator"],
        within: "src",
        homes: &["src/pouch/main"],
        why: "the binary chooses the allocator",
    },
];

/// What nobody uses in a place.
pub const NEVER: &[Never] = &[
    Never {
        places: &["src/core"],
        words: &["std", "core::time", "core::net"],
        why: "the core is no_std: it sees no file, network, environment, clock or thread",
    },
    Never { places: &["src"], words: &["unsafe"], why: "no unsafe code" },
    Never {
        places: &["src"],
        words: &["HashMap", "HashSet"],
        why: "their order changes from run to run; use BTreeMap and BTreeSet",
    },
];

/// The core's stages: what each must not know of the rooms above it.
pub const APART: &[Apart] = &[
    Apart {
        places: &["src/core/capi", "src/core/kinds", "src/core/object", "src/core/validity"],
        rooms: &["yaml", "json", "sops"],
        why: "an object, and what its kind is known for, do not depend on how the object was written or sealed",
    },
    Apart {
        places: &["src/core/destination"],
        rooms: &["yaml", "json", "sops", "reuse"],
        why: "what must not land on a cluster follows from names and the delivery alone",
    },
    Apart {
        places: &["src/core/cleartext"],
        rooms: &["yaml", "json", "sops"],
        why: "what looks like a secret follows from an object alone",
    },
    Apart {
        places: &["src/core/claim", "src/core/world", "src/core/admission", "src/core/closure", "src/core/judge"],
        rooms: &["yaml", "json", "sops", "reuse"],
        why: "a verdict depends on objects and configuration, not on how they are written or sealed",
    },
    Apart {
        places: &["src/core/rbac"],
        rooms: &["json", "judge", "layout", "region", "sops", "reuse"],
        why: "rights follow from what is asked, whatever becomes of the answer",
    },
    Apart {
        places: &["src/core/region/change", "src/core/region/brake"],
        rooms: &["k0rdent", "capi"],
        why: "what changed is seen on bundles, whatever made them",
    },
    Apart {
        places: &["src/core/verify/live"],
        rooms: &["yaml", "json", "claim", "world", "closure", "judge", "sops"],
        why: "verify --live compares what is published with what is there: it decides nothing and opens nothing",
    },
    Apart {
        places: &["src/core/verify/bundles"],
        rooms: &["json", "claim", "world", "closure", "judge"],
        why: "a proof looks at bundles as they stand, whatever made them",
    },
    Apart {
        places: &["src/core/history"],
        rooms: &["json", "k0rdent", "capi", "claim", "world", "closure", "judge", "region"],
        why: "the facts of a history are read off sealed files and manifests from outside: nothing is opened or decided",
    },
    Apart {
        places: &["src/core/exposure"],
        rooms: &["json", "k0rdent", "capi", "claim", "world", "closure", "judge", "region"],
        why: "exposure looks at sealed files and manifests from outside: it opens nothing and decides nothing",
    },
    Apart {
        places: &["src/core/log"],
        rooms: &["json", "k0rdent", "claim", "world", "closure", "judge", "region"],
        why: "the log looks at sealed files and manifests from outside: it opens nothing and decides nothing",
    },
    Apart {
        places: &["src/core/report"],
        rooms: &["sops", "reuse"],
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
