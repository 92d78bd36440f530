//! The only list of schemes: a name or a number becomes an [`ErasedScheme`].

use papir_core::erased::{Erased, ErasedScheme};
use papir_core::scheme::{Parameters, Scheme};
use papir_core::{Candidate, Error, Goal, Result, Shape};

use crate::batched::{Batched, BatchedParams, Bucket};
use crate::depir::Depir;
use crate::double::Double;
use crate::encrypted::Encrypted;
use crate::inspire::Inspire;
use crate::inspire0::Inspire0;
use crate::inspire2::Inspire2;
use crate::newton::{Newton, Registered, Symmetric};
use crate::pirouette::{Full, Pirouette};
use crate::plain::Plain;
use crate::respire::Respire;
use crate::simple::Simple;
use crate::simpleypir::SimpleYpir;
use crate::stacked::Stacked;
use crate::ypir::Ypir;
use crate::zip::Zip;
use crate::zipdouble::ZipDouble;

/// Every scheme there is, in the order of their numbers. Those that look private and are not make neither
/// servers nor clients before [`ErasedScheme::allow_insecure`].
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
        &Erased::<Batched<Stacked>>::new(),
        &Erased::<Batched<Simple>>::new(),
        &Erased::<Pirouette>::new(),
        &Erased::<Respire>::new(),
        &Erased::<Encrypted>::new(),
        &Erased::<Depir>::new(),
    ];
    SCHEMES
}

/// The name of the scheme over databases that their owner encrypts.
pub const ENCRYPTED: &str = Encrypted::<Full>::NAME;

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

/// A scheme whose databases are prepared for batches.
#[derive(Clone, Copy)]
pub struct OfBatches {
    /// The scheme.
    pub scheme: &'static dyn ErasedScheme,
    /// The scheme below.
    below: &'static str,
    candidate: fn(Shape, Goal, usize) -> Result<Candidate>,
}

impl OfBatches {
    /// The best parameters for batches of up to `capacity` records.
    ///
    /// # Errors
    /// As [`BatchedParams::for_capacity`].
    pub fn candidate(&self, shape: Shape, goal: Goal, capacity: usize) -> Result<Candidate> {
        (self.candidate)(shape, goal, capacity)
    }
}

const OF_BATCHES: &[OfBatches] = &[
    OfBatches {
        scheme: &Erased::<Batched<Stacked>>::new(),
        below: Inspire::NAME,
        candidate: candidate::<Stacked>,
    },
    OfBatches {
        scheme: &Erased::<Batched<Simple>>::new(),
        below: Simple::NAME,
        candidate: candidate::<Simple>,
    },
];

fn candidate<S: Bucket>(shape: Shape, goal: Goal, capacity: usize) -> Result<Candidate> {
    let params = BatchedParams::<S>::for_capacity(shape, goal, capacity)?;
    Ok(Candidate { label: params.label(), description: params.describe(), parameters: params.encode() })
}

/// Batches over the scheme of this name.
///
/// # Errors
/// [`Error::UnknownScheme`] with the names of those that batches can be made of.
pub fn batches_over(name: &str) -> Result<OfBatches> {
    OF_BATCHES.iter().copied().find(|one| one.below == name).ok_or_else(|| Error::UnknownScheme {
        found: name.to_owned(),
        expected: OF_BATCHES.iter().map(|one| one.below).collect::<Vec<_>>().join(", ") + " for batches",
    })
}

/// The scheme of this name, if its databases are prepared for batches.
pub fn batches_named(name: &str) -> Option<OfBatches> {
    OF_BATCHES.iter().copied().find(|one| one.scheme.name() == name)
}

fn find(matches: impl Fn(&dyn ErasedScheme) -> bool, wanted: &str) -> Result<&'static dyn ErasedScheme> {
    all().iter().copied().find(|scheme| matches(*scheme)).ok_or_else(|| Error::UnknownScheme {
        found: wanted.to_owned(),
        expected: all().iter().map(|scheme| scheme.name()).collect::<Vec<_>>().join(", "),
    })
}
