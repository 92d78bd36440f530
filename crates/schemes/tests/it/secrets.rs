//! A secret opens one answer. It is moved into `extract`, and no secret is cloned, copied or printed:
//! this file compiles only where that is so.

use papir_core::erased::ErasedSecret;
use papir_core::scheme::{Client, Scheme};
use papir_core::{Record, Result};
use papir_research::newton::{Newton, NewtonBucket, Registered, Symmetric};
use papir_schemes::batched::Batched;
use papir_schemes::depir::Depir;
use papir_schemes::double::Double;
use papir_schemes::double::packed::{Inspire0, Ypir};
use papir_schemes::download::Download;
use papir_schemes::inspire::Inspire;
use papir_schemes::inspire::parts::InspireInParts;
use papir_schemes::inspire::two_levels::Inspire2;
use papir_schemes::pirouette::Pirouette;
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::respire::Respire;
use papir_schemes::plain::Plain;
use papir_schemes::simple::Simple;
use papir_schemes::simple::packed::{Inspire1, SimpleYpir};
use papir_schemes::zip::{Zip, ZipDouble};
use static_assertions::assert_not_impl_any;

assert_not_impl_any!(ErasedSecret: Clone, Copy, std::fmt::Debug);
// Not private: tests print it.
assert_not_impl_any!(<Plain as Scheme>::Secret: Clone, Copy);

/// Checks the schemes' secrets, and names the schemes.
macro_rules! check_secrets {
    ($($scheme:ty),* $(,)?) => {
        $(assert_not_impl_any!(<$scheme as Scheme>::Secret: Clone, Copy, std::fmt::Debug);)*
        const CHECKED: &[&str] = &[Plain::NAME, $(<$scheme>::NAME),*];
    };
}

check_secrets!(
    Simple,
    Inspire,
    Double,
    Inspire2,
    Inspire0,
    Ypir,
    SimpleYpir,
    Zip,
    ZipDouble,
    Batched<InspireInParts>,
    Batched<Simple>,
    Pirouette,
    Respire,
    Encrypted,
    Depir,
    Download,
    Inspire1,
    Newton<Registered>,
    Newton<Symmetric>,
    Batched<NewtonBucket>,
);

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
            CHECKED.contains(&name),
            "the secret of {name} is not checked here"
        );
    }
}
