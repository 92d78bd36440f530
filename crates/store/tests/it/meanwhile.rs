//! Changes that are published while another version is prepared.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use papir_checkpoint::{Kind, SigningKey};
use papir_core::{NoProgress, Progress, Run};
use papir_store::{
    Build, BuildOptions, BuildReport, Earlier, Error, RollbackOptions, Sign, UpdateOptions,
    delta_bytes, rollback, sign, stored_log, update, update_delta,
};

use crate::common::{Meanwhile, Served, folder, fresh, keyed, rng, source};

fn signing() -> Sign {
    let key = SigningKey::generate(
        "example.org/owner".parse().unwrap(),
        Kind::Note,
        &mut rng(1),
    );
    Sign {
        time: Some(1_800_000_000),
        ..Sign::new(key)
    }
}

fn built(options: &BuildOptions, progress: &dyn Progress) -> Result<BuildReport, Error> {
    Build::new(options).run(&mut Run::new(&mut fresh(), progress))
}

/// Options of a database of words.
fn options(folder: &Path, sign: Option<Sign>) -> BuildOptions {
    let rows: String = (0..50).map(|i| format!("word {i},meaning {i}\n")).collect();
    let csv = source(folder, "words.csv", format!("word,meaning\n{rows}"));
    BuildOptions {
        room: 10,
        sign,
        ..keyed(&csv, "word", &["meaning"])
    }
}

fn words(folder: &Path, sign: Option<Sign>) -> PathBuf {
    let options = options(folder, sign);
    built(&options, &NoProgress).unwrap();
    options.out
}

/// The change of a word.
fn change(file: &Path, word: u8, sign: Option<Sign>) -> UpdateOptions {
    let text = format!("word,meaning\nword {word},new\n");
    let changes = source(file.parent().unwrap(), &format!("{word}.csv"), text);
    UpdateOptions {
        sign,
        keep: Some(1),
        ..UpdateOptions::new(file, changes)
    }
}

/// Publishes the change of a word beside the snapshot.
fn publish(file: &Path, word: u8, sign: Option<Sign>) {
    update_delta(
        &change(file, word, sign),
        None,
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap()
    .unwrap();
}

/// Checks that a word was changed, and that a signed database's log has this many leaves.
fn check(file: &Path, word: u8, leaves: usize, sign: &Option<Sign>) {
    assert_eq!(
        Served::open(file).word(&format!("word {word}")).as_deref(),
        Some("new")
    );
    let log = stored_log(file).unwrap();
    assert_eq!(
        log.map(|log| log.leaves().len()),
        sign.as_ref().map(|_| leaves)
    );
}

fn refused<T>(result: Result<T, Error>) {
    let error = result.map(drop).unwrap_err().to_string();
    assert!(
        error.contains("that was published meanwhile: expected none"),
        "{error}"
    );
}

#[test]
fn an_update_and_a_rollback_lose_no_delta() {
    for sign in [None, Some(signing())] {
        let folder = folder();
        let file = words(folder.path(), sign.clone());
        let first = change(&file, 1, sign.clone());
        update(&first, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
        let meanwhile = |word| {
            let file = &file;
            let sign = sign.clone();
            Meanwhile::at("writing", move || publish(file, word, sign))
        };
        refused(update(
            &change(&file, 2, sign.clone()),
            &mut Run::new(&mut fresh(), &meanwhile(3)),
        ));
        check(&file, 3, 3, &sign);
        // With a delta at the start, and another one meanwhile.
        let back = RollbackOptions {
            sign: sign.clone(),
            ..RollbackOptions::new(&file, Earlier::Newest)
        };
        refused(rollback(&back, &mut Run::new(&mut fresh(), &meanwhile(4))));
        check(&file, 4, 4, &sign);
        rollback(&back, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
        assert_eq!(
            Served::open(&file).word("word 1").as_deref(),
            Some("meaning 1")
        );
    }
}

#[test]
fn a_delta_waits_for_a_signature() {
    let folder = folder();
    let file = words(folder.path(), Some(signing()));
    let key = Some(signing());
    thread::scope(|threads| {
        let meanwhile = Meanwhile::at("opening", || {
            threads.spawn(|| publish(&file, 1, Some(signing())));
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(25));
                assert_eq!(delta_bytes(&file).unwrap(), 0, "published meanwhile");
            }
        });
        let leaf = sign(&file, &signing(), &mut Run::new(&mut fresh(), &meanwhile)).unwrap();
        assert_eq!(leaf.sequence, 1);
    });
    check(&file, 1, 3, &key);
}

#[test]
fn a_build_forks_no_log() {
    let folder = folder();
    let key = Some(signing());
    let options = options(folder.path(), key.clone());
    built(&options, &NoProgress).unwrap();
    let file = &options.out;
    let published = Meanwhile::at("writing", || publish(file, 1, Some(signing())));
    refused(built(&options, &published));
    check(file, 1, 2, &key);
    built(&options, &NoProgress).unwrap();
    let updated = Meanwhile::at("writing", || {
        update(
            &change(file, 2, Some(signing())),
            &mut Run::new(&mut fresh(), &NoProgress),
        )
        .unwrap();
    });
    refused(built(&options, &updated));
    check(file, 2, 4, &key);
}

#[test]
fn an_update_does_not_replace_a_build() {
    let folder = folder();
    let file = words(folder.path(), None);
    let other = source(folder.path(), "other.csv", "word,meaning\nword 9,new\n");
    let other = BuildOptions {
        out: file.clone(),
        ..keyed(&other, "word", &["meaning"])
    };
    let meanwhile = Meanwhile::at("writing", || drop(built(&other, &NoProgress).unwrap()));
    refused(update(
        &change(&file, 2, None),
        &mut Run::new(&mut fresh(), &meanwhile),
    ));
    check(&file, 9, 0, &None);
}

#[cfg(unix)]
#[test]
fn a_path_of_another_spelling_is_the_same_file() {
    let folder = folder();
    let file = words(folder.path(), None);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
    let out = Some(folder.path().join("link").join(file.file_name().unwrap()));
    let update_to = UpdateOptions {
        out,
        keep: None,
        ..change(&file, 2, None)
    };
    let meanwhile = Meanwhile::at("writing", || publish(&file, 3, None));
    refused(update(&update_to, &mut Run::new(&mut fresh(), &meanwhile)));
    check(&file, 3, 0, &None);
}

#[cfg(unix)]
#[test]
fn a_version_in_another_file_has_the_readers_of_the_first() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let file = words(folder.path(), None);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let out = folder.path().join("next.papir");
    let next = UpdateOptions {
        out: Some(out.clone()),
        keep: None,
        ..change(&file, 2, None)
    };
    update(&next, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    assert_eq!(
        std::fs::metadata(&out).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
