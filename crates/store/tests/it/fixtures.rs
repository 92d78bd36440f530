//! Recorded snapshots and exchanges of every format that is read.
//!
//! A fixture is a folder:
//!
//! | file | content |
//! |---|---|
//! | `exchange.json` | [`Exchange`] |
//! | `source.csv` | the records |
//! | `snapshot.pir` | the snapshot; without it the database is built again from the recorded seed |
//! | `bundle`, `query`, `answer` | the messages of one lookup |
//!
//! Record the fixtures of a new format, and never change recorded ones:
//! `cargo test -p papir-store --test it record_fixtures -- --ignored`

use std::fs;
use std::path::{Path, PathBuf};

use papir_checkpoint::{
    CERTIFICATE_FORMATS, DELTA_LOG_FORMATS, LEAF_FORMATS, LOG_FORMATS, PROOF_FORMATS,
};
use papir_core::codec::Reader;
use papir_core::envelope::{self, Kind};
use papir_core::erased::{ErasedServer, ErasedSession};
use papir_core::{
    Error as CoreError, Formats, NoProgress, PreparedRecords, RecordBuffer, Records, Run,
    read_record,
};
use papir_lookup::delta::DELTA_FORMATS;
use papir_lookup::prefilter::PREFILTER_FORMATS;
use papir_lookup::{BLOCK_LIST_FORMATS, BUNDLE_FORMATS, Bundle, LAYOUT_FORMATS, Lookup, Pending};
use papir_schemes::registry;
use papir_store::formats::{MANIFEST, SET, SNAPSHOT};
use papir_store::{Build, BuildOptions, Error, Snapshot};
use serde::{Deserialize, Serialize};

use crate::common::{by_key, client_of, folder, rng};

/// One lookup, and what is needed to repeat it.
#[derive(Clone, Deserialize, Serialize)]
struct Exchange {
    scheme: String,
    /// The byte that fills the seed of the build.
    build_seed: u8,
    /// The byte that fills the seed of the client.
    client_seed: u8,
    /// Set if the snapshot itself is recorded.
    snapshot: bool,
    verifiable: bool,
    /// The key looked up; `None` looks up `index`.
    key: Option<String>,
    index: u64,
    /// The value found.
    value: String,
}

impl Exchange {
    fn options(&self, fixture: &Path, out: PathBuf) -> BuildOptions {
        let mut options = BuildOptions::new(fixture.join("source.csv"), out);
        options.scheme.clone_from(&self.scheme);
        (options.allow_not_private, options.verifiable) = (true, self.verifiable);
        options.key = self.key.as_ref().map(|_| "key".to_owned());
        options.values = vec!["value".to_owned()];
        options
    }

    /// The lookup under the recorded randomness.
    fn prepare(&self, client: &Lookup) -> Pending {
        let rng = &mut rng(self.client_seed);
        let pending = match &self.key {
            Some(key) => client.prepare_key(key.as_bytes(), rng),
            None => client.prepare_index(self.index, rng),
        };
        pending.unwrap()
    }
}

/// The folder of fixtures of a snapshot format.
fn fixtures(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/format-{format}"))
}

/// Keys and values of a source.
fn rows(fixture: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(fixture.join("source.csv")).unwrap();
    let rows = text
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').unwrap());
    rows.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Reads a fixture and repeats its exchange.
fn replay(fixture: &Path) {
    let file = |name: &str| fs::read(fixture.join(name)).unwrap();
    let exchange: Exchange = serde_json::from_slice(&file("exchange.json")).unwrap();
    // Encoded again, as the recorded bundle may have an older format.
    let bundle = Bundle::decode(&file("bundle")).unwrap();
    let (server, found) = if exchange.snapshot {
        let snapshot = Snapshot::open(&fixture.join("snapshot.pir")).unwrap();
        if exchange.key.is_some() {
            check_keys(&snapshot, &rows(fixture));
        }
        let found = snapshot.bundle();
        (snapshot.server, found)
    } else {
        let server = prepared_again(&exchange, &bundle, &rows(fixture));
        let found = Bundle {
            scheme_public: server.public(),
            keyword: None,
            commitment_top: None,
            prefilter: None,
        };
        (server, found)
    };
    assert!(bundle.encode() == found.encode(), "another bundle");
    if exchange.key.is_none() {
        check_records(&*server, &rows(fixture));
    }

    // The recorded client understands today's server, and today's client the recorded one: answers may
    // differ in their rounding.
    let query = file("query");
    for answer in [
        server.answer(ErasedSession::default(), &query).unwrap(),
        file("answer"),
    ] {
        let pending = exchange.prepare(&client_of(&file("bundle")));
        // The answer is decrypted with the client's new secret, so the query must be the recorded one.
        assert!(pending.queries() == [query.as_slice()], "another query");
        assert_eq!(
            pending.finish(&[answer]).unwrap().unwrap(),
            exchange.value.as_bytes()
        );
    }
}

/// Prepares a database again from its seed, under the recorded parameters: today's search may choose
/// others.
fn prepared_again(
    exchange: &Exchange,
    bundle: &Bundle,
    rows: &[(String, String)],
) -> Box<dyn ErasedServer> {
    let scheme = registry::by_name(&exchange.scheme).unwrap();
    let (_, payload) =
        envelope::open(&bundle.scheme_public, Kind::Public, scheme.properties().id).unwrap();
    let parameters = Reader::new("a public part", payload).bytes().unwrap();
    let records =
        RecordBuffer::from_records(rows.iter().map(|(_, value)| value.as_bytes())).unwrap();
    scheme
        .setup_candidate(
            parameters,
            &records,
            &mut rng(exchange.build_seed),
            &NoProgress,
        )
        .unwrap()
}

/// Compares the values of all keys with the source.
fn check_keys(snapshot: &Snapshot, rows: &[(String, String)]) {
    for (key, value) in rows {
        assert_eq!(by_key(snapshot, key).unwrap(), value.as_bytes(), "{key}");
    }
    assert_eq!(by_key(snapshot, "another key"), None);
}

/// Compares all records with the source.
fn check_records(server: &dyn ErasedServer, rows: &[(String, String)]) {
    let records = PreparedRecords::new(server);
    assert_eq!(records.shape().records(), rows.len() as u64);
    for (i, (_, value)) in rows.iter().enumerate() {
        assert_eq!(
            read_record(&records, i as u64).unwrap(),
            value.as_bytes(),
            "record {i}"
        );
    }
}

/// Replays the fixture of this name in every format that is read.
fn replay_all(name: &str) {
    for format in SNAPSHOT.oldest..=SNAPSHOT.written {
        replay(&fixtures(format).join(name));
    }
}

#[test]
fn plain_snapshots_are_read() {
    replay_all("plain");
}

#[test]
fn simple_snapshots_are_read() {
    replay_all("simple");
}

#[test]
fn keyed_snapshots_are_read() {
    replay_all("keyed");
}

#[test]
fn inspire_answers_recorded_queries() {
    ["inspire", "inspire1", "inspire2"]
        .into_iter()
        .for_each(replay_all);
}

#[test]
fn other_formats_are_refused_with_a_remedy() {
    let folder = folder();
    let path = folder.path().join("other.pir");
    let recorded = fs::read(fixtures(SNAPSHOT.written).join("plain/snapshot.pir")).unwrap();
    for (format, advice) in [
        (SNAPSHOT.oldest - 1, "`papir build …`"),
        (SNAPSHOT.written + 1, "update papir"),
    ] {
        let mut bytes = recorded.clone();
        bytes[8..12].copy_from_slice(&format.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let error = Snapshot::open(&path).err().unwrap();
        assert_eq!(error.code(), "malformed");
        let Error::Snapshot {
            error:
                CoreError::Format {
                    found,
                    oldest,
                    newest,
                    remedy,
                    ..
                },
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (found, oldest, newest),
            (format, SNAPSHOT.oldest, SNAPSHOT.written)
        );
        assert!(remedy.contains(advice), "{remedy}");
    }
}

#[test]
fn other_bundles_and_layouts_are_refused() {
    let recorded = fs::read(fixtures(SNAPSHOT.written).join("keyed/bundle")).unwrap();
    assert!(Bundle::decode(&recorded).unwrap().keyword.is_some());
    // The layout follows the public part and the lengths of both.
    let start = 24 + u64::from_le_bytes(recorded[8..16].try_into().unwrap()) as usize;
    for (offset, formats) in [(4, BUNDLE_FORMATS), (start, LAYOUT_FORMATS)] {
        for format in [formats.oldest - 1, formats.written + 1] {
            let mut bytes = recorded.clone();
            bytes[offset..offset + 2].copy_from_slice(&(format as u16).to_le_bytes());
            // With a correct checksum, only the format number is wrong.
            let end = bytes.len() - 8;
            let sum = blake3::hash(&bytes[..end]);
            bytes[end..].copy_from_slice(&sum.as_bytes()[..8]);
            let error = Bundle::decode(&bytes).err().unwrap();
            let papir_lookup::Error::Core(CoreError::Format { what, found, .. }) = error else {
                panic!("{error}");
            };
            assert_eq!((what, found), (formats.what, format));
        }
    }
}

#[test]
fn the_page_lists_the_formats() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let page = fs::read_to_string(page).unwrap();
    let of_checkpoints = [
        LEAF_FORMATS,
        LOG_FORMATS,
        DELTA_LOG_FORMATS,
        PROOF_FORMATS,
        CERTIFICATE_FORMATS,
    ];
    let formats = [
        SNAPSHOT,
        MANIFEST,
        SET,
        BUNDLE_FORMATS,
        BLOCK_LIST_FORMATS,
        LAYOUT_FORMATS,
        PREFILTER_FORMATS,
        DELTA_FORMATS,
    ]
    .into_iter()
    .chain(of_checkpoints);
    for Formats {
        what,
        oldest,
        written,
        ..
    } in formats
    {
        let row = format!(
            "| {} | {written} | {oldest} |",
            what.strip_prefix("a ").unwrap()
        );
        assert!(page.contains(&row), "docs/formats.md lacks {row}");
    }
}

#[test]
#[ignore = "records the fixtures that are missing"]
fn record_fixtures() {
    let plain = Exchange {
        scheme: "plain".to_owned(),
        build_seed: 1,
        client_seed: 2,
        snapshot: true,
        verifiable: false,
        key: None,
        index: 17,
        value: String::new(),
    };
    let scheme = |name: &str| Exchange {
        scheme: name.to_owned(),
        ..plain.clone()
    };
    record("plain", plain.clone());
    record("simple", scheme("simple"));
    record(
        "keyed",
        Exchange {
            key: Some("key 17".to_owned()),
            verifiable: true,
            ..plain.clone()
        },
    );
    for name in ["inspire", "inspire1", "inspire2"] {
        record(
            name,
            Exchange {
                snapshot: false,
                ..scheme(name)
            },
        );
    }
}

/// Records a fixture, unless there is one.
fn record(name: &str, mut exchange: Exchange) {
    let fixture = fixtures(SNAPSHOT.written).join(name);
    if fixture.exists() {
        return;
    }
    fs::create_dir_all(&fixture).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(fixture.join(name), bytes).unwrap();
    let source: String = (0..64)
        .map(|i| format!("key {i},value {:04}\n", i * 37 % 1009))
        .collect();
    write("source.csv", format!("key,value\n{source}").as_bytes());
    let out = fixture.join("snapshot.pir");
    Build::new(&exchange.options(&fixture, out.clone()))
        .run(&mut Run::new(&mut rng(exchange.build_seed), &NoProgress))
        .unwrap();
    let snapshot = Snapshot::open(&out).unwrap();
    let bundle = snapshot.bundle().encode();
    let pending = exchange.prepare(&client_of(&bundle));
    let [query] = pending.queries() else {
        panic!("one query")
    };
    let query = query.clone();
    let answer = snapshot
        .server
        .answer(ErasedSession::default(), &query)
        .unwrap();
    exchange.value = String::from_utf8(
        pending
            .finish(std::slice::from_ref(&answer))
            .unwrap()
            .unwrap(),
    )
    .unwrap();
    write("bundle", &bundle);
    write("query", &query);
    write("answer", &answer);
    write(
        "exchange.json",
        &serde_json::to_vec_pretty(&exchange).unwrap(),
    );
    if !exchange.snapshot {
        fs::remove_file(out).unwrap();
    }
    replay(&fixture);
}
