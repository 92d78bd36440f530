//! HTTP server for private queries to prepared databases.
//!
//! It speaks HTTP/1.1 and HTTP/2.
//!
//! | route | response |
//! |---|---|
//! | `GET /v1/databases` | list of databases, JSON |
//! | `GET /v1/databases/{name}` | one database: shape, scheme, version, sizes, JSON |
//! | `GET /v1/databases/{name}/public` | public part, binary; its `ETag` is the version |
//! | `GET …/public/{version}/hashes`, `…/blocks/{ranges}` | blocks of the public part |
//! | `POST /v1/databases/{name}/query` | answers to 1 to `max_batch` concatenated queries |
//! | `POST`, `GET /v1/databases/{name}/clients`, … | registered clients: see `docs/formats.md` |
//! | `GET /v1/psi`, `GET /v1/psi/filter`, `POST /v1/psi/evaluate` | private set intersection |
//! | `GET`, `POST /.well-known/ohttp-gateway` | keys of Oblivious HTTP; sealed requests |
//! | `GET /healthz`, `GET /readyz` | liveness; readiness: all databases are loaded |
//! | `GET /metrics` | metrics in the Prometheus text format |
//! | `GET /openapi.json` | this interface, in OpenAPI 3.1 |
//!
//! Every error has problem details (RFC 9457) in JSON: 400 malformed, 401 missing or invalid token,
//! 403 not allowed by the token, 404 unknown, 405 wrong method, 408 body too slow, 409 wrong
//! version (with `"version"`), 410 client gone or ticket used, 413 body too long, 429 server busy
//! or client over its limit (with `Retry-After`), 500 internal failure, 503 not loaded yet.
//!
//! Answers are computed on a bounded number of dedicated threads. Requests that wait for the same
//! version are answered in a batch, with one pass over the database. Logs contain sizes and times,
//! never bytes of a query. Each request has an id, `x-request-id`, chosen by the client or
//! generated. The id is in the response and in each log line of the request.
//!
//! After a swap, the previous version is still answered for the time `keep_old`. At most two old
//! snapshots and 64 old deltas are kept. A query names its version in its envelope, and optionally
//! in the header `papir-version`. The error for an expired version names the newest one.
//!
//! A query passes through these steps, each with its own verb: `http::query` reads and checks the
//! request, `QueryService::submit` loads keys and tickets, `Executor::run` waits for a pool of
//! threads, `Work::run_batch` answers the requests that waited, `Database::answer` divides them
//! between snapshot and delta, and the scheme's `answer_many` computes the answers.
//!
//! Modules, from top to bottom; imports only point downwards:
//!
//! | module | contents |
//! |---|---|
//! | `server`, `unbound` | starts and stops a server; a service for another server's requests |
//! | `messages` | answers to short messages in files, without a service |
//! | `relay` | a relay of Oblivious HTTP, for services of others |
//! | `issuer` | an issuer of private tokens, apart from a service |
//! | `standalone` | the listener and the refusals of a relay or an issuer |
//! | `http` | routes, handlers and middleware of a service |
//! | `service` | shared state, query answering, reload |
//! | `clients`, `psi` | registered clients; private set intersection |
//! | `gateway` | keys of Oblivious HTTP, and the opening of sealed requests |
//! | `privacy_pass` | keys of the issuer of private tokens, and verification of tokens |
//! | `admission`, `catalog` | limits and batching; databases and their versions |
//! | `metrics`, `traces` | metrics; spans |
//! | `access`, `listen` | tokens and trusted proxies; sockets, TLS and connections |
//! | `shares` | holders of a bounded resource, and which gives way |
//! | `background` | outcomes of background work |
//! | `private_file` | files of settings that the service or a command replaces |

mod access;
mod admission;
mod background;
mod catalog;
mod clients;
mod duration;
mod error;
mod gateway;
mod http;
mod issuer;
mod listen;
mod messages;
mod metrics;
mod privacy_pass;
mod private_file;
mod psi;
mod relay;
mod server;
mod service;
mod shares;
mod standalone;
mod traces;
mod unbound;

pub use access::{
    ListedRelays, NewToken, Origin, Scope, TokenEntry, TokenFile, TokenSource, TrustedProxies,
};
pub use admission::{ClientLimits, Rate};
pub use axum::body::Body as RelayBody;
pub use axum::http::{Request, Response};
pub use catalog::{Database, DatabaseConfig, MessageSizes, Reloaded, SealedSizes, Sources};
pub use clients::{PostgresConfig, RegistryConfig, RegistryPlace, StoredRegistry};
pub use duration::parse_duration;
pub use error::Error;
pub use issuer::{BoundIssuer, IssuerConfig, IssuerProblem};
pub use listen::{ClientFiles, Listen, TlsFiles};
pub use messages::answer_message;
pub use papir_protocol::{ClientStatus, RegistryCounts};
pub use papir_store::postgres::Login;
pub use privacy_pass::{
    DirectoryExchange, DirectoryFailure, DirectorySource, DirectoryTransport, PrivacyPassConfig,
};
pub use relay::{
    BoundRelay, GatewayFailure, RelayConfig, RelayExchange, RelayGateway, RelayProblem,
    RelayTransport, RelayUpload,
};
pub use server::{BoundServer, Server};
pub use service::{
    Protection, QueryObserver, ReloadHandle, ServerConfig, State, StateObserver, check,
};
pub use traces::{TARGET as TRACE_TARGET, TraceObserver};
pub use unbound::UnboundServer;
