//! Outputs: no input and nothing of others is replaced, and links stand for their files.

use std::fs;
use std::path::Path;

use papir_core::{NoProgress, Run};
use papir_store::psi::{PsiOptions, prepare};
use papir_store::{
    BuildOptions, Delta, Error, OpenOptions, Snapshot, UpdateOptions, delta_file, update,
    update_delta, versions,
};

use crate::common::{Served, by_key, folder, fresh, keyed, options, run, source};

/// A build of a few words, with its output beside the source.
fn words(folder: &Path) -> BuildOptions {
    let csv = source(folder, "words.csv", "word,meaning\napple,a fruit\n");
    keyed(&csv, "word", &["meaning"])
}

fn refused<T: std::fmt::Debug>(result: Result<T, Error>, reason: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), "options", "{error}");
    assert!(error.to_string().contains(reason), "{error}");
}

#[test]
fn an_input_is_never_replaced() {
    let folder = folder();
    let build = words(folder.path());
    run(&build).unwrap();

    let before = fs::read(&build.source).unwrap();
    for force in [false, true] {
        let over = BuildOptions {
            out: build.source.clone(),
            force,
            ..build.clone()
        };
        refused(run(&over), "which is an input, too");

        let set = PsiOptions {
            force,
            ..PsiOptions::new(&build.source, &build.source)
        };
        refused(
            prepare(&set, &mut Run::new(&mut fresh(), &NoProgress)),
            "which is an input, too",
        );

        let changes = UpdateOptions {
            out: Some(build.source.clone()),
            force,
            ..UpdateOptions::new(&build.out, &build.source)
        };
        refused(
            update(&changes, &mut Run::new(&mut fresh(), &NoProgress)),
            "which is an input, too",
        );
    }
    assert_eq!(fs::read(&build.source).unwrap(), before);
}

#[cfg(feature = "sqlite")]
#[test]
fn a_database_of_sqlite_is_never_replaced_by_its_build() {
    let folder = folder();
    let database = source(folder.path(), "shop.db", "");
    let build = BuildOptions {
        out: database.clone(),
        ..keyed(&database, "k", &["v"])
    };

    refused(run(&build), "which is an input, too");
    assert!(database.exists());
    assert!(!folder.path().join("shop.db.papir-partial").exists());
}

#[test]
fn a_file_of_another_program_is_replaced_by_force_only() {
    let folder = folder();
    let build = words(folder.path());
    fs::write(&build.out, "precious").unwrap();
    refused(run(&build), "papir did not write it");
    assert_eq!(fs::read(&build.out).unwrap(), b"precious");

    let forced = BuildOptions {
        force: true,
        ..build.clone()
    };
    run(&forced).unwrap();
    // Its own output needs no force.
    run(&build).unwrap();

    let precious = source(folder.path(), "notes.txt", "precious");
    let changes = source(folder.path(), "changes.csv", "word,meaning\npear,sweet\n");
    let elsewhere = UpdateOptions {
        out: Some(precious.clone()),
        ..UpdateOptions::new(&build.out, &changes)
    };
    refused(
        update(&elsewhere, &mut Run::new(&mut fresh(), &NoProgress)),
        "papir did not write it",
    );
    let set = PsiOptions::new(&changes, &precious);
    refused(
        prepare(&set, &mut Run::new(&mut fresh(), &NoProgress)),
        "papir did not write it",
    );
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
}

#[test]
fn an_output_in_the_folder_of_the_source_is_no_record() {
    let folder = folder();
    let pages = folder.path().join("pages");
    fs::create_dir_all(pages.join("deep")).unwrap();
    source(&pages, "one", "1");
    source(&pages, "deep/two", "2");
    // Named like what belongs to an output, but in another folder or of another name.
    source(&pages, "deep/db.papir", "3");
    source(&pages, ".other.papir.delta-lock", "4");

    let mut build = options(&pages);
    build.out = pages.join("db.papir");
    for _ in 0..3 {
        let report = run(&build).unwrap();
        assert_eq!(report.metadata.source.entries, 4);
    }

    let changes = source(folder.path(), "changes.csv", "path,page\none,first\n");
    let changes = UpdateOptions {
        key: Some("path".to_owned()),
        values: vec!["page".to_owned()],
        keep: Some(3),
        ..UpdateOptions::new(&build.out, &changes)
    };
    update(&changes, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    update_delta(
        &UpdateOptions {
            keep: None,
            ..changes
        },
        None,
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    assert!(fs::read_dir(&pages).unwrap().count() > 4);
    assert_eq!(run(&build).unwrap().metadata.source.entries, 4);
}

#[cfg(unix)]
#[test]
fn an_output_that_is_no_regular_file_is_refused() {
    use std::os::unix::fs::FileTypeExt;
    use std::process::Command;

    let folder = folder();
    let build = words(folder.path());
    let fifo = folder.path().join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );

    let through = folder.path().join("link");
    std::os::unix::fs::symlink(&fifo, &through).unwrap();
    for out in [&fifo, &through] {
        let special = BuildOptions {
            out: out.clone(),
            force: true,
            ..build.clone()
        };
        refused(run(&special), "a device, a pipe or a socket");
    }
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
    refused(
        run(&BuildOptions {
            out: folder.path().to_owned(),
            ..build
        }),
        "a folder",
    );
}

#[cfg(unix)]
#[test]
fn a_link_and_its_file_have_one_delta_and_the_same_versions() {
    use std::os::unix::fs::symlink;

    let outside = folder();
    let folder = folder();
    let build = words(folder.path());
    run(&build).unwrap();
    let link = outside.path().join("current.papir");
    symlink(&build.out, &link).unwrap();

    // By the link, and then by the file.
    let version = Snapshot::open(&link).unwrap().server.version();
    for (file, word) in [(&link, "pear"), (&build.out, "plum")] {
        let text = format!("word,meaning\n{word},sweet\n");
        let changes = source(folder.path(), "changes.csv", text);
        let changes = UpdateOptions::new(file, &changes);
        update_delta(&changes, None, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    }
    let expected = delta_file(&fs::canonicalize(&build.out).unwrap(), version).unwrap();
    assert_eq!(delta_file(&link, version).unwrap(), expected);
    for file in [&link, &build.out] {
        let served = Served::open(file);
        assert!(served.word("pear").is_some() && served.word("plum").is_some());
    }

    // An update in place keeps the link, and replaced versions are beside the file.
    fs::remove_file(&expected).unwrap();
    let changes = source(folder.path(), "changes.csv", "word,meaning\nfig,soft\n");
    let changes = UpdateOptions {
        keep: Some(2),
        ..UpdateOptions::new(&link, &changes)
    };
    update(&changes, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    let kept = versions(&build.out).unwrap();
    assert_eq!(kept.len(), 2);
    assert!(!fs::symlink_metadata(&kept[1].path).unwrap().is_symlink());
    assert_eq!(versions(&link).unwrap().len(), 2);

    let snapshot = Snapshot::open(&build.out).unwrap();
    assert_eq!(by_key(&snapshot, "fig").unwrap(), b"soft");
    let none = Delta::of(&link, snapshot.server.version(), &OpenOptions::default());
    assert!(none.unwrap().is_none());

    // A build by the link replaces the file, too, and finds the source by any name.
    let by_link = BuildOptions {
        out: link.clone(),
        ..build.clone()
    };
    run(&by_link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    fs::remove_file(&link).unwrap();
    symlink(&build.source, &link).unwrap();
    refused(run(&by_link), "the same file as the input");
}
