//! Answers with a device and with the CPU alone (`papir bench SCHEME --device cuda:0`).
//!
//! One database is prepared, and queries of clients are answered together in groups of several
//! sizes: by the CPU, then with the device. Every record is compared with its source, and every
//! answer of the device with the answer of the CPU.

use std::io::Write;

use getrandom::SysRng;
use papir_core::device::Device;
use papir_core::erased::{ErasedClient, ErasedScheme, ErasedSecret, ErasedServer, ErasedSession};
use papir_core::{Description, NoProgress, Progress, read_record};
use papir_kernels::Backend;
use papir_plan::units::bytes as display;
use rand_core::UnwrapErr;
use rayon::prelude::*;
use serde::Serialize;

use crate::clock::{StageClock, median, timed};
use crate::effort::MeasurementPlan;
use crate::prepared::{PreparedDatabase, indices, medians, summed};
use crate::report::{Stages, write_columns};
use crate::{Error, Result};

/// Numbers of clients that are answered together, one for each row.
pub const GROUPS: [usize; 4] = [1, 8, 32, 128];

/// Times of answers of one database.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Number of records.
    pub records: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
    /// Bytes of the encoded database.
    pub database_bytes: u64,
    /// Bytes of the material that the server prepares beside it.
    pub material_bytes: u64,
    /// Name of the device.
    pub device: String,
    /// Bytes that the device reads and writes in a second, in a copy within its memory, in units of
    /// 10⁹.
    pub device_gbps: f64,
    /// Number of threads of the CPU.
    pub threads: usize,
    /// Name of the CPU's backend.
    pub backend: &'static str,
    /// Time of the setup in seconds.
    pub offline_s: f64,
    /// Time to copy the matrices to the device in seconds.
    pub copy_s: f64,
    /// Results of the groups.
    pub groups: Vec<GroupReport>,
    /// True if every record was right, and every answer of the device equal to the CPU's.
    pub correct: bool,
}

/// Times of the answers to one group. They are medians.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReport {
    /// Number of clients that are answered together.
    pub clients: usize,
    /// Time of all answers with the device in milliseconds.
    pub device_ms: f64,
    /// Stages of the answers with the device.
    pub stages: Stages,
    /// Bytes of the database times clients, divided by the time of all answers, in units of 10⁹ a
    /// second.
    pub effective_gbps: f64,
    /// Time with the device, divided by the time of one read of the database at the rate of copies.
    pub reads: f64,
    /// Time of all answers on the CPU alone in milliseconds.
    pub cpu_ms: f64,
}

/// Prepares a database and answers its groups.
///
/// # Errors
/// The errors of [`crate::measure::measure`], and the errors of the device.
pub fn measure(
    scheme: &dyn ErasedScheme,
    plan: &MeasurementPlan<'_>,
    device: (&dyn Device, f64),
    progress: &dyn Progress,
) -> Result<DeviceReport> {
    let (device, device_rate) = device;
    let backend = Backend::try_from_env()?;

    plan.effort.pool()?.install(|| {
        let prepared = PreparedDatabase::setup(scheme, plan, progress)?;

        progress.stage("copy", 1);
        let (placed, copy_s) = timed(|| prepared.server.require_on_device(device));
        let placed = placed?;

        let Description {
            scheme,
            sizes,
            shape,
            ..
        } = prepared.server.describe();

        progress.stage("groups", GROUPS.len() as u64);
        let mut groups = Groups {
            prepared: &prepared,
            placed: &*placed.server,
            plan,
            device_rate,
            correct: true,
        };
        let mut measured = Vec::new();
        for clients in GROUPS {
            let group = groups.measure(clients);
            progress.advance(1);
            measured.push(group?);
        }

        Ok(DeviceReport {
            scheme,
            records: shape.records(),
            record_bytes: shape.record_bytes() as u64,
            database_bytes: sizes.database,
            material_bytes: sizes.material,
            device: device.name().to_owned(),
            device_gbps: device_rate / 1e9,
            threads: plan.effort.threads,
            backend: backend.name(),
            offline_s: prepared.offline,
            copy_s,
            groups: measured,
            correct: groups.correct,
        })
    })
}

/// A database on the CPU and on the device, and the results so far.
struct Groups<'a> {
    prepared: &'a PreparedDatabase,
    placed: &'a dyn ErasedServer,
    plan: &'a MeasurementPlan<'a>,
    device_rate: f64,
    correct: bool,
}

/// A query with its secret and the index of its record.
struct PendingQuery {
    index: u64,
    secret: ErasedSecret,
    query: Vec<u8>,
}

impl Groups<'_> {
    fn measure(&mut self, clients: usize) -> Result<GroupReport> {
        let pending = self.ask(clients)?;
        let queries: Vec<&[u8]> = pending.iter().map(|one| &one.query[..]).collect();

        // Both places have the same runs, or a cold run of one would be compared with warm ones.
        let (expected, cpu, _) = self.answers(&*self.prepared.server, &queries)?;
        let (found, seconds, stages) = self.answers(self.placed, &queries)?;
        // An answer depends on its query alone, so both places must give the same bytes.
        self.correct &= found == expected;

        let client = self.client()?;
        for (PendingQuery { index, secret, .. }, answer) in pending.into_iter().zip(&found) {
            let record = [read_record(self.plan.expected, index)?];
            self.correct &= client
                .extract(secret, answer)
                .is_ok_and(|records| records == record);
        }

        let database = self.prepared.server.describe().sizes.database as f64;
        Ok(GroupReport {
            clients,
            device_ms: 1e3 * seconds,
            stages,
            effective_gbps: clients as f64 * database / seconds / 1e9,
            reads: seconds * self.device_rate / database,
            cpu_ms: 1e3 * cpu,
        })
    }

    fn client(&self) -> Result<Box<dyn ErasedClient>> {
        Ok(self
            .prepared
            .scheme
            .client(&self.prepared.server.public())?)
    }

    /// Makes a query of each client, for random records.
    fn ask(&self, clients: usize) -> Result<Vec<PendingQuery>> {
        let client = self.client()?;
        indices(self.plan.records.shape().records(), clients)
            .into_par_iter()
            .map(|index| query(&*client, index))
            .collect()
    }

    /// Answers the queries together in the plan's runs, after a warm-up. Returns the last answers,
    /// the median time and its stages.
    fn answers(
        &self,
        server: &dyn ErasedServer,
        queries: &[&[u8]],
    ) -> Result<(Vec<Vec<u8>>, f64, Stages)> {
        let batch: Vec<_> = queries
            .iter()
            .map(|query| (ErasedSession::default(), *query))
            .collect();

        let mut last = Vec::new();
        let mut times = Vec::new();
        let mut laps = Vec::new();

        for run in 0..=self.plan.effort.runs {
            let clock = StageClock::new(&NoProgress);
            let answers = server.answer_many(&batch, &clock);
            let (stages, seconds) = clock.stop();
            // The first run finds cold caches, and a GPU loads its program.
            if run > 0 {
                times.push(seconds);
                laps.push(summed(stages));
            }
            last = answers.into_iter().collect::<papir_core::Result<_>>()?;
        }

        Ok((last, median(times), medians(&laps)))
    }
}

/// Makes a query for one record.
fn query(client: &dyn ErasedClient, index: u64) -> Result<PendingQuery> {
    let (secret, query) = client.query(None, &[index], &mut UnwrapErr(SysRng))?;
    Ok(PendingQuery {
        index,
        secret,
        query,
    })
}

impl DeviceReport {
    /// Prints the table.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_table(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(
            out,
            "{}: {} records of {}, {} and {} of packs; {} of {:.0} GB/s; {} threads ({}); prepared in {:.1} s, \
             copied in {:.1} s",
            self.scheme,
            self.records,
            display(self.record_bytes),
            display(self.database_bytes),
            display(self.material_bytes),
            self.device,
            self.device_gbps,
            self.threads,
            self.backend,
            self.offline_s,
            self.copy_s,
        )?;

        write_columns(out, &self.rows())?;
        writeln!(out, "{}", if self.correct { "correct" } else { "WRONG" })?;
        Ok(())
    }

    /// Returns the titles, and a row for each group.
    fn rows(&self) -> Vec<Vec<String>> {
        let titles = [
            "clients",
            "device",
            "effective",
            "reads",
            "CPU alone",
            "stages",
        ];
        let mut rows = vec![titles.map(str::to_owned).to_vec()];

        for group in &self.groups {
            let stages = group
                .stages
                .0
                .iter()
                .map(|(name, ms)| format!("{name} {ms:.2}"));
            rows.push(vec![
                group.clients.to_string(),
                format!("{:.2} ms", group.device_ms),
                format!("{:.0} GB/s", group.effective_gbps),
                format!("{:.2}", group.reads),
                format!("{:.1} ms", group.cpu_ms),
                stages.collect::<Vec<_>>().join(", "),
            ]);
        }
        rows
    }

    /// Checks that all records and answers were right.
    ///
    /// # Errors
    /// [`Error::Wrong`] if a record or an answer was wrong.
    pub fn check(&self) -> Result<()> {
        if self.correct {
            Ok(())
        } else {
            Err(Error::Wrong {
                what: self.scheme.to_owned(),
            })
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Choice;
    use papir_testkit::device::PlainDevice;

    use super::*;
    use crate::effort::Effort;
    use crate::records::Synthetic;
    use crate::schemes;

    #[test]
    fn both_places_answer_a_group_equally_often() {
        let scheme = schemes::by_name("inspire").unwrap();
        let records = Synthetic::new(1 << 12, 64).unwrap();
        let plan = MeasurementPlan {
            records: &records,
            expected: &records,
            choice: Choice::Columns(64),
            effort: Effort::alone(1, 3),
        };
        let mut prepared = PreparedDatabase::setup(&*scheme, &plan, &NoProgress).unwrap();

        // A second device stands in for the CPU, because it counts its products.
        let cpu = PlainDevice::default();
        let device = PlainDevice::default();
        let placed = prepared.server.on_device(&device).unwrap().unwrap();
        prepared.server = prepared.server.on_device(&cpu).unwrap().unwrap().server;

        let mut groups = Groups {
            prepared: &prepared,
            placed: &*placed.server,
            plan: &plan,
            device_rate: 1e9,
            correct: true,
        };
        groups.measure(2).unwrap();

        assert!(groups.correct);
        assert!(device.products() >= 4, "a warm-up and three runs");
        assert_eq!(cpu.products(), device.products());
    }
}
