//! Limits of the interface.

/// Longest JSON body that a client reads: 1 MiB.
pub const JSON_BYTES: u64 = 1 << 20;
/// Longest list of clients: 64 MiB, about 180,000 of them.
pub const CLIENTS_BYTES: u64 = 64 << 20;
/// Longest proof of a signed checkpoint: 512 KiB.
pub const CHECKPOINT_BYTES: u64 = 1 << 19;
/// Longest log of signed checkpoints: 64 MiB.
pub const LOG_BYTES: u64 = 64 << 20;
/// Longest part of an upload, and longest keys sent in one request: 4 MiB.
pub const PART_BYTES: usize = 4 << 20;
/// Maximum number of ticket numbers in one request.
pub const TICKETS: usize = 4096;
/// Maximum number of elements in one evaluation for private set intersection.
pub const PSI_ELEMENTS: usize = 4096;
/// Longest request id that a client may choose, in bytes.
pub const REQUEST_ID_BYTES: usize = 64;
