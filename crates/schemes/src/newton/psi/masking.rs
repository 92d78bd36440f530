//! OPRF masking: both sets are replaced by values of a pseudorandom function whose key is the sender's, the
//! receiver's without the sender seeing them (RFC 9497, mode OPRF, ristretto255 with SHA-512).
//!
//! The sender gives out one value for each element that a receiver asks for: that, and not the encryption, is
//! what keeps its other elements from the receiver.
//!
//! ```text
//! blinded     for each element a group element (32)
//! evaluated   the same
//! ```

use papir_core::{Error, Result};
use rand_core::CryptoRng;
use rand_core_06 as old;
use voprf::{BlindedElement, EvaluationElement, OprfClient, OprfServer, Ristretto255};
use zeroize::Zeroizing;

use super::Item;

/// Bytes of a group element.
const ELEMENT_BYTES: usize = 32;
/// What the key is derived for.
const INFO: &[u8] = b"papir newton psi";
/// Bytes of a masked element.
const ITEM_BYTES: usize = 16;

/// The sender's key.
pub struct MaskingKey(OprfServer<Ristretto255>);

/// The receiver's elements, blinded.
pub struct Blinding<'a> {
    elements: &'a [Vec<u8>],
    blinds: Vec<OprfClient<Ristretto255>>,
}

impl MaskingKey {
    /// A fresh key.
    ///
    /// # Errors
    /// [`Error::Malformed`], which does not happen.
    pub fn generate(rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Ok(Self(OprfServer::new_from_seed(&*seed, INFO).map_err(refused)?))
    }

    /// The sender's own elements, masked.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for elements of 2¹⁶ bytes and more.
    pub fn mask(&self, elements: &[Vec<u8>]) -> Result<Vec<Item>> {
        let mask = |element: &Vec<u8>| {
            check(element)?;
            Ok(item(&self.0.evaluate(element).map_err(refused)?))
        };
        elements.iter().map(mask).collect()
    }

    /// The answer to [`Blinding::new`]'s message.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that are no group elements.
    pub fn evaluate(&self, blinded: &[u8]) -> Result<Vec<u8>> {
        let mut evaluated = Vec::with_capacity(blinded.len());
        for bytes in blinded.chunks(ELEMENT_BYTES) {
            let element = BlindedElement::deserialize(bytes).map_err(refused)?;
            evaluated.extend_from_slice(&self.0.blind_evaluate(&element).serialize());
        }
        Ok(evaluated)
    }
}

impl<'a> Blinding<'a> {
    /// Blinds elements, and what is to be sent.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for elements of 2¹⁶ bytes and more.
    pub fn new(elements: &'a [Vec<u8>], rng: &mut dyn CryptoRng) -> Result<(Self, Vec<u8>)> {
        let (mut blinds, mut message, mut rng) = (Vec::new(), Vec::new(), Old(rng));
        for element in elements {
            check(element)?;
            let blinded = OprfClient::blind(element, &mut rng).map_err(refused)?;
            blinds.push(blinded.state);
            message.extend_from_slice(&blinded.message.serialize());
        }
        Ok((Self { elements, blinds }, message))
    }

    /// The elements' masked values, in their order, from the sender's answer.
    ///
    /// # Errors
    /// [`Error::Length`] for an answer to other elements, [`Error::Malformed`] for one that is none.
    pub fn finish(&self, evaluated: &[u8]) -> Result<Zeroizing<Vec<Item>>> {
        let expected = ELEMENT_BYTES * self.elements.len();
        Error::check_length("evaluated elements", evaluated.len(), expected)?;
        let all = self.elements.iter().zip(&self.blinds).zip(evaluated.chunks_exact(ELEMENT_BYTES));
        let finish = |((element, blind), bytes): ((&Vec<u8>, &OprfClient<Ristretto255>), &[u8])| {
            let evaluated = EvaluationElement::deserialize(bytes).map_err(refused)?;
            Ok(item(&blind.finalize(element, &evaluated).map_err(refused)?))
        };
        all.map(finish).collect::<Result<Vec<_>>>().map(Zeroizing::new)
    }
}

/// Refuses elements that are longer than RFC 9497 has them.
fn check(element: &[u8]) -> Result<()> {
    if element.len() > usize::from(u16::MAX) {
        let expected = format!("at most {} bytes", u16::MAX);
        return Err(Error::out_of_bounds("the length of an element", element.len() as u64, expected));
    }
    Ok(())
}

/// The first 128 bits of the function's value.
fn item(value: &[u8]) -> Item {
    value.iter().take(ITEM_BYTES).rev().fold(0, |item, byte| item << 8 | Item::from(*byte))
}

fn refused(error: voprf::Error) -> Error {
    Error::malformed("a message of masking", error, "elements of ristretto255 other than zero")
}

/// A generator for a crate of an older interface.
struct Old<'a>(&'a mut dyn CryptoRng);

impl old::RngCore for Old<'_> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> std::result::Result<(), old::Error> {
        self.0.fill_bytes(out);
        Ok(())
    }
}

impl old::CryptoRng for Old<'_> {}
