//! Parts of messages and parameters, as bytes.

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Wire;
use papir_core::sections::SectionSource;
use papir_core::{Blob, Error, FailureBound, Result, Shape};
use papir_kernels::{Backend, bits};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::selection::Stacking;
use papir_ring::prg::Seed;

/// Appends words of `width` bits.
pub(crate) fn pack<T: Copy + Into<u64>>(words: &[T], width: u32, bytes: &mut Vec<u8>) {
    let words: Vec<u64> = words.iter().map(|&word| word.into()).collect();
    // `bits::pack` replaces what its output holds, so it gets a buffer of its own.
    let mut packed = Vec::new();
    bits::pack(Backend::current(), &words, width, &mut packed);
    bytes.append(&mut packed);
}

/// Reads a public part: a seed, followed by a hint of `length` bytes.
pub(crate) fn read_hint(
    what: &'static str,
    bytes: &[u8],
    hint: &'static str,
    length: usize,
) -> Result<(Seed, Blob)> {
    let mut reader = Reader::new(what, bytes);
    let seed = Seed(reader.array()?);
    let rest = reader.rest();
    Error::check_length(hint, rest.len(), length)?;
    Ok((seed, Blob::copy_of(rest)))
}

/// Reads `count` words of `width` bits. Padding bits that are not zero give [`Error::Malformed`].
pub(crate) fn unpack(
    reader: &mut Reader<'_>,
    what: &'static str,
    width: u32,
    count: usize,
) -> Result<Vec<u64>> {
    // The bytes are taken first: a count beyond the message fails before memory for words is
    // allocated.
    let packed = reader.raw(bits::packed_len(count, width))?;
    let mut words = Vec::new();
    bits::unpack(Backend::current(), packed, width, count, &mut words)
        .map_err(|error| Error::malformed(what, error, "zeros after the last word"))?;
    Ok(words)
}

/// Does the work of [`unpack`] for words of at most 32 bits.
pub(crate) fn unpack_u32(
    reader: &mut Reader<'_>,
    what: &'static str,
    width: u32,
    count: usize,
) -> Result<Vec<u32>> {
    Ok(unpack(reader, what, width, count)?
        .into_iter()
        .map(|word| word as u32)
        .collect())
}

/// Reads a message with `read` and checks that nothing is left.
pub(crate) fn read_all<T>(
    what: &'static str,
    bytes: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    let mut reader = Reader::new(what, bytes);
    let message = read(&mut reader)?;
    reader.finish()?;
    Ok(message)
}

/// Bytes of an encoded shape.
pub const SHAPE_BYTES: usize = 16;

/// Appends a shape: records and bits of a record, 64 bits each.
pub fn write_shape(writer: &mut Writer, shape: Shape) {
    writer.u64(shape.records()).u64(shape.record_bits());
}

/// Reads a shape that [`write_shape`] wrote.
///
/// # Errors
/// [`Error::Length`] for too few bytes, and the errors of [`Shape::new`].
pub fn read_shape(reader: &mut Reader<'_>) -> Result<Shape> {
    Shape::new(reader.u64()?, reader.u64()?)
}

/// Appends the words of an entry and their distance: nothing for one word, else a byte for each.
pub(crate) fn write_stacking(writer: &mut Writer, stacking: Stacking) {
    if stacking != Stacking::NONE {
        write_bytes(writer, [stacking.words as u32, stacking.step]);
    }
}

/// Reads what [`write_stacking`] wrote. Only [`write_failure`] follows, with one byte or none, so
/// two bytes or more have the words of an entry. It gives [`Error::OutOfBounds`] for more words
/// than [`Stacking::MAX_WORDS`], and for one word, which has no bytes.
pub(crate) fn read_stacking(reader: &mut Reader<'_>) -> Result<Stacking> {
    if reader.remaining() < 2 {
        return Ok(Stacking::NONE);
    }

    let [words, step] = read_bytes(reader)?;
    let words = words as usize;
    if !(2..=Stacking::MAX_WORDS).contains(&words) {
        let expected = format!("2 to {}", Stacking::MAX_WORDS);
        return Err(Error::out_of_bounds(
            "the words of an entry",
            words as u64,
            expected,
        ));
    }
    Ok(Stacking { words, step })
}

/// Appends a failure bound at the end of parameters: nothing for the default, else −log₂ of it in a
/// byte.
pub(crate) fn write_failure(writer: &mut Writer, failure: FailureBound) {
    if !failure.is_default() {
        writer.u8(failure.bits());
    }
}

/// Reads a failure bound that [`write_failure`] wrote, to the end of the parameters. It gives
/// [`Error::OutOfBounds`] for a bound that does not exist or is the default, which has no byte, and
/// [`Error::Length`] for more than one byte.
pub(crate) fn read_failure(reader: &mut Reader<'_>) -> Result<FailureBound> {
    match *reader.rest() {
        [] => Ok(FailureBound::DEFAULT),
        [bits] if bits != FailureBound::DEFAULT.bits() => FailureBound::of_bits(bits.into()),
        [bits] => Err(Error::out_of_bounds(
            "the failure bound of parameters",
            bits.into(),
            "41 to 128",
        )),
        ref longer => Err(Error::Length {
            what: "the failure bound of parameters",
            found: longer.len() as u64,
            expected: 1,
        }),
    }
}

/// Appends a ring: degree, both primes and σ.
pub(crate) fn write_ring(writer: &mut Writer, rlwe: &RlweLiteral) {
    writer
        .u32(rlwe.degree as u32)
        .u32(rlwe.primes[0])
        .u32(rlwe.primes[1])
        .u64(rlwe.sigma.to_bits());
}

/// Reads a ring that [`write_ring`] wrote.
pub(crate) fn read_ring(reader: &mut Reader<'_>) -> Result<RlweLiteral> {
    Ok(RlweLiteral {
        degree: reader.u32()? as usize,
        primes: [reader.u32()?, reader.u32()?],
        sigma: f64::from_bits(reader.u64()?),
    })
}

/// Appends small numbers, in a byte each.
pub(crate) fn write_bytes<const N: usize>(writer: &mut Writer, values: [u32; N]) {
    writer.raw(&values.map(|value| value as u8));
}

/// Reads numbers that [`write_bytes`] wrote.
pub(crate) fn read_bytes<const N: usize>(reader: &mut Reader<'_>) -> Result<[u32; N]> {
    Ok(reader.array::<N>()?.map(u32::from))
}

/// Returns the number of digits, log₂ of the base and the dropped bits of a gadget, for
/// [`write_bytes`].
pub(crate) fn gadget_values(gadget: GadgetParams) -> [u32; 3] {
    [gadget.levels as u32, gadget.log_base, gadget.drop]
}

/// Returns the gadget of [`gadget_values`].
pub(crate) fn gadget_of([levels, log_base, drop]: [u32; 3]) -> GadgetParams {
    GadgetParams {
        levels: levels as usize,
        log_base,
        drop,
    }
}

/// Bytes of a seed.
pub(crate) const SEED_BYTES: usize = 32;

/// A public part that is the seed of the common reference string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicSeed {
    /// Seed of all masks and of the whitening of records.
    pub seed: Seed,
}

impl<P> Wire<P> for PublicSeed {
    fn encode(&self, _params: &P) -> Vec<u8> {
        self.seed.0.to_vec()
    }

    fn decode(_params: &P, bytes: &[u8]) -> Result<Self> {
        Ok(Self {
            seed: read_all("a public seed", bytes, |reader| Ok(Seed(reader.array()?)))?,
        })
    }
}

/// Reads the section of a seed.
pub(crate) fn load_seed(source: &dyn SectionSource, section: &'static str) -> Result<Seed> {
    read_all(section, &source.get(section)?, |reader| {
        Ok(Seed(reader.array()?))
    })
}

/// The public part of schemes whose clients start from the parameters alone. It has no bytes.
#[derive(Clone, Debug)]
pub struct EmptyPublic;

impl<P> Wire<P> for EmptyPublic {
    fn encode(&self, _params: &P) -> Vec<u8> {
        Vec::new()
    }

    fn decode(_params: &P, bytes: &[u8]) -> Result<Self> {
        Error::check_length("a public part without content", bytes.len(), 0)?;
        Ok(Self)
    }
}
