//! Network client.
