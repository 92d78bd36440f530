//! Measurements of papir's schemes; `papir bench` on the command line.
//!
//! # Measurement of a scheme
//!
//! A database of public pseudo-random records ([`records::Synthetic`], fixed seed) is prepared and
//! queried: one warm-up query, then `runs` timed ones. Each query is for a different random index,
//! and the result is compared with the source. Before each answer, the stored database is read once
//! with each reader of [`bandwidth`], so that both times are taken under the same load. Every time
//! is the median over the runs. Setup and answers use `threads` threads; reading uses one.
//!
//! | field | meaning |
//! |---|---|
//! | `read_ms`, `read_gbps` | one read of the encoded database in place; GB = 2³⁰ bytes |
//! | `answer_ms` | from the query's bytes to the answer's bytes |
//! | `reads` | `answer_ms / read_ms` |
//! | `stages` | the parts of `answer_ms` by name, in ms |
//! | `encode_s` | part of `offline_s`, with the generation of the records |
//! | `hint_s`, `material_s` | other parts of `offline_s` |
//! | `keys_bytes` | a client's key material: registered once, or carried by each query |
//! | `query_bytes` | a query without key material, in its envelope |
//! | `query_payload_bytes` | the same without the envelope |
//! | `upload_bytes`, `download_bytes` | a query and an answer as sent, including key material |
//! | `batch` | maximum number of records per query; the timed query is for one |
//! | `hint_bytes` | data at the client that depends on the database |
//! | `material_bytes` | data at the server that depends on the database |
//! | `rss_bytes` | [`memory::Resident`]; null if the system does not report it |
//! | `ticket_s`, `ticket_bytes` | the server's ticket for a query, in schemes with tickets |
//! | `ahead_bytes` | with `--hold`: the key that is sent ahead, and its answer |
//! | `ahead_ms` | with `--hold`: the server's answer to that key, which is not in `answer_ms` |
//! | `client_cold_s`, `client_ready_ms` | the client's work before a query, and then `query_ms` |
//! | `query_ms`, `extract_ms` | the client's times, including encoding and decoding |
//! | `security_bits` | estimated security; null if nothing is encrypted |
//! | `failure_log2` | log₂ of the probability that decoding fails; null if it never does |
//! | `correct` | true if every record, including the warm-up's, was correct |
//!
//! With `clients` above 1, the queries of this number of clients are then answered together, in the
//! same number of runs. Otherwise, the following fields are the fields of one client alone.
//!
//! | field | meaning |
//! |---|---|
//! | `clients` | number of clients in a group |
//! | `group_ms` | from the queries' bytes to the bytes of all answers |
//! | `core_ms_per_lookup` | processor time of a group, for each client |
//! | `alone_ms` | `answer_ms` |
//! | `effective_gbps` | bytes of the database times `clients`, over `group_ms` |
//! | `floor_ms` | one read of database and material at the rate of `read_ms` |
//! | `arithmetic_floor_ms` | the products of one answer at the peak rate of one core |
//! | `once_bytes` | bytes that a client downloads once for each version |
//! | `pages` | size of most pages of the process's memory; null if the system does not report it |
//!
//! The peak rate is [`papir_kernels::peak`]'s; the field is null if the scheme counts no products.
//!
//! # A device beside the CPU
//!
//! `papir bench SCHEME --device cuda:0` ([`device`]) answers groups of 1, 8, 32 and 128 clients
//! with a device and by the CPU alone, and compares all answers and records:
//!
//! | field | meaning |
//! |---|---|
//! | `device_gbps` | reads and writes of a copy within the device's memory; GB = 10⁹ bytes |
//! | `copy_s` | time to copy the matrices to the device |
//! | `groups` | for each group: `clients`, `device_ms`, `stages`, `cpu_ms` |
//! | `effective_gbps` | bytes of the database times `clients`, over `device_ms` |
//! | `reads` | `device_ms` over the time of one read of the database at `device_gbps` |
//!
//! # Every scheme on one database
//!
//! `papir bench --all` measures every scheme of the registry on one database ([`field`]). The
//! output is a table, JSON, or with `--csv` lines. A scheme that would take more than ten minutes
//! or too much memory is predicted by the cost model, with the rates that `papir plan --calibrate`
//! measured.

pub mod bandwidth;
pub mod batch;
pub mod best;
pub mod calibrate;
pub mod check;
pub mod cli;
pub mod clock;
pub mod cost;
pub mod definitions;
pub mod device;
pub mod device_rates;
pub mod effort;
pub mod error;
pub mod field;
mod group;
pub mod measure;
pub mod memory;
mod prepared;
pub mod psi;
pub mod records;
pub mod report;
pub mod schemes;

pub use error::{Error, Result};
pub use report::Report;
