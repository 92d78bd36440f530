//! Parameters of NewtonPIR, and encoding of records as numbers below n.

use std::fmt::Debug;
use std::marker::PhantomData;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::Work;
use papir_core::scheme::{Choice, Parameters, Scheme, Target, not_encrypted};
use papir_core::{
    Description, Error, FailureBound, Limits, MAX_RECORD_BITS, NotPrivate, Result, Shape, Sizes,
    Terms, UpdateCost, envelope, extract_bits,
};
use zeroize::Zeroizing;

use super::fhe::RANK;
use papir_schemes::shared::messages::{SHAPE_BYTES, read_shape, write_shape};
use papir_schemes::shared::units::decoded;

/// The reason why the scheme is not private, for errors.
pub(super) const REASON: &str = "whoever sees a query computes its index from it";

/// A variant of the scheme: its name, and the owner and length of the modulus n.
pub trait Variant: Copy + Debug + Send + Sync + 'static {
    /// The scheme's name.
    const NAME: &'static str;
    /// The scheme's number on the wire.
    const ID: u16;
    /// Bits of n: a multiple of 128, at least 256.
    const MODULUS_BITS: u32;
    /// True if each client registers its own n (Figure 2), false if the database has one n for all
    /// clients (section 4.3).
    const REGISTERED: bool;
}

/// The variant of Figure 2: each client has its own n of 2,048 bits.
#[derive(Clone, Copy, Debug)]
pub struct Registered;

impl Variant for Registered {
    const NAME: &'static str = "newton";
    const ID: u16 = 9;
    const MODULUS_BITS: u32 = 2048;
    const REGISTERED: bool = true;
}

/// The variant of section 4.3: all clients share one n of 2,048 bits with unknown factors.
#[derive(Clone, Copy, Debug)]
pub struct Symmetric;

impl Variant for Symmetric {
    const NAME: &'static str = "newtonsym";
    const ID: u16 = 10;
    const MODULUS_BITS: u32 = 2048;
    const REGISTERED: bool = false;
}

/// NewtonPIR.
pub struct Newton<V = Registered>(PhantomData<fn() -> V>);

/// Maximum number of records, whose answer takes some ten seconds: enough for a comparison of a
/// scheme that is not private.
const MAX_RECORDS: u64 = 1 << 20;
/// Maximum number of coefficients, which have a third of a kilobyte each: 1.4 GB for one n.
const MAX_COEFFICIENTS: u64 = 1 << 22;
/// Bytes of h(d): BLAKE3.
const DIGEST_BYTES: usize = 32;
/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 1;
/// Bytes of the tag of a client's tickets.
pub(super) const TAG_BYTES: usize = 16;
/// Bytes of a query's number.
pub(super) const NUMBER_BYTES: usize = 8;

/// Parameters of [`Newton`].
#[derive(Clone, Debug)]
pub struct NewtonParams<V> {
    shape: Shape,
    digests: bool,
    /// The caller's acknowledgement that the scheme is not private.
    acknowledged: Option<NotPrivate>,
    variant: PhantomData<fn() -> V>,
}

impl<V: Variant> NewtonParams<V> {
    /// Chooses parameters for a shape. Requires the acknowledgement that the scheme is not private.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for too many or too long records.
    pub fn new(shape: Shape, acknowledged: NotPrivate) -> Result<Self> {
        Ok(Self::checked(shape, false)?.allow_insecure(acknowledged))
    }

    /// Acknowledges that the scheme is not private.
    #[must_use]
    pub fn allow_insecure(self, acknowledged: NotPrivate) -> Self {
        Self {
            acknowledged: Some(acknowledged),
            ..self
        }
    }

    /// Adds verifiable records d ‖ h(d) (section 4.3). The server computes the hashes, so a valid
    /// hash proves only that an answer decodes to some record of the server.
    ///
    /// # Errors
    /// Same as [`NewtonParams::new`].
    pub fn with_digests(self) -> Result<Self> {
        Ok(Self {
            acknowledged: self.acknowledged,
            ..Self::checked(self.shape, true)?
        })
    }

    /// Returns the sizes of a query and of an answer, also for more records than a database may
    /// have: they depend on the length of a record only.
    pub fn message_sizes(shape: Shape) -> Sizes {
        let unchecked = Self::unchecked(shape, false);
        Sizes {
            query: sealed(unchecked.query_bytes()),
            answer: sealed(unchecked.answer_bytes()),
            ..Sizes::default()
        }
    }

    fn unchecked(shape: Shape, digests: bool) -> Self {
        Self {
            shape,
            digests,
            acknowledged: None,
            variant: PhantomData,
        }
    }

    fn checked(shape: Shape, digests: bool) -> Result<Self> {
        if shape.records() > MAX_RECORDS {
            let expected = format!("at most {MAX_RECORDS}");
            return Err(Error::out_of_bounds(
                "the number of records",
                shape.records(),
                expected,
            ));
        }

        let params = Self::unchecked(shape, digests);
        let coefficients = shape.records() * params.chunks() as u64;
        if coefficients > MAX_COEFFICIENTS {
            let expected = format!("at most {MAX_COEFFICIENTS}");
            return Err(Error::out_of_bounds(
                "the number of chunks of all records",
                coefficients,
                expected,
            ));
        }

        Ok(params)
    }

    /// Checks that the caller acknowledged that the scheme is not private.
    ///
    /// # Errors
    /// [`Error::NotPrivate`].
    pub(super) fn check_acknowledged(&self) -> Result<()> {
        self.acknowledged.map(|_| ()).ok_or(Error::NotPrivate {
            scheme: V::NAME,
            reason: REASON,
        })
    }

    /// Bytes of a number below n.
    pub(super) fn number_bytes(&self) -> usize {
        V::MODULUS_BITS as usize / 8
    }

    /// Words of a number below n.
    pub(super) fn number_words(&self) -> usize {
        V::MODULUS_BITS as usize / 64
    }

    /// Bytes of a chunk: the largest number whose values are below every n.
    fn chunk_bytes(&self) -> usize {
        self.number_bytes() - 1
    }

    /// Number of chunks of a record with its digest.
    pub fn chunks(&self) -> usize {
        let digest = if self.digests { DIGEST_BYTES } else { 0 };
        (self.shape.record_bytes() + digest).div_ceil(self.chunk_bytes())
    }

    /// Returns one chunk of each packed record, as integers.
    pub(super) fn chunk_of_all(&self, packed: &[u8], chunk: usize) -> Vec<u64> {
        let bits = self.shape.record_bits();
        let mut numbers = Vec::new();

        for index in 0..self.shape.records() {
            let mut stored = extract_bits(packed, index * bits, bits);
            if self.digests {
                let digest = *blake3::hash(&stored).as_bytes();
                stored.extend_from_slice(&digest);
            }

            let mut number = stored
                .chunks(self.chunk_bytes())
                .nth(chunk)
                .unwrap_or_default()
                .to_vec();
            number.resize(self.number_bytes(), 0);
            numbers.extend(super::modulus::words_of(&number));
        }
        numbers
    }

    /// Joins the chunks of a record, each the bytes of a number below n. Erases a refused record.
    ///
    /// # Errors
    /// [`Error::NotDecodable`] if the chunks do not form a record.
    pub(super) fn join(&self, chunks: &[u8]) -> Result<Vec<u8>> {
        // Long enough: growing would leave copies of the record behind.
        let mut stored = Zeroizing::new(Vec::with_capacity(chunks.len()));

        // Deviations are combined, so that the running time does not tell which check failed.
        let mut beyond = 0;
        for number in chunks.chunks_exact(self.number_bytes()) {
            let (chunk, top) = number.split_at(self.chunk_bytes());
            stored.extend_from_slice(chunk);
            beyond |= top.iter().fold(0, |or, byte| or | byte);
        }

        let bytes = self.shape.record_bytes();
        // The rest is the digest, if there is one, and padding, which is zero.
        let (record, rest) = stored.split_at(bytes);

        // Erased too: a digest tells a guessed record from others.
        let mut expected = Zeroizing::new(vec![0u8; rest.len()]);
        if self.digests {
            expected[..DIGEST_BYTES].copy_from_slice(blake3::hash(record).as_bytes());
        }
        beyond |= expected.iter().zip(rest).fold(0, |or, (a, b)| or | (a ^ b));

        let exact = extract_bits(record, 0, self.shape.record_bits());
        beyond |= exact.iter().zip(record).fold(0, |or, (a, b)| or | (a ^ b));

        decoded(exact, beyond == 0)
    }

    /// Bytes of a query's payload: n, u, v and c.
    pub(super) fn query_bytes(&self) -> usize {
        (3 + RANK) * self.number_bytes()
    }

    pub(super) fn answer_bytes(&self) -> usize {
        RANK * self.chunks() * self.number_bytes()
    }

    pub(super) fn public_bytes(&self) -> usize {
        if V::REGISTERED {
            0
        } else {
            self.number_bytes()
        }
    }

    /// Bytes of all coefficients, as integers.
    pub(super) fn coefficient_bytes(&self) -> usize {
        self.shape.records() as usize * self.chunks() * self.number_bytes()
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            public: sealed(8 + ENCODED_BYTES + self.public_bytes()),
            keys: if V::REGISTERED {
                sealed(self.number_bytes())
            } else {
                0
            },
            ticket: if V::REGISTERED {
                (NUMBER_BYTES + TAG_BYTES) as u64
            } else {
                0
            },
            query: sealed(self.query_bytes()),
            answer: sealed(self.answer_bytes()),
            database: self.shape.total_bytes(),
            material: if V::REGISTERED {
                0
            } else {
                self.coefficient_bytes() as u64
            },
            ..Sizes::default()
        }
    }
}

/// Bytes of a payload in its envelope.
fn sealed(payload: usize) -> u64 {
    (payload + envelope::OVERHEAD) as u64
}

impl<V: Variant> Parameters for NewtonParams<V> {
    fn choose(shape: Shape, _target: impl Into<Target>) -> Result<Self> {
        Self::checked(shape, false)
    }

    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Digests => Self::checked(shape, true),
            other => Err(other.refused_by(V::NAME)),
        }
    }

    /// Records without and, if they fit, with digests.
    fn candidates(shape: Shape, _failure: FailureBound) -> Result<Vec<Self>> {
        let plain = Self::checked(shape, false)?;
        Ok(std::iter::once(plain)
            .chain(Self::checked(shape, true))
            .collect())
    }

    fn label(&self) -> String {
        if self.digests {
            "digests"
        } else {
            "no digests"
        }
        .to_owned()
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: V::NAME,
            privacy: Newton::<V>::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: None,
            failure_log2: f64::NEG_INFINITY,
            failure_bound: FailureBound::DEFAULT,
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: MAX_RECORD_BITS,
                batch: 1,
                client_keys: V::REGISTERED,
                tickets: V::REGISTERED,
                owner_key: false,
                update: UpdateCost::Rebuild,
            },
            parameters: vec![
                ("log2 n", V::MODULUS_BITS.to_string()),
                ("chunks", self.chunks().to_string()),
                (
                    "digests",
                    if self.digests { "BLAKE3" } else { "none" }.to_owned(),
                ),
            ],
            work: Work::default(),
        }
    }

    fn with_terms(self, terms: &Terms) -> Result<Self> {
        match terms {
            Terms { owner: Some(_), .. } => Err(not_encrypted(V::NAME)),
            Terms {
                acknowledgement: Some(acknowledged),
                ..
            } => Ok(self.allow_insecure(*acknowledged)),
            _ => Ok(self),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.u8(u8::from(self.digests));
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("newton's parameters", bytes);
        let shape = read_shape(&mut reader)?;
        let digests = reader.u8()?;
        reader.finish()?;

        if digests > 1 {
            return Err(Error::malformed(
                "whether newton's records have digests",
                digests,
                "0 or 1",
            ));
        }
        Self::checked(shape, digests == 1)
    }
}
