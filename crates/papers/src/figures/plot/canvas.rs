//! Drawing area and colours of SVG figures.

use std::io;

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::style::RGBColor;

use crate::{Error, Result};

/// A rectangle of the picture, in pixels.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Colours for colour-blind readers (Okabe and Ito 2008), and paler variants.
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

/// Colour of the i-th series.
pub(crate) fn colour(i: usize) -> RGBColor {
    COLOURS[i % COLOURS.len()]
}

/// Opacity of the paper's bars; papir's are opaque.
pub(super) const PALE: f64 = 0.45;

/// Creates a picture of `size` pixels, draws it with `paint`, and returns its SVG.
pub(crate) fn picture(
    size: (u32, u32),
    paint: impl FnOnce(&Area<'_>) -> Result<()>,
) -> Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();

    // SVG is transparent by default, which a dark page would show through.
    area.fill(&plotters::style::WHITE).map_err(drawing_error)?;
    paint(&area)?;
    area.present().map_err(drawing_error)?;
    // The area borrows the text until here.
    drop(area);

    Ok(text)
}

/// Axis label of a whole number.
pub(super) fn whole_label(value: &f64) -> String {
    format!("{value:.0}")
}

/// Converts an error of the drawing library.
pub(crate) fn drawing_error(error: impl std::fmt::Display) -> Error {
    Error::Output(io::Error::other(error.to_string()))
}
