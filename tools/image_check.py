"""Runs the final stage of deploy/Dockerfile in a folder made by debootstrap: `make image-check`.

Usage: image_check.py PAPIR

Makes a minimal Debian of the stage's release, follows the stage's instructions in it with the given
program, and then, as the image's user and with its variables, runs `papir --version`,
`papir serve --check-config`, the image's command and its health check, and a connection that needs
the root certificates. Needs root, for chroot.
"""

import json
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOCKERFILE = Path("deploy/Dockerfile")
# For what takes a moment on an idle machine.
PATIENCE_S = 300


def final_stage():
    """The last stage's instructions, as pairs of name and text."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    instructions = [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]
    start = max(at for at, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[start:]


class Image:
    """A folder with the files of an image, and the settings that its instructions made."""

    def __init__(self, root):
        self.root, self.user, self.environment, self.command = root, "0:0", {}, {}

    def run(self, *command, user=None, **options):
        """Starts a command in the image, with the image's variables and no others."""
        inside = ["chroot", f"--userspec={user or self.user}", str(self.root), *command]
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        environment = {"PATH": path, "PAPIR_LOG": "warn", **self.environment}
        return subprocess.Popen(inside, env=environment, **options)

    def expect(self, *command, **options):
        """Runs a command that must succeed, and returns its output."""
        running = self.run(*command, stdout=subprocess.PIPE, text=True, **options)
        output = running.communicate(timeout=300)[0]
        if running.returncode != 0:
            sys.exit(f"in the image, {shlex.join(command)}: exit code {running.returncode}\n{output}")
        return output

    def follow(self, name, text, program):
        """Follows one instruction."""
        if name == "RUN":
            self.expect("sh", "-c", text, user="0:0", stderr=subprocess.STDOUT)
        elif name == "COPY":
            source, target = text.split()[-2:]
            if "--from=build" not in text or not source.endswith(("/papir", "/target/page")):
                sys.exit(f"COPY {text}: this check can only copy the program and the page from the stage `build`")
            if source.endswith("/page"):
                shutil.copytree("target/page", f"{self.root}{target}")
            else:
                shutil.copy(program, f"{self.root}{target}")
        elif name == "ENV":
            self.environment.update(pair.split("=", 1) for pair in shlex.split(text))
        elif name == "USER":
            self.user = text
        elif name in ["ENTRYPOINT", "CMD"]:
            self.command[name] = json.loads(text)
        elif name == "HEALTHCHECK":
            self.command[name] = json.loads(text[text.index("CMD ") + 4:])
        elif name not in ["FROM", "EXPOSE", "STOPSIGNAL"]:
            sys.exit(f"{name}: this check does not know the instruction")


def mirror():
    """The address from which this machine has its packages; debootstrap's own choice without one."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"],
        capture_output=True, text=True,
    )
    found = [line.split()[0] for line in listed.stdout.splitlines() if line.endswith(" bookworm")]
    return found[:1]


def bootstrap(root, image):
    release = re.fullmatch(r"debian:(\w+)-slim", image)
    if not release:
        sys.exit(f"FROM {image}: this check only knows debian:…-slim")
    log = subprocess.run(
        ["debootstrap", "--variant=minbase", release[1], str(root), *mirror()],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    if log.returncode != 0:
        sys.exit(f"debootstrap failed:\n{log.stdout[-2000:]}")


def listening(server):
    """The address that the server prints once it has loaded its databases."""
    readable, _, _ = select.select([server.stdout], [], [], PATIENCE_S)
    found = re.fullmatch(r"listening on (http://\S+)\n", server.stdout.readline() if readable else "")
    if not found:
        sys.exit("in the image, the server does not listen")
    return found[1]


def wait_until_ready(image, server, health_check):
    limit = time.monotonic() + PATIENCE_S
    while image.run(*health_check, stderr=subprocess.DEVNULL).wait() != 0:
        if server.poll() is not None or time.monotonic() > limit:
            sys.exit("in the image, the server does not become ready")
        time.sleep(0.2)


def check(image):
    print(image.expect("papir", "--version").strip())
    data = Path(f"{image.root}/data")
    data.mkdir()
    Path(data, "words.csv").write_text("word,meaning\na,b\n")
    build = ["papir", "build", "/data/words.csv", "--key", "word", "--value", "meaning"]
    image.expect(*build, "--out", "/data/words.papir", user="0:0")

    # A path and an address of an object store, here a folder.
    image.expect("papir", "push", "/data/words.papir", "file:///data/store/terms.papir", user="0:0")
    image.environment["PAPIR_SERVE_FILES"] = "/data/words.papir:file:///data/store/terms.papir"
    start = [*image.command["ENTRYPOINT"], *image.command["CMD"]]
    image.expect(*start, "--check-config")

    # Another service of this machine may have the image's port.
    host, port = image.environment["PAPIR_SERVE_LISTEN"].rsplit(":", 1)
    image.environment["PAPIR_SERVE_LISTEN"] = f"{host}:0"
    server = image.run(*start, stdout=subprocess.PIPE, text=True)
    try:
        address = f"http://127.0.0.1:{listening(server).rsplit(':', 1)[1]}"
        *command, asked = image.command["HEALTHCHECK"]
        if asked != f"http://127.0.0.1:{port}":
            sys.exit(f"the health check asks {asked}, and the server listens on {host}:{port}")
        wait_until_ready(image, server, [*command, address])
        get = ["papir", "get", address, "a", "--database", "terms", "--state", "/tmp/state"]
        assert image.expect(*get) == "b"
    finally:
        server.terminate()
    if server.wait(timeout=60) != 0:
        sys.exit("in the image, the server does not stop at SIGTERM")


def check_roots(image):
    """A connection with TLS to a port where nothing listens: the roots are read before."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        image.environment |= {
            "AWS_ENDPOINT_URL": f"https://127.0.0.1:{unused.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "c",
        }
        pull = ["papir", "pull", "s3://bucket/words.papir", "/tmp/words.papir"]
        running = image.run(*pull, stderr=subprocess.PIPE, text=True)
        error = running.communicate(timeout=300)[1]
    if "onnect" not in error or "certificate" in error.lower():
        sys.exit(f"in the image, {shlex.join(pull)}: expected a refused connection\n{error}")
    print(f"connecting with TLS: {error.strip()}")


def main():
    missing = [tool for tool in ["debootstrap", "chroot"] if not shutil.which(tool)]
    missing += ["root's rights, for chroot"] if os.geteuid() != 0 else []
    if missing:
        sys.exit(f"the check of the image needs, and does not find: {', '.join(missing)}")
    stage = final_stage()
    with tempfile.TemporaryDirectory(prefix="papir-image-") as root:
        # The image's user must be able to enter its root.
        os.chmod(root, 0o755)
        image = Image(root)
        bootstrap(root, stage[0][1])
        for name, text in stage:
            image.follow(name, text, sys.argv[1])
        check(image)
        check_roots(image)


if __name__ == "__main__":
    main()
