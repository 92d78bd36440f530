//! Legend of a plot, in one line.

use plotters::element::{Circle, Rectangle, Text};
use plotters::style::{Color, IntoFont, RGBColor};

use super::canvas::{Area, drawing_error};
use crate::Result;

/// The symbol before a name. It differs from the plot's own marks, so that tests can count those.
#[derive(Clone, Copy)]
pub(super) enum Symbol {
    Circle,
    Square,
}

/// Pixels between symbols and names, and the approximate width of a letter.
const GAP: i32 = 12;
const LETTER: i32 = 7;

/// Writes symbols and names from left to right, followed by `remark`.
pub(super) fn write<N: AsRef<str>>(
    area: &Area<'_>,
    symbol: Symbol,
    names: &[(N, RGBColor)],
    remark: &str,
) -> Result<()> {
    let font = ("sans-serif", 13).into_font();
    let middle = area.dim_in_pixel().1 as i32 / 2;
    let mut x = 5 * GAP;

    for (name, colour) in names {
        let name = name.as_ref();
        let style = colour.filled();
        match symbol {
            Symbol::Circle => area
                .draw(&Circle::new((x, middle), 5, style))
                .map_err(drawing_error)?,
            Symbol::Square => {
                let square = Rectangle::new([(x - 5, middle - 5), (x + 5, middle + 5)], style);
                area.draw(&square).map_err(drawing_error)?;
            }
        }

        area.draw(&Text::new(name, (x + GAP, middle - 6), font.clone()))
            .map_err(drawing_error)?;
        // SVG does not say how wide a text will be: an estimate by letters.
        x += 3 * GAP + LETTER * name.chars().count() as i32;
    }

    area.draw(&Text::new(remark, (x, middle - 6), font))
        .map_err(drawing_error)
}
