//! Costs of a scheme's parameters under a demand.

use papir_core::Candidate;
use papir_core::cost::{Operation, Rates};
use papir_lookup::delta::refusal;
use serde::Serialize;

use crate::demand::Demand;

/// An offer: the predicted costs of a candidate under a demand. With batches, a lookup's costs are
/// the costs of a batch.
#[derive(Clone, Debug, Serialize)]
pub struct Offer {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Label of the parameters.
    pub parameters: String,
    /// Number of lookups in one query.
    pub batch: usize,
    /// Bytes of a query.
    pub upload_bytes: u64,
    /// Bytes of an answer.
    pub download_bytes: u64,
    /// Bytes that a client fetches once per version: the public part with its hint.
    pub public_bytes: u64,
    /// Bytes of the hint.
    pub hint_bytes: u64,
    /// Bytes of the keys that a client sends once, when it registers.
    pub keys_bytes: u64,
    /// Bytes of a bucket of a keyed database; `None` for the default length.
    pub bucket_bytes: Option<u64>,
    /// Seconds of an answer on an otherwise idle machine; under a load, seconds of a group's
    /// answers.
    pub answer_s: f64,
    /// Seconds of an answer on one core while all other cores are busy.
    pub core_s: f64,
    /// Number of queries that are answered together: the smallest that keeps up with the load.
    pub group: usize,
    /// Core seconds of an answer in a group of that size.
    pub group_core_s: f64,
    /// Seconds of the client's work: query and extraction.
    pub client_s: f64,
    /// Seconds on the network: query and answer.
    pub transfer_s: f64,
    /// Seconds to fetch the public part and to send the keys, divided by the number of the client's
    /// requests. A request is a lookup or, with batches, a batch.
    pub public_s: f64,
    /// Seconds of a lookup: the sum of `answer_s`, `client_s`, `transfer_s` and `public_s`.
    pub lookup_s: f64,
    /// Bytes that a server keeps in memory, besides the program itself.
    pub memory_bytes: u64,
    /// Bytes in the memory of a device; 0 if the CPU answers.
    pub device_bytes: u64,
    /// Approximate size of the snapshot file in bytes.
    pub snapshot_bytes: u64,
    /// Seconds to prepare the database.
    pub setup_s: f64,
    /// Estimated security; `None` if the scheme encrypts nothing.
    pub security_bits: Option<f64>,
    /// log₂ of the probability that an answer does not decode.
    pub failure_log2: f64,
    /// Bytes of the database and the packing matrices that an answer reads.
    pub streamed_bytes: f64,
    /// Number of external products of an answer.
    pub external_products: f64,
    /// True if the database can have a delta.
    #[serde(skip)]
    pub takes_delta: bool,
    /// The encoded parameters.
    #[serde(skip)]
    pub encoded: Vec<u8>,
}

impl Offer {
    /// The offer of a candidate under a demand, on a machine with these rates.
    pub(crate) fn of(candidate: Candidate, demand: &Demand, rates: &Rates) -> Self {
        let Candidate {
            label,
            description,
            parameters,
        } = candidate;
        let sizes = demand.sizes(&description);
        let work = &description.work;
        let takes_delta = refusal(&description).is_none();
        let (up, down) = demand.connection;

        let answers = rates.of_answers(sizes.device);
        let (group, group_core_s) =
            demand.group(|clients| work.answer.group_seconds(&answers, clients));
        // An answer of a group is ready when the whole group is.
        let answer_s = match group {
            1 => work.answer.seconds(&answers, demand.threads),
            _ => group as f64 * group_core_s / demand.threads as f64,
        };
        let client_s = work.query.seconds(rates, 1) + work.extract.seconds(rates, 1);
        let transfer_s = 8.0 * (sizes.query as f64 / up + sizes.answer as f64 / down);

        // The one-time messages are spread over the requests of a client.
        let public_bytes = sizes.public + demand.extra_bytes;
        let once_s = 8.0 * (public_bytes as f64 / down + sizes.keys as f64 / up);
        let batch = demand.batch.unwrap_or(1);
        let requests = demand.lookups.div_ceil(batch.max(1) as u64).max(1);
        let public_s = once_s / requests as f64;

        // A sum that wrapped could seem to fit the memory.
        let memory_bytes = sizes
            .database
            .saturating_add(sizes.material)
            .saturating_add(sizes.hint);
        let device_bytes = if rates.answers_on_device(sizes.device) {
            sizes.device
        } else {
            0
        };

        Self {
            scheme: description.scheme,
            parameters: label,
            batch,
            upload_bytes: sizes.query,
            download_bytes: sizes.answer,
            public_bytes,
            hint_bytes: sizes.hint,
            keys_bytes: sizes.keys,
            bucket_bytes: demand.bucket_bytes,
            answer_s,
            core_s: work.answer.core_seconds(&answers),
            group,
            group_core_s,
            client_s,
            transfer_s,
            public_s,
            lookup_s: answer_s + client_s + transfer_s + public_s,
            memory_bytes,
            device_bytes,
            snapshot_bytes: memory_bytes.saturating_add(demand.extra_bytes),
            setup_s: work.setup.seconds(rates, demand.threads),
            security_bits: description.security.map(|security| security.bits),
            failure_log2: description.failure_log2,
            streamed_bytes: work.answer.streamed_bytes(),
            external_products: work.answer.times(Operation::ExternalProduct)
                + work.answer.times(Operation::WideProduct),
            takes_delta,
            encoded: parameters,
        }
    }

    /// Number of cores, at least 1, that a load keeps busy.
    pub fn cores(&self, lookups_per_second: f64) -> u64 {
        let busy = self.group_core_s * self.queries(lookups_per_second);
        busy.ceil().max(1.0) as u64
    }

    /// The server's bandwidth under a load in bits per second: first of received queries, then of
    /// sent answers. It does not include one-time downloads.
    pub fn bandwidth(&self, lookups_per_second: f64) -> (f64, f64) {
        let bits = 8.0 * self.queries(lookups_per_second);
        let received = bits * self.upload_bytes as f64;
        let sent = bits * self.download_bytes as f64;
        (received, sent)
    }

    /// Queries per second of a load whose batches are full.
    fn queries(&self, lookups_per_second: f64) -> f64 {
        lookups_per_second / self.batch as f64
    }

    /// Returns true if another offer is at least as good in transfer, public part, answer, client's
    /// work, memory and setup, and better in one of them.
    pub(crate) fn is_dominated_by(&self, other: &Self) -> bool {
        let pairs = [
            (self.transfer_s, other.transfer_s),
            (self.public_s, other.public_s),
            (self.answer_s, other.answer_s),
            (self.client_s, other.client_s),
            (self.memory_bytes as f64, other.memory_bytes as f64),
            (self.setup_s, other.setup_s),
        ];
        pairs.iter().all(|(mine, theirs)| theirs <= mine)
            && pairs.iter().any(|(mine, theirs)| theirs < mine)
    }

    /// The scheme's name and the label of the parameters, in words.
    pub fn name(&self) -> String {
        format!("{} with {}", self.scheme, self.parameters)
    }
}
