//! Choice, description and encoding of parameters.

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Parameters;
use papir_core::{Choice, Description, Goal, Privacy, Result, Shape, UpdateCost};
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::response::ResponseBits;

use super::layout::Layout;
use super::literal::{Literal, NAME};
use super::noise::WORD_BITS;
use super::params::Params;
use crate::shared::digits::Digits;
use crate::shared::messages::{
    gadget_of, gadget_values, read_all, read_bytes, read_ring, read_shape, write_bytes, write_ring,
    write_shape,
};
use crate::shared::parameters::{best, one_record, refused, security, successes};
use crate::shared::units::Units;

impl Parameters for Params {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let affordable = Self::candidates(shape)?.into_iter().filter(|candidate| candidate.affordable(goal));
        best(affordable, |candidate| candidate.score(goal)).ok_or_else(|| {
            refused(NAME)(format!("{shape:?}: the packing matrices would exceed the database"))
        })
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Columns(columns) => Self::with_columns(shape, Self::least_unit_words(shape)?, columns),
            Choice::Packed { columns, words } => {
                Self::with_columns(shape, usize::try_from(words).unwrap_or(usize::MAX), columns)
            }
            other => Err(other.refused_by(NAME)),
        }
    }

    /// The least γ₀ and twice that, with a t of every power of two up to four times the square root
    /// of the number of units.
    fn candidates(shape: Shape) -> Result<Vec<Self>> {
        let least = Self::least_unit_words(shape)?;
        let most = RlweLiteral::DEFAULT.degree / 2;
        let of_width = |unit_words: usize| {
            let units = Units::new(shape, 2 * unit_words).map_or(1, |bundle| bundle.units());
            std::iter::successors(Some(1u64), |t| Some(2 * t))
                .take_while(move |&t| t <= units && t <= units.div_ceil(t).saturating_mul(16))
                .map(move |t| Self::with_blocks(shape, unit_words, t as usize))
        };
        let widths = [least, 2 * least].into_iter().filter(|&words| words <= most);
        successes(widths.flat_map(of_width))
    }

    fn label(&self) -> String {
        let [unit, first, second] = self.literal().gammas;
        let Layout { blocks, columns, .. } = self.layout();
        format!("t = {blocks}, {columns} columns, gamma = {unit}, {first}, {second}")
    }

    fn shape(&self) -> Shape {
        self.layout().shape()
    }

    fn describe(&self) -> Description {
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape(),
            sizes: self.sizes(),
            security: self.rlwe().security().map(security),
            failure_log2: self.failure_log2(),
            limits: one_record(8 * self.literal().rlwe.degree as u64, UpdateCost::PerPack),
            parameters: self.values(),
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let Literal { shape, rlwe, blocks, gammas, gadget, query_bits, key_bits, mask, body, answer } =
            *self.literal();
        let mut writer = Writer::new();
        write_shape(&mut writer, shape);
        write_ring(&mut writer, &rlwe);
        let [unit, first, second] = gammas.map(|gamma| gamma as u32);
        writer.u32(blocks as u32).u32(unit).u32(first).u32(second);
        write_bytes(&mut writer, gadget_values(gadget));
        write_bytes(&mut writer, [query_bits[0], query_bits[1], key_bits]);
        write_bytes(&mut writer, [mask.bits, mask.count as u32, body.count as u32, answer.a, answer.b]);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        Self::new(read_all("the parameters of InsPIRe(2)", bytes, read_literal)?)
    }
}

fn read_literal(reader: &mut Reader<'_>) -> Result<Literal> {
    let (shape, rlwe, blocks) = (read_shape(reader)?, read_ring(reader)?, reader.u32()? as usize);
    let gammas = [reader.u32()? as usize, reader.u32()? as usize, reader.u32()? as usize];
    let gadget = gadget_of(read_bytes(reader)?);
    let [first, second, key_bits, bits, mask, body, a, b] = read_bytes(reader)?;
    Ok(Literal {
        shape,
        rlwe,
        blocks,
        gammas,
        gadget,
        query_bits: [first, second],
        key_bits,
        mask: Digits { bits, count: mask as usize },
        body: Digits { bits, count: body as usize },
        answer: ResponseBits { a, b },
    })
}

impl Params {
    /// The parameters by name.
    fn values(&self) -> Vec<(&'static str, String)> {
        let Literal { rlwe, gammas, gadget, query_bits, key_bits, mask, body, answer, .. } = self.literal();
        let log2 = |variance: f64| format!("{:.2}", variance.log2() / 2.0);
        vec![
            ("d", rlwe.degree.to_string()),
            ("log2 q", format!("{:.2}", (self.rlwe().ring().modulus() as f64).log2())),
            ("sigma", rlwe.sigma.to_string()),
            ("p of the first level", (1u32 << WORD_BITS).to_string()),
            ("p of the second level", (1u32 << mask.bits).to_string()),
            ("t (units of a column)", self.layout().blocks.to_string()),
            ("N/t (columns)", self.layout().columns.to_string()),
            ("records of a unit", self.layout().per_unit().to_string()),
            ("gamma_0, gamma_1, gamma_2", format!("{}, {}, {}", gammas[0], gammas[1], gammas[2])),
            ("digits of a mask and of a body", format!("{} and {}", mask.count, body.count)),
            (
                "packing gadget",
                format!("z = 2^{}, l = {}, {} low bits dropped", gadget.log_base, gadget.levels, gadget.drop),
            ),
            ("query bits", format!("{} and {}", query_bits[0], query_bits[1])),
            ("key bits", key_bits.to_string()),
            ("answer bits (mask, body)", format!("{}, {}", answer.a, answer.b)),
            ("log2 noise of the first level", log2(self.noise().first + self.noise().first_switch)),
            ("log2 noise of the second level", log2(self.noise().second + self.noise().second_switch)),
        ]
    }
}
