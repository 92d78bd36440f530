//! SQLite: types, tables and queries, and errors that name the row.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{text, value};
use crate::common::{by_index, folder, keyed, options, refusal, run, source};

/// Writes a database by statements.
pub(crate) fn write(folder: &Path, name: &str, statements: &str) -> PathBuf {
    let path = folder.join(name);
    Connection::open(&path)
        .unwrap()
        .execute_batch(statements)
        .unwrap();
    path
}

const WORDS: &str = "CREATE TABLE words (word TEXT, n, \"a \"\"b\" BLOB);
    INSERT INTO words VALUES ('one', 1, x'00ff'), ('two', 2.5, 'text'), ('three', NULL, NULL), (4, -9e999, x'61');";

#[test]
fn every_type_has_its_form() {
    let folder = folder();
    for name in ["a.sqlite", "b.sqlite3", "c.db"] {
        let path = write(folder.path(), name, WORDS);
        let numbers = keyed(&path, "word", &["n"]);
        let found = ["one", "two", "three", "4"].map(|key| text(&numbers, key));
        assert_eq!(found, ["1", "2.5", "", "-Infinity"]);
        assert_eq!(
            value(&keyed(&path, "word", &["a \"b"]), "one"),
            Some(vec![0, 255])
        );
        let mut both = keyed(&path, "word", &["n", "a \"b"]);
        let error = refusal(&{
            both.out = folder.path().join("none.pir");
            both.clone()
        })
        .to_string();
        assert!(
            error.contains("row 1: column `a \"b` is not UTF-8"),
            "{error}"
        );
        both.skip_bad = 1;
        assert_eq!(text(&both, "two"), r#"{"n":2.5,"a \"b":"text"}"#);
        assert_eq!(text(&both, "three"), r#"{"n":null,"a \"b":null}"#);
        assert_eq!(text(&both, "4"), r#"{"n":"-Infinity","a \"b":"a"}"#);
        std::fs::remove_file(&both.out).unwrap();
    }
}

#[test]
fn a_table_is_read_in_its_own_order_and_not_written() {
    let folder = folder();
    // An index that covers all requested columns has another order.
    let path = write(
        folder.path(),
        "a.db",
        "CREATE TABLE t (v TEXT); CREATE INDEX i ON t (v); INSERT INTO t VALUES ('z'), ('a'), ('m');",
    );
    let before = std::fs::read(&path).unwrap();
    let mut options = options(&path);
    options.values = vec!["v".to_owned()];
    let report = run(&options).unwrap();
    let snapshot = papir_store::Snapshot::open(&options.out).unwrap();
    assert_eq!(
        [0, 1, 2].map(|index| by_index(&snapshot, index)),
        [b"z", b"a", b"m"]
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let summary = report.metadata.source;
    assert_eq!(
        (summary.format.as_str(), summary.entries, summary.bytes),
        ("sqlite", 3, before.len() as u64)
    );
}

#[test]
fn tables_and_queries() {
    let folder = folder();
    let tables = "CREATE TABLE t (k INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
        CREATE TABLE \"two words\" (k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO \"two words\" VALUES ('x', 'y');
        CREATE VIEW odd AS SELECT k, v FROM t WHERE k % 2 = 1;";
    let path = write(folder.path(), "a.db", tables);
    let mut options = keyed(&path, "k", &["v"]);
    let error = refusal(&options).to_string();
    assert!(
        error.ends_with("a.db: 3 tables: expected the name of one of odd, t, two words"),
        "{error}"
    );
    options.table = Some("two words".to_owned());
    assert_eq!(text(&options, "x"), "y");
    options.table = Some("odd".to_owned());
    assert_eq!(
        (text(&options, "3"), value(&options, "2")),
        ("c".to_owned(), None)
    );
    options.table = None;
    options.query =
        Some("SELECT k * 10 AS k, upper(v) || '!' AS v FROM t WHERE k > 1 -- most".to_owned());
    assert_eq!(
        (text(&options, "20"), value(&options, "10")),
        ("B!".to_owned(), None)
    );
}

#[test]
fn errors_are_named() {
    let folder = folder();
    let path = write(
        folder.path(),
        "a.db",
        "CREATE TABLE t (k, v); INSERT INTO t VALUES ('a', 1), (NULL, 2), ('a', 3), ('b', zeroblob(262145));",
    );
    for (query, expected) in [
        (
            "SELECT k, v FROM t",
            "a.db, row 2: the key is null: expected a value",
        ),
        (
            "SELECT k, v FROM t WHERE k = 'a'",
            "a.db, row 2: the key `a` was already in row 1",
        ),
        (
            "SELECT k, v FROM t WHERE k = 'b'",
            "a.db, row 1: the value has 262145 bytes: expected at most 262144",
        ),
        ("SELECT k FROM t", "a.db: no column `v`: expected one of k"),
        ("SELECT k, v FROM u", "a.db: no such table: u"),
        ("SELECT", "a.db: "),
        ("", "a.db: the query gives no rows: expected a SELECT"),
        (
            "DELETE FROM t",
            "a.db: the query gives no rows: expected a SELECT",
        ),
        ("INSERT INTO t VALUES (1, 2) RETURNING k, v", "a.db: "),
        ("ATTACH 'b.db' AS b", "a.db: the query gives no rows"),
        (
            "SELECT k, v FROM t; DELETE FROM t",
            "a.db: Multiple statements",
        ),
        ("SELECT k, v FROM t WHERE 0", "a.db: the database is empty"),
        (
            "SELECT 1 AS k, abs(-9223372036854775808) AS v",
            "a.db, row 1: integer overflow",
        ),
    ] {
        let mut options = keyed(&path, "k", &["v"]);
        options.query = Some(query.to_owned());
        let error = refusal(&options).to_string();
        assert!(error.contains(expected), "{query}: {error}");
    }
    let mut options = keyed(&path, "k", &["w"]);
    assert!(
        refusal(&options)
            .to_string()
            .ends_with("a.db: no column `w`: expected one of k, v")
    );
    options.table = Some("u".to_owned());
    assert!(
        refusal(&options)
            .to_string()
            .ends_with("a.db: no table `u`: expected one of t")
    );
    options.query = Some("SELECT 1".to_owned());
    assert_eq!(refusal(&options).code(), "options");
    options.query = None;
    options.format = Some(papir_store::Format::Csv);
    assert_eq!(refusal(&options).code(), "options");
    assert!(!folder.path().join("b.db").exists());
}

#[test]
fn files_other_than_sqlite_are_refused() {
    let folder = folder();
    for (bytes, expected) in [
        (&b"word,meaning\na,1\n"[..], "not a database"),
        (b"", "no tables: expected one"),
    ] {
        let path = source(folder.path(), "a.db", bytes);
        let error = refusal(&keyed(&path, "k", &[])).to_string();
        assert!(
            error.contains("a.db: ") && error.contains(expected),
            "{error}"
        );
    }
    assert_eq!(
        refusal(&keyed(&folder.path().join("none.db"), "k", &[])).code(),
        "io"
    );
    assert!(!folder.path().join("none.db").exists());
}

#[test]
fn values_beyond_the_limit_are_refused_by_row() {
    let folder = folder();
    let path = write(folder.path(), "a.db", WORDS);
    let mut long = keyed(&path, "k", &["v"]);
    long.query =
        Some("SELECT 'a' AS k, 'short' AS v UNION ALL SELECT 'b', zeroblob(262145)".to_owned());
    let error = refusal(&long).to_string();
    let expected = "row 2: the value has 262145 bytes: expected at most 262144";
    assert!(error.ends_with(expected), "{error}");
    long.skip_bad = 1;
    assert_eq!(text(&long, "a"), "short");
    std::fs::remove_file(&long.out).unwrap();

    // SQLite does not make it at all.
    long.query = Some("SELECT 'a' AS k, zeroblob(900000000) AS v".to_owned());
    let error = refusal(&long).to_string();
    let expected = "row 1: a value of more than 268435456 bytes: expected a shorter one";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn twin_columns_of_a_query_are_refused() {
    let folder = folder();
    let path = write(folder.path(), "a.db", WORDS);
    let mut twins = keyed(&path, "word", &["n"]);
    twins.query = Some("SELECT word, n, n + 1 AS n FROM words".to_owned());
    let error = refusal(&twins).to_string();
    assert!(
        error.ends_with("a.db: 2 columns `n`: expected one"),
        "{error}"
    );

    // A column may be both the key and a value.
    let both = keyed(&path, "word", &["word", "n"]);
    assert_eq!(text(&both, "one"), r#"{"word":"one","n":1}"#);
}
