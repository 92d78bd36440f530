//! Public parts that clients keep on disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::tap::{Tap, header};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Running, config, indexed, record, two_versions};
use papir_client::{Options, Patches};
use tempfile::TempDir;

over_both_transports! {
    a_public_part_is_fetched_once,
    a_new_version_or_a_damaged_copy_is_fetched,
    without_a_writable_folder_work_goes_on,
    an_update_costs_the_blocks_that_differ,
    a_copy_is_patched_as_the_options_say,
}

fn options(state: &Path) -> Options {
    Options {
        allow_not_private: true,
        state: Some(state.to_owned()),
        ..Options::default()
    }
}

fn start() -> (Running, Tap) {
    let server = Running::start(config(), vec![indexed("table", "simple", 3000)]);
    let tap = Tap::passing(server.address);
    (server, tap)
}

/// Opens a connection and looks up a record. Returns the bytes of the public part that it fetched,
/// and the version that it has offered to the service.
fn look_up<C: AnyConnection>(tap: &Tap, options: &Options) -> (u64, String) {
    tap.take();
    let mut connection = C::open_with(&tap.url(), options).unwrap();
    assert_eq!(connection.get_index(7).unwrap(), record(7));
    let heads = tap.take();
    let [public] = <[&String; 1]>::try_from(
        heads
            .iter()
            .filter(|head| head.contains("/public"))
            .collect::<Vec<_>>(),
    )
    .unwrap();
    (
        connection.costs().public_bytes,
        header(public, "if-none-match"),
    )
}

fn copy_in(state: &Path) -> PathBuf {
    let [file] = <[_; 1]>::try_from(
        fs::read_dir(state.join("public"))
            .unwrap()
            .collect::<Vec<_>>(),
    )
    .unwrap();
    file.unwrap().path()
}

fn a_public_part_is_fetched_once<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let (_server, tap) = start();
    let options = options(folder.path());
    let (bytes, offered) = look_up::<C>(&tap, &options);
    assert!(bytes > 16 << 10 && offered.is_empty(), "{bytes}");
    let (again, offered) = look_up::<C>(&tap, &options);
    let version = C::open_with(&tap.url(), &options)
        .unwrap()
        .info()
        .version
        .clone();
    assert_eq!((again, offered), (0, format!("\"{version}\"")));
    let without = Options {
        no_cache: true,
        ..options
    };
    assert_eq!(look_up::<C>(&tap, &without), (bytes, String::new()));
    assert!(copy_in(folder.path()).metadata().unwrap().len() >= bytes);
}

fn a_new_version_or_a_damaged_copy_is_fetched<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let (server, tap) = start();
    let options = options(folder.path());
    let (bytes, _) = look_up::<C>(&tap, &options);
    let first = fs::read(copy_in(folder.path())).unwrap();
    server
        .handle
        .replace(indexed("table", "simple", 3000))
        .unwrap();
    assert_eq!(
        look_up::<C>(&tap, &options),
        (bytes, String::new()),
        "the copy is of another version"
    );
    let path = copy_in(folder.path());
    let mut copy = fs::read(&path).unwrap();
    assert_ne!(copy, first);
    let middle = copy.len() / 2;
    copy[middle] ^= 1;
    fs::write(&path, &copy).unwrap();
    assert_eq!(
        look_up::<C>(&tap, &options),
        (bytes, String::new()),
        "the copy is damaged"
    );
    let (again, offered) = look_up::<C>(&tap, &options);
    assert!(again == 0 && !offered.is_empty(), "and was replaced");
}

fn without_a_writable_folder_work_goes_on<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let (_server, tap) = start();
    // A file in place of the folder.
    fs::write(folder.path().join("public"), []).unwrap();
    let options = options(folder.path());
    let (bytes, _) = look_up::<C>(&tap, &options);
    assert_eq!(look_up::<C>(&tap, &options), (bytes, String::new()));
}

/// The requests for public parts since the last call.
fn parts(tap: &Tap) -> Vec<&'static str> {
    let mut parts = Vec::new();
    for head in tap.take() {
        let line = head.lines().next().unwrap_or_default();
        if line.contains("/hashes ") {
            parts.push("hashes");
        } else if line.contains("/blocks/") {
            parts.push("blocks");
        } else if line.contains("/public") {
            parts.push("public");
        }
    }
    parts
}

fn an_update_costs_the_blocks_that_differ<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let options = options(folder.path());
    let [first, second] = two_versions("table");
    let server = Running::start(config(), vec![first]);
    let tap = Tap::passing(server.address);

    let mut connection = C::open_with(&tap.url(), &options).unwrap();
    assert_eq!(connection.get_index(0).unwrap(), record(0));
    assert_eq!(parts(&tap), ["public"]);
    let whole = connection.costs().public_bytes;

    // The session has the version of the copy, so that the service learns nothing from its blocks.
    server.handle.replace(second).unwrap();
    assert_eq!(connection.get_index(0).unwrap(), record(3000));
    assert_eq!(parts(&tap), ["hashes", "blocks"]);
    let patch = connection.costs().public_bytes - whole;
    assert!(patch < whole / 4, "{patch} bytes of {whole}");
    assert_eq!(connection.get_index(7).unwrap(), record(7));

    let (again, offered) = look_up::<C>(&tap, &options);
    assert!(
        again == 0 && !offered.is_empty(),
        "the patched copy is kept"
    );
}

fn a_copy_is_patched_as_the_options_say<C: AnyConnection>() {
    for (patches, expected) in [
        (Patches::Auto, &["public"][..]),
        (Patches::Never, &["public"][..]),
        (Patches::Always, &["hashes", "blocks"][..]),
    ] {
        let folder = TempDir::new().unwrap();
        let options = Options {
            patches,
            ..options(folder.path())
        };
        let [first, second] = two_versions("table");
        let server = Running::start(config(), vec![first]);
        let tap = Tap::passing(server.address);
        C::open_with(&tap.url(), &options).unwrap();
        server.handle.replace(second).unwrap();
        tap.take();

        // Another session of the same client.
        let mut connection = C::open_with(&tap.url(), &options).unwrap();
        assert_eq!(connection.get_index(0).unwrap(), record(3000));
        assert_eq!(parts(&tap), expected, "{patches:?}");
    }
}
