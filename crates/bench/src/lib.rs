//! Measures papir's schemes and their parts, all in one way; the command line calls it as
//! `papir bench`.
//!
//! # How a scheme is measured
//!
//! A database of public pseudo-random records ([`records::Synthetic`], fixed seed) is prepared, then
//! queried: one warm-up query, then `runs` more. Each query asks for another random index and what
//! comes back is compared with the source. Around each answer the stored database is read once with
//! each way of [`bandwidth`], so that both meet the same load on the machine. Every figure is the
//! median over the runs. Setup and answers run on `threads` threads, reading on one.
//!
//! | field | what |
//! |---|---|
//! | `read_ms`, `read_gbps` | one read of the encoded database where it lies; GB = 2³⁰ bytes |
//! | `answer_ms` | from the query's bytes to the answer's bytes |
//! | `reads` | `answer_ms / read_ms` |
//! | `stages` | the parts of `answer_ms` by name, in ms |
//! | `encode_s`, `hint_s`, `material_s` | parts of `offline_s`; `encode_s` includes making the records |
//! | `keys_bytes` | a client's key material: registered once, or carried by each query |
//! | `query_bytes`, `query_payload_bytes` | a query without key material; and without its envelope |
//! | `upload_bytes`, `download_bytes` | a query and an answer as sent, key material included |
//! | `batch` | records that one query can ask for; the query that is timed asks for one |
//! | `hint_bytes`, `material_bytes` | what depends on the database: at the client, at the server |
//! | `rss_bytes` | see [`memory::Resident`]; null where the system does not tell |
//! | `query_ms`, `extract_ms` | the client, bytes included |
//! | `security_bits`, `failure_log2` | null where there is nothing to break, or nothing that fails |
//! | `correct` | every record, that of the warm-up too, was the source's |
//!
//! # Tables and figures of papers
//!
//! `papir bench --table NAME` prints a paper's table beside papir's figures ([`tables`]), `--figure NAME`
//! the points of a figure or, with `--svg FILE`, its plot ([`figures`]). Both are data: a row is what the
//! paper prints and the configuration of papir that it is compared with. A database up to `--size` (1 GiB
//! by default) that fits the memory that is free is measured as above; others are predicted by the cost
//! model, with the rates that `papir plan --calibrate` found, and marked so. What a row shows:
//!
//! | field | what |
//! |---|---|
//! | `total_kib` | keys, query, download and hint: what a client's first query costs; the papers' KB, 1024 bytes |
//! | `total_kb` | the same in KB of 1000 bytes |
//! | `reads` | only of measured rows |
//! | `status` | `measured`, `predicted`, `no_parameters` (with its reason), `not_built_in`, `not_compared` |
//! | `below`, `above` | in how many rows `total_kib` is less, and more, than the paper's |

pub mod bandwidth;
pub mod batch;
pub mod best;
pub mod calibrate;
pub mod check;
pub mod cli;
pub mod clock;
pub mod compress;
pub mod definitions;
pub mod depir;
pub mod error;
pub mod figures;
pub mod measure;
pub mod memory;
pub mod newton;
pub mod packing;
pub mod psi;
pub mod records;
pub mod report;
pub mod subject;
pub mod tables;

pub use error::{Error, Result};
pub use report::Report;
