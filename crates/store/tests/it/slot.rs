//! Changes of a table in PostgreSQL, followed by a replication slot.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use papir_core::{NoProgress, Progress, Run};
use papir_store::postgres::Login;
use papir_store::{
    Build, BuildOptions, Earlier, FollowOptions, Follower, MergeOptions, OnBadRow, RollbackOptions,
    SlotOptions, Step, UpdateOptions, merge, rollback, update,
};
use papir_testkit::postgres::{PASSWORD, Server};
use tempfile::TempDir;

use crate::common::{Served, folder, fresh, rng, source};

/// A server with a table of words, a publication and a slot, and a database with two of the words.
struct SlotFixture {
    server: Server,
    folder: TempDir,
}

const SLOT: &str = "SELECT pg_create_logical_replication_slot('words', 'pgoutput')";

impl SlotFixture {
    fn new() -> Self {
        let server = Server::start("wal_level = logical\nfsync = off");
        server.sql("postgres", "ALTER ROLE papir REPLICATION");
        for statement in [
            "CREATE TABLE words (word text PRIMARY KEY, value text)",
            "CREATE TABLE other (id int)",
            "CREATE PUBLICATION words FOR TABLE words",
            SLOT,
        ] {
            server.sql("papir", statement);
        }
        let folder = folder();
        let csv = source(folder.path(), "words.csv", "word,value\none,1\ntwo,2\n");
        let options = BuildOptions {
            scheme: "inspire".to_owned(),
            key: Some("word".to_owned()),
            values: vec!["value".to_owned()],
            ..BuildOptions::new(&csv, csv.with_extension("papir"))
        };
        Build::new(&options)
            .run(&mut Run::new(&mut rng(1), &NoProgress))
            .unwrap();
        Self { server, folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("words.papir")
    }

    fn sql(&self, statement: &str) -> String {
        self.server.sql("papir", statement)
    }

    fn options(&self) -> FollowOptions {
        let address = self.server.address("papir");
        let login = Login {
            address: address.clone(),
            password: Some(PASSWORD.to_owned()),
            ..Login::default()
        };
        let slot = SlotOptions::new(login, "words", "words");
        let update = UpdateOptions::new(self.file(), Path::new(&address));
        FollowOptions {
            slot: Some(slot),
            ..FollowOptions::new(update)
        }
    }

    fn follower(&self) -> Follower {
        Follower::new(self.options()).unwrap()
    }

    fn refused(&self) -> String {
        Follower::new(self.options()).err().unwrap().to_string()
    }

    fn word(&self, word: &str) -> Option<String> {
        Served::open(&self.file()).word(word)
    }

    /// The position in the log at which the slot begins.
    fn confirmed(&self) -> String {
        self.sql("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'words'")
    }
}

fn step(follower: &mut Follower) -> Step {
    follower
        .step(&mut Run::new(&mut fresh(), &NoProgress))
        .unwrap()
}

/// Takes steps until one publishes a version.
fn publish(follower: &mut Follower) -> Step {
    let begin = Instant::now();
    loop {
        let step = step(follower);
        if step.published.is_some() {
            return step;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{step:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Takes steps until one is refused; none publishes a version.
fn refusal(follower: &mut Follower) -> String {
    let begin = Instant::now();
    loop {
        match follower.step(&mut Run::new(&mut fresh(), &NoProgress)) {
            Err(error) => return error.to_string(),
            Ok(step) => {
                assert!(step.published.is_none() && begin.elapsed() < Duration::from_secs(60))
            }
        }
    }
}

/// Takes steps for longer than the pause between two looks; none publishes a version.
fn nothing(follower: &mut Follower) {
    for _ in 0..15 {
        assert!(step(follower).published.is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Takes steps until the slot begins elsewhere; none publishes a version.
fn advance(follower: &mut Follower, fixture: &SlotFixture, what: &str) {
    let before = fixture.confirmed();
    let begin = Instant::now();
    while fixture.confirmed() == before {
        assert!(step(follower).published.is_none());
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "not passed in 60 s: {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn inserted_changed_and_removed_rows_are_answered_once() {
    let fixture = SlotFixture::new();
    let mut follower = fixture.follower();
    nothing(&mut follower);
    fixture
        .sql("INSERT INTO words VALUES ('one', 'first'), ('three', '3 \"three\"'), ('two', '2')");
    let first = publish(&mut follower).published.unwrap();
    assert_eq!((first.rows, first.metadata.entries), (3, 3));
    fixture.sql(
        "BEGIN; UPDATE words SET value = 'third' WHERE word = 'three'; DELETE FROM words WHERE word = 'two'; \
         UPDATE words SET word = 'eins' WHERE word = 'one'; COMMIT",
    );
    publish(&mut follower);
    let expected = [
        ("one", None),
        ("two", None),
        ("three", Some("third")),
        ("eins", Some("first")),
    ];
    for (word, value) in expected {
        assert_eq!(fixture.word(word).as_deref(), value, "{word}");
    }
    let confirmed = fixture.confirmed();
    assert_eq!(
        fixture.sql(
            "SELECT count(*) FROM pg_logical_slot_peek_binary_changes('words', NULL, NULL, \
        'proto_version', '1', 'publication_names', 'words')"
        ),
        "0"
    );
    drop(follower);
    let mut follower = fixture.follower();
    nothing(&mut follower);
    assert_eq!(fixture.confirmed(), confirmed);
    fixture.sql("INSERT INTO words VALUES ('four', '4')");
    publish(&mut follower);
    assert_eq!(
        (fixture.word("four").unwrap(), fixture.word("one")),
        ("4".to_owned(), None)
    );
}

#[test]
fn more_changes_than_a_delta_may_have_are_taken_in_parts() {
    let fixture = SlotFixture::new();
    fixture.sql("INSERT INTO words VALUES ('a', repeat('a', 300))");
    fixture.sql("INSERT INTO words VALUES ('b', repeat('b', 300))");
    let mut follower = Follower::new(FollowOptions {
        most: Some(500),
        ..fixture.options()
    })
    .unwrap();
    let first = publish(&mut follower).published.unwrap();
    assert_eq!(
        (
            first.rows,
            fixture.word("a").unwrap().len(),
            fixture.word("b")
        ),
        (1, 300, None)
    );
    // The delta is full now, until it is merged.
    let begin = Instant::now();
    let error = loop {
        match follower.step(&mut Run::new(&mut fresh(), &NoProgress)) {
            Err(error) => break error,
            Ok(step) => {
                assert!(step.published.is_none() && begin.elapsed() < Duration::from_secs(60))
            }
        }
    };
    assert_eq!(error.code(), "delta_full");
}

#[test]
fn a_slot_that_was_not_told_of_a_version_repeats_nothing() {
    let fixture = SlotFixture::new();
    fixture.sql("SELECT pg_copy_logical_replication_slot('words', 'kept')");
    fixture.sql("INSERT INTO words VALUES ('three', '3')");
    publish(&mut fixture.follower());
    let told = fixture.confirmed();
    // As if the process had ended between the version and the slot's advance.
    fixture.sql("SELECT pg_drop_replication_slot('words')");
    fixture.sql("SELECT pg_copy_logical_replication_slot('kept', 'words')");
    fixture.sql("UPDATE words SET value = 'changed' WHERE word = 'three'");
    let mut follower = fixture.follower();
    let second = publish(&mut follower).published.unwrap();
    assert_eq!(second.rows, 1, "the first row is not repeated");
    assert_eq!(fixture.word("three").unwrap(), "changed");
    assert_eq!(
        fixture.sql(&format!(
            "SELECT '{}'::pg_lsn > '{told}'::pg_lsn",
            fixture.confirmed()
        )),
        "t"
    );
}

#[test]
fn a_slot_that_has_lost_changes_is_refused() {
    let fixture = SlotFixture::new();
    fixture.sql("INSERT INTO words VALUES ('three', '3')");
    publish(&mut fixture.follower());
    fixture.sql("INSERT INTO words VALUES ('lost', '')");
    fixture.sql("SELECT pg_drop_replication_slot('words')");
    let refused = fixture.refused();
    assert!(
        refused.contains("no slot `words` in this database: expected one, made by SELECT"),
        "{refused}"
    );
    fixture.sql(SLOT);
    let refused = fixture.refused();
    assert!(
        refused.contains("the slot begins at") && refused.contains("build the database again"),
        "{refused}"
    );
}

#[test]
fn skipped_rows_and_other_tables_do_not_hold_the_log() {
    let fixture = SlotFixture::new();
    let options = FollowOptions {
        on_bad: OnBadRow::Skip,
        ..fixture.options()
    };
    let mut follower = Follower::new(options).unwrap();
    fixture.sql("INSERT INTO words VALUES ('long', repeat('x', 270000))");
    advance(&mut follower, &fixture, "a row that is skipped");
    fixture.sql("INSERT INTO words VALUES ('three', '3')");
    publish(&mut follower);
    // More than 16 MiB of the log.
    fixture.sql("INSERT INTO other SELECT * FROM generate_series(1, 300000)");
    advance(&mut follower, &fixture, "another table");
    fixture.sql("UPDATE words SET value = 'new' WHERE word = 'three'");
    drop(follower);
    publish(&mut fixture.follower());
    assert_eq!(fixture.word("three").unwrap(), "new");
}

#[test]
fn rows_have_the_bytes_of_an_export() {
    let fixture = SlotFixture::new();
    fixture.sql("ALTER TABLE words ADD body text");
    let mut follower = fixture.follower();
    // A long value of another column is stored outside the row, and not sent if it does not change.
    fixture.sql(
        "INSERT INTO words SELECT 'long', 'l', string_agg(md5(i::text), '') FROM generate_series(1, 1000) i",
    );
    fixture.sql("INSERT INTO words VALUES ('nothing', NULL), ('text', 'null')");
    publish(&mut follower);
    fixture.sql("UPDATE words SET value = 'changed' WHERE word = 'long'");
    publish(&mut follower);
    for (word, value) in [("nothing", ""), ("text", "null"), ("long", "changed")] {
        assert_eq!(fixture.word(word).as_deref(), Some(value), "{word}");
    }
}

#[test]
fn a_merge_keeps_the_newest_place() {
    let fixture = SlotFixture::new();
    let mut follower = fixture.follower();
    fixture.sql("INSERT INTO words VALUES ('three', '3')");
    publish(&mut follower);
    let options = MergeOptions::new(fixture.file());
    // The same change again, published while the merge runs.
    let progress = AtWriting(
        std::sync::Mutex::new(Some(Box::new(move || {
            fixture.sql("UPDATE words SET value = '3' WHERE word = 'three'");
            publish(&mut follower);
            drop(follower);
            fixture
        }))),
        std::sync::Mutex::new(None),
    );
    merge(&options, &mut Run::new(&mut fresh(), &progress)).unwrap();
    let fixture = progress.1.into_inner().unwrap().unwrap();
    fixture.sql("INSERT INTO words VALUES ('four', '4')");
    publish(&mut fixture.follower());
    assert_eq!(
        ["three", "four"].map(|word| fixture.word(word).unwrap()),
        ["3", "4"]
    );
}

type Then = Box<dyn FnOnce() -> SlotFixture + Send>;

/// Runs a function once, when a snapshot is written.
struct AtWriting(
    std::sync::Mutex<Option<Then>>,
    std::sync::Mutex<Option<SlotFixture>>,
);

impl Progress for AtWriting {
    fn stage(&self, name: &str, _total: u64) {
        if name == "writing"
            && let Some(then) = self.0.lock().unwrap().take()
        {
            *self.1.lock().unwrap() = Some(then());
        }
    }

    fn advance(&self, _steps: u64) {}
}

#[test]
fn a_server_that_stops_is_tried_again() {
    let fixture = SlotFixture::new();
    let mut follower = fixture.follower();
    fixture.sql("INSERT INTO words VALUES ('three', '3')");
    fixture.server.crash();
    let begin = Instant::now();
    let trouble = loop {
        if let Some(trouble) = step(&mut follower).trouble {
            break trouble;
        }
        assert!(begin.elapsed() < Duration::from_secs(60));
    };
    assert!(trouble.contains("trying again in 1 s"), "{trouble}");
    // One that starts meanwhile waits, too.
    let mut second = fixture.follower();
    assert!(step(&mut second).trouble.is_some());
    fixture.server.start_again();
    publish(&mut follower);
    assert_eq!(fixture.word("three").unwrap(), "3");
}

#[test]
fn publications_of_other_things_than_one_whole_table_are_refused() {
    let fixture = SlotFixture::new();
    for (statement, part) in [
        ("ALTER PUBLICATION words ADD TABLE other", "has 2 tables"),
        (
            "ALTER PUBLICATION words DROP TABLE words, other",
            "has 0 tables",
        ),
        (
            "ALTER PUBLICATION words SET TABLE words; ALTER PUBLICATION words SET (publish = 'insert')",
            "leaves out some changes",
        ),
        ("DROP PUBLICATION words", "does not exist"),
    ] {
        fixture.sql(statement);
        let refused = fixture.refused();
        assert!(refused.contains(part), "{refused}");
    }
}

#[test]
fn a_database_that_is_built_again_is_not_followed_on() {
    let fixture = SlotFixture::new();
    let before = std::fs::read(fixture.file()).unwrap();
    let mut follower = fixture.follower();
    fixture.sql("INSERT INTO words VALUES ('three', '3')");
    publish(&mut follower);
    std::fs::write(fixture.folder.path().join("again"), before).unwrap();
    for file in std::fs::read_dir(fixture.folder.path()).unwrap().flatten() {
        if file.file_name().to_string_lossy().ends_with(".delta") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    std::fs::rename(fixture.folder.path().join("again"), fixture.file()).unwrap();
    fixture.sql("INSERT INTO words VALUES ('four', '4')");
    let error = refusal(&mut follower);
    assert!(
        error.contains("replaced by one without the changes"),
        "{error}"
    );
}

#[test]
fn changes_that_do_not_say_what_happens_to_a_key_are_refused() {
    let refused = |statement: &str, part: &str| {
        let fixture = SlotFixture::new();
        let mut follower = fixture.follower();
        fixture.sql(statement);
        let error = refusal(&mut follower);
        assert!(error.contains(part), "{error}");
        assert_eq!(fixture.word("one").unwrap(), "1");
    };
    refused("TRUNCATE words", "a truncated table");
    refused(
        "BEGIN; ALTER TABLE words ADD id int NOT NULL DEFAULT 1, DROP CONSTRAINT words_pkey; \
         ALTER TABLE words ADD PRIMARY KEY (id); INSERT INTO words VALUES ('a', 'b', 2); COMMIT",
        "identified by id, not by `word`: expected it as primary key, or ALTER TABLE public.words REPLICA IDENTITY FULL",
    );
    refused(
        "BEGIN; ALTER TABLE words RENAME word TO name; INSERT INTO words VALUES ('a', 'b'); COMMIT",
        "no column `word`: expected one of name, value",
    );
    let fixture = SlotFixture::new();
    fixture.sql("SELECT pg_drop_replication_slot('words')");
    fixture.sql("SELECT pg_create_logical_replication_slot('words', 'test_decoding')");
    assert!(
        fixture
            .refused()
            .contains("uses test_decoding: expected pgoutput")
    );
}

#[test]
fn a_version_from_before_the_slot_was_followed_is_not_followed_on() {
    let fixture = SlotFixture::new();
    let csv = source(
        fixture.folder.path(),
        "changes.csv",
        "word,value\ntwo,second\n",
    );
    let first = UpdateOptions {
        keep: Some(1),
        ..UpdateOptions::new(fixture.file(), csv)
    };
    update(&first, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    let mut follower = fixture.follower();
    fixture.sql("INSERT INTO words VALUES ('three', '3')");
    publish(&mut follower);
    fixture.sql("INSERT INTO words VALUES ('four', '4')");
    publish(&mut follower);
    drop(follower);
    rollback(
        &RollbackOptions::new(fixture.file(), Earlier::Newest),
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    assert_eq!(
        ["two", "three"].map(|word| fixture.word(word)),
        [Some("2".to_owned()), None]
    );
    let refused = fixture.refused();
    assert!(refused.contains("what lies between is lost"), "{refused}");
}

/// Until the end of a transaction, such a key may have two rows.
#[test]
fn keys_that_are_checked_later_are_refused() {
    let fixture = SlotFixture::new();
    fixture.sql(
        "ALTER TABLE words DROP CONSTRAINT words_pkey, ADD UNIQUE (word) DEFERRABLE, REPLICA IDENTITY FULL",
    );
    let mut follower = fixture.follower();
    fixture.sql("INSERT INTO words VALUES ('one', '1'), ('two', '2')");
    let error = refusal(&mut follower);
    assert!(
        error.contains("`word` of public.words is unique by a deferrable constraint"),
        "{error}"
    );
    fixture.sql("ALTER TABLE words ADD UNIQUE (word)");
    publish(&mut fixture.follower());
    assert_eq!(
        ["one", "two"].map(|word| fixture.word(word).unwrap()),
        ["1", "2"]
    );
}
