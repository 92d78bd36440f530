//! Scheme of deltas, and limits of their length.

use papir_core::Description;

/// Name of the scheme of deltas. Its public part is only a seed, so that clients fetch a few
/// hundred bytes for each version; its answers contain their masks.
pub const SCHEME: &str = "inspire";
/// Default maximum length in bytes of a table of changes. A longer table makes queries longer and
/// answers slower: merge it into its base.
pub const MAX_DELTA_BYTES: u64 = 4 << 20;
/// The most bytes of queries to a delta in one request, unless a single lookup needs more: 16 MiB.
/// A query to the base may have room for thousands of lookups, each of which asks the delta, too.
pub const MAX_QUERIES_BYTES: u64 = 16 << 20;
/// Bytes of a change in addition to its value: the tag and the length of its entry.
pub const CHANGE_BYTES: u64 = 12;

/// The reason, which continues a sentence about the database, why databases of a scheme cannot have
/// a delta; `None` if they can.
pub fn refusal(description: &Description) -> Option<&'static str> {
    let limits = &description.limits;
    if limits.owner_key {
        return Some("whose records are encrypted: a delta would have to be, too");
    }
    if limits.client_keys || limits.tickets {
        return Some("whose clients register: their keys and tickets are for the base alone");
    }

    if description.scheme == "depir" {
        return Some(
            "whose queries ask for thousands of records: each would need a query to the delta",
        );
    }
    None
}
