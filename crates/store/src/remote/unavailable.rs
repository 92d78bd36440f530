//! Object stores in a build without the feature `cloud`.
//!
//! The types and functions have the same names as with the feature. [`Location::parse`] always
//! fails, so no location exists and the other functions cannot be called.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use papir_core::Progress;

use super::address::{Settings, UNKNOWN_SCHEME, is_address};
use super::error::RemoteError;
use super::manifest::Manifest;
use super::transfer::{PullOptions, PullReport, PushOptions, PushReport};
use crate::error::{Error, Result};
use crate::versions::ReplacedVersion;

/// Location of a snapshot in an object store; this build has none.
#[derive(Clone, Debug)]
pub struct Location(Infallible);

impl Location {
    /// Returns whether `text` starts with the scheme of an object store.
    pub fn is_address(text: &str) -> bool {
        is_address(text)
    }

    /// Refuses every address.
    ///
    /// # Errors
    /// [`Error::MissingFeature`], and [`RemoteError::BadUrl`] for an unknown scheme.
    pub fn parse(url: &str, _name: Option<&str>, _settings: Settings) -> Result<Self> {
        let url = papir_core::without_passwords(url);
        if is_address(&url) {
            let kind = "an object store address";
            let support = "object store";
            let feature = "cloud";
            return Err(Error::MissingFeature {
                found: url,
                kind,
                support,
                feature,
            });
        }

        Err(RemoteError::BadUrl {
            url,
            reason: UNKNOWN_SCHEME.to_owned(),
        }
        .into())
    }

    /// The snapshot's file name.
    pub fn name(&self) -> &str {
        match self.0 {}
    }
}

impl fmt::Display for Location {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

/// A folder of objects in a store; this build has none.
#[derive(Clone, Debug)]
pub struct Folder(Location);

impl Folder {
    /// Refuses every address.
    ///
    /// # Errors
    /// The errors of [`Location::parse`].
    pub fn parse(url: &str, name: &str, settings: Settings) -> Result<Self> {
        Location::parse(url, Some(name), settings).map(Self)
    }

    /// Writes an object; not available in this build.
    ///
    /// # Errors
    /// None: there is no folder to call it with.
    pub fn put(&self, _: &str, _: Vec<u8>) -> Result<()> {
        match self.0.0 {}
    }

    /// Reads an object; not available in this build.
    ///
    /// # Errors
    /// None: there is no folder to call it with.
    pub fn get(&self, _: &str) -> Result<Option<Vec<u8>>> {
        match self.0.0 {}
    }

    /// Deletes an object; not available in this build.
    ///
    /// # Errors
    /// None: there is no folder to call it with.
    pub fn delete(&self, _: &str) -> Result<()> {
        match self.0.0 {}
    }
}

/// Fetches the description of a snapshot; not available in this build.
///
/// # Errors
/// None: there is no location to call it with.
pub fn manifest(location: &Location) -> Result<Manifest> {
    match location.0 {}
}

/// Uploads a snapshot; not available in this build.
///
/// # Errors
/// None: there is no location to call it with.
pub fn push(_: &Path, location: &Location, _: PushOptions, _: &dyn Progress) -> Result<PushReport> {
    match location.0 {}
}

/// Downloads a snapshot; not available in this build.
///
/// # Errors
/// None: there is no location to call it with.
pub fn pull(location: &Location, _: &Path, _: &dyn Progress) -> Result<PullReport> {
    match location.0 {}
}

/// Downloads a snapshot; not available in this build.
///
/// # Errors
/// None: there is no location to call it with.
pub fn pull_with(
    location: &Location,
    _: &Path,
    _: &PullOptions,
    _: &dyn Progress,
) -> Result<PullReport> {
    match location.0 {}
}

/// Like [`pull`], for a file with a known manifest.
pub(super) fn pull_newer(
    location: &Location,
    _: &Path,
    _: Option<&Manifest>,
    _: &dyn Progress,
) -> Result<PullReport> {
    match location.0 {}
}

/// Like [`pull`], for the version that was replaced.
pub(super) fn pull_previous(
    location: &Location,
    _: &Path,
    _: Duration,
    _: &dyn Progress,
) -> Result<Option<ReplacedVersion>> {
    match location.0 {}
}
