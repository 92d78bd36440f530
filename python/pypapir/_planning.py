"""Predicted costs of databases."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pypapir import _native
from pypapir._sources import Source, refuse_unreadable, source_form

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Offer:
    """Predicted costs of a scheme with some parameters; in a plan for batches, those of a batch."""

    scheme: str
    parameters: str
    """The label that `pypapir.build(params=)` takes."""
    batch: int
    """Lookups in one query."""
    upload_bytes: int
    download_bytes: int
    public_bytes: int
    """Bytes that a client fetches once for each version, hint included."""
    hint_bytes: int
    keys_bytes: int
    """Bytes that a client sends once, when it registers."""
    bucket_bytes: int | None
    """Bytes of a bucket of a keyed database, if not of the default length."""
    answer_s: float
    """Seconds of an answer on a machine that does nothing else; with `clients`, of a group."""
    core_s: float
    """Seconds of an answer on one core while all others are busy."""
    group: int
    """Queries that are answered together."""
    group_core_s: float
    """Core seconds of an answer in such a group."""
    client_s: float
    transfer_s: float
    public_s: float
    """Seconds of what is fetched and sent once, divided by the number of lookups."""
    lookup_s: float
    """The sum of the seconds of answer, client, transfer and what is fetched once."""
    memory_bytes: int
    device_bytes: int
    """Bytes in the memory of a device that answers; 0 if the CPU does."""
    snapshot_bytes: int
    setup_s: float
    security_bits: float | None
    """None if the scheme encrypts nothing."""
    failure_log2: float | None
    """log₂ of the probability that an answer does not decode; None if it always does."""
    streamed_bytes: float
    external_products: float


@dataclass(frozen=True)
class LeftOut:
    """A scheme, or parameters of it, that cannot serve the database."""

    scheme: str
    parameters: str
    reason: str


@dataclass(frozen=True)
class ShardOffer:
    """The part of one of several machines."""

    slices: int
    memory_bytes: int
    answer_s: float


@dataclass(frozen=True)
class DividedPlan:
    """A database on several machines: predicted costs."""

    predicted: bool
    single: Offer
    """The scheme and its parameters, with the costs on a single machine."""
    slices: int
    shards: list[ShardOffer]
    front_s: float
    """Seconds of the machine in front, which combines the parts of an answer."""
    front_memory_bytes: int
    """Bytes that it keeps in memory at most, without the program itself."""
    calls_s: float
    """Seconds of calls and transfers between the machines."""
    answer_s: float
    lookup_s: float
    lookups_per_second: float

    @classmethod
    def from_json(cls, plan: dict[str, Any]) -> "DividedPlan":
        """A plan that the native part made."""
        single, shards = Offer(**plan["single"]), [ShardOffer(**one) for one in plan["shards"]]
        return cls(**{**plan, "single": single, "shards": shards})


@dataclass(frozen=True, repr=False)
class Plan:
    """Offers for a database, the fastest lookup first."""

    records: int
    """Records of the scheme's database; of a keyed one, its buckets."""
    record_bits: int
    offers: list[Offer]
    left_out: list[LeftOut]
    reason: str
    """The best offer, and why."""
    rates: str
    """The rates of the predictions: `measured` on this machine, or `built in`."""
    threads: int
    cores: int | None
    """Cores that `clients` lookups a second keep busy."""
    divided: DividedPlan | None
    """The database on `shards` machines."""
    built: str | None
    """The scheme of `build` without `scheme=`, the same on every machine; None for batches and shards."""
    changes: dict[str, Any] | None
    """Deltas for `changes_per_hour`, as `papir plan --json` prints them."""

    @property
    def best(self) -> Offer:
        """The recommended offer: the one with the least time of a lookup."""
        return self.divided.single if self.divided else self.offers[0]

    def __repr__(self) -> str:
        best = self.best
        return (
            f"<Plan of {self.records} records of {self.record_bits} bits: {best.scheme} {best.parameters!r} of "
            f"{len(self.offers)} offers, {best.lookup_s:.3g} s a lookup>"
        )

    def frame(self) -> "pandas.DataFrame":
        """The offers as a table, which needs pandas."""
        import pandas

        return pandas.DataFrame([asdict(offer) for offer in self.offers])


def plan(
    source: Source | None = None,
    *,
    records: int | None = None,
    record_bytes: int | None = None,
    keyed: bool = False,
    key: str | None = None,
    value: str | Sequence[str] = (),
    format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    separator: str | None = None,
    key_length: int | tuple[int, int] | None = None,
    key_hex: bool = False,
    key_pattern: str | None = None,
    binary_keys: bool = False,
    query: str | None = None,
    uplink: float = 10e6,
    downlink: float = 10e6,
    memory: int | None = None,
    failure_bits: int = 40,
    batch: int | None = None,
    clients: int | None = None,
    changes_per_hour: int | None = None,
    lookups: int = 1,
    threads: int | None = None,
    shards: int | None = None,
    network: float = 10e9,
) -> Plan:
    """Predicts what a database will cost, as `papir plan` does. All costs are predicted, and sizes are exact
    except for `keyed` ones.

    Args:
        source: The records, as for `build`; or give their number and length:
        records: Number of records, or of keys.
        record_bytes: Bytes of a record, or of a value.
        keyed: Records are looked up by key.
        key: The source's column of keys.
        value: The source's columns of values.
        format: The source's format, as for `build`, which also describes the next arguments.
        delimiter: The byte between the source's fields.
        header: False if the source has no header.
        separator: The text between key and value of pairs.
        key_length: The number of bytes of each key, or the fewest and the most.
        key_hex: Requires keys of hexadecimal digits.
        key_pattern: The regular expression that each key matches as a whole.
        binary_keys: Allows keys that are not UTF-8.
        query: The query of a database.
        uplink: The client's connection to the server, in bits per second.
        downlink: The connection from the server, in bits per second.
        memory: The server's memory in bytes. Offers that need more are left out.
        failure_bits: An answer does not decode with probability at most 2^-failure_bits, 40 to 128.
        batch: Lookups in one query.
        clients: Lookups per second of all clients, which are then answered in groups.
        changes_per_hour: Changes that are published as deltas.
        lookups: Lookups of a client over which its one-time download is spread.
        threads: Threads of an answer; by default those of the measured machine.
        shards: Machines that share the database, each with `threads` and `memory`. Neither `batch`, `clients`
            nor `changes_per_hour` can be given with them.
        network: The network between these machines, in bits per second.

    Raises:
        Error: Nothing can serve the database, or the source cannot be read.
        TypeError: The source is of no kind that papir reads.
        Exception: Exceptions of a source's own code, as they are.
    """
    refuse_unreadable(source)
    requirements = {
        "records": records,
        "record_bytes": record_bytes,
        "keyed": keyed,
        "key": key,
        "values": [value] if isinstance(value, str) else list(value),
        "form": source_form(
            format=format,
            delimiter=delimiter,
            header=header,
            separator=separator,
            key_length=key_length,
            key_hex=key_hex,
            key_pattern=key_pattern,
            binary_keys=binary_keys,
            query=query,
        ),
        "uplink": uplink,
        "downlink": downlink,
        "memory": memory,
        "failure_bits": failure_bits,
        "batch": batch,
        "clients": clients,
        "changes_per_hour": changes_per_hour,
        "lookups": lookups,
        "threads": threads,
        "shards": shards,
        "network": network,
    }
    found = json.loads(_native.plan(source, requirements))
    return Plan(
        records=found["records"],
        record_bits=found["record_bits"],
        offers=[Offer(**offer) for offer in found["offers"]],
        left_out=[LeftOut(**one) for one in found["left_out"]],
        reason=found["reason"],
        rates=found["rates"],
        threads=found["threads"],
        cores=found["cores"],
        divided=DividedPlan.from_json(found["divided"]) if found["divided"] else None,
        built=found["built"],
        changes=found["changes"],
    )
