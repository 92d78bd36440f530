//! The client of ZipPIR: `Setup`, `Query` and `Extract` of Algorithm 5.

use papir_core::scheme::{Client, Parameters, check_indices};
use papir_core::{Error, NoProgress, Progress, Record, Result};
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::base::{Base, Encrypted};
use super::params::{ZipParams, ZipPir};
use super::slots::{Row, decode};
use super::state::{Opening, State};
use super::wire::{Keys, Public, Ticket, ZipAnswer, ZipQuery};

/// The secrets that decode one answer.
pub struct ZipSecret<B: Base> {
    opening: Opening,
    /// LWE key under the hint, n bits.
    key: Zeroizing<Vec<u32>>,
    base: B::Secret,
}

/// A client. It stores nothing of the database.
pub struct ZipClient<B> {
    params: ZipParams<B>,
    public: Public,
}

impl<B: Base> Client<ZipPir<B>> for ZipClient<B> {
    fn new(params: ZipParams<B>, public: Public) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &ZipParams<B> {
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
    ) -> Result<(ZipSecret<B>, ZipQuery)> {
        let ZipParams { base, compression, .. } = &self.params;
        check_indices(B::NAME, &self.params.shape(), indices, 1)?;
        let state = state.ok_or(Error::Session { scheme: B::NAME, what: "client state" })?;
        let mut rng = SecretRng::new(rng);
        let Encrypted { key, secret, parts } = base.encrypt(self.public.seed, indices[0], &mut rng);
        let (opening, masked) = state.mask(B::NAME, compression, &self.public.digest, &key, &NoProgress)?;
        Ok((ZipSecret { opening, key, base: secret }, ZipQuery { key: masked, parts }))
    }

    /// Takes the same time whether the answer decodes or not.
    fn extract(&self, secret: ZipSecret<B>, answer: ZipAnswer) -> Result<Vec<Record>> {
        let rows = self.rows(&secret, answer)?;
        Ok(vec![self.params.base.decode(self.params.shape(), &secret.base, &rows)?])
    }
}

impl<B: Base> ZipClient<B> {
    /// Messages and distances of all rows: those of the hint, then those sent with their masks.
    pub(super) fn rows(&self, secret: &ZipSecret<B>, answer: ZipAnswer) -> Result<Zeroizing<Vec<Row>>> {
        let mut rows = secret.opening.rows(&self.params.compression, answer.product)?;
        let online = answer.online.chunks_exact(secret.key.len() + 1).map(|row| {
            let (masks, body) = row.split_at(row.len() - 1);
            let product = masks.iter().zip(secret.key.iter());
            let product =
                product.fold(0u16, |sum, (mask, bit)| sum.wrapping_add(mask.wrapping_mul(*bit as u16)));
            decode(body[0].wrapping_sub(product), B::MESSAGE_BITS)
        });
        rows.extend(online);
        Ok(rows)
    }
}
