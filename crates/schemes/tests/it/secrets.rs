//! A secret opens one answer. It is moved into `extract`, and no secret is cloned, copied or
//! printed: this file compiles only if that holds.

use papir_core::erased::ErasedSecret;
use papir_core::scheme::{Client, Scheme};
use papir_core::{Record, Result};
use papir_research::for_each_research_scheme;
use papir_schemes::for_each_scheme;
use papir_schemes::simple::Simple;
use static_assertions::assert_not_impl_any;

assert_not_impl_any!(ErasedSecret: Clone, Copy, std::fmt::Debug);

/// Checks the listed schemes' secrets, and names the schemes.
macro_rules! check_secrets {
    ($($name:ident: $scheme:ty {
        $privacy:ident, $clients:ident, $bound:ident, $weight:ident
    })*) => {
        $(check_secret! { $privacy $scheme })*
        pub(super) const CHECKED: &[&str] = &[$(<$scheme>::NAME),*];
    };
}

macro_rules! check_secret {
    // Not private: tests print it.
    (open $scheme:ty) => {
        assert_not_impl_any!(<$scheme as Scheme>::Secret: Clone, Copy);
    };
    ($privacy:ident $scheme:ty) => {
        assert_not_impl_any!(<$scheme as Scheme>::Secret: Clone, Copy, std::fmt::Debug);
    };
}

/// The secrets of the registry's schemes.
mod of_registry {
    use super::*;

    for_each_scheme!(check_secrets);
}

/// The secrets of the schemes that a program may add.
mod of_research {
    use super::*;

    for_each_research_scheme!(check_secrets);
}

/// Does not compile if `extract` borrows the secret.
fn extract<S: Scheme>(
    client: &S::Client,
    secret: S::Secret,
    answer: S::Answer,
) -> Result<Vec<Record>> {
    client.extract(secret, answer)
}

#[test]
fn every_schemes_secret_is_used_once() {
    let _ = extract::<Simple>;
    for listing in papir_schemes::registry::listings() {
        let name = listing.scheme.name();
        assert!(
            [of_registry::CHECKED, of_research::CHECKED]
                .concat()
                .contains(&name),
            "the secret of {name} is not checked here"
        );
    }
}
