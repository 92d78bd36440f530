//! Rows of sources and of changes.

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use papir_core::{Error, NoProgress, Run};
use papir_lookup::BucketTarget;
use papir_store::{
    Build, BuildOptions, ChangeColumns, Format, KeyForm, Preparation, Prepare, TextForm,
    read_changes,
};

use crate::{Target, outcome};

/// Reads a source up to the point where a scheme would prepare its records. Returns the outcome.
fn read(options: &BuildOptions) -> String {
    let prepare: &Prepare<'_> = &|content, _, _| {
        Err(Error::out_of_bounds(
            "records",
            content.shape().records(),
            "none",
        ))
    };
    let preparation = Preparation {
        bucket: &|_| Ok(BucketTarget::default()),
        prepare,
    };

    let built = Build::new(options)
        .prepared_by(&preparation)
        .run(&mut Run::new(&mut super::schemes::rng(), &NoProgress));
    outcome(&built)
}

/// Reads rows with columns.
fn rows(extension: &'static str, seeds: Vec<Vec<u8>>) -> Target {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join(format!("fuzzed.{extension}"));
    Target::new(seeds, move |input| {
        let _ = &folder;
        fs::write(&source, input).unwrap();

        let outcomes =
            [(true, &["v"][..]), (false, &["v", "w"]), (true, &[])].map(|(keyed, values)| {
                let mut options = BuildOptions::new(&source, folder.path().join("out.papir"));
                options.key = keyed.then(|| "k".to_owned());
                options.values = values.iter().map(|&name| name.to_owned()).collect();
                read(&options)
            });

        outcomes.concat().replace(&*source.to_string_lossy(), "")
    })
}

/// Lists, pairs, hosts files, and formats that are told from content.
pub(super) fn lines() -> Target {
    let seeds = [
        "# a\n\nb c\r\nd\re",
        "00ff:3\n01aa:12\n:\n",
        "127.0.0.1 a b # c\nfe80::1%lo0 d\n",
        "k\tv\na\t1\n",
    ];
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("fuzzed");
    let target = Target::new(
        seeds.map(|text| text.as_bytes().to_vec()).to_vec(),
        move |input| {
            fs::write(&source, input).unwrap();
            let formats = [
                Some(Format::List),
                Some(Format::Pairs),
                Some(Format::Hosts),
                None,
            ];

            let outcomes = formats.map(|format| {
                let mut options = BuildOptions::new(&source, folder.path().join("out.papir"));
                options.format = format;
                let told = outcome(&options.tell_format());
                told + &read(&options)
            });
            outcomes.concat().replace(&*source.to_string_lossy(), "")
        },
    );
    target.with_words(&[
        "#", ":", "\n", "\r", "\r\n", " ", "::1 ", "0.0.0.0 ", "\u{feff}", "\u{0}", "\t", "\"",
    ])
}

/// CSV.
pub(super) fn csv() -> Target {
    let seeds = [
        "k,v,w\na,1,x\nb,2,y\n",
        "w,k,v\n\"a\"\"b\",\"c\nd\",\n,,\n",
        "k,v,w\r\n\u{e4},1,2\r\n",
    ];
    rows("csv", seeds.map(|text| text.as_bytes().to_vec()).to_vec()).with_words(&[
        "\"", ",", "\n", "\r\n", "k,v,w\n", "\"\"", "\u{feff}", "\u{0}",
    ])
}

/// JSON Lines.
pub(super) fn jsonl() -> Target {
    let seeds = [
        "{\"k\":\"a\",\"v\":1,\"w\":null}\n{\"k\":\"b\",\"v\":\"x\",\"w\":[1]}\n",
        "\n{ \"k\" : {\"x\": 1.50} , \"v\" : \"\\u00e4\\ud83d\\ude00\", \"w\":true }",
    ];
    rows("jsonl", seeds.map(|text| text.as_bytes().to_vec()).to_vec()).with_words(&[
        "\"k\":", "\"v\":", "\"w\":", "\\u", "\\ud800", "\\\"", "[[[[[[[[", "{\"a\":", "1e999",
        "\n", "null",
    ])
}

/// Arrow files, plain and compressed, and an Arrow stream.
pub(super) fn arrow() -> Target {
    let batches = [arrow_batch(["a", "b", "c"]), arrow_batch(["d", "e", "f"])];
    let seeds = vec![
        arrow_file(&batches, None),
        arrow_file(&batches, Some(CompressionType::LZ4_FRAME)),
        arrow_stream(&batches),
    ];

    // Zeros pad messages, and are the length of the last.
    rows("arrow", seeds).with_words(&[
        "ARROW1",
        "ARROW1\u{0}\u{0}",
        "FEA1",
        "\u{0}\u{0}\u{0}\u{0}",
        "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
    ])
}

/// A batch of text, of numbers with a null, and of a dictionary.
fn arrow_batch(keys: [&str; 3]) -> RecordBatch {
    let text: ArrayRef = Arc::new(StringArray::from(keys.to_vec()));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(-3)]));
    let words: DictionaryArray<Int32Type> = ["x", "y", "x"].into_iter().collect();
    let words: ArrayRef = Arc::new(words);
    RecordBatch::try_from_iter([("k", text), ("v", numbers), ("w", words)]).unwrap()
}

/// The bytes of a file of batches of one schema.
fn arrow_file(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap();
    let schema = batches[0].schema();

    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// The bytes of a stream of batches of one schema.
fn arrow_stream(batches: &[RecordBatch]) -> Vec<u8> {
    let schema = batches[0].schema();

    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &schema).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// Rows of changes in both formats.
pub(super) fn changes() -> Target {
    let folder = tempfile::tempdir().unwrap();
    let seeds = [
        "k,v,gone\na,1,\nb,,yes\nc,2,FALSE\n",
        "{\"k\":\"a\",\"v\":1}\n{\"k\":\"b\",\"_delete\":true}\n",
    ];
    Target::new(
        seeds.map(|text| text.as_bytes().to_vec()).to_vec(),
        move |input| {
            let sources = [
                ("csv", Some("gone")),
                ("csv", None),
                ("jsonl", None),
                ("jsonl", Some("gone")),
                ("tsv", Some("gone")),
                ("txt", None),
            ];

            let outcomes = sources.map(|(extension, delete)| {
                let source = folder.path().join(format!("fuzzed.{extension}"));
                fs::write(&source, input).unwrap();

                let columns = ChangeColumns {
                    key: "k".to_owned(),
                    values: vec!["v".to_owned()],
                    delete: delete.map(str::to_owned),
                    text: TextForm::default(),
                    keys: KeyForm::default(),
                    longest_value: 100,
                };
                let changes = read_changes(&source, None, &columns, &NoProgress);

                for change in changes.iter().flatten() {
                    assert!(
                        change.line > 0
                            && change.value.as_ref().is_none_or(|value| value.len() <= 100)
                    );
                }
                outcome(&changes).replace(&*source.to_string_lossy(), "")
            });

            outcomes.concat()
        },
    )
    .with_words(&[
        "\"",
        ",",
        "\n",
        "gone",
        "yes",
        "\"_delete\":",
        "\"k\":",
        "true",
        "null",
        "0",
        "k,v,gone\n",
    ])
}
