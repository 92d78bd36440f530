//! The filter of the keys of a new snapshot.

use papir_core::Blob;
use papir_lookup::outside::Storage;
use papir_lookup::prefilter;

use super::content::{Content, Ids, Keys, of_keys};
use super::options::BuildOptions;
use super::outside::BuildFolder;
use crate::error::Result;

/// Name of the part with the filter.
const FILTER: &str = "prefilter";

/// The bits of the filter and the keys, if the options ask for one.
fn wanted<'a>(options: &BuildOptions, content: &'a mut Content<'_>) -> Option<(u8, &'a mut Keys)> {
    Some((options.prefilter?, content.keyword.as_mut()?))
}

/// Makes the filter of keys whose ids are in memory, if the options ask for one.
pub(super) fn add(options: &BuildOptions, content: &mut Content<'_>) -> Result<()> {
    let Some((bits, keys)) = wanted(options, content) else {
        return Ok(());
    };

    if let Ids::InMemory(ids) = &keys.ids {
        let filter = prefilter::of_ids(bits, ids)?;
        keys.prefilter = Some(Blob::copy_of(&filter));
    }
    Ok(())
}

/// Like [`add`], for ids in the folder of the build, which then has the filter, too.
pub(super) fn add_outside(
    options: &BuildOptions,
    content: &mut Content<'_>,
    folder: &mut BuildFolder,
) -> Result<()> {
    let Some((bits, keys)) = wanted(options, content) else {
        return Ok(());
    };

    if let Ids::Stored(ids) = &keys.ids {
        let filter = folder
            .keep_written(FILTER, &mut |out| Ok(prefilter::write(bits, ids, out)?))
            .map_err(|error| of_keys(options, error))?;
        keys.prefilter = Some(filter);
    }
    Ok(())
}
