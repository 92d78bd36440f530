//! Which copy of each record a batch asks for: one of each bucket at most.

use std::collections::VecDeque;

/// Distinct buckets for records, each one of its candidates; `None` where there is no such choice.
///
/// A maximum matching by shortest augmenting paths: where distinct buckets exist, they are found.
/// Cuckoo hashing walks such paths at random, and may give up before. Variable in time, on the
/// client, before anything is sent.
pub(super) fn place_vartime(candidates: &[Vec<usize>], buckets: usize) -> Option<Vec<usize>> {
    let mut holder: Vec<Option<usize>> = vec![None; buckets];
    for record in 0..candidates.len() {
        augment(candidates, &mut holder, record)?;
    }
    let mut chosen = vec![0; candidates.len()];
    for (bucket, record) in holder.iter().enumerate() {
        if let Some(record) = record {
            chosen[*record] = bucket;
        }
    }
    Some(chosen)
}

/// Finds a bucket for one record more, moving others on as it needs.
fn augment(candidates: &[Vec<usize>], holder: &mut [Option<usize>], record: usize) -> Option<()> {
    // From which record each bucket was reached.
    let mut reached: Vec<Option<usize>> = vec![None; holder.len()];
    let mut waiting = VecDeque::from([record]);
    while let Some(asking) = waiting.pop_front() {
        for &bucket in &candidates[asking] {
            if reached[bucket].is_some() {
                continue;
            }
            reached[bucket] = Some(asking);
            match holder[bucket] {
                Some(other) => waiting.push_back(other),
                None => return shift(&reached, candidates, holder, bucket),
            }
        }
    }
    None
}

/// Gives a free bucket to the record that reached it, the one that this leaves to who reached that, and so on.
fn shift(
    reached: &[Option<usize>],
    candidates: &[Vec<usize>],
    holder: &mut [Option<usize>],
    mut bucket: usize,
) -> Option<()> {
    loop {
        let record = reached[bucket]?;
        let left = candidates[record].iter().copied().find(|&other| holder[other] == Some(record));
        holder[bucket] = Some(record);
        match left {
            Some(other) => bucket = other,
            None => return Some(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether distinct buckets exist, by trying all.
    fn exists(candidates: &[Vec<usize>], taken: u32) -> bool {
        let Some((first, rest)) = candidates.split_first() else {
            return true;
        };
        first.iter().any(|&bucket| taken >> bucket & 1 == 0 && exists(rest, taken | 1 << bucket))
    }

    proptest! {
        #[test]
        fn distinct_buckets_are_found_exactly_where_they_exist(
            candidates in prop::collection::vec(prop::collection::vec(0usize..8, 1..4), 0..9),
        ) {
            let placed = place_vartime(&candidates, 8);
            prop_assert_eq!(placed.is_some(), exists(&candidates, 0));
            let Some(placed) = placed else { return Ok(()) };
            let mut seen = [false; 8];
            for (bucket, candidates) in placed.iter().zip(&candidates) {
                prop_assert!(candidates.contains(bucket));
                prop_assert!(!std::mem::replace(&mut seen[*bucket], true));
            }
            prop_assert_eq!(placed.len(), candidates.len());
        }
    }

    #[test]
    fn a_chain_of_moves_is_followed_to_its_end() {
        let mut candidates: Vec<Vec<usize>> = (0..30).map(|i| vec![i, i + 1]).collect();
        candidates.push(vec![0]);
        let placed = place_vartime(&candidates, 31).unwrap();
        assert_eq!(placed, (1..=30).chain([0]).collect::<Vec<_>>());
    }
}
