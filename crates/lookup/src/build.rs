//! Construction of keyword tables from entries in memory.

use std::collections::HashMap;

use papir_core::{Error as CoreError, Progress};
use rand_core::CryptoRng;
use rayon::prelude::*;

use crate::arrange::arrange;
use crate::entry::{Entry, Pair, check_value, duplicate_key};
use crate::error::{Error, Result};
use crate::hash::{SEED_BYTES, Seeds, random_seed};
use crate::options::{OnDuplicate, TableOptions};
use crate::table::KeywordTable;

/// Builds a table from entries. `rng` draws its public seeds.
///
/// # Errors
/// [`CoreError::EmptyDatabase`] without entries; [`crate::Error::ValueTooLong`];
/// [`crate::Error::DuplicateKey`]; [`CoreError::OutOfBounds`] for an invalid bucket length or room,
/// or too many entries; or [`crate::Error::Placement`].
pub fn build(
    entries: Vec<Entry>,
    options: &TableOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<KeywordTable> {
    // Before keys are hashed: pairs have no lines, which an error names.
    check_values(&entries)?;
    let total = entries.len();
    let kept = resolve_duplicates(entries, options.on_duplicate)?;
    let key_bytes = kept.iter().map(|entry| entry.key.len() as u64).sum();

    let (seed, pairs) = identify(kept, rng, progress)?;
    let duplicates = (total - pairs.len()) as u64;
    let (layout, records) = arrange(&pairs, seed, options, rng, progress)?;

    let mut table = KeywordTable::of(pairs, layout, records);
    table.report.duplicates = duplicates;
    table.report.key_bytes = Some(key_bytes);
    Ok(table)
}

fn check_values(entries: &[Entry]) -> Result<()> {
    entries
        .iter()
        .try_for_each(|entry| check_value(&entry.value, entry.line))
}

/// Keeps one entry for each key by the rule, in the order of the source.
fn resolve_duplicates(entries: Vec<Entry>, rule: OnDuplicate) -> Result<Vec<Entry>> {
    let mut dropped = vec![false; entries.len()];
    let mut seen: HashMap<&[u8], usize> = HashMap::with_capacity(entries.len());

    for (i, entry) in entries.iter().enumerate() {
        let Some(earlier) = seen.insert(&entry.key, i) else {
            continue;
        };
        match rule {
            OnDuplicate::Refuse => {
                return Err(duplicate_key(&entry.key, entries[earlier].line, entry.line));
            }
            OnDuplicate::Last => dropped[earlier] = true,
            OnDuplicate::First => {
                dropped[i] = true;
                // The map keeps the first entry of a key.
                seen.insert(&entry.key, earlier);
            }
        }
    }

    Ok(entries
        .into_iter()
        .zip(dropped)
        .filter(|(_, dropped)| !dropped)
        .map(|(entry, _)| entry)
        .collect())
}

/// Draws the seed of the ids. Returns it with the pairs of ids and values, ascending by id. Fails
/// if two keys have one id.
fn identify(
    entries: Vec<Entry>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<([u8; SEED_BYTES], Vec<Pair>)> {
    progress.stage("naming keys", 1);
    let seeds = Seeds {
        ids: random_seed(rng),
        placement: [0; SEED_BYTES],
    };

    // Ascending, as the owner keeps the ids and merges changes into them.
    let mut pairs: Vec<Pair> = entries
        .into_par_iter()
        .map(|entry| Pair {
            id: seeds.id(&entry.key),
            value: entry.value,
        })
        .collect();
    pairs.par_sort_unstable_by_key(|pair| pair.id);

    // Two of 2³² ids coincide with probability below 2⁻⁶⁴, so one seed is enough.
    if pairs.is_sorted_by(|a, b| a.id < b.id) {
        progress.advance(1);
        return Ok((seeds.ids, pairs));
    }
    Err(equal_ids(pairs.len() as u64))
}

/// The error for two keys with one id.
pub(crate) fn equal_ids(entries: u64) -> Error {
    let expected = "few enough for 128-bit ids to differ";
    CoreError::out_of_bounds("the number of entries", entries, expected).into()
}
