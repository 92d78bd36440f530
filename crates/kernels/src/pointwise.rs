//! Kernel: pointwise.
