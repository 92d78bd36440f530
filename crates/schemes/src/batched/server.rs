//! The server: a prepared database for each group of buckets.

use papir_core::cost::Counts;
use papir_core::device::Device;
use papir_core::scheme::{
    DeviceServer, OnDevice, Parameters, Server, Session, UpdateEstimate, check_changes,
};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    Blob, Change, Error, NoProgress, Progress, Record, RecordBuffer, Records, Result, Shape,
    check_read, parallel, read_record,
};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::bucket::Bucket;
use super::code::{Code, CopyPlace};
use super::params::{Batched, BatchedParams};
use super::wire::{BatchedAnswer, BatchedPublic, BatchedQuery};
use crate::shared::messages::load_seed;
use crate::shared::stored_records::{check_source, read_each};

const HEADER: &str = "batched/header";
/// Inverse of a share of all records. A read of at least this share reads whole buckets.
const MANY: u64 = 16;

/// A prepared database for each group of buckets.
pub struct BatchedServer<S: Bucket> {
    params: BatchedParams<S>,
    public: BatchedPublic<S>,
    code: Code,
    groups: Vec<S::Server>,
}

/// Groups of buckets on a device, for a scheme part of whose answers a device computes.
pub(super) struct GroupsOnDevice;

impl<S: Bucket> OnDevice<Batched<S>> for GroupsOnDevice {
    fn place(
        &self,
        server: &BatchedServer<S>,
        device: &dyn Device,
    ) -> Result<DeviceServer<Batched<S>>> {
        let scheme = S::DEVICE.ok_or(Error::NoSuchParameter {
            scheme: S::BATCHED_NAME,
            what: "work for a device",
        })?;

        let mut groups = Vec::with_capacity(server.groups.len());
        let mut matrices = Vec::new();
        for group in &server.groups {
            let placed = scheme.place(group, device)?;
            groups.push(placed.server);
            matrices.extend(placed.matrices);
        }

        let server = BatchedServer::of_groups(
            server.params.clone(),
            server.public.seed,
            server.code.clone(),
            groups,
        );
        Ok(DeviceServer { server, matrices })
    }
}

impl<S: Bucket> Server<Batched<S>> for BatchedServer<S> {
    fn setup(
        params: BatchedParams<S>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(S::BATCHED_NAME, params.shape(), records)?;

        // Copies are read in random order, each record several times.
        let mut packed = vec![0; params.shape().total_bytes() as usize];
        records.read_packed(0, params.shape().records(), &mut packed)?;
        let records = RecordBuffer::from_packed(params.shape(), packed)?;

        let seed = Seed::random(rng);
        let inner = &params.inner;
        let code = Code::new(params.shape().records(), params.buckets, &seed);

        progress.stage("prepare buckets", params.groups() as u64);
        let mut groups: Vec<S::Server> = Vec::with_capacity(params.groups());
        for group in 0..params.groups() {
            let copies = Copies {
                records: &records,
                code: &code,
                params: &params,
                group,
            };
            // A batch has one secret, so that the groups reuse the masks of the first one's keys.
            let server = match groups.first() {
                None => S::Server::setup(inner.clone(), &copies, rng, &NoProgress),
                Some(first) => {
                    S::setup_sharing_keys(first, inner.clone(), &copies, rng, &NoProgress)
                }
            };
            groups.push(server?);
            progress.advance(1);
        }

        Ok(Self::of_groups(params, seed, code, groups))
    }

    fn params(&self) -> &BatchedParams<S> {
        &self.params
    }

    fn public(&self) -> &BatchedPublic<S> {
        &self.public
    }

    /// Answers all batches: each group answers its queries of all batches together.
    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Batched<S>>, &BatchedQuery<S>)>,
        progress: &dyn Progress,
    ) -> Result<Vec<BatchedAnswer<S>>> {
        progress.stage("answer", self.groups.len() as u64);
        let answers = parallel::try_map(self.groups.iter().enumerate(), |(group, server)| {
            let queries = batch
                .iter()
                .map(|(_, query)| (Session::anonymous(), &query.groups[group]));
            // Groups run in parallel, so only the whole has progress stages.
            server.answer_many(queries.collect(), &NoProgress)
        })?;

        // From answers of each group to the groups of each answer.
        let mut batches: Vec<BatchedAnswer<S>> = batch
            .iter()
            .map(|_| BatchedAnswer {
                groups: Vec::with_capacity(answers.len()),
            })
            .collect();
        for of_group in answers {
            for (batch, answer) in batches.iter_mut().zip(of_group) {
                batch.groups.push(answer);
            }
        }

        Ok(batches)
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;

        let mut update = Counts::new();
        for (server, changes) in self.groups.iter().zip(self.by_group(changes)) {
            if !changes.is_empty() {
                update = update.and(server.update_cost(&changes)?.update);
            }
        }

        Ok(UpdateEstimate {
            update,
            setup: self.params.describe().work.setup,
        })
    }

    /// Changes every copy of each changed record. Copies keep their places.
    fn update(
        &self,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;

        progress.stage("update buckets", self.groups.len() as u64);
        let mut groups = Vec::with_capacity(self.groups.len());
        for (server, changes) in self.groups.iter().zip(self.by_group(changes)) {
            groups.push(server.update(&changes, rng, &NoProgress)?);
            progress.advance(1);
        }

        Ok(Self::of_groups(
            self.params.clone(),
            self.public.seed,
            self.code.clone(),
            groups,
        ))
    }

    /// Reads the first copy of each record. Reads of many records read the first group's buckets
    /// sequentially.
    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let shape = self.params.shape();
        if count == 0 || count < shape.records() / MANY {
            return read_each(&shape, (first, count), out, |index| self.first_copy(index));
        }
        self.read_buckets(first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(HEADER, &[&self.public.seed.0])?;
        for (group, server) in self.groups.iter().enumerate() {
            server.save(&mut GroupSink { sink, group })?;
        }
        Ok(())
    }

    fn load(params: BatchedParams<S>, source: &dyn SectionSource) -> Result<Self> {
        let seed = load_seed(source, HEADER)?;

        let mut groups: Vec<S::Server> = Vec::with_capacity(params.groups());
        for group in 0..params.groups() {
            let inner = params.inner.clone();
            let source = GroupSource { source, group };
            groups.push(match groups.first() {
                None => S::Server::load(inner, &source)?,
                Some(first) => S::load_sharing_keys(first, inner, &source)?,
            });
        }

        let code = Code::new(params.shape().records(), params.buckets, &seed);
        Ok(Self::of_groups(params, seed, code, groups))
    }
}

impl<S: Bucket> BatchedServer<S> {
    fn of_groups(params: BatchedParams<S>, seed: Seed, code: Code, groups: Vec<S::Server>) -> Self {
        let public = BatchedPublic {
            seed,
            groups: groups.iter().map(|one| one.public().clone()).collect(),
        };

        Self {
            params,
            public,
            code,
            groups,
        }
    }

    /// Returns the index of the record whose copy has this position in a bucket, or `None` if the
    /// place is empty or does not exist. Places are public.
    pub fn record_at(&self, bucket: usize, position: u64) -> Option<u64> {
        if bucket >= self.params.bucket_count() || position >= self.params.bucket_records() {
            return None;
        }
        self.code.record_at(CopyPlace { bucket, position })
    }

    /// Returns the changes of each group's records, in the order of `changes`.
    fn by_group(&self, changes: &[Change]) -> Vec<Vec<Change>> {
        let mut all = vec![Vec::new(); self.groups.len()];
        // In order, so that of two changes of a record the later one stays the last in every group.
        for change in changes {
            for place in self.code.places_vartime(change.index) {
                let (group, index) = self.params.in_group(place);
                all[group].push(Change {
                    index,
                    record: change.record.clone(),
                });
            }
        }
        all
    }

    /// Reads a range of records from the buckets of the first group, one bucket after the other.
    fn read_buckets(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let shape = self.params.shape();
        // Checked before `count` sizes an allocation.
        check_read(&shape, first, count, out.len())?;

        let mut packed = RecordBuffer::zeroed(Shape::new(count, shape.record_bits())?);
        // The first g buckets are the first group of the code. They hold each record exactly once.
        for bucket in 0..self.params.buckets.width {
            let copies = self.bucket(bucket)?;
            for position in 0..copies.shape().records() {
                let Some(index) = self.code.record_at(CopyPlace { bucket, position }) else {
                    continue;
                };
                if (first..first + count).contains(&index) {
                    packed.set(index - first, &copies.get(position)?)?;
                }
            }
        }

        out.copy_from_slice(packed.packed());
        Ok(())
    }

    /// Reads all records of a bucket.
    fn bucket(&self, bucket: usize) -> Result<RecordBuffer> {
        let records = self.params.buckets.records(self.params.shape().records());
        let shape = Shape::new(records, self.params.shape().record_bits())?;
        let mut packed = vec![0; shape.total_bytes() as usize];

        // Buckets start at whole bytes in their group.
        let (group, first) = self.params.in_group(CopyPlace {
            bucket,
            position: 0,
        });
        self.groups[group].read_packed(first, records, &mut packed)?;
        RecordBuffer::from_packed(shape, packed)
    }

    /// Reads the first copy of a record. Returns `None` if a record has no copies.
    fn first_copy(&self, index: u64) -> Result<Option<Record>> {
        match self.code.places_vartime(index).next() {
            Some(place) => Ok(Some(self.record(place)?)),
            None => Ok(None),
        }
    }

    /// Reads the record at a place.
    fn record(&self, place: CopyPlace) -> Result<Record> {
        let (group, index) = self.params.in_group(place);
        let source = GroupRecords::<S> {
            server: &self.groups[group],
            shape: self.params.inner.shape(),
        };
        read_record(&source, index)
    }
}

/// The records of one prepared group.
struct GroupRecords<'a, S: Bucket> {
    server: &'a S::Server,
    shape: Shape,
}

impl<S: Bucket> Records for GroupRecords<'_, S> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.server.read_packed(first, count, out)
    }
}

/// Source of one group's records: the copies of records, and zeros at empty places.
struct Copies<'a, S: Bucket> {
    records: &'a RecordBuffer,
    code: &'a Code,
    params: &'a BatchedParams<S>,
    group: usize,
}

impl<S: Bucket> Copies<'_, S> {
    /// Returns the copy at an index of the group, or `None` for the empty places at the end of some
    /// parts.
    fn copy(&self, index: u64) -> Result<Option<Record>> {
        let parts = self.params.parts();
        let of_part = self.params.part_records();
        // The last of the scheme's groups may have parts beyond the buckets.
        let bucket = self.group * parts + (index / of_part) as usize;
        if bucket >= self.params.bucket_count() {
            return Ok(None);
        }

        let place = CopyPlace {
            bucket,
            position: index % of_part,
        };
        // A position from ⌈N/g⌉ on is the image of no record, so the end of a padded part is empty
        // too.
        match self.code.record_at(place) {
            Some(record) => Ok(Some(self.records.get(record)?)),
            None => Ok(None),
        }
    }
}

impl<S: Bucket> Records for Copies<'_, S> {
    fn shape(&self) -> Shape {
        self.params.inner.shape()
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        read_each(&self.shape(), (first, count), out, |index| self.copy(index))
    }
}

/// Returns the name of a group's section.
fn name(group: usize, name: &str) -> String {
    format!("group/{group}/{name}")
}

/// A sink for the sections of one group, which puts the group's number into their names.
struct GroupSink<'a> {
    sink: &'a mut dyn SectionSink,
    group: usize,
}

impl SectionSink for GroupSink<'_> {
    fn put(&mut self, section: &str, parts: &[&[u8]]) -> Result<()> {
        self.sink.put(&name(self.group, section), parts)
    }
}

/// A source of the sections of one group, which puts the group's number into their names.
struct GroupSource<'a> {
    source: &'a dyn SectionSource,
    group: usize,
}

impl SectionSource for GroupSource<'_> {
    fn get(&self, section: &str) -> Result<Blob> {
        self.source.get(&name(self.group, section))
    }
}
