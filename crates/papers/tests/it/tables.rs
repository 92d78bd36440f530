//! The papers' tables and figures: printed data, definitions and plots.

use papir_core::Choice;
use papir_core::cost::Rates;
use papir_core::{MAX_RECORDS, NoProgress};
use papir_measure::cost::{Cost, Status};
use papir_measure::effort::Effort;
use papir_measure::schemes;
use papir_papers::figures::{self, Figure, FigureReport, PlotKind, Source, plot};
use papir_papers::tables::SharedWork;
use papir_papers::tables::scaling::{How, Scaled};
use papir_papers::tables::{self, Bench, Block, Ours, Published, Table, TableReport};
use papir_plan::rates_file::LoadedRates;

use crate::command::output;
use crate::xml::elements;

const EFFORT: Effort = Effort::alone(2, 1);

fn bench(largest: u64) -> Bench<'static> {
    Bench::new(largest, EFFORT, loaded(Rates::BUILT_IN), &NoProgress)
}

/// Bytes of a tiny database, and of a ring element.
const TINY: u64 = 1 << 15;
const ELEMENT: u64 = 4096;

fn loaded(rates: Rates) -> LoadedRates {
    LoadedRates {
        rates,
        origin: "of a test",
        description: "of a test".to_owned(),
        device: None,
    }
}

/// Returns the definition with fewer entries, so that a column has at most two ring elements.
fn tiny(block: &Block) -> Block {
    // A ticket of ZipPIR takes time proportional to the length of an entry.
    let zip = block
        .published
        .iter()
        .any(|row| row.ours.is_some_and(|ours| ours.scheme == "zip"));
    let block = Block {
        entry_bits: if zip { 64 * 8 } else { block.entry_bits },
        ..*block
    };
    let entries = (8 * TINY / block.entry_bits).clamp(3, block.entries);
    let columns = (entries * block.entry_bits / 8)
        .div_ceil(2 * ELEMENT)
        .max(1);
    let choice = |choice| match choice {
        Choice::Columns(_) => Choice::Columns(columns),
        Choice::Packed { words, .. } => Choice::Packed { columns, words },
        goal => goal,
    };
    let shrink = |published: &Published| Published {
        ours: published.ours.map(|ours| Ours {
            choice: choice(ours.choice),
            ..ours
        }),
        ..*published
    };
    let published: Vec<Published> = block.published.iter().map(shrink).collect();
    Block {
        entries,
        published: published.leak(),
        ..block
    }
}

fn tiny_blocks(blocks: &[Block]) -> &'static [Block] {
    blocks.iter().map(tiny).collect::<Vec<_>>().leak()
}

fn text(report: &TableReport) -> String {
    let mut out = Vec::new();
    report.write_table(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn built_in(ours: &Ours) -> bool {
    schemes::by_name(ours.scheme).is_ok()
}

/// Every row whose scheme is built in is measured and correct.
fn check_table(table: &Table, bench: &mut Bench<'_>) {
    let table = Table {
        blocks: tiny_blocks(table.blocks),
        ..*table
    };
    let report = tables::run(&table, bench).unwrap();
    assert!(report.correct(), "{}", table.name);
    let published = table.blocks.iter().flat_map(|block| block.published);
    assert_eq!(report.rows.len(), published.clone().count());
    let quoted = published.clone().any(|published| published.ours.is_none());
    assert_eq!(
        report.notes.iter().any(|note| note == tables::QUOTED),
        quoted,
        "{}",
        table.name
    );
    for (row, published) in report.rows.iter().zip(published) {
        match (&row.papir, &published.ours) {
            (Status::NotCompared, None) => {}
            (Status::NotBuiltIn, Some(ours)) => assert!(!built_in(ours), "{ours}"),
            (Status::Measured(cost), Some(ours)) if built_in(ours) => {
                assert_eq!(cost.correct, Some(true), "{} {ours}", table.name);
                assert!(
                    cost.server_ms > Some(0.0)
                        && cost.reads > Some(0.0)
                        && cost.offline_s > Some(0.0)
                );
                let once = cost.keys_bytes + cost.hint_bytes + cost.ahead_bytes;
                let bytes = once + cost.query_bytes + cost.download_bytes;
                assert!((cost.total_kib * 1024.0 - bytes as f64).abs() < 1e-6);
            }
            (papir, ours) => panic!("{} {ours:?}: {papir:?}", table.name),
        }
    }
    let mut ours = table
        .blocks
        .iter()
        .flat_map(|block| block.published)
        .filter_map(|row| row.ours.as_ref());
    assert_eq!(
        text(&report).contains("measured, right"),
        ours.any(built_in),
        "{}",
        table.name
    );
}

fn check_figure(figure: &Figure, bench: &mut Bench<'_>) {
    let figure = Figure {
        blocks: tiny_blocks(figure.blocks),
        ..*figure
    };
    let report = figures::run(&figure, bench).unwrap();
    assert!(report.correct, "{}", figure.name);
    assert_every_point_is_drawn(&report);
}

#[test]
fn the_first_definitions_run_at_a_tiny_size() {
    let mut bench = bench(u64::MAX);
    check_table(&tables::all().unwrap()[0], &mut bench);
    check_figure(&figures::all().unwrap()[0], &mut bench);
}

#[test]
#[ignore = "long"]
fn every_definition_runs_at_a_tiny_size() {
    let mut bench = bench(u64::MAX);
    for table in tables::all().unwrap() {
        check_table(table, &mut bench);
    }
    for figure in figures::all().unwrap() {
        check_figure(figure, &mut bench);
    }
}

/// Tables without figures of papir's say so.
#[test]
fn quoted_tables_are_printed_whole() {
    for quoted in tables::quoted().unwrap() {
        let text = output(&format!("--table {}", quoted.name)).unwrap();
        assert!(
            quoted
                .rows
                .iter()
                .all(|row| row.len() == quoted.columns.len()),
            "{}",
            quoted.name
        );
        let cells = || {
            quoted
                .rows
                .iter()
                .flat_map(|row| row.iter())
                .chain(quoted.columns)
        };
        assert!(cells().all(|cell| text.contains(cell)), "{text}");
        assert!(
            text.contains("none of these schemes was run here"),
            "{text}"
        );
        let json: serde_json::Value =
            serde_json::from_str(&output(&format!("--table {} --json", quoted.name)).unwrap())
                .unwrap();
        assert_eq!(json["rows"].as_array().unwrap().len(), quoted.rows.len());
    }
}

/// Printed message sizes add up and match the configuration that papir is compared with.
#[test]
fn printed_messages_add_up() {
    let rows = tables::all()
        .unwrap()
        .iter()
        .flat_map(|table| table.blocks)
        .flat_map(|block| block.published);
    let mut sums = 0;
    for published in rows {
        let Some([keys, query, download]) = published.kb else {
            continue;
        };
        let sum = keys + query + download;
        // Four rounded numbers.
        assert!((sum - published.total_kb).abs() <= 2.0, "{published:?}");
        sums += 1;
        let columns = published
            .ours
            .and_then(|ours| ours.named_columns())
            .unwrap_or(0) as f64;
        let selector = match published.scheme {
            "SimpleYPIR" => 7.0 * columns,
            "InsPIRe" => 84.0 * 1024.0 + 7.0 * columns,
            _ => continue,
        };
        assert!((selector / 1024.0 - query).abs() <= 1.0, "{published:?}");
    }
    assert_eq!(sums, 259);
}

/// InsPIRe⁽²⁾ sends 53 bits for each column and each unit of a column, so a row's query determines
/// its N/t and γ₀.
#[test]
fn printed_units_match_the_query() {
    let blocks = tables::all().unwrap().iter().flat_map(|table| table.blocks);
    for (block, published) in
        blocks.flat_map(|block| block.published.iter().map(move |row| (block, row)))
    {
        let Some(Ours {
            choice: Choice::Packed { columns, words },
            ..
        }) = published.ours
        else {
            continue;
        };
        let units = block.entries * block.entry_bits / 16 / columns / words;
        let kb = (columns + units) as f64 * 53.0 / 8.0 / 1024.0;
        let [_, query, _] = published.kb.unwrap();
        assert!(
            (kb - query).abs() <= 1.0,
            "{} {}: {kb} KB, {published:?}",
            block.database,
            block.entry
        );
    }
}

/// DoublePIR sends two queries: 4 bytes per column, and 8 bytes per row of bytes.
#[test]
fn printed_queries_of_two_levels_match_their_columns() {
    let table = tables::by_name("inspire-2").unwrap().unwrap();
    for block in table.blocks {
        for published in block
            .published
            .iter()
            .filter(|row| ["YPIR", "InsPIRe_0"].contains(&row.scheme))
        {
            let columns = published.ours.unwrap().named_columns().unwrap();
            let rows = block.entries / 8 / columns;
            assert_eq!(
                (4 * columns + 8 * rows) / 1024,
                published.kb.unwrap()[1] as u64,
                "{published:?}"
            );
        }
    }
}

const TWO: Table = Table {
    name: "two",
    what: "two databases, three rows each",
    notes: &["A note."],
    blocks: &[
        Block {
            database: "small",
            ..BLOCK
        },
        Block {
            database: "large",
            entries: 1 << 16,
            ..BLOCK
        },
        Block {
            database: "many",
            entries: MAX_RECORDS + 2,
            entry_bits: 1,
            published: &[ROW],
            ..BLOCK
        },
    ],
};

const BLOCK: Block = Block {
    database: "",
    entry: "64 B",
    entries: 1 << 12,
    entry_bits: 512,
    parts: &[],
    published: ROWS,
};

const ROW: Published = Published {
    scheme: "InsPIRe",
    ours: Some(Ours {
        scheme: "inspire",
        choice: Choice::Columns(64),
    }),
    repeated: false,
    offline_s: None,
    state_kb: None,
    kb: None,
    total_kb: 200.0,
    server_ms: 10.0,
    parts_ms: &[],
    scaling: None,
};

const ROWS: &[Published] = &[
    Published { ours: None, ..ROW },
    ROW,
    Published {
        ours: Some(Ours {
            scheme: "another",
            choice: Choice::Columns(64),
        }),
        ..ROW
    },
    Published {
        ours: Some(Ours {
            scheme: "plain",
            choice: Choice::Columns(64),
        }),
        total_kb: 1.0,
        ..ROW
    },
];

#[test]
fn rows_are_measured_if_they_fit_and_predicted_otherwise() {
    let report = tables::run(&TWO, &mut bench(1 << 18)).unwrap();
    let [rival, measured, absent, refused, _, predicted, .., many] = &report.rows[..] else {
        unreachable!()
    };
    assert!(measured.unmeasured.is_none());
    let limit = predicted.unmeasured.as_deref().unwrap();
    assert!(limit.ends_with("at most 256 KiB are measured"), "{limit}");
    assert!(matches!(rival.papir, Status::NotCompared));
    assert!(matches!(absent.papir, Status::NotBuiltIn));
    let Status::NoParameters { reason } = &refused.papir else {
        panic!("{:?}", refused.papir)
    };
    assert!(reason.contains("no first dimension"), "{reason}");
    let Status::Measured(measured) = &measured.papir else {
        panic!("{:?}", measured.papir)
    };
    assert_eq!(measured.correct, Some(true));
    let Status::Predicted(predicted) = &predicted.papir else {
        panic!("{:?}", predicted.papir)
    };
    assert_eq!((predicted.correct, predicted.reads), (None, None));
    // Sizes are exact in both cases.
    let again = bench(0).rows(&TWO.blocks[0]).unwrap().swap_remove(1);
    let again = again.papir.cost().unwrap();
    let sent = |cost: &Cost| {
        [
            cost.keys_bytes,
            cost.query_bytes,
            cost.download_bytes,
            cost.hint_bytes,
        ]
    };
    assert_eq!(sent(measured), sent(again));
    assert!(
        predicted.server_ms > Some(0.0)
            && predicted.offline_s > Some(0.0)
            && predicted.query_ms > Some(0.0)
    );
    assert!(
        matches!(
            many.papir,
            Status::Predicted(_) | Status::NoParameters { .. }
        ),
        "{many:?}"
    );
    assert_eq!(
        (report.below, report.above),
        (2 + usize::from(many.papir.cost().is_some()), 0)
    );
    let text = text(&report);
    for words in [
        "below in ",
        "above in 0.",
        "A note.",
        "many, 64 B: papir serves records of 2 entries",
        "Predicted with rates of a test.",
        "No parameters at small, 64 B, plain, N/t = 64: --dim0 with plain",
        "not built in",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[test]
fn rows_above_the_papers_figures_are_counted() {
    let small = Published {
        total_kb: 1.0,
        ..ROW
    };
    let block = Block {
        published: Box::leak(Box::new([ROW, small])),
        ..BLOCK
    };
    let table = Table {
        blocks: Box::leak(Box::new([block])),
        ..TWO
    };
    let report = tables::run(&table, &mut bench(0)).unwrap();
    assert_eq!((report.below, report.above), (1, 1));
    assert!(text(&report).contains("below in 1 of 2 configurations, above in 1.\n"));
}

/// A prediction is operation counts times rates.
#[test]
fn predictions_come_from_the_cost_model() {
    let rates = Rates::new(1, |_| 1e-9, |_| 1e-9).unwrap();
    let mut bench = Bench::new(0, EFFORT, loaded(rates.clone()), &NoProgress);
    let row = &bench.rows(&BLOCK).unwrap()[1];
    let work = schemes::by_name("inspire").unwrap();
    let work = schemes::candidate(&*work, BLOCK.shape().unwrap(), Choice::Columns(64)).unwrap();
    let work = work.description.work;
    let cost = row.papir.cost().unwrap();
    for (found, counts, unit) in [
        (cost.server_ms, &work.answer, 1e3),
        (cost.query_ms, &work.query, 1e3),
        (cost.offline_s, &work.setup, 1.0),
    ] {
        assert!(
            (found.unwrap() / (unit * counts.seconds(&rates, EFFORT.threads)) - 1.0).abs() < 1e-9
        );
    }
}

fn scaled(rates: Rates, largest: u64, block: &Block) -> Vec<Scaled> {
    let mut bench = Bench::new(largest, EFFORT, loaded(rates), &NoProgress);
    bench
        .rows(block)
        .unwrap()
        .into_iter()
        .filter_map(|row| row.scaled)
        .collect()
}

/// Without rates of several threads nothing is said about several threads. With them, a part with
/// independent pieces takes less time, and the bits of an index do not.
#[test]
fn times_on_many_cores_are_predicted_from_rates_of_several_threads() {
    let block = tables::by_name("pirouette-5").unwrap().unwrap().blocks[0];
    for row in scaled(Rates::BUILT_IN, 0, &block) {
        assert!(
            row.one_ms > Some(0.0) && row.cores_ms.is_none() && row.all_ms.is_none(),
            "{row:?}"
        );
    }
    let rows = scaled(Rates::new(2, |_| 1e-6, |_| 0.5e-6).unwrap(), 0, &block);
    let [respire, transciphered, many, pirouette, zero, all] = &rows[..] else {
        panic!("{rows:?}")
    };
    assert_eq!(
        rows.iter().map(|row| row.cores).collect::<Vec<_>>(),
        [1, 1, 32, 1, 32, 32]
    );
    assert!(respire.cores_ms.is_none() && pirouette.cores_ms.is_none());
    let one = pirouette.one_ms.unwrap();
    let ([zero, all], [zero_one, all_one]) =
        ([zero.cores_ms, all.cores_ms], [zero.one_ms, all.one_ms]);
    assert_eq!([zero_one, all_one], [Some(one); 2]);
    assert!(
        all.unwrap() < zero.unwrap() && zero.unwrap() < one,
        "{one}, {zero:?}, {all:?}"
    );
    assert!(
        all.unwrap() > one / 32.0,
        "bits are extracted one after another"
    );
    // Transciphering is nearly all of T-Respire, and its rotations are independent.
    let speedup = many.one_ms.unwrap() / many.cores_ms.unwrap();
    assert!(
        transciphered.one_ms > respire.one_ms.map(|ms| 20.0 * ms)
            && (25.0..32.1).contains(&speedup)
    );
    assert_eq!(
        (transciphered.how, transciphered.query_bytes),
        (How::Estimated, Some(144))
    );
    assert_eq!(pirouette.query_bytes, Some(36));
}

/// At a tiny size, both numbers of threads are measured; the text has the printed factors.
#[test]
fn times_on_the_threads_of_this_machine_are_measured() {
    let rates = Rates::new(2, |_| 1e-6, |_| 0.5e-6).unwrap();
    let mut bench = Bench::new(u64::MAX, EFFORT, loaded(rates), &NoProgress);
    let table = tables::by_name("pirouette-5").unwrap().unwrap();
    let table = Table {
        blocks: tiny_blocks(&table.blocks[..1]),
        ..*table
    };
    let report = tables::run(&table, &mut bench).unwrap();
    for row in report
        .rows
        .iter()
        .filter_map(|row| row.scaled.as_ref())
        .filter(|row| row.blocks == 0)
    {
        assert_eq!(row.how, How::Measured);
        let parallel = row.shared != SharedWork::Nothing;
        assert_eq!(
            (row.all_ms > Some(0.0), row.cores_ms > Some(0.0)),
            (parallel && row.threads > 1, parallel)
        );
    }
    let text = text(&report);
    for words in [
        "116x",
        "4x",
        "Threads and throughput (Tables 5 and 6)",
        "phase 0 on 32 cores",
        "in a short message",
        "in an envelope",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }

    // A short message has 4 bytes around a query, and an envelope 32. Rows with a printed factor are
    // compared.
    let scaled = report.rows.iter().filter_map(|row| row.scaled.as_ref());
    let compared = scaled.filter(|row| row.paper_reduction.is_some());
    for query in compared.filter_map(|row| row.query_bytes) {
        for around in [4, 32] {
            let sent = format!("{} B", query + around);
            assert!(text.contains(&sent), "{sent} is not in {text}");
        }
    }
}

/// For every configuration in the papers' tables, papir sends and receives no more than the paper.
/// Sizes are exact without measuring.
#[test]
fn communication_never_exceeds_the_papers() {
    for table in tables::all().unwrap() {
        let report = tables::run(table, &mut bench(0)).unwrap();
        for row in &report.rows {
            let at = || {
                format!(
                    "{} {} {} {:?}",
                    table.name, row.database, row.entry, row.configuration
                )
            };
            // The noise of the longest columns is too large for one ring element each. The paper
            // uses several ring elements there, and an answer for each.
            let longest =
                row.database == "32 GB" || (row.database, row.columns) == ("8 GB", Some(1 << 13));
            let refused = matches!(row.papir, Status::NoParameters { .. });
            assert!(!refused || longest, "{}: {:?}", at(), row.papir);
            let Some(cost) = row.papir.cost() else {
                continue;
            };
            let ours = cost.total_kib;
            let paper = row.paper_total_kb;
            assert!(ours <= paper, "{}: {ours} KB, the paper has {paper}", at());
            assert!(matches!(row.papir, Status::Predicted(_)));
        }
        assert_eq!(report.above, 0, "{}", table.name);
    }
}

#[test]
fn figures_have_the_points_of_the_paper_and_of_papir() {
    for figure in figures::all().unwrap() {
        let report = figures::run(figure, &mut bench(0)).unwrap();
        let of = |source| {
            report
                .points
                .iter()
                .filter(move |point| point.source == source)
                .count()
        };
        let rows: usize = figure
            .blocks
            .iter()
            .map(|block| block.published.len())
            .sum();
        assert_eq!(of(Source::Paper), rows, "{}", figure.name);
        let named = figure
            .blocks
            .iter()
            .flat_map(|block| block.published)
            .filter(|row| row.ours.is_some());
        assert_eq!(
            of(Source::Papir) + report.missing.len(),
            named.count(),
            "{}",
            figure.name
        );
        if figure.kind == PlotKind::Breakdown {
            let columns = figure.name.starts_with("inspire");
            assert!(
                report
                    .points
                    .iter()
                    .all(|point| point.columns.is_some() == columns)
            );
            assert!(report.points.iter().all(|point| !point.stages.0.is_empty()));
        }
        let mut out = Vec::new();
        report.write_table(&mut out).unwrap();
        let lines = String::from_utf8(out).unwrap();
        let papers = lines
            .lines()
            .filter(|line| line.contains("  paper  "))
            .count();
        assert_eq!(papers, rows, "{lines}");
        assert_every_point_is_drawn(&report);
    }
}

#[test]
fn a_plot_without_points_is_refused() {
    let figure = Figure {
        blocks: &[],
        ..figures::all().unwrap()[0]
    };
    let report = figures::run(&figure, &mut bench(0)).unwrap();
    let error = plot::draw(&report).unwrap_err().to_string();
    assert_eq!(error, "inspire-1 without points: expected at least one");
}

/// Checks that a plot has a circle for each point, or a rectangle for each part of a bar plus one
/// for the background.
fn assert_every_point_is_drawn(report: &FigureReport) {
    let svg = plot::draw(report).unwrap();
    let elements = elements(&svg);
    let count = |name: &str| elements.iter().filter(|element| *element == name).count();
    match report.kind {
        PlotKind::Scatter => assert_eq!(count("circle"), report.points.len(), "{}", report.figure),
        PlotKind::Breakdown => {
            let messages = 3 * report
                .points
                .iter()
                .filter(|point| point.kb.is_some())
                .count();
            let parts: usize = report.points.iter().map(|point| point.stages.0.len()).sum();
            assert_eq!(count("rect"), 1 + messages + parts, "{}", report.figure);
        }
    }
    assert!(
        !svg.contains("NaN") && !svg.contains("inf"),
        "{}",
        report.figure
    );
}
