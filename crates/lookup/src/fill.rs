//! Writes entries to the buckets of their regions.

use papir_core::Progress;
use rayon::prelude::*;

use crate::bucket::TAG_BYTES;
use crate::error::Result;
use crate::items::{Item, Items, Purpose, Window};
use crate::layout::KeywordLayout;
use crate::placement::Regions;

/// Writes all entries to zeroed buckets, in each bucket in the order of ids and chunks. Returns false if
/// two tags of a region, or two stored tags of a bucket, are equal: a present key could be mistaken for
/// another.
///
/// # Errors
/// Errors of the items' storage.
pub(crate) fn fill(
    items: &mut dyn Items,
    layout: &KeywordLayout,
    buckets: &mut [u8],
    progress: &dyn Progress,
) -> Result<bool> {
    progress.stage("filling buckets", layout.grid.regions.into());
    let region_bytes = layout.grid.buckets as usize * layout.record_bytes();
    items.each_window(layout.grid, Purpose::Write, &mut |regions, window| {
        let capacity = layout.dimensions.bucket_bytes;
        let first = regions.start as usize;
        let Some(groups) = Regions::group(window.items(), regions, layout.grid, capacity) else {
            return Ok(false);
        };
        let buckets = buckets[first * region_bytes..].chunks_mut(region_bytes);
        let regions: Vec<(&[u32], &mut [u8])> = groups.each().zip(buckets).collect();
        Ok(regions.into_par_iter().all(|(numbers, buckets)| {
            progress.advance(1);
            fill_region(window, numbers, layout, buckets)
        }))
    })
}

fn fill_region(
    window: &dyn Window,
    numbers: &[u32],
    layout: &KeywordLayout,
    buckets: &mut [u8],
) -> bool {
    let items = window.items();
    let mut numbers = numbers.to_vec();
    numbers.sort_by_key(|&number| items[number as usize].order());
    let placed: Vec<(u32, &Item)> = numbers
        .iter()
        .map(|&number| &items[number as usize])
        .map(|item| (layout.bucket_in_region_vartime(&item.hash), item))
        .collect();
    if !tags_differ(&placed, layout) {
        return false;
    }
    let bucket_bytes = layout.record_bytes();
    let mut used = vec![0usize; layout.grid.buckets as usize];
    for (number, (bucket, item)) in numbers.into_iter().zip(placed) {
        let bucket = bucket as usize;
        let free = bucket * bucket_bytes + used[bucket]..(bucket + 1) * bucket_bytes;
        window.write(number, &mut buckets[free]);
        used[bucket] += item.bytes as usize;
    }
    true
}

fn tags_differ(placed: &[(u32, &Item)], layout: &KeywordLayout) -> bool {
    let format = &layout.dimensions.format;
    let stored = |(bucket, item): &(u32, &Item)| (*bucket, format.tag(item.hash.tag));
    all_differ(placed.iter().map(|(_, item)| item.hash.tag).collect())
        && (format.tag_bytes == TAG_BYTES || all_differ(placed.iter().map(stored).collect()))
}

fn all_differ<T: Ord>(mut values: Vec<T>) -> bool {
    values.sort_unstable();
    values.windows(2).all(|pair| pair[0] != pair[1])
}
