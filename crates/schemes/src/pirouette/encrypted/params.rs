//! Parameters over encrypted databases, and the owner's key.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use papir_core::codec::Writer;
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters, Target};
use papir_core::{Description, Error, Formats, OwnerKey, Result, Shape, Terms};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::security::{self, Secret};
use papir_lattice::wide::{Gadget, RlweParams, SecretKey};
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::ciphertexts::{BODY_BYTES, LOG2_MODULUS, SEED_BYTES};
use crate::pirouette::chain::{
    Chain, DEGREE, Grain, LOG2_DEGREE, OUTPUTS, ParameterSet, RECORD_SIGMA, Standard, TERNARY,
};
use crate::pirouette::common::{
    Common, RetrievalParams, best, external, gate_gadget, key_switch, numbered, seeds, spans,
};
use crate::pirouette::keys::{expanded_bytes, packed_bytes};
use crate::pirouette::layout::Layout;
use crate::pirouette::noise::{Constants, Noise, Retrieved, bits_failure_log2, gadgets_of};
use crate::pirouette::wire;
use crate::shared::messages::{read_all, read_shape, write_shape};
use crate::shared::parameters::refused;

/// Cost of lifting an encryption and of a gate's other work, in external products of two digits, as
/// measured (decision 21).
const LIFTING: f64 = 0.35;
/// Gadgets of gates that are compared: the number of digits, and log₂ of the base. Gadgets of two
/// digits need the fine keys.
const GATES: [(usize, u32); 7] = [(2, 9), (3, 7), (3, 6), (4, 6), (4, 5), (5, 4), (7, 3)];

/// Label for deriving the ring key.
const LABEL: &str = "pirouette/owner";
/// BLAKE3's context string of [`KeyId`].
const CONTEXT: &str = "papir 2026 owner key id v1";

/// Formats of parameters. Answers of format 1 may have other numbers of bits; in format 2 the ring
/// has two primes.
const FORMATS: Formats = Formats {
    what: "a database of pirouette-encrypted",
    oldest: 3,
    written: 3,
    renew: "build it again from its source: `papir build …`",
};
/// Bytes of parameters in format 1, which had no number.
const UNNUMBERED: usize = 46;

/// Values that determine the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Bytes of an item in one plane.
    pub span: usize,
    /// Number of digits of the gates' RGSW encryptions, and log₂ of their base.
    pub gate: (usize, u32),
    /// Bytes of a query's seed: 32 or 16.
    pub seed_bytes: usize,
    /// Granularity of the keys that make gates.
    pub grain: Grain,
}

/// Pirouette over an encrypted database, as a scheme.
pub struct Encrypted<T = Standard>(PhantomData<fn() -> T>);

/// Parameters of [`Encrypted`]. The layout has one column.
#[derive(Clone, Debug)]
pub struct EncryptedParams<T> {
    pub(super) literal: Literal,
    common: Common,
    pub(super) owner: Owner,
    set: PhantomData<fn() -> T>,
}

/// Identifier of an owner's key: a hash of the ring key, which reveals nothing else about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyId(pub [u8; 16]);

impl KeyId {
    /// Returns the identifier of a ring key.
    fn of(key: &SecretKey) -> Self {
        let bytes = Zeroizing::new(
            key.coefficients()
                .iter()
                .map(|&c| c as i8 as u8)
                .collect::<Vec<_>>(),
        );
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&bytes);

        let mut id = [0; 16];
        let mut output = hasher.finalize_xof();
        output.fill(&mut id);

        // Both hold state derived from the key.
        output.zeroize();
        hasher.zeroize();
        Self(id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Owner of a database: the key under which it is encrypted, or the key's identifier.
#[derive(Clone, Default)]
pub(super) struct Owner {
    pub(super) id: Option<KeyId>,
    key: Option<Arc<SecretKey>>,
}

impl Owner {
    /// Returns the same owner with a key. Fails if the identifier belongs to another key.
    fn with(&self, key: &OwnerKey, ring: &RlweParams) -> Result<Self> {
        let key =
            SecretKey::generate_light(ring, TERNARY, &mut SecretRng::derived(key.bytes(), LABEL));
        let found = KeyId::of(&key);

        match self.id {
            Some(id) if id != found => {
                let found = format!("key {found}");
                let expected = format!("its owner's key, {id}");
                Err(Error::OwnerKey { found, expected })
            }
            _ => Ok(Self {
                id: Some(found),
                key: Some(Arc::new(key)),
            }),
        }
    }

    /// Returns the key. Fails if it is missing.
    pub(super) fn key(&self) -> Result<&SecretKey> {
        self.key.as_deref().ok_or_else(|| self.missing())
    }

    /// Returns the error of a missing key.
    fn missing(&self) -> Error {
        let expected = match self.id {
            Some(id) => format!("its owner's key, {id}"),
            None => "a key of its owner".to_owned(),
        };

        Error::OwnerKey {
            found: "none".to_owned(),
            expected,
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({:?})", self.id)
    }
}

/// Computes the noise from the query to the item.
pub(super) fn noise(chain: &Chain, layout: &Layout, gate: &Gadget) -> Noise {
    let ring = chain.setting();
    let gadgets = gadgets_of(chain);
    let gate = gate.params();
    let k = layout.index_bits();

    let rotation = ring.rotation(gadgets.bits, chain.bits.switch.dimension);
    let origin = Constants::new(&ring, gadgets.conversion, rotation, 0);
    let record = (RECORD_SIGMA / 2f64.powi(LOG2_MODULUS as i32)).powi(2);

    let short = &chain.bits.switch;
    let relative = rotation / (ring.modulus * ring.modulus);
    Noise {
        retrieved: Retrieved::picked(&ring, gadgets.conversion, gate, k, record, origin),
        index_failure_log2: bits_failure_log2(&ring, short, gate, k, k, relative),
    }
}

impl<T: ParameterSet> EncryptedParams<T> {
    /// The parameters with the owner's key. The encoded parameters contain its fingerprint only.
    ///
    /// # Errors
    /// [`Error::OwnerKey`] if they name another key.
    pub fn with_owner_key(mut self, key: &OwnerKey) -> Result<Self> {
        self.owner = self.owner.with(key, &self.common.chain.rlwe)?;
        Ok(self)
    }

    /// Checked parameters, without a key.
    ///
    /// # Errors
    /// [`Error::Parameters`] if the noise does not close or a value does not fit.
    pub fn new(shape: Shape, literal: Literal) -> Result<Self> {
        let name = T::ENCRYPTED.0;
        let Literal {
            span,
            gate,
            seed_bytes,
            grain,
        } = literal;

        if !(1..OUTPUTS).contains(&gate.0) || !wire::SEED_BYTES.contains(&seed_bytes) {
            let expected = format!("1 to {} digits, seeds of 32 or 16 bytes", OUTPUTS - 1);
            return Err(refused(name)(format!("{literal:?}: expected {expected}")));
        }

        // Records are under the ring's key, as queries are, but at 2¹⁶, where a sample is weaker
        // than at 2³².
        security::require_128(
            DEGREE,
            f64::from(LOG2_MODULUS),
            Secret::Ternary,
            RECORD_SIGMA,
        )
        .map_err(refused(name))?;

        let chain = Chain::get::<T>(grain)?;
        let layout = Layout::in_one_column(name, shape, span)?;
        let gate = gate_gadget(name, &chain, gate)?;
        let noise = noise(&chain, &layout, &gate);
        let common = Common::new(name, shape, chain, layout, gate, &noise)?;
        Ok(Self {
            literal,
            common,
            owner: Owner::default(),
            set: PhantomData,
        })
    }

    fn encryptions(&self) -> u64 {
        (self.layout().planes * self.layout().polys()) as u64
    }

    /// Returns the work of an answer: bits one after another, the gates' encryptions, then a gate
    /// for each polynomial.
    fn answering(&self) -> Counts {
        let chain = self.chain();
        let layout = self.layout();

        let rotations = chain.bits.switch.dimension as f64 * external(&chain.bits.gadget);
        let digits = layout.index_bits() as usize * self.gate().levels();
        let switch = key_switch(&chain.conversion);
        let traces = f64::from(LOG2_DEGREE) * switch + switch;
        let gates = layout.planes * (layout.polys() + layout.log2_slots as usize);
        let gate = external(self.gate()) + LIFTING;

        let bits = f64::from(layout.index_bits()) * rotations;
        Counts::new()
            .with(Operation::WideProduct, bits, 1)
            .with(Operation::WideProduct, digits as f64 * traces, digits)
            .with(Operation::WideProduct, gates as f64 * gate, layout.polys())
    }
}

impl<T: ParameterSet> RetrievalParams for EncryptedParams<T> {
    const SHORTS: usize = 1;
    const PUBLIC_BYTES: usize = 0;

    fn common(&self) -> &Common {
        &self.common
    }

    fn seed_bytes(&self) -> usize {
        self.literal.seed_bytes
    }

    /// Returns the owner's key, from the parameters or from an earlier registration.
    fn ring_key(&self, kept: Option<&SecretKey>, _rng: &mut dyn CryptoRng) -> Result<SecretKey> {
        let key = match kept {
            Some(key) if self.takes(key) => key,
            _ => self.owner.key()?,
        };

        let coefficients = Zeroizing::new(key.coefficients().to_vec());
        Ok(SecretKey::from_coefficients(
            &self.chain().rlwe,
            coefficients,
        ))
    }

    fn takes(&self, ring_key: &SecretKey) -> bool {
        self.owner.id == Some(KeyId::of(ring_key))
    }
}

impl<T: ParameterSet> Parameters for EncryptedParams<T> {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let target = target.into();
        let goal = target.goal;
        let seed_bytes = if goal == Goal::MinCommunication {
            16
        } else {
            32
        };

        let mut literals = Vec::new();
        for span in spans(shape) {
            for grain in [Grain::Coarse, Grain::Fine] {
                literals.extend(GATES.map(|gate| Literal {
                    span,
                    gate,
                    seed_bytes,
                    grain,
                }));
            }
        }

        let choices = literals
            .into_iter()
            .map(|literal| Self::new(shape, literal));
        best(T::ENCRYPTED.0, target, choices)
    }

    fn with_terms(self, terms: &Terms) -> Result<Self> {
        match &terms.owner {
            Some(key) => self.with_owner_key(key),
            None => Ok(self),
        }
    }

    fn label(&self) -> String {
        let keys = if self.literal.grain == Grain::Fine {
            ", large keys"
        } else {
            ""
        };

        let layout = self.layout();
        let GadgetParams {
            levels, log_base, ..
        } = self.gate().params();
        let gates = format!("gates of {levels} digits of {log_base} bits{keys}");
        let seeds = seeds(self.literal.seed_bytes);

        format!(
            "{} polynomials, items of {} B, {gates}{seeds}",
            layout.polys(),
            layout.span
        )
    }

    fn shape(&self) -> Shape {
        self.common.shape
    }

    fn describe(&self) -> Description {
        let chain = self.chain();
        let stored = [BODY_BYTES, SEED_BYTES].map(|bytes| self.encryptions() * bytes as u64);
        let sizes = self.sizes(packed_bytes(chain, Self::SHORTS), stored);

        let own = vec![
            ("n", chain.bits.switch.dimension.to_string()),
            ("log2 of the records' modulus", LOG2_MODULUS.to_string()),
            ("query payload bytes", self.query_bytes().to_string()),
            (
                "bytes of a client's expanded keys",
                expanded_bytes(chain, Self::SHORTS).to_string(),
            ),
            (
                "owner's key",
                self.owner.id.map_or("none".to_owned(), |id| id.to_string()),
            ),
        ];

        let words = (self.layout().planes * self.layout().span) as f64;
        let work = Work {
            setup: Counts::new().with(Operation::Encrypt, self.encryptions() as f64, usize::MAX),
            query: Counts::new().with(Operation::Word, 2.0 * DEGREE as f64, 1),
            answer: self.answering(),
            extract: Counts::new().with(Operation::DecryptRow, words, 1),
        };

        let mut description = self
            .common
            .describe(T::ENCRYPTED.0, T::PRIVACY, sizes, own, work);
        description.limits.owner_key = true;
        description
    }

    fn encode(&self) -> Vec<u8> {
        let Literal {
            span,
            gate,
            seed_bytes,
            grain,
        } = self.literal;

        let mut writer = Writer::new();
        writer.u32(FORMATS.written);
        write_shape(&mut writer, self.common.shape);
        writer.u32(span as u32).u32(gate.0 as u32).u32(gate.1);
        // Zeros without a key.
        writer
            .raw(&[seed_bytes as u8, u8::from(grain == Grain::Fine)])
            .raw(&self.owner.id.map_or([0; 16], |id| id.0));

        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, span, gate, [seed_bytes, grain], id) = read_all(
            "pirouette-encrypted's parameters",
            numbered(&FORMATS, bytes, UNNUMBERED)?,
            |reader| {
                let shape = read_shape(reader)?;
                let span = reader.u32()? as usize;
                let gate = (reader.u32()? as usize, reader.u32()?);
                Ok((shape, span, gate, reader.array()?, reader.array()?))
            },
        )?;

        let grain = match grain {
            0 => Grain::Coarse,
            1 => Grain::Fine,
            other => {
                let reason = format!("grain {other}: expected 0, small keys, or 1, large ones");
                return Err(refused(T::ENCRYPTED.0)(reason));
            }
        };
        let literal = Literal {
            span,
            gate,
            seed_bytes: seed_bytes.into(),
            grain,
        };
        let params = Self::new(shape, literal)?;

        // Zeros stand for no key.
        let id = (id != [0; 16]).then_some(KeyId(id));
        Ok(Self {
            owner: Owner { id, key: None },
            ..params
        })
    }
}
