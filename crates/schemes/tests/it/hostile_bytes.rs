//! Mutated bytes with repaired checksums, as from a hostile peer: errors, no panics.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{ErasedScheme, ErasedServer};
use papir_core::hedge::Circumstances;
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Blob, Goal, NoProgress, RecordBuffer, Result, Shape};
use rayon::prelude::*;

use crate::peer::Peer;
use crate::short::all;

fn prepared(scheme: &dyn ErasedScheme, rng: &mut ChaCha20Rng) -> Box<dyn ErasedServer> {
    // Records of 30 bytes; of one byte for schemes limited to short records, and for depir, which
    // sends an answer for every two bytes.
    let shapes = [30, 1].map(|bytes| Shape::of_bytes(200, bytes).unwrap());
    let mut shapes = shapes
        .into_iter()
        .filter(|shape| scheme.name() != "depir" || shape.record_bits() <= 16);
    let shape = shapes
        .find(|shape| scheme.plan(*shape, Goal::Balanced).is_ok())
        .unwrap();
    let bytes = (0..shape.total_bytes()).map(|i| i as u8).collect();
    let records = RecordBuffer::from_packed(shape, bytes).unwrap();
    scheme
        .setup(&records, Goal::Balanced, rng, &NoProgress)
        .unwrap()
}

/// Replaces up to four bytes, mostly among the first 64, where parameters are; truncates one in
/// eight.
fn mutate(bytes: &[u8], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut mutated = bytes.to_vec();
    for _ in 0..1 + rng.next_u32() % 4 {
        let range = if rng.next_u32().is_multiple_of(4) {
            bytes.len()
        } else {
            bytes.len().min(64)
        };
        if range > 0 {
            let position = rng.next_u32() as usize % range;
            mutated[position] =
                [0, 1, 0x7F, 0x80, 0xFF, rng.next_u32() as u8][rng.next_u32() as usize % 6];
        }
    }
    if rng.next_u32().is_multiple_of(8) {
        mutated.truncate(rng.next_u32() as usize % (bytes.len() + 1));
    }
    mutated
}

/// Seals a mutated payload in a valid envelope.
fn reseal(
    message: &[u8],
    kind: Kind,
    server: &dyn ErasedServer,
    scheme: u16,
    rng: &mut ChaCha20Rng,
) -> Vec<u8> {
    let payload = &message[24..message.len() - 8];
    envelope::seal(
        &Header {
            kind,
            scheme,
            version: server.version(),
        },
        &mutate(payload, rng),
    )
}

/// Mutates every message `rounds` times.
fn hostile_messages(scheme: &dyn ErasedScheme, rounds: usize) {
    let mut rng = ChaCha20Rng::from_seed([21; 32]);
    let server = prepared(scheme, &mut rng);
    let server = &*server;
    let mut peer = Peer::new(scheme, server, &Circumstances::now(), &mut rng);
    let ticket = peer.ticket(server);
    let (_, query) = peer.query(7, &mut rng);
    let answer = server
        .answer(peer.session(ticket.as_ref()), &query)
        .unwrap();

    // Slow answers: zipdouble's has thousands of rows for each byte, depir's thousands of indices.
    let slow = scheme.name().starts_with("zipdouble") || scheme.name() == "depir";
    for _ in 0..if slow { rounds / 6 } else { rounds } {
        let public = reseal(
            &server.public(),
            Kind::Public,
            server,
            scheme.properties().id,
            &mut rng,
        );
        drop(scheme.client(&public));
        let bad = reseal(
            &query,
            Kind::Query,
            server,
            scheme.properties().id,
            &mut rng,
        );
        drop(server.answer(peer.session(ticket.as_ref()), &bad));
        let bad = ticket.as_ref().map(|ticket| mutate(ticket, &mut rng));
        drop(server.answer(peer.session(bad.as_ref()), &query));
        if let Some((keys, _)) = &peer.keys {
            let bad = reseal(keys, Kind::Keys, server, scheme.properties().id, &mut rng);
            drop(server.require_registered().unwrap().accept_keys(&bad));
        }
        let (secret, _) = peer.query(7, &mut rng);
        let bad = reseal(
            &answer,
            Kind::Answer,
            server,
            scheme.properties().id,
            &mut rng,
        );
        drop(peer.client.extract(secret, &bad));
    }
}

/// Mutates every section `rounds` times.
fn hostile_sections(scheme: &dyn ErasedScheme, rounds: usize) {
    let mut rng = ChaCha20Rng::from_seed([22; 32]);
    let server = prepared(scheme, &mut rng);
    let mut peer = Peer::new(scheme, &*server, &Circumstances::now(), &mut rng);
    let ticket = peer.ticket(&*server);
    let (_, query) = peer.query(7, &mut rng);

    let mut good = MemorySections::default();
    server.save(&mut good).unwrap();
    let names: Vec<String> = good.names().map(str::to_owned).collect();
    for name in names.iter().cycle().take(rounds * names.len()) {
        let changed = Changed {
            good: &good,
            name,
            bytes: mutate(&good.get(name).unwrap(), &mut rng),
        };
        if let Ok(server) = scheme.load(&changed) {
            drop(server.answer(peer.session(ticket.as_ref()), &query));
        }
    }
}

/// Sections of which one has other bytes.
struct Changed<'a> {
    good: &'a MemorySections,
    name: &'a str,
    bytes: Vec<u8>,
}

impl SectionSource for Changed<'_> {
    fn get(&self, name: &str) -> Result<Blob> {
        if name == self.name {
            Ok(Blob::copy_of(&self.bytes))
        } else {
            self.good.get(name)
        }
    }

    fn length(&self, name: &str) -> Result<usize> {
        if name == self.name {
            Ok(self.bytes.len())
        } else {
            self.good.length(name)
        }
    }
}

#[test]
fn messages() {
    all()
        .par_iter()
        .for_each(|scheme| hostile_messages(&**scheme, 60));
}

#[test]
fn sections() {
    all()
        .par_iter()
        .for_each(|scheme| hostile_sections(&**scheme, 4));
}

#[test]
#[ignore = "long"]
fn more_messages_and_sections() {
    all().par_iter().for_each(|scheme| {
        hostile_messages(&**scheme, 150);
        hostile_sections(&**scheme, 8);
    });
}
