//! Downloads whose length the service chooses.

use papir_client::Error;
use papir_client::core::{DownloadLimit, Settings, psi};
use papir_protocol::{PsiInfo, path};

use crate::peer::{Peer, json, short, simple};

#[test]
fn a_public_part_over_the_limit_is_not_fetched() {
    let mut peer = Peer::new(simple(1));
    let length = peer.newest().bundle.len() as u64;
    let limited = |limit| Settings {
        download_limit: DownloadLimit(limit),
        ..Settings::default()
    };

    let error = peer.open(limited(length - 1)).map(drop).unwrap_err();
    assert!(
        matches!(error, Error::TooLarge { length: found, limit, .. }
            if found == length && limit == length - 1),
        "{error}"
    );
    assert_eq!(short(&peer.take()), ["GET ", "GET "]);

    peer.open(limited(length)).unwrap();
}

#[test]
fn a_filter_over_the_limit_is_refused_before_an_element_is_sent() {
    let mut peer = Peer::new(simple(1));
    let settings = Settings {
        download_limit: DownloadLimit(99),
        ..Settings::default()
    };
    let task = psi::intersect(peer.service().unwrap(), settings, vec!["element"]);
    let mut asked = Vec::new();
    let outcome = peer.run_through(task, &mut |_, call| {
        asked.push(call.path.clone());
        Ok(json(
            200,
            &PsiInfo {
                version: "0000000000000001".into(),
                kind: "filter".into(),
                elements: 1,
                max_elements: 1,
                longest_label: None,
                filter_bytes: Some(100),
                database: None,
            },
        ))
    });

    let error = outcome.map(drop).unwrap_err();
    assert_eq!(error.code(), "too_large", "{error}");
    assert_eq!(asked, [path::PSI]);
}
