//! Rates of a device, for the planner.
//!
//! Products are timed at two sizes, and external products in databases of few and of many points.
//! Only differences count, so no rate contains the time of a launch or of copies.

use getrandom::SysRng;
use papir_core::cost::{DeviceRates, GROUP, Operation, Rates};
use papir_core::device::{Device, TileShape, Tiles, Words};
use papir_core::erased::{ErasedServer, ErasedSession};
use papir_core::{Choice, NoProgress, Progress};
use papir_plan::rates_file::NamedDevice;
use rand_core::UnwrapErr;

use crate::clock::{StageClock, timed};
use crate::effort::{Effort, MeasurementPlan};
use crate::prepared::PreparedDatabase;
use crate::records::Synthetic;
use crate::{Result, schemes};

/// Kinds of words, with the bits of a value that `inspire` and `simple` have for them.
const KINDS: [(Operation, Words, u32); 3] = [
    (Operation::Select16, Words::Signed16, 45),
    (Operation::Select8, Words::Unsigned8, 32),
    (Operation::Matrix, Words::Signed32, 43),
];
/// Name of the stage of an answer that a device makes.
const STAGE: &str = "device";
/// Measurements of a rate before one that is not positive is refused.
const ATTEMPTS: usize = 5;

/// Sizes of the matrices and databases that are timed.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRatesConfig {
    /// Number of columns of the matrices that are multiplied. It is large, so that few sums are
    /// copied back.
    pub matrix_columns: usize,
    /// Numbers of row groups of 64 rows in the smaller and in the larger matrix of bytes. Matrices
    /// of other words take the same memory with fewer rows.
    pub matrix_groups: [usize; 2],
    /// Number of columns of the databases.
    pub columns: u64,
    /// Numbers of points of the polynomials in the smaller and in the larger database.
    pub points: [u64; 2],
    /// Number of times that each measurement is repeated. The shortest time counts.
    pub runs: usize,
}

impl DeviceRatesConfig {
    /// Sizes for real measurements: matrices of 512 MiB and 2.5 GiB, databases of 8 and 128 MiB.
    pub const WHOLE: Self = Self {
        matrix_columns: 1 << 16,
        matrix_groups: [128, 640],
        columns: 512,
        points: [4, 64],
        runs: 7,
    };
}

/// Measures the rates of a device beside a CPU with `rates`. Rates of operations that the device
/// does not perform are the CPU's.
///
/// # Errors
/// The errors of the device and of the scheme `inspire`; [`papir_core::Error::Malformed`] if the
/// larger of two sizes never takes longer than the smaller one.
pub fn calibrate(
    config: DeviceRatesConfig,
    device: &dyn Device,
    rates: &Rates,
    progress: &dyn Progress,
) -> Result<NamedDevice> {
    let mut seconds = Seconds([[0.0; Operation::ALL.len()]; 2]);

    progress.stage("products", KINDS.len() as u64);
    for (op, words, bits) in KINDS {
        let each = positive(|| product_seconds(config, device, words, bits).map(Some))?;
        seconds.set(op, each.unwrap_or([f64::NAN; 2]));
        progress.advance(1);
    }

    let products = positive(|| external_seconds(config, device, &seconds, progress))?;
    let cpu = Operation::ExternalProduct;
    seconds.set(cpu, products.unwrap_or([rates.one(cpu), rates.group(cpu)]));

    let memory = device.memory()?.free;
    let rates = DeviceRates::new(memory, |op| seconds.of(0, op), |op| seconds.of(1, op))?;
    Ok(NamedDevice {
        name: device.name().to_owned(),
        rates,
    })
}

/// Repeats a measurement whose seconds for a client alone are not positive. They are a difference
/// of two times, which another program may disturb. Returns the last measurement, whose seconds
/// [`DeviceRates::new`] refuses if they are not positive either.
fn positive(mut measure: impl FnMut() -> Result<Option<[f64; 2]>>) -> Result<Option<[f64; 2]>> {
    for _ in 1..ATTEMPTS {
        let found = measure()?;
        if found.is_none_or(|[one, _]| one > 0.0) {
            return Ok(found);
        }
    }
    measure()
}

/// Seconds of each operation for a client alone, and for each of [`GROUP`] clients.
struct Seconds([[f64; Operation::ALL.len()]; 2]);

impl Seconds {
    fn set(&mut self, op: Operation, [one, group]: [f64; 2]) {
        // A group costs each client at most as much as one alone, and all of it at least as much.
        // Seconds that are not positive have no such bounds, and stay as they are to be refused: a
        // small positive number in their place would make the device free.
        let group = if one > 0.0 {
            group.clamp(one / GROUP as f64, one)
        } else {
            one
        };

        self.0[0][op as usize] = one;
        self.0[1][op as usize] = group;
    }

    fn of(&self, clients: usize, op: Operation) -> f64 {
        self.0[clients][op as usize]
    }
}

/// Measures the seconds of a byte in the product of a matrix and a vector alone, and in each of
/// [`GROUP`] products.
fn product_seconds(
    config: DeviceRatesConfig,
    device: &dyn Device,
    words: Words,
    bits: u32,
) -> Result<[f64; 2]> {
    let columns = config.matrix_columns;
    // By number of clients, then by size.
    let mut times = [[0.0; 2]; 2];
    let group = TileShape {
        words,
        rows: 64,
        columns,
    }
    .group_bytes();
    let sizes = config
        .matrix_groups
        .map(|groups| groups / words.bytes() * group);

    for (i, size) in sizes.into_iter().enumerate() {
        let tiles: Vec<u8> = (0..size)
            .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 13) as u8)
            .collect();
        let held = device.hold(Tiles::new(words, columns, &tiles)?)?;
        // The device has its own copy, and the memory may be needed.
        drop(tiles);

        for (j, clients) in [1, GROUP].into_iter().enumerate() {
            let vector: Vec<u64> = (0..columns as u64)
                .map(|x| x.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .collect();
            let vectors = vec![&vector[..]; clients];

            times[j][i] = f64::INFINITY;
            for _ in 0..config.runs {
                let (products, seconds) = timed(|| held.products(&vectors, bits));
                products?;
                times[j][i] = seconds.min(times[j][i]);
            }
        }
    }

    // The difference of both sizes leaves out what does not depend on the bytes.
    let bytes = (sizes[1] - sizes[0]) as f64;
    let [one, group] = times.map(|[small, large]| (large - small) / bytes);
    Ok([one, group / GROUP as f64])
}

/// Measures the seconds of an external product for a client alone, and for each of [`GROUP`]
/// clients. Returns `None` if the device performs none.
fn external_seconds(
    config: DeviceRatesConfig,
    device: &dyn Device,
    known: &Seconds,
    progress: &dyn Progress,
) -> Result<Option<[f64; 2]>> {
    let scheme = schemes::by_name("inspire")?;
    let mut rows = Vec::new();
    for points in config.points {
        // A ring element of 4 KiB holds 64 records.
        let records = Synthetic::new(64 * points * config.columns, 64)?;
        let choice = Choice::Columns(config.columns);
        let effort = Effort::alone(1, config.runs);

        let plan = MeasurementPlan {
            records: &records,
            expected: &records,
            choice,
            effort,
        };

        let prepared = PreparedDatabase::setup(&*scheme, &plan, progress)?;
        let placed = prepared.server.require_on_device(device)?;
        let work = prepared.server.describe().work.answer;

        let mut times = [0.0; 2];
        for (i, clients) in [1, GROUP].into_iter().enumerate() {
            let Some(seconds) = stage_seconds(&prepared, &*placed.server, clients, config.runs)?
            else {
                return Ok(None);
            };

            // The stage also reads the matrix and the packs, at rates that are known already.
            let products = [Operation::Select16, Operation::Matrix];
            let read = products.map(|op| clients as f64 * known.of(i, op) * work.times(op));
            times[i] = seconds - read.iter().sum::<f64>();
        }

        rows.push((work.times(Operation::ExternalProduct), times));
    }

    // As with products, the difference leaves out the launch and the copies.
    let [(few, small), (many, large)] = rows[..] else {
        return Ok(None);
    };
    let each = |i: usize, clients: usize| (large[i] - small[i]) / (many - few) / clients as f64;
    Ok(Some([each(0, 1), each(1, GROUP)]))
}

/// Measures the least time of the device's stage in answers to queries of several clients. Returns
/// `None` if there is no such stage.
fn stage_seconds(
    prepared: &PreparedDatabase,
    placed: &dyn ErasedServer,
    clients: usize,
    runs: usize,
) -> Result<Option<f64>> {
    let client = prepared.scheme.client(&prepared.server.public())?;
    let (_, query) = client.query(None, &[0], &mut UnwrapErr(SysRng))?;
    let batch = vec![(ErasedSession::default(), query.as_slice()); clients];

    let mut least: Option<f64> = None;
    for _ in 0..runs {
        let clock = StageClock::new(&NoProgress);
        placed
            .answer_many(&batch, &clock)
            .into_iter()
            .collect::<papir_core::Result<Vec<_>>>()?;

        let stage = clock.stop().0.into_iter().find(|(name, _)| name == STAGE);
        let Some((_, seconds)) = stage else {
            return Ok(None);
        };

        least = Some(least.map_or(seconds, |least| least.min(seconds)));
    }

    Ok(least)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_testkit::device::PlainDevice;

    use super::*;

    #[test]
    fn a_device_is_measured() {
        let config = DeviceRatesConfig {
            matrix_columns: 256,
            matrix_groups: [4, 16],
            columns: 64,
            points: [1, 2],
            runs: 1,
        };
        let device = PlainDevice::default();
        let found = calibrate(config, &device, &Rates::BUILT_IN, &NoProgress).unwrap();

        assert_eq!(
            (found.name.as_str(), found.rates.memory()),
            (device.name(), 1 << 40)
        );
        for (op, [one, group]) in found.rates.seconds() {
            assert!(
                group > 0.0 && group <= one && one < 1e-3,
                "{op:?}: {one} {group}"
            );
        }

        // It evaluates no polynomials.
        let products = found
            .rates
            .seconds()
            .find(|(op, _)| *op == Operation::ExternalProduct)
            .unwrap();
        assert!((products.1[0] - Rates::BUILT_IN.one(Operation::ExternalProduct)).abs() < 1e-12);
    }

    #[test]
    fn a_negative_difference_is_measured_again_and_then_refused() {
        let mut found = [-1.0, f64::NAN, 0.0, 2.0].into_iter();
        let again = positive(|| Ok(found.next().map(|one| [one, 1.0]))).unwrap();
        assert_eq!(again, Some([2.0, 1.0]));

        let mut measured = 0;
        let refused = positive(|| {
            measured += 1;
            Ok(Some([-1.0, 1.0]))
        });
        assert_eq!((refused.unwrap(), measured), (Some([-1.0, 1.0]), ATTEMPTS));

        for one in [-1.0, 0.0, f64::NAN] {
            let mut seconds = Seconds([[1e-9; Operation::ALL.len()]; 2]);
            seconds.set(Operation::Matrix, [one, 1e-9]);
            let rates = DeviceRates::new(1, |op| seconds.of(0, op), |op| seconds.of(1, op));
            assert!(rates.is_err(), "{one}");
        }
    }
}
