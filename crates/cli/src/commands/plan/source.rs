//! The database that `papir build` would prepare from a source.

use std::path::Path;

use clap::Args;
use papir_core::Run;
use papir_plan::database::Database;
use papir_plan::units;
use papir_store::{BuildOptions, Format, Survey, survey as survey_of};

use crate::arguments::network::Network;
use crate::arguments::source_form::SourceFormArguments;
use crate::failure::Failure;
use crate::progress::Bars;

/// The columns of a source, as for `papir build`.
#[derive(Args)]
pub(super) struct Columns {
    /// The column or field of the keys [default: the first column of a CSV file].
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// The columns or fields of the values [default with the default key: all other columns].
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    value: Vec<String>,
    /// The table of an SQLite database; may be left out if there is only one.
    #[arg(long, value_name = "NAME", conflicts_with = "query")]
    table: Option<String>,
    /// A query of an SQLite database, or of the PostgreSQL server at SOURCE.
    #[arg(long, value_name = "SELECT …")]
    query: Option<String>,
    #[command(flatten)]
    form: SourceFormArguments,
    /// Room for keys that updates add, in per cent.
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    room: u32,
}

impl Columns {
    /// Refuses columns without a source.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let has_columns = self.key.is_some() || !self.value.is_empty();
        let is_selected = self.table.is_some() || self.query.is_some();
        let is_given = has_columns || is_selected || self.room > 0 || self.form.is_given();
        match is_given {
            true => Err(Failure::new(
                "--key, --value, --table, --query, --room and the form describe a source: give \
                 SOURCE",
            )),
            false => Ok(()),
        }
    }
}

/// Reads a source. Returns its database, and the source in words.
pub(super) fn survey(
    source: &Path,
    columns: &Columns,
    record_bytes: Option<u64>,
) -> Result<(Database, Option<String>), Failure> {
    // A survey writes nothing, so that the output is never used.
    let files = [source.to_owned()];
    let options = BuildOptions {
        key: columns.key.clone(),
        values: columns.value.clone(),
        table: columns.table.clone(),
        query: columns.query.clone(),
        room: columns.room,
        // A proxy and trusted certificates come from the environment.
        ..columns
            .form
            .options(&files, record_bytes, source, &Network::default())?
    };

    // A format that is not told counts as raw, and a plan for the wrong format looks plausible.
    if options.format() == Format::Raw && record_bytes.is_none() {
        return Err(Failure::at(
            source,
            "expected .csv, .jsonl, .txt, .parquet, .arrow, .sqlite or a folder; for raw records give \
             --record-bytes",
        ));
    }

    let found = survey_of(
        &options,
        &mut Run::new(&mut papir::system_rng(), &Bars::new()),
    )?;

    let database = match found.keyword {
        Some(keys) => Database::of_buckets(
            found.shape,
            (keys.keys, keys.lookups),
            keys.layout_bytes,
            keys.lengths,
        ),
        None => Database::of_records(found.shape),
    };
    let database = Database {
        // Sending everything is an offer, too, and its cost depends on how well the data compress.
        compressed_bytes: Some(found.compressed_bytes),
        ..database
    };

    Ok((database, Some(origin(source, &found))))
}

/// The source in words.
fn origin(source: &Path, found: &Survey) -> String {
    let mut text = format!("{}, {} entries", source.display(), found.entries);
    if let Some(key) = &found.key {
        text += &format!(", key `{key}`");
    }
    if !found.values.is_empty() {
        text += &format!(", values `{}`", found.values.join("`, `"));
    }

    if let Some(keys) = &found.keyword {
        text += &format!(" of at most {}", units::bytes(keys.longest_value));
        // The column "lookup" of the table is for one record.
        if keys.lookups > 1 {
            text += &format!(
                "; each lookup fetches {} records, and costs that many times as much",
                keys.lookups
            );
        }
    }

    text
}
