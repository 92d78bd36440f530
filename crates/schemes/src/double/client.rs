//! The client of DoublePIR: `Query` and `Recover` of section 5.

use papir_core::scheme::{Client, Never, Parameters, check_indices};
use papir_core::{Error, Record, Result};
use papir_kernels::{Backend, bits};
use papir_lattice::lwe32::{LOG2_Q, N, UnitVector, decode, dot};
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::levels::{
    BODY, BYTE_CENTRE, CENTRE, DIGIT_BITS, MASK, digit_rows, first_masks, second_masks,
};
use super::noise::{FIRST, SECOND};
use super::params::{Double, DoubleParams, NAME};
use super::wire::{DoubleAnswer, DoublePublic, DoubleQuery};
use crate::shared::byte_matrix::Layout;
use crate::shared::digits::Digits;
use crate::shared::units::decoded;

/// Secret of one query: a secret for each level, and the place of the record in its unit. It is
/// erased on drop.
pub struct DoubleSecret {
    /// s₁ and s₂, the secrets of both levels, n words modulo q each.
    pub(super) keys: [Zeroizing<Vec<u32>>; 2],
    /// Position of the record in its unit. It is boxed, so that moving the secret leaves no copy
    /// behind.
    slot: Box<Zeroizing<u64>>,
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
        let DoubleParams {
            layout, bits, lwe, ..
        } = &self.params;

        let place = layout.place(indices[0]);
        let mut rng = SecretRng::new(rng);

        // Two secrets: the levels must not share one.
        let secret = DoubleSecret {
            keys: [(); 2].map(|()| lwe.key(&mut rng)),
            slot: Box::new(Zeroizing::new(place.slot)),
        };

        let column = UnitVector {
            selected: place.column,
            length: layout.columns,
            log2_delta: FIRST.log2_delta,
        };
        let unit = UnitVector {
            selected: place.unit,
            length: layout.units,
            log2_delta: SECOND.log2_delta,
        };

        let masks = [
            first_masks(self.public.seed),
            second_masks(self.public.seed),
        ];
        let query = DoubleQuery {
            first: lwe.encrypt(&masks[0], &secret.keys[0], column, bits.first, &mut rng),
            second: lwe.encrypt(&masks[1], &secret.keys[1], unit, bits.second, &mut rng),
        };

        Ok((secret, query))
    }

    fn extract(&self, secret: DoubleSecret, answer: DoubleAnswer) -> Result<Vec<Record>> {
        let DoubleParams { layout, bounds, .. } = &self.params;

        // Both levels are opened in full, and the record is selected, before either may refuse: the
        // time tells nothing.
        let (digits, second) = self.decode_digits(&secret.keys[1], &answer)?;
        let (unit, first) = decode_unit(layout, &secret.keys[0], &digits);
        let record = layout.unit_layout.select(&unit, **secret.slot);
        let decodes = (first <= bounds.first) & (second <= bounds.second);
        decoded(vec![record], decodes)
    }
}

impl DoubleClient {
    /// Computes the phases of the second level's ciphertexts: body − ⟨mask, s₂⟩ modulo q.
    pub(super) fn phases(&self, key: &[u32], answer: &DoubleAnswer) -> Result<Zeroizing<Vec<u32>>> {
        let backend = Backend::current();
        let mask = self.params.bits.mask;
        let body = self.params.bits.body;

        let mut phases = Zeroizing::new(Vec::with_capacity(answer.bodies.len()));
        let mut wide = Vec::new();
        let mut row = vec![0; N];

        for packed in self.public.hint.chunks_exact(self.params.hint_row_bytes()) {
            bits::unpack(backend, packed, mask, N, &mut wide)
                .map_err(|error| Error::malformed("double's hint", error, "whole rows"))?;
            row.iter_mut()
                .zip(&wide)
                .for_each(|(word, &wide)| *word = wide as u32);
            phases.push(dot(&row, key));
        }

        phases.extend(answer.masks.chunks_exact(N).map(|row| dot(row, key)));
        for (phase, &value) in phases.iter_mut().zip(&answer.bodies) {
            *phase = (value << (LOG2_Q - body)).wrapping_sub(*phase << (LOG2_Q - mask));
        }

        Ok(phases)
    }

    /// Decodes all digits of an answer. Returns them and the largest distance of a ciphertext from
    /// a multiple of Δ. The time is the same if the answer does not decode.
    fn decode_digits(
        &self,
        key: &[u32],
        answer: &DoubleAnswer,
    ) -> Result<(Zeroizing<Vec<u8>>, u32)> {
        let phases = self.phases(key, answer)?;

        let mut worst = 0;
        let digits = phases.iter().map(|&phase| {
            let (value, distance) = decode(phase, SECOND.log2_delta);
            worst = worst.max(distance);
            (value as u8).wrapping_add(CENTRE) & ((1 << DIGIT_BITS) - 1)
        });
        let digits = Zeroizing::new(digits.collect());

        Ok((digits, worst))
    }
}

/// Decodes the unit that the digits of an answer encrypt under the first level's key. Returns the
/// unit's bytes and their largest distance from a multiple of Δ.
pub(crate) fn decode_unit(
    layout: &Layout,
    key: &[u32],
    digits: &[u8],
) -> (Zeroizing<Vec<u8>>, u32) {
    let split = UnitDigits {
        mask: MASK,
        body: BODY,
        rows: digit_rows(layout),
    };
    join_unit(split, key, digits, |&digit| digit.into())
}

/// Numbers of digits in a unit's hint rows and in its first answers.
#[derive(Clone, Copy)]
pub(super) struct UnitDigits {
    pub(super) mask: Digits,
    pub(super) body: Digits,
    /// Number of digits in all hint rows of the unit. The digits of the answers follow them.
    pub(super) rows: usize,
}

/// Does the work of [`decode_unit`] for digits of any type; `value` returns the number of a digit.
/// It is the paper's `Recomp`.
pub(super) fn join_unit<D>(
    UnitDigits { mask, body, rows }: UnitDigits,
    key: &[u32],
    digits: &[D],
    value: impl Fn(&D) -> u64 + Copy,
) -> (Zeroizing<Vec<u8>>, u32) {
    let (masks, bodies) = digits.split_at(rows);
    let bytes = masks
        .chunks_exact(N * mask.count)
        .zip(bodies.chunks_exact(body.count));

    let mut worst = 0;
    let mut unit = Zeroizing::new(Vec::with_capacity(bytes.len()));
    for (masks, bodies) in bytes {
        let row = masks
            .chunks_exact(mask.count)
            .map(|digits| mask.join_leading(digits.iter().map(value)));
        let row = Zeroizing::new(row.collect::<Vec<_>>());
        let body = body.join_leading(bodies.iter().map(value));

        let (value, distance) = decode(body.wrapping_sub(dot(&row, key)), FIRST.log2_delta);
        worst = worst.max(distance);
        unit.push((value as u8).wrapping_add(BYTE_CENTRE));
    }

    (unit, worst)
}
