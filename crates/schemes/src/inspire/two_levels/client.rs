//! Client of InsPIRe⁽²⁾: QUERY and EXTRACT (Algorithms 4 and 6).

use std::sync::Arc;

use papir_core::scheme::{self, Never, check_indices};
use papir_core::{Error, Record, Result};
use papir_lattice::mod_switch::round_elements;
use papir_lattice::response::ResponseBits;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::layout::unwhiten;
use super::literal::{Inspire2, NAME};
use super::noise::WORD_BITS;
use super::packings::Packings;
use super::params::Params;
use super::wire::{Answer, Public, Query};
use crate::inspire::client::Secret;
use crate::shared::digits::Digits;
use crate::shared::parameters::FILL;
use crate::shared::selection::client::Opened;
use crate::shared::units::decoded;

/// A client: the parameters, and the masks of the packing keys and of resp₁.
pub struct Client {
    params: Params,
    public: Public,
    packings: Packings,
}

impl scheme::Client<Inspire2> for Client {
    fn new(params: Params, public: Public) -> Result<Self> {
        // Decryption pairs masks with bodies, and would silently end where masks are missing.
        let found = public.masks.len();
        if found != params.literal().public_words() {
            let expected = format!("{}", params.literal().public_words());
            return Err(Error::malformed(
                "the masks of InsPIRe(2)",
                format!("{found} words"),
                expected,
            ));
        }

        let packings = Packings::new(&params, &public.seed)?;
        Ok(Self {
            params,
            public,
            packings,
        })
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
        let params = &self.params;
        let seed = &self.public.seed;
        check_indices(NAME, &params.layout().shape(), indices, 1)?;
        let locations = vec![params.layout().locate(indices[0])];

        let mut rng = SecretRng::new(rng);
        let key = SecretKey::generate(params.rlwe(), &mut rng);
        let mut encrypt = |level, selected| {
            params
                .selector(level)
                .encrypt(seed, &key, selected, &mut rng)
        };
        let selectors = [
            encrypt(0, locations[0].column),
            encrypt(1, locations[0].block),
        ];

        // GENKSMATY for each distinct γ, rounded.
        let packings = self.packings.distinct().iter();
        let elements = packings
            .flat_map(|packing| packing.generate_key(&key, &mut rng).into_elements())
            .collect();
        let keys = round_elements(params.rlwe().ring(), params.literal().key_bits, elements);

        let secret = Secret {
            key: Arc::new(key),
            locations,
        };
        Ok((secret, Query { selectors, keys }))
    }

    fn extract(&self, secret: Secret, answer: Answer) -> Result<Vec<Record>> {
        let composed = self.compose(&secret.key, &answer);
        let first = self.open(
            &secret.key,
            self.params.literal().first_bits(),
            WORD_BITS,
            &composed.mask,
            &composed.body,
        );
        let bytes = first
            .words
            .iter()
            .flat_map(|&word| (word as u16).to_le_bytes());
        let mut bytes = Zeroizing::new(bytes.collect::<Vec<u8>>());

        let unit_layout = &self.params.layout().unit_layout;
        let location = &secret.locations[0];
        let unit = &mut bytes[..unit_layout.unit_bytes];
        unwhiten(&self.public.seed, location.unit, unit);
        let record = unit_layout.select(&bytes, location.slot);

        // Checked last: the time must not tell whether the answer decodes.
        decoded(vec![record], first.decodes & composed.decodes)
    }
}

/// Encryption of a unit, composed from its digits.
struct Composed {
    mask: Zeroizing<Vec<u64>>,
    body: Zeroizing<Vec<u64>>,
    /// True if all digits decode.
    decodes: bool,
}

impl Client {
    /// Computes lines 4 to 6 of Algorithm 6: the encryption of the wanted unit.
    fn compose(&self, key: &SecretKey, answer: &Answer) -> Composed {
        let literal = self.params.literal();
        let [unit, first, last] = literal.gammas;
        let mask = self.decrypt(key, &self.public.masks, &answer.first, first);
        let body = self.decrypt(key, &answer.masks, &answer.second, last);

        Composed {
            mask: join(literal.mask, literal.rlwe.degree, &mask.words),
            body: join(literal.body, unit, &body.words),
            decodes: mask.decodes & body.decodes,
        }
    }

    /// Computes BATCHPARTIALDECRYPT: the digits of all packs of γ.
    fn decrypt(&self, key: &SecretKey, masks: &[u64], bodies: &[u64], gamma: usize) -> Opened {
        let bits = self.params.literal().answer;
        let digit = self.params.literal().mask.bits;

        // Full capacity from the start: growing would leave copies of digits behind.
        let mut all = Opened {
            words: Zeroizing::new(Vec::with_capacity(bodies.len())),
            decodes: true,
        };

        let degree = self.params.literal().rlwe.degree;
        for (mask, body) in masks.chunks_exact(degree).zip(bodies.chunks_exact(gamma)) {
            let opened = self.open(key, bits, digit, mask, body);
            all.words.extend_from_slice(&opened.words);
            all.decodes &= opened.decodes;
        }
        all
    }

    /// Decrypts the words modulo 2^plain of one encryption. It decodes if every coefficient is
    /// within the bound on the noise.
    fn open(
        &self,
        key: &SecretKey,
        bits: ResponseBits,
        plain: u32,
        mask: &[u64],
        body: &[u64],
    ) -> Opened {
        let bound = FILL * 2f64.powi((bits.a - plain) as i32 - 1);
        let phases = bits.phases(self.params.rlwe().ring(), key, mask, body);
        Opened::new(bits, plain, &phases, bound as u64)
    }
}

/// Computes COMPOSE: joins the digits of `count` words. Digit j of word c is at j·count + c.
fn join(digits: Digits, count: usize, decrypted: &[u32]) -> Zeroizing<Vec<u64>> {
    let mut words = Zeroizing::new(vec![0; count]);
    // Packs may have rows beyond the digits.
    for (j, decrypted) in decrypted.chunks_exact(count).take(digits.count).enumerate() {
        for (word, &digit) in words.iter_mut().zip(decrypted) {
            *word |= digits.uncentred(digit) << (digits.bits as usize * j);
        }
    }
    words
}
