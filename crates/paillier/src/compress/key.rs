//! Compression keys and direct compression.

use rand_core::CryptoRng;

use super::combine::combine;
use super::layout::Layout;
use super::lwe::{KeyKind, Linear, Lwe, LweParams};
use crate::ciphertext::{Ciphertext, Plaintext};
use crate::error::{Error, Result};
use crate::products::{Exponents, Plan, Products, Shape};
use crate::public::PublicKey;
use crate::secret::SecretKey;

/// Memory limit of the tables and accumulators of compression, in bytes.
const MEMORY: usize = 64 << 20;

/// An LWE secret, encrypted entry by entry under a Paillier key (ZipPIR, Algorithm 2). Its holder
/// can compress any number of encryptions under that secret.
///
/// A key with small entries works for every modulus q, a key with general entries only for the
/// modulus it was made for.
#[derive(Clone)]
pub struct CompressionKey {
    public: PublicKey,
    n: usize,
    kind: KeyKind,
    /// The layout of the packed key that this key was unpacked from, if any.
    packing: Option<Layout>,
    ciphertexts: Vec<Ciphertext>,
}

impl CompressionKey {
    /// Encrypts an LWE secret, given as residues modulo q.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Residue`] if the secret is not of the kind in `lwe`.
    pub fn generate(
        secret: &SecretKey,
        lwe: &LweParams,
        lwe_secret: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let plaintexts = Self::plaintexts(secret.public(), lwe, lwe_secret)?;
        Self::from_ciphertexts(secret.public(), lwe, secret.encrypt_many(&plaintexts, rng)?)
    }

    /// Returns the plaintexts of a key, for other methods of encryption such as
    /// [`SecretKey::offsets`], which takes half the bytes.
    ///
    /// # Errors
    /// The errors of [`CompressionKey::generate`].
    pub fn plaintexts(
        public: &PublicKey,
        lwe: &LweParams,
        lwe_secret: &[u64],
    ) -> Result<Vec<Plaintext>> {
        lwe.digits(lwe_secret)?
            .iter()
            .map(|&digit| public.plaintext(&[digit]))
            .collect()
    }

    /// Creates a key from received ciphertexts.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn from_ciphertexts(
        public: &PublicKey,
        lwe: &LweParams,
        ciphertexts: Vec<Ciphertext>,
    ) -> Result<Self> {
        Error::check_length(
            "ciphertexts of the compression key",
            ciphertexts.len(),
            lwe.dimension(),
        )?;
        Ok(Self {
            public: public.clone(),
            n: lwe.dimension(),
            kind: lwe.kind(),
            packing: None,
            ciphertexts,
        })
    }

    /// Creates the key of a layout from an unpacked key's ciphertexts.
    pub(crate) fn unpacked(
        public: &PublicKey,
        layout: &Layout,
        ciphertexts: Vec<Ciphertext>,
    ) -> Self {
        Self {
            public: public.clone(),
            n: layout.lwe().dimension(),
            kind: layout.lwe().kind(),
            packing: Some(layout.clone()),
            ciphertexts,
        }
    }

    /// The n ciphertexts.
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }

    /// The public key that the secret is encrypted under.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Checks that this key fits the layout.
    pub(crate) fn check(&self, layout: &Layout) -> Result<()> {
        let lwe = layout.lwe();
        let found = (lwe.dimension(), lwe.kind());
        let expected = (self.n, self.kind);
        if found != expected {
            return Err(Error::mismatch(
                "LWE secret",
                format!("{found:?}"),
                format!("{expected:?}"),
            ));
        }

        // In an unpacked key other digits surround each digit, at powers of γ. Only a layout with
        // this γ and packing keeps them off the phases.
        let packing = self.packing.as_ref().map_or(1, Layout::packing);
        let gamma = self.packing.as_ref().map(Layout::gamma_words);
        if layout.packing() != packing || gamma.is_some_and(|gamma| gamma != layout.gamma_words()) {
            let found = packing_of(layout);
            let expected = match &self.packing {
                Some(packing) => packing_of(packing),
                None => "no packing".to_owned(),
            };
            return Err(Error::mismatch("layout", found, expected));
        }
        Ok(())
    }

    /// Multiplications that [`CompressionKey::compress`] takes for `rows` encryptions.
    pub(crate) fn multiplications(&self, layout: &Layout, rows: usize) -> u64 {
        let shape = Shape {
            rows,
            columns: self.n,
            bits: layout.lwe().modulus_bits(),
            element_bytes: 8 * self.public.batch().limbs(),
        };
        Plan::choose(&shape, MEMORY).multiplications(&shape)
    }

    /// Compresses encryptions in batches of one for each slot of the layout (ZipPIR, Algorithms 2
    /// and 3), by products of powers.
    ///
    /// This is the faster method for tens of encryptions; [`ExpandedKey`](super::ExpandedKey) is
    /// faster for one or a few.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a layout of other secrets; [`Error::Length`], [`Error::Residue`] for
    /// malformed encryptions.
    pub fn compress(&self, layout: &Layout, encryptions: &[Lwe]) -> Result<Vec<Ciphertext>> {
        self.check(layout)?;
        let forms: Vec<Linear> = encryptions
            .iter()
            .map(|lwe| layout.lwe().linear(lwe))
            .collect::<Result<_>>()?;

        let rows = 0..forms.len();
        let exponents = LinearForms {
            forms: &forms,
            columns: self.n,
            bits: layout.lwe().modulus_bits(),
        };
        let mut products = Products::new(&self.public, &self.ciphertexts, exponents, rows, MEMORY)?;
        while products.step() {}

        combine(&self.public, layout, &forms, products.elements())
    }
}

/// Describes a layout's packing in errors.
fn packing_of(layout: &Layout) -> String {
    format!(
        "packing {} of {:?} digits",
        layout.packing(),
        layout.scale()
    )
}

/// Coefficients of linear forms as exponents.
struct LinearForms<'a> {
    forms: &'a [Linear],
    columns: usize,
    bits: u32,
}

impl Exponents for LinearForms<'_> {
    fn rows(&self) -> usize {
        self.forms.len()
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        // Coefficients are below q ≤ 2⁶⁴, so an exponent is one word.
        words.copy_from_slice(&[self.forms[row].coefficients[column]]);
    }
}
