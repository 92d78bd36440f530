//! Converts Arrow values to cells, as those of Parquet are converted.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::{DataType, TimeUnit};

use crate::source::cell::Cell;
use crate::source::json::json_object;
use crate::source::row::Fault;
use crate::source::typed::{MICROS, MILLIS, NANOS, date, time, timestamp, uuid};

/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;

/// The cell of a column in a row of a batch.
pub(super) type CellReader<'a> = Box<dyn Fn(usize) -> Result<Cell, Fault> + 'a>;

/// Reads an array of primitive or variable-length values.
macro_rules! cells {
    ($values:expr, |$value:ident| $cell:expr) => {{
        let values = $values;
        Box::new(move |row: usize| {
            if values.is_null(row) {
                return Ok(Cell::Null);
            }
            let $value = values.value(row);
            $cell
        })
    }};
}

/// Reads the UUIDs of an array of 16 bytes each. `None` for another array.
pub(super) fn uuids(array: &dyn Array) -> Option<CellReader<'_>> {
    match array.data_type() {
        DataType::FixedSizeBinary(16) => {
            let values = array.as_fixed_size_binary();
            Some(cells!(values, |value| Ok(uuid(value))))
        }
        _ => None,
    }
}

/// Reads the cells of an array by row. `column` names it in faults. `None` for a type that has no
/// form in bytes.
pub(super) fn reader_of<'a>(column: &'a str, array: &'a dyn Array) -> Option<CellReader<'a>> {
    let reader: CellReader<'a> = match array.data_type() {
        DataType::Null => Box::new(|_| Ok(Cell::Null)),
        DataType::Boolean => cells!(array.as_boolean(), |value| number(value)),
        DataType::Int8 => cells!(array.as_primitive::<Int8Type>(), |value| number(value)),
        DataType::Int16 => cells!(array.as_primitive::<Int16Type>(), |value| number(value)),
        DataType::Int32 => cells!(array.as_primitive::<Int32Type>(), |value| number(value)),
        DataType::Int64 => cells!(array.as_primitive::<Int64Type>(), |value| number(value)),
        DataType::UInt8 => cells!(array.as_primitive::<UInt8Type>(), |value| number(value)),
        DataType::UInt16 => cells!(array.as_primitive::<UInt16Type>(), |value| number(value)),
        DataType::UInt32 => cells!(array.as_primitive::<UInt32Type>(), |value| number(value)),
        DataType::UInt64 => cells!(array.as_primitive::<UInt64Type>(), |value| number(value)),
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>();
            cells!(values, |value| Ok(Cell::short_float(value.to_f32())))
        }
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>();
            cells!(values, |value| Ok(Cell::short_float(value)))
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>();
            cells!(values, |value| Ok(Cell::float(value)))
        }
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
        DataType::Utf8 => cells!(array.as_string::<i32>(), |value| Ok(Cell::text(value))),
        DataType::LargeUtf8 => cells!(array.as_string::<i64>(), |value| Ok(Cell::text(value))),
        DataType::Utf8View => cells!(array.as_string_view(), |value| Ok(Cell::text(value))),
        DataType::Binary => cells!(array.as_binary::<i32>(), |value| bytes(value)),
        DataType::LargeBinary => cells!(array.as_binary::<i64>(), |value| bytes(value)),
        DataType::BinaryView => cells!(array.as_binary_view(), |value| bytes(value)),
        DataType::FixedSizeBinary(_) => {
            cells!(array.as_fixed_size_binary(), |value| bytes(value))
        }
        DataType::Dictionary(..) => dictionary(column, array)?,
        DataType::List(_) => list::<i32>(column, array)?,
        DataType::LargeList(_) => list::<i64>(column, array)?,
        DataType::FixedSizeList(_, length) => fixed_list(column, array, *length)?,
        DataType::Struct(_) => group(column, array)?,
        DataType::Map(..) => map(column, array)?,
        _ => return times(array),
    };

    Some(reader)
}

/// Reads dates, times of day and timestamps. `None` for another type.
fn times(array: &dyn Array) -> Option<CellReader<'_>> {
    let reader: CellReader<'_> = match array.data_type() {
        DataType::Date32 => {
            let values = array.as_primitive::<Date32Type>();
            cells!(values, |value| Ok(Cell::text(date(i64::from(value)))))
        }
        DataType::Date64 => {
            let values = array.as_primitive::<Date64Type>();
            cells!(values, |value| Ok(Cell::text(date(
                value.div_euclid(DAY_MILLIS)
            ))))
        }
        DataType::Time32(TimeUnit::Second) => {
            let values = array.as_primitive::<Time32SecondType>();
            cells!(values, |value| time(1000 * i64::from(value), MILLIS))
        }
        DataType::Time32(TimeUnit::Millisecond) => {
            let values = array.as_primitive::<Time32MillisecondType>();
            cells!(values, |value| time(i64::from(value), MILLIS))
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            let values = array.as_primitive::<Time64MicrosecondType>();
            cells!(values, |value| time(value, MICROS))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            let values = array.as_primitive::<Time64NanosecondType>();
            cells!(values, |value| time(value, NANOS))
        }
        DataType::Timestamp(unit, zone) => timestamps(array, *unit, zone.is_some()),
        _ => return None,
    };

    Some(reader)
}

/// Reads timestamps, which are in UTC if their type has a time zone.
fn timestamps(array: &dyn Array, unit: TimeUnit, is_utc: bool) -> CellReader<'_> {
    match unit {
        TimeUnit::Second => seconds(array, is_utc),
        TimeUnit::Millisecond => {
            let values = array.as_primitive::<TimestampMillisecondType>();
            cells!(values, |value| Ok(timestamp(value, MILLIS, is_utc)))
        }
        TimeUnit::Microsecond => {
            let values = array.as_primitive::<TimestampMicrosecondType>();
            cells!(values, |value| Ok(timestamp(value, MICROS, is_utc)))
        }
        TimeUnit::Nanosecond => {
            let values = array.as_primitive::<TimestampNanosecondType>();
            cells!(values, |value| Ok(timestamp(value, NANOS, is_utc)))
        }
    }
}

/// Reads timestamps of seconds. They have the form of milliseconds, as in Parquet, which has no
/// seconds.
fn seconds(array: &dyn Array, is_utc: bool) -> CellReader<'_> {
    let values = array.as_primitive::<TimestampSecondType>();
    cells!(values, |value| match value.checked_mul(1000) {
        Some(millis) => Ok(timestamp(millis, MILLIS, is_utc)),
        None => Err(Fault::Reason(format!(
            "a timestamp of {value} s: expected one of 64 bits in milliseconds"
        ))),
    })
}

/// A number or a boolean as JSON.
fn number(value: impl ToString) -> Result<Cell, Fault> {
    Ok(Cell::Json(value.to_string()))
}

fn bytes(value: &[u8]) -> Result<Cell, Fault> {
    Ok(Cell::Bytes(value.to_vec()))
}

/// Reads decimals as text, with as many decimal places as their scale.
fn decimals<T: DecimalType>(array: &dyn Array) -> CellReader<'_> {
    let values = array.as_primitive::<T>();
    Box::new(move |row: usize| {
        if values.is_null(row) {
            return Ok(Cell::Null);
        }
        Ok(Cell::text(values.value_as_string(row)))
    })
}

/// Reads the values that the keys of a dictionary stand for.
fn dictionary<'a>(column: &'a str, array: &'a dyn Array) -> Option<CellReader<'a>> {
    let dictionary = array.as_any_dictionary();
    let values = reader_of(column, dictionary.values().as_ref())?;
    // Then all rows are null.
    if dictionary.values().is_empty() {
        return Some(Box::new(|_| Ok(Cell::Null)));
    }

    let keys = dictionary.normalized_keys();
    Some(Box::new(move |row: usize| {
        if array.is_null(row) {
            return Ok(Cell::Null);
        }
        values(keys[row])
    }))
}

/// Reads the elements of lists and the members of objects. `None` for a type whose values have no
/// bytes in the file: a short file could then have elements without end.
fn nested<'a>(column: &'a str, array: &'a ArrayRef) -> Option<CellReader<'a>> {
    match array.data_type() {
        DataType::Null | DataType::FixedSizeBinary(0) | DataType::FixedSizeList(_, 0) => None,
        _ => reader_of(column, array.as_ref()),
    }
}

/// Reads lists as arrays.
fn list<'a, O: OffsetSizeTrait>(column: &'a str, array: &'a dyn Array) -> Option<CellReader<'a>> {
    let lists = array.as_list::<O>();
    let element = nested(column, lists.values())?;
    let offsets = lists.value_offsets();

    Some(Box::new(move |row: usize| {
        if lists.is_null(row) {
            return Ok(Cell::Null);
        }
        let range = offsets[row].as_usize()..offsets[row + 1].as_usize();
        elements(column, &element, range)
    }))
}

/// Reads lists of `length` elements each as arrays.
fn fixed_list<'a>(column: &'a str, array: &'a dyn Array, length: i32) -> Option<CellReader<'a>> {
    let lists = array.as_fixed_size_list();
    let element = nested(column, lists.values())?;
    let length = usize::try_from(length).ok()?;

    Some(Box::new(move |row: usize| {
        if lists.is_null(row) {
            return Ok(Cell::Null);
        }
        elements(column, &element, row * length..(row + 1) * length)
    }))
}

/// The JSON of an array of elements.
fn elements(column: &str, element: &CellReader<'_>, range: Range<usize>) -> Result<Cell, Fault> {
    let mut texts = Vec::new();
    for index in range {
        texts.push(element(index)?.json(column)?);
    }
    Ok(Cell::Json(format!("[{}]", texts.join(","))))
}

/// Reads structs as objects. `None` for one without members, as for Parquet.
fn group<'a>(column: &'a str, array: &'a dyn Array) -> Option<CellReader<'a>> {
    let groups = array.as_struct();
    let mut members = Vec::new();
    for (field, values) in groups.fields().iter().zip(groups.columns()) {
        members.push((field.name().as_str(), nested(column, values)?));
    }
    if members.is_empty() {
        return None;
    }

    Some(Box::new(move |row: usize| {
        if groups.is_null(row) {
            return Ok(Cell::Null);
        }
        let mut texts = Vec::with_capacity(members.len());
        for (name, member) in &members {
            texts.push((*name, member(row)?.json(column)?));
        }
        Ok(Cell::Json(json_object(texts)))
    }))
}

/// Reads maps as objects. Keys are converted like single values.
fn map<'a>(column: &'a str, array: &'a dyn Array) -> Option<CellReader<'a>> {
    let maps = array.as_map();
    let key = nested(column, maps.keys())?;
    let value = nested(column, maps.values())?;
    let offsets = maps.value_offsets();

    Some(Box::new(move |row: usize| {
        if maps.is_null(row) {
            return Ok(Cell::Null);
        }
        let mut members = Vec::new();
        for index in offsets[row] as usize..offsets[row + 1] as usize {
            let name = key(index)?.name(column)?;
            members.push((name, value(index)?.json(column)?));
        }

        let named = members
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        Ok(Cell::Json(json_object(named)))
    }))
}
