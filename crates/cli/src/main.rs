//! The `papir` program.

fn main() {}
