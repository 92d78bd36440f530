//! The tables in one file, by redb.

mod file;
mod spent;
mod tables;

pub(super) use tables::Embedded;
