//! Lookups that need no request, and those of schedules, which all do.

use papir_core::Error as CoreError;
use papir_lookup::Wanted;
use papir_protocol::path;

use super::lookups::FoundValue;
use super::session::Session;
use super::settings::PrefilterUse;
use super::task::Io;
use crate::error::{Error, Result};

impl Session {
    /// Prepares the session for the requests of a schedule, which must not depend on what is looked
    /// up. The transport of a schedule calls it.
    ///
    /// Refuses later versions whose schemes are not private, even if the settings allow them: the
    /// service could otherwise change to such a scheme, which tells lookups from dummies. Ignores
    /// filters of keys: a key that a filter excludes uses its place like any other.
    pub fn begin_schedule(&mut self) {
        self.settings.allow_not_private = false;
        self.settings.prefilter = PrefilterUse::Ignore;
        self.lookup = self.lookup.without_prefilter();
        self.scheduled = true;
    }

    /// Looks up keys or indices. Sends nothing for keys that a filter excludes, unless they are
    /// those of a schedule.
    pub(crate) async fn look_up_each(
        &mut self,
        io: &Io,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<FoundValue>> {
        self.check_scheduled()?;
        // Before the filter is asked: the newest version has other keys. And before the
        // registration, whose keys would be for the older version.
        self.stay_fresh(io).await?;

        let excluded: Vec<bool> = wanted.iter().map(|one| self.excludes(*one)).collect();
        if !excluded.contains(&true) {
            return self.ask_each(io, wanted).await;
        }

        let mut asked = Vec::with_capacity(wanted.len());
        for (one, excluded) in wanted.iter().zip(&excluded) {
            if !excluded {
                asked.push(*one);
            }
        }
        // Nothing is sent for no lookup, not even a registration.
        let found = if asked.is_empty() {
            Vec::new()
        } else {
            self.ask_each(io, &asked).await?
        };
        CoreError::check_length("the values", found.len(), asked.len())?;

        let mut found = found.into_iter();
        let mut all = Vec::with_capacity(wanted.len());
        for excluded in excluded {
            let value = if excluded { None } else { found.next() };
            all.push(value.unwrap_or(Ok(None)));
        }
        Ok(all)
    }

    /// Returns true if a filter excludes what is wanted, so that nothing need be sent for it.
    fn excludes(&self, wanted: Wanted<'_>) -> bool {
        !self.scheduled && self.lookup.excludes_vartime(wanted)
    }

    /// Refuses a lookup outside a schedule, if the settings hide times.
    fn check_scheduled(&self) -> Result<()> {
        if self.scheduled || !self.settings.hide_times {
            return Ok(());
        }

        let url = self.service.url(&path::database(&self.name));
        let reason = match self.lookup.prefilter() {
            Some(_) => {
                "its time would be seen, and that its key is probably present, since the database \
                 has a prefilter"
            }
            None => "its time would be seen",
        };
        Err(Error::Unscheduled { url, reason })
    }
}
