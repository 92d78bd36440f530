//! The client of DoublePIR: `Query` and `Recover` of section 5.

use papir_core::scheme::{Client, Never, Parameters, Scheme, check_indices};
use papir_core::{Error, Record, Result};
use papir_kernels::bits;
use papir_lattice::lwe32::{LOG2_Q, N, UnitVector, decode, dot};
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::Double;
use super::digits::{self, BODY, MASK};
use super::first::{self, first_masks};
use super::layout::{Layout, Place};
use super::noise::{FIRST, SECOND};
use super::params::DoubleParams;
use super::second::{digit_rows, second_masks};
use super::wire::{DoubleAnswer, DoublePublic, DoubleQuery};

/// What opens one answer: a secret for each level and where the record lies in its unit.
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
        check_indices(Double::NAME, &self.params.shape(), indices, 1)?;
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
    /// Both levels' unit vectors.
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

    /// What the second level's ciphertexts decode from: body − ⟨mask, s₂⟩ modulo q.
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

    /// All digits of an answer, and the largest distance of a ciphertext from a multiple of Δ. Takes the
    /// same time whether the answer decodes or not.
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

/// The unit that the digits of an answer are an encryption of under the first level's key, and its largest
/// distance.
pub(crate) fn decode_unit(layout: &Layout, key: &[u32], digits: &[u8]) -> (Zeroizing<u64>, u32) {
    let (masks, bodies) = digits.split_at(digit_rows(layout));
    let rows = masks.chunks_exact(N * MASK.count).zip(bodies.chunks_exact(BODY.count));
    let (mut unit, mut worst) = (Zeroizing::new(0), 0);
    for (byte, (mask, body)) in rows.enumerate() {
        let mask = Zeroizing::new(mask.chunks_exact(MASK.count).map(|d| MASK.join(d)).collect::<Vec<_>>());
        let (value, distance) = decode(BODY.join(body).wrapping_sub(dot(&mask, key)), FIRST.log2_delta);
        *unit |= u64::from((value as u8).wrapping_add(first::CENTRE)) << (8 * byte);
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
