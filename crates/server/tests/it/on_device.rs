//! Databases whose matrices a device holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use papir_server::{Error, ServerConfig};
use papir_testkit::device::PlainDevice;
use tempfile::TempDir;

use crate::support::files::{build, build_with, serving};
use crate::support::{self, Running, get, key, value};

/// A snapshot of 100 keys in scheme `simple`.
fn build_simple(directory: &Path, salt: &str) -> PathBuf {
    build_with("simple", directory, "words.papir", 100, salt)
}

fn start(paths: &[&Path], device: &PlainDevice) -> Result<Running, Error> {
    Running::start_files(ServerConfig {
        device: Some(Arc::new(device.clone())),
        ..serving(paths)
    })
}

/// The value of a gauge; `None` if it is absent.
fn gauge(server: &Running, name: &str) -> Option<f64> {
    let text = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.parse().ok()
}

#[test]
fn a_device_answers_and_the_cpu_goes_on() {
    let directory = TempDir::new().unwrap();
    let device = PlainDevice::default();
    let simple = build_simple(directory.path(), "old");
    let plain = build(directory.path(), "plain.papir", 10, "x");
    let server = start(&[&simple, &plain], &device).unwrap();
    let bytes = gauge(&server, "papir_device_bytes{database=\"words\"}").unwrap();
    assert!(bytes > 0.0);
    assert_eq!(
        gauge(&server, "papir_device_bytes{database=\"plain\"}"),
        Some(0.0),
        "no work for it"
    );
    let mut connection = support::open(&server.url(), Some("words")).unwrap();
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "old")));
    let products = device.products();
    assert!(products > 0);
    assert_eq!(gauge(&server, "papir_device_lost"), Some(0.0));
    device.fail(true);
    assert_eq!(connection.get_key(&key(8)).unwrap(), Some(value(8, "old")));
    assert_eq!(
        (device.products(), gauge(&server, "papir_device_lost")),
        (products, Some(1.0))
    );
    assert_eq!(
        gauge(&server, "papir_device_bytes{database=\"words\"}"),
        Some(0.0),
        "the CPU answers"
    );
}

#[test]
fn versions_are_swapped_on_the_device_while_there_is_room() {
    let directory = TempDir::new().unwrap();
    let device = PlainDevice::default();
    let path = build_simple(directory.path(), "old");
    let server = start(&[&path], &device).unwrap();
    let reload = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime
            .block_on(server.handle.reload())
            .unwrap()
            .pop()
            .unwrap()
            .outcome
            .unwrap()
    };
    let check = |salt: &str, on_device: bool| {
        let before = device.products();
        let mut connection = support::open(&server.url(), Some("words")).unwrap();
        assert_eq!(connection.get_key(&key(3)).unwrap(), Some(value(3, salt)));
        assert_eq!(device.products() > before, on_device, "{salt}");
        assert_eq!(
            gauge(&server, "papir_device_bytes{database=\"words\"}") > Some(0.0),
            on_device
        );
    };
    check("old", true);
    build_simple(directory.path(), "new");
    reload();
    check("new", true);
    device.fill();
    build_simple(directory.path(), "newest");
    reload();
    check("newest", false);
}

#[test]
fn a_database_without_room_ends_the_start() {
    let directory = TempDir::new().unwrap();
    let device = PlainDevice::default();
    device.fill();
    let path = build_simple(directory.path(), "old");
    let message = start(&[&path], &device).err().unwrap().to_string();
    assert!(
        message.contains("`words`") && message.contains("no memory"),
        "{message}"
    );
}
