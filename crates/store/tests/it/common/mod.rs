//! Helpers for the tests of this crate.
#![allow(dead_code, clippy::unwrap_used, unreachable_pub)]

use std::path::{Path, PathBuf};

use chacha20::ChaCha20Rng;
use papir_core::NoProgress;
use papir_core::erased::ErasedSession;
use papir_lookup::{Bundle, Lookup, Pending};
use papir_schemes::registry;
use papir_store::{BuildOptions, BuildReport, Error, Snapshot, build};
use rand_core::SeedableRng;

pub fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// A folder that is removed when dropped.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Writes a source file.
pub fn source(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Options for the scheme `plain`, with the output in the source's folder.
pub fn options(source: &Path) -> BuildOptions {
    let mut options = BuildOptions::new(source, source.with_extension("pir"));
    options.scheme = "plain".to_owned();
    options.allow_not_private = true;
    options
}

pub fn keyed(source: &Path, key: &str, values: &[&str]) -> BuildOptions {
    let mut options = options(source);
    options.key = Some(key.to_owned());
    options.values = values.iter().map(|&name| name.to_owned()).collect();
    options
}

pub fn run(options: &BuildOptions) -> Result<BuildReport, Error> {
    build(options, &mut rng(1), &NoProgress)
}

/// The error of a build. Checks that the build leaves no file behind.
pub fn refusal(options: &BuildOptions) -> Error {
    let error = run(options).unwrap_err();
    assert!(!options.out.exists());
    let folder = std::fs::read_dir(options.out.parent().unwrap()).unwrap();
    let names: Vec<_> = folder.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.ends_with(".papir-partial")), "{names:?}");
    error
}

/// A client of a snapshot, made from the encoded bundle that a server would send.
pub fn client(snapshot: &Snapshot) -> Lookup {
    client_of(&snapshot.bundle().encode())
}

/// A client from the bytes of a bundle.
pub fn client_of(bundle: &[u8]) -> Lookup {
    let bundle = Bundle::decode(bundle).unwrap();
    let scheme = papir_core::erased::scheme_of_public(&bundle.scheme_public).unwrap();
    let scheme = registry::by_id(scheme).unwrap().allow_insecure(papir_core::NotPrivate::acknowledged());
    let client = scheme.client(&bundle.scheme_public).unwrap();
    Lookup::new_verifying(client, bundle.keyword, bundle.commitment_top).unwrap()
}

fn finish(snapshot: &Snapshot, pending: Pending) -> Option<Vec<u8>> {
    let session = ErasedSession::default();
    let answers: Vec<_> =
        pending.queries().iter().map(|query| snapshot.server.answer(session, query).unwrap()).collect();
    pending.finish(&answers).unwrap()
}

pub fn by_key(snapshot: &Snapshot, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    finish(snapshot, client(snapshot).prepare_key(key.as_ref(), &mut rng(2)).unwrap())
}

pub fn by_index(snapshot: &Snapshot, index: u64) -> Vec<u8> {
    finish(snapshot, client(snapshot).prepare_index(index, &mut rng(3)).unwrap()).unwrap()
}
