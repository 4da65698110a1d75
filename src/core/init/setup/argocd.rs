//! What Argo CD needs: its project, the repository, the regions' clusters, and what opens the bundles.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::file::{FOLDER, SetupFile};
use super::signing::Signer;
use super::{READER, Setup, SetupRegion, application, published};
use crate::config::ArgoMode;
use crate::init::scalar::scalar;
use crate::name::Scope;

impl Setup {
    /// The same for Argo CD, beside what its repository is called.
    pub(super) fn login(&self, indent: &str) -> String {
        let from = match self.url_for_flux().starts_with("ssh://") {
            true => "--from-file=sshPrivateKey=DEPLOY_KEY",
            false => READER,
        };
        format!(
            "kubectl --context argocd -n argocd create secret generic {}-repository --dry-run=client -o yaml \\\n{indent}  \
             {from} \\\n{indent}  | kubectl --context argocd apply --server-side --field-manager=login -f -",
            self.fleet
        )
    }

    /// What comes before the repo-server's patch: a note, and a command.
    pub(super) fn opened_by(&self, mode: ArgoMode, shown: &dyn Fn(&str) -> String) -> (Option<String>, String) {
        let of = |name: &str| shown(&format!("{FOLDER}/{name}.yaml"));
        match mode {
            ArgoMode::Plugin => (
                Some(format!("# the name of your image with pouch, in {}", of("repo-server-patch"))),
                format!("kubectl --context argocd apply --server-side -f {}", of("plugin")),
            ),
            ArgoMode::Ksops => (
                None,
                format!(
                    "kubectl --context argocd -n argocd patch configmap argocd-cm --patch-file {}",
                    of("argocd-cm-patch")
                ),
            ),
        }
    }

    pub(super) fn argocd(&self, mode: ArgoMode) -> Vec<SetupFile> {
        let mut files = vec![self.project(mode), self.clusters()];
        let patch = match mode {
            ArgoMode::Plugin => include_str!("repo-server-plugin.yaml"),
            ArgoMode::Ksops => include_str!("repo-server-ksops.yaml"),
        };
        files.push(SetupFile {
            path: format!("{FOLDER}/repo-server-patch.yaml"),
            text: match (mode, &self.signer) {
                (ArgoMode::Plugin, Some(_)) => Signer::sidecar(patch),
                _ => patch.to_string(),
            },
            is_for: "what the repo-server opens the bundles with".to_string(),
        });
        let (name, text, is_for) = match mode {
            ArgoMode::Plugin => ("plugin.yaml", include_str!("plugin.yaml"), "the plugin that it runs"),
            ArgoMode::Ksops => {
                ("argocd-cm-patch.yaml", include_str!("argocd-cm-patch.yaml"), "lets kustomize run KSOPS")
            }
        };
        let text = match (mode, &self.signer) {
            (ArgoMode::Plugin, Some(signer)) => signer.plugin(text),
            _ => text.to_string(),
        };
        files.push(SetupFile { path: format!("{FOLDER}/{name}"), text, is_for: is_for.to_string() });
        files
    }

    fn project(&self, mode: ArgoMode) -> SetupFile {
        let fleet = &self.fleet;
        let url = scalar(&self.url());
        let path = format!("{FOLDER}/argocd.yaml");
        let plain = |file: &str| file.to_string();
        let key = self.regions.first().map(|region| self.key_command(region, "#   ", &plain)).unwrap_or_default();
        let (note, more) = self.opened_by(mode, &plain);
        let note = note.map(|note| format!("{note}\n#   ")).unwrap_or_default();
        let (login, name) = (self.login("#   "), scalar(fleet));
        let mut text = format!(
            "# What Argo CD needs beside the bundles, on the cluster that it runs on; `argocd` stands for that cluster's context.
# There is no key and no password in this file: commit it where you like.
#
# Once, from the folder of pouch.yaml. The keys that open the bundles, all in one entry:
#   {key}
# What stands below, and, unless the repository is public, the right to read it:
#   kubectl --context argocd apply --server-side -f {path}
#   {login}
# The regions' clusters: see {FOLDER}/clusters.yaml. And what opens the bundles:
#   {note}{more}
#   kubectl --context argocd -n argocd patch deployment argocd-repo-server --patch-file {FOLDER}/repo-server-patch.yaml
# Then, once bundles are published, each region's Application, from a clone of the repository:
#   kubectl --context argocd apply --server-side -f {application}
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata:
  name: {name}
  namespace: argocd
spec:
  description: What pouch publishes of fleet {fleet}
  sourceRepos:
    - {url}
  destinations:
",
            application = application("REGION"),
        );
        for region in &self.regions {
            let _ = writeln!(text, "    - name: {}\n      namespace: \"*\"", scalar(&region.directory));
        }
        text.push_str("  # What bundles can hold, and nothing else; add the `kinds` of your configuration.\n");
        for (field, scope) in
            [("clusterResourceWhitelist", Scope::Cluster), ("namespaceResourceWhitelist", Scope::Namespaced)]
        {
            let _ = writeln!(text, "  {field}:");
            for kind in published().filter(|(_, known)| *known == scope).map(|(kind, _)| kind) {
                let _ = writeln!(text, "    - group: {}\n      kind: {}", scalar(kind.group.as_str()), kind.kind);
            }
        }
        let _ = write!(
            text,
            "---
# The repository as Argo CD knows it.
apiVersion: v1
kind: Secret
metadata:
  name: {fleet}-repository
  namespace: argocd
  labels:
    argocd.argoproj.io/secret-type: repository
stringData:
  type: git
  url: {url}
"
        );
        SetupFile { path, text, is_for: "what Argo CD needs; its head says how, step by step".to_string() }
    }

    fn clusters(&self) -> SetupFile {
        let mut text = String::from(
            "# The regions' clusters as Argo CD knows them. `argocd cluster add CONTEXT --name REGION` makes the same, with a
# ServiceAccount for Argo CD on the region and its token. By hand: put in the URL of each region's API server, apply
# this where Argo CD runs, and give each the credential apart, so that it stands in no file:
#   kubectl --context argocd apply --server-side -f setup/clusters.yaml
#   printf '{\"bearerToken\": \"%s\", \"tlsClientConfig\": {\"caData\": \"%s\"}}' \"$TOKEN\" \"$CA\" \\
#     | kubectl --context argocd -n argocd create secret generic cluster-REGION --dry-run=client -o yaml \\
#       --from-file=config=/dev/stdin | kubectl --context argocd apply --server-side --field-manager=login -f -
# $TOKEN is a token on the region, and $CA its API server's authority (PEM) in base64. A region that Argo CD runs on
# itself needs none of this: it is `in-cluster`.
",
        );
        for (index, SetupRegion { directory, .. }) in self.regions.iter().enumerate() {
            if index > 0 {
                text.push_str("---\n");
            }
            let name = scalar(directory);
            let _ = write!(
                text,
                "apiVersion: v1
kind: Secret
metadata:
  name: cluster-{directory}
  namespace: argocd
  labels:
    argocd.argoproj.io/secret-type: cluster
stringData:
  name: {name}
  server: https://{directory}.invalid
"
            );
        }
        SetupFile {
            path: format!("{FOLDER}/clusters.yaml"),
            text,
            is_for: "the regions' clusters, without URL and credential".to_string(),
        }
    }
}
