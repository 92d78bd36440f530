//! Tables, figures and measurements of the papers; the program `papir-papers`.
//!
//! # Tables and figures
//!
//! `papir-papers --table NAME` prints a paper's table with papir's figures next to the paper's
//! ([`tables`]). `--figure NAME` prints the points of a figure or, with `--svg FILE`, draws it
//! ([`figures`]). Printed figures are in the files of `data/`, which name the paper, table, row and
//! column of each ([`printed`]), and the configuration of papir to compare a row with. A database
//! of up to `--size` (1 GiB by default) that fits into free memory is measured as `papir bench`
//! does ([`papir_measure`]). Costs of larger ones are predicted by the cost model, with the rates
//! measured by `papir plan --calibrate`, and marked `predicted`. Fields of a row:
//!
//! | field | meaning |
//! |---|---|
//! | `total_kib` | keys, query, download and hint of a client's first query, in KB of 1024 bytes |
//! | `total_kb` | the same in KB of 1000 bytes |
//! | `reads` | answer time over the time of one read of the database; only in measured rows |
//! | `status` | `measured`, `predicted`, `no_parameters`, `not_built_in`, `not_compared` |
//! | `below`, `above` | number of rows in which `total_kib` is less, or more, than the paper's |
//!
//! `no_parameters` comes with its reason.
//!
//! # Every scheme on one database
//!
//! `papir-papers --all` measures every scheme as `papir bench --all` does, and adds the rows that
//! papers print for the database ([`field`]). With `--svg FILE` it draws bytes against server time.
//!
//! # Experiments
//!
//! `papir-papers NAME` measures parts of schemes that the papers report ([`experiments`]).
//!
//! # Records
//!
//! `papir-papers --record FOLDER --memory BYTES` runs all tables and experiments, and writes each
//! as a file with its machine, commit, command and date ([`record`]). Rows that need more memory
//! are predicted, and a file names them.

pub mod cli;
pub mod compress;
pub mod depir;
pub mod experiments;
pub mod field;
pub mod figures;
pub mod newton;
pub mod packing;
pub mod phase0;
pub mod printed;
pub mod record;
pub mod tables;

pub use papir_measure::{Error, Result};
