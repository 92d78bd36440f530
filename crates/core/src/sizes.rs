//! What a scheme says of itself before it runs: sizes, security, limits.

use crate::Shape;
use crate::cost::Work;

/// Exact lengths in bytes of a scheme's messages and stores. All are lengths of real messages,
/// envelopes included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Public part that a client fetches once a version, hint included.
    pub public: u64,
    /// The part of `public` that depends on the database.
    pub hint: u64,
    /// Client keys registered once.
    pub keys: u64,
    /// What the server keeps for a registered client's next query, for each query ahead.
    pub ticket: u64,
    /// The part of one query that carries key material (0 when keys are registered).
    pub query_keys: u64,
    /// One query as sent.
    pub query: u64,
    /// One answer as sent.
    pub answer: u64,
    /// The encoded database that an answer reads.
    pub database: u64,
    /// What else the server precomputes from database and reference string.
    pub material: u64,
}

/// An estimate of concrete security and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Security {
    /// Estimated bits.
    pub bits: f64,
    /// The row of the parameter table that it leans on.
    pub source: &'static str,
}

/// Whether a scheme hides the index from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// It does.
    Private,
    /// It does not, for this reason; serving it needs an acknowledgement.
    NotPrivate(&'static str),
}

/// Its caller's word that a scheme which does not hide the index is wanted nevertheless.
///
/// Schemes that look private and are not prepare no database and make no client without it: see
/// [`Parameters::allow_insecure`](crate::scheme::Parameters::allow_insecure).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPrivate(());

impl NotPrivate {
    /// The server, and whoever sees a query, learns which record is asked for; that is understood.
    pub const fn acknowledged() -> Self {
        Self(())
    }
}

/// What changing records costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateCost {
    /// Work proportional to the changed records.
    PerRecord,
    /// Work for each pack that holds a changed record, the same for one record as for many: batch changes.
    PerPack,
    /// As much as a new setup.
    Rebuild,
}

/// What a scheme can take; the conformance suite holds it to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most records.
    pub records: u64,
    /// Longest record in bits.
    pub record_bits: u64,
    /// Most indices in one query.
    pub batch: usize,
    /// Whether a client registers keys first.
    pub client_keys: bool,
    /// Whether each query consumes a ticket.
    pub tickets: bool,
    /// Whether its databases are encrypted under a key of their owner, which setup and registration need:
    /// see [`crate::scheme::Parameters::with_owner_key`].
    pub owner_key: bool,
    /// What an update costs.
    pub update: UpdateCost,
}

/// Everything that `inspect` prints of a prepared database.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Whether it hides the index.
    pub privacy: Privacy,
    /// Records and their length.
    pub shape: Shape,
    /// Message and store sizes.
    pub sizes: Sizes,
    /// Estimated security, `None` where there is nothing to break.
    pub security: Option<Security>,
    /// log₂ of the computed probability that an honest answer does not decode.
    pub failure_log2: f64,
    /// What the scheme can take.
    pub limits: Limits,
    /// The parameters by name, in the paper's symbols.
    pub parameters: Vec<(&'static str, String)>,
    /// What its verbs do, counted.
    pub work: Work,
}

/// Parameters that a scheme offers for a shape, for a planner to choose from.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What tells them from the scheme's other candidates, in a few words.
    pub label: String,
    /// What they give.
    pub description: Description,
    /// The parameters as bytes, for [`crate::erased::ErasedScheme::setup_candidate`].
    pub parameters: Vec<u8>,
}
