//! Databases on several machines: their combined answers are those of one, bit for bit.

use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{ErasedCombiner, ErasedSession, ErasedShard, parameters_of};
use papir_core::sections::MemorySections;
use papir_core::{Error, NoProgress, Result, Version};

use super::fixture::{Fixture, is_parse_error};

/// Divides the database among 1, 2 and 5 machines, or one for each slice if there are fewer; or
/// checks that a scheme without slices says so.
pub(super) fn check(fixture: &mut Fixture<'_>) {
    let mut sections = MemorySections::default();
    fixture
        .server
        .save(&mut sections)
        .expect("saving to memory");

    let scheme = match fixture.scheme.require_divided() {
        Ok(scheme) => scheme,
        Err(error) => {
            assert!(matches!(error, Error::Parameters { .. }), "{error:?}");
            return;
        }
    };

    let division = scheme
        .describe(&parameters_of(&sections).expect("parameters"))
        .expect("a division")
        .division;

    let combiner = scheme.load_combiner(&sections).expect("a combiner");
    assert!(
        combiner.public() == fixture.server.public(),
        "another public part"
    );
    assert_eq!(
        (combiner.version(), combiner.division()),
        (fixture.server.version(), division)
    );
    assert_eq!(combiner.describe(), fixture.server.describe());

    let slices = division.slices();
    for count in [1, 2, 5] {
        let ranges = division.split(count.min(slices)).expect("ranges");
        let shards: Vec<_> = ranges
            .into_iter()
            .map(|range| scheme.load_shard(range, &sections).expect("a shard"))
            .collect();
        check_answers(fixture, &shards, &*combiner);
        check_refusals(fixture, &shards, &*combiner);
    }

    for range in [0..slices + 1, slices..slices + 1, 0..0] {
        let error = scheme.load_shard(range.clone(), &sections).err();
        assert!(
            matches!(error, Some(Error::OutOfBounds { .. })),
            "{range:?}: {error:?}"
        );
    }
}

/// Three queries in one pass; one of them with a wrong version, which fails alone.
fn check_answers(fixture: &mut Fixture<'_>, shards: &[ErasedShard], combiner: &dyn ErasedCombiner) {
    let last = fixture.shape.records() - 1;
    let mut queries: Vec<Vec<u8>> = [0, last, last / 2]
        .map(|index| fixture.send(&[index]).query)
        .into_iter()
        .collect();

    let header = Header {
        kind: Kind::Query,
        scheme: fixture.scheme.properties().id,
        version: Version([0x5a; 8]),
    };
    queries.insert(
        1,
        envelope::seal(&header, &queries[0][24..queries[0].len() - 8]),
    );

    let queries: Vec<&[u8]> = queries.iter().map(Vec::as_slice).collect();
    let partials: Vec<Vec<Result<Vec<u8>>>> = shards
        .iter()
        .map(|shard| shard.partial_many(&queries, &NoProgress))
        .collect();

    for (i, query) in queries.iter().enumerate() {
        let of_query: Vec<&Result<Vec<u8>>> =
            partials.iter().map(|of_shard| &of_shard[i]).collect();
        if i == 1 {
            assert!(
                of_query
                    .iter()
                    .all(|partial| matches!(partial, Err(Error::WrongVersion { .. })))
            );
            let refused = combiner
                .combine_many(&[(query, &[])], &NoProgress)
                .remove(0);
            assert!(
                matches!(refused, Err(Error::WrongVersion { .. })),
                "{refused:?}"
            );
            assert!(combiner.check_query(query).is_err());
            continue;
        }
        // In any order.
        let of_query: Vec<&[u8]> = of_query
            .iter()
            .rev()
            .map(|partial| partial.as_ref().expect("a partial answer").as_slice())
            .collect();
        let combined = combiner
            .combine_many(&[(query, &of_query)], &NoProgress)
            .remove(0)
            .expect("an answer");
        let whole = fixture
            .server
            .answer(ErasedSession::default(), query)
            .expect("an answer");
        assert!(
            combined == whole,
            "{} shards answer query {i} otherwise",
            shards.len()
        );
        assert!(combiner.check_query(query).is_ok());
    }
}

/// Missing, repeated, damaged and foreign partial answers are refused, and fail no other query.
fn check_refusals(
    fixture: &mut Fixture<'_>,
    shards: &[ErasedShard],
    combiner: &dyn ErasedCombiner,
) {
    let query = fixture.send(&[0]).query;
    let honest: Vec<Vec<u8>> = shards
        .iter()
        .map(|shard| {
            let partial = shard.partial_many(&[&query], &NoProgress).remove(0);
            partial.expect("a partial answer")
        })
        .collect();

    let payload = &honest[0][24..honest[0].len() - 8];
    let seal = |kind, version, payload: &[u8]| {
        vec![envelope::seal(
            &Header {
                kind,
                scheme: fixture.scheme.properties().id,
                version,
            },
            payload,
        )]
    };

    let version = combiner.version();
    let others = honest[1..].to_vec();

    let bad = [
        ("none", Vec::new()),
        ("one missing", others.clone()),
        ("one twice", [honest.clone(), honest[..1].to_vec()].concat()),
        (
            "damaged",
            [
                vec![honest[0][..honest[0].len() - 1].to_vec()],
                others.clone(),
            ]
            .concat(),
        ),
        (
            "short",
            [
                seal(Kind::Partial, version, &payload[..payload.len() - 1]),
                others.clone(),
            ]
            .concat(),
        ),
        (
            "an answer",
            [seal(Kind::Answer, version, payload), others.clone()].concat(),
        ),
        (
            "old",
            [seal(Kind::Partial, Version([9; 8]), payload), others].concat(),
        ),
    ];

    let honest: Vec<&[u8]> = honest.iter().map(Vec::as_slice).collect();
    for (what, partials) in bad {
        let partials: Vec<&[u8]> = partials.iter().map(Vec::as_slice).collect();

        let mut both =
            combiner.combine_many(&[(&query, &partials), (&query, &honest)], &NoProgress);
        assert!(
            both.pop().is_some_and(|honest| honest.is_ok()),
            "{what}: fails another query"
        );

        let error = both.pop().and_then(Result::err);
        let error = error.unwrap_or_else(|| panic!("partial answers, {what}: accepted"));
        let version = matches!(error, Error::WrongVersion { .. });
        assert!(
            version == (what == "old") && (version || is_parse_error(&error)),
            "{what}: {error:?}"
        );
    }
}
