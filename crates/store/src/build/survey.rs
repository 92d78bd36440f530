//! The shape of a source's database, without preparing it.

use papir_core::{Run, Shape};
use papir_lookup::{BucketTarget, Lengths};

use super::content::{Content, read};
use super::options::BuildOptions;
use crate::error::{Error, Result};
use crate::source::csv_columns;

/// The shape of the database that a build would prepare.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The records of the scheme's database, which are the buckets of a keyed one.
    pub shape: Shape,
    /// Bytes of all records, compressed, as the scheme `download` sends them; estimated.
    pub compressed_bytes: u64,
    /// Number of rows in the source.
    pub entries: u64,
    /// The key column, if the source has columns.
    pub key: Option<String>,
    /// The value columns.
    pub values: Vec<String>,
    /// The layout of the keys; `None` if records are looked up by index.
    pub keyword: Option<SurveyedKeys>,
}

/// The layout of a surveyed database's keys.
#[derive(Clone, Copy, Debug)]
pub struct SurveyedKeys {
    /// Number of keys.
    pub keys: u64,
    /// Bytes of the layout, which clients fetch once.
    pub layout_bytes: u64,
    /// Bytes of the longest value.
    pub longest_value: u64,
    /// Number of records that a lookup fetches.
    pub lookups: u64,
    /// Lengths of all values, to estimate tables of other buckets.
    pub lengths: Lengths,
}

/// Reads a source and arranges its keys, as a [`Build`](crate::Build) does before it prepares the
/// database. Without any column, the first column of a CSV file is the key, and the others are the
/// values.
///
/// # Errors
/// Errors of [`Build::run`](crate::Build::run) up to there.
pub fn survey(options: &BuildOptions, run: &mut Run<'_>) -> Result<Survey> {
    let mut options = options.clone();
    let format = options.format();
    if format.has_fields() && options.key.is_none() && options.values.is_empty() {
        // A survey answers before the caller has chosen columns, so it takes a likely choice.
        let columns = csv_columns(&options.source, format, &options.text)?;
        let mut columns = columns.into_iter();
        options.key = columns.next();
        options.values = columns.collect();
    }

    options.check()?;
    let Content {
        records,
        entries,
        keyword,
        ..
    } = read(&options, &|_| Ok(BucketTarget::default()), run)?;
    if entries == 0 {
        return Err(Error::Core(papir_core::Error::EmptyDatabase));
    }

    let keyword = keyword.map(|keys| SurveyedKeys {
        keys: keys.report.entries,
        layout_bytes: keys.report.layout_bytes,
        longest_value: keys.report.longest_value,
        lookups: keys.report.lookups,
        lengths: keys.lengths,
    });
    let compressed_bytes = papir_schemes::download::estimate(records.as_ref())?;

    Ok(Survey {
        shape: records.shape(),
        compressed_bytes,
        entries,
        key: options.key,
        values: options.values,
        keyword,
    })
}
