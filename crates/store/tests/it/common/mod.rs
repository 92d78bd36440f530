//! Helpers for the tests of this crate.
#![allow(dead_code, clippy::unwrap_used, unreachable_pub)]

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use chacha20::ChaCha20Rng;
use papir_core::erased::{ErasedServer, ErasedSession};
use papir_core::{NoProgress, Progress, Run};
use papir_lookup::{Bundle, Lookup, Pending, Wanted};
use papir_schemes::registry;
use papir_store::{Build, BuildOptions, BuildReport, Delta, Error, OpenOptions, Snapshot};
use rand_core::SeedableRng;

pub fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// A folder that is removed when dropped.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A folder for files of a gigabyte, beside cargo's results: the usual one may be in memory. The
/// usual one if another user owns those.
pub fn large_folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Writes a source file.
pub fn source(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A text of fewer than 256 bytes as a zstd frame of one segment, with a raw block (RFC 8878).
pub fn zstd_frame(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    let block = (u32::from(length) << 3) | 1;
    [
        &[0x28, 0xb5, 0x2f, 0xfd, 0x20, length][..],
        &block.to_le_bytes()[..3],
        text.as_bytes(),
    ]
    .concat()
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
    Build::new(options).run(&mut Run::new(&mut rng(1), &NoProgress))
}

/// The error of a build. Checks that the build leaves no file behind.
pub fn refusal(options: &BuildOptions) -> Error {
    let error = run(options).unwrap_err();
    assert!(!options.out.exists());
    let folder = std::fs::read_dir(options.out.parent().unwrap()).unwrap();
    let names: Vec<_> = folder
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        !names.iter().any(|name| name.ends_with(".papir-partial")),
        "{names:?}"
    );
    error
}

/// The bytes of all sections but the metadata, which have a time: they are the first section, and
/// shorter than a page. The table of sections, after the others, has their hash.
pub fn sections(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap();
    let table = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
    assert_eq!(Snapshot::open(file).unwrap().sections[0].name, "metadata");
    bytes[8192..table as usize].to_vec()
}

/// A client of a snapshot, made from the encoded bundle that a server would send.
pub fn client(snapshot: &Snapshot) -> Lookup {
    client_of(&snapshot.bundle().encode())
}

/// A client from the bytes of a bundle.
pub fn client_of(bundle: &[u8]) -> Lookup {
    let bundle = Bundle::decode(bundle).unwrap();
    let scheme = papir_core::erased::scheme_of_public(&bundle.scheme_public).unwrap();
    let scheme = registry::by_id(scheme)
        .unwrap()
        .allow_insecure(papir_core::NotPrivate::acknowledged());
    let client = scheme.client(&bundle.scheme_public).unwrap();
    Lookup::new_verifying(client, bundle.keyword, bundle.commitment_top).unwrap()
}

fn finish(snapshot: &Snapshot, pending: Pending) -> Option<Vec<u8>> {
    let session = ErasedSession::default();
    let answers: Vec<_> = pending
        .queries()
        .iter()
        .map(|query| snapshot.server.answer(session, query).unwrap())
        .collect();
    pending.finish(&answers).unwrap()
}

pub fn by_key(snapshot: &Snapshot, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    finish(
        snapshot,
        client(snapshot)
            .prepare_key(key.as_ref(), &mut rng(2))
            .unwrap(),
    )
}

pub fn by_index(snapshot: &Snapshot, index: u64) -> Vec<u8> {
    finish(
        snapshot,
        client(snapshot).prepare_index(index, &mut rng(3)).unwrap(),
    )
    .unwrap()
}

/// A generator of its own for each version, so that their numbers differ.
pub fn fresh() -> impl rand_core::CryptoRng {
    static SEED: AtomicU8 = AtomicU8::new(0);
    rng(SEED.fetch_add(1, Ordering::Relaxed))
}

/// Does something once, as soon as a stage begins.
pub struct Meanwhile<'a> {
    stage: &'static str,
    act: Mutex<Option<Box<dyn FnOnce() + Send + 'a>>>,
}

impl<'a> Meanwhile<'a> {
    pub fn at(stage: &'static str, act: impl FnOnce() + Send + 'a) -> Self {
        Self {
            stage,
            act: Mutex::new(Some(Box::new(act))),
        }
    }
}

impl Progress for Meanwhile<'_> {
    fn stage(&self, name: &str, _total: u64) {
        if name == self.stage
            && let Some(act) = self.act.lock().unwrap().take()
        {
            act();
        }
    }

    fn advance(&self, _steps: u64) {}
}

/// A snapshot with the delta beside it, as a service answers them.
pub struct Served {
    pub base: Snapshot,
    pub delta: Option<Delta>,
    pub lookup: Lookup,
}

impl Served {
    pub fn open(file: &Path) -> Self {
        let base = Snapshot::open(file).unwrap();
        let delta = Delta::of(file, base.server.version(), &OpenOptions::default()).unwrap();
        let mut lookup = client(&base);
        if let Some(delta) = &delta {
            let part = delta.part();
            let scheme = papir_core::erased::scheme_of_public(&part.bundle.scheme_public).unwrap();
            let client = registry::by_id(scheme)
                .unwrap()
                .client(&part.bundle.scheme_public)
                .unwrap();
            lookup = lookup.with_delta(client, &part).unwrap();
        }
        Self {
            base,
            delta,
            lookup,
        }
    }

    pub fn get(&self, wanted: Wanted<'_>) -> papir_lookup::Result<Option<Vec<u8>>> {
        let pending = self
            .lookup
            .prepare_batch(None, &[wanted], &mut rng(9))
            .unwrap();
        let (of_base, of_delta) = pending.queries().split_at(pending.answers()[0].count);
        let ask = |server: &dyn ErasedServer, queries: &[Vec<u8>]| -> Vec<Vec<u8>> {
            queries
                .iter()
                .map(|query| server.answer(ErasedSession::default(), query).unwrap())
                .collect()
        };
        let mut answers = ask(self.base.server.as_ref(), of_base);
        answers.extend(
            self.delta
                .iter()
                .flat_map(|delta| ask(delta.server.as_ref(), of_delta)),
        );
        Ok(pending.finish_all(&answers)?.remove(0))
    }

    pub fn word(&self, word: &str) -> Option<String> {
        self.get(Wanted::Key(word.as_bytes()))
            .unwrap()
            .map(|value| String::from_utf8(value).unwrap())
    }
}
