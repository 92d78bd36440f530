//! Databases whose matrices a device holds: the same answers, also while it fails.

use papir_core::device::{Device, DeviceMemory, HeldMatrix, HeldPacks, Packs, TileShape, Tiles};
use papir_core::erased::{ErasedServer, ErasedSession, PlacedServer};
use papir_core::{Error, NoProgress, Result};
use std::sync::{Arc, Mutex};

use super::fixture::Fixture;
use crate::device::PlainDevice;

/// Puts the database on a device, or checks that a scheme without work for one says so.
pub(super) fn check(fixture: &mut Fixture<'_>) {
    let plain = PlainDevice::default();
    let placed = fixture.server.on_device(&plain);
    if placed.expect("a database on a device").is_none() {
        let error = fixture.server.require_on_device(&plain).err();
        assert!(
            matches!(error, Some(Error::NoSuchParameter { .. })),
            "{error:?}"
        );
        return;
    }

    let placed = check_answers(fixture, &plain);
    let products = plain.products();
    assert!(products > 0, "the device multiplied nothing");

    plain.fail(true);
    check_same(fixture, &*placed, 2);
    assert_eq!(plain.products(), products, "the failing device multiplied");

    // Full, it refuses a database instead of holding a part of it.
    plain.fill();
    let error = fixture.server.on_device(&plain).err();
    assert!(matches!(error, Some(Error::Device { .. })), "{error:?}");
}

/// Puts the database on a device and compares answers to one query and to several. Returns the
/// placed database.
pub(super) fn check_answers(
    fixture: &mut Fixture<'_>,
    device: &dyn Device,
) -> Box<dyn ErasedServer> {
    let recorded = Recorded {
        device,
        held: Mutex::default(),
    };
    let PlacedServer {
        server: placed,
        matrices,
    } = fixture
        .server
        .require_on_device(&recorded)
        .expect("a database on a device");

    let held = recorded.held.into_inner().expect("a lock");
    assert_eq!(held, matrices, "held matrices differ from the planned ones");

    let bytes: usize = held
        .iter()
        .map(|shape| shape.rows / 64 * shape.group_bytes())
        .sum();
    let planned = fixture.server.describe().sizes.device;
    assert!(
        planned == 0 || planned == bytes as u64,
        "{planned} bytes planned, {bytes} held"
    );

    assert_eq!(placed.version(), fixture.server.version());
    assert!(
        placed.public() == fixture.server.public(),
        "another public part"
    );

    check_same(fixture, &*placed, 1);
    check_same(fixture, &*placed, 3);
    placed
}

/// Compares the answers to a group of queries with those of the CPU.
fn check_same(fixture: &mut Fixture<'_>, placed: &dyn ErasedServer, count: usize) {
    let indices = fixture.indices(count);
    let queries: Vec<Vec<u8>> = indices
        .iter()
        .cycle()
        .take(count)
        .map(|&index| fixture.send(&[index]).query)
        .collect();

    let batch: Vec<_> = queries
        .iter()
        .map(|query| (ErasedSession::default(), query.as_slice()))
        .collect();

    let [found, expected] = [placed, &*fixture.server].map(|server| {
        let answers = server.answer_many(&batch, &NoProgress).into_iter();
        answers
            .collect::<Result<Vec<_>>>()
            .expect("answers to honest queries")
    });

    assert!(
        found == expected,
        "{:?}: {count} answers of a device differ from the CPU's",
        fixture.shape
    );
}

/// A device that records the shapes of the matrices that it holds.
#[derive(Debug)]
struct Recorded<'a> {
    device: &'a dyn Device,
    held: Mutex<Vec<TileShape>>,
}

impl Device for Recorded<'_> {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn memory(&self) -> Result<DeviceMemory> {
        self.device.memory()
    }

    fn bytes(&self, shape: TileShape) -> u64 {
        self.device.bytes(shape)
    }

    fn hold_packs(&self, packs: &Packs<'_>) -> Result<Option<Arc<dyn HeldPacks>>> {
        let held = self.device.hold_packs(packs)?;
        if held.is_some() {
            let shapes = [packs.selected, packs.packing].map(|tiles| tiles.shape());
            self.held.lock().expect("a lock").extend(shapes);
        }
        Ok(held)
    }

    fn hold(&self, tiles: Tiles<'_>) -> Result<Arc<dyn HeldMatrix>> {
        self.held.lock().expect("a lock").push(tiles.shape());
        self.device.hold(tiles)
    }
}
