//! Private set intersection over asynchronous HTTP.

use papir_protocol::PsiInfo;
use zeroize::Zeroizing;

use super::transport::Transport;
use crate::core::psi::{self, Intersection, SetAttempts};
use crate::core::wait_for;
use crate::error::Result;
use crate::transport::call::share;
use crate::transport::operations::psi::define_psi;
use crate::transport::options::Options;
use crate::transport::servers::{ServerAt, Servers};

define_psi!([async] [.await]);

/// An owned element, wiped when dropped.
struct Element(Zeroizing<Vec<u8>>);

impl AsRef<[u8]> for Element {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn element(bytes: &[u8]) -> Element {
    Element(Zeroizing::new(bytes.to_vec()))
}
