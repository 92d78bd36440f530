//! Private set intersection over asynchronous HTTP.

use papir_protocol::PsiInfo;
use zeroize::Zeroizing;

use super::transport::Transport;
use crate::core::psi::{self, Intersection};
use crate::error::Result;
use crate::transport::options::Options;

/// Finds which of `elements` are in the set of the service at `url`, and their labels. The service
/// learns the approximate number of elements ([`papir_lookup::psi::padded`]) and nothing else. If
/// client state has a directory, the set's filter is stored there, and fetched again only when the
/// set changes.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl), errors of the network and of the service (status 404
/// without a set), errors of verification if the set must be signed or verifiable,
/// [`Error::TooLarge`](crate::Error::TooLarge) for a filter beyond the download limit, and
/// [`papir_core::Error::OutOfBounds`] for elements of 2¹⁶ or more bytes.
pub async fn intersect<E: AsRef<[u8]>>(
    url: &str,
    elements: &[E],
    options: &Options,
) -> Result<Intersection> {
    let service = options.service(url)?;
    let elements: Vec<_> = elements
        .iter()
        .map(|one| Zeroizing::new(one.as_ref().to_vec()))
        .collect();

    let transport = Transport::new(service.address(), options)?;
    let task = psi::intersect(
        service,
        options.settings(),
        elements.into_iter().map(Element).collect(),
    );
    transport.run(task).await
}

/// Describes the set of a service.
///
/// # Errors
/// [`crate::Error::BadUrl`]; errors of the network and of the service (status 404 without a set).
pub async fn describe(url: &str, options: &Options) -> Result<PsiInfo> {
    let service = options.service(url)?;
    Transport::new(service.address(), options)?
        .run(psi::describe(service))
        .await
}

/// An owned element, wiped when dropped.
struct Element(Zeroizing<Vec<u8>>);

impl AsRef<[u8]> for Element {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
