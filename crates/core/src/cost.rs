//! Cost model: counted operations times a machine's rates.
//!
//! For a shape and parameters, a scheme counts how often it performs each [`Operation`]. A
//! machine's time for each operation is measured once. Predicted seconds are counts times rates.
//! Operations that take little time are not counted.
//!
//! ```
//! use papir_core::cost::{Counts, Operation, Rates};
//!
//! let answer = Counts::new()
//!     .with(Operation::Matrix, 33.5e6, 32)
//!     .with(Operation::ExternalProduct, 3.0, 1);
//! let alone = answer.seconds(&Rates::BUILT_IN, 1);
//! assert!(alone > 0.0 && (answer.core_seconds(&Rates::BUILT_IN) - alone).abs() < 1e-12);
//! ```

use crate::{Error, Result};

/// An operation that dominates the run time of servers or clients. Ring operations are for d = 2048
/// with a modulus of two primes, unless a variant says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Multiplying one byte of a database of 16-bit words with a query, whose values are split into
    /// four planes of digits.
    Select16,
    /// Multiplying one byte of a database of bytes with a query, whose values are split into four
    /// planes of digits.
    Select8,
    /// Multiplying one byte of the packing matrices with a client's packing key.
    Matrix,
    /// One external product of an RGSW and an RLWE encryption.
    ExternalProduct,
    /// Unpacking, rounding or lifting one word of a message.
    Word,
    /// Whitening and placing one 16-bit word of a database, including reading its record.
    Encode16,
    /// The work for one word in one level of an interpolation.
    Interpolate,
    /// Placing one byte of a database of bytes, including reading its record.
    Encode8,
    /// One row of one block of d columns in the product of database and masks.
    HintTransform,
    /// Preparing one pack: aggregation, collapse and its matrix.
    Pack,
    /// The work for one byte in the product of a matrix of bytes with the masks of LWE encryptions
    /// of dimension 1024.
    HintProduct8,
    /// One ring encryption, rounded and packed for sending.
    Encrypt,
    /// Decrypting one ring element of an answer.
    Decrypt,
    /// One LWE encryption of dimension 1024, among many under negacyclic masks.
    EncryptColumn,
    /// Decrypting one row of an answer with a row of 1024 words of a hint.
    DecryptRow,
    /// Copying one byte of a prepared database to newly allocated memory.
    Copy,
    /// The work for one coefficient in the value of a polynomial at one point, with many
    /// coefficients and points.
    Term,
    /// Compressing one byte of records.
    Deflate,
    /// Multiplying one byte of a database of 4-bit words with a query, whose values are split into
    /// three planes of digits.
    Select4,
    /// Reading one of many sorted entries of a table modulo a small prime, and lifting it to the
    /// integers.
    Lookup,
    /// One external product of two digits in a ring of d = 2048 modulo one prime below 2⁵⁰.
    WideProduct,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 21] = [
        Self::Select16,
        Self::Select8,
        Self::Matrix,
        Self::ExternalProduct,
        Self::Word,
        Self::Encode16,
        Self::Interpolate,
        Self::Encode8,
        Self::HintTransform,
        Self::Pack,
        Self::HintProduct8,
        Self::Encrypt,
        Self::Decrypt,
        Self::EncryptColumn,
        Self::DecryptRow,
        Self::Copy,
        Self::Term,
        Self::Deflate,
        Self::Select4,
        Self::Lookup,
        Self::WideProduct,
    ];

    /// The operation's name in rates files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Select16 => "select16",
            Self::Select8 => "select8",
            Self::Matrix => "matrix",
            Self::ExternalProduct => "external_product",
            Self::Word => "word",
            Self::Encode16 => "encode16",
            Self::Interpolate => "interpolate",
            Self::Encode8 => "encode8",
            Self::HintTransform => "hint_transform",
            Self::Pack => "pack",
            Self::HintProduct8 => "hint_product8",
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
            Self::EncryptColumn => "encrypt_column",
            Self::DecryptRow => "decrypt_row",
            Self::Copy => "copy",
            Self::Term => "term",
            Self::Deflate => "deflate",
            Self::Select4 => "select4",
            Self::Lookup => "lookup",
            Self::WideProduct => "wide_product",
        }
    }

    /// Returns true if the unit is a byte streamed from memory.
    pub const fn streams(self) -> bool {
        matches!(
            self,
            Self::Select16 | Self::Select8 | Self::Select4 | Self::Matrix
        )
    }
}

/// Number of clients in a measured group. The server answers a group's queries together.
pub const GROUP: usize = 16;

/// A machine's time for each operation, in seconds: on one thread, on all threads, and in groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    threads: usize,
    one: [f64; Operation::ALL.len()],
    all: [f64; Operation::ALL.len()],
    /// For each of [`GROUP`] clients that are answered together.
    group: [f64; Operation::ALL.len()],
    device: Option<DeviceRates>,
}

/// A device's time for each operation that it performs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceRates {
    memory: u64,
    one: [f64; Self::OPERATIONS.len()],
    /// For each of [`GROUP`] clients that are answered together.
    group: [f64; Self::OPERATIONS.len()],
}

impl DeviceRates {
    /// The operations of an answer that a device performs.
    pub const OPERATIONS: [Operation; 4] = [
        Operation::Select16,
        Operation::Select8,
        Operation::Matrix,
        Operation::ExternalProduct,
    ];

    /// Measured rates of a device with `memory` bytes of memory for matrices. `one` gives the
    /// seconds of each operation for a client that is answered alone, `group` for each of [`GROUP`]
    /// clients that are answered together.
    ///
    /// # Errors
    /// [`Error::Malformed`] for seconds that are not positive.
    pub fn new(
        memory: u64,
        one: impl Fn(Operation) -> f64,
        group: impl Fn(Operation) -> f64,
    ) -> Result<Self> {
        let one = Self::OPERATIONS.map(one);
        let group = Self::OPERATIONS.map(group);

        check_seconds(one.iter().chain(&group))?;
        Ok(Self { memory, one, group })
    }

    /// The device's memory for matrices, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The operations with their seconds for a client that is answered alone, and for each of
    /// [`GROUP`] clients that are answered together.
    pub fn seconds(&self) -> impl Iterator<Item = (Operation, [f64; 2])> + '_ {
        let seconds = self
            .one
            .iter()
            .zip(&self.group)
            .map(|(&one, &group)| [one, group]);
        Self::OPERATIONS.into_iter().zip(seconds)
    }
}

/// Checks that all seconds are positive and finite.
fn check_seconds<'a>(mut seconds: impl Iterator<Item = &'a f64>) -> Result<()> {
    match seconds.find(|seconds| !(seconds.is_finite() && **seconds > 0.0)) {
        Some(found) => Err(Error::malformed(
            "a measured rate",
            found,
            "seconds above 0",
        )),
        None => Ok(()),
    }
}

impl Rates {
    /// Rates for machines that were not measured: a modest core with AVX2, without AVX-512, that
    /// shares its memory with no other.
    pub const BUILT_IN: Self = {
        let one = [
            7e-11, 8e-11, 8e-11, 8e-5, 7e-9, 5e-9, 4e-10, 1e-9, 1.2e-5, 0.2, 5e-9, 1.2e-4, 1.1e-4,
            6e-8, 2.6e-7, 5e-10, 4e-10, 4e-8, 9e-11, 2e-8, 8e-5,
        ];
        let mut group = one;
        // A read of the database and of packing matrices serves the whole group.
        group[Operation::Select16 as usize] = 4e-11;
        group[Operation::Select8 as usize] = 6e-11;
        group[Operation::Select4 as usize] = 6e-11;
        group[Operation::Matrix as usize] = 5e-11;
        Self {
            threads: 1,
            one,
            all: one,
            group,
            device: None,
        }
    };

    /// Measured rates. For each operation, `one` gives the seconds on one thread, and `all` the
    /// wall time in seconds per operation while all `threads` threads are busy.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for zero threads, [`Error::Malformed`] for seconds that are not
    /// positive.
    pub fn new(
        threads: usize,
        one: impl Fn(Operation) -> f64,
        all: impl Fn(Operation) -> f64,
    ) -> Result<Self> {
        if threads == 0 {
            return Err(Error::out_of_bounds(
                "the number of threads of measured rates",
                0,
                "1 or more",
            ));
        }

        let one = Operation::ALL.map(one);
        Self {
            threads,
            one,
            all: Operation::ALL.map(all),
            group: one,
            device: None,
        }
        .checked()
    }

    /// Returns the same rates, with measured rates of groups.
    ///
    /// `group` gives the core seconds of an operation for each of [`GROUP`] clients that are
    /// answered together on one thread. Without it, a client of a group takes as long as one that
    /// is answered alone.
    ///
    /// # Errors
    /// [`Error::Malformed`] for seconds that are not positive.
    pub fn with_groups(self, group: impl Fn(Operation) -> f64) -> Result<Self> {
        Self {
            group: Operation::ALL.map(group),
            ..self
        }
        .checked()
    }

    fn checked(self) -> Result<Self> {
        check_seconds(self.one.iter().chain(&self.all).chain(&self.group)).map(|()| self)
    }

    /// Returns the same rates, with a device that helps to answer.
    #[must_use]
    pub fn with_device(self, device: DeviceRates) -> Self {
        Self {
            device: Some(device),
            ..self
        }
    }

    /// Returns true if the device answers for a database with `bytes` bytes of matrices for a
    /// device ([`Sizes::device`](crate::Sizes::device)): at least one byte, and at most the
    /// device's memory.
    pub fn answers_on_device(&self, bytes: u64) -> bool {
        self.device
            .is_some_and(|device| (1..=device.memory).contains(&bytes))
    }

    /// The rates for answers from a database with `bytes` bytes of matrices for a device. The
    /// device's rates replace the CPU's if the device answers.
    pub fn of_answers(&self, bytes: u64) -> Self {
        let threads = self.threads as f64;
        let mut rates = self.clone();
        if !self.answers_on_device(bytes) {
            return rates;
        }

        for (op, [one, group]) in self.device.iter().flat_map(DeviceRates::seconds) {
            // While a device works for a client, no thread works for another one: the time of a
            // product is that of all threads. External products follow one another, in parallel for
            // each part.
            let (alone, all) = match op {
                Operation::ExternalProduct => (one, one / threads),
                _ => (one * threads, one),
            };

            let at = op as usize;
            rates.one[at] = alone;
            rates.all[at] = all;
            rates.group[at] = alone.min(group * threads);
        }

        rates
    }

    /// The number of threads with which [`Rates::all`] was measured.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Seconds of one operation on one thread of an otherwise idle machine.
    pub fn one(&self, operation: Operation) -> f64 {
        self.one[operation as usize]
    }

    /// Wall time in seconds per operation, among many on all threads.
    pub fn all(&self, operation: Operation) -> f64 {
        self.all[operation as usize]
    }

    /// Core seconds of one operation for each of [`GROUP`] clients that are answered together.
    pub fn group(&self, operation: Operation) -> f64 {
        self.group[operation as usize]
    }

    /// Core seconds of one operation for each of `clients` clients that are answered together while
    /// all cores are busy: the seconds that each client adds, and its share of the seconds that the
    /// group spends only once. Both follow from the rates of one client and of [`GROUP`] clients.
    fn together(&self, operation: Operation, clients: usize) -> f64 {
        let one = self.one(operation);
        let busy = self.busy(operation);
        // Measured rates are noisy: in a group a client costs no more than alone, and no less than
        // its share of one.
        let group = self.group(operation).clamp(one / GROUP as f64, one);
        let once = (one - group) * GROUP as f64 / (GROUP - 1) as f64;

        // Waiting for the memory of a busy machine is part of the read that a group shares.
        (one - once) + (once + busy - one) / clients.max(1) as f64
    }

    /// The speedup of `threads` threads over one thread, extrapolated linearly from the rates of
    /// one thread and of all measured threads; 1 if only one thread was measured.
    fn speedup(&self, operation: Operation, threads: usize) -> f64 {
        let gained = self.one(operation) / self.all(operation) - 1.0;
        // At least two, so that rates of one thread divide by no zero.
        let share = (threads.max(1) - 1) as f64 / (self.threads.max(2) - 1) as f64;
        (1.0 + gained * share).max(1.0)
    }

    /// Core time in seconds per operation while all cores are busy.
    fn busy(&self, operation: Operation) -> f64 {
        self.one(operation)
            .max(self.all(operation) * self.threads as f64)
    }
}

/// The count of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// The operation.
    pub operation: Operation,
    /// Number of times that the operation is performed, possibly fractional.
    pub times: f64,
    /// Number of parts that can run in parallel.
    pub parts: usize,
}

impl Count {
    /// Elapsed seconds on `threads` threads of an otherwise idle machine.
    fn seconds(&self, rates: &Rates, threads: usize) -> f64 {
        // Threads beyond the number of parts have nothing to do.
        let speedup = rates
            .speedup(self.operation, threads)
            .min(self.parts as f64);
        self.times * rates.one(self.operation) / speedup
    }
}

/// Counts of several operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts(Vec<Count>);

impl Counts {
    /// No operations.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds an operation, divided into `parts` parts that threads can share.
    #[must_use]
    pub fn with(mut self, operation: Operation, times: f64, parts: usize) -> Self {
        if times > 0.0 {
            self.0.push(Count {
                operation,
                times,
                parts: parts.max(1),
            });
        }
        self
    }

    /// Adds the counts of other work.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Returns true if no operation is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The counts, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Count> {
        self.0.iter()
    }

    /// The total count of an operation.
    pub fn times(&self, operation: Operation) -> f64 {
        self.0
            .iter()
            .filter(|count| count.operation == operation)
            .fold(0.0, |sum, count| sum + count.times)
    }

    /// Bytes of the database and of packing matrices that are streamed from memory.
    pub fn streamed_bytes(&self) -> f64 {
        let streaming = self.0.iter().filter(|count| count.operation.streams());
        streaming.fold(0.0, |sum, count| sum + count.times)
    }

    /// Elapsed seconds on `threads` threads of an otherwise idle machine.
    pub fn seconds(&self, rates: &Rates, threads: usize) -> f64 {
        self.0
            .iter()
            .fold(0.0, |sum, count| sum + count.seconds(rates, threads))
    }

    /// Seconds of one core while all other cores do the same work.
    pub fn core_seconds(&self, rates: &Rates) -> f64 {
        self.0.iter().fold(0.0, |sum, count| {
            sum + count.times * rates.busy(count.operation)
        })
    }

    /// Core seconds for each of `clients` clients that are answered together while all cores do the
    /// same work.
    pub fn group_seconds(&self, rates: &Rates, clients: usize) -> f64 {
        self.0.iter().fold(0.0, |sum, count| {
            sum + count.times * rates.together(count.operation, clients)
        })
    }
}

/// Operation counts of a scheme's four operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Preparing the database, once.
    pub setup: Counts,
    /// Making a query.
    pub query: Counts,
    /// Answering a query.
    pub answer: Counts,
    /// Decoding an answer.
    pub extract: Counts,
}

/// Operation counts of an answer on several machines, and the memory of the combiner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DividedWork {
    /// Counts of all slices together. A shard with some of the slices performs that fraction of
    /// them.
    pub slices: Counts,
    /// Counts that each shard performs, with any number of slices.
    pub shard: Counts,
    /// Counts of the combiner.
    pub combiner: Counts,
    /// Bytes of the database's sections that the combiner keeps in memory.
    pub combiner_bytes: u64,
}

impl DividedWork {
    /// The counts of an answer on one machine, which is the only shard and the combiner.
    pub fn together(self) -> Counts {
        self.slices.and(self.shard).and(self.combiner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rates(threads: usize, one: f64, all: f64) -> Rates {
        Rates::new(threads, |_| one, |_| all).unwrap()
    }

    #[test]
    fn operations_are_listed_in_order_with_distinct_names() {
        for (position, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, position);
            assert!(
                Operation::ALL[..position]
                    .iter()
                    .all(|other| other.name() != operation.name())
            );
        }
    }

    #[test]
    fn seconds_are_counts_times_rates() {
        let rates = Rates::new(
            1,
            |op| op as usize as f64 + 1.0,
            |op| op as usize as f64 + 1.0,
        )
        .unwrap();
        let work = Counts::new()
            .with(Operation::Select16, 10.0, 1)
            .with(Operation::Matrix, 2.0, 1)
            .with(Operation::Select16, 5.0, 1)
            .with(Operation::Pack, 0.0, 1);
        assert!((work.seconds(&rates, 1) - (15.0 + 2.0 * 3.0)).abs() < 1e-12);
        assert!((work.times(Operation::Select16) - 15.0).abs() < 1e-12);
        assert!((work.streamed_bytes() - 17.0).abs() < 1e-12);
        assert_eq!(work.iter().count(), 3);
    }

    #[test]
    fn speedup_is_as_measured_and_at_most_the_number_of_parts() {
        // Four threads are 2.5 times as fast as one: each further thread adds half a thread's
        // speed.
        let rates = rates(4, 1.0, 0.4);
        let one = |parts| Counts::new().with(Operation::Pack, 1.0, parts);

        for (threads, parts, expected) in [
            (1, 9, 1.0),
            (2, 9, 1.0 / 1.5),
            (4, 9, 0.4),
            (8, 9, 1.0 / 4.5),
            (4, 2, 0.5),
            (4, 1, 1.0),
        ] {
            let found = one(parts).seconds(&rates, threads);
            assert!(
                (found - expected).abs() < 1e-12,
                "{threads} threads, {parts} parts: {found}"
            );
        }

        assert!((one(1).core_seconds(&rates) - 1.6).abs() < 1e-12);
    }

    #[test]
    fn rates_of_one_thread_predict_no_speedup() {
        let work = Counts::new().with(Operation::Pack, 3.0, 8);
        assert!((work.seconds(&rates(1, 1.0, 1.0), 16) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_device_answers_what_it_has_room_for() {
        let device = DeviceRates::new(1000, |_| 0.25, |_| 0.125).unwrap();
        let rates = rates(4, 8.0, 2.0).with_device(device);
        for unanswered in [0, 1001] {
            assert_eq!(rates.of_answers(unanswered), rates);
        }

        let answers = rates.of_answers(1000);
        let work = Counts::new().with(Operation::Select16, 2.0, 100).with(
            Operation::ExternalProduct,
            3.0,
            1,
        );
        let work = work.with(Operation::Word, 1.0, 1);
        assert!((work.seconds(&answers, 4) - (2.0 * 0.25 + 3.0 * 0.25 + 8.0)).abs() < 1e-12);

        // 16 clients together take 2 s for each unit of select16 on the device.
        let select = Counts::new().with(Operation::Select16, 1.0, 100);
        assert!((select.group_seconds(&answers, GROUP) * GROUP as f64 / 4.0 - 2.0).abs() < 1e-12);
        assert!(DeviceRates::new(1, |_| 0.0, |_| 1.0).is_err());
    }

    #[test]
    fn bad_rates_are_refused() {
        assert_eq!(
            Rates::new(0, |_| 1.0, |_| 1.0).unwrap_err().code(),
            "out_of_bounds"
        );
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let found = Rates::new(
                2,
                |_| 1.0,
                |op| if op == Operation::Word { bad } else { 1.0 },
            );
            assert_eq!(found.unwrap_err().code(), "malformed", "{bad}");
        }

        let built_in = Rates::new(
            1,
            |op| Rates::BUILT_IN.one(op),
            |op| Rates::BUILT_IN.all(op),
        )
        .unwrap();
        assert!(built_in.clone().with_groups(|_| f64::NAN).is_err());
        assert_eq!(
            built_in
                .with_groups(|op| Rates::BUILT_IN.group(op))
                .unwrap(),
            Rates::BUILT_IN
        );
    }

    #[test]
    fn clients_together_share_what_is_done_once() {
        // Of 1 s, three quarters are shared by 16 clients.
        let alone = rates(2, 1.0, 0.5);
        let measured = alone.clone().with_groups(|_| 0.25 + 0.75 / 16.0).unwrap();
        let work = Counts::new().with(Operation::Select16, 2.0, 1);

        for (clients, expected) in [(1, 2.0), (3, 1.0), (16, 0.59375), (1_000_000, 0.5)] {
            let found = work.group_seconds(&measured, clients);
            assert!(
                (found - expected).abs() < 1e-5,
                "{clients} clients: {found}"
            );
            assert!((work.group_seconds(&alone, clients) - 2.0).abs() < 1e-12);
        }

        // Two threads that slow each other down: the group shares that too.
        let slow = rates(2, 1.0, 0.75)
            .with_groups(|_| 0.25 + 0.75 / 16.0)
            .unwrap();
        assert!((work.group_seconds(&slow, 1) - 3.0).abs() < 1e-12);
        assert!((work.group_seconds(&slow, 5) - 1.0).abs() < 1e-12);
    }
}
