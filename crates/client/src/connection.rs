//! A connection to one database of a service.

use papir_core::envelope;
use papir_core::erased::{ErasedScheme, ErasedState, scheme_of_public};
use papir_core::{NotPrivate, Privacy};
use papir_lookup::{Bundle, Lookup, Pending, Wanted};
use papir_schemes::registry;

use crate::account::Account;
use crate::address::Address;
use crate::costs::timed;
use crate::info::List;
use crate::pins;
use crate::transport::{Ask, Reply, Transport, unexpected};
use crate::{Costs, DatabaseInfo, Error, Options, Result, system_rng};

/// How often the public part is fetched again when the database changes between two requests.
const FETCH_RETRIES: usize = 3;
/// How many changes of the database one request survives: after each it is made again, from the new
/// public part and with fresh queries.
const CHANGES: usize = 3;
/// The code of a ticket that another query has used.
const TICKET_USED: &str = "ticket_used";

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
    options: Options,
    /// Where the scheme has client keys, from the first lookup on.
    account: Option<Account>,
}

/// A request that was answered: its lookups, and all their answers back to back.
struct Exchange {
    asked: Asked,
    answers: Vec<u8>,
    answer_bytes: usize,
}

/// What became of one request.
enum Outcome<'a> {
    /// It was answered; this is left to ask.
    Done(Exchange, &'a [Wanted<'a>]),
    /// The database has another version by now.
    Moved(Error),
    /// The service knows the client no more, or refuses its ticket.
    Gone(String, Error),
}

/// Lookups that were sent.
struct Asked {
    pending: Pending,
    /// For each, why what was wanted does not exist in a version that was put in place in between;
    /// another record was asked for in its stead.
    refusals: Vec<Option<papir_core::Error>>,
}

/// Asks whether a service has loaded all its databases. Sends no token: none is needed.
///
/// # Errors
/// [`Error::BadUrl`], those of the network, and [`Error::Http`] with status 503 while it is loading.
pub fn ready(url: &str, options: &Options) -> Result<()> {
    let address = Address::parse(url)?;
    let options = Options { token: None, ..options.clone() };
    Transport::new(&address, &options)?.reach(&address.ready())
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
        Self::open_with(url, &Options::of_database(database))
    }

    /// As [`Connection::open`], also for schemes that show the server what is asked.
    ///
    /// # Errors
    /// As [`Connection::open`], without the last one.
    pub fn open_even_if_not_private(url: &str, database: Option<&str>) -> Result<Self> {
        Self::open_with(url, &Options { allow_not_private: true, ..Options::of_database(database) })
    }

    /// As [`Connection::open`], with everything that can be asked for.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_with(url: &str, options: &Options) -> Result<Self> {
        let address = Address::parse(url)?;
        let transport = Transport::new(&address, options)?;
        let named = options.database.clone().or_else(|| address.database.clone());
        let name = choose(&transport, &address, named)?;
        let mut costs = Costs::default();
        let (info, lookup) = fetch(&transport, &address, &name, options, &mut costs)?;
        let mut options = options.clone();
        if options.pin {
            let place = (address.of(&name, ""), address.identity(&name));
            options.root = pins::hold(&options, (&place.0, &place.1), lookup.root())?;
        }
        Ok(Self { transport, address, name, info, lookup, costs, options, account: None })
    }

    /// Registers with the service where the scheme has client keys, or goes on with the registration
    /// that is kept. Lookups do so by themselves; keys may be large, and this is when they are sent. When
    /// the database changes meanwhile, starts again from its new public part, at most three times.
    ///
    /// # Errors
    /// Those of the network, of the service, and of client state ([`Error::Passphrase`] and the like).
    pub fn register(&mut self) -> Result<()> {
        let mut changes = 0;
        while self.account.is_none() {
            let place = (self.address.of(&self.name, ""), self.address.identity(&self.name));
            match Account::open(&self.transport, place, &self.lookup, &self.options) {
                Ok(None) => break,
                Ok(account) => self.account = account,
                Err(error) if error.is_moved() && changes < CHANGES => self.fetch_again()?,
                Err(error) => return Err(error),
            }
            changes += 1;
        }
        Ok(())
    }

    /// Another client of the same version: sockets of its own, the costs as they are.
    ///
    /// # Errors
    /// [`Error::BadCa`] when that file is gone by now.
    pub(crate) fn with_own_sockets(&self) -> Result<Self> {
        Ok(Self { transport: Transport::new(&self.address, &self.options)?, ..self.clone() })
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

    /// Does ahead what so many lookups need that does not depend on what they ask for: decrypts masks, in
    /// schemes that have them, seconds each. Kept in memory, for this connection and its clones; nothing is
    /// sent but a registration where there is none.
    ///
    /// # Errors
    /// Those of the network and of the state.
    pub fn prepare_ahead(&mut self, lookups: usize) -> Result<()> {
        self.register()?;
        let queries = self.lookup.queries_of(lookups);
        self.account.as_ref().map_or(Ok(()), |one| one.prepare(&self.transport, &self.lookup, queries))
    }

    /// Fetches the tickets of so many lookups to come, which are kept with the client's state: answers to them
    /// are shorter and faster to open. As many as the service prepares ahead at most; how many lookups there
    /// are tickets for. They are good for this version of the database alone.
    ///
    /// # Errors
    /// Those of the network and of the state; [`papir_core::Error::Parameters`] where a scheme has no such
    /// tickets.
    pub fn hold_ahead(&mut self, lookups: usize) -> Result<usize> {
        self.register()?;
        let each = self.lookup.queries_of(1);
        let Some(account) = self.account.as_ref().filter(|_| self.lookup.describe().limits.tickets) else {
            let (scheme, reason) = (self.lookup.describe().scheme, "its clients hold no tickets".to_owned());
            return Err(papir_core::Error::Parameters { scheme, reason }.into());
        };
        let most = account.queries_per_request(&self.lookup) / each;
        Ok(account.hold(&self.transport, &self.lookup, lookups.min(most) * each)? / each)
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
        self.check_indices(wanted)?;
        self.register()?;
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

    /// Refuses an index that the version at hand does not have, before anything is sent.
    fn check_indices(&self, wanted: &[Wanted<'_>]) -> Result<()> {
        let shape = self.lookup.describe().shape;
        let keyed = self.lookup.keyword().is_some();
        wanted.iter().try_for_each(|wanted| match wanted {
            Wanted::Index(index) if !keyed => Ok(shape.check_index(*index)?),
            _ => Ok(()),
        })
    }

    /// One request for the first of `wanted`, as many as fit; gives what is left. When the database
    /// has changed, starts again from its new public part, at most [`CHANGES`] times; when the service
    /// knows the registered client no more, registers again, once. Both with fresh queries, and as
    /// often as the server says: how often does not depend on what is asked.
    fn exchange<'a>(&mut self, wanted: &'a [Wanted<'a>]) -> Result<(Exchange, &'a [Wanted<'a>])> {
        let (mut changes, mut gone) = (0, false);
        loop {
            match self.try_exchange(wanted)? {
                Outcome::Done(exchange, rest) => return Ok((exchange, rest)),
                Outcome::Moved(_) if changes < CHANGES => {
                    self.follow_change()?;
                    changes += 1;
                }
                Outcome::Gone(client, refusal) if !gone || refusal.code() == TICKET_USED => {
                    match self.give_up_client(&client, refusal) {
                        Err(error) if error.is_moved() && changes < CHANGES => {
                            self.follow_change()?;
                            changes += 1;
                        }
                        given_up => given_up?,
                    }
                    gone = true;
                }
                Outcome::Moved(refusal) | Outcome::Gone(_, refusal) => return Err(refusal),
            }
        }
    }

    /// Starts again from the public part of the new version.
    fn follow_change(&mut self) -> Result<()> {
        self.fetch_again()?;
        self.register()
    }

    /// Fetches the public part of the new version; what was registered for the old one need not fit.
    fn fetch_again(&mut self) -> Result<()> {
        (self.info, self.lookup) =
            fetch(&self.transport, &self.address, &self.name, &self.options, &mut self.costs)?;
        self.account = None;
        Ok(())
    }

    /// Registers again for a client that is gone. A ticket that another query used says that the
    /// state exists twice: no query is made of it any more, and whoever asked hears of it.
    fn give_up_client(&mut self, client: &str, refusal: Error) -> Result<()> {
        let Some(account) = &self.account else {
            return Err(refusal);
        };
        match refusal {
            Error::Http { url, code, message, .. } if code == TICKET_USED => {
                account.forget(client)?;
                Err(Error::StateCopied { url, message })
            }
            _ => account.replace(&self.transport, &self.lookup, client),
        }
    }

    fn try_exchange<'a>(&mut self, wanted: &'a [Wanted<'a>]) -> Result<Outcome<'a>> {
        let (now, rest) = wanted.split_at(self.lookups_per_request().min(wanted.len()));
        let (client, asked) = match self.prepare(now) {
            // Another process has followed the database to a version that takes other state, or it has
            // forgotten the state and there is a new version to register with.
            Err(error) if error.is_moved() => return Ok(Outcome::Moved(error)),
            prepared => prepared?,
        };
        let (tickets, queries) = (asked.pending.tickets(), asked.pending.queries());
        let answer_bytes = self.lookup.describe().sizes.answer as usize;
        let limit = (queries.len() as u64).saturating_mul(answer_bytes as u64);
        let body = queries.concat();
        let url = self.address.of(&self.name, "/query");
        self.costs.requests += 1;
        self.costs.query_bytes += body.len() as u64;
        let (transport, version) = (&self.transport, self.lookup.version());
        let request = Ask { version, client: client.as_deref(), tickets, queries: &body, limit };
        let reply = timed(&mut self.costs.round_trip, || transport.ask(&url, &request))?;
        Ok(match reply {
            Reply::Moved(refusal) => Outcome::Moved(refusal),
            Reply::Gone(refusal) => Outcome::Gone(client.unwrap_or_default(), refusal),
            Reply::Answers(answers) => {
                self.costs.answer_bytes += answers.len() as u64;
                Outcome::Done(Exchange { asked, answers, answer_bytes }, rest)
            }
        })
    }

    /// The queries, and the registered client that they are of. What they use up of its state is on
    /// disk when this returns.
    fn prepare(&mut self, wanted: &[Wanted<'_>]) -> Result<(Option<String>, Asked)> {
        let (lookup, mut rng) = (&self.lookup, system_rng());
        let mut make = |state: Option<&mut ErasedState>| ask(lookup, state, wanted, &mut rng);
        let queries = lookup.queries_of(wanted.len());
        timed(&mut self.costs.query, || match &self.account {
            None => Ok((None, make(None)?)),
            Some(account) => {
                let (client, asked) =
                    account.with_state(&self.transport, lookup, queries, |state| make(Some(state)))?;
                Ok((Some(client), asked))
            }
        })
    }

    /// How many keys or indices one request holds.
    fn lookups_per_request(&self) -> usize {
        let queries = self.account.as_ref().map_or(usize::MAX, |one| one.queries_per_request(&self.lookup));
        self.lookup.lookups_in(self.info.max_batch.min(queries)).max(1)
    }
}

impl Exchange {
    /// Opens all answers.
    fn open(self) -> Vec<Result<Option<Vec<u8>>>> {
        let Asked { pending, refusals } = self.asked;
        let answers = match split(&self.answers, pending.queries().len(), self.answer_bytes) {
            Ok(answers) => answers.into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>(),
            Err(error) => return vec![Err(error)],
        };
        let found = match pending.finish_all(&answers) {
            Ok(found) => found,
            Err(error) => return vec![Err(error.into())],
        };
        let told = |(value, refusal): (_, Option<papir_core::Error>)| {
            refusal.map_or(Ok(value), |refusal| Err(refusal.into()))
        };
        found.into_iter().zip(refusals).map(told).collect()
    }
}

/// Answers one by one: each as long as the description says, or shorter, where its query's ticket is held.
fn split(answers: &[u8], queries: usize, each: usize) -> Result<Vec<&[u8]>> {
    let expected = queries.saturating_mul(each);
    if answers.len() < expected
        && let Some(parts) = envelope::split(answers)
        && parts.len() == queries
        && parts.iter().all(|part| part.len() <= each)
    {
        return Ok(parts);
    }
    papir_core::Error::check_length("the answers", answers.len(), expected)?;
    // At least 1, as `chunks` demands; no scheme's answer is empty.
    Ok(answers.chunks(each.max(1)).collect())
}

/// Prepares lookups.
///
/// An index that the version at hand when the lookup began does not have was refused by then. After a
/// change the server knows that something was wanted, and must not learn from silence that it lies
/// beyond the new end: record 0 is asked for instead, and the refusal is kept for the caller.
fn ask(
    lookup: &Lookup,
    state: Option<&mut ErasedState>,
    wanted: &[Wanted<'_>],
    rng: &mut dyn rand_core::CryptoRng,
) -> Result<Asked> {
    let shape = lookup.describe().shape;
    let refusal = |wanted: &Wanted<'_>| match wanted {
        Wanted::Index(index) if lookup.keyword().is_none() => shape.check_index(*index).err(),
        _ => None,
    };
    let refusals: Vec<_> = wanted.iter().map(refusal).collect();
    let pairs = wanted.iter().zip(&refusals);
    let asked_for: Vec<Wanted<'_>> =
        pairs.map(|(wanted, refusal)| if refusal.is_some() { Wanted::Index(0) } else { *wanted }).collect();
    Ok(Asked { pending: lookup.prepare_batch(state, &asked_for, rng)?, refusals })
}

/// The name of the database to talk to.
pub(crate) fn choose(transport: &Transport, address: &Address, named: Option<String>) -> Result<String> {
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
    options: &Options,
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
            let lookup = start(&bytes, options)?;
            check_root(&url, &lookup, options)?;
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

/// Refuses a database that does not commit to the root that is trusted: a server must not be able
/// to change to other records.
fn check_root(url: &str, lookup: &Lookup, options: &Options) -> Result<()> {
    match options.root {
        Some(expected) if lookup.root() != Some(expected) => Err(pins::wrong(url, lookup.root(), expected)),
        _ => Ok(()),
    }
}

/// The scheme of this number, in the registry or among those of the options.
fn scheme_of(id: u16, options: &Options) -> Result<&'static dyn ErasedScheme> {
    let more = options.schemes.0.iter().find(|scheme| scheme.id() == id);
    Ok(more.map_or_else(|| registry::by_id(id), |scheme| Ok(*scheme))?)
}

/// A lookup client from a bundle.
///
/// The scheme's privacy is looked at after every fetch: a server must not be able to change to a
/// scheme that shows it the question.
fn start(bundle: &[u8], options: &Options) -> Result<Lookup> {
    let bundle = Bundle::decode(bundle)?;
    let scheme = scheme_of(scheme_of_public(&bundle.scheme_public)?, options)?;
    match scheme.privacy() {
        Privacy::NotPrivate(reason) if !options.allow_not_private => {
            Err(papir_core::Error::NotPrivate { scheme: scheme.name(), reason }.into())
        }
        _ => {
            // For a private scheme the word changes nothing.
            let scheme =
                scheme.allow_insecure(NotPrivate::acknowledged()).with_owner_key(options.owner_key.as_ref());
            let client = scheme.client(&bundle.scheme_public)?;
            Ok(Lookup::new_verifying(client, bundle.keyword, bundle.commitment_top)?)
        }
    }
}
