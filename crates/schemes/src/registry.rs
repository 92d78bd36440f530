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
use crate::double::Double;
use crate::double::packed::{Inspire0, Ypir};
use crate::download::{Download, DownloadParams};
use crate::inspire::Inspire;
use crate::inspire::parts::InspireInParts;
use crate::inspire::two_levels::Inspire2;
use crate::pirouette::encrypted::Encrypted;
use crate::pirouette::respire::Respire;
use crate::pirouette::{Pirouette, Standard};
use crate::plain::Plain;
use crate::shared::parameters::successes;
use crate::simple::Simple;
use crate::simple::packed::{Inspire1, SimpleYpir};
use crate::zip::{Zip, ZipDouble};

/// A scheme and its rows in the tables of schemes (docs/schemes.md, docs/security.md).
#[derive(Clone, Copy)]
pub struct Listing {
    /// The scheme.
    pub scheme: &'static dyn ErasedScheme,
    /// The paper that it implements.
    pub paper: &'static str,
    /// Its use, in Markdown.
    pub purpose: &'static str,
    /// The assumption that its privacy rests on, in Markdown.
    pub assumption: &'static str,
}

/// The schemes of this crate, in the order of their numbers.
const BUILT_IN: &[Listing] = &[
    Listing {
        scheme: &Erased::<Plain>::new(),
        paper: "none",
        purpose: "For tests: **not private**, and refused without an explicit acknowledgement",
        assumption: "none: not private, and served only with an explicit acknowledgement",
    },
    Listing {
        scheme: &Erased::<Simple>::new(),
        paper: "SimplePIR (Henzinger et al. 2023)",
        purpose: "The smallest real scheme: clients download a hint once per version",
        assumption: "ring-LWE over Z_{2³²}[X]/(X¹⁰²⁴ + 1), with the reference string's masks fixed for a \
            database version and a fresh secret for each query",
    },
    Listing {
        scheme: &Erased::<Inspire>::new(),
        paper: "InsPIRe (Mahdavi, Patel, Seo, Yeo 2025, section 6)",
        purpose: "The default: no hint to download, no keys kept by the server, records of 1 bit to \
            256 KiB",
        assumption: "ring-LWE over R_q, as `simple`; and circular security: packing keys encrypt τ(s), \
            RGSW rows encrypt s·m, under s",
    },
    Listing {
        scheme: &Erased::<Double>::new(),
        paper: "DoublePIR (Henzinger et al. 2023)",
        purpose: "Records of 1 bit to 8 bytes: a hint of 7 MiB per byte of a record, whatever the size \
            of the database",
        assumption: "those of `simple`; two sets of masks, two secrets for each query",
    },
    Listing {
        scheme: &Erased::<Inspire2>::new(),
        paper: "InsPIRe⁽²⁾ (Mahdavi, Patel, Seo, Yeo 2025, section 5)",
        purpose: "The least traffic for records up to 2 KiB in databases of more than about 100 MiB; \
            local updates",
        assumption: "ring-LWE and circular security, as `inspire`: one packing key for each distinct γ",
    },
    Listing {
        scheme: &Erased::<Inspire0>::new(),
        paper: "InsPIRe₀ (Mahdavi, Patel, Seo, Yeo 2025, section 4)",
        purpose: "Records of 1 bit to 8 bytes: the least server time without a hint of megabytes",
        assumption: "those of `double`'s first level and those of `inspire2`: a secret for each level",
    },
    Listing {
        scheme: &Erased::<Ypir>::new(),
        paper: "YPIR (Menon, Wu 2024)",
        purpose: "A baseline: DoublePIR with CDKS packing",
        assumption: "those of `double`'s first level and those of `simpleypir`: a secret for each level",
    },
    Listing {
        scheme: &Erased::<SimpleYpir>::new(),
        paper: "YPIR (Menon, Wu 2024), its variant on SimplePIR",
        purpose: "A baseline: SimplePIR with CDKS packing",
        assumption: "ring-LWE and circular security, as `inspire`: a CDKS key of log₂ d matrices",
    },
    Listing {
        scheme: &Erased::<Zip>::new(),
        paper: "ZipPIR (Akhavan Mahdavi, Diao, Kerschbaum)",
        purpose: "Clients that store nothing of the database and register 448 bytes once: the server \
            prepares a ticket for each query in idle time. Clients can send most of a lookup's \
            traffic ahead (`papir hold`)",
        assumption: "decisional composite residuosity modulo the client's own m of 3,072 bits (which must \
            not be factored); and module-LWE of rank 5 over Z_{2³²}[X]/(X²⁵⁶ + 1) with a binary \
            secret, fresh for each query",
    },
    Listing {
        scheme: &Erased::<ZipDouble>::new(),
        paper: "ZipPIR on DoublePIR (its section 6)",
        purpose: "The same for records of 1 bit to 8 bytes: a ticket takes seconds, whatever the size \
            of the database",
        assumption: "those of `zip` for the second level's key, and those of `double` for the first \
            level's",
    },
    Listing {
        scheme: &Erased::<Batched<InspireInParts>>::new(),
        paper: "Probabilistic batch codes (Angel, Chen, Laine, Setty 2018) over `inspire`",
        purpose: "Many records in one query: `papir build --batch K`",
        assumption: "those of `inspire`, with a selector for each bucket under one secret",
    },
    Listing {
        scheme: &Erased::<Batched<Simple>>::new(),
        paper: "Probabilistic batch codes (Angel, Chen, Laine, Setty 2018) over `simple`",
        purpose: "The same over `simple`",
        assumption: "those of `simple`",
    },
    Listing {
        scheme: &Erased::<Pirouette>::new(),
        paper: "Pirouette (Kang, Schild)",
        purpose: "Queries of 36 bytes, for radios, sensors and satellites: clients register 108 MiB of \
            keys once, and a lookup in 256 MiB takes the server one to two seconds of a core",
        assumption: "ring-LWE over R_q with a ternary secret, and over the response ring with a secret \
            like the error; LWE with binary secrets; and circular security: rotation keys encrypt \
            the short keys' bits under the ring's key, switching keys the ring's key under the \
            short keys and under the response key, automorphism keys τ(s) and s² under s",
    },
    Listing {
        scheme: &Erased::<Respire>::new(),
        paper: "Respire (Burton, Menon, Wu): its query path over `pirouette`'s database and \
            parameters",
        purpose: "A baseline: queries of 1 to 5 KB, 1.1 MB of keys",
        assumption: "ring-LWE over R_q with a ternary secret, and over the response ring with a secret \
            like the error, which encrypts the ternary one; circular security of automorphism keys \
            and s²",
    },
    Listing {
        scheme: &Erased::<Encrypted>::new(),
        paper: "Pirouette (Kang, Schild, section 4.2)",
        purpose: "Records that the service must not see either: [`papir build \
            --encrypt`](operate.md#records-that-the-service-must-not-see)",
        assumption: "those of `pirouette`, without those for digits; records are encrypted modulo 2¹⁶ \
            under the ring's key, which the owner and all clients share",
    },
    Listing {
        scheme: &Erased::<Depir>::new(),
        paper: "Doubly-efficient PIR (Okada, Player, Pohmann, Weinert)",
        purpose: "Thousands of lookups at once in a small database, of up to 2²⁸ records of 32 bytes: \
            one query holds up to 32,768 indices, and one evaluation answers them all. The \
            server's time is linear in the database",
        assumption: "ring-LWE over Z_Q[X]/(Xⁿ + 1) with a ternary secret, fresh for each query",
    },
    Listing {
        scheme: &Erased::<Download>::new(),
        paper: "none: trivial PIR",
        purpose: "Small databases: clients fetch all records once per version, compressed, and each of \
            them has the whole database",
        assumption: "none: a query does not depend on the index",
    },
    Listing {
        scheme: &Erased::<Inspire1>::new(),
        paper: "InsPIRe (Mahdavi, Patel, Seo, Yeo 2025), without its second step",
        purpose: "Long records in the fewest bytes: clients fetch the masks of answers once per version, \
            and an answer is 5/4 of its records",
        assumption: "ring-LWE and circular security, as `inspire`, with a ternary secret",
    },
];

/// Schemes outside this crate that have a number, with the reason why they are not private. They
/// are refused by that reason until a program [`add`]s them.
const FENCED: &[(&str, u16, &str)] = &[
    ("newton", 9, NEWTON),
    ("newtonsym", 10, NEWTON),
    ("newtonsym-batch", 20, NEWTON),
];
const NEWTON: &str = "whoever sees a query computes its index from it";

/// Schemes given to [`add`].
static ADDED: OnceLock<Addition> = OnceLock::new();

/// Schemes of another crate.
#[derive(Clone, Copy)]
pub struct Addition {
    /// The schemes and their rows.
    pub listings: &'static [Listing],
    /// Their schemes of batches, which [`of_batches`] leaves out.
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
        let found = format!("{}, number {}", scheme.name(), scheme.id());
        return Err(Error::malformed(
            "a scheme to add",
            found,
            "a name and a number that are free",
        ));
    }

    // Set before it is compared: of two threads that add different lists, one must fail.
    let added = ADDED.get_or_init(|| addition);
    let ids = added.listings.iter().map(|one| one.scheme.id());
    if !ids.eq(listings.iter().map(|one| one.scheme.id())) {
        return Err(Error::malformed(
            "schemes to add",
            "a second list",
            "one list per process",
        ));
    }

    Ok(())
}

/// True if a scheme of this crate has the name or the number of `new`.
fn is_built_in(new: &dyn ErasedScheme) -> bool {
    BUILT_IN
        .iter()
        .any(|one| one.scheme.id() == new.id() || one.scheme.name() == new.name())
}

/// All schemes with their rows in the tables, including [`add`]ed ones, in the order of their
/// numbers.
pub fn listings() -> Vec<Listing> {
    let mut all = [BUILT_IN, ADDED.get().map_or(&[], |added| added.listings)].concat();
    all.sort_by_key(|one| one.scheme.id());
    all
}

/// All schemes, including [`add`]ed ones, in the order of their numbers.
///
/// Schemes that look private but are not make neither servers nor clients before
/// [`ErasedScheme::allow_insecure`].
pub fn all() -> Vec<&'static dyn ErasedScheme> {
    listings().into_iter().map(|one| one.scheme).collect()
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
/// The errors of [`by_name`].
pub fn by_id(id: u16) -> Result<&'static dyn ErasedScheme> {
    find(|_, candidate| candidate == id, &format!("number {id}"))
}

/// A scheme whose databases are prepared for batches, or whose queries hold many indices anyway.
#[derive(Clone, Copy)]
pub struct OfBatches {
    /// The scheme.
    pub scheme: &'static dyn ErasedScheme,
    /// The scheme below; itself if it needs no other preparation for batches.
    below: &'static str,
    candidate: fn(Shape, Target, usize) -> Result<Candidate>,
}

/// Batches over a scheme, as a constant.
struct Over<S>(PhantomData<S>);

impl<S: Bucket> Over<S> {
    const SCHEME: &'static dyn ErasedScheme = &Erased::<Batched<S>>::new();
}

impl OfBatches {
    /// Batches over the scheme of this name, whose databases serve as buckets of the scheme S.
    pub const fn over<S: Bucket>(below: &'static str) -> Self {
        Self {
            scheme: Over::<S>::SCHEME,
            below,
            candidate: candidate::<S>,
        }
    }

    /// Returns true if the scheme also serves single lookups.
    pub fn serves_single_lookups(&self) -> bool {
        self.below == self.scheme.name()
    }

    /// The best parameters for batches of up to `capacity` records.
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

    /// The best parameters for a batch of at most `capacity` lookups, for each goal that has
    /// parameters.
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

/// All schemes of batches of this crate.
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

/// The parameters of `download`, whose queries hold many indices anyway.
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

/// The best parameters for batches over databases of the scheme S.
fn candidate<S: Bucket>(shape: Shape, target: Target, capacity: usize) -> Result<Candidate> {
    let params = BatchedParams::<S>::for_capacity(shape, target, capacity)?;
    Ok(candidate_of(&params))
}

/// Parameters of the scheme of this name for evaluation by tables of values, with this failure
/// probability.
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

/// The kind of tables that encoded parameters of the scheme of this name have, and the bytes of
/// each; `None` if they have none.
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

/// Batches over the scheme of this name.
///
/// # Errors
/// [`Error::UnknownScheme`] with the names of the schemes that batches can be made of.
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

/// The scheme of this name, if its databases are prepared for batches.
pub fn batches_named(name: &str) -> Option<OfBatches> {
    every_of_batches().find(|one| one.scheme.name() == name)
}

/// All schemes of batches, including [`add`]ed ones.
fn every_of_batches() -> impl Iterator<Item = OfBatches> {
    OF_BATCHES
        .iter()
        .chain(ADDED.get().map_or(&[][..], |added| added.batches))
        .copied()
}

/// The scheme whose name and number match.
fn find(matches: impl Fn(&str, u16) -> bool, wanted: &str) -> Result<&'static dyn ErasedScheme> {
    let schemes = all();
    let found = schemes
        .iter()
        .find(|scheme| matches(scheme.name(), scheme.id()));
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
        let taken = Addition {
            listings: &BUILT_IN[..1],
            batches: &[],
        };

        assert_eq!(add(taken).unwrap_err().code(), "malformed");
    }
}
