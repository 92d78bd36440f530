//! Databases from the query of a PostgreSQL server.

use std::path::Path;

use papir_store::postgres::Login;
use papir_store::{BuildOptions, Snapshot};
use papir_testkit::postgres::{PASSWORD, Server};

use crate::common::{by_key, folder, keyed, refusal, run, sections, source};

/// A server with a table of words, which the role of the tests may read.
fn server() -> Server {
    let server = Server::start("fsync = off");
    for statement in [
        "CREATE TABLE words (word text, meaning text, n int)",
        "INSERT INTO words VALUES ('one', 'a \"first\",\nword', 1), ('two', NULL, 2), ('drei', 'ü', 3)",
        "CREATE TABLE holes (word text, meaning text)",
        "INSERT INTO holes VALUES (NULL, '1'), ('a', '2')",
        "GRANT SELECT, INSERT ON words, holes TO papir",
    ] {
        server.sql("papir", statement);
    }
    server
}

/// A build from the rows of a query, with words as keys.
fn build(server: &Server, folder: &Path, query: &str, values: &[&str]) -> BuildOptions {
    let address = server.address("papir");
    BuildOptions {
        server: Some(Login {
            address: address.clone(),
            password: Some(PASSWORD.to_owned()),
            ..Login::default()
        }),
        query: Some(query.to_owned()),
        out: folder.join("words.pir"),
        ..keyed(Path::new(&address), "word", values)
    }
}

#[test]
fn the_rows_of_a_query_are_those_of_its_csv() {
    let server = server();
    let folder = folder();
    let csv = "word,meaning,n\none,\"a \"\"first\"\",\nword\",1\ntwo,,2\ndrei,ü,3\n";
    let file = source(folder.path(), "rows.csv", csv);

    for (query, values) in [
        ("SELECT * FROM words;", &["meaning"][..]),
        (
            "SELECT n, word, meaning FROM words -- all\n",
            &["meaning", "n"],
        ),
        ("SELECT word FROM words", &[]),
    ] {
        let of_server = build(&server, folder.path(), query, values);
        let of_file = keyed(&file, "word", values);
        run(&of_server).unwrap();
        run(&of_file).unwrap();
        assert!(
            sections(&of_server.out) == sections(&of_file.out),
            "{query}"
        );
    }

    let options = build(&server, folder.path(), "SELECT * FROM words", &["meaning"]);
    run(&options).unwrap();
    let built = Snapshot::open(&options.out).unwrap();
    assert_eq!(by_key(&built, "two").unwrap(), b"");
    let summary = &built.metadata.source;
    assert_eq!(
        (summary.file.as_str(), summary.format.as_str()),
        ("papir", "postgres")
    );
}

#[test]
fn queries_that_do_not_only_read_one_result_are_refused() {
    let server = server();
    let folder = folder();
    for (query, expected) in [
        (
            "SELECT * FROM words; SELECT 1",
            "cannot insert multiple commands",
        ),
        (
            "SELECT 1) TO PROGRAM 'true' --",
            "syntax error at or near \")\"",
        ),
        ("SELECT 1 /*", "unterminated /* comment"),
        (
            "INSERT INTO words VALUES ('three') RETURNING word, meaning",
            "read-only transaction",
        ),
        ("CREATE TABLE other (id int)", "the query gives no rows"),
        ("", "the query gives no rows"),
        (
            "SELECT word, meaning FROM words WHERE n = $1",
            "a query with 1 parameters: expected none",
        ),
        ("SELECT word FROM words", "no column `meaning`"),
        ("SELECT * FROM none", "relation \"none\" does not exist"),
        (
            "SELECT word, meaning, 1 / (n - 3) FROM words",
            "division by zero",
        ),
        (
            "SELECT * FROM holes",
            "row 1: the key is NULL or empty: expected a value",
        ),
    ] {
        let options = build(&server, folder.path(), query, &["meaning"]);
        let error = refusal(&options).to_string();
        assert!(error.contains(expected), "{query}: {error}");
    }
    assert_eq!(server.sql("papir", "SELECT count(*) FROM words"), "3");

    let mut skipping = build(&server, folder.path(), "SELECT * FROM holes", &["meaning"]);
    skipping.skip_bad = 1;
    assert_eq!(run(&skipping).unwrap().skipped[0].place, "row 1");
}

#[test]
fn options_that_a_server_does_not_have_are_refused() {
    let folder = folder();
    let login = Login {
        address: "postgres://papir@127.0.0.1:1/shop".to_owned(),
        password: Some(PASSWORD.to_owned()),
        ..Login::default()
    };
    let options = BuildOptions {
        server: Some(login.clone()),
        out: folder.path().join("words.pir"),
        ..keyed(Path::new(&login.address), "word", &[])
    };
    let refused = |options: BuildOptions| {
        let error = refusal(&options).to_string();
        assert!(!error.contains(PASSWORD), "{error}");
        error
    };

    assert!(refused(options.clone()).contains("a PostgreSQL server without a query"));
    let table = BuildOptions {
        table: Some("words".to_owned()),
        ..options.clone()
    };
    assert!(refused(table).contains("a PostgreSQL server without a query"));
    let queried = BuildOptions {
        query: Some("SELECT 1 AS word".to_owned()),
        ..options
    };
    let several = BuildOptions {
        more: vec!["b.csv".into()],
        ..queried.clone()
    };
    assert!(refused(several).contains("several postgres sources"));

    let unreachable = refused(queried.clone());
    assert!(unreachable.contains("postgres://papir@127.0.0.1:1/shop: "));
    let address = "postgres://papir:secret@127.0.0.1:1/shop".to_owned();
    let given = BuildOptions {
        source: (&address).into(),
        server: Some(Login { address, ..login }),
        ..queried
    };
    let error = refused(given);
    assert!(error.contains("PGPASSFILE"), "{error}");
    assert!(!error.contains("secret"), "{error}");

    // After a file, an address counts as another file.
    let file = source(folder.path(), "words.csv", "word\na\n");
    let beside = BuildOptions {
        more: vec!["postgres://papir:secret@127.0.0.1:1/shop".into()],
        ..keyed(&file, "word", &[])
    };
    let error = refused(beside);
    assert!(error.contains("among several files: raw"), "{error}");
    assert!(!error.contains("secret"), "{error}");
}
