//! Private information retrieval: look a record up without telling the server which one.
//!
//! The server answers every query by going over its whole database, under encryption; it learns
//! that a query came and nothing of what was asked.
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
//! `database` is the server's side, `client` and `lookup` are the client's: what passes between
//! them is [`Database::bundle`] once, then queries and answers, all of them bytes.
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
//! # The rooms behind this one
//!
//! | module | what |
//! |---|---|
//! | [`core`] | the interface of every scheme: setup, query, answer, extract |
//! | [`schemes`] | the schemes, and their registry by name |
//! | [`lookup`] | keys and values over any scheme |
//! | [`client`] | the network client |

mod database;
mod network;

pub use papir_client as client;
pub use papir_core as core;
pub use papir_lookup as lookup;
pub use papir_schemes as schemes;

pub use database::{Database, Options, client_of};
pub use network::connect;
pub use papir_client::{Connection, system_rng};
pub use papir_core::{Goal, RecordBuffer, Records};
pub use papir_lookup::{Error, Lookup, OnDuplicate, Pending, Result};

/// The scheme that is taken where none is named.
pub const DEFAULT_SCHEME: &str = "inspire";
