//! Public parts that clients keep on disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::tap::{Tap, header};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Running, config, indexed, record};
use papir_client::Options;
use tempfile::TempDir;

over_both_transports! {
    a_public_part_is_fetched_once,
    a_new_version_or_a_damaged_copy_is_fetched,
    without_a_writable_folder_work_goes_on,
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
