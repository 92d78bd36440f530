//! Schemes that are quick enough to play every script: those of the registry, with short moduli or
//! keys where those of full length are slow.

use papir_client::core::MoreSchemes;
use papir_core::erased::{Erased, ErasedClient, ErasedScheme, ErasedServer};
use papir_core::scheme::Scheme;
use papir_core::sections::SectionSource;
use papir_core::{
    Candidate, Choice, Description, FailureBound, Goal, NotPrivate, OwnerKey, Privacy, Progress, Records,
    Result, Shape, Target,
};
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::{self, Pirouette};
use papir_schemes::registry;
use papir_schemes::zip::{self, Zip, ZipDouble};
use rand_core::CryptoRng;

/// ZipPIR with a modulus of 256 bits.
#[derive(Clone, Copy, Debug)]
struct ShortZip;

impl zip::ParameterSet for ShortZip {
    const ZIP: (&'static str, u16) = ("zip-short", 0xfff1);
    const ZIP_DOUBLE: (&'static str, u16) = ("zipdouble-short", 0xfff2);
    const PRIVACY: Privacy = Privacy::NotPrivate("it is for tests");

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        papir_paillier::Params::insecure(256, 1)
    }
}

/// Pirouette with short keys.
#[derive(Clone, Copy, Debug)]
struct ShortPirouette;

impl pirouette::ParameterSet for ShortPirouette {
    const NAME: &'static str = "pirouette-short";
    const ID: u16 = 0xfff4;
    const ENCRYPTED: (&'static str, u16) = ("pirouette-encrypted-short", 0xfff5);
    const PRIVACY: Privacy = Privacy::NotPrivate("it is for tests");
    const DIMENSIONS: [usize; 2] = [16, 24];
}

/// A scheme with short keys that passes as private: the client must not need the permission that
/// would also let it use `plain`.
struct Private<S>(Erased<S>);

impl<S> Private<S> {
    const fn new() -> Self {
        Self(Erased::allowing_insecure(NotPrivate::acknowledged()))
    }
}

impl<S: Scheme> ErasedScheme for Private<S> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn id(&self) -> u16 {
        self.0.id()
    }

    fn privacy(&self) -> Privacy {
        Privacy::Private
    }

    fn allow_insecure(&self, acknowledgement: NotPrivate) -> Box<dyn ErasedScheme> {
        self.0.allow_insecure(acknowledgement)
    }

    fn with_owner_key(&self, owner: Option<&OwnerKey>) -> Box<dyn ErasedScheme> {
        self.0.with_owner_key(owner)
    }

    fn plan(&self, shape: Shape, goal: Goal) -> Result<Description> {
        self.0.plan(shape, goal)
    }

    fn candidates(&self, shape: Shape, failure: FailureBound) -> Result<Vec<Candidate>> {
        self.0.candidates(shape, failure)
    }

    fn candidate_for(&self, shape: Shape, target: Target) -> Result<Candidate> {
        self.0.candidate_for(shape, target)
    }

    fn candidate(&self, shape: Shape, choice: Choice) -> Result<Candidate> {
        self.0.candidate(shape, choice)
    }

    fn setup_candidate(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        self.0.setup_candidate(parameters, records, rng, progress)
    }

    fn setup(
        &self,
        records: &dyn Records,
        goal: Goal,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        self.0.setup(records, goal, rng, progress)
    }

    fn load(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedServer>> {
        self.0.load(source)
    }

    fn client(&self, public: &[u8]) -> Result<Box<dyn ErasedClient>> {
        self.0.client(public)
    }
}

static ZIP: Private<Zip<ShortZip>> = Private::new();
static ZIP_DOUBLE: Private<ZipDouble<ShortZip>> = Private::new();
static PIROUETTE: Private<Pirouette<ShortPirouette>> = Private::new();
static ENCRYPTED: Private<Encrypted<ShortPirouette>> = Private::new();

/// The names of the registry's private schemes.
pub fn private_schemes() -> Vec<&'static str> {
    let private = registry::all().into_iter().filter(|scheme| scheme.privacy() == Privacy::Private);
    private.map(|scheme| scheme.name()).collect()
}

/// The short schemes, which clients must know besides the registry.
pub fn short() -> MoreSchemes {
    MoreSchemes(vec![&ZIP, &ZIP_DOUBLE, &PIROUETTE, &ENCRYPTED])
}

/// The scheme of this name.
pub fn scheme(name: &str) -> &'static dyn ErasedScheme {
    match name {
        "zip" => &ZIP,
        "zipdouble" => &ZIP_DOUBLE,
        "pirouette" => &PIROUETTE,
        "pirouette-encrypted" => &ENCRYPTED,
        _ => registry::by_name(name).unwrap(),
    }
}
