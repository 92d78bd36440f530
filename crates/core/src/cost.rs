//! What a scheme's verbs cost: counted work, the rates of a machine, and seconds from both.
//!
//! A scheme counts, for a shape and parameters, how often it does each [`Operation`]; a machine is
//! timed once at each. Seconds are counts times rates, no more: what is not counted is small, and a
//! measurement says how small.
//!
//! ```
//! use papir_core::cost::{Counts, Operation, Rates};
//!
//! let answer = Counts::new().with(Operation::Matrix, 33.5e6, 32).with(Operation::ExternalProduct, 3.0, 1);
//! let alone = answer.seconds(&Rates::BUILT_IN, 1);
//! assert!(alone > 0.0 && (answer.core_seconds(&Rates::BUILT_IN) - alone).abs() < 1e-12);
//! ```

use crate::{Error, Result};

/// What servers and clients do so often that it makes up their time. Ring operations are those at
/// d = 2048 with a modulus of two primes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Reading one byte of a database of 16-bit words against a query in four planes.
    Select16,
    /// Reading one byte of a database of bytes against a query in four planes.
    Select8,
    /// Reading one byte of the packing matrices against a client's packing key.
    Matrix,
    /// One external product.
    ExternalProduct,
    /// Unpacking, rounding or lifting one word of a message.
    Word,
    /// Whitening and placing one 16-bit word of a database, reading its record included.
    Encode16,
    /// One word's part in one level of an interpolation.
    Interpolate,
    /// Placing one byte of a database of bytes, reading its record included.
    Encode8,
    /// One row of one block of d columns in the product of database and masks.
    HintTransform,
    /// Preparing one pack: aggregation, collapse, its matrix.
    Pack,
    /// One byte's part in the product of a matrix of bytes with the masks of LWE encryptions of dimension 1024.
    HintProduct8,
    /// One ring encryption, rounded and packed for sending.
    Encrypt,
    /// Decrypting one ring element of an answer.
    Decrypt,
    /// One LWE encryption of dimension 1024, of many under negacyclic masks.
    EncryptColumn,
    /// Decrypting one row of an answer with a row of 1024 words of a hint.
    DecryptRow,
    /// Copying one byte of a prepared database to fresh memory.
    Copy,
    /// One coefficient's part in the value of a polynomial at one point, of many coefficients and points.
    Term,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 17] = [
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
    ];

    /// Its name in files of rates.
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
        }
    }

    /// Whether its unit is a byte that streams from memory.
    pub const fn streams(self) -> bool {
        matches!(self, Self::Select16 | Self::Select8 | Self::Matrix)
    }
}

/// Seconds that a machine takes for each operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    threads: usize,
    one: [f64; Operation::ALL.len()],
    all: [f64; Operation::ALL.len()],
}

impl Rates {
    /// Those of a modest machine without AVX-512, one thread, about twice what a current core with AVX2
    /// takes: for machines that were not measured.
    pub const BUILT_IN: Self = {
        let one = [
            7e-11, 8e-11, 8e-11, 8e-5, 7e-9, 5e-9, 4e-10, 1e-9, 1.2e-5, 0.2, 5e-9, 1.2e-4, 1.1e-4, 6e-8,
            2.6e-7, 5e-10, 4e-10,
        ];
        Self { threads: 1, one, all: one }
    };

    /// Rates as measured: seconds of an operation by itself, and with all `threads` threads at work on
    /// many of them, wall time over their number.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] without threads, [`Error::Malformed`] for seconds that are not positive
    /// numbers.
    pub fn new(
        threads: usize,
        one: impl Fn(Operation) -> f64,
        all: impl Fn(Operation) -> f64,
    ) -> Result<Self> {
        if threads == 0 {
            return Err(Error::out_of_bounds("the number of threads of measured rates", 0, "1 or more"));
        }
        let rates = Self { threads, one: Operation::ALL.map(one), all: Operation::ALL.map(all) };
        let bad = |seconds: &f64| !(seconds.is_finite() && *seconds > 0.0);
        match rates.one.iter().chain(&rates.all).find(|seconds| bad(seconds)) {
            Some(found) => Err(Error::malformed("a measured rate", found, "seconds above 0")),
            None => Ok(rates),
        }
    }

    /// The threads with which [`Rates::all`] was measured.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Seconds of one operation on one thread.
    pub fn one(&self, operation: Operation) -> f64 {
        self.one[operation as usize]
    }

    /// Seconds of one operation among many on all threads: wall time over their number.
    pub fn all(&self, operation: Operation) -> f64 {
        self.all[operation as usize]
    }

    /// How much faster so many threads are than one: in proportion between one thread and all, and
    /// beyond. With rates of one thread only, more threads promise nothing.
    fn speedup(&self, operation: Operation, threads: usize) -> f64 {
        let gained = self.one(operation) / self.all(operation) - 1.0;
        let share = (threads.max(1) - 1) as f64 / (self.threads.max(2) - 1) as f64;
        (1.0 + gained * share).max(1.0)
    }

    /// Seconds that one operation keeps a core busy while all cores are.
    fn busy(&self, operation: Operation) -> f64 {
        self.one(operation).max(self.all(operation) * self.threads as f64)
    }
}

/// How often something does one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// The operation.
    pub operation: Operation,
    /// How often.
    pub times: f64,
    /// Into how many parts it splits that threads can do at the same time.
    pub parts: usize,
}

/// Counted work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts(Vec<Count>);

impl Counts {
    /// Nothing to do.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An operation more, in `parts` parts for threads to share.
    #[must_use]
    pub fn with(mut self, operation: Operation, times: f64, parts: usize) -> Self {
        if times > 0.0 {
            self.0.push(Count { operation, times, parts: parts.max(1) });
        }
        self
    }

    /// Other work besides.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The counts in order.
    pub fn iter(&self) -> impl Iterator<Item = &Count> {
        self.0.iter()
    }

    /// How often an operation is done in all.
    pub fn times(&self, operation: Operation) -> f64 {
        self.0.iter().filter(|count| count.operation == operation).fold(0.0, |sum, count| sum + count.times)
    }

    /// Bytes that stream from memory.
    pub fn streamed_bytes(&self) -> f64 {
        let streaming = self.0.iter().filter(|count| count.operation.streams());
        streaming.fold(0.0, |sum, count| sum + count.times)
    }

    /// Seconds from begin to end on so many threads, nothing else running.
    pub fn seconds(&self, rates: &Rates, threads: usize) -> f64 {
        let seconds = |count: &Count| {
            let faster = rates.speedup(count.operation, threads).min(count.parts as f64);
            count.times * rates.one(count.operation) / faster
        };
        self.0.iter().map(seconds).sum()
    }

    /// Seconds of one core, all other cores busy with the same.
    pub fn core_seconds(&self, rates: &Rates) -> f64 {
        self.0.iter().map(|count| count.times * rates.busy(count.operation)).sum()
    }
}

/// The counted work of a scheme's verbs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Preparing the database, once.
    pub setup: Counts,
    /// Making a query.
    pub query: Counts,
    /// Answering it.
    pub answer: Counts,
    /// Opening the answer.
    pub extract: Counts,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rates(threads: usize, one: f64, all: f64) -> Rates {
        Rates::new(threads, |_| one, |_| all).unwrap()
    }

    #[test]
    fn operations_stand_at_their_places_under_names_of_their_own() {
        for (place, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, place);
            assert!(Operation::ALL[..place].iter().all(|other| other.name() != operation.name()));
        }
    }

    #[test]
    fn seconds_are_counts_times_rates() {
        let rates = Rates::new(1, |op| op as usize as f64 + 1.0, |op| op as usize as f64 + 1.0).unwrap();
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
    fn threads_help_as_measured_and_no_more_than_there_are_parts() {
        // Four threads are 2.5 times as fast as one: half a thread more for each.
        let rates = rates(4, 1.0, 0.4);
        let one = |parts| Counts::new().with(Operation::Pack, 1.0, parts);
        for (threads, parts, expected) in
            [(1, 9, 1.0), (2, 9, 1.0 / 1.5), (4, 9, 0.4), (8, 9, 1.0 / 4.5), (4, 2, 0.5), (4, 1, 1.0)]
        {
            let found = one(parts).seconds(&rates, threads);
            assert!((found - expected).abs() < 1e-12, "{threads} threads, {parts} parts: {found}");
        }
        assert!((one(1).core_seconds(&rates) - 1.6).abs() < 1e-12);
    }

    #[test]
    fn rates_of_one_thread_promise_nothing_of_more() {
        let work = Counts::new().with(Operation::Pack, 3.0, 8);
        assert!((work.seconds(&rates(1, 1.0, 1.0), 16) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn bad_rates_are_refused() {
        assert_eq!(Rates::new(0, |_| 1.0, |_| 1.0).unwrap_err().code(), "out_of_bounds");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let found = Rates::new(2, |_| 1.0, |op| if op == Operation::Word { bad } else { 1.0 });
            assert_eq!(found.unwrap_err().code(), "malformed", "{bad}");
        }
        let built_in = Rates::new(1, |op| Rates::BUILT_IN.one(op), |op| Rates::BUILT_IN.all(op)).unwrap();
        assert_eq!(built_in, Rates::BUILT_IN);
    }
}
