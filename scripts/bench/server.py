"""A fresh API server on this machine, for the benchmarks that need one."""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time

from measure import ROOT

TOKEN = "bench"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def definition(group, version, kind, plural, scope):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a benchmark"}},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


class Server:
    """A fresh etcd and kube-apiserver below one folder."""

    def __init__(self, folder):
        tools = subprocess.run([os.path.join(ROOT, "scripts/tools/get"), "etcd", "kubernetes"], check=True, capture_output=True, text=True)
        self.path = tools.stdout.strip()
        self.port, client, peer = free_port(), free_port(), free_port()
        self.folder, self.children = folder, []
        key = os.path.join(folder, "sa.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        with open(os.path.join(folder, "tokens.csv"), "w", encoding="utf-8") as tokens:
            tokens.write(f'{TOKEN},bench,1,"system:masters"\n')
        url = f"http://127.0.0.1:{client}"
        self.start("etcd", "--data-dir", os.path.join(folder, "etcd"), "--unsafe-no-fsync", "--listen-client-urls", url,
                   "--advertise-client-urls", url, "--listen-peer-urls", f"http://127.0.0.1:{peer}")
        self.start("kube-apiserver", f"--etcd-servers={url}", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                   f"--cert-dir={folder}/certs", "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-signing-key-file={key}", f"--service-account-key-file={key}",
                   f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC",
                   "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount")
        self.wait()

    def program(self, name):
        return shutil.which(name, path=self.path) or sys.exit(f"bench: no {name} in {self.path}")

    def start(self, name, *arguments):
        log = open(os.path.join(self.folder, f"{name}.log"), "wb")
        self.children.append(subprocess.Popen([self.program(name), *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def connection(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=ssl._create_unverified_context())

    def ask(self, connection, method, path, body=None):
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def wait(self):
        until = time.monotonic() + 90
        while time.monotonic() < until:
            try:
                if self.ask(self.connection(), "GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.3)
        sys.exit("bench: kube-apiserver did not get ready in 90 s")

    def create(self, connection, path, body):
        for _ in range(50):
            status, text = self.ask(connection, "POST", path, body)
            if status in (200, 201, 409):
                return
            # A definition takes a moment until it is served.
            if status != 404:
                break
            time.sleep(0.2)
        sys.exit(f"bench: {path} answered {status}: {text[:300]!r}")

    def end(self):
        for child in reversed(self.children):
            child.terminate()
        for child in reversed(self.children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
