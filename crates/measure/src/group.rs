//! Answers to several clients together.

use std::time::Instant;

use getrandom::SysRng;
use papir_core::erased::{ErasedClient, ErasedSecret};
use papir_core::{Error as CoreError, NoProgress, Progress, read_record};
use rand_core::UnwrapErr;

use crate::Result;
use crate::clock::median;
use crate::effort::MeasurementPlan;
use crate::memory;
use crate::prepared::{ClientRegistration, PreparedDatabase, QueryTally, indices};

/// Times of a group's answers, one for each run, and the number of wrong records.
#[derive(Default)]
pub(crate) struct GroupTimes {
    pub(crate) seconds: Vec<f64>,
    pub(crate) core_seconds: Vec<f64>,
    pub(crate) wrong: usize,
}

impl GroupTimes {
    /// Returns the median wall time of the group in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        median(self.seconds.clone())
    }

    /// Returns the median processor time of the group in seconds.
    pub(crate) fn core_seconds(&self) -> f64 {
        median(self.core_seconds.clone())
    }
}

impl PreparedDatabase {
    /// Answers the queries of `plan.effort.clients` clients together, once as a warm-up and then in
    /// each run. Every record is compared with its source.
    pub(crate) fn group(
        &self,
        plan: &MeasurementPlan<'_>,
        progress: &dyn Progress,
    ) -> Result<GroupTimes> {
        let clients = plan.effort.clients;
        let runs = plan.effort.runs + 1;
        let client = self.scheme.client(&self.server.public())?;
        // Every client has keys of its own: a server that reads the keys of one client only would
        // seem faster.
        let members = (0..clients).map(|_| self.register(client.as_ref()));
        let mut members = members.collect::<Result<Vec<Option<ClientRegistration>>>>()?;
        let mut group = GroupTimes::default();

        // A ticket may take minutes, so queries with tickets are answered repeatedly.
        let (rounds, answers) = if self.server.describe().limits.tickets {
            (1, runs)
        } else {
            (runs, 1)
        };

        let wanted = indices(plan.records.shape().records(), rounds * clients);
        for (round, wanted) in wanted.chunks(clients).enumerate() {
            let made = self.group_queries(plan, client.as_ref(), &mut members, wanted)?;
            let queries: Vec<&[u8]> = made.iter().map(|(_, query)| &query[..]).collect();

            let mut last = Vec::new();
            for answer in 0..answers {
                last = self.answer_group(plan, &members, &queries, &mut group)?;
                // The very first answers are the warm-up.
                if round + answer == 0 {
                    group.seconds.clear();
                    group.core_seconds.clear();
                }
                progress.advance(1);
            }

            for (((secret, _), answer), index) in made.into_iter().zip(last).zip(wanted) {
                let expected = [read_record(plan.expected, *index)?];
                let records = client.extract(secret, &answer);
                group.wrong += usize::from(!records.is_ok_and(|records| records == expected));
            }
        }

        Ok(group)
    }

    /// Makes a query of each member. Returns the queries with their secrets.
    fn group_queries(
        &self,
        plan: &MeasurementPlan<'_>,
        client: &dyn ErasedClient,
        members: &mut [Option<ClientRegistration>],
        wanted: &[u64],
    ) -> Result<Vec<(ErasedSecret, Vec<u8>)>> {
        let mut made = Vec::with_capacity(wanted.len());
        for (member, index) in members.iter_mut().zip(wanted) {
            if let Some(member) = member {
                // Its costs are those of a client alone, which the other tally has.
                self.prepare(client, member, plan.holds(), &mut QueryTally::default())?;
            }
            let state = member.as_mut().map(|member| &mut member.state);
            made.push(client.query(state, &[*index], &mut UnwrapErr(SysRng))?);
        }
        Ok(made)
    }

    /// Times one call of [`ErasedServer::answer_many`](papir_core::erased::ErasedServer).
    fn answer_group(
        &self,
        plan: &MeasurementPlan<'_>,
        members: &[Option<ClientRegistration>],
        queries: &[&[u8]],
        group: &mut GroupTimes,
    ) -> Result<Vec<Vec<u8>>> {
        let sessions = members
            .iter()
            .map(|member| member.as_ref().map(ClientRegistration::session));
        let requests: Vec<_> = sessions
            .map(Option::unwrap_or_default)
            .zip(queries.iter().copied())
            .collect();

        let start = Instant::now();
        let core = memory::processor_time();
        let answers = self.server.answer_many(&requests, &NoProgress);
        let wall = start.elapsed().as_secs_f64();
        let core = memory::processor_time()
            .zip(core)
            .map(|(now, before)| (now - before).as_secs_f64());

        group.seconds.push(wall);
        // Without the system's count, as if all threads worked all the time.
        group
            .core_seconds
            .push(core.unwrap_or(wall * plan.effort.threads as f64));

        Ok(answers
            .into_iter()
            .collect::<std::result::Result<_, CoreError>>()?)
    }
}
