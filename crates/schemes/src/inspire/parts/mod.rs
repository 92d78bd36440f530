//! InsPIRe over several databases: one record of each.
//!
//! [`crate::batched`] uses it. A pack takes d LWE encryptions under one key, from any database. So
//! m databases of the same shape are parts of one database. Each part has ring elements of d/m
//! words, d/m rows of every pack, and its own selector. One packing matrix and one RLWE encryption
//! serve all parts, instead of m each. The selectors are m times longer. t is 1, since each part
//! would need its own point.
//!
//! | InsPIRe | here |
//! |---|---|
//! | Algorithm 7, ENCODEDB | [`crate::inspire::encode`], for each part |
//! | Algorithm 9, lines 7 to 12 | `inspire::server`: a selection for each part, one packing |
//! | Algorithm 8, QUERY | [`client`]: a selector for each part, one packing key |
//! | Theorems 9, 10 | the theorems of `inspire` with as many columns and t = 1 |
//!
//! The noise of a row comes from its own selector.
//!
//! The scheme is not in the registry, because a query asks for exactly one record of each part.

pub mod client;
pub mod params;

use papir_core::Privacy;
use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{OnDevice, Parameters, Scheme, Unregistered};
use papir_ring::prg::Seed;

use crate::inspire::client::Secret;
use crate::inspire::layout::Layout;
use crate::inspire::params::Params;
use crate::inspire::prepared::Sections;
use crate::inspire::server::{Parted, PartsOnDevice, PartsServer};
use crate::inspire::wire::{Answer, Query};
use crate::shared::packs::Names;

pub use client::PartsClient;
pub use params::{InspireInParts, PartsParams, PartsPublic};

impl Scheme for InspireInParts {
    const NAME: &'static str = params::NAME;
    /// Number of the scheme. It is never sent by itself.
    const ID: u16 = 0xff00;
    const PRIVACY: Privacy = Privacy::Private;
    const DEVICE: Option<&'static dyn OnDevice<Self>> = Some(&PartsOnDevice);

    type Params = PartsParams;
    type Public = PartsPublic;
    type Query = Query;
    type Answer = Answer;
    type Secret = Secret;
    type Registration = Unregistered;
    type Server = PartsServer<Self>;
    type Client = PartsClient;
}

impl Parted for InspireInParts {
    const SECTIONS: Sections = Sections {
        header: "stacked/header",
        database: "stacked/database",
        exceptions: "stacked/exceptions",
        packs: Names {
            scheme: params::NAME,
            words: "stacked/matrices",
            packs: "stacked/packs",
        },
    };
    const SHARES_KEYS: bool = true;

    fn layouts(params: &PartsParams) -> (&Params, &Layout) {
        (&params.below, &params.part)
    }

    fn parts(params: &PartsParams) -> usize {
        params.parts
    }

    fn public(seeds: &[Seed]) -> PartsPublic {
        PartsPublic {
            seeds: seeds.to_vec(),
        }
    }

    /// Returns the work of an update. A setup encodes each column once; an update decodes and
    /// encodes the changed columns.
    fn update_work(params: &PartsParams, columns: usize) -> Counts {
        let description = params.describe();
        let share =
            (2.0 * columns as f64 / (params.parts as f64 * params.part.columns as f64)).min(2.0);

        let mut update = Counts::new();
        for one in description.work.setup.iter() {
            // Packs have rows of every part, so an update prepares all of them again: only coding
            // has a share.
            let encodes = matches!(one.operation, Operation::Encode16 | Operation::Interpolate);
            let times = one.times * if encodes { share } else { 1.0 };
            update = update.with(one.operation, times, one.parts);
        }
        update.with(Operation::Copy, description.sizes.database as f64, 1)
    }
}
