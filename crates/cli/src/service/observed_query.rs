//! Queries as a server sees them.

use std::io::Write;
use std::sync::Arc;

use papir_core::envelope;
use papir_server::QueryObserver;
use serde::{Deserialize, Serialize};

/// Bytes of the message header, which all queries to one database share.
const HEADER_BYTES: usize = 24;
/// Bytes of the checksum at the end of a message.
const CHECKSUM_BYTES: usize = envelope::OVERHEAD - HEADER_BYTES;
/// Bytes of the payload that are shown.
const SHOWN_BYTES: usize = 16;

/// One query as received by the server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ObservedQuery {
    /// The queried database.
    pub(crate) database: String,
    /// Length in bytes, header included.
    pub(crate) bytes: u64,
    /// The first bytes of the payload, hexadecimal.
    pub(crate) begins: String,
    /// The number of occurrences of each byte value in the payload.
    pub(crate) histogram: Vec<u64>,
}

impl ObservedQuery {
    fn of(database: &str, query: &[u8]) -> Self {
        let end = query.len().saturating_sub(CHECKSUM_BYTES);
        let payload = query.get(HEADER_BYTES..end).unwrap_or(query);

        let mut histogram = vec![0; 256];
        for &byte in payload {
            histogram[usize::from(byte)] += 1;
        }
        let begins = payload
            .iter()
            .take(SHOWN_BYTES)
            .map(|byte| format!("{byte:02x}"))
            .collect();

        Self {
            database: database.to_owned(),
            bytes: query.len() as u64,
            begins,
            histogram,
        }
    }

    /// The chi-square statistic for the hypothesis that both histograms come from one distribution,
    /// and its degrees of freedom f: the number of byte values that occur, minus one. Under the
    /// hypothesis, the statistic has mean f and variance 2 f.
    pub(crate) fn chi_square(&self, other: &Self) -> (f64, f64) {
        let mine = sum(&self.histogram);
        let theirs = sum(&other.histogram);

        let pairs = self
            .histogram
            .iter()
            .zip(&other.histogram)
            .filter(|(a, b)| **a + **b > 0);
        let cells: Vec<f64> = pairs
            .map(|(&a, &b)| cell(a as f64, b as f64, mine, theirs))
            .collect();

        (cells.iter().sum(), cells.len().saturating_sub(1) as f64)
    }
}

fn sum(histogram: &[u64]) -> f64 {
    histogram.iter().sum::<u64>() as f64
}

/// The term of one byte value in the two-sample statistic: (a√(B/A) − b√(A/B))² / (a + b).
fn cell(a: f64, b: f64, all_a: f64, all_b: f64) -> f64 {
    let difference = a * (all_b / all_a).sqrt() - b * (all_a / all_b).sqrt();
    difference * difference / (a + b)
}

/// Prints each query that arrives as one JSON line on stdout.
pub(crate) fn printer() -> QueryObserver {
    Arc::new(|database, query| {
        if let Ok(line) = serde_json::to_string(&ObservedQuery::of(database, query)) {
            // If stdout is closed, nobody reads the queries.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(payload: &[u8]) -> ObservedQuery {
        let query = [&[0; HEADER_BYTES][..], payload, &[0; CHECKSUM_BYTES]].concat();
        ObservedQuery::of("d", &query)
    }

    #[test]
    fn header_and_checksum_are_excluded() {
        let query = seen(&[0xab, 1, 1]);

        assert_eq!((query.bytes, query.begins.as_str()), (35, "ab0101"));
        assert_eq!(
            (
                query.histogram[1],
                query.histogram[0xab],
                query.histogram[0]
            ),
            (2, 1, 0)
        );
        assert_eq!(ObservedQuery::of("d", &[7]).histogram[7], 1);
    }

    #[test]
    fn chi_square_separates_different_distributions() {
        let even: Vec<u8> = (0..=255).cycle().take(25_600).collect();
        let (same, freedom) = seen(&even).chi_square(&seen(&even));
        assert!(same < 1e-9 && freedom == 255.0, "{same} {freedom}");
        let odd: Vec<u8> = even.iter().map(|byte| byte & 0x7f).collect();
        assert!(seen(&even).chi_square(&seen(&odd)).0 > 10_000.0);
        assert_eq!(seen(&[1, 1]).chi_square(&seen(&[1, 3])).1, 1.0);
    }
}
