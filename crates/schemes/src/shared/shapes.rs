//! Encoding and checks of a database's shape.

use papir_core::codec::{Reader, Writer};
use papir_core::{Error, Records, Result, Shape};

/// Bytes of an encoded shape.
pub const SHAPE_BYTES: usize = 16;

/// Appends a shape: records and bits of a record, 64 bits each.
pub fn write_shape(writer: &mut Writer, shape: Shape) {
    writer.u64(shape.records()).u64(shape.record_bits());
}

/// Reads what [`write_shape`] wrote.
///
/// # Errors
/// [`Error::Length`], or as [`Shape::new`].
pub fn read_shape(reader: &mut Reader<'_>) -> Result<Shape> {
    Shape::new(reader.u64()?, reader.u64()?)
}

/// Checks that a source of records has the shape of the parameters.
///
/// # Errors
/// [`Error::Parameters`].
pub fn check_source(scheme: &'static str, shape: Shape, records: &dyn Records) -> Result<()> {
    let found = records.shape();
    if found == shape {
        return Ok(());
    }
    let words = |s: Shape| format!("{} records of {} bits", s.records(), s.record_bits());
    let reason = format!("chosen for {}, the source has {}", words(shape), words(found));
    Err(Error::Parameters { scheme, reason })
}
