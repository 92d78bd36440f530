//! Schemes with short moduli and keys, for tests that are slow at full length.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::erased::{Erased, ErasedScheme};
use papir_core::{NotPrivate, OwnerKey, Privacy};
use papir_research::newton::{BatchVariant, Newton, NewtonBucket, Variant};
use papir_schemes::batched::Batched;
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::{self, Pirouette};
use papir_schemes::registry;
use papir_schemes::zip::{self, Zip, ZipDouble};

/// ZipPIR with a modulus of 256 bits, which anybody can factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short;

impl zip::ParameterSet for Short {
    const ZIP: (&'static str, u16) = ("zip-short", 0xfff1);
    const ZIP_DOUBLE: (&'static str, u16) = ("zipdouble-short", 0xfff2);
    const PRIVACY: Privacy = Privacy::NotPrivate("its modulus is short: it is for tests");

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        papir_paillier::Params::insecure(256, 1)
    }
}

/// NewtonPIR with a modulus of 256 bits that the client generates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortNewton;

impl Variant for ShortNewton {
    const NAME: &'static str = "newton-short";
    const ID: u16 = 0xffe1;
    const MODULUS_BITS: u32 = 256;
    const REGISTERED: bool = true;
}

/// NewtonPIR with a modulus of 256 bits that the database generates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortNewtonSym;

impl Variant for ShortNewtonSym {
    const NAME: &'static str = "newtonsym-short";
    const ID: u16 = 0xfff3;
    const MODULUS_BITS: u32 = 256;
    const REGISTERED: bool = false;
}

impl BatchVariant for ShortNewtonSym {
    const BATCHED_NAME: &'static str = "newtonsym-batch-short";
    const BATCHED_ID: u16 = 0xfff6;
}

/// Pirouette with short keys, which anybody can guess; lengths and noise are the standard ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortPirouette;

impl pirouette::ParameterSet for ShortPirouette {
    const NAME: &'static str = "pirouette-short";
    const ID: u16 = 0xfff4;
    const ENCRYPTED: (&'static str, u16) = ("pirouette-encrypted-short", 0xfff5);
    const PRIVACY: Privacy = Privacy::NotPrivate("its keys are short: it is for tests");
    const DIMENSIONS: [usize; 2] = [16, 24];
}

/// Seed of the key of encrypted databases.
pub(crate) const OWNER_SEED: [u8; 32] = [7; 32];

/// Returns the key of encrypted databases.
#[allow(dead_code)]
pub(crate) fn owner() -> OwnerKey {
    OwnerKey::generate(&mut ChaCha20Rng::from_seed(OWNER_SEED))
}

/// Returns the registry's schemes with the schemes of papir-research.
pub(crate) fn registered() -> Vec<&'static dyn ErasedScheme> {
    papir_research::register().unwrap();
    registry::all()
}

/// Returns every scheme of the registry, private or not. Slow schemes have short moduli or keys.
#[allow(dead_code)]
pub(crate) fn all() -> Vec<Box<dyn ErasedScheme>> {
    let word = NotPrivate::acknowledged();
    let short = |scheme: &&dyn ErasedScheme| -> Box<dyn ErasedScheme> {
        match scheme.name() {
            "zip" => Box::new(Erased::<Zip<Short>>::allowing_insecure(word)),
            "zipdouble" => Box::new(Erased::<ZipDouble<Short>>::allowing_insecure(word)),
            "newton" => Box::new(Erased::<Newton<ShortNewton>>::allowing_insecure(word)),
            "newtonsym" => Box::new(Erased::<Newton<ShortNewtonSym>>::allowing_insecure(word)),
            "newtonsym-batch" => {
                type Batch = Batched<NewtonBucket<ShortNewtonSym>>;
                Box::new(Erased::<Batch>::allowing_insecure(word))
            }
            "pirouette" => Box::new(Erased::<Pirouette<ShortPirouette>>::allowing_insecure(word)),
            "pirouette-encrypted" => {
                let scheme = Erased::<Encrypted<ShortPirouette>>::allowing_insecure(word);
                Box::new(scheme.with_owner_key(owner()))
            }
            _ => scheme.allow_insecure(word),
        }
    };
    registered().iter().map(short).collect()
}

/// Returns the scheme of this name in the registry, with a short modulus.
#[allow(dead_code)]
pub(crate) fn with_short_modulus(name: &str) -> Box<dyn ErasedScheme> {
    let position = registered()
        .iter()
        .position(|scheme| scheme.name() == name)
        .unwrap();
    all().swap_remove(position)
}
