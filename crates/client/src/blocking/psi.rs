//! Private set intersection over blocking HTTP.

use papir_protocol::PsiInfo;

use super::transport::Transport;
use crate::core::psi::{self, Intersection};
use crate::error::Result;
use crate::transport::operations::psi::define_psi;
use crate::transport::options::Options;

define_psi!([] []);

fn element(bytes: &[u8]) -> &[u8] {
    bytes
}
