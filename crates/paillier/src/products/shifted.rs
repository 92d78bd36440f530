//! Products of ciphertexts raised to powers of two.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::integer::{from_words, to_words};
use crate::public::PublicKey;

/// The place of a factor f: product number `product` is multiplied by (f/d)^(2^(step·`position`)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the product.
    pub product: usize,
    /// Exponent of two, in steps. A product has at most one factor at a position.
    pub position: u32,
}

/// Factors of several products, each divided by the divisor and raised to a power of two by its
/// place.
#[derive(Clone, Copy, Debug)]
pub struct ShiftedFactors<'a> {
    /// The factors, before the division.
    pub factors: &'a [Ciphertext],
    /// The place of each factor.
    pub places: &'a [Place],
    /// The ciphertext d that divides all factors.
    pub divisor: &'a Ciphertext,
    /// Number of bits between positions.
    pub step: u32,
}

/// Multiplies each of `starts` by its factors. Calls `pause` between steps of some milliseconds.
///
/// Products are combined by Horner's rule, all at once, so that the lanes of a squaring are shared:
/// up to eight products cost as much as one.
///
/// # Errors
/// [`Error::Length`] unless there are as many places as factors, [`Error::OutOfBounds`] for the
/// place of a product that does not exist, [`Error::Malformed`] for a divisor without an inverse.
pub fn multiply_shifted(
    public: &PublicKey,
    starts: &[Ciphertext],
    shifted: ShiftedFactors<'_>,
    mut pause: impl FnMut(),
) -> Result<Vec<Ciphertext>> {
    let ShiftedFactors {
        factors,
        places,
        divisor,
        step,
    } = shifted;
    Error::check_length("factors", factors.len(), places.len())?;
    if let Some(place) = places.iter().find(|place| place.product >= starts.len()) {
        let expected = format!("below {}", starts.len());
        return Err(Error::out_of_bounds(
            "number of a product",
            place.product as u64,
            expected,
        ));
    }

    let batch = public.batch();
    let kernel = public.batch().kernel();
    let one = kernel.one();
    let mut quotients = batch.enter_ciphertexts(factors);
    kernel.multiply_all(
        &mut quotients,
        &batch.enter_ciphertexts(&[inverse(public, divisor)?]),
    );

    // Entry 0 is for products without a factor at a position.
    let table = [one, &quotients].concat();

    let mut products = one.repeat(starts.len());
    let top = places.iter().map(|place| place.position).max().unwrap_or(0);
    for position in (0..=top).rev() {
        if position < top {
            kernel.square_repeatedly(&mut products, step as usize);
        }

        let mut indices = vec![0; starts.len()];
        for (index, place) in (1..).zip(places) {
            if place.position == position {
                indices[place.product] = index;
            }
        }
        if indices.iter().any(|&index| index > 0) {
            kernel.multiply_selected(&mut products, &table, &indices);
        }
        pause();
    }

    // The starts come last: the squarings before would raise them to a power as well.
    kernel.multiply(&mut products, &batch.enter_ciphertexts(starts));
    Ok(batch.leave_ciphertexts(&products))
}

fn inverse(public: &PublicKey, ciphertext: &Ciphertext) -> Result<Ciphertext> {
    let cipher = public.cipher();
    let words = ciphertext.words();
    let Some(inverse) = cipher.inverse(&from_words(words)) else {
        return Err(Error::Malformed {
            what: "a divisor",
            found: "a number without an inverse".to_owned(),
            expected: "a unit".to_owned(),
        });
    };
    Ok(Ciphertext::new(to_words(&inverse, words.len())))
}
