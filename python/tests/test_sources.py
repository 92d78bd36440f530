"""Sources of Python: tables, rows, pairs, and the remedies for others."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

import pypapir

WORDS = {f"word {i}": f"meaning {i}" for i in range(300)}
ROWS = [{"word": word, "meaning": meaning} for word, meaning in WORDS.items()]
BATCHES = pa.Table.from_pylist(ROWS).to_batches(max_chunksize=64)


def check(path: Path) -> None:
    """The words are in a snapshot."""
    words = pypapir.open(path)
    assert words.get("word 7") == b"meaning 7"
    assert words.get("word 299") == b"meaning 299"
    assert words.get("absent") is None


@pytest.mark.parametrize(
    "source",
    [
        lambda: BATCHES,
        lambda: iter(BATCHES),
        lambda: [pa.Table.from_batches([batch]) for batch in BATCHES],
        lambda: (pl.DataFrame(pa.Table.from_batches([batch])) for batch in BATCHES),
        lambda: (pd.DataFrame(ROWS[start : start + 100]) for start in range(0, 300, 100)),
        lambda: [BATCHES[0], pa.Table.from_batches(BATCHES[1:])],
        lambda: pa.RecordBatchReader.from_batches(BATCHES[0].schema, iter(BATCHES)),
        lambda: [pa.RecordBatchReader.from_batches(BATCHES[0].schema, iter(BATCHES))],
        lambda: ROWS,
        lambda: (row for row in ROWS),
    ],
)
def test_iterables_of_tables_and_rows_are_sources(source: Callable[[], Any], tmp_path: Path) -> None:
    built = pypapir.build(source(), tmp_path / "w.papir", key="word", value="meaning", scheme="simple")
    assert built.entries == 300
    check(tmp_path / "w.papir")


def test_a_file_of_others_is_replaced_only_by_force(tmp_path: Path) -> None:
    out = tmp_path / "w.papir"
    out.write_text("precious")
    with pytest.raises(pypapir.Error, match="force=True"):
        pypapir.build(WORDS, out, scheme="simple")
    assert out.read_text() == "precious"
    pypapir.build(WORDS, out, scheme="simple", force=True)
    check(out)


def test_pairs_may_be_lists(tmp_path: Path) -> None:
    pypapir.build([[word, meaning] for word, meaning in WORDS.items()], tmp_path / "w.papir", scheme="simple")
    check(tmp_path / "w.papir")


def test_values_of_rows_are_those_of_columns(tmp_path: Path) -> None:
    row = {"k": "a", "i": 7, "u": (1 << 64) - 1, "f": 0.5, "b": True, "n": None, "t": "é", "x": b"yz"}
    columns = [name for name in row if name != "k"]
    table = pa.table({name: pa.array([one], pa.uint64() if name == "u" else None) for name, one in row.items()})
    values = []
    for source in ([row], table):
        pypapir.build(source, tmp_path / "w.papir", key="k", value=columns, scheme="simple")
        values.append(pypapir.open(tmp_path / "w.papir").get("a"))
    assert values[0] == values[1]


def test_columns_have_one_form_in_tables_and_files(tmp_path: Path) -> None:
    table = pa.table(
        {
            "k": ["a", "b"],
            "t": pa.array([0, 1_600_000_000_123], pa.timestamp("ms", "UTC")),
            "d": pa.array([0, 18_518], pa.date32()),
            "m": pa.array([Decimal("0.05"), Decimal("-5.00")], pa.decimal128(9, 2)),
            "l": [[1, None], []],
            "s": [{"x": 1}, None],
            "c": pa.array(["one", "one"]).dictionary_encode(),
        }
    )
    feather.write_feather(table, tmp_path / "lz4.feather")
    parquet.write_table(table, tmp_path / "table.parquet")
    with ipc.new_stream(tmp_path / "stream.arrows", table.schema) as stream:
        stream.write_table(table)

    expected = b'{"t":"2020-09-13T12:26:40.123Z","d":"2020-09-13","m":"-5.00","l":[],"s":null,"c":"one"}'
    for source in [table, *sorted(tmp_path.iterdir())]:
        out = tmp_path / "w.papir"
        pypapir.build(source, out, key="k", value=["t", "d", "m", "l", "s", "c"], scheme="simple")
        assert pypapir.open(out).get("b") == expected, source


def test_a_reader_without_batches_has_columns(tmp_path: Path) -> None:
    reader = pa.RecordBatchReader.from_batches(BATCHES[0].schema, iter([]))
    with pytest.raises(pypapir.Error, match="no column `key`.*expected one of word, meaning"):
        pypapir.build(reader, tmp_path / "w.papir", key="key")


def test_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"key": "word", "value": "meaning", "scheme": "simple"}
    with pytest.raises(pypapir.Error, match="a row without `meaning`"):
        pypapir.build([*ROWS, {"word": "x"}], tmp_path / "w.papir", **columns)
    with pytest.raises(pypapir.Error, match="an item of type str, expected a dict"):
        pypapir.build([*ROWS, "x"], tmp_path / "w.papir", **columns)
    with pytest.raises(pypapir.Error, match="an item of type list, expected bytes"):
        pypapir.build([{"word": "x", "meaning": [1, 2]}], tmp_path / "w.papir", **columns)
    with pytest.raises(pypapir.Error, match="an item of type tuple, expected pairs"):
        pypapir.build([("a", "b", "c")], tmp_path / "w.papir", scheme="simple")
    with pytest.raises(pypapir.Error, match="no column `none`.*expected one of word, meaning"):
        pypapir.build(ROWS, tmp_path / "w.papir", key="none", scheme="simple")
    assert not list(tmp_path.iterdir())


def of_package(module: str, name: str) -> Any:
    """An object whose type has this name in this package."""
    return type(name, (), {"__module__": module, "__iter__": lambda _: iter([])})()


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        (of_package("polars.lazyframe.frame", "LazyFrame"), r"frame\.collect\(\)"),
        (of_package("pandas.core.frame", "DataFrame"), r"pandas 2\.2 or later"),
        (of_package("pyarrow._dataset", "Dataset"), r"dataset\.to_batches\(\)"),
        (of_package("datasets.dataset_dict", "DatasetDict"), r'splits\["train"\]'),
        (b"bytes", "expected a path"),
        (np.zeros((2, 2)), "an array of float64 with 2 axes: expected uint8"),
        (np.zeros(2, dtype=np.uint8), "an array of uint8 with 1 axes: expected uint8 with 2"),
    ],
)
def test_other_sources_are_refused_with_the_remedy(source: Any, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=remedy):
        pypapir.build(source, tmp_path / "w.papir", key="k")
    with pytest.raises(TypeError, match=remedy):
        pypapir.plan(source, key="k")


def test_a_key_without_values_makes_a_set(tmp_path: Path) -> None:
    # As `papir build` does.
    pypapir.build(pa.Table.from_batches(BATCHES), tmp_path / "w.papir", key="word", scheme="simple")
    words = pypapir.open(tmp_path / "w.papir")
    assert words.get("word 7") == b""
    assert words.get("absent") is None


def value(source: Any, wanted: str, tmp_path: Path, **form: Any) -> bytes | None:
    """The value of a key in a snapshot of a source in this form."""
    pypapir.build(source, tmp_path / "w.papir", scheme="simple", **form)
    return pypapir.open(tmp_path / "w.papir").get(wanted)


@pytest.mark.parametrize(
    ("name", "text", "form", "expected"),
    [
        ("a.tsv", "k\tv\na\t1\n", {"key": "k", "value": "v"}, b"1"),
        ("a.csv", "a;1\nb;2\n", {"key": "1", "value": "2", "header": False, "delimiter": ";"}, b"1"),
        ("a.txt", "# keys\na\n", {}, b""),
        ("data", "a:1\nb:2\n", {}, b"1"),
        ("data", "a => 1\n", {"format": "pairs", "separator": " => "}, b"1"),
        ("data", "127.0.0.1 a\n", {"format": "hosts", "key_length": (1, 2)}, b"127.0.0.1"),
    ],
)
def test_text_files_have_many_forms(
    name: str, text: str, form: dict[str, Any], expected: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    assert value(tmp_path / name, "a", tmp_path, **form) == expected
    assert pypapir.plan(tmp_path / name, **form).records > 0


def test_several_files_and_patterns_are_sources(tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file in files:
        file.write_text(f"{file.stem}\n")
    for source in [files, tuple(map(str, files)), str(tmp_path / "*.txt")]:
        assert value(source, "a", tmp_path) == value(source, "b", tmp_path) == b""
        assert value(source, "c", tmp_path) is None
    with pytest.raises(pypapir.Error, match="no file matches"):
        pypapir.build(tmp_path / "*.csv", tmp_path / "w.papir", key="k")


def test_forms_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("00ff\n01a\n")
    forms: list[tuple[dict[str, Any], str]] = [
        ({"key_length": 4}, "line 2: the key `01a` has 3 bytes: expected 4"),
        ({"key_pattern": "[0-9a-f]{4}"}, "line 2: the key `01a` has 3 bytes, and does not match as a whole"),
        ({"key_pattern": "[0-9"}, "the pattern of keys is malformed: .*unclosed character class"),
        ({"key_hex": True, "format": "csv"}, "without columns"),
        ({"separator": ":"}, "a separator of a list source"),
        ({"format": "xml"}, "xml"),
    ]
    for form, error in forms:
        with pytest.raises(pypapir.Error, match=error):
            pypapir.build(tmp_path / "a.txt", tmp_path / "w.papir", **form)
    with pytest.raises(ValueError, match="a delimiter of 2 bytes: expected one"):
        pypapir.build(tmp_path / "a.txt", tmp_path / "w.papir", delimiter="::")
    with pytest.raises(pypapir.Error, match="the key `word 0` is not hexadecimal"):
        pypapir.build(WORDS, tmp_path / "w.papir", key_hex=True)
    with pytest.raises(pypapir.Error, match="delimiter or header of a given source"):
        pypapir.build(WORDS, tmp_path / "w.papir", delimiter=";")
    (tmp_path / "latin.csv").write_bytes(b"k,v\nK\xf6ln,1\n")
    with pytest.raises(pypapir.Error, match="line 2: the key is not UTF-8"):
        pypapir.build(tmp_path / "latin.csv", tmp_path / "w.papir", key="k")
    pypapir.build(tmp_path / "latin.csv", tmp_path / "w.papir", key="k", binary_keys=True, scheme="simple")
    assert pypapir.open(tmp_path / "w.papir").get(b"K\xf6ln") == b""


class OwnError(Exception):
    """An exception of the caller."""


def raising(items: list[Any], error: BaseException) -> Iterator[Any]:
    """These items, and then the exception."""
    yield from items
    raise error


@pytest.mark.parametrize("kind", [OwnError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("items", [[("a", "b")], ROWS, BATCHES])
def test_the_exception_of_an_iterator_is_the_callers(
    items: list[Any], count: int, kind: type[BaseException], tmp_path: Path
) -> None:
    error = kind("of the caller")
    columns: dict[str, Any] = {} if isinstance(items[0], tuple) else {"key": "word", "value": "meaning"}
    with pytest.raises(kind) as raised:
        pypapir.build(raising(items[:count], error), tmp_path / "w.papir", scheme="simple", **columns)
    assert raised.value is error
    with pytest.raises(kind) as raised:
        pypapir.plan(raising(items[:count], error), **columns)
    assert raised.value is error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [OwnError, KeyboardInterrupt])
def test_the_exception_behind_a_reader_is_the_callers(kind: type[BaseException], tmp_path: Path) -> None:
    batches = raising(BATCHES[:1], kind("of the caller"))
    reader = pa.RecordBatchReader.from_batches(BATCHES[0].schema, batches)
    with pytest.raises(kind, match="of the caller"):
        pypapir.build(reader, tmp_path / "w.papir", key="word", value="meaning", scheme="simple")
    assert not list(tmp_path.iterdir())


class Raising:
    """A source whose method of this name raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def fail(self, *_: object) -> Any:
        raise self.error


@pytest.mark.parametrize("method", ["__fspath__", "__iter__", "__len__", "items", "__arrow_c_stream__"])
def test_the_exception_of_a_method_is_the_callers(method: str, tmp_path: Path) -> None:
    methods: dict[str, Any] = {"__iter__": lambda _: iter([]), method: Raising.fail}
    source = type("Source", (Raising,), methods)(OwnError("of the caller"))
    with pytest.raises(OwnError, match="of the caller"):
        pypapir.build(source, tmp_path / "w.papir")


class Row(Mapping[str, str]):
    """A row whose values cannot be read."""

    def __iter__(self) -> Iterator[str]:
        return iter(["word"])

    def __len__(self) -> int:
        return 1

    def __getitem__(self, name: str) -> str:
        raise OwnError("of the caller")

    def __contains__(self, name: object) -> bool:
        return name == "word"


def test_the_exception_of_a_row_is_the_callers(tmp_path: Path) -> None:
    with pytest.raises(OwnError, match="of the caller"):
        pypapir.build([Row()], tmp_path / "w.papir", key="word", scheme="simple")
