"""Checks the Helm chart without a cluster: `make chart-check`.

Usage: chart_check.py HELM PROMTOOL PAPIR

For each file of values in deploy/helm/papir/ci: `helm lint`, `helm template`, the objects against
the schemas of the oldest and of a recent Kubernetes release, the alerts with `promtool`, and the
configuration with `papir serve --check-config`, over files and secrets made for the check.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import kubernetes_validate
import yaml

CHART = Path("deploy/helm/papir")
# The chart's oldest release, and a recent one.
RELEASES = ["1.25", "1.34"]


def run(*command, fails=False):
    """Runs a command and returns its output. It must fail if `fails`."""
    done = subprocess.run(command, capture_output=True, text=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if fails else done.stdout


def template(helm, values, *settings, fails=False):
    return run(
        *[helm, "template", "test", str(CHART), "--kube-version", RELEASES[-1], "--values", str(values)],
        *[part for setting in settings for part in ("--set", setting)],
        fails=fails,
    )


def validate(objects):
    """Checks objects against the schemas. Those of the Prometheus operator have none here."""
    for one in objects:
        if one["apiVersion"].startswith("monitoring.coreos.com/"):
            continue
        for release in RELEASES:
            kubernetes_validate.validate(one, release, strict=True)


def check_rules(promtool, objects):
    for one in objects:
        if one["kind"] == "PrometheusRule":
            with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
                yaml.safe_dump(one["spec"], file)
                file.flush()
                run(promtool, "check", "rules", file.name)


def check_configuration(papir, objects):
    """Runs the server's own check on the configuration, with all paths in a temporary folder."""
    maps = [one for one in objects if one["kind"] == "ConfigMap" and "papir.toml" in one["data"]]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        text = re.sub(r'"/(?=data|etc|var)', f'"{folder}/', maps[0]["data"]["papir.toml"])
        # A folder takes the place of the bucket.
        text = text.replace("s3://bucket/", f"file://{folder}/bucket/")
        for name in ["data/page", "bucket", "etc/papir/tls", "etc/papir/tokens"]:
            (folder / name).mkdir(parents=True)
        (folder / "data/page/index.html").touch()
        source = folder / "words.csv"
        source.write_text("word,meaning\na,b\n")
        words = folder / "data/words.papir"
        run(papir, "build", str(source), "--key", "word", "--value", "meaning", "--out", str(words))
        for name in ["words", "names"]:
            run(papir, "push", str(words), f"file://{folder}/bucket/{name}.papir")
        tls = folder / "etc/papir/tls"
        run(
            *["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
            *["-nodes", "-days", "1", "-subj", "/CN=papir"],
            *["-keyout", str(tls / "tls.key"), "-out", str(tls / "tls.crt")],
        )
        serve = [papir, "serve", "--config", str(folder / "papir.toml"), "--check-config"]
        run(papir, "tokens", str(folder / "etc/papir/tokens/tokens.toml"), "add", "--name", "a")
        without_device = re.sub(r"(?m)^device = .*\n", "", text)
        (folder / "papir.toml").write_text(without_device)
        run(*serve)
        if text != without_device:
            (folder / "papir.toml").write_text(text)
            check_device(*serve)


def check_device(*serve):
    """Checks the configuration with its device. Without a GPU, only the missing driver is accepted."""
    done = subprocess.run(serve, capture_output=True, text=True)
    if done.returncode != 0 and "CUDA's driver (libcuda) is not installed" not in done.stderr:
        sys.exit(f"{' '.join(serve)}: exit code {done.returncode}\n{done.stderr}")


def check_refusals(helm):
    """Values that could not work are refused with their name."""
    small = CHART / "ci/small-values.yaml"
    for setting, part in [
        ("databases=null", "databases"),
        ("snapshots.claim=", "snapshots.claim"),
        ("config.listen=0.0.0.0:80", "listen"),
        ("config.max-queued=many", "max-queued"),
        ("replica=2", "replica"),
        ("replicas=2,registry.enabled=true", "sessionAffinity"),
        ("registry.enabled=true,postgres.address=postgres://db/papir", "not in both"),
        ("postgres.address=mysql://db/papir", "postgres"),
    ]:
        error = template(helm, small, setting, fails=True)
        if part not in error:
            sys.exit(f"{setting}: the error does not name {part}: {error}")


def check_dashboard(objects, expected):
    dashboards = [one for one in objects if one["metadata"]["name"].endswith("-dashboard")]
    assert len(dashboards) == int(expected), f"{len(dashboards)} dashboards: expected {int(expected)}"
    for one in dashboards:
        json.loads(one["data"]["papir.json"])


def main():
    helm, promtool, papir = sys.argv[1:]
    values = sorted((CHART / "ci").glob("*.yaml"))
    for file in values:
        run(helm, "lint", "--strict", str(CHART), "--values", str(file))
        objects = [one for one in yaml.safe_load_all(template(helm, file)) if one]
        validate(objects)
        check_rules(promtool, objects)
        check_configuration(papir, objects)
        check_dashboard(objects, expected=file.name == "full-values.yaml")
        print(f"{file}: {len(objects)} objects")
    check_refusals(helm)


if __name__ == "__main__":
    main()
