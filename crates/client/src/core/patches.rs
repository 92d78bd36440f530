//! Patches: copies of earlier public parts, brought up to date by blocks.
//!
//! A session fetches the list of the wanted public part's blocks, hashes its copy in the same
//! blocks, and fetches those that differ. The blocks that it fetches tell the service which version
//! the copy has.

use papir_lookup::BlockList;
use papir_protocol::path;

use super::service::Service;
use super::task::Io;
use crate::error::{Error, Result, unexpected};

/// The public part that a patch makes of a copy.
pub(crate) struct BlockPatch<'a> {
    pub(crate) service: &'a Service,
    /// The database's name.
    pub(crate) name: &'a str,
    /// The version that the description states.
    pub(crate) version: &'a str,
    /// The length in bytes that the description states.
    pub(crate) length: u64,
    /// The hash of the public part in the owner's leaf; `None` for an unsigned database.
    pub(crate) signed: Option<[u8; 32]>,
}

impl BlockPatch<'_> {
    /// Makes the public part of a copy of another version. Adds the bytes that it fetches to
    /// `public_bytes`. `None` if the whole public part is to be fetched: if its blocks would be
    /// more than half of it, and after any failure. A patch is tried once.
    ///
    /// # Errors
    /// The refusal of a version that the service no longer answers.
    pub(crate) async fn apply(
        &self,
        io: &Io,
        copy: &[u8],
        public_bytes: &mut u64,
    ) -> Result<Option<Vec<u8>>> {
        match self.try_apply(io, copy, public_bytes).await {
            // The whole public part of this version would be refused, too.
            Err(error) if error.is_version_change() => Err(error),
            // A service without these routes, a list that the owner did not sign, a damaged block.
            Err(_) => Ok(None),
            Ok(bundle) => Ok(bundle),
        }
    }

    async fn try_apply(
        &self,
        io: &Io,
        copy: &[u8],
        public_bytes: &mut u64,
    ) -> Result<Option<Vec<u8>>> {
        let Some(list) = self.list(io, public_bytes).await? else {
            return Ok(None);
        };

        let ranges = list.missing(copy);
        let length = list.bytes_of(&ranges);
        // Blocks are fetched in vain if one of them is damaged, so that they must save enough.
        if length as u64 > self.length / 2 {
            return Ok(None);
        }

        let blocks = if ranges.is_empty() {
            Vec::new()
        } else {
            let path = path::public_blocks(self.name, self.version, &ranges.to_string());
            let fetched = self.fetch(io, &path, length as u64, public_bytes).await?;
            match fetched {
                Some(blocks) => blocks,
                None => return Ok(None),
            }
        };
        Ok(Some(list.apply(copy, &ranges, &blocks)?))
    }

    /// The list of blocks. `None` if the server has another version.
    async fn list(&self, io: &Io, public_bytes: &mut u64) -> Result<Option<BlockList>> {
        let path = path::public_hashes(self.name, self.version);
        let length = usize::try_from(self.length).map_err(|_| self.unfit(&path))?;
        let limit = BlockList::encoded_bytes(length) as u64;
        let Some(bytes) = self.fetch(io, &path, limit, public_bytes).await? else {
            return Ok(None);
        };

        let list = BlockList::decode(&bytes, length)?;
        // Before a block is fetched: the blocks that a list makes a client ask for must not depend
        // on the client.
        match self.signed {
            Some(hash) if hash != list.root() => Err(self.unfit(&path)),
            _ => Ok(Some(list)),
        }
    }

    /// Fetches at most `limit` bytes of this version. `None` if the server has another version.
    async fn fetch(
        &self,
        io: &Io,
        path: &str,
        limit: u64,
        public_bytes: &mut u64,
    ) -> Result<Option<Vec<u8>>> {
        let fetched = self.service.bytes_of(io, path, self.version, limit).await?;
        *public_bytes += fetched.as_ref().map_or(0, Vec::len) as u64;
        Ok(fetched)
    }

    /// The error of a list that does not fit the description or the owner's leaf.
    fn unfit(&self, path: &str) -> Error {
        let reason = "a list of other blocks: expected those of the described public part";
        unexpected(&self.service.url(path), reason.to_owned())
    }
}
