//! Byte formats of keys, plaintexts and ciphertexts.
//!
//! A key is a header of eight bytes followed by numbers of fixed length, little-endian. Header:
//! magic `PAI1`, the kind of key (1 public, 2 secret), s (1 byte), bits of m (2 bytes).

use zeroize::Zeroizing;

use crate::ciphertext::{Ciphertext, Plaintext};
use crate::error::{Error, Result};
use crate::integer::{from_bytes, to_words};
use crate::params::Params;
use crate::public::PublicKey;
use crate::secret::SecretKey;

const MAGIC: &[u8; 4] = b"PAI1";
const PUBLIC: u8 = 1;
const SECRET: u8 = 2;
/// Bytes of the header.
const HEADER: usize = 8;

/// Returns the header of a key.
fn header(params: &Params, kind: u8) -> [u8; HEADER] {
    let mut header = [0; HEADER];

    // s is at most 3, and a modulus has at most 8,192 bits: neither cast loses bits.
    header[..4].copy_from_slice(MAGIC);
    header[4] = kind;
    header[5] = params.s() as u8;
    header[6..].copy_from_slice(&(params.modulus_bits() as u16).to_le_bytes());
    header
}

/// Checks the header and returns the `length` bytes after it.
fn payload<'a>(
    what: &'static str,
    params: &Params,
    kind: u8,
    bytes: &'a [u8],
    length: usize,
) -> Result<&'a [u8]> {
    Error::check_length(what, bytes.len(), HEADER + length)?;

    let (found, payload) = bytes.split_at(HEADER);
    let expected = header(params, kind);
    if found != expected {
        return Err(Error::Malformed {
            what,
            found: format!("the header 0x{}", hex(found)),
            expected: format!("0x{}", hex(&expected)),
        });
    }
    Ok(payload)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn append(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

impl PublicKey {
    /// Bytes of a serialized public key.
    pub fn byte_length(params: &Params) -> usize {
        HEADER + params.modulus_bytes()
    }

    /// Serializes to a header of 8 bytes and m.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = header(self.params(), PUBLIC).to_vec();
        append(&mut bytes, &self.modulus());
        bytes
    }

    /// Parses a key of these parameters and checks it as [`PublicKey::new`] does.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Malformed`] for other parameters or versions,
    /// [`Error::Modulus`].
    pub fn from_bytes(params: Params, bytes: &[u8]) -> Result<Self> {
        let modulus = payload("public key", &params, PUBLIC, bytes, params.modulus_bytes())?;
        Self::new(
            params,
            &to_words(&from_bytes(modulus), params.modulus_words()),
        )
    }

    /// Parses a ciphertext of exactly [`Params::ciphertext_bytes`] and checks it as
    /// [`PublicKey::ciphertext`] does.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Residue`].
    pub fn ciphertext_from_bytes(&self, bytes: &[u8]) -> Result<Ciphertext> {
        Error::check_length(
            "bytes of a ciphertext",
            bytes.len(),
            self.params().ciphertext_bytes(),
        )?;
        self.ciphertext(to_words(
            &from_bytes(bytes),
            self.params().ciphertext_words(),
        ))
    }
}

impl SecretKey {
    /// Bytes of a serialized secret key.
    pub fn byte_length(params: &Params) -> usize {
        HEADER + params.modulus_bytes()
    }

    /// Serializes to a header of 8 bytes, p and q.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let params = self.public().params();

        // Allocated in full: a reallocation would leave a copy of the secret behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(Self::byte_length(params)));
        bytes.extend(header(params, SECRET));
        for prime in self.primes() {
            append(
                &mut bytes,
                &Zeroizing::new(to_words(prime, params.prime_words())),
            );
        }
        bytes
    }

    /// Parses and checks a key of these parameters.
    ///
    /// The check of the primes is Fermat's test to base 2, in constant time. It finds damaged
    /// bytes, but not composite numbers that were chosen to pass it: read only bytes of a trusted
    /// owner.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Malformed`] for other parameters or versions, [`Error::Primes`]
    /// for numbers that fail the check or do not form a key.
    pub fn from_bytes(params: Params, bytes: &[u8]) -> Result<Self> {
        let primes = payload("secret key", &params, SECRET, bytes, params.modulus_bytes())?;
        let (p, q) = primes.split_at(params.modulus_bytes() / 2);
        Self::from_primes(params, from_bytes(p), from_bytes(q))
    }
}

impl Ciphertext {
    /// Serializes to [`Params::ciphertext_bytes`] bytes without a header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 * self.words().len());
        append(&mut bytes, self.words());
        bytes
    }
}

impl Plaintext {
    /// Serializes to [`Params::plaintext_bytes`] bytes without a header.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(8 * self.words().len()));
        append(&mut bytes, self.words());
        bytes
    }
}
