//! Builds with a limit of memory: the bytes of a build in memory, and continuation after a kill.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{by_index, by_key, folder, options, rng, sections, source};
use chacha20::ChaCha20Rng;
use papir_core::{NoProgress, Progress, Run};
use papir_lookup::{BucketTarget, OnDuplicate};
use papir_schemes::default_scheme::DEFAULT;
use papir_schemes::registry;
use papir_store::{Build, BuildOptions, BuildReport, Error, Snapshot, least_memory};
use rand_core::{Rng, SeedableRng};

/// A set of words with values of different lengths.
fn words(rows: usize) -> String {
    let row = |i: usize| format!("word-{i},{}\n", "x".repeat(i % 37));
    std::iter::once("word,value\n".to_owned())
        .chain((0..rows).map(row))
        .collect()
}

/// Options of a keyed build under `inspire`.
fn words_options(source: &Path) -> BuildOptions {
    BuildOptions {
        scheme: "inspire".to_owned(),
        key: Some("word".to_owned()),
        values: vec!["value".to_owned()],
        ..BuildOptions::new(source, source.with_extension("papir"))
    }
}

fn bounded(options: &BuildOptions) -> Result<BuildReport, Error> {
    let options = BuildOptions {
        memory: Some(least_memory()),
        ..options.clone()
    };
    Build::new(&options).run(&mut Run::new(&mut rng(5), &NoProgress))
}

/// Builds in memory with the random bytes of [`bounded`].
fn in_memory(options: &BuildOptions) -> Result<BuildReport, Error> {
    let mut seed = [0; 32];
    rng(5).fill_bytes(&mut seed);
    Build::new(options).run(&mut Run::new(
        &mut ChaCha20Rng::from_seed(seed),
        &NoProgress,
    ))
}

fn folder_of(options: &BuildOptions) -> PathBuf {
    let name = options.out.file_name().unwrap().to_str().unwrap();
    options.out.with_file_name(format!(".{name}.papir-build"))
}

/// Compares both builds, and checks that nothing is left beside the snapshot.
fn compare(options: &BuildOptions) {
    let expected = in_memory(options).unwrap();
    let of_memory = sections(&options.out);
    fs::remove_file(&options.out).unwrap();
    let found = bounded(options).unwrap();
    assert!(sections(&options.out) == of_memory);
    assert_eq!(
        (found.table, found.skipped.len()),
        (expected.table, expected.skipped.len())
    );
    assert_eq!(
        found.metadata.source.entries,
        expected.metadata.source.entries
    );
    assert_eq!(found.metadata.keyword, expected.metadata.keyword);
    assert_eq!(found.prefilter, expected.prefilter);
    assert!(!folder_of(options).exists());
}

#[test]
fn keyed_databases_have_the_bytes_of_a_build_in_memory() {
    let folder = folder();
    let source = source(folder.path(), "words.csv", words(20_000));
    let plain = words_options(&source);
    compare(&plain);
    let snapshot = Snapshot::open(&plain.out).unwrap();
    assert_eq!(by_key(&snapshot, "word-40").unwrap(), b"xxx");
    assert_eq!(by_key(&snapshot, "word-20000"), None);
    compare(&BuildOptions {
        verifiable: true,
        room: 20,
        ..words_options(&source)
    });
    compare(&BuildOptions {
        prefilter: Some(12),
        ..words_options(&source)
    });
    compare(&BuildOptions {
        scheme: "inspire2".to_owned(),
        ..words_options(&source)
    });
    compare(&BuildOptions {
        bucket: Some(BucketTarget::AtMost(64)),
        ..words_options(&source)
    });
}

#[test]
fn values_above_64_kib_have_the_bytes_of_a_build_in_memory() {
    let folder = folder();
    let lengths = [65_535, 65_536, 65_537, 262_144];
    let rows = lengths.map(|length| format!("word-{length},{}\n", "x".repeat(length)));
    let text = format!("word,value\n{}", rows.concat());
    let source = source(folder.path(), "words.csv", text);
    let options = BuildOptions {
        verifiable: true,
        ..words_options(&source)
    };
    compare(&options);

    let snapshot = Snapshot::open(&options.out).unwrap();
    for length in lengths {
        let value = by_key(&snapshot, format!("word-{length}")).unwrap();
        assert!(value == "x".repeat(length).into_bytes(), "{length}");
    }
}

#[test]
fn duplicates_and_bad_rows_are_handled_alike() {
    let folder = folder();
    let text = format!("{}word-7,last\nbad\nword-3,last\n", words(500));
    let source = source(folder.path(), "words.csv", text);
    let options = BuildOptions {
        skip_bad: 1,
        ..words_options(&source)
    };
    for rule in [OnDuplicate::First, OnDuplicate::Last] {
        compare(&BuildOptions {
            on_duplicate: rule,
            ..options.clone()
        });
    }
    for options in [options, words_options(&source)] {
        fs::remove_file(&options.out).unwrap_or_default();
        let expected = in_memory(&options).unwrap_err().to_string();
        assert_eq!(bounded(&options).unwrap_err().to_string(), expected);
        assert!(!options.out.exists() && !folder_of(&options).exists());
    }
}

#[test]
fn records_by_number_have_the_bytes_of_a_build_in_memory() {
    let folder = folder();
    let csv = source(folder.path(), "words.csv", words(3000));
    let by_number = BuildOptions {
        key: None,
        ..words_options(&csv)
    };
    compare(&by_number);
    assert_eq!(
        by_index(&Snapshot::open(&by_number.out).unwrap(), 40)[..4],
        *b"xxx\0"
    );
    compare(&BuildOptions {
        record_bytes: Some(64),
        ..by_number
    });
    let records: Vec<u8> = (0..50_000u32).map(|i| ((i * i) >> 7) as u8).collect();
    let raw = source(folder.path(), "records.bin", &records);
    compare(&BuildOptions {
        scheme: "inspire".to_owned(),
        record_bytes: Some(50),
        ..BuildOptions::new(&raw, raw.with_extension("papir"))
    });
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&records).unwrap();
    let packed = source(folder.path(), "packed.gz", packed.finish().unwrap());
    compare(&BuildOptions {
        scheme: "inspire".to_owned(),
        record_bytes: Some(50),
        ..BuildOptions::new(&packed, raw.with_extension("papir"))
    });
}

#[test]
fn several_files_have_the_bytes_of_a_build_in_memory() {
    let folder = folder();
    let first = source(folder.path(), "a.csv", words(300));
    let with = |more: &Path| BuildOptions {
        more: vec![more.to_owned()],
        ..words_options(&first)
    };
    let more = source(folder.path(), "b.csv", "value,word\nx,last\n");
    compare(&with(&more));

    let twice = source(folder.path(), "c.csv", "word,value\nx,\nword-7,\n");
    for build in [bounded, in_memory] {
        let error = build(&with(&twice)).unwrap_err();
        assert_eq!(error.code(), "duplicate_key");
        let error = error.to_string();
        for part in [
            "c.csv, line 3: the key `word-7` was already in ",
            "a.csv, line 9: expected each key once",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }
}

#[test]
fn limits_that_would_not_hold_are_refused() {
    let folder = folder();
    let source = source(folder.path(), "words.csv", words(10));
    let refused = |options: BuildOptions| bounded(&options).unwrap_err().to_string();
    let few = BuildOptions {
        memory: Some(least_memory() - 1),
        ..words_options(&source)
    };
    let error = Build::new(&few)
        .run(&mut Run::new(&mut rng(1), &NoProgress))
        .unwrap_err()
        .to_string();
    let least = format!(
        "the number of bytes of memory is {}: expected at least",
        least_memory() - 1
    );
    assert!(error.starts_with(&least), "{error}");
    let of_scheme = refused(BuildOptions {
        scheme: "simple".to_owned(),
        ..words_options(&source)
    });
    let expected = "inspire or inspire2, without batches or tables";
    assert_eq!(
        of_scheme,
        format!("simple with a limit of memory: expected {expected}")
    );
    let of_batch = refused(BuildOptions {
        batch: Some(16),
        ..words_options(&source)
    });
    assert_eq!(
        of_batch,
        format!("batches with a limit of memory: expected {expected}")
    );
    assert_eq!(refused(options(&source)), refused(options(&source)));
}

/// Without a scheme, a limit of memory leaves those schemes that keep it.
#[test]
fn a_scheme_is_chosen_among_those_that_keep_the_limit() {
    let folder = folder();
    let source = source(folder.path(), "words.csv", words(2000));
    let unnamed = BuildOptions {
        scheme: DEFAULT.to_owned(),
        ..words_options(&source)
    };

    let report = bounded(&unnamed).unwrap();
    let scheme = registry::by_name(report.description.scheme).unwrap();
    assert!(scheme.properties().bounded_memory, "{}", scheme.name());
    let reason = report.chosen.unwrap();
    assert!(reason.starts_with(scheme.name()), "{reason}");
    assert_eq!(report.metadata.clients_may_see.as_deref(), Some("records"));
    let snapshot = Snapshot::open(&unnamed.out).unwrap();
    assert_eq!(by_key(&snapshot, "word-40").unwrap(), b"xxx");

    fs::remove_file(&unnamed.out).unwrap();
    let named = bounded(&words_options(&source)).unwrap();
    assert_eq!((named.chosen, named.metadata.clients_may_see), (None, None));
}

#[test]
fn one_build_of_a_file_at_a_time() {
    let folder = folder();
    let source = source(folder.path(), "words.csv", words(10));
    let options = words_options(&source);
    let mut private = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    private.create(folder_of(&options)).unwrap();
    let lock = fs::File::create(folder_of(&options).join("lock")).unwrap();
    lock.lock().unwrap();
    let error = bounded(&options).unwrap_err().to_string();
    assert!(error.contains("another build of"), "{error}");
    drop(lock);
    assert!(bounded(&options).is_ok());
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_folder_is_not_followed() {
    let folder = folder();
    let source = source(folder.path(), "words.csv", words(10));
    let options = words_options(&source);
    let precious = folder.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("text"), "precious").unwrap();
    std::os::unix::fs::symlink(&precious, folder_of(&options)).unwrap();

    let error = bounded(&options).unwrap_err().to_string();
    assert!(
        error.contains("the folder of the build, no folder"),
        "{error}"
    );
    let names = fs::read_dir(&precious).unwrap();
    assert_eq!(names.count(), 1, "nothing was written or removed there");
    assert!(precious.join("text").exists() && !options.out.exists());
}

/// Environment variables of the process to be killed: its source, and the stage at which it ends.
const SOURCE: &str = "PAPIR_STORE_TEST_KILLED_BOUNDED";
const STAGE: &str = "PAPIR_STORE_TEST_KILLED_STAGE";

/// Records all stages, and ends the process at one of them.
#[derive(Default)]
struct Stages {
    last: Option<String>,
    seen: Mutex<Vec<String>>,
    notices: Mutex<Vec<String>>,
}

impl Progress for Stages {
    fn stage(&self, name: &str, _total: u64) {
        if self.last.as_deref() == Some(name) {
            std::process::abort();
        }
        self.seen.lock().unwrap().push(name.to_owned());
    }

    fn advance(&self, _steps: u64) {}

    fn notice(&self, line: &str) {
        self.notices.lock().unwrap().push(line.to_owned());
    }
}

fn observed(options: &BuildOptions, last: Option<String>, seed: u8) -> Vec<String> {
    let stages = Stages {
        last,
        ..Stages::default()
    };
    build_with(options, &stages, seed);
    stages.seen.into_inner().unwrap()
}

fn build_with(options: &BuildOptions, stages: &Stages, seed: u8) {
    let options = BuildOptions {
        memory: Some(least_memory()),
        ..options.clone()
    };
    Build::new(&options)
        .run(&mut Run::new(&mut rng(seed), stages))
        .unwrap();
}

fn kill_at(source: &Path, stage: &str) {
    let killed = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "bounded::a_killed_build_continues_with_the_first_missing_part",
        ])
        .envs([(SOURCE, source.as_os_str()), (STAGE, stage.as_ref())])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(!killed.unwrap().success(), "{stage}");
}

#[test]
fn a_killed_build_continues_with_the_first_missing_part() {
    if let Some(source) = std::env::var_os(SOURCE) {
        observed(
            &words_options(Path::new(&source)),
            std::env::var(STAGE).ok(),
            5,
        );
        return;
    }
    let folder = folder();
    let source = source(folder.path(), "words.csv", words(5000));
    let options = words_options(&source);
    in_memory(&options).unwrap();
    let expected = sections(&options.out);
    let all = observed(&options, None, 5);
    assert!(sections(&options.out) == expected);
    for (stage, first) in [
        ("reading", "reading"),
        ("placing keys", "reading"),
        ("filling buckets", "reading"),
        ("encode", "encode"),
        ("pack", "pack"),
        ("writing", "pack"),
    ] {
        fs::remove_file(&options.out).unwrap();
        kill_at(&source, stage);
        assert!(
            !options.out.exists() && folder_of(&options).exists(),
            "{stage}"
        );
        // The random bytes are those of the killed build, whatever the next one draws.
        let seen = observed(&options, None, 6);
        let skipped = all.iter().position(|stage| stage == first).unwrap();
        assert_eq!(seen, all[skipped..], "{stage}");
        assert!(sections(&options.out) == expected, "{stage}");
        assert!(!folder_of(&options).exists(), "{stage}");
    }
}

/// Names of the finished parts in the folder of a build.
fn parts(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let is_other = name == "lock" || name == "build.json";
        if !is_other && !name.ends_with(".unfinished") && !name.ends_with(".runs") {
            names.push(name);
        }
    }
    names
}

/// The sections of the snapshot that a build in memory makes. The snapshot is removed.
fn sections_in_memory(options: &BuildOptions) -> Vec<u8> {
    in_memory(options).unwrap();
    let expected = sections(&options.out);
    fs::remove_file(&options.out).unwrap();
    expected
}

#[test]
fn each_damaged_part_is_reported_and_made_again() {
    let folder = folder();
    let source = source(folder.path(), "words.csv", words(5000));
    let options = words_options(&source);
    let expected = sections_in_memory(&options);

    kill_at(&source, "pack");
    let names = parts(&folder_of(&options));
    let database = names.iter().filter(|name| name.ends_with("database"));
    assert_eq!(database.count(), 1, "{names:?}");
    assert!(names.contains(&"content".to_owned()), "{names:?}");

    for name in names {
        kill_at(&source, "pack");
        fs::write(folder_of(&options).join(&name), b"?").unwrap();

        let stages = Stages::default();
        build_with(&options, &stages, 6);
        let notices = stages.notices.into_inner().unwrap();
        assert_eq!(notices.len(), 1, "{name}: {notices:?}");
        let notice = notices[0].replace('/', "-");
        assert!(notice.starts_with(&format!("the part {name} ")), "{notice}");

        assert!(sections(&options.out) == expected, "{name}");
        assert!(!folder_of(&options).exists(), "{name}");
        fs::remove_file(&options.out).unwrap();
    }
}

#[test]
fn records_are_removed_before_the_snapshot_is_written() {
    let folder = folder();
    let source = source(folder.path(), "words.csv", words(5000));
    let options = words_options(&source);
    let expected = sections_in_memory(&options);

    kill_at(&source, "writing");
    let names = parts(&folder_of(&options));
    assert!(!names.contains(&"buckets".to_owned()), "{names:?}");

    // The matrix is made of them: it cannot be made again without the source.
    let database = names.iter().find(|name| name.ends_with("database"));
    fs::write(folder_of(&options).join(database.unwrap()), b"?").unwrap();
    let error = bounded(&options).unwrap_err().to_string();
    assert!(error.contains("run once more"), "{error}");

    let again = observed(&options, None, 6);
    assert_eq!(again[0], "reading");
    assert!(sections(&options.out) == expected);
    assert!(!folder_of(&options).exists());
}

/// The most bytes of the files in a folder and its folders, seen at each progress event. Runs have
/// holes and are left out.
struct Disk<'a> {
    folder: &'a Path,
    most: AtomicU64,
}

impl Disk<'_> {
    fn look(&self) {
        self.most
            .fetch_max(bytes_in(self.folder), Ordering::Relaxed);
    }
}

impl Progress for Disk<'_> {
    fn stage(&self, _name: &str, _total: u64) {
        self.look();
    }

    fn advance(&self, _steps: u64) {
        self.look();
    }
}

/// The bytes of all files but runs. Files that are removed meanwhile have none.
fn bytes_in(folder: &Path) -> u64 {
    let Ok(files) = fs::read_dir(folder) else {
        return 0;
    };
    let mut bytes = 0;
    for file in files.flatten() {
        let path = file.path();
        if path.is_dir() {
            bytes += bytes_in(&path);
        } else if path.extension().is_none_or(|end| end != "runs") {
            bytes += file.metadata().map_or(0, |found| found.len());
        }
    }
    bytes
}

#[test]
fn scratch_and_snapshot_take_at_most_twice_the_snapshot() {
    let sources = folder();
    let path = source(sources.path(), "words.csv", words(20_000));
    for verifiable in [false, true] {
        let out = folder();
        let options = BuildOptions {
            memory: Some(least_memory()),
            out: out.path().join("words.papir"),
            verifiable,
            ..words_options(&path)
        };
        let disk = Disk {
            folder: out.path(),
            most: AtomicU64::new(0),
        };
        let report = Build::new(&options)
            .run(&mut Run::new(&mut rng(5), &disk))
            .unwrap();

        let most = disk.most.into_inner();
        let file = report.snapshot_bytes;
        assert!(most > file, "{most} bytes were seen");
        assert!(
            most <= 2 * file + (64 << 10),
            "{most} bytes, {file} in the file"
        );
    }
}

/// Builds, and returns the names in a folder at the first progress event.
fn names_at_start(options: &BuildOptions, folder: &Path) -> Vec<String> {
    let first = FirstNames {
        folder,
        names: Mutex::default(),
    };
    Build::new(options)
        .run(&mut Run::new(&mut rng(5), &first))
        .unwrap();
    first.names.into_inner().unwrap()
}

/// Notes the names in a folder at the first progress event.
struct FirstNames<'a> {
    folder: &'a Path,
    names: Mutex<Vec<String>>,
}

impl Progress for FirstNames<'_> {
    fn stage(&self, _name: &str, _total: u64) {
        let mut names = self.names.lock().unwrap();
        if names.is_empty() {
            let files = fs::read_dir(self.folder).unwrap();
            names.extend(files.map(|file| file.unwrap().file_name().into_string().unwrap()));
        }
    }

    fn advance(&self, _steps: u64) {}
}

#[test]
fn scratch_files_may_be_in_another_folder() {
    let folder = folder();
    let path = source(folder.path(), "words.csv", words(500));
    let scratch = folder.path().join("disk/scratch");
    let mut seen = Vec::new();
    for place in ["a", "b"] {
        let options = BuildOptions {
            memory: Some(least_memory()),
            out: folder.path().join(place).join("words.papir"),
            scratch: Some(scratch.clone()),
            ..words_options(&path)
        };
        let names = names_at_start(&options, &scratch);
        assert!(
            names.len() == 1 && names[0].starts_with(".words.papir."),
            "{names:?}"
        );
        seen.extend(names);

        let beside = fs::read_dir(folder.path().join(place)).unwrap();
        assert_eq!(beside.count(), 1, "the snapshot");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
    }
    // Two builds of one name may run at once.
    assert_ne!(seen[0], seen[1]);
}

#[test]
fn scratch_files_are_no_records_and_need_a_limit_of_memory() {
    let sources = folder();
    let outside = folder();
    source(sources.path(), "page", "text");
    let options = BuildOptions {
        scratch: Some(sources.path().join("scratch")),
        ..BuildOptions::new(sources.path(), outside.path().join("pages.papir"))
    };
    let error = bounded(&options).unwrap_err().to_string();
    assert!(error.contains("in the source"), "{error}");

    let error = in_memory(&options).unwrap_err().to_string();
    assert_eq!(
        error,
        "a folder for scratch files: expected tables to keep there, or a limit of memory"
    );
}

#[test]
fn parts_of_another_source_or_of_other_options_are_not_used() {
    let folder = folder();
    let path = source(folder.path(), "words.csv", words(5000));
    let options = words_options(&path);
    let all = observed(&options, None, 5);
    kill_at(&path, "pack");
    let roomy = BuildOptions {
        room: 10,
        ..options.clone()
    };
    assert!(
        observed(&roomy, None, 6).starts_with(&all[..3]),
        "other options"
    );
    kill_at(&path, "pack");
    source(folder.path(), "words.csv", words(5001));
    assert_eq!(observed(&options, None, 6), all, "another source");
    assert_eq!(
        by_key(&Snapshot::open(&options.out).unwrap(), "word-5000").unwrap(),
        b"xxxxx"
    );
    // Damaged state counts as none.
    kill_at(&path, "pack");
    fs::write(folder_of(&options).join("build.json"), b"{").unwrap();
    assert_eq!(observed(&options, None, 7), all);
}
