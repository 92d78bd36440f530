//! Arrow files and streams: types, compression, and errors that name the row.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array,
    DictionaryArray, DurationSecondArray, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int8Array, Int32Array, LargeStringArray, ListArray, MapArray, NullArray, RecordBatch,
    StringArray, StringViewArray, StructArray, Time32SecondArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};

use super::{text, value};
use crate::common::{folder, keyed, refusal, run, source};

/// Writes batches of one schema as a file.
pub(crate) fn write(
    path: &Path,
    batches: &[RecordBatch],
    compression: Option<CompressionType>,
) -> PathBuf {
    let options = IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap();
    let file = File::create(path).unwrap();
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    path.to_owned()
}

/// Writes batches of one schema as a stream.
pub(crate) fn write_stream(path: &Path, batches: &[RecordBatch]) -> PathBuf {
    let file = File::create(path).unwrap();
    let mut writer = StreamWriter::try_new(file, &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    path.to_owned()
}

/// A batch of text columns with these names.
pub(crate) fn texts(columns: &[(&str, Vec<&str>)]) -> RecordBatch {
    let arrays = columns.iter().map(|(name, values)| {
        let array: ArrayRef = Arc::new(StringArray::from(values.clone()));
        (*name, array)
    });
    RecordBatch::try_from_iter(arrays).unwrap()
}

/// A batch of a key `key` and a value `c` in one row.
fn one(array: ArrayRef) -> RecordBatch {
    let key: ArrayRef = Arc::new(StringArray::from(vec!["key"]));
    RecordBatch::try_from_iter([("k", key), ("c", array)]).unwrap()
}

/// A column of one value, and the forms that the value is read in.
struct Case {
    array: ArrayRef,
    /// The form as a single value.
    alone: &'static str,
    /// The form in a JSON object.
    in_object: String,
}

/// A value with the same form in a JSON object.
fn bare(array: impl Array + 'static, form: &'static str) -> Case {
    Case {
        array: Arc::new(array),
        alone: form,
        in_object: form.to_owned(),
    }
}

/// A value that is a string in a JSON object.
fn quoted(array: impl Array + 'static, form: &'static str) -> Case {
    Case {
        in_object: format!("\"{form}\""),
        ..bare(array, form)
    }
}

fn numbers() -> Vec<Case> {
    let decimal = Decimal128Array::from(vec![-5]);
    let decimal = decimal.with_precision_and_scale(9, 2).unwrap();
    let null = Case {
        in_object: "null".to_owned(),
        ..bare(NullArray::new(1), "")
    };
    vec![
        bare(BooleanArray::from(vec![true]), "true"),
        bare(Int8Array::from(vec![-7]), "-7"),
        bare(UInt64Array::from(vec![u64::MAX]), "18446744073709551615"),
        bare(Float32Array::from(vec![0.1]), "0.1"),
        quoted(Float64Array::from(vec![f64::NAN]), "NaN"),
        quoted(decimal, "-0.05"),
        null,
    ]
}

fn bytes() -> Vec<Case> {
    let dictionary: DictionaryArray<Int32Type> = ["word"].into_iter().collect();
    let fixed = FixedSizeBinaryArray::try_from_iter([b"word"].into_iter()).unwrap();
    let long = "longer than twelve bytes";
    vec![
        quoted(LargeStringArray::from(vec!["word"]), "word"),
        quoted(StringViewArray::from(vec![long]), long),
        quoted(BinaryArray::from(vec![&b"word"[..]]), "word"),
        quoted(fixed, "word"),
        quoted(dictionary, "word"),
    ]
}

fn times() -> Vec<Case> {
    let seconds = TimestampSecondArray::from(vec![1_600_000_000]);
    let micros = TimestampMicrosecondArray::from(vec![1_600_000_000_123_456]);
    let zoned = micros.with_timezone("Europe/Vienna");
    let of_day = Time64MicrosecondArray::from(vec![3_661_000_001]);
    vec![
        quoted(Date32Array::from(vec![18_518]), "2020-09-13"),
        quoted(Date64Array::from(vec![-1]), "1969-12-31"),
        quoted(Time32SecondArray::from(vec![3_661]), "01:01:01.000"),
        quoted(of_day, "01:01:01.000001"),
        quoted(seconds, "2020-09-13T12:26:40.000"),
        quoted(zoned, "2020-09-13T12:26:40.123456Z"),
    ]
}

fn nested() -> Vec<Case> {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
    let number: ArrayRef = Arc::new(Int32Array::from(vec![3]));
    let name: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let field = |name: &str, kind: DataType| Arc::new(Field::new(name, kind, false));
    let group = StructArray::from(vec![(field("x", DataType::Int32), number.clone())]);

    let entries = StructArray::from(vec![
        (field("keys", DataType::Utf8), name),
        (field("values", DataType::Int32), number),
    ]);
    let kind = DataType::Struct(entries.fields().clone());
    let offsets = OffsetBuffer::from_lengths([1]);
    let map = MapArray::try_new(field("entries", kind), offsets, entries, None, false);
    vec![
        bare(list, "[1,null]"),
        bare(group, "{\"x\":3}"),
        bare(map.unwrap(), "{\"a\":3}"),
    ]
}

#[test]
fn every_type_has_the_form_of_parquet() {
    let folder = folder();
    let cases = [numbers(), bytes(), times(), nested()];
    for case in cases.into_iter().flatten() {
        let Case {
            array,
            alone,
            in_object,
        } = case;
        let kind = array.data_type().clone();
        let batches = [one(array)];
        let lz4 = Some(CompressionType::LZ4_FRAME);
        for path in [
            write(&folder.path().join("a.arrow"), &batches, None),
            write(&folder.path().join("b.feather"), &batches, lz4),
            write_stream(&folder.path().join("c.arrows"), &batches),
        ] {
            assert_eq!(text(&keyed(&path, "k", &["c"]), "key"), alone, "{kind}");
            let object = format!("{{\"c\":{in_object},\"k\":\"key\"}}");
            assert_eq!(text(&keyed(&path, "k", &["c", "k"]), "key"), object);
        }
    }
}

#[test]
fn uuids_are_text_if_their_column_says_so() {
    let folder = folder();
    let uuid: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
    let array: ArrayRef =
        Arc::new(FixedSizeBinaryArray::try_from_iter([uuid].into_iter()).unwrap());
    let plain = one(array);
    let path = folder.path().join("a.arrow");
    write(&path, std::slice::from_ref(&plain), None);
    assert_eq!(
        value(&keyed(&path, "k", &["c"]), "key"),
        Some(uuid.to_vec())
    );

    let mut fields: Vec<Field> = plain
        .schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    let marked = ("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned());
    fields[1].set_metadata([marked].into());
    let schema = Arc::new(arrow_schema::Schema::new(fields));
    let batch = RecordBatch::try_new(schema, plain.columns().to_vec()).unwrap();
    let path = write(&folder.path().join("b.arrow"), &[batch], None);
    let expected = "00112233-4455-6677-8899-aabbccddeeff";
    assert_eq!(text(&keyed(&path, "k", &["c"]), "key"), expected);
}

#[test]
fn rows_of_all_batches_are_numbered() {
    let folder = folder();
    let first = texts(&[("k", vec!["a", "b"]), ("v", vec!["1", "2"])]);
    let second = texts(&[("k", vec!["c", "a"]), ("v", vec!["3", "4"])]);
    let none = texts(&[("k", vec![]), ("v", vec![])]);
    let batches = [none.clone(), first, none, second];
    let path = write(&folder.path().join("a.arrow"), &batches, None);

    let error = refusal(&keyed(&path, "k", &["v"])).to_string();
    assert!(error.contains("row 4: the key `a`"), "{error}");
    let missing = refusal(&keyed(&path, "k", &["w"])).to_string();
    assert!(missing.contains("no column `w`: expected one of k, v"));

    let unique = write(&folder.path().join("b.arrow"), &batches[..3], None);
    let mut told = keyed(&unique, "k", &["v"]);
    assert_eq!(text(&told, "b"), "2");
    // The content tells the format as well.
    told.source = folder.path().join("data");
    std::fs::rename(&unique, &told.source).unwrap();
    told.tell_format().unwrap();
    assert_eq!(text(&told, "b"), "2");
}

#[test]
fn what_has_no_form_is_refused() {
    let folder = folder();
    let refused = |batch: RecordBatch| {
        let path = write(&folder.path().join("a.arrow"), &[batch], None);
        refusal(&keyed(&path, "k", &["c"])).to_string()
    };

    let duration = refused(one(Arc::new(DurationSecondArray::from(vec![1]))));
    assert!(duration.contains("cannot be converted to bytes"));
    let key: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>]));
    let null = RecordBatch::try_from_iter([("k", key.clone()), ("c", key)]).unwrap();
    assert!(refused(null).contains("row 1: the key is null"));
}

#[test]
fn files_that_are_not_arrow_are_refused() {
    let folder = folder();
    let whole = write(
        &folder.path().join("whole.arrow"),
        &[texts(&[("k", vec!["a"])])],
        None,
    );
    let whole = std::fs::read(whole).unwrap();
    let huge = [[0xff; 4], (1_u32 << 31).to_le_bytes()].concat();
    for (bytes, expected) in [
        (&whole[..whole.len() - 1], "truncated"),
        (&whole[..40], "truncated"),
        (b"FEA1\0\0\0\0", "Feather version 1"),
        (&huge[..], "a message of 2147483648 bytes: expected at most"),
        (b"", "no schema: expected an Arrow file"),
        (b"\x10\0\0\0 16 other bytes.", "does not parse"),
    ] {
        let path = source(folder.path(), "a.arrow", bytes);
        let error = run(&keyed(&path, "k", &[])).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
