//! Typed interface of a scheme: parameters, messages, server and client.
//!
//! Hints, registered keys, single-use tickets and batches are optional. SimplePIR has a hint,
//! ZipPIR has keys and tickets, Pirouette has large keys, and a query of doubly-efficient PIR may
//! have tens of thousands of indices. InsPIRe has none of these.
//!
//! | file | contents |
//! |---|---|
//! | `parameters` | checked parameters |
//! | `messages` | wire formats, numbers and indices of messages |
//! | `traits` | the scheme, its server and client, and its capabilities |
//! | `registration` | numbers of registered clients' queries |
//! | `session` | what a query needs of its client's session |
//! | `changes` | changes of records, and what they cost |

mod changes;
mod messages;
mod parameters;
mod registration;
mod session;
mod traits;

pub use crate::choice::{Choice, Goal, Target};
pub use changes::{UpdateEstimate, check_changes};
pub use messages::{Never, SENT_AHEAD, Wire, check_indices};
pub use parameters::{Parameters, not_encrypted, of_goals};
pub use registration::StateNumbers;
pub use traits::{
    Client, Combiner, DeviceServer, DividedScheme, EarlierTicket, KeysOf, OnDevice,
    RegisteredClient, RegisteredServer, RegisteredSides, RegisteredWith, Scheme,
    SchemeRegistration, Server, Session, Shard, SliceTasks, StateOf, TicketOf, Unregistered,
};
