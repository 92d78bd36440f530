//! Tests of the conformance suite: a scheme with a fault fails it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use papir_core::certificate::FailureCertificate;
use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{
    ErasedClient, ErasedClientScheme, ErasedDatabase, ErasedRegisteredClient,
    ErasedRegisteredServer, ErasedScheme, ErasedSecret, ErasedServer, ErasedSession, ErasedState,
    ErasedVersion, SchemeProperties,
};
use papir_core::scratch::Scratch;
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    Candidate, Change, Choice, Description, Error, FailureBound, Progress, Record, Records, Result,
    Shape, Terms, Version,
};
use papir_schemes::registry;
use papir_testkit::conformance::{ConformanceConfig, run, shapes};
use rand_core::{CryptoRng, SeedableRng};

/// The one fault of a scheme.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    None,
    WrongRecord,
    WrongSize,
    Insecure,
    FailsOften,
    AcceptsAnyLength,
    ForgetsUpdates,
    AnswersOldVersions,
    PanicsOnBadBytes,
    BatchOutOfOrder,
    EncryptsWithOneMask,
    LoadsOtherwise,
    ReadsOthers,
    ReadsBeyond,
}

const FAULTS: [Fault; 13] = [
    Fault::WrongRecord,
    Fault::WrongSize,
    Fault::Insecure,
    Fault::FailsOften,
    Fault::AcceptsAnyLength,
    Fault::ForgetsUpdates,
    Fault::AnswersOldVersions,
    Fault::PanicsOnBadBytes,
    Fault::BatchOutOfOrder,
    Fault::EncryptsWithOneMask,
    Fault::LoadsOtherwise,
    Fault::ReadsOthers,
    Fault::ReadsBeyond,
];

/// SimplePIR with a fault.
struct Faulty(Fault);

struct FaultyServer(Fault, Box<dyn ErasedServer>);

struct FaultyClient(Fault, Box<dyn ErasedClient>);

fn simple() -> &'static dyn ErasedScheme {
    registry::by_name("simple").unwrap()
}

fn with_fault(fault: Fault, mut description: Description) -> Description {
    match fault {
        Fault::WrongSize => description.sizes.answer += 1,
        Fault::Insecure => description.security = None,
        Fault::FailsOften => description.failure_log2 = -39.0,
        _ => {}
    }
    description
}

impl ErasedClientScheme for Faulty {
    fn name(&self) -> &'static str {
        simple().name()
    }

    fn properties(&self) -> SchemeProperties {
        simple().properties()
    }

    fn client_with(&self, public: &[u8], _terms: &Terms) -> Result<Box<dyn ErasedClient>> {
        Ok(Box::new(FaultyClient(self.0, simple().client(public)?)))
    }
}

impl ErasedScheme for Faulty {
    fn with_terms(&self, _terms: &Terms) -> Box<dyn ErasedScheme> {
        Box::new(Self(self.0))
    }

    fn candidate(&self, shape: Shape, choice: Choice) -> Result<Candidate> {
        simple().candidate(shape, choice)
    }

    fn candidates(&self, shape: Shape, failure: FailureBound) -> Result<Vec<Candidate>> {
        simple().candidates(shape, failure)
    }

    fn certificate(&self, parameters: &[u8]) -> Result<FailureCertificate> {
        simple().certificate(parameters)
    }

    fn setup_resumable(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        Ok(Box::new(FaultyServer(
            self.0,
            simple().setup_resumable(parameters, records, scratch, rng, progress)?,
        )))
    }

    fn load(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedServer>> {
        let fault = if self.0 == Fault::LoadsOtherwise {
            Fault::WrongRecord
        } else {
            self.0
        };
        Ok(Box::new(FaultyServer(fault, simple().load(source)?)))
    }
}

/// Returns the answer with every payload bit inverted and a valid checksum.
fn damaged(answer: &[u8], version: Version) -> Vec<u8> {
    let inverted: Vec<u8> = answer[24..answer.len() - 8]
        .iter()
        .map(|byte| !byte)
        .collect();
    envelope::seal(
        &Header {
            kind: Kind::Answer,
            scheme: simple().properties().id,
            version,
        },
        &inverted,
    )
}

impl FaultyServer {
    /// The result of one answer, with the fault.
    fn answered(&self, result: Result<Vec<u8>>) -> Result<Vec<u8>> {
        match (self.0, result) {
            (Fault::WrongRecord, Ok(answer)) => Ok(damaged(&answer, self.version())),
            (Fault::PanicsOnBadBytes, Err(error)) => panic!("{error}"),
            (Fault::AnswersOldVersions, Err(Error::WrongVersion { .. })) => Ok(Vec::new()),
            (Fault::AcceptsAnyLength, Err(Error::Length { .. })) => Ok(Vec::new()),
            (_, result) => result,
        }
    }
}

impl ErasedVersion for FaultyServer {
    fn describe(&self) -> Description {
        with_fault(self.0, self.1.describe())
    }

    fn version(&self) -> Version {
        self.1.version()
    }
}

impl ErasedDatabase for FaultyServer {
    fn public(&self) -> Vec<u8> {
        self.1.public()
    }

    fn check_query(&self, query: &[u8]) -> Result<()> {
        self.1.check_query(query)
    }
}

impl ErasedServer for FaultyServer {
    fn answer_many(
        &self,
        batch: &[(ErasedSession<'_>, &[u8])],
        progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>> {
        let answers = self.1.answer_many(batch, progress).into_iter();
        let mut answers: Vec<_> = answers.map(|result| self.answered(result)).collect();
        if self.0 == Fault::BatchOutOfOrder {
            answers.reverse();
        }
        answers
    }

    fn registered(&self) -> Option<&dyn ErasedRegisteredServer> {
        self.1.registered()
    }

    fn update_cost(&self, changes: &[Change]) -> Result<papir_core::scheme::UpdateEstimate> {
        self.1.update_cost(changes)
    }

    fn update(
        &self,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        let server = self.1.update(changes, rng, progress)?;
        let none = if self.0 == Fault::ForgetsUpdates {
            self.1.update(&[], rng, progress)?
        } else {
            server
        };
        Ok(Box::new(FaultyServer(self.0, none)))
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let result = self.1.read_packed(first, count, out);
        match (self.0, result) {
            (Fault::ReadsOthers, Ok(())) => out.iter_mut().take(1).for_each(|byte| *byte ^= 1),
            (Fault::ReadsBeyond, Err(Error::IndexOutOfRange { .. })) => out.fill(0),
            (_, result) => return result,
        }
        Ok(())
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.1.save(sink)
    }
}

impl ErasedVersion for FaultyClient {
    fn describe(&self) -> Description {
        with_fault(self.0, self.1.describe())
    }

    fn version(&self) -> Version {
        self.1.version()
    }
}

impl ErasedClient for FaultyClient {
    fn registered(&self) -> Option<&dyn ErasedRegisteredClient> {
        self.1.registered()
    }

    fn query(
        &self,
        state: Option<&mut ErasedState>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ErasedSecret, Vec<u8>)> {
        if self.0 == Fault::EncryptsWithOneMask {
            let mut fixed = chacha20::ChaCha20Rng::from_seed([0; 32]);
            return self.1.query(state, indices, &mut fixed);
        }
        self.1.query(state, indices, rng)
    }

    fn extract(&self, secret: ErasedSecret, answer: &[u8]) -> Result<Vec<Record>> {
        self.1.extract(secret, answer)
    }
}

fn config() -> ConformanceConfig {
    ConformanceConfig {
        shapes: shapes(&[(2, 8)]),
        thorough: shapes(&[(211, 64)]),
        ..ConformanceConfig::slow()
    }
}

#[test]
fn a_scheme_without_a_fault_passes() {
    run(&Faulty(Fault::None), &config());
}

#[test]
fn every_fault_is_found() {
    for fault in FAULTS {
        let result = catch_unwind(AssertUnwindSafe(|| run(&Faulty(fault), &config())));
        assert!(result.is_err(), "{fault:?} was not found");
    }
}
