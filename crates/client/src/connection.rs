//! A connection to one database of a service.

use papir_core::Privacy;
use papir_core::erased::scheme_of_public;
use papir_lookup::{Bundle, Lookup, Pending};
use papir_schemes::registry;

use crate::address::Address;
use crate::costs::timed;
use crate::info::List;
use crate::transport::{Reply, Transport, unexpected};
use crate::{Costs, DatabaseInfo, Error, Result, system_rng};

/// How often the public part is fetched again when the database changes between two requests.
const FETCH_RETRIES: usize = 3;

/// A private client of one database of a service. Clones share the public part and start with
/// its costs.
#[derive(Clone)]
pub struct Connection {
    transport: Transport,
    address: Address,
    name: String,
    info: DatabaseInfo,
    lookup: Lookup,
    costs: Costs,
    privacy: Demand,
}

/// What a client demands of a database's scheme, at every fetch: a server must not be able to
/// change to a scheme that shows it the question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    Private,
    Anything,
}

/// What one lookup asks for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Key(&'a [u8]),
    Index(u64),
}

/// A request that was answered: its lookups, and all their answers back to back.
struct Exchange {
    asked: Vec<Asked>,
    answers: Vec<u8>,
    answer_bytes: usize,
}

/// One lookup that was sent.
struct Asked {
    pending: Pending,
    /// Why what was wanted does not exist in a version that was put in place in between; another
    /// record was asked for in its stead.
    refusal: Option<papir_core::Error>,
}

impl Connection {
    /// Connects to a database: the one named, the one that the address names, or the only one.
    /// Fetches what a client starts from.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], those of the
    /// network, and [`Error::Core`] for a public part that is damaged, of an unknown scheme, or of
    /// one that is not private.
    pub fn open(url: &str, database: Option<&str>) -> Result<Self> {
        Self::open_demanding(url, database, Demand::Private)
    }

    /// As [`Connection::open`], also for schemes that show the server what is asked.
    ///
    /// # Errors
    /// As [`Connection::open`], without the last one.
    pub fn open_even_if_not_private(url: &str, database: Option<&str>) -> Result<Self> {
        Self::open_demanding(url, database, Demand::Anything)
    }

    fn open_demanding(url: &str, database: Option<&str>, privacy: Demand) -> Result<Self> {
        let address = Address::parse(url)?;
        let transport = Transport::new();
        let named = database.map(str::to_owned).or_else(|| address.database.clone());
        let name = choose(&transport, &address, named)?;
        let mut costs = Costs::default();
        let (info, lookup) = fetch(&transport, &address, &name, privacy, &mut costs)?;
        Ok(Self { transport, address, name, info, lookup, costs, privacy })
    }

    /// What the server says of the database.
    pub fn info(&self) -> &DatabaseInfo {
        &self.info
    }

    /// The lookup client of the version at hand: exact sizes, security, parameters.
    pub fn lookup(&self) -> &Lookup {
        &self.lookup
    }

    /// What was spent since the connection was opened.
    pub fn costs(&self) -> Costs {
        self.costs
    }

    /// The value of a key, or `None` when the database has no such key.
    ///
    /// # Errors
    /// Those of the network, of the service, and of [`Pending::finish`].
    pub fn get_key(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get(&[Wanted::Key(key)])?.into_iter().next().flatten())
    }

    /// The values of several keys, in their order. The server learns how many they are.
    ///
    /// # Errors
    /// As [`Connection::get_key`]; one failure fails them all.
    pub fn get_keys<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        let wanted: Vec<_> = keys.iter().map(|key| Wanted::Key(key.as_ref())).collect();
        self.get(&wanted)
    }

    /// The record at an index.
    ///
    /// # Errors
    /// As [`Connection::get_key`], and [`papir_core::Error::IndexOutOfRange`] before anything is sent.
    pub fn get_index(&mut self, index: u64) -> Result<Vec<u8>> {
        Ok(self.get_indices(&[index])?.into_iter().next().unwrap_or_default())
    }

    /// The records at several indices, in their order. The server learns how many they are.
    ///
    /// # Errors
    /// As [`Connection::get_index`]; one failure fails them all.
    pub fn get_indices(&mut self, indices: &[u64]) -> Result<Vec<Vec<u8>>> {
        let wanted: Vec<_> = indices.iter().map(|&index| Wanted::Index(index)).collect();
        Ok(self.get(&wanted)?.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Sends everything, and only when the last answer has arrived looks into any: what the server
    /// sees does not depend on whether answers decode.
    fn get(&mut self, wanted: &[Wanted<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
        let (mut exchanges, mut left) = (Vec::new(), wanted);
        while !left.is_empty() {
            let (exchange, rest) = self.exchange(left)?;
            exchanges.push(exchange);
            left = rest;
        }
        let opened =
            timed(&mut self.costs.extract, || exchanges.into_iter().flat_map(Exchange::open).collect());
        // A list of all results first: an early error must not save the opening of later answers.
        let opened: Vec<Result<Option<Vec<u8>>>> = opened;
        opened.into_iter().collect()
    }

    /// One request for the first of `wanted`, as many as fit; gives what is left. When the database
    /// has changed, starts again from its new public part, once, with fresh queries.
    fn exchange<'a>(&mut self, wanted: &'a [Wanted<'a>]) -> Result<(Exchange, &'a [Wanted<'a>])> {
        if let Ok(done) = self.try_exchange(wanted, Attempt::First)? {
            return Ok(done);
        }
        (self.info, self.lookup) =
            fetch(&self.transport, &self.address, &self.name, self.privacy, &mut self.costs)?;
        self.try_exchange(wanted, Attempt::AfterChange)?
    }

    /// The inner result is the refusal of a database that has changed.
    fn try_exchange<'a>(
        &mut self,
        wanted: &'a [Wanted<'a>],
        attempt: Attempt,
    ) -> Result<Result<(Exchange, &'a [Wanted<'a>])>> {
        let (now, rest) = wanted.split_at(self.lookups_per_request().min(wanted.len()));
        let asked = self.prepare(now, attempt)?;
        let queries: Vec<&[u8]> =
            asked.iter().flat_map(|asked| asked.pending.queries()).map(Vec::as_slice).collect();
        let answer_bytes = self.lookup.describe().sizes.answer as usize;
        let limit = (queries.len() as u64).saturating_mul(answer_bytes as u64);
        let body = queries.concat();
        let url = self.address.of(&self.name, "/query");
        self.costs.requests += 1;
        self.costs.query_bytes += body.len() as u64;
        let (transport, version) = (&self.transport, self.lookup.version());
        let reply = timed(&mut self.costs.round_trip, || transport.ask(&url, version, &body, limit))?;
        Ok(match reply {
            Reply::Moved(refusal) => Err(refusal),
            Reply::Answers(answers) => {
                self.costs.answer_bytes += answers.len() as u64;
                Ok((Exchange { asked, answers, answer_bytes }, rest))
            }
        })
    }

    fn prepare(&mut self, wanted: &[Wanted<'_>], attempt: Attempt) -> Result<Vec<Asked>> {
        let (lookup, mut rng) = (&self.lookup, system_rng());
        timed(&mut self.costs.query, || {
            wanted.iter().map(|wanted| ask(lookup, wanted, attempt, &mut rng)).collect()
        })
    }

    /// How many keys or indices one request holds.
    fn lookups_per_request(&self) -> usize {
        let capacity = self.lookup.describe().limits.batch.max(1);
        let records = self.lookup.keyword().map_or(1, |layout| layout.lookups());
        (self.info.max_batch / records.div_ceil(capacity)).max(1)
    }
}

impl Exchange {
    /// Opens all answers.
    fn open(self) -> Vec<Result<Option<Vec<u8>>>> {
        let queries: usize = self.asked.iter().map(|asked| asked.pending.queries().len()).sum();
        let expected = queries.saturating_mul(self.answer_bytes);
        if let Err(error) = papir_core::Error::check_length("the answers", self.answers.len(), expected) {
            return vec![Err(error.into())];
        }
        // At least 1, as `chunks` demands; no scheme's answer is empty.
        let mut answers = self.answers.chunks(self.answer_bytes.max(1)).map(<[u8]>::to_vec);
        let open = |asked: Asked| {
            let own: Vec<_> = answers.by_ref().take(asked.pending.queries().len()).collect();
            let opened = asked.pending.finish(&own)?;
            asked.refusal.map_or(Ok(opened), |refusal| Err(refusal.into()))
        };
        self.asked.into_iter().map(open).collect()
    }
}

/// Whether a request is made again because the database changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    AfterChange,
}

/// Prepares one lookup.
///
/// An index that the first version at hand does not have is refused before anything is sent. After a
/// change the server knows that something was wanted, and must not learn from silence that it lies
/// beyond the new end: record 0 is asked for instead, and the refusal is kept for the caller.
fn ask(
    lookup: &Lookup,
    wanted: &Wanted<'_>,
    attempt: Attempt,
    rng: &mut dyn rand_core::CryptoRng,
) -> Result<Asked> {
    let index = match wanted {
        Wanted::Key(key) => return Ok(Asked { pending: lookup.prepare_key(key, rng)?, refusal: None }),
        Wanted::Index(index) => *index,
    };
    let refusal = lookup.describe().shape.check_index(index).err();
    let asked_for = if attempt == Attempt::AfterChange && refusal.is_some() { 0 } else { index };
    Ok(Asked { pending: lookup.prepare_index(asked_for, rng)?, refusal })
}

/// The name of the database to talk to.
fn choose(transport: &Transport, address: &Address, named: Option<String>) -> Result<String> {
    let url = address.list();
    let list: List = transport.json(&url)?;
    let known = list.names();
    match named {
        Some(name) if list.databases.iter().any(|one| one.name == name) => Ok(name),
        Some(name) => Err(Error::NoSuchDatabase { url, name, known }),
        None => match <[_; 1]>::try_from(list.databases) {
            Ok([only]) => Ok(only.name),
            Err(_) => Err(Error::ChooseDatabase { url, known }),
        },
    }
}

/// Fetches the description and the public part of one version.
fn fetch(
    transport: &Transport,
    address: &Address,
    name: &str,
    privacy: Demand,
    costs: &mut Costs,
) -> Result<(DatabaseInfo, Lookup)> {
    let Costs { fetch, public_bytes, .. } = costs;
    timed(fetch, || {
        let url = address.of(name, "/public");
        for _ in 0..FETCH_RETRIES {
            let info: DatabaseInfo = transport.json(&address.of(name, ""))?;
            // Replaced between the two requests: the description is of the old version.
            let Some(bytes) = transport.bytes_of(&url, &info.version, info.sizes.bundle)? else {
                continue;
            };
            *public_bytes += bytes.len() as u64;
            let lookup = start(&bytes, privacy)?;
            if lookup.version().to_string() != info.version {
                let reason =
                    format!("a public part of version {}: expected {}", lookup.version(), info.version);
                return Err(unexpected(&url, reason));
            }
            return Ok((info, lookup));
        }
        Err(unexpected(&url, format!("another version at each of {FETCH_RETRIES} tries")))
    })
}

/// A lookup client from a bundle.
fn start(bundle: &[u8], privacy: Demand) -> Result<Lookup> {
    let bundle = Bundle::decode(bundle)?;
    let scheme = registry::by_id(scheme_of_public(&bundle.scheme_public)?)?;
    match scheme.privacy() {
        Privacy::NotPrivate(reason) if privacy == Demand::Private => {
            Err(papir_core::Error::NotPrivate { scheme: scheme.name(), reason }.into())
        }
        _ => Ok(Lookup::new(scheme.client(&bundle.scheme_public)?, bundle.keyword)?),
    }
}
