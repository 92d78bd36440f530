"""Measurements of schemes."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pypapir import _native
from pypapir._building import ProgressFunction

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Measurement:
    """One scheme on one database of random records. Times are medians; GB are 2³⁰ bytes. Every record that
    was retrieved was right."""

    scheme: str
    records: int
    record_bytes: int
    threads: int
    backend: str
    """The instructions that were used, such as `avx2` or `avx512`."""
    read_gbps: float
    read_ms: float
    """One read of the encoded database by one core."""
    answer_ms: float
    reads: float
    """`answer_ms` divided by `read_ms`."""
    stages: dict[str, float]
    """The parts of `answer_ms`, in ms."""
    encode_s: float
    hint_s: float
    material_s: float
    offline_s: float
    """Seconds to prepare the database."""
    keys_bytes: int
    """Key material of a client: registered once, or in each query."""
    query_bytes: int
    query_payload_bytes: int
    upload_bytes: int
    batch: int
    """Most records of a query; the timed one is for one record."""
    download_bytes: int
    hint_bytes: int
    material_bytes: int
    rss_bytes: int | None
    query_ms: float
    extract_ms: float
    security_bits: float | None
    failure_log2: float | None
    correct: bool
    clients: int
    """Clients whose queries were answered together."""
    group_ms: float
    core_ms_per_lookup: float
    alone_ms: float
    effective_gbps: float
    floor_ms: float
    """One read of all that an answer needs."""
    arithmetic_floor_ms: float | None
    once_bytes: int
    """Bytes that a client fetches once for each version."""
    pages: str | None
    ticket_s: float | None = None
    ticket_bytes: int | None = None
    ahead_bytes: int | None = None
    ahead_ms: float | None = None
    client_cold_s: float | None = None
    client_ready_ms: float | None = None


@dataclass(frozen=True, repr=False)
class Bench:
    """Schemes on one database."""

    measurements: list[Measurement]
    refused: dict[str, str]
    """Schemes that refuse the database, and their reasons."""

    def __repr__(self) -> str:
        answers = ", ".join(f"{one.scheme} {one.answer_ms:.3g} ms" for one in self.measurements)
        return f"<Bench of {len(self.measurements)} schemes, {len(self.refused)} refused: {answers}>"

    def frame(self) -> "pandas.DataFrame":
        """The measurements as a table, which needs pandas."""
        import pandas

        return pandas.DataFrame([asdict(one) for one in self.measurements])


def bench(
    schemes: str | Sequence[str] = "inspire",
    *,
    records: int,
    record_bytes: int,
    goal: str | None = None,
    runs: int = 5,
    threads: int = 1,
    clients: int = 1,
    progress: ProgressFunction | None = None,
) -> Bench:
    """Measures schemes on a database of random records in memory, as `papir bench` does.

    Args:
        schemes: One name or several; `pypapir.schemes()` has all.
        records: Number of records.
        record_bytes: Bytes of a record.
        goal: `balanced` (the default), `min-communication` or `min-time`.
        runs: Timed queries, after a warm-up.
        threads: Threads of setup and answers.
        clients: Clients whose queries are answered together.
        progress: Called with a stage, how much of it is done, and of how much.

    Raises:
        Error: The only scheme refuses the database, memory does not suffice, or a record was wrong.
    """
    names = [schemes] if isinstance(schemes, str) else list(schemes)
    measured = {
        "records": records,
        "record_bytes": record_bytes,
        "goal": goal,
        "runs": runs,
        "threads": threads,
        "clients": clients,
    }
    text, refused = _native.bench(names, measured, progress)
    return Bench([Measurement(**one) for one in json.loads(text)], dict(refused))
