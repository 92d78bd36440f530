//! Output of a plan as a table.

use std::io::Write;

use crate::failure::Failure;
use papir_plan::changes::{ChangesPlan, DeltaOffer};
use papir_plan::planner::{LeftOut, Offer, RankedOffers};
use papir_plan::shards::ShardsPlan;
use papir_plan::units;

/// A column's title, and the function that formats an offer's cell.
type OfferColumn = (&'static str, fn(&Offer) -> String);

const COLUMNS: [OfferColumn; 14] = [
    ("scheme", |offer| offer.scheme.to_owned()),
    ("parameters", |offer| offer.parameters.clone()),
    ("bucket", |offer| {
        offer.bucket_bytes.map_or("-".to_owned(), units::bytes)
    }),
    ("upload", |offer| units::bytes(offer.upload_bytes)),
    ("download", |offer| units::bytes(offer.download_bytes)),
    ("once", |offer| {
        units::bytes(offer.public_bytes + offer.keys_bytes)
    }),
    ("answer", |offer| units::seconds(offer.answer_s)),
    ("client", |offer| units::seconds(offer.client_s)),
    ("lookup", |offer| units::seconds(offer.lookup_s)),
    ("memory", |offer| units::bytes(offer.memory_bytes)),
    ("snapshot", |offer| units::bytes(offer.snapshot_bytes)),
    ("offline", |offer| units::seconds(offer.setup_s)),
    // Every offer is private: one that encrypts nothing hides the index from unbounded attackers.
    ("security", |offer| {
        offer
            .security_bits
            .map_or("perfect".to_owned(), |bits| format!("{bits:.1} bits"))
    }),
    ("failure", |offer| match offer.failure_log2 {
        f64::NEG_INFINITY => "never".to_owned(),
        log2 => format!("2^{log2:.0}"),
    }),
];

/// Selects the table's rows: all offers or, if `most` is given, at most `most` per scheme, without
/// offers that another one of the scheme dominates.
fn shown(choice: &RankedOffers, most: Option<usize>) -> Vec<&Offer> {
    let Some(most) = most else {
        return choice.offers().collect();
    };

    let mut shown: Vec<&Offer> = Vec::new();
    // A bound for each scheme: variants of one scheme would push the others off the screen.
    for offer in choice.undominated() {
        let of_scheme = shown.iter().filter(|other| other.scheme == offer.scheme);
        if of_scheme.count() < most {
            shown.push(offer);
        }
    }

    shown
}

/// Writes the usable candidates, the best first, then the ones left out. If `most` is given, writes
/// at most `most` usable candidates per scheme.
pub(crate) fn write(
    out: &mut dyn Write,
    choice: &RankedOffers,
    most: Option<usize>,
) -> Result<(), Failure> {
    let shown = shown(choice, most);
    // Only buckets of another length than the default one are worth a column.
    let has_bucket = shown.iter().any(|offer| offer.bucket_bytes.is_some());
    let columns: Vec<&OfferColumn> = COLUMNS
        .iter()
        .filter(|(title, _)| *title != "bucket" || has_bucket)
        .collect();
    let titles = columns
        .iter()
        .map(|(title, _)| (*title).to_owned())
        .collect();

    let mut lines: Vec<Vec<String>> = vec![titles];
    for &offer in &shown {
        lines.push(columns.iter().map(|(_, cell)| cell(offer)).collect());
    }
    papir_measure::report::write_columns(out, &lines)?;

    // Said in words, so that nobody takes the table for the whole choice.
    let hidden = choice.offers().count() - shown.len();
    if hidden > 0 {
        writeln!(out, "({hidden} more with --all or --json)")?;
    }
    if choice.left_out.is_empty() {
        return Ok(());
    }

    writeln!(out, "\nLeft out")?;
    let lines: Vec<Vec<String>> = choice.left_out.iter().map(left_out_cells).collect();
    Ok(papir_measure::report::write_columns(out, &lines)?)
}

/// The cells of a candidate that was left out.
fn left_out_cells(one: &LeftOut) -> Vec<String> {
    vec![
        format!("  {}", one.scheme),
        one.parameters.clone(),
        one.reason.clone(),
    ]
}

/// Writes the shards of a database on several machines.
pub(crate) fn write_shards(out: &mut dyn Write, plan: &ShardsPlan) -> Result<(), Failure> {
    writeln!(
        out,
        "\nOn {} machines, predicted: {} slices",
        plan.shards.len(),
        plan.slices
    )?;

    let mut lines = vec![
        ["machine", "slices", "memory", "answer"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (number, shard) in plan.shards.iter().enumerate() {
        let memory = units::bytes(shard.memory_bytes);
        let answer = units::seconds(shard.answer_s);
        lines.push(vec![
            format!("shard {number}"),
            shard.slices.to_string(),
            memory,
            answer,
        ]);
    }

    let memory = units::bytes(plan.front_memory_bytes);
    let answer = units::seconds(plan.front_s);
    lines.push(vec!["front".to_owned(), "-".to_owned(), memory, answer]);
    Ok(papir_measure::report::write_columns(out, &lines)?)
}

/// Writes the deltas of a database that changes, and the recommended one.
pub(crate) fn write_changes(out: &mut dyn Write, plan: &ChangesPlan) -> Result<(), Failure> {
    let base = plan.base.name();
    let setup = units::seconds(plan.base.setup_s);
    writeln!(
        out,
        "\n{} changes per hour, beside {base}, which takes {setup} to merge",
        plan.changes_per_hour
    )?;

    let titles = [
        "delta",
        "changes",
        "publish",
        "merge every",
        "merging",
        "upload",
        "download",
        "answer",
    ];
    let mut lines = vec![titles.map(str::to_owned).to_vec()];
    lines.extend(plan.deltas.iter().map(delta_cells));
    papir_measure::report::write_columns(out, &lines)?;

    Ok(writeln!(out, "\nRecommended: {}", plan.reason())?)
}

/// The cells of a delta, in the order of the titles.
fn delta_cells(delta: &DeltaOffer) -> Vec<String> {
    vec![
        units::bytes(delta.delta_bytes),
        delta.changes.to_string(),
        units::seconds(delta.publish_s),
        units::duration(delta.between_merges_s),
        format!("{:.0} %", 100.0 * delta.merging),
        format!("+{}", units::bytes(delta.upload_bytes)),
        format!("+{}", units::bytes(delta.download_bytes)),
        format!("+{}", units::seconds(delta.answer_s)),
    ]
}
