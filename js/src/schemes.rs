//! The schemes in this module.

use papir_client::core::Schemes;
use papir_core::erased::{Erased, ErasedClient, ErasedClientScheme, SchemeProperties};
use papir_core::scheme::Scheme;
use papir_core::{Error, Privacy, Result, Terms};

/// The reason why schemes with registered clients are refused.
pub(crate) const NO_REGISTRATION: &str = "its clients keep state that must never be used twice, and the \
    storage of a browser may lose the marks of use: expected a database of another scheme, or a client \
    outside a browser";

/// A scheme with registered clients: its name and its number.
struct RegisteredScheme(&'static str, u16);

impl ErasedClientScheme for RegisteredScheme {
    fn name(&self) -> &'static str {
        self.0
    }

    fn properties(&self) -> SchemeProperties {
        SchemeProperties {
            id: self.1,
            privacy: Privacy::Private,
            bounded_memory: false,
        }
    }

    fn client_with(&self, _public: &[u8], _terms: &Terms) -> Result<Box<dyn ErasedClient>> {
        Err(Error::Parameters {
            scheme: self.0,
            reason: NO_REGISTRATION.to_owned(),
        })
    }
}

/// The client side of a scheme.
type ListedClient = &'static (dyn ErasedClientScheme + 'static);

/// A scheme of the registry as this module has it: one with registered clients is refused by name,
/// and the short module has the common ones of the others.
macro_rules! client_of {
    (private registered $weight:ident $scheme:ty) => {{
        const REFUSED: ListedClient = &RegisteredScheme(<$scheme>::NAME, <$scheme>::ID);
        Some(REFUSED)
    }};
    (private keyless common $scheme:ty) => {{
        const COMMON: ListedClient = &Erased::<$scheme>::new();
        Some(COMMON)
    }};
    (private keyless $weight:ident $scheme:ty) => {{
        #[cfg(feature = "all")]
        const RARE: Option<ListedClient> = {
            const SCHEME: ListedClient = &Erased::<$scheme>::new();
            Some(SCHEME)
        };
        #[cfg(not(feature = "all"))]
        const RARE: Option<ListedClient> = None;
        RARE
    }};
    ($privacy:ident $clients:ident $weight:ident $scheme:ty) => {
        None
    };
}

macro_rules! clients {
    ($($name:ident: $scheme:ty {
        $privacy:ident, $clients:ident, $bound:ident, $weight:ident
    })*) => {
        &[$(client_of! { $privacy $clients $weight $scheme }),*]
    };
}

/// The registry's schemes in this module, in their order.
const LISTED: &[Option<ListedClient>] = papir_schemes::for_each_scheme!(clients);

/// All of them.
pub(crate) fn schemes() -> Schemes {
    Schemes::only(LISTED.iter().copied().flatten().collect())
}
