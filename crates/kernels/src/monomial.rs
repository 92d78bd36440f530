//! Kernel: monomial.
