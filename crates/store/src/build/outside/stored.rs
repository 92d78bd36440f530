//! The records of an interrupted build, with their numbers.

use papir_core::scratch::{Scratch, find_usable};
use papir_core::{
    AlignedBytes, Blob, Error as CoreError, Progress, Records, Result as CoreResult, Shape,
};
use papir_lookup::outside::{BUCKETS, IDS};
use papir_lookup::{BucketTarget, KeywordLayout, TableReport};
use serde::{Deserialize, Serialize};

use super::folder::BuildFolder;
use crate::build::content::{Content, ID_BYTES, Ids, Keys};
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
/// Name of the part that stands for the records once the scheme's parts are made of them.
const PREPARED: &str = "prepared";

/// A bound above the random bytes of a source, which takes 32 for each try to place its keys.
const MOST_DRAWN: u64 = 1 << 16;

/// The numbers of a [`Content`].
#[derive(Serialize, Deserialize)]
struct StoredNumbers {
    entries: u64,
    bytes: u64,
    skipped: Vec<(String, String)>,
    /// Number of records, and bytes of each.
    records: (u64, u64),
    /// Random bytes drawn until now.
    drawn: u64,
    keys: Option<StoredKeys>,
}

impl StoredNumbers {
    /// Parses the part. Refuses numbers that no build keeps.
    fn read(json: &[u8]) -> CoreResult<Self> {
        let stored: Self = serde_json::from_slice(json)
            .map_err(|error| CoreError::malformed("the content", error, "that of this version"))?;
        stored.shape()?;

        // Drawn again one by one: a number without a bound would hold up the build for ever.
        if stored.drawn > MOST_DRAWN {
            let expected = format!("at most {MOST_DRAWN}");
            let what = "the number of random bytes of a source";
            return Err(CoreError::out_of_bounds(what, stored.drawn, expected));
        }
        Ok(stored)
    }

    /// The shape of the records.
    fn shape(&self) -> CoreResult<Shape> {
        let (records, bytes) = self.records;
        Shape::of_bytes(records, bytes)
    }
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
            // Made again from the ids, which takes less time than reading them.
            prefilter: None,
        }
    }
}

/// Keeps the content for [`find`]: all but records and ids, which are kept already.
pub(super) fn keep(content: &Content<'_>, folder: &mut BuildFolder, rng: &BuildRng) -> Result<()> {
    if let Some(keys) = &content.keyword {
        folder.keep(LAYOUT, AlignedBytes::copy_of(&keys.layout.encode()))?;
    }

    let shape = content.records.shape();
    let stored = StoredNumbers {
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

/// Finds the content of an interrupted build, and draws the random bytes that it has drawn. Returns
/// `None` if a part is missing or unusable: the source is then read again, which makes all of them.
pub(super) fn find(
    folder: &mut BuildFolder,
    rng: &mut BuildRng,
    progress: &dyn Progress,
) -> Result<Option<Content<'static>>> {
    let stored = find_usable(folder, CONTENT, progress, |json| StoredNumbers::read(&json))?;
    let Some(stored) = stored else {
        return Ok(None);
    };

    let shape = stored.shape()?;
    let name = if stored.keys.is_some() {
        BUCKETS
    } else {
        RECORDS
    };

    let keyword = match stored.keys {
        None => None,
        Some(keys) => {
            let found = find_keys(keys, shape, folder, progress)?;
            let Some(keys) = found else {
                return Ok(None);
            };
            Some(keys)
        }
    };

    let Some(records) = find_records(name, shape, folder, progress)? else {
        return Ok(None);
    };
    // Drawn again: later bytes must be the same as in the interrupted build.
    rng.skip_to(stored.drawn);

    let skipped = stored
        .skipped
        .into_iter()
        .map(|(place, reason)| SkippedRow { place, reason })
        .collect();

    Ok(Some(Content {
        records,
        entries: stored.entries,
        bytes: stored.bytes,
        skipped,
        keyword,
    }))
}

/// Finds the records in the part `name`, or that they were removed after the preparation. Returns
/// `None` if their part is missing or unusable.
fn find_records(
    name: &str,
    shape: Shape,
    folder: &mut BuildFolder,
    progress: &dyn Progress,
) -> Result<Option<Box<dyn Records>>> {
    // Compared in length: everything that indexes the records relies on their shape.
    let packed = find_usable(folder, name, progress, |packed| {
        CoreError::check_length("the records", packed.len(), shape.total_bytes() as usize)?;
        Ok(packed)
    })?;
    if let Some(packed) = packed {
        return Ok(Some(Box::new(PackedRecords::new(shape, packed))));
    }

    if folder.find(PREPARED)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Box::new(RemovedRecords(shape))))
}

/// Begins to prepare: removed records are believed once. If a part of the scheme turns out to be
/// damaged from here on, the next build reads the source again.
pub(in crate::build) fn begin_preparing(scratch: &mut dyn Scratch) -> Result<()> {
    Ok(scratch.discard(PREPARED)?)
}

/// Removes the part `name` of the records, of which the scheme's parts are made. If `continues`, an
/// interrupted build needs no records any more.
pub(super) fn remove_records(
    name: &str,
    continues: bool,
    scratch: &mut dyn Scratch,
) -> CoreResult<()> {
    // Before they are gone: a crash in between leaves both.
    if continues {
        scratch.keep(PREPARED, AlignedBytes::copy_of(PREPARED.as_bytes()))?;
    }
    scratch.discard(name)
}

/// Records that an interrupted build has removed, of which only the shape is known.
struct RemovedRecords(Shape);

impl Records for RemovedRecords {
    fn shape(&self) -> Shape {
        self.0
    }

    fn read_packed(&self, _first: u64, _count: u64, _out: &mut [u8]) -> CoreResult<()> {
        Err(CoreError::malformed(
            "the records of an interrupted build",
            "none, and a damaged part that is made of them",
            "the build to be run once more, which reads its source again",
        ))
    }
}

/// Finds layout and ids of the keys. Returns `None` if one of them is missing or unusable.
fn find_keys(
    keys: StoredKeys,
    shape: Shape,
    folder: &mut BuildFolder,
    progress: &dyn Progress,
) -> Result<Option<Keys>> {
    let layout = find_usable(folder, LAYOUT, progress, |layout| {
        read_layout(&layout, shape)
    })?;
    let ids = find_usable(folder, IDS, progress, |ids| {
        let expected = keys.entries.saturating_mul(ID_BYTES);
        CoreError::check_length("the ids of keys", ids.len(), expected as usize)?;
        Ok(ids)
    })?;

    match (layout, ids) {
        (Some(layout), Some(ids)) => Ok(Some(keys.keys(layout, ids))),
        _ => Ok(None),
    }
}

/// Decodes the layout of a table with buckets of this shape.
fn read_layout(bytes: &[u8], shape: Shape) -> CoreResult<KeywordLayout> {
    let layout = KeywordLayout::decode(bytes)
        .map_err(|error| CoreError::malformed("the layout of keys", error, "one of this build"))?;

    let found = Shape::of_bytes(layout.records(), layout.record_bytes() as u64)?;
    if found != shape {
        let what = "the layout of keys";
        return Err(CoreError::malformed(
            what,
            described(found),
            described(shape),
        ));
    }
    Ok(layout)
}

/// The shape of buckets, for errors.
fn described(shape: Shape) -> String {
    let bytes = shape.record_bytes();
    format!("{} buckets of {bytes} bytes", shape.records())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use papir_core::NoProgress;
    use rand_core::SeedableRng;

    use super::*;
    use crate::build::options::BuildOptions;
    use crate::build::random::SEED_BYTES;

    #[test]
    fn removed_records_are_believed_until_a_build_prepares() {
        let beside = tempfile::tempdir().unwrap();
        let options = BuildOptions::new("a program", beside.path().join("a.papir"));
        let mut rng = ChaCha20Rng::from_seed([1; SEED_BYTES]);
        let mut folder = BuildFolder::open(&options, 64 << 20, &mut rng).unwrap();

        let shape = Shape::of_bytes(4, 2).unwrap();
        let packed = AlignedBytes::copy_of(&[7; 8]);
        let packed = folder.keep(RECORDS, packed).unwrap();
        let content = Content {
            records: Box::new(PackedRecords::new(shape, packed)),
            entries: 4,
            bytes: 8,
            skipped: Vec::new(),
            keyword: None,
        };
        let mut rng = folder.rng();
        keep(&content, &mut folder, &rng).unwrap();
        drop(content);
        remove_records(RECORDS, true, &mut folder).unwrap();

        // As in builds that end before they prepare, since the disk is too small.
        for _ in 0..2 {
            let found = find(&mut folder, &mut rng, &NoProgress).unwrap();
            let records = found.unwrap().records;
            assert!(records.shape() == shape);
            assert!(records.read_packed(0, 1, &mut [0; 2]).is_err());
        }

        begin_preparing(&mut folder).unwrap();
        let found = find(&mut folder, &mut rng, &NoProgress).unwrap();
        assert!(found.is_none());
    }
}
