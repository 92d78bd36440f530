//! Messages and sections of every scheme.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chacha20::ChaCha20Rng;
use papir_core::envelope::{Header, Kind};
use papir_core::erased::{ErasedClient, ErasedScheme, ErasedServer, ErasedSession};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, Error, Goal, NoProgress, NotPrivate, RecordBuffer, Result, Shape};
use papir_schemes::registry;
use rand_core::{Rng, SeedableRng};

use crate::{Target, outcome, repair};

/// Longest section that is mutated: longer ones are the database itself.
const SECTION_BYTES: usize = 1 << 16;
/// Longest public part used as a seed.
const PUBLIC_BYTES: usize = 1 << 20;

/// Fixed randomness for prepared databases; the driver has its own for mutations.
pub(super) fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([11; 32])
}

fn shape() -> Shape {
    Shape::of_bytes(40, 8).unwrap()
}

/// A small prepared database of one scheme.
struct World {
    scheme: Box<dyn ErasedScheme>,
    server: Box<dyn ErasedServer>,
    client: Box<dyn ErasedClient>,
    /// An honest query.
    query: Vec<u8>,
    sections: BTreeMap<String, Blob>,
}

impl World {
    fn new(scheme: &dyn ErasedScheme) -> Self {
        let scheme = scheme.allow_insecure(NotPrivate::acknowledged());
        let mut records = RecordBuffer::zeroed(shape());
        rng().fill_bytes(records.packed_mut());
        let server = scheme.setup(&records, Goal::Balanced, &mut rng(), &NoProgress).unwrap();
        let client = scheme.client(&server.public()).unwrap();
        let query = client.query(None, &[0], &mut rng()).unwrap().1;
        let mut named = Named::default();
        server.save(&mut named).unwrap();
        Self { scheme, server, client, query, sections: named.0 }
    }

    /// One database for every scheme without registered keys, prepared once.
    fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<World>> = OnceLock::new();
        ALL.get_or_init(|| {
            let anonymous = |scheme: &&&'static dyn ErasedScheme| {
                scheme.plan(shape(), Goal::Balanced).is_ok_and(|plan| !plan.limits.client_keys)
            };
            registry::all().iter().filter(anonymous).map(|scheme| Self::new(*scheme)).collect()
        })
    }

    fn header(&self, kind: Kind) -> Header {
        Header { kind, scheme: self.scheme.id(), version: self.server.version() }
    }
}

/// A target whose inputs begin with the number of their scheme.
fn each(
    seed: impl Fn(&World) -> Vec<Vec<u8>>,
    mut run: impl FnMut(&World, &[u8]) -> String + 'static,
) -> Target {
    let worlds = World::all();
    let numbered = |(number, world): (usize, &World)| {
        seed(world).into_iter().map(move |bytes| [&[number as u8][..], &bytes].concat()).collect::<Vec<_>>()
    };
    let seeds = worlds.iter().enumerate().flat_map(numbered).collect();
    Target::new(seeds, move |input| {
        let (number, rest) = input.split_first().unwrap_or((&0, &[]));
        let world = &worlds[usize::from(*number) % worlds.len()];
        format!("{} {}", world.scheme.name(), run(world, rest))
    })
}

/// Public parts.
pub(super) fn public() -> Target {
    let seed = |world: &World| {
        let payload = repair::payload(&world.server.public());
        if payload.len() <= PUBLIC_BYTES { vec![payload] } else { Vec::new() }
    };
    each(seed, client_of)
}

/// Public parts truncated after the parameters, so that all refusals are quick.
pub(super) fn parameters() -> Target {
    let seed = |world: &World| {
        let payload = repair::payload(&world.server.public());
        let mut length = [0; 8];
        length.copy_from_slice(&payload[..8]);
        vec![payload[8..8 + u64::from_le_bytes(length) as usize].to_vec()]
    };
    each(seed, |world, parameters| {
        let payload = [&(parameters.len() as u64).to_le_bytes()[..], parameters, &[0; 40]].concat();
        client_of(world, &payload)
    })
}

fn client_of(world: &World, payload: &[u8]) -> String {
    let client = world.scheme.client(&repair::seal(world.header(Kind::Public), payload));
    if let Ok(client) = &client {
        client.describe();
    }
    outcome(&client)
}

/// Queries.
pub(super) fn query() -> Target {
    let seed = |world: &World| vec![repair::payload(&world.query)];
    each(seed, |world, payload| {
        let query = repair::seal(world.header(Kind::Query), payload);
        let answer = world.server.answer(ErasedSession::default(), &query);
        if let Ok(answer) = &answer {
            assert_eq!(answer.len() as u64, world.server.describe().sizes.answer);
        }
        outcome(&answer)
    })
}

/// Answers.
pub(super) fn answer() -> Target {
    let seed = |world: &World| {
        let answer = world.server.answer(ErasedSession::default(), &world.query).unwrap();
        vec![repair::payload(&answer)]
    };
    each(seed, |world, payload| {
        let (secret, _) = world.client.query(None, &[0], &mut rng()).unwrap();
        let records = world.client.extract(secret, &repair::seal(world.header(Kind::Answer), payload));
        if let Ok(records) = &records {
            assert!(records.iter().all(|record| record.len() == 8));
        }
        outcome(&records)
    })
}

/// Prepared sections with one of them mutated.
pub(super) fn sections() -> Target {
    let seed = |world: &World| {
        let numbered = |(number, section): (usize, &Blob)| {
            (section.len() <= SECTION_BYTES).then(|| [&[number as u8][..], section].concat())
        };
        world.sections.values().enumerate().filter_map(numbered).collect()
    };
    each(seed, |world, input| {
        let (number, bytes) = input.split_first().unwrap_or((&0, &[]));
        let place = usize::from(*number) % world.sections.len();
        let changed = world.sections.keys().nth(place).map(|name| (name.as_str(), bytes));
        let loaded = world.scheme.load(&Sections { whole: &world.sections, changed });
        if let Ok(server) = &loaded {
            // Checksums guard the content, so answers may be wrong, but the server must not panic.
            let _ = server.answer(ErasedSession::default(), &world.query);
        }
        format!("{place} {}", outcome(&loaded))
    })
}

/// Sections by name.
#[derive(Default)]
struct Named(BTreeMap<String, Blob>);

impl SectionSink for Named {
    fn put(&mut self, name: &str, parts: &[&[u8]]) -> Result<()> {
        self.0.insert(name.to_owned(), Blob::copy_of(&parts.concat()));
        Ok(())
    }
}

/// Sections with one replaced. The others are shared, as some are megabytes long.
struct Sections<'a> {
    whole: &'a BTreeMap<String, Blob>,
    changed: Option<(&'a str, &'a [u8])>,
}

impl SectionSource for Sections<'_> {
    fn get(&self, name: &str) -> Result<Blob> {
        match self.changed {
            Some((changed, bytes)) if changed == name => Ok(Blob::copy_of(bytes)),
            _ => self.whole.get(name).cloned().ok_or_else(|| Error::MissingSection { name: name.to_owned() }),
        }
    }
}
