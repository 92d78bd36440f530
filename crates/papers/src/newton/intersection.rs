//! NewtonPIR's private set intersection (section 5), beside papir's.
//!
//! The paper prints no figures of it. It hides neither set: [`papir_research::newton::psi`] has the
//! attacks. Both parties run in one process and exchange messages as bytes. The paper's masking of
//! the elements is that of papir's intersection, which is measured with [`papir_measure::psi`].

use std::sync::Arc;

use getrandom::SysRng;
use papir_core::Progress;
use papir_kernels::Backend;
use papir_measure::clock::{median, timed};
use papir_measure::effort::Effort;
use papir_measure::psi::{self, PsiConfig, PsiReport};
use papir_measure::report::{titles, write_rows};
use papir_research::newton::key::SecretKey;
use papir_research::newton::modulus::Modulus;
use papir_research::newton::psi::wire::{Request, Response};
use papir_research::newton::psi::{Item, PsiParams, Receiver, Sender};
use papir_research::newton::{Symmetric, Variant};
use rand_core::UnwrapErr;
use serde::Serialize;

use super::setting::ACKNOWLEDGED;
use crate::Result;
use papir_plan::units::bytes as display;

/// Inputs of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewtonPsiConfig {
    /// Number of elements of the receiver. Every other one is in the sender's set.
    pub receiver: u32,
    /// Number of elements of the sender.
    pub sender: u32,
    /// Parts of a bin in the variants with partitioning.
    pub parts: usize,
}

impl NewtonPsiConfig {
    /// The full benchmark.
    pub const FULL: Self = Self {
        receiver: 64,
        sender: 4096,
        parts: 8,
    };
    /// A benchmark of about a second.
    pub const TINY: Self = Self {
        receiver: 4,
        sender: 16,
        parts: 2,
    };

    /// The receiver's set: elements of the sender, and as many others.
    fn receiver_items(self) -> Vec<Item> {
        let items = (0..self.receiver).map(|i| {
            if i.is_multiple_of(2) {
                i / 2
            } else {
                self.sender + i
            }
        });
        items.map(Item::from).collect()
    }

    /// The sender's set.
    fn sender_items(self) -> Vec<Item> {
        (0..self.sender).map(Item::from).collect()
    }

    /// The intersection in ascending order.
    fn expected(self) -> Vec<Item> {
        (0..self.receiver.div_ceil(2)).map(Item::from).collect()
    }

    /// The paper's variants.
    fn variants(self) -> Result<Vec<PsiVariant>> {
        let plain = PsiParams::new(self.receiver as usize, self.sender as usize)?;
        let parts = plain.clone().partitioned(self.parts)?;

        Ok(vec![
            PsiVariant {
                name: "hashing",
                params: plain.clone(),
            },
            PsiVariant {
                name: "hashing, windowing",
                params: plain.windowed(),
            },
            PsiVariant {
                name: "hashing, partitioning",
                params: parts.clone(),
            },
            PsiVariant {
                name: "hashing, windowing, partitioning",
                params: parts.windowed(),
            },
        ])
    }
}

/// Costs of the intersection, of the paper's and of papir's.
#[derive(Clone, Debug, Serialize)]
pub struct NewtonPsiReport {
    /// "newton-psi".
    pub part: &'static str,
    /// The kernels' backend.
    pub backend: &'static str,
    /// Threads.
    pub threads: usize,
    /// Elements of the receiver.
    pub receiver: u32,
    /// Elements of the sender.
    pub sender: u32,
    /// The paper's variants.
    pub variants: Vec<IntersectionCosts>,
    /// papir's intersection of sets of the same sizes, which hides both.
    pub papir: PsiReport,
    /// True if every intersection was correct.
    pub correct: bool,
}

/// Costs of one variant. Times are medians.
#[derive(Clone, Debug, Serialize)]
pub struct IntersectionCosts {
    /// Its name.
    pub variant: &'static str,
    /// Number of bins.
    pub bins: usize,
    /// Elements of the sender in a bin, padding included.
    pub load: usize,
    /// Parts of a bin.
    pub parts: usize,
    /// Encrypted powers of an element.
    pub powers: usize,
    /// Bytes of the receiver's message.
    pub upload_bytes: u64,
    /// Bytes of the sender's message.
    pub download_bytes: u64,
    /// Time of the sender in milliseconds.
    pub sender_ms: f64,
    /// Time of the receiver in milliseconds: encryption and decryption.
    pub receiver_ms: f64,
    /// True if every intersection was correct.
    pub correct: bool,
}

/// A variant and its parameters.
struct PsiVariant {
    name: &'static str,
    params: PsiParams,
}

/// Runs the benchmark.
///
/// # Errors
/// [`crate::Error::Usage`] for threads or runs out of range, [`crate::Error::Backend`], those of
/// both protocols.
pub fn measure(
    config: NewtonPsiConfig,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<NewtonPsiReport> {
    let backend = Backend::try_from_env()?.name();
    let pool = effort.pool()?;
    let variants = pool.install(|| measure_variants(config, effort.runs, progress))?;

    let same = PsiConfig {
        receiver: config.receiver.into(),
        sender: config.sender.into(),
        label_bytes: None,
        batch: 1,
    };
    let papir = psi::measure(same, effort, progress)?;
    let correct = papir.correct && variants.iter().all(|one| one.correct);

    Ok(NewtonPsiReport {
        part: "newton-psi",
        backend,
        threads: effort.threads,
        receiver: config.receiver,
        sender: config.sender,
        variants,
        papir,
        correct,
    })
}

fn measure_variants(
    config: NewtonPsiConfig,
    runs: usize,
    progress: &dyn Progress,
) -> Result<Vec<IntersectionCosts>> {
    let variants = config.variants()?;
    // One n for all variants, which a receiver is free to choose: a new one takes seconds.
    let key = SecretKey::generate(Symmetric::MODULUS_BITS, &mut UnwrapErr(SysRng))?;
    let mut measured = Vec::with_capacity(variants.len());

    for variant in variants {
        progress.stage(variant.name, runs as u64);
        measured.push(variant.measure(config, key.modulus(), runs, progress)?);
    }
    Ok(measured)
}

impl PsiVariant {
    fn measure(
        &self,
        config: NewtonPsiConfig,
        n: &Arc<Modulus>,
        runs: usize,
        progress: &dyn Progress,
    ) -> Result<IntersectionCosts> {
        let params = &self.params;
        let items = config.receiver_items();
        let receiver = Receiver::new(params.clone(), Arc::clone(n), &items, ACKNOWLEDGED)?;
        let sender = Sender::new(params.clone(), &config.sender_items(), ACKNOWLEDGED)?;

        let mut costs = IntersectionCosts {
            variant: self.name,
            bins: params.bins(),
            load: params.load(),
            parts: params.parts(),
            powers: params.powers(),
            upload_bytes: 0,
            download_bytes: 0,
            sender_ms: 0.0,
            receiver_ms: 0.0,
            correct: true,
        };
        let mut sender_s = Vec::with_capacity(runs);
        let mut receiver_s = Vec::with_capacity(runs);

        for _ in 0..runs {
            let (made, request_s) = timed(|| receiver.request(&mut UnwrapErr(SysRng)));
            let (opening, request) = made?;
            let sent = request.encode();

            // A party's time includes the decoding of the other's message.
            let (response, respond_s) = timed(|| {
                let request = Request::decode(params, &sent)?;
                sender.respond(&request, &mut UnwrapErr(SysRng))
            });
            let received = response?.encode();

            let (found, open_s) = timed(|| {
                let response = Response::decode(params, &received)?;
                receiver.intersection(&opening, &response)
            });

            costs.correct &= found? == config.expected();
            costs.upload_bytes = sent.len() as u64;
            costs.download_bytes = received.len() as u64;
            sender_s.push(respond_s);
            receiver_s.push(request_s + open_s);
            progress.advance(1);
        }

        costs.sender_ms = 1e3 * median(sender_s);
        costs.receiver_ms = 1e3 * median(receiver_s);
        Ok(costs)
    }
}

impl NewtonPsiReport {
    /// Writes the report as a table with a row for each variant, and one for papir's intersection.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        let Self {
            backend,
            threads,
            receiver,
            sender,
            papir,
            ..
        } = self;
        writeln!(
            out,
            "NOT PRIVATE: NewtonPIR's intersection hides neither set. {receiver} elements against {sender}, {threads} threads, {backend}"
        )?;

        let header = titles(&[
            "intersection",
            "bins",
            "bin",
            "parts",
            "powers",
            "sent",
            "received",
            "sender ms",
            "receiver ms",
            "correct",
        ]);
        let rows = self.variants.iter().map(IntersectionCosts::cells);
        write_rows(out, header, rows.chain([papir_cells(papir)]))?;

        writeln!(
            out,
            "The paper prints no figures of its intersection. Times of NewtonPIR are without the masking of section 5."
        )?;
        writeln!(
            out,
            "papir's hides both sets. Once, its sender masks its set in {:.2} s, and its receiver downloads {}.",
            papir.mask_s,
            display(papir.once_bytes)
        )?;
        Ok(())
    }
}

impl IntersectionCosts {
    fn cells(&self) -> Vec<String> {
        vec![
            self.variant.to_owned(),
            self.bins.to_string(),
            self.load.to_string(),
            self.parts.to_string(),
            self.powers.to_string(),
            display(self.upload_bytes),
            display(self.download_bytes),
            format!("{:.1}", self.sender_ms),
            format!("{:.1}", self.receiver_ms),
            correct_cell(self.correct),
        ]
    }
}

/// The row of papir's intersection, which has no bins.
fn papir_cells(report: &PsiReport) -> Vec<String> {
    let mut cells = vec!["-".to_owned(); 5];
    cells[0] = format!("papir bench psi, {}", report.kind);
    cells.extend([
        display(report.upload_bytes),
        display(report.download_bytes),
        format!("{:.1}", report.sender_ms),
        format!("{:.1}", report.receiver_ms),
        correct_cell(report.correct),
    ]);
    cells
}

fn correct_cell(correct: bool) -> String {
    if correct { "yes" } else { "NO" }.to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::NoProgress;

    use super::*;

    /// Powers that are sent make requests longer, and parts make responses longer.
    #[test]
    fn variants_exchange_sets_and_differ_in_messages() {
        let effort = Effort::alone(1, 1);
        let report = measure(NewtonPsiConfig::TINY, effort, &NoProgress).unwrap();
        assert!(report.correct, "{report:?}");

        let [plain, windowed, parts, both] = &report.variants[..] else {
            unreachable!("four variants");
        };
        assert_eq!(
            [plain.parts, windowed.parts, parts.parts, both.parts],
            [1, 1, 2, 2]
        );
        assert!(windowed.upload_bytes > plain.upload_bytes);
        assert_eq!(parts.upload_bytes, plain.upload_bytes);
        assert_eq!(parts.download_bytes, 2 * plain.download_bytes);
        assert!(both.upload_bytes > parts.upload_bytes);

        let mut out = Vec::new();
        report.write_table(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for words in ["prints no figures", "hides neither set", "papir bench psi"] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
    }
}
