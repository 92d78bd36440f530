//! The client of DoublePIR: `Query` and `Recover` of section 5.

use papir_core::scheme::{Client, Never, Parameters, check_indices};
use papir_core::{Error, Record, Result};
use papir_kernels::bits;
use papir_lattice::lwe32::{LOG2_Q, N, UnitVector, decode, dot};
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::digits::{self, BODY, MASK};
use super::first::{CENTRE, first_masks};
use super::layout::{Layout, Place};
use super::noise::{FIRST, SECOND};
use super::params::{Double, DoubleParams, NAME};
use super::second::{digit_rows, second_masks};
use super::wire::{DoubleAnswer, DoublePublic, DoubleQuery};
use crate::shared::digits::Digits;

/// Opens one answer: a secret for each level and the place of the record in its unit.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct DoubleSecret {
    /// s₁, n words modulo q.
    first: Vec<u32>,
    /// s₂, n words modulo q.
    second: Vec<u32>,
    slot: u64,
}

/// A client with its hint.
pub struct DoubleClient {
    params: DoubleParams,
    public: DoublePublic,
}

impl Client<Double> for DoubleClient {
    fn new(params: DoubleParams, public: DoublePublic) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &DoubleParams {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(DoubleSecret, DoubleQuery)> {
        check_indices(NAME, &self.params.shape(), indices, 1)?;
        let place = self.params.layout.place(indices[0]);
        let mut rng = SecretRng::new(rng);
        let lwe = &self.params.lwe;
        let (first, second) = (lwe.key(&mut rng), lwe.key(&mut rng));
        let query = self.encrypt(&place, [&first, &second], &mut rng);
        let secret = DoubleSecret { first: first.to_vec(), second: second.to_vec(), slot: place.slot };
        Ok((secret, query))
    }

    fn extract(&self, secret: DoubleSecret, answer: DoubleAnswer) -> Result<Vec<Record>> {
        let (digits, second) = self.decode_digits(&secret.second, &answer)?;
        let (unit, first) = decode_unit(&self.params.layout, &secret.first, &digits);
        let bounds = &self.params.bounds;
        if first > bounds.first || second > bounds.second {
            return Err(Error::NotDecodable);
        }
        let record = Zeroizing::new(self.params.layout.record(*unit, secret.slot).to_le_bytes());
        Ok(vec![record[..self.params.shape().record_bytes()].to_vec()])
    }
}

impl DoubleClient {
    /// Encrypts the unit vectors of both levels.
    fn encrypt(&self, place: &Place, keys: [&[u32]; 2], rng: &mut SecretRng) -> DoubleQuery {
        let DoubleParams { layout, bits, lwe, .. } = &self.params;
        let masks = [first_masks(self.public.seed), second_masks(self.public.seed)];
        let (selected, length) = (place.column, layout.columns);
        let first = UnitVector { selected, length, log2_delta: FIRST.log2_delta };
        let (selected, length) = (place.unit, layout.units);
        let second = UnitVector { selected, length, log2_delta: SECOND.log2_delta };
        DoubleQuery {
            first: lwe.encrypt(&masks[0], keys[0], first, bits.first, rng),
            second: lwe.encrypt(&masks[1], keys[1], second, bits.second, rng),
        }
    }

    /// Phases of the second level's ciphertexts: body − ⟨mask, s₂⟩ modulo q.
    fn phases(&self, key: &[u32], answer: &DoubleAnswer) -> Result<Zeroizing<Vec<u32>>> {
        let (mask, body) = (self.params.bits.mask, self.params.bits.body);
        let mut phases = Zeroizing::new(Vec::with_capacity(answer.bodies.len()));
        let (mut wide, mut row) = (Vec::new(), vec![0; N]);
        for packed in self.public.hint.chunks_exact(self.params.hint_row_bytes()) {
            bits::unpack(packed, mask, N, &mut wide)
                .map_err(|error| Error::malformed("double's hint", error, "whole rows"))?;
            row.iter_mut().zip(&wide).for_each(|(word, &wide)| *word = wide as u32);
            phases.push(dot(&row, key));
        }
        phases.extend(answer.masks.chunks_exact(N).map(|row| dot(row, key)));
        for (phase, &value) in phases.iter_mut().zip(&answer.bodies) {
            *phase = (value << (LOG2_Q - body)).wrapping_sub(*phase << (LOG2_Q - mask));
        }
        Ok(phases)
    }

    /// All digits of an answer, and the largest distance of a ciphertext from a multiple of Δ. Runs
    /// in the same time whether the answer decodes or not.
    fn decode_digits(&self, key: &[u32], answer: &DoubleAnswer) -> Result<(Zeroizing<Vec<u8>>, u32)> {
        let phases = self.phases(key, answer)?;
        let mut worst = 0;
        let decode_one = |&phase: &u32| {
            let (value, distance) = decode(phase, SECOND.log2_delta);
            worst = worst.max(distance);
            (value as u8).wrapping_add(digits::CENTRE) & ((1 << digits::DIGIT_BITS) - 1)
        };
        let digits = Zeroizing::new(phases.iter().map(decode_one).collect());
        Ok((digits, worst))
    }
}

/// The unit that the digits of an answer encrypt under the first level's key, and its largest
/// distance from a multiple of Δ.
pub(crate) fn decode_unit(layout: &Layout, key: &[u32], digits: &[u8]) -> (Zeroizing<u64>, u32) {
    let split = UnitDigits { mask: MASK, body: BODY, rows: digit_rows(layout) };
    join_unit(split, key, digits, |&digit| digit.into())
}

/// Digits of a unit's hint rows and of its first answers.
#[derive(Clone, Copy)]
pub(crate) struct UnitDigits {
    pub(crate) mask: Digits,
    pub(crate) body: Digits,
    /// Digits of all hint rows; those of the answers follow.
    pub(crate) rows: usize,
}

/// [`decode_unit`] from digits in any form; `value` reads one.
pub(crate) fn join_unit<D>(
    split: UnitDigits,
    key: &[u32],
    digits: &[D],
    value: impl Fn(&D) -> u64 + Copy,
) -> (Zeroizing<u64>, u32) {
    let UnitDigits { mask, body, rows } = split;
    let (masks, bodies) = digits.split_at(rows);
    let (mut unit, mut worst) = (Zeroizing::new(0), 0);
    for (byte, (masks, bodies)) in
        masks.chunks_exact(N * mask.count).zip(bodies.chunks_exact(body.count)).enumerate()
    {
        let row = masks.chunks_exact(mask.count).map(|digits| mask.join_leading(digits.iter().map(value)));
        let row = Zeroizing::new(row.collect::<Vec<_>>());
        let body = body.join_leading(bodies.iter().map(value));
        let (value, distance) = decode(body.wrapping_sub(dot(&row, key)), FIRST.log2_delta);
        *unit |= u64::from((value as u8).wrapping_add(CENTRE)) << (8 * byte);
        worst = worst.max(distance);
    }
    (unit, worst)
}

/// For tests of noise and secrets.
#[cfg(test)]
impl DoubleSecret {
    pub(super) fn keys(&self) -> [&[u32]; 2] {
        [&self.first, &self.second]
    }
}

#[cfg(test)]
impl DoubleClient {
    pub(super) fn phases_of(&self, secret: &DoubleSecret, answer: &DoubleAnswer) -> Vec<u32> {
        self.phases(&secret.second, answer).unwrap_or_default().to_vec()
    }
}
