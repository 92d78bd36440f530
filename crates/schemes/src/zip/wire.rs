//! Messages of ZipPIR. A client's numbers have the bytes of its modulus m, little-endian.
//!
//! ```text
//! public   seed of A (32)
//! keys     m, seed of the masks (32)
//! query    number of the ticket (8), n offsets ck_o modulo m, columns × query bits, packed
//! ticket   number (8), tag of the keys (16), ciphertexts modulo m²
//! answer   ciphertexts modulo m²
//! ```

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;
use papir_paillier::PublicKey;
use papir_ring::prg::Seed;

use super::Strength;
use super::params::{SEED_BYTES, TAG_BYTES, ZipParams};

/// The public part: the seed of A.
#[derive(Clone, Debug)]
pub struct ZipPublic {
    pub(super) seed: Seed,
}

impl<T: Strength> Wire<ZipParams<T>> for ZipPublic {
    fn encode(&self, _params: &ZipParams<T>) -> Vec<u8> {
        self.seed.0.to_vec()
    }

    fn decode(_params: &ZipParams<T>, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("zip's public part", bytes);
        let seed = Seed(reader.array::<SEED_BYTES>()?);
        reader.finish()?;
        Ok(Self { seed })
    }
}

/// What a client registers: its public key, and the seed of the masks of all its queries.
pub struct ZipKeys {
    pub(super) public: PublicKey,
    pub(super) seed: Seed,
}

impl ZipKeys {
    /// What tells one client's tickets from another's.
    pub(super) fn tag(&self) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        self.seed.expand("zip/tag", 0).fill(&mut tag);
        tag
    }
}

impl<T: Strength> Wire<ZipParams<T>> for ZipKeys {
    fn encode(&self, params: &ZipParams<T>) -> Vec<u8> {
        let modulus = bytes_of(&[self.public.modulus()]);
        [&modulus[..params.paillier.modulus_bytes()], &self.seed.0].concat()
    }

    fn decode(params: &ZipParams<T>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("zip's keys", bytes.len(), params.keys_bytes())?;
        let mut reader = Reader::new("zip's keys", bytes);
        let modulus = words(reader.raw(params.paillier.modulus_bytes())?);
        let public = PublicKey::new(params.paillier, &modulus).map_err(malformed("zip's keys"))?;
        let keys = Self { public, seed: Seed(reader.array()?) };
        reader.finish()?;
        Ok(keys)
    }
}

/// One column's unit vector, encrypted, and the key bits' offsets from the masks.
pub struct ZipQuery {
    pub(super) number: u64,
    /// n numbers of as many 16-bit digits as a plaintext has, modulo m from honest clients.
    pub(super) offsets: Vec<Vec<u16>>,
    pub(super) values: Vec<u32>,
}

impl<T: Strength> Wire<ZipParams<T>> for ZipQuery {
    fn encode(&self, params: &ZipParams<T>) -> Vec<u8> {
        let bytes_of = |offset: &Vec<u16>| {
            let bytes = offset.iter().flat_map(|digit| digit.to_le_bytes());
            bytes.take(params.paillier.plaintext_bytes()).collect::<Vec<u8>>()
        };
        let values: Vec<u64> = self.values.iter().map(|value| u64::from(*value)).collect();
        let mut packed = Vec::new();
        bits::pack(&values, params.query_bits(), &mut packed);
        let offsets = self.offsets.iter().flat_map(bytes_of);
        self.number.to_le_bytes().into_iter().chain(offsets).chain(packed).collect()
    }

    fn decode(params: &ZipParams<T>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("zip's query", bytes.len(), params.query_bytes())?;
        let mut reader = Reader::new("zip's query", bytes);
        let number = reader.u64()?;
        let each = params.paillier.plaintext_bytes();
        let offsets = reader.raw(params.n() * each)?.chunks_exact(each);
        let digits = |offset: &[u8]| {
            let mut digits: Vec<u16> =
                offset.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two)).collect();
            digits.resize(params.plaintext_digits(), 0);
            digits
        };
        let (offsets, mut values) = (offsets.map(digits).collect(), Vec::new());
        bits::unpack(reader.rest(), params.query_bits(), params.layout.columns, &mut values)
            .map_err(|error| Error::malformed("zip's query", error, "zeros after the last word"))?;
        let values = values.into_iter().map(|value| value as u32).collect();
        Ok(Self { number, offsets, values })
    }
}

/// The hint under a client's masks of one number.
pub struct ZipTicket {
    pub(super) number: u64,
    pub(super) tag: [u8; TAG_BYTES],
    /// Words of each ciphertext.
    pub(super) ciphertexts: Vec<Vec<u64>>,
}

impl<T: Strength> Wire<ZipParams<T>> for ZipTicket {
    fn encode(&self, _params: &ZipParams<T>) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u64(self.number).raw(&self.tag);
        writer.raw(&bytes_of(&self.ciphertexts));
        writer.finish()
    }

    fn decode(params: &ZipParams<T>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("a ticket of zip", bytes.len(), params.ticket_bytes())?;
        let mut reader = Reader::new("a ticket of zip", bytes);
        let (number, tag) = (reader.u64()?, reader.array()?);
        Ok(Self { number, tag, ciphertexts: ciphertexts(params, reader.rest()) })
    }
}

/// Records under the client's key.
pub struct ZipAnswer {
    /// Words of each ciphertext.
    pub(super) ciphertexts: Vec<Vec<u64>>,
}

impl<T: Strength> Wire<ZipParams<T>> for ZipAnswer {
    fn encode(&self, _params: &ZipParams<T>) -> Vec<u8> {
        bytes_of(&self.ciphertexts)
    }

    fn decode(params: &ZipParams<T>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("zip's answer", bytes.len(), params.answer_bytes())?;
        Ok(Self { ciphertexts: ciphertexts(params, bytes) })
    }
}

/// Little-endian words of whole words' bytes.
fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Ciphertexts as they stand back to back. Whose they are says who checks them.
fn ciphertexts<T: Strength>(params: &ZipParams<T>, bytes: &[u8]) -> Vec<Vec<u64>> {
    bytes.chunks_exact(params.paillier.ciphertext_bytes()).map(words).collect()
}

fn bytes_of(ciphertexts: &[Vec<u64>]) -> Vec<u8> {
    ciphertexts.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
}

/// Numbers that are no ciphertexts or keys.
pub(super) fn malformed(what: &'static str) -> impl Fn(papir_paillier::Error) -> Error {
    move |error| Error::malformed(what, error, "numbers of a Paillier key")
}
