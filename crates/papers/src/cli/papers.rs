//! Tables and figures of papers.

use std::io::Write;
use std::path::Path;

use papir_core::Progress;
use papir_measure::report::write_json;

use super::args::PapersArguments;
use crate::depir::sheet::{Sheet, SheetKind};
use crate::experiments::check_correct;
use crate::{Error, Result, depir, figures, tables};

/// Reproduces and prints a table of a paper.
pub(super) fn run_table(
    name: &str,
    args: &PapersArguments,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<()> {
    // Sheets are measured as a whole, and not row by row as the other tables.
    if let Some(sheet) = depir::sheet_by_name(SheetKind::Table, name) {
        return run_sheet(sheet, args, out, progress);
    }
    let quoted = tables::quoted()?;
    if let Some(quoted) = quoted.iter().find(|quoted| quoted.name == name) {
        let report = quoted.report();
        return if args.json {
            write_json(out, &report)
        } else {
            report.write_table(out)
        };
    }

    let Some(table) = tables::by_name(name)? else {
        let quoted = quoted.iter().map(|quoted| quoted.name);
        let all = tables::all()?
            .iter()
            .map(|table| table.name)
            .chain(sheets(SheetKind::Table))
            .chain(quoted);
        return Err(unknown("table", name, all));
    };

    let report = tables::run(table, &mut args.bench(progress)?)?;

    if args.json {
        write_json(out, &report)?
    } else {
        report.write_table(out)?
    }
    check_correct(table.name, report.correct())
}

/// Reproduces a figure of a paper; prints its points, or draws it.
pub(super) fn run_figure(
    name: &str,
    args: &PapersArguments,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<()> {
    if let Some(sheet) = depir::sheet_by_name(SheetKind::Figure, name) {
        return run_sheet(sheet, args, out, progress);
    }

    let Some(figure) = figures::by_name(name)? else {
        let all = figures::all()?
            .iter()
            .map(|figure| figure.name)
            .chain(sheets(SheetKind::Figure));
        return Err(unknown("figure", name, all));
    };

    let report = figures::run(figure, &mut args.bench(progress)?)?;

    if let Some(path) = &args.svg {
        write_svg(path, &figures::plot::draw(&report)?)?;
    }
    match (args.json, &args.svg) {
        (true, _) => write_json(out, &report)?,
        (false, None) => report.write_table(out)?,
        (false, Some(_)) => {}
    }
    check_correct(figure.name, report.correct)
}

/// Names of all sheets of one kind.
fn sheets(kind: SheetKind) -> impl Iterator<Item = &'static str> {
    depir::all_sheets()
        .filter(move |sheet| sheet.kind == kind)
        .map(|sheet| sheet.name)
}

/// Computes and prints a sheet, or draws it.
fn run_sheet(
    sheet: &Sheet,
    args: &PapersArguments,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<()> {
    // Their sets are parameters and no sizes, which the options could not change.
    for (option, given) in [
        ("--size", args.database.size.is_some()),
        ("--memory", args.memory.is_some()),
    ] {
        if given {
            return Err(Error::usage(
                format!("`{}` with {option}", sheet.name),
                "none: it has fixed sets",
            ));
        }
    }

    let sets = [depir::Set::Tiny, depir::Set::Small];
    let report = sheet.make(sets, args.effort.alone(), progress)?;
    if let Some(path) = &args.svg {
        write_svg(path, &depir::draw(&report)?)?;
    }
    match (args.json, &args.svg) {
        (true, _) => write_json(out, &report)?,
        (false, None) => report.write_table(out)?,
        (false, Some(_)) => {}
    }
    check_correct(sheet.name, report.correct)
}

fn unknown(what: &str, name: &str, all: impl Iterator<Item = &'static str>) -> Error {
    Error::usage(
        format!("{what} `{name}`"),
        all.collect::<Vec<_>>().join(" or "),
    )
}

/// Writes a plot to a file.
pub(super) fn write_svg(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| {
        Error::usage(
            format!("{}: {error}", path.display()),
            "a file that can be written",
        )
    })
}
