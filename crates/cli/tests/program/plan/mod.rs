//! `papir plan`, and `papir build --scheme auto`.

mod building;
mod choosing;
mod machines;

use std::fmt::Write;

use papir_core::cost::Operation;
use serde_json::Value;

use crate::support::{Folder, fails_with, succeeds};

/// Rates of a machine with two threads. Reading words takes `select16` seconds per byte, 4-bit ones
/// more, packing takes a tenth of a nanosecond per byte, an external product ten milliseconds in
/// either ring, and everything else almost no time.
fn rates(folder: &Folder, select16: &str) -> String {
    let mut table = String::new();
    let products = [Operation::ExternalProduct, Operation::WideProduct];
    let given = [Operation::Matrix, Operation::Select16, Operation::Select4];
    let given: Vec<Operation> = given.into_iter().chain(products).collect();
    let others = Operation::ALL.into_iter().filter(|op| !given.contains(op));
    for operation in others {
        write!(table, "\"{}\": 1e-12, ", operation.name()).unwrap();
    }
    for operation in products {
        write!(table, "\"{}\": 1e-2, ", operation.name()).unwrap();
    }
    let table =
        format!("{{{table}\"matrix\": 1e-10, \"select16\": {select16}, \"select4\": 1e-8}}");
    let file = format!(
        "{{\"format\": 1, \"backend\": \"any\", \"threads\": 2, \"one\": {table}, \"all\": {table}}}"
    );
    folder.write("rates.json", file)
}

fn planned(arguments: &[&str]) -> Value {
    let folder = Folder::new();
    let rates = rates(&folder, "1e-9");
    let text = succeeds(&[&["plan", "--json", "--rates", &rates], arguments].concat());
    serde_json::from_str(&text).unwrap()
}

fn planned_with_own_rates(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeds(&[&["plan", "--json"], arguments].concat())).unwrap()
}

fn offers(plan: &Value) -> &Vec<Value> {
    plan["offers"].as_array().unwrap()
}

fn of_inspire(plan: &Value) -> impl Iterator<Item = &Value> {
    offers(plan)
        .iter()
        .filter(|offer| offer["scheme"] == "inspire")
}

fn number(value: &Value, field: &str) -> f64 {
    value[field]
        .as_f64()
        .unwrap_or_else(|| panic!("no number {field} in {value}"))
}

const MEBIBYTES_64: [&str; 4] = ["--records", "1048576", "--record-bytes", "64"];

#[test]
fn record_bits_and_keyed_databases_are_planned() {
    let bits = planned(&["--records", "1000000", "--record-bits", "1"]);
    assert!((number(&bits, "record_bits") - 1.0).abs() < 0.1);
    let keyed = planned(&["--records", "1000000", "--record-bytes", "32", "--keyed"]);
    // 102 entries of 40 bytes per bucket.
    assert!((number(&keyed, "record_bits") - 32_640.0).abs() < 0.5);
    assert!(
        (9_805.0..13_000.0).contains(&number(&keyed, "records")),
        "{keyed}"
    );
    // A value of the most bytes and its tag.
    let longest = ["--records", "1000", "--record-bytes", "262144", "--keyed"];
    let longest = planned(&longest);
    assert!((number(&longest, "record_bits") - 8.0 * 262_152.0).abs() < 0.5);

    let folder = Folder::new();
    let rates = rates(&folder, "1e-11");
    let keyed = [
        "plan",
        "--rates",
        &rates,
        "--records",
        "1000000",
        "--record-bytes",
        "32",
        "--keyed",
    ];
    assert!(succeeds(&keyed).contains("1000000 keys: about "));
}

#[test]
fn impossible_plans_are_refused_in_one_line() {
    let refused =
        |arguments: &[&str], parts: &[&str]| fails_with(&[&["plan"], arguments].concat(), parts);
    refused(
        &["--records", "10", "--record-bytes", "266241"],
        &["260 KiB"],
    );
    refused(&["--records", "0", "--record-bytes", "8"], &["empty"]);
    refused(
        &["--records", "2000000000000", "--record-bytes", "8"],
        &["2000000000000", "2^40"],
    );
    refused(
        &["--records", "1099511627776", "--record-bytes", "262144"],
        &["inspire: ", "simple: "],
    );
    refused(
        &["--records", "10", "--record-bytes", "262145", "--keyed"],
        &["262145", "262144"],
    );
    refused(
        &["--records", "0", "--record-bytes", "8", "--keyed"],
        &["empty"],
    );
    refused(
        &[
            "--records",
            "18446744073709551615",
            "--record-bytes",
            "8",
            "--keyed",
        ],
        &["2^40"],
    );
    refused(&["--records", "10"], &["--record-bytes", "--record-bits"]);
    refused(&["--record-bytes", "10"], &["--records"]);
    refused(
        &[
            "--records",
            "10",
            "--record-bytes",
            "1",
            "--record-bits",
            "1",
        ],
        &["--record-bits"],
    );
    refused(
        &["--records", "10", "--record-bytes", "8", "--uplink", "fast"],
        &["fast", "Mbit"],
    );
    refused(
        &["--records", "10", "--record-bytes", "8", "--memory", "16GB"],
        &["16GB", "GiB"],
    );
    refused(
        &["--records", "10", "--record-bytes", "8", "--lookups", "0"],
        &["--lookups"],
    );
    let missing = [
        "--records",
        "10",
        "--record-bytes",
        "8",
        "--rates",
        "nowhere/rates.json",
    ];
    refused(&missing, &["nowhere/rates.json", "--calibrate"]);
}

#[test]
fn changes_are_planned_as_deltas() {
    let changing = [&MEBIBYTES_64[..], &["--changes-per-hour", "100000"]].concat();
    let plan = planned(&changing);
    let changes = &plan["changes"];
    let deltas = changes["deltas"].as_array().unwrap();
    assert_eq!(deltas.last().unwrap()["delta_bytes"], 4 << 20);
    let recommended = &deltas[changes["recommended"].as_u64().unwrap() as usize];
    let every = number(recommended, "changes") * 3600.0 / 1e5;
    assert!(
        (number(recommended, "between_merges_s") - every).abs() < 1e-6,
        "{recommended}"
    );
    assert!(
        (number(recommended, "merging") - number(&changes["base"], "setup_s") / every).abs() < 1e-6
    );
    assert!(planned(&MEBIBYTES_64)["changes"].is_null());
    let folder = Folder::new();
    let rates = rates(&folder, "1e-11");
    let text = succeeds(&[&["plan", "--rates", &rates], &changing[..]].concat());
    for part in [
        "100000 changes per hour, beside ",
        "merge every",
        "Recommended: inspire",
        "on the wire",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // The length of a change is that of a value, not of a bucket.
    let rows: String = (0..40)
        .map(|i| format!("key {i},{}\n", "v".repeat(1000)))
        .collect();
    let source = folder.write("long.csv", format!("k,v\n{rows}"));
    let text = succeeds(&[
        "plan",
        &source,
        "--rates",
        &rates,
        "--json",
        "--changes-per-hour",
        "10",
    ]);
    let plan: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(plan["changes"]["deltas"][0]["changes"], (64 << 10) / 1012);
}
