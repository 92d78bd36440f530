//! The client's protocol without I/O: requests out, responses in.
//!
//! Every operation is a [`Task`]: a state machine that decides which request comes next, when a
//! request is repeated, and what is kept. A transport starts it and does what each [`Step`] says:
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
//! | module | content |
//! |---|---|
//! | `request`, `store` | requests to the network and to the storage, as values |
//! | `task` | tasks and their steps |
//! | `platform`, `settings`, `address` | clock and randomness; demands; addresses |
//! | `service`, `queries`, `clients` | single calls, with their retries |
//! | `fetch`, `pins` | choice of the database, its public part, its pinned root |
//! | `registration`, `record`, `storage`, `warm` | registered clients and their state |
//! | `session`, `lookups`, `costs` | lookups in one database |
//! | `psi` | private set intersection |
//! | `operator` | registered clients as the operator sees them |

mod address;
mod clients;
mod costs;
mod fetch;
mod lookups;
mod operator;
mod pins;
mod platform;
pub mod psi;
mod queries;
mod record;
mod registration;
mod request;
mod service;
mod session;
mod settings;
mod storage;
mod store;
mod task;
mod warm;

pub use address::Address;
pub use costs::Costs;
pub use operator::{RegisteredClients, ready};
pub use platform::Platform;
pub use record::SavedRegistration;
pub use request::{Failure, Header, Method, Request, Response};
pub use service::Service;
pub use session::Session;
pub use settings::{MoreSchemes, Settings, Token, Watcher};
pub use store::{StoreAction, StoreLock, StoreRequest, Stored};
pub use task::{AfterSend, AfterStore, AfterWait, Step, Task};
