//! Registry of the schemes that can be measured.

use std::marker::PhantomData;

use papir_core::scheme::Parameters;
use papir_core::{Description, Error as CoreError, Progress, Shape};
use papir_research::newton::{Newton, Registered, Symmetric};
use papir_schemes::batched::Batched;
use papir_schemes::depir::Depir;
use papir_schemes::double::Double;
use papir_schemes::double::inspire0::Inspire0;
use papir_schemes::double::ypir::Ypir;
use papir_schemes::inspire::Inspire;
use papir_schemes::inspire::parts::InspireInParts;
use papir_schemes::inspire::two_levels::Inspire2;
use papir_schemes::pirouette::Pirouette;
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::respire::Respire;
use papir_schemes::plain::Plain;
use papir_schemes::simple::Simple;
use papir_schemes::simple::packed::SimpleYpir;
use papir_schemes::zip::over_double::ZipDouble;
use papir_schemes::zip::over_simple::Zip;

use crate::measure::{Plan, measure};
use crate::{Report, Result};

pub use crate::measured::{Choice, Measured, Part};

/// A [`Measured`] scheme behind a trait object.
pub trait Subject: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// What its parameters would give.
    ///
    /// # Errors
    /// As [`Measured::params`].
    fn describe(&self, shape: Shape, choice: Choice) -> Result<Description>;

    /// Measures it.
    ///
    /// # Errors
    /// As [`measure`].
    fn measure(&self, plan: &Plan<'_>, progress: &dyn Progress) -> Result<Report>;
}

/// A [`Measured`] scheme as a [`Subject`].
struct Of<S>(PhantomData<fn() -> S>);

impl<S: Measured> Subject for Of<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn describe(&self, shape: Shape, choice: Choice) -> Result<Description> {
        Ok(S::params(shape, choice)?.describe())
    }

    fn measure(&self, plan: &Plan<'_>, progress: &dyn Progress) -> Result<Report> {
        measure::<S>(plan, progress)
    }
}

/// Every scheme of the registry.
pub fn all() -> [&'static dyn Subject; 18] {
    const PLAIN: &dyn Subject = &Of::<Plain>(PhantomData);
    const SIMPLE: &dyn Subject = &Of::<Simple>(PhantomData);
    const INSPIRE: &dyn Subject = &Of::<Inspire>(PhantomData);
    const DOUBLE: &dyn Subject = &Of::<Double>(PhantomData);
    const INSPIRE_2: &dyn Subject = &Of::<Inspire2>(PhantomData);
    const INSPIRE_0: &dyn Subject = &Of::<Inspire0>(PhantomData);
    const YPIR: &dyn Subject = &Of::<Ypir>(PhantomData);
    const SIMPLE_YPIR: &dyn Subject = &Of::<SimpleYpir>(PhantomData);
    const ZIP: &dyn Subject = &Of::<Zip>(PhantomData);
    const NEWTON: &dyn Subject = &Of::<Newton<Registered>>(PhantomData);
    const NEWTON_SYM: &dyn Subject = &Of::<Newton<Symmetric>>(PhantomData);
    const ZIP_DOUBLE: &dyn Subject = &Of::<ZipDouble>(PhantomData);
    const INSPIRE_BATCH: &dyn Subject = &Of::<Batched<InspireInParts>>(PhantomData);
    const PIROUETTE: &dyn Subject = &Of::<Pirouette>(PhantomData);
    const RESPIRE: &dyn Subject = &Of::<Respire>(PhantomData);
    const ENCRYPTED: &dyn Subject = &Of::<Encrypted>(PhantomData);
    const DEPIR: &dyn Subject = &Of::<Depir>(PhantomData);
    const SIMPLE_BATCH: &dyn Subject = &Of::<Batched<Simple>>(PhantomData);
    [
        PLAIN,
        SIMPLE,
        INSPIRE,
        DOUBLE,
        INSPIRE_2,
        INSPIRE_0,
        YPIR,
        SIMPLE_YPIR,
        ZIP,
        NEWTON,
        NEWTON_SYM,
        ZIP_DOUBLE,
        INSPIRE_BATCH,
        SIMPLE_BATCH,
        PIROUETTE,
        RESPIRE,
        ENCRYPTED,
        DEPIR,
    ]
}

/// The scheme of this name.
///
/// # Errors
/// [`CoreError::UnknownScheme`].
pub fn by_name(name: &str) -> Result<&'static dyn Subject> {
    all().into_iter().find(|subject| subject.name() == name).ok_or_else(|| {
        let expected = all().map(|subject| subject.name()).join(", ");
        CoreError::UnknownScheme { found: name.to_owned(), expected }.into()
    })
}
