//! Lengths of the longest messages through a relay.

use papir_client::Connection;
use papir_plan::planner::Offer;
use papir_plan::units;
use papir_server::{MessageSizes, SealedSizes};
use papir_store::{Delta, Snapshot};
use serde_json::{Value, json};

use crate::describe::{self, Lines, line};

/// The lengths for the database of a service.
pub(crate) fn of_service(connection: &Connection) -> SealedSizes {
    let lookup = connection.lookup();
    let is_verifiable = lookup.root().is_some();
    let sizes = MessageSizes::of(&lookup.describe(), lookup.keyword(), is_verifiable);
    let sizes = match lookup.stated_prefilter() {
        Some(stated) => sizes.with_prefilter(stated.bytes),
        None => sizes,
    };

    let delta = connection.info().delta.as_ref();
    let delta = delta.map(|delta| MessageSizes {
        query: delta.query,
        answer: delta.answer,
        public_part: delta.public,
        prefilter: 0,
        keys: 0,
        records_per_lookup: delta.queries_per_lookup,
        records_per_query: 1,
    });
    sizes.sealed(delta.as_ref())
}

/// The lengths for a prepared database, and the delta beside it, if there is one.
pub(crate) fn of_snapshot(snapshot: &Snapshot, delta: Option<&Delta>) -> SealedSizes {
    let is_verifiable = snapshot.commitment_top.is_some();
    let description = snapshot.server.describe();
    let sizes = MessageSizes::of(&description, snapshot.keyword.as_ref(), is_verifiable);
    let sizes = match &snapshot.prefilter {
        Some(filter) => sizes.with_prefilter(filter.summary.bytes),
        None => sizes,
    };

    let delta = delta.map(|delta| MessageSizes {
        public_part: delta.part().encode().len() as u64,
        ..MessageSizes::of(&delta.server.describe(), Some(&delta.layout), false)
    });
    sizes.sealed(delta.as_ref())
}

/// The lengths for the database of an offer.
pub(crate) fn of_offer(offer: &Offer) -> SealedSizes {
    let sizes = MessageSizes {
        query: offer.upload_bytes,
        answer: offer.download_bytes,
        public_part: offer.public_bytes,
        prefilter: 0,
        keys: offer.keys_bytes,
        records_per_lookup: 1,
        records_per_query: offer.batch,
    };
    sizes.sealed(None)
}

/// Two lines with the lengths.
pub(crate) fn lines(sizes: SealedSizes) -> Lines {
    let request = bytes(sizes.request);
    let response = bytes(sizes.response);
    vec![
        line("largest request", format!("{request}, sealed for a relay")),
        line(
            "largest response",
            format!("{response}, sealed for a relay"),
        ),
    ]
}

/// The lengths in a sentence.
pub(crate) fn sentence(sizes: SealedSizes) -> String {
    let request = bytes(sizes.request);
    let response = bytes(sizes.response);
    format!("largest request {request}, largest response {response}, sealed for a relay")
}

/// The lengths as a JSON object.
pub(crate) fn json(sizes: SealedSizes) -> Value {
    json!({ "request": sizes.request, "response": sizes.response })
}

/// A length with its unit, and exactly.
fn bytes(count: u64) -> String {
    units::bytes(count) + &describe::exact(count)
}
