//! What a set-up has where commits are signed: whose signature pouch and the consumers demand.
//!
//! Flux and the plugin of Argo CD refuse what none of them signed, and pouch builds on nothing else. Argo CD itself
//! verifies signatures of GnuPG only, so KSOPS has nobody who looks.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::file::{FOLDER, SetupFile};
use crate::init::scalar::scalar;

/// What consumers call the entry with the key: Flux takes those whose names end so for keys of SSH.
/// <https://fluxcd.io/flux/components/source/gitrepositories/#verification>
const ENTRY: &str = "pouch.sshpub";

/// The file's own name, wherever it stands.
const FILE: &str = "allowed_signers";

/// The types of keys that OpenSSH, git and Flux know, but for DSA, which is broken.
const TYPES: [&str; 7] = [
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

/// The SSH key that signs what is published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signer {
    /// Its file, as the configuration names it.
    pub key: String,
    /// Its public half.
    pub public: PublicKey,
}

/// The public half of an SSH key: its type and the key itself, in one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey(String);

impl PublicKey {
    /// Reads the file that ssh-keygen(1) writes beside a key; the comment in it is dropped. None where this is no such file.
    pub fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        let (line, None) = (lines.next()?, lines.next()) else { return None };
        let mut words = line.split_whitespace();
        let (kind, key) = (words.next()?, words.next()?);
        let is_key = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
        let is_fit = TYPES.contains(&kind) && key.starts_with("AAAA") && key.len() > 40 && key.bytes().all(is_key);
        is_fit.then(|| Self(format!("{kind} {key}")))
    }
}

impl Signer {
    /// The lines of `output.git` in the configuration.
    pub(super) fn output(&self) -> String {
        format!(
            "\n    # Every commit is signed with this key, and nothing is published on top of one that none of the \
             signers signed.\n    sign: ssh\n    key: {}\n    allowedSigners: {FOLDER}/{FILE}",
            scalar(&self.key)
        )
    }

    /// The lines of the configuration for what Argo CD cannot see, and its plugin does.
    pub fn findings() -> &'static str {
        "# Severities that differ from the codes' own: error, warning, info or off.\n\
         # Argo CD does not verify signatures of SSH; its plugin in setup/ does. Remove this for a region without that plugin.\n\
         findings: {signature-not-verified: \"off\"}"
    }

    /// The file that names whose signature counts.
    pub(super) fn file(&self) -> SetupFile {
        SetupFile {
            path: format!("{FOLDER}/{FILE}"),
            text: format!(
                "# Whose signature counts, one key to a line, as ssh-keygen(1) reads it. Who else may commit to the branch of the\n\
                 # bundles, such as a forge that merges, needs a line here, and wherever this key stands in {FOLDER}/.\n{}",
                self.line()
            ),
            is_for: "whose signature pouch demands of the branch's commits".to_string(),
        }
    }

    fn line(&self) -> String {
        format!("pouch@localhost namespaces=\"git\" {}\n", self.public.0)
    }

    /// The Secret with the keys that Flux demands, before the GitRepository that names it.
    pub(super) fn for_flux(&self, name: &str) -> String {
        format!(
            "# Whose signature Flux demands: public keys, in entries *.sshpub (of GnuPG: *.asc).
apiVersion: v1
kind: Secret
metadata:
  name: {name}
  namespace: flux-system
stringData:
  {ENTRY}: {}
---
",
            self.public.0
        )
    }

    /// The plugin that demands it too.
    pub(super) fn plugin(&self, text: &str) -> String {
        let text = replaced(text, PLUGIN);
        format!(
            "{text}---
# Whose signature the plugin demands, as ssh-keygen(1) reads it. A change of it is there within a minute.
apiVersion: v1
kind: ConfigMap
metadata:
  name: pouch-signers
  namespace: argocd
data:
  {FILE}: |
    {}",
            self.line()
        )
    }

    /// The sidecar that has the file.
    pub(super) fn sidecar(text: &str) -> String {
        replaced(text, SIDECAR)
    }
}

/// What changes in the plugin.
const PLUGIN: &[(&str, &str)] = &[(
    "        # Where commits are signed by SSH, add `--allowed-signers` and a file that the sidecar mounts: see
        # \"Signed commits with Argo CD\" in docs/operations.md. Without it, what fits together is believed.
        command: [pouch, unpack, .]
",
    "        # So does a commit that no key of /signers/allowed_signers signed.
        command: [pouch, unpack, ., --allowed-signers, /signers/allowed_signers]
",
)];

/// What changes in the sidecar.
const SIDECAR: &[(&str, &str)] = &[
    (
        "# The image needs pouch and nothing else: put in yours, a static binary on an empty image will do. The Secret
# `sops-age` may come later; a change of it is there within a minute, without a restart.
",
        "# The image needs pouch, git, ssh-keygen, which looks who signed a commit, and an entry of user 999 in /etc/passwd,
# without which ssh-keygen does nothing: put in yours. The Secret `sops-age` may come later; a change of it is there
# within a minute, without a restart.
",
    ),
    (
        "            - {mountPath: /keys, name: region-keys, readOnly: true}
",
        "            - {mountPath: /keys, name: region-keys, readOnly: true}
            - {mountPath: /signers, name: pouch-signers, readOnly: true}
",
    ),
    (
        "          configMap: {name: pouch-plugin}
",
        "          configMap: {name: pouch-plugin}
        - name: pouch-signers
          configMap: {name: pouch-signers}
",
    ),
];

fn replaced(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIHN0YW5kcyBmb3IgYSBrZXkgb2YgMzIgYnl0ZXMh";

    #[test]
    fn a_public_key_is_one_line_without_its_comment() {
        let of = |text: &str| PublicKey::read(text).map(|key| key.0);
        let wanted = Some(format!("ssh-ed25519 {KEY}"));
        for good in ["", " pouch", " a comment: {of} words"] {
            assert_eq!(of(&format!("# mine\n\nssh-ed25519 {KEY}{good}\n")), wanted);
        }
        for bad in [
            String::new(),
            format!("ssh-ed25519 {KEY}\nssh-ed25519 {KEY}\n"),
            format!("me@example.com ssh-ed25519 {KEY}\n"),
            format!("ssh-dss {KEY}\n"),
            "ssh-ed25519 AAAA\n".to_string(),
            format!("ssh-ed25519 {KEY}: x\n"),
            "-----BEGIN OPENSSH PRIVATE KEY-----\n".to_string(),
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n".to_string(),
        ] {
            assert_eq!(of(&bad), None, "{bad}");
        }
    }

    /// The texts are the examples, and may have changed.
    #[test]
    fn each_change_finds_its_place() {
        let (plugin, sidecar) = (include_str!("plugin.yaml"), include_str!("repo-server-plugin.yaml"));
        for (text, changes) in [(plugin, PLUGIN), (sidecar, SIDECAR)] {
            for (from, _) in changes {
                assert_eq!(text.matches(from).count(), 1, "{from}");
            }
        }
        assert!(PLUGIN.iter().all(|(_, to)| to.contains(&format!("/signers/{FILE}"))));
    }
}
