"""What a cluster reads before it starts anything."""

import importlib
from pathlib import Path

import pytest
import yaml

import pypapir
import pypapir.ray

DEPLOY = Path(__file__).parents[1] / "deploy"


def test_the_manifest_names_an_application() -> None:
    manifest = yaml.safe_load((DEPLOY / "rayservice.yaml").read_text())
    config = yaml.safe_load(manifest["spec"]["serveConfigV2"])
    (application,) = config["applications"]
    assert application["name"] == pypapir.ray._keeper.APPLICATION
    module, name = application["import_path"].split(":")
    assert getattr(importlib.import_module(module), name) is pypapir.ray.application
    with pytest.raises(pypapir.Error, match="words.papir"):
        pypapir.ray.application(application["args"])
    with pytest.raises(ValueError, match="shard: expected"):
        pypapir.ray.application({"path": "words.papir", "shard": 2})
