//! Partitioning: each bin of the sender in parts of equal size.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{Item, PsiParams, integers};
use crate::newton::modulus::Modulus;

/// Splits a bin's items, elements of Z_n, into parts. Random numbers below n pad every part of
/// every bin to the same degree. The order is random, so that the part of a hit reveals nothing.
pub fn parts(
    params: &PsiParams,
    n: &Modulus,
    items: &[Item],
    rng: &mut dyn CryptoRng,
) -> Vec<Zeroizing<Vec<u64>>> {
    let (limbs, places) = (n.limbs(), params.parts() * params.degree());
    let mut elements = Zeroizing::new(n.enter(&integers(items), super::ITEM_WORDS));
    elements.reserve_exact((places - items.len()) * limbs);
    elements.extend_from_slice(&n.random(places - items.len(), rng));
    let mut order: Vec<usize> = (0..places).collect();
    for last in (1..places).rev() {
        order.swap(last, (rng.next_u64() % (last as u64 + 1)) as usize);
    }
    let part = |order: &[usize]| {
        Zeroizing::new(order.iter().flat_map(|&k| &elements[k * limbs..][..limbs]).copied().collect())
    };
    order.chunks(params.degree()).map(part).collect()
}
