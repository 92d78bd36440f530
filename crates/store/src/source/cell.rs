//! A cell of a typed table, and the bytes that it becomes.

use super::json::{json_object, json_string, text};
use super::row::{Fault, Row};

/// One cell.
pub(super) enum Cell {
    /// No value.
    Null,
    /// A text, or bytes without further meaning.
    Bytes(Vec<u8>),
    /// A number, a truth value or a nested value, as JSON.
    Json(String),
}

#[cfg_attr(not(feature = "parquet"), allow(dead_code))]
impl Cell {
    /// A text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Bytes(text.into().into_bytes())
    }

    /// A number that JSON has, or the name of one that it has not.
    pub(super) fn float(number: f64) -> Self {
        Self::named(number).unwrap_or_else(|| Self::Json(serde_json::Value::from(number).to_string()))
    }

    /// As [`Cell::float`], with no more digits than its precision needs.
    pub(super) fn short_float(number: f32) -> Self {
        Self::named(number.into())
            .or_else(|| serde_json::to_string(&number).ok().map(Self::Json))
            .unwrap_or(Self::Null)
    }

    fn named(number: f64) -> Option<Self> {
        match number {
            f64::INFINITY => Some(Self::text("Infinity")),
            f64::NEG_INFINITY => Some(Self::text("-Infinity")),
            number if number.is_nan() => Some(Self::text("NaN")),
            _ => None,
        }
    }

    /// Its bytes where it stands alone.
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Null => Vec::new(),
            Self::Bytes(bytes) => bytes,
            Self::Json(json) => json.into_bytes(),
        }
    }

    /// Its JSON in an object or an array; `column` is for the error of bytes that are no text.
    pub(super) fn json(self, column: &str) -> Result<String, Fault> {
        match self {
            Self::Null => Ok("null".to_owned()),
            Self::Bytes(bytes) => Ok(json_string(text(column, &bytes)?)),
            Self::Json(json) => Ok(json),
        }
    }

    /// Its text as the name of an object's member.
    pub(super) fn name(self, column: &str) -> Result<String, Fault> {
        match self {
            Self::Null => Err(Fault::Reason(format!("a key in column `{column}` is null: expected a value"))),
            Self::Bytes(bytes) => Ok(text(column, &bytes)?.to_owned()),
            Self::Json(json) => Ok(json),
        }
    }
}

/// A row of cells: one value by itself, several as an object, none as nothing.
pub(super) fn row(key: Option<Cell>, values: Vec<(&str, Cell)>) -> Result<Row, Fault> {
    if matches!(key, Some(Cell::Null)) {
        return Err(Fault::Reason("the key is null: expected a value".to_owned()));
    }
    let key = key.map(Cell::into_bytes).unwrap_or_default();
    Ok(Row { key, value: Some(value(values)?) })
}

fn value(mut cells: Vec<(&str, Cell)>) -> Result<Vec<u8>, Fault> {
    match cells.len() {
        0 | 1 => Ok(cells.pop().map(|(_, cell)| cell.into_bytes()).unwrap_or_default()),
        _ => {
            let member = |(name, cell): (_, Cell)| Ok((name, cell.json(name)?));
            Ok(json_object(cells.into_iter().map(member).collect::<Result<Vec<_>, Fault>>()?).into_bytes())
        }
    }
}
