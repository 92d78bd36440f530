//! The scheme of a database that names none.
//!
//! [`choose`] compares the schemes whose clients register nothing and see no more records than
//! allowed. The cost of a lookup is in seconds on a modest core and a line of 10 Mbit/s, at the
//! fixed rates [`papir_core::cost::Rates::BUILT_IN`]: the same on every machine.
//!
//! | figure | weight |
//! |---|---|
//! | bytes of a query and its answer | all |
//! | core seconds of an answer | all |
//! | bytes that a client fetches once | a hundredth for each lookup |
//! | bytes of the file | a hundred-thousandth for each lookup |
//!
//! The weights are those of the goal ([`Candidate::seconds`]), with the file. Callers pass a class
//! of shapes ([`Shape::class`]), so that a database that grows a little keeps its scheme.

use std::fmt;
use std::str::FromStr;

use papir_core::cost::Rates;
use papir_core::erased::ErasedScheme;
use papir_core::scheme::Scheme;
use papir_core::{Candidate, Description, Error, Result, Shape, Sizes, Target};
use papir_lattice::params::Literal as RlweLiteral;

use crate::depir::Depir;
use crate::double::packed::Ypir;
use crate::inspire::Inspire;
use crate::registry;
use crate::simple::packed::SimpleYpir;

/// The name that leaves the scheme to [`choose`].
pub const DEFAULT: &str = "default";
/// The scheme that others are compared with. A build that names no scheme takes it where an option
/// needs a scheme before the records are known, and where no other costs clearly less.
pub const REFERENCE: &str = Inspire::NAME;

/// Schemes that are not compared: one for thousands of lookups at once, and two baselines.
const LEFT_OUT: [&str; 3] = [Depir::NAME, Ypir::NAME, SimpleYpir::NAME];
/// Share of the reference's cost below which another scheme is chosen.
const CLEARLY_LESS: f64 = 0.95;
/// Seconds for each byte of the file: a hundred-thousandth of its transfer at 10 Mbit/s.
const FILE_SECONDS: f64 = 8.0 / 1e7 / 1e5;
/// Bytes of records in a ring element of the reference.
const ELEMENT_BYTES: u64 = 2 * RlweLiteral::DEFAULT.degree as u64;

/// The records of a database that each client may see, as its owner allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientsMaySee {
    /// The records in the ring elements of the wanted one, as with `inspire`: 4 KiB or, for a
    /// longer record, its length rounded up to a multiple of 4 KiB.
    #[default]
    Records,
    /// The records in the wanted one's column of a matrix, but not the whole database.
    Column,
    /// All records.
    All,
}

impl ClientsMaySee {
    /// All values.
    pub const VALUES: [Self; 3] = [Self::Records, Self::Column, Self::All];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Column => "column",
            Self::All => "all",
        }
    }

    /// Returns whether a database with this description shows no more than allowed. `most` is the
    /// bytes that the reference shows ([`shown_by_reference`]).
    pub fn allows(self, description: &Description, most: u64) -> bool {
        // Nothing is known of a scheme that does not state it.
        let seen = description.sizes.seen.unwrap_or(u64::MAX);
        match self {
            Self::Records => seen <= most,
            Self::Column => seen <= most || seen < description.shape.total_bytes(),
            Self::All => true,
        }
    }
}

impl fmt::Display for ClientsMaySee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ClientsMaySee {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::VALUES.into_iter().find(|one| one.name() == text);
        found
            .ok_or_else(|| Error::malformed("what clients may see", text, "records, column or all"))
    }
}

/// Requirements on the scheme of a database that names none.
#[derive(Clone, Copy, Debug, Default)]
pub struct SchemeWish {
    /// The records that each client may see.
    pub may_see: ClientsMaySee,
    /// The goal and the failure probability of the parameters.
    pub target: Target,
    /// True if the setup must keep a limit of memory.
    pub bounded_memory: bool,
}

/// Records to prepare.
#[derive(Clone, Copy, Debug)]
pub struct ArrangedRecords {
    /// Number and length of the records; of a keyed database, of its buckets.
    pub shape: Shape,
    /// Bytes that a client fetches once besides the scheme's public part: the layout of the keys.
    pub once: u64,
}

/// The cost of a lookup in arranged records, in seconds.
pub type CostOf<'a> = dyn Fn(ArrangedRecords) -> Result<f64> + 'a;
/// Arranges records so that a lookup costs the least; `None` if no arrangement has a cost.
pub type Arrange<'a> = dyn Fn(&CostOf<'_>) -> Option<ArrangedRecords> + 'a;

/// The chosen scheme.
#[derive(Clone)]
pub struct DefaultScheme {
    /// The scheme.
    pub scheme: &'static dyn ErasedScheme,
    /// The reason, in a line. Its figures are those of the class of shapes.
    pub reason: String,
}

impl DefaultScheme {
    /// The reference, for this reason.
    ///
    /// # Errors
    /// None: the scheme exists.
    pub fn reference(reason: String) -> Result<Self> {
        let scheme = registry::by_name(REFERENCE)?;
        Ok(Self { scheme, reason })
    }
}

/// Bytes of records that a lookup of the reference shows its client, for records of this length.
pub fn shown_by_reference(record_bytes: u64) -> u64 {
    record_bytes.max(1).next_multiple_of(ELEMENT_BYTES)
}

/// Chooses the scheme of a database that names none. `arrange` arranges the largest database of its
/// class, and `most` is the bytes of records that the reference shows ([`shown_by_reference`]).
///
/// # Errors
/// None: without a scheme that supports the records it is the reference, whose setup then says why.
pub fn choose(wish: &SchemeWish, most: u64, arrange: &Arrange<'_>) -> Result<DefaultScheme> {
    let mut weighed = Vec::new();
    for scheme in considered(wish) {
        weighed.extend(WeighedScheme::of(scheme, wish, most, arrange));
    }
    // A stable sort: of equal costs, the first in the list of schemes.
    weighed.sort_by(|a, b| a.cost.total_cmp(&b.cost));

    let reference = weighed.iter().find(|one| one.scheme.name() == REFERENCE);
    let bound = reference.map_or(f64::INFINITY, |one| CLEARLY_LESS * one.cost);
    // Clearly less, so that neither a little growth nor other rates of a release change the scheme.
    let best = weighed.iter().find(|one| one.cost < bound).or(reference);
    let Some(best) = best else {
        return DefaultScheme::reference(format!("{REFERENCE}: no other supports these records"));
    };

    // The reference if it lost, else the next best.
    let name = best.scheme.name();
    let next = reference
        .filter(|one| one.scheme.name() != name)
        .or_else(|| weighed.iter().find(|one| one.scheme.name() != name));
    let reason = match next {
        Some(next) => format!("{}; {}", best.figures(), next.figures()),
        None => format!("{}; nothing else can serve it", best.figures()),
    };
    let scheme = best.scheme;
    Ok(DefaultScheme { scheme, reason })
}

/// Chooses the scheme of records that are looked up by index and name none.
///
/// # Errors
/// The errors of [`choose`].
pub fn choose_for_records(wish: &SchemeWish, shape: &Shape) -> Result<DefaultScheme> {
    let class = ArrangedRecords {
        shape: shape.class(),
        once: 0,
    };
    let most = shown_by_reference(shape.record_bytes() as u64);
    choose(wish, most, &|cost| cost(class).ok().map(|_| class))
}

/// The parameters of a scheme for this shape, chosen for the goal of the wish: the choice of the
/// scheme or, if that shows a client too much, the best of those that do not.
///
/// # Errors
/// The errors of [`ErasedScheme::candidates`], and [`Error::Parameters`] if all of them show too
/// much.
pub fn parameters_for(
    scheme: &dyn ErasedScheme,
    shape: Shape,
    wish: &SchemeWish,
    most: u64,
) -> Result<Candidate> {
    let chosen = scheme.candidate_for(shape, wish.target)?;
    if wish.may_see.allows(&chosen.description, most) {
        return Ok(chosen);
    }

    // Other goals have other columns, some of which are short enough.
    let all = scheme.candidates(shape, wish.target.failure)?;
    let best = all
        .into_iter()
        .filter(|one| wish.may_see.allows(&one.description, most))
        .min_by(|a, b| cost(a, wish, 0).total_cmp(&cost(b, wish, 0)));
    best.ok_or_else(|| Error::Parameters {
        scheme: scheme.name(),
        reason: format!(
            "a client would see more of the records than {} allows",
            wish.may_see
        ),
    })
}

/// The schemes that are compared.
fn considered(wish: &SchemeWish) -> impl Iterator<Item = &'static dyn ErasedScheme> {
    let bounded = wish.bounded_memory;
    registry::private_and_keyless().filter(move |scheme| {
        let of_batches = registry::batches_named(scheme.name());
        let single = of_batches.is_none_or(|batches| batches.serves_single_lookups());
        let fits = !bounded || scheme.properties().bounded_memory;
        single && fits && !LEFT_OUT.contains(&scheme.name())
    })
}

/// The cost of a lookup, in seconds. A client fetches `once` bytes besides the public part.
fn cost(candidate: &Candidate, wish: &SchemeWish, once: u64) -> f64 {
    let file = file_bytes(&candidate.description.sizes) as f64;
    candidate.seconds(wish.target.goal, once) + FILE_SECONDS * file
}

/// The approximate length of the file.
fn file_bytes(sizes: &Sizes) -> u64 {
    sizes
        .database
        .saturating_add(sizes.material)
        .saturating_add(sizes.hint)
}

/// A scheme with its parameters and cost for a class of databases.
struct WeighedScheme {
    scheme: &'static dyn ErasedScheme,
    candidate: Candidate,
    once: u64,
    cost: f64,
}

impl WeighedScheme {
    /// Weighs a scheme; `None` if it does not support the records, or shows a client too much.
    fn of(
        scheme: &'static dyn ErasedScheme,
        wish: &SchemeWish,
        most: u64,
        arrange: &Arrange<'_>,
    ) -> Option<Self> {
        let ArrangedRecords { shape, once } = arrange(&|records| {
            let candidate = parameters_for(scheme, records.shape, wish, most)?;
            Ok(cost(&candidate, wish, records.once))
        })?;

        let candidate = parameters_for(scheme, shape, wish, most).ok()?;
        let cost = cost(&candidate, wish, once);
        Some(Self {
            scheme,
            candidate,
            once,
            cost,
        })
    }

    /// The figures that were weighed, in words.
    fn figures(&self) -> String {
        let description = &self.candidate.description;
        let sizes = &description.sizes;

        let name = self.scheme.name();
        let messages = bytes(sizes.query + sizes.answer);
        let once = bytes(sizes.public.saturating_add(self.once));
        let milliseconds = 1e3 * description.work.answer.core_seconds(&Rates::BUILT_IN);
        let file = bytes(file_bytes(sizes));
        format!(
            "{name}: {messages} for a lookup, {once} once, {milliseconds:.1} ms of a core, \
             a file of {file}"
        )
    }
}

/// Formats a number of bytes in the unit that keeps it short.
fn bytes(count: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = UNITS.into_iter().find(|(_, shift)| count >> shift > 0);
    match unit {
        Some((name, shift)) => format!("{:.1} {name}", count as f64 / (1u64 << shift) as f64),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::{FailureBound, Goal};

    use super::*;

    fn chosen(wish: &SchemeWish, records: u64, record_bytes: u64) -> DefaultScheme {
        let shape = Shape::of_bytes(records, record_bytes).unwrap();
        choose_for_records(wish, &shape).unwrap()
    }

    fn may_see(may_see: ClientsMaySee) -> SchemeWish {
        SchemeWish {
            may_see,
            ..SchemeWish::default()
        }
    }

    #[test]
    fn values_have_their_names() {
        for value in ClientsMaySee::VALUES {
            assert_eq!(value.to_string().parse::<ClientsMaySee>().unwrap(), value);
        }
        let error = "none".parse::<ClientsMaySee>().unwrap_err().to_string();
        assert!(
            error.contains("none") && error.contains("column"),
            "{error}"
        );
    }

    #[test]
    fn bytes_are_short() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (32 << 20, "32.0 MiB"),
            (5 << 40, "5120.0 GiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    /// Every scheme that is compared states what a client sees: its record at least, and no more
    /// than all of them.
    #[test]
    fn schemes_state_what_a_client_sees() {
        for shape in [(1, 1), (2, 40), (5000, 8), (300, 100), (70, 5000)] {
            let shape = Shape::of_bytes(shape.0, shape.1).unwrap();
            for scheme in considered(&SchemeWish::default()) {
                // A scheme of short records refuses long ones.
                let candidates = scheme.candidates(shape, FailureBound::DEFAULT);
                for candidate in candidates.unwrap_or_default() {
                    let seen = candidate.description.sizes.seen;
                    let range = shape.record_bytes() as u64..=shape.total_bytes();
                    assert!(
                        seen.is_some_and(|seen| range.contains(&seen)),
                        "{}, {shape:?}: {seen:?}",
                        scheme.name()
                    );
                }
            }
        }
    }

    #[test]
    fn the_reference_shows_whole_ring_elements() {
        let reference = registry::by_name(REFERENCE).unwrap();
        for bytes in [1, 200, 4096, 4097, 32_768, 100_000] {
            let shape = Shape::of_bytes(1 << 12, bytes).unwrap();
            let found = reference.candidate_for(shape, Target::default()).unwrap();
            let shown = shown_by_reference(bytes).min(shape.total_bytes());
            assert_eq!(found.description.sizes.seen, Some(shown), "{bytes}");
        }
    }

    #[test]
    fn a_choice_shows_no_more_than_allowed() {
        for (records, record_bytes) in [(2, 9), (500, 16), (1 << 14, 64), (1 << 12, 8192)] {
            let shape = Shape::of_bytes(records, record_bytes).unwrap();
            for allowed in ClientsMaySee::VALUES {
                let wish = may_see(allowed);
                let most = shown_by_reference(record_bytes);
                let DefaultScheme { scheme, reason } = chosen(&wish, records, record_bytes);
                let found = parameters_for(scheme, shape, &wish, most).unwrap();
                let seen = found.description.sizes.seen.unwrap();

                let bound = match allowed {
                    ClientsMaySee::Records => most,
                    ClientsMaySee::Column => most.max(shape.total_bytes() - 1),
                    ClientsMaySee::All => shape.total_bytes(),
                };
                assert!(
                    seen <= bound,
                    "{allowed}, {shape:?}: {seen} bytes, {reason}"
                );
                assert!(reason.starts_with(scheme.name()), "{reason}");
            }
        }
    }

    #[test]
    fn a_table_that_one_answer_shows_anyway_is_sent_whole() {
        let smallest = chosen(&SchemeWish::default(), 2, 9);
        assert_eq!(smallest.scheme.name(), "download", "{}", smallest.reason);
        let larger = chosen(&SchemeWish::default(), 5000, 8);
        assert_ne!(larger.scheme.name(), "download", "{}", larger.reason);
        let all = chosen(&may_see(ClientsMaySee::All), 5000, 8);
        assert_eq!(all.scheme.name(), "download", "{}", all.reason);
    }

    #[test]
    fn long_records_are_sent_in_the_fewest_bytes() {
        let wish = SchemeWish::default();
        let found = chosen(&wish, 1 << 15, 32 << 10);
        assert_eq!(found.scheme.name(), "inspire1", "{}", found.reason);
        assert!(found.reason.contains("; inspire: "), "{}", found.reason);
    }

    #[test]
    fn every_shape_of_a_class_has_the_scheme_of_the_class() {
        for (records, record_bytes) in [(3, 900), (30_000, 9), (2100, 300), (600, 10_000)] {
            let class = Shape::of_bytes(records, record_bytes).unwrap().class();
            let of_class = chosen(
                &SchemeWish::default(),
                class.records(),
                class.record_bytes() as u64,
            );
            let within = chosen(&SchemeWish::default(), records, record_bytes);
            let grown = chosen(
                &SchemeWish::default(),
                records + records / 100,
                record_bytes,
            );
            for other in [within, grown] {
                assert_eq!(other.scheme.name(), of_class.scheme.name());
                assert_eq!(other.reason, of_class.reason);
            }
        }
    }

    #[test]
    fn a_limit_of_memory_and_a_failure_bound_are_kept() {
        let bounded = SchemeWish {
            bounded_memory: true,
            ..SchemeWish::default()
        };
        let scheme = chosen(&bounded, 2, 9).scheme;
        assert!(scheme.properties().bounded_memory, "{}", scheme.name());

        let failure = "2^-128".parse().unwrap();
        for goal in Goal::ALL {
            let wish = SchemeWish {
                target: Target { goal, failure },
                ..SchemeWish::default()
            };
            let shape = Shape::of_bytes(1 << 12, 64).unwrap();
            let scheme = chosen(&wish, 1 << 12, 64).scheme;
            let found = parameters_for(scheme, shape, &wish, shown_by_reference(64)).unwrap();
            assert!(
                found.description.failure_log2 <= -128.0,
                "{}",
                scheme.name()
            );
        }
    }
}
