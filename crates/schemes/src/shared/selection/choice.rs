//! Choice of the bits of all messages of a packed selection.
//!
//! One part of the messages can be rounded more if another part is rounded less. The search finds
//! few bits in total within the bound on the noise ([`super::bits`]).

use std::ops::RangeInclusive;

use papir_lattice::gadget::GadgetParams;
use papir_lattice::response::ResponseBits;

use super::bits::{MAX_ANSWER_BITS, Selection, SelectionBits};
use super::ring::DEGREE;
use super::variant::{Masks, PackedVariant};

/// Numbers and widths of gadget digits that are compared.
const LEVELS: RangeInclusive<usize> = 1..=3;
const LOG_BASES: RangeInclusive<u32> = 8..=28;
/// Largest number of further bits of a body that is tried. A body has at least one bit more than a
/// word.
const MORE_BODY_BITS: u32 = 4;

impl Selection {
    /// The bits and the gadget with the fewest bytes; `None` if no answer decodes.
    pub fn choose<V: PackedVariant>(&self) -> Option<SelectionBits> {
        let gadgets = gadgets(self.ring.modulus_bits())
            .filter(|gadget| V::takes(DEGREE, self.capacity, *gadget));
        let bodies = self.body_bits();

        let candidates = gadgets.flat_map(|gadget| {
            bodies
                .iter()
                .filter_map(move |bodies| self.choose_bits::<V>(gadget, bodies.clone()))
        });
        candidates.min_by_key(|bits| self.message_bits::<V>(bits))
    }

    /// Returns ranges of the bits of bodies. Within a range, the variance of bodies is traded
    /// against the variance of other parts.
    fn body_bits(&self) -> Vec<RangeInclusive<u32>> {
        let least = self.plain_bits + 1;
        match self.masks {
            Masks::Answers => vec![1..=MAX_ANSWER_BITS],
            Masks::Public => (least..=least + MORE_BODY_BITS)
                .map(|bits| bits..=bits)
                .collect(),
        }
    }

    fn choose_bits<V: PackedVariant>(
        &self,
        gadget: GadgetParams,
        bodies_in: RangeInclusive<u32>,
    ) -> Option<SelectionBits> {
        // Rounding adds to the noise: a key that is too noisy with all its bits has no shorter form
        // that fits.
        let budget = self.budget(*bodies_in.start());
        let packing = |bits| self.packing::<V>(gadget, [bits; 2]);
        if packing(self.ring.most_bits()) > budget {
            return None;
        }

        let [selector, keys, masks, bodies] = self.words::<V>(gadget);
        let selected = self.stacking.reach() + 1..=self.most_query_bits();
        let parts = [
            MessagePart {
                words: selector,
                variance: &|bits| self.selection(bits),
                bits: selected,
            },
            MessagePart {
                words: keys,
                variance: &packing,
                bits: 1..=self.ring.most_bits(),
            },
            MessagePart {
                words: masks,
                variance: &|bits| self.ring.mask_switch(bits),
                bits: self.plain_bits + 1..=MAX_ANSWER_BITS,
            },
            MessagePart {
                words: bodies,
                variance: &|bits| self.body_variance(bits),
                bits: bodies_in,
            },
        ];

        let [query, key, a, b] = spend(&parts, budget)?;
        let bits = SelectionBits {
            gadget,
            query,
            key,
            last_key: key,
            answer: ResponseBits { a, b },
        };
        // A checked answer has no body of more bits than its mask.
        (b <= a).then(|| self.with_short_last_key::<V>(bits, budget))
    }

    /// Removes bits of the key's last matrix as long as the variance is at most `budget`. Answers
    /// that carry their masks are of schemes whose matrices all have as many bits.
    fn with_short_last_key<V: PackedVariant>(
        &self,
        bits: SelectionBits,
        budget: f64,
    ) -> SelectionBits {
        if self.masks == Masks::Answers || V::matrices(DEGREE, self.capacity) == 1 {
            return bits;
        }
        let shorter = (1..bits.key).map(|last_key| SelectionBits { last_key, ..bits });
        // The noise falls with each bit: the first that holds has the fewest.
        let mut holding = shorter.filter(|bits| self.noise::<V>(bits).total() <= budget);
        holding.next().unwrap_or(bits)
    }
}

/// Returns gadgets whose digits and dropped bits cover q.
fn gadgets(modulus_bits: u32) -> impl Iterator<Item = GadgetParams> {
    LEVELS.flat_map(move |levels| {
        LOG_BASES.filter_map(move |log_base| covering(modulus_bits, levels, log_base))
    })
}

/// Returns the gadget with these digits that covers q, or `None` if the digits are longer than q.
fn covering(modulus_bits: u32, levels: usize, log_base: u32) -> Option<GadgetParams> {
    let drop = modulus_bits.checked_sub(levels as u32 * log_base)?;
    Some(GadgetParams {
        levels,
        log_base,
        drop,
    })
}

/// A part of the messages: its number of words, and the variance that it adds with each number of
/// bits. With one bit more, a quarter of the variance is left, or more.
struct MessagePart<'a> {
    words: usize,
    variance: &'a dyn Fn(u32) -> f64,
    bits: RangeInclusive<u32>,
}

impl MessagePart<'_> {
    /// Returns the variance that one bit more than `bits` saves, for each word.
    fn gain(&self, bits: u32) -> f64 {
        ((self.variance)(bits) - (self.variance)(bits + 1)) / self.words.max(1) as f64
    }
}

/// Returns the sum of the parts' variances with these bits.
fn total_variance<const N: usize>(parts: &[MessagePart<'_>; N], bits: &[u32; N]) -> f64 {
    bits.iter()
        .zip(parts)
        .map(|(&bits, part)| (part.variance)(bits))
        .sum()
}

/// Returns bits for each part, few in total, with a variance of at most `budget`. Returns `None` if
/// a part alone exceeds it.
///
/// It starts with the bits that each part needs alone, gives the next bit to the part where the bit
/// reduces the variance most for its words, and takes back spare bits.
fn spend<const N: usize>(parts: &[MessagePart<'_>; N], budget: f64) -> Option<[u32; N]> {
    let mut bits = [0; N];
    // Below these bits a part alone exceeds the budget: no solution has fewer.
    for (bits, part) in bits.iter_mut().zip(parts) {
        *bits = part
            .bits
            .clone()
            .find(|&bits| (part.variance)(bits) <= budget)?;
    }

    while total_variance(parts, &bits) > budget {
        let open = (0..N).filter(|&i| bits[i] < *parts[i].bits.end());
        let best = open.max_by(|&a, &b| {
            let gain = parts[a].gain(bits[a]);
            gain.total_cmp(&parts[b].gain(bits[b]))
        })?;
        bits[best] += 1;
    }

    // The longest parts first: a spare bit of theirs saves most.
    let mut by_words: [usize; N] = std::array::from_fn(|i| i);
    by_words.sort_by_key(|&i| std::cmp::Reverse(parts[i].words));
    for i in by_words {
        while bits[i] > *parts[i].bits.start() {
            bits[i] -= 1;
            if total_variance(parts, &bits) > budget {
                bits[i] += 1;
                break;
            }
        }
    }

    Some(bits)
}
