//! Content by name over a service.
//!
//! This is the application of section 8.1 of the InsPIRe paper (Mahdavi, Patel, Seo, Yeo 2025). A
//! reader of a network such as IPFS asks three databases by key: which peers have a block
//! (discovery), what the address of one of them is (routing), and the block itself (retrieval). It
//! makes all three lookups for each name, with keys that no database has once it is not found.

use std::fs::File;
use std::io::{BufWriter, Write};

use serde_json::Value;

use crate::support::{Folder, Service, loaded_machine, papir, succeeds};

/// Bytes of a value of discovery. The paper does not print it.
const RECORD_BYTES: usize = 128;
/// Bytes of a peer's address.
const ADDRESS_BYTES: usize = 1536;
/// Bytes of a block.
const BLOCK_BYTES: usize = 256 << 10;

/// Numbers of values in the three databases.
struct Network {
    peers: usize,
    names: usize,
    blocks: usize,
}

/// The network of the paper: 256 peers with addresses of 1.5 KB, 200,000 names, and 2¹⁴ blocks of
/// 256 KB. The names after the blocks are of blocks at other peers.
const PAPER: Network = Network {
    peers: 256,
    names: 200_000,
    blocks: 1 << 14,
};

/// Peers that have a block, padded to one length.
fn providers(network: &Network, block: usize) -> String {
    let peers: Vec<String> = (0..3)
        .map(|copy| format!("peer-{}", (7 * block + 31 * copy) % network.peers))
        .collect();
    format!("{:RECORD_BYTES$}", peers.join(" "))
}

/// The address of a peer, padded to one length.
fn address(peer: usize) -> String {
    let address = format!("/dns4/peer-{peer}.example.org/tcp/4001");
    format!("{address:ADDRESS_BYTES$}")
}

/// The content of a block, which begins with its number.
fn content(block: usize) -> String {
    let mut content = format!("{block} ");
    let letters = ('a'..='z').cycle().skip(block % 26);
    content.extend(letters.take(BLOCK_BYTES - content.len()));
    content
}

/// Writes a source of `count` values and builds its database, with further arguments. Returns its
/// path.
fn build(
    folder: &Folder,
    name: &str,
    count: usize,
    row: impl Fn(usize) -> String,
    more: &[&str],
) -> String {
    let source = folder.path(&format!("{name}.csv"));
    let mut out = BufWriter::new(File::create(&source).unwrap());
    writeln!(out, "name,value").unwrap();
    for number in 0..count {
        writeln!(out, "{}", row(number)).unwrap();
    }
    out.flush().unwrap();

    let database = folder.path(&format!("{name}.papir"));
    let arguments = [
        "build", &source, "--key", "name", "--value", "value", "--out", &database,
    ];
    succeeds(&[&arguments, more].concat());
    // The source of blocks is as large as their database.
    std::fs::remove_file(&source).unwrap();
    database
}

/// A lookup's value, or `None` for an absent key, and the bytes of its query and answer.
struct Found {
    value: Option<String>,
    traffic: [u64; 2],
}

/// Looks up a key in one of the databases of a service.
fn look_up(service: &Service, database: &str, key: &str) -> Found {
    let url = format!("{}/v1/databases/{database}", service.url);
    let output = papir(&["get", &url, key, "-v", "--json"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let costs = stderr.lines().next().unwrap_or_default();
    let costs: Value = serde_json::from_str(costs).expect("the costs of a lookup");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();

    Found {
        value: found["value"].as_str().map(str::to_owned),
        traffic: ["upload_bytes", "download_bytes"].map(|figure| costs[figure].as_u64().unwrap()),
    }
}

/// The data that a reader looks up for a name.
struct Read {
    /// The address of the block's first provider.
    address: Option<String>,
    block: Option<String>,
    /// The bytes of each step.
    traffic: [[u64; 2]; 3],
}

/// Reads a block by its name in three steps.
fn read(service: &Service, name: &str) -> Read {
    let discovered = look_up(service, "discovery", name);
    let known = discovered.value.as_deref();

    // Made in any case, so that an unknown name has the same traffic.
    let provider = known.and_then(|peers| peers.split(' ').next());
    let routed = look_up(service, "routing", provider.unwrap_or("no peer"));
    let wanted = known.map_or("no block", |_| name);
    let retrieved = look_up(service, "retrieval", wanted);

    Read {
        address: routed.value,
        block: retrieved.value,
        traffic: [discovered.traffic, routed.traffic, retrieved.traffic],
    }
}

/// Builds the three databases of a network, serves them together, and reads blocks by name.
fn blocks_are_read(network: &Network, retrieval: &[&str]) {
    let folder = Folder::large();
    let least = ["--goal", "min-communication"];
    let names = build(
        &folder,
        "discovery",
        network.names,
        |block| format!("block-{block},{}", providers(network, block)),
        &least,
    );
    let peers = build(
        &folder,
        "routing",
        network.peers,
        |peer| format!("peer-{peer},{}", address(peer)),
        &least,
    );
    let blocks = build(
        &folder,
        "retrieval",
        network.blocks,
        |block| format!("block-{block},{}", content(block)),
        retrieval,
    );

    let service = Service::start(&[&names, &peers, &blocks], &[]);
    let unknown = read(&service, "no such block");
    assert_eq!((unknown.address, unknown.block), (None, None));

    for block in [0, network.blocks / 2, network.blocks - 1] {
        let found = read(&service, &format!("block-{block}"));
        assert_eq!(found.address, Some(address(7 * block % network.peers)));
        // Without `assert_eq`, whose message would have both blocks.
        assert!(found.block == Some(content(block)), "block {block}");
        assert_eq!(found.traffic, unknown.traffic, "block {block}");
    }

    let traffic = unknown.traffic;
    println!("bytes sent and received by discovery, routing and retrieval: {traffic:?}");
}

#[test]
fn a_small_network_is_read_over_a_service() {
    let network = Network {
        peers: 16,
        names: 300,
        blocks: 8,
    };
    // Blocks are long records, which `inspire1` answers in the fewest bytes.
    blocks_are_read(&network, &["--scheme", "inspire1"]);
}

#[test]
#[ignore = "long: blocks of 4 GiB, three times that on disk"]
fn the_network_of_the_paper_is_read_over_a_service() {
    let _machine = loaded_machine();
    blocks_are_read(
        &PAPER,
        &["--goal", "min-communication", "--memory", "16GiB"],
    );
}
