//! The client of ZipPIR on DoublePIR.

use papir_core::scheme::{Client, Parameters, check_indices};
use papir_core::{Error, NoProgress, Progress, Record, Result};
use papir_lattice::lwe32::UnitVector;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::noise::LOG2_DELTA;
use super::params::ZipDoubleParams;
use super::wire::{ZipDoubleAnswer, ZipDoubleQuery};
use super::{ZipDouble, second_masks};
use crate::double::client::decode_unit;
use crate::double::digits::{CENTRE, DIGIT_BITS};
use crate::double::first::first_masks;
use crate::double::layout::Place;
use crate::double::noise::FIRST;
use crate::zip::compression::Strength;
use crate::zip::compression::client::{Opening, Row, State};
use crate::zip::compression::slots::decode;
use crate::zip::compression::wire::{Keys, Public, Ticket};

/// What opens one answer: a key for each level and where the record lies in its unit.
pub struct ZipDoubleSecret {
    opening: Opening,
    /// s₁, n words modulo q.
    first: Vec<u32>,
    /// s₂, bits.
    second: Vec<u32>,
    slot: u64,
}

impl Drop for ZipDoubleSecret {
    fn drop(&mut self) {
        self.first.zeroize();
        self.second.zeroize();
        self.slot.zeroize();
    }
}

/// A client. It holds nothing of the database.
pub struct ZipDoubleClient<T> {
    params: ZipDoubleParams<T>,
    public: Public,
}

impl<T: Strength> Client<ZipDouble<T>> for ZipDoubleClient<T> {
    fn new(params: ZipDoubleParams<T>, public: Public) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &ZipDoubleParams<T> {
        &self.params
    }

    fn register(&self, rng: &mut dyn CryptoRng) -> Result<Option<(State, Keys)>> {
        State::new(&self.params.compression, rng).map(Some)
    }

    fn next_ticket(&self, state: &State) -> Option<u64> {
        Some(state.next())
    }

    fn state_fits(&self, _state: &State) -> bool {
        true
    }

    fn prepare(&self, state: &mut State, queries: usize, progress: &dyn Progress) -> Result<()> {
        state.prepare(&self.params.compression, queries, progress);
        Ok(())
    }

    fn hold(&self, state: &mut State, ticket: Ticket) -> Result<()> {
        state.hold(&self.params.compression, &self.public.digest, ticket)
    }

    fn query(
        &self,
        state: Option<&mut State>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ZipDoubleSecret, ZipDoubleQuery)> {
        let (scheme, compression) = (T::ZIP_DOUBLE.0, &self.params.compression);
        check_indices(scheme, &self.params.shape(), indices, 1)?;
        let state = state.ok_or(Error::Session { scheme, what: "client state" })?;
        let (place, mut rng) = (self.params.layout.place(indices[0]), SecretRng::new(rng));
        let (first, second) = (self.params.lwe.key(&mut rng), compression.lwe.key(&mut rng));
        let (opening, key) = state.mask((scheme, compression), &self.public.digest, &second, &NoProgress)?;
        let [one, two] = self.encrypt(&place, [&first, &second], &mut rng);
        let secret =
            ZipDoubleSecret { opening, first: first.to_vec(), second: second.to_vec(), slot: place.slot };
        Ok((secret, ZipDoubleQuery { key, first: one, second: two }))
    }

    /// Takes the same time whether the answer decodes or not.
    fn extract(&self, secret: ZipDoubleSecret, answer: ZipDoubleAnswer) -> Result<Vec<Record>> {
        let rows = self.rows(&secret, answer)?;
        let digits = rows.iter().map(|(digit, _)| digit.wrapping_add(CENTRE) & ((1 << DIGIT_BITS) - 1));
        let digits: Zeroizing<Vec<u8>> = Zeroizing::new(digits.collect());
        let second = rows.iter().fold(0, |worst, (_, distance)| worst.max(*distance));
        let (unit, first) = decode_unit(&self.params.layout, &secret.first, &digits);
        if first > self.params.budget.first || second > self.params.budget.second {
            return Err(Error::NotDecodable);
        }
        let record = Zeroizing::new(self.params.layout.record(*unit, secret.slot).to_le_bytes());
        Ok(vec![record[..self.params.shape().record_bytes()].to_vec()])
    }
}

impl<T: Strength> ZipDoubleClient<T> {
    /// Both levels' unit vectors.
    fn encrypt(&self, place: &Place, keys: [&[u32]; 2], rng: &mut SecretRng) -> [Vec<u32>; 2] {
        let ZipDoubleParams { layout, budget, lwe, compression, .. } = &self.params;
        let seed = self.public.seed;
        let unit = |selected, length, log2_delta| UnitVector { selected, length, log2_delta };
        let first = unit(place.column, layout.columns, FIRST.log2_delta);
        let second = unit(place.unit, layout.units, LOG2_DELTA);
        let (one, two) = (first_masks(seed), second_masks(seed));
        let first = lwe.encrypt(&one, keys[0], first, budget.first_bits, rng);
        [first, compression.lwe.encrypt(&two, keys[1], second, budget.second_bits, rng)]
    }

    /// Digits and distances of the second level: those of the first hint, then those of the first answer.
    pub(super) fn rows(
        &self,
        secret: &ZipDoubleSecret,
        answer: ZipDoubleAnswer,
    ) -> Result<Zeroizing<Vec<Row>>> {
        let mut rows = secret.opening.rows(&self.params.compression, answer.product)?;
        let online = answer.online.chunks_exact(self.params.compression.n() + 1).map(|row| {
            let (masks, body) = row.split_at(row.len() - 1);
            let product = masks.iter().zip(&secret.second);
            let product =
                product.fold(0u16, |sum, (mask, bit)| sum.wrapping_add(mask.wrapping_mul(*bit as u16)));
            decode(body[0].wrapping_sub(product), DIGIT_BITS)
        });
        rows.extend(online);
        Ok(rows)
    }
}
