//! Measurement of one scheme on one database.

use papir_core::cost::Operation;
use papir_core::erased::ErasedScheme;
use papir_core::{Description, Progress, Sizes, envelope};
use papir_kernels::Backend;
use papir_kernels::peak::Peak;

use crate::Result;
use crate::clock::median;
use crate::effort::MeasurementPlan;
use crate::group::GroupTimes;
use crate::memory;
use crate::prepared::{PreparedDatabase, QueryTally};
use crate::report::{GroupReport, Report};

/// Product of a setup stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetupProduct {
    /// Encoded database.
    Encode,
    /// Hint that clients download.
    Hint,
    /// Data that only the server uses.
    Material,
}

impl SetupProduct {
    /// Returns the product to which a stage contributes, or `None` for other stages. `hint` is true
    /// if clients download a hint.
    fn of(stage: &str, hint: bool) -> Option<Self> {
        match stage {
            "encode" | "encrypt" | "copy records" | "prepare buckets" => Some(Self::Encode),
            // A hint that clients do not download is data of the server.
            "hint" if hint => Some(Self::Hint),
            "hint" | "residues" | "masks" | "digits" | "pack" => Some(Self::Material),
            "factorials" | "transform" | "convolve" | "lift" => Some(Self::Material),
            _ => None,
        }
    }
}

/// Prepares the database, queries it `runs` times after a warm-up, and summarizes the results.
///
/// # Errors
/// The errors of the scheme, [`Error::Backend`](crate::Error), [`Error::Threads`](crate::Error),
/// and [`Error::Usage`](crate::Error) for threads, runs or memory out of range.
pub fn measure(
    scheme: &dyn ErasedScheme,
    plan: &MeasurementPlan<'_>,
    progress: &dyn Progress,
) -> Result<Report> {
    let backend = Backend::try_from_env()?;
    plan.effort.pool()?.install(|| {
        let prepared = PreparedDatabase::setup(scheme, plan, progress)?;

        progress.stage("queries", plan.effort.runs as u64 + 1);
        let tally = prepared.queries(plan, progress)?;

        let mut group = GroupTimes::default();
        if plan.effort.clients > 1 {
            progress.stage("groups", plan.effort.runs as u64 + 1);
            group = prepared.group(plan, progress)?;
        }

        Ok(prepared.report(plan, backend, &tally, &group))
    })
}

/// Returns the median of times in seconds, in milliseconds.
fn milliseconds(seconds: &[f64]) -> f64 {
    1e3 * median(seconds.to_vec())
}

impl PreparedDatabase {
    /// Returns the seconds of setup for a product.
    fn seconds_for(&self, product: SetupProduct) -> f64 {
        let hint = self.server.describe().sizes.hint > 0;
        let stages = self
            .stages
            .iter()
            .filter(|(name, _)| SetupProduct::of(name, hint) == Some(product));
        stages.fold(0.0, |sum, stage| sum + stage.1)
    }

    fn report(
        &self,
        plan: &MeasurementPlan<'_>,
        backend: Backend,
        tally: &QueryTally,
        group: &GroupTimes,
    ) -> Report {
        let Description {
            scheme,
            sizes,
            security,
            failure_log2,
            shape,
            limits,
            ..
        } = self.server.describe();
        let read = tally.reads.seconds();
        let answer = median(tally.answer.clone());

        // A key that was sent ahead is not in the query.
        let query_keys = if tally.ahead_bytes.is_some() {
            0
        } else {
            sizes.query_keys
        };
        let query_bytes = tally.upload as u64 - query_keys;

        Report {
            scheme,
            records: shape.records(),
            record_bytes: shape.record_bytes() as u64,
            threads: plan.effort.threads,
            backend: backend.name(),
            read_gbps: sizes.database as f64 / (1u64 << 30) as f64 / read,
            read_ms: 1e3 * read,
            answer_ms: 1e3 * answer,
            reads: answer / read,
            stages: tally.stages(),
            encode_s: self.seconds_for(SetupProduct::Encode),
            hint_s: self.seconds_for(SetupProduct::Hint),
            material_s: self.seconds_for(SetupProduct::Material),
            offline_s: self.offline,
            keys_bytes: sizes.keys + query_keys,
            query_bytes,
            query_payload_bytes: query_bytes.saturating_sub(envelope::OVERHEAD as u64),
            upload_bytes: tally.upload as u64,
            batch: limits.batch,
            download_bytes: tally.download as u64,
            hint_bytes: sizes.hint,
            material_bytes: sizes.material,
            rss_bytes: tally.resident,
            ticket_s: tally.ticket,
            ticket_bytes: tally.ticket_bytes,
            ahead_bytes: tally.ahead_bytes,
            ahead_ms: tally.ahead.map(|seconds| 1e3 * seconds),
            client_cold_s: tally.client_cold,
            client_ready_ms: tally.client_cold.map(|_| milliseconds(&tally.query)),
            query_ms: milliseconds(&tally.query),
            extract_ms: milliseconds(&tally.extract),
            security_bits: security.map(|security| security.bits),
            failure_log2: Some(failure_log2).filter(|failure| failure.is_finite()),
            correct: tally.wrong + group.wrong == 0,
            group: self.group_report(plan, backend, tally, group),
        }
    }

    /// Returns the core seconds of the products of one answer at the peak rate, or `None` if the
    /// scheme counts none.
    fn arithmetic_floor(&self, backend: Backend) -> Option<f64> {
        let answer = &self.server.describe().work.answer;
        let selected = answer.times(Operation::Select16) + answer.times(Operation::Select8);
        // Two words in each byte, and three planes instead of four.
        let halves = 2.0 * 3.0 / 4.0 * answer.times(Operation::Select4);
        let peak = Peak::measure(backend);
        let seconds =
            (selected + halves) / peak.select + answer.times(Operation::Matrix) / peak.matrix;
        (seconds > 0.0).then_some(seconds)
    }

    /// Returns the costs of a group, or of one client alone if there was no group.
    fn group_report(
        &self,
        plan: &MeasurementPlan<'_>,
        backend: Backend,
        tally: &QueryTally,
        group: &GroupTimes,
    ) -> GroupReport {
        let Sizes {
            database, material, ..
        } = self.server.describe().sizes;
        let clients = plan.effort.clients;
        let alone = median(tally.answer.clone());

        // A client alone has the server's threads to itself, and counts as if they all worked all
        // the time.
        let (wall, core) = match clients {
            1 => (alone, alone * plan.effort.threads as f64),
            _ => (group.seconds(), group.core_seconds()),
        };

        GroupReport {
            clients,
            group_ms: 1e3 * wall,
            core_ms_per_lookup: 1e3 * core / clients as f64,
            alone_ms: 1e3 * alone,
            effective_gbps: database as f64 / (1u64 << 30) as f64 * clients as f64 / wall,
            floor_ms: 1e3 * tally.reads.seconds() * (database + material) as f64 / database as f64,
            arithmetic_floor_ms: self.arithmetic_floor(backend).map(|seconds| 1e3 * seconds),
            once_bytes: self.server.public().len() as u64,
            pages: memory::pages(),
        }
    }
}
