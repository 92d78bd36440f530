//! Messages and sections of every scheme.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chacha20::ChaCha20Rng;
use papir_core::envelope::{Header, Kind};
use papir_core::erased::{ErasedClient, ErasedScheme, ErasedServer, ErasedSession};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    Blob, Choice, Error, Goal, NoProgress, NotPrivate, OwnerKey, RecordBuffer, Result, Shape,
    Version,
};
use papir_schemes::registry;
use rand_core::{Rng, SeedableRng};

use crate::{Target, outcome, repair};

/// Maximum bytes of a section that is mutated; longer ones are the database itself.
const SECTION_BYTES: usize = 1 << 16;
/// Maximum bytes of a public part that is used as a seed.
const PUBLIC_BYTES: usize = 1 << 20;

/// Fixed randomness for prepared databases; the driver has its own for mutations.
pub(super) fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([11; 32])
}

fn shape() -> Shape {
    Shape::of_bytes(40, 8).unwrap()
}

/// A small prepared database of one scheme.
struct PreparedScheme {
    scheme: Box<dyn ErasedScheme>,
    server: Box<dyn ErasedServer>,
    client: Box<dyn ErasedClient>,
    /// An honest query.
    query: Vec<u8>,
    sections: BTreeMap<String, Blob>,
}

impl PreparedScheme {
    fn new(scheme: &dyn ErasedScheme) -> Self {
        let scheme = scheme.allow_insecure(NotPrivate::acknowledged());
        let mut records = RecordBuffer::zeroed(shape());
        rng().fill_bytes(records.packed_mut());

        let server = scheme
            .setup(&records, Goal::Balanced, &mut rng(), &NoProgress)
            .unwrap();

        let client = scheme.client(&server.public()).unwrap();
        let query = client.query(None, &[0], &mut rng()).unwrap().1;

        let mut named = Named::default();
        server.save(&mut named).unwrap();

        Self {
            scheme,
            server,
            client,
            query,
            sections: named.0,
        }
    }

    /// One database for every scheme without registered keys, prepared once.
    fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<PreparedScheme>> = OnceLock::new();
        ALL.get_or_init(|| {
            registry::all()
                .iter()
                .filter(|scheme| is_anonymous(**scheme))
                .map(|scheme| Self::new(*scheme))
                .collect()
        })
    }

    fn header(&self, kind: Kind) -> Header {
        Header {
            kind,
            scheme: self.scheme.properties().id,
            version: self.server.version(),
        }
    }
}

/// Returns true for a scheme whose clients register no keys.
fn is_anonymous(scheme: &dyn ErasedScheme) -> bool {
    scheme
        .plan(shape(), Goal::Balanced)
        .is_ok_and(|plan| !plan.limits.client_keys)
}

/// A target of all schemes. The first byte of an input selects the scheme.
fn for_all_schemes(
    seeds_of: impl Fn(&PreparedScheme) -> Vec<Vec<u8>>,
    mut run: impl FnMut(&PreparedScheme, &[u8]) -> String + 'static,
) -> Target {
    let databases = PreparedScheme::all();
    let mut seeds = Vec::new();
    for (number, database) in databases.iter().enumerate() {
        for bytes in seeds_of(database) {
            seeds.push([&[number as u8][..], &bytes].concat());
        }
    }

    Target::new(seeds, move |input| {
        let (number, rest) = input.split_first().unwrap_or((&0, &[]));
        let database = &databases[usize::from(*number) % databases.len()];
        format!("{} {}", database.scheme.name(), run(database, rest))
    })
}

/// The public part, unless it is too long.
fn public_seeds(database: &PreparedScheme) -> Vec<Vec<u8>> {
    let payload = repair::payload(&database.server.public());
    if payload.len() <= PUBLIC_BYTES {
        vec![payload]
    } else {
        Vec::new()
    }
}

/// Public parts.
pub(super) fn public() -> Target {
    for_all_schemes(public_seeds, |database, payload| {
        client_of(&*database.scheme, database.header(Kind::Public), payload)
    })
}

/// Parameters of every scheme, also of those with client keys. The public part ends after them, so
/// that all refusals are quick.
pub(super) fn parameters() -> Target {
    let schemes: Vec<Box<dyn ErasedScheme>> = registry::all().into_iter().map(with_keys).collect();

    let mut seeds = Vec::new();
    for (number, scheme) in schemes.iter().enumerate() {
        let candidate = scheme
            .candidate(shape(), Choice::Goal(Goal::Balanced))
            .unwrap();
        seeds.push([&[number as u8][..], &candidate.parameters].concat());
    }

    Target::new(seeds, move |input| {
        let (number, parameters) = input.split_first().unwrap_or((&0, &[]));
        let scheme = &*schemes[usize::from(*number) % schemes.len()];

        let payload = [
            &(parameters.len() as u64).to_le_bytes()[..],
            parameters,
            &[0; 40],
        ]
        .concat();

        let header = Header {
            kind: Kind::Public,
            scheme: scheme.properties().id,
            version: Version([7; 8]),
        };

        format!("{} {}", scheme.name(), client_of(scheme, header, &payload))
    })
}

/// The scheme with every permission and key that it may need.
fn with_keys(scheme: &'static dyn ErasedScheme) -> Box<dyn ErasedScheme> {
    let scheme = scheme.allow_insecure(NotPrivate::acknowledged());
    if scheme.name() == registry::ENCRYPTED {
        scheme.with_owner_key(Some(&OwnerKey::generate(&mut rng())))
    } else {
        scheme
    }
}

/// Makes a client. The lengths of its messages are bounded, whatever the server sent.
fn client_of(scheme: &dyn ErasedScheme, header: Header, payload: &[u8]) -> String {
    let client = scheme.client(&repair::seal(header, payload));
    if let Ok(client) = &client {
        client.describe().sizes.check().unwrap();
    }
    outcome(&client)
}

/// The honest query.
fn query_seeds(database: &PreparedScheme) -> Vec<Vec<u8>> {
    vec![repair::payload(&database.query)]
}

/// Queries.
pub(super) fn query() -> Target {
    for_all_schemes(query_seeds, |database, payload| {
        let query = repair::seal(database.header(Kind::Query), payload);
        let answer = database.server.answer(ErasedSession::default(), &query);
        if let Ok(answer) = &answer {
            assert_eq!(answer.len() as u64, database.server.describe().sizes.answer);
        }
        outcome(&answer)
    })
}

/// The answer to the honest query.
fn answer_seeds(database: &PreparedScheme) -> Vec<Vec<u8>> {
    let answer = database
        .server
        .answer(ErasedSession::default(), &database.query)
        .unwrap();
    vec![repair::payload(&answer)]
}

/// Answers.
pub(super) fn answer() -> Target {
    for_all_schemes(answer_seeds, |database, payload| {
        let (secret, _) = database.client.query(None, &[0], &mut rng()).unwrap();
        let answer = repair::seal(database.header(Kind::Answer), payload);
        let records = database.client.extract(secret, &answer);
        if let Ok(records) = &records {
            assert!(records.iter().all(|record| record.len() == 8));
        }
        outcome(&records)
    })
}

/// The sections that are short enough, each after its number.
fn section_seeds(database: &PreparedScheme) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, section) in database.sections.values().enumerate() {
        if section.len() <= SECTION_BYTES {
            seeds.push([&[number as u8][..], section].concat());
        }
    }
    seeds
}

/// Prepared sections with one of them mutated.
pub(super) fn sections() -> Target {
    for_all_schemes(section_seeds, |database, input| {
        let (number, bytes) = input.split_first().unwrap_or((&0, &[]));
        let position = usize::from(*number) % database.sections.len();

        let changed = database
            .sections
            .keys()
            .nth(position)
            .map(|name| (name.as_str(), bytes));

        let loaded = database.scheme.load(&ReplacedSections {
            whole: &database.sections,
            changed,
        });

        if let Ok(server) = &loaded {
            // Checksums guard the content, so answers may be wrong, but the server must not panic.
            let _ = server.answer(ErasedSession::default(), &database.query);
        }

        format!("{position} {}", outcome(&loaded))
    })
}

/// Sections by name.
#[derive(Default)]
struct Named(BTreeMap<String, Blob>);

impl SectionSink for Named {
    fn put(&mut self, name: &str, parts: &[&[u8]]) -> Result<()> {
        self.0
            .insert(name.to_owned(), Blob::copy_of(&parts.concat()));
        Ok(())
    }
}

/// Sections with one replaced. The others are shared, as some are megabytes long.
struct ReplacedSections<'a> {
    whole: &'a BTreeMap<String, Blob>,
    changed: Option<(&'a str, &'a [u8])>,
}

impl SectionSource for ReplacedSections<'_> {
    fn get(&self, name: &str) -> Result<Blob> {
        match self.changed {
            Some((changed, bytes)) if changed == name => Ok(Blob::copy_of(bytes)),
            _ => self
                .whole
                .get(name)
                .cloned()
                .ok_or_else(|| Error::MissingSection {
                    name: name.to_owned(),
                }),
        }
    }
}
