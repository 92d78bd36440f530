//! Test vectors for docs/formats.md, under docs/vectors. They are for clients that are written from
//! that page.

use std::path::PathBuf;
use std::{env, fs};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use papir_core::scheme::{Client, Parameters, Scheme, Server, Session, Wire};
use papir_core::{Goal, NoProgress, RecordBuffer, Records};
use papir_lookup::{BucketTarget, Entry, TableOptions};
use papir_ring::prg::Seed;
use papir_schemes::inspire::Inspire;
use papir_schemes::simple::Simple;
use serde_json::{Value, json};

use crate::peer::rng;

/// Variable that is set to write the files instead of comparing with them.
const WRITE: &str = "PAPIR_WRITE_VECTORS";
const RECORDS: u64 = 60;
const INDEX: u64 = 42;

fn check(name: &str, vectors: &Value) {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vectors")).join(name);
    if env::var_os(WRITE).is_some() {
        fs::write(&path, serde_json::to_string_pretty(vectors).unwrap() + "\n").unwrap();
    }
    let golden: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert!(golden == *vectors, "{} differs", path.display());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn record(index: u64) -> Vec<u8> {
    (0..7).map(|byte| (index * 31 + byte * 17) as u8).collect()
}

/// Returns one lookup: payloads without envelopes, and the secret, with which the query can be
/// checked.
fn lookup<S: Scheme>(secret_of: impl Fn(&S::Secret) -> Vec<i64>) -> Value {
    let records = RecordBuffer::from_records((0..RECORDS).map(record)).unwrap();
    let params = S::Params::choose(records.shape(), Goal::Balanced).unwrap();
    let server = S::Server::setup(params, &records, &mut rng(1), &NoProgress).unwrap();
    let params = server.params();
    let public = server.public().encode(server.params());
    let client =
        S::Client::new(params.clone(), S::Public::decode(params, &public).unwrap()).unwrap();
    let (secret, query) = client.query(None, &[INDEX], &mut rng(2)).unwrap();
    let key = secret_of(&secret);
    let encoded = query.encode(params);
    let answer = server.answer(Session::anonymous(), &query).unwrap();
    let vectors = json!({
        "scheme": S::NAME,
        "parameters": hex(&params.encode()),
        "public": BASE64_STANDARD.encode(&public),
        "index": INDEX,
        "secret": key,
        "query": BASE64_STANDARD.encode(encoded),
        "answer": BASE64_STANDARD.encode(answer.encode(params)),
        "record": hex(&record(INDEX)),
    });
    assert_eq!(client.extract(secret, answer).unwrap(), [record(INDEX)]);
    vectors
}

#[test]
fn a_lookup_in_simple() {
    check(
        "simple.json",
        &lookup::<Simple>(|secret| {
            secret
                .key()
                .iter()
                .map(|&word| i64::from(word as i32))
                .collect()
        }),
    );
}

#[test]
fn a_lookup_in_inspire() {
    let secret = |secret: &papir_schemes::inspire::Secret| {
        secret
            .key()
            .coefficients()
            .iter()
            .map(|&coefficient| i64::from(coefficient))
            .collect()
    };
    check("inspire.json", &lookup::<Inspire>(secret));
}

#[test]
fn expansions_of_seeds() {
    let seed = Seed(std::array::from_fn(|byte| byte as u8));
    let expansion = |(label, index): (&str, u64)| {
        let mut bytes = [0; 48];
        seed.expand(label, index).fill(&mut bytes);
        let mut residues = [0; 12];
        seed.expand(label, index)
            .uniform_u32(249_561_089, &mut residues);
        json!({ "label": label, "index": index, "stream": hex(&bytes), "residues": residues })
    };
    let expansions: Vec<Value> = [
        ("inspire/selector", 0),
        ("inspire/selector", 1),
        ("simple/lwe-matrix", 258),
    ]
    .map(expansion)
    .into();
    check(
        "streams.json",
        &json!({ "seed": hex(&seed.0), "modulus": 249_561_089, "expansions": expansions }),
    );
}

#[test]
fn places_of_keys() {
    let entry = |i: usize| {
        let value = vec![b'v'; 3 + 40 * (i % 3)];
        Entry {
            key: format!("key-{i}").into_bytes(),
            value,
            line: i as u64,
        }
    };
    let options = TableOptions {
        bucket: BucketTarget::AtMost(128),
        ..TableOptions::default()
    };
    let table = papir_lookup::build(
        (0..400).map(entry).collect(),
        &options,
        &mut rng(3),
        &NoProgress,
    )
    .unwrap();
    let found = |key: String| {
        let indices = table.layout.indices(key.as_bytes());
        json!({ "key": key, "records": indices })
    };
    let keys: Vec<Value> = ["key-0", "key-1", "key-399", "absent", ""]
        .map(|key| found(key.to_owned()))
        .into();
    check(
        "keywords.json",
        &json!({ "layout": hex(&table.layout.encode()), "keys": keys }),
    );
}
