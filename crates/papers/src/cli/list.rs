//! The list of experiments, tables and figures.

use std::io::Write;

use papir_measure::report::{write_columns, write_json};

use crate::depir::sheet::SheetKind;
use crate::{Result, depir, experiments, figures, tables};

/// Kind, name and description of all experiments, tables and figures. A table and a figure may
/// share a name.
fn all_named() -> Result<impl Iterator<Item = [&'static str; 3]>> {
    let experiments = experiments::ALL
        .iter()
        .map(|one| ["benchmark", one.name, one.what]);
    let tables = tables::all()?
        .iter()
        .map(|table| ["table", table.name, table.what]);
    let figures = figures::all()?
        .iter()
        .map(|figure| ["figure", figure.name, figure.what]);
    let quoted = tables::quoted()?
        .iter()
        .map(|table| ["table", table.name, table.what]);
    let sheets = depir::all_sheets().map(|sheet| {
        let kind = match sheet.kind {
            SheetKind::Table => "table",
            SheetKind::Figure => "figure",
        };
        [kind, sheet.name, sheet.what]
    });

    let all = experiments.chain(tables).chain(figures);
    Ok(all.chain(sheets).chain(quoted))
}

pub(super) fn write_list(out: &mut dyn Write, json: bool) -> Result<()> {
    if json {
        let objects: Vec<_> = all_named()?
            .map(|[kind, name, what]| serde_json::json!({ "kind": kind, "name": name, "what": what }))
            .collect();
        return write_json(out, &objects);
    }

    let mut lines = Vec::new();
    for [kind, name, what] in all_named()? {
        let name = match kind {
            // An experiment is the argument itself, without an option.
            "benchmark" => name.to_owned(),
            _ => format!("--{kind} {name}"),
        };
        lines.push(vec![name, what.to_owned()]);
    }
    write_columns(out, &lines)
}
