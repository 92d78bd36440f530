//! Parquet: types, nesting, compression, and errors that name the row.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{text, value};
use crate::common::{by_index, folder, keyed, options, refusal, run};

/// A column's values with their definition and repetition levels.
pub(crate) struct Column<T: DataType>(
    pub(crate) Vec<T::T>,
    pub(crate) Vec<i16>,
    pub(crate) Vec<i16>,
);

pub(crate) trait Written {
    fn write(&self, group: &mut SerializedRowGroupWriter<'_, File>);
}

impl<T: DataType> Written for Column<T> {
    fn write(&self, group: &mut SerializedRowGroupWriter<'_, File>) {
        let mut column = group.next_column().unwrap().unwrap();
        let levels = |levels: &Vec<i16>| (!levels.is_empty()).then(|| levels.clone());
        let defined = levels(&self.1);
        let repeated = levels(&self.2);
        column
            .typed::<T>()
            .write_batch(&self.0, defined.as_deref(), repeated.as_deref())
            .unwrap();
        column.close().unwrap();
    }
}

pub(crate) fn required<T: DataType + 'static>(
    values: impl IntoIterator<Item = T::T>,
) -> Box<dyn Written> {
    Box::new(Column::<T>(values.into_iter().collect(), vec![], vec![]))
}

fn bytes(bytes: &[u8]) -> ByteArray {
    ByteArray::from(bytes.to_vec())
}

fn fixed(bytes: &[u8]) -> FixedLenByteArray {
    ByteArray::from(bytes.to_vec()).into()
}

/// Writes row groups of columns.
pub(crate) fn write(
    path: &Path,
    schema: &str,
    groups: &[Vec<Box<dyn Written>>],
    compression: Compression,
) -> PathBuf {
    let schema = parse_message_type(&format!("message rows {{ {schema} }}")).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let file = File::create(path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    for columns in groups {
        let mut group = writer.next_row_group().unwrap();
        columns.iter().for_each(|column| column.write(&mut group));
        group.close().unwrap();
    }
    writer.close().unwrap();
    path.to_owned()
}

/// A column of one value and the forms that the value is read in.
struct Case {
    /// The column's definition, without repetition.
    definition: &'static str,
    column: Box<dyn Written>,
    /// The form as a key or as a single value.
    alone: &'static str,
    /// The form in a JSON object.
    in_object: String,
}

/// A value with the same form in a JSON object.
fn bare<T: DataType + 'static>(definition: &'static str, value: T::T, form: &'static str) -> Case {
    Case {
        definition,
        column: required::<T>([value]),
        alone: form,
        in_object: form.to_owned(),
    }
}

/// A value that is a string in a JSON object.
fn quoted<T: DataType + 'static>(
    definition: &'static str,
    value: T::T,
    form: &'static str,
) -> Case {
    Case {
        in_object: format!("\"{form}\""),
        ..bare::<T>(definition, value, form)
    }
}

fn numbers() -> Vec<Case> {
    vec![
        bare::<BoolType>("boolean c", true, "true"),
        bare::<Int32Type>("int32 c", -7, "-7"),
        bare::<Int32Type>("int32 c (INTEGER(8,true))", -5, "-5"),
        bare::<Int32Type>("int32 c (INTEGER(16,false))", 65_535, "65535"),
        bare::<Int32Type>("int32 c (INTEGER(32,false))", -1, "4294967295"),
        bare::<Int64Type>("int64 c", 9_007_199_254_740_993, "9007199254740993"),
        bare::<Int64Type>("int64 c (INTEGER(64,false))", -1, "18446744073709551615"),
        bare::<FloatType>("float c", 0.1, "0.1"),
        bare::<DoubleType>("double c", -2.5, "-2.5"),
        quoted::<DoubleType>("double c", f64::NEG_INFINITY, "-Infinity"),
        quoted::<DoubleType>("double c", f64::NAN, "NaN"),
        bare::<FixedLenByteArrayType>(
            "fixed_len_byte_array(2) c (FLOAT16)",
            fixed(&[0, 0x3e]),
            "1.5",
        ),
    ]
}

fn decimals() -> Vec<Case> {
    let two_bytes = "fixed_len_byte_array(2) c (DECIMAL(4,1))";
    vec![
        quoted::<Int32Type>("int32 c (DECIMAL(9,2))", -5, "-0.05"),
        quoted::<Int64Type>("int64 c (DECIMAL(18,0))", 120, "120"),
        quoted::<ByteArrayType>("binary c (DECIMAL(30,3))", bytes(&[1, 0]), "0.256"),
        quoted::<FixedLenByteArrayType>(two_bytes, fixed(&[0xff, 0x9c]), "-10.0"),
    ]
}

fn texts() -> Vec<Case> {
    let uuid: Vec<u8> = (0..16).map(|i| i * 17).collect();
    vec![
        Case {
            in_object: "\"é\\\"\"".to_owned(),
            ..bare::<ByteArrayType>("binary c (STRING)", bytes("é\"".as_bytes()), "é\"")
        },
        quoted::<ByteArrayType>("binary c (ENUM)", bytes(b"RED"), "RED"),
        quoted::<ByteArrayType>("binary c (JSON)", bytes(b"{}"), "{}"),
        quoted::<ByteArrayType>("binary c", bytes(b"own"), "own"),
        quoted::<FixedLenByteArrayType>("fixed_len_byte_array(3) c", fixed(b"abc"), "abc"),
        quoted::<FixedLenByteArrayType>(
            "fixed_len_byte_array(16) c (UUID)",
            fixed(&uuid),
            "00112233-4455-6677-8899-aabbccddeeff",
        ),
    ]
}

fn dates_and_times() -> Vec<Case> {
    vec![
        quoted::<Int32Type>("int32 c (DATE)", 19_783, "2024-03-01"),
        quoted::<Int32Type>("int32 c (DATE)", -719_529, "-0001-12-31"),
        quoted::<Int32Type>("int32 c (DATE)", 2_932_897, "+10000-01-01"),
        quoted::<Int32Type>("int32 c (TIME(MILLIS,true))", 45_045_123, "12:30:45.123"),
        quoted::<Int64Type>(
            "int64 c (TIME(MICROS,true))",
            45_045_000_009,
            "12:30:45.000009",
        ),
        quoted::<Int64Type>(
            "int64 c (TIME(NANOS,false))",
            86_399_999_999_999,
            "23:59:59.999999999",
        ),
    ]
}

fn timestamps() -> Vec<Case> {
    let stamp = 1_709_296_245_123i64;
    // Nanoseconds of the day, low word first, then the Julian day of 2024-03-01.
    let julian = Int96::from(vec![1_000_000, 0, 2_440_588 + 19_783]);
    vec![
        quoted::<Int64Type>(
            "int64 c (TIMESTAMP(MILLIS,true))",
            stamp,
            "2024-03-01T12:30:45.123Z",
        ),
        quoted::<Int64Type>(
            "int64 c (TIMESTAMP(MICROS,false))",
            -1,
            "1969-12-31T23:59:59.999999",
        ),
        quoted::<Int64Type>(
            "int64 c (TIMESTAMP(NANOS,true))",
            stamp * 1_000_000 + 7,
            "2024-03-01T12:30:45.123000007Z",
        ),
        quoted::<Int96Type>("int96 c", julian, "2024-03-01T00:00:00.001Z"),
    ]
}

#[test]
fn every_type_has_its_form() {
    let folder = folder();
    let cases = [
        numbers(),
        decimals(),
        texts(),
        dates_and_times(),
        timestamps(),
    ];
    for Case {
        definition,
        column,
        alone,
        in_object,
    } in cases.into_iter().flatten()
    {
        let schema = format!("required {definition}; required int32 k;");
        let columns = vec![column, required::<Int32Type>([1])];
        let path = write(
            &folder.path().join("a.parquet"),
            &schema,
            &[columns],
            Compression::SNAPPY,
        );
        assert_eq!(text(&keyed(&path, "k", &["c"]), "1"), alone, "{definition}");
        let object = format!("{{\"k\":1,\"c\":{in_object}}}");
        assert_eq!(
            text(&keyed(&path, "k", &["k", "c"]), "1"),
            object,
            "{definition}"
        );
        assert_eq!(text(&keyed(&path, "c", &["k"]), alone), "1", "{definition}");
    }
}

#[test]
fn nested_values_are_json() {
    let folder = folder();
    let schema = "required int32 k;
        optional group l (LIST) { repeated group list { optional int32 element (DATE); } }
        optional group m (MAP) { repeated group key_value {
            required binary key (STRING); optional int64 value (TIMESTAMP(NANOS,false)); } }
        required group s { required int32 x; optional binary y (STRING); }
        repeated int32 r;
        optional group p (LIST) { repeated group list { required group element {
            required int32 a; required int64 b (TIMESTAMP(MILLIS,false)); } } }";
    // Two rows: one with every value present, one with as few as possible.
    let columns: Vec<Box<dyn Written>> = vec![
        required::<Int32Type>([1, 2]),
        Box::new(Column::<Int32Type>(vec![0], vec![3, 2, 0], vec![0, 1, 0])),
        Box::new(Column::<ByteArrayType>(
            vec![bytes(b"a\""), bytes(b"b")],
            vec![2, 2, 1],
            vec![0, 1, 0],
        )),
        Box::new(Column::<Int64Type>(vec![1], vec![3, 2, 1], vec![0, 1, 0])),
        required::<Int32Type>([7, 8]),
        Box::new(Column::<ByteArrayType>(
            vec![bytes(b"y")],
            vec![1, 0],
            vec![],
        )),
        Box::new(Column::<Int32Type>(
            vec![4, 5],
            vec![1, 1, 0],
            vec![0, 1, 0],
        )),
        Box::new(Column::<Int32Type>(vec![6], vec![2, 0], vec![0, 0])),
        Box::new(Column::<Int64Type>(vec![0], vec![2, 0], vec![0, 0])),
    ];
    let path = write(
        &folder.path().join("a.parquet"),
        schema,
        &[columns],
        Compression::UNCOMPRESSED,
    );
    let all = keyed(&path, "k", &["l", "m", "s", "r", "p"]);
    let expected = concat!(
        r#"{"l":["1970-01-01",null],"m":{"a\"":"1970-01-01T00:00:00.000000001","b":null},"#,
        r#""s":{"x":7,"y":"y"},"r":[4,5],"p":[{"a":6,"b":"1970-01-01T00:00:00.000"}]}"#
    );
    assert_eq!(text(&all, "1"), expected);
    assert_eq!(
        text(&all, "2"),
        r#"{"l":null,"m":{},"s":{"x":8,"y":null},"r":[],"p":null}"#
    );
    assert_eq!(
        text(&keyed(&path, "k", &["l"]), "1"),
        r#"["1970-01-01",null]"#
    );
    assert_eq!(value(&keyed(&path, "k", &["l"]), "2"), Some(vec![]));
}

const PAIRS: &str = "required int32 n; optional binary k (STRING); required binary v;";

/// Rows of an optional key and a value, numbered.
fn pairs(rows: &[(Option<&str>, &[u8])]) -> Vec<Box<dyn Written>> {
    let keys = rows
        .iter()
        .filter_map(|(key, _)| key.map(|key| bytes(key.as_bytes())))
        .collect();
    let defined = rows
        .iter()
        .map(|(key, _)| i16::from(key.is_some()))
        .collect();
    vec![
        required::<Int32Type>(0..rows.len() as i32),
        Box::new(Column::<ByteArrayType>(keys, defined, vec![])),
        required::<ByteArrayType>(rows.iter().map(|(_, value)| bytes(value))),
    ]
}

#[test]
fn row_groups_follow_each_other_under_every_compression() {
    let folder = folder();
    let groups = [
        pairs(&[(Some("a"), b"1"), (Some("b"), b"\xff")]),
        pairs(&[(Some("c"), b"3")]),
    ];
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
    ];
    for compression in compressions {
        let path = write(
            &folder.path().join("a.parquet"),
            PAIRS,
            &groups,
            compression,
        );
        let options = keyed(&path, "k", &["v"]);
        assert_eq!(value(&options, "b"), Some(vec![0xff]), "{compression:?}");
        assert_eq!(value(&options, "c"), Some(b"3".to_vec()), "{compression:?}");
        let report = run(&options).unwrap();
        let source = report.metadata.source;
        assert_eq!(
            (source.format.as_str(), source.entries, source.skipped),
            ("parquet", 3, 0)
        );
        assert_eq!(source.bytes, std::fs::metadata(&path).unwrap().len());
    }
}

#[test]
fn rows_without_keys_keep_their_order() {
    let folder = folder();
    let groups = [pairs(&[(None, b"one")]), pairs(&[(None, b"three")])];
    let path = write(
        &folder.path().join("a.parquet"),
        PAIRS,
        &groups,
        Compression::SNAPPY,
    );
    let mut options = options(&path);
    options.values = vec!["v".to_owned()];
    run(&options).unwrap();
    let snapshot = papir_store::Snapshot::open(&options.out).unwrap();
    assert_eq!(
        (by_index(&snapshot, 0), by_index(&snapshot, 1)),
        (b"one\0\0".to_vec(), b"three".to_vec())
    );
}

#[test]
fn errors_name_file_and_row() {
    let folder = folder();
    let refused = |rows: &[(Option<&str>, &[u8])], values: &[&str]| {
        let path = write(
            &folder.path().join("a.parquet"),
            PAIRS,
            &[pairs(rows)],
            Compression::SNAPPY,
        );
        refusal(&keyed(&path, "k", values)).to_string()
    };
    let long = vec![0; 262_145];
    for (error, expected) in [
        (
            refused(&[(Some("a"), b""), (None, b"")], &["v"]),
            "a.parquet, row 2: the key is null: expected a value",
        ),
        (
            refused(&[(Some("a"), b"\xff")], &["v", "n"]),
            "a.parquet, row 1: column `v` is not UTF-8",
        ),
        (
            refused(&[(Some("a"), &long)], &["v"]),
            "a.parquet, row 1: the value has 262145 bytes: expected at most",
        ),
        (
            refused(
                &[(Some("a"), b""), (Some("b"), b""), (Some("a"), b"")],
                &["v"],
            ),
            "a.parquet, row 3: the key `a` was already in row 1: expected each key once",
        ),
        (
            refused(&[(Some("a"), b"")], &["w"]),
            "a.parquet: no column `w`: expected one of n, k, v",
        ),
        (refused(&[], &["v"]), "a.parquet: the database is empty"),
    ] {
        assert!(error.contains(expected), "{error}");
    }
    let interval = [vec![required::<FixedLenByteArrayType>([fixed(&[0; 12])])]];
    let schema = "required fixed_len_byte_array(12) k (INTERVAL);";
    let path = write(
        &folder.path().join("b.parquet"),
        schema,
        &interval,
        Compression::SNAPPY,
    );
    let error = refusal(&keyed(&path, "k", &[])).to_string();
    assert!(
        error.contains("b.parquet: column `k` has a type that cannot be converted to bytes"),
        "{error}"
    );
}

#[test]
fn bad_rows_are_skipped_up_to_a_limit() {
    let folder = folder();
    let long = vec![0; 262_145];
    let rows = [
        (Some("a"), &b"1"[..]),
        (None, b"2"),
        (Some("b"), &long),
        (Some("c"), b"3"),
    ];
    let path = write(
        &folder.path().join("a.parquet"),
        PAIRS,
        &[pairs(&rows)],
        Compression::SNAPPY,
    );
    let mut options = keyed(&path, "k", &["v"]);
    options.skip_bad = 2;
    assert_eq!(
        (text(&options, "a"), text(&options, "c")),
        ("1".to_owned(), "3".to_owned())
    );
    let places: Vec<_> = run(&options)
        .unwrap()
        .skipped
        .into_iter()
        .map(|row| row.place)
        .collect();
    assert_eq!(places, ["row 2", "row 3"]);
    std::fs::remove_file(&options.out).unwrap();
    options.skip_bad = 1;
    let error = refusal(&options).to_string();
    assert!(
        error.contains("a.parquet, row 3: ") && error.contains("(beyond the 1 "),
        "{error}"
    );
}

#[test]
fn files_other_than_parquet_are_refused() {
    let folder = folder();
    for bytes in [
        &b""[..],
        b"PAR1",
        b"PAR1PAR1",
        b"word,meaning\na,1\n",
        &[0xff; 4000],
    ] {
        let path = crate::common::source(folder.path(), "a.parquet", bytes);
        let error = refusal(&keyed(&path, "k", &[]));
        assert_eq!(error.code(), "unreadable");
        assert!(
            error.to_string().contains("a.parquet: ")
                && error.to_string().ends_with("expected a Parquet file")
        );
    }
    assert_eq!(
        refusal(&keyed(&folder.path().join("none.parquet"), "k", &[])).code(),
        "io"
    );
}
