//! Sessions with a database that has several servers.

use papir_core::Description;
use papir_protocol::path;

use super::pins::NamePin;
use super::service::Service;
use super::session::Session;
use super::task::{Io, Task};
use crate::error::{Error, Result, unexpected};

impl Session {
    /// Moves the session to another server of the same database. The server's newest version must
    /// be acceptable as the next version of this session: under the same owner's key and with no
    /// older sequence, or with the same root and the same parameters. If it is the same version,
    /// its public part is not fetched again.
    ///
    /// A registered client registers with the other server, or resumes its registration there,
    /// before its next lookup. The keys of one server are not used at another.
    ///
    /// # Errors
    /// The errors of [`Session::open`], except those of the choice of a database.
    pub fn moved(mut self, service: Service) -> Task<'static, Result<Self>> {
        Task::new(|io| async move {
            self.move_over(&io, service).await?;
            Ok(self)
        })
    }

    async fn move_over(&mut self, io: &Io, service: Service) -> Result<()> {
        let before = self.lookup.describe();
        // Taken over before the registration goes, which counts the bytes of its keys.
        self.costs = self.costs();
        self.registration = None;
        self.service = service.of_session(&self.settings);
        self.named = false;

        NamePin::of_service(io, &self.service, &self.settings)
            .check(&self.name)
            .await?;
        // The other server has a gateway of its own, whose key the owner must name, too.
        self.trust
            .open_gate(io, &self.service, &self.name, &self.settings)
            .await?;
        self.fetch_again(io, 0, None).await?;
        self.check_parameters(&before)
    }

    /// Checks that one of several servers has a signed database, or one with a trusted root. Any
    /// server could otherwise answer for the others with data of its own. The database of a set is
    /// not checked: each of its servers has the set's key, and is trusted like the owner.
    pub(super) fn check_trust(&self) -> Result<()> {
        if !self.service.is_one_of_several() || self.protects_name() {
            return Ok(());
        }
        Err(Error::NoCheckpoint {
            url: self.service.url(&path::database(&self.name)),
        })
    }

    /// Checks that a database that is not signed still has these parameters. Those of a signed one
    /// are the owner's choice, and those of a root alone are the server's.
    fn check_parameters(&self, before: &Description) -> Result<()> {
        let found = self.lookup.describe();
        let same = found.scheme == before.scheme
            && found.shape == before.shape
            && found.parameters == before.parameters;
        if same || self.trust.is_signed() {
            return Ok(());
        }

        let reason = format!(
            "a database of the scheme {} with other parameters: expected those of the other server, \
             under {}",
            found.scheme, before.scheme
        );
        Err(unexpected(
            &self.service.url(&path::database(&self.name)),
            reason,
        ))
    }
}
