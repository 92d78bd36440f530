//! Combination of encrypted phases in one ciphertext (ZipPIR, Algorithm 3).

use crypto_bigint::{BoxedUint, Resize};

use super::layout::Layout;
use super::lwe::Linear;
use crate::ciphertext::Ciphertext;
use crate::error::Result;
use crate::integer::{from_words, to_words};
use crate::public::PublicKey;

/// Combines batches of one product for each slot: raises each product to its power of γ and adds
/// the constants of the forms. All batches are combined together.
pub(super) fn combine(
    public: &PublicKey,
    layout: &Layout,
    forms: &[Linear],
    products: &[u64],
) -> Result<Vec<Ciphertext>> {
    let batch = public.batch();
    let limbs = public.batch().limbs();
    let count = layout.ciphertexts(forms.len());
    let gamma = layout.gamma_words();

    // Horner's rule from the highest slot down. A slot has 2t − 1 digits, so the next one is as
    // many powers of γ away.
    let mut combined = batch.kernel().one().repeat(count);
    let mut is_one = true;
    for slot in (0..layout.slots()).rev() {
        // The last batch may be shorter.
        let factors = products.chunks(limbs).skip(slot).step_by(layout.slots());
        let factors: Vec<u64> = factors.flatten().copied().collect();
        if factors.is_empty() {
            continue;
        }

        // Until the first factors, the accumulators are one and need no powers.
        if !is_one {
            for _ in 0..2 * layout.packing() - 1 {
                batch.power_vartime(&mut combined, &gamma);
            }
        }
        is_one = false;

        batch
            .kernel()
            .multiply(&mut combined[..factors.len()], &factors);
    }

    let ciphertexts = batch.leave_ciphertexts(&combined);
    let constants = forms
        .chunks(layout.slots())
        .map(|forms| constants(public, layout, forms));
    ciphertexts
        .iter()
        .zip(constants)
        .map(|(sum, constants)| add_constants(public, sum, &constants))
        .collect()
}

fn add_constants(public: &PublicKey, sum: &Ciphertext, constants: &[u64]) -> Result<Ciphertext> {
    Ok(public.add_plain(sum, &public.plaintext(constants)?))
}

/// Returns the constants of forms at the positions of their phases.
fn constants(public: &PublicKey, layout: &Layout, forms: &[Linear]) -> Vec<u64> {
    let words = public.params().plaintext_words();
    let gamma = from_words(&layout.gamma_words());

    // Constants are below q, hence at most V: by the layout's bound the sum stays below mˢ and no
    // product wraps.
    let mut sum = BoxedUint::zero_with_precision(64 * words as u32);
    for form in forms.iter().rev() {
        for position in (0..2 * layout.packing() - 1).rev() {
            sum = sum.wrapping_mul(&gamma);
            if position == layout.packing() - 1 {
                let constant =
                    BoxedUint::from(form.constant).resize_unchecked(sum.bits_precision());
                sum.wrapping_add_assign(&constant);
            }
        }
    }
    to_words(&sum, words)
}
