//! Changes of a table as rows of JSON Lines, transaction by transaction.

use super::message::{Field, Message, PublishedTable, RelationColumn, parse};
use crate::source::{ChangeColumns, json_object, json_string};

/// Mark of a deletion.
const DELETE: &str = "_delete";

/// The changes of a transaction.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Transaction {
    /// The place in the log after it.
    pub(super) end: u64,
    /// Rows of JSON Lines: columns as text, or the key and the mark of a deletion.
    pub(super) rows: String,
}

/// The followed table, and the columns that its rows are read for.
pub(super) struct Followed<'a> {
    /// Its name with its schema, the only one of the publication.
    pub(super) table: &'a str,
    pub(super) columns: &'a ChangeColumns,
}

/// Converts messages to transactions. Messages that do not say what happens to every key are
/// refused with the reason, found and expected.
pub(super) fn transactions(
    messages: &[Vec<u8>],
    followed: &Followed<'_>,
) -> Result<Vec<Transaction>, String> {
    let key = followed.columns.key.as_str();
    let mut table = None;

    // Only a commit completes a transaction: rows after the last one are left for the next call.
    let mut done = Vec::new();
    let mut open = Transaction::default();
    for bytes in messages {
        let message =
            parse(bytes).ok_or("an unknown message: expected those of pgoutput, version 1")?;

        match message {
            Message::Other => {}
            Message::Commit { end } => done.push(Transaction {
                end,
                ..std::mem::take(&mut open)
            }),
            Message::Truncate => {
                return Err(
                    "a truncated table: expected single rows; build the database again".to_owned(),
                );
            }
            Message::Table(found) => table = Some(accepted(found, followed)?),
            Message::Insert { table: id, new } => {
                TableRows::of(&table, id, followed)?.set(&mut open, None, &new)?;
            }
            Message::Update {
                table: id,
                old,
                new,
            } => {
                TableRows::of(&table, id, followed)?.set(&mut open, old.as_deref(), &new)?;
            }
            Message::Delete { table: id, old } => {
                TableRows::of(&table, id, followed)?.delete(&mut open, key, &old)?;
            }
        }
    }
    Ok(done)
}

/// Checks that a table is the followed one and that its rows are identified by key.
fn accepted(found: PublishedTable, followed: &Followed<'_>) -> Result<PublishedTable, String> {
    let name = &found.name;
    let key = &followed.columns.key;
    if name != followed.table {
        return Err(format!(
            "changes of {name}: expected those of {} only",
            followed.table
        ));
    }

    if !found.columns.iter().any(|column| column.name == *key) {
        return Err(format!(
            "{name} has no column `{key}`: expected one of {}",
            names(&found.columns)
        ));
    }

    // Checked here, before any row: a deletion without the key cannot be applied.
    check_identity(&found, key)?;
    if found.columns.iter().any(|column| column.name == DELETE) {
        return Err(format!(
            "{name} has a column `{DELETE}`: expected none, as it marks deletions"
        ));
    }
    Ok(found)
}

/// Checks that the old fields of a table's rows state the key.
fn check_identity(table: &PublishedTable, key: &str) -> Result<(), String> {
    let identity: Vec<&RelationColumn> = table
        .columns
        .iter()
        .filter(|column| column.identifies)
        .collect();

    // All columns identify a row under REPLICA IDENTITY FULL.
    let full = identity.len() == table.columns.len();
    let has_key = identity.iter().any(|column| column.name == key);
    if has_key && (identity.len() == 1 || full) {
        return Ok(());
    }

    let name = &table.name;
    let found = if identity.is_empty() {
        "nothing".to_owned()
    } else {
        names(identity)
    };
    Err(format!(
        "rows of {name} are identified by {found}, not by `{key}`: expected it as primary key, or ALTER TABLE {name} \
         REPLICA IDENTITY FULL, and a database that is built again after that"
    ))
}

/// The names of columns, separated by commas.
fn names<'a>(columns: impl IntoIterator<Item = &'a RelationColumn>) -> String {
    let names: Vec<&str> = columns
        .into_iter()
        .map(|column| column.name.as_str())
        .collect();
    names.join(", ")
}

/// The rows of one table.
struct TableRows<'a> {
    table: &'a PublishedTable,
    columns: &'a ChangeColumns,
    /// Number of the key's column.
    key: usize,
}

impl<'a> TableRows<'a> {
    fn of(
        table: &'a Option<PublishedTable>,
        id: u32,
        followed: &Followed<'a>,
    ) -> Result<Self, String> {
        // The server describes a table before its first row in each answer, and again when its
        // columns change.
        let table = table.as_ref().filter(|table| table.id == id);
        let table = table.ok_or("a row before its table: expected the table first")?;

        let columns = followed.columns;
        // `accepted` has found the column.
        let key = table
            .columns
            .iter()
            .position(|column| column.name == columns.key)
            .unwrap_or_default();

        Ok(Self {
            table,
            columns,
            key,
        })
    }

    /// Adds a row with its new fields. One whose key changes is removed under the old key.
    fn set(
        &self,
        open: &mut Transaction,
        old: Option<&[Field<'_>]>,
        new: &[Field<'_>],
    ) -> Result<(), String> {
        if let Some(old) = old.filter(|old| old.get(self.key) != new.get(self.key)) {
            self.delete(open, &self.columns.key, old)?;
        }

        let mut members = Vec::new();
        for (number, column) in self.table.columns.iter().enumerate() {
            if !self.wants(&column.name) {
                continue;
            }

            // The old fields may have a long value that the new ones leave out.
            let before = old.and_then(|old| old.get(number));
            let field = match (new.get(number), before) {
                (Some(Field::Unchanged), Some(&before @ Field::Text(_))) => before,
                (Some(&field), _) => field,
                (None, _) => Field::Null,
            };
            members.push((column.name.as_str(), self.json(field, &column.name)?));
        }
        push(open, members);
        Ok(())
    }

    /// Returns whether rows are read for a column.
    fn wants(&self, name: &String) -> bool {
        let ChangeColumns {
            key,
            values,
            delete,
            ..
        } = self.columns;
        name == key || values.contains(name) || delete.as_ref() == Some(name)
    }

    fn delete(&self, open: &mut Transaction, key: &str, old: &[Field<'_>]) -> Result<(), String> {
        let field = self.json(old.get(self.key).copied().unwrap_or(Field::Null), key)?;
        push(open, vec![(key, field), (DELETE, "true".to_owned())]);
        Ok(())
    }

    /// A field as text. NULL is nothing, as in `COPY` to CSV.
    fn json(&self, field: Field<'_>, column: &str) -> Result<String, String> {
        let table = &self.table.name;
        match field {
            Field::Null => Ok(json_string("")),
            Field::Text(text) => std::str::from_utf8(text)
                .map(json_string)
                .map_err(|_| format!("`{column}` of {table} is not UTF-8: expected text")),
            Field::Unchanged => Err(format!(
                "a change without the long value of `{column}`: expected ALTER TABLE {table} REPLICA IDENTITY FULL, \
                 and a database that is built again after that"
            )),
        }
    }
}

fn push(open: &mut Transaction, members: Vec<(&str, String)>) {
    open.rows += &json_object(members);
    open.rows.push('\n');
}
