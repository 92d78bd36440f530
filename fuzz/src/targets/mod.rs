//! The list of all targets.

mod address;
mod blocks;
mod checkpoints;
mod envelopes;
mod files;
mod http;
mod layouts;
mod ohttp;
mod paillier;
mod privacy_pass;
mod rows;
mod schemes;
mod secrets;

use crate::Target;

/// Makes a target. This takes a while if its seeds need a prepared database.
pub type Make = fn() -> Target;

/// All targets by name.
pub const ALL: &[(&str, Make)] = &[
    ("envelope", envelopes::envelope),
    ("short", envelopes::short),
    ("bundle", envelopes::bundle),
    ("delta", envelopes::delta),
    ("block_list", blocks::list),
    ("block_ranges", blocks::ranges),
    ("layout", layouts::layout),
    ("filter", layouts::filter),
    ("prefilter", layouts::prefilter),
    ("blinded", secrets::blinded),
    ("snapshot", files::snapshot),
    ("checkpoint", checkpoints::checkpoint),
    ("manifest", files::manifest),
    ("csv", rows::csv),
    ("jsonl", rows::jsonl),
    ("lines", rows::lines),
    ("arrow", rows::arrow),
    ("changes", rows::changes),
    ("tokens", secrets::tokens),
    ("state", secrets::state),
    ("kept", secrets::kept),
    ("address", address::address),
    ("info", address::info),
    ("public", schemes::public),
    ("query", schemes::query),
    ("answer", schemes::answer),
    ("parameters", schemes::parameters),
    ("sections", schemes::sections),
    ("paillier", paillier::paillier),
    ("ohttp_keys", ohttp::keys),
    ("ohttp_request", ohttp::request),
    ("ohttp_response", ohttp::response),
    ("pass_messages", privacy_pass::messages),
    ("pass_headers", privacy_pass::headers),
    ("pass_issuer", privacy_pass::issuer),
    ("pass_unspent", privacy_pass::unspent),
    ("http", http::requests),
    ("bodies", http::bodies),
];
