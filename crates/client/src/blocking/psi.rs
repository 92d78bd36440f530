//! Private set intersection over blocking HTTP.

use super::options::Options;
use super::transport::Transport;
use crate::core::psi::{self, Intersection};
use crate::error::Result;

/// Finds the elements that the set of the service at `url` has, and their labels. The service
/// learns roughly how many elements there are ([`papir_lookup::psi::padded`]) and nothing else. A
/// filter is kept in the directory of client state, if there is one, and fetched again after the
/// set changes.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl), errors of the network and of the service (status 404:
/// it has no set), and [`papir_core::Error::OutOfBounds`] for elements of 2¹⁶ bytes and more.
pub fn intersect<E: AsRef<[u8]>>(url: &str, elements: &[E], options: &Options) -> Result<Intersection> {
    let service = options.service(url)?;
    let elements: Vec<&[u8]> = elements.iter().map(AsRef::as_ref).collect();
    let transport = Transport::new(service.address(), options)?;
    transport.run(psi::intersect(service, options.settings(), &elements))
}
