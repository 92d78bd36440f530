//! Messages of compressed schemes. A client's numbers have the bytes of its modulus m, little-endian.
//!
//! ```text
//! public      seed of the matrices of masks (32), digest of the hint (16)
//! keys        m, seed of the masks (32)
//! masked key  number of the ticket (8), 1 where the client holds it, else 0 (1), ⌈n/t⌉ offsets ck_o modulo m
//! ticket      number (8), tag of the keys (16), digest of the hint (16), ciphertexts modulo m²
//! product     ciphertexts modulo m², or for clients that hold the hint plaintexts modulo m
//! ```

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_paillier::PublicKey;
use papir_ring::prg::Seed;

use super::params::{Compressed, Compression, DIGEST_BYTES, SEED_BYTES, TAG_BYTES};

/// What tells one hint from another.
pub(crate) type Digest = [u8; DIGEST_BYTES];

/// The public part: the seed of the matrices of masks, and which hint it is.
#[derive(Clone, Debug)]
pub struct Public {
    pub(crate) seed: Seed,
    pub(crate) digest: Digest,
}

impl<P: Compressed> Wire<P> for Public {
    fn encode(&self, _params: &P) -> Vec<u8> {
        [&self.seed.0[..], &self.digest].concat()
    }

    fn decode(_params: &P, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("the public part", bytes);
        let public = Self { seed: Seed(reader.array::<SEED_BYTES>()?), digest: reader.array()? };
        reader.finish()?;
        Ok(public)
    }
}

/// What a client registers: its public key, and the seed of the masks of all its queries.
pub struct Keys {
    pub(crate) public: PublicKey,
    pub(crate) seed: Seed,
}

impl Keys {
    /// What tells one client's tickets from another's.
    pub(crate) fn tag(&self) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        self.seed.expand("zip/tag", 0).fill(&mut tag);
        tag
    }
}

impl<P: Compressed> Wire<P> for Keys {
    fn encode(&self, params: &P) -> Vec<u8> {
        let modulus = bytes_of(&[self.public.modulus()]);
        [&modulus[..params.compression().paillier.modulus_bytes()], &self.seed.0].concat()
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        let compression = params.compression();
        Error::check_length("a client's Paillier keys", bytes.len(), compression.keys_bytes())?;
        let mut reader = Reader::new("a client's Paillier keys", bytes);
        let modulus = words(reader.raw(compression.paillier.modulus_bytes())?);
        let public = PublicKey::new(compression.paillier, &modulus);
        let public = public.map_err(malformed("a client's Paillier keys"))?;
        let keys = Self { public, seed: Seed(reader.array::<SEED_BYTES>()?) };
        reader.finish()?;
        Ok(keys)
    }
}

/// An LWE key's bits less the masks of a number.
pub(crate) struct MaskedKey {
    /// The number, which is the ticket's.
    pub(crate) number: u64,
    /// Whether the client holds the ticket.
    pub(crate) held: bool,
    /// ⌈n/t⌉ numbers of as many 16-bit digits as a plaintext has, modulo m from honest clients.
    pub(crate) offsets: Vec<Vec<u16>>,
}

impl MaskedKey {
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.u64(self.number).u8(self.held.into());
        let bytes: Vec<u8> = self.offsets.iter().flatten().flat_map(|digit| digit.to_le_bytes()).collect();
        writer.raw(&bytes);
    }

    pub(crate) fn read(compression: &Compression, reader: &mut Reader<'_>) -> Result<Self> {
        let (number, flag) = (reader.u64()?, reader.u8()?);
        let held = match flag {
            0 | 1 => flag == 1,
            _ => return Err(Error::malformed("whether a ticket is held", flag, "0 or 1")),
        };
        let offsets = reader.raw(compression.offsets_bytes())?;
        let offsets = offsets.chunks_exact(compression.paillier.plaintext_bytes());
        let digits = |offset: &[u8]| {
            let mut digits: Vec<u16> =
                offset.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two)).collect();
            digits.resize(compression.plaintext_digits(), 0);
            digits
        };
        Ok(Self { number, held, offsets: offsets.map(digits).collect() })
    }
}

/// The hint under a client's masks of one number.
pub struct Ticket {
    pub(crate) number: u64,
    pub(crate) tag: [u8; TAG_BYTES],
    pub(crate) digest: Digest,
    /// Words of each ciphertext.
    pub(crate) ciphertexts: Vec<Vec<u64>>,
}

impl<P: Compressed> Wire<P> for Ticket {
    fn encode(&self, _params: &P) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u64(self.number).raw(&self.tag).raw(&self.digest);
        writer.raw(&bytes_of(&self.ciphertexts));
        writer.finish()
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        let compression = params.compression();
        Error::check_length("a ticket", bytes.len(), compression.ticket_bytes())?;
        let mut reader = Reader::new("a ticket", bytes);
        let (number, tag, digest) = (reader.u64()?, reader.array()?, reader.array()?);
        let each = compression.paillier.ciphertext_bytes();
        Ok(Self { number, tag, digest, ciphertexts: numbers(reader.rest(), each) })
    }
}

/// The phases of all rows.
pub(crate) enum Product {
    /// Under the client's key: words of each ciphertext.
    Joined(Vec<Vec<u64>>),
    /// Less what the client's held ticket is an encryption of: words of each plaintext.
    Apart(Vec<Vec<u64>>),
}

impl Product {
    pub(crate) fn write(&self, writer: &mut Writer) {
        let (Self::Joined(numbers) | Self::Apart(numbers)) = self;
        writer.raw(&bytes_of(numbers));
    }

    /// Which of both it is, its length says.
    ///
    /// # Errors
    /// [`Error::Length`] for neither's.
    pub(crate) fn read(compression: &Compression, what: &'static str, bytes: &[u8]) -> Result<Self> {
        if bytes.len() == compression.apart_bytes() {
            return Ok(Self::Apart(numbers(bytes, compression.paillier.plaintext_bytes())));
        }
        Error::check_length(what, bytes.len(), compression.joined_bytes())?;
        Ok(Self::Joined(numbers(bytes, compression.paillier.ciphertext_bytes())))
    }
}

/// Little-endian words of whole words' bytes.
pub(super) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Numbers of so many bytes as they stand back to back. Whose they are says who checks them.
pub(super) fn numbers(bytes: &[u8], each: usize) -> Vec<Vec<u64>> {
    bytes.chunks_exact(each).map(words).collect()
}

pub(super) fn bytes_of(numbers: &[Vec<u64>]) -> Vec<u8> {
    numbers.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
}

/// Numbers that are no ciphertexts or keys.
pub(crate) fn malformed(what: &'static str) -> impl Fn(papir_paillier::Error) -> Error {
    move |error| Error::malformed(what, error, "numbers of a Paillier key")
}
