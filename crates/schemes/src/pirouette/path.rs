//! The query path of a scheme: from a query to a selection.

use papir_core::Progress;
use papir_core::scheme::{Never, Scheme};
use rand_core::CryptoRng;

use super::common::{RetrievalParams, SelectingParams};
use super::keys::{Expanded, Keys};
use super::retrieval::{Sections, Selection};
use super::secrets::{RetrievalSecret, State};
use super::wire::RetrievalAnswer;
use crate::shared::messages::EmptyPublic;

/// A scheme whose clients register expanded keys and decrypt answers in the response ring.
pub trait Path:
    Scheme<
        Params: RetrievalParams,
        Public = EmptyPublic,
        Answer = RetrievalAnswer,
        Secret = RetrievalSecret,
        ClientKeys = Keys<<Self as Path>::Expanded>,
        ClientState = State,
        Ticket = Never,
    >
{
    /// Keys that a selection needs.
    type Expanded: Expanded;

    /// Encrypts a query for an item.
    fn ask(params: &Self::Params, state: &State, item: u64, rng: &mut dyn CryptoRng) -> Self::Query;
}

/// A scheme that retrieves items by selections, in phases 1 to 3.
pub trait Selecting: Path<Params: SelectingParams> {
    /// Names of a snapshot's sections.
    const SECTIONS: Sections;

    /// Phase 0: the selection of each query's item, in order.
    fn select(
        params: &Self::Params,
        batch: &[(&Self::Expanded, &Self::Query)],
        progress: &dyn Progress,
    ) -> Vec<Selection>;
}
