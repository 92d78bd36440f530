//! Cost model of papir databases: rates of a machine, their calibration, and the planner.
//!
//! A scheme counts the operations of its verbs ([`papir_core::cost`]). A machine has a rate for each
//! operation, measured once ([`calibration`]) and kept in a file ([`rates_file`]). [`planner`] turns
//! both into seconds and bytes, and chooses the scheme and the parameters for a database, a network
//! connection and a server.

pub mod calibration;
pub mod error;
pub mod planner;
pub mod rates_file;
pub mod size;
pub mod units;

pub use error::{Error, Result};
