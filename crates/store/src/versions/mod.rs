//! Versions of a database: replaced ones, logs and signatures.
//!
//! | file | contents |
//! |---|---|
//! | `history` | replaced versions, kept next to the snapshot |
//! | `conflict` | versions that another program publishes meanwhile |
//! | `log` | the newest log of a database |
//! | `sign` | new signatures and cosignatures for a finished snapshot |

mod conflict;
mod history;
mod log;
mod sign;

pub(crate) use conflict::{Newest, refuse_published};
#[cfg(feature = "cloud")]
pub(crate) use history::is_within;
pub use history::{KeptVersion, ReplacedVersion, replaced, versions};
pub(crate) use history::{find, keep, prune, remove_others, remove_stray_deltas};
pub use log::stored_log;
pub(crate) use log::{continued, log_to_continue};
pub use sign::{attach, sign};
