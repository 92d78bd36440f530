//! The interface every private information retrieval scheme of papir implements.
