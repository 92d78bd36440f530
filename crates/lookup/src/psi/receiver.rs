//! The receiver: its elements masked without showing them, and found or not.

use std::collections::HashMap;

use papir_core::{Error as CoreError, Record};
use papir_oprf::Blinding;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::label::open;
use super::{Filter, Mask, NAME_BYTES};
use crate::Result;

/// Fewest elements that are asked for.
const LEAST: usize = 16;
/// Bytes of an element that pads.
const DUMMY_BYTES: usize = 32;

/// How many elements are asked for by who has so many: the next power of two, or one and a half of one. The
/// sender learns no more of their number.
pub fn padded(count: usize) -> usize {
    let power = count.max(LEAST).next_power_of_two();
    if count <= power / 4 * 3 && power > LEAST { power / 4 * 3 } else { power }
}

/// A receiver that has asked.
pub struct Receiver {
    blinding: Blinding,
    /// For each element as it was given, which of those that were asked for it is.
    asked: Vec<usize>,
}

/// One of the receiver's elements that the sender has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Which of the elements, as they were given.
    pub index: usize,
    /// What the sender says of it; empty in a set without labels.
    pub label: Record,
}

/// The receiver's elements under the sender's masks, and others that only pad.
pub struct Wanted {
    masks: Vec<Mask>,
    asked: Vec<usize>,
}

impl Receiver {
    /// Blinds elements, each once, and random ones up to [`padded`]; gives what is to be sent.
    ///
    /// # Errors
    /// [`CoreError::OutOfBounds`] for elements of 2¹⁶ bytes and more.
    pub fn new<E: AsRef<[u8]>>(elements: &[E], rng: &mut dyn CryptoRng) -> Result<(Self, Vec<u8>)> {
        let mut places = HashMap::with_capacity(elements.len());
        let mut distinct: Vec<Zeroizing<Vec<u8>>> = Vec::new();
        let mut asked = Vec::with_capacity(elements.len());
        for element in elements.iter().map(AsRef::as_ref) {
            asked.push(*places.entry(element).or_insert_with(|| {
                distinct.push(Zeroizing::new(element.to_vec()));
                distinct.len() - 1
            }));
        }
        for _ in distinct.len()..padded(distinct.len()) {
            let mut dummy = Zeroizing::new(vec![0; DUMMY_BYTES]);
            rng.fill_bytes(&mut dummy);
            distinct.push(dummy);
        }
        let (blinding, message) = Blinding::new(&distinct, rng)?;
        Ok((Self { blinding, asked }, message))
    }

    /// The masked elements, from the sender's answer.
    ///
    /// # Errors
    /// As [`Blinding::finish`].
    pub fn unmask(self, evaluated: &[u8]) -> Result<Wanted> {
        let masks = self.blinding.finish(evaluated)?.iter().map(Mask::from).collect();
        Ok(Wanted { masks, asked: self.asked })
    }
}

impl Wanted {
    /// The names to look up in the sender's table, all of them, those that pad too.
    pub fn names(&self) -> Vec<&[u8; NAME_BYTES]> {
        self.masks.iter().map(|mask| &*mask.name).collect()
    }

    /// The elements that are in a filter.
    pub fn in_filter(&self, filter: &Filter) -> Vec<Match> {
        let found: Vec<bool> = self.masks.iter().map(|mask| filter.contains_vartime(&mask.name)).collect();
        let matches = self.asked.iter().enumerate().filter(|(_, place)| found[**place]);
        matches.map(|(index, _)| Match { index, label: Vec::new() }).collect()
    }

    /// The elements that were found, from what the lookup of each of [`Wanted::names`] gave, in a set whose
    /// longest label has `longest` bytes.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer values than names, or values of another set.
    pub fn opened(&self, values: &[Option<Vec<u8>>], longest: Option<usize>) -> Result<Vec<Match>> {
        CoreError::check_length("the values of names, counted", values.len(), self.masks.len())?;
        let open = |(mask, value): (&Mask, &Option<Vec<u8>>)| match value {
            Some(sealed) => open(mask, sealed, longest),
            None => Ok(None),
        };
        let labels = self.masks.iter().zip(values).map(open).collect::<Result<Vec<_>, CoreError>>()?;
        let found = self
            .asked
            .iter()
            .enumerate()
            .filter_map(|(index, &place)| labels[place].clone().map(|label| Match { index, label }));
        Ok(found.collect())
    }
}
