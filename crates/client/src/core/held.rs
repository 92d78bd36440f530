//! Keys of later lookups, sent ahead.

use std::sync::Arc;

use papir_lookup::AnswerLengths;

use super::first_version::MAX_CHANGES;
use super::lookups;
use super::queries::{QueryReply, QueryRequest};
use super::registration::Registration;
use super::session::Session;
use super::task::{Io, Task};
use crate::error::Result;

impl Session {
    /// Sends the LWE keys of up to `lookups` later lookups ahead, at most those that fit in one
    /// request. Returns the number of lookups for which the state then has keys: these lookups are
    /// short, and need no ticket.
    ///
    /// # Errors
    /// Errors of the network, of the service and of client state; [`papir_core::Error::Parameters`]
    /// for a scheme that sends no keys ahead.
    pub fn hold_ahead(&mut self, lookups: usize) -> Task<'_, Result<usize>> {
        Task::new(move |io| async move { self.hold_keys(&io, lookups).await })
    }

    pub(crate) async fn hold_keys(&mut self, io: &Io, lookups: usize) -> Result<usize> {
        let mut changes = 0;
        loop {
            match self.try_hold(io, lookups).await {
                Err(error) if error.is_version_change() && changes < MAX_CHANGES => {
                    self.follow_change(io, changes, &error).await?;
                    changes += 1;
                }
                held => return held,
            }
        }
    }

    async fn try_hold(&mut self, io: &Io, lookups: usize) -> Result<usize> {
        self.ensure_registered(io).await?;
        // A key of several chunks needs as many queries; half a lookup would be of no use.
        let each = self.lookup.queries_of(1);
        let registration = self.sending_ahead()?;

        let most = registration
            .queries_per_request(&self.lookup)
            .min(self.info.max_batch)
            / each;
        let made = registration
            .keys_ahead(self.context(io), lookups.min(most.max(1)) * each)
            .await?;

        let count = made.value.queries.len();
        let longest = self.lookup.describe().sizes.answer as usize;
        let lengths = [AnswerLengths { count, longest }];
        let request = QueryRequest {
            version: self.lookup.version(),
            client: Some(&made.client),
            tickets: &made.value.numbers,
            queries: Arc::new(made.value.queries.concat()),
            is_short: false,
            limit: lookups::longest(&lengths),
        };
        let answers = match self.send_queries(io, &request).await? {
            QueryReply::WrongVersion(refusal) | QueryReply::ClientGone(refusal) => {
                return Err(refusal);
            }
            QueryReply::Answers(answers) => answers,
        };

        self.costs.answer_bytes += answers.len() as u64;
        let answers = lookups::split(&answers, &lengths)?;
        let held = self
            .sending_ahead()?
            .hold(self.context(io), &made.value.numbers, &answers)
            .await?;
        Ok(held / each)
    }

    /// The registration. Fails if clients of the scheme send no keys ahead.
    fn sending_ahead(&self) -> Result<&Registration> {
        let description = self.lookup.describe();
        match &self.registration {
            Some(registration) if description.sizes.ahead > 0 => Ok(registration),
            _ => Err(papir_core::Error::Parameters {
                scheme: description.scheme,
                reason: "its clients send nothing ahead".to_owned(),
            }
            .into()),
        }
    }
}
