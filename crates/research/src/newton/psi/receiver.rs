//! The receiver: cuckoo hashing, `Encrypt Y`, and decryption of the result.

use std::sync::Arc;

use papir_core::{Error, NotPrivate, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::hashing::{Hashes, cuckoo};
use super::windowing::encrypt_powers;
use super::wire::{EncryptedBin, Request, Response};
use super::{ITEM_WORDS, Item, PsiParams, distinct, integers};
use crate::newton::fhe::{Point, random_point};
use crate::newton::modulus::Modulus;

/// Maximum number of seeds that are tried for one table.
const SEEDS: usize = 64;

/// The party that learns the intersection.
pub struct Receiver {
    params: PsiParams,
    modulus: Arc<Modulus>,
    items: Zeroizing<Vec<Item>>,
}

/// The secret of one request.
pub struct Opening {
    table: Zeroizing<Vec<Option<Item>>>,
    /// a and b of each bin (section 4.3).
    points: Vec<Point>,
}

impl Receiver {
    /// Creates a receiver with any modulus n. Repeated items count once.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for more elements than the parameters allow, or an n of another
    /// length.
    pub fn new(
        params: PsiParams,
        modulus: Arc<Modulus>,
        items: &[Item],
        _word: NotPrivate,
    ) -> Result<Self> {
        let items = distinct(items);
        if items.len() > params.receiver() {
            let expected = format!("at most {}", params.receiver());
            return Err(Error::out_of_bounds(
                "the receiver's set",
                items.len() as u64,
                expected,
            ));
        }

        Error::check_length(
            "newton's modulus",
            8 * modulus.words(),
            8 * params.number_words(),
        )?;

        Ok(Self {
            params,
            modulus,
            items,
        })
    }

    /// Hashes and encrypts the set. If some item cannot be placed, another seed is drawn, which
    /// leaks a little about the set. An empty bin contains a random number below n.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if no seed fills the table.
    pub fn request(&self, rng: &mut dyn CryptoRng) -> Result<(Opening, Request)> {
        let (seed, table) = self.table(rng)?;
        let n = &*self.modulus;
        let mut points = Vec::with_capacity(table.len());
        let mut bins = Vec::with_capacity(table.len());

        for held in table.iter() {
            let y = match held {
                Some(item) => Zeroizing::new(n.enter(&integers(&[*item]), ITEM_WORDS)),
                None => n.random(1, rng),
            };

            let (point, [u, v]) = random_point(n, rng);
            bins.push(EncryptedBin {
                u,
                v,
                powers: encrypt_powers(n, &point, &y, self.params.powers(), rng),
            });
            points.push(point);
        }

        let request = Request {
            seed,
            modulus: n.integer().to_vec(),
            bins,
        };
        Ok((Opening { table, points }, request))
    }

    fn table(&self, rng: &mut dyn CryptoRng) -> Result<(Seed, Zeroizing<Vec<Option<Item>>>)> {
        for _ in 0..SEEDS {
            let seed = Seed::random(rng);
            let hashes = Hashes::new(&seed, self.params.bins());
            if let Some(table) = cuckoo(&hashes, self.params.bins(), &self.items, rng) {
                return Ok((seed, table));
            }
        }

        let expected = "a set that fits the bins";
        Err(Error::out_of_bounds(
            "the receiver's set",
            self.items.len() as u64,
            expected,
        ))
    }

    /// Returns the common elements in ascending order: the elements of bins in which some part
    /// decrypts to zero.
    ///
    /// # Errors
    /// [`Error::Length`] for a response with another number of bins.
    pub fn intersection(&self, opening: &Opening, response: &Response) -> Result<Vec<Item>> {
        Error::check_length(
            "an intersection's bins",
            response.bins.len(),
            opening.table.len(),
        )?;

        let mut found = Vec::new();
        for ((item, point), parts) in opening
            .table
            .iter()
            .zip(&opening.points)
            .zip(&response.bins)
        {
            let Some(item) = *item else {
                continue;
            };
            if self.opens_to_zero(point, parts) {
                found.push(item);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Returns true if some part decrypts to zero. All parts are opened, so that the running time
    /// does not tell which one it is.
    fn opens_to_zero(&self, point: &Point, parts: &[Vec<u64>]) -> bool {
        parts.iter().fold(false, |hit, part| {
            hit | (point
                .open(&self.modulus, part)
                .iter()
                .fold(0, |or, word| or | word)
                == 0)
        })
    }
}
