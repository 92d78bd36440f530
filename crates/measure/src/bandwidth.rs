//! Memory bandwidth of one core, the baseline of every answer time.

use std::hint::black_box;
use std::time::Instant;

use crate::clock::median;

/// Function that reads all words once. It returns their XOR, so that the compiler cannot remove a
/// load.
type ReadLoop = fn(&[u64]) -> u64;

/// Readers with 1, 2, 4, 8 and 16 streams, each with blocks of one and of four cache lines. More
/// streams use more prefetchers, so the machine decides which reader is the fastest.
const READERS: [ReadLoop; 10] = [
    read::<1, 8>,
    read::<2, 8>,
    read::<4, 8>,
    read::<8, 8>,
    read::<16, 8>,
    read::<1, 32>,
    read::<2, 32>,
    read::<4, 32>,
    read::<8, 32>,
    read::<16, 32>,
];

/// Reads `STREAMS` equal parts of the words in parallel, `BLOCK` words of each at a time.
///
/// The compiler turns the inner loop into vector loads. They need not be the widest available,
/// because memory is slower.
fn read<const STREAMS: usize, const BLOCK: usize>(words: &[u64]) -> u64 {
    // A sum for each word of a block, so that the words of a block do not wait for each other.
    let mut sums = [0u64; BLOCK];
    let (blocks, _) = words.as_chunks::<BLOCK>();
    let share = blocks.len() / STREAMS;
    let streams: [&[[u64; BLOCK]]; STREAMS] =
        std::array::from_fn(|s| &blocks[s * share..][..share]);

    for i in 0..share {
        for stream in streams {
            sums.iter_mut()
                .zip(&stream[i])
                .for_each(|(sum, word)| *sum ^= word);
        }
    }

    // Fewer blocks than streams, and a part of one, which no stream has read.
    let rest = words[share * STREAMS * BLOCK..].iter();
    sums.iter().chain(rest).fold(0, |all, word| all ^ word)
}

/// Times of reading the same bytes with each reader, in seconds, one for each run.
#[derive(Debug, Default)]
pub struct Bandwidth {
    runs: [Vec<f64>; READERS.len()],
}

/// Seconds of one run with each reader.
#[derive(Debug, Default)]
pub struct Seconds([f64; READERS.len()]);

impl Seconds {
    /// Reads `parts` once with each reader and adds the times.
    pub fn add(&mut self, parts: &[&[u8]]) {
        for (seconds, reader) in self.0.iter_mut().zip(READERS) {
            let start = Instant::now();
            for part in parts {
                // Without both the compiler could read once for all runs, or not at all.
                black_box(reader(black_box(whole_words(part))));
            }
            *seconds += start.elapsed().as_secs_f64();
        }
    }
}

impl Bandwidth {
    /// Records the times of a run.
    pub fn push(&mut self, seconds: Seconds) {
        self.runs
            .iter_mut()
            .zip(seconds.0)
            .for_each(|(runs, seconds)| runs.push(seconds));
    }

    /// Returns the median time of the fastest reader in seconds. It is zero before the first run.
    pub fn seconds(&self) -> f64 {
        let medians = self.runs.iter().map(|runs| median(runs.clone()));
        medians.min_by(f64::total_cmp).unwrap_or_default()
    }
}

/// Returns the bytes as words, without unaligned bytes at both ends.
fn whole_words(bytes: &[u8]) -> &[u64] {
    // At most seven bytes at each end: they do not change the time of a database.
    bytemuck::pod_align_to(bytes).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_reads_every_word() {
        for length in [0, 1, 7, 1024, 4099] {
            let mut words: Vec<u64> = (0..length as u64)
                .map(|i| i.wrapping_mul(0x9e37_79b9))
                .collect();
            let expected = words.iter().fold(0, |all, word| all ^ word);
            for (number, reader) in READERS.iter().enumerate() {
                assert_eq!(reader(&words), expected, "reader {number}, {length} words");
            }
            if let Some(last) = words.last_mut() {
                *last ^= 1;
                assert!(
                    READERS.iter().all(|reader| reader(&words) == expected ^ 1),
                    "{length} words"
                );
            }
        }
    }

    #[test]
    fn the_bandwidth_is_that_of_the_fastest_reader() {
        let mut bandwidth = Bandwidth::default();
        bandwidth
            .runs
            .iter_mut()
            .for_each(|runs| runs.extend([5.0, 9.0, 7.0]));
        bandwidth.runs[3] = vec![4.0, 1.0, 8.0];
        assert!((bandwidth.seconds() - 4.0).abs() < 1e-12);
    }
}
