"""Plans, and measurements of schemes."""

from pathlib import Path

import numpy as np
import pytest

import pypapir


def test_a_plan_names_costs_and_reasons() -> None:
    plan = pypapir.plan(records=1_000_000, record_bytes=64, clients=50, changes_per_hour=1000)
    assert plan.best == plan.offers[0]
    assert plan.best.lookup_s == min(offer.lookup_s for offer in plan.offers)
    assert plan.best.scheme in plan.reason
    assert plan.cores is not None and plan.cores >= 1
    assert plan.changes is not None and plan.changes["changes_per_hour"] == 1000
    reasons = {one.scheme: one.reason for one in plan.left_out}
    assert "ticket" in reasons["zip"]
    frame = plan.frame()
    assert list(frame["scheme"]) == [offer.scheme for offer in plan.offers]
    assert plan.best.scheme in repr(plan) and len(repr(plan)) < 200


def test_a_plan_of_a_source_is_what_a_build_prepares(tmp_path: Path) -> None:
    words = {f"word {i}": "meaning" * (i % 9) for i in range(3000)}
    plan = pypapir.plan(words)
    built = pypapir.build(words, tmp_path / "w.papir", scheme="auto")
    assert built.scheme == plan.best.scheme
    for source in [np.zeros((3000, 16), np.uint8), tmp_path / "w.bin"]:
        (tmp_path / "w.bin").write_bytes(bytes(48_000))
        plan = pypapir.plan(source, record_bytes=16)
        assert (plan.records, plan.record_bits) == (3000, 128)


def test_a_build_chooses_its_scheme_as_the_plan_says(tmp_path: Path) -> None:
    few = {"apple": "a fruit", "fern": "a plant"}
    many = {f"word {i}": f"meaning {i}" for i in range(3000)}
    for words in [few, many]:
        built = pypapir.build(words, tmp_path / "w.papir")
        assert built.scheme == pypapir.plan(words).built
        assert built.chosen is not None and built.chosen.startswith(f"{built.scheme}: ")
        assert pypapir.open(tmp_path / "w.papir").get(next(iter(words))) == next(iter(words.values())).encode()
    assert pypapir.build(many, tmp_path / "w.papir", clients_may_see="all").scheme == "download"
    assert pypapir.build(many, tmp_path / "w.papir", scheme="simple").chosen is None
    assert pypapir.plan(records=9, record_bytes=9, batch=8).built is None
    with pytest.raises(pypapir.Error, match="records, column or all"):
        pypapir.build(many, tmp_path / "w.papir", clients_may_see="none")
    with pytest.raises(ValueError, match="neither scheme, params nor shards"):
        pypapir.build(many, tmp_path / "w.papir", clients_may_see="all", scheme="simple")


def test_an_array_is_built_with_the_scheme_of_its_plan(tmp_path: Path) -> None:
    rows = np.random.default_rng(7).integers(0, 256, (5000, 32), dtype=np.uint8)
    built = pypapir.build(rows, tmp_path / "w.papir", scheme="auto")
    assert built.scheme == pypapir.plan(rows).best.scheme
    assert pypapir.open(tmp_path / "w.papir").get_index(77) == rows[77].tobytes()
    pypapir.build(rows, tmp_path / "w.papir", scheme="auto", verifiable=True)
    (tmp_path / "w.bin").write_bytes(rows.tobytes())
    pypapir.build(tmp_path / "w.bin", tmp_path / "w.papir", record_bytes=32, scheme="simple")
    assert pypapir.open(tmp_path / "w.papir").get_index(77) == rows[77].tobytes()
    with pytest.raises(ValueError, match="neither goal, params nor memory"):
        pypapir.build(rows, tmp_path / "w.papir", scheme="auto", goal="min-time")


def test_a_plan_for_several_machines_is_a_prediction() -> None:
    plan = pypapir.plan(records=1 << 30, record_bytes=64, shards=8, threads=16, memory=64 << 30)
    divided = plan.divided
    assert divided is not None and divided.predicted
    assert len(divided.shards) == 8
    assert sum(shard.slices for shard in divided.shards) == divided.slices
    assert divided.answer_s < divided.single.answer_s


def test_a_build_for_several_machines_can_be_divided(tmp_path: Path) -> None:
    words = {f"word {i}": f"meaning {i}" for i in range(3000)}
    pypapir.build(words, tmp_path / "w.papir", shards=4)
    _, parts = pypapir._native.slices(tmp_path / "w.papir", 4)
    assert len(parts) == 4
    with pytest.raises(ValueError, match="expected no other"):
        pypapir.build(words, tmp_path / "w.papir", shards=4, scheme="simple")


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(ValueError, match="either a source or the number of records"):
        pypapir.plan()
    with pytest.raises(ValueError, match="record_bytes"):
        pypapir.plan(records=10)
    with pytest.raises(ValueError, match="uplink above 0"):
        pypapir.plan(records=10, record_bytes=8, uplink=0)
    with pytest.raises(ValueError, match="shards without"):
        pypapir.plan(records=10, record_bytes=8, shards=2, batch=64)
    with pytest.raises(pypapir.Error, match="nothing can serve"):
        pypapir.plan(records=1_000_000, record_bytes=64, memory=1000)


def test_schemes_are_measured_side_by_side() -> None:
    schemes = pypapir.schemes()
    bench = pypapir.bench(["simple", "plain", "double"], records=4096, record_bytes=32, runs=1)
    assert [one.scheme for one in bench.measurements] == ["simple", "plain"]
    assert "at most 64" in bench.refused["double"]
    simple, plain = bench.measurements
    assert simple.correct and simple.upload_bytes > plain.upload_bytes
    assert simple.security_bits is not None and plain.security_bits is None
    assert list(bench.frame()["answer_ms"]) == [simple.answer_ms, plain.answer_ms]
    assert "simple" in repr(bench) and len(repr(bench)) < 200
    # A measurement adds schemes of its own to the registry.
    assert pypapir.schemes() == schemes
    with pytest.raises(pypapir.Error, match="unknown|expected"):
        pypapir.bench("no such scheme", records=4096, record_bytes=32)
