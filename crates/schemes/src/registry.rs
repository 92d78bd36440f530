//! The only list of schemes: a name or a number becomes an [`ErasedScheme`].

use papir_core::erased::{Erased, ErasedScheme};
use papir_core::{Error, Result};

use crate::double::Double;
use crate::inspire::Inspire;
use crate::inspire0::Inspire0;
use crate::inspire2::Inspire2;
use crate::newton::{Newton, Registered, Symmetric};
use crate::plain::Plain;
use crate::simple::Simple;
use crate::simpleypir::SimpleYpir;
use crate::ypir::Ypir;
use crate::zip::Zip;
use crate::zipdouble::ZipDouble;

/// Every scheme there is, in the order of their numbers. Those that look private and are not make neither
/// servers nor clients before [`ErasedScheme::acknowledge`].
pub fn all() -> &'static [&'static dyn ErasedScheme] {
    const SCHEMES: &[&dyn ErasedScheme] = &[
        &Erased::<Plain>::new(),
        &Erased::<Simple>::new(),
        &Erased::<Inspire>::new(),
        &Erased::<Double>::new(),
        &Erased::<Inspire2>::new(),
        &Erased::<Inspire0>::new(),
        &Erased::<Ypir>::new(),
        &Erased::<SimpleYpir>::new(),
        &Erased::<Zip>::new(),
        &Erased::<Newton<Registered>>::new(),
        &Erased::<Newton<Symmetric>>::new(),
        &Erased::<ZipDouble>::new(),
    ];
    SCHEMES
}

/// The scheme of this name.
///
/// # Errors
/// [`Error::UnknownScheme`] with the names there are.
pub fn by_name(name: &str) -> Result<&'static dyn ErasedScheme> {
    find(|scheme| scheme.name() == name, name)
}

/// The scheme with this number on the wire.
///
/// # Errors
/// [`Error::UnknownScheme`] with the names there are.
pub fn by_id(id: u16) -> Result<&'static dyn ErasedScheme> {
    find(|scheme| scheme.id() == id, &format!("number {id}"))
}

fn find(matches: impl Fn(&dyn ErasedScheme) -> bool, wanted: &str) -> Result<&'static dyn ErasedScheme> {
    all().iter().copied().find(|scheme| matches(*scheme)).ok_or_else(|| Error::UnknownScheme {
        found: wanted.to_owned(),
        expected: all().iter().map(|scheme| scheme.name()).collect::<Vec<_>>().join(", "),
    })
}
