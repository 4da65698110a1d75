"""A made-up history of bundles, for the benchmarks that read one.

The repository is made by `git fast-import`: commits over sealed Secrets in some regions, each of which seals one Secret anew and lists
it in its region's manifest; every 500th takes another recipient for a whole region. Nothing in it can be opened.
"""

import hashlib
import subprocess
import sys


def sealed(name, salt, recipients):
    noise = hashlib.sha512(f"{name} {salt}".encode()).hexdigest()
    stanzas = "".join(
        f"  - enc: |\n      -----BEGIN AGE ENCRYPTED FILE-----\n      {noise[:64]}\n      {noise[64:]}\n"
        f"      -----END AGE ENCRYPTED FILE-----\n    recipient: {recipient}\n"
        for recipient in recipients
    )
    leaf = f"ENC[AES256_GCM,data:{noise[:44]},iv:{noise[44:88]},tag:{noise[88:112]},type:str]"
    return (
        f"# pouch/v1 0123abcd {noise[:43]}\n# pouch/v1 entry password {noise[:11]}\napiVersion: v1\ndata:\n"
        f"  password: {leaf}\n  username: {leaf}\nkind: Secret\nmetadata:\n  labels:\n"
        f"    app.kubernetes.io/managed-by: pouch\n  name: {name}\n  namespace: team\nsops:\n  age:\n{stanzas}"
        f'  encrypted_regex: "^(data|stringData)$"\n  lastmodified: "2026-11-21T14:05:48Z"\n  mac: {leaf}\n'
        f'  version: "3.9.0"\ntype: Opaque\n'
    ).encode()


def block(region, name, digest):
    return (
        f'- from:\n    name: {name}\n    namespace: team\n  key:\n    group: ""\n    kind: Secret\n    name: {name}\n'
        f"    namespace: team\n  neededBy:\n  - by:\n      kind: Credential\n      name: {name}\n      namespace: team\n    through:\n"
        f"    - field: spec.secretRef\n      providerInterface: aws\n"
        f'  path: regions/{region}/core/secrets/team/{name}.sops.yaml\n  sha256: "{digest}"\n  state: current\n'
    )


def manifest(region, blocks, recipients):
    listed = "".join(blocks[name] for name in sorted(blocks))
    head = f"# pouch/v1 0123abcd x\napiVersion: pouch/v1alpha2\nfiles: []\nfleet: bench\nkind: Bundle\nmetadata:\n  name: {region}\n"
    return (head + "objects:\n" + listed + "recipients:\n" + "".join(f"- key: {r}\n" for r in recipients) + "sources: []\n").encode()


def make(path, commits, files, regions):
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    importer = subprocess.Popen(["git", "-C", path, "fast-import", "--quiet"], stdin=subprocess.PIPE)
    out = importer.stdin
    per = files // regions
    recipients = {region: [f"age1bench{region}x0"] for region in range(regions)}
    blocks = {region: {} for region in range(regions)}

    def put(where, data):
        out.write(f"M 100644 inline {where}\ndata {len(data)}\n".encode() + data + b"\n")

    def secret(region, name, salt):
        data = sealed(name, salt, recipients[region])
        blocks[region][name] = block(f"r{region}", name, hashlib.sha256(data).hexdigest())
        put(f"bundles/regions/r{region}/core/secrets/team/{name}.sops.yaml", data)

    for number in range(commits):
        stamp = 1_600_000_000 + number * 600
        out.write(f"commit refs/heads/main\ncommitter B <b@example.com> {stamp} +0000\ndata 0\n".encode())
        touched = range(regions) if number == 0 else [number % regions]
        for region in touched:
            if number == 0 or number % 500 == 0:
                recipients[region] = [f"age1bench{region}x{number}"]
                for at in range(per):
                    secret(region, f"s{at:05}", number)
            else:
                secret(region, f"s{number // regions % per:05}", number)
            put(f"bundles/regions/r{region}/bundle.yaml", manifest(f"r{region}", blocks[region], recipients[region]))
        out.write(b"\n")
    out.close()
    if importer.wait() != 0:
        sys.exit("git fast-import failed")
