//! A snapshot, ready to answer.

use std::any::Any;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use papir_core::device::Device;
use papir_core::erased::{Combined, ErasedServer};
use papir_core::{Description, Version};
use papir_lookup::{BlockList, Bundle, KeywordLayout};
use papir_store::{Metadata, OpenOptions, Snapshot, StoredPrefilter, Verifier, parse_timestamp};

use super::checkpoint::{Checkpoint, refused};
use super::identity::Identity;
use super::message_sizes::{BATCH_BYTES, MAX_BATCH, MessageSizes};

/// The same limits for a batch of requests that a device answers: it takes little longer for many.
const DEVICE_BATCH: usize = 128;
const DEVICE_BATCH_BYTES: u64 = 128 << 20;

/// A snapshot, shared by all versions that differ in their deltas only.
pub(super) struct Base {
    pub(super) name: String,
    pub(super) server: Box<dyn ErasedServer>,
    pub(super) keyword: Option<KeywordLayout>,
    commitment_top: Option<[u8; 32]>,
    /// The filter of the keys, which clients may fetch.
    pub(super) prefilter: Option<StoredPrefilter>,
    pub(super) version: Version,
    pub(super) description: Description,
    pub(super) sizes: MessageSizes,
    pub(super) max_batch: usize,
    pub(super) query_bytes: usize,
    public_part: OnceLock<Bytes>,
    /// The blocks of the public part.
    block_list: OnceLock<BlockList>,
    pub(super) public_part_bytes: u64,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) published: Option<SystemTime>,
    pub(super) snapshot: u64,
    /// The file at the time it was opened.
    pub(super) identity: Option<Identity>,
    /// Verifies the chunks that the opening did not; `None` once it is taken.
    verifier: Mutex<Option<Verifier>>,
    /// Bytes that are not verified yet.
    pub(super) unverified: AtomicU64,
    /// The device that holds the matrices, and their bytes there.
    pub(super) placed: Option<(Arc<dyn Device>, u64)>,
}

impl Base {
    /// Opens a snapshot file that was just seen with this identity.
    pub(super) fn open(
        name: &str,
        path: &Path,
        options: OpenOptions,
        identity: Option<Identity>,
    ) -> papir_store::Result<Self> {
        let snapshot = Snapshot::open_with(path, options)?;
        let base = Self::of_snapshot(name, snapshot).map_err(|error| refused(path, error))?;
        Ok(Self { identity, ..base })
    }

    /// Serves a loaded snapshot.
    pub(super) fn of_snapshot(
        name: &str,
        mut snapshot: Snapshot,
    ) -> papir_checkpoint::Result<Self> {
        let verifier = snapshot.take_verifier();
        let unverified = verifier.as_ref().map_or(0, Verifier::bytes).into();

        let Snapshot {
            metadata,
            server,
            keyword,
            commitment_top,
            prefilter,
            checkpoint,
            file_bytes,
            ..
        } = snapshot;
        let checkpoint = match checkpoint {
            Some(log) => Some(Checkpoint::of(&log, name)?),
            None => None,
        };
        let published = published(&metadata, checkpoint.as_ref());

        let base = Self::new(name, server, keyword, commitment_top).with_prefilter(prefilter);
        Ok(Self {
            snapshot: file_bytes,
            checkpoint,
            published,
            verifier: Mutex::new(verifier),
            unverified,
            ..base
        })
    }

    /// Takes the verifier of the chunks that the opening did not verify; `None` if it is taken.
    pub(super) fn take_verifier(&self) -> Option<Verifier> {
        self.verifier
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The public part that clients download. Encoded on first use, which is slow for a large hint.
    pub(super) fn public_part(&self) -> Bytes {
        self.public_part
            .get_or_init(|| self.encode_public_part())
            .clone()
    }

    /// The blocks of the public part. Hashed on first use, which is slow for a large hint.
    pub(super) fn block_list(&self) -> &BlockList {
        self.block_list
            .get_or_init(|| BlockList::of(&self.public_part()))
    }

    fn encode_public_part(&self) -> Bytes {
        let bundle = Bundle {
            scheme_public: self.server.public(),
            keyword: self.keyword.clone(),
            commitment_top: self.commitment_top,
            prefilter: self.prefilter.as_ref().map(|filter| filter.summary),
        };
        bundle.encode().into()
    }

    /// Serves a prepared database.
    pub(super) fn new(
        name: &str,
        server: Box<dyn ErasedServer>,
        keyword: Option<KeywordLayout>,
        commitment_top: Option<[u8; 32]>,
    ) -> Self {
        let description = server.describe();
        let version = server.version();
        let sizes = MessageSizes::of(&description, keyword.as_ref(), commitment_top.is_some());

        Self {
            name: name.to_owned(),
            max_batch: sizes.max_batch(None),
            query_bytes: description.sizes.query as usize,
            public_part_bytes: sizes.public_part,
            sizes,
            server,
            keyword,
            commitment_top,
            prefilter: None,
            version,
            description,
            public_part: OnceLock::new(),
            block_list: OnceLock::new(),
            checkpoint: None,
            published: None,
            snapshot: 0,
            identity: None,
            verifier: Mutex::default(),
            unverified: AtomicU64::new(0),
            placed: None,
        }
    }

    /// Serves this filter of the keys, too.
    fn with_prefilter(self, prefilter: Option<StoredPrefilter>) -> Self {
        let Some(filter) = prefilter else {
            return self;
        };

        let sizes = self.sizes.with_prefilter(filter.summary.bytes);
        Self {
            public_part_bytes: sizes.public_part,
            sizes,
            prefilter: Some(filter),
            ..self
        }
    }

    /// Maximum number of queries in a batch of requests, and of bytes of its queries or its
    /// answers.
    pub(super) fn batch_limits(&self) -> (usize, u64) {
        match self.device_bytes() {
            0 => (MAX_BATCH, BATCH_BYTES),
            _ => (DEVICE_BATCH, DEVICE_BATCH_BYTES),
        }
    }

    /// Batches that are answered at the same time. Other machines with the slices of the database
    /// work on one while the answers of the one before are combined here.
    pub(super) fn batches_at_once(&self) -> usize {
        let server: &dyn Any = &*self.server;
        if server.is::<Combined>() { 2 } else { 1 }
    }

    /// Bytes in the memory of a device; 0 if the CPU answers alone.
    pub(super) fn device_bytes(&self) -> u64 {
        match &self.placed {
            Some((device, bytes)) if !device.is_lost() => *bytes,
            _ => 0,
        }
    }

    /// Length in bytes of the queries for a number of lookups.
    pub(super) fn bytes_of(&self, lookups: usize) -> usize {
        self.queries_of(lookups) * self.query_bytes
    }

    /// Number of queries for a number of lookups.
    pub(super) fn queries_of(&self, lookups: usize) -> usize {
        lookups
            .saturating_mul(self.records_per_lookup())
            .div_ceil(self.capacity())
    }

    /// Number of records that a lookup fetches.
    pub(super) fn records_per_lookup(&self) -> usize {
        self.keyword
            .as_ref()
            .map_or(1, KeywordLayout::lookups)
            .max(1)
    }

    /// Number of records per query.
    pub(super) fn capacity(&self) -> usize {
        self.description.limits.batch.max(1)
    }
}

/// Time at which a version was signed or, without a signature, built or last updated.
fn published(metadata: &Metadata, checkpoint: Option<&Checkpoint>) -> Option<SystemTime> {
    match checkpoint {
        Some(signed) => UNIX_EPOCH.checked_add(Duration::from_secs(signed.time)),
        None => parse_timestamp(metadata.updated.as_ref().unwrap_or(&metadata.created)),
    }
}
