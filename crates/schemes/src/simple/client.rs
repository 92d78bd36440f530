//! Client of SimplePIR: `Query` and `Recover` of figure 2.

use papir_core::scheme::{Client, Never, Parameters, check_indices};
use papir_core::{Record, Result};
use papir_lattice::lwe32::{self, LOG2_Q, N, UnitVector, dot};
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::noise::{CENTRE, LOG2_DELTA};
use super::params::{NAME, Simple, SimpleParams, masks};
use super::wire::{SimpleAnswer, SimplePublic, SimpleQuery};
use crate::shared::byte_matrix::RecordPlace;
use crate::shared::units::decoded;

/// Secret of one query: the LWE secret, and the place of the record in its column. It is erased on
/// drop.
pub struct SimpleSecret {
    /// LWE secret s, n words modulo q.
    pub(super) key: Zeroizing<Vec<u32>>,
    /// Place of the record. It is boxed, so that moving the secret leaves no copy behind.
    place: Box<RecordPlace>,
}

impl SimpleSecret {
    /// Returns the LWE secret s, n words modulo q, for test vectors.
    pub fn key(&self) -> &[u32] {
        &self.key
    }
}

/// A client with its hint.
pub struct SimpleClient {
    params: SimpleParams,
    public: SimplePublic,
}

impl Client<Simple> for SimpleClient {
    fn new(params: SimpleParams, public: SimplePublic) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &SimpleParams {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(SimpleSecret, SimpleQuery)> {
        check_indices(NAME, &self.params.shape(), indices, 1)?;
        let SimpleParams { lwe, layout, .. } = &self.params;
        let place = Box::new(layout.place(indices[0]));

        let mut rng = SecretRng::new(rng);
        let secret = SimpleSecret {
            key: lwe.key(&mut rng),
            place,
        };

        let column = UnitVector {
            selected: secret.place.column,
            length: layout.columns,
            log2_delta: LOG2_DELTA,
        };
        let values = lwe.encrypt(
            &masks(self.public.seed),
            &secret.key,
            column,
            LOG2_Q,
            &mut rng,
        );

        Ok((secret, SimpleQuery { values }))
    }

    fn extract(&self, secret: SimpleSecret, answer: SimpleAnswer) -> Result<Vec<Record>> {
        let (column, distance) = self.decode(&secret.key, &answer)?;
        let record = self.params.layout.select(&secret.place, &column);
        decoded(vec![record], distance <= self.params.budget.bound)
    }
}

impl SimpleClient {
    /// Decodes all bytes of the answer's column. Returns them and the largest distance of a row
    /// from a multiple of Δ. The time is the same if the answer does not decode.
    fn decode(&self, key: &[u32], answer: &SimpleAnswer) -> Result<(Zeroizing<Vec<u8>>, u32)> {
        let hint = self.public.hint.slice_of::<u32>("simple's hint")?;
        let mut worst = 0;

        // Allocated once, since a vector that grows leaves copies of the secret bytes.
        let mut column = Zeroizing::new(Vec::<u8>::with_capacity(answer.values.len()));
        for (row, &value) in hint.chunks_exact(N).zip(&answer.values) {
            let sum = (value as u32) << self.params.budget.dropped_bits;
            let (word, distance) = lwe32::decode(sum.wrapping_sub(dot(row, key)), LOG2_DELTA);
            worst = worst.max(distance);
            column.push((word as u8).wrapping_add(CENTRE));
        }

        Ok((column, worst))
    }
}
