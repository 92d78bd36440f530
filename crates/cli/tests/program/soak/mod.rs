//! Services under load, updates and faults for minutes or hours.

// Its shim is a library for glibc, and its services have a registry in PostgreSQL and an issuer at a
// URL.
#[cfg(all(target_env = "gnu", feature = "postgres", feature = "relay"))]
mod chaos;
mod everything;
