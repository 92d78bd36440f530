//! Cost model and planner of papir databases.
//!
//! Each scheme counts the operations of its setup, query, answer and extraction
//! ([`papir_core::cost`]). Each machine has a rate for every operation, which is measured once
//! ([`calibration`]) and stored in a file ([`rates_file`]). [`planner`] combines both to predict
//! times, and chooses scheme and parameters for a database, a network connection and a server.
//! [`built`] has the choice of a build without a scheme, which is the same on every machine.

pub mod auto;
pub mod built;
pub mod calibration;
pub mod changes;
pub mod database;
mod demand;
pub mod error;
mod offer;
pub mod planner;
pub mod rates_file;
pub mod report;
pub mod shards;
pub mod units;
pub mod wording;

pub use error::{Error, Result};
