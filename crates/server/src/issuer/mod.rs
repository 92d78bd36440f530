//! Issuer of private tokens (RFC 9576 to 9578, tokens of type 2).
//!
//! A client that shows a bearer token receives signatures of blinded tokens, up to a number a day.
//! Later it spends the tokens at a service, which cannot tell who they were issued to. The issuer
//! sees who fetches tokens and when, and neither the tokens nor where they are spent.
//!
//! | route | response |
//! |---|---|
//! | `GET /.well-known/private-token-issuer-directory` | the public keys, JSON |
//! | `POST /token-request` | signatures of one blinded token, or of [`TOKENS_PER_BATCH`] |
//! | `GET /healthz` | liveness |
//!
//! | file | contents |
//! |---|---|
//! | `config` | settings |
//! | `server` | starts and stops an issuer |
//! | `routes` | routes, and the two handlers |
//! | `requests` | bodies of token requests, single and in batches |
//! | `issuance` | the work of one request: keys, counts, signatures |
//! | `counts` | tokens issued to each client today, on disk |
//! | `keys`, `rotation`, `key_file` | private keys: in use, their times, on disk |
//! | `problem` | errors as status and problem details |
//!
//! [`TOKENS_PER_BATCH`]: papir_privacy_pass::TOKENS_PER_BATCH

mod config;
mod counts;
mod issuance;
mod key_file;
mod keys;
mod problem;
mod requests;
mod rotation;
mod routes;
mod server;

pub use config::IssuerConfig;
pub use problem::IssuerProblem;
pub use server::BoundIssuer;
