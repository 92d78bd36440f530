//! Object store URLs on the command line.

use std::path::{Path, PathBuf};

use papir_server::Sources;
use papir_store::remote::{Location, Settings, default_cache};

use crate::arguments::network::Network;
use crate::failure::Failure;

/// Parses an object store URL. If it ends in `/`, the name of `file` is appended.
pub(crate) fn location(
    url: &str,
    file: Option<&Path>,
    network: &Network,
) -> Result<Location, Failure> {
    let name = file
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy());

    Ok(Location::parse(
        url,
        name.as_deref(),
        settings(url, network)?,
    )?)
}

/// The file to serve: `place` itself or, for a URL, its copy in `cache` or in the user's cache
/// folder.
pub(crate) fn local(
    place: &Path,
    cache: Option<&PathBuf>,
    network: &Network,
    sources: &mut Sources,
) -> Result<PathBuf, Failure> {
    let Some(url) = place.to_str().filter(|text| Location::is_address(text)) else {
        return Ok(place.to_owned());
    };

    let Some(cache) = cache.cloned().or_else(default_cache) else {
        return Err(Failure::new(
            "this system has no standard cache folder: give --cache DIR",
        ));
    };
    Ok(sources.copy(url, &cache, &settings(url, network)?)?)
}

/// The settings of the store at a URL. A folder needs no connection.
fn settings(url: &str, network: &Network) -> Result<Settings, Failure> {
    if url.starts_with("file:") {
        return Ok(Settings::from_environment());
    }
    network.of_stores()
}
