//! Schemes that are quick enough to play every script. They are the schemes of the registry; slow
//! ones have short moduli or keys here.

use papir_client::core::Schemes;
use papir_core::erased::{
    Erased, ErasedClient, ErasedClientScheme, ErasedScheme, SchemeProperties,
};
use papir_core::scheme::Scheme;
use papir_core::{NotPrivate, Privacy, Result, Terms};
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::{self, Pirouette};
use papir_schemes::registry;
use papir_schemes::zip::{self, Zip, ZipDouble};

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

impl<S: Scheme> ErasedClientScheme for Private<S> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn properties(&self) -> SchemeProperties {
        SchemeProperties {
            privacy: Privacy::Private,
            ..self.0.properties()
        }
    }

    fn client_with(&self, public: &[u8], terms: &Terms) -> Result<Box<dyn ErasedClient>> {
        self.0.client_with(public, terms)
    }
}

static ZIP: Private<Zip<ShortZip>> = Private::new();
static ZIP_DOUBLE: Private<ZipDouble<ShortZip>> = Private::new();
static PIROUETTE: Private<Pirouette<ShortPirouette>> = Private::new();
static ENCRYPTED: Private<Encrypted<ShortPirouette>> = Private::new();

/// Returns the names of the registry's private schemes.
pub fn private_schemes() -> Vec<&'static str> {
    let private = registry::all()
        .into_iter()
        .filter(|scheme| scheme.properties().privacy == Privacy::Private);
    private.map(|scheme| scheme.name()).collect()
}

/// Returns the short schemes, which clients must know besides the registry.
pub fn short() -> Schemes {
    Schemes::and(vec![&ZIP, &ZIP_DOUBLE, &PIROUETTE, &ENCRYPTED])
}

/// Returns the scheme of this name.
pub fn scheme(name: &str) -> &'static dyn ErasedScheme {
    match name {
        "zip" => &ZIP.0,
        "zipdouble" => &ZIP_DOUBLE.0,
        "pirouette" => &PIROUETTE.0,
        "pirouette-encrypted" => &ENCRYPTED.0,
        _ => registry::by_name(name).unwrap(),
    }
}
