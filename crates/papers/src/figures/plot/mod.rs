//! Plots of figures as SVG.

mod breakdown;
mod canvas;
mod legend;
mod scatter;

pub(crate) use canvas::{colour, drawing_error, picture};

use super::{FigureReport, PlotKind};
use crate::{Error, Result};

/// Draws a figure as SVG text. A scatter plot has a circle for each point, a breakdown a rectangle
/// for each part of a bar.
///
/// # Errors
/// [`Error::Usage`] for a figure without points, [`Error::Output`] if it could not be drawn.
pub fn draw(report: &FigureReport) -> Result<String> {
    if report.points.is_empty() {
        return Err(Error::usage(
            format!("{} without points", report.figure),
            "at least one",
        ));
    }
    match report.kind {
        PlotKind::Scatter => scatter::draw(report),
        PlotKind::Breakdown => breakdown::draw(report),
    }
}
