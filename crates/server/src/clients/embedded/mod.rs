//! The tables in one file, by redb.

mod file;
mod tables;

pub(super) use tables::Embedded;
