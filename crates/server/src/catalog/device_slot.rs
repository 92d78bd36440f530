//! Databases whose matrices a device holds.

use std::sync::Arc;

use papir_core::device::Device;
use papir_core::erased::PlacedServer;
use papir_store::Result;

use super::base::Base;

/// The device of a service, and what to do if it has no room.
#[derive(Clone, Copy)]
pub(super) struct DeviceSlot<'a> {
    pub(super) device: Option<&'a Arc<dyn Device>>,
    /// Set at the start: a database without room is refused then. Later the CPU answers a version
    /// without room, since the one before it is still held.
    pub(super) strict: bool,
}

impl DeviceSlot<'_> {
    /// No device.
    pub(super) const NONE: Self = Self {
        device: None,
        strict: false,
    };

    /// Copies the matrices of a snapshot to the device, if its scheme has work for one. Fails only
    /// if the slot is strict.
    pub(super) fn put(self, mut base: Base) -> Result<Base> {
        let Some(device) = self.device else {
            return Ok(base);
        };

        let database = base.name.clone();
        // A start fails, since its operator expects the device. A later version is served more
        // slowly rather than not at all.
        match base.server.on_device(&**device) {
            Ok(None) => {
                let scheme = base.description.scheme;
                tracing::info!(
                    database,
                    scheme,
                    "the scheme has no work for a device: the CPU answers"
                );
                Ok(base)
            }
            Ok(Some(PlacedServer { server, matrices })) => {
                let bytes = matrices.into_iter().map(|shape| device.bytes(shape)).sum();
                tracing::info!(database, device = device.name(), bytes, "matrices copied");

                base.server = server;
                base.placed = Some((Arc::clone(device), bytes));
                Ok(base)
            }
            Err(error) if self.strict => Err(error.into()),
            Err(error) => {
                tracing::warn!(database, %error, "not copied to the device: the CPU answers this version");
                Ok(base)
            }
        }
    }
}
