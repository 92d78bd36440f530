//! Administration of a database's registered clients.

use papir_protocol::ClientStatus;

use super::transport::Transport;
use crate::core::RegisteredClients;
use crate::error::Result;
use crate::transport::operations::registrations::define_registrations;
use crate::transport::options::Options;

define_registrations!([] []);
