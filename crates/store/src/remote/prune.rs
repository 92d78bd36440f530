//! Removes parts that no manifest names any more.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use blake3::Hash;

use super::manifest::Manifest;
use super::objects::Objects;
use crate::Result;

/// How old a part must be before it is removed: one that is younger may be of a push under way.
pub const GRACE: Duration = Duration::from_secs(24 * 3600);

/// Deletes the parts that none of `manifests` names and that are older than `grace`. Gives how many.
///
/// # Errors
/// Those of the store.
pub(super) async fn prune(objects: &Objects<'_>, manifests: &[&Manifest], grace: Duration) -> Result<usize> {
    let named: HashSet<&Hash> = manifests.iter().flat_map(|manifest| &manifest.parts).collect();
    let now = SystemTime::now();
    let mut removed = 0;
    for (hash, part) in objects.parts().await? {
        // A clock that runs ahead of the store's finds a part of the future: as old as nothing.
        let age = now.duration_since(part.modified).unwrap_or_default();
        if !named.contains(&hash) && age >= grace {
            objects.delete(&part.key).await?;
            removed += 1;
        }
    }
    Ok(removed)
}
