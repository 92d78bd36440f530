//! Private information retrieval: look up a record without revealing to the server which one.
//!
//! The server answers every query by processing its whole database under encryption. It learns that
//! a query arrived, but not which record it asked for.
//!
//! # In one process
//!
//! ```
//! use papir::{Database, Options, system_rng};
//!
//! let database = Database::build([("France", "Paris"), ("Peru", "Lima")], &Options::default())?;
//! let client = database.client()?;
//! let lookup = client.prepare_key(b"Peru", &mut system_rng())?;
//! let answers = database.answer(lookup.queries())?;
//! assert_eq!(lookup.finish(&answers)?.as_deref(), Some(&b"Lima"[..]));
//! # Ok::<(), papir::Error>(())
//! ```
//!
//! `database` belongs to the server, `client` and `lookup` to the client. They exchange only bytes:
//! the [`Database::bundle`] once, and then queries and answers.
//!
//! # Over the network
//!
//! ```
//! # let runtime = tokio::runtime::Runtime::new()?;
//! # let (address, _server) = runtime.block_on(async {
//! #     let database = papir::Database::build([("Peru", "Lima")], &papir::Options::default())?;
//! #     let (prepared, layout) = database.into_parts();
//! #     let database = papir_server::Database::new("capitals", prepared, layout);
//! #     let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
//! #     let config = papir_server::ServerConfig { listen: listen.into(), ..Default::default() };
//! #     let server = papir_server::Server::bind_loaded(config, vec![database]).await?;
//! #     Ok::<_, Box<dyn std::error::Error>>((server.url(), server))
//! # })?;
//! let mut capitals = papir::connect(&address)?;
//! assert_eq!(capitals.get_key(b"Peru")?.as_deref(), Some(&b"Lima"[..]));
//! assert_eq!(capitals.get_key(b"Atlantis")?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # In an asynchronous program
//!
//! With the feature `aio`, `aio::Connection` has the same operations as futures for tokio. A future
//! may be dropped at any time: the state on disk stays consistent.
//!
//! ```
//! # async fn example(address: &str) -> Result<(), papir::client::Error> {
//! # #[cfg(feature = "aio")] {
//! let mut capitals = papir::aio::Connection::open(address, None).await?;
//! assert_eq!(capitals.get_key(b"Peru").await?.as_deref(), Some(&b"Lima"[..]));
//! # }
//! # Ok(())
//! # }
//! # let runtime = tokio::runtime::Runtime::new()?;
//! # runtime.block_on(async {
//! #     let database = papir::Database::build([("Peru", "Lima")], &papir::Options::default())?;
//! #     let (prepared, layout) = database.into_parts();
//! #     let database = papir_server::Database::new("capitals", prepared, layout);
//! #     let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
//! #     let config = papir_server::ServerConfig { listen: listen.into(), ..Default::default() };
//! #     let server = papir_server::Server::bind_loaded(config, vec![database]).await?;
//! #     let address = server.url();
//! #     tokio::spawn(server.serve(std::future::pending()));
//! #     example(&address).await?;
//! #     Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # At fixed times
//!
//! The server sees when it is queried, and for how many keys. [`Connection::schedule`] sends
//! requests of one size at fixed times, and fills them with dummies.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! let schedule = papir::Schedule { every: Duration::from_secs(60), batch: 4 };
//! let capitals = papir::connect("http://127.0.0.1:7470")?.schedule(schedule)?;
//! let peru = capitals.submit_key(b"Peru")?;
//! assert_eq!(peru.wait()?.as_deref(), Some(&b"Lima"[..]));
//! # Ok::<(), papir::client::Error>(())
//! ```
//!
//! # Registered clients
//!
//! With `zip`, a client registers once, and each of its queries consumes a ticket that the server
//! prepared in advance. A ticket is valid for one query only. The server must therefore record the
//! numbers of used tickets, and the client must save its state
//! ([`ErasedRegisteredClient::save_state`]) before it sends a query. [`connect`] and the server
//! program do both.
//!
//! ```no_run
//! use papir::{Database, ErasedSession, NoProgress, Options, system_rng};
//!
//! let options = Options { scheme: "zip".into(), ..Options::default() };
//! let database = Database::build([("France", "Paris"), ("Peru", "Lima")], &options)?;
//! let client = database.client()?;
//! let registered = client.client().require_registered()?;
//! let (mut state, sent) = registered.register(&mut system_rng())?;
//!
//! // In advance, the server prepares a ticket, and the client precomputes its next query.
//! let server = database.server().require_registered()?;
//! let keys = server.accept_keys(&sent)?;
//! let ticket = server.ticket(&keys, 0, None, &NoProgress)?;
//! registered.prepare(&mut state, 1, &NoProgress)?;
//!
//! let lookup = client.prepare_key_with(Some(&mut state), b"Peru", &mut system_rng())?;
//! assert_eq!(lookup.tickets(), [0]);
//! let session = ErasedSession { keys: Some(&keys), ticket: Some(&ticket) };
//! let answer = database.server().answer(session, &lookup.queries()[0])?;
//! assert_eq!(lookup.finish(&[answer])?.as_deref(), Some(&b"Lima"[..]));
//! # Ok::<(), papir::Error>(())
//! ```
//!
//! The example `sct_auditing` does this over a service, with batches of fixed size at fixed
//! intervals, and a growing database whose tickets the service updates.
//!
//! # Encrypted databases
//!
//! To hide the records from the server, their owner encrypts them under an [`OwnerKey`]. Clients
//! register with the same key. The server sees neither records nor queries. Anyone with the key can
//! read all records and, if the server leaks them, the queries of other clients.
//!
//! ```no_run
//! use papir::{
//!     Database, ENCRYPTED_SCHEME, ErasedSession, Options, OwnerKey, client_under, system_rng,
//! };
//!
//! // The owner.
//! let key = OwnerKey::generate(&mut system_rng());
//! let options = Options {
//!     scheme: ENCRYPTED_SCHEME.into(),
//!     owner_key: Some(key.clone()),
//!     ..Options::default()
//! };
//! let database = Database::build([("France", "Paris"), ("Peru", "Lima")], &options)?;
//! let handed_over = key.to_text();
//!
//! // A client, with the key as text.
//! let client = client_under(Some(&handed_over.parse()?), &database.bundle())?;
//! let registered = client.client().require_registered()?;
//! let (mut state, sent) = registered.register(&mut system_rng())?;
//! let lookup = client.prepare_key_with(Some(&mut state), b"Peru", &mut system_rng())?;
//!
//! // The server, without the key.
//! let keys = database.server().require_registered()?.accept_keys(&sent)?;
//! let session = ErasedSession { keys: Some(&keys), ticket: None };
//! let answer = database.server().answer(session, &lookup.queries()[0])?;
//! assert_eq!(lookup.finish(&[answer])?.as_deref(), Some(&b"Lima"[..]));
//! # Ok::<(), papir::Error>(())
//! ```
//!
//! # Examples
//!
//! - `async_lookup`: lookups in an asynchronous program (feature `aio`).
//! - `keyed_lookup`: keyed lookup in one process, and an update.
//! - `batch`: many keys in one query.
//! - `own_http_server`: queries answered inside your own HTTP server.
//! - `sct_auditing`: registered clients of a service, tickets, batches of fixed size at fixed
//!   intervals.
//! - `device_enrollment`: one lookup of a client that has fetched nothing before.
//! - `content_routing`: three lookups that lead to a block of a content network.
//! - `compress_ciphertexts`: LWE encryptions of another scheme in one of Paillier's.
//!
//! # Re-exported crates
//!
//! | module | contents |
//! |---|---|
//! | [`core`] | the interface of every scheme: setup, query, answer, extract |
//! | [`schemes`] | the schemes, and their registry by name |
//! | [`lookup`] | keys and values over any scheme |
//! | [`client`] | the network client |
//! | [`paillier`] | Paillier and Damgård–Jurik encryption |
//!
//! [`paillier::compress`] compresses LWE and RLWE ciphertexts of other schemes.

mod database;
mod update;

/// The crate's README, whose code examples are tested here.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "aio")]
pub use papir_client::aio;

pub use papir_client as client;
pub use papir_core as core;
pub use papir_lookup as lookup;
pub use papir_paillier as paillier;
pub use papir_schemes as schemes;

pub use database::{Database, Options, client_of, client_under};
pub use papir_client::{Connection, Schedule, Scheduled, system_rng};
pub use papir_core::erased::{
    ErasedClient, ErasedKeys, ErasedRegisteredClient, ErasedRegisteredServer, ErasedServer,
    ErasedSession, ErasedState,
};
pub use papir_core::{FailureBound, Goal, NoProgress, OwnerKey, Progress, RecordBuffer, Records};
pub use papir_lookup::{BucketTarget, Error, Lookup, OnDuplicate, Pending, Result};
pub use papir_schemes::default_scheme::ClientsMaySee;

/// The name that leaves the scheme to the records: see [`schemes::default_scheme`].
pub const DEFAULT_SCHEME: &str = papir_schemes::default_scheme::DEFAULT;
/// The scheme whose databases their owner encrypts.
pub const ENCRYPTED_SCHEME: &str = papir_schemes::registry::ENCRYPTED;

/// Connects to the database at a URL `http://host:port/v1/databases/name`, or to the only database
/// of the server at `http://host:port`.
///
/// # Errors
/// The errors of [`Connection::open`].
pub fn connect(url: &str) -> Result<Connection, client::Error> {
    Connection::open(url, None)
}
