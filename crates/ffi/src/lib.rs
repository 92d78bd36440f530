//! Client for Kotlin and Swift, over [`papir_client::aio`].
//!
//! | file | contents |
//! |---|---|
//! | `database` | connections and lookups |
//! | `messages` | answers to queries that travelled in messages |
//! | `schedule` | lookups at fixed times |
//! | `options` | options of a connection |
//! | `description` | a database's description and the costs of a connection |
//! | `storage` | client state in a storage of the application |
//! | `error` | errors |
//!
//! UniFFI generates the sources from the library, and their documentation from the comments here.
//! Every function that waits is a `suspend` function in Kotlin and an `async` one in Swift. If its
//! coroutine is cancelled, the call ends at once, a computation that has begun runs to its end on
//! another thread, and the database can be used again.

mod database;
mod description;
mod error;
mod messages;
mod options;
mod schedule;
mod storage;

pub use database::Database;
pub use description::{Costs, DatabaseInfo};
pub use error::{ErrorKind, PapirError};
pub use messages::extract_message;
pub use options::Options;
pub use schedule::LookupSchedule;
pub use storage::{Storage, StorageError};

uniffi::setup_scaffolding!("papir");
