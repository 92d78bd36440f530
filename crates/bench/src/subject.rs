//! The schemes as a benchmark drives them: typed, so that the parts of an answer can be timed.

use std::marker::PhantomData;

use papir_core::scheme::{Parameters, Scheme, Server, Session};
use papir_core::{Description, Error as CoreError, Goal, Progress, Shape};
use papir_schemes::batched::Batched;
use papir_schemes::depir::Depir;
use papir_schemes::double::Double;
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::inspire::Inspire;
use papir_schemes::double::inspire0::Inspire0;
use papir_schemes::inspire::two_levels::Inspire2;
use papir_research::newton::{Newton, Registered, Symmetric};
use papir_schemes::pirouette::Pirouette;
use papir_schemes::plain::Plain;
use papir_schemes::pirouette::respire::Respire;
use papir_schemes::simple::Simple;
use papir_schemes::simple::packed::SimpleYpir;
use papir_schemes::inspire::parts::InspireInParts;
use papir_schemes::double::ypir::Ypir;
use papir_schemes::zip::over_simple::Zip;
use papir_schemes::zip::over_double::ZipDouble;

use crate::clock::Laps;
use crate::measure::{Plan, measure};
use crate::{Report, Result};

/// What parameters are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The scheme's choice for a goal.
    Goal(Goal),
    /// This first dimension: so many columns.
    Columns(u64),
    /// The scheme's choice for a goal, where clients register.
    Registered {
        /// What for.
        goal: Goal,
        /// Bits of the LWE key in one number of a query; the scheme's choice without.
        key_bits: Option<usize>,
        /// Whether clients hold their tickets.
        hold: bool,
    },
    /// So many columns, their first level packed in units of so many 16-bit words: N/t and γ₀ of
    /// InsPIRe⁽²⁾.
    Packed {
        /// N/t.
        columns: u64,
        /// γ₀.
        words: u64,
    },
}

/// What a stage of setup makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The encoded database.
    Encode,
    /// What clients download.
    Hint,
    /// What only the server uses.
    Material,
}

/// A scheme that can be measured.
pub trait Measured: Scheme {
    /// Parameters for a shape.
    ///
    /// # Errors
    /// Those of the scheme's constructors, [`crate::Error::Usage`] for a dimension that it does not have.
    fn params(shape: Shape, choice: Choice) -> Result<Self::Params>;

    /// What a stage that setup announces makes; `None` for a name that is not known here.
    fn part(stage: &str) -> Option<Part> {
        match stage {
            "encode" | "copy records" => Some(Part::Encode),
            "hint" => Some(Part::Hint),
            "pack" => Some(Part::Material),
            _ => None,
        }
    }

    /// Answers a query stage by stage.
    ///
    /// # Errors
    /// As [`Server::answer`].
    fn answer(
        server: &Self::Server,
        session: Session<'_, Self>,
        query: &Self::Query,
        laps: &mut Laps,
    ) -> Result<Self::Answer, CoreError> {
        laps.time("answer", || server.answer(session, query))
    }
}

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
