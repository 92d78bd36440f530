//! The only list of schemes: a name or a number becomes an [`ErasedScheme`].

use std::sync::OnceLock;

use papir_core::erased::{Erased, ErasedScheme, candidate_of};
use papir_core::scheme::Scheme;
use papir_core::{Candidate, Error, Goal, Result, Shape};

use crate::batched::{Batched, BatchedParams, Bucket};
use crate::depir::Depir;
use crate::double::Double;
use crate::double::inspire0::Inspire0;
use crate::double::ypir::Ypir;
use crate::inspire::Inspire;
use crate::inspire::parts::InspireInParts;
use crate::inspire::two_levels::Inspire2;
use crate::pirouette::encrypted::Encrypted;
use crate::pirouette::respire::Respire;
use crate::pirouette::{Pirouette, Standard};
use crate::plain::Plain;
use crate::simple::Simple;
use crate::simple::packed::SimpleYpir;
use crate::zip::{Zip, ZipDouble};

/// The schemes of this crate, in the order of their numbers.
const BUILT_IN: &[&dyn ErasedScheme] = &[
    &Erased::<Plain>::new(),
    &Erased::<Simple>::new(),
    &Erased::<Inspire>::new(),
    &Erased::<Double>::new(),
    &Erased::<Inspire2>::new(),
    &Erased::<Inspire0>::new(),
    &Erased::<Ypir>::new(),
    &Erased::<SimpleYpir>::new(),
    &Erased::<Zip>::new(),
    &Erased::<ZipDouble>::new(),
    &Erased::<Batched<InspireInParts>>::new(),
    &Erased::<Batched<Simple>>::new(),
    &Erased::<Pirouette>::new(),
    &Erased::<Respire>::new(),
    &Erased::<Encrypted>::new(),
    &Erased::<Depir>::new(),
];

/// Schemes outside this crate that have a number, with the reason why they are not private. They
/// are refused by that reason until a program [`add`]s them.
const FENCED: &[(&str, u16, &str)] = &[("newton", 9, NEWTON), ("newtonsym", 10, NEWTON)];
const NEWTON: &str = "whoever sees a query computes its index from it";

/// What [`add`] was given.
static ADDED: OnceLock<&'static [&'static dyn ErasedScheme]> = OnceLock::new();

/// Adds schemes of another crate to the registry, for this process. Adding the same list again
/// changes nothing.
///
/// # Errors
/// [`Error::Malformed`] for a name or a number that is taken, or if another list was added.
pub fn add(schemes: &'static [&'static dyn ErasedScheme]) -> Result<()> {
    let taken = |scheme: &&&dyn ErasedScheme| {
        BUILT_IN.iter().any(|other| other.id() == scheme.id() || other.name() == scheme.name())
    };
    if let Some(scheme) = schemes.iter().find(taken) {
        let found = format!("{}, number {}", scheme.name(), scheme.id());
        return Err(Error::malformed("a scheme to add", found, "a name and a number that are free"));
    }
    let added = ADDED.get_or_init(|| schemes);
    let ids = |list: &[&dyn ErasedScheme]| list.iter().map(|scheme| scheme.id()).collect::<Vec<_>>();
    if ids(added) != ids(schemes) {
        return Err(Error::malformed("schemes to add", "a second list", "one list per process"));
    }
    Ok(())
}

/// All schemes, those that were [`add`]ed too, in the order of their numbers.
///
/// Schemes that look private but are not make neither servers nor clients before
/// [`ErasedScheme::allow_insecure`].
pub fn all() -> Vec<&'static dyn ErasedScheme> {
    let mut all = [BUILT_IN, ADDED.get().copied().unwrap_or_default()].concat();
    all.sort_by_key(|scheme| scheme.id());
    all
}

/// The name of the scheme over databases that their owner encrypts.
pub const ENCRYPTED: &str = Encrypted::<Standard>::NAME;

/// The scheme of this name.
///
/// # Errors
/// [`Error::UnknownScheme`] with all names, [`Error::NotPrivate`] for a fenced scheme that no
/// program has added.
pub fn by_name(name: &str) -> Result<&'static dyn ErasedScheme> {
    find(|candidate, _| candidate == name, name)
}

/// The scheme with this number on the wire.
///
/// # Errors
/// As [`by_name`].
pub fn by_id(id: u16) -> Result<&'static dyn ErasedScheme> {
    find(|_, candidate| candidate == id, &format!("number {id}"))
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
        scheme: &Erased::<Batched<InspireInParts>>::new(),
        below: Inspire::NAME,
        candidate: candidate::<InspireInParts>,
    },
    OfBatches {
        scheme: &Erased::<Batched<Simple>>::new(),
        below: Simple::NAME,
        candidate: candidate::<Simple>,
    },
];

fn candidate<S: Bucket>(shape: Shape, goal: Goal, capacity: usize) -> Result<Candidate> {
    let params = BatchedParams::<S>::for_capacity(shape, goal, capacity)?;
    Ok(candidate_of(&params))
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

/// The scheme whose name and number match.
fn find(matches: impl Fn(&str, u16) -> bool, wanted: &str) -> Result<&'static dyn ErasedScheme> {
    if let Some(scheme) = all().into_iter().find(|scheme| matches(scheme.name(), scheme.id())) {
        return Ok(scheme);
    }
    if let Some(&(scheme, _, reason)) = FENCED.iter().find(|(name, id, _)| matches(name, *id)) {
        return Err(Error::NotPrivate { scheme, reason });
    }
    Err(Error::UnknownScheme {
        found: wanted.to_owned(),
        expected: all().iter().map(|scheme| scheme.name()).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn fenced_schemes_are_refused_by_their_reason() {
        for (name, id, _) in FENCED {
            for refused in [by_name(name).err(), by_id(*id).err()] {
                assert_eq!(refused.unwrap().code(), "not_private", "{name}");
            }
        }
        assert_eq!(by_id(u16::MAX).err().unwrap().code(), "unknown_scheme");
    }

    #[test]
    fn taken_names_cannot_be_added() {
        const TAKEN: &[&dyn ErasedScheme] = &[&Erased::<Plain>::new()];
        assert_eq!(add(TAKEN).unwrap_err().code(), "malformed");
    }
}
