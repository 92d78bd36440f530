//! Attack on the set intersection: recovers the receiver's set from its request.
//!
//! An element is a root of a public polynomial, as an index is ([`crate::newton::attack`]), so
//! candidates can be tested. The hash functions are public, so a candidate is tested only in its
//! three bins. With masking, candidates are masked values, which the sender can compute with its
//! key.

use papir_core::{Error, Result};

use super::hashing::Hashes;
use super::wire::Request;
use super::{ITEM_WORDS, Item, integers};
use crate::newton::attack::Evidence;
use crate::newton::fhe::Ciphertext;
use crate::newton::modulus::Modulus;

/// Returns the candidates that are in the receiver's set, in ascending order.
///
/// # Errors
/// [`Error::Malformed`] for a request without bins, or with an invalid n.
pub fn elements(request: &Request, candidates: &[Item]) -> Result<Vec<Item>> {
    if request.bins.is_empty() {
        return Err(Error::malformed(
            "a request for an intersection",
            "no bins",
            "some",
        ));
    }

    let hashes = Hashes::new(&request.seed, request.bins.len());
    let mut tried = vec![Vec::new(); request.bins.len()];
    for &candidate in candidates {
        for bin in hashes.bins_of(candidate) {
            tried[bin].push(candidate);
        }
    }

    let mut found = Vec::new();
    for (bin, tried) in request.bins.iter().zip(&tried) {
        // The first power is the element itself.
        let c = bin.powers.first().cloned().unwrap_or_default();
        let ciphertext = Ciphertext {
            u: bin.u.clone(),
            v: bin.v.clone(),
            c,
        };

        let evidence = Evidence::new(Modulus::unchecked(&request.modulus)?, &ciphertext)?;
        let roots = evidence.are_roots(&integers(tried), ITEM_WORDS);
        found.extend(
            tried
                .iter()
                .zip(roots)
                .filter(|(_, root)| *root)
                .map(|(item, _)| *item),
        );
    }

    found.sort_unstable();
    // A candidate whose bins coincide is tested twice.
    found.dedup();
    Ok(found)
}
