//! Following a source that grows: every change is in exactly once, whatever is interrupted.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions as FileOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use papir_core::{NoProgress, Run};
use papir_store::{
    Delta, Earlier, FollowOptions, Follower, Format, MergeOptions, OnBadRow, OpenOptions,
    RollbackOptions, Snapshot, Step, TextForm, UpdateOptions, delta_bytes, merge, rollback, update,
};

use crate::common::{Served, folder, fresh, keyed, options, run, source};

pub(crate) struct Source {
    path: PathBuf,
    file: PathBuf,
}

impl Source {
    /// A database of 20 words, and an empty source beside it.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let rows: String = (0..20).map(|i| format!("word {i},meaning {i}\n")).collect();
        let csv = source(folder, "words.csv", format!("word,meaning\n{rows}"));
        let options = keyed(&csv, "word", &["meaning"]);
        run(&options).unwrap();
        Self {
            path: source(folder, name, ""),
            file: options.out,
        }
    }

    pub(crate) fn append(&self, text: &str) {
        FileOptions::new()
            .append(true)
            .open(&self.path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    fn options(&self, on_bad: OnBadRow) -> FollowOptions {
        let delete = self
            .path
            .extension()
            .is_some_and(|end| end == "csv")
            .then(|| "gone".to_owned());
        let update = UpdateOptions {
            delete,
            ..UpdateOptions::new(&self.file, &self.path)
        };
        FollowOptions {
            on_bad,
            ..FollowOptions::new(update)
        }
    }

    pub(crate) fn follower(&self) -> Follower {
        Follower::new(self.options(OnBadRow::Stop)).unwrap()
    }

    fn merge(&self) {
        merge(
            &MergeOptions::new(&self.file),
            &mut Run::new(&mut fresh(), &NoProgress),
        )
        .unwrap();
    }

    /// Publishes a version with another meaning of word 9, and keeps the one before.
    fn update(&self, folder: &Path) {
        let changes = source(folder, "update.csv", "word,meaning\nword 9,nine\n");
        let changes = UpdateOptions {
            keep: Some(1),
            ..UpdateOptions::new(&self.file, changes)
        };
        update(&changes, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    }

    /// Returns to the version before.
    fn roll_back(&self) {
        rollback(
            &RollbackOptions::new(&self.file, Earlier::Newest),
            &mut Run::new(&mut fresh(), &NoProgress),
        )
        .unwrap();
    }

    fn followed(&self) -> Option<u64> {
        let base = Snapshot::open(&self.file).unwrap();
        let delta = Delta::of(&self.file, base.server.version(), &OpenOptions::default()).unwrap();
        let of_base = base.metadata.followed;
        delta
            .map_or(of_base, |delta| delta.metadata.followed)
            .map(|followed| followed.bytes)
    }
}

pub(crate) fn step(follower: &mut Follower) -> papir_store::Result<Step> {
    follower.step(&mut Run::new(&mut fresh(), &NoProgress))
}

pub(crate) fn check(source: &Source, expected: &[(&str, Option<&str>)]) {
    let served = Served::open(&source.file);
    for (word, value) in expected {
        assert_eq!(served.word(word).as_deref(), *value, "{word}");
    }
}

#[test]
fn rows_are_published_as_they_arrive_and_torn_ones_wait() {
    for (name, [first, torn, rest]) in [
        (
            "changes.jsonl",
            [
                "{\"word\":\"word 1\",\"meaning\":\"one\"}\n",
                "{\"word\":\"word 2\",",
                "\"_delete\":true}\n",
            ],
        ),
        (
            "changes.csv",
            [
                "word,meaning,gone\nword 1,one,\n",
                "word 2,\"tw\n",
                "o\",yes\n",
            ],
        ),
    ] {
        let folder = folder();
        let source = Source::new(folder.path(), name);
        let mut follower = source.follower();
        assert!(!step(&mut follower).unwrap().arrived, "nothing yet");
        source.append(first);
        let published = step(&mut follower).unwrap().published.unwrap();
        assert_eq!((published.rows, published.metadata.entries), (1, 1));
        assert!(published.metadata.arrived.is_some());
        source.append(torn);
        assert!(!step(&mut follower).unwrap().arrived, "torn");
        check(
            &source,
            &[("word 1", Some("one")), ("word 2", Some("meaning 2"))],
        );
        source.append(rest);
        assert_eq!(
            step(&mut follower)
                .unwrap()
                .published
                .unwrap()
                .metadata
                .entries,
            2
        );
        check(
            &source,
            &[
                ("word 1", Some("one")),
                ("word 2", None),
                ("word 3", Some("meaning 3")),
            ],
        );
        assert!(!step(&mut follower).unwrap().arrived && !follower.has_ended());
        assert_eq!(
            source.followed(),
            Some(fs::metadata(&source.path).unwrap().len())
        );
    }
}

#[test]
fn after_a_restart_or_a_merge_every_change_is_in_once() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.jsonl");
    let mut map = BTreeMap::new();
    let mut rows = 0;
    for round in 0..6 {
        let mut text = String::new();
        for i in 0..3 {
            let word = format!("word {}", (round + i) % 5);
            let value = format!("{round} {i}");
            text += &format!("{{\"word\":\"{word}\",\"meaning\":\"{value}\"}}\n");
            map.insert(word, value);
        }
        source.append(&text);
        // A follower of its own, as after a restart.
        rows += step(&mut source.follower())
            .unwrap()
            .published
            .unwrap()
            .rows;
        if round % 2 == 1 {
            source.merge();
        }
        let expected: Vec<_> = map
            .iter()
            .map(|(word, value)| (word.as_str(), Some(value.as_str())))
            .collect();
        check(&source, &expected);
        assert!(
            !step(&mut source.follower()).unwrap().arrived,
            "nothing twice"
        );
    }
    assert_eq!(rows, 18);
}

#[test]
fn bad_rows_are_named_and_stop_or_are_skipped() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.csv");
    source.append("word,meaning,gone\nword 1,one,\n");
    step(&mut source.follower()).unwrap();
    source.append("word 2,two,\nword 3,three\nword 4,four,perhaps\nword 5,five,\n");
    let error = step(&mut source.follower()).unwrap_err().to_string();
    assert!(error.contains("changes.csv, line 4: 2 fields"), "{error}");
    check(
        &source,
        &[("word 1", Some("one")), ("word 2", Some("meaning 2"))],
    );
    let mut skipping = Follower::new(source.options(OnBadRow::Skip)).unwrap();
    let taken = step(&mut skipping).unwrap();
    let places: Vec<_> = taken.skipped.iter().map(|row| row.place.as_str()).collect();
    assert_eq!(places, ["line 4", "line 5"]);
    check(
        &source,
        &[
            ("word 2", Some("two")),
            ("word 3", Some("meaning 3")),
            ("word 5", Some("five")),
        ],
    );
}

#[test]
fn a_stray_quote_in_a_followed_file_costs_its_own_row_only() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.csv");
    source.append("word,meaning,gone\r\n\"word 1\"x,one,\r\nword 2,two,\r\n");
    let error = step(&mut source.follower()).unwrap_err().to_string();
    assert!(error.contains("changes.csv, line 2: text after"), "{error}");

    let mut skipping = Follower::new(source.options(OnBadRow::Skip)).unwrap();
    let taken = step(&mut skipping).unwrap();
    assert_eq!(taken.skipped[0].place, "line 2");
    source.append("word 3,\"three,\r\nword 4,\"four,\r\nword 5,five,\r\n");
    let taken = step(&mut skipping).unwrap();
    let places: Vec<_> = taken.skipped.iter().map(|row| row.place.as_str()).collect();
    assert_eq!(places, ["line 4"]);
    check(
        &source,
        &[
            ("word 1", Some("meaning 1")),
            ("word 2", Some("two")),
            ("word 3", Some("meaning 3")),
            ("word 4", Some("meaning 4")),
            ("word 5", Some("meaning 5")),
        ],
    );
}

/// A database of ten records of two bytes.
fn numbers(folder: &Path) -> PathBuf {
    let mut build = options(&source(folder, "numbers.bin", [7; 20]));
    build.record_bytes = Some(2);
    run(&build).unwrap();
    build.out
}

#[test]
fn rows_that_do_not_fit_the_database_are_named() {
    let folder = folder();
    let file = numbers(folder.path());
    let path = source(
        folder.path(),
        "changes.csv",
        "index,value\n3,ab\n12,cd\n10,ef\n",
    );
    let of = |on_bad| {
        let update = UpdateOptions::new(&file, &path);
        Follower::new(FollowOptions {
            on_bad,
            ..FollowOptions::new(update)
        })
        .unwrap()
    };
    let error = step(&mut of(OnBadRow::Stop)).unwrap_err().to_string();
    assert!(
        error.contains("line 3: record 12 is new: expected 11"),
        "{error}"
    );
    let taken = step(&mut of(OnBadRow::Skip)).unwrap();
    assert_eq!(
        (
            taken.skipped.len(),
            taken.published.unwrap().metadata.records
        ),
        (1, Some(11))
    );
}

#[test]
fn another_source_is_found() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.jsonl");
    source.append("{\"word\":\"word 1\",\"meaning\":\"one\"}\n");
    step(&mut source.follower()).unwrap();
    fs::write(&source.path, "{\"word\":\"word 1\",\"meaning\":\"1\"}\n").unwrap();
    let error = step(&mut source.follower()).unwrap_err().to_string();
    assert!(
        error.contains("expected the source that was followed"),
        "{error}"
    );
    fs::write(
        &source.path,
        "{\"word\":\"word 1\",\"meaning\":\"two\"}\n{}\n",
    )
    .unwrap();
    let error = step(&mut source.follower()).unwrap_err().to_string();
    assert!(error.contains("other text before byte"), "{error}");
}

#[test]
fn another_source_of_the_same_length_and_an_emptied_one_are_found() {
    for name in ["changes.jsonl", "changes.csv"] {
        let folder = folder();
        let source = Source::new(folder.path(), name);
        let text = |meaning: &str| match name {
            "changes.csv" => format!("word,meaning,gone\nword 1,{meaning},\n"),
            _ => format!("{{\"word\":\"word 1\",\"meaning\":\"{meaning}\"}}\n"),
        };
        source.append(&text("one"));
        let mut follower = source.follower();
        step(&mut follower).unwrap();
        assert!(!step(&mut follower).unwrap().arrived && follower.waiting().is_none());

        // By renaming, as a rotation does it.
        let other = crate::common::source(folder.path(), "other", text("two"));
        fs::rename(&other, &source.path).unwrap();
        let error = step(&mut follower).unwrap_err().to_string();
        assert!(error.contains("other text before byte"), "{error}");

        fs::write(&source.path, "").unwrap();
        let error = step(&mut source.follower()).unwrap_err().to_string();
        assert!(
            error.contains("0 bytes: expected the source that was followed"),
            "{error}"
        );
    }
}

#[test]
fn a_row_that_waits_is_counted() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.csv");
    let mut follower = source.follower();
    source.append("word,mean");
    assert!(!step(&mut follower).unwrap().arrived);
    let waiting = follower.waiting().unwrap();
    assert_eq!((waiting.line, waiting.bytes), (1, 9));

    source.append("ing,gone\nword 1,one,\nword 2,\"two\n");
    assert!(step(&mut follower).unwrap().arrived);
    assert!(!step(&mut follower).unwrap().arrived);
    let waiting = follower.waiting().unwrap();
    assert_eq!((waiting.line, waiting.bytes), (3, 12));
}

#[test]
fn a_database_that_is_rolled_back_is_not_followed_on() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.jsonl");
    let row = |i: usize| format!("{{\"word\":\"word {i}\",\"meaning\":\"new\"}}\n");
    let mut follower = source.follower();
    source.append(&row(0));
    step(&mut follower).unwrap();
    source.merge();
    let place = source.followed();
    source.update(folder.path());
    source.append(&row(1));
    step(&mut follower).unwrap();
    assert!(source.followed() > place);
    source.roll_back();
    source.append(&row(2));
    let error = step(&mut follower).unwrap_err().to_string();
    assert!(
        error.contains("replaced by one without the changes"),
        "{error}"
    );
    check(
        &source,
        &[
            ("word 0", Some("new")),
            ("word 1", Some("meaning 1")),
            ("word 2", Some("meaning 2")),
        ],
    );
    assert_eq!(source.followed(), place);
    // At the next start, all rows after the earlier version's place are taken.
    assert_eq!(
        step(&mut source.follower())
            .unwrap()
            .published
            .unwrap()
            .rows,
        2
    );
    check(&source, &[("word 1", Some("new")), ("word 2", Some("new"))]);
}

#[test]
fn a_full_delta_stops_and_goes_on_after_a_merge() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.jsonl");
    let mut follower = Follower::new(FollowOptions {
        most: Some(100),
        ..source.options(OnBadRow::Stop)
    })
    .unwrap();
    let row = |i: usize| format!("{{\"word\":\"new {i}\",\"meaning\":\"{i:020}\"}}\n");
    source.append(&(row(0) + &row(1) + &row(2)));
    step(&mut follower).unwrap();
    source.append(&row(3));
    assert_eq!(step(&mut follower).unwrap_err().code(), "delta_full");
    source.merge();
    assert_eq!(
        step(&mut follower)
            .unwrap()
            .published
            .unwrap()
            .metadata
            .entries,
        1
    );
    check(
        &source,
        &[
            ("new 0", Some("00000000000000000000")),
            ("new 3", Some("00000000000000000003")),
        ],
    );
}

#[test]
fn a_delta_full_of_rows_that_change_nothing_is_merged() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.jsonl");
    let options = || FollowOptions {
        most: Some(60),
        ..source.options(OnBadRow::Stop)
    };
    let mut follower = Follower::new(options()).unwrap();
    let row = |i: usize| format!("{{\"word\":\"word {i}\",\"meaning\":\"meaning {i}\"}}\n");
    source.append(&(row(0) + &row(1)));
    step(&mut follower).unwrap();
    source.append(&(row(2) + &row(3)));
    assert_eq!(step(&mut follower).unwrap_err().code(), "delta_full");
    let version = Snapshot::open(&source.file).unwrap().server.version();
    let place = source.followed();
    source.merge();
    assert_ne!(
        Snapshot::open(&source.file).unwrap().server.version(),
        version
    );
    assert_eq!(
        (delta_bytes(&source.file).unwrap(), source.followed()),
        (0, place)
    );
    assert_eq!(step(&mut follower).unwrap().published.unwrap().rows, 2);
    source.merge();
    assert!(
        !step(&mut Follower::new(options()).unwrap())
            .unwrap()
            .arrived,
        "nothing twice"
    );
    check(
        &source,
        &[("word 0", Some("meaning 0")), ("word 3", Some("meaning 3"))],
    );
}

#[test]
fn more_rows_than_a_delta_may_have_are_taken_in_parts() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.jsonl");
    let most = Some(8 << 10);
    let mut follower = Follower::new(FollowOptions {
        most,
        ..source.options(OnBadRow::Stop)
    })
    .unwrap();
    let row = |i: usize| format!("{{\"word\":\"new {i}\",\"meaning\":\"{i:020}\"}}\n");
    source.append(&(0..1000).map(row).collect::<String>());
    let mut published = 0;
    while published < 1000 {
        match step(&mut follower) {
            Ok(step) => published += step.published.map_or(0, |report| report.rows),
            Err(error) => {
                assert_eq!(error.code(), "delta_full");
                source.merge();
            }
        }
    }
    check(
        &source,
        &[
            ("new 0", Some("00000000000000000000")),
            ("new 999", Some("00000000000000000999")),
        ],
    );
    source.append(&format!(
        "{{\"word\":\"long\",\"meaning\":\"{}\"}}\n",
        "x".repeat(7000)
    ));
    source.merge();
    assert_eq!(
        step(&mut follower).unwrap().published.unwrap().rows,
        1,
        "a row longer than a part"
    );
}

#[test]
fn empty_lines_before_a_header_belong_to_it() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.csv");
    source.append("\n\r\nword,meaning,gone\nword 1,one,\n");
    step(&mut source.follower()).unwrap();
    source.append("word 2,two,\n");
    step(&mut source.follower()).unwrap();
    check(&source, &[("word 1", Some("one")), ("word 2", Some("two"))]);
}

#[test]
fn a_file_is_read_from_its_beginning_after_a_rollback_to_before_it() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.jsonl");
    source.update(folder.path());
    source.append("{\"word\":\"word 1\",\"meaning\":\"new\"}\n");
    step(&mut source.follower()).unwrap();
    source.roll_back();
    check(
        &source,
        &[("word 1", Some("meaning 1")), ("word 9", Some("meaning 9"))],
    );
    step(&mut source.follower()).unwrap();
    check(&source, &[("word 1", Some("new"))]);
}

/// A gap in the numbers of records is found once, and not again after each row that is left out.
#[test]
fn many_rows_that_do_not_fit_are_left_out_at_once() {
    let folder = folder();
    let file = numbers(folder.path());
    let rows: String = (11..30_000)
        .chain([11, 3])
        .map(|i| format!("{i},ab\n"))
        .collect();
    let path = source(folder.path(), "changes.csv", format!("index,value\n{rows}"));
    let update = UpdateOptions::new(&file, &path);
    let options = FollowOptions {
        on_bad: OnBadRow::Skip,
        ..FollowOptions::new(update)
    };
    let taken = step(&mut Follower::new(options).unwrap()).unwrap();
    assert_eq!(
        (taken.skipped.len(), taken.published.unwrap().rows),
        (29_990, 1)
    );
}

#[test]
fn text_of_other_forms_is_followed() {
    let without_header = TextForm {
        delimiter: Some(b';'),
        no_header: true,
        ..TextForm::default()
    };
    let forms = [
        (Format::Tsv, TextForm::default(), "word\tmeaning\n", "\t"),
        (Format::Csv, without_header, "", ";"),
        (Format::Pairs, TextForm::default(), "", ":"),
    ];

    for (format, text, header, separator) in forms {
        let folder = folder();
        let source = Source::new(folder.path(), "changes");
        let has_numbers = text.no_header;
        let update = UpdateOptions {
            format: Some(format),
            text,
            key: has_numbers.then(|| "1".to_owned()),
            values: if has_numbers {
                vec!["2".to_owned()]
            } else {
                Vec::new()
            },
            ..UpdateOptions::new(&source.file, &source.path)
        };
        let mut follower = Follower::new(FollowOptions::new(update)).unwrap();

        source.append(&format!("{header}word 1{separator}one\n"));
        let first = step(&mut follower).unwrap().published.unwrap();
        assert_eq!(first.rows, 1, "{format:?}");
        source.append(&format!("word 2{separator}two\nword 3{separator}to"));
        let second = step(&mut follower).unwrap().published.unwrap();
        assert_eq!(second.rows, 1, "{format:?}: the last row has no end");
        let expected = [
            ("word 1", Some("one")),
            ("word 2", Some("two")),
            ("word 3", Some("meaning 3")),
        ];
        check(&source, &expected);
    }
}

#[test]
fn compressed_and_several_files_are_not_followed() {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.csv.zst");
    let refused = |update: UpdateOptions| {
        let error = Follower::new(FollowOptions::new(update)).err().unwrap();
        error.to_string()
    };
    let one = UpdateOptions::new(&source.file, &source.path);
    assert!(refused(one).contains("changes.csv.zst: a compressed file"));

    let several = UpdateOptions {
        more: vec!["b.csv".into()],
        ..UpdateOptions::new(&source.file, "a.csv")
    };
    assert!(refused(several).contains("several files to follow"));
}
