//! Envelopes, bundles and deltas.

use papir_core::Version;
use papir_core::envelope::{self, Header, Kind};
use papir_core::short::Binding;
use papir_lookup::Bundle;
use papir_lookup::delta::{DeltaChanges, DeltaPart};
use papir_lookup::prefilter::PrefilterSummary;

use super::layouts::{small_layout, small_prefilter};
use crate::{Target, outcome, repair};

const KINDS: [Kind; 4] = [Kind::Public, Kind::Query, Kind::Answer, Kind::Keys];

/// Envelopes, unchanged and with a repaired checksum.
pub(super) fn envelope() -> Target {
    let seeds = KINDS.map(|kind| {
        let header = Header {
            kind,
            scheme: 3,
            version: Version([7; 8]),
        };
        envelope::seal(&header, b"some payload")
    });

    Target::new(seeds.to_vec(), |input| {
        let opened = KINDS.map(|kind| envelope::open(input, kind, 3));
        assert!(
            opened.iter().flatten().count() <= 1,
            "one message of two kinds"
        );

        let repaired = repair::tail_sum(input);
        let of_repaired = KINDS.map(|kind| {
            let opened = envelope::open(&repaired, kind, 3);
            if let Ok((version, payload)) = opened {
                let again = envelope::seal(
                    &Header {
                        kind,
                        scheme: 3,
                        version,
                    },
                    payload,
                );
                assert_eq!(again, repaired, "another message of the same content");
            }
            outcome(&opened)
        });

        format!("{} {}", outcome(&opened[0]), of_repaired.concat())
    })
}

/// Short messages, as queries with their own handle and as answers.
pub(super) fn short() -> Target {
    let binding = Binding::new(&"0".repeat(32), 14, Version([7; 8]));
    let mut query = binding.handle().to_vec();
    query.extend_from_slice(b"two payloads");

    Target::new(vec![query], move |input| {
        let restored = binding.restore_queries(input, 6);
        if let Ok(queries) = &restored {
            let parts = envelope::split(queries).unwrap_or_default();
            let again = binding.shorten_queries(&parts);
            assert_eq!(again.ok().as_deref(), Some(input));
        }

        let answered = binding.restore_answers(b"query", input, 2);
        format!("{} {}", outcome(&restored), outcome(&answered))
    })
}

/// Bundles, unchanged and with a repaired checksum.
pub(super) fn bundle() -> Target {
    let keyword = Some(small_layout());
    let scheme_public = b"not looked at here".to_vec();

    let seeds = vec![
        Bundle {
            scheme_public: scheme_public.clone(),
            keyword: None,
            commitment_top: None,
            prefilter: None,
        }
        .encode(),
        Bundle {
            scheme_public,
            keyword,
            commitment_top: Some([7; 32]),
            prefilter: Some(PrefilterSummary {
                bits: 8,
                bytes: 1 << 20,
                hash: [9; 32],
            }),
        }
        .encode(),
    ];

    Target::new(seeds, |input| {
        let plain = outcome(&Bundle::decode(input));

        let repaired = repair::tail_sum(input);
        let decoded = Bundle::decode(&repaired);
        if let Ok(bundle) = &decoded {
            assert_eq!(
                bundle.encode(),
                repaired,
                "another bundle of the same content"
            );
        }

        format!("{plain} {}", outcome(&decoded))
    })
}

/// Public parts of deltas with a repaired checksum, and owners' changes.
pub(super) fn delta() -> Target {
    let scheme_public = b"not looked at here".to_vec();
    let bundle = Bundle {
        scheme_public,
        keyword: Some(small_layout()),
        commitment_top: None,
        prefilter: None,
    };

    let part = DeltaPart {
        base: Version([7; 8]),
        records: None,
        content: None,
        bundle,
        prefilter: None,
    };

    let mut changes = DeltaChanges::default();
    for (index, record) in [(3, vec![1, 2]), (70_000, vec![])] {
        changes.change_record(index, record, 1).unwrap_or_default();
    }

    let seeds = vec![
        DeltaPart {
            records: Some(9),
            content: Some([8; 32]),
            prefilter: Some(small_prefilter()),
            ..part.clone()
        }
        .encode(),
        part.encode(),
        changes.encode(),
    ];

    Target::new(seeds, |input| {
        let repaired = repair::tail_sum(input);
        let part = DeltaPart::decode(&repaired);
        let changes = DeltaChanges::decode(input);

        if let Ok(part) = &part {
            assert_eq!(part.encode(), repaired, "another delta of the same content");
        }
        if let Ok(changes) = &changes {
            assert_eq!(changes.encode(), input, "other bytes of the same changes");
        }

        format!("{} {}", outcome(&part), outcome(&changes))
    })
}
