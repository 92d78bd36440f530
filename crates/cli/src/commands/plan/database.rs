//! The database to plan for.

use papir_core::Shape;
use papir_lookup::Lengths;

/// Shape and origin of a database.
pub(super) struct Database {
    /// Records of the scheme's database; of a keyed one, its buckets of the default length.
    pub(super) shape: Shape,
    /// Lengths of the values of a keyed database, unless its buckets are fixed.
    pub(super) lengths: Option<Lengths>,
    /// The mean length of a value, or the length of a record without keys, in bytes.
    pub(super) value_bytes: u64,
    /// Bytes of all records, compressed; `None` if they are not known.
    pub(super) compressed_bytes: Option<u64>,
    /// Bytes of the layout of the keys.
    pub(super) layout_bytes: u64,
    /// Number of keys; `None` if records are looked up by number.
    pub(super) keys: Option<u64>,
    /// Set if the shape is an estimate.
    pub(super) estimated: bool,
    /// The source in words, if there is one.
    pub(super) origin: Option<String>,
}
