//! Sources of records: files, folders, databases, standard input, tables of a program.
//!
//! | format | detected by | a row | its key |
//! |---|---|---|---|
//! | CSV | `.csv` | a line after the header, or each line | a column |
//! | TSV | `.tsv`, `.tab` | the same, with tabs for commas | a column |
//! | JSON Lines | `.jsonl`, `.ndjson` | an object | a field |
//! | list | `.txt` | a line | the line |
//! | pairs | by option | a line | the text before the first separator |
//! | hosts | by option | a name | the name |
//! | Parquet | `.parquet` | a row | a column |
//! | Arrow | `.arrow`, `.arrows`, `.feather` | a row | a column |
//! | SQLite | `.sqlite`, `.sqlite3`, `.db` | a row of a table or query | a column |
//! | PostgreSQL | the address of a server | a row of a query | a column |
//! | folder | the path is a directory | a file | its path below the folder, with `/` |
//! | raw | any other name | `record_bytes` bytes | none |
//! | given | a program gives it ([`Given`]) | a row | a column |
//!
//! The first bytes of a file tell Parquet, Arrow, SQLite and text with lines, if the name tells
//! nothing and records have no length.
//!
//! Several files of one format, with the same columns, may be one source.
//!
//! Text may be compressed by gzip or zstd, then also with `.gz` or `.zst` after the extension. Raw
//! records may be, if the name ends in `.gz` or `.zst`.
//!
//! The value of a file in a folder, or of a raw record, is its bytes. The value of a line of a list
//! is empty, of a pair the text after the separator, and of a name in a hosts file its address. In
//! other formats the value comes from the value columns: a single column as it is, several columns
//! as a compact JSON object in the requested order. With a key column and no value columns, values
//! are empty. With empty values the database is a set, and a lookup tells whether a key is present.
//!
//! # Column types to bytes
//!
//! A key, or a value of a single column, has the form under "alone"; a member of a JSON object has
//! the form under "in an object".
//!
//! | type | alone | in an object |
//! |---|---|---|
//! | CSV or TSV field | its bytes, without quotes | a string; must be UTF-8 |
//! | JSON string | its characters as UTF-8 | as written in the source |
//! | other JSON | compact JSON with every digit of numbers | the same |
//! | Parquet BOOLEAN | `true`, `false` | the same |
//! | Parquet INT32, INT64, every INTEGER; SQLite INTEGER | decimal digits | the same |
//! | Parquet FLOAT16, FLOAT, DOUBLE | the shortest JSON number that reads back | the same |
//! | SQLite REAL | the shortest JSON number that reads back | the same |
//! | any type of PostgreSQL | its text, as `COPY` writes it to CSV | a string |
//! | these numbers if not finite | `NaN`, `Infinity`, `-Infinity` | a string |
//! | Parquet DECIMAL | digits, as many decimal places as its scale; no point for 0 | a string |
//! | Parquet STRING, ENUM, JSON; SQLite TEXT | its bytes | a string; must be UTF-8 |
//! | Parquet BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, BSON | its bytes | a string; must be UTF-8 |
//! | SQLite BLOB | its bytes | a string; must be UTF-8 |
//! | Parquet UUID | `00112233-4455-6677-8899-aabbccddeeff` | a string |
//! | Parquet DATE | `YYYY-MM-DD` | a string |
//! | Parquet TIME | `HH:MM:SS.` and 3, 6 or 9 digits, by its unit | a string |
//! | Parquet TIMESTAMP | date, `T` and time as above; `Z` if it is in UTC, not local | a string |
//! | Parquet INT96 | a timestamp in UTC, to the millisecond | a string |
//! | Parquet list | compact JSON: an array | the same |
//! | Parquet map, struct | compact JSON: an object; keys of a map in the form "alone" | the same |
//! | Parquet or SQLite NULL | nothing as a value, an error as a key | `null` |
//! | PostgreSQL NULL | nothing as a value, an error as a key | an empty string |
//!
//! A column of Arrow has the form of the same column in Parquet: dates, times, timestamps (seconds
//! as milliseconds), decimals, UUIDs, lists, maps and structs, also in dictionaries.
//!
//! Years before 0 and after 9999 have a sign. A Parquet INTERVAL, an Arrow duration, interval or
//! union, and a group without members cannot be converted: requesting them is an error. The SQLite
//! type is the type of the value, not of the column.
//!
//! # Bad rows
//!
//! A row is bad if it has more or fewer fields than the header, has a quoted field that is not
//! closed or goes on after its closing quote, is not a JSON object, lacks a field or a key, has
//! invalid UTF-8 where text is needed, has a key of another form than [`KeyForm`] states, or has a
//! value that is too long. The next row begins after the line of a stray quote. A file of a folder
//! is bad if it is too long or not a regular file. A bad row fails with an error that names it,
//! unless the caller allows bad rows to be skipped. Faults that make the rest of the source
//! unreadable (a damaged file of Parquet, Arrow or SQLite, a missing column) are always errors.
//! Duplicate keys are handled by [`papir_lookup::OnDuplicate`].

#[cfg(feature = "parquet")]
mod arrow;
mod cell;
mod changes;
mod columns;
mod content;
mod csv;
mod encoding;
mod filter;
mod folder;
mod form;
mod format;
mod given;
#[cfg(feature = "parquet")]
mod guard;
mod input;
mod json;
mod jsonl;
mod key_pattern;
mod lines;
mod named;
#[cfg(feature = "parquet")]
mod parquet;
mod pattern;
#[cfg(feature = "postgres")]
mod query;
mod raw;
mod read;
mod request;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;
mod table;
#[cfg(feature = "parquet")]
mod typed;

#[cfg(feature = "parquet")]
pub use arrow::each_arrow_row;
pub use cell::Cell;
pub use changes::{ChangeColumns, ChangeRow, read_changes};
pub(crate) use changes::{PartOfSource, changes_in, format_of_changes};
pub(crate) use content::format_of_content;
pub use csv::each_csv_row;
pub(crate) use csv::{RowScanner, Scanned, StrayQuote, count_lines, is_line_end, line_end};
pub use encoding::has_utf_16_mark;
pub(crate) use form::{ANY_KEY, DEFAULT_TEXT};
pub use form::{KeyForm, TextForm};
pub use format::Format;
pub(crate) use format::{check_files, has_packed_name};
pub use given::{Given, GivenRows};
pub(crate) use input::Input;
pub use input::without_mark;
#[cfg(feature = "postgres")]
pub(crate) use json::{json_object, json_string};
pub use key_pattern::KeyPattern;
pub use pattern::expand;
pub(crate) use raw::{
    FileRecords, PackedRecords, is_stream, records as raw_records, shape as raw_shape,
};
pub(crate) use read::{SourceRows, csv_columns, rows, rows_each};
pub(crate) use request::{Columns, Deletes, RowsRequest, Selection};
pub(crate) use row::RowOfFile;
pub use row::SkippedRow;
pub(crate) use table::wanted_columns;
