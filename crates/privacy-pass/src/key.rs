//! Keys of issuers (RFC 9578, section 6.5).

use std::fmt::{self, Write};

use blind_rsa_signatures::{Deterministic, PSS, PublicKey, SecretKey, Sha384};
use rand_core::CryptoRng;
use rsa::PrivateKey;
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::PassError;

/// Length of the modulus in bits.
pub const KEY_BITS: usize = 2048;
/// Length of the modulus, of blinded messages and of signatures in bytes.
pub const MODULUS_BYTES: usize = KEY_BITS / 8;
/// Length of a public key as SubjectPublicKeyInfo in bytes.
pub const SPKI_BYTES: usize = SPKI_BEGIN.len() + MODULUS_BYTES + SPKI_END.len();
/// Length of a key id in bytes.
pub const KEY_ID_BYTES: usize = 32;
/// Longest PEM file that is accepted, in bytes.
pub const MAX_PEM_BYTES: usize = 8192;

/// The bytes before the modulus: RSASSA-PSS with SHA-384, MGF1 with SHA-384 and a salt of 48 bytes,
/// then the beginning of an RSAPublicKey with a modulus of 2048 bits.
const SPKI_BEGIN: &[u8] = &[
    0x30, 0x82, 0x01, 0x52, 0x30, 0x3d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01,
    0x0a, 0x30, 0x30, 0xa0, 0x0d, 0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04,
    0x02, 0x02, 0xa1, 0x1a, 0x30, 0x18, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01,
    0x08, 0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02, 0xa2, 0x03,
    0x02, 0x01, 0x30, 0x03, 0x82, 0x01, 0x0f, 0x00, 0x30, 0x82, 0x01, 0x0a, 0x02, 0x82, 0x01, 0x01,
    0x00,
];
/// The bytes after the modulus: the exponent 65537.
const SPKI_END: &[u8] = &[0x02, 0x03, 0x01, 0x00, 0x01];

/// The form of a public key, for errors.
const PUBLIC_FORM: &str =
    "RSASSA-PSS with SHA-384, MGF1 with SHA-384, a salt of 48 bytes, 2048 bits, exponent 65537";
/// The form of a private key, for errors.
const PRIVATE_FORM: &str = "PKCS#8 in PEM, RSA, 2048 bits, exponent 65537";

/// A public key for RSABSSA-SHA384-PSS-Deterministic.
type BlindPublicKey = PublicKey<Sha384, PSS, Deterministic>;
/// A private key for RSABSSA-SHA384-PSS-Deterministic.
type BlindSecretKey = SecretKey<Sha384, PSS, Deterministic>;

/// The public key of an issuer: 2048 bits, exponent 65537. Keys are equal if their encodings are.
#[derive(Clone)]
pub struct IssuerPublicKey {
    key: BlindPublicKey,
    spki: [u8; SPKI_BYTES],
    id: [u8; KEY_ID_BYTES],
}

impl IssuerPublicKey {
    /// Parses a SubjectPublicKeyInfo of [`SPKI_BYTES`] in DER. Its algorithm is RSASSA-PSS with
    /// SHA-384, MGF1 with SHA-384 and a salt of 48 bytes. Only this encoding is accepted, since the
    /// key id is its hash.
    ///
    /// # Errors
    /// [`PassError::Key`] for other bytes.
    pub fn parse(spki: &[u8]) -> Result<Self, PassError> {
        let refused = PassError::Key {
            expected: PUBLIC_FORM,
        };
        let Ok(spki) = <[u8; SPKI_BYTES]>::try_from(spki) else {
            return Err(refused);
        };
        let has_form = spki.starts_with(SPKI_BEGIN) && spki.ends_with(SPKI_END);
        // DER has a zero before the modulus only if its first bit is set.
        if !has_form || modulus(&spki).first().is_none_or(|first| *first < 0x80) {
            return Err(refused);
        }

        let key = BlindPublicKey::from_spki(&spki).map_err(|_| refused)?;
        let id = Sha256::digest(spki).into();
        Ok(Self { key, spki, id })
    }

    /// The public part of a private key.
    fn of(secret: &BlindSecretKey) -> Result<Self, PassError> {
        let refused = PassError::Key {
            expected: PRIVATE_FORM,
        };
        let public = secret.public_key();
        let spki = public.and_then(|public| public.to_spki());
        match spki {
            Ok(spki) => Self::parse(&spki).map_err(|_| refused),
            Err(_) => Err(refused),
        }
    }

    /// The SubjectPublicKeyInfo in DER.
    pub fn spki(&self) -> &[u8; SPKI_BYTES] {
        &self.spki
    }

    /// The key id: SHA-256 of [`Self::spki`].
    pub fn id(&self) -> &[u8; KEY_ID_BYTES] {
        &self.id
    }

    /// The last byte of the key id, which requests carry. An issuer's keys should differ in it.
    pub fn truncated_id(&self) -> u8 {
        self.id[KEY_ID_BYTES - 1]
    }

    /// The key for operations of `blind_rsa_signatures`.
    pub(crate) fn blind_rsa(&self) -> &BlindPublicKey {
        &self.key
    }

    /// Returns true if `number` is below the modulus. Both have the same length and are big-endian,
    /// so that their bytes compare as numbers.
    pub(crate) fn is_reduced(&self, number: &[u8; MODULUS_BYTES]) -> bool {
        number[..] < *modulus(&self.spki)
    }
}

impl PartialEq for IssuerPublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.spki == other.spki
    }
}

impl Eq for IssuerPublicKey {}

impl fmt::Debug for IssuerPublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "IssuerPublicKey({})", hex(&self.id))
    }
}

/// The modulus in the encoding of a key.
fn modulus(spki: &[u8; SPKI_BYTES]) -> &[u8] {
    &spki[SPKI_BEGIN.len()..SPKI_BYTES - SPKI_END.len()]
}

/// Hexadecimal digits of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The private key of an issuer. It is erased on drop, and `Debug` shows the key id only.
pub struct IssuerKey {
    secret: BlindSecretKey,
    public: IssuerPublicKey,
}

impl IssuerKey {
    /// Makes a key of 2048 bits, which takes up to seconds.
    ///
    /// # Errors
    /// [`PassError::Operation`] if no key was found.
    pub fn generate(rng: &mut dyn CryptoRng) -> Result<Self, PassError> {
        let failed = PassError::Operation {
            operation: "making an issuer's key",
        };
        let made = PrivateKey::new(rng, KEY_BITS);
        Self::new(made.map_err(|_| failed)?)
    }

    /// Loads a key: PKCS#8 in PEM without a passphrase, at most [`MAX_PEM_BYTES`].
    ///
    /// # Errors
    /// [`PassError::Key`] for another file, for a key that is inconsistent, and for one of another
    /// length or exponent; [`PassError::TooLarge`].
    pub fn from_pem(pem: &str) -> Result<Self, PassError> {
        PassError::check_bound("bytes of the issuer's key", pem.len(), MAX_PEM_BYTES)?;
        let loaded = PrivateKey::from_pkcs8_pem(pem.trim());
        let refused = PassError::Key {
            expected: PRIVATE_FORM,
        };
        Self::new(loaded.map_err(|_| refused)?)
    }

    /// Checks a private key, and computes what makes its operations fast.
    fn new(mut key: PrivateKey) -> Result<Self, PassError> {
        let checked = key.validate().and_then(|()| key.precompute());
        if checked.is_err() {
            return Err(PassError::Key {
                expected: PRIVATE_FORM,
            });
        }

        let secret = BlindSecretKey::new(key);
        let public = IssuerPublicKey::of(&secret)?;
        Ok(Self { secret, public })
    }

    /// The key as PKCS#8 in PEM, which is erased on drop.
    ///
    /// # Errors
    /// [`PassError::Operation`] if the encoding fails.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, PassError> {
        let key: &PrivateKey = self.secret.as_ref();
        let pem = key.to_pkcs8_pem(LineEnding::LF);
        pem.map_err(|_| PassError::Operation {
            operation: "encoding an issuer's key",
        })
    }

    /// The public key.
    pub fn public(&self) -> &IssuerPublicKey {
        &self.public
    }

    /// The private operation on a blinded message. `rng` blinds it against side channels.
    pub(crate) fn private_operation(
        &self,
        blinded: &[u8; MODULUS_BYTES],
        rng: &mut dyn CryptoRng,
    ) -> Result<[u8; MODULUS_BYTES], PassError> {
        let signed = self.secret.blind_sign_with_rng(rng, blinded);
        let signed = signed.ok().and_then(|signed| signed.0.try_into().ok());
        signed.ok_or(PassError::Operation {
            operation: "signing a blinded message",
        })
    }
}

impl fmt::Debug for IssuerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "IssuerKey({})", hex(&self.public.id))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use rsa::traits::PrivateKeyParts;

    use super::*;
    use crate::testing::{ISSUER, rng};

    #[test]
    fn keys_return_from_pem() {
        let pem = ISSUER.to_pem().unwrap();
        let loaded = IssuerKey::from_pem(&pem).unwrap();
        assert_eq!(loaded.public(), ISSUER.public());
        assert_eq!(*loaded.to_pem().unwrap(), *pem);
        assert!(IssuerKey::from_pem(&format!("\n{}\n", *pem)).is_ok());
    }

    #[test]
    fn generated_keys_differ_and_have_the_form() {
        let key = IssuerKey::generate(&mut rng(9)).unwrap();
        assert_ne!(key.public(), ISSUER.public());
        let public = IssuerPublicKey::parse(key.public().spki()).unwrap();
        assert_eq!(public.id(), key.public().id());
        assert_eq!(public.truncated_id(), public.id()[31]);
    }

    #[test]
    fn keys_of_another_length_or_exponent_are_refused() {
        let refused = PassError::Key {
            expected: PRIVATE_FORM,
        };
        let short = PrivateKey::new(&mut rng(1), 1024).unwrap();
        assert_eq!(IssuerKey::new(short).unwrap_err(), refused);

        // One that is coprime to p − 1 and q − 1 makes a valid key.
        let key: &PrivateKey = ISSUER.secret.as_ref();
        let exponents = [3u32, 5, 7, 11, 13, 257, 65539];
        let others = exponents.map(|exponent| {
            let primes = key.primes();
            let p = primes[0].clone().get();
            let q = primes[1].clone().get();
            PrivateKey::from_p_q(p, q, exponent.into())
        });
        let others: Vec<PrivateKey> = others.into_iter().flatten().collect();
        assert!(!others.is_empty());
        for other in others {
            assert_eq!(IssuerKey::new(other).unwrap_err(), refused);
        }
    }

    #[test]
    fn files_without_a_key_are_refused() {
        let pem = ISSUER.to_pem().unwrap();
        for text in ["", "-----BEGIN PRIVATE KEY-----", &pem[..pem.len() / 2]] {
            assert_eq!(IssuerKey::from_pem(text).unwrap_err().code(), "issuer_key");
        }
        let other = pem.replace("PRIVATE KEY", "RSA PRIVATE KEY");
        assert!(IssuerKey::from_pem(&other).is_err());
        let long = "A".repeat(MAX_PEM_BYTES + 1);
        assert_eq!(IssuerKey::from_pem(&long).unwrap_err().code(), "too_large");
    }

    #[test]
    fn debug_shows_the_key_id_only() {
        let shown = format!("{:?}", *ISSUER);
        assert_eq!(shown, format!("IssuerKey({})", hex(ISSUER.public().id())));
    }

    #[test]
    fn numbers_are_compared_with_the_modulus() {
        let key = ISSUER.public();
        let mut number: [u8; MODULUS_BYTES] = modulus(key.spki()).try_into().unwrap();
        assert!(!key.is_reduced(&number));
        number[MODULUS_BYTES - 1] -= 1;
        assert!(key.is_reduced(&number));
        assert!(!key.is_reduced(&[0xff; MODULUS_BYTES]));
    }

    #[test]
    fn only_one_encoding_of_a_public_key_is_accepted() {
        let spki = ISSUER.public().spki();
        for place in (0..SPKI_BEGIN.len()).chain(SPKI_BYTES - SPKI_END.len()..SPKI_BYTES) {
            let mut other = *spki;
            other[place] ^= 1;
            assert!(IssuerPublicKey::parse(&other).is_err(), "{place}");
        }
        for length in 0..SPKI_BYTES {
            assert!(IssuerPublicKey::parse(&spki[..length]).is_err());
        }
        assert!(IssuerPublicKey::parse(&[&spki[..], &[0]].concat()).is_err());

        let mut short = *spki;
        short[SPKI_BEGIN.len()] &= 0x7f;
        assert!(IssuerPublicKey::parse(&short).is_err());
        let mut even = *spki;
        even[SPKI_BYTES - SPKI_END.len() - 1] &= 0xfe;
        assert!(IssuerPublicKey::parse(&even).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_modulus_is_refused_or_reencodes(bytes: [u8; 32], repeated in 0..32usize) {
            let mut spki = *ISSUER.public().spki();
            let begin = SPKI_BEGIN.len() + 7 * repeated;
            spki[begin..begin + 32].copy_from_slice(&bytes);
            if let Ok(key) = IssuerPublicKey::parse(&spki) {
                prop_assert_eq!(key.spki(), &spki);
                prop_assert_eq!(key.blind_rsa().to_spki().unwrap(), &spki[..]);
            }
        }
    }
}
