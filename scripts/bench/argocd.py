"""Argo CD on an API server of this machine, for the benchmarks: it applies a region to the server that it runs on."""

import json
import os
import shutil
import subprocess
import tempfile
import time

import measure
from measure import ROOT
from server import TOKEN, free_port

APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
PARTS = ("repo-server", "application-controller")
LONGEST = 1800


def plugin():
    """The plugin of the example, as its sidecar sees it."""
    with open(os.path.join(ROOT, "examples", "argocd-plugin", "plugin.yaml"), encoding="utf-8") as file:
        _, _, text = file.read().partition("  plugin.yaml: |\n")
    return "".join(line[4:] if line.strip() else line for line in text.splitlines(keepends=True))


class Repository:
    """A bare repository with a region's bundles."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "repo.git")
        self.url = f"file://{self.path}"

    def take(self, folder):
        """Commits what is rendered in a folder; gives the commit."""
        if not os.path.isdir(self.path):
            measure.run(["git", "init", "-q", "--bare", "-b", "main", self.path])
        git = ["git", f"--git-dir={self.path}", f"--work-tree={folder}", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        measure.run([*git, "-c", "core.bare=false", "add", "-A", "bundles"])
        measure.run([*git, "-c", "core.bare=false", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "bundles"])
        return measure.run([*git, "rev-parse", "main"]).out.strip()


class ArgoCd:
    """redis, repo-server, application controller, and for plugins the cmp-server, with one cluster: the API server."""

    def __init__(self, server, folder, region, programs=None):
        """`programs` is the folder of ksops, where it builds with that; else the plugin does."""
        self.server, self.folder, self.children, self.peaks = server, folder, {}, {}
        self.connection = server.connection()
        self.argocd = self.tool("argocd")
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        try:
            self.begin(folder, region, programs)
        except BaseException:
            self.end()
            raise

    def begin(self, folder, region, programs):
        self.install(region.name)
        # The plugin's manifest names the program, which may be called otherwise here.
        named = os.path.join(folder, "named")
        os.makedirs(named)
        os.symlink(os.path.abspath(region.program), os.path.join(named, "pouch"))
        environment = {"SOPS_AGE_KEY_FILE": region.key, "PATH": named + os.pathsep + os.environ["PATH"]}
        if programs:
            environment["PATH"] = programs + os.pathsep + environment["PATH"]
        ports = {name: free_port() for name in ("redis", "repo", "repo-metrics", "controller-metrics")}
        self.start("redis", [self.tool("redis-server"), "--bind", "127.0.0.1", "--port", ports["redis"], "--save", "", "--appendonly", "no"])
        sockets = os.path.join(folder, "plugins")
        os.makedirs(sockets)
        if not programs:
            with open(os.path.join(folder, "plugin.yaml"), "w", encoding="utf-8") as file:
                file.write(plugin())
            self.start("cmp-server", [self.argocd, f"--config-dir-path={folder}"], ARGOCD_PLUGINSOCKFILEPATH=sockets, **environment)
            self.wait(lambda: os.listdir(sockets), "the plugin")
        folders = {"ARGOCD_GNUPGHOME": "gpg", "ARGOCD_TLS_DATA_PATH": "tls", "ARGOCD_SSH_DATA_PATH": "ssh"}
        for name in folders.values():
            os.makedirs(os.path.join(folder, name))
        folders = {variable: os.path.join(folder, name) for variable, name in folders.items()}
        own = {**environment, "PATH": os.path.dirname(self.argocd) + os.pathsep + environment["PATH"]}
        self.start("repo-server", [self.argocd, "--disable-tls", "--address=127.0.0.1", "--metrics-address=127.0.0.1",
                                   f"--port={ports['repo']}", f"--metrics-port={ports['repo-metrics']}", f"--redis=127.0.0.1:{ports['redis']}"],
                   ARGOCD_GPG_ENABLED="false", ARGOCD_PLUGINSOCKFILEPATH=sockets, ARGOCD_ASK_PASS_SOCK=os.path.join(folder, "ask"),
                   ARGOCD_EXEC_TIMEOUT=f"{LONGEST}s", **folders, **own)
        self.start("application-controller", [self.argocd, "--repo-server-plaintext", f"--repo-server=127.0.0.1:{ports['repo']}",
                                              f"--redis=127.0.0.1:{ports['redis']}", f"--kubeconfig={self.kubeconfig}", "--namespace=argocd",
                                              f"--metrics-port={ports['controller-metrics']}", f"--repo-server-timeout-seconds={LONGEST}"],
                   ARGOCD_SYNC_WAVE_DELAY="0")
        with open(os.path.join(region.bundles, "argocd", region.name, "application.yaml"), encoding="utf-8") as file:
            self.apply(file.read())

    def tool(self, name):
        found = shutil.which(name)
        if not found:
            raise measure.Failed(f"there is no {name}")
        return found

    def install(self, cluster):
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "bench",
                       "clusters": [{"name": "c", "cluster": {"server": self.url(), "insecure-skip-tls-verify": True}}],
                       "users": [{"name": "u", "user": {"token": TOKEN}}],
                       "contexts": [{"name": "bench", "context": {"cluster": "c", "user": "u"}}]}, file)
        crds = os.path.join(os.path.dirname(os.path.dirname(self.argocd)), "crds")
        for name in sorted(set(os.listdir(crds)) - {"kustomization.yaml"}):
            self.kubectl("apply", "--server-side", "-f", os.path.join(crds, name))

        def part(kind, name, label, **fields):
            meta = {"name": name, "namespace": "argocd", "labels": label}
            return {"apiVersion": "v1", "kind": kind, "metadata": meta, **fields}

        of_it = {"app.kubernetes.io/part-of": "argocd"}
        login = json.dumps({"bearerToken": TOKEN, "tlsClientConfig": {"insecure": True}})
        self.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("argocd", "kcm-system")),
            part("ConfigMap", "argocd-cm", of_it, data={"kustomize.buildOptions": "--enable-alpha-plugins --enable-exec"}),
            part("ConfigMap", "argocd-rbac-cm", of_it),
            part("Secret", "argocd-secret", of_it, stringData={"server.secretkey": "x"}),
            part("Secret", "cluster", {"argocd.argoproj.io/secret-type": "cluster"},
                 stringData={"name": cluster, "server": self.url(), "config": login}),
        ]}))
        project = {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}],
                   "clusterResourceWhitelist": [{"group": "*", "kind": "*"}]}
        self.server.create(self.connection, "/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects",
                           {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": "default"}, "spec": project})

    def url(self):
        return f"https://127.0.0.1:{self.server.port}"

    def apply(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=self.folder) as file:
            file.write(text)
            file.flush()
            self.kubectl("apply", "--server-side", "-f", file.name)

    def kubectl(self, *command):
        measure.run([self.server.program("kubectl"), "--kubeconfig", self.kubeconfig, *command], what=f"kubectl {command[-1]}")

    def start(self, name, command, **environment):
        temporary = os.path.join(self.folder, f"{name}-tmp")
        os.makedirs(temporary)
        environment = {**os.environ, "TMPDIR": temporary, "ARGOCD_BINARY_NAME": f"argocd-{name}", **environment}
        with open(os.path.join(self.folder, f"{name}.log"), "wb") as log:
            self.children[name] = subprocess.Popen(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait(self, is_done, what):
        """Seconds until something is so."""
        began = time.monotonic()
        while measure.LIMIT.left() != 0 and time.monotonic() - began < LONGEST:
            if is_done():
                return time.monotonic() - began
            for name, child in self.children.items():
                if child.poll() is not None:
                    raise measure.Failed(f"{name} of Argo CD ended")
            time.sleep(0.2)
        raise measure.Failed(f"Argo CD did not come to an end: {what}")

    def synced(self, commit):
        """Seconds until the region is what a commit says; it is told to look."""
        (application,) = json.loads(self.server.ask(self.connection, "GET", APPLICATIONS)[1])["items"]
        path = f"{APPLICATIONS}/{application['metadata']['name']}"
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/merge-patch+json"}
        asked = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}

        def look():
            self.connection.request("PATCH", path, json.dumps(asked), headers)
            self.connection.getresponse().read()

        look()
        erring = None

        def is_done():
            nonlocal erring
            application = json.loads(self.server.ask(self.connection, "GET", path)[1])
            status = application.get("status", {})
            errors = [one["message"] for one in status.get("conditions", []) if one["type"].endswith("Error")]
            if errors:
                # A controller that has just started may not have seen all objects, and looks again only when it is told to.
                erring = erring or time.monotonic()
                if time.monotonic() - erring > 60:
                    raise measure.Failed(f"Argo CD: {errors[0]}")
                time.sleep(5)
                look()
                return False
            erring = None
            phase = status.get("operationState", {}).get("phase")
            if phase in ("Failed", "Error"):
                raise measure.Failed(f"Argo CD: {status['operationState'].get('message')}")
            sync = status.get("sync", {})
            is_asked = "argocd.argoproj.io/refresh" in application["metadata"].get("annotations", {})
            return not is_asked and sync.get("status") == "Synced" and sync.get("revision") == commit and phase != "Running"

        return self.wait(is_done, "the sync")

    def peak(self, name):
        with open(f"/proc/{self.children[name].pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))

    def end(self):
        for child in self.children.values():
            child.terminate()
        for child in self.children.values():
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
