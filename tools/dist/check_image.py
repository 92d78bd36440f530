"""Checks the container image as an engine reads it, and runs it in a folder: `make dist-check`.

Usage: check_image.py

Follows the archive from its index: each blob has the length and the digest that its descriptor says,
and each layer unpacked the one in the configuration. skopeo reads it, too. Then the image for this
machine builds, serves and looks up as its user, with its variables. Needs root, for chroot.
"""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import image
import release
import trial

# Newer versions of Python ask which entries to trust: here all, since this project has written them.
TRUSTED = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}


class Archive:
    """The files of an OCI archive. Blobs that were read are remembered."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            files = [one for one in archive if one.isreg()]
            self.files = {one.name: archive.extractfile(one).read() for one in files}
        self.read = set()

    def blob(self, descriptor, media_type):
        """The bytes that a descriptor names, checked against it."""
        if descriptor["mediaType"] != media_type:
            sys.exit(f"found {descriptor['mediaType']}: expected {media_type}")
        algorithm, digest = descriptor["digest"].split(":")
        name = f"blobs/{algorithm}/{digest}"
        content = self.files.get(name, b"")

        found = len(content), hashlib.sha256(content).hexdigest()
        if found != (descriptor["size"], digest):
            sys.exit(f"{name}: found {found}, expected {(descriptor['size'], digest)}")
        self.read.add(name)
        return content

    def json(self, descriptor, media_type):
        return json.loads(self.blob(descriptor, media_type))

    def expect_all_read(self):
        """Ends this process if blobs remain that nothing names."""
        unread = {name for name in self.files if name.startswith("blobs/")} - self.read
        if unread:
            sys.exit(f"no manifest names {', '.join(sorted(unread))}")


def manifests(archive):
    """The descriptor of each image's manifest, by architecture."""
    outer = json.loads(archive.files["index.json"])
    (entry,) = outer["manifests"]
    both = archive.json(entry, image.INDEX)
    return {one["platform"]["architecture"]: one for one in both["manifests"]}


def contents(archive, descriptor, target):
    """The configuration of an image, and its layers unpacked."""
    manifest = archive.json(descriptor, image.MANIFEST)
    config = archive.json(manifest["config"], image.CONFIG)
    if (config["architecture"], config["os"]) != (target.image, "linux"):
        sys.exit(f"{target.triple}: its image is for {config['os']}/{config['architecture']}")

    layers = [gzip.decompress(archive.blob(one, image.LAYER)) for one in manifest["layers"]]
    digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    if digests != config["rootfs"]["diff_ids"]:
        sys.exit(f"{target.triple}: its layers are {digests}, not {config['rootfs']['diff_ids']}")
    return config, layers


def expect_readable(path, target):
    """Reads the image of a target as registries and engines do."""
    command = ["skopeo", "--override-os", "linux", "--override-arch", target.image, "inspect"]
    shown = subprocess.run([*command, f"oci-archive:{path}"], stdout=subprocess.PIPE, check=True).stdout
    found = json.loads(shown)["Architecture"]
    if found != target.image:
        sys.exit(f"{path}: skopeo finds an image for {found}, expected {target.image}")


def unpack(layers, root):
    for layer in layers:
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            archive.extractall(root, numeric_owner=True, **TRUSTED)
    root.chmod(0o755)


def check(config, layers, root):
    """Runs the image in a folder, as its user and with its variables."""
    unpack(layers, root)
    settings = config["config"]
    certificates = (root / image.ROOTS).read_text(encoding="utf-8")
    if certificates.count("BEGIN CERTIFICATE") < 50:
        sys.exit(f"/{image.ROOTS}: expected the root certificates of Mozilla")

    environment = dict(pair.split("=", 1) for pair in settings["Env"])
    port = environment["PAPIR_SERVE_LISTEN"].rsplit(":", 1)[1]
    if list(settings["ExposedPorts"]) != [f"{port}/tcp"]:
        sys.exit(f"the image exposes {list(settings['ExposedPorts'])}: expected {port}/tcp")

    # As a directory that the operator mounts; the user owns no other but the cache.
    data = root / "data"
    data.mkdir()
    os.chown(data, image.USER, image.USER)
    command = ["chroot", f"--userspec={settings['User']}", str(root), *settings["Entrypoint"]]
    one = trial.Trial(command, data, "/data", {"PAPIR_LOG": "warn", **environment})
    trial.expect_version(one, release.version())
    trial.look_up(one)


def main():
    if os.geteuid() != 0:
        sys.exit("the check of the image needs root's rights, for chroot")
    archive = Archive(release.existing(release.image()))
    found = manifests(archive)
    for target in release.TARGETS:
        config, layers = contents(archive, found[target.image], target)
        expect_readable(release.image(), target)
        if not target.is_here():
            print(f"linux/{target.image}: digests are right")
            continue

        with tempfile.TemporaryDirectory(prefix="papir-image-") as root:
            check(config, layers, Path(root))
        print(f"linux/{target.image}: digests are right; built, served and looked up")
    archive.expect_all_read()


if __name__ == "__main__":
    main()
