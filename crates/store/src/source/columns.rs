//! The value of a row, from its columns.

use super::json::json_object;
use super::row::Fault;

/// The content of a column in one row.
pub(super) trait ColumnValue {
    /// The bytes of a value that is this column alone.
    fn alone(self) -> Result<Vec<u8>, Fault>;

    /// The JSON of a member of an object. `column` is for the error message if the content is not
    /// text.
    fn member(self, column: &str) -> Result<String, Fault>;
}

/// Makes a value from named columns: a single one as it is, several as an object in their order,
/// none as empty.
pub(super) fn value<'a, C: ColumnValue>(
    mut columns: impl ExactSizeIterator<Item = Result<(&'a str, C), Fault>>,
) -> Result<Vec<u8>, Fault> {
    if columns.len() <= 1 {
        return match columns.next() {
            Some(only) => only?.1.alone(),
            None => Ok(Vec::new()),
        };
    }

    let mut members = Vec::with_capacity(columns.len());
    for column in columns {
        let (name, content) = column?;
        members.push((name, content.member(name)?));
    }
    Ok(json_object(members).into_bytes())
}
