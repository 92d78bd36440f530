//! The same table from every format is the same database.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::common::{folder, keyed, options, run, sections, source};
use papir_store::{BuildOptions, Cell, Format, Given, GivenRows, Result};

/// Names and their addresses, in the order in which a folder has them.
const ROWS: [[&str; 2]; 4] = [
    ["ads.example", "0.0.0.0"],
    ["localhost", "::1"],
    ["router.local", "192.168.1.1"],
    ["tracker.example", "0.0.0.0"],
];

/// A line for each row, with this text before, between and after its name and address.
fn lines(before: &str, between: &str, after: &str) -> String {
    let line = |[name, address]: [&str; 2]| format!("{before}{name}{between}{address}{after}\n");
    ROWS.map(line).concat()
}

/// Writes a source with names as keys and addresses as values.
fn columns(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> BuildOptions {
    keyed(&source(folder, name, bytes), "name", &["address"])
}

/// Writes a source of a format with keys of its own.
fn of_format(folder: &Path, name: &str, format: Format, text: &str) -> BuildOptions {
    let mut options = options(&source(folder, name, text));
    options.format = Some(format);
    options
}

/// Writes a folder with a file for each row.
fn files(folder: &Path) -> PathBuf {
    let pages = folder.join("files");
    std::fs::create_dir(&pages).unwrap();
    for [name, address] in ROWS {
        source(&pages, name, address);
    }
    pages
}

/// The rows, as a table of a program.
struct Table;

impl GivenRows for Table {
    fn columns(&self) -> Vec<String> {
        vec!["name".to_owned(), "address".to_owned()]
    }

    fn each(&self, wanted: &[&str], on_row: &mut dyn FnMut(Vec<Cell>) -> Result<()>) -> Result<()> {
        assert_eq!(wanted, ["name", "address"]);
        for row in ROWS {
            on_row(row.map(Cell::text).to_vec())?;
        }
        Ok(())
    }
}

/// Builds of the rows from text of all formats, a folder and a program.
fn builds(folder: &Path) -> Vec<BuildOptions> {
    let rows = format!("name,address\n{}", lines("", ",", ""));
    let packed = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };

    let mut numbered = keyed(
        &source(folder, "numbered.csv", lines("x;", ";", ";y")),
        "2",
        &["3"],
    );
    numbered.text.delimiter = Some(b';');
    numbered.text.no_header = true;

    let hosts = ROWS.map(|[name, address]| format!("{address}\t{name} # {name}\r\n"));
    let objects = lines("{\"name\":\"", "\",\"address\":\"", "\"}");
    let mut spaced = of_format(folder, "c", Format::Pairs, &lines("", " => ", ""));
    spaced.text.separator = Some(b" => ".to_vec());

    let mut given = options(&folder.join("given"));
    given.given = Some(Given::new(Table));
    given.key = Some("name".to_owned());
    given.values = vec!["address".to_owned()];

    let parts = ROWS.map(|[name, address]| {
        let rows = format!("address,name\n{address},{name}\n");
        source(folder, &format!("{name}.csv"), rows)
    });
    let mut several = keyed(&parts[0], "name", &["address"]);
    several.more = parts[1..].to_vec();

    vec![
        several,
        columns(folder, "rows.csv", &rows),
        columns(folder, "packed.csv.gz", packed(&rows)),
        columns(folder, "packed.tsv.gz", packed(&rows.replace(',', "\t"))),
        columns(folder, "packed.jsonl.gz", packed(&objects)),
        columns(folder, "tabs.tsv", rows.replace(',', "\t")),
        columns(folder, "objects.jsonl", objects),
        of_format(folder, "a", Format::Pairs, &lines("", ":", "")),
        of_format(folder, "b", Format::Hosts, &hosts.concat()),
        spaced,
        numbered,
        options(&files(folder)),
        given,
    ]
}

/// A build of the rows from Parquet.
#[cfg(feature = "parquet")]
fn parquet(folder: &Path) -> BuildOptions {
    use crate::tables::parquet_file::{required, write};
    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType};

    let column = |index: usize| {
        required::<ByteArrayType>(ROWS.map(|row| ByteArray::from(row[index].as_bytes().to_vec())))
    };
    let path = folder.join("groups.parquet");
    let schema = "required binary name (UTF8); required binary address (UTF8);";
    write(
        &path,
        schema,
        &[vec![column(0), column(1)]],
        Compression::UNCOMPRESSED,
    );
    keyed(&path, "name", &["address"])
}

/// Builds of the rows from Arrow: a file of two batches, a compressed one, and a stream.
#[cfg(feature = "parquet")]
fn arrow(folder: &Path) -> Vec<BuildOptions> {
    use crate::tables::arrow_file::{texts, write, write_stream};
    use arrow_ipc::CompressionType;

    let batches = [&ROWS[..1], &ROWS[1..]].map(|rows| {
        let column = |index: usize| rows.iter().map(|row| row[index]).collect();
        texts(&[("address", column(1)), ("name", column(0))])
    });
    let path = |name: &str| folder.join(name);
    let lz4 = Some(CompressionType::LZ4_FRAME);
    let files = [
        write(&path("batches.arrow"), &batches, None),
        write(&path("lz4.feather"), &batches, lz4),
        write_stream(&path("flow.arrows"), &batches),
    ];
    files
        .map(|file| keyed(&file, "name", &["address"]))
        .to_vec()
}

/// A build of the rows from SQLite.
#[cfg(feature = "sqlite")]
fn sqlite(folder: &Path) -> BuildOptions {
    let rows = ROWS.map(|[name, address]| format!("('{name}', '{address}')"));
    let statements = format!(
        "CREATE TABLE rows (name, address); INSERT INTO rows VALUES {};",
        rows.join(", ")
    );
    let path = crate::tables::sqlite::write(folder, "table.sqlite", &statements);
    keyed(&path, "name", &["address"])
}

/// Builds of the rows from CSV, TSV and pairs in two frames of zstd each.
#[cfg(feature = "zstd")]
fn zstd(folder: &Path) -> Vec<BuildOptions> {
    let rows = format!("name,address\n{}", lines("", ",", ""));
    let framed = |text: &str| {
        let (begin, end) = text.split_at(20);
        [begin, end].map(crate::common::zstd_frame).concat()
    };

    let mut pairs = options(&source(folder, "p", framed(&lines("", ":", ""))));
    pairs.format = Some(Format::Pairs);
    vec![
        columns(folder, "frames.csv.zst", framed(&rows)),
        columns(folder, "frames.tsv.zst", framed(&rows.replace(',', "\t"))),
        pairs,
    ]
}

#[test]
fn every_format_gives_the_same_bytes() {
    let folder = folder();
    let builds = builds(folder.path());
    #[cfg(feature = "parquet")]
    let builds = [builds, vec![parquet(folder.path())], arrow(folder.path())].concat();
    #[cfg(feature = "sqlite")]
    let builds = [builds, vec![sqlite(folder.path())]].concat();
    #[cfg(feature = "zstd")]
    let builds = [builds, zstd(folder.path())].concat();

    let mut expected = None;
    for options in builds {
        run(&options).unwrap();
        let found = sections(&options.out);
        let expected = expected.get_or_insert_with(|| found.clone());
        assert!(found == *expected, "{}", options.source.display());
    }
}

#[test]
fn a_list_gives_the_bytes_of_a_set() {
    let folder = folder();
    let keys = ROWS.map(|[name, _]| name).join("\n");
    let set = keyed(
        &source(folder.path(), "set.csv", format!("name\n{keys}")),
        "name",
        &[],
    );
    let list = options(&source(
        folder.path(),
        "list.txt",
        format!("# names\n\n {keys}\r\n"),
    ));

    run(&set).unwrap();
    run(&list).unwrap();
    assert!(sections(&set.out) == sections(&list.out));
}
