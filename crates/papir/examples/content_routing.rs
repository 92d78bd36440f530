//! Private queries in a content network.
//!
//! This is the application of section 8.1 of the InsPIRe paper (Mahdavi, Patel, Seo, Yeo 2025). In
//! a network such as IPFS, a block of content is named by its hash. A reader finds it in three
//! steps. In each step it asks a node, which would otherwise learn the name of the block:
//!
//! | step | key | value |
//! |---|---|---|
//! | discovery | a block's name | provider records: the peers that have it |
//! | routing | a peer | its address |
//! | retrieval | a block's name | the block |
//!
//! All three are lookups by key. A reader always makes all of them. After a name that nobody
//! provides, it asks for a random peer and a random block, so its traffic is the same as after a
//! name that it found.
//!
//! The example runs in one process, without a network. Peers, addresses and blocks have the paper's
//! lengths: 256 peers with addresses of 1.5 KB, and blocks of 256 KB. There are fewer blocks, by
//! default 32 instead of 2¹⁴. `papir-papers --table inspire-6` measures the paper's sizes, by
//! number.
//!
//! `cargo run --release -p papir --example content_routing -- [BLOCKS]`

use std::time::Instant;

use papir::{Database, Options, Result, client_of, system_rng};
use rand_core::Rng;

/// Name of a block or of a peer. It is a hash in a real network, and random bytes here.
type Name = [u8; 32];

const PEERS: usize = 256;
const PROVIDERS: usize = 3;
const BLOCK_BYTES: usize = 256 << 10;
const ADDRESS_BYTES: usize = 1536;

fn main() -> Result<()> {
    let blocks = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(32);
    let network = Network::new(blocks)?;
    println!("{blocks} blocks of {BLOCK_BYTES} bytes at {PEERS} peers");
    for name in [network.blocks[0], network.blocks[blocks - 1], random_name()] {
        let start = Instant::now();
        let read = read(&network, &name)?;
        let found = read.block.map_or_else(
            || "nobody provides it".to_owned(),
            |block| format!("{} bytes from {}", block.len(), read.address),
        );
        let milliseconds = 1e3 * start.elapsed().as_secs_f64();
        println!(
            "{}…  {found}; {:?} bytes in three steps, {milliseconds:.1} ms",
            shown(&name),
            read.traffic
        );
    }
    Ok(())
}

/// The nodes that a reader asks.
struct Network {
    /// Names of all blocks.
    blocks: Vec<Name>,
    discovery: Database,
    routing: Database,
    retrieval: Database,
}

impl Network {
    /// A network with this many blocks, each at three of the peers.
    fn new(blocks: usize) -> Result<Self> {
        let [peers, blocks] =
            [PEERS, blocks].map(|count| (0..count).map(|_| random_name()).collect::<Vec<_>>());
        let providers = |block: usize| -> Vec<u8> {
            (0..PROVIDERS)
                .flat_map(|i| peers[(block * 7 + i * 31) % PEERS])
                .collect()
        };
        // Blocks are long records, which `inspire1` answers in the fewest bytes.
        let long = Options {
            scheme: "inspire1".to_owned(),
            ..Options::default()
        };
        Ok(Self {
            discovery: Database::build(
                blocks
                    .iter()
                    .enumerate()
                    .map(|(number, name)| (*name, providers(number))),
                &Options::default(),
            )?,
            routing: Database::build(
                peers
                    .iter()
                    .enumerate()
                    .map(|(number, name)| (*name, address(number))),
                &Options::default(),
            )?,
            retrieval: Database::build(blocks.iter().map(|name| (*name, content(name))), &long)?,
            blocks,
        })
    }
}

/// Returns the address of a peer, padded to one length.
fn address(peer: usize) -> Vec<u8> {
    let mut text = format!("/ip4/10.0.0.{peer}/tcp/4001").into_bytes();
    text.resize(ADDRESS_BYTES, b' ');
    text
}

/// Returns a block's content, which is made of its name here.
fn content(name: &Name) -> Vec<u8> {
    name.iter().copied().cycle().take(BLOCK_BYTES).collect()
}

fn random_name() -> Name {
    let mut name = Name::default();
    system_rng().fill_bytes(&mut name);
    name
}

/// The result of a read, and the bytes sent and received in each step.
struct Read {
    block: Option<Vec<u8>>,
    address: String,
    traffic: [usize; 3],
}

/// Reads a block by its name: discovery, routing, retrieval.
fn read(network: &Network, name: &Name) -> Result<Read> {
    let (providers, discovered) = look_up(&network.discovery, name)?;
    let provider = providers
        .as_deref()
        .and_then(one_of)
        .unwrap_or_else(random_name);
    let (address, routed) = look_up(&network.routing, &provider)?;
    let wanted = if providers.is_some() {
        *name
    } else {
        random_name()
    };
    let (block, retrieved) = look_up(&network.retrieval, &wanted)?;
    let address = String::from_utf8_lossy(&address.unwrap_or_default())
        .trim_end()
        .to_owned();
    Ok(Read {
        block,
        address,
        traffic: [discovered, routed, retrieved],
    })
}

/// Returns a random one of the names in a value, or `None` if there are none.
fn one_of(names: &[u8]) -> Option<Name> {
    let count = names.len() / size_of::<Name>();
    let pick = (system_rng().next_u64() % count.max(1) as u64) as usize;
    names
        .chunks_exact(size_of::<Name>())
        .nth(pick)
        .and_then(|name| name.try_into().ok())
}

/// Looks up a key. Returns its value, and the bytes sent and received.
fn look_up(database: &Database, key: &Name) -> Result<(Option<Vec<u8>>, usize)> {
    let client = client_of(&database.bundle())?;
    let pending = client.prepare_key(key, &mut system_rng())?;
    let sent: usize = pending.queries().iter().map(Vec::len).sum();
    let answers = database.answer(pending.queries())?;
    let received: usize = answers.iter().map(Vec::len).sum();
    Ok((pending.finish(&answers)?, sent + received))
}

fn shown(name: &Name) -> String {
    name[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_and_the_traffic_is_the_same_for_all_names() -> Result<()> {
        let network = Network::new(9)?;
        let [first, last, none] =
            [network.blocks[0], network.blocks[8], random_name()].map(|name| read(&network, &name));
        let first = first?;
        let last = last?;
        let none = none?;
        assert_eq!(first.block, Some(content(&network.blocks[0])));
        assert_eq!(last.block, Some(content(&network.blocks[8])));
        assert!(first.address.starts_with("/ip4/10.0.0.") && last.address.ends_with("/tcp/4001"));
        assert_eq!((none.block, none.address.as_str()), (None, ""));
        assert_eq!([last.traffic, none.traffic], [first.traffic, first.traffic]);
        Ok(())
    }
}
