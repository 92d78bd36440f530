//! Limits of the HTTP interface.

/// Longest JSON body that a client reads, in bytes: 1 MiB.
pub const JSON_BYTES: u64 = 1 << 20;
/// Longest list of clients in bytes: 64 MiB, or about 180,000 clients.
pub const CLIENTS_BYTES: u64 = 64 << 20;
/// Longest proof of a signed checkpoint in bytes: 512 KiB.
pub const CHECKPOINT_BYTES: u64 = 1 << 19;
/// Longest log of a signed database in bytes: 64 MiB.
pub const LOG_BYTES: u64 = 64 << 20;
/// Longest part of an upload in bytes, and longest client keys in one request: 4 MiB.
pub const PART_BYTES: usize = 4 << 20;
/// Maximum number of ticket numbers in one request.
pub const TICKETS: usize = 4096;
/// Maximum number of elements in one request for private set intersection.
pub const PSI_ELEMENTS: usize = 4096;
/// Longest request id that a client may choose, in bytes.
pub const REQUEST_ID_BYTES: usize = 64;
