"""Writes the bill of materials of a crate's build, in CycloneDX 1.5.

Usage: sbom.py CRATE TRIPLE FILE [FEATURES]
"""

import hashlib
import json
import sys
import time
import uuid
from pathlib import Path

import dependencies
import release


def reference(package):
    return f"pkg:cargo/{package.name}@{package.version}"


def component(package, kind):
    found = {
        "type": kind,
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "purl": reference(package),
    }
    if package.licence:
        found["licenses"] = [{"expression": package.licence}]
    if package.checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": package.checksum}]
    return found


def bill(crate, packages, seconds):
    """The bill as JSON, without its serial number."""
    key = (crate, release.version())
    others = [package for one, package in sorted(packages.items()) if one != key]
    edges = []
    for _, package in sorted(packages.items()):
        needs = [reference(packages[one]) for one in package.needs]
        edges.append({"ref": reference(package), "dependsOn": needs})

    # Only a crate with a program of its own is an application.
    kind = "application" if crate == "papir-cli" else "library"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "component": component(packages[key], kind),
        },
        "components": [component(package, "library") for package in others],
        "dependencies": edges,
    }


def main():
    crate, triple, file, *features = sys.argv[1:]
    packages = dependencies.packages(crate, triple, *features)
    found = bill(crate, packages, release.epoch())

    # Equal bills have equal numbers.
    content = json.dumps(found, sort_keys=True).encode()
    number = uuid.uuid5(uuid.NAMESPACE_URL, f"{triple} {hashlib.sha256(content).hexdigest()}")
    found["serialNumber"] = f"urn:uuid:{number}"

    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{file}: {len(packages)} packages")


if __name__ == "__main__":
    main()
