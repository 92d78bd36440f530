//! Tables of Pirouette, which compare numbers of cores.
//!
//! Tables 5, 6 and 7 are one table here: a database's rows have the times of Tables 5 and 6, and
//! the factors between query sizes of Table 7. The paper's machine runs on one core and on 32.

use papir_core::{Choice, Goal};

use super::block::{Block, Ours, Published, Scaling, SharedWork};
use crate::Result;
use crate::printed::{self, DataFault, PaperTable, RowFigures};

/// Databases by their printed name, with their number of entries.
const DATABASES: [(&str, u64); 3] = [("256 MB", 1 << 20), ("1 GB", 1 << 22), ("8 GB", 1 << 25)];
/// Cores of the paper's parallel columns.
const CORES: usize = 32;
/// Bytes of an AES block, of which the first of a transciphered query is the counter.
const BLOCK_BYTES: f64 = 16.0;

const PIROUETTE: Ours = Ours {
    scheme: "pirouette",
    choice: Choice::Goal(Goal::Balanced),
};
const ENCRYPTED: Ours = Ours {
    scheme: "pirouette-encrypted",
    ..PIROUETTE
};
const RESPIRE: Ours = Ours {
    scheme: "respire",
    ..PIROUETTE
};

/// Plain databases: Tables 5, 6 and 7 combined.
pub(super) fn tables_5_to_7() -> Result<Vec<Block>, DataFault> {
    let respire = printed::table(printed::PIROUETTE, "Table 5")?;
    let pirouette = printed::table(printed::PIROUETTE, "Table 6")?;
    let factors = printed::table(printed::PIROUETTE, "Table 7")?;

    let mut blocks = Vec::new();
    for (database, entries) in DATABASES {
        let factors = RowFigures::of(factors, database)?;
        let mut rows = respire_rows(respire, database, factors)?;
        rows.extend(pirouette_rows(pirouette, database)?);
        blocks.push(block(database, entries, rows));
    }
    Ok(blocks)
}

/// Respire, and T-Respire on one core and on several.
fn respire_rows(
    table: &PaperTable,
    database: &str,
    factors: RowFigures<'_>,
) -> Result<Vec<Published>, DataFault> {
    let respire = RowFigures::at(table, "Respire", database)?;
    let alone = Scaling {
        reduction: Some(factors.number("Respire", "")?),
        ..scaling(RESPIRE, 1, SharedWork::Nothing)
    };

    let one = RowFigures::at(table, "T-Respire", database)?;
    // The query is a block for the counter, and those that are decrypted under encryption.
    let sent = one.number("Query Size", "B")? / BLOCK_BYTES;
    let blocks = (sent as usize).saturating_sub(1);
    let transciphered = Scaling {
        blocks,
        reduction: Some(factors.number("T-Respire", "")?),
        ..scaling(RESPIRE, 1, SharedWork::Nothing)
    };

    let many = RowFigures::at(table, "T-Respire (par.)", database)?;
    // The paper gives the factor of query sizes once, for one core.
    let parallel = Scaling {
        blocks,
        ..scaling(RESPIRE, CORES, SharedWork::Everything)
    };

    Ok(vec![
        Published {
            ours: Some(RESPIRE),
            ..row("Respire", respire, alone)?
        },
        row("T-Respire", one, transciphered)?,
        row("T-Respire, 32 cores", many, parallel)?,
    ])
}

/// Pirouette on one core, and on several that share phase 0 or everything.
fn pirouette_rows(table: &PaperTable, database: &str) -> Result<Vec<Published>, DataFault> {
    let one = RowFigures::at(table, "Pirouette", database)?;
    let zero = RowFigures::at(table, "Pirouette (par. Phase 0)", database)?;
    let all = RowFigures::at(table, "Pirouette (Full par.)", database)?;

    // Only the row of one core is measured as a row: the others are scaled from it.
    let alone = scaling(PIROUETTE, 1, SharedWork::Nothing);
    let phase_zero = scaling(PIROUETTE, CORES, SharedWork::PhaseZero);
    let everything = scaling(PIROUETTE, CORES, SharedWork::Everything);

    Ok(vec![
        Published {
            ours: Some(PIROUETTE),
            ..row("Pirouette", one, alone)?
        },
        row("Pirouette, phase 0 on 32 cores", zero, phase_zero)?,
        row("Pirouette, 32 cores", all, everything)?,
    ])
}

/// Encrypted databases, with the messages of plain ones: Table 8 has times only.
pub(super) fn table_8() -> Result<Vec<Block>, DataFault> {
    let times = printed::table(printed::PIROUETTE, "Table 8")?;
    let messages = printed::table(printed::PIROUETTE, "Table 6")?;

    let mut blocks = Vec::new();
    for (database, entries) in DATABASES {
        let times = RowFigures::of(times, database)?;
        // An index is as long whether records are encrypted or not.
        let kb = kilobytes(RowFigures::at(messages, "Pirouette", database)?)?;

        let one = published("Pirouette", kb, times.number("Time", "ms")?);
        let many = published(
            "Pirouette, 32 cores",
            kb,
            times.number("Time (par.)", "ms")?,
        );
        let encrypted = Published {
            ours: Some(ENCRYPTED),
            ..one
        };
        blocks.push(block(database, entries, vec![encrypted, many]));
    }
    Ok(blocks)
}

/// The phases of a whole answer for two databases, of which the paper prints the sum, in Table 6.
/// Its Figure 3 breaks down phase 0 alone, without numbers.
pub(crate) fn phases() -> Result<Vec<Block>, DataFault> {
    let table = printed::table(printed::PIROUETTE, "Table 6")?;
    // The paper draws the smallest and the largest.
    let [small, _, large] = DATABASES;

    let mut panels = Vec::new();
    for (database, entries) in [small, large] {
        let figures = RowFigures::at(table, "Pirouette", database)?;
        let all = published("Pirouette", kilobytes(figures)?, computation(figures)?);
        let row = Published {
            ours: Some(PIROUETTE),
            parts_ms: vec![all.server_ms].leak(),
            ..all
        };

        panels.push(Block {
            entry: database,
            parts: &["whole answer (Table 6)"],
            ..block(database, entries, vec![row])
        });
    }
    Ok(panels)
}

fn block(database: &'static str, entries: u64, published: Vec<Published>) -> Block {
    Block {
        database,
        entry: "256 B",
        entries,
        entry_bits: 256 * 8,
        parts: &[],
        published: published.leak(),
    }
}

fn scaling(ours: Ours, cores: usize, shared: SharedWork) -> Scaling {
    Scaling {
        ours,
        cores,
        shared,
        blocks: 0,
        reduction: None,
    }
}

/// A row of Tables 5 and 6, with its number of cores.
fn row(
    scheme: &'static str,
    figures: RowFigures<'_>,
    scaling: Scaling,
) -> Result<Published, DataFault> {
    Ok(Published {
        scaling: Some(scaling),
        ..published(scheme, kilobytes(figures)?, computation(figures)?)
    })
}

/// KB of keys, query and response.
fn kilobytes(figures: RowFigures<'_>) -> Result<[f64; 3], DataFault> {
    Ok([
        figures.number("Offline Comm.", "KB")?,
        figures.number("Query Size", "KB")?,
        figures.number("Response Size", "KB")?,
    ])
}

fn computation(figures: RowFigures<'_>) -> Result<f64, DataFault> {
    figures.number("Computation", "ms")
}

/// A row without a configuration of papir: KB of keys, query and response, server ms.
fn published(scheme: &'static str, kb: [f64; 3], server_ms: f64) -> Published {
    let [keys, query, response] = kb;
    Published {
        scheme,
        ours: None,
        repeated: false,
        offline_s: None,
        state_kb: None,
        kb: Some(kb),
        total_kb: keys + query + response,
        server_ms,
        parts_ms: &[],
        scaling: None,
    }
}
