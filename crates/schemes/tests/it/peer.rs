//! A client of any scheme over bytes, with keys and tickets where the scheme has them.

use papir_core::NoProgress;
use papir_core::erased::{
    ErasedClient, ErasedKeys, ErasedScheme, ErasedSecret, ErasedServer, ErasedSession, ErasedState,
};
use papir_core::hedge::Circumstances;
use rand_core::CryptoRng;

/// A client and its registration, if the scheme has one.
pub(crate) struct Peer {
    pub(crate) client: Box<dyn ErasedClient>,
    pub(crate) state: Option<ErasedState>,
    /// The keys as sealed bytes, and as the server parsed them.
    pub(crate) keys: Option<(Vec<u8>, ErasedKeys)>,
}

impl Peer {
    #[allow(dead_code)]
    pub(crate) fn new(
        scheme: &dyn ErasedScheme,
        server: &dyn ErasedServer,
        circumstances: &Circumstances,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        let client = scheme.client(&server.public()).unwrap();
        let (state, keys) = client
            .registered()
            .map(|side| side.register_in(None, circumstances, rng).unwrap())
            .unzip();
        let keys = keys.map(|sealed| {
            let server = server.require_registered().unwrap();
            let parsed = server.accept_keys(&sealed).unwrap();
            (sealed, parsed)
        });

        Self {
            client,
            state,
            keys,
        }
    }

    /// Returns the server's ticket for the next query.
    pub(crate) fn ticket(&self, server: &dyn ErasedServer) -> Option<Vec<u8>> {
        let state = self.state.as_ref()?;
        let (_, keys) = self.keys.as_ref()?;
        let number = self.client.registered()?.numbers(state).unwrap().ticket?;

        let server = server.require_registered().unwrap();
        Some(server.ticket(keys, number, None, &NoProgress).unwrap())
    }

    /// Makes a query for one record.
    pub(crate) fn query(&mut self, index: u64, rng: &mut dyn CryptoRng) -> (ErasedSecret, Vec<u8>) {
        self.client
            .query(self.state.as_mut(), &[index], rng)
            .unwrap()
    }

    /// The server's session for a query with this ticket.
    pub(crate) fn session<'a>(&'a self, ticket: Option<&'a Vec<u8>>) -> ErasedSession<'a> {
        ErasedSession {
            keys: self.keys.as_ref().map(|(_, keys)| keys),
            ticket: ticket.map(Vec::as_slice),
        }
    }
}
