//! List of named benchmarks.

use std::io::Write;

use crate::Result;
use crate::definitions::{self, Definition};
use crate::report::{write_columns, write_json};

pub(super) fn write_list(out: &mut dyn Write, json: bool) -> Result<()> {
    if json {
        let objects: Vec<serde_json::Value> = definitions::ALL.iter().map(object).collect();
        return write_json(out, &objects);
    }

    let lines: Vec<Vec<String>> = definitions::ALL
        .iter()
        .map(|one| vec![one.name.to_owned(), one.what.to_owned()])
        .collect();
    write_columns(out, &lines)
}

/// Returns the kind, name and description of a benchmark as JSON.
fn object(one: &Definition) -> serde_json::Value {
    serde_json::json!({ "kind": "benchmark", "name": one.name, "what": one.what })
}
