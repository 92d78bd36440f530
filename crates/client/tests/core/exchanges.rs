//! Golden exchanges: each request of a session, and the response to it, byte for byte. The client in
//! WebAssembly plays them, too (js/tests/exchanges.test.mjs).

use std::path::PathBuf;
use std::{env, fs};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use papir_client::core::{Response, Settings};
use papir_core::{Goal, NoProgress, RecordBuffer};
use papir_lookup::Wanted;
use papir_schemes::registry;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::peer::{Call, Peer, rng};

/// Variable that is set to write the file instead of comparing with it.
const WRITE: &str = "PAPIR_WRITE_EXCHANGES";
/// Schemes of the exchanges. `double` is not among them, since its public part is long.
const SCHEMES: [&str; 4] = ["simple", "inspire", "inspire2", "inspire1"];
const INDICES: [u64; 2] = [3, 49];

fn record(index: u64) -> Vec<u8> {
    vec![index as u8 ^ 0x5a; 8]
}

/// Returns the exchange of a session that opens a database and looks up records.
fn exchange(scheme: &str) -> Value {
    let records = RecordBuffer::from_records((0..50).map(record)).unwrap();
    let prepared = registry::by_name(scheme).unwrap().setup(
        &records,
        Goal::Balanced,
        &mut rng(1),
        &NoProgress,
    );
    let mut peer = Peer::new(prepared.unwrap());
    let mut calls = Vec::new();
    let mut deliver = |peer: &mut Peer, call: &Call| {
        let response = peer.receive(call)?;
        calls.push(described(call, &response));
        Ok(response)
    };
    let opening = papir_client::core::Session::open(peer.service().unwrap(), Settings::default());
    let mut session = peer.run_through(opening, &mut deliver).unwrap();
    let mut values = Vec::new();
    for index in INDICES {
        let found = peer
            .run_through(session.get(&[Wanted::Index(index)]), &mut deliver)
            .unwrap();
        assert_eq!(found, [Some(record(index))], "{scheme}");
        values.push(BASE64_STANDARD.encode(record(index)));
    }
    json!({ "scheme": scheme, "indices": INDICES, "values": values, "calls": calls })
}

fn described(call: &Call, response: &Response) -> Value {
    let digest: String = Sha256::digest(&call.body)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    json!({
        "method": call.method.name(),
        "path": call.path,
        "headers": call.headers,
        "body_sha256": digest,
        "response": {
            "status": response.status,
            "headers": response.headers,
            "body": BASE64_STANDARD.encode(response.body.as_ref().unwrap()),
        },
    })
}

#[test]
fn exchanges_are_the_golden_ones() {
    let path = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../js/tests/exchanges.json"
    ));
    let exchanges: Vec<Value> = SCHEMES.into_iter().map(exchange).collect();
    if env::var_os(WRITE).is_some() {
        fs::write(
            &path,
            serde_json::to_string_pretty(&exchanges).unwrap() + "\n",
        )
        .unwrap();
    }
    let golden: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for (exchange, golden) in exchanges.iter().zip(&golden) {
        assert!(
            exchange == golden,
            "{}: other bytes than in {}",
            exchange["scheme"],
            path.display()
        );
    }
    assert_eq!(exchanges.len(), golden.len());
}
