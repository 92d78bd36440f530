//! Figure 3, and answer times by number of tabulated variables.

use std::ops::Range;

use papir_core::Progress;
use papir_core::cost::Operation;
use papir_core::scheme::Parameters;
use papir_measure::effort::Effort;
use papir_measure::report::titles;
use papir_schemes::depir::evaluation::{Points, Tables, Tabulated};
use papir_schemes::depir::simplex::{Simplex, terms};
use papir_schemes::depir::structure::levels::Steps;
use plotters::chart::ChartBuilder;
use plotters::coord::combinators::IntoLogRange;
use plotters::element::{Circle, PathElement};
use plotters::style::{Color, IntoFont};

use super::crossing::crossing;
use super::estimate::{TableCount, exact, one_step, two_steps};
use super::set::{DepirConfig, DepirReport, Set, measure};
use super::sheet::{Curve, Sheet, SheetKind, SheetReport, SheetRows};
use crate::figures::plot::{colour, drawing_error, picture};
use crate::{Error, Result};
use papir_plan::units::bytes as display;

/// All figures.
pub const CURVES: &[Sheet] = &[
    Sheet {
        kind: SheetKind::Figure,
        name: "depir-3",
        what: "Doubly-efficient PIR, Figure 3: entries of tables by N, estimated and exact, q = 2^20",
        run: |_, _, _| Ok(figure_3()),
    },
    Sheet {
        kind: SheetKind::Figure,
        name: "depir-tabulated",
        what: "Doubly-efficient PIR, tiny: answer time by tabulated variables (minutes, and 10 GiB of memory)",
        run: |sets, effort, progress| tabulated(sets[0], effort, progress),
    },
    Sheet {
        kind: SheetKind::Figure,
        name: "depir-crossing",
        what: "Doubly-efficient PIR: time of an index on lines and by whole tables, by number of records (minutes, and 10 GiB of memory)",
        run: crossing,
    },
];

/// log₂ of the figure's modulus q. Coefficients are at most q/2.
const LOG2_Q: f64 = 20.0;
const LN_2: f64 = std::f64::consts::LN_2;
/// Total degrees D of the polynomials.
const DEGREES: [usize; 8] = [10, 15, 20, 30, 40, 60, 80, 100];

/// Estimated and exact counts at a number of records.
struct Counted {
    records: f64,
    estimate: TableCount,
    exact: TableCount,
}

fn count(steps: Steps, simplex: Simplex) -> Counted {
    let d = simplex.degree as f64;
    let m = simplex.variables as f64;
    let estimate = match steps {
        Steps::One => one_step(d, LOG2_Q * LN_2, m),
        // Coefficients are at most q/2, which is one bit less.
        _ => two_steps(d, LOG2_Q * LN_2, m, (LOG2_Q - 1.0) * LN_2),
    };

    Counted {
        records: terms(simplex.variables, simplex.degree) as f64,
        estimate,
        exact: exact(simplex, LOG2_Q - 1.0, LOG2_Q.exp2(), steps),
    }
}

fn figure_3() -> SheetRows {
    let columns = [
        "steps", "m", "D", "N", "look-ups", "exact", "entries", "exact",
    ];
    let mut rows = Vec::new();
    let mut curves = Vec::new();

    for steps in [Steps::One, Steps::Two] {
        let number = if steps == Steps::One { "one" } else { "two" };
        for variables in [3, 4, 5] {
            let mut estimated = Vec::new();
            let mut counted = Vec::new();

            // The degree determines the number of records, which is the axis.
            for degree in DEGREES {
                let Counted {
                    records,
                    estimate,
                    exact,
                } = count(steps, Simplex { variables, degree });
                estimated.push((records, estimate.entries));
                counted.push((records, exact.entries));
                rows.push(vec![
                    number.to_owned(),
                    variables.to_string(),
                    degree.to_string(),
                    format!("{records:.0}"),
                    format!("{:.0}", estimate.lookups),
                    format!("{:.0}", exact.lookups),
                    format!("{:.2e}", estimate.entries),
                    format!("{:.2e}", exact.entries),
                ]);
            }

            // Each pair of curves is drawn in one colour: estimated first, exact second.
            let name = |what: &str| format!("{number} step(s), m = {variables}, {what}");
            curves.push(Curve {
                name: name("estimated"),
                points: estimated,
            });
            curves.push(Curve {
                name: name("exact"),
                points: counted,
            });
        }
    }

    SheetRows {
        columns: titles(&columns),
        rows,
        notes: vec![
            "Estimated by Propositions 5.3 and 5.4 with o(1) = 0; exact by lists of odd primes."
                .to_owned(),
        ],
        curves,
        axes: ["N", "entries"],
        correct: true,
    }
}

/// The ways of evaluation that the figure compares.
///
/// They are: on lines, then tables of more and more variables, and at the end the paper's tables of
/// all variables, by the mixture that it measures and by two steps.
fn ways(set: Set) -> Vec<Option<Tables>> {
    let most = match set {
        // Longer tables take too long to make in tests.
        Set::Least => Some(Steps::Mixture(6)),
        _ => None,
    };
    let mixture = if set == Set::Least {
        Steps::Mixture(6)
    } else {
        Steps::Mixture(PAPER_PRIMES)
    };

    vec![
        None,
        Some(first(0, Some(Steps::One))),
        Some(first(1, Some(Steps::One))),
        Some(first(2, most)),
        Some(first(3, most)),
        Some(Tables {
            tabulated: Tabulated::All,
            steps: most,
            points: Points::OnLines,
        }),
        Some(of_paper(mixture)),
        Some(of_paper(Steps::Two)),
    ]
}

fn first(count: usize, steps: Option<Steps>) -> Tables {
    Tables {
        tabulated: Tabulated::First(count),
        steps,
        points: Points::OnLines,
    }
}

fn of_paper(steps: Steps) -> Tables {
    Tables {
        tabulated: Tabulated::All,
        steps: Some(steps),
        points: Points::OfPaper,
    }
}

/// Primes that the paper's program looks up directly for its set tiny.
const PAPER_PRIMES: usize = 42;

fn tabulated(set: Set, effort: Effort, progress: &dyn Progress) -> Result<SheetRows> {
    let columns = [
        "points",
        "tabulated",
        "looked up + reduced",
        "tables",
        "preprocessing s",
        "answer s",
        "look-ups",
        "products",
        "table bytes used",
    ];
    let mut rows = Vec::new();
    let mut ours = Vec::new();
    let mut papers = Vec::new();
    let mut correct = true;

    for by in ways(set) {
        let report = measure(
            DepirConfig {
                by,
                ..DepirConfig::of(set)
            },
            effort,
            progress,
        )?;
        // One wrong record makes the figure wrong, and is reported after it is printed.
        correct &= report.correct;

        if let (Some(tabulated), Some(tables)) = (report.tabulated, by) {
            // Two curves: tables of one length take other numbers of look-ups at other points.
            let curve = if tables.points == Points::OnLines {
                &mut ours
            } else {
                &mut papers
            };
            // A logarithmic axis has no 0.
            curve.push((tabulated as f64 + 1.0, report.answer_s));
        }

        rows.push(measured_row(&report));
    }
    rows.push(predicted(set)?);

    let notes = [
        "With no variable tabulated, parts that points share are computed once, after sorting; with more, they are read from tables.",
        "The last row is not measured: it has the look-ups and the tables of all primes in one step at the paper's points.",
    ];

    Ok(SheetRows {
        columns: titles(&columns),
        rows,
        notes: titles(&notes),
        curves: vec![
            Curve {
                name: "structure at points on lines".to_owned(),
                points: ours,
            },
            Curve {
                name: "structure at the paper's points".to_owned(),
                points: papers,
            },
        ],
        axes: ["1 + tabulated variables", "seconds"],
        correct,
    })
}

fn measured_row(report: &DepirReport) -> Vec<String> {
    let work = report.work;

    vec![
        report.points.to_owned(),
        report.tabulated.map_or_else(
            || "no structure".to_owned(),
            |tabulated| tabulated.to_string(),
        ),
        report.levels.map_or_else(String::new, |[direct, reduced]| {
            format!("{direct} + {reduced}")
        }),
        display(report.table_bytes),
        format!("{:.1}", report.preprocess_s),
        format!("{:.2}", report.answer_s),
        format!("{:.2e}", work.points as f64),
        format!("{:.2e}", work.multiplications as f64),
        format!("{:.2e}", work.table_bytes_read as f64),
    ]
}

/// The row of the paper's tables of all variables in one step, which no memory holds.
fn predicted(set: Set) -> Result<Vec<String>> {
    let by = Tables {
        tabulated: Tabulated::All,
        steps: Some(Steps::One),
        points: Points::OfPaper,
    };

    // Parameters exist for tables that cannot be made; only the setup needs the memory.
    let params = set.params()?.with_tables(by)?;
    let lookups = params.describe().work.answer.times(Operation::Lookup);
    let primes = params.table_lengths().len();

    Ok(vec![
        "of the paper, predicted".to_owned(),
        params.simplex().variables.to_string(),
        format!("{primes} + 0"),
        display(params.table_bytes()),
        String::new(),
        String::new(),
        format!("{lookups:.2e}"),
        "0".to_owned(),
        format!("{lookups:.2e}"),
    ])
}

/// Draws the curves of a figure as SVG text, with a circle for each point.
///
/// # Errors
/// [`Error::Usage`] for a figure without points, [`Error::Output`] if it could not be drawn.
pub fn draw(report: &SheetReport) -> Result<String> {
    if points(report).next().is_none() {
        return Err(Error::usage(
            format!("{} without points", report.name),
            "at least one",
        ));
    }

    picture((1000, 700), |area| {
        let mut chart = ChartBuilder::on(area)
            .caption(report.what, ("sans-serif", 18))
            .margin(15)
            .x_label_area_size(45)
            .y_label_area_size(80)
            .build_cartesian_2d(
                axis_range(report, |point| point.0).log_scale(),
                axis_range(report, |point| point.1).log_scale(),
            )
            .map_err(drawing_error)?;

        let mut mesh = chart.configure_mesh();
        mesh.x_desc(report.axes[0])
            .y_desc(report.axes[1])
            .max_light_lines(0);
        mesh.x_label_formatter(&axis_label)
            .y_label_formatter(&axis_label)
            .draw()
            .map_err(drawing_error)?;

        for (i, curve) in report.curves.iter().enumerate() {
            // Estimates and counts of the same quantity share a colour.
            let hue = colour(i / 2);
            let style = if i % 2 == 0 {
                hue.mix(0.5).stroke_width(1)
            } else {
                hue.stroke_width(2)
            };

            let line = PathElement::new(curve.points.clone(), style);
            let named = chart.draw_series([line]).map_err(drawing_error)?;
            named
                .label(curve.name.clone())
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 20, y)], style));

            let filled = if i % 2 == 0 {
                hue.stroke_width(1)
            } else {
                hue.filled()
            };

            chart
                .draw_series(
                    curve
                        .points
                        .iter()
                        .map(|&place| Circle::new(place, 4, filled)),
                )
                .map_err(drawing_error)?;
        }

        let font = ("sans-serif", 12).into_font();
        chart
            .configure_series_labels()
            .label_font(font)
            .draw()
            .map_err(drawing_error)?;

        Ok(())
    })
}

fn points(report: &SheetReport) -> impl Iterator<Item = &(f64, f64)> + Clone {
    report.curves.iter().flat_map(|curve| &curve.points)
}

/// The range of an axis, with a margin. `value` takes the axis' coordinate of a point.
fn axis_range(report: &SheetReport, value: fn(&(f64, f64)) -> f64) -> Range<f64> {
    // The axes are logarithmic, so margins are factors.
    let values = points(report).map(value);
    let least = values.clone().fold(f64::INFINITY, f64::min);
    least * 0.8..values.fold(0.0, f64::max) * 1.3
}

fn axis_label(value: &f64) -> String {
    if *value < 1e4 {
        format!("{value:.0}")
    } else {
        format!("{value:.0e}")
    }
}
