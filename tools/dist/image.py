"""Writes the container image of all targets as one OCI archive, in target/dist, without an engine.

Usage: image.py

Layout, manifests and configuration are those of the OCI image specification, version 1.1. Settings
come from the final stage of deploy/Dockerfile. In place of its Debian, the image has the static
program, the root certificates of Mozilla (certifi) and the page of `papir serve --page`.
"""

import hashlib
import json
import os
import shlex
import subprocess
import sys
import time

import archives
import release

sys.path.append(str(release.ROOT / "tools"))
import image_check  # noqa: E402

os.chdir(release.ROOT)

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ROOTS = "etc/ssl/certs/ca-certificates.crt"
# The user of the Dockerfile, who owns the cache.
USER = 65532
SECOND_NS = 1_000_000_000
# From a target's stage into the image, below /usr/local.
COPIED = ["bin", "share/papir", "share/doc/papir"]


class Layout:
    """The files of an OCI image layout: blobs by their digests."""

    def __init__(self, seconds):
        self.tree = archives.Tree(seconds)
        self.tree.file("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')

    def add(self, media_type, content, **more):
        """Adds a blob, and returns its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        self.tree.file(f"blobs/sha256/{digest}", content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content), **more}

    def add_json(self, media_type, value, **more):
        return self.add(media_type, as_json(value), **more)


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def seconds(text):
    """A duration of the Dockerfile, such as 30s, in nanoseconds."""
    if not text.endswith("s"):
        sys.exit(f"HEALTHCHECK has {text}: expected seconds, such as 30s")
    return int(text[:-1]) * SECOND_NS


def health_check(text):
    """The health check as Docker has it in a configuration; other engines ignore it."""
    options, command = text.split("CMD ", 1)
    pairs = dict(word.removeprefix("--").split("=", 1) for word in shlex.split(options))
    return {
        "Test": ["CMD", *json.loads(command)],
        "Interval": seconds(pairs["interval"]),
        "Timeout": seconds(pairs["timeout"]),
        "StartPeriod": seconds(pairs["start-period"]),
    }


def settings():
    """The part of an image's configuration that the Dockerfile states."""
    found = {"Env": [f"PATH={PATH}"], "ExposedPorts": {}}
    for name, text in image_check.final_stage():
        if name == "ENV":
            found["Env"] += shlex.split(text)
        elif name == "EXPOSE":
            found["ExposedPorts"][f"{text}/tcp"] = {}
        elif name == "USER":
            found["User"] = text
        elif name == "STOPSIGNAL":
            found["StopSignal"] = text
        elif name == "ENTRYPOINT":
            found["Entrypoint"] = json.loads(text)
        elif name == "CMD":
            found["Cmd"] = json.loads(text)
        elif name == "HEALTHCHECK":
            found["Healthcheck"] = health_check(text)

    if found.get("User") != f"{USER}:{USER}":
        sys.exit(f"USER {found.get('User')}: expected {USER}:{USER}, who owns the image's cache")
    return found


def labels():
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], stdout=subprocess.PIPE, encoding="utf-8", check=False,
    ).stdout.strip()
    values = {
        "title": "papir",
        "description": release.DESCRIPTION,
        "version": release.version(),
        "licenses": "Apache-2.0 OR MIT",
        "created": time_text(),
        "revision": commit,
        "source": os.environ.get("PAPIR_REPOSITORY", ""),
    }
    return {f"org.opencontainers.image.{name}": value for name, value in values.items() if value}


def time_text():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(release.epoch()))


def roots():
    """The certificates that connections to object stores and databases trust, and their licence."""
    packages = release.TOOLS.glob("lib/python3*/site-packages")
    found = [folder for folder in packages if (folder / "certifi/cacert.pem").exists()]
    if not found:
        sys.exit(f"no certifi in {release.TOOLS}: run tools/setup dist")
    licence = next(found[0].glob("certifi-*.dist-info/licenses/LICENSE"))
    return (found[0] / "certifi/cacert.pem").read_bytes(), licence.read_bytes()


def system_layer():
    """What the program needs of a system: certificates, and folders that its user may write."""
    certificates, licence = roots()
    tree = archives.Tree(release.epoch())
    tree.file(ROOTS, certificates)
    tree.file("usr/share/licenses/ca-certificates/LICENSE", licence)
    tree.folder("var/cache/papir", owner=USER)
    tree.folder("tmp", mode=0o1777)
    return tree.bytes()


def program_layer(target):
    tree = archives.Tree(release.epoch())
    for name in COPIED:
        tree.copy(release.existing(target.stage() / name), f"usr/local/{name}")
    return tree.bytes()


def add_image(layout, target):
    """Adds the image of one target. Returns the descriptor of its manifest."""
    layers = [system_layer(), program_layer(target)]
    diff_ids = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    steps = ["root certificates and folders", "the program and its page"]
    config = {
        "created": time_text(),
        "architecture": target.image,
        "os": "linux",
        "config": {**settings(), "Labels": labels()},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": [{"created": time_text(), "created_by": step} for step in steps],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": layout.add_json(CONFIG, config),
        "layers": [layout.add(LAYER, archives.gzipped(layer)) for layer in layers],
        "annotations": labels(),
    }
    platform = {"architecture": target.image, "os": "linux"}
    return layout.add_json(MANIFEST, manifest, platform=platform)


def main():
    layout = Layout(release.epoch())
    manifests = [add_image(layout, target) for target in release.TARGETS]
    both = {
        "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests, "annotations": labels(),
    }
    # The names by which `podman load`, `skopeo copy` and `docker load` find and tag it.
    names = {
        "org.opencontainers.image.ref.name": release.version(),
        "io.containerd.image.name": f"docker.io/library/papir:{release.version()}",
    }
    entry = layout.add_json(INDEX, both, annotations=names)
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
    layout.tree.file("index.json", as_json(index))

    release.DIST.mkdir(parents=True, exist_ok=True)
    content = layout.tree.bytes()
    release.image().write_bytes(content)
    print(f"{release.image()}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
