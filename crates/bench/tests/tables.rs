//! Tables of papers at a tiny size: our rows run, the paper's figures stand beside them.
#![allow(clippy::unwrap_used)]

use papir_bench::measure::Effort;
use papir_bench::tables::{self, Block, Published, Table};
use papir_core::NoProgress;

const EFFORT: Effort = Effort { threads: 1, runs: 1 };

const PUBLISHED: &[Published] = &[
    Published { scheme: "other", ours: None, offline_s: 1.0, total_kb: 100, server_ms: 10.0 },
    Published {
        scheme: "InsPIRe",
        ours: Some(("inspire", 64)),
        offline_s: 1.0,
        total_kb: 200,
        server_ms: 10.0,
    },
];

const TINY: Table = Table {
    name: "tiny",
    what: "two databases",
    blocks: &[
        Block { database: "small", records: 1 << 12, record_bytes: 64, published: PUBLISHED },
        Block { database: "large", records: 1 << 16, record_bytes: 64, published: PUBLISHED },
    ],
};

#[test]
fn rows_are_measured_where_they_fit_and_predicted_elsewhere() {
    let report = tables::run(&TINY, 1 << 18, EFFORT, &NoProgress).unwrap();
    let [other, measured, _, predicted] = &report.rows[..] else { unreachable!("four rows") };
    assert_eq!((other.total_kb, other.server_ms), (None, None));
    assert_eq!((measured.predicted, measured.correct), (false, Some(true)));
    assert!(measured.offline_s.is_some() && measured.total_kb < Some(200.0));
    assert_eq!((predicted.predicted, predicted.correct), (true, None));
    assert!(predicted.server_ms > measured.server_ms.map(|_| 0.0) && predicted.total_kb.is_some());
    let mut out = Vec::new();
    report.write_table(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("predicted") && text.ends_with("above the paper's: 0\n"), "{text}");
}

/// Sizes are exact without measuring: at every configuration of the papers' tables papir sends and
/// receives no more than the paper.
#[test]
fn communication_is_never_above_the_papers() {
    for table in tables::ALL {
        let report = tables::run(table, 0, EFFORT, &NoProgress).unwrap();
        let ours = report.rows.iter().filter(|row| row.columns.is_some());
        // Only databases of 32 GB may need a wider selector than there is.
        assert!(ours.clone().all(|row| row.refused.is_none() || row.database == "32 GB"));
        for row in ours.filter(|row| row.refused.is_none()) {
            let (ours, paper) = (row.total_kb.unwrap(), row.paper_total_kb as f64);
            assert!(ours <= paper, "{} {}: {ours} KB, the paper has {paper}", table.name, row.database);
            assert!(row.predicted && row.correct.is_none());
        }
    }
}
