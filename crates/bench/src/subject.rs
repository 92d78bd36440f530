//! The schemes as a benchmark drives them: typed, so that the parts of an answer can be timed.

use std::marker::PhantomData;

use papir_core::scheme::{Parameters, Scheme, Server, Session};
use papir_core::{Description, Error as CoreError, Goal, Progress, Shape};
use papir_schemes::double::Double;
use papir_schemes::double::params::DoubleParams;
use papir_schemes::double::server::DoubleServer;
use papir_schemes::double::wire::{DoubleAnswer, DoubleQuery};
use papir_schemes::inspire::{self, Inspire};
use papir_schemes::inspire2::{self, Inspire2};
use papir_schemes::plain::Plain;
use papir_schemes::simple::Simple;
use papir_schemes::simple::params::SimpleParams;

use crate::clock::Laps;
use crate::measure::{Plan, measure};
use crate::{Error, Report, Result};

/// What parameters are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The scheme's choice for a goal.
    Goal(Goal),
    /// This first dimension: so many columns.
    Columns(u64),
    /// So many columns, their first level packed in units of so many 16-bit words: N/t and γ₀ of
    /// InsPIRe⁽²⁾.
    Packed {
        /// N/t.
        columns: u64,
        /// γ₀.
        words: u64,
    },
}

/// Says that a scheme's columns are not made of units.
fn no_units(scheme: &str) -> Error {
    Error::usage(format!("--gamma0 with {scheme}"), "none: it packs no first level in units")
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
    /// Those of the scheme's constructors, [`Error::Usage`] for a dimension that it does not have.
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
        query: &Self::Query,
        laps: &mut Laps,
    ) -> Result<Self::Answer, CoreError> {
        laps.time("answer", || server.answer(Session::anonymous(), query))
    }
}

impl Measured for Inspire {
    fn params(shape: Shape, choice: Choice) -> Result<inspire::Params> {
        Ok(match choice {
            Choice::Goal(goal) => inspire::Params::choose(shape, goal)?,
            Choice::Columns(columns) => inspire::Params::with_columns(shape, columns)?,
            Choice::Packed { .. } => return Err(no_units(Self::NAME)),
        })
    }

    fn answer(
        server: &inspire::Server,
        query: &inspire::Query,
        laps: &mut Laps,
    ) -> Result<inspire::Answer, CoreError> {
        let bodies = laps.time("select", || server.select(query));
        let keys = laps.time("read_keys", || server.read_keys(query))?;
        let packed = laps.time("pack", || server.pack(bodies, &keys))?;
        let results = laps.time("evaluate", || server.evaluate(packed, &keys));
        Ok(laps.time("switch", || server.switch(&results)))
    }
}

impl Measured for Inspire2 {
    fn params(shape: Shape, choice: Choice) -> Result<inspire2::Params> {
        Ok(match choice {
            Choice::Goal(goal) => inspire2::Params::choose(shape, goal)?,
            Choice::Columns(columns) => {
                let words = inspire2::Params::least_unit_words(shape)?;
                inspire2::Params::with_columns(shape, words, columns)?
            }
            Choice::Packed { columns, words } => {
                let words = usize::try_from(words).unwrap_or(usize::MAX);
                inspire2::Params::with_columns(shape, words, columns)?
            }
        })
    }

    fn answer(
        server: &inspire2::Server,
        query: &inspire2::Query,
        laps: &mut Laps,
    ) -> Result<inspire2::Answer, CoreError> {
        let queries = [query];
        let keys = laps.time("read_keys", || server.read_keys(&queries))?;
        let bodies = laps.time("select", || server.select(&queries));
        let firsts = laps.time("pack_first", || server.pack_first(bodies, &keys))?;
        let seconds = laps.time("pack_second", || server.pack_second(&queries, &keys))?;
        let thirds = laps.time("pack_online", || server.pack_online(&queries, &firsts, &keys))?;
        let answer = || seconds.first().zip(thirds.first()).map(|(two, three)| server.switch(two, three));
        let none = CoreError::BatchSize { scheme: Self::NAME, found: 0, capacity: 1 };
        laps.time("switch", answer).ok_or(none)
    }
}

impl Measured for Simple {
    fn params(shape: Shape, choice: Choice) -> Result<SimpleParams> {
        Ok(match choice {
            Choice::Goal(goal) => SimpleParams::choose(shape, goal)?,
            // Records of whole bytes are units of one record.
            Choice::Columns(columns) => SimpleParams::new(shape, shape.records().div_ceil(columns.max(1)))?,
            Choice::Packed { .. } => return Err(no_units(Self::NAME)),
        })
    }
}

impl Measured for Double {
    fn params(shape: Shape, choice: Choice) -> Result<DoubleParams> {
        Ok(match choice {
            Choice::Goal(goal) => DoubleParams::choose(shape, goal)?,
            Choice::Columns(columns) => DoubleParams::with_columns(shape, columns)?,
            Choice::Packed { .. } => return Err(no_units(Self::NAME)),
        })
    }

    fn part(stage: &str) -> Option<Part> {
        match stage {
            "encode" => Some(Part::Encode),
            "masks" | "digits" => Some(Part::Material),
            "hint" => Some(Part::Hint),
            _ => None,
        }
    }

    fn answer(
        server: &DoubleServer,
        query: &DoubleQuery,
        laps: &mut Laps,
    ) -> Result<DoubleAnswer, CoreError> {
        let firsts = laps.time("first_level", || server.first_level(&[query]));
        let mut ciphertexts = laps.time("second_level", || server.second_level(&[query], &firsts));
        let none = CoreError::BatchSize { scheme: Self::NAME, found: 0, capacity: 1 };
        let ciphertexts = ciphertexts.pop().ok_or(none)?;
        Ok(laps.time("round", || server.round(&ciphertexts)))
    }
}

impl Measured for Plain {
    fn params(shape: Shape, choice: Choice) -> Result<Self::Params> {
        match choice {
            Choice::Goal(goal) => Ok(Self::Params::choose(shape, goal)?),
            Choice::Columns(_) => {
                Err(Error::usage("--dim0 with plain", "none: it has no matrix and no first dimension"))
            }
            Choice::Packed { .. } => Err(no_units(Self::NAME)),
        }
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
pub fn all() -> [&'static dyn Subject; 5] {
    const PLAIN: &dyn Subject = &Of::<Plain>(PhantomData);
    const SIMPLE: &dyn Subject = &Of::<Simple>(PhantomData);
    const INSPIRE: &dyn Subject = &Of::<Inspire>(PhantomData);
    const DOUBLE: &dyn Subject = &Of::<Double>(PhantomData);
    const INSPIRE_2: &dyn Subject = &Of::<Inspire2>(PhantomData);
    [PLAIN, SIMPLE, INSPIRE, DOUBLE, INSPIRE_2]
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
