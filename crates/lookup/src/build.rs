//! Entries become a table: duplicates, ids, then buckets.

use std::collections::HashMap;
use std::str::FromStr;

use papir_core::{Error as CoreError, Progress};
use rand_core::CryptoRng;

use crate::arrange::{Pair, arrange};
use crate::dimensions::{BucketTarget, MAX_VALUE_BYTES};
use crate::hash::{SEED_BYTES, Seeds, random_seed};
use crate::ids::KeyIds;
use crate::table::{KeywordTable, TableReport};
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
    /// By how many per cent the table is made larger than its entries need, so that later keys find
    /// room: 0 to [`MAX_ROOM`].
    pub room: u32,
}

/// The most room that a table can be given, in per cent.
pub const MAX_ROOM: u32 = 100;

impl TableOptions {
    /// The room, if it can be.
    pub(crate) fn room(&self) -> Result<u32> {
        if self.room <= MAX_ROOM {
            return Ok(self.room);
        }
        let expected = format!("at most {MAX_ROOM} per cent");
        Err(CoreError::out_of_bounds("the room of a table", self.room.into(), expected).into())
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
    let key_bytes = kept.iter().map(|entry| entry.key.len() as u64).sum();
    let (seed, pairs) = identify(kept, rng, progress)?;
    let duplicates = (total - pairs.len()) as u64;
    let (layout, records) = arrange(&pairs, seed, options, rng, progress)?;
    let report = TableReport { duplicates, key_bytes: Some(key_bytes), ..TableReport::of(&pairs, &layout) };
    let ids = KeyIds::of_sorted(pairs.into_iter().map(|pair| pair.id).collect());
    Ok(KeywordTable { layout, records, ids, report })
}

fn check_values(entries: &[Entry]) -> Result<()> {
    entries.iter().try_for_each(|entry| check_value(&entry.value, entry.line))
}

/// Refuses a value that no table takes.
pub(crate) fn check_value(value: &[u8], line: u64) -> Result<()> {
    let (found, limit) = (value.len() as u64, MAX_VALUE_BYTES as u64);
    if found <= limit { Ok(()) } else { Err(Error::ValueTooLong { line, found, limit }) }
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
            OnDuplicate::Refuse => return Err(duplicate_key(&entry.key, entries[earlier].line, entry.line)),
            OnDuplicate::Last => dropped[earlier] = true,
            OnDuplicate::First => {
                dropped[i] = true;
                seen.insert(&entry.key, earlier);
            }
        }
    }
    Ok(entries.into_iter().zip(dropped).filter(|(_, dropped)| !dropped).map(|(entry, _)| entry).collect())
}

/// A key that stands on two lines.
pub(crate) fn duplicate_key(key: &[u8], first: u64, line: u64) -> Error {
    Error::DuplicateKey { key: shown(key), first, line }
}

/// A key for an error: as text, shortened.
fn shown(key: &[u8]) -> String {
    const MOST: usize = 64;
    let text = String::from_utf8_lossy(&key[..key.len().min(MOST)]);
    let more = if key.len() > MOST { "…" } else { "" };
    format!("{}{more}", text.escape_debug())
}

/// A seed under which all keys have different ids, and the ids with their values, ascending.
fn identify(
    entries: Vec<Entry>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<([u8; SEED_BYTES], Vec<Pair>)> {
    progress.stage("naming keys", 1);
    let seeds = Seeds { ids: random_seed(rng), places: [0; SEED_BYTES] };
    let pair = |entry: Entry| Pair { id: seeds.id(&entry.key), value: entry.value };
    let mut pairs: Vec<Pair> = entries.into_iter().map(pair).collect();
    pairs.sort_unstable_by_key(|pair| pair.id);
    // Two of 2³² ids are equal with probability 2⁻⁶⁵.
    if pairs.is_sorted_by(|a, b| a.id < b.id) {
        progress.advance(1);
        return Ok((seeds.ids, pairs));
    }
    let found = pairs.len() as u64;
    Err(CoreError::out_of_bounds("the number of entries", found, "few enough for 128-bit ids to differ")
        .into())
}
