//! Snapshot files, and manifests of snapshots in object stores.

use std::fs;

use papir_core::erased::ErasedSession;
use papir_core::{NoProgress, Run, Version};
use papir_store::remote::Manifest;
use papir_store::{Build, BuildOptions, OpenOptions, Snapshot, Verify};

use crate::{Target, outcome, repair};

/// A small snapshot file.
fn built(scheme: &str, keyed: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.csv");
    let rows: String = (0..40).map(|i| format!("key {i},value {i}\n")).collect();
    fs::write(&source, format!("k,v\n{rows}")).unwrap();

    let mut options = BuildOptions::new(source, folder.path().join("a.papir"));
    (options.scheme, options.allow_not_private) = (scheme.to_owned(), true);
    options.key = keyed.then(|| "k".to_owned());
    options.values = vec!["v".to_owned()];

    Build::new(&options)
        .run(&mut Run::new(&mut super::schemes::rng(), &NoProgress))
        .unwrap();
    fs::read(options.out).unwrap()
}

/// Snapshot files, unchanged and with repaired lengths and checksums of header and table.
pub(super) fn snapshot() -> Target {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fuzzed.papir");
    let seeds = vec![built("plain", true), built("plain", false)];

    Target::new(seeds, move |input| {
        let _ = &folder;
        let outcomes = [input.to_vec(), repair::snapshot(input)].map(|file| {
            // A new file each time, as the last one may still be mapped.
            let _ = fs::remove_file(&path);
            fs::write(&path, file).unwrap();

            let verified = outcome(&Snapshot::open(&path));
            let opened = Snapshot::open_with(
                &path,
                OpenOptions {
                    verify: Verify::Lazy,
                    ..OpenOptions::default()
                },
            );

            if let Ok(snapshot) = &opened {
                snapshot.bundle().encode();
                assert!(
                    snapshot
                        .server
                        .answer(ErasedSession::default(), b"no query")
                        .is_err()
                );
            }
            format!("{verified} {}", outcome(&opened))
        });

        outcomes
            .concat()
            .replace(path.to_string_lossy().as_ref(), "")
    })
    .with_words(&["scheme.", "metadata", "keyword", "\u{0}\u{0}\u{0}\u{0}"])
}

/// Manifests, unchanged and with a repaired checksum.
pub(super) fn manifest() -> Target {
    let body = |parts: usize| {
        let hash = blake3::hash(b"part").to_hex();
        let parts = vec![format!("\"{hash}\""); parts].join(",");
        let version = Version([1; 8]);
        format!(
            "{{\"format_version\":1,\"version\":\"{version}\",\"papir\":\"0.1.0\",\"bytes\":9000,\
             \"blake3\":\"{hash}\",\"part_bytes\":4096,\"parts\":[{parts}]}}"
        )
    };

    let seeds = vec![
        body(3).into_bytes(),
        body(1).into_bytes(),
        repair::manifest(&body(3)),
    ];

    Target::new(seeds, |input| {
        let plain = outcome(&Manifest::decode(input));
        let repaired = Manifest::decode(&repair::manifest(&String::from_utf8_lossy(input)));

        if let Ok(manifest) = &repaired {
            let least = manifest.part_bytes * (manifest.parts.len() as u64 - 1);
            assert!(
                (1..=manifest.part_bytes).contains(&(manifest.bytes - least)),
                "{manifest:?}"
            );
        }

        format!("{plain} {}", outcome(&repaired))
    })
    .with_words(&[
        "\"parts\":",
        "\"bytes\":",
        "\"part_bytes\":",
        "[]",
        "{}",
        "null",
        "../",
        "1e99",
        "[[[[",
    ])
}
