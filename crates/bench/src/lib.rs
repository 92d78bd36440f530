//! Measures and compares schemes.
