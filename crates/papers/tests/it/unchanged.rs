//! Tables show the figures of the data files, and papir's beside them.

use papir_core::NoProgress;
use papir_core::cost::Rates;
use papir_measure::effort::Effort;
use papir_papers::printed::{self, PaperColumn, PaperRow, PaperTable, PrintedCell, Role};
use papir_papers::tables::{self, Bench, TableReport, TableRow};
use papir_plan::rates_file::LoadedRates;

/// The table, with all of papir's figures predicted.
fn predicted(name: &str) -> TableReport {
    let rates = LoadedRates {
        rates: Rates::BUILT_IN,
        origin: "of a test",
        description: "of a test".to_owned(),
        device: None,
    };
    let mut bench = Bench::new(0, Effort::alone(1, 1), rates, &NoProgress);
    tables::run(tables::by_name(name).unwrap().unwrap(), &mut bench).unwrap()
}

/// A number with at most two decimals, as in a table.
fn decimal(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The text of a cell in a table: in its column's unit, or in KB of 1024 bytes or ms.
fn shown(cell: &PrintedCell) -> String {
    let text = match cell {
        PrintedCell::Number(number) => return number.to_string(),
        PrintedCell::Text(text) => text.trim_start_matches("> "),
    };
    let Some((number, unit)) = text.split_once(' ') else {
        return text.to_owned();
    };

    let factor = match unit {
        "KB" | "ms" => 1.0,
        "MB" => 1024.0,
        "s" => 1000.0,
        other => panic!("{other} in {text}"),
    };
    decimal(factor * number.parse::<f64>().unwrap())
}

/// The cell that a table shows for a column: the correction of a misprint, or the figure itself.
fn cell<'a>(table: &PaperTable, row: &'a PaperRow, column: &PaperColumn) -> &'a PrintedCell {
    let mut names = table.columns.iter().map(|one| &one.column);
    let index = names.position(|name| *name == column.column).unwrap();
    row.corrected
        .get(&column.column)
        .unwrap_or(&row.cells[index])
}

/// The text of the column that starts where the title stands.
fn below<'a>(header: &str, title: &str, line: &'a str) -> &'a str {
    let place = header.find(title).unwrap();
    // Configurations have letters of several bytes, and columns are aligned by characters.
    let start = line.char_indices().nth(place).unwrap().0;
    line[start..].split("  ").next().unwrap().trim()
}

/// The rows of the file, each as often as the table shows it.
fn rows_of(table: &PaperTable) -> Vec<&PaperRow> {
    let mut rows = Vec::new();
    for row in table.databases.iter().flat_map(|database| &database.rows) {
        rows.push(row);
        rows.extend(row.also.as_ref().map(|_| row));
    }
    rows
}

/// A table prints the cells of its file, and has them in its JSON.
fn check(table: &PaperTable, name: &str) -> usize {
    let report = predicted(name);
    let mut out = Vec::new();
    report.write_table(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let (header, lines) = text.split_once('\n').unwrap();

    let rows = rows_of(table);
    assert_eq!(rows.len(), report.rows.len(), "{name}");
    let mut checked = 0;
    for ((row, shown_row), line) in rows.into_iter().zip(&report.rows).zip(lines.lines()) {
        let mut parts = shown_row.paper_stages.0.iter();
        for column in &table.columns {
            let expected = shown(cell(table, row, column));
            let message = |place: usize| shown_row.paper_kb.unwrap()[place].to_string();
            let found = match column.role {
                Some(Role::Offline) => below(header, "offline s, paper", line).to_owned(),
                Some(Role::State) => below(header, "state KiB, paper", line).to_owned(),
                Some(Role::Total) => below(header, "total KiB, paper", line).to_owned(),
                Some(Role::Server) => below(header, "server ms, paper", line).to_owned(),
                Some(Role::Keys) => message(0),
                Some(Role::Query) => message(1),
                Some(Role::Download) => message(2),
                None => parts.next().unwrap().1.to_string(),
            };

            let place = format!("{name}, {}, {}: {line}", row.name(), column.column);
            assert_eq!(found, expected, "{place}");
            checked += 1;
        }
    }
    checked
}

#[test]
fn tables_show_the_cells_of_the_files() {
    let mut checked = 0;
    for table in printed::papers()
        .unwrap()
        .iter()
        .flat_map(|one| &one.tables)
    {
        // Tables without databases are quoted whole, combined, or parts of an experiment.
        if let Some(listed) = table
            .listed
            .as_ref()
            .filter(|_| !table.databases.is_empty())
        {
            checked += check(table, &listed.name);
        }
    }
    assert!(checked > 1500, "{checked} cells");
}

/// The cell of a row of Pirouette's tables, in the unit of its column.
fn pirouette(table: &str, row: &str, at: Option<&str>, column: &str) -> PrintedCell {
    let table = printed::table("Pirouette", table).unwrap();
    let mut rows = table.rows.iter();
    let row = rows.find(|one| one.row == row && one.at.as_deref() == at);
    let mut columns = table.columns.iter();
    let column = columns.find(|one| one.column == column).unwrap();
    cell(table, row.unwrap(), column).clone()
}

/// The number of a cell, multiplied by the factor if the cell has the unit of its column.
fn number(cell: &PrintedCell, factor: f64) -> f64 {
    match cell {
        PrintedCell::Number(number) => factor * number,
        // Queries of Respire alone, in KB.
        PrintedCell::Text(text) => text.trim_end_matches(" KB").parse().unwrap(),
    }
}

#[test]
fn pirouettes_tables_are_combined_unchanged() {
    let rows = [
        ("Table 5", "Respire"),
        ("Table 5", "T-Respire"),
        ("Table 5", "T-Respire (par.)"),
        ("Table 6", "Pirouette"),
        ("Table 6", "Pirouette (par. Phase 0)"),
        ("Table 6", "Pirouette (Full par.)"),
    ];

    let report = predicted("pirouette-5");
    assert_eq!(report.rows.len(), 3 * rows.len());
    for (found, (table, row)) in report.rows.iter().zip(rows.iter().cycle()) {
        let at = Some(found.database);
        let seconds = number(&pirouette(table, row, at, "Computation"), 1.0);
        assert_eq!(decimal(found.paper_server_ms), decimal(1e3 * seconds));

        let [_, query, response] = found.paper_kb.unwrap();
        let printed = number(&pirouette(table, row, at, "Query Size"), 1.0 / 1024.0);
        assert_eq!(decimal(1024.0 * query), decimal(1024.0 * printed));
        let printed = number(&pirouette(table, row, at, "Response Size"), 1.0);
        assert_eq!(decimal(response), decimal(printed));
    }

    let report = predicted("pirouette-8");
    for pair in report.rows.chunks(2) {
        for (found, column) in pair.iter().zip(["Time", "Time (par.)"]) {
            let seconds = number(&pirouette("Table 8", found.database, None, column), 1.0);
            assert_eq!(decimal(found.paper_server_ms), decimal(1e3 * seconds));
        }
    }
}

/// ZipPIR is compared twice in its Table 4: with the least traffic, and with short tickets.
#[test]
fn short_tickets_have_rows_of_their_own() {
    let report = predicted("zip-4");
    let zip = report.rows.iter().filter(|row| row.scheme == "ZipPIR");
    let rows: Vec<&TableRow> = zip.collect();
    assert_eq!(rows.len(), 8);

    for pair in rows.chunks(2) {
        let [traffic, short] = pair else {
            panic!("{pair:?}")
        };
        let name = short.configuration.as_deref();
        assert_eq!(name, Some("zip, balanced, t = 1"));
        assert_eq!(traffic.paper_state_kb, short.paper_state_kb);

        let ticket = |row: &TableRow| row.papir.cost().unwrap().ticket_bytes.unwrap();
        assert!(ticket(short) < ticket(traffic), "{pair:?}");
        let total = |row: &TableRow| row.papir.cost().unwrap().total_kib;
        assert!(total(short) > total(traffic), "{pair:?}");
    }

    // Cells that the paper leaves out have no figure.
    let without = report.rows.iter().filter(|row| row.scheme == "YPIR");
    assert!(without.clone().all(|row| row.paper_state_kb.is_none()));
    assert_eq!(without.count(), 4);
}
