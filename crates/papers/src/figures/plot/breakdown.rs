//! Bar plots by N/t: messages above, server time below.

use plotters::chart::ChartBuilder;
use plotters::element::Rectangle;
use plotters::style::{Color, RGBColor};

use super::canvas::{Area, PALE, colour, drawing_error, picture, whole_label};
use super::legend;
use crate::Result;
use crate::figures::{FigureReport, Point, Source};

/// Width of a panel, and height of a line of text, in pixels.
const WIDTH: u32 = 420;
const HEIGHT: u32 = 320;
const LINE: u32 = 34;

/// A row of panels: its title, its unit, and the function that splits a point into parts.
struct Quantity {
    title: &'static str,
    unit: &'static str,
    parts: fn(&Point) -> Vec<(String, f64)>,
}

const QUANTITIES: [Quantity; 2] = [
    Quantity {
        title: "communication",
        unit: "KB of 1024 bytes",
        parts: messages,
    },
    Quantity {
        title: "server",
        unit: "ms",
        parts: |point| point.stages.0.clone(),
    },
];

fn messages(point: &Point) -> Vec<(String, f64)> {
    let Some([keys, query, download]) = point.kb else {
        return Vec::new();
    };
    vec![
        ("keys".to_owned(), keys),
        ("query".to_owned(), query),
        ("download".to_owned(), download),
    ]
}

pub(super) fn draw(report: &FigureReport) -> Result<String> {
    // Points of one entry size are neighbours, as their tables list them.
    let panels: Vec<&[Point]> = report.points.chunk_by(|a, b| a.entry == b.entry).collect();
    let row = HEIGHT + LINE;

    picture((WIDTH * panels.len() as u32, 2 * row + LINE), |area| {
        // The caption is that of the whole picture, above both rows of panels.
        let (title, mut rest) = area.split_vertically(LINE);
        title
            .titled(&report.what, ("sans-serif", 18))
            .map_err(drawing_error)?;

        for quantity in &QUANTITIES {
            let (this, next) = rest.split_vertically(row);
            draw_row(&this, quantity, &panels)?;
            rest = next;
        }
        Ok(())
    })
}

/// Draws the panels of a quantity and their legend.
fn draw_row(area: &Area<'_>, quantity: &Quantity, panels: &[&[Point]]) -> Result<()> {
    // Of all panels, so that a part has the same colour in each of them.
    let names = names(quantity, panels);
    let (plots, below) = area.split_vertically(HEIGHT);
    for (plot, points) in plots.split_evenly((1, panels.len())).iter().zip(panels) {
        draw_panel(plot, quantity, points, &names)?;
    }

    legend::write(
        &below,
        legend::Symbol::Circle,
        &names,
        "left and pale: the paper; right: papir",
    )
}

/// The names of all parts, with their colours.
fn names(quantity: &Quantity, panels: &[&[Point]]) -> Vec<(String, RGBColor)> {
    let mut found: Vec<(String, RGBColor)> = Vec::new();
    for (name, _) in panels.iter().copied().flatten().flat_map(quantity.parts) {
        if !found.iter().any(|known| known.0 == name) {
            found.push((name, colour(found.len())));
        }
    }
    found
}

/// The height of a point's bar.
fn height(quantity: &Quantity, point: &Point) -> f64 {
    (quantity.parts)(point).iter().map(|part| part.1).sum()
}

fn draw_panel(
    area: &Area<'_>,
    quantity: &Quantity,
    points: &[Point],
    names: &[(String, RGBColor)],
) -> Result<()> {
    let places = places(points);
    // An axis needs a range, also if all bars are empty.
    let highest = points
        .iter()
        .map(|point| height(quantity, point))
        .fold(f64::MIN_POSITIVE, f64::max);
    let entry = points.first().map_or("", |point| point.entry);

    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("{}, entries of {entry}", quantity.title),
            ("sans-serif", 14),
        )
        .margin(8)
        .x_label_area_size(35)
        .y_label_area_size(55)
        // Half a place at both ends, and a twentieth above the highest bar.
        .build_cartesian_2d(-0.5..places.len() as f64 - 0.5, 0.0..1.05 * highest)
        .map_err(drawing_error)?;

    let axis = if places.iter().any(Option::is_some) {
        "N/t"
    } else {
        ""
    };

    chart
        .configure_mesh()
        .y_labels(6)
        .y_label_formatter(&whole_label)
        .max_light_lines(0)
        // Places are names and no quantities, so lines between them would mislead.
        .disable_x_mesh()
        .x_labels(places.len() + 1)
        .x_label_formatter(&|place| name_of(*place, &places))
        .x_desc(axis)
        .y_desc(quantity.unit)
        .draw()
        .map_err(drawing_error)?;

    let bars = points
        .iter()
        .flat_map(|point| bar(point, quantity, names, &places));
    chart.draw_series(bars).map_err(drawing_error)?;
    Ok(())
}

/// The N/t values of a panel in order; points with the same value share a position.
fn places(points: &[Point]) -> Vec<Option<u64>> {
    let mut found: Vec<Option<u64>> = points.iter().map(|point| point.columns).collect();
    // The paper's point and papir's follow each other.
    found.dedup();
    found
}

/// The axis label at a position; empty between positions.
fn name_of(place: f64, places: &[Option<u64>]) -> String {
    let nearest = place.round();
    // Labels may be asked for between two places, where no bar is.
    let between = (place - nearest).abs() > 1e-6 || nearest < 0.0;
    let columns = places
        .get(nearest as usize)
        .copied()
        .flatten()
        .filter(|_| !between);
    columns.map_or(String::new(), |columns| columns.to_string())
}

/// The stacked rectangles of one point.
fn bar(
    point: &Point,
    quantity: &Quantity,
    names: &[(String, RGBColor)],
    places: &[Option<u64>],
) -> Vec<Rectangle<(f64, f64)>> {
    let place = places
        .iter()
        .position(|&columns| columns == point.columns)
        .unwrap_or_default() as f64;

    let (left, opacity) = match point.source {
        Source::Paper => (place - 0.4, PALE),
        Source::Papir => (place + 0.02, 1.0),
    };

    let mut bottom = 0.0;
    let mut bars = Vec::new();
    for (name, value) in (quantity.parts)(point) {
        let colour = names
            .iter()
            .find(|known| known.0 == name)
            .map_or(colour(0), |known| known.1);
        // A gap between both bars, and a larger one between places.
        let corners = [(left, bottom), (left + 0.38, bottom + value)];
        bottom += value;
        bars.push(Rectangle::new(corners, colour.mix(opacity).filled()));
    }
    bars
}
