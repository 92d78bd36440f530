//! Choice, description and encoding of parameters.

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Parameters;
use papir_core::{Choice, Description, Error, Goal, MAX_RECORD_BITS, Privacy, Result, Shape, UpdateCost};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal as RlweLiteral;

use super::interpolation::Interpolation;
use super::layout::{PLAINTEXT, elements};
use super::literal::{KeyBits, Literal, NAME};
use super::params::Params;
use super::search::{self, Search};
use crate::shared::messages::{
    gadget_of, gadget_values, read_bytes, read_ring, read_shape, write_bytes, write_ring, write_shape,
};
use crate::shared::parameters::{MAX_FAILURE_LOG2, one_record, security};

impl Params {
    /// The smallest messages with at most `columns` columns, as many as a t of a power of two, or
    /// three or five times one, gives: with larger odd factors encoding takes long.
    ///
    /// # Errors
    /// As [`Params::with_points`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        let degree = RlweLiteral::DEFAULT.degree;
        let least = elements(&shape, degree)?.div_ceil(columns.max(1)) as usize;
        let of_factor = |odd: &usize| odd * least.div_ceil(*odd).next_power_of_two();
        let mixed = search::ODD_FACTORS.iter().map(of_factor).filter(|&points| points <= 2 * degree);
        // Above 2d points there are products of powers of two only.
        let points = mixed.fold(least.next_power_of_two(), usize::min);
        Self::with_points(shape, points)
    }

    /// The smallest messages for a shape and a t.
    ///
    /// # Errors
    /// As [`Params::with_interpolation`].
    pub fn with_points(shape: Shape, points: usize) -> Result<Self> {
        Self::with_interpolation(shape, Interpolation::of_points(points, RlweLiteral::DEFAULT.degree)?)
    }

    /// As [`Params::with_points`], for a failure probability of at most 2^`failure_log2`.
    ///
    /// # Errors
    /// As [`Params::with_points`].
    pub fn failing_less(shape: Shape, points: usize, failure_log2: f64) -> Result<Self> {
        let interpolation = Interpolation::of_points(points, RlweLiteral::DEFAULT.degree)?;
        Search::failing(failure_log2.min(MAX_FAILURE_LOG2))?.smallest(shape, interpolation)
    }

    /// The smallest messages for a shape and an interpolation.
    ///
    /// # Errors
    /// [`Error::Parameters`] if no answer would decode, [`Error::OutOfBounds`] for too many columns
    /// or rows.
    pub fn with_interpolation(shape: Shape, interpolation: Interpolation) -> Result<Self> {
        Search::new()?.smallest(shape, interpolation)
    }
}

impl Parameters for Params {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        search::choose(shape, goal)
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Columns(columns) => Self::with_columns(shape, columns),
            other => Err(other.refused_by(NAME)),
        }
    }

    fn candidates(shape: Shape) -> Result<Vec<Self>> {
        search::candidates(shape)
    }

    fn label(&self) -> String {
        format!("t = {}, {} columns", self.layout().interpolation, self.layout().columns)
    }

    fn shape(&self) -> Shape {
        self.layout().shape
    }

    fn describe(&self) -> Description {
        let gadget =
            |g: GadgetParams| format!("z = 2^{}, l = {}, {} low bits dropped", g.log_base, g.levels, g.drop);
        let (literal, layout) = (self.literal(), self.layout());
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: layout.shape,
            sizes: self.sizes(),
            security: self.rlwe().security().map(security),
            failure_log2: self.failure_log2(),
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerPack),
            parameters: vec![
                ("d", layout.degree.to_string()),
                ("log2 q", format!("{:.2}", (self.rlwe().ring().modulus() as f64).log2())),
                ("sigma", literal.rlwe.sigma.to_string()),
                ("p", PLAINTEXT.to_string()),
                ("t", layout.interpolation.to_string()),
                ("N/t (columns)", layout.columns.to_string()),
                ("ring elements a record", layout.chunks.to_string()),
                ("records a ring element", layout.per_element().to_string()),
                ("packing gadget", gadget(literal.key_switch)),
                ("RGSW gadget", if layout.points == 1 { "none".to_owned() } else { gadget(literal.rgsw) }),
                ("query bits", literal.query_bits.to_string()),
                ("key bits", literal.key_bits.all().map(|bits| bits.to_string()).join(" + ")),
                ("answer bits", format!("{} + {}", literal.answer_bits.0, literal.answer_bits.1)),
            ],
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let literal = self.literal();
        let mut writer = Writer::new();
        write_shape(&mut writer, literal.shape);
        write_ring(&mut writer, &literal.rlwe);
        writer.u32(literal.interpolation.points() as u32);
        write_bytes(&mut writer, gadget_values(literal.key_switch));
        write_bytes(&mut writer, gadget_values(literal.rgsw));
        let ([y_g, y_h, rgsw], (a, b)) = (literal.key_bits.all(), literal.answer_bits);
        write_bytes(&mut writer, [literal.query_bits, y_g, y_h, rgsw, a, b]);
        if literal.interpolation.variables().len() > 1 {
            for size in literal.interpolation.variables() {
                writer.u32(size as u32);
            }
        }
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("InsPIRe parameters", bytes);
        let (shape, rlwe) = (read_shape(&mut reader)?, read_ring(&mut reader)?);
        let points = reader.u32()? as usize;
        let key_switch = gadget_of(read_bytes(&mut reader)?);
        let rgsw = gadget_of(read_bytes(&mut reader)?);
        let [query_bits, y_g, y_h, point, a, b] = read_bytes(&mut reader)?;
        let key_bits = KeyBits { y_g, y_h, rgsw: point };
        let interpolation = read_interpolation(points, reader)?;
        let answer_bits = (a, b);
        Self::new(Literal { shape, rlwe, interpolation, key_switch, rgsw, query_bits, key_bits, answer_bits })
    }
}

/// One variable of t points, or several variables if their sizes follow.
fn read_interpolation(points: usize, mut reader: Reader<'_>) -> Result<Interpolation> {
    let sizes = reader.rest().chunks(4).map(|bytes| Reader::new("points of a variable", bytes).u32());
    let sizes = sizes.map(|size| Ok(size? as usize)).collect::<Result<Vec<_>>>()?;
    if sizes.is_empty() {
        return Interpolation::of_one_variable(points);
    }
    let interpolation = Interpolation::of_variables(&sizes)?;
    if sizes.len() > 1 && interpolation.points() == points {
        return Ok(interpolation);
    }
    let expected = format!("two or more numbers whose product is {points}");
    Err(Error::malformed("the points of InsPIRe's variables", format!("{sizes:?}"), expected))
}
