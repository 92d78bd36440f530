//! Parameters of the set intersection, known to both parties.

use papir_core::{Error, Result};

/// Number of hash functions.
pub const HASHES: usize = 3;
/// Default bits of n, as in the paper.
const MODULUS_BITS: u32 = 2048;
/// Maximum number of elements of a set.
const MAX_ITEMS: usize = 1 << 20;
/// −log₂ of the probability that some bin of the sender exceeds its load.
const OVERFLOW_BITS: f64 = 40.0;

/// The sizes of sets and bins, which do not depend on the sets' contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PsiParams {
    receiver: usize,
    sender: usize,
    bins: usize,
    load: usize,
    parts: usize,
    windowed: bool,
    modulus_bits: u32,
}

impl PsiParams {
    /// Parameters for sets of up to `receiver` and `sender` elements, with one part and no
    /// windowing.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for sizes of 0 or above 2²⁰.
    pub fn new(receiver: usize, sender: usize) -> Result<Self> {
        for (what, size) in [
            ("the receiver's set", receiver),
            ("the sender's set", sender),
        ] {
            check(what, size, MAX_ITEMS)?;
        }

        // Cuckoo hashing with three functions can fill nine tenths of the bins; small tables need
        // more space.
        let bins = receiver + receiver.div_ceil(2) + HASHES;
        // A bin has an element at most once, so never more than the set.
        let load = load(HASHES * sender, bins).min(sender);
        let modulus_bits = MODULUS_BITS;

        Ok(Self {
            receiver,
            sender,
            bins,
            load,
            parts: 1,
            windowed: false,
            modulus_bits,
        })
    }

    /// Splits each of the sender's bins into `parts` parts, with an answer for each.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for 0, or more parts than a bin has elements.
    pub fn partitioned(self, parts: usize) -> Result<Self> {
        check("the number of parts of a bin", parts, self.load)?;
        Ok(Self { parts, ..self })
    }

    /// Enables windowing: the receiver also sends y², y⁴, … up to the degree of a part.
    pub fn windowed(self) -> Self {
        Self {
            windowed: true,
            ..self
        }
    }

    /// Sets the length of n, 2,048 bits by default. No length makes this private.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] below 256 bits, above 4,096, or between multiples of 128.
    pub fn with_modulus_bits(self, bits: u32) -> Result<Self> {
        if !(256..=4096).contains(&bits) || !bits.is_multiple_of(128) {
            let expected = "a multiple of 128 from 256 to 4096";
            return Err(Error::out_of_bounds(
                "the bits of newton's modulus",
                u64::from(bits),
                expected,
            ));
        }
        Ok(Self {
            modulus_bits: bits,
            ..self
        })
    }

    /// Maximum number of elements of the receiver's set.
    pub fn receiver(&self) -> usize {
        self.receiver
    }

    /// Maximum number of elements of the sender's set.
    pub fn sender(&self) -> usize {
        self.sender
    }

    /// m: the number of bins.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// M: the number of elements of each bin of the sender, padding included.
    pub fn load(&self) -> usize {
        self.load
    }

    /// t: the number of parts of a bin.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// M/t: the number of elements of a part, and the degree of its polynomial.
    pub fn degree(&self) -> usize {
        self.load.div_ceil(self.parts)
    }

    /// Number of powers y^(2ⁱ) that the receiver sends.
    pub fn powers(&self) -> usize {
        if self.windowed {
            self.degree().ilog2() as usize + 1
        } else {
            1
        }
    }

    /// Bits of n.
    pub fn modulus_bits(&self) -> u32 {
        self.modulus_bits
    }

    /// Words of a number below n.
    pub(super) fn number_words(&self) -> usize {
        self.modulus_bits as usize / 64
    }
}

fn check(what: &'static str, found: usize, most: usize) -> Result<()> {
    if found == 0 || found > most {
        return Err(Error::out_of_bounds(
            what,
            found as u64,
            format!("1 to {most}"),
        ));
    }
    Ok(())
}

/// A load that no bin exceeds except with probability 2⁻⁴⁰: the first L for which
/// bins·C(balls, L + 1)·bins^−(L + 1) is below that.
fn load(balls: usize, bins: usize) -> usize {
    let log_bins = (bins as f64).log2();
    // log₂ of bins·C(balls, k)·bins^−k.
    let mut chance = log_bins;
    for k in 0..balls {
        // C(balls, k + 1) from C(balls, k), in logarithms: the binomials themselves exceed an f64.
        chance += ((balls - k) as f64 / (k + 1) as f64).log2() - log_bins;
        if chance <= -OVERFLOW_BITS {
            return k;
        }
    }
    balls
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_depend_only_on_the_set_sizes() {
        let params = PsiParams::new(10, 1000).unwrap();
        assert_eq!(params.bins(), 18);
        assert!(
            (3000 / 18..1000).contains(&params.load()),
            "{}",
            params.load()
        );
        assert_eq!((params.parts(), params.powers()), (1, 1));

        let params = params.partitioned(7).unwrap().windowed();
        assert_eq!(params.degree(), params.load().div_ceil(7));
        assert_eq!(params.powers(), params.degree().ilog2() as usize + 1);
        // A bin contains no element twice.
        assert_eq!(PsiParams::new(1, 5).unwrap().load(), 5);
    }

    /// Compares with the union bound for 50 balls in 100 bins.
    #[test]
    fn the_load_is_the_smallest_within_the_bound() {
        assert_eq!(load(10, 1), 10, "one bin takes all");
        let bound = |balls: usize, k: usize| {
            let choices: f64 = (0..k)
                .map(|i| (balls - i) as f64 / (i + 1) as f64)
                .product();
            100.0 * choices / 100f64.powi(k as i32)
        };
        let found = load(50, 100);
        assert!(
            bound(50, found + 1) <= 0.5f64.powi(40) && bound(50, found) > 0.5f64.powi(40),
            "{found}"
        );
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        for (receiver, sender) in [(0, 1), (1, 0), (MAX_ITEMS + 1, 1), (1, MAX_ITEMS + 1)] {
            assert!(
                PsiParams::new(receiver, sender).is_err(),
                "{receiver}, {sender}"
            );
        }

        let params = PsiParams::new(4, 20).unwrap();
        for parts in [0, params.load() + 1] {
            assert!(params.clone().partitioned(parts).is_err(), "{parts} parts");
        }
        for bits in [128, 300, 4224] {
            assert!(
                params.clone().with_modulus_bits(bits).is_err(),
                "{bits} bits"
            );
        }
    }
}
