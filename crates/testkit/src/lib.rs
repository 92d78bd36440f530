//! Conformance suite and noise statistics, for tests only.
