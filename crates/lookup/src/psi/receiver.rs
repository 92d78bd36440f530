//! The receiver's side of private set intersection.

use std::collections::HashMap;

use crate::oprf::Blinding;
use papir_core::{Error as CoreError, Record};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::filter::Filter;
use super::label::open;
use super::mask::{Mask, NAME_BYTES};
use crate::error::Result;

/// Minimum number of elements in a request.
const LEAST: usize = 16;
/// Length in bytes of a padding element.
const DUMMY_BYTES: usize = 32;

/// Number of elements in a request for `count` elements, with padding: the next power of two, or
/// 1.5 times a power of two, and at least 16. The sender learns no more about their number.
pub fn padded(count: usize) -> usize {
    let power = count.max(LEAST).next_power_of_two();
    if count <= power / 4 * 3 && power > LEAST {
        power / 4 * 3
    } else {
        power
    }
}

/// A receiver that waits for the sender's answer.
pub struct Receiver {
    blinding: Blinding,
    /// For each given element, its index among the distinct elements of the request.
    asked: Vec<usize>,
}

/// An element that both sides have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The element's index, as given to [`Receiver::new`].
    pub index: usize,
    /// The sender's label; empty in a set without labels.
    pub label: Record,
}

/// The masks of the receiver's elements and of the padding.
pub struct Wanted {
    masks: Vec<Mask>,
    asked: Vec<usize>,
}

impl Receiver {
    /// Blinds the distinct elements, and random ones as padding up to [`padded`]. Returns the
    /// receiver and its request.
    ///
    /// # Errors
    /// [`CoreError::OutOfBounds`] for elements of 2¹⁶ bytes and more.
    pub fn new<E: AsRef<[u8]>>(elements: &[E], rng: &mut dyn CryptoRng) -> Result<(Self, Vec<u8>)> {
        let mut positions = HashMap::with_capacity(elements.len());
        let mut distinct: Vec<Zeroizing<Vec<u8>>> = Vec::new();
        let mut asked = Vec::with_capacity(elements.len());
        // A repeated element is asked once, and `asked` leads each of its places to it.
        for element in elements.iter().map(AsRef::as_ref) {
            asked.push(*positions.entry(element).or_insert_with(|| {
                distinct.push(Zeroizing::new(element.to_vec()));
                distinct.len() - 1
            }));
        }

        // Random elements, which the sender cannot tell from others once they are blinded.
        for _ in distinct.len()..padded(distinct.len()) {
            let mut dummy = Zeroizing::new(vec![0; DUMMY_BYTES]);
            rng.fill_bytes(&mut dummy);
            distinct.push(dummy);
        }

        let (blinding, message) = Blinding::new(&distinct, rng)?;
        Ok((Self { blinding, asked }, message))
    }

    /// Unblinds the sender's answer, and returns the masks of the elements.
    ///
    /// # Errors
    /// The errors of [`Blinding::finish`].
    pub fn unmask(self, evaluated: &[u8]) -> Result<Wanted> {
        let masks = self
            .blinding
            .finish(evaluated)?
            .iter()
            .map(Mask::from)
            .collect();
        Ok(Wanted {
            masks,
            asked: self.asked,
        })
    }
}

impl Wanted {
    /// Returns the names to look up in the sender's table: the names of all elements and of the
    /// padding.
    pub fn names(&self) -> Vec<&[u8; NAME_BYTES]> {
        self.masks.iter().map(|mask| &*mask.name).collect()
    }

    /// Finds the receiver's elements that are in a filter.
    pub fn in_filter(&self, filter: &Filter) -> Vec<Match> {
        let found: Vec<bool> = self
            .masks
            .iter()
            .map(|mask| filter.contains_vartime(&mask.name))
            .collect();

        let mut matches = Vec::new();
        // `asked` has no padding, so a random element is never a match.
        for (index, &position) in self.asked.iter().enumerate() {
            if found[position] {
                let label = Vec::new();
                matches.push(Match { index, label });
            }
        }
        matches
    }

    /// Finds the receiver's elements from the looked-up values of [`Wanted::names`], in a set whose
    /// longest label has `longest` bytes; `None` for a set without labels.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer values than names, or values of another length;
    /// [`CoreError::Malformed`] for an invalid length of a label.
    pub fn opened(&self, values: &[Option<Vec<u8>>], longest: Option<usize>) -> Result<Vec<Match>> {
        let what = "the values of names, counted";
        CoreError::check_length(what, values.len(), self.masks.len())?;

        let mut labels = Vec::with_capacity(values.len());
        for (mask, value) in self.masks.iter().zip(values) {
            labels.push(match value {
                Some(sealed) => open(mask, sealed, longest)?,
                None => None,
            });
        }

        let mut matches = Vec::new();
        for (index, &position) in self.asked.iter().enumerate() {
            if let Some(label) = labels[position].clone() {
                matches.push(Match { index, label });
            }
        }
        Ok(matches)
    }
}
