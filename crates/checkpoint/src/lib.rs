//! Signed checkpoints of databases.
//!
//! Clients check that a database's owner has signed the version that a server offers.
//!
//! Every version is a [`Leaf`] of an append-only log. The owner, or a publisher that the owner has
//! certified, signs the log's head, a [`Checkpoint`]. Clients pin the owner's key, and accept a
//! version only under a [`Policy`].
//!
//! | module | contents |
//! |---|---|
//! | `key`, `name` | Ed25519 keys with names, as text; origins of logs |
//! | `note` | signed notes (C2SP signed-note) |
//! | [`merkle`] | trees, proofs and their verification (RFC 6962) |
//! | `leaf` | a version as a leaf |
//! | `checkpoint`, `cosignature` | heads of logs (C2SP tlog-checkpoint, tlog-cosignature) |
//! | `certificate`, `certificate_text` | delegation, rotation, keys of gateways; their texts |
//! | `gateways` | the keys of gateways that a certificate names |
//! | `trust`, `gateway_trust` | keys that may sign; certificates of gateways that count |
//! | `proof` | the newest version for clients (C2SP tlog-proof) |
//! | `log`, `log_certificates` | the log, also of a delta; the certificates of its next version |
//! | `policy` | conditions under which a client accepts a checkpoint |
//!
//! The crate has no I/O, clock or randomness of its own. The caller passes times, in seconds since
//! 1970, UTC.

mod base64;
mod certificate;
mod certificate_text;
mod checkpoint;
mod cosignature;
mod error;
mod gateway_trust;
mod gateways;
mod key;
mod leaf;
mod log;
mod log_certificates;
pub mod merkle;
mod name;
mod note;
mod policy;
mod proof;
#[cfg(test)]
mod testing;
mod trust;

pub use certificate::{Certificate, MAX_CERTIFICATE_BYTES, MAX_CERTIFICATES};
pub use certificate_text::{CERTIFICATE_FORMATS, Grant};
pub use checkpoint::Checkpoint;
pub use cosignature::{cosign, cosigned};
pub use error::{Error, Result};
pub use gateways::{GatewayKeys, MAX_GATEWAY_KEYS};
pub use key::{Kind, SIGNATURE_BYTES, SigningKey, VerifyingKey};
pub use leaf::{Base, LEAF_FORMATS, Leaf, hex, public_part_hash};
pub use log::{DELTA_LOG_FORMATS, LOG_FORMATS, Log, MAX_LOG_BYTES, Statement};
pub use name::KeyName;
pub use note::{MAX_NOTE_BYTES, MAX_SIGNATURES, Note, NoteSignature};
pub use policy::{Accepted, Policy, Seen};
pub use proof::{MAX_PROOF_BYTES, PROOF_FORMATS, Proof};
pub use trust::{SKEW, successor};
