//! Builds whose matrices are prepared by tasks.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{by_index, by_key, large_folder, rng, source};
use papir_core::{Choice, Error as CoreError, NoProgress, Progress, Result as CoreResult, Run};
use papir_lookup::BucketTarget;
use papir_schemes::registry;
use papir_store::{
    Build, BuildOptions, BuildReport, Cell, ChooseBucket, Error, Given, GivenRows, Preparation,
    Prepare, RunTasks, Snapshot, TaskOptions, Tasks, add_rows, encode_task, least_memory,
    prepare_task,
};

/// Runs tasks on threads, some of them twice, and fails before one of them.
#[derive(Default)]
struct Threads {
    fails_at: Option<usize>,
    /// Returns the first part of the rows also as the last.
    names_twice: bool,
    prepared: AtomicUsize,
    seen: Mutex<Vec<Tasks>>,
}

impl RunTasks for Threads {
    fn read_rows(&self, folder: &Path, _progress: &dyn Progress) -> CoreResult<Vec<String>> {
        let read = |part: usize| {
            add_rows(folder, &part.to_string(), &Given::new(PartRows(Some(part)))).unwrap();
        };
        thread::scope(|scope| {
            // One is read twice.
            for part in (0..PARTS).chain(0..1) {
                scope.spawn(move || read(part));
            }
        });
        let named = (0..PARTS).chain(0..usize::from(self.names_twice));
        Ok(named.map(|part| part.to_string()).collect())
    }

    fn run(&self, tasks: &Tasks, _progress: &dyn Progress) -> CoreResult<()> {
        self.seen.lock().unwrap().push(tasks.clone());
        let each = |count: usize, task: &(dyn Fn(usize) -> CoreResult<()> + Sync)| {
            thread::scope(|scope| {
                let again = (0..count).chain(0..1);
                let all: Vec<_> = again.map(|i| scope.spawn(move || task(i))).collect();
                all.into_iter().try_for_each(|one| one.join().unwrap())
            })
        };
        each(tasks.encode, &|i| {
            encode_task(&tasks.folder, i, &NoProgress)
        })?;
        assert_eq!(
            encode_task(&tasks.folder, tasks.encode, &NoProgress)
                .unwrap_err()
                .code(),
            "out_of_bounds"
        );
        each(tasks.prepare, &|i| {
            if self.fails_at == Some(i) {
                return Err(CoreError::Unavailable {
                    reason: "a lost machine".to_owned(),
                });
            }
            self.prepared.fetch_add(1, Ordering::Relaxed);
            prepare_task(&tasks.folder, i, &NoProgress)
        })
    }
}

/// Parts in which tasks read rows, and rows of each.
const PARTS: usize = 3;
const PART_ROWS: usize = 5000;

/// The rows of one part, or, as the source of a build, none.
struct PartRows(Option<usize>);

impl GivenRows for PartRows {
    fn columns(&self) -> Vec<String> {
        ["word", "value"].map(str::to_owned).into()
    }

    fn each(
        &self,
        _wanted: &[&str],
        on_row: &mut dyn FnMut(Vec<Cell>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Tasks read the rows.
        let part = self.0.unwrap();
        (part * PART_ROWS..(part + 1) * PART_ROWS).try_for_each(|i| {
            on_row(vec![
                Cell::text(format!("word-{i}")),
                Cell::text("x".repeat(i % 300)),
            ])
        })
    }
}

fn by_tasks(options: &BuildOptions, shards: usize, runner: &Arc<Threads>) -> BuildOptions {
    let tasks = Some(TaskOptions::new(shards, runner.clone()));
    BuildOptions {
        memory: Some(least_memory()),
        tasks,
        ..options.clone()
    }
}

/// Builds with few columns, so that a small database has several slices.
fn build_narrow(options: &BuildOptions, seed: u8) -> Result<BuildReport, Error> {
    let prepare: &Prepare<'_> = &|records, scratch, run| {
        let scheme = registry::by_name("inspire")?;
        let candidate = scheme.candidate(records.shape(), Choice::Columns(128))?;
        scheme.setup_resumable(
            &candidate.parameters,
            records,
            scratch,
            run.rng,
            run.progress,
        )
    };
    let bucket: &ChooseBucket<'_> = &|_| Ok(BucketTarget::Grow(1024));
    Build::new(options)
        .prepared_by(&Preparation { bucket, prepare })
        .run(&mut Run::new(&mut rng(seed), &NoProgress))
}

fn words(folder: &Path) -> BuildOptions {
    let row = |i: usize| format!("word-{i},{}\n", "x".repeat(i % 300));
    let text = std::iter::once("word,value\n".to_owned())
        .chain((0..20_000).map(row))
        .collect::<String>();
    let source = source(folder, "words.csv", text);
    BuildOptions {
        scheme: "inspire".to_owned(),
        key: Some("word".to_owned()),
        values: vec!["value".to_owned()],
        ..BuildOptions::new(&source, source.with_extension("papir"))
    }
}

/// Names of the files in a folder.
fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn tasks_prepare_databases_of_every_kind() {
    let folder = large_folder();
    let keyed = words(folder.path());
    let runner = Arc::new(Threads::default());
    let report = build_narrow(&by_tasks(&keyed, 3, &runner), 1).unwrap();
    assert_eq!(report.metadata.source.entries, 20_000);
    let tasks = runner.seen.lock().unwrap()[0].clone();
    assert!(tasks.encode == 2 && tasks.prepare >= 3, "{tasks:?}");
    let snapshot = Snapshot::open(&keyed.out).unwrap();
    assert_eq!(by_key(&snapshot, "word-12299").unwrap(), b"x".repeat(299));
    assert_eq!(by_key(&snapshot, "word-20000"), None);

    let raw = source(
        folder.path(),
        "raw.bin",
        (0..6000u32)
            .flat_map(|i| [i as u8; 500])
            .collect::<Vec<_>>(),
    );
    let raw = BuildOptions {
        record_bytes: Some(500),
        ..BuildOptions::new(&raw, raw.with_extension("papir"))
    };
    build_narrow(&by_tasks(&raw, 2, &runner), 2).unwrap();
    assert_eq!(
        by_index(&Snapshot::open(&raw.out).unwrap(), 5999),
        [111; 500]
    );

    let values: String = std::iter::once("value\n".to_owned())
        .chain((0..3000).map(|i| format!("{}\n", "y".repeat(1 + i % 700))))
        .collect();
    let values = source(folder.path(), "values.csv", values);
    let padded = BuildOptions {
        values: vec!["value".to_owned()],
        ..BuildOptions::new(&values, values.with_extension("papir"))
    };
    build_narrow(&by_tasks(&padded, 2, &runner), 3).unwrap();
    assert!(by_index(&Snapshot::open(&padded.out).unwrap(), 699).starts_with(&b"y".repeat(700)));
    let expected = [
        "raw.bin",
        "raw.papir",
        "values.csv",
        "values.papir",
        "words.csv",
        "words.papir",
    ];
    assert_eq!(files(folder.path()), expected, "nothing else is left");
}

/// A build whose rows tasks read.
fn read_by_tasks(folder: &Path, runner: &Arc<Threads>) -> BuildOptions {
    let given = Some(Given::new(PartRows(None)));
    let options = BuildOptions {
        given,
        ..BuildOptions::new("words", folder.join("words.papir"))
    };
    let options = by_tasks(&options, 2, runner);
    let tasks = options.tasks.map(|tasks| TaskOptions {
        read_rows: true,
        ..tasks
    });
    BuildOptions {
        tasks,
        key: Some("word".to_owned()),
        values: vec!["value".to_owned()],
        ..options
    }
}

#[test]
fn tasks_read_the_rows_too() {
    let folder = large_folder();
    let options = read_by_tasks(folder.path(), &Arc::default());
    let metadata = build_narrow(&options, 1).unwrap().metadata;
    let words = 0..PARTS * PART_ROWS;
    let bytes: usize = words
        .clone()
        .map(|i| format!("word-{i}").len() + i % 300)
        .sum();
    assert_eq!(
        (metadata.source.entries, metadata.source.bytes),
        (words.len() as u64, bytes as u64)
    );
    let snapshot = Snapshot::open(&options.out).unwrap();
    for i in [0, PART_ROWS - 1, PART_ROWS, words.end - 1] {
        assert_eq!(
            by_key(&snapshot, format!("word-{i}")).unwrap(),
            b"x".repeat(i % 300),
            "word-{i}"
        );
    }
    assert_eq!(by_key(&snapshot, format!("word-{}", words.end)), None);
    assert_eq!(
        files(folder.path()),
        ["words.papir"],
        "nothing else is left"
    );
}

#[test]
fn duplicates_in_two_parts_are_named_by_row() {
    let folder = large_folder();
    let options = read_by_tasks(
        folder.path(),
        &Arc::new(Threads {
            names_twice: true,
            ..Threads::default()
        }),
    );
    let error = build_narrow(&options, 1).unwrap_err();
    let text = error.to_string();
    let Error::RepeatedKey { first, row, .. } = error else {
        panic!("{text}")
    };
    assert_eq!(row - first, (PARTS * PART_ROWS) as u64, "{text}");
}

#[test]
fn a_build_continues_with_the_tasks_that_are_missing() {
    let folder = large_folder();
    let options = words(folder.path());
    let failing = Arc::new(Threads {
        fails_at: Some(1),
        ..Threads::default()
    });
    let error = build_narrow(&by_tasks(&options, 3, &failing), 1).unwrap_err();
    assert!(error.to_string().contains("a lost machine"), "{error}");
    let tasks = failing.seen.lock().unwrap()[0].clone();
    let kept = files(&tasks.folder);
    assert!(
        kept.contains(&"slices-0-of-3".to_owned()) && !kept.contains(&"slices-1-of-3".to_owned()),
        "{kept:?}"
    );
    let again = Arc::new(Threads::default());
    build_narrow(&by_tasks(&options, 3, &again), 9).unwrap();
    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(by_key(&snapshot, "word-12299").unwrap(), b"x".repeat(299));
    assert!(!tasks.folder.exists());

    // With other numbers of tasks, nothing of the interrupted build is taken for a part of this one.
    build_narrow(&by_tasks(&options, 3, &failing), 1).unwrap_err();
    build_narrow(&by_tasks(&options, 4, &again), 9).unwrap();
    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(by_key(&snapshot, "word-12299").unwrap(), b"x".repeat(299));
}

#[test]
fn damaged_files_of_tasks_are_made_again() {
    let folder = large_folder();
    let options = words(folder.path());
    let failing = Arc::new(Threads {
        fails_at: Some(1),
        ..Threads::default()
    });
    let again = Arc::new(Threads::default());

    // Encoded columns, the file that ends a task, and one of its pieces.
    for damaged in [
        "columns-0-of-2",
        "slices-0-of-3",
        "inspire-database.slices-0-of-3",
    ] {
        build_narrow(&by_tasks(&options, 3, &failing), 1).unwrap_err();
        let tasks = failing.seen.lock().unwrap()[0].clone();
        let path = tasks.folder.join(damaged);
        assert!(path.exists(), "{damaged}: {:?}", files(&tasks.folder));
        if damaged.starts_with("inspire") {
            fs::remove_file(&path).unwrap();
        } else {
            fs::write(&path, b"?").unwrap();
        }

        build_narrow(&by_tasks(&options, 3, &again), 9).unwrap();
        let snapshot = Snapshot::open(&options.out).unwrap();
        assert_eq!(by_key(&snapshot, "word-12299").unwrap(), b"x".repeat(299));
        assert!(!tasks.folder.exists());
    }
}

/// Ends a build where its records are encoded.
struct EndsAtEncoding;

impl Progress for EndsAtEncoding {
    fn stage(&self, name: &str, _total: u64) {
        if name == "encode" {
            resume_unwind(Box::new(()));
        }
    }

    fn advance(&self, _steps: u64) {}
}

#[test]
fn a_build_without_tasks_continues_none_with_tasks() {
    let folder = large_folder();
    let options = words(folder.path());
    let failing = Arc::new(Threads {
        fails_at: Some(1),
        ..Threads::default()
    });
    build_narrow(&by_tasks(&options, 3, &failing), 1).unwrap_err();
    let beside = failing.seen.lock().unwrap()[0].folder.clone();
    assert!(files(&beside).contains(&"slices-0-of-3".to_owned()));
    // Its parts would have other random bytes.
    let alone = BuildOptions {
        memory: Some(least_memory()),
        ..options
    };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        Build::new(&alone)
            .run(&mut Run::new(&mut rng(1), &EndsAtEncoding))
            .map(drop)
    }));
    assert!(ended.is_err());
    let kept = files(&beside);
    assert!(
        kept.contains(&"buckets".to_owned()) && !kept.iter().any(|name| name.contains("of-3")),
        "{kept:?}"
    );
}

#[test]
fn tasks_are_refused_where_they_could_not_prepare() {
    let folder = large_folder();
    let options = words(folder.path());
    let runner = Arc::new(Threads::default());
    let refused = |options: BuildOptions, part: &str| {
        let error = Build::new(&options)
            .run(&mut Run::new(&mut rng(1), &NoProgress))
            .unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        error
    };
    let tasks = by_tasks(&options, 3, &runner);
    refused(
        BuildOptions {
            memory: None,
            ..tasks.clone()
        },
        "tasks without a limit of memory",
    );
    refused(
        BuildOptions {
            verifiable: true,
            ..tasks.clone()
        },
        "tasks for a verifiable database",
    );
    let error = refused(
        BuildOptions {
            scheme: "inspire2".to_owned(),
            ..tasks
        },
        "tasks for inspire2",
    );
    assert!(matches!(error, Error::Options { .. }));
    refused(by_tasks(&options, 100_000, &runner), "the number of shards");
    let keyless = BuildOptions {
        key: None,
        ..read_by_tasks(folder.path(), &runner)
    };
    refused(
        keyless,
        "rows that tasks read: expected rows of a program, with a key column, none",
    );
    let skipping = BuildOptions {
        skip_bad: 1,
        ..read_by_tasks(folder.path(), &runner)
    };
    refused(skipping, "rows that tasks read");
    let missing = BuildOptions {
        key: Some("key".to_owned()),
        ..read_by_tasks(folder.path(), &runner)
    };
    let error = build_narrow(&missing, 1).unwrap_err();
    assert!(matches!(error, Error::MissingColumn { .. }), "{error}");
    assert!(runner.seen.lock().unwrap().is_empty());
}
