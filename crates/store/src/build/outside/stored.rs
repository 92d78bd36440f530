//! The records of an interrupted build, with their numbers.

use papir_core::scratch::Scratch;
use papir_core::{AlignedBytes, Blob, Error as CoreError, Shape};
use papir_lookup::outside::{BUCKETS, IDS};
use papir_lookup::{BucketTarget, KeywordLayout, TableReport};
use serde::{Deserialize, Serialize};

use super::folder::BuildFolder;
use crate::build::content::{Content, Ids, Keys};
use crate::build::lengths::StoredLengths;
use crate::build::random::BuildRng;
use crate::error::Result;
use crate::source::{PackedRecords, SkippedRow};

/// Name of the part with the records of a database without keys.
pub(super) const RECORDS: &str = "records";
/// Name of the part with the layout of keys.
const LAYOUT: &str = "layout";
/// Name of the part that is kept last.
const CONTENT: &str = "content";

/// The numbers of a [`Content`].
#[derive(Serialize, Deserialize)]
struct Stored {
    entries: u64,
    bytes: u64,
    skipped: Vec<(String, String)>,
    /// Number of records, and bytes of each.
    records: (u64, u64),
    /// Random bytes drawn until now.
    drawn: u64,
    keys: Option<StoredKeys>,
}

/// The numbers of [`Keys`].
#[derive(Serialize, Deserialize)]
struct StoredKeys {
    /// Statistics of the value lengths in the source.
    lengths: StoredLengths,
    /// True if longer values are cut, and the target's bytes.
    bucket: (bool, u32),
    entries: u64,
    value_bytes: u64,
    duplicates: u64,
    key_bytes: Option<u64>,
}

impl StoredKeys {
    fn of(keys: &Keys) -> Self {
        let report = &keys.report;
        Self {
            lengths: keys.lengths.into(),
            bucket: match keys.bucket {
                BucketTarget::Grow(bytes) => (false, bytes),
                BucketTarget::AtMost(bytes) => (true, bytes),
            },
            entries: report.entries,
            value_bytes: report.value_bytes,
            duplicates: report.duplicates,
            key_bytes: report.key_bytes,
        }
    }

    fn keys(self, layout: KeywordLayout, ids: Blob) -> Keys {
        // Sizes follow from the layout, and need not be stored.
        let report = TableReport::new(self.entries, self.value_bytes, &layout);
        let Self {
            duplicates,
            key_bytes,
            ..
        } = self;

        Keys {
            report: TableReport {
                duplicates,
                key_bytes,
                ..report
            },
            layout,
            ids: Ids::Stored(ids),
            lengths: self.lengths.into(),
            bucket: match self.bucket {
                (false, bytes) => BucketTarget::Grow(bytes),
                (true, bytes) => BucketTarget::AtMost(bytes),
            },
        }
    }
}

/// Keeps the content for [`find`]: all but records and ids, which are kept already.
pub(super) fn keep(content: &Content<'_>, folder: &mut BuildFolder, rng: &BuildRng) -> Result<()> {
    if let Some(keys) = &content.keyword {
        folder.keep(LAYOUT, AlignedBytes::copy_of(&keys.layout.encode()))?;
    }

    let shape = content.records.shape();
    let stored = Stored {
        entries: content.entries,
        bytes: content.bytes,
        skipped: content
            .skipped
            .iter()
            .map(|row| (row.place.clone(), row.reason.clone()))
            .collect(),
        records: (shape.records(), shape.record_bytes() as u64),
        drawn: rng.drawn(),
        keys: content.keyword.as_ref().map(StoredKeys::of),
    };

    let json = serde_json::to_vec(&stored).map_err(|error| {
        CoreError::malformed("the content", error, "values that JSON can represent")
    })?;
    // Kept last: with this part, the build continues without reading its source.
    folder.keep(CONTENT, AlignedBytes::copy_of(&json))?;
    Ok(())
}

/// Finds the content of an interrupted build, and draws the random bytes that it has drawn.
pub(super) fn find(folder: &BuildFolder, rng: &mut BuildRng) -> Result<Option<Content<'static>>> {
    let Some(json) = folder.find(CONTENT)? else {
        return Ok(None);
    };
    // Of another version of the program, or damaged: the source is read again.
    let Ok(stored) = serde_json::from_slice::<Stored>(&json) else {
        return Ok(None);
    };

    let shape = Shape::of_bytes(stored.records.0, stored.records.1)?;
    let name = if stored.keys.is_some() {
        BUCKETS
    } else {
        RECORDS
    };

    let keyword = match stored.keys {
        None => None,
        Some(keys) => match (folder.find(LAYOUT)?, folder.find(IDS)?) {
            (Some(layout), Some(ids)) => Some(keys.keys(KeywordLayout::decode(&layout)?, ids)),
            _ => return Ok(None),
        },
    };

    // Compared in length: everything that indexes the records relies on their shape.
    let packed = folder
        .find(name)?
        .filter(|packed| packed.len() as u64 == shape.total_bytes());
    let Some(packed) = packed else {
        return Ok(None);
    };
    // Drawn again: later bytes must be the same as in the interrupted build.
    rng.skip_to(stored.drawn);

    let skipped = stored
        .skipped
        .into_iter()
        .map(|(place, reason)| SkippedRow { place, reason })
        .collect();
    let records = Box::new(PackedRecords::new(shape, packed));

    Ok(Some(Content {
        records,
        entries: stored.entries,
        bytes: stored.bytes,
        skipped,
        keyword,
    }))
}
