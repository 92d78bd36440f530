//! The columns of the benchmark: rings, gadgets and the paper's rows.

use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal;

/// d of the default ring; a multiple of every capacity.
pub(super) const DEGREE: usize = Literal::DEFAULT.degree;
/// The second parameter set of section 7.4: d = 1024, q ≈ 2^27.8, σ = 6.4.
const SMALL_RING: Literal = Literal {
    degree: 1024,
    primes: [12_289, 18_433],
    sigma: 6.4,
};

/// One column of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackingColumn {
    pub(super) name: &'static str,
    pub(super) ring: Literal,
    pub(super) gadget: GadgetParams,
    /// Bits of a message.
    pub(super) plaintext_bits: u32,
    /// LWE encryptions per pack.
    pub(super) capacity: usize,
    /// Its row in the paper's Table 5, if the gadget is like the paper's.
    pub(super) paper: Option<&'static str>,
}

/// Two digits of 19 bits, with 18 low bits dropped (appendix G.1).
const APPROXIMATE: GadgetParams = GadgetParams {
    levels: 2,
    log_base: 19,
    drop: 18,
};
/// Three digits of 19 bits, as in the paper and in YPIR.
const EXACT: GadgetParams = GadgetParams {
    levels: 3,
    log_base: 19,
    drop: 0,
};
/// Five digits of 5 bits, with three bits dropped.
const SMALL: GadgetParams = GadgetParams {
    levels: 5,
    log_base: 5,
    drop: 3,
};
/// Eight digits of 4 bits, as in the paper.
const EXACT_SMALL: GadgetParams = GadgetParams {
    levels: 8,
    log_base: 4,
    drop: 0,
};

pub(super) const EXACT_INSPIRING: PackingColumn = PackingColumn {
    name: "InspiRING",
    ring: Literal::DEFAULT,
    gadget: EXACT,
    plaintext_bits: 15,
    capacity: DEGREE,
    paper: Some("InspiRING (11, 56, 15)"),
};
pub(super) const CDKS: PackingColumn = PackingColumn {
    name: "CDKS",
    paper: Some("CDKS"),
    ..EXACT_INSPIRING
};
pub(super) const EXACT_SMALL_INSPIRING: PackingColumn = PackingColumn {
    name: "InspiRING, d = 1024",
    ring: SMALL_RING,
    gadget: EXACT_SMALL,
    plaintext_bits: 6,
    capacity: SMALL_RING.degree,
    paper: Some("InspiRING (10, 28, 6)"),
};
pub(super) const INSPIRING: PackingColumn = PackingColumn {
    name: "InspiRING of papir",
    gadget: APPROXIMATE,
    paper: None,
    ..EXACT_INSPIRING
};
pub(super) const PARTIAL: PackingColumn = PackingColumn {
    name: "PartialInspiRING of papir",
    capacity: DEGREE / 2,
    ..INSPIRING
};
pub(super) const SMALL_INSPIRING: PackingColumn = PackingColumn {
    name: "InspiRING of papir, d = 1024",
    gadget: SMALL,
    paper: None,
    ..EXACT_SMALL_INSPIRING
};

/// A note on the gadgets: keys and times depend on them as well as on the methods.
pub(super) const GADGETS: &str = "The first three columns have the paper's gadgets, which are exact, and its figures beside them. The others drop low bits (appendix G.1), as papir's schemes do. papir's schemes with CDKS drop low bits, too, and have shorter keys than here.";
