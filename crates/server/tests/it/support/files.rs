//! Snapshot files and services that load them.

use std::path::{Path, PathBuf};

use papir_checkpoint::SigningKey;
use papir_core::{NoProgress, Run};
use papir_server::{DatabaseConfig, ServerConfig};
use papir_store::{BuildOptions, Sign};

use super::{key, rng, value};

/// A snapshot `name` of `count` keys in scheme `plain`.
pub fn build(directory: &Path, name: &str, count: u64, salt: &str) -> PathBuf {
    build_by("plain", directory, name, (count, salt), Extras::default())
}

/// Like [`build`], with another scheme.
pub fn build_with(scheme: &str, directory: &Path, name: &str, count: u64, salt: &str) -> PathBuf {
    build_by(scheme, directory, name, (count, salt), Extras::default())
}

/// Like [`build`], with a filter of the keys.
pub fn build_filtered(directory: &Path, name: &str, count: u64, salt: &str) -> PathBuf {
    build_filtered_with("plain", directory, name, count, salt)
}

/// Like [`build_filtered`], with another scheme.
pub fn build_filtered_with(
    scheme: &str,
    directory: &Path,
    name: &str,
    count: u64,
    salt: &str,
) -> PathBuf {
    let extras = Extras {
        prefilter: Some(FILTER_BITS),
        ..Extras::default()
    };
    build_by(scheme, directory, name, (count, salt), extras)
}

/// Like [`build_filtered`], verifiable and, with a time, signed by [`owner`].
pub fn build_verifiable_filtered(directory: &Path, name: &str, time: Option<u64>) -> PathBuf {
    let extras = Extras {
        sign: time.map(sign_at),
        prefilter: Some(FILTER_BITS),
        verifiable: true,
    };
    build_by("plain", directory, name, (50, "a"), extras)
}

/// Bits of the filters of the tests: an absent key is found in one of a million.
const FILTER_BITS: u8 = 20;

/// Options of a snapshot besides its keys.
#[derive(Default)]
struct Extras {
    sign: Option<Sign>,
    prefilter: Option<u8>,
    verifiable: bool,
}

/// The key of the owner who signs the databases of the tests.
pub fn owner() -> SigningKey {
    let text = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    text.parse().unwrap()
}

/// Like [`build`], signed by [`owner`] at this time. An existing file's log is continued.
pub fn build_signed(directory: &Path, name: &str, salt: &str, time: u64) -> PathBuf {
    let extras = Extras {
        sign: Some(sign_at(time)),
        ..Extras::default()
    };
    build_by("plain", directory, name, (50, salt), extras)
}

/// A signature of [`owner`] at this time.
fn sign_at(time: u64) -> Sign {
    Sign {
        time: Some(time),
        ..Sign::new(owner())
    }
}

fn build_by(
    scheme: &str,
    directory: &Path,
    name: &str,
    (count, salt): (u64, &str),
    extras: Extras,
) -> PathBuf {
    let source = directory.join("source.csv");
    let out = directory.join(name);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let lines: String = (0..count)
        .map(|i| format!("{},{}\n", text(key(i)), text(value(i, salt))))
        .collect();
    std::fs::write(&source, format!("key,value\n{lines}")).unwrap();
    let options = BuildOptions {
        key: Some("key".into()),
        values: vec!["value".into()],
        scheme: scheme.into(),
        allow_not_private: true,
        sign: extras.sign,
        prefilter: extras.prefilter,
        verifiable: extras.verifiable,
        ..BuildOptions::new(source, &out)
    };
    papir_store::Build::new(&options)
        .run(&mut Run::new(&mut rng(), &NoProgress))
        .unwrap();
    out
}

/// A configuration that serves these files.
pub fn serving(paths: &[&Path]) -> ServerConfig {
    let databases = paths
        .iter()
        .map(|path| DatabaseConfig::new(*path, None))
        .collect();
    ServerConfig {
        databases,
        max_queued: 1000,
        ..super::config()
    }
}
