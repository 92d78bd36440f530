//! Evaluation of f on a query's ciphertexts (Algorithm 4, lines 20 to 27).

use papir_core::scratch::Scratch;
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Error, Progress, Result, parallel};
use papir_ring::rns::RnsRing;

use super::evaluation;
use super::lines::{self, Lines};
use super::params::DepirParams;
use super::structure::{Effort, Points, Structure};

/// A query's ciphertexts, as values in the slots modulo each prime.
pub struct Ciphertexts<'a> {
    pub(super) bodies: &'a [u32],
    pub(super) masks: Vec<Vec<u32>>,
}

impl Ciphertexts<'_> {
    /// Returns the bodies and the masks of all coordinates modulo the prime at a place.
    fn modulo(&self, place: usize, degree: usize) -> (Vec<&[u32]>, Vec<&[u32]>) {
        // A body is as long as a mask. Without coordinates any length but 0, which chunks cannot
        // have.
        let each = self.masks.first().map_or(1, Vec::len);
        let bodies = self
            .bodies
            .chunks_exact(each)
            .map(|words| &words[place * degree..][..degree]);
        let masks = self
            .masks
            .iter()
            .map(|words| &words[place * degree..][..degree]);

        (bodies.collect(), masks.collect())
    }
}

/// The points of a query, which the polynomials of all chunks share.
pub enum QueryPoints<'a> {
    /// The lines modulo each prime.
    Lines(Vec<Lines<'a>>),
    /// The points of the paper modulo each prime.
    OfPaper(Vec<Points>),
}

impl<'a> QueryPoints<'a> {
    /// Computes the points at which the parameters evaluate f. For points on lines, a first mask
    /// that is zero in a slot is refused.
    pub(super) fn new(params: &DepirParams, ciphertexts: &'a Ciphertexts<'_>) -> Result<Self> {
        let ring = params.bv().ring();
        let degree = params.simplex().degree;
        let places = ring.moduli().enumerate();

        let of_paper = params
            .tabulation()
            .is_some_and(|tables| tables.points == evaluation::Points::OfPaper);
        if of_paper {
            let mut groups = Vec::new();
            for (place, modulus) in places {
                let (bodies, masks) = ciphertexts.modulo(place, ring.degree());
                let nodes = lines::nodes(modulus, degree);
                groups.push(Points {
                    modulus,
                    count: nodes.len() * ring.degree(),
                    rows: lines::values(modulus, &nodes, &bodies, &masks),
                });
            }
            return Ok(Self::OfPaper(groups));
        }

        let lines = parallel::try_map(places, |(place, modulus)| {
            let (bodies, masks) = ciphertexts.modulo(place, ring.degree());
            Lines::new(modulus, &bodies, &masks).ok_or_else(singular_mask)
        });
        lines.map(Self::Lines)
    }
}

fn singular_mask() -> Error {
    Error::malformed(
        "depir's query",
        "a first mask that is zero in a slot",
        "an invertible one",
    )
}

/// Data structures of all chunks. There are none for evaluation on lines.
pub(super) struct Evaluator(Vec<Structure>);

impl Evaluator {
    /// Makes the structures for the parameters (Algorithm 4, lines 2 to 15). Tables come from
    /// `scratch`, or are made and kept there.
    pub(super) fn new(
        params: &DepirParams,
        polynomials: &[u32],
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let Some(form) = params.form() else {
            return Ok(Self(Vec::new()));
        };

        let simplex = params.simplex();
        let chunks = polynomials.chunks_exact(simplex.len());
        let structures =
            chunks.map(|polynomial| Structure::new(simplex, polynomial, form, scratch, progress));
        structures.collect::<Result<_>>().map(Self)
    }

    /// Stores the tables. Each chunk and prime has a section.
    pub(super) fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        for (chunk, structure) in self.0.iter().enumerate() {
            for (prime, table) in structure.tables() {
                sink.put(&section(chunk, prime), &[table])?;
            }
        }
        Ok(())
    }

    /// Reads the tables that [`Evaluator::save`] stored. A table of another length is refused.
    pub(super) fn load(
        params: &DepirParams,
        polynomials: &[u32],
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let Some(form) = params.form() else {
            return Ok(Self(Vec::new()));
        };

        let simplex = params.simplex();
        let chunks = polynomials.chunks_exact(simplex.len()).enumerate();
        let structures = chunks.map(|(chunk, polynomial)| {
            Structure::load(simplex, polynomial, form, |prime| {
                source.get(&section(chunk, prime))
            })
        });
        structures.collect::<Result<_>>().map(Self)
    }

    /// Returns the structure of a chunk, or `None` for evaluation on lines.
    pub(super) fn structure(&self, chunk: usize) -> Option<&Structure> {
        self.0.get(chunk)
    }

    /// Evaluates a chunk's polynomial. Returns, for each prime and each power of Y, n coefficients,
    /// and the work by tables.
    pub(super) fn evaluate(
        &self,
        params: &DepirParams,
        points: &QueryPoints<'_>,
        chunk: usize,
        polynomial: &[u32],
    ) -> (Vec<Vec<u32>>, Effort) {
        let ring = params.bv().ring();
        let simplex = params.simplex();

        match (points, self.structure(chunk)) {
            (QueryPoints::Lines(lines), None) => {
                let lines = parallel::map(lines, |line| line.evaluate(simplex, polynomial));
                (coefficients(ring, lines), Effort::default())
            }

            (QueryPoints::Lines(lines), Some(structure)) => {
                let (values, effort) = look_up(structure, lines, simplex.degree);
                let lines = parallel::map(lines.iter().zip(&values), |(line, values)| {
                    line.interpolate(values)
                });
                (coefficients(ring, lines), effort)
            }

            (QueryPoints::OfPaper(groups), _) => {
                // Only parameters with tables have these points.
                let (values, effort) = self.0[chunk].evaluate(None, groups);
                let polynomials = parallel::map(values.iter().zip(groups), |(values, group)| {
                    lines::coefficients(
                        group.modulus,
                        &lines::nodes(group.modulus, simplex.degree),
                        values,
                    )
                });
                (coefficients(ring, polynomials), effort)
            }
        }
    }
}

/// Looks up the values of f where the first coordinate is 0, 1, …, D. Returns, for each prime, a
/// row of all slots for each first coordinate.
fn look_up(structure: &Structure, lines: &[Lines<'_>], degree: usize) -> (Vec<Vec<u32>>, Effort) {
    let found = parallel::map(0..=degree as u32, |x| {
        let groups: Vec<Points> = lines
            .iter()
            .map(|line| Points {
                modulus: line.modulus,
                count: line.len(),
                rows: line.at(x),
            })
            .collect();
        structure.evaluate(Some(x), &groups)
    });

    let mut effort = Effort::default();
    found.iter().for_each(|(_, own)| effort += *own);

    // Look-ups come by the first coordinate, and interpolation goes by prime.
    let mut by_prime = Vec::with_capacity(lines.len());
    for place in 0..lines.len() {
        let rows = found.iter().flat_map(|(values, _)| &values[place]);
        by_prime.push(rows.copied().collect());
    }

    (by_prime, effort)
}

/// Converts values in the slots of X to coefficients, modulo each prime.
fn coefficients(ring: &RnsRing, mut residues: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    parallel::for_each(residues.iter_mut().zip(ring.tables()), |(rows, table)| {
        rows.chunks_exact_mut(ring.degree())
            .for_each(|row| table.inverse(ring.backend(), row));
    });
    residues
}

/// Returns the name of the section of a table.
fn section(chunk: usize, prime: u32) -> String {
    format!("depir/tables/{chunk}/{prime}")
}
