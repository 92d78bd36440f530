//! Tables that papir reproduces, from the printed figures.

use papir_core::{Choice, Goal};

use super::block::{Block, Ours, Published, Table};
use super::pirouette;
use crate::Result;
use crate::printed::{
    DataFault, PaperConfiguration, PaperDatabase, PaperRow, PaperTable, Role, RowFigures,
    TableListing, papers,
};

/// Reads all tables, in the order of the papers.
///
/// Slices are leaked: this happens once, and rows live as long as the program.
pub(super) fn read() -> Result<Vec<Table>, DataFault> {
    let mut tables = Vec::new();
    for table in papers()?.iter().flat_map(|paper| &paper.tables) {
        if let Some(listed) = &table.listed
            && table.title.is_none()
        {
            tables.push(compared(table, listed)?);
        }
    }
    Ok(tables)
}

fn compared(table: &'static PaperTable, listed: &'static TableListing) -> Result<Table, DataFault> {
    // Pirouette's tables compare numbers of cores, and have figures of several printed tables.
    let blocks = match listed.name.as_str() {
        "pirouette-5" => pirouette::tables_5_to_7()?,
        "pirouette-8" => pirouette::table_8()?,
        _ => blocks(table)?,
    };

    // A reader who compares with the paper must know where figures differ from it.
    let mut notes = listed.notes.clone();
    notes.extend(table.corrections());

    Ok(Table {
        name: &listed.name,
        what: &listed.what,
        notes: strings(notes.leak()),
        blocks: blocks.leak(),
    })
}

/// The same strings for the rest of the program.
pub(super) fn strings(strings: &'static [String]) -> &'static [&'static str] {
    let strings = strings.iter().map(String::as_str);
    strings.collect::<Vec<_>>().leak()
}

fn blocks(table: &'static PaperTable) -> Result<Vec<Block>, DataFault> {
    let parts = table
        .columns
        .iter()
        .filter_map(|column| column.part.as_deref());
    let parts: &[&str] = parts.collect::<Vec<_>>().leak();

    let databases = table.databases.iter();
    databases
        .map(|database| block(table, database, parts))
        .collect()
}

fn block(
    table: &'static PaperTable,
    database: &'static PaperDatabase,
    parts: &'static [&'static str],
) -> Result<Block, DataFault> {
    let mut rows = Vec::with_capacity(database.rows.len());
    for row in &database.rows {
        let first = published(table, row)?;
        rows.push(first);

        if let Some(also) = &row.also {
            rows.push(Published {
                ours: Some(ours(also)?),
                repeated: true,
                ..first
            });
        }
    }

    Ok(Block {
        database: &database.database,
        entry: &database.entry,
        entries: database.entries,
        entry_bits: database.entry_bits,
        parts,
        published: rows.leak(),
    })
}

fn published(table: &'static PaperTable, row: &'static PaperRow) -> Result<Published, DataFault> {
    let figures = RowFigures::new(table, row);
    let keys = figures.role(Role::Keys, "KB")?;
    // A table has either both columns of messages or only their total.
    let query = figures.role(Role::Query, "KB")?;
    let download = figures.role(Role::Download, "KB")?;
    let kb = match (query, download) {
        // A table without keys compares schemes whose clients send none.
        (Some(query), Some(download)) => Some([keys.unwrap_or(0.0), query, download]),
        _ => None,
    };

    let total = figures.role(Role::Total, "KB")?;
    let server = figures.role(Role::Server, "ms")?;

    Ok(Published {
        scheme: row.scheme.as_deref().unwrap_or(&row.row),
        ours: row.papir.as_ref().map(ours).transpose()?,
        repeated: false,
        offline_s: figures.role(Role::Offline, "s")?,
        state_kb: figures.role(Role::State, "KB")?,
        kb,
        total_kb: total.ok_or_else(|| without(table, "a total"))?,
        server_ms: server.ok_or_else(|| without(table, "a server time"))?,
        parts_ms: figures.parts()?.leak(),
        scaling: None,
    })
}

/// The fault of a table without a column that every row needs.
fn without(table: &PaperTable, what: &str) -> DataFault {
    DataFault::new(format!("{} without {what}", table.table), "such a column")
}

/// papir's configuration.
fn ours(configuration: &'static PaperConfiguration) -> Result<Ours, DataFault> {
    let choice = match (configuration.columns, configuration.words) {
        (Some(columns), None) => Choice::Columns(columns),
        // Units of γ₀ words go with an N/t, as on the command line.
        (Some(columns), Some(words)) => Choice::Packed { columns, words },
        (None, _) => {
            let goal = configuration.goal.as_deref().unwrap_or_default();
            let goal = goal.parse::<Goal>().map_err(|error| {
                let place = format!("the parameters of {}", configuration.scheme);
                DataFault::new(place, format!("N/t or a goal ({error})"))
            })?;
            chosen(goal, configuration)
        }
    };

    Ok(Ours {
        scheme: &configuration.scheme,
        choice,
    })
}

/// Parameters by a goal; of registered clients, with the options that the configuration fixes.
fn chosen(goal: Goal, configuration: &PaperConfiguration) -> Choice {
    let PaperConfiguration { key_bits, hold, .. } = *configuration;
    if key_bits.is_none() && !hold {
        return Choice::Goal(goal);
    }

    Choice::Registered {
        goal,
        key_bits,
        hold,
    }
}
