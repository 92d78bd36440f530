//! Arranges pairs of key ids and values in buckets.

use papir_core::{Error as CoreError, Progress, RecordBuffer, Shape};
use rand_core::CryptoRng;

use crate::bucket::{EntryFormat, TAG_BYTES};
use crate::dimensions::{Dimensions, Lengths};
use crate::entry::Pair;
use crate::error::{Error, Result};
use crate::hash::{SEED_BYTES, Seeds, random_seed};
use crate::layout::KeywordLayout;
use crate::options::TableOptions;
use crate::placement::{Item, place_all};

/// Arranges pairs with distinct ids under a fresh placement seed. Returns the layout and the
/// buckets.
///
/// # Errors
/// [`CoreError::EmptyDatabase`], [`CoreError::OutOfBounds`] for an invalid bucket length or room,
/// or [`crate::Error::Placement`].
pub(crate) fn arrange(
    pairs: &[Pair],
    ids: [u8; SEED_BYTES],
    options: &TableOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<(KeywordLayout, RecordBuffer)> {
    let lengths = Lengths::of(pairs.iter().map(|pair| pair.value.len())).ok_or(CoreError::EmptyDatabase)?;
    let dimensions = Dimensions::choose(options.bucket, &lengths)?;
    let longest = lengths.longest as u32;
    // Two short tags in one bucket are equal with probability below 2⁻³¹, so few tables need a second seed.
    const SEEDS: usize = 64;
    for _ in 0..SEEDS {
        let (seeds, items) = hash_chunks(pairs, ids, &dimensions.format, rng, progress)?;
        let (grid, pilots) = place_all(&items, &dimensions, options.room()?, progress)?;
        let layout = KeywordLayout { seeds, dimensions, longest, grid, pilots };
        if tags_differ(&items, &layout) {
            let records = fill(pairs, &items, &layout)?;
            return Ok((layout, records));
        }
    }
    Err(too_many(pairs, "few enough for the tags in a bucket to differ"))
}

/// Returns whether the stored tags of each bucket differ. Whole tags differ in the whole table.
fn tags_differ(items: &[Item], layout: &KeywordLayout) -> bool {
    let format = &layout.dimensions.format;
    let stored = |item: &Item| (layout.bucket_vartime(&item.hash), format.tag(item.hash.tag));
    format.tag_bytes == TAG_BYTES || all_differ(items.iter().map(stored).collect())
}

fn too_many(pairs: &[Pair], expected: &str) -> Error {
    CoreError::out_of_bounds("the number of entries", pairs.len() as u64, expected).into()
}

/// Draws a placement seed under which all chunks of all values have different tags, so that no
/// present key is mistaken for another. Returns the seeds and an item for every chunk.
fn hash_chunks(
    pairs: &[Pair],
    ids: [u8; SEED_BYTES],
    format: &EntryFormat,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<(Seeds, Vec<Item>)> {
    // Two of n 64-bit tags coincide with probability below n²/2⁶⁵: at most 1/2 for 2³² items.
    const SEEDS: usize = 64;
    for _ in 0..SEEDS {
        progress.stage("hashing keys", pairs.len() as u64);
        let seeds = Seeds { ids, placement: random_seed(rng) };
        let items = chunk_items(pairs, format, &seeds, progress)?;
        if all_differ(items.iter().map(|item| item.hash.tag).collect()) {
            return Ok((seeds, items));
        }
    }
    Err(too_many(pairs, "few enough for 64-bit tags to differ"))
}

fn chunk_items(
    pairs: &[Pair],
    format: &EntryFormat,
    seeds: &Seeds,
    progress: &dyn Progress,
) -> Result<Vec<Item>> {
    const STEP: usize = 4096;
    let mut items = Vec::with_capacity(pairs.len());
    for (number, pair) in pairs.iter().enumerate() {
        let number = u32::try_from(number)
            .map_err(|_| CoreError::out_of_bounds("the number of entries", number as u64, "below 2^32"))?;
        for chunk in 0..format.chunks(pair.value.len()) as u32 {
            let rest = pair.value.len() - chunk as usize * format.chunk_bytes as usize;
            let bytes = format.entry_bytes(rest) as u32;
            items.push(Item { hash: seeds.chunk(&pair.id, chunk), entry: number, chunk, bytes });
        }
        if number as usize % STEP == STEP - 1 {
            progress.advance(STEP as u64);
        }
    }
    progress.advance((pairs.len() % STEP) as u64);
    Ok(items)
}

fn all_differ<T: Ord>(mut tags: Vec<T>) -> bool {
    tags.sort_unstable();
    tags.windows(2).all(|pair| pair[0] != pair[1])
}

/// Writes all entries to their buckets.
fn fill(pairs: &[Pair], items: &[Item], layout: &KeywordLayout) -> Result<RecordBuffer> {
    let bucket_bytes = layout.record_bytes();
    let shape = Shape::of_bytes(layout.records(), bucket_bytes as u64)?;
    let mut records = RecordBuffer::zeroed(shape);
    let mut used = vec![0u32; layout.records() as usize];
    let format = &layout.dimensions.format;
    for item in items {
        let bucket = layout.bucket_vartime(&item.hash) as usize;
        let (start, end) = (bucket * bucket_bytes + used[bucket] as usize, (bucket + 1) * bucket_bytes);
        let rest = format.rest(&pairs[item.entry as usize].value, item.chunk);
        used[bucket] += format.write(&mut records.packed_mut()[start..end], item.hash.tag, rest) as u32;
    }
    Ok(records)
}
