//! Dependencies of tests and of optional features, so that cargo chooses one set of features for
//! all.
//!
//! Cargo builds a dependency once for each set of features. The tests, the documentation and the
//! lean build (`--no-default-features`) select different packages, and would each compile most of
//! the others' code again. Selected together with this package, they share it. Nothing depends on
//! it.
