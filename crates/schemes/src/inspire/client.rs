//! QUERY and EXTRACT (Algorithms 8 and 10).

use papir_core::scheme::{self, Never, check_indices};
use papir_core::{Error, Record, Result};
use papir_lattice::lwe::encrypt_selector;
use papir_lattice::mod_switch::{PowerSwitch, round_elements};
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::rgsw::encrypt_monomial;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::{Poly, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::Inspire;
use super::decode::unwhiten;
use super::layout::{Layout, Location, PLAINTEXT};
use super::masks::{packing, rgsw_masks, selector_mask, whitening};
use super::params::Params;
use super::wire::{Answer, Public, Query};

/// A client: the parameters and the masks of the packing keys.
pub struct Client {
    params: Params,
    public: Public,
    packing: Inspiring,
    rgsw_masks: Vec<Poly<Values>>,
}

/// What opens one answer: the key and where the record lies. Erased on drop.
pub struct Secret {
    key: SecretKey,
    /// Boxed, so that moving the secret leaves no copy of it behind.
    location: Box<Location>,
}

impl Secret {
    /// The ring secret, for measuring noise.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }
}

impl scheme::Client<Inspire> for Client {
    fn new(params: Params, public: Public) -> Result<Self> {
        let packing = packing(&params, &public.seed)?;
        let rgsw_masks = rgsw_masks(&params, &public.seed);
        Ok(Self { params, public, packing, rgsw_masks })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Secret, Query)> {
        check_indices(super::params::NAME, &self.params.layout().shape, indices, 1)?;
        let location = Box::new(self.params.layout().locate(indices[0]));
        let mut rng = SecretRng::new(rng);
        let secret = Secret { key: SecretKey::generate(self.params.rlwe(), &mut rng), location };
        let (params, seed, column) = (&self.params, &self.public.seed, secret.location.column);
        let selector = selector(params, seed, &secret.key, column, &mut rng);
        let query = Query { selector, keys: self.keys(&secret, &mut rng) };
        Ok((secret, query))
    }

    fn extract(&self, secret: Secret, answer: Answer) -> Result<Vec<Record>> {
        let layout = self.params.layout();
        let mut bytes = Zeroizing::new(Vec::with_capacity(layout.bundle.unit_bytes));
        let mut decodes = true;
        let parts = answer.masks.chunks_exact(layout.degree).zip(answer.bodies.chunks_exact(layout.degree));
        for (chunk, (mask, body)) in parts.enumerate() {
            let words = decrypt(&self.params, &secret.key, mask, body);
            // All words are looked at, also after one that is none.
            decodes &= words.iter().fold(true, |all, &word| all & (word < 1 << 16));
            let part = (chunk, secret.location.element);
            bytes.extend_from_slice(&unwhitened(layout, &self.public.seed, part, &words));
        }
        if !decodes {
            return Err(Error::NotDecodable);
        }
        Ok(vec![layout.bundle.select(&bytes, secret.location.slot)])
    }
}

impl Client {
    /// Lines 12 to 15: y_g, y_h and the RGSW encryptions of the record's point, rounded.
    fn keys(&self, secret: &Secret, rng: &mut dyn CryptoRng) -> Vec<u64> {
        let mut elements = self.packing.generate_key(&secret.key, rng).into_elements();
        elements.extend(self.point(secret, rng));
        round_keys(&self.params, elements)
    }

    /// RGSW(X^e) for each variable.
    fn point(&self, secret: &Secret, rng: &mut dyn CryptoRng) -> Vec<Poly<Values>> {
        let (params, layout) = (&self.params, self.params.layout());
        let exponents = Zeroizing::new(layout.interpolation.exponents(secret.location.point, layout.degree));
        let masks = self.rgsw_masks.chunks_exact(params.rgsw_rows());
        let rows = masks.zip(exponents.iter()).flat_map(|(masks, &exponent)| {
            encrypt_monomial(params.rlwe(), &secret.key, masks, exponent, params.rgsw(), rng)
        });
        rows.collect()
    }
}

/// Lines 7 to 11: LWE encryptions of the unit vector of a column, under a seed's masks, rounded.
pub(crate) fn selector(
    params: &Params,
    seed: &Seed,
    key: &SecretKey,
    column: u32,
    rng: &mut dyn CryptoRng,
) -> Vec<u64> {
    let masks = (0..).map(|block| selector_mask(params, seed, block));
    let columns = params.layout().columns;
    let bodies = encrypt_selector(params.rlwe(), key, masks, columns, column, params.scale(), rng);
    let switch = PowerSwitch::new(params.rlwe().ring().modulus(), params.literal().query_bits);
    bodies.into_iter().map(|body| switch.down(body)).collect()
}

/// Key material rounded to the bits of [`Params::key_elements`].
pub(crate) fn round_keys(params: &Params, elements: Vec<Poly<Values>>) -> Vec<u64> {
    let rounded = elements.into_iter().zip(params.key_elements());
    let ring = params.rlwe().ring();
    rounded.flat_map(|(element, bits)| round_elements(ring, bits, vec![element])).collect()
}

/// The words of one ring element of an answer.
pub(crate) fn decrypt(params: &Params, key: &SecretKey, mask: &[u64], body: &[u64]) -> Zeroizing<Vec<u32>> {
    params.answer_bits().decrypt(params.rlwe().ring(), key, PLAINTEXT.into(), mask, body)
}

/// The bytes of an element's words in a chunk, without the public whitening of a seed. Which part of the stream
/// that is tells which element was asked for, so it is erased too.
pub(crate) fn unwhitened(
    layout: &Layout,
    seed: &Seed,
    (chunk, element): (usize, u64),
    words: &[u32],
) -> Zeroizing<Vec<u8>> {
    let length = layout.element_bytes();
    let mut stream = whitening(seed, chunk);
    stream.seek(element * length as u64);
    let mut bytes = Zeroizing::new(vec![0; length]);
    stream.fill(&mut bytes);
    unwhiten(words, &mut bytes);
    bytes
}
