//! Entries become records: duplicates, dimensions, places, bytes.

use std::collections::HashMap;
use std::str::FromStr;

use papir_core::{Error as CoreError, Progress, RecordBuffer, Shape};
use rand_core::CryptoRng;

use crate::bucket::EntryFormat;
use crate::dimensions::{BucketTarget, Dimensions, Lengths, MAX_VALUE_BYTES};
use crate::hash::{SEED_BYTES, key_hash};
use crate::layout::KeywordLayout;
use crate::place::{Item, place_all};
use crate::{Error, Result};

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Any bytes.
    pub key: Vec<u8>,
    /// At most [`MAX_VALUE_BYTES`] bytes.
    pub value: Vec<u8>,
    /// Where it stands in its source, for errors.
    pub line: u64,
}

/// What to do with a key that has several entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Refuse the source.
    #[default]
    Refuse,
    /// Keep the entry that comes first.
    First,
    /// Keep the entry that comes last.
    Last,
}

impl FromStr for OnDuplicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            other => {
                Err(CoreError::malformed("a rule for duplicates", other, "refuse, first or last").into())
            }
        }
    }
}

/// How a table is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Bytes of a bucket.
    pub bucket: BucketTarget,
    /// Several entries of one key.
    pub on_duplicate: OnDuplicate,
}

/// A table of keys as records of any scheme.
#[derive(Clone, Debug)]
pub struct KeywordTable {
    /// What clients need to find a key.
    pub layout: KeywordLayout,
    /// The buckets.
    pub records: RecordBuffer,
    /// What it cost.
    pub report: TableReport,
}

/// What a table costs. All sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableReport {
    /// Keys in the table.
    pub entries: u64,
    /// Entries that gave way to another of the same key.
    pub duplicates: u64,
    /// Buckets.
    pub records: u64,
    /// Bytes of one bucket.
    pub record_bytes: u64,
    /// Records that every lookup fetches.
    pub lookups: u64,
    /// Bytes of the longest value.
    pub longest_value: u64,
    /// Bytes of all buckets.
    pub table_bytes: u64,
    /// Bytes of all values with one 64-bit tag each: the least that such a table needs.
    pub tagged_bytes: u64,
    /// Bytes of all keys and values as they came.
    pub source_bytes: u64,
    /// Bytes of the encoded layout.
    pub layout_bytes: u64,
    /// log₂ of the probability that a key without an entry is found.
    pub wrong_positive_log2: f64,
}

impl TableReport {
    /// Table over tags and values.
    pub fn overhead(&self) -> f64 {
        self.table_bytes as f64 / self.tagged_bytes as f64
    }

    /// Table over keys and values; infinite when both are empty.
    pub fn overhead_over_source(&self) -> f64 {
        self.table_bytes as f64 / self.source_bytes as f64
    }
}

/// Builds a table. `rng` draws its public seed.
///
/// # Errors
/// [`CoreError::EmptyDatabase`], [`Error::ValueTooLong`], [`Error::DuplicateKey`],
/// [`CoreError::OutOfBounds`] for a bucket length that cannot be, or [`Error::Placement`].
pub fn build(
    entries: Vec<Entry>,
    options: &TableOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<KeywordTable> {
    check_values(&entries)?;
    let total = entries.len();
    let kept = resolve_duplicates(entries, options.on_duplicate)?;
    let lengths = Lengths::of(kept.iter().map(|entry| entry.value.len())).ok_or(CoreError::EmptyDatabase)?;
    let dimensions = Dimensions::choose(options.bucket, &lengths)?;
    let (seed, items) = hash_entries(&kept, &dimensions.format, rng, progress)?;
    let (grid, pilots) = place_all(&items, &dimensions, progress)?;
    let layout = KeywordLayout { seed, dimensions, longest: lengths.longest as u32, grid, pilots };
    let records = fill(&kept, &items, &layout)?;
    let report = report(&kept, total, &layout);
    Ok(KeywordTable { layout, records, report })
}

fn check_values(entries: &[Entry]) -> Result<()> {
    entries.iter().try_for_each(|entry| {
        let (found, limit) = (entry.value.len() as u64, MAX_VALUE_BYTES as u64);
        if found <= limit { Ok(()) } else { Err(Error::ValueTooLong { line: entry.line, found, limit }) }
    })
}

/// One entry a key, in the order of the source.
fn resolve_duplicates(entries: Vec<Entry>, rule: OnDuplicate) -> Result<Vec<Entry>> {
    let mut dropped = vec![false; entries.len()];
    let mut seen: HashMap<&[u8], usize> = HashMap::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let Some(earlier) = seen.insert(&entry.key, i) else {
            continue;
        };
        match rule {
            OnDuplicate::Refuse => return Err(duplicate(&entries[earlier], entry)),
            OnDuplicate::Last => dropped[earlier] = true,
            OnDuplicate::First => {
                dropped[i] = true;
                seen.insert(&entry.key, earlier);
            }
        }
    }
    Ok(entries.into_iter().zip(dropped).filter(|(_, dropped)| !dropped).map(|(entry, _)| entry).collect())
}

fn duplicate(first: &Entry, again: &Entry) -> Error {
    Error::DuplicateKey { key: shown(&again.key), first: first.line, line: again.line }
}

/// A key for an error: as text, shortened.
fn shown(key: &[u8]) -> String {
    const MOST: usize = 64;
    let text = String::from_utf8_lossy(&key[..key.len().min(MOST)]);
    let more = if key.len() > MOST { "…" } else { "" };
    format!("{}{more}", text.escape_debug())
}

/// A seed, and an item for every chunk of every value. Under this seed all items have different
/// tags, so that a present key is never mistaken for another.
fn hash_entries(
    entries: &[Entry],
    format: &EntryFormat,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<([u8; SEED_BYTES], Vec<Item>)> {
    // Two of n 64-bit tags are equal with probability below n²/2⁶⁵: at most 1/2 for 2³² items.
    const SEEDS: usize = 64;
    for _ in 0..SEEDS {
        progress.stage("hashing keys", entries.len() as u64);
        let mut seed = [0; SEED_BYTES];
        rng.fill_bytes(&mut seed);
        let items = chunk_items(entries, format, &seed, progress)?;
        if all_differ(items.iter().map(|item| item.hash.tag).collect()) {
            return Ok((seed, items));
        }
    }
    let found = entries.len() as u64;
    Err(CoreError::out_of_bounds("the number of entries", found, "few enough for 64-bit tags to differ")
        .into())
}

fn chunk_items(
    entries: &[Entry],
    format: &EntryFormat,
    seed: &[u8; SEED_BYTES],
    progress: &dyn Progress,
) -> Result<Vec<Item>> {
    const STEP: usize = 4096;
    let mut items = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        let number = u32::try_from(number)
            .map_err(|_| CoreError::out_of_bounds("the number of entries", number as u64, "below 2^32"))?;
        for chunk in 0..format.chunks(entry.value.len()) as u32 {
            let rest = entry.value.len() - chunk as usize * format.chunk_bytes as usize;
            let bytes = format.entry_bytes(rest) as u32;
            items.push(Item { hash: key_hash(seed, &entry.key, chunk), entry: number, chunk, bytes });
        }
        if number as usize % STEP == STEP - 1 {
            progress.advance(STEP as u64);
        }
    }
    progress.advance((entries.len() % STEP) as u64);
    Ok(items)
}

fn all_differ(mut tags: Vec<u64>) -> bool {
    tags.sort_unstable();
    tags.windows(2).all(|pair| pair[0] != pair[1])
}

/// Writes all entries into their buckets.
fn fill(entries: &[Entry], items: &[Item], layout: &KeywordLayout) -> Result<RecordBuffer> {
    let bucket_bytes = layout.record_bytes();
    let shape = Shape::of_bytes(layout.records(), bucket_bytes as u64)?;
    let mut records = RecordBuffer::zeroed(shape);
    let mut used = vec![0u32; layout.records() as usize];
    let format = &layout.dimensions.format;
    for item in items {
        let bucket = layout.bucket_vartime(&item.hash) as usize;
        let (start, end) = (bucket * bucket_bytes + used[bucket] as usize, (bucket + 1) * bucket_bytes);
        let value = &entries[item.entry as usize].value;
        let rest = &value[item.chunk as usize * format.chunk_bytes as usize..];
        used[bucket] += format.write(&mut records.packed_mut()[start..end], item.hash.tag, rest) as u32;
    }
    Ok(records)
}

fn report(entries: &[Entry], total: usize, layout: &KeywordLayout) -> TableReport {
    let values: u64 = entries.iter().map(|entry| entry.value.len() as u64).sum();
    let keys: u64 = entries.iter().map(|entry| entry.key.len() as u64).sum();
    TableReport {
        entries: entries.len() as u64,
        duplicates: (total - entries.len()) as u64,
        records: layout.records(),
        record_bytes: layout.record_bytes() as u64,
        lookups: layout.lookups() as u64,
        longest_value: layout.longest_value() as u64,
        table_bytes: layout.records() * layout.record_bytes() as u64,
        tagged_bytes: values + 8 * entries.len() as u64,
        source_bytes: keys + values,
        layout_bytes: layout.encode().len() as u64,
        wrong_positive_log2: layout.wrong_positive_log2(),
    }
}
