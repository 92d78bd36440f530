//! The client's protocol without I/O: requests out, responses in.
//!
//! Every operation is a [`Task`]: a state machine that decides which request comes next, when to
//! repeat a request, and what to store. A transport starts the task and performs each [`Step`]:
//!
//! ```ignore
//! let mut step = session.get(&wanted).start();
//! let values = loop {
//!     step = match step {
//!         Step::Send(request, then) => then.resume(http.send(&request)),
//!         Step::Wait(duration, then) => { sleep(duration); then.resume() }
//!         Step::Store(request, then) => then.resume(files.perform(request)),
//!         Step::Done(values) => break values,
//!     };
//! };
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `request`, `store` | requests to the network and to the storage, as values |
//! | `task` | tasks and their steps |
//! | `platform`, `settings`, `address` | clock and randomness; settings; addresses |
//! | `service`, `retries`, `queries`, `clients` | single calls, with their retries |
//! | `foreign` | responses of proxies and other servers |
//! | `gateways` | relays, and keys of gateways that a session has verified |
//! | `fetch`, `pins` | choice and download of a database; pins |
//! | `public_cache`, `patches` | stored copies of public parts, and their patches |
//! | `checkpoints`, `owner_pin` | signed checkpoints, the pinned owner's key |
//! | `proofs`, `logs` | requests for proofs and for whole logs |
//! | `registration`, `key_sender` | registered clients, and the upload of their keys |
//! | `record`, `storage`, `state_cache`, `identity` | state of registered clients |
//! | `ready_tickets` | waiting for a client's tickets |
//! | `session`, `first_version`, `owned`, `lookups`, `held`, `costs` | lookups in one database |
//! | `unsent` | lookups that a filter of keys excludes, and those of schedules |
//! | `outgoing` | queries in their envelopes, or as one short message |
//! | `kept`, `known` | kept versions, with which sessions begin without a request |
//! | `messages` | queries and answers in files |
//! | `server_list`, `servers`, `moving`, `other_pins` | several servers of one database |
//! | `schedule` | requests of one size at fixed times |
//! | `psi` | private set intersection |
//! | `wallet`, `service_tokens` (feature `tokens`) | tokens of an issuer; requests that cost one |
//! | `operator` | administration of registered clients, for the operator |
//! | `oblivious` (feature `relay`) | requests that are sealed for a gateway behind a relay |

mod address;
mod checkpoints;
mod clients;
mod costs;
mod fetch;
mod first_version;
mod foreign;
mod gateways;
mod held;
mod identity;
mod kept;
mod key_sender;
mod known;
mod logs;
mod lookups;
mod messages;
mod moving;
#[cfg(feature = "relay")]
mod oblivious;
mod operator;
mod other_pins;
mod outgoing;
mod owned;
mod owner_pin;
mod patches;
mod pins;
mod platform;
mod proofs;
pub mod psi;
mod public_cache;
mod queries;
mod ready_tickets;
mod record;
mod registration;
mod request;
mod retries;
mod schedule;
mod server_list;
#[cfg(any(feature = "aio", feature = "blocking"))]
mod servers;
mod service;
#[cfg(feature = "tokens")]
mod service_tokens;
mod session;
mod settings;
mod state_cache;
mod storage;
mod store;
mod task;
mod unsent;
#[cfg(feature = "tokens")]
pub(crate) mod wallet;

pub use address::Address;
#[cfg(feature = "transport")]
pub(crate) use address::{Endpoint, is_loopback};
pub use costs::Costs;
pub use gateways::ServiceRelay;
pub use identity::Place;
#[cfg(feature = "files")]
pub(crate) use kept::reencoded as reencoded_version;
pub use logs::{ShownLog, fetch_log};
pub use lookups::FoundValue;
pub use messages::extract_message;
#[cfg(feature = "transport")]
pub(crate) use oblivious::relay_address;
#[cfg(feature = "relay")]
pub use oblivious::{GivenKeys, Oblivious, RelayChoice, Relayed};
#[cfg(feature = "blocking")]
pub(crate) use operator::readiness;
pub use operator::{RegisteredClients, detail, ready};
pub use owned::OwnedWanted;
pub use owner_pin::PinnedOwner;
pub use platform::Platform;
pub use record::SavedRegistration;
pub use request::{Failure, Header, Method, Request, Response};
#[cfg(feature = "transport")]
pub(crate) use retries::PATIENCE;
pub use schedule::{
    Awaited, MAX_KEY_BYTES, MAX_WAITING, Schedule, ScheduleRunner, Scheduled, ScheduledBatch,
    TimeSlot, TimeSlots,
};
#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) use server_list::check_addresses;
pub use server_list::check_servers;
#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) use servers::{ServerSearch, wait_for};
pub use service::Service;
#[cfg(feature = "tokens")]
pub use service_tokens::{PaidRequest, ServiceTokens, check_issuer, check_no_demand};
pub use session::Session;
pub use settings::{
    CheckpointSettings, DownloadLimit, Freshness, KnownVersion, Patches, Pin, PrefilterUse,
    Rotation, Schemes, Settings, Token, Watcher,
};
pub use store::{SavedTokens, SavedVersion, StoreAction, StoreLock, StoreRequest, Stored};
pub use task::{AfterSend, AfterStore, AfterWait, Step, Task};
#[cfg(feature = "tokens")]
pub use wallet::TokenRefill;
