//! Keyword lookup over any scheme.
