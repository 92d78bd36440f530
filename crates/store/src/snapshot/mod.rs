//! Snapshots: prepared databases, opened from their files.
//!
//! | file | contents |
//! |---|---|
//! | `name` | names under which databases can be served |
//! | `open` | opened snapshots |
//! | `metadata` | the metadata, stored as JSON |
//! | `content_hash` | the hash of a prepared database's content |
//! | `commit` | preparation of a database, with proofs if it is verifiable |
//! | `log_section` | the log in the file of a snapshot or of a delta |
//! | `signing` | signatures of versions, appended to the database's log |
//! | `sealed_ids` | the sealed ids of the keys of an encrypted database |
//! | `shard` | shards: ranges of a snapshot's slices |
//! | `verifier` | verification of a snapshot that is already used |

mod commit;
mod content_hash;
mod log_section;
mod metadata;
mod name;
mod open;
mod sealed_ids;
mod shard;
mod signing;
mod verifier;

pub(crate) use commit::prove;
pub(crate) use content_hash::content_hash;
pub(crate) use log_section::{delta_log_in, log_in};
pub use metadata::{
    BucketSummary, Followed, KeywordSummary, Metadata, SourceSummary, parse_timestamp, timestamp,
};
pub(crate) use name::check_name;
pub use name::is_database_name;
pub(crate) use open::commitment_top;
pub use open::{OpenOptions, SectionInfo, Snapshot, StoredPrefilter};
pub(crate) use sealed_ids::seal;
pub use shard::{division_of, open_shard};
pub use signing::Sign;
pub(crate) use signing::{Signed, Signing, newest_leaf, unsigned_base};
pub use verifier::Verifier;
