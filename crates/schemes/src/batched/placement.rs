//! Choice of a copy for each record: at most one in each bucket.

use zeroize::Zeroizing;

/// Assigns distinct buckets to as many records as possible, each one of its candidates; `None` for
/// a record without one.
///
/// A maximum matching by shortest augmenting paths: if distinct buckets exist for all records, they
/// are found. Cuckoo hashing follows such paths at random and may give up before. Variable in time,
/// on the client, before anything is sent.
pub(super) fn place_vartime(candidates: &[Vec<usize>], buckets: usize) -> Zeroizing<Vec<Option<usize>>> {
    let mut holder = Zeroizing::new(vec![None; buckets]);
    for record in 0..candidates.len() {
        augment(candidates, &mut holder, record);
    }
    let mut chosen = Zeroizing::new(vec![None; candidates.len()]);
    for (bucket, record) in holder.iter().enumerate() {
        if let Some(record) = record {
            chosen[*record] = Some(bucket);
        }
    }
    chosen
}

/// Finds a bucket for one more record and moves others as needed. Changes nothing if there is none.
fn augment(candidates: &[Vec<usize>], holder: &mut [Option<usize>], record: usize) {
    // The record from which each bucket was reached.
    let mut reached: Zeroizing<Vec<Option<usize>>> = Zeroizing::new(vec![None; holder.len()]);
    // Each record is queued at most once: it is reached through the bucket that it holds.
    let mut waiting = Zeroizing::new(Vec::with_capacity(candidates.len()));
    waiting.push(record);
    let mut next = 0;
    while let Some(&asking) = waiting.get(next) {
        next += 1;
        for &bucket in &candidates[asking] {
            if reached[bucket].is_some() {
                continue;
            }
            reached[bucket] = Some(asking);
            match holder[bucket] {
                Some(other) => waiting.push(other),
                None => return shift(&reached, candidates, holder, bucket),
            }
        }
    }
}

/// Gives a free bucket to the record that reached it, that record's bucket to the one that reached
/// that, and so on.
fn shift(
    reached: &[Option<usize>],
    candidates: &[Vec<usize>],
    holder: &mut [Option<usize>],
    mut bucket: usize,
) {
    while let Some(record) = reached[bucket] {
        let left = candidates[record].iter().copied().find(|&other| holder[other] == Some(record));
        holder[bucket] = Some(record);
        match left {
            Some(other) => bucket = other,
            None => return,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How many records can have distinct buckets, by trying all.
    fn most(candidates: &[Vec<usize>], taken: u32) -> usize {
        let Some((first, rest)) = candidates.split_first() else {
            return 0;
        };
        let free = first.iter().filter(|&&bucket| taken >> bucket & 1 == 0);
        let with = free.map(|&bucket| 1 + most(rest, taken | 1 << bucket)).max().unwrap_or(0);
        with.max(most(rest, taken))
    }

    proptest! {
        #[test]
        fn as_many_records_as_can_be_have_distinct_buckets(
            candidates in prop::collection::vec(prop::collection::vec(0usize..8, 1..4), 0..9),
        ) {
            let placed = place_vartime(&candidates, 8);
            let found = placed.iter().flatten().count();
            prop_assert_eq!((placed.len(), found), (candidates.len(), most(&candidates, 0)));
            let mut seen = [false; 8];
            for (bucket, candidates) in placed.iter().zip(&candidates) {
                let Some(bucket) = bucket else { continue };
                prop_assert!(candidates.contains(bucket));
                prop_assert!(!std::mem::replace(&mut seen[*bucket], true));
            }
        }
    }

    #[test]
    fn a_chain_of_moves_is_followed_to_its_end() {
        let mut candidates: Vec<Vec<usize>> = (0..30).map(|i| vec![i, i + 1]).collect();
        candidates.push(vec![0]);
        let placed = place_vartime(&candidates, 31);
        assert_eq!(*placed, (1..=30).chain([0]).map(Some).collect::<Vec<_>>());
    }
}
