//! Figures as SVG.

mod breakdown;
mod legend;
mod scatter;

use std::io;

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::style::RGBColor;

use super::{FigureReport, Kind};
use crate::{Error, Result};

/// A part of the picture, in pixels.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Colours that also the colour-blind tell apart (Okabe and Ito 2008), and paler ones.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(240, 228, 66),
    RGBColor(120, 120, 120),
    RGBColor(102, 51, 153),
    RGBColor(102, 102, 0),
    RGBColor(153, 76, 76),
    RGBColor(0, 102, 102),
];

/// The colour of the i-th thing.
pub(crate) fn colour(i: usize) -> RGBColor {
    COLOURS[i % COLOURS.len()]
}

/// How opaque the paper's bars are beside papir's.
const PALE: f64 = 0.45;

/// Draws a figure: the text of an SVG file. A scatter plot has a circle for each point, a breakdown a
/// rectangle for each part of a bar.
///
/// # Errors
/// [`Error::Usage`] for a figure without points, [`Error::Output`] when it could not be drawn.
pub fn draw(report: &FigureReport) -> Result<String> {
    if report.points.is_empty() {
        return Err(Error::usage(format!("{} without points", report.figure), "one at least"));
    }
    match report.kind {
        Kind::Scatter => scatter::draw(report),
        Kind::Breakdown => breakdown::draw(report),
    }
}

/// A picture of this size that `paint` fills.
pub(crate) fn picture(size: (u32, u32), paint: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    area.fill(&plotters::style::WHITE).map_err(refused)?;
    paint(&area)?;
    area.present().map_err(refused)?;
    drop(area);
    Ok(text)
}

/// What the drawing library refused.
pub(crate) fn refused(error: impl std::fmt::Display) -> Error {
    Error::Output(io::Error::other(error.to_string()))
}
