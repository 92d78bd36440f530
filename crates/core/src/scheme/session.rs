//! Access to a session's keys and ticket.

use super::traits::{KeysOf, Scheme, Session, TicketOf};
use crate::{Error, Result};

impl<'a, S: Scheme> Session<'a, S> {
    /// The registered keys, for schemes with client keys.
    ///
    /// # Errors
    /// [`Error::Session`] if the session has no keys.
    pub fn require_keys(&self) -> Result<&'a KeysOf<S>> {
        self.keys.ok_or(Error::Session {
            scheme: S::NAME,
            what: "client keys",
        })
    }

    /// The ticket, for schemes whose queries consume one.
    ///
    /// # Errors
    /// [`Error::Session`] if the session has no ticket.
    pub fn require_ticket(&self) -> Result<&'a TicketOf<S>> {
        self.ticket.ok_or(Error::Session {
            scheme: S::NAME,
            what: "a ticket",
        })
    }

    /// The session of an unregistered client, without keys and ticket.
    pub fn anonymous() -> Self {
        Self {
            keys: None,
            ticket: None,
        }
    }
}
