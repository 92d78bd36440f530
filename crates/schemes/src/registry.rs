//! Registry of schemes, by name and by number.

use std::marker::PhantomData;
use std::sync::OnceLock;

use papir_core::erased::{Erased, ErasedScheme, candidate_of};
use papir_core::scheme::{Parameters, Scheme};
use papir_core::{Candidate, Error, FailureBound, Goal, Result, Shape, Target};

use crate::batched::{Batched, BatchedParams, Bucket};
use crate::depir::Depir;
use crate::depir::evaluation::Tables;
use crate::depir::params::DepirParams;
use crate::download::{Download, DownloadParams};
use crate::inspire::Inspire;
use crate::inspire::parts::InspireInParts;
use crate::pirouette::Standard;
use crate::pirouette::encrypted::Encrypted;
use crate::rows::ListedScheme;
use crate::shared::parameters::successes;
use crate::simple::Simple;
use crate::simple::params::SimpleParams;

/// A scheme and its rows in the tables of schemes (docs/schemes.md, docs/security.md).
#[derive(Clone, Copy)]
pub struct Listing {
    /// The scheme.
    pub scheme: &'static dyn ErasedScheme,
    /// Paper that the scheme implements.
    pub paper: &'static str,
    /// Use of the scheme, in Markdown.
    pub purpose: &'static str,
    /// Assumption on which the scheme's privacy rests, in Markdown.
    pub assumption: &'static str,
}

impl Listing {
    /// Returns the listing of a scheme that states its rows.
    pub const fn of<S: ListedScheme>() -> Self {
        Self {
            scheme: Constant::<S>::SCHEME,
            paper: S::ROWS.paper,
            purpose: S::ROWS.purpose,
            assumption: S::ROWS.assumption,
        }
    }
}

/// The erased form of a scheme, as a constant.
struct Constant<S>(PhantomData<S>);

impl<S: Scheme> Constant<S> {
    const SCHEME: &'static dyn ErasedScheme = &Erased::<S>::new();
}

/// The only list of the schemes of this crate, in the order of their numbers. It calls the macro
/// `$then` with all of them. Each scheme has four words by which a macro can choose:
///
/// - `private` or `open`: the scheme's privacy;
/// - `keyless` or `registered`: whether clients register keys;
/// - `any_bound` or `default_bound`: whether it keeps failure probabilities below 2⁻⁴⁰;
/// - `common`, `rare` or `slow`: `common` schemes are in the short module for browsers, and `slow`
///   ones have short keys in everyday tests.
#[macro_export]
macro_rules! for_each_scheme {
    ($then:ident) => {
        $then! {
            plain: $crate::plain::Plain { open, keyless, any_bound, rare }
            simple: $crate::simple::Simple { private, keyless, any_bound, common }
            inspire: $crate::inspire::Inspire { private, keyless, any_bound, common }
            double: $crate::double::Double { private, keyless, any_bound, rare }
            inspire2: $crate::inspire::two_levels::Inspire2 { private, keyless, any_bound, rare }
            inspire0: $crate::double::packed::Inspire0 { private, keyless, any_bound, rare }
            ypir: $crate::double::packed::Ypir { private, keyless, any_bound, rare }
            simpleypir: $crate::simple::packed::SimpleYpir { private, keyless, any_bound, rare }
            zip: $crate::zip::Zip { private, registered, any_bound, rare }
            zipdouble: $crate::zip::ZipDouble { private, registered, any_bound, slow }
            inspire_batch: $crate::batched::Batched<$crate::inspire::parts::InspireInParts> {
                private, keyless, any_bound, rare
            }
            simple_batch: $crate::batched::Batched<$crate::simple::Simple> {
                private, keyless, any_bound, rare
            }
            pirouette: $crate::pirouette::Pirouette { private, registered, default_bound, rare }
            respire: $crate::pirouette::respire::Respire {
                private, registered, default_bound, rare
            }
            pirouette_encrypted: $crate::pirouette::encrypted::Encrypted {
                private, registered, default_bound, rare
            }
            depir: $crate::depir::Depir { private, keyless, default_bound, rare }
            download: $crate::download::Download { private, keyless, any_bound, common }
            inspire1: $crate::simple::packed::Inspire1 { private, keyless, any_bound, rare }
        }
    };
}

/// The listings of all schemes.
macro_rules! listings {
    ($($name:ident: $scheme:ty { $($word:ident),* })*) => {
        &[$(Listing::of::<$scheme>()),*]
    };
}

/// The schemes of this crate, in the order of their numbers.
const BUILT_IN: &[Listing] = crate::for_each_scheme!(listings);

/// A scheme with its words in the list.
struct WordedScheme {
    scheme: &'static dyn ErasedScheme,
    privacy: &'static str,
    clients: &'static str,
}

/// The schemes with their words for privacy and clients.
macro_rules! worded {
    ($($name:ident: $scheme:ty {
        $privacy:ident, $clients:ident, $bound:ident, $weight:ident
    })*) => {
        &[$(WordedScheme {
            scheme: Constant::<$scheme>::SCHEME,
            privacy: stringify!($privacy),
            clients: stringify!($clients),
        }),*]
    };
}

/// The schemes of this crate with their words, in the order of their numbers.
const WORDED: &[WordedScheme] = crate::for_each_scheme!(worded);

/// Returns the private schemes of this crate whose clients register nothing, in the order of their
/// numbers.
pub fn private_and_keyless() -> impl Iterator<Item = &'static dyn ErasedScheme> {
    WORDED
        .iter()
        .filter(|one| one.privacy == "private" && one.clients == "keyless")
        .map(|one| one.scheme)
}

/// Schemes outside this crate that have a number, with the reason why they are not private. They
/// are refused for that reason until a program [`add`]s them.
const FENCED: &[(&str, u16, &str)] = &[
    ("newton", 9, NEWTON),
    ("newtonsym", 10, NEWTON),
    ("newtonsym-batch", 20, NEWTON),
];
const NEWTON: &str = "whoever sees a query computes its index from it";

/// Schemes that a program gave to [`add`].
static ADDED: OnceLock<Addition> = OnceLock::new();

/// Schemes of another crate.
#[derive(Clone, Copy)]
pub struct Addition {
    /// Schemes of the other crate, with their rows.
    pub listings: &'static [Listing],
    /// Schemes for batches of the other crate, which [`of_batches`] leaves out.
    pub batches: &'static [OfBatches],
}

/// Adds schemes of another crate to the registry, for this process. Adding the same list again
/// changes nothing.
///
/// # Errors
/// [`Error::Malformed`] for a name or a number that is taken, or if another list was added.
pub fn add(addition: Addition) -> Result<()> {
    let listings = addition.listings;

    let taken = listings.iter().find(|new| is_built_in(new.scheme));
    if let Some(Listing { scheme, .. }) = taken {
        let found = format!("{}, number {}", scheme.name(), scheme.properties().id);
        return Err(Error::malformed(
            "a scheme to add",
            found,
            "a name and a number that are free",
        ));
    }

    // Set before it is compared: of two threads that add different lists, one must fail.
    let added = ADDED.get_or_init(|| addition);
    let ids = added.listings.iter().map(|one| one.scheme.properties().id);
    if !ids.eq(listings.iter().map(|one| one.scheme.properties().id)) {
        return Err(Error::malformed(
            "schemes to add",
            "a second list",
            "one list per process",
        ));
    }

    Ok(())
}

/// Returns true if a scheme of this crate has the name or the number of `new`.
fn is_built_in(new: &dyn ErasedScheme) -> bool {
    BUILT_IN.iter().any(|one| {
        one.scheme.properties().id == new.properties().id || one.scheme.name() == new.name()
    })
}

/// Returns all schemes with their rows in the tables, in the order of their numbers. [`add`]ed
/// schemes are included.
pub fn listings() -> Vec<Listing> {
    let mut all = [BUILT_IN, ADDED.get().map_or(&[], |added| added.listings)].concat();
    all.sort_by_key(|one| one.scheme.properties().id);
    all
}

/// Returns all schemes, in the order of their numbers. [`add`]ed schemes are included.
///
/// Schemes that look private but are not make neither servers nor clients before
/// [`ErasedScheme::with_terms`].
pub fn all() -> Vec<&'static dyn ErasedScheme> {
    listings().into_iter().map(|one| one.scheme).collect()
}

/// Name of the scheme over databases that their owner encrypts.
pub const ENCRYPTED: &str = Encrypted::<Standard>::NAME;

/// Returns the scheme of this name.
///
/// # Errors
/// [`Error::UnknownScheme`] with all names, [`Error::NotPrivate`] for a fenced scheme that no
/// program has added.
pub fn by_name(name: &str) -> Result<&'static dyn ErasedScheme> {
    find(|candidate, _| candidate == name, name)
}

/// Returns the scheme with this number on the wire.
///
/// # Errors
/// The errors of [`by_name`].
pub fn by_id(id: u16) -> Result<&'static dyn ErasedScheme> {
    find(|_, candidate| candidate == id, &format!("number {id}"))
}

/// A scheme whose databases are prepared for batches, or whose queries hold many indices anyway.
#[derive(Clone, Copy)]
pub struct OfBatches {
    /// The scheme.
    pub scheme: &'static dyn ErasedScheme,
    /// Name of the scheme below, or of the scheme itself if it needs no other preparation for
    /// batches.
    below: &'static str,
    candidate: fn(Shape, Target, usize) -> Result<Candidate>,
}

impl OfBatches {
    /// Creates batches over the scheme of this name, whose databases serve as buckets of the scheme
    /// S.
    pub const fn over<S: Bucket>(below: &'static str) -> Self {
        Self {
            scheme: Constant::<Batched<S>>::SCHEME,
            below,
            candidate: candidate::<S>,
        }
    }

    /// Returns true if the scheme also serves single lookups.
    pub fn serves_single_lookups(&self) -> bool {
        self.below == self.scheme.name()
    }

    /// Returns the best parameters for batches of up to `capacity` records.
    ///
    /// # Errors
    /// The errors of [`BatchedParams::for_capacity`].
    pub fn candidate(
        &self,
        shape: Shape,
        target: impl Into<Target>,
        capacity: usize,
    ) -> Result<Candidate> {
        (self.candidate)(shape, target.into(), capacity)
    }

    /// Returns the best parameters for a batch of at most `capacity` lookups, for each goal that
    /// has parameters.
    ///
    /// # Errors
    /// The errors of [`Self::candidate`] if no goal has parameters.
    pub fn candidates(
        &self,
        shape: Shape,
        failure: FailureBound,
        capacity: usize,
    ) -> Result<Vec<Candidate>> {
        successes(Goal::ALL.map(|goal| self.candidate(shape, Target { goal, failure }, capacity)))
    }
}

/// Returns all schemes for batches of this crate.
pub fn of_batches() -> &'static [OfBatches] {
    OF_BATCHES
}

const OF_BATCHES: &[OfBatches] = &[
    OfBatches::over::<InspireInParts>(Inspire::NAME),
    OfBatches::over::<Simple>(Simple::NAME),
    OfBatches {
        scheme: &Erased::<Download>::new(),
        below: Download::NAME,
        candidate: download_candidate,
    },
];

/// Returns the parameters of `download`, whose queries hold many indices without further
/// preparation.
fn download_candidate(shape: Shape, target: Target, capacity: usize) -> Result<Candidate> {
    let candidate = candidate_of(&DownloadParams::choose(shape, target)?);

    let largest = candidate.description.limits.batch;
    if capacity > largest {
        return Err(Error::BatchSize {
            scheme: Download::NAME,
            found: capacity,
            capacity: largest,
        });
    }

    Ok(candidate)
}

/// Returns the best parameters for batches over databases of the scheme S.
fn candidate<S: Bucket>(shape: Shape, target: Target, capacity: usize) -> Result<Candidate> {
    let params = BatchedParams::<S>::for_capacity(shape, target, capacity)?;
    Ok(candidate_of(&params))
}

/// Returns the best parameters of the scheme of this name for evaluation by tables of values,
/// within a bound on the failure probability.
///
/// # Errors
/// [`Error::Parameters`] for schemes without tables; the errors of
/// [`DepirParams::choose_with_tables`].
pub fn with_tables(
    name: &'static str,
    shape: Shape,
    tables: Tables,
    failure: FailureBound,
) -> Result<Candidate> {
    if name != Depir::NAME {
        let reason = format!("it has no tables of values: only {} has", Depir::NAME);
        return Err(Error::Parameters {
            scheme: name,
            reason,
        });
    }

    let params = DepirParams::choose_with_tables(shape, tables, failure)?;
    Ok(candidate_of(&params))
}

/// Returns the kind of tables of encoded parameters of the scheme of this name, and the bytes of
/// each table. Returns `None` if they have no tables.
///
/// # Errors
/// The errors of [`Parameters::decode`].
pub fn tables_of(name: &str, parameters: &[u8]) -> Result<Option<(Tables, Vec<u64>)>> {
    if name != Depir::NAME {
        return Ok(None);
    }

    let params = DepirParams::decode(parameters)?;
    Ok(params
        .tables()
        .map(|tables| (tables, params.table_lengths())))
}

/// Returns true if encoded parameters of the scheme of this name place records rows first.
///
/// # Errors
/// The errors of [`Parameters::decode`].
pub fn is_rows_first(name: &str, parameters: &[u8]) -> Result<bool> {
    if name != Simple::NAME {
        return Ok(false);
    }
    Ok(SimpleParams::decode(parameters)?.is_rows_first())
}

/// Returns the batches over the scheme of this name.
///
/// # Errors
/// [`Error::UnknownScheme`] with the names of the schemes that have batches.
pub fn batches_over(name: &str) -> Result<OfBatches> {
    if let Some(found) = every_of_batches().find(|one| one.below == name) {
        return Ok(found);
    }

    let names: Vec<_> = every_of_batches().map(|one| one.below).collect();
    Err(Error::UnknownScheme {
        found: name.to_owned(),
        expected: names.join(", ") + " for batches",
    })
}

/// Returns the scheme for batches of this name, or `None` if there is none.
pub fn batches_named(name: &str) -> Option<OfBatches> {
    every_of_batches().find(|one| one.scheme.name() == name)
}

/// Returns all schemes for batches. [`add`]ed schemes are included.
fn every_of_batches() -> impl Iterator<Item = OfBatches> {
    OF_BATCHES
        .iter()
        .chain(ADDED.get().map_or(&[][..], |added| added.batches))
        .copied()
}

/// Returns the scheme whose name and number match.
fn find(matches: impl Fn(&str, u16) -> bool, wanted: &str) -> Result<&'static dyn ErasedScheme> {
    let schemes = all();
    let found = schemes
        .iter()
        .find(|scheme| matches(scheme.name(), scheme.properties().id));
    if let Some(&scheme) = found {
        return Ok(scheme);
    }

    // Looked up second: a program may have added a fenced scheme.
    if let Some(&(scheme, _, reason)) = FENCED.iter().find(|(name, id, _)| matches(name, *id)) {
        return Err(Error::NotPrivate { scheme, reason });
    }

    let names: Vec<_> = schemes.iter().map(|scheme| scheme.name()).collect();
    Err(Error::UnknownScheme {
        found: wanted.to_owned(),
        expected: names.join(", "),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Privacy;

    use super::*;
    use crate::rows::FailureRow;

    #[test]
    fn fenced_schemes_are_refused_by_their_reason() {
        for (name, id, _) in FENCED {
            for refused in [by_name(name).err(), by_id(*id).err()] {
                assert_eq!(refused.unwrap().code(), "not_private", "{name}");
            }
        }
        assert_eq!(by_id(u16::MAX).err().unwrap().code(), "unknown_scheme");
    }

    /// Checks the words of each scheme against the scheme itself.
    macro_rules! check_words {
        ($($name:ident: $scheme:ty {
            $privacy:ident, $clients:ident, $bound:ident, $weight:ident
        })*) => {
            $(check::<$scheme>(
                stringify!($name),
                stringify!($privacy) == "private",
                stringify!($clients) == "registered",
                stringify!($bound) == "default_bound",
            );)*
        };
    }

    fn check<S: ListedScheme>(name: &str, private: bool, registered: bool, default_bound: bool) {
        let name = name.replace('_', "-");
        assert_eq!(S::NAME, name);
        assert_eq!(S::PRIVACY == Privacy::Private, private, "{name}");

        let shape = Shape::of_bytes(300, 8).unwrap();
        let description = S::Params::choose(shape, Goal::Balanced).unwrap().describe();
        assert_eq!(description.limits.client_keys, registered, "{name}");

        let only = matches!(S::ROWS.failure, Some(FailureRow::DefaultOnly(_)));
        assert_eq!(only, default_bound, "{name}");
        assert_eq!(S::ROWS.failure.is_some(), private, "{name}");
    }

    #[test]
    fn the_words_of_the_list_agree_with_the_schemes() {
        crate::for_each_scheme!(check_words);
    }

    #[test]
    fn taken_names_cannot_be_added() {
        let taken = Addition {
            listings: &BUILT_IN[..1],
            batches: &[],
        };

        assert_eq!(add(taken).unwrap_err().code(), "malformed");
    }
}
