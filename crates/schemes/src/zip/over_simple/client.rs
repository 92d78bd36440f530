//! The client of ZipPIR: `Setup`, `Query` and `Extract` of Algorithm 5.

use papir_core::scheme::{Client, Parameters, check_indices};
use papir_core::{Error, NoProgress, Progress, Record, Result};
use papir_lattice::lwe32::UnitVector;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::noise::{CENTRE, LOG2_DELTA};
use super::params::ZipParams;
use super::wire::{ZipAnswer, ZipQuery};
use super::{Strength, Zip, masks};
use crate::simple::columns;
use crate::simple::layout::Place;
use crate::zip::compression::client::{Opening, Row, State};
use crate::zip::compression::wire::{Keys, Public, Ticket};

/// What opens one answer, and where the record lies in its column.
pub struct ZipSecret {
    opening: Opening,
    unit: u64,
    slot: u64,
}

impl Drop for ZipSecret {
    fn drop(&mut self) {
        self.unit.zeroize();
        self.slot.zeroize();
    }
}

/// A client. It holds nothing of the database.
pub struct ZipClient<T> {
    params: ZipParams<T>,
    public: Public,
}

impl<T: Strength> Client<Zip<T>> for ZipClient<T> {
    fn new(params: ZipParams<T>, public: Public) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &ZipParams<T> {
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
    ) -> Result<(ZipSecret, ZipQuery)> {
        check_indices(T::ZIP.0, &self.params.shape(), indices, 1)?;
        let state = state.ok_or(Error::Session { scheme: T::ZIP.0, what: "client state" })?;
        let (place, mut rng) = (self.params.layout.place(indices[0]), SecretRng::new(rng));
        let key = self.params.compression.lwe.key(&mut rng);
        let scheme = (T::ZIP.0, &self.params.compression);
        let (opening, masked) = state.mask(scheme, &self.public.digest, &key, &NoProgress)?;
        let values = self.encrypt(&key, &place, &mut rng);
        let Place { unit, slot, .. } = place;
        Ok((ZipSecret { opening, unit, slot }, ZipQuery { key: masked, values }))
    }

    /// Takes the same time whether the answer decodes or not.
    fn extract(&self, secret: ZipSecret, answer: ZipAnswer) -> Result<Vec<Record>> {
        let rows = self.rows(&secret, answer)?;
        let column = rows.iter().map(|(word, _)| word.wrapping_add(CENTRE));
        let column: Zeroizing<Vec<u8>> = Zeroizing::new(column.collect());
        let distance = rows.iter().fold(0, |worst, (_, distance)| worst.max(*distance));
        if distance > self.params.budget.bound {
            return Err(Error::NotDecodable);
        }
        let (shape, place) = (self.params.shape(), (secret.unit, secret.slot));
        Ok(vec![columns::select(shape, &self.params.layout, place, &column)])
    }
}

impl<T: Strength> ZipClient<T> {
    /// Line 14: the column's unit vector under the LWE key.
    fn encrypt(&self, key: &[u32], place: &Place, rng: &mut dyn CryptoRng) -> Vec<u32> {
        let length = self.params.layout.columns;
        let unit = UnitVector { selected: place.column, length, log2_delta: LOG2_DELTA };
        let lwe = &self.params.compression.lwe;
        lwe.encrypt(&masks(self.public.seed), key, unit, self.params.query_bits(), rng)
    }

    /// Words and distances of the answer's column.
    pub(super) fn rows(&self, secret: &ZipSecret, answer: ZipAnswer) -> Result<Zeroizing<Vec<Row>>> {
        secret.opening.rows(&self.params.compression, answer.0)
    }
}
