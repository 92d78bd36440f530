"""Queries of a PostgreSQL server as sources. `package.rs` starts the server and fills its tables."""

import os
from pathlib import Path
from typing import Any

import pytest

import pypapir

ADDRESS = os.environ["PAPIR_POSTGRES"]
COLUMNS: dict[str, Any] = {"key": "word", "value": "meaning", "scheme": "simple"}


@pytest.fixture(autouse=True)
def own_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """The password is in the environment, and nothing else of a person's login is."""
    for name in ["PGPASSFILE", "PGSSLROOTCERT", "ALL_PROXY", "all_proxy"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PGPASSWORD", os.environ["PAPIR_POSTGRES_PASSWORD"])


def test_the_rows_of_a_query_are_a_source(tmp_path: Path) -> None:
    out = tmp_path / "w.papir"
    built = pypapir.build(ADDRESS, out, query="SELECT * FROM words;", **COLUMNS)
    assert built.entries == 3
    words = pypapir.open(out)
    assert [words.get(word) for word in ["one", "two", "drei", "vier"]] == [
        b'a "first",\nword',
        b"",
        "ü".encode(),
        None,
    ]

    several = {**COLUMNS, "value": ["meaning", "n"]}
    pypapir.build(ADDRESS, out, query="SELECT n, word, meaning FROM words -- all\n", **several)
    assert pypapir.open(out).get("drei") == '{"meaning":"ü","n":"3"}'.encode()
    plan = pypapir.plan(ADDRESS, query="SELECT word, meaning FROM words", key="word", value="meaning")
    assert plan.records > 0


def test_an_address_with_parameters_is_no_pattern(tmp_path: Path) -> None:
    address = f"{ADDRESS}?application_name=tests"
    built = pypapir.build(address, tmp_path / "w.papir", query="SELECT * FROM words", **COLUMNS)
    assert built.entries == 3


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (None, "a PostgreSQL server without a query"),
        ("SELECT * FROM words; SELECT 1", "cannot insert multiple commands"),
        ("INSERT INTO words VALUES ('three') RETURNING word, meaning", "read-only transaction"),
        ("CREATE TABLE other (id int)", "the query gives no rows"),
        ("SELECT word, meaning FROM words WHERE n = $1", "a query with 1 parameters: expected none"),
        ("SELECT word FROM words", "no column `meaning`"),
        ("SELECT * FROM none", 'relation "none" does not exist'),
        ("SELECT * FROM holes", "row 1: the key is NULL or empty: expected a value"),
    ],
)
def test_other_queries_are_refused_as_by_the_program(query: str | None, expected: str, tmp_path: Path) -> None:
    with pytest.raises(pypapir.Error) as refused:
        pypapir.build(ADDRESS, tmp_path / "w.papir", query=query, **COLUMNS)
    assert expected in str(refused.value)
    assert os.environ["PGPASSWORD"] not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_what_a_server_does_not_have_is_refused(tmp_path: Path) -> None:
    forms: list[tuple[dict[str, Any], str]] = [
        ({"delimiter": ";"}, "delimiter or header of a postgres source"),
        ({"format": "csv"}, "a format or given rows beside a server"),
    ]
    for form, expected in forms:
        with pytest.raises(pypapir.Error, match=expected):
            pypapir.build(ADDRESS, tmp_path / "w.papir", query="SELECT * FROM words", **form, **COLUMNS)
    with pytest.raises(pypapir.Error, match="several postgres sources"):
        pypapir.build([ADDRESS, "b.csv"], tmp_path / "w.papir", query="SELECT * FROM words", **COLUMNS)
    with pytest.raises(pypapir.Error, match="a table or query of a given source"):
        pypapir.build({"a": "b"}, tmp_path / "w.papir", query="SELECT * FROM words", scheme="simple")


def test_passwords_are_not_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query: dict[str, Any] = {"query": "SELECT 1 AS word", "key": "word", "scheme": "simple"}
    with pytest.raises(pypapir.Error, match="its address contains a password") as refused:
        pypapir.build("postgres://papir:secret@127.0.0.1:1/shop", tmp_path / "w.papir", **query)
    assert "PGPASSFILE" in str(refused.value)
    assert "secret" not in repr(refused.value)

    # After a file, an address counts as another file.
    (tmp_path / "a.csv").write_text("word\na\n")
    files = [str(tmp_path / "a.csv"), "postgres://papir:secret@127.0.0.1:1/shop"]
    with pytest.raises(pypapir.Error, match="among several files: raw") as refused:
        pypapir.build(files, tmp_path / "w.papir", key="word")
    assert "secret" not in repr(refused.value)
    (tmp_path / "a.csv").unlink()

    monkeypatch.setenv("PGPASSWORD", "secret")
    for address in ["postgres://papir@127.0.0.1:1/shop", ADDRESS]:
        with pytest.raises(pypapir.Error) as refused:
            pypapir.build(address, tmp_path / "w.papir", **query)
        assert str(refused.value).startswith(f"{address}: ")
        assert "secret" not in repr(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_server_behind_a_proxy_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    query: dict[str, Any] = {"query": "SELECT 1 AS word", "key": "word", "scheme": "simple"}
    with pytest.raises(pypapir.Error, match='ALL_PROXY names one: proxy="none" connects directly'):
        pypapir.build("postgres://papir@db.invalid/shop", tmp_path / "w.papir", **query)

    # Nothing listens on port 1 of this machine, which is reached directly.
    with pytest.raises(pypapir.Error) as unreachable:
        pypapir.build("postgres://papir@127.0.0.1:1/shop", tmp_path / "w.papir", **query)
    assert "proxy" not in str(unreachable.value)
    with pytest.raises(ValueError, match="bad proxy"):
        pypapir.build("postgres://papir@127.0.0.1:1/shop", tmp_path / "w.papir", proxy="ftp://p", **query)
    # A socket has no proxy.
    pypapir.build(ADDRESS, tmp_path / "w.papir", **query)


def test_a_query_of_sqlite_is_a_source(tmp_path: Path) -> None:
    import sqlite3

    database = sqlite3.connect(tmp_path / "words.db")
    database.execute("CREATE TABLE words (word, meaning, sold)")
    database.execute("INSERT INTO words VALUES ('tea', '3', 1), ('bread', '2', 0)")
    database.commit()
    database.close()

    query = "SELECT word, meaning FROM words WHERE sold"
    built = pypapir.build(tmp_path / "words.db", tmp_path / "w.papir", query=query, **COLUMNS)
    assert built.entries == 1
    assert pypapir.open(tmp_path / "w.papir").get("tea") == b"3"
