//! The schemes in this module.

use papir_client::core::Schemes;
use papir_core::erased::{Erased, ErasedClient, ErasedClientScheme};
use papir_core::scheme::Scheme;
use papir_core::{Error, NotPrivate, OwnerKey, Privacy, Result};
use papir_schemes::download::Download;
use papir_schemes::inspire::Inspire;
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::respire::Respire;
use papir_schemes::pirouette::{Pirouette, Standard};
use papir_schemes::simple::Simple;
use papir_schemes::zip::{Zip, ZipDouble};

/// The reason why schemes with registered clients are refused.
pub(crate) const NO_REGISTRATION: &str = "its clients keep state that must never be used twice, and the \
    storage of a browser may lose the marks of use: expected a database of another scheme, or a client \
    outside a browser";

/// A scheme with registered clients: its name and its number.
struct Registered(&'static str, u16);

impl ErasedClientScheme for Registered {
    fn name(&self) -> &'static str {
        self.0
    }

    fn id(&self) -> u16 {
        self.1
    }

    fn privacy(&self) -> Privacy {
        Privacy::Private
    }

    fn client_with(
        &self,
        _public: &[u8],
        _acknowledgement: Option<NotPrivate>,
        _owner: Option<&OwnerKey>,
    ) -> Result<Box<dyn ErasedClient>> {
        Err(Error::Parameters {
            scheme: self.0,
            reason: NO_REGISTRATION.to_owned(),
        })
    }
}

const REGISTERED: [&(dyn ErasedClientScheme + 'static); 5] = [
    &Registered(<Zip>::NAME, <Zip>::ID),
    &Registered(<ZipDouble>::NAME, <ZipDouble>::ID),
    &Registered(Pirouette::<Standard>::NAME, Pirouette::<Standard>::ID),
    &Registered(Respire::NAME, Respire::ID),
    &Registered(Encrypted::<Standard>::NAME, Encrypted::<Standard>::ID),
];

/// The schemes that most services serve, in a short module.
const SHORT: [&(dyn ErasedClientScheme + 'static); 3] = [
    &Erased::<Inspire>::new(),
    &Erased::<Simple>::new(),
    &Erased::<Download>::new(),
];

#[cfg(feature = "all")]
const LONG: &[&(dyn ErasedClientScheme + 'static)] = &[
    &Erased::<papir_schemes::double::Double>::new(),
    &Erased::<papir_schemes::inspire::two_levels::Inspire2>::new(),
    &Erased::<papir_schemes::double::packed::Inspire0>::new(),
    &Erased::<papir_schemes::double::packed::Ypir>::new(),
    &Erased::<papir_schemes::simple::packed::SimpleYpir>::new(),
    &Erased::<papir_schemes::simple::packed::Inspire1>::new(),
    &Erased::<papir_schemes::batched::Batched<papir_schemes::inspire::parts::InspireInParts>>::new(
    ),
    &Erased::<papir_schemes::batched::Batched<Simple>>::new(),
    &Erased::<papir_schemes::depir::Depir>::new(),
];
#[cfg(not(feature = "all"))]
const LONG: &[&(dyn ErasedClientScheme + 'static)] = &[];

/// All of them.
pub(crate) fn schemes() -> Schemes {
    Schemes::only([&SHORT, LONG, &REGISTERED].concat())
}
