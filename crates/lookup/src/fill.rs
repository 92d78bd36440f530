//! Writing of entries to the buckets of their regions.

use papir_core::Progress;
use rayon::prelude::*;

use crate::bucket::TAG_BYTES;
use crate::error::Result;
use crate::items::{Item, Items, Purpose, Window};
use crate::layout::KeywordLayout;
use crate::placement::Regions;

/// Writes all entries to zeroed buckets, within each bucket in the order of ids and chunks. Returns
/// false if two tags of a region, or two stored tags of a bucket, are equal, since one key could
/// then be mistaken for another.
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

        // Each region has its own buckets, so that all of them are filled in parallel.
        let buckets = buckets[first * region_bytes..].chunks_mut(region_bytes);
        let regions: Vec<(&[u32], &mut [u8])> = groups.each().zip(buckets).collect();
        Ok(regions.into_par_iter().all(|(numbers, buckets)| {
            progress.advance(1);
            fill_region(window, numbers, layout, buckets)
        }))
    })
}

/// An item with the number of its bucket in the region.
struct Placed<'a> {
    number: u32,
    bucket: u32,
    item: &'a Item,
}

fn fill_region(
    window: &dyn Window,
    numbers: &[u32],
    layout: &KeywordLayout,
    buckets: &mut [u8],
) -> bool {
    // In the order of ids: the bytes of a bucket must not depend on how its items were loaded.
    let items = window.items();
    let mut numbers = numbers.to_vec();
    numbers.sort_by_cached_key(|&number| window.order(number));

    let mut placed = Vec::with_capacity(numbers.len());
    for number in numbers {
        let item = &items[number as usize];
        placed.push(Placed {
            number,
            bucket: layout.bucket_in_region_vartime(&item.hash),
            item,
        });
    }
    if !tags_differ(&placed, layout) {
        return false;
    }

    let bucket_bytes = layout.record_bytes();
    let mut used = vec![0usize; layout.grid.buckets as usize];
    for placed in &placed {
        let bucket = placed.bucket as usize;
        let free = bucket * bucket_bytes + used[bucket]..(bucket + 1) * bucket_bytes;
        // The pilots overfill no bucket, so the free bytes of one are enough for the entry.
        window.write(placed.number, &mut buckets[free]);
        used[bucket] += placed.item.bytes as usize;
    }
    true
}

/// Returns true if all tags of a region differ, and all stored tags of each bucket.
fn tags_differ(placed: &[Placed<'_>], layout: &KeywordLayout) -> bool {
    let tags = placed.iter().map(|placed| placed.item.hash.tag).collect();
    if !all_differ(tags) {
        return false;
    }

    let format = &layout.dimensions.format;
    // Whole tags are stored as they are, and differ within the region already.
    if format.tag_bytes == TAG_BYTES {
        return true;
    }
    let stored = placed
        .iter()
        .map(|placed| (placed.bucket, format.tag(placed.item.hash.tag)))
        .collect();
    all_differ(stored)
}

fn all_differ<T: Ord>(mut values: Vec<T>) -> bool {
    values.sort_unstable();
    values.windows(2).all(|pair| pair[0] != pair[1])
}
