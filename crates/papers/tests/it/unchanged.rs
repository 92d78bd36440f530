//! Tables show the figures of the data files, and papir's beside them.

use papir_core::NoProgress;
use papir_core::cost::Rates;
use papir_measure::effort::Effort;
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
