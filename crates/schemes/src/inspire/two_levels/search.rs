//! Search for the message bits with the smallest messages that decode at both levels.
//!
//! The first level is switched to whole digits: A = τ·D bits of a mask word and B = τ′·D of a body
//! word. For each D, τ, τ′ and rounding of keys, the variance that each level's threshold leaves
//! after packing and switching goes to the rounding of its selector, in closed form.

use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Setting, bits_for_rounding, variance_for};
use papir_lattice::response::ResponseBits;

use super::layout::Layout;
use super::literal::{Bits, Literal};
use super::noise::{Noise, NoiseInput};
use crate::shared::digits::Digits;

/// log₂ of the default modulus, rounded up.
const LOG2_Q: u32 = 56;
/// log₂ of the failure probability of each level. With the sampler's share the sum is at most 2⁻⁴⁰.
const LEVEL_FAILURE_LOG2: f64 = -41.5;
/// Widths of a digit that are compared.
const DIGIT_BITS: std::ops::RangeInclusive<u32> = 5..=15;
/// log₂ z of the gadgets of two digits that are compared; they drop the remaining low bits of q.
const LOG_BASES: std::ops::RangeInclusive<u32> = 12..=19;
/// Bits of a coefficient of key material.
const KEY_BITS: std::ops::RangeInclusive<u32> = 30..=54;
/// Most bits of a body beyond those of its digit; more make no message smaller.
const BODY_MARGIN: u32 = 6;

/// The bits with the smallest messages for a literal, whose own bits are ignored; `None` if none
/// decode.
pub(super) fn choose(literal: &Literal, layout: &Layout, max_query_bits: u32) -> Option<Bits> {
    let search = Search { literal, layout, max_query_bits };
    let keys =
        LOG_BASES.flat_map(|log_base| KEY_BITS.map(move |bits| Key { gadget: gadget(log_base), bits }));
    let digits = DIGIT_BITS.flat_map(|bits| search.digits(bits));
    let bits = digits.flat_map(|digits| keys.clone().filter_map(move |key| search.complete(digits, key)));
    bits.min_by_key(|bits| search.message_bits(bits))
}

/// Two digits of `log_base` bits at the top of a modulus of 56 bits.
pub(super) const fn gadget(log_base: u32) -> GadgetParams {
    GadgetParams { levels: 2, log_base, drop: LOG2_Q - 2 * log_base }
}

/// Gadget and bits of the keys.
#[derive(Clone, Copy)]
struct Key {
    gadget: GadgetParams,
    bits: u32,
}

#[derive(Clone, Copy)]
struct Search<'a> {
    literal: &'a Literal,
    layout: &'a Layout,
    max_query_bits: u32,
}

impl<'a> Search<'a> {
    /// The fewest digits of this width that the first level may have, and one more of each.
    fn digits(self, bits: u32) -> impl Iterator<Item = (Digits, Digits)> + use<'a> {
        let counts = move |least: u32| {
            let first = least.div_ceil(bits);
            (first..=first + 1).filter(move |count| count * bits <= 32).map(move |count| count as usize)
        };
        // Below 22 and 17 bits switching alone exceeds the threshold of a 16-bit word.
        counts(22).flat_map(move |mask| {
            let body = counts(17).filter(move |&body| body <= mask);
            body.map(move |body| (Digits { bits, count: mask }, Digits { bits, count: body }))
        })
    }

    fn input(&self, (mask, body): (Digits, Digits), Key { gadget, bits }: Key) -> NoiseInput {
        let answer = ResponseBits { a: 32, b: 32 };
        let bits = Bits { gadget, query: [self.max_query_bits; 2], key: bits, mask, body, answer };
        NoiseInput::new(&self.literal.with_bits(bits), self.layout)
    }

    /// The best other bits; `None` if no variance is left for them.
    fn complete(self, digits: (Digits, Digits), key: Key) -> Option<Bits> {
        let input = self.input(digits, key);
        let first = self.first_query(&input)?;
        let second = self.second(&input)?;
        let (mask, body) = digits;
        let Key { gadget, bits } = key;
        let bits = |(second, answer)| Bits { gadget, query: [first, second], key: bits, mask, body, answer };
        second.into_iter().map(bits).min_by_key(|bits| self.message_bits(bits))
    }

    /// Bits of the first selector.
    fn first_query(&self, input: &NoiseInput) -> Option<u32> {
        let noise = Noise::compute(input);
        let allowed = variance_for(input.first_threshold(), input.coefficients()[0], LEVEL_FAILURE_LOG2);
        self.query_bits(input, 0, allowed - noise.first - noise.first_switch)
    }

    /// Pairs of bits of the second selector and of an answer.
    fn second(&self, input: &NoiseInput) -> Option<Vec<(u32, ResponseBits)>> {
        let noise = Noise::compute(input);
        let allowed = variance_for(input.second_threshold(), input.coefficients()[1], LEVEL_FAILURE_LOG2);
        let left = allowed - noise.second;
        let of_answer = |answer: ResponseBits| {
            let bits = self.query_bits(input, 1, left - input.setting.response_switch(answer.a, answer.b))?;
            Some((bits, answer))
        };
        let digit = input.literal.mask.bits;
        let answers = (digit + 1..=32)
            .flat_map(|a| (digit + 1..=(digit + BODY_MARGIN).min(a)).map(move |b| ResponseBits { a, b }));
        let found: Vec<_> =
            answers.filter(|&answer| self.fits(answer, input)).filter_map(of_answer).collect();
        (!found.is_empty()).then_some(found)
    }

    fn fits(&self, answer: ResponseBits, input: &NoiseInput) -> bool {
        let Setting { degree, modulus, sigma, .. } = input.setting;
        answer.fit(degree, modulus, sigma)
    }

    /// Fewest bits of a selector whose rounding, times the words of a row, adds at most `left` to
    /// the variance of the widest selector.
    fn query_bits(&self, input: &NoiseInput, level: usize, left: f64) -> Option<u32> {
        let squares = [input.first_squares(), input.second_squares()][level];
        let bits = bits_for_rounding(input.setting.modulus, left / squares)?;
        (bits <= self.max_query_bits).then_some(bits)
    }

    /// Bits of a query and of the answer, including the part that is fetched once.
    fn message_bits(&self, bits: &Bits) -> u64 {
        self.literal.with_bits(*bits).message_bits(self.layout)
    }
}
