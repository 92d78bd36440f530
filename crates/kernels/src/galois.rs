//! Kernel: galois.
