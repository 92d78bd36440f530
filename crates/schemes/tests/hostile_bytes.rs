//! Bytes from a hostile peer or a damaged disk, with checksums made right again: errors, no panics.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{ErasedScheme, ErasedServer, ErasedSession};
use papir_core::sections::{MemorySections, SectionSink, SectionSource};
use papir_core::{Goal, NoProgress, RecordBuffer, Shape};
use papir_schemes::registry;

const ROUNDS: usize = 150;

fn prepared(scheme: &dyn ErasedScheme, rng: &mut ChaCha20Rng) -> Box<dyn ErasedServer> {
    // Records of 30 bytes, or of one where the scheme takes short ones only.
    let shapes = [30, 1].map(|bytes| Shape::of_bytes(200, bytes).unwrap());
    let taken = shapes.into_iter().find(|shape| scheme.plan(*shape, Goal::Balanced).is_ok());
    let shape = taken.unwrap();
    let bytes = (0..shape.total_bytes()).map(|i| i as u8).collect();
    let records = RecordBuffer::from_packed(shape, bytes).unwrap();
    scheme.setup(&records, Goal::Balanced, rng, &NoProgress).unwrap()
}

/// A few bytes replaced, the front preferred: there parameters stand.
fn mutate(bytes: &[u8], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut mutated = bytes.to_vec();
    for _ in 0..1 + rng.next_u32() % 4 {
        let range = if rng.next_u32().is_multiple_of(4) { bytes.len() } else { bytes.len().min(64) };
        if range > 0 {
            let place = rng.next_u32() as usize % range;
            mutated[place] = [0, 1, 0x7F, 0x80, 0xFF, rng.next_u32() as u8][rng.next_u32() as usize % 6];
        }
    }
    if rng.next_u32().is_multiple_of(8) {
        mutated.truncate(rng.next_u32() as usize % (bytes.len() + 1));
    }
    mutated
}

/// A mutated payload in a good envelope.
fn reseal(
    message: &[u8],
    kind: Kind,
    server: &dyn ErasedServer,
    scheme: u16,
    rng: &mut ChaCha20Rng,
) -> Vec<u8> {
    let payload = &message[24..message.len() - 8];
    envelope::seal(&Header { kind, scheme, version: server.version() }, &mutate(payload, rng))
}

fn hostile_messages(scheme: &dyn ErasedScheme) {
    let mut rng = ChaCha20Rng::from_seed([21; 32]);
    let server = prepared(scheme, &mut rng);
    let client = scheme.client(&server.public()).unwrap();
    let (_, query) = client.query(None, &[7], &mut rng).unwrap();
    let answer = server.answer(ErasedSession::default(), &query).unwrap();
    for _ in 0..ROUNDS {
        let public = reseal(&server.public(), Kind::Public, &*server, scheme.id(), &mut rng);
        drop(scheme.client(&public));
        let bad = reseal(&query, Kind::Query, &*server, scheme.id(), &mut rng);
        drop(server.answer(ErasedSession::default(), &bad));
        let (secret, _) = client.query(None, &[7], &mut rng).unwrap();
        let bad = reseal(&answer, Kind::Answer, &*server, scheme.id(), &mut rng);
        drop(client.extract(secret, &bad));
    }
}

fn hostile_sections(scheme: &dyn ErasedScheme) {
    let mut rng = ChaCha20Rng::from_seed([22; 32]);
    let server = prepared(scheme, &mut rng);
    let (_, query) = scheme.client(&server.public()).unwrap().query(None, &[7], &mut rng).unwrap();
    let mut good = MemorySections::default();
    server.save(&mut good).unwrap();
    let names: Vec<String> = good.names().map(str::to_owned).collect();
    for name in names.iter().cycle().take(8 * names.len()) {
        let mut bad = MemorySections::default();
        for other in &names {
            let bytes = good.get(other).unwrap();
            let bytes = if other == name { mutate(&bytes, &mut rng) } else { bytes.to_vec() };
            bad.put(other, &[&bytes]).unwrap();
        }
        if let Ok(server) = scheme.load(&bad) {
            drop(server.answer(ErasedSession::default(), &query));
        }
    }
}

#[test]
fn messages() {
    registry::all().iter().for_each(|scheme| hostile_messages(*scheme));
}

#[test]
fn sections() {
    registry::all().iter().for_each(|scheme| hostile_sections(*scheme));
}
