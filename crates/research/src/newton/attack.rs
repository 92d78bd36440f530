//! Attack on NewtonPIR: recovers the index from the query alone.
//!
//! Let χ be the characteristic polynomial of multiplication by c in R, of degree 9 over Z_n. By the
//! Cayley-Hamilton theorem χ(c) = 0, and evaluation at (a, b) maps this to χ(i) = 0. So the index
//! is a root of a polynomial that anyone can compute from (n, u, v, c), and testing N candidates is
//! fast. For uniform coefficients, any other candidate is a root with probability 9/p.

use papir_core::{Error, Result, envelope};
use rand_core::CryptoRng;

use super::fhe::{Ciphertext, RANK, Ring, encrypt};
use super::horner::Powers;
use super::key::SecretKey;
use super::modulus::{Modulus, bytes_of, words_of};

/// Words of a coefficient of χ divided by n. After nine multiplications by candidates of 32 bits,
/// more than the highest 64 bits are still exact.
const WORDS: usize = 6;
/// Number of candidates that [`Evidence::are_roots`] tests together.
const BLOCK: usize = 256;

/// The polynomial χ of a query, which has the query's index (counted from 1) as a root.
pub struct Evidence {
    n: Modulus,
    /// χ's coefficients as elements, the constant one first, without the leading 1.
    coefficients: Vec<u64>,
    /// χ's coefficients divided by n, including the leading 1.
    fractions: Vec<[u64; WORDS]>,
}

impl Evidence {
    /// Computes χ from the bytes of a query, with or without its envelope. The payload is n, u, v
    /// and nine coefficients, all of one length.
    ///
    /// # Errors
    /// [`Error::Malformed`] or [`Error::Length`] if the bytes are not a query.
    pub fn of(query: &[u8]) -> Result<Self> {
        let payload = payload(query)?;
        let number = payload.len() / (3 + RANK);
        if number == 0 || !number.is_multiple_of(8) || !payload.len().is_multiple_of(3 + RANK) {
            let expected = "twelve numbers of one length, a multiple of 8 bytes";
            return Err(Error::malformed(
                "a query of newton",
                format!("{} bytes", payload.len()),
                expected,
            ));
        }

        let words = words_of(payload);
        let (n, rest) = words.split_at(number / 8);
        let (u, rest) = rest.split_at(number / 8);
        let (v, c) = rest.split_at(number / 8);

        Self::new(
            Modulus::unchecked(n)?,
            &Ciphertext {
                u: u.to_vec(),
                v: v.to_vec(),
                c: c.to_vec(),
            },
        )
    }

    /// Computes χ from a ciphertext of any message, also of the paper's set intersection.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an n with a prime factor below 10.
    pub fn new(n: Modulus, ciphertext: &Ciphertext) -> Result<Self> {
        let (ring, c) = Ring::of(&n, ciphertext);
        // χ is T⁹ less T⁹ modulo χ, so its coefficients are those of the remainder, negated.
        let powers = Powers::new(&ring, &c)?;
        let limbs = n.limbs();

        let negated = powers
            .wrapped()
            .chunks_exact(limbs)
            .flat_map(|wrapped| n.sum([(wrapped, -1)]));
        let coefficients: Vec<u64> = negated.collect();

        let all = coefficients.chunks_exact(limbs).chain([n.wide().one()]);
        let fractions = all.map(|coefficient| n.fraction(coefficient)).collect();

        Ok(Self {
            n,
            coefficients,
            fractions,
        })
    }

    /// Returns the indices below `records` that the query may encrypt: in practice exactly one.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] from 2³⁰ records on.
    pub fn indices(&self, records: u64) -> Result<Vec<u64>> {
        if records >= 1 << 30 {
            return Err(Error::out_of_bounds(
                "the number of records",
                records,
                "below 2^30",
            ));
        }

        // The exact test costs nine products modulo n: fractions rule out nearly all candidates
        // before.
        Ok((0..records)
            .filter(|&index| self.may_be(index + 1) && self.is_root(index + 1))
            .collect())
    }

    /// Returns whether χ(i)/n is nearly an integer, by Horner's rule on 384-bit fractions modulo 1.
    fn may_be(&self, i: u64) -> bool {
        let value = self
            .fractions
            .iter()
            .rev()
            .fold([0; WORDS], |value, fraction| times_plus(value, i, fraction));
        // Fractions are rounded down, and nine products with numbers up to 2^30 leave errors below
        // 2^271 of 2^384: the top word of a multiple of n is all zeros or all ones.
        matches!(value[WORDS - 1], 0 | u64::MAX)
    }

    /// Returns whether χ(i) = 0 modulo n.
    fn is_root(&self, i: u64) -> bool {
        self.are_roots(&[i], 1) == [true]
    }

    /// Tests which candidates may be the message. Candidates are integers of `words` words, of any
    /// length; each costs nine products modulo n.
    ///
    /// # Panics
    /// If `candidates` are not whole integers, or have no words.
    pub fn are_roots(&self, candidates: &[u64], words: usize) -> Vec<bool> {
        let n = &self.n;
        let mut roots = Vec::new();

        // Horner's rule on whole blocks: the arithmetic modulo n works on many numbers at a time.
        for candidates in candidates.chunks(BLOCK * words) {
            let candidates = n.enter(candidates, words);
            let count = candidates.len() / n.limbs();

            let mut values = n.wide().one().repeat(count);
            for coefficient in self.coefficients.chunks_exact(n.limbs()).rev() {
                n.wide().multiply(&mut values, &candidates);
                n.wide()
                    .add_multiples(&mut values, [(&coefficient.repeat(count), 1)]);
            }

            let values = n.leave(&values);
            roots.extend(
                values
                    .chunks_exact(n.words())
                    .map(|value| value.iter().all(|&word| word == 0)),
            );
        }
        roots
    }
}

/// Computes the positions that the query of each bucket may encrypt: in practice exactly one for
/// each bucket. Takes the bytes of a batch, with or without its envelope. Buckets have `records`
/// records.
///
/// A client queries position 0 of a bucket of which it wants nothing, so that every other position
/// is one of a wanted record.
///
/// # Errors
/// Same as [`Evidence::of`] and [`Evidence::indices`].
pub fn positions(batch: &[u8], buckets: usize, records: u64) -> Result<Vec<Vec<u64>>> {
    let payload = payload(batch)?;
    // A batch of no bytes or of no buckets has no query to divide by.
    let query = payload.len() / buckets.max(1);
    Error::check_length(
        "a batch of newton's queries",
        payload.len(),
        query.max(1) * buckets,
    )?;

    payload
        .chunks(query.max(1))
        .map(|query| Evidence::of(query)?.indices(records))
        .collect()
}

/// value·i + fraction, modulo 1.
fn times_plus(value: [u64; WORDS], i: u64, fraction: &[u64; WORDS]) -> [u64; WORDS] {
    let mut out = [0; WORDS];
    let mut carry = 0u128;
    for ((out, value), fraction) in out.iter_mut().zip(value).zip(fraction) {
        carry += u128::from(value) * u128::from(i) + u128::from(*fraction);
        *out = carry as u64;
        carry >>= 64;
    }
    out
}

/// Returns the payload of a query with or without an envelope.
fn payload(query: &[u8]) -> Result<&[u8]> {
    // A payload has twelve numbers of whole words, a multiple of 96 bytes. An envelope adds 32.
    if query.len().is_multiple_of(8 * (3 + RANK)) {
        return Ok(query);
    }

    let scheme = papir_core::erased::scheme_of_public(query)?;
    Ok(envelope::open(query, envelope::Kind::Query, scheme)?.1)
}

/// Encrypts a random index below `records` like a client of Figure 2. Returns the index and the
/// query.
///
/// # Errors
/// [`Error::EmptyDatabase`] for no records.
pub fn challenge(key: &SecretKey, records: u64, rng: &mut dyn CryptoRng) -> Result<(u64, Vec<u8>)> {
    let index = rng
        .next_u64()
        .checked_rem(records)
        .ok_or(Error::EmptyDatabase)?;

    let (ciphertext, _) = encrypt(key.modulus(), index + 1, rng);
    let words = [
        key.modulus().integer(),
        &ciphertext.u,
        &ciphertext.v,
        &ciphertext.c,
    ]
    .concat();
    Ok((index, bytes_of(&words)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    use super::*;

    /// The claim of docs/notes/newtonpir.md.
    #[test]
    fn every_index_is_recovered_from_its_query() {
        let mut rng = ChaCha20Rng::from_seed([18; 32]);
        let key = SecretKey::generate(2048, &mut rng).unwrap();
        let records = 1 << 18;
        let recovered = |_: &u32| {
            let (index, query) = challenge(&key, records, &mut rng).unwrap();
            Evidence::of(&query).unwrap().indices(records).unwrap() == [index]
        };
        assert_eq!((0..20).filter(recovered).count(), 20);
    }

    #[test]
    fn other_indices_are_not_recovered() {
        let mut rng = ChaCha20Rng::from_seed([19; 32]);
        for bits in [256, 2048] {
            let key = SecretKey::generate(bits, &mut rng).unwrap();
            let (index, query) = challenge(&key, 1000, &mut rng).unwrap();
            let evidence = Evidence::of(&query).unwrap();
            assert_eq!(evidence.indices(index).unwrap(), [0; 0], "below the index");
            assert_eq!(evidence.indices(index + 1).unwrap(), [index]);
            assert!(evidence.may_be(index + 1) && evidence.is_root(index + 1));
            assert!(!evidence.is_root(index + 2) && !evidence.is_root(0));

            let mut other = query.clone();
            other[query.len() / 2] ^= 1;
            assert_eq!(
                Evidence::of(&other).unwrap().indices(1000).unwrap(),
                [0; 0],
                "a changed query has no root"
            );
        }
    }

    #[test]
    fn malformed_queries_are_refused() {
        for bytes in [
            vec![],
            vec![1; 12],
            vec![1; 12 * 8 + 1],
            vec![0; 12 * 256],
            vec![7; 100],
        ] {
            assert!(Evidence::of(&bytes).is_err(), "{} bytes", bytes.len());
        }

        let key = SecretKey::generate(256, &mut ChaCha20Rng::from_seed([1; 32])).unwrap();
        let (_, query) = challenge(&key, 2, &mut ChaCha20Rng::from_seed([2; 32])).unwrap();
        assert!(Evidence::of(&query).unwrap().indices(1 << 30).is_err());
        assert!(matches!(
            challenge(&key, 0, &mut ChaCha20Rng::from_seed([2; 32])),
            Err(Error::EmptyDatabase)
        ));
    }
}
