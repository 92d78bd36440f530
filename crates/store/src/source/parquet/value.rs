//! Converts Parquet values to cells.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::record::{Field, List, Map, Row};
use parquet::schema::types::Type;

use crate::source::cell::Cell;
use crate::source::json::json_object;
use crate::source::row::Fault;
use crate::source::typed::{self, MICROS, MILLIS, NANOS, TimeScale, date, time};

/// Maximum length of a decimal in bytes: more digits than any engine writes.
const MAX_DECIMAL_BYTES: usize = 64;

/// Returns whether the record reader supports values of a type.
pub(super) fn readable(kind: &Type) -> bool {
    let info = kind.get_basic_info();
    if kind.is_primitive() {
        return info.has_repetition() && readable_leaf(kind);
    }

    // The record reader panics on groups of other shapes.
    let fields = kind.get_fields();
    let shape = match info.converted_type() {
        ConvertedType::LIST => fields.len() == 1 && is_repeated(&fields[0]),
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => {
            fields.len() == 1
                && is_repeated(&fields[0])
                && fields[0].is_group()
                && (1..=2).contains(&fields[0].get_fields().len())
        }
        _ => !fields.is_empty(),
    };
    info.has_repetition() && shape && fields.iter().all(|field| readable(field))
}

fn is_repeated(field: &Type) -> bool {
    let info = field.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}

fn readable_leaf(kind: &Type) -> bool {
    use ConvertedType as C;
    match (
        kind.get_physical_type(),
        kind.get_basic_info().converted_type(),
    ) {
        (
            Physical::INT32
            | Physical::INT64
            | Physical::BYTE_ARRAY
            | Physical::FIXED_LEN_BYTE_ARRAY,
            C::DECIMAL,
        ) => (0..=kind.get_precision()).contains(&kind.get_scale()),
        (
            Physical::INT32,
            C::NONE | C::INT_8 | C::INT_16 | C::INT_32 | C::UINT_8 | C::UINT_16 | C::UINT_32,
        ) => true,
        (Physical::INT32, C::DATE | C::TIME_MILLIS) => true,
        (Physical::INT64, C::NONE | C::INT_64 | C::UINT_64) => true,
        (Physical::INT64, C::TIME_MICROS | C::TIMESTAMP_MILLIS | C::TIMESTAMP_MICROS) => true,
        (Physical::BYTE_ARRAY, C::NONE | C::UTF8 | C::ENUM | C::JSON | C::BSON) => true,
        (Physical::FIXED_LEN_BYTE_ARRAY, C::NONE) => true,
        (Physical::BOOLEAN | Physical::INT96 | Physical::FLOAT | Physical::DOUBLE, _) => true,
        _ => false,
    }
}

/// Converts a value to a cell. `kind` is the type of its column or of the group around it, `column`
/// the column's name.
pub(super) fn cell(field: &Field, kind: &Type, column: &str) -> Result<Cell, Fault> {
    match field {
        Field::Null => Ok(Cell::Null),
        Field::Bool(value) => Ok(plain(value)),
        Field::Byte(value) => Ok(plain(value)),
        Field::Short(value) => Ok(plain(value)),
        Field::Int(value) => Ok(plain(value)),
        Field::Long(value) => long(*value, leaf(kind)),
        Field::UByte(value) => Ok(plain(value)),
        Field::UShort(value) => Ok(plain(value)),
        Field::UInt(value) => Ok(plain(value)),
        Field::ULong(value) => Ok(plain(value)),
        Field::Float16(value) => Ok(Cell::short_float(value.to_f32())),
        Field::Float(value) => Ok(Cell::short_float(*value)),
        Field::Double(value) => Ok(Cell::float(*value)),
        Field::Decimal(value) => decimal(field, value.data().len()),
        Field::Str(value) => Ok(Cell::text(value)),
        Field::Bytes(value) => Ok(bytes(value.data(), leaf(kind))),
        Field::Date(days) => Ok(Cell::text(date(i64::from(*days)))),
        Field::TimeMillis(value) => time(i64::from(*value), MILLIS),
        Field::TimeMicros(value) => time(*value, MICROS),
        Field::TimestampMillis(value) => Ok(timestamp(*value, MILLIS, leaf(kind))),
        Field::TimestampMicros(value) => Ok(timestamp(*value, MICROS, leaf(kind))),
        Field::Group(row) => group(row, kind, column),
        Field::ListInternal(list) => elements(list, kind, column),
        Field::MapInternal(map) => members(map, kind, column),
    }
}

/// A number or a boolean as JSON.
fn plain(value: &impl ToString) -> Cell {
    Cell::Json(value.to_string())
}

/// Descends through groups with a single member, which are the levels of lists and maps.
fn leaf(mut kind: &Type) -> &Type {
    while kind.is_group() && kind.get_fields().len() == 1 {
        kind = &kind.get_fields()[0];
    }
    kind
}

/// Converts a list to an array of its elements.
fn elements(list: &List, kind: &Type, column: &str) -> Result<Cell, Fault> {
    let mut elements = Vec::with_capacity(list.len());
    for element in list.elements() {
        elements.push(cell(element, kind, column)?.json(column)?);
    }
    Ok(Cell::Json(format!("[{}]", elements.join(","))))
}

/// Converts a struct to an object of its members.
fn group(row: &Row, mut kind: &Type, column: &str) -> Result<Cell, Fault> {
    // Skip the levels of a list between its type and that of its elements.
    while kind.is_group() && !names(kind).eq(row.get_column_iter().map(|(name, _)| name.as_str())) {
        match kind.get_fields() {
            [only] => kind = only,
            _ => break,
        }
    }

    let mut members = Vec::new();
    for (i, (name, field)) in row.get_column_iter().enumerate() {
        let value = cell(field, member_type(kind, i), column)?.json(column)?;
        members.push((name.as_str(), value));
    }
    Ok(Cell::Json(json_object(members)))
}

/// The type of member `i` of a group; the type itself if it has none.
fn member_type(kind: &Type, i: usize) -> &Type {
    if !kind.is_group() {
        return kind;
    }
    kind.get_fields().get(i).map_or(kind, AsRef::as_ref)
}

fn names(kind: &Type) -> impl Iterator<Item = &str> {
    kind.get_fields().iter().map(|field| field.name())
}

/// Converts a map to an object. Its keys are converted like single values.
fn members(map: &Map, kind: &Type, column: &str) -> Result<Cell, Fault> {
    // Below the type of the map is the group of its entries.
    let kind = leaf(kind);
    let mut members = Vec::with_capacity(map.entries().len());
    for (key, value) in map.entries() {
        let name = cell(key, member_type(kind, 0), column)?.name(column)?;
        let value = cell(value, member_type(kind, 1), column)?.json(column)?;
        members.push((name, value));
    }

    Ok(Cell::Json(json_object(
        members
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone())),
    )))
}

/// An integer, or a time in nanoseconds.
fn long(value: i64, kind: &Type) -> Result<Cell, Fault> {
    match kind.get_basic_info().logical_type_ref() {
        Some(LogicalType::Timestamp(stamp)) if stamp.unit == TimeUnit::NANOS => {
            Ok(timestamp(value, NANOS, kind))
        }
        Some(LogicalType::Time(of_day)) if of_day.unit == TimeUnit::NANOS => time(value, NANOS),
        _ => Ok(Cell::Json(value.to_string())),
    }
}

/// Converts bytes: unchanged, except that a UUID becomes text.
fn bytes(bytes: &[u8], kind: &Type) -> Cell {
    if kind.get_basic_info().logical_type_ref() != Some(&LogicalType::Uuid) {
        return Cell::Bytes(bytes.to_vec());
    }

    typed::uuid(bytes)
}

/// Converts a decimal to text, with as many decimal places as the column's scale. There is no
/// decimal point for scale 0.
fn decimal(field: &Field, length: usize) -> Result<Cell, Fault> {
    // Before the conversion to digits, whose time grows faster than the length.
    if length > MAX_DECIMAL_BYTES {
        let reason = format!("a decimal of {length} bytes: expected at most {MAX_DECIMAL_BYTES}");
        return Err(Fault::Reason(reason));
    }
    Ok(Cell::text(field.to_string().trim_end_matches('.')))
}

/// A timestamp, which is in UTC unless the type says that it is local.
fn timestamp(value: i64, unit: TimeScale, kind: &Type) -> Cell {
    let is_local = matches!(
        kind.get_basic_info().logical_type_ref(),
        Some(LogicalType::Timestamp(stamp)) if !stamp.is_adjusted_to_u_t_c
    );
    typed::timestamp(value, unit, !is_local)
}
