//! Answers to short messages that arrive in files, without a service.

use papir_core::Version;
use papir_core::short::{Binding, OVERHEAD, handle_of};

use crate::catalog::{Database, RequestQueries};
use crate::clients::{
    ClientError, ClientId, Credentials, Registry, RegistryConfig, RegistryPlace, StoredRegistry,
    keys_for_answer,
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
/// is truncated, for another version, of no client or of several, for a `client` that is not
/// registered, and for a message that cannot be answered.
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
        let wanted = client
            .map(|client| registered(registry, database, client))
            .transpose()?;

        let found = registry
            .with_handle(database, handle)
            .map_err(|error| refused(error.to_string()))?;
        let mut meant: Vec<ClientId> = found
            .into_iter()
            .filter(|id| wanted.is_none_or(|wanted| *id == wanted))
            .collect();

        let Some(id) = meant.pop() else {
            let earlier = registry
                .version_with_handle(database, handle)
                .map_err(|error| refused(error.to_string()))?;
            return Err(nobody(database, earlier));
        };
        if !meant.is_empty() {
            let count = meant.len() + 1;
            return Err(refused(format!(
                "{count} clients have its handle: give the id of the one that sent it (--client)"
            )));
        }

        let binding = database.binding(&id.to_string());
        Ok(Self {
            id,
            binding: binding.ok_or_else(|| nobody(database, None))?,
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

/// The id of the client that the operator names, which is registered.
fn registered(registry: &Registry, database: &Database, client: &str) -> Result<ClientId, Error> {
    let Ok(id) = client.parse::<ClientId>() else {
        let expected = "expected an id of 32 hexadecimal digits";
        return Err(refused(format!(
            "the named client is malformed: {expected}"
        )));
    };

    match registry.show(database, id) {
        Ok(_) => Ok(id),
        Err(ClientError::Gone) => {
            let name = database.name();
            Err(refused(format!(
                "the named client is unknown: expected one that is registered with the database \
                 `{name}`; it registers again with `papir query --renew`"
            )))
        }
        Err(error) => Err(refused(error.to_string())),
    }
}

/// The error for a message that belongs to no client at the database's version. It is for the
/// version `earlier`, if a client has its handle there.
fn nobody(database: &Database, earlier: Option<Version>) -> Error {
    let name = database.name();
    let version = database.version();
    let reason = match earlier {
        Some(earlier) => format!(
            "it is for version {earlier}; the client fetches the newest one with `papir query \
             --renew`"
        ),
        None => format!(
            "expected the first {OVERHEAD} bytes to be those of a registered client for this \
             version, and its client is unknown, its version is too old, or it is damaged; the \
             client fetches the version and registers with `papir query --renew`"
        ),
    };

    refused(format!(
        "no client of the database `{name}` has its handle at version {version}: {reason}"
    ))
}

fn refused(reason: String) -> Error {
    Error::Message { reason }
}
