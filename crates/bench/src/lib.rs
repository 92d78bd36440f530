//! Benchmarks of papir's schemes and their parts; `papir bench` on the command line.
//!
//! # How a scheme is measured
//!
//! A database of public pseudo-random records ([`records::Synthetic`], fixed seed) is prepared,
//! then queried: one warm-up query, then `runs` timed ones. Each query is for another random index,
//! and the result is compared with the source. Around each answer, the stored database is read once
//! with each reader of [`bandwidth`], so that both run under the same load. Every figure is the
//! median over the runs. Setup and answers run on `threads` threads, reading on one.
//!
//! | field | meaning |
//! |---|---|
//! | `read_ms`, `read_gbps` | one read of the encoded database in place; GB = 2³⁰ bytes |
//! | `answer_ms` | from the query's bytes to the answer's bytes |
//! | `reads` | `answer_ms / read_ms` |
//! | `stages` | the parts of `answer_ms` by name, in ms |
//! | `encode_s`, `hint_s`, `material_s` | parts of `offline_s`; `encode_s` includes generating the records |
//! | `keys_bytes` | a client's key material: registered once, or carried by each query |
//! | `query_bytes`, `query_payload_bytes` | a query without key material; and without its envelope |
//! | `upload_bytes`, `download_bytes` | a query and an answer as sent, including key material |
//! | `batch` | maximum number of records per query; the timed query is for one |
//! | `hint_bytes`, `material_bytes` | data that depends on the database: at the client, at the server |
//! | `rss_bytes` | see [`memory::Resident`]; null if the system does not report it |
//! | `query_ms`, `extract_ms` | the client, including encoding and decoding |
//! | `security_bits`, `failure_log2` | null if nothing is encrypted, or if decoding never fails |
//! | `correct` | whether every record, including the warm-up's, was correct |
//!
//! # Tables and figures of papers
//!
//! `papir bench --table NAME` prints a paper's table with papir's figures next to the paper's
//! ([`tables`]), `--figure NAME` the points of a figure or, with `--svg FILE`, its plot
//! ([`figures`]). Both are data: a row consists of the printed figures and the configuration of
//! papir to compare with. A database of up to `--size` (1 GiB by default) that fits into free
//! memory is measured as above. Others are predicted by the cost model with the rates measured by
//! `papir plan --calibrate`, and marked so. Fields of a row:
//!
//! | field | meaning |
//! |---|---|
//! | `total_kib` | keys, query, download and hint: the cost of a client's first query; the papers' KB of 1024 bytes |
//! | `total_kb` | the same in KB of 1000 bytes |
//! | `reads` | measured rows only |
//! | `status` | `measured`, `predicted`, `no_parameters` (with its reason), `not_built_in`, `not_compared` |
//! | `below`, `above` | number of rows in which `total_kib` is less, or more, than the paper's |

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
