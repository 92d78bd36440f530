//! Exact terms of a packed selection, for certificates.

use papir_core::Result;
use papir_core::certificate::{FailureCertificate, Rational, TermKind};
use papir_lattice::selection::Stacking;

use super::bits::{Selection, SelectionBits, TAIL_LOG2};
use super::params::SelectionParams;
use super::ring::DEGREE;
use super::variant::{Masks, PackedVariant};
use crate::shared::certificate::{ExactRing, GadgetTerms, rounding, variance_term};

/// Source of the terms of a selection.
const SOURCE: &str = "schemes/src/shared/selection/bits.rs";

impl<V: PackedVariant> SelectionParams<V> {
    /// Adds the parameters, the terms and the security of the selection.
    pub(crate) fn certify(&self, certificate: &mut FailureCertificate) -> Result<()> {
        let counts = &self.counts;
        let bits = &self.bits;
        let ring = ExactRing::new(self.scheme, &counts.ring.literal, counts.ring.secret)?;

        ring.add_parameters(certificate);
        certificate.parameter("columns", counts.columns);
        certificate.parameter("plain bits", counts.plain_bits);
        certificate.parameter("words of an entry", counts.stacking.words);
        certificate.parameter("bits between words", counts.stacking.step);
        certificate.parameter("capacity", counts.capacity);
        certificate.parameter("rows", counts.rows);
        certificate.parameter("singles", counts.singles);
        certificate.parameter("query bits", bits.query);
        certificate.parameter("mask bits", bits.answer.a);
        certificate.parameter("body bits", bits.answer.b);

        let gadget = GadgetTerms::new(certificate, &ring, "pack", bits.gadget);
        let under_key = gadget.key_switch(certificate, "key", bits.key);
        let under_last = gadget.key_switch(certificate, "last key", bits.last_key);
        let packing = self.packing_variance(under_key, under_last);

        let squares =
            certificate.float_term("squares", TermKind::Squares, SOURCE, counts.squares)?;
        let entry = certificate.term(
            "selector entry",
            TermKind::Variance,
            SOURCE,
            ring.rounded_error(bits.query),
        );
        let parts = [
            ("selection", SOURCE, squares * entry),
            ("packing", SOURCE, packing),
            ("response", SOURCE, response(counts, bits, &ring)),
        ];
        variance_term(certificate, SOURCE, parts);

        let rounded = certificate.term(
            "rounded body",
            TermKind::Threshold,
            SOURCE,
            rounded_body(counts, bits, &ring),
        );
        let below = certificate.term(
            "words below",
            TermKind::Threshold,
            SOURCE,
            words_below(counts, &ring),
        );
        let limit = limit(counts, &ring).less(rounded).less(below);
        certificate.term("limit", TermKind::Threshold, SOURCE, limit);
        certificate.term("accepted", TermKind::Accepted, SOURCE, self.bound);
        certificate.term("coefficients", TermKind::Count, SOURCE, counts.bodies());
        certificate.float_term(
            "allowed",
            TermKind::Bits,
            SOURCE,
            counts.failure.beyond_default() - TAIL_LOG2,
        )?;

        ring.add_security(certificate, self.rlwe.security())
    }

    /// Returns the variance of packing, from those of a switch under the key and under its last
    /// matrix.
    fn packing_variance(&self, under_key: Rational, under_last: Rational) -> Rational {
        let capacity = self.counts.capacity;
        match self.counts.masks {
            // CDKS: 4^(log2 d) − 1 = d² − 1, and a pack with single rows is packed twice.
            Masks::Answers => {
                let times = if self.counts.online_nodes::<V>() > 0 {
                    2u32
                } else {
                    1
                };
                under_key * (DEGREE * DEGREE - 1) * times / 3u32
            }
            Masks::Public if capacity < DEGREE => under_key * (capacity - 1),
            Masks::Public => under_key * (capacity - 2) + under_last,
        }
    }
}

/// Returns the variance of switching an answer.
fn response(counts: &Selection, bits: &SelectionBits, ring: &ExactRing) -> Rational {
    let mask = ring.mask_switch(bits.answer.a);
    match counts.masks {
        Masks::Answers => mask + rounding(&ring.step(bits.answer.b)),
        Masks::Public => mask,
    }
}

/// Returns the largest rounding of a body, if it counts beside the variance.
fn rounded_body(counts: &Selection, bits: &SelectionBits, ring: &ExactRing) -> Rational {
    match counts.masks {
        Masks::Answers => Rational::from(0u32),
        Masks::Public => ring.step(bits.answer.b) / 2u32,
    }
}

/// Returns what the words of an entry below the selected one add to its message at most.
fn words_below(counts: &Selection, ring: &ExactRing) -> Rational {
    let Stacking { words, step } = counts.stacking;
    let shares = (1..words as i32).map(|i| Rational::power_of_two(-i * step as i32));

    let sum = shares.fold(Rational::from(0u32), |sum, share| sum + share);
    &ring.modulus * sum / 2u32
}

/// Returns the largest entry, in units of the largest word.
fn gain(stacking: Stacking) -> Rational {
    let places =
        (0..stacking.words as i32).map(|i| Rational::power_of_two(i * stacking.step as i32));
    places.fold(Rational::from(0u32), |sum, place| sum + place)
}

/// Returns the share of half the distance between messages that errors may fill, less the error of
/// each Δᵢ.
fn limit(counts: &Selection, ring: &ExactRing) -> Rational {
    let half = Rational::power_of_two(counts.plain_bits as i32 - 1);
    let fill = match counts.masks {
        Masks::Answers => Rational::new(9, 10),
        Masks::Public => Rational::new(31, 32),
    };
    (fill * &ring.modulus / (&half * 4u32)).less(half / 2u32 * gain(counts.stacking))
}
