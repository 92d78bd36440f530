//! Messages of ZipPIR.
//!
//! Numbers are little-endian, as long as the client's modulus m or its square.
//!
//! ```text
//! public      seed of the matrices of masks (32), digest of the hint (16)
//! keys        m, seed of the masks (32)
//! query       number of the ticket (8), form (1); in forms 0 and 1, ⌈n/t⌉ offsets ck_o modulo m;
//!             in forms 0 and 2, each part of the query below, packed
//! ticket      number (8), tag of the keys (16), digest of the hint (16), ciphertexts modulo m²
//! answer      each row sent with its masks: n mask words and the body, of 16 bits; product
//! product     in forms 0 and 1, ciphertexts modulo m²; in form 2, a word of 16 bits for each row
//!             of H
//! ```
//!
//! A query of form 0 is whole. A query of form 1 is the key of a later query, sent ahead: no row is
//! selected, and the rows sent with their masks are zeros. A query of form 2 is that later query.

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_paillier::{Ciphertext, PublicKey, random_ciphertexts};
use papir_ring::prg::Seed;

use super::base::{Base, Figures};
use super::compression::{Compression, DIGEST_BYTES, TAG_BYTES};
use super::params::ZipParams;
use crate::shared::messages::{pack, read_all, unpack_u32};

/// Name of a query in errors.
const QUERY: &str = "a ZipPIR query";

/// Digest of a hint.
pub(super) type Digest = [u8; DIGEST_BYTES];

/// Public part: the seed of the matrices of masks, and the digest of the hint.
#[derive(Clone, Debug)]
pub struct Public {
    pub(super) seed: Seed,
    pub(super) digest: Digest,
}

impl<B: Base> Wire<ZipParams<B>> for Public {
    fn encode(&self, _params: &ZipParams<B>) -> Vec<u8> {
        [&self.seed.0[..], &self.digest].concat()
    }

    fn decode(_params: &ZipParams<B>, bytes: &[u8]) -> Result<Self> {
        read_all("the public part", bytes, |reader| {
            Ok(Self {
                seed: Seed(reader.array()?),
                digest: reader.array()?,
            })
        })
    }
}

/// Registered keys of a client: its public key and the seed of the masks of all its queries.
pub struct Keys {
    pub(super) public: PublicKey,
    pub(super) seed: Seed,
}

impl Keys {
    /// Returns the tag that distinguishes clients' tickets.
    pub(super) fn tag(&self) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        self.seed.expand("zip/tag", 0).fill(&mut tag);
        tag
    }

    /// Expands ck_r of a number: encryptions of numbers that only the client knows.
    pub(super) fn masks(&self, number: u64, compression: &Compression) -> Vec<Ciphertext> {
        random_ciphertexts(
            &self.public,
            &self.seed,
            "zip/masks",
            number,
            compression.plaintexts(),
        )
    }
}

impl<B: Base> Wire<ZipParams<B>> for Keys {
    fn encode(&self, params: &ZipParams<B>) -> Vec<u8> {
        let modulus = bytes_of(&[self.public.modulus()]);
        [
            &modulus[..params.compression.paillier.modulus_bytes()],
            &self.seed.0,
        ]
        .concat()
    }

    fn decode(params: &ZipParams<B>, bytes: &[u8]) -> Result<Self> {
        let what = "a client's Paillier keys";
        let compression = &params.compression;
        Error::check_length(what, bytes.len(), compression.keys_bytes())?;

        read_all(what, bytes, |reader| {
            let modulus = words(reader.raw(compression.paillier.modulus_bytes())?);
            let public = PublicKey::new(compression.paillier, &modulus).map_err(malformed(what))?;
            Ok(Self {
                public,
                seed: Seed(reader.array()?),
            })
        })
    }
}

/// A query: one record's place, encrypted. It has two halves, the bits of an LWE key less the masks
/// of a number, and the query of the scheme below under that key. It may have only one of them.
pub struct ZipQuery {
    /// Number of the query's ticket.
    pub(super) number: u64,
    /// First half: ⌈n/t⌉ numbers, each in the 16-bit digits of a plaintext. Honest clients send
    /// numbers modulo m.
    pub(super) offsets: Option<Vec<Vec<u16>>>,
    /// Second half: the words of each part of the query below.
    pub(super) parts: Option<Vec<Vec<u32>>>,
}

/// Forms of a query.
const WHOLE: u8 = 0;
const AHEAD: u8 = 1;
const ONLINE: u8 = 2;

impl ZipQuery {
    fn form(&self) -> u8 {
        match (&self.offsets, &self.parts) {
            (Some(_), None) => AHEAD,
            (None, _) => ONLINE,
            (Some(_), Some(_)) => WHOLE,
        }
    }
}

impl<B: Base> Wire<ZipParams<B>> for ZipQuery {
    fn encode(&self, params: &ZipParams<B>) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u64(self.number).u8(self.form());
        let mut bytes = writer.finish();

        let digits = self.offsets.iter().flatten().flatten();
        bytes.extend(digits.flat_map(|digit| digit.to_le_bytes()));
        for (part, (_, bits)) in self.parts.iter().flatten().zip(params.base.figures().query) {
            pack(part, bits, &mut bytes);
        }
        bytes
    }

    fn decode(params: &ZipParams<B>, bytes: &[u8]) -> Result<Self> {
        let figures = params.base.figures();
        read_all(QUERY, bytes, |reader| {
            let number = reader.u64()?;
            let form = reader.u8()?;
            if form > ONLINE {
                return Err(Error::malformed("the form of a query", form, "0, 1 or 2"));
            }

            let offsets = match form {
                ONLINE => None,
                _ => Some(read_offsets(reader, &params.compression)?),
            };
            let parts = match form {
                AHEAD => None,
                _ => Some(read_parts(reader, &figures)?),
            };
            Ok(Self {
                number,
                offsets,
                parts,
            })
        })
    }
}

/// Reads ck_o.
fn read_offsets(reader: &mut Reader<'_>, compression: &Compression) -> Result<Vec<Vec<u16>>> {
    let bytes = reader.raw(compression.offsets_bytes())?;
    let offsets = bytes.chunks_exact(compression.paillier.plaintext_bytes());

    let padded = offsets.map(|offset| {
        // Bytes of a plaintext may end within a word; the residues are taken of whole words.
        let mut digits = digits(offset);
        digits.resize(compression.plaintext_digits(), 0);
        digits
    });
    Ok(padded.collect())
}

/// Reads the words of each part of the query below.
fn read_parts(reader: &mut Reader<'_>, figures: &Figures) -> Result<Vec<Vec<u32>>> {
    let mut parts = Vec::with_capacity(figures.query.len());
    for &(count, bits) in &figures.query {
        parts.push(unpack_u32(reader, QUERY, bits, count)?);
    }
    Ok(parts)
}

/// An answer: records under the client's key.
pub struct ZipAnswer {
    /// Rows that are sent with their masks.
    pub(super) online: Vec<u16>,
    /// Phases of the hint's rows.
    pub(super) product: HintProduct,
}

impl<B: Base> Wire<ZipParams<B>> for ZipAnswer {
    fn encode(&self, _params: &ZipParams<B>) -> Vec<u8> {
        let mut bytes: Vec<u8> = self
            .online
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();

        match &self.product {
            HintProduct::Joined(numbers) => bytes.extend(bytes_of(numbers)),
            HintProduct::Words(words) => {
                bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()))
            }
        }
        bytes
    }

    fn decode(params: &ZipParams<B>, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a ZipPIR answer", bytes);
        let online = digits(reader.raw(2 * params.base.figures().online_words)?);
        let product = HintProduct::read(&params.compression, "a ZipPIR answer", reader.rest())?;
        Ok(Self { online, product })
    }
}

/// A ticket: the hint under a client's masks of one number.
pub struct Ticket {
    pub(super) number: u64,
    pub(super) tag: [u8; TAG_BYTES],
    pub(super) digest: Digest,
    /// Words of each ciphertext.
    pub(super) ciphertexts: Vec<Vec<u64>>,
}

impl<B: Base> Wire<ZipParams<B>> for Ticket {
    fn encode(&self, _params: &ZipParams<B>) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u64(self.number).raw(&self.tag).raw(&self.digest);
        writer.raw(&bytes_of(&self.ciphertexts));
        writer.finish()
    }

    fn decode(params: &ZipParams<B>, bytes: &[u8]) -> Result<Self> {
        // Exact, so that the ciphertexts below are all that is left.
        Error::check_length("a ticket", bytes.len(), params.compression.ticket_bytes())?;

        let mut reader = Reader::new("a ticket", bytes);
        let number = reader.u64()?;
        let tag = reader.array()?;
        let digest = reader.array()?;
        let each = params.compression.paillier.ciphertext_bytes();
        Ok(Self {
            number,
            tag,
            digest,
            ciphertexts: numbers(reader.rest(), each),
        })
    }
}

/// Phases of the hint's rows.
pub(super) enum HintProduct {
    /// Phases under the client's key: words of each ciphertext.
    Joined(Vec<Vec<u64>>),
    /// Words for a client that holds ⟨H, s⟩: b′ of each row, in units.
    Words(Vec<u16>),
}

impl HintProduct {
    /// Reads a product. The length distinguishes words from ciphertexts. Any other length is
    /// refused.
    fn read(compression: &Compression, what: &'static str, bytes: &[u8]) -> Result<Self> {
        if bytes.len() == compression.words_bytes() {
            return Ok(Self::Words(digits(bytes)));
        }

        Error::check_length(what, bytes.len(), compression.joined_bytes())?;
        Ok(Self::Joined(numbers(
            bytes,
            compression.paillier.ciphertext_bytes(),
        )))
    }
}

/// Reads little-endian 16-bit words. An odd last byte is dropped.
fn digits(bytes: &[u8]) -> Vec<u16> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|two| u16::from_le_bytes(*two))
        .collect()
}

/// Reads little-endian 64-bit words. Bytes of an incomplete last word are dropped.
fn words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect()
}

/// Reads consecutive numbers of `each` bytes. Their user checks them.
pub(super) fn numbers(bytes: &[u8], each: usize) -> Vec<Vec<u64>> {
    bytes.chunks_exact(each).map(words).collect()
}

/// Returns the little-endian bytes of numbers.
fn bytes_of(numbers: &[Vec<u64>]) -> Vec<u8> {
    numbers
        .iter()
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect()
}

/// Returns a function that maps Paillier's error for invalid ciphertexts, plaintexts or keys to a
/// malformed message.
pub(super) fn malformed(what: &'static str) -> impl Fn(papir_paillier::Error) -> Error {
    move |error| Error::malformed(what, error, "numbers of a Paillier key")
}
