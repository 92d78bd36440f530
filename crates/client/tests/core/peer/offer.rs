//! One version of a database, as a service offers it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use papir_client::core::Failure;
use papir_core::NoProgress;
use papir_core::erased::{ErasedKeys, ErasedServer};
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::{Bundle, KeywordLayout};

use super::clients::Registered;

/// One version of a database, as a service offers it.
#[derive(Clone)]
pub struct Offer {
    pub server: Arc<dyn ErasedServer>,
    pub keyword: Option<KeywordLayout>,
    pub bundle: Arc<Vec<u8>>,
    /// The filter of the keys.
    pub filter: Option<Arc<Vec<u8>>>,
    /// Clones share what was computed for clients.
    memo: Arc<Mutex<Memo>>,
}

/// Results that the service has computed for clients: tests register the same clients many times.
#[derive(Default)]
struct Memo {
    /// Accepted keys by their bytes.
    keys: HashMap<Vec<u8>, Arc<ErasedKeys>>,
    /// Tickets by the client's keys and their number.
    tickets: HashMap<(Vec<u8>, u64), Vec<u8>>,
}

impl Offer {
    pub fn new(server: Box<dyn ErasedServer>, keyword: Option<KeywordLayout>) -> Self {
        let scheme_public = server.public();
        let bundle = Bundle {
            scheme_public,
            keyword: keyword.clone(),
            commitment_top: None,
            prefilter: None,
        }
        .encode();
        Self {
            server: server.into(),
            keyword,
            bundle: Arc::new(bundle),
            filter: None,
            memo: Arc::default(),
        }
    }

    /// Returns the same version with the top of a hash tree.
    pub fn with_top(self, top: [u8; 32]) -> Self {
        let scheme_public = self.server.public();
        let bundle = Bundle {
            scheme_public,
            keyword: self.keyword.clone(),
            commitment_top: Some(top),
            prefilter: None,
        };
        Self {
            bundle: Arc::new(bundle.encode()),
            ..self
        }
    }

    /// Returns the same version with a filter of its keys.
    pub fn with_filter(self, filter: Vec<u8>) -> Self {
        let scheme_public = self.server.public();
        let bundle = Bundle {
            scheme_public,
            keyword: self.keyword.clone(),
            commitment_top: None,
            prefilter: Some(PrefilterSummary::hashed(&filter).unwrap()),
        };
        Self {
            bundle: Arc::new(bundle.encode()),
            filter: Some(Arc::new(filter)),
            ..self
        }
    }

    pub(super) fn accept_keys(&self, sealed: &[u8]) -> Result<Arc<ErasedKeys>, Failure> {
        let memo = &mut self.memo.lock().unwrap().keys;
        if let Some(keys) = memo.get(sealed) {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(self.server.require_registered()?.accept_keys(sealed)?);
        memo.insert(sealed.to_vec(), Arc::clone(&keys));
        Ok(keys)
    }

    pub(super) fn ticket(&self, client: &Registered, number: u64) -> Result<Vec<u8>, Failure> {
        let memo = &mut self.memo.lock().unwrap().tickets;
        let key = (client.received.clone(), number);
        if let Some(ticket) = memo.get(&key) {
            return Ok(ticket.clone());
        }
        let ticket = self.server.require_registered()?.ticket(
            client.keys.as_ref().unwrap(),
            number,
            None,
            &NoProgress,
        )?;
        memo.insert(key, ticket.clone());
        Ok(ticket)
    }
}

impl From<Box<dyn ErasedServer>> for Offer {
    fn from(server: Box<dyn ErasedServer>) -> Self {
        Self::new(server, None)
    }
}
