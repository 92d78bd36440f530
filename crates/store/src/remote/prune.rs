//! Removal of parts that no manifest lists.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use blake3::Hash;

use super::manifest::Manifest;
use super::objects::Objects;
use crate::error::Result;

/// Deletes the parts that none of `manifests` lists and that are at least `grace` old. Returns
/// their number.
///
/// # Errors
/// Errors of the store.
pub(super) async fn prune(objects: &Objects<'_>, manifests: &[&Manifest], grace: Duration) -> Result<usize> {
    let listed: HashSet<&Hash> = manifests.iter().flat_map(|manifest| &manifest.parts).collect();
    let now = SystemTime::now();
    let mut removed = 0;
    for (hash, part) in objects.parts().await? {
        // A part dated in the future, by a store whose clock runs ahead, has age zero.
        let age = now.duration_since(part.modified).unwrap_or_default();
        if !listed.contains(&hash) && age >= grace {
            objects.delete(&part.key).await?;
            removed += 1;
        }
    }
    Ok(removed)
}
