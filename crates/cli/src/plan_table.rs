//! A plan for people: a line for each candidate.

use std::io::Write;

use crate::failure::Failure;
use papir_plan::planner::{Choice, LeftOut, Offer};
use papir_plan::units;

/// A column: its title, and an offer's cell.
type Column = (&'static str, fn(&Offer) -> String);

const COLUMNS: [Column; 13] = [
    ("scheme", |offer| offer.scheme.to_owned()),
    ("parameters", |offer| offer.parameters.clone()),
    ("upload", |offer| units::bytes(offer.upload_bytes)),
    ("download", |offer| units::bytes(offer.download_bytes)),
    ("once", |offer| units::bytes(offer.public_bytes)),
    ("answer", |offer| units::seconds(offer.answer_s)),
    ("client", |offer| units::seconds(offer.client_s)),
    ("lookup", |offer| units::seconds(offer.lookup_s)),
    ("memory", |offer| units::bytes(offer.memory_bytes)),
    ("snapshot", |offer| units::bytes(offer.snapshot_bytes)),
    ("offline", |offer| units::seconds(offer.setup_s)),
    ("security", |offer| offer.security_bits.map_or("none".to_owned(), |bits| format!("{bits:.1} bits"))),
    ("failure", |offer| format!("2^{:.0}", offer.failure_log2)),
];

/// The offers of a table: all, or at most so many of each scheme, and none that another of it beats.
fn shown(choice: &Choice, most: Option<usize>) -> Vec<&Offer> {
    let Some(most) = most else {
        return choice.offers().collect();
    };
    let mut shown: Vec<&Offer> = Vec::new();
    for offer in choice.sensible() {
        if shown.iter().filter(|other| other.scheme == offer.scheme).count() < most {
            shown.push(offer);
        }
    }
    shown
}

/// Writes what can serve, the best first, then what was left out; all of it, or at most so many of each
/// scheme.
///
/// # Errors
/// The writer's.
pub(crate) fn write(out: &mut dyn Write, choice: &Choice, most: Option<usize>) -> Result<(), Failure> {
    let shown = shown(choice, most);
    let titles = COLUMNS.map(|(title, _)| title.to_owned()).to_vec();
    let line = |offer: &Offer| COLUMNS.iter().map(|(_, cell)| cell(offer)).collect();
    let lines: Vec<Vec<String>> = std::iter::once(titles).chain(shown.iter().copied().map(line)).collect();
    papir_bench::report::write_columns(out, &lines)?;
    let hidden = choice.offers().count() - shown.len();
    if hidden > 0 {
        writeln!(out, "({hidden} more with --all or --json)")?;
    }
    if choice.left_out.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nLeft out")?;
    let line = |one: &LeftOut| vec![format!("  {}", one.scheme), one.parameters.clone(), one.reason.clone()];
    let lines: Vec<Vec<String>> = choice.left_out.iter().map(line).collect();
    Ok(papir_bench::report::write_columns(out, &lines)?)
}
