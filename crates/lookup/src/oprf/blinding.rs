//! The receiver's side: blinding and unblinding.

use papir_core::{Error, Result};
use rand_core::CryptoRng;
use rayon::prelude::*;
use voprf::{EvaluationElement, OprfClient, Ristretto255};
use zeroize::Zeroizing;

use super::rng::OldRng;
use super::value::{ELEMENT_BYTES, Value, check, refused, value};

/// Elements with fresh blinds, for one answer. It is erased on drop.
pub struct Blinding {
    blinds: Vec<Blinded>,
}

/// An element, and the state that removes its blind.
struct Blinded {
    element: Zeroizing<Vec<u8>>,
    state: OprfClient<Ristretto255>,
}

impl Blinded {
    /// Unblinds the evaluated element, and returns the element's value.
    fn finish(&self, evaluated: &[u8]) -> Result<Value> {
        let evaluated = EvaluationElement::deserialize(evaluated).map_err(refused)?;
        // The value is a hash of the element as well, so the receiver keeps it until here.
        let output = self.state.finalize(&self.element, &evaluated);
        Ok(value(&mut output.map_err(refused)?))
    }
}

impl Blinding {
    /// Blinds elements. Returns the message to send, which has [`ELEMENT_BYTES`] bytes for each
    /// element and so reveals their number.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for elements of 2¹⁶ bytes or more.
    pub fn new<E: AsRef<[u8]>>(elements: &[E], rng: &mut dyn CryptoRng) -> Result<(Self, Vec<u8>)> {
        let mut blinds = Vec::with_capacity(elements.len());
        let mut message = Vec::with_capacity(elements.len() * ELEMENT_BYTES);
        let mut rng = OldRng(rng);

        for element in elements {
            let element = element.as_ref();
            check(element)?;
            let blinded = OprfClient::blind(element, &mut rng).map_err(refused)?;
            message.extend_from_slice(&blinded.message.serialize());
            blinds.push(Blinded {
                element: Zeroizing::new(element.to_vec()),
                state: blinded.state,
            });
        }
        Ok((Self { blinds }, message))
    }

    /// Unblinds the answer of [`Key::evaluate`](super::Key::evaluate), and returns the values of
    /// the elements, in order.
    ///
    /// # Errors
    /// [`Error::Length`] for an answer to another number of elements, [`Error::Malformed`] for
    /// invalid elements.
    pub fn finish(self, evaluated: &[u8]) -> Result<Vec<Value>> {
        let expected = ELEMENT_BYTES * self.blinds.len();
        Error::check_length("evaluated elements", evaluated.len(), expected)?;

        // Elements are independent, so an answer is unblinded in parallel.
        self.blinds
            .par_iter()
            .zip(evaluated.par_chunks_exact(ELEMENT_BYTES))
            .map(|(blinded, bytes)| blinded.finish(bytes))
            .collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::oprf::Key;

    #[test]
    fn blinded_and_direct_evaluation_agree_and_keys_differ() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let [key, other] = [0, 1].map(|_| Key::generate(&mut rng).unwrap());
        let elements = ["", "a", "a", "a longer element"];
        let (blinding, sent) = Blinding::new(&elements, &mut rng).unwrap();
        assert_eq!(sent.len(), 4 * ELEMENT_BYTES);

        // Equal elements have different blinded forms.
        assert_ne!(
            sent[ELEMENT_BYTES..2 * ELEMENT_BYTES],
            sent[2 * ELEMENT_BYTES..3 * ELEMENT_BYTES]
        );

        let values = blinding.finish(&key.evaluate(&sent).unwrap()).unwrap();
        for (element, value) in elements.iter().zip(&values) {
            assert_eq!(**value, *key.value(element.as_bytes()).unwrap());
            assert_ne!(**value, *other.value(element.as_bytes()).unwrap());
        }

        let again = Key::from_seed(key.seed()).unwrap();
        assert_eq!(*again.value(b"a").unwrap(), *key.value(b"a").unwrap());
    }

    #[test]
    fn invalid_messages_return_typed_errors() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let key = Key::generate(&mut rng).unwrap();
        let (blinding, sent) = Blinding::new(&["a", "b"], &mut rng).unwrap();

        assert_eq!(key.evaluate(&sent[1..]).unwrap_err().code(), "wrong_length");
        assert_eq!(key.evaluate(&[0xff; 32]).unwrap_err().code(), "malformed");
        // The neutral element evaluates to itself under every key.
        assert_eq!(key.evaluate(&[0; 32]).unwrap_err().code(), "malformed");
        assert!(key.evaluate(&[]).unwrap().is_empty());
        assert_eq!(
            blinding.finish(&sent[..32]).unwrap_err().code(),
            "wrong_length"
        );

        let long = vec![0; 1 << 16];
        assert_eq!(
            Blinding::new(&[&long], &mut rng).err().unwrap().code(),
            "out_of_bounds"
        );
        assert_eq!(key.value(&long).unwrap_err().code(), "out_of_bounds");
        assert_eq!(
            Key::from_seed(&[1; 31]).err().unwrap().code(),
            "wrong_length"
        );
    }
}
