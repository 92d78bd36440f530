//! Keyword tables of changes.

use papir_core::Progress;
use rand_core::CryptoRng;

use super::changes::DeltaChanges;
use crate::arrange::arrange;
use crate::dimensions::BucketTarget;
use crate::error::Result;
use crate::hash::SEED_BYTES;
use crate::layout::KeywordLayout;
use crate::options::TableOptions;
use crate::table::KeywordTable;

/// Arranges changes in a keyword table under a fresh placement seed. `base` is the layout of a base
/// with keys, whose ids the delta shares; `None` for a base without keys.
///
/// # Errors
/// [`papir_core::Error::EmptyDatabase`] without changes, [`papir_core::Error::OutOfBounds`] for too
/// many, or [`crate::Error::Placement`].
pub fn table(
    changes: &DeltaChanges,
    base: Option<&KeywordLayout>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<KeywordTable> {
    let pairs = changes.pairs();

    // An index is its own id.
    let ids = base.map_or([0; SEED_BYTES], |layout| layout.seeds.ids);
    // All deltas have one scheme, whose unit of answers is the default length.
    let options = TableOptions {
        bucket: BucketTarget::default(),
        ..TableOptions::default()
    };
    let (layout, records) = arrange(&pairs, ids, &options, rng, progress)?;
    Ok(KeywordTable::of(pairs, layout, records))
}
