//! Multiplication of a group of elements by one backend.

use bytemuck::Pod;
use zeroize::Zeroize;

use super::field::Field;
use crate::backend::Backend;

/// A backend's multiplication of `LANES` elements at once.
pub(crate) trait Engine<const LANES: usize> {
    /// One limb of each lane.
    type Limb: Pod;

    fn backend(&self) -> Backend;

    fn field(&self) -> &Field;

    /// Transposes elements into a group, one per lane.
    fn load(&self, group: &mut Group<Self::Limb>, elements: [&[u64]; LANES]);

    /// Transposes the first lanes back, as many as `elements` has room for.
    fn store(&self, group: &Group<Self::Limb>, elements: &mut [u64]);

    /// x *= y.
    fn multiply(&mut self, x: &mut Group<Self::Limb>, y: &[Self::Limb]);

    /// x *= x.
    fn square(&mut self, x: &mut Group<Self::Limb>);
}

/// Limbs of elements side by side; erased on drop.
pub(crate) struct Group<L: Pod>(pub(crate) Vec<L>);

impl<L: Pod> Group<L> {
    pub(crate) fn zero(limbs: usize) -> Self {
        Self(vec![L::zeroed(); limbs])
    }
}

impl<L: Pod> Drop for Group<L> {
    fn drop(&mut self) {
        bytemuck::cast_slice_mut::<L, u64>(&mut self.0).zeroize();
    }
}
