//! Kernel: ntt.
