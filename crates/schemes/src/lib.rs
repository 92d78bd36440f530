//! The private information retrieval schemes of papir and their registry.
