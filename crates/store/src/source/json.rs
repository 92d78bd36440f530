//! JSON texts of values with several columns.

use super::row::Fault;

/// The text of a column that becomes part of a JSON object. Bytes that are not UTF-8 are a fault.
pub(super) fn text<'a>(column: &str, bytes: &'a [u8]) -> Result<&'a str, Fault> {
    std::str::from_utf8(bytes).map_err(|_| {
        let expected = "expected text, to write several columns as JSON";
        Fault::Reason(format!("column `{column}` is not UTF-8: {expected}"))
    })
}

/// A JSON object of columns in the order given; the values are JSON texts.
pub(crate) fn json_object<'a>(columns: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let members: Vec<String> = columns
        .into_iter()
        .map(|(name, value)| format!("{}:{value}", json_string(name)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// A text as a JSON string.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
