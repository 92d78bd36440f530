//! Lookups end to end, over the scheme without cryptography.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{answers, entry, lookup, rng, serve, table_with};
use papir_core::erased::{
    ErasedClient, ErasedRegisteredClient, ErasedSecret, ErasedState, ErasedVersion,
};
use papir_core::{
    Description, Error as CoreError, Goal, NoProgress, NotPrivate, Record, RecordBuffer, Version,
};
use papir_lookup::delta::DeltaPart;
use papir_lookup::{
    BucketTarget, Bundle, Error, KeywordLayout, KeywordTable, Lookup, OnDuplicate, Wanted,
};
use papir_schemes::registry;
use rand_core::CryptoRng;

fn people(bucket: BucketTarget) -> KeywordTable {
    let entries = (0..500u64).map(|i| {
        entry(
            i,
            format!("person {i}").as_bytes(),
            &vec![i as u8; i as usize],
        )
    });
    table_with(entries.collect(), bucket, OnDuplicate::Refuse).unwrap()
}

#[test]
fn lookups_of_present_and_absent_keys_look_the_same() {
    for bucket in [BucketTarget::default(), BucketTarget::AtMost(100)] {
        let table = people(bucket);
        let (server, lookup) = serve(&table);
        let mut lengths = Vec::new();
        for i in [0u64, 1, 250, 499, 500, 1_000_000] {
            let pending = lookup
                .prepare_key(format!("person {i}").as_bytes(), &mut rng(4))
                .unwrap();
            lengths.push(pending.queries().iter().map(Vec::len).collect::<Vec<_>>());
            let answers = answers(server.as_ref(), &pending);
            let expected = (i < 500).then(|| vec![i as u8; i as usize]);
            assert_eq!(pending.finish(&answers).unwrap(), expected, "person {i}");
        }
        assert!(
            lengths.windows(2).all(|pair| pair[0] == pair[1]),
            "{lengths:?}"
        );
    }
}

#[test]
fn records_are_found_by_index() {
    let records = RecordBuffer::from_records([[1u8, 2], [3, 4], [5, 6]]).unwrap();
    let plain = registry::by_name("plain")
        .unwrap()
        .allow_insecure(NotPrivate::acknowledged());
    let server = plain
        .setup(&records, Goal::default(), &mut rng(5), &NoProgress)
        .unwrap();
    let lookup = lookup(server.as_ref(), None).unwrap();
    let pending = lookup.prepare_index(2, &mut rng(6)).unwrap();
    let found = answers(server.as_ref(), &pending);
    assert_eq!(pending.finish(&found).unwrap(), Some(vec![5, 6]));
    // The query for an index beyond the end is the query for record 0.
    let beyond = lookup.prepare_index(3, &mut rng(6)).unwrap();
    assert_eq!(
        beyond.queries(),
        lookup.prepare_index(0, &mut rng(6)).unwrap().queries()
    );
    let found = answers(server.as_ref(), &beyond);
    assert_eq!(
        beyond.finish(&found).unwrap_err().code(),
        "index_out_of_range"
    );
    assert!(matches!(
        lookup.prepare_key(b"x", &mut rng(6)).err(),
        Some(Error::NotKeyed)
    ));
}

#[test]
fn indices_into_keyed_databases_and_foreign_layouts_are_refused() {
    let table = people(BucketTarget::default());
    let (server, keyed) = serve(&table);
    assert!(matches!(
        keyed.prepare_index(0, &mut rng(7)).err(),
        Some(Error::Keyed)
    ));
    let other = people(BucketTarget::AtMost(100)).layout;
    assert_eq!(
        lookup(server.as_ref(), Some(other)).err().unwrap().code(),
        "malformed"
    );
}

/// Returns a table with one key, and a layout whose lookups fetch 65,536 records of a byte each.
fn endless_layout() -> (KeywordTable, KeywordLayout) {
    let table = table_with(
        vec![entry(1, b"key", &[7; 100])],
        BucketTarget::AtMost(64),
        OnDuplicate::Refuse,
    );
    let table = table.unwrap();
    let longest = 1u32 << 16;
    let mut bytes = table.layout.encode();
    // Records of a lookup, the longest value, bytes of the length field, most payload bytes.
    let fields = [
        &longest.to_le_bytes()[..],
        &longest.to_le_bytes(),
        &[3],
        &1u32.to_le_bytes(),
    ]
    .concat();
    bytes[82..82 + fields.len()].copy_from_slice(&fields);
    let layout = KeywordLayout::decode(&bytes).unwrap();
    assert_eq!(layout.lookups(), 1 << 16);
    (table, layout)
}

#[test]
fn layouts_whose_lookups_are_longer_than_any_message_are_refused() {
    let (table, endless) = endless_layout();
    let inspire = registry::by_name("inspire").unwrap();
    let server = inspire
        .setup(&table.records, Goal::default(), &mut rng(2), &NoProgress)
        .unwrap();
    let client = || inspire.client(&server.public()).unwrap();
    let base = Lookup::new(client(), Some(table.layout)).unwrap();
    let sizes = base.describe().sizes;
    assert!(
        sizes.query << 16 > papir_core::MAX_MESSAGE_BYTES,
        "{sizes:?}"
    );
    let bundle = Bundle {
        scheme_public: server.public(),
        keyword: Some(endless.clone()),
        commitment_top: None,
        prefilter: None,
    };
    let delta = DeltaPart {
        base: base.version(),
        records: None,
        content: None,
        bundle,
        prefilter: None,
    };
    for refused in [
        Lookup::new(client(), Some(endless)),
        base.with_delta(client(), &delta),
    ] {
        let error = refused.err().unwrap().to_string();
        let text = format!(
            "one lookup's queries is {}: expected 0 to {}",
            sizes.query << 16,
            1 << 30
        );
        assert!(error.contains(&text), "{error}");
    }
}

/// A client that counts the answers it opens.
struct Counting {
    client: Box<dyn ErasedClient>,
    opened: Arc<AtomicUsize>,
}

impl ErasedVersion for Counting {
    fn describe(&self) -> Description {
        self.client.describe()
    }

    fn version(&self) -> Version {
        self.client.version()
    }
}

impl ErasedClient for Counting {
    fn registered(&self) -> Option<&dyn ErasedRegisteredClient> {
        self.client.registered()
    }

    fn query(
        &self,
        state: Option<&mut ErasedState>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> papir_core::Result<(ErasedSecret, Vec<u8>)> {
        self.client.query(state, indices, rng)
    }

    fn extract(&self, secret: ErasedSecret, answer: &[u8]) -> papir_core::Result<Vec<Record>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.client.extract(secret, answer)
    }
}

#[test]
fn all_answers_are_opened_before_an_error_is_returned() {
    let table = people(BucketTarget::AtMost(64));
    let (server, _) = serve(&table);
    let opened = Arc::new(AtomicUsize::new(0));
    let client = registry::by_name("plain")
        .unwrap()
        .allow_insecure(papir_core::NotPrivate::acknowledged())
        .client(&server.public())
        .unwrap();
    let counting = Counting {
        client,
        opened: Arc::clone(&opened),
    };
    let lookup = Lookup::new(Box::new(counting), Some(table.layout.clone())).unwrap();
    let pending = lookup.prepare_key(b"person 3", &mut rng(8)).unwrap();
    assert!(pending.queries().len() > 1);
    let mut answers = answers(server.as_ref(), &pending);
    answers[0][30] ^= 1;
    let error = pending.finish(&answers).unwrap_err();
    assert_eq!(error.code(), "checksum");
    assert_eq!(opened.load(Ordering::Relaxed), answers.len());

    let pending = lookup.prepare_key(b"person 3", &mut rng(9)).unwrap();
    let too_few = pending.finish(&answers[1..]).unwrap_err();
    assert!(matches!(too_few, Error::Core(CoreError::Length { .. })));
}

#[test]
fn bundles_round_trip_and_damaged_ones_are_refused() {
    let table = people(BucketTarget::default());
    let (server, _) = serve(&table);
    for keyword in [None, Some(table.layout.clone())] {
        let bundle = Bundle {
            scheme_public: server.public(),
            keyword,
            commitment_top: None,
            prefilter: None,
        };
        let encoded = bundle.encode();
        assert_eq!(Bundle::decode(&encoded).unwrap(), bundle);
        for length in 0..encoded.len() {
            assert!(
                Bundle::decode(&encoded[..length]).is_err(),
                "length {length}"
            );
        }
        for bit in 0..encoded.len() * 8 {
            let mut bytes = encoded.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Bundle::decode(&bytes).is_err(), "bit {bit}");
        }
    }
}

#[test]
fn keys_share_queries_and_results_keep_their_order() {
    // A query of the plain scheme holds four records.
    let table = people(BucketTarget::default());
    let (server, lookup) = serve(&table);
    assert_eq!(table.layout.lookups(), 1);
    let names: Vec<String> = [3, 499, 500, 3, 0, 77, 1_000]
        .map(|i| format!("person {i}"))
        .to_vec();
    let wanted: Vec<Wanted<'_>> = names
        .iter()
        .map(|name| Wanted::Key(name.as_bytes()))
        .collect();
    for (count, queries) in [(1, 1), (4, 1), (5, 2), (7, 2)] {
        let pending = lookup
            .prepare_batch(None, &wanted[..count], &mut rng(8))
            .unwrap();
        assert_eq!(
            (pending.queries().len(), lookup.queries_of(count)),
            (queries, queries)
        );
        let answers = answers(server.as_ref(), &pending);
        let found = pending.finish_all(&answers).unwrap();
        let expected = [Some(3), Some(499), None, Some(3), Some(0), Some(77), None];
        let expected = expected.map(|i: Option<u64>| i.map(|i| vec![i as u8; i as usize]));
        assert_eq!(found, expected[..count]);
    }
    assert_eq!(lookup.lookups_in(3), 12);
    let mixed = lookup.prepare_batch(None, &[wanted[0], Wanted::Index(1)], &mut rng(8));
    assert!(matches!(mixed.err(), Some(Error::Keyed)));
}

#[test]
fn batches_of_keys_of_several_records_each() {
    let table = people(BucketTarget::AtMost(100));
    let (server, lookup) = serve(&table);
    let records = table.layout.lookups();
    assert!(records > 1);
    let names: Vec<String> = (495..502).map(|i| format!("person {i}")).collect();
    let wanted: Vec<Wanted<'_>> = names
        .iter()
        .map(|name| Wanted::Key(name.as_bytes()))
        .collect();
    let pending = lookup.prepare_batch(None, &wanted, &mut rng(9)).unwrap();
    assert_eq!(pending.queries().len(), (7 * records).div_ceil(4));
    let answers = answers(server.as_ref(), &pending);
    let expected: Vec<_> = (495..502u64)
        .map(|i| (i < 500).then(|| vec![i as u8; i as usize]))
        .collect();
    assert_eq!(pending.finish_all(&answers).unwrap(), expected);
}
