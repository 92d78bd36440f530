//! Databases of many slices on several machines, besides the small ones of the conformance suite.

use chacha20::ChaCha20Rng;
use papir_core::erased::{ErasedScheme, ErasedSession, ErasedShard, parameters_of};
use papir_core::scratch::{Piece, PreparationRng, Scratch};
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{
    AlignedBytes, Blob, Choice, NoProgress, Progress, RecordBuffer, Records, Result, Shape,
};
use papir_schemes::registry;
use rand_core::{CryptoRng, Rng, SeedableRng};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// Random records, prepared with a choice, as sections; and the server that wrote them.
struct Case {
    scheme: &'static dyn ErasedScheme,
    records: RecordBuffer,
    server: Box<dyn papir_core::erased::ErasedServer>,
    sections: MemorySections,
}

fn prepare(scheme: &str, (records, bits): (u64, u64), choice: Choice) -> Case {
    let scheme = registry::by_name(scheme).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(records ^ bits);
    let mut buffer = RecordBuffer::zeroed(Shape::new(records, bits).unwrap());
    rng.fill_bytes(buffer.packed_mut());
    let candidate = scheme.candidate(buffer.shape(), choice).unwrap();
    let server = scheme
        .setup_candidate(&candidate.parameters, &buffer, &mut rng, &NoProgress)
        .unwrap();
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    Case {
        scheme,
        records: buffer,
        server,
        sections,
    }
}

/// Asks for some records through `count` shards, and compares answers and records.
fn check(case: &Case, count: usize) {
    let scheme = case.scheme.require_divided().unwrap();
    let division = scheme
        .describe(&parameters_of(&case.sections).unwrap())
        .unwrap()
        .division;
    let shards: Vec<ErasedShard> = division
        .split(count)
        .unwrap()
        .into_iter()
        .map(|range| scheme.load_shard(range, &case.sections).unwrap())
        .collect();
    let combiner = scheme.load_combiner(&case.sections).unwrap();
    let client = case.scheme.client(&combiner.public()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(count as u64);
    let indices: Vec<u64> = (0..3)
        .map(|_| rng.next_u64() % case.records.shape().records())
        .collect();
    let sent: Vec<_> = indices
        .iter()
        .map(|index| client.query(None, &[*index], &mut rng).unwrap())
        .collect();
    let queries: Vec<&[u8]> = sent.iter().map(|(_, query)| query.as_slice()).collect();
    let partials: Vec<Vec<Vec<u8>>> = shards
        .iter()
        .map(|shard| {
            shard
                .partial_many(&queries, &NoProgress)
                .into_iter()
                .map(Result::unwrap)
                .collect()
        })
        .collect();
    let of_queries: Vec<Vec<&[u8]>> = (0..queries.len())
        .map(|i| partials.iter().map(|of| of[i].as_slice()).collect())
        .collect();
    let batch: Vec<(&[u8], &[&[u8]])> = queries
        .iter()
        .zip(&of_queries)
        .map(|(query, partials)| (*query, partials.as_slice()))
        .collect();
    let combined = combiner.combine_many(&batch, &NoProgress);
    for ((index, (secret, query)), combined) in indices.iter().zip(sent).zip(combined) {
        let combined = combined.unwrap();
        assert!(
            combined
                == case
                    .server
                    .answer(ErasedSession::default(), &query)
                    .unwrap(),
            "{count} shards"
        );
        assert_eq!(
            client.extract(secret, &combined).unwrap(),
            [case.records.get(*index).unwrap()]
        );
    }
}

fn inspire_divides(counts: &[usize]) {
    // Records shorter than a ring element, and of 3 chunks.
    for shape in [(1 << 13, 8 * 256), (200, 8 * 9000)] {
        let case = prepare("inspire", shape, Choice::Columns(64));
        counts.iter().for_each(|count| check(&case, *count));
    }
}

#[test]
fn inspire_divides_packs_of_one_and_of_several_chunks() {
    inspire_divides(&[1, 7]);
}

#[test]
#[ignore = "long"]
fn inspire_divides_packs_into_more_counts() {
    inspire_divides(&[2, 3, 4]);
}

/// Tests each count of shards, or the number of slices if that is smaller.
fn inspire2_divides(counts: &[usize]) {
    for (shape, words) in [
        ((1 << 15, 8 * 64), 32),
        ((9000, 8 * 256), 128),
        ((1 << 14, 8 * 4), 2),
    ] {
        let case = prepare("inspire2", shape, Choice::Packed { columns: 64, words });
        let slices = case
            .scheme
            .require_divided()
            .unwrap()
            .describe(&parameters_of(&case.sections).unwrap())
            .unwrap()
            .division
            .slices();
        counts
            .iter()
            .for_each(|count| check(&case, slices.min(*count)));
    }
}

#[test]
fn inspire2_divides_units_of_all_lengths() {
    inspire2_divides(&[1, 9]);
}

#[test]
#[ignore = "long"]
fn inspire2_divides_units_into_more_counts() {
    inspire2_divides(&[2, 3, 4]);
}

#[test]
fn simple_divides_rows() {
    // 64 rows a slice, and a shorter last one.
    let case = prepare("simple", (5000, 8 * 100), Choice::Columns(200));
    for count in [1, 2, 7, 40] {
        check(&case, count);
    }
}

/// Counts the bytes that a shard or a combiner reads.
struct Counting<'a> {
    sections: &'a MemorySections,
    read: Cell<usize>,
}

impl SectionSource for Counting<'_> {
    fn get(&self, name: &str) -> Result<Blob> {
        let whole = self.sections.get(name)?;
        self.read.set(self.read.get() + whole.len());
        Ok(whole)
    }

    fn length(&self, name: &str) -> Result<usize> {
        self.sections.length(name)
    }

    fn get_range(&self, name: &str, bytes: Range<usize>) -> Result<Blob> {
        self.read.set(self.read.get() + bytes.len());
        self.sections.get_range(name, bytes)
    }
}

#[test]
fn a_shard_reads_its_part_only() {
    for (scheme, shape, choice) in [
        ("inspire", (1 << 13, 8 * 256), Choice::Columns(64)),
        (
            "inspire2",
            (1 << 15, 8 * 64),
            Choice::Packed {
                columns: 64,
                words: 32,
            },
        ),
        ("simple", (5000, 8 * 100), Choice::Columns(200)),
    ] {
        let Case {
            scheme, sections, ..
        } = prepare(scheme, shape, choice);
        let divided = scheme.require_divided().unwrap();
        let division = divided
            .describe(&parameters_of(&sections).unwrap())
            .unwrap()
            .division;
        let all: usize = sections
            .names()
            .map(|name| sections.length(name).unwrap())
            .sum();
        let shards = 4;
        let mut sum = 0;
        for range in division.split(shards).unwrap() {
            let counting = Counting {
                sections: &sections,
                read: Cell::new(0),
            };
            divided.load_shard(range, &counting).unwrap();
            assert!(
                counting.read.get() < all / 2,
                "{}: {} of {all}",
                scheme.name(),
                counting.read.get()
            );
            sum += counting.read.get();
        }
        // Only the seed, the parameters and the list of exceptions are read by all.
        assert!(sum < all + all / 50, "{}: {sum} of {all}", scheme.name());
        let counting = Counting {
            sections: &sections,
            read: Cell::new(0),
        };
        divided.load_combiner(&counting).unwrap();
        let kept = divided
            .describe(&parameters_of(&sections).unwrap())
            .unwrap()
            .work
            .combiner_bytes as usize;
        // That of `inspire` keeps the masks of packs, and drops the two last digits of each.
        let read = counting.read.get() / if scheme.name() == "inspire" { 3 } else { 1 };
        assert!(
            kept.abs_diff(read) < read / 10,
            "{}: {read} bytes read, {kept} kept",
            scheme.name()
        );
    }
}

/// Storage whose tasks prepare all parts, each on its own.
struct Tasks<'a> {
    scheme: &'a dyn ErasedScheme,
    records: &'a RecordBuffer,
    /// Number of tasks that encode, and of those that prepare slices.
    counts: (usize, usize),
    parts: BTreeMap<String, Vec<u8>>,
}

impl Scratch for Tasks<'_> {
    fn find(&self, name: &str) -> Result<Option<Blob>> {
        Ok(self.parts.get(name).map(|part| Blob::copy_of(part)))
    }

    fn keep(&mut self, name: &str, _part: AlignedBytes) -> Result<Blob> {
        panic!("{name}: expected every part to be found");
    }

    fn divide(
        &mut self,
        _scheme: &'static str,
        parameters: &[u8],
        rng: &mut dyn CryptoRng,
        _progress: &dyn Progress,
    ) -> Result<Option<PreparationRng>> {
        let (encoders, preparers) = self.counts;
        let seed = rng.next_u64();
        let fresh = || ChaCha20Rng::seed_from_u64(seed);
        let scheme = self.scheme.require_divided()?;
        let tasks = scheme.tasks()?;
        let ranges = tasks.column_ranges(parameters, encoders)?;
        let encode = |columns| {
            let records = self.records;
            let rng = &mut fresh();
            tasks
                .encode(parameters, columns, records, rng, &NoProgress)
                .map(Blob::from)
        };
        let encoded = ranges.into_iter().map(encode).collect::<Result<Vec<_>>>()?;
        for slices in scheme.describe(parameters)?.division.split(preparers)? {
            let rng = &mut fresh();
            for Piece { part, bytes } in
                tasks.prepare(parameters, slices, &encoded, rng, &NoProgress)?
            {
                self.parts
                    .entry(part)
                    .or_default()
                    .extend_from_slice(&bytes);
            }
        }
        Ok(Some(Box::new(fresh())))
    }
}

#[test]
fn tasks_prepare_the_same_database() {
    let scheme = registry::by_name("inspire").unwrap();
    // Short records, and records of several chunks.
    for (shape, columns) in [((1 << 13, 8 * 256), 131), ((150, 8 * 9000), 32)] {
        let mut rng = ChaCha20Rng::seed_from_u64(shape.0);
        let mut records = RecordBuffer::zeroed(Shape::new(shape.0, shape.1).unwrap());
        rng.fill_bytes(records.packed_mut());
        let parameters = scheme
            .candidate(records.shape(), Choice::Columns(columns))
            .unwrap()
            .parameters;
        let mut alone = MemorySections::default();
        let mut first = ChaCha20Rng::seed_from_u64(ChaCha20Rng::seed_from_u64(5).next_u64());
        scheme
            .setup_candidate(&parameters, &records, &mut first, &NoProgress)
            .unwrap()
            .save(&mut alone)
            .unwrap();
        for counts in [(1, 1), (9, 4)] {
            let mut tasks = Tasks {
                scheme,
                records: &records,
                counts,
                parts: BTreeMap::new(),
            };
            let mut rng = ChaCha20Rng::seed_from_u64(5);
            let mut sections = MemorySections::default();
            scheme
                .setup_resumable(&parameters, &records, &mut tasks, &mut rng, &NoProgress)
                .unwrap()
                .save(&mut sections)
                .unwrap();
            assert!(alone.names().eq(sections.names()));
            for name in alone.names() {
                let same = alone.get(name).unwrap()[..] == sections.get(name).unwrap()[..];
                assert!(same, "{name}, {counts:?}");
            }
        }
    }
}

/// Parts that a setup has kept.
#[derive(Default)]
struct Kept(BTreeMap<String, Vec<u8>>);

impl Scratch for Kept {
    fn find(&self, name: &str) -> Result<Option<Blob>> {
        Ok(self.0.get(name).map(|part| Blob::copy_of(part)))
    }

    fn keep(&mut self, name: &str, part: AlignedBytes) -> Result<Blob> {
        self.0.insert(name.to_owned(), part.as_ref().to_vec());
        Ok(part.into())
    }
}

/// Records for a setup of `inspire`, and its parameters.
fn small() -> (RecordBuffer, Vec<u8>) {
    let mut records = RecordBuffer::zeroed(Shape::new(1 << 13, 8 * 256).unwrap());
    ChaCha20Rng::seed_from_u64(1).fill_bytes(records.packed_mut());
    let scheme = registry::by_name("inspire").unwrap();
    let candidate = scheme.candidate(records.shape(), Choice::Columns(64));
    (records, candidate.unwrap().parameters)
}

/// Places of exceptions that no matrix has, as bytes: in no row, in no column, and one twice.
fn wrong_exceptions() -> [Vec<u8>; 3] {
    let places: [&[u32]; 3] = [&[u32::MAX, 0], &[0, u32::MAX], &[0, 0, 0, 0]];
    places.map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

#[test]
fn kept_exceptions_outside_the_matrix_are_made_again() {
    let scheme = registry::by_name("inspire").unwrap();
    let (records, parameters) = small();
    let setup = |kept: &mut Kept| {
        let rng = &mut ChaCha20Rng::seed_from_u64(2);
        let prepared = scheme.setup_resumable(&parameters, &records, kept, rng, &NoProgress);
        prepared.map(drop)
    };

    let mut kept = Kept::default();
    setup(&mut kept).unwrap();
    let made = kept.0.clone();
    setup(&mut kept).unwrap();
    let mut names = made.keys().filter(|name| name.ends_with("exceptions-0"));
    let name = names.next().unwrap();

    for wrong in wrong_exceptions() {
        kept.0.insert(name.clone(), wrong);
        setup(&mut kept).unwrap();
        assert!(kept.0 == made);
    }
}

#[test]
fn exceptions_of_tasks_outside_their_columns_are_refused() {
    let (records, parameters) = small();
    let scheme = registry::by_name("inspire").unwrap().divided().unwrap();
    let tasks = scheme.tasks().unwrap();
    let rng = || ChaCha20Rng::seed_from_u64(2);

    let columns = tasks.column_ranges(&parameters, 1).unwrap().remove(0);
    let encoded = tasks
        .encode(&parameters, columns, &records, &mut rng(), &NoProgress)
        .unwrap();
    // The encoding without its own exceptions, of which there may be some.
    let places = encoded.as_ref().len() % 65536;
    let words = &encoded.as_ref()[..encoded.as_ref().len() - places];

    for wrong in wrong_exceptions() {
        let bytes = [Blob::copy_of(&[words, &wrong].concat())];
        let prepared = tasks.prepare(&parameters, 0..1, &bytes, &mut rng(), &NoProgress);
        assert_eq!(prepared.err().map(|error| error.code()), Some("malformed"));
    }
}

#[test]
fn tasks_are_refused_where_all_is_prepared_together() {
    let simple = registry::by_name("simple")
        .unwrap()
        .require_divided()
        .unwrap();
    let error = simple.tasks().err().unwrap().to_string();
    assert!(
        error.contains("all of a database is prepared together: expected inspire"),
        "{error}"
    );
    let inspire = registry::by_name("inspire").unwrap();
    let shape = Shape::new(1 << 15, 2048).unwrap();
    let parameters = inspire
        .candidate(shape, Choice::Columns(64))
        .unwrap()
        .parameters;
    let short = [Blob::copy_of(&[0; 64])];
    let divided = inspire.require_divided().unwrap();
    let prepared = divided.tasks().unwrap().prepare(
        &parameters,
        0..1,
        &short,
        &mut ChaCha20Rng::seed_from_u64(1),
        &NoProgress,
    );
    assert_eq!(
        prepared.err().map(|error| error.code()),
        Some("wrong_length")
    );
}
