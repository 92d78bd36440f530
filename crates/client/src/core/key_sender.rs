//! Generation and upload of the keys of a registration.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use papir_core::erased::{ErasedRegisteredClient, ErasedState};
use papir_lookup::Lookup;
use papir_protocol::ClientStatus;

use super::identity::Place;
use super::record::SavedRegistration;
use super::service::Service;
use super::storage::Locked;
use super::task::Io;
use crate::error::{Result, unexpected};

/// The arguments of every operation on a registration.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) io: &'a Io,
    pub(crate) service: &'a Service,
    pub(crate) lookup: &'a Lookup,
}

impl<'a> Context<'a> {
    /// The side of the scheme's client that registers. Fails in schemes without client keys.
    pub(crate) fn registered(&self) -> Result<&'a dyn ErasedRegisteredClient> {
        Ok(self.lookup.client().require_registered()?)
    }
}

/// Sends the keys of one registration to the service.
#[derive(Clone, Copy)]
pub(crate) struct KeySender<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) lock: &'a Locked<'a>,
    /// The path of the database's registered clients.
    pub(crate) clients: &'a str,
    /// The number of bytes of keys sent so far.
    pub(crate) sent: &'a AtomicU64,
}

impl KeySender<'_> {
    /// Registers a client by sending all its keys in one request.
    pub(crate) async fn register(self, keys: &Arc<Vec<u8>>) -> Result<ClientStatus> {
        let Context {
            io,
            service,
            lookup,
        } = self.context;
        self.count(keys);
        service
            .register(io, self.clients, lookup.version(), Arc::clone(keys))
            .await
    }

    /// Stores keys in the slot, and registers a client whose keys follow in parts.
    pub(crate) async fn begin_upload(self, keys: &Arc<Vec<u8>>) -> Result<ClientStatus> {
        let Context {
            io,
            service,
            lookup,
        } = self.context;
        // Stored first: only the same keys can resume the upload.
        self.lock.keep_keys(keys).await?;
        service
            .begin_upload(io, self.clients, lookup.version(), keys.len() as u64)
            .await
    }

    /// Uploads the keys that the service does not have yet; `None` if the service has no such
    /// client.
    pub(crate) async fn upload(
        self,
        saved: SavedRegistration,
        keys: &[u8],
        mut status: ClientStatus,
    ) -> Result<Option<ClientStatus>> {
        let Context { io, service, .. } = self.context;
        let path = format!("{}/{}/keys", self.clients, saved.client);
        let url = service.url(&path);

        while status.is_uploading() {
            let offset = usize::try_from(status.uploaded_bytes).unwrap_or(usize::MAX);
            let part = usize::try_from(status.part_bytes).unwrap_or(usize::MAX);
            let end = offset.saturating_add(part).min(keys.len());
            // Empty if all bytes have arrived: an empty part makes the server check the keys.
            let Some(bytes) = keys.get(offset..end) else {
                let length = keys.len();
                let reason = format!("an upload offset of {offset} for {length} bytes of keys");
                return Err(unexpected(&url, reason));
            };

            self.count(bytes);
            let uploaded = service.upload_part(io, &path, offset as u64, bytes).await?;
            let Some(next) = uploaded else {
                return Ok(None);
            };

            // A service that accepts nothing would otherwise be sent the same part for ever.
            if next.is_uploading() && next.uploaded_bytes <= status.uploaded_bytes {
                let reason = format!("the upload does not advance beyond {offset} bytes");
                return Err(unexpected(&url, reason));
            }
            status = next;
        }

        finish_upload(self.lock, saved).await?;
        Ok(Some(status))
    }

    /// Adds to the number of bytes of keys sent.
    fn count(self, bytes: &[u8]) {
        self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }
}

/// Marks the stored registration as uploaded, and removes the stored keys.
pub(crate) async fn finish_upload(lock: &Locked<'_>, saved: SavedRegistration) -> Result<()> {
    // Stored before the keys go: an upload without its keys could not be resumed.
    lock.write(SavedRegistration {
        uploading: false,
        ..saved
    })
    .await?;
    lock.drop_keys().await
}

/// Generates keys, and the state that belongs to them. The slot's place and an earlier state are
/// part of the randomness.
pub(crate) async fn generate_keys(
    context: Context<'_>,
    lock: &Locked<'_>,
) -> Result<(ErasedState, Vec<u8>)> {
    let service = context.service;
    let registered = context.registered()?;
    let earlier = lock
        .read()
        .await?
        .and_then(|saved| registered.load_state(&saved.state).ok());

    let mut circumstances = service
        .platform
        .circumstances()
        .with(lock.slot().as_bytes());
    if let Some(Place { slot, boot }) = lock.place() {
        circumstances = circumstances.with(&slot).with(&boot);
    }

    Ok(registered.register_in(
        earlier.as_ref(),
        &circumstances,
        &mut *service.platform.rng(),
    )?)
}
