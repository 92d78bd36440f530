//! Changes of a table as rows of JSON Lines, transaction by transaction.

use super::message::{Column, Field, Message, Table, parse};
use crate::source::{json_object, json_string};

/// Mark of a deletion.
const DELETE: &str = "_delete";

/// The changes of a transaction.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Transaction {
    /// The place in the log after it.
    pub(super) end: u64,
    /// Rows of JSON Lines: all columns as text, or the key and the mark of a deletion.
    pub(super) rows: String,
}

/// Converts messages to transactions. `key` is the column of keys.
///
/// # Errors
/// What was found and expected, if the messages do not state what happens to every key.
pub(super) fn transactions(messages: &[Vec<u8>], key: &str) -> Result<Vec<Transaction>, String> {
    let (mut done, mut open, mut table) = (Vec::new(), Transaction::default(), None);
    for bytes in messages {
        let message = parse(bytes).ok_or("an unknown message: expected those of pgoutput, version 1")?;
        match message {
            Message::Other => {}
            Message::Commit { end } => done.push(Transaction { end, ..std::mem::take(&mut open) }),
            Message::Truncate => {
                return Err("a truncated table: expected single rows; build the database again".to_owned());
            }
            Message::Table(found) => {
                table = Some(accepted(found, table, key)?);
            }
            Message::Insert { table: id, new } => Rows::of(&table, id, key)?.set(&mut open, None, &new)?,
            Message::Update { table: id, old, new } => {
                Rows::of(&table, id, key)?.set(&mut open, old.as_deref(), &new)?;
            }
            Message::Delete { table: id, old } => Rows::of(&table, id, key)?.delete(&mut open, &old)?,
        }
    }
    Ok(done)
}

/// Checks that a table is the only one and that its rows are identified by key.
fn accepted(found: Table, before: Option<Table>, key: &str) -> Result<Table, String> {
    let name = &found.name;
    if let Some(before) = before.filter(|before| before.id != found.id) {
        return Err(format!("changes of {} and {name}: expected a publication of one table", before.name));
    }
    let columns = || found.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    match found.columns.iter().find(|column| column.name == key) {
        None => Err(format!("{name} has no column `{key}`: expected one of {}", columns())),
        Some(Column { identifies: false, .. }) => Err(format!(
            "rows of {name} are not identified by `{key}`: expected it as primary key, or ALTER TABLE {name} \
             REPLICA IDENTITY FULL"
        )),
        _ if found.columns.iter().any(|column| column.name == DELETE) => {
            Err(format!("{name} has a column `{DELETE}`: expected none, as it marks deletions"))
        }
        Some(_) => Ok(found),
    }
}

/// The rows of one table.
struct Rows<'a> {
    table: &'a Table,
    /// Number of the key's column.
    key: usize,
}

impl<'a> Rows<'a> {
    fn of(table: &'a Option<Table>, id: u32, key: &str) -> Result<Self, String> {
        let table = table.as_ref().filter(|table| table.id == id);
        let table = table.ok_or("a row before its table: expected the table first")?;
        let key = table.columns.iter().position(|column| column.name == key).unwrap_or_default();
        Ok(Self { table, key })
    }

    /// Adds a row with its new fields. One whose key changes is removed under the old key.
    fn set(
        &self,
        open: &mut Transaction,
        old: Option<&[Field<'_>]>,
        new: &[Field<'_>],
    ) -> Result<(), String> {
        if let Some(old) = old.filter(|old| old.get(self.key) != new.get(self.key)) {
            self.delete(open, old)?;
        }
        let members = self.table.columns.iter().enumerate().map(|(number, column)| {
            let field = match (new.get(number), old.and_then(|old| old.get(number))) {
                (Some(Field::Unchanged), Some(&before @ Field::Text(_))) => before,
                (Some(&field), _) => field,
                (None, _) => Field::Null,
            };
            Ok((column.name.as_str(), self.json(field, column)?))
        });
        self.push(open, members.collect::<Result<_, String>>()?);
        Ok(())
    }

    fn delete(&self, open: &mut Transaction, old: &[Field<'_>]) -> Result<(), String> {
        let column = &self.table.columns[self.key];
        let key = self.json(old.get(self.key).copied().unwrap_or(Field::Null), column)?;
        self.push(open, vec![(&column.name, key), (DELETE, "true".to_owned())]);
        Ok(())
    }

    fn push(&self, open: &mut Transaction, members: Vec<(&str, String)>) {
        open.rows += &json_object(members);
        open.rows.push('\n');
    }

    fn json(&self, field: Field<'_>, column: &Column) -> Result<String, String> {
        let (table, column) = (&self.table.name, &column.name);
        match field {
            Field::Null => Ok("null".to_owned()),
            Field::Text(text) => std::str::from_utf8(text)
                .map(json_string)
                .map_err(|_| format!("`{column}` of {table} is not UTF-8: expected text")),
            Field::Unchanged => Err(format!(
                "a change without the long value of `{column}`: expected ALTER TABLE {table} REPLICA IDENTITY FULL"
            )),
        }
    }
}
