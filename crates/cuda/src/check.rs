//! Checks of packs before they are copied.

use papir_core::device::Packs;
use papir_core::{Error, Result};

/// Checks that the parts of packs fit each other: the kernels read as far as these numbers say.
///
/// # Errors
/// [`Error::Length`] for masks or digits of another length, [`Error::OutOfBounds`] for another
/// degree, points that do not divide the packs, or an exception outside the matrix.
pub(crate) fn check_packs(packs: &Packs<'_>) -> Result<()> {
    let degree = packs.ring.degree;
    if !degree.is_power_of_two() {
        let expected = "a power of two";
        return Err(Error::out_of_bounds(
            "the degree of a device's ring",
            degree as u64,
            expected,
        ));
    }

    // A last element that is not whole would be left out of the packs.
    let element = 2 * degree;
    let masks = packs.masks.len();
    let count = masks.div_ceil(element);
    Error::check_length("the masks of packs", masks, count * element)?;
    check_points(&packs.variables, count)?;

    let last = count * packs.last_levels * element;
    Error::check_length("the last digits of packs", packs.last.len(), last)?;
    let points = packs.variables.len() * 2 * packs.gadget.levels * element;
    Error::check_length("the masks of points", packs.point_masks.len(), points)?;
    check_exceptions(packs)
}

/// Checks that polynomials with these points of each variable have all packs as coefficients.
fn check_points(variables: &[usize], packs: usize) -> Result<()> {
    let points = variables
        .iter()
        .try_fold(1usize, |points, &size| points.checked_mul(size))
        // An overflow divides no number of packs but 0, and is refused below.
        .unwrap_or(usize::MAX);
    if points > 0 && packs.is_multiple_of(points) {
        return Ok(());
    }
    Err(Error::out_of_bounds(
        "the number of points of all variables",
        points as u64,
        format!("a divisor of the {packs} packs"),
    ))
}

/// Checks that all exceptions lie in the matrix.
fn check_exceptions(packs: &Packs<'_>) -> Result<()> {
    let shape = packs.selected.shape();
    for &[row, column] in packs.exceptions {
        check_below("the row of an exception", row, shape.rows)?;
        check_below("the column of an exception", column, shape.columns)?;
    }
    Ok(())
}

/// Checks that an index is below a number.
fn check_below(what: &'static str, found: u32, most: usize) -> Result<()> {
    if (found as usize) < most {
        return Ok(());
    }
    Err(Error::out_of_bounds(
        what,
        found.into(),
        format!("below {most}"),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::device::{DeviceGadget, DeviceRing, Tiles, Words};

    use super::*;

    const DEGREE: usize = 128;
    const COUNT: usize = 6;

    /// Returns the error for six packs after a change.
    fn error(change: impl FnOnce(&mut Packs<'_>)) -> Option<String> {
        let tiles = vec![0; COUNT * DEGREE * 4];
        let mut packs = Packs {
            ring: DeviceRing {
                degree: DEGREE,
                primes: [268_369_921, 249_561_089],
                roots: [1, 1],
            },
            selected: Tiles::new(Words::Signed16, 2, &tiles).unwrap(),
            exceptions: &[[767, 1]],
            selector_bits: 40,
            packing: Tiles::new(Words::Signed32, 1, &tiles).unwrap(),
            key_bits: 40,
            masks: vec![0; COUNT * 2 * DEGREE],
            last: vec![0; COUNT * 3 * 2 * DEGREE],
            last_levels: 3,
            variables: vec![3],
            point_masks: vec![0; 2 * 4 * 2 * DEGREE],
            gadget: DeviceGadget {
                levels: 4,
                log_base: 10,
                drop: 15,
            },
        };
        change(&mut packs);
        check_packs(&packs).err().map(|error| error.to_string())
    }

    #[test]
    fn packs_of_several_polynomials_are_accepted() {
        assert_eq!(error(|_| ()), None);
        // Without variables, each pack is a constant.
        let constants = error(|packs| {
            packs.variables.clear();
            packs.point_masks.clear();
        });
        assert_eq!(constants, None);
    }

    #[test]
    fn points_have_to_divide_the_packs() {
        for (points, found) in [
            (vec![4], "4"),
            (vec![2, 6], "12"),
            (vec![0], "0"),
            (vec![usize::MAX, 2], "18446744073709551615"),
        ] {
            let error = error(|packs| packs.variables = points).unwrap();
            assert!(
                error.contains("the number of points of all variables"),
                "{error}"
            );
            assert!(
                error.contains(found) && error.contains("a divisor of the 6 packs"),
                "{error}"
            );
        }
    }

    #[test]
    fn parts_of_other_lengths_are_refused() {
        type Change = (&'static str, fn(&mut Packs<'_>));
        let changes: [Change; 6] = [
            ("the degree of a device's ring", |packs| {
                packs.ring.degree = 0;
            }),
            ("the masks of packs", |packs| packs.masks.push(0)),
            ("the last digits of packs", |packs| packs.last_levels = 2),
            ("the masks of points", |packs| {
                packs.point_masks.truncate(1);
            }),
            ("the row of an exception", |packs| {
                packs.exceptions = &[[768, 0]];
            }),
            ("the column of an exception", |packs| {
                packs.exceptions = &[[0, 2]];
            }),
        ];
        for (what, change) in changes {
            let error = error(change).unwrap();
            assert!(error.contains(what), "{error}: expected {what}");
        }
    }
}
