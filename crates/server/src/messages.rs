//! Answers to short messages that arrive in files, without a service.

use papir_core::short::{Binding, OVERHEAD, handle_of};

use crate::catalog::{Database, RequestQueries};
use crate::clients::{
    ClientId, Credentials, Registry, RegistryConfig, RegistryPlace, StoredRegistry, keys_for_answer,
};
use crate::error::Error;

/// Answers a short message of a registered client with a short message. The registry is that of the
/// database's service. In a directory, the service must not be running.
///
/// The message's handle names the client. If several clients have it, which happens to one of
/// 430,000 clients where 10,000 are registered, `client` is the id of the one that is meant.
///
/// # Errors
/// [`Error::Registry`] for a registry that cannot be opened; [`Error::Message`] for a message that
/// belongs to no client, or to several, and for one that cannot be answered.
pub fn answer_message(
    database: &Database,
    place: RegistryPlace,
    client: Option<&str>,
    message: &[u8],
) -> Result<Vec<u8>, Error> {
    // Opened first without its services: they would create a registry where there is none.
    drop(StoredRegistry::open(&place)?);
    let registry = Registry::open(&RegistryConfig {
        place,
        ..RegistryConfig::new("")
    })?;

    let sender = MessageSender::of(&registry, database, client, message)?;
    sender.answered(&registry, database, message)
}

/// The client that sent a message.
struct MessageSender {
    id: ClientId,
    binding: Binding,
}

impl MessageSender {
    /// Finds the client by the message's handle.
    fn of(
        registry: &Registry,
        database: &Database,
        client: Option<&str>,
        message: &[u8],
    ) -> Result<Self, Error> {
        if !database.takes_short_messages() {
            let scheme = database.description().scheme;
            return Err(refused(format!(
                "for a database of the scheme {scheme}: expected one whose clients register keys \
                 and use no tickets, such as pirouette"
            )));
        }

        let handle = handle_of(message).map_err(|error| refused(error.to_string()))?;
        let found = registry
            .with_handle(database, handle)
            .map_err(|error| refused(error.to_string()))?;
        let mut meant: Vec<ClientId> = found
            .into_iter()
            .filter(|id| client.is_none_or(|wanted| id.to_string() == wanted))
            .collect();

        let id = meant.pop().ok_or_else(|| nobody(database))?;
        if !meant.is_empty() {
            let count = meant.len() + 1;
            return Err(refused(format!(
                "{count} clients have its handle: give the id of the one that sent it (--client)"
            )));
        }

        let binding = database.binding(&id.to_string());
        Ok(Self {
            id,
            binding: binding.ok_or_else(|| nobody(database))?,
        })
    }

    /// Answers the queries of the client's message.
    fn answered(
        &self,
        registry: &Registry,
        database: &Database,
        message: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let credentials = Credentials {
            client: Some(self.id),
            tickets: Vec::new(),
        };
        let keys = keys_for_answer(Some(registry), database, &credentials)
            .map_err(|error| refused(error.to_string()))?;
        registry
            .note_answer(database, self.id)
            .map_err(|error| refused(error.to_string()))?;

        let queries = self
            .binding
            .restore_queries(message, database.payload_bytes())
            .map_err(|error| refused(error.to_string()))?;
        database
            .check_length(&queries)
            .map_err(|error| refused(error.to_string()))?;

        let request = RequestQueries {
            bytes: &queries,
            keys: keys.as_deref(),
            tickets: &[],
            newest: database.version(),
        };
        let answers = match database.answer(&[request]).pop() {
            Some(answers) => answers.map_err(|error| refused(error.to_string()))?,
            None => return Err(refused("no answer was computed".to_owned())),
        };

        self.binding
            .shorten_answers(message, &answers)
            .map_err(|error| refused(error.to_string()))
    }
}

/// The error for a message that belongs to no client at the database's version.
fn nobody(database: &Database) -> Error {
    let name = database.name();
    let version = database.version();
    refused(format!(
        "no client of the database `{name}` has its handle at version {version}: expected the \
         first {OVERHEAD} bytes to be those of a registered client for this version; the client \
         fetches the version and registers with `papir query --renew`"
    ))
}

fn refused(reason: String) -> Error {
    Error::Message { reason }
}
