//! A prepared database of random records, with a client.

use chacha20::ChaCha20Rng;
use papir_core::erased::{
    ErasedClient, ErasedKeys, ErasedScheme, ErasedSecret, ErasedServer, ErasedSession, ErasedState,
};
use papir_core::{Error, NoProgress, Record, RecordBuffer, Records, Result, Shape, Target};
use rand_core::{CryptoRng, Rng, SeedableRng};

/// A scheme, its records, server and client, and the randomness of the test.
pub(super) struct Fixture<'a> {
    pub(super) scheme: &'a dyn ErasedScheme,
    pub(super) shape: Shape,
    pub(super) target: Target,
    pub(super) records: RecordBuffer,
    pub(super) server: Box<dyn ErasedServer>,
    pub(super) client: Box<dyn ErasedClient>,
    pub(super) registration: Registration,
    pub(super) rng: ChaCha20Rng,
}

/// A registered client's state and the server's keys for it; both `None` in most schemes.
#[derive(Default)]
pub(super) struct Registration {
    pub(super) state: Option<ErasedState>,
    pub(super) keys: Option<ErasedKeys>,
}

/// A query that was sent: the client's secret, the sealed query, the server's ticket for it.
pub(super) struct Sent {
    pub(super) secret: ErasedSecret,
    pub(super) query: Vec<u8>,
    pub(super) ticket: Option<Vec<u8>>,
}

impl<'a> Fixture<'a> {
    pub(super) fn new(
        scheme: &'a dyn ErasedScheme,
        shape: Shape,
        target: Target,
        seed: u64,
    ) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut records = RecordBuffer::zeroed(shape);
        rng.fill_bytes(records.packed_mut());

        let server = match target.failure.is_default() {
            true => scheme.setup(&records, target.goal, &mut rng, &NoProgress),
            false => scheme.candidate_for(shape, target).and_then(|candidate| {
                scheme.setup_candidate(&candidate.parameters, &records, &mut rng, &NoProgress)
            }),
        };
        let server = server
            .unwrap_or_else(|error| panic!("{} cannot prepare {shape:?}: {error}", scheme.name()));

        // The client knows what the server publishes, and nothing else of it.
        let client = scheme
            .client(&server.public())
            .expect("a client from the public part");
        let registration = Registration::open(&*client, &*server, &mut rng);

        Self {
            scheme,
            shape,
            target,
            records,
            server,
            client,
            registration,
            rng,
        }
    }

    /// The first, the middle, the last and some random indices.
    pub(super) fn indices(&mut self, random: usize) -> Vec<u64> {
        let records = self.shape.records();
        let mut indices = vec![0, records / 2, records - 1];
        indices.extend((0..random).map(|_| self.rng.next_u64() % records));
        indices.sort_unstable();
        indices.dedup();
        indices
    }

    /// A query for these indices.
    pub(super) fn send(&mut self, indices: &[u64]) -> Sent {
        self.try_send(indices)
            .unwrap_or_else(|error| panic!("query for {indices:?}: {error}"))
    }

    /// Like [`Self::send`], returning the client's error.
    pub(super) fn try_send(&mut self, indices: &[u64]) -> Result<Sent> {
        self.registration
            .send(&*self.client, &*self.server, indices, &mut self.rng)
    }

    /// The server's answer.
    pub(super) fn answer(&self, sent: &Sent) -> Vec<u8> {
        self.try_answer(&sent.query, sent)
            .expect("an answer to an honest query")
    }

    /// The server's answer to these bytes in the session of `sent`.
    pub(super) fn try_answer(&self, query: &[u8], sent: &Sent) -> Result<Vec<u8>> {
        self.server.answer(self.registration.session(sent), query)
    }

    /// Query, answer and extract, checked against the records.
    pub(super) fn check_lookup(&mut self, indices: &[u64]) {
        let sent = self.send(indices);
        let answer = self.answer(&sent);
        let found = self
            .client
            .extract(sent.secret, &answer)
            .expect("an honest answer decodes");
        check_records(&self.records, indices, &found);
    }

    /// Extracts, allowing only [`Error::NotDecodable`] or records of the right length.
    pub(super) fn check_decodes_or_refuses(&self, secret: ErasedSecret, answer: &[u8], what: &str) {
        match self.client.extract(secret, answer) {
            Ok(records) => {
                assert!(
                    records
                        .iter()
                        .all(|record| record.len() == self.shape.record_bytes()),
                    "{what}"
                );
            }
            Err(Error::NotDecodable) => {}
            Err(error) => assert!(is_parse_error(&error), "{what}: {error}"),
        }
    }
}

/// Compares retrieved records with the database.
pub(super) fn check_records(records: &RecordBuffer, indices: &[u64], found: &[Record]) {
    assert_eq!(found.len(), indices.len(), "records for {indices:?}");
    for (&index, record) in indices.iter().zip(found) {
        assert!(
            *record == records.get(index).unwrap(),
            "{:?}: record {index} is wrong",
            records.shape()
        );
    }
}

impl Registration {
    /// Registers if the scheme requires it.
    pub(super) fn open(
        client: &dyn ErasedClient,
        server: &dyn ErasedServer,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        let registered = client.registered();
        let description = server.describe();
        assert_eq!(
            registered.is_some(),
            description.limits.client_keys,
            "client keys differ from the description"
        );
        let Some(registered) = registered else {
            return Self::default();
        };

        let (state, sealed) = registered.register(rng).expect("registration");
        assert_eq!(
            sealed.len() as u64,
            description.sizes.keys,
            "client keys' length"
        );

        let keys = server
            .require_registered()
            .and_then(|server| server.accept_keys(&sealed))
            .expect("honest keys are accepted");

        Self {
            state: Some(state),
            keys: Some(keys),
        }
    }

    /// Makes a query of this client, with a ticket if the scheme has tickets.
    pub(super) fn send(
        &mut self,
        client: &dyn ErasedClient,
        server: &dyn ErasedServer,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<Sent> {
        // Read before the query, which moves the state on to the next ticket.
        let number = self.next_ticket(client);
        let (secret, query) = client.query(self.state.as_mut(), indices, rng)?;
        assert!(
            number.is_none() || number < self.next_ticket(client),
            "a ticket's number is used twice"
        );

        let ticket = match (&self.keys, number) {
            (Some(keys), Some(number)) => {
                let server = server.require_registered()?;
                Some(server.ticket(keys, number, None, &NoProgress)?)
            }
            _ => None,
        };

        assert_eq!(
            ticket.is_some(),
            server.describe().limits.tickets,
            "tickets differ from the description"
        );

        Ok(Sent {
            secret,
            query,
            ticket,
        })
    }

    fn next_ticket(&self, client: &dyn ErasedClient) -> Option<u64> {
        let state = self.state.as_ref()?;
        let numbers = client.registered()?.numbers(state);
        numbers.expect("state of this client").ticket
    }

    /// The server's session for a query of this client.
    pub(super) fn session<'s>(&'s self, sent: &'s Sent) -> ErasedSession<'s> {
        ErasedSession {
            keys: self.keys.as_ref(),
            ticket: sent.ticket.as_deref(),
        }
    }
}

/// Returns true if malformed bytes of a message or section may cause this error.
pub(super) fn is_parse_error(error: &Error) -> bool {
    matches!(
        error,
        Error::Length { .. }
            | Error::Malformed { .. }
            | Error::Format { .. }
            | Error::Checksum { .. }
            | Error::WrongScheme { .. }
            | Error::WrongVersion { .. }
            | Error::IndexOutOfRange { .. }
            | Error::BatchSize { .. }
            | Error::OutOfBounds { .. }
            | Error::Parameters { .. }
            | Error::Insecure { .. }
            | Error::OwnerKey { .. }
            | Error::EmptyDatabase
            | Error::MissingSection { .. }
    )
}
