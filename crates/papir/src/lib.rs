//! Private information retrieval: the crate that applications add.
