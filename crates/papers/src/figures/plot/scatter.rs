//! Scatter plot of total communication against server time, both logarithmic.

use std::ops::Range;

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::element::{Circle, EmptyElement, PathElement, Text};
use plotters::style::{Color, IntoFont, RGBColor};

use super::canvas::{Area, drawing_error, picture, whole_label};
use super::legend;
use crate::Result;
use crate::figures::{FigureReport, Point, Source};

type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

/// The colours of the entry sizes, as in the paper: red and blue.
const ENTRIES: [RGBColor; 2] = [RGBColor(204, 0, 0), RGBColor(0, 76, 204)];

pub(super) fn draw(report: &FigureReport) -> Result<String> {
    picture((1000, 700), |area| {
        // The rest of the height is a line for the legend.
        let (plot, below) = area.split_vertically(660);
        paint(&plot, report)?;

        let names: Vec<(&str, RGBColor)> = entries(report)
            .into_iter()
            .zip(ENTRIES.into_iter().cycle())
            .collect();
        legend::write(
            &below,
            legend::Symbol::Square,
            &names,
            "hollow: the paper; filled: papir",
        )
    })
}

/// The entry sizes in order.
fn entries(report: &FigureReport) -> Vec<&'static str> {
    let mut found = Vec::new();
    for point in &report.points {
        if !found.contains(&point.entry) {
            found.push(point.entry);
        }
    }
    found
}

fn paint(area: &Area<'_>, report: &FigureReport) -> Result<()> {
    let mut chart = ChartBuilder::on(area)
        .caption(&report.what, ("sans-serif", 18))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(65)
        .build_cartesian_2d(
            range(report, |point| point.total_kb).log_scale(),
            range(report, |point| point.server_ms).log_scale(),
        )
        .map_err(drawing_error)?;

    let mut mesh = chart.configure_mesh();
    mesh.x_desc("total communication, KB of 1024 bytes")
        .y_desc("server, ms");
    mesh.x_labels(20).y_labels(20).max_light_lines(0);
    mesh.x_label_formatter(&whole_label)
        .y_label_formatter(&whole_label)
        .draw()
        .map_err(drawing_error)?;

    for (entry, colour) in entries(report).into_iter().zip(ENTRIES.into_iter().cycle()) {
        // papir's last, so that its filled points lie above the hollow ones.
        for source in [Source::Paper, Source::Papir] {
            let points: Vec<&Point> = report
                .points
                .iter()
                .filter(|point| point.entry == entry && point.source == source)
                .collect();
            series(&mut chart, &points, colour)?;
        }
    }
    Ok(())
}

/// The range of all values, with a margin above. It starts at a power of ten, where axis labels
/// begin.
fn range(report: &FigureReport, value: fn(&Point) -> f64) -> Range<f64> {
    let values = report.points.iter().map(value);
    let least = values.clone().fold(f64::INFINITY, f64::min);
    10f64.powf(least.log10().floor())..values.fold(0.0, f64::max) * 1.3
}

/// Draws the points of one entry size and source. Points of one scheme are connected, and the first
/// one is labelled.
fn series(chart: &mut Plane<'_, '_>, points: &[&Point], colour: RGBColor) -> Result<()> {
    let schemes = points.chunk_by(|a, b| a.scheme == b.scheme);
    // Labels alternate between above and below, so that neighbours do not overlap.
    for (of_scheme, rise) in schemes.zip([-14, 3].into_iter().cycle()) {
        let places: Vec<(f64, f64)> = of_scheme
            .iter()
            .map(|point| (point.total_kb, point.server_ms))
            .collect();
        let line = PathElement::new(places.clone(), colour.mix(0.4));
        chart.draw_series([line]).map_err(drawing_error)?;

        let filled = of_scheme.iter().all(|point| point.source == Source::Papir);
        let style = if filled {
            colour.filled()
        } else {
            colour.stroke_width(2)
        };

        chart
            .draw_series(places.iter().map(|&place| Circle::new(place, 4, style)))
            .map_err(drawing_error)?;

        let font = ("sans-serif", 12).into_font().color(&colour);
        // The line connects the points of a scheme, so that one name suffices.
        let named = of_scheme.iter().zip(&places).take(1);
        let name = named.map(|(point, &place)| {
            EmptyElement::at(place) + Text::new(point.scheme, (7, rise), font.clone())
        });
        chart.draw_series(name).map_err(drawing_error)?;
    }
    Ok(())
}
