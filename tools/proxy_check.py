"""Looks records up through nginx, HAProxy and Caddy: `make proxy-check`.

Usage: proxy_check.py PAPIR

Starts one service on loopback and, before it, each proxy with the configuration in deploy/proxies.
Only addresses and the paths of certificates are replaced. Through each proxy it then makes a
request whose answer has more than 2 MiB, and registers a client whose keys have 108 MiB. Needs
openssl.
"""

import base64
import json
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

CONFIGURATIONS = Path("deploy/proxies")
# Places of programs that the PATH of a user may lack.
PLACES = ["/usr/sbin", "/usr/local/sbin", "target/tools/proxies/usr/bin"]
# For what takes a moment on an idle machine.
PATIENCE_S = 300

# A request for all records has an answer of 5/4 of their length.
RECORDS = 64
RECORD_BYTES = 48 << 10
ANSWER_BYTES = 2 << 20
KEYS_BYTES = 108 << 20


@dataclass
class Files:
    """The folder of the check, and the files that all proxies use."""

    folder: Path
    certificate: Path
    key: Path
    # The address of the service, without a scheme.
    service: str


def run(*command):
    """Runs a command that must succeed. Returns its output and its errors."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def program(name):
    places = os.pathsep.join([os.environ["PATH"], *PLACES])
    found = shutil.which(name, path=places)
    return found or sys.exit(f"{name} is not installed: tools/setup proxies")


def configuration(name, *replacements):
    """A configuration with other addresses and paths. Each text to replace occurs in it once."""
    text = (CONFIGURATIONS / name).read_text()
    for old, new in replacements:
        if text.count(old) != 1:
            sys.exit(f"{name}: {old!r} occurs {text.count(old)} times: expected once")
        text = text.replace(old, new)
    return text


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def nginx(files, port):
    """Writes a configuration for nginx, and returns the command that runs it."""
    part = configuration(
        "nginx.conf",
        ("server 127.0.0.1:7470", f"server {files.service}"),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("/etc/papir/cert.pem", str(files.certificate)),
        ("/etc/papir/key.pem", str(files.key)),
    )
    kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    temporary = " ".join(f"{kind}_temp_path {files.folder}/{kind};" for kind in kinds)
    # Another user could not enter the check's folder.
    user = "user root;" if os.getuid() == 0 else ""
    whole = f"{user} daemon off; pid {files.folder}/nginx.pid; events {{}}\n"
    whole += f"http {{ access_log off; {temporary}\n{part}}}\n"

    file = files.folder / "nginx.conf"
    file.write_text(whole)
    log = str(files.folder / "nginx.log")
    return [program("nginx"), "-p", str(files.folder), "-e", log, "-c", str(file)]


def haproxy(files, port):
    """Writes a configuration for HAProxy, and returns the command that runs it."""
    both = files.folder / "haproxy.pem"
    both.write_text(files.certificate.read_text() + files.key.read_text())
    text = configuration(
        "haproxy.cfg",
        ("bind :443", f"bind 127.0.0.1:{port}"),
        ("/etc/papir/haproxy.pem", str(both)),
        ("server papir 127.0.0.1:7470", f"server papir {files.service}"),
    )

    file = files.folder / "haproxy.cfg"
    file.write_text(text)
    return [program("haproxy"), "-db", "-f", str(file)]


def caddy(files, port):
    """Writes a configuration for Caddy, and returns the command that runs it."""
    # Caddy would fetch a certificate for the name in its file.
    tls = f"tls {files.certificate} {files.key}"
    site = f"https://localhost:{port} {{\n\tbind 127.0.0.1\n\t{tls}"
    text = configuration(
        "Caddyfile",
        ("papir.example {", site),
        ("127.0.0.1:7470", files.service),
    )

    file = files.folder / "Caddyfile"
    file.write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    return [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(file)]


def start(command, log, **options):
    """Starts a program. It has a home of its own, so that no settings of this user apply."""
    home = str(log.parent)
    environment = {
        **os.environ, "HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home,
    }
    with log.open("a") as errors:
        return subprocess.Popen(command, stderr=errors, env=environment, **options)


def stop(process):
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_until_listening(process, port, log):
    limit = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > limit:
                sys.exit(f"{process.args[0]} does not listen:\n{log.read_text()}")
            time.sleep(0.1)


def make_certificate(folder):
    certificate, key = folder / "cert.pem", folder / "key.pem"
    run(
        *["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
        *["-nodes", "-days", "1", "-subj", "/CN=papir", "-addext", "subjectAltName=DNS:localhost"],
        *["-addext", "basicConstraints=critical,CA:FALSE"],
        *["-keyout", str(key), "-out", str(certificate)],
    )
    return certificate, key


def build(papir, folder):
    """Builds a database of long records, and one whose clients have long keys."""
    records = random.Random(1).randbytes(RECORDS * RECORD_BYTES)
    (folder / "long.bin").write_bytes(records)
    run(
        *[papir, "build", str(folder / "long.bin"), "--format", "raw"],
        *["--record-bytes", str(RECORD_BYTES), "--scheme", "inspire1"],
        *["--out", str(folder / "long.papir")],
    )

    rows = [f"word {number},meaning {number}\n" for number in range(60)]
    (folder / "words.csv").write_text("word,meaning\n" + "".join(rows))
    run(
        *[papir, "build", str(folder / "words.csv"), "--key", "word", "--value", "meaning"],
        *["--scheme", "pirouette", "--out", str(folder / "words.papir")],
    )
    return records


def serve(papir, folder):
    """Starts the service. Returns its process and its address, without the scheme."""
    log = folder / "service.log"
    command = [
        *[papir, "serve", str(folder / "long.papir"), str(folder / "words.papir")],
        *["--listen", "127.0.0.1:0", "--registry", str(folder / "registry")],
        *["--trust-proxy", "127.0.0.0/8"],
    ]
    process = start(command, log, stdout=subprocess.PIPE, text=True)

    readable, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
    line = process.stdout.readline() if readable else ""
    _, listening, address = line.strip().partition("listening on http://")
    if not listening:
        stop(process)
        sys.exit(f"the service does not listen:\n{log.read_text()}")
    return process, address


def get(papir, files, url, state, *arguments):
    """Looks up in a service. Returns the lines of results and the costs."""
    printed, errors = run(
        *[papir, "get", url, *arguments, "--json", "-v", "--ca", str(files.certificate)],
        *["--state", str(state), "--proxy", "none", "--timeout", f"{PATIENCE_S}s"],
    )
    results = [json.loads(line) for line in printed.splitlines()]
    return results, json.loads(errors.splitlines()[-1])


def check(papir, files, name, url, records):
    """Looks up all long records in one request, and a word after the upload of keys."""
    begin = time.monotonic()
    state = files.folder / f"state-of-{name}"
    numbers = files.folder / "numbers.txt"
    numbers.write_text("".join(f"{number}\n" for number in range(RECORDS)))
    # An address with a slash at its end, and one without.
    results, costs = get(
        papir, files, f"{url}/", state, "--database", "long", "--batch", str(numbers)
    )
    found = b"".join(base64.b64decode(one["value_base64"]) for one in results)
    assert found == records, f"{name}: other records than expected"
    answer = costs["download_bytes"] // costs["requests"]
    assert answer > ANSWER_BYTES, f"{name}: {answer} bytes an answer"

    results, costs = get(papir, files, url, state, "word 7", "--database", "words")
    assert results[0]["value"] == "meaning 7", f"{name}: {results}"
    keys = costs["registration_bytes"]
    assert keys > KEYS_BYTES - (1 << 20), f"{name}: {keys} bytes of keys"
    seconds = time.monotonic() - begin
    print(f"{name}: an answer of {answer} bytes, keys of {keys} bytes, {seconds:.1f} s")


def check_through(papir, files, name, make, records):
    """Starts a proxy, looks up through it, and stops it."""
    port = free_port()
    log = files.folder / f"{name}.out"
    process = start(make(files, port), log, stdout=subprocess.DEVNULL)
    try:
        wait_until_listening(process, port, log)
        check(papir, files, name, f"https://localhost:{port}/pir", records)
    finally:
        stop(process)


def main():
    [papir] = sys.argv[1:]
    proxies = {"nginx": nginx, "haproxy": haproxy, "caddy": caddy}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        certificate, key = make_certificate(folder)
        records = build(papir, folder)
        service, address = serve(papir, folder)
        try:
            files = Files(folder, certificate, key, address)
            for name, make in proxies.items():
                check_through(papir, files, name, make, records)
        finally:
            stop(service)


if __name__ == "__main__":
    main()
