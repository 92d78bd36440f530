//! CPU kernels of papir: slices in, slices out.
