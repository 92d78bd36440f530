//! Cells of tables, and their conversion to bytes.

use super::columns::{ColumnValue, value};
use super::json::{json_string, text};
use super::row::{Fault, SourceRow};

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No value.
    Null,
    /// A text, or uninterpreted bytes.
    Bytes(Vec<u8>),
    /// A number, a boolean or a nested value, as JSON.
    Json(String),
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Bytes(text.into().into_bytes())
    }

    /// A number. JSON has no `NaN` and no infinities: these become their names.
    pub fn float(number: f64) -> Self {
        Self::non_finite(number)
            .unwrap_or_else(|| Self::Json(serde_json::Value::from(number).to_string()))
    }

    /// Like [`Cell::float`], with only the digits that single precision needs.
    pub fn short_float(number: f32) -> Self {
        Self::non_finite(number.into())
            .or_else(|| serde_json::to_string(&number).ok().map(Self::Json))
            .unwrap_or(Self::Null)
    }

    fn non_finite(number: f64) -> Option<Self> {
        match number {
            f64::INFINITY => Some(Self::text("Infinity")),
            f64::NEG_INFINITY => Some(Self::text("-Infinity")),
            number if number.is_nan() => Some(Self::text("NaN")),
            _ => None,
        }
    }

    /// Length in bytes, as a key or as a single value.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Bytes(bytes) => bytes.len(),
            Self::Json(json) => json.len(),
        }
    }

    /// The bytes of a key or of a single value.
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Null => Vec::new(),
            Self::Bytes(bytes) => bytes,
            Self::Json(json) => json.into_bytes(),
        }
    }

    /// The JSON of a member of an object or array. `column` is for the error message if the bytes
    /// are not text.
    pub(super) fn json(self, column: &str) -> Result<String, Fault> {
        match self {
            Self::Null => Ok("null".to_owned()),
            Self::Bytes(bytes) => Ok(json_string(text(column, &bytes)?)),
            Self::Json(json) => Ok(json),
        }
    }

    /// The name of a member of an object.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    pub(super) fn name(self, column: &str) -> Result<String, Fault> {
        match self {
            Self::Null => Err(Fault::Reason(format!(
                "a key in column `{column}` is null: expected a value"
            ))),
            Self::Bytes(bytes) => Ok(text(column, &bytes)?.to_owned()),
            Self::Json(json) => Ok(json),
        }
    }
}

/// Makes a row from cells: a single value as it is, several as an object, none as an empty value.
pub(super) fn row(key: Option<Cell>, values: Vec<(&str, Cell)>) -> Result<SourceRow, Fault> {
    // All null keys would be one empty key.
    if matches!(key, Some(Cell::Null)) {
        return Err(Fault::Reason(
            "the key is null: expected a value".to_owned(),
        ));
    }

    let key = key.map(Cell::into_bytes).unwrap_or_default();
    Ok(SourceRow {
        key,
        value: Some(value(values.into_iter().map(Ok))?),
    })
}

impl ColumnValue for Cell {
    fn alone(self) -> Result<Vec<u8>, Fault> {
        Ok(self.into_bytes())
    }

    fn member(self, column: &str) -> Result<String, Fault> {
        self.json(column)
    }
}
